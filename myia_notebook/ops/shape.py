"""Shapes: reshape, transpose, broadcasting and its adjoint, concatenation, and matrix products. Static arguments are constants."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.types import Array, Type
from myia_notebook.ops.expression import Expr, apply
from myia_notebook.ops.primitive import Abstract, Kernel, Linear, Primitive, Sample
from myia_notebook.ops.promotion import broadcast, promote, scalar_of, shape_of, with_shape

_X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


def _array(name: str, t: Type) -> Array:
    if not isinstance(t, Array):
        raise error("M301", operation=name, types=str(t), hint="an array is expected")
    return t


# -- reshape, transpose

def _reshape_infer(arguments: list[Abstract]) -> Type:
    x, shape = arguments
    size = math.prod(shape_of(x.type))
    if size != math.prod(shape.value):
        raise error("M402", message=f"cannot reshape an array of shape {shape_of(x.type)} (size {size}) into {shape.value}")
    return with_shape(scalar_of(x.type), shape.value)


def _reshape_value(x: Any, shape: tuple[int, ...]) -> Any:
    return np.reshape(x, shape) if shape else np.asarray(x).reshape(-1)[0]


reshape = Primitive("reshape", _reshape_infer, _reshape_value,
                    lambda x, shape, out, d: (lambda: apply("reshape", d, static=[shape_of(x.type)]), None), Linear((0,)), Kernel("reshape"),
                    "reshape", False, frozenset({"shape"}), (Sample((_X, (3, 2)), (0,)),), "NumPy")


def _transpose_infer(arguments: list[Abstract]) -> Type:
    x = _array("transpose", arguments[0].type)
    return Array(x.dtype, tuple(x.shape[i] for i in arguments[1].value))


transpose = Primitive("transpose", _transpose_infer, lambda x, permutation: np.transpose(x, permutation),
                      lambda x, p, out, d: (lambda: apply("transpose", d, static=[tuple(np.argsort(p.value).tolist())]), None), Linear((0,)),
                      Kernel("transpose"), "T", False, frozenset({"shape"}), (Sample((_X, (1, 0)), (0,)),), "NumPy")


# -- broadcasting and its adjoint

def _broadcast_infer(arguments: list[Abstract]) -> Type:
    x, shape = arguments
    if broadcast("broadcast_to", [shape_of(x.type), shape.value]) != shape.value:
        raise error("M401", operation="broadcast_to", first=shape_of(x.type), second=shape.value)
    return with_shape(scalar_of(x.type), shape.value) if shape.value else x.type


broadcast_to = Primitive("broadcast_to", _broadcast_infer, lambda x, shape: np.array(np.broadcast_to(x, shape)) if shape else x,
                         lambda x, shape, out, d: (lambda: apply("sum_to", d, static=[shape_of(x.type)]), None), Linear((0,)),
                         Kernel("broadcast_to"), "broadcast", False, frozenset({"shape"}),
                         (Sample((np.array([1.0, 2.0, 3.0]), (2, 3)), (0,)), Sample((1.5, (2, 2)), (0,))), "NumPy")


def sum_axes(shape: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of `shape` along which an array of `target` was broadcast."""
    lead = len(shape) - len(target)
    return tuple(i for i in range(len(shape)) if i < lead or (target[i - lead] == 1 and shape[i] != 1))


def _sum_to_infer(arguments: list[Abstract]) -> Type:
    x, shape = arguments
    return with_shape(scalar_of(x.type), shape.value)


def _sum_to_value(x: Any, shape: tuple[int, ...]) -> Any:
    array = np.asarray(x)
    summed = np.sum(array, axis=sum_axes(array.shape, shape), dtype=array.dtype)
    return summed.reshape(shape) if shape else summed.reshape(-1)[0]


sum_to = Primitive("sum_to", _sum_to_infer, _sum_to_value,
                   lambda x, shape, out, d: (lambda: apply("broadcast_to", d, static=[shape_of(x.type)]), None), Linear((0,)), Kernel("sum_to"),
                   "sum to", False, frozenset({"shape"}), (Sample((_X, (3,)), (0,)), Sample((_X, ()), (0,)), Sample((_X, (2, 1)), (0,))),
                   "docs/operations.md")


# -- concatenation

def _concatenate_infer(arguments: list[Abstract]) -> Type:
    axis, *parts = arguments
    types = [_array("concatenate", p.type) for p in parts]
    first = types[0]
    for t in types[1:]:
        if len(t.shape) != len(first.shape) or any(i != axis.value and m != n for i, (m, n) in enumerate(zip(first.shape, t.shape))):
            raise error("M401", operation="concatenate", first=first.shape, second=t.shape, hint=f"all axes but {axis.value} must agree")
    scalar = promote([scalar_of(t) for t in types])
    return Array(scalar.dtype, tuple(sum(t.shape[i] for t in types) if i == axis.value else n for i, n in enumerate(first.shape)))


def _concatenate_rule(axis: Expr, *rest: Expr) -> tuple[Any, ...]:
    *parts, _, d = rest
    entries: list[Any] = [None]
    start = 0
    for part in parts:
        size = shape_of(part.type)[axis.value]
        entries.append(lambda start=start, size=size: _along(d, axis.value, start, start + size))
        start += size
    return tuple(entries)


