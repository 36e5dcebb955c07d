"""Names that are short compositions of the others: closeness, signs, the array-API spellings, numerical gradients, more of `math`."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.types import BOOL, FLOAT, FLOAT_DTYPES, Scalar
from myia_notebook.ops.arguments import (
    as_array,
    axes_of,
    bind,
    common,
    composed,
    concatenated,
    dtype_name,
    flag,
    floating,
    needed,
    of_dtype,
    one_axis,
    option,
    require_number,
    reshaped,
    shape_of,
)
from myia_notebook.ops.expression import Builder, Expr, apply
from myia_notebook.ops.library_linear import LINEAR
from myia_notebook.ops.library_reduce import REDUCTIONS, total
from myia_notebook.ops.library_shape import cut
from myia_notebook.ops.library_special import fn, is_negative
from myia_notebook.ops.operation import Expand, Operation
from myia_notebook.ops.operators import Keywords, convert, known, make, sequence_items, takes
from myia_notebook.ops.promotion import broadcast


def _close(a: Expr, b: Expr, relative: Expr, absolute: Expr, equal_nan: bool) -> Expr:
    """|a − b| ≤ atol + rtol·|b| where b is finite; infinities equal themselves."""
    near = fn("logical_and", fn("absolute", a - b) <= absolute + relative * fn("absolute", b), fn("isfinite", b))
    made = fn("logical_or", near, a.equals(b))
    return fn("logical_or", made, fn("logical_and", fn("isnan", a), fn("isnan", b))) if equal_nan else made


def _isclose(name: str, is_all: bool) -> Expand:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = bind(name, ("a", "b", "rtol", "atol", "equal_nan"), arguments, keywords)
        a, b = (as_array(v) for v in needed(name, bound, "a", "b"))
        require_number(name, a, b)
        a, b = common([a, b], True)
        made = _close(a, b, bound.get("rtol", known(builder, 1e-05)), bound.get("atol", known(builder, 1e-08)), flag(bound, "equal_nan"))
        return total("reduce_all", made, tuple(range(len(shape_of(made))))) if is_all else made
    return expand


def _array_equal(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.array_equal", arguments, keywords, 2)
    a, b = (as_array(v) for v in arguments)
    require_number("np.array_equal", a, b)
    if shape_of(a) != shape_of(b):
        return known(builder, False)
    return total("reduce_all", a.equals(b), tuple(range(len(shape_of(a)))))


def _gradient(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """Differences of second order inside, of first order at the ends; along one axis with one spacing (all axes: a tuple)."""
    axis = keywords.get("axis")
    bound = bind("np.gradient", ("f", "dx"), arguments, {k: v for k, v in keywords.items() if k != "axis"})
    x = floating(as_array(bound["f"]))
    step = bound.get("dx", known(builder, 1.0))
    if not isinstance(step.type, Scalar):
        raise error("M308", message="np.gradient with spacings that are an array", hint="give one number")
    axes = axes_of(x, axis, "np.gradient")
    made = [_differences(x, step, a) for a in axes]
    return made[0] if len(made) == 1 else make(builder, made)


def _differences(x: Expr, step: Expr, axis: int) -> Expr:
    n = shape_of(x)[axis]
    if n < 2:
        raise error("M402", message="np.gradient takes at least two elements along an axis")
    first, last = ((cut(x, axis, i + 1, i + 2) - cut(x, axis, i, i + 1)) / step for i in (0, n - 2))
    middle = [(cut(x, axis, 2, n) - cut(x, axis, 0, n - 2)) / (step * 2.0)] if n > 2 else []
    return concatenated(axis, [first, *middle, last])


def _vecdot(name: str, second: Callable[[tuple[int, ...]], tuple[int, ...]], is_matrix: bool) -> Expand:
    """Products summed over the last axis: of two vectors, or of the rows of a matrix and a vector."""
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        takes(name, arguments, keywords, 2)
        a, b = common([as_array(v) for v in arguments])
        if len(shape_of(a)) < 1 + is_matrix or not shape_of(b) or shape_of(a)[-1] != shape_of(b)[-1]:
            raise error("M401", operation=name, first=shape_of(a), second=shape_of(b), hint="the last axes must be equal")
        b = reshaped(b, second(shape_of(b)))
        broadcast(name, [shape_of(a), shape_of(b)])
        if dtype_name(a) == "bool":
            made: Expr = fn("logical_and", a, b)
            return total("reduce_any", made, (len(shape_of(made)) - 1,))
        made = a * b
        return of_dtype(total("reduce_sum", made, (len(shape_of(made)) - 1,)), dtype_name(a))
    return expand


def _matrix_transpose(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.matrix_transpose", arguments, keywords, 1)
    x = as_array(arguments[0])
    rank = len(shape_of(x))
    if rank < 2:
        raise error("M402", message="np.matrix_transpose takes arrays of two or more axes")
    return apply("transpose", x, static=[(*range(rank - 2), rank - 1, rank - 2)])


def _unstack(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.unstack", ("x", "axis"), arguments, keywords)
    x = as_array(bound["x"])
    axis = one_axis(x, option(bound, "axis", 0))
    shape = tuple(n for i, n in enumerate(shape_of(x)) if i != axis)
    return make(builder, [reshaped(cut(x, axis, i, i + 1), shape) for i in range(shape_of(x)[axis])])


def _multi_dot(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.linalg.multi_dot", arguments, keywords, 1)
    first, *rest = (as_array(p) for p in sequence_items(arguments[0], "np.linalg.multi_dot"))
    for x in rest:
        first = apply("matmul", first, x)
    return first


def _sign_bit(x: Expr) -> Expr:
    if dtype_name(x) == "bool":
        return fn("logical_and", x, known(x.builder, False))
    return is_negative(x) if dtype_name(x) in FLOAT_DTYPES else x < 0


def _infinite(above: bool) -> Callable[[Expr], Expr]:
    def function(x: Expr) -> Expr:
        return x.equals(math.inf if above else -math.inf) if dtype_name(x) in FLOAT_DTYPES else fn("isinf", floating(x))
    return function


def _exclusive_or(x: Expr, y: Expr) -> Expr:
    return apply("not_equal", *(v if dtype_name(v) == "bool" else apply("not_equal", v, 0) for v in (x, y)))


def _fix(x: Expr) -> Expr:
    return fn("trunc", x) if dtype_name(x) in FLOAT_DTYPES else x


# -- math

def _numbers(name: str, operands: list[Expr]) -> list[Expr]:
    if not all(isinstance(o.type, Scalar) for o in operands):
        raise error("M301", operation=name, types=" and ".join(str(o.type) for o in operands), hint="it takes numbers")
    return [convert(o, FLOAT) for o in operands]


def _hypot(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """Of any number of coordinates."""
    takes("math.hypot", arguments, keywords, 0, 255)
    made = known(builder, 0.0)
    for i, x in enumerate(_numbers("math.hypot", arguments)):
        made = fn("absolute", x) if i == 0 else fn("hypot", made, x)
    return made


def _distance(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("math.dist", arguments, keywords, 2)
    p, q = (sequence_items(a, "math.dist") for a in arguments)
    if len(p) != len(q):
        raise error("M702", message="both points must have the same number of dimensions")
    return _hypot(builder, [a - b for a, b in zip(_numbers("math.dist", p), _numbers("math.dist", q))], {})


def _math_isclose(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """|a − b| ≤ max(rel_tol·max(|a|, |b|), abs_tol)"""
    bound = bind("math.isclose", ("a", "b", "rel_tol", "abs_tol"), arguments, keywords)
    a, b = _numbers("math.isclose", needed("math.isclose", bound, "a", "b"))
    relative, absolute = bound.get("rel_tol", known(builder, 1e-09)), bound.get("abs_tol", known(builder, 0.0))
    size = fn("maximum", fn("absolute", a), fn("absolute", b))
    near = fn("logical_and", fn("absolute", a - b) <= fn("maximum", relative * size, absolute), fn("isfinite", size))
    return convert(fn("logical_or", near, a.equals(b)), BOOL)


_RENAMED: dict[Any, Operation] = {np.amax: REDUCTIONS[np.max], np.amin: REDUCTIONS[np.min], np.linalg.cross: LINEAR[np.cross],
                                   np.linalg.tensordot: LINEAR[np.tensordot]}

MORE: dict[Any, Operation] = {
    **_RENAMED,
    **{f: Operation(f"np.{name}", expand, name) for f, name, expand in (
        (np.isclose, "isclose", _isclose("np.isclose", False)), (np.allclose, "allclose", _isclose("np.allclose", True)),
        (np.array_equal, "array_equal", _array_equal), (np.gradient, "gradient", _gradient),
        (np.vecdot, "vecdot", _vecdot("np.vecdot", lambda s: s, False)),
        (np.matvec, "matvec", _vecdot("np.matvec", lambda s: (*s[:-1], 1, s[-1]), True)),
        (np.matrix_transpose, "matrix_transpose", _matrix_transpose), (np.unstack, "unstack", _unstack),
        (np.signbit, "signbit", composed("np.signbit", _sign_bit)), (np.isposinf, "isposinf", composed("np.isposinf", _infinite(True))),
        (np.isneginf, "isneginf", composed("np.isneginf", _infinite(False))), (np.logical_xor, "logical_xor", composed("np.logical_xor", _exclusive_or, 2)),
        (np.fix, "fix", composed("np.fix", _fix)), (np.real, "real", composed("np.real", lambda x: x)),
        (np.conj, "conj", composed("np.conj", lambda x: of_dtype(x, "int64") if dtype_name(x) == "bool" else x)))},
    np.linalg.multi_dot: Operation("np.linalg.multi_dot", _multi_dot, "@"),
    math.hypot: Operation("math.hypot", _hypot, "hypot"), math.dist: Operation("math.dist", _distance, "distance"),
    math.isclose: Operation("math.isclose", _math_isclose, "≈"),
}

__all__ = ["MORE"]
