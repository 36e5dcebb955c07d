"""Arrays: shapes that cancel, reductions and broadcasts that meet, matrix products in the cheaper order, accumulation in place."""
from __future__ import annotations

import math
from typing import Any

from myia_notebook.errors import MyiaError
from myia_notebook.ir.extent import Extent, likely
from myia_notebook.ir.graph import ZERO, Apply, Constant, Node, is_call_of, primitive_of
from myia_notebook.ir.types import FLOAT, Array, Scalar, is_float
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.primitive import Elementwise
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.optimize.rewriter import Rewriter, Rule, location

RESHAPE, TRANSPOSE, SCATTER, INDEX_ADD, SUM_TO, BROADCAST, SUM, MATMUL, MULTIPLY, NEGATIVE = (PRIMITIVES[n] for n in (
    "reshape", "transpose", "scatter", "index_add", "sum_to", "broadcast_to", "reduce_sum", "matmul", "multiply", "negative"))
ELEMENTWISE = tuple(p.name for p in PRIMITIVES.values() if isinstance(p.emit, Elementwise) and p.name != "cast")


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


def _same_or_none(new: Node, node: Apply) -> Node | None:
    return new if Builder.type_of(new) == node.type else None


def _broadcast_operand(r: Rewriter, node: Apply) -> Node | None:
    """Elementwise operations broadcast by themselves."""
    for i, x in enumerate(node.inputs[1:], 1):
        if isinstance(x, Apply) and is_call_of(x, BROADCAST):
            operands = [*node.inputs[1:i], x.inputs[1], *node.inputs[i + 1:]]
            primitive = primitive_of(node)
            assert primitive is not None
            try:
                new = r.builder(node).apply(primitive, *operands)
            except MyiaError:
                continue
            if new.type == node.type:
                return new
    return None


def _broadcast_outward(r: Rewriter, node: Apply) -> Node | None:
    """One operation on what was not repeated yet, for one on each copy: no operand has the full shape by itself."""
    places = [i for i, x in enumerate(node.inputs[1:], 1) if isinstance(x, Apply) and is_call_of(x, BROADCAST)]
    primitive = primitive_of(node)
    if len(places) != 1 or not isinstance(node.type, Array) or primitive is None:
        return None
    if any(not isinstance(Builder.type_of(x), Scalar) for i, x in enumerate(node.inputs[1:], 1) if i not in places):
        return None
    source = node.inputs[places[0]]
    assert isinstance(source, Apply)
    builder = r.builder(node)
    small = builder.apply(primitive, *(source.inputs[1] if i in places else x for i, x in enumerate(node.inputs[1:], 1)))
    return _same_or_none(builder.apply(BROADCAST, small, source.inputs[2]), node)


def _reshape_of_broadcast(r: Rewriter, node: Apply) -> Node | None:
    """A number repeated is that number in any shape."""
    source = node.inputs[1]
    if isinstance(source, Apply) and is_call_of(source, BROADCAST) and isinstance(Builder.type_of(source.inputs[1]), Scalar):
        return _same_or_none(r.builder(node).apply(BROADCAST, source.inputs[1], node.inputs[2]), node)
    return None


def _broadcast_of_broadcast(r: Rewriter, node: Apply) -> Node | None:
    source = node.inputs[1]
    if isinstance(source, Apply) and is_call_of(source, BROADCAST):
        return _same_or_none(r.builder(node).apply(BROADCAST, source.inputs[1], node.inputs[2]), node)
    return None


def _sum_of_broadcast(r: Rewriter, node: Apply) -> Node | None:
    """Every element is summed as often as it was repeated."""
    source = node.inputs[1]
    if not (isinstance(source, Apply) and is_call_of(source, BROADCAST)) or node.type is None or not is_float(node.type):
        return None
    inner, whole = source.inputs[1], source.type
    assert isinstance(whole, Array)
    if inner.type != node.type:
        return None
    if isinstance(node.type, Array) and is_call_of(node, SUM):
        return None  # which axes are summed would matter
    times = math.prod(whole.shape) // math.prod(node.type.shape if isinstance(node.type, Array) else ())
    builder = r.builder(node)
    return _same_or_none(builder.apply(MULTIPLY, builder.constant(times if isinstance(times, Extent) else float(times), FLOAT), inner), node)


def _sum_of_sum(r: Rewriter, node: Apply) -> Node | None:
    """Axes of the inner sum, and those of the outer one counted as the inner array has them."""
    source = node.inputs[1]
    if not (isinstance(source, Apply) and is_call_of(source, SUM)):
        return None
    (outer, keeps), (inner, inner_keeps) = ([x.value for x in n.inputs[2:4]] for n in (node, source))  # type: ignore[attr-defined]
    whole = source.inputs[1].type
    if keeps or inner_keeps or not isinstance(whole, Array):
        return None
    left = [i for i in range(len(whole.shape)) if i not in inner]
    axes = tuple(sorted((*inner, *(left[i] for i in outer))))
    builder = r.builder(node)
    return _same_or_none(builder.apply(SUM, source.inputs[1], builder.constant(axes), builder.constant(False)), node)


