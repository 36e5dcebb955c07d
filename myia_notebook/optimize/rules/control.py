"""Control: calls of what is known, branches that are decided, functions put in place."""
from __future__ import annotations

from typing import Any

from myia_notebook.ir.graph import UNDEFINED, Apply, Constant, Graph, Node, callee_of, graph_constant, is_call_of, primitive_of, schedule
from myia_notebook.ir.types import Function, Scalar, Tuple
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.optimize.pattern import is_number, same_constant
from myia_notebook.optimize.rewriter import Rewriter, Rule, location

PARTIAL, BRANCH, SWITCH, SEQUENCE, MAKE_TUPLE = (PRIMITIVES[n] for n in ("partial", "branch", "switch", "sequence", "make_tuple"))
SMALL = 12
CHEAP = tuple(PRIMITIVES[n] for n in ("add", "subtract", "multiply", "negative"))


def _rule(name: str, family: str, heads: tuple[str, ...], function: Any, why: str, statement: str) -> Rule:
    return Rule(name, family, heads, function, why, location(function), statement)


def _call_of_partial(r: Rewriter, node: Apply) -> Node | None:
    head = node.inputs[0]
    if not (isinstance(head, Apply) and is_call_of(head, PARTIAL)):
        return None
    target = graph_constant(head.inputs[1])
    assert target is not None and target.result is not None
    return r.builder(node).call(Constant(target), *head.inputs[2:], *node.inputs[1:], type=target.result)


def _call_of_single_member(r: Rewriter, node: Apply) -> Node | None:
    """A class of one graph that captures nothing: the call is known."""
    head = node.inputs[0]
    if isinstance(head, Constant) or not isinstance(head.type, Function):
        return None
    members = head.type.cls.members
    if len(members) != 1 or members[0].captured or members[0].result is None or not r.references.get(members[0].id):
        return None
    return r.builder(node).call(Constant(members[0]), *node.inputs[1:], type=members[0].result)


def _inline(r: Rewriter, node: Apply) -> Node | None:
    """A function that is called once, or is small, is put in place of the call."""
    target = callee_of(node)
    if target is None or target.id in r.recursive or target is node.graph or target.output.type is None:
        return None
    if not r.is_used_once(target):
        size = len(schedule(target))
        if size > SMALL:
            return None
    return copy_body(r, node, target, node.inputs[1:])


def copy_body(r: Rewriter, node: Apply, target: Graph, arguments: list[Node]) -> Node:
    """The nodes of `target` in the graph of `node`, over the arguments; returns the output."""
    made: dict[int, Node] = {p.id: x for p, x in zip(target.parameters, arguments)}

    def get(x: Node) -> Node:
        return x if isinstance(x, Constant) else made[x.id]

    for inner in schedule(target):
        new = Apply(node.graph, [get(x) for x in inner.inputs], inner.type, inner.name, inner.provenance)
        made[inner.id] = new
        r.register(new)
    return get(target.output)


def _branch_on_constant(r: Rewriter, node: Apply) -> Node | None:
    test = node.inputs[1]
    if not isinstance(test, Constant) or test.value is UNDEFINED:
        return None
    target = graph_constant(node.inputs[2] if test.value else node.inputs[3])
    assert target is not None and target.result is not None
    return r.builder(node).call(Constant(target), *node.inputs[4:], type=target.result)


def _branch_of_same(r: Rewriter, node: Apply) -> Node | None:
    """Both arms hand the same parameter through."""
    first, second = graph_constant(node.inputs[2]), graph_constant(node.inputs[3])
    assert first is not None and second is not None
    if first.output in first.parameters and second.output in second.parameters:
        i, j = first.parameters.index(first.output), second.parameters.index(second.output)  # type: ignore[arg-type]
        if i == j and node.inputs[4 + i].type == node.type:
            return node.inputs[4 + i]
    return None


def _switch_on_constant(r: Rewriter, node: Apply) -> Node | None:
    test = node.inputs[1]
    if isinstance(test, Constant) and test.value is not UNDEFINED:
        return node.inputs[2] if test.value else node.inputs[3]
    x, y = node.inputs[2:4]
    if x is y or (isinstance(x, Constant) and isinstance(y, Constant) and is_number(x) and same_constant(x, y)):
        return x
    return None


def _switch_on_not(r: Rewriter, node: Apply) -> Node | None:
    """The sides trade places under a negation."""
    test = node.inputs[1]
    if not (isinstance(test, Apply) and is_call_of(test, PRIMITIVES["logical_not"])):
        return None
    return r.builder(node).apply(SWITCH, test.inputs[1], node.inputs[3], node.inputs[2], type=node.type)


