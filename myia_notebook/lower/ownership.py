"""Sensitivities of arrays that a loop reads item by item: each step of the backward pass adds into the one array.

    take from the tape (y, tape, ∇):  jump tape(index_add(∇, d, i))      -->      jump tape(accumulate(∇, d, i))
    back (tape, ∇):                   jump tape(k(∇))                    -->      jump tape(copied(k(∇)))

An array that a tape (`lower.tapes`) hands from step to step, and that each step only adds to, belongs to the tape once the first one is a copy: a gradient with respect to
an array costs O(1) for each item read, not O(n).

On entry: a typed program after `tapes`, of which the caller owns every graph. On exit: the same value.
"""
from __future__ import annotations

from myia_notebook.ir.graph import ZERO, Apply, Constant, Graph, Node, is_call_of, reachable, schedule
from myia_notebook.ir.types import Array, Function, FunctionClass, Static, Tuple
from myia_notebook.lower.primitives import ACCUMULATE, COPIED, FRESH_ZEROS
from myia_notebook.lower.recursion import GETITEM, MAKE_TUPLE
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.table import PRIMITIVES

INDEX_ADD = PRIMITIVES["index_add"]


def own(root: Graph) -> int:
    """Rewrites what can be; gives the number of arrays that tapes own."""
    graphs = reachable(root)
    count = 0
    for cls in _tapes(graphs):
        callers = [g for g in graphs if any(_calls(n, cls) for n in schedule(g))]
        steps = [g for g in callers if g.flags.get("tape") == "step"]
        backs = [g for g in callers if g.flags.get("tape") == "back"]
        if len(steps) + len(backs) != len(callers) or not all(_hands_over(g, cls) for g in callers) or any(g.function_class is not cls for g in steps):
            continue
        received = Builder.type_of(steps[0].parameters[steps[0].captured])
        for j, t in enumerate(received.items if isinstance(received, Tuple) else ()):
            if not isinstance(t, Array):
                continue
            sums = [_sums(g, j) for g in steps]
            if any(s is None for s in sums) or not any(sums):
                continue
            count += 1
            for node in (n for s in sums for n in s or ()):
                node.inputs[0] = Constant(ACCUMULATE, Static(ACCUMULATE))
            for g in backs:
                _copy_first(g, j, received, t)
    return count


def _tapes(graphs: list[Graph]) -> list[FunctionClass]:
    found = {id(g.function_class): g.function_class for g in graphs if g.flags.get("tape") == "step" and g.function_class is not None}
    return list(found.values())


def _calls(node: Apply, cls: FunctionClass) -> bool:
    head = node.inputs[0]
    return not isinstance(head, Constant) and isinstance(head.type, Function) and head.type.cls is cls


def _hands_over(g: Graph, cls: FunctionClass) -> bool:
    """Whether the only call of a tape in g is its last, with a tuple."""
    return [n for n in schedule(g) if _calls(n, cls)] == [g.output] and is_call_of(g.output.inputs[1], MAKE_TUPLE)  # type: ignore[attr-defined]


def _sums(g: Graph, j: int) -> list[Apply] | None:
    """The additions that a step makes to item j of what it is given; None when it does anything else with it."""
    given = g.parameters[g.captured]
    uses: dict[int, int] = {}
    items = 0
    for node in schedule(g):
        for x in node.inputs:
            uses[x.id] = uses.get(x.id, 0) + 1
        if any(x is given for x in node.inputs):
            if not is_call_of(node, GETITEM):
                return None
            items += node.inputs[2].value == j  # type: ignore[attr-defined]
    assert isinstance(g.output, Apply) and isinstance(g.output.inputs[1], Apply)
    x = g.output.inputs[1].inputs[1 + j]
    found: list[Apply] = []
    while is_call_of(x, INDEX_ADD) and uses[x.id] == 1:
        assert isinstance(x, Apply)
        found.append(x)
        x = x.inputs[1]
    is_given = is_call_of(x, GETITEM) and x.inputs[1] is given and x.inputs[2].value == j  # type: ignore[attr-defined]
    return found if is_given and items == 1 and uses[x.id] == 1 else None


def _copy_first(g: Graph, j: int, received: Tuple, t: Array) -> None:
    """The array that is handed to the tape first becomes the tape's own."""
    assert isinstance(g.output, Apply) and isinstance(g.output.inputs[1], Apply)
    builder = Builder(g, g.provenance)
    items: list[Node] = list(g.output.inputs[1].inputs[1:])
    first = items[j]
    items[j] = (builder.apply(FRESH_ZEROS, Constant(t, Static(t)), type=t) if isinstance(first, Constant) and first.value is ZERO
                else builder.apply(COPIED, first, type=t))
    g.output.inputs[1] = builder.apply(MAKE_TUPLE, *items, type=received)
