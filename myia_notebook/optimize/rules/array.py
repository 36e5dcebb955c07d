"""Arrays: shapes that cancel, and accumulation in place."""
from __future__ import annotations

from typing import Any

from myia_notebook.ir.graph import ZERO, Apply, Constant, Node, is_call_of
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.optimize.rewriter import Rewriter, Rule, location

RESHAPE, TRANSPOSE, SCATTER, INDEX_ADD, SUM_TO, BROADCAST = (PRIMITIVES[n] for n in ("reshape", "transpose", "scatter", "index_add", "sum_to",
                                                                                       "broadcast_to"))


def _rule(name: str, heads: tuple[str, ...], function: Any, why: str, statement: str) -> Rule:
    return Rule(name, "array", heads, function, why, location(function), statement)


def _to_same(r: Rewriter, node: Apply) -> Node | None:
    source = node.inputs[1]
    if source.type == node.type and node.inputs[0].value in (RESHAPE, SUM_TO, BROADCAST):  # type: ignore[attr-defined]
        return source
    if isinstance(source, Constant) and source.value is ZERO:
        return Constant(ZERO, node.type, node.name, node.provenance)
    return None


def _reshape_of_reshape(r: Rewriter, node: Apply) -> Node | None:
    source = node.inputs[1]
    if isinstance(source, Apply) and is_call_of(source, RESHAPE):
        return r.builder(node).apply(RESHAPE, source.inputs[1], node.inputs[2], type=node.type)
    return None


def _transpose_of_transpose(r: Rewriter, node: Apply) -> Node | None:
    source = node.inputs[1]
    if not (isinstance(source, Apply) and is_call_of(source, TRANSPOSE)):
        return None
    outer, inner = node.inputs[2].value, source.inputs[2].value  # type: ignore[attr-defined]
    order = tuple(inner[i] for i in outer)
    if order == tuple(range(len(order))):
        return source.inputs[1]
    builder = r.builder(node)
    return builder.apply(TRANSPOSE, source.inputs[1], builder.constant(order), type=node.type)


def _add_of_scatter(r: Rewriter, node: Apply) -> Node | None:
    """x + scatter(d): one place of x changes."""
    for x, y in ((node.inputs[1], node.inputs[2]), (node.inputs[2], node.inputs[1])):
        if isinstance(y, Apply) and is_call_of(y, SCATTER) and x.type == node.type and y.type == node.type:
            return r.builder(node).apply(INDEX_ADD, x, y.inputs[1], *y.inputs[3:], type=node.type)
    return None


ARRAY: tuple[Rule, ...] = (
    _rule("to_same_shape", ("reshape", "sum_to", "broadcast_to", "transpose"), _to_same, "The shape is that already.", "reshape(x, shape of x)  →  x"),
    _rule("reshape_of_reshape", ("reshape",), _reshape_of_reshape, "Only the last shape counts.", "reshape(reshape(x, s), t)  →  reshape(x, t)"),
    _rule("transpose_of_transpose", ("transpose",), _transpose_of_transpose, "Two permutations are one, or none.", "(xᵀ)ᵀ  →  x"),
    _rule("add_at_place", ("add",), _add_of_scatter, "Only one place changes: it is added there, without an array of zeros.", "x + scatter(d, i)  →  add d to x at i"),
)
