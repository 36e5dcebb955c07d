"""Strong products become plain where the sensitivity cannot be a masked zero.

A strong product keeps 0·∞ = 0 for a sensitivity that a mask (a `where`, a branch, an absent part) made zero. Where no mask can reach,
the plain product is the same number, and algebra may use it. This is a data flow over the whole program: masked zeros come from `where`,
`switch`, and zero constants; they flow through arithmetic, calls, closures (over their classes), results, and through each item of a
tuple by itself: a backpropagator that returns a zero beside a sensitivity does not make the sensitivity one.
"""
from __future__ import annotations

from myia_notebook.ir.graph import UNDEFINED, ZERO, Apply, Constant, Graph, Node, callee_of, graph_constant, primitive_of
from myia_notebook.ir.types import Function
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.optimize.program import Program

STRONG = {PRIMITIVES["strong_multiply"]: PRIMITIVES["multiply"], PRIMITIVES["strong_divide"]: PRIMITIVES["divide"]}
BRANCH, PARTIAL, MAKE_TUPLE, GETITEM = (PRIMITIVES[n] for n in ("branch", "partial", "make_tuple", "tuple_getitem"))
OPAQUE = {PRIMITIVES[n] for n in ("env_get", "env_make", "closure_get", "gradient_call", "tangent_call", "custom_call")}
ALL = -1

Masks = dict[int, int]  # node id -> bit i: item i may be a masked zero; a value that is no tuple has ALL or nothing


def relax_strong_products(program: Program) -> bool:
    """Replaces strong products in place; True when some were."""
    strong = [n for g in program.graphs for n in program.nodes(g) if primitive_of(n) in STRONG]
    if not strong:
        return False
    masks = _masks(program)
    changed = False
    for node in strong:
        if not _mask(node.inputs[1], masks):
            node.inputs[0] = Constant(STRONG[primitive_of(node)], node.inputs[0].type)  # type: ignore[index]
            changed = True
    return changed


def _mask(node: Node, masks: Masks) -> int:
    if not isinstance(node, Constant):
        return masks.get(node.id, 0)
    value = node.value
    if isinstance(value, tuple):
        return sum(1 << i for i, item in enumerate(value) if not isinstance(item, (int, float)) or item == 0)
    return ALL if value is ZERO or value is UNDEFINED or (isinstance(value, (int, float)) and value == 0) else 0


def _masks(program: Program) -> Masks:
    """What may be a masked zero: the least fixpoint."""
    masks: Masks = {}
    changed = True

    def grow(node: Node, mask: int) -> None:
        nonlocal changed
        old = masks.get(node.id, 0)
        if old | mask != old:
            masks[node.id] = old | mask
            changed = True

    while changed:
        changed = False
        for g in program.graphs:
            for node in program.nodes(g):
                called, arguments, is_value = _flows(node)
                for target in called:
                    for p, x in zip(target.parameters[target.captured if is_value else 0:], arguments):
                        grow(p, _mask(x, masks))
                grow(node, _given(node, called, masks))
    return masks


def _flows(node: Apply) -> tuple[list[Graph], list[Node], bool]:
    """(graphs that receive arguments, the arguments, whether they go to the parameters after the captured ones)"""
    target = callee_of(node)
    if target is not None:
        return [target], node.inputs[1:], False
    primitive = primitive_of(node)
    if primitive is BRANCH:
        return [g for x in node.inputs[2:4] if (g := graph_constant(x)) is not None], node.inputs[4:], False
    if primitive is PARTIAL:
        closure = graph_constant(node.inputs[1])
        return ([closure] if closure is not None else []), node.inputs[2:], False
    if primitive is None:
        t = node.inputs[0].type
        return (t.cls.members if isinstance(t, Function) else []), node.inputs[1:], True
    return [], [], False


def _given(node: Apply, called: list[Graph], masks: Masks) -> int:
    """The mask of a node's value."""
    primitive = primitive_of(node)
    if primitive is None or primitive is BRANCH:
        found = 0 if called else ALL
        for target in called:
            found |= _mask(target.output, masks)
        return found
    if primitive is MAKE_TUPLE:
        return sum(1 << i for i, x in enumerate(node.inputs[1:]) if _mask(x, masks))
    if primitive is GETITEM:
        return ALL if _mask(node.inputs[1], masks) >> node.inputs[2].value & 1 else 0  # type: ignore[attr-defined]
    if "masking" in primitive.laws or primitive in OPAQUE:
        return ALL
    return ALL if any(_mask(x, masks) for x in node.inputs[1:]) else 0
