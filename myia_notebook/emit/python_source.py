"""An optimized program as Python source: what the *code* stage shows, and a program that runs (`emit.python_run`).

Each graph becomes a function; arms used once become `if`/`else` where they stand; a graph that only calls itself last becomes a
`while True`. Closures become `partial`s, environments the calls of `env_make` and `env_get`. Names are the user's; each line knows the node it computes.

    (x, n) ↦ loop(0, 1.0, x, n)   -->   def power(x, n):            def for_(i, y, x, n):
                                            return for_(0, 1.0, x, n)     while True:
                                                                              if i < n: …
On entry: a typed, closed program without `gradient_call`. The text needs the names of `python_runtime` and those in `constants`.
"""
from __future__ import annotations

import keyword
import unicodedata
from dataclasses import dataclass
from typing import Any

from myia_notebook.emit.python_expressions import Names, expression, message, operand
from myia_notebook.emit.python_runtime import RESERVED
from myia_notebook.ir.graph import Apply, Graph, Node, callee_of, graph_constant, is_call_of, primitive_of, reachable, schedule
from myia_notebook.ir.types import NEVER
from myia_notebook.lower.plan import DEEPEST
from myia_notebook.ops.environment import Label
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.table import PRIMITIVES

BRANCH, SEQUENCE, RAISE, PRINT = (PRIMITIVES[n] for n in ("branch", "sequence", "raise_", "print_"))
_MARKS = str.maketrans({"▶": "forward_", "◀": "back_", "∇": "d_", "▷": "tangent_"})


@dataclass(frozen=True, slots=True)
class PythonText:
    """`nodes`: the node that each line computes, or None; `functions`: graph id → name; `constants`: what the text names besides."""

    lines: list[str]
    nodes: list[Node | None]
    functions: dict[int, str]
    constants: dict[str, Any]

    @property
    def origins(self) -> list[int]:
        """The user's line of each line, or 0."""
        return [n.provenance.span.line if n is not None and n.provenance.span is not None else 0 for n in self.nodes]