def _switch_of_truths(r: Rewriter, node: Apply) -> Node | None:
    """A choice between True and False is its test, or the opposite."""
    values = [x.value if isinstance(x, Constant) else None for x in node.inputs[2:4]]
    if node.inputs[1].type != node.type or not all(isinstance(v, bool) for v in values) or values[0] == values[1]:
        return None
    return node.inputs[1] if values[0] else r.builder(node).apply(PRIMITIVES["logical_not"], node.inputs[1])


def _sequence_of_constant(r: Rewriter, node: Apply) -> Node | None:
    return node.inputs[2] if isinstance(node.inputs[1], Constant) else None


def _branch_on_not(r: Rewriter, node: Apply) -> Node | None:
    """The arms trade places under a negation."""
    test = node.inputs[1]
    if not (isinstance(test, Apply) and is_call_of(test, PRIMITIVES["logical_not"])):
        return None
    builder: Builder = r.builder(node)
    return builder.apply(BRANCH, test.inputs[1], node.inputs[3], node.inputs[2], *node.inputs[4:], type=node.type)


def _branch_to_switch(r: Rewriter, node: Apply) -> Node | None:
    """Arms that hand over numbers that are there, or compute one at the cost of an addition, are computed both: a choice without a jump."""
    arms = [graph_constant(x) for x in node.inputs[2:4]]
    results: list[list[Node]] = []
    for arm in arms:
        assert arm is not None
        items = _arm_results(arm)
        if items is None or sum(not is_call_of(n, MAKE_TUPLE) for n in schedule(arm)) > 1:
            return None
        builder = r.builder(node)
        places = {p.id: x for p, x in zip(arm.parameters, node.inputs[4:])}
        results.append([_in_place(builder, item, places) for item in items])
    builder = r.builder(node)
    test = node.inputs[1]
    if not isinstance(node.type, Tuple):
        return builder.apply(SWITCH, test, results[0][0], results[1][0], type=node.type)
    items = [x if x is y else builder.apply(SWITCH, test, x, y, type=t) for x, y, t in zip(*results, node.type.items)]
    return builder.apply(MAKE_TUPLE, *items, type=node.type)


def _arm_results(arm: Graph) -> list[Node] | None:
    """What an arm gives, item by item, where that costs next to nothing and all are numbers."""
    output = arm.output
    is_tuple = isinstance(output, Apply) and is_call_of(output, MAKE_TUPLE)
    items = output.inputs[1:] if is_tuple and isinstance(output, Apply) else [output]
    if isinstance(arm.result, Tuple) and not is_tuple:
        return None
    for item in items:
        if not isinstance(Builder.type_of(item), Scalar) or (isinstance(item, Constant) and item.value is UNDEFINED):
            return None
        if isinstance(item, Apply) and (primitive_of(item) not in CHEAP or any(isinstance(x, Apply) for x in item.inputs)):
            return None
    return items


def _in_place(builder: Builder, item: Node, places: dict[int, Node]) -> Node:
    if isinstance(item, Constant):
        return item
    if not isinstance(item, Apply):
        return places[item.id]
    return builder.apply(primitive_of(item), *(x if isinstance(x, Constant) else places[x.id] for x in item.inputs[1:]), type=item.type)  # type: ignore[arg-type]


CONTROL: tuple[Rule, ...] = (
    _rule("call_of_partial", "closure", ("call",), _call_of_partial, "The closure is made right here: its captured values become arguments.",
          "partial(f, x)(y)  →  f(x, y)"),
    _rule("call_of_only_member", "closure", ("call",), _call_of_single_member, "Only one function can be meant, and it captured nothing.", "g(x)  →  f(x)"),
    _rule("inline", "structural", ("call",), _inline, "A function that is called once, or is small, is put in place of the call.", "f(x)  →  body of f"),
    _rule("branch_on_constant", "control", ("branch",), _branch_on_constant, "The condition is known: one arm is left.", "True ? f : g  →  f(x)"),
    _rule("branch_of_same", "control", ("branch",), _branch_of_same, "Both arms give the same value.", "c ? x : x  →  x"),
    _rule("branch_on_not", "control", ("branch",), _branch_on_not, "The arms trade places under a negation.", "not c ? f : g  →  c ? g : f"),
    _rule("branch_to_switch", "control", ("branch",), _branch_to_switch, "Both arms cost next to nothing: both are computed and one is chosen, without a jump.",
          "c ? f : g  →  switch(c, x, y)"),
    _rule("switch_on_constant", "control", ("switch",), _switch_on_constant, "The choice is known.", "True ? x : y  →  x"),
    _rule("switch_on_not", "control", ("switch",), _switch_on_not, "The sides trade places under a negation.", "not c ? x : y  →  c ? y : x"),
    _rule("switch_of_truths", "control", ("switch",), _switch_of_truths, "A choice between True and False is its test, or the opposite.",
          "c ? False : True  →  not c"),
    _rule("sequence_of_constant", "control", ("sequence",), _sequence_of_constant, "A constant has no effects to wait for.", "(1; x)  →  x"),
)
