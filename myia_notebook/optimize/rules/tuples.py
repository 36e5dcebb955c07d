"""Tuples: what was put together to be taken apart again disappears."""
from __future__ import annotations

from typing import Any

from myia_notebook.ir.graph import ZERO, Apply, Constant, Graph, Node, callee_of, graph_constant, is_call_of, is_symbolic
from myia_notebook.ir.types import Tuple, is_float
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.optimize.rewriter import Rewriter, Rule, location

MAKE_TUPLE, GETITEM, ADD, ADD_SENSITIVITIES = (PRIMITIVES[n] for n in ("make_tuple", "tuple_getitem", "add", "add_sensitivities"))
SWITCH, BRANCH = PRIMITIVES["switch"], PRIMITIVES["branch"]


def _rule(name: str, heads: tuple[str, ...], function: Any, why: str, statement: str) -> Rule:
    return Rule(name, "tuple", heads, function, why, location(function), statement)


def _index(node: Apply) -> int:
    index = node.inputs[2]
    assert isinstance(index, Constant)
    return index.value


def _get_of_make(r: Rewriter, node: Apply) -> Node | None:
    source = node.inputs[1]
    if isinstance(source, Apply) and is_call_of(source, MAKE_TUPLE):
        return source.inputs[1 + _index(node)]
    return None


def _get_of_constant(r: Rewriter, node: Apply) -> Node | None:
    source = node.inputs[1]
    if not isinstance(source, Constant):
        return None
    value = source.value if is_symbolic(source.value) else source.value[_index(node)]
    return Constant(value, node.type, node.name, node.provenance)


def _get_of_switch(r: Rewriter, node: Apply) -> Node | None:
    source = node.inputs[1]
    if not (isinstance(source, Apply) and is_call_of(source, SWITCH)):
        return None
    builder = r.builder(node)
    items = [builder.item(x, _index(node)) for x in source.inputs[2:]]
    return builder.apply(SWITCH, source.inputs[1], *items, type=node.type)


def _tuple_of_items(r: Rewriter, node: Apply) -> Node | None:
    """(t[0], …, t[n−1]) is t."""
    items = node.inputs[1:]
    first = items[0] if items else None
    if not (isinstance(first, Apply) and is_call_of(first, GETITEM)):
        return None
    whole = first.inputs[1]
    if whole.type != node.type:
        return None
    for i, item in enumerate(items):
        if not (isinstance(item, Apply) and is_call_of(item, GETITEM) and item.inputs[1] is whole and _index(item) == i):
            return None
    return whole


def _sum_of_tuples(r: Rewriter, node: Apply) -> Node | None:
    """A sum of tuples is the tuple of the sums."""
    if not isinstance(node.type, Tuple):
        return None
    builder = r.builder(node)
    items: list[Node] = []
    for i, t in enumerate(node.type.items):
        pair = [builder.item(x, i) for x in node.inputs[1:]]
        zeros = [isinstance(p, Constant) and p.value is ZERO for p in pair]
        if zeros[0] or zeros[1]:
            items.append(pair[1] if zeros[0] else pair[0])
        else:
            items.append(builder.apply(ADD if is_float(t) else ADD_SENSITIVITIES, *pair, type=t))
    return builder.tuple(*items)


def _sum_with_zero(r: Rewriter, node: Apply) -> Node | None:
    for x, y in ((node.inputs[1], node.inputs[2]), (node.inputs[2], node.inputs[1])):
        if isinstance(x, Constant) and x.value is ZERO and y.type == node.type:
            return y
    return None


def _get_of_call(r: Rewriter, node: Apply) -> Node | None:
    """The item of a call whose body gives a constant there, or hands a parameter through."""
    source = node.inputs[1]
    targets, arguments = _targets(source)
    found: list[Node] = []
    for target in targets:
        item = _output_item(target, _index(node))
        if item is None:
            return None
        found.append(item)
    if not found:
        return None
    assert isinstance(source, Apply)
    if all(isinstance(item, Constant) for item in found):
        first = found[0]
        if graph_constant(first) is None and all(_same(first, other) for other in found):
            return Constant(first.value, node.type, node.name, node.provenance)  # type: ignore[attr-defined]
        return None
    places = {target.parameters.index(item) if item in target.parameters else -1 for target, item in zip(targets, found)}  # type: ignore[arg-type]
    if len(places) == 1 and -1 not in places:
        argument = arguments[places.pop()]
        return argument if argument.type == node.type else None
    return None


def _same(a: Node, b: Node) -> bool:
    assert isinstance(a, Constant) and isinstance(b, Constant)
    return a.type == b.type and type(a.value) is type(b.value) and (a.value is b.value or repr(a.value) == repr(b.value))


def _targets(node: Node) -> tuple[list[Graph], list[Node]]:
    """The graphs that a known call or branch may run, and their arguments."""
    target = callee_of(node)
    if target is not None:
        assert isinstance(node, Apply)
        return [target], node.inputs[1:]
    if isinstance(node, Apply) and is_call_of(node, BRANCH):
        arms = [graph_constant(x) for x in node.inputs[2:4]]
        return [arm for arm in arms if arm is not None], node.inputs[4:]
    return [], []


def _output_item(graph: Graph, index: int) -> Node | None:
    output = graph.output
    if isinstance(output, Constant) and not isinstance(output.value, Graph) and isinstance(output.type, Tuple):
        value = output.value if is_symbolic(output.value) else output.value[index]
        return Constant(value, output.type.items[index])
    if isinstance(output, Apply) and is_call_of(output, MAKE_TUPLE):
        item = output.inputs[1 + index]
        return item if not isinstance(item, Apply) else None
    return None


TUPLE: tuple[Rule, ...] = (
    _rule("get_of_make", ("tuple_getitem",), _get_of_make, "The item of a tuple just made is the item.", "(x, y)[0]  →  x"),
    _rule("get_of_constant", ("tuple_getitem",), _get_of_constant, "The item of a constant is a constant.", "(1, 2)[0]  →  1"),
    _rule("get_of_switch", ("tuple_getitem",), _get_of_switch, "The item of a choice is the choice of the items.", "(c ? s : t)[i]  →  c ? s[i] : t[i]"),
    _rule("get_through_call", ("tuple_getitem",), _get_of_call, "The function hands this item through, or it is a constant.", "f(x)[i]  →  x"),
    _rule("tuple_of_items", ("make_tuple",), _tuple_of_items, "A tuple of all the items of a tuple is that tuple.", "(t[0], t[1])  →  t"),
    _rule("sum_with_zero", ("add_sensitivities",), _sum_with_zero, "An absent sensitivity adds nothing.", "s + 0  →  s"),
    _rule("sum_of_tuples", ("add_sensitivities",), _sum_of_tuples, "Tuples of sensitivities add item by item.", "s + t  →  (s[0] + t[0], …)"),
)