class Writer:
    """Writes one program."""

    def __init__(self, root: Graph) -> None:
        self.root = root
        self.graphs = reachable(root)
        self.lines: list[str] = []
        self.nodes: list[Node | None] = []
        self.taken: set[str] = set(RESERVED)
        functions = {g.id: self._fresh(_identifier(g.name)) for g in self.graphs}
        self.labels = _labels(self.graphs)
        functions.update((g.id, self._fresh(_identifier(g.name))) for g in self.labels if g.id not in functions)
        self.names = Names(functions, self._fresh)
        self.inline = _inlined(self.graphs, root)

    def _fresh(self, name: str) -> str:
        made = _free(name, self.taken)
        self.taken.add(made)
        return made

    def run(self) -> PythonText:
        for g in self.graphs:
            if g.id not in self.inline:
                self._function(g)
        known = {g.id for g in self.graphs}
        for g in self.labels:
            if g.id not in known:  # a constructor that only comes in, or is asked for
                known.add(g.id)
                self._gap()
                self._line(0, f"def {self.names.graphs[g.id]}({', '.join(dict.fromkeys(_identifier(p.name) for p in g.parameters))}): ...")
        return PythonText(self.lines, self.nodes, self.names.graphs, self.names.constants)

    def _gap(self) -> None:
        if self.lines:
            self._line(0, "")

    def _line(self, depth: int, text: str, node: Node | None = None) -> None:
        self.lines.append("    " * depth + text)
        self.nodes.append(node)

    def _function(self, g: Graph) -> None:
        self._gap()
        self.local = set(self.taken)
        local = {p.id: self._local(p) for p in g.parameters}
        self._line(0, f"def {self.names.graphs[g.id]}({', '.join(local[p.id] for p in g.parameters)}):")
        self.loop_of = g if self._loops(g) else None
        self.loop_names = [local[p.id] for p in g.parameters]
        depth = 1
        if self.loop_of is not None:
            self._line(1, "while True:")
            depth = 2
        self._body(g, local, depth, None)

    def _loops(self, head: Graph) -> bool:
        """Whether a graph ends in a call of itself (through arms placed in it)."""
        stack = [head]
        while stack:
            current = stack.pop()
            if callee_of(current.output) is head:
                return True
            if isinstance(current.output, Apply) and is_call_of(current.output, BRANCH):
                stack += [a for x in current.output.inputs[2:4] if (a := graph_constant(x)) is not None and a.id in self.inline]
        return False

    def _local(self, node: Node) -> str:
        made = _free(_identifier(node.name) if node.name else "t", self.local)
        self.local.add(made)
        return made

    def _text(self, node: Node, local: dict[int, str], like: Any = None) -> str:
        return operand(node, self.names, local, like)

    def _body(self, g: Graph, local: dict[int, str], depth: int, target: str | None) -> None:
        """Statements of g; its result is returned, or assigned to `target`."""
        for node in schedule(g):
            last = node is g.output
            primitive = primitive_of(node)
            if primitive is BRANCH and graph_constant(node.inputs[2]).id in self.inline:  # type: ignore[union-attr]
                name = target if last else self._local(node)
                self._branch(node, local, depth, name)
                if last or Builder.type_of(node) == NEVER:
                    return
                assert name is not None
                local[node.id] = name
            elif primitive is RAISE:
                kind, form = (x.value for x in node.inputs[1:3])  # type: ignore[attr-defined]
                self._line(depth, f"raise {kind}({message(form, [self._text(x, local) for x in node.inputs[3:]], self.names)})", node)
                return
            elif primitive is PRINT:
                text = message(node.inputs[1].value, [self._text(x, local) for x in node.inputs[2:]], self.names)  # type: ignore[attr-defined]
                self._line(depth, f'print({text}, end="")', node)
                local[node.id] = "None"
            elif primitive is SEQUENCE:
                local[node.id] = self._text(node.inputs[2], local)
            elif last and target is None and self.loop_of is not None and callee_of(node) is self.loop_of:
                self._next_round(node, local, depth)
                return
            else:
                text = self._expression(node, local)
                if last and target is None:
                    self._line(depth, f"return {text}", node)
                    return
                local[node.id] = self._local(node) if not last else target  # type: ignore[assignment]
                self._line(depth, f"{local[node.id]} = {text}", node)
                if last:
                    return
        value = self._text(g.output, local)
        self._line(depth, f"return {value}" if target is None else f"{target} = {value}", g.output)

    def _next_round(self, node: Apply, local: dict[int, str], depth: int) -> None:
        values = [self._text(x, local) for x in node.inputs[1:]]
        changed = [(n, v) for n, v in zip(self.loop_names, values) if n != v]
        if changed:
            self._line(depth, f"{', '.join(n for n, _ in changed)} = {', '.join(v for _, v in changed)}", node)
        self._line(depth, "continue")

    def _branch(self, node: Apply, local: dict[int, str], depth: int, target: str | None) -> None:
        for head, x in ((f"if {self._text(node.inputs[1], local)}:", node.inputs[2]), ("else:", node.inputs[3])):
            arm = graph_constant(x)
            assert arm is not None
            self._line(depth, head, node)
            inner = {p.id: self._text(a, local, Builder.type_of(p)) for p, a in zip(arm.parameters, node.inputs[4:])}
            self._body(arm, inner, depth + 1, target)

    def _expression(self, node: Apply, local: dict[int, str]) -> str:
        values = [self._text(x, local, Builder.type_of(node)) for x in node.inputs[1:]]
        if primitive_of(node) is not None:
            return expression(node, values, self.names)
        target = callee_of(node)
        head = self.names.graphs[target.id] if target is not None else self._text(node.inputs[0], local)
        wanted = [Builder.type_of(p) for p in target.parameters] if target is not None else [None] * len(values)
        return f"{head}({', '.join(self._text(x, local, t) for x, t in zip(node.inputs[1:], wanted))})"


def _inlined(graphs: list[Graph], root: Graph) -> set[int]:
    """The arms that are placed where their branch is: used once, both arms of a branch together, and not too deep (Python indents 100 times)."""
    uses: dict[int, int] = {root.id: 1}
    for g in graphs:
        for x in (g.output, *(x for n in schedule(g) for x in n.inputs)):
            if (target := graph_constant(x)) is not None:
                uses[target.id] = uses.get(target.id, 0) + 1
    inline: set[int] = set()
    depth: dict[int, int] = {}
    for g in graphs:  # a graph comes before its arms
        inside = depth.get(g.id, 0) if g.id in inline else 0
        for node in schedule(g):
            if is_call_of(node, BRANCH):
                arms = [a for x in node.inputs[2:4] if (a := graph_constant(x)) is not None]
                if len(arms) == 2 and inside < DEEPEST and all(uses[a.id] == 1 for a in arms):
                    inline.update(a.id for a in arms)
                    depth.update((a.id, inside + 1) for a in arms)
    return inline


def _labels(graphs: list[Graph]) -> list[Graph]:
    """The graphs that environments and tests of closures name."""
    found = (x.value.graph for g in graphs for n in schedule(g) for x in n.inputs if isinstance(getattr(x, "value", None), Label))
    return list({g.id: g for g in found}.values())


def _free(name: str, taken: set[str]) -> str:
    made, count = name, 1
    while made in taken or keyword.iskeyword(made):
        count += 1
        made = f"{name}{count}" if not name[-1].isdigit() else f"{name}_{count}"
    return made


def _identifier(name: str) -> str:
    text = unicodedata.normalize("NFKC", name.translate(_MARKS))
    made = "".join(c if ("_" + c).isidentifier() else "_" for c in text).strip("_") or "f"
    return made if made.isidentifier() else f"v{made}"


def python_source(root: Graph) -> PythonText:
    """The text of a program."""
    return Writer(root).run()


__all__ = ["PythonText", "python_source"]
