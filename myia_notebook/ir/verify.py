"""What is legal at each stage: `verify_typed` checks the typed form (docs/architecture.md) and names every violation.

The check is local: a node against its operands, a call against the signature of its callee. Every primitive's type is inferred again, from
the types of its operands, and must be the type that the node was made with. Nothing is inferred across graphs, so it is linear; it runs
between the stages in tests and with `--check`. `verify_classes` adds what holds for function classes over the whole program.
"""
from __future__ import annotations

from myia_notebook.errors import MyiaError
from myia_notebook.ir.graph import UNDEFINED, Apply, Constant, Graph, Node, callee_of, graph_constant, is_symbolic, primitive_of, reachable, schedule
from myia_notebook.ir.text import Printer, node_names
from myia_notebook.ir.types import Function, Tuple, Type
from myia_notebook.ir.verify_classes import verify_classes
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.primitive import Abstract, Primitive
from myia_notebook.ops.table import PRIMITIVES

PARTIAL, BRANCH, GRADIENT_CALL = PRIMITIVES["partial"], PRIMITIVES["branch"], PRIMITIVES["gradient_call"]
MAKE_TUPLE, TUPLE_GETITEM, SWITCH = PRIMITIVES["make_tuple"], PRIMITIVES["tuple_getitem"], PRIMITIVES["switch"]


