"""Advanced indexing, scans and sorting.

    take(x, i, axis)              x at integer positions along an axis; negative ones count from the end, IndexError when out of range
    put_add(d, i, shape, axis)    zeros of `shape` with d added at those positions, repeated ones added up: the adjoint of take
    cumulate(x, axis, backward)   cumulative sums; its adjoint runs the other way
    argsort(x, axis)              positions that sort x, stable; sorting itself is taking at them
    wrap_index(i, n)              positions checked against n and made nonnegative
"""
from __future__ import annotations

from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.types import INT_DTYPES, Array, Scalar, Type
from myia_notebook.ops.expression import apply
from myia_notebook.ops.primitive import Abstract, Kernel, Linear, NotDifferentiable, Primitive, Sample
from myia_notebook.ops.promotion import scalar_of, shape_of, with_shape

_X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
_I = np.array([2, 0, 2, -1])


def _take_infer(arguments: list[Abstract]) -> Type:
    x, i, axis = arguments
    if not isinstance(x.type, Array) or not isinstance(i.type, Array) or i.type.dtype not in INT_DTYPES:
        raise error("M301", operation="indexing", types=f"{x.type} by {i.type}", hint="positions are ints")
    shape = x.type.shape
    return Array(x.type.dtype, (*shape[:axis.value], *i.type.shape, *shape[axis.value + 1:]))


def _take_value(x: Any, i: Any, axis: int) -> Any:
    try:
        return np.take(x, i, axis)
    except IndexError as problem:
        raise error("M703", message=str(problem)) from None


def _put_add_value(d: Any, i: Any, shape: tuple[int, ...], axis: int) -> Any:
    result = np.zeros(shape, np.asarray(d).dtype)
    rank = np.ndim(i)
    moved = np.moveaxis(np.asarray(d), tuple(range(axis, axis + rank)), tuple(range(rank)))
    np.add.at(np.moveaxis(result, axis, 0), i, moved)
    return result


take = Primitive("take", _take_infer, _take_value, lambda x, i, axis, out, d: (lambda: apply("put_add", d, i, static=[shape_of(x.type), axis.value]), None, None),
                 Linear((0,)), Kernel("take"), "[ ]", False, frozenset({"index", "may_fail"}), (Sample((_X, _I, 1), (0,)), Sample((_X, np.array([[1, 0], [1, 1]]), 0), (0,))),
                 "NumPy, take")
put_add = Primitive("put_add", lambda a: Array(scalar_of(a[0].type).dtype, a[2].value), _put_add_value,
                    lambda d0, i, shape, axis, out, d: (lambda: apply("take", d, i, static=[axis.value]), None, None, None), Linear((0,)),
                    Kernel("put_add"), "add at", False, frozenset({"index"}), (Sample((np.array([1.0, 2.0, 3.0, 0.5]), _I, (3,), 0), (0,)),), "the adjoint of take")


def _cumulate_value(x: Any, axis: int, backward: bool) -> Any:
    if not backward:
        return np.cumsum(x, axis, dtype=x.dtype)
    return np.flip(np.cumsum(np.flip(x, axis), axis, dtype=x.dtype), axis)


cumulate = Primitive("cumulate", lambda a: a[0].type, _cumulate_value,
                     lambda x, axis, backward, out, d: (lambda: apply("cumulate", d, static=[axis.value, not backward.value]), None, None), Linear((0,)),
                     Kernel("cumulate"), "cumsum", False, frozenset({"shape"}), (Sample((_X, 1, False), (0,)), Sample((_X, 0, True), (0,))), "NumPy, cumsum")

_POSITIONS = NotDifferentiable("positions are integers")
argsort = Primitive("argsort", lambda a: Array("int64", shape_of(a[0].type)), lambda x, axis: np.argsort(x, axis, kind="stable"), _POSITIONS, _POSITIONS,
                    Kernel("argsort"), "argsort", False, frozenset(), (Sample((_X, 1)),), "NumPy, argsort (stable)")


def _wrap_value(i: Any, n: int) -> Any:
    a = np.asarray(i)
    if a.size and (a.min() < -n or a.max() >= n):
        bad = int(a[(a < -n) | (a >= n)].flat[0])
        raise error("M703", message=f"index {bad} is out of bounds for size {n}")
    return np.where(a < 0, a + n, a).astype(np.int64)


wrap_index = Primitive("wrap_index", lambda a: with_shape(Scalar("int64"), shape_of(a[0].type)), _wrap_value, _POSITIONS, _POSITIONS,
                       Kernel("wrap_index"), "position", False, frozenset({"may_fail"}), (Sample((_I, 3)),), "NumPy, indexing")

FAMILY: tuple[Primitive, ...] = (take, put_add, cumulate, argsort, wrap_index)

__all__ = ["FAMILY"]