def _along(x: Expr, axis: int, start: int, stop: int) -> Expr:
    spec = tuple(("slice", start, stop, 1) if i == axis else ("slice", 0, n, 1) for i, n in enumerate(shape_of(x.type)))
    return apply("index", x, static=[spec])


def _concatenate_tangent(arguments: list[Expr], out: Expr, tangents: list[Any]) -> Expr:
    """The tangents joined; a part without one (an int, a constant) has zeros."""
    from myia_notebook.ops.table import PRIMITIVES
    builder = out.builder
    dtype = scalar_of(out.type).dtype
    parts = [builder.zero(Array(dtype, shape_of(x.type))) if t is None else t.node for x, t in zip(arguments[1:], tangents[1:])]
    return builder.expr(builder.apply(PRIMITIVES["concatenate"], arguments[0].node, *parts), True)


concatenate = Primitive("concatenate", _concatenate_infer, lambda axis, *parts: np.concatenate(parts, axis), _concatenate_rule, _concatenate_tangent,
                        Kernel("concatenate"), "concatenate", False, frozenset({"shape"}), (Sample((0, _X, _X + 1.0), (1, 2)),), "NumPy")


# -- matrix product

def _matmul_infer(arguments: list[Abstract]) -> Type:
    x, y = (_array("matmul", a.type) for a in arguments)
    a = (1, *x.shape) if len(x.shape) == 1 else x.shape
    b = (*y.shape, 1) if len(y.shape) == 1 else y.shape
    if a[-1] != b[-2]:
        raise error("M401", operation="the matrix product", first=x.shape, second=y.shape,
                    hint=f"the last axis of the first ({a[-1]}) must equal the {'only' if len(y.shape) == 1 else 'second to last'} axis of the second ({b[-2]})")
    batch = broadcast("the matrix product", [a[:-2], b[:-2]])
    shape = (*batch, *((a[-2],) if len(x.shape) > 1 else ()), *((b[-1],) if len(y.shape) > 1 else ()))
    return with_shape(promote([scalar_of(x), scalar_of(y)]), shape)


def _matrix(x: Expr, column: bool) -> Expr:
    shape = shape_of(x.type)
    if len(shape) > 1:
        return x
    return apply("reshape", x, static=[(shape[0], 1) if column else (1, shape[0])])


def swapped(x: Expr) -> Expr:
    """The last two axes exchanged."""
    rank = len(shape_of(x.type))
    return apply("transpose", x, static=[(*range(rank - 2), rank - 1, rank - 2)])


def _matmul_rule(x: Expr, y: Expr, out: Expr, d: Expr) -> tuple[Any, Any]:
    """∇x = ∇z yᵀ, ∇y = xᵀ ∇z; vectors as one-row or one-column matrices, batch axes summed."""
    a, b = _matrix(x, False), _matrix(y, True)
    batch = broadcast("the matrix product", [shape_of(a.type)[:-2], shape_of(b.type)[:-2]])

    def seed() -> Expr:
        return apply("reshape", d, static=[(*batch, shape_of(a.type)[-2], shape_of(b.type)[-1])])

    def fit(value: Expr, target: Expr) -> Expr:
        shape, wanted = shape_of(value.type), shape_of(_matrix(target, target is y).type)
        if shape != wanted:
            value = apply("sum_to", value, static=[wanted])
        return value if shape_of(target.type) == wanted else apply("reshape", value, static=[shape_of(target.type)])

    return lambda: fit(apply("matmul", seed(), swapped(b)), x), lambda: fit(apply("matmul", swapped(a), seed()), y)


def _matmul_value(x: Any, y: Any) -> Any:
    result = np.matmul(x, y)
    return result[()] if result.ndim == 0 else result


def _matmul_tangent(arguments: list[Expr], out: Expr, tangents: list[Any]) -> Expr:
    """ż = ẋ y + x ẏ"""
    x, y = arguments
    x_dot, y_dot = tangents
    terms = [apply("matmul", x_dot, y)] if x_dot is not None else []
    terms += [apply("matmul", x, y_dot)] if y_dot is not None else []
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]


matmul = Primitive("matmul", _matmul_infer, _matmul_value, _matmul_rule,
                   _matmul_tangent,
                   Kernel("matmul"), "@", True, frozenset({"matmul"}),
                   (Sample((_X, np.arange(6.0).reshape(3, 2)), (0, 1)), Sample((_X, np.array([1.0, -1.0, 0.5])), (0, 1)),
                    Sample((np.array([1.0, 2.0]), _X), (0, 1)), Sample((np.array([1.0, 2.0]), np.array([0.5, -1.0])), (0, 1)),
                    Sample((np.arange(12.0).reshape(2, 2, 3), np.arange(6.0).reshape(3, 2)), (0, 1))), "Giles 2008, matrix derivative results")

FAMILY: tuple[Primitive, ...] = (reshape, transpose, broadcast_to, sum_to, concatenate, matmul)

__all__ = ["FAMILY", "sum_axes"]