class _Checker:
    def __init__(self, root: Graph) -> None:
        self.printer = Printer(root)
        self.problems: list[str] = []
        self.alive = {g.id for g in reachable(root)}

    def complain(self, graph: Graph, node: Node | None, text: str) -> None:
        where = ""
        if isinstance(node, Apply):
            names = node_names(graph)
            inputs = ", ".join(self.printer.operand(x, names) for x in node.inputs[1:])
            where = f" at {names.get(node.id, node.id)} = {self.printer.operand(node.inputs[0], names)}({inputs})"
        self.problems.append(f"@{graph.name}{where}: {text}")

    def graph(self, graph: Graph) -> None:
        if graph.result is None:
            self.complain(graph, None, "has no result type")
        for p in graph.parameters:
            if p.type is None:
                self.complain(graph, None, f"parameter {p.name} has no type")
        own = {p.id for p in graph.parameters}
        for node in schedule(graph):
            self.operands(graph, node, own)
            own.add(node.id)
            if node.type is None:
                self.complain(graph, node, "has no type")
            else:
                self.apply(graph, node, node.type)
        if not isinstance(graph.output, Constant) and graph.output.id not in own:
            self.complain(graph, None, f"returns {graph.output!r}, a node of another graph")
        if graph.result is not None:
            self.same(graph, None, "result", self.type(graph.output), graph.result, graph.output)

    def operands(self, graph: Graph, node: Apply, own: set[int]) -> None:
        for operand in node.inputs:
            if not isinstance(operand, Constant) and operand.id not in own:
                self.complain(graph, node, f"uses {operand!r}, a node of another graph")

    def type(self, node: Node) -> Type | None:
        return node.type if not isinstance(node, Constant) or is_symbolic(node.value) or node.type is not None else Builder.type_of(node)

    def same(self, graph: Graph, node: Node | None, what: str, got: Type | None, want: Type | None, operand: Node | None = None) -> None:
        if isinstance(operand, Constant) and operand.value is UNDEFINED:
            return
        if got != want:
            self.complain(graph, node, f"{what} is {self.printer.type(got)}, not {self.printer.type(want)}")

    def call(self, graph: Graph, node: Apply, target: Graph, arguments: list[Node], result: Type | None) -> None:
        if len(target.parameters) != len(arguments):
            self.complain(graph, node, f"@{target.name} takes {len(target.parameters)} values, got {len(arguments)}")
            return
        for i, (p, x) in enumerate(zip(target.parameters, arguments)):
            self.same(graph, node, f"argument {i} of @{target.name}", self.type(x), p.type, x)
        self.same(graph, node, f"result of @{target.name}", target.result, result)

    def apply(self, graph: Graph, node: Apply, t: Type) -> None:
        primitive = primitive_of(node)
        target = callee_of(node)
        if target is not None:
            self.call(graph, node, target, node.arguments, t)
        elif primitive is None:
            self.unknown_call(graph, node, t)
        elif primitive is PARTIAL:
            self.partial(graph, node, t)
        elif primitive is BRANCH:
            for arm in node.inputs[2:4]:
                g = graph_constant(arm)
                if g is None:
                    self.complain(graph, node, "an arm is no graph")
                else:
                    self.call(graph, node, g, node.inputs[4:], t)
        elif primitive is MAKE_TUPLE:
            self.same(graph, node, "type", Tuple(tuple(self.type(x) for x in node.arguments)), t)  # type: ignore[arg-type]
        elif primitive is TUPLE_GETITEM:
            self.item(graph, node, t)
        elif primitive is SWITCH:
            for x in node.inputs[2:]:
                self.same(graph, node, "switched value", self.type(x), t, x)
        else:
            self.primitive(graph, node, primitive, t)

    def unknown_call(self, graph: Graph, node: Apply, t: Type) -> None:
        ft = self.type(node.function)
        if not isinstance(ft, Function):
            self.complain(graph, node, f"calls a {self.printer.type(ft)}")
            return
        for member in ft.cls.members:
            if member.id not in self.alive:
                continue  # nobody makes a closure of it: it is never called
            if member.function_class is not ft.cls:
                self.complain(graph, node, f"@{member.name} is a member of a class that is not its own")
            parameters = member.parameters[member.captured:]
            if len(parameters) != len(node.arguments):
                self.complain(graph, node, f"@{member.name} takes {len(parameters)} values, got {len(node.arguments)}")
                continue
            for i, (p, x) in enumerate(zip(parameters, node.arguments)):
                self.same(graph, node, f"argument {i} of @{member.name}", self.type(x), p.type, x)
            self.same(graph, node, f"result of @{member.name}", member.result, t)

    def partial(self, graph: Graph, node: Apply, t: Type) -> None:
        target = graph_constant(node.inputs[1])
        if target is None or not isinstance(t, Function):
            self.complain(graph, node, "a partial of no graph, or with a type that is no function")
            return
        if target.captured != len(node.inputs) - 2:
            self.complain(graph, node, f"@{target.name} captures {target.captured} values, got {len(node.inputs) - 2}")
        for i, (p, x) in enumerate(zip(target.parameters, node.inputs[2:])):
            self.same(graph, node, f"captured value {i} of @{target.name}", self.type(x), p.type, x)
        if not any(member is target for member in t.cls.members):
            self.complain(graph, node, f"@{target.name} is not in {self.printer.type(t)}")

    def item(self, graph: Graph, node: Apply, t: Type) -> None:
        of, index = self.type(node.inputs[1]), node.inputs[2]
        if not isinstance(of, Tuple) or not isinstance(index, Constant) or not 0 <= index.value < len(of.items):
            self.complain(graph, node, f"item {index!r} of {self.printer.type(of)}")
        else:
            self.same(graph, node, "item", of.items[index.value], t)

    def primitive(self, graph: Graph, node: Apply, primitive: Primitive, t: Type) -> None:
        if not callable(primitive.infer) or any(self.type(x) is None for x in node.arguments):
            return
        try:
            inferred = primitive.infer([Abstract(Builder.type_of(x), x.value) if isinstance(x, Constant) else Abstract(Builder.type_of(x))
                                        for x in node.arguments])
        except MyiaError as problem:
            self.complain(graph, node, problem.message)
            return
        self.same(graph, node, "type", inferred.type if isinstance(inferred, Abstract) else inferred, t)


def verify_typed(root: Graph) -> list[str]:
    """Every way in which a program is not in typed form; empty when it is."""
    checker = _Checker(root)
    for graph in reachable(root):
        checker.graph(graph)
    return checker.problems + verify_classes(root)
