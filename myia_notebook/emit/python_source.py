"""An optimized program as Python source: what the *code* stage shows. It runs: the tests execute it and compare.

Each graph becomes a function; arms used once become `if`/`else` where they stand; a graph that only calls itself last becomes a
`while True`. Closures become `partial`, environments tuples. Names are the user's.
"""
from __future__ import annotations

import keyword
from typing import Any

from myia_notebook.ir.graph import UNDEFINED, ZERO, Apply, Constant, Graph, Node, callee_of, graph_constant, is_call_of, primitive_of, reachable, schedule
from myia_notebook.ops.primitive import Primitive
from myia_notebook.ops.table import PRIMITIVES

BRANCH, PARTIAL = PRIMITIVES["branch"], PRIMITIVES["partial"]
INFIX = {"add": "+", "add_sensitivities": "+", "subtract": "-", "multiply": "*", "divide": "/", "python_divide": "/", "strong_divide": "/", "floor_divide": "//",
         "python_floor_divide": "//", "mod": "%", "python_mod": "%", "power": "**", "python_power": "**", "matmul": "@", "less": "<", "less_equal": "<=",
         "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=", "strong_multiply": "*", "bitwise_and": "&", "bitwise_or": "|",
         "bitwise_xor": "^", "left_shift": "<<", "right_shift": ">>"}


