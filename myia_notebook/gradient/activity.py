"""Which nodes a derivative can reach: those that depend on an argument that is differentiated.

Everything else needs no sensitivity, and J makes none: a weight that is held constant, the data of a loss, a table that a recursion only
reads. The answer is for the whole program (a parameter is active when some call passes it something active), found by following uses forward
from the arguments that the `gradient_call`s name. Reference: Hascoët & Pascual, *The Tapenade automatic differentiation tool*, TOMS 2013,
section 4 (activity analysis), here over graphs with functions as values.
"""
from __future__ import annotations

from collections.abc import Iterable

from myia_notebook.ir.graph import Apply, Constant, Graph, Node, callee_of, graph_constant, primitive_of, schedule
from myia_notebook.ir.types import Function, Type, parts
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.table import PRIMITIVES

PARTIAL, BRANCH = PRIMITIVES["partial"], PRIMITIVES["branch"]


class Activity:
    """Active nodes of a program, by id. `start` names nodes; `run` follows them."""

    def __init__(self, graphs: Iterable[Graph]) -> None:
        self.users: dict[int, list[Apply]] = {}
        self.active: set[int] = set()
        self.outputs: dict[int, list[Graph]] = {}
        self.work: list[Node] = []
        self.calls: dict[int, list[Apply]] = {}
        for g in graphs:
            if not isinstance(g.output, Constant):
                self.outputs.setdefault(g.output.id, []).append(g)
            for node in schedule(g):
                for x in node.inputs:
                    if not isinstance(x, Constant):
                        self.users.setdefault(x.id, []).append(node)
                for target in self._targets(node):
                    self.calls.setdefault(target.id, []).append(node)

    @staticmethod
    def _targets(node: Apply) -> list[Graph]:
        """The graphs whose result a node gives."""
        target = callee_of(node)
        if target is not None:
            return [target]
        primitive = primitive_of(node)
        if primitive is BRANCH:
            return [g for x in node.inputs[2:4] if (g := graph_constant(x)) is not None]
        if primitive is None:
            t = Builder.type_of(node.inputs[0])
            return list(t.cls.members) if isinstance(t, Function) else []
        return []

    def start(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            self._mark(node)

    def _mark(self, node: Node) -> None:
        if not isinstance(node, Constant) and node.id not in self.active:
            self.active.add(node.id)
            self.work.append(node)

    def run(self) -> None:
        while self.work:
            node = self.work.pop()
            for user in self.users.get(node.id, ()):
                self._mark(user)
                self._pass_on(user, node)
            for g in self.outputs.get(node.id, ()):
                for call in self.calls.get(g.id, ()):
                    self._mark(call)

    def _pass_on(self, user: Apply, node: Node) -> None:
        """The parameters that a use hands an active node to. Functions inside it are run with what they captured."""
        primitive = primitive_of(user)
        if primitive is None:
            targets, first = self._targets(user), 1
            known = callee_of(user) is not None
            for g in targets:
                offset = 0 if known else g.captured
                for i, x in enumerate(user.inputs[first:]):
                    if x is node and offset + i < len(g.parameters):
                        self._mark(g.parameters[offset + i])
            return
        if primitive is BRANCH:
            for g in self._targets(user):
                for i, x in enumerate(user.inputs[4:]):
                    if x is node:
                        self._mark(g.parameters[i])
        elif primitive is PARTIAL:
            target = graph_constant(user.inputs[1])
            assert target is not None
            for i, x in enumerate(user.inputs[2:]):
                if x is node:
                    self._mark(target.parameters[i])
        else:  # a graph among the operands of another primitive runs with whatever it gets
            for x in user.inputs[1:]:
                target = graph_constant(x)
                if target is not None:
                    self.start(target.parameters)

    def is_active(self, node: Node) -> bool:
        return node.id in self.active


def captured_by(t: Type | None) -> list[Node]:
    """Captured parameters of the functions that a value of type t may hold: active when the value itself is differentiated."""
    found: list[Node] = []
    seen: set[int] = set()
    stack: list[Type | None] = [t]
    while stack:
        u = stack.pop()
        if isinstance(u, Function) and id(u.cls) not in seen:
            seen.add(id(u.cls))
            for member in u.cls.members:
                found.extend(member.parameters[:member.captured])
                stack.extend(p.type for p in member.parameters[:member.captured])
        if u is not None:
            stack.extend(parts(u))
    return found


__all__ = ["Activity", "captured_by"]