def _factor_out_of_sum(r: Rewriter, node: Apply) -> Node | None:
    """One product with the sum for a product with each element. Only where nobody else reads the products."""
    source = node.inputs[1]
    if not isinstance(source, Apply) or node.type is None or not is_float(node.type) or len(r.users.get(source.id, ())) != 1 or r.outputs.get(source.id):
        return None
    builder = r.builder(node)
    if is_call_of(source, NEGATIVE):
        return _same_or_none(builder.apply(NEGATIVE, builder.apply(primitive_of(node), source.inputs[1], *node.inputs[2:])), node)  # type: ignore[arg-type]
    if not is_call_of(source, MULTIPLY):
        return None
    for x, y in (source.inputs[1:], source.inputs[:0:-1]):
        if isinstance(x.type, Scalar) and y.type == source.type:
            return _same_or_none(builder.apply(MULTIPLY, x, builder.apply(primitive_of(node), y, *node.inputs[2:])), node)  # type: ignore[arg-type]
    return None


def _matrix(node: Node) -> tuple[int, int] | None:
    """(rows, columns) of a factor on the right: a vector is a column."""
    if not isinstance(node.type, Array) or len(node.type.shape) > 2:
        return None
    shape = tuple(map(likely, node.type.shape))
    return (shape[0], shape[1]) if len(shape) == 2 else (shape[0], 1)


def _matmul_order(r: Rewriter, node: Apply) -> Node | None:
    """(a @ b) @ c costs m·k·n + m·n·p multiplications, a @ (b @ c) k·n·p + m·k·p."""
    left, right = node.inputs[1:3]
    builder = r.builder(node)
    if isinstance(left, Apply) and is_call_of(left, MATMUL) and len(r.users.get(left.id, ())) == 1:
        shapes = [_matrix(x) for x in (left.inputs[1], left.inputs[2], right)]
        if all(s is not None for s in shapes) and all(len(x.type.shape) == 2 for x in left.inputs[1:3]):  # type: ignore[union-attr]
            (m, k), (_, n), (_, p) = shapes  # type: ignore[misc]
            if m * k * n + m * n * p > k * n * p + m * k * p:
                return _same_or_none(builder.apply(MATMUL, left.inputs[1], builder.apply(MATMUL, left.inputs[2], right)), node)
    if isinstance(right, Apply) and is_call_of(right, MATMUL) and len(r.users.get(right.id, ())) == 1:
        row = isinstance(left.type, Array) and len(left.type.shape) == 1
        first = (1, likely(left.type.shape[0])) if row and isinstance(left.type, Array) else _matrix(left)
        shapes = [first, _matrix(right.inputs[1]), _matrix(right.inputs[2])]
        if all(s is not None for s in shapes) and len(right.inputs[1].type.shape) == 2:  # type: ignore[union-attr]
            (m, k), (_, n), (_, p) = shapes  # type: ignore[misc]
            if k * n * p + m * k * p > m * k * n + m * n * p:
                return _same_or_none(builder.apply(MATMUL, builder.apply(MATMUL, left, right.inputs[1]), right.inputs[2]), node)
    return None


ARRAY: tuple[Rule, ...] = (
    _rule("to_same_shape", ("reshape", "sum_to", "broadcast_to", "transpose"), _to_same, "The shape is that already.", "reshape(x, shape of x)  →  x"),
    _rule("reshape_of_reshape", ("reshape",), _reshape_of_reshape, "Only the last shape counts.", "reshape(reshape(x, s), t)  →  reshape(x, t)"),
    _rule("transpose_of_transpose", ("transpose",), _transpose_of_transpose, "Two permutations are one, or none.", "(xᵀ)ᵀ  →  x"),
    _rule("add_at_place", ("add",), _add_of_scatter, "Only one place changes: it is added there, without an array of zeros.", "x + scatter(d, i)  →  add d to x at i"),
    _rule("broadcast_operand", ELEMENTWISE, _broadcast_operand, "Elementwise operations broadcast by themselves.", "broadcast(x, s) + y  →  x + y"),
    _rule("broadcast_outward", ELEMENTWISE, _broadcast_outward, "One operation before the value is repeated, for one on each copy.",
          "sin(broadcast(x, s))  →  broadcast(sin(x), s)"),
    _rule("reshape_of_broadcast", ("reshape",), _reshape_of_broadcast, "A number repeated is that number in any shape.",
          "reshape(broadcast(x, s), t)  →  broadcast(x, t)"),
    _rule("broadcast_of_broadcast", ("broadcast_to",), _broadcast_of_broadcast, "Only the last shape counts.",
          "broadcast(broadcast(x, s), t)  →  broadcast(x, t)"),
    _rule("sum_of_broadcast", ("sum_to", "reduce_sum"), _sum_of_broadcast, "A value that was repeated n times and is summed is n times the value.",
          "sum(broadcast(x, s))  →  n·x"),
    _rule("sum_of_sum", ("reduce_sum",), _sum_of_sum, "Sums over some axes, then over others, are one sum.", "sum(sum(x, i), j)  →  sum(x, (i, j))"),
    _rule("factor_out_of_sum", ("sum_to", "reduce_sum"), _factor_out_of_sum, "A factor that all terms share, and a sign, is taken out of the sum.",
          "sum(a·x)  →  a·sum(x)"),
    _rule("matmul_order", ("matmul",), _matmul_order, "The product of three matrices costs less in the other order.", "(a @ b) @ c  →  a @ (b @ c)"),
)
