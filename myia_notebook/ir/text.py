"""Textual IR: `print_program` writes a program, `parse_program` reads it back to an equal one.

    program  ::= graph+                                    the first graph is the root
    graph    ::= "@"name "[" captured "]"? "(" name ": " type, ... ")" " -> " type ":" line+
    line     ::= "  " name " : " type " = " operand "(" operand, ... ")"   |   "  return " operand
    operand  ::= name | "@"name | primitive | operation | literal | "zero<" type ">" | "undefined<" type ">" | "#"name (a label)
               | "%"graph"."name (nested form: a node of another graph) | "‹" text "›" (a static value that has no other form)
    type     ::= bool | int | float | int64 | ... | float64[2, 3] | (type, ...) | list[type] | None | range | never | ?
               | fn<@g | @h> | env<@g | @h> | "‹" text "›"

Names are the user's where they are unique in their graph, with `.2`, `.3` behind them where they are not; a node without a name
is `%1`, `%2`, ... The form is deterministic, and golden files and tests are written in it.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from myia_notebook.ir.graph import UNDEFINED, ZERO, Apply, Constant, Graph, Node, reachable, schedule
from myia_notebook.ir.types import Array, Environment, Function, List, Never, NoneType, Range, Scalar, Tuple, Type
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.primitive import Primitive


class Printer:
    """Names for one program; `lines` after printing one entry per line with the node it shows (None for headers)."""

    def __init__(self, root: Graph) -> None:
        self.graphs = reachable(root)
        self._graph_names: dict[int, str] = {}
        self._taken: dict[str, int] = {}
        self._names: dict[int, dict[int, str]] = {}
        self._lent = lent_nodes(self.graphs)
        for graph in self.graphs:
            self._name_graph(graph)
        self.lines: list[tuple[str, Node | None]] = []

    def _name_graph(self, graph: Graph) -> str:
        if graph.id not in self._graph_names:
            base = plain(graph.name) or "graph"
            self._taken[base] = count = self._taken.get(base, 0) + 1
            self._graph_names[graph.id] = base if count == 1 else f"{base}.{count}"
        return "@" + self._graph_names[graph.id]

    def type(self, t: Type | None) -> str:
        match t:
            case None:
                return "?"
            case Tuple(items):
                return f"({', '.join(map(self.type, items))}{',' if len(items) == 1 else ''})"
            case List(item):
                return f"list[{self.type(item)}]"
            case Function(cls):
                return f"fn<{' | '.join(map(self._name_graph, cls.members))}>"
            case Environment(cls):
                return f"env<{' | '.join(map(self._name_graph, cls.members))}>"
            case Scalar() | Array() | NoneType() | Range() | Never():
                return str(t)
            case _:
                return quoted(str(t))

    def operand_graph(self, graph: Graph) -> str:
        """`@name` of a graph."""
        return self._name_graph(graph)

    def operand(self, node: Node, names: dict[int, str]) -> str:
        if not isinstance(node, Constant):
            return names.get(node.id) or self._free(node)
        value = node.value
        if isinstance(value, Graph):
            return self._name_graph(value)
        if type(value).__name__ == "Label":
            return "#" + self._name_graph(value.graph)[1:]
        return self.constant_text(node, self.type)

    def _free(self, node: Node) -> str:
        """A node of an enclosing graph."""
        owner: Graph = node.graph  # type: ignore[attr-defined]
        if owner.id not in self._names:
            self._names[owner.id] = node_names(owner, self._lent.get(owner.id, ()))
        return f"%{self._name_graph(owner)[1:]}.{self._names[owner.id].get(node.id, node.id)}"

    @staticmethod
    def constant_text(node: Constant, type_text: Callable[[Any], str] = str) -> str:
        """A constant that names no graph."""
        value = node.value
        match value:
            case Primitive():
                return value.name
            case _ if value is ZERO:
                return f"zero<{type_text(node.type)}>"
            case _ if value is UNDEFINED:
                return f"undefined<{type_text(node.type)}>"
            case Operation():
                return operation_text(value)
            case np.ndarray():
                return f"array<{type_text(node.type)}>({value.ravel().tolist() if value.size <= 16 else '...'})"
            case np.generic():
                return f"{value.dtype.name}({value.item()!r})"
            case Type():
                return f"<{type_text(value)}>"
            case _ if is_literal(value):
                return repr(value)
            case type() | np.dtype():
                return quoted(getattr(value, "__name__", str(value)))
            case _ if callable(value):  # the repr of a function holds an address
                return quoted(getattr(value, "__name__", type(value).__name__))
            case _:
                return quoted(repr(value))

    def run(self) -> str:
        position = 0
        while position < len(self.graphs):
            self._graph(self.graphs[position])
            position += 1
        return "\n".join(text for text, _ in self.lines)

    def _graph(self, graph: Graph) -> None:
        lent = self._lent.get(graph.id, ())
        names = node_names(graph, lent)
        parameters = ", ".join(f"{names[p.id]}: {self.type(p.type)}" for p in graph.parameters)
        captured = f"[{graph.captured}]" if graph.captured else ""
        result = graph.result if graph.result is not None or isinstance(graph.output, Constant) else graph.output.type
        if self.lines:
            self.lines.append(("", None))
        self.lines.append((f"{self._name_graph(graph)}{captured}({parameters}) -> {self.type(result)}:", None))
        for node in schedule(graph, lent):
            head, *arguments = (self.operand(x, names) for x in node.inputs)
            self.lines.append((f"  {names[node.id]} : {self.type(node.type)} = {head}({', '.join(arguments)})", node))
        self.lines.append((f"  return {self.operand(graph.output, names)}", graph.output))


def is_literal(value: Any) -> bool:
    """Whether `repr` can be read back."""
    return value is None or isinstance(value, (bool, int, float, str)) or isinstance(value, tuple) and all(map(is_literal, value))


def quoted(text: str) -> str:
    """Text that stands for a value without a form of its own."""
    return "‹" + re.sub(r"\s+", " ", text).replace("‹", "<").replace("›", ">") + "›"


def operation_text(operation: Operation) -> str:
    """The name of an operation of the user; quoted where it is no word and no operator."""
    name = operation.name.replace(" ", "·")
    from myia_notebook.ir.text_parser import operations
    return name if name in operations() and re.fullmatch(r"[\w.·]+|[-+*/%@~&^|<>=!]+", name) else quoted(name)


def plain(name: str) -> str:
    """A name without what the form itself uses."""
    return re.sub(r"[\s()\[\]<>,:|='\"‹›]", "_", name)


def lent_nodes(graphs: list[Graph]) -> dict[int, list[Node]]:
    """Nested form: by the id of its graph, the nodes that other graphs use. Empty for closed graphs."""
    found: dict[int, list[Node]] = {}
    seen: set[int] = set()
    work: list[tuple[Graph, Node]] = [(g, g.output) for g in graphs]
    while work:
        user, node = work.pop()
        owner = getattr(node, "graph", None)
        if owner is not None and owner is not user:
            found.setdefault(owner.id, [])
            if all(x is not node for x in found[owner.id]):
                found[owner.id].append(node)
        if isinstance(node, Apply) and node.id not in seen:
            seen.add(node.id)
            work.extend((node.graph, x) for x in reversed(node.inputs))
    return found


def node_names(graph: Graph, lent: Iterable[Node] = ()) -> dict[int, str]:
    """A name for each parameter and Apply of a graph, unique in it, by node id. `lent`: nodes that only other graphs use."""
    names: dict[int, str] = {}
    taken: dict[str, int] = {}
    unnamed = 0
    nodes: list[Node] = [*graph.parameters, *schedule(graph, lent)]
    for node in nodes:
        if node.name:
            name = plain(node.name)
            taken[name] = count = taken.get(name, 0) + 1
            names[node.id] = name if count == 1 else f"{name}.{count}"
        else:
            unnamed += 1
            names[node.id] = f"%{unnamed}"
    return names


def print_program(root: Graph) -> str:
    """The textual IR of everything reachable from `root`."""
    return Printer(root).run()


def program_lines(root: Graph) -> list[tuple[str, Node | None]]:
    """The same, line by line, each with the node that it shows."""
    printer = Printer(root)
    printer.run()
    return printer.lines


_TOKEN = re.compile(r"\s+(?P<operation>[-+*/%@~&^|<>=!]+)(?=\()|\s*(?:(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<opaque>‹[^›]*›)"
                    r"|(?P<number>-?(?:inf|nan|\d+\.?\d*(?:e[+-]?\d+)?)(?![\w.]))"
                    r"|(?P<arrow>->)|(?P<word>[@#%]?[^\s()\[\]<>,:|='\"‹›]+)|(?P<mark>[()\[\]<>,:|=]))")


def parse_program(text: str) -> Graph:
    """Reads what `print_program` wrote (arrays with at most 16 elements). Raises ValueError with the line that cannot be read."""
    from myia_notebook.ir.text_parser import Reader
    return Reader(text, _TOKEN).program()


def values_equal(a: Any, b: Any) -> bool:
    """Equality of constants: NaN equals NaN, 1 and 1.0 differ."""
    return type(a) is type(b) and repr(a) == repr(b)
