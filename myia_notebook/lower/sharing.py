"""Two simplifications of a program before it is planned: fewer frames, fewer cells.

`unshare`: an arm that several branches lead to is a piece of code of its own, with a frame for those who wait for it. Small ones are copied, one for each branch, and so are placed
where their branch is.

`erase`: a closure class with one member that only hands on what it is given, partial(◀f, k) with ◀f(k, ∇) = k(∇) in other brackets, is no closure of its own: it becomes k.
The brackets are gone in the machine, where a tuple is its items.

On entry: a typed program of which the caller owns every graph. On exit: the same value; types are exact up to the brackets of erased closures' results.
"""
from __future__ import annotations

from myia_notebook.ir.graph import Apply, Constant, Graph, Node, graph_constant, is_call_of, reachable, schedule
from myia_notebook.ir.types import Function, FunctionClass, List, Tuple, Type, map_parts
from myia_notebook.lower.recursion import BRANCH, GETITEM, MAKE_TUPLE, PARTIAL, call_through, is_empty
from myia_notebook.ops.environment import Label
from myia_notebook.ops.expression import Builder

LARGEST, BUDGET = 60, 2000
"""Nodes of an arm that may be copied, and of all copies together."""


def unshare(root: Graph) -> None:
    """Copies small arms that several branches share."""
    budget = BUDGET
    pending = [root]
    seen = {root.id}
    uses = _uses(reachable(root))
    while pending:
        g = pending.pop(0)
        for node in schedule(g):
            for i, x in enumerate(node.inputs):
                target = graph_constant(x)
                if target is None:
                    continue
                count, arms = uses[target.id]
                size = len(schedule(target))
                if is_call_of(node, BRANCH) and i in (2, 3) and count == arms > 1 and size <= min(LARGEST, budget):
                    budget -= size
                    uses[target.id] = (count - 1, arms - 1)
                    target = _copy(target)
                    uses[target.id] = (1, 1)
                    for inner in _mentioned(target):
                        uses[inner.id] = (uses[inner.id][0] + 1, uses[inner.id][1] + (inner.id in _arms(target)))
                    node.inputs[i] = Constant(target, x.type, x.name, x.provenance)
                if target.id not in seen:
                    seen.add(target.id)
                    pending.append(target)


def _mentioned(g: Graph) -> list[Graph]:
    found = [graph_constant(x) for node in schedule(g) for x in node.inputs]
    found.append(graph_constant(g.output))
    return [t for t in found if t is not None]


def _arms(g: Graph) -> set[int]:
    return {t.id for node in schedule(g) if is_call_of(node, BRANCH) for x in node.inputs[2:4] if (t := graph_constant(x)) is not None}


def _uses(graphs: list[Graph]) -> dict[int, tuple[int, int]]:
    """How often each graph is named, and how often as an arm."""
    uses = {g.id: (0, 0) for g in graphs}
    for g in graphs:
        for target in _mentioned(g):
            uses[target.id] = (uses[target.id][0] + 1, uses[target.id][1])
        for node in schedule(g):
            if is_call_of(node, BRANCH):
                for x in node.inputs[2:4]:
                    arm = graph_constant(x)
                    assert arm is not None
                    uses[arm.id] = (uses[arm.id][0], uses[arm.id][1] + 1)
    return uses


def _copy(g: Graph) -> Graph:
    new = Graph(g.name, g.kind, g.provenance, g.primal)
    new.result, new.flags = g.result, dict(g.flags)
    known: dict[int, Node] = {p.id: new.add_parameter(p.name, p.type, p.provenance) for p in g.parameters}
    for node in schedule(g):
        known[node.id] = Apply(new, [x if isinstance(x, Constant) else known[x.id] for x in node.inputs], node.type, node.name, node.provenance)
    new.output = g.output if isinstance(g.output, Constant) else known[g.output.id]
    return new


# -- closures that only hand on

def erase(root: Graph) -> None:
    """Replaces closures that only hand on by what they hand on to."""
    graphs = reachable(root)
    alive = {g.id for g in graphs}
    labels = {x.value.graph.id for g in graphs for node in schedule(g) for x in node.inputs if isinstance(x, Constant) and isinstance(x.value, Label)}
    targets: dict[int, FunctionClass] = {}
    erased: dict[int, Graph] = {}
    for g in graphs:
        cls = g.function_class
        if cls is None or g.id in labels or [m for m in cls.members if m.id in alive] != [g] or not _hands_on(g):
            continue
        inner = Builder.type_of(g.parameters[0])
        assert isinstance(inner, Function)
        if _final(inner.cls, targets) is not cls:
            targets[id(cls)] = inner.cls
            erased[g.id] = g
    if not targets:
        return
    for g in graphs:
        _rewire(g, erased)
    for g in reachable(root):
        g.result = _retyped(g.result, targets)
        for node in (*g.parameters, *schedule(g), *(x for n in schedule(g) for x in n.inputs if isinstance(x, Constant)), g.output):
            if node.type is not None:
                node.type = _retyped(node.type, targets)


def _final(cls: FunctionClass, targets: dict[int, FunctionClass]) -> FunctionClass:
    while id(cls) in targets:
        cls = targets[id(cls)]
    return cls


def _hands_on(g: Graph) -> bool:
    """g(k, ∇) = k(∇), with the same words in the same order."""
    if g.captured != 1 or not isinstance(g.parameters[0].type, Function):
        return False
    inner = call_through(g, g.parameters[0])
    if inner is None:
        return False
    if g.output is inner:
        return True
    t = Builder.type_of(inner)
    if not isinstance(t, Tuple) or not is_call_of(g.output, MAKE_TUPLE):
        return False
    wanted = [i for i, item in enumerate(t.items) if not is_empty(item)]
    given: list[int] = []
    for x in g.output.inputs[1:]:  # type: ignore[attr-defined]
        if is_call_of(x, GETITEM) and x.inputs[1] is inner:
            if not is_empty(t.items[x.inputs[2].value]):
                given.append(x.inputs[2].value)
        elif not is_empty(Builder.type_of(x)):
            return False
    return given == wanted


def _rewire(g: Graph, erased: dict[int, Graph]) -> None:
    known: dict[int, Node] = {}
    for node in schedule(g):
        node.inputs[:] = [known.get(x.id, x) for x in node.inputs]
        if is_call_of(node, PARTIAL) and (target := graph_constant(node.inputs[1])) is not None and target.id in erased:
            known[node.id] = node.inputs[2]
    g.output = known.get(g.output.id, g.output)


def _retyped(t: Type | None, targets: dict[int, FunctionClass]) -> Type | None:
    match t:
        case Tuple() | List():
            return map_parts(t, lambda part: _retyped(part, targets))  # type: ignore[arg-type, return-value]
        case Function(cls) if id(cls) in targets:
            return Function(_final(cls, targets))
        case _:
            return t
