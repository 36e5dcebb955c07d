"""Copies graphs, so that a stage can rewrite its input without touching it.

On exit the copy prints exactly like the original, and every copied node and graph *keeps its id*: a node that a pass leaves alone
is the same node to the viewer. Function classes are copied too (their members are the copied graphs), and so are the types
that name them. Do not mix nodes of an original and of its copy.
"""
from __future__ import annotations

from myia_notebook.ir.graph import Apply, Constant, Graph, Node, Parameter, schedule
from myia_notebook.ir.types import Environment, Function, FunctionClass, List, Slice, Static, Tuple, Type, map_parts


def labels_of(graph: Graph) -> list[Graph]:
    """Graphs named by `Label` constants (environment primitives) of this graph."""
    found: list[Graph] = []
    for node in schedule(graph):
        for operand in node.inputs:
            if isinstance(operand, Constant) and type(operand.value).__name__ == "Label":
                found.append(operand.value.graph)
    return found


class Cloner:
    """Copies what is reachable from a root. `graphs` maps original graph ids to copies, `nodes` original node ids to copies."""

    def __init__(self) -> None:
        self.graphs: dict[int, Graph] = {}
        self.nodes: dict[int, Node] = {}
        self.classes: dict[int, FunctionClass] = {}
        self._kept: list[FunctionClass] = []
        self._pending: list[Graph] = []

    def graph(self, original: Graph) -> Graph:
        """The copy of a graph: made empty at once, filled by `run`."""
        copy = self.graphs.get(original.id)
        if copy is None:
            copy = Graph(original.name, original.kind, original.provenance, original.primal)
            copy.id, copy.captured, copy.signature = original.id, original.captured, original.signature
            copy.flags = dict(original.flags)
            self.graphs[original.id] = copy
            self._pending.append(original)
        return copy

    def run(self) -> None:
        while self._pending:
            original = self._pending.pop()
            self._fill(original, self.graphs[original.id])

    def type(self, t: Type | None) -> Type | None:
        match t:
            case Tuple() | List():
                return map_parts(t, self.type)  # type: ignore[arg-type]
            case Function(cls):
                return Function(self.function_class(cls))
            case Environment(cls):
                return Environment(self.function_class(cls))
            case Slice(start, stop, step):
                return Slice(self.type(start), self.type(stop), self.type(step))  # type: ignore[arg-type]
            case _:
                return t

    def function_class(self, cls: FunctionClass) -> FunctionClass:
        copy = self.classes.get(id(cls))
        if copy is None:
            copy = self.classes[id(cls)] = FunctionClass([], cls.name)
            self._kept.append(cls)  # keeps id(cls) valid
            copy.members = [self.graph(member) for member in cls.members]
        return copy

    def _fill(self, original: Graph, copy: Graph) -> None:
        for parameter in original.parameters:
            new = Parameter(copy, parameter.name, self.type(parameter.type), parameter.provenance)
            new.id = parameter.id
            self.nodes[parameter.id] = new
            copy.parameters.append(new)
        copy.result = self.type(original.result)
        if original.function_class is not None:
            copy.function_class = self.function_class(original.function_class)
        for node in schedule(original):
            new_apply = Apply(copy, [self.node(operand) for operand in node.inputs], self.type(node.type), node.name, node.provenance)
            new_apply.id = node.id
            self.nodes[node.id] = new_apply
        copy.output = self.node(original.output)

    def node(self, node: Node) -> Node:
        known = self.nodes.get(node.id)
        if known is not None:
            return known
        if not isinstance(node, Constant):
            raise AssertionError(f"{node!r} is a free variable: clone works on closed graphs")
        value = self._value(node.value)
        t = Static(value) if isinstance(value, Type) and value is not node.value else self.type(node.type)
        new = Constant(value, t, node.name, node.provenance)
        new.id = node.id
        self.nodes[node.id] = new
        return new

    def _value(self, value: object) -> object:
        if isinstance(value, Graph):
            return self.graph(value)
        if type(value).__name__ == "Label":
            return type(value)(self.graph(value.graph))  # type: ignore[attr-defined,call-arg]
        if isinstance(value, Type):
            return self.type(value)
        return value


def clone(root: Graph) -> tuple[Graph, Cloner]:
    """A copy of a closed program, and the mapping from the original to it."""
    cloner = Cloner()
    copy = cloner.graph(root)
    cloner.run()
    return copy, cloner
