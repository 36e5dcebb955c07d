"""From a sensitivity to a gradient with the structure of the argument.

    int, bool, None, str   zero of that type, the same constant
    tuple                  item by item
    list                   filled with zeros to the length of the primal's
    union                  env ↦ case primal of l(x…) → l'(restore(env_get(env, l, i), x_i)…)

On entry: a sensitivity, the primal value it belongs to, and the type wanted, all in typed form. Everything made here is ordinary nodes, so
that gradients of gradients go through it.
"""
from __future__ import annotations

import numpy as np

from myia_notebook.ir.graph import Constant, Graph, Node
from myia_notebook.ir.types import (
    BOOL,
    INT,
    Environment,
    Function,
    FunctionClass,
    List,
    NoneType,
    Scalar,
    Static,
    Tuple,
    Type,
    is_float,
    parts,
    sensitivity,
)
from myia_notebook.ops.environment import Label
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.table import PRIMITIVES


class Restore:
    """Restores gradients; graphs for unions and lists are made once."""

    def __init__(self) -> None:
        self.cases: dict[tuple[int, int], Graph] = {}
        self.loops: dict[tuple[Type, Type, Type], Graph] = {}

    def value(self, builder: Builder, sens: Node, primal: Node, want: Type) -> Node:
        """The gradient of type `want`."""
        have, of = Builder.type_of(sens), Builder.type_of(primal)
        if is_float(want):
            return sens
        match want:
            case Scalar(dtype, weak):
                return Constant((False if dtype == "bool" else 0) if weak or dtype == "bool" else np.dtype(dtype).type(0), want)
            case NoneType():
                return Constant(None, want)
            case Static(value):
                return Constant(value, want)
            case Tuple(items):
                if not items:
                    return sens if have == want else Constant((), want)
                made = [self.value(builder, builder.item(sens, i) if parts(have) else sens, builder.item(primal, i) if parts(of) else primal, item)
                        for i, item in enumerate(items)]
                return builder.apply(PRIMITIVES["make_tuple"], *made, type=want)
            case List(item):
                return self._list(builder, sens, primal, want, item)
            case Function(cls) if isinstance(of, Function):
                return builder.call(self._case(of.cls, cls), sens, primal, type=want)
            case _:  # an integer array
                return builder.apply(PRIMITIVES["broadcast_to"], builder.constant(np.dtype(want.dtype).type(0)), builder.constant(want.shape))  # type: ignore[attr-defined]

    def _list(self, builder: Builder, sens: Node, primal: Node, want: List, item: Type) -> Node:
        length = builder.apply(PRIMITIVES["list_length"], primal)
        if Builder.type_of(sens) == want and not _holds_lists(item):
            return builder.apply(PRIMITIVES["list_pad"], sens, length)
        loop = self._loop(Builder.type_of(sens), Builder.type_of(primal), want)
        return builder.call(loop, builder.constant(0, INT), length, sens, primal, builder.zero(want), type=want)

    def _loop(self, have: Type, of: Type, want: List) -> Graph:
        """(i, n, sensitivity, primal, made) ↦ made if i = n, else the loop with one more item"""
        key = (have, of, want)
        if key in self.loops:
            return self.loops[key]
        assert isinstance(of, List) and isinstance(have, List)
        loop = self.loops[key] = Graph("restore", "loop")
        names = {"i": INT, "n": INT, "∇": have, "x": of, "made": want}
        done, more = Graph("done", "branch"), Graph("more", "branch")
        for g in (loop, done, more):
            g.result = want
            for name, t in names.items():
                g.add_parameter(name, t)
        done.output = done.parameters[4]
        b = Builder(more)
        i, n, sens, primal, made = more.parameters
        part = b.apply(PRIMITIVES["list_read"], sens, i)
        inner = self.value(b, part, b.apply(PRIMITIVES["list_get"], primal, i), want.item)
        longer = b.apply(PRIMITIVES["list_append"], made, inner, type=want)
        more.output = b.call(loop, b.apply(PRIMITIVES["add"], i, b.constant(1, INT)), n, sens, primal, longer, type=want)
        outer = Builder(loop)
        test = outer.apply(PRIMITIVES["less"], loop.parameters[0], loop.parameters[1])
        loop.output = outer.apply(PRIMITIVES["branch"], test, Constant(more), Constant(done), *loop.parameters, type=want)
        return loop

    def _case(self, cls: FunctionClass, want: FunctionClass) -> Graph:
        key = (id(cls), id(want))
        if key not in self.cases:
            case = self.cases[key] = Graph(f"∇{cls.name}", "function")
            case.result = Function(want)
            case.add_parameter("∇", Environment(cls))
            case.add_parameter("x", Function(cls))
            case.output = self._choose(case, cls, want, 0)
        return self.cases[key]

    def _choose(self, graph: Graph, cls: FunctionClass, want: FunctionClass, index: int) -> Node:
        builder = Builder(graph)
        member = cls.members[index]
        if index == len(cls.members) - 1:
            return self._made(builder, member, want, cls)
        label = Label(member)
        test = builder.apply(PRIMITIVES["closure_is"], graph.parameters[1], Constant(label, Static(label)), type=BOOL)
        arms: list[Graph] = []
        for name in (member.name, "otherwise"):
            arm = Graph(name, "branch")
            arm.result = Function(want)
            arm.add_parameter("∇", Environment(cls))
            arm.add_parameter("x", Function(cls))
            arms.append(arm)
        arms[0].output = self._made(Builder(arms[0]), member, want, cls)
        arms[1].output = self._choose(arms[1], cls, want, index + 1)
        return builder.apply(PRIMITIVES["branch"], test, Constant(arms[0]), Constant(arms[1]), *graph.parameters, type=Function(want))

    def _made(self, builder: Builder, member: Graph, want: FunctionClass, cls: FunctionClass) -> Node:
        target = member if want is cls else next(m for m in want.members if m.flags.get("origin") == member.flags["number"] or m is member)
        sens, primal = builder.graph.parameters
        label = Label(member)
        head = Constant(label, Static(label))
        items: list[Node] = []
        for i, (p, q) in enumerate(zip(member.parameters, target.parameters)):
            t = Builder.type_of(p)
            part = builder.apply(PRIMITIVES["env_get"], sens, head, builder.constant(i), type=sensitivity(t))
            field = builder.apply(PRIMITIVES["closure_get"], primal, head, builder.constant(i), type=t)
            items.append(self.value(builder, part, field, Builder.type_of(q)))
        made = Constant(target, Function(want))
        return builder.apply(PRIMITIVES["partial"], made, *items, type=Function(want)) if items else made


def _holds_lists(t: Type) -> bool:
    return isinstance(t, (List, Function, Environment)) or any(map(_holds_lists, parts(t)))


__all__ = ["Restore"]