class Writer:
    """Writes one program."""

    def __init__(self, root: Graph) -> None:
        self.root = root
        self.graphs = reachable(root)
        self.lines: list[str] = []
        self.origins: list[int] = []
        self.nodes: list[tuple[int, ...]] = []
        self.taken: set[str] = set()
        self.graph_names = {g.id: self._fresh(_identifier(g.name)) for g in self.graphs}
        self.inline = self._inline_arms()

    def _fresh(self, name: str) -> str:
        made, count = name, 1
        while made in self.taken or keyword.iskeyword(made):
            count += 1
            made = f"{name}_{count}"
        self.taken.add(made)
        return made

    def _inline_arms(self) -> set[int]:
        uses: dict[int, int] = {self.root.id: 1}
        arms: dict[int, int] = {}
        for g in self.graphs:
            for x in (g.output, *(x for n in schedule(g) for x in n.inputs)):
                if (target := graph_constant(x)) is not None:
                    uses[target.id] = uses.get(target.id, 0) + 1
            for node in schedule(g):
                if is_call_of(node, BRANCH):
                    for x in node.inputs[2:4]:
                        if (target := graph_constant(x)) is not None:
                            arms[target.id] = arms.get(target.id, 0) + 1
        return {g.id for g in self.graphs if uses.get(g.id) == 1 and arms.get(g.id) == 1}

    def run(self) -> None:
        for g in self.graphs:
            if g.id not in self.inline:
                self._function(g)

    def _line(self, depth: int, text: str, node: Node | None = None) -> None:
        span = node.provenance.span if node is not None else None
        self.lines.append("    " * depth + text)
        self.origins.append(span.line if span is not None else 0)
        self.nodes.append((node.id,) if node is not None else ())

    def _function(self, g: Graph) -> None:
        if self.lines:
            self._line(0, "")
        self.local = {*self.graph_names.values()}
        names = {p.id: self._local(p) for p in g.parameters}
        self._line(0, f"def {self.graph_names[g.id]}({', '.join(names[p.id] for p in g.parameters)}):")
        self.loop_of = g if self._loops(g, g) else None
        self.loop_names = [names[p.id] for p in g.parameters]
        depth = 1
        if self.loop_of is not None:
            self._line(1, "while True:")
            depth = 2
        self._body(g, names, depth, None)

    def _loops(self, g: Graph, head: Graph) -> bool:
        """Whether g ends in a call of `head` (through arms placed in it)."""
        stack = [g]
        while stack:
            current = stack.pop()
            target = callee_of(current.output)
            if target is head:
                return True
            if isinstance(current.output, Apply) and is_call_of(current.output, BRANCH):
                stack += [a for x in current.output.inputs[2:4] if (a := graph_constant(x)) is not None and a.id in self.inline]
        return False

    def _local(self, node: Node) -> str:
        base = _identifier(node.name) if node.name else "t"
        made, count = base, 1
        while made in self.local or keyword.iskeyword(made):
            count += 1
            made = f"{base}{count}"
        self.local.add(made)
        return made

    def _body(self, g: Graph, names: dict[int, str], depth: int, target: str | None) -> None:
        """Statements of g; its result is returned, or assigned to `target`."""
        for node in schedule(g):
            last = node is g.output
            if is_call_of(node, BRANCH) and all((a := graph_constant(x)) is not None and a.id in self.inline for x in node.inputs[2:4]):
                name = target if last else self._local(node)
                self._branch(node, names, depth, name)
                if last:
                    return
                assert name is not None
                names[node.id] = name
                continue
            if last and target is None and callee_of(node) is self.loop_of and self.loop_of is not None:
                values = [self._operand(x, names) for x in node.inputs[1:]]
                changed = [(n, v) for n, v in zip(self.loop_names, values) if n != v]
                if changed:
                    self._line(depth, f"{', '.join(n for n, _ in changed)} = {', '.join(v for _, v in changed)}", node)
                self._line(depth, "continue")
                return
            names[node.id] = self._local(node)
            self._line(depth, f"{names[node.id]} = {self._expression(node, names)}", node)
        value = self._operand(g.output, names)
        self._line(depth, f"return {value}" if target is None else f"{target} = {value}", g.output)

    def _branch(self, node: Apply, names: dict[int, str], depth: int, target: str | None) -> None:
        for keyword_, x in (("if " + self._operand(node.inputs[1], names), node.inputs[2]), ("else", node.inputs[3])):
            arm = graph_constant(x)
            assert arm is not None
            self._line(depth, f"{keyword_}:", node)
            inner = {p.id: self._operand(a, names) for p, a in zip(arm.parameters, node.inputs[4:])}
            self._body(arm, inner, depth + 1, target)

    def _operand(self, node: Node, names: dict[int, str]) -> str:
        if not isinstance(node, Constant):
            return names.get(node.id, node.name or "unset")
        value = node.value
        if isinstance(value, Graph):
            return self.graph_names[value.id]
        if value is ZERO:
            return _zero(node.type)
        if value is UNDEFINED:
            return "None"
        if type(value).__name__ == "Label":
            return repr(value.graph.name)
        if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
            return repr(value.item())
        if hasattr(value, "tolist"):
            return f"array({value.tolist()})" if value.size <= 12 else f"array_of{value.shape}"
        return str(value) if not isinstance(value, (str, int, float, tuple, type(None))) else repr(value)

    def _expression(self, node: Apply, names: dict[int, str]) -> str:
        primitive: Primitive | None = primitive_of(node)
        values = [self._operand(x, names) for x in node.inputs[1:]]
        if primitive is None:
            return f"{self._operand(node.inputs[0], names)}({', '.join(values)})"
        if primitive.name in INFIX:
            return f"{values[0]} {INFIX[primitive.name]} {values[1]}"
        match primitive.name:
            case "negative":
                return f"-{values[0]}"
            case "make_tuple":
                return f"({', '.join(values)}{',' if len(values) == 1 else ''})"
            case "tuple_getitem":
                return f"{values[0]}[{values[1]}]"
            case "branch":
                return f"({values[1]} if {values[0]} else {values[2]})({', '.join(values[3:])})"
            case "switch":
                return f"{values[1]} if {values[0]} else {values[2]}"
            case "cast":
                return f"{str(node.type).split('[')[0]}({values[0]})"
            case "logical_not":
                return f"not {values[0]}"
            case name:
                return f"{name.removeprefix('math_').rstrip('_')}({', '.join(values)})"


def _identifier(name: str) -> str:
    text = name.replace("▶", "forward_").replace("◀", "back_").replace("∇", "d_").replace("▷", "tangent_")
    made = "".join(c if c.isalnum() or c == "_" else "_" for c in text).strip("_") or "f"
    return made if not made[0].isdigit() else f"v{made}"


def _zero(t: Any) -> str:
    from myia_notebook.ir.types import Array, Scalar, Tuple
    match t:
        case Scalar():
            return "0.0"
        case Array(shape=shape):
            return f"zeros({shape})"
        case Tuple(items):
            return f"({', '.join(map(_zero, items))}{',' if len(items) == 1 else ''})"
        case _:
            return "None"


def python_source(root: Graph) -> tuple[list[str], list[int], list[tuple[int, ...]]]:
    """(lines, the user's line of each or 0, the nodes of each)"""
    writer = Writer(root)
    writer.run()
    return writer.lines, writer.origins, writer.nodes
