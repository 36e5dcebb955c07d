"""Reductions over axes. `axes` is a tuple of non-negative ints, `keepdims` a bool, both constants; reducing every axis gives a scalar.

Rules spread ∇z back over the reduced axes: with s = the shape of x with the reduced axes set to 1, `spread(v) = broadcast_to(reshape(v, s), shape of x)`.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.types import BOOL, Array, Scalar, Type
from myia_notebook.ops.expression import Expr, apply
from myia_notebook.ops.primitive import Abstract, Kernel, Linear, NotDifferentiable, Primitive, Reduction, Sample
from myia_notebook.ops.promotion import with_shape

DISCRETE = NotDifferentiable("the result is discrete")
SAMPLES = (Sample((np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]), (1,), False), (0,)),
           Sample((np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]), (0, 1), False), (0,)),
           Sample((np.array([0.5, -1.0, 2.0], np.float32), (0,), True), (0,)))


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def _infer(name: str, result: Callable[[str], Scalar], nonempty: bool) -> Callable[[list[Abstract]], Type]:
    def infer(arguments: list[Abstract]) -> Type:
        x, axes, keepdims = arguments
        if not isinstance(x.type, Array):
            raise error("M301", operation=name, types=str(x.type), hint="an array is expected")
        if nonempty and any(x.type.shape[i] == 0 for i in axes.value):
            raise error("M402", message=f"{name} of an empty array has no value")
        return with_shape(result(x.type.dtype), reduced_shape(x.type.shape, axes.value, keepdims.value))

    return infer


def _run(function: Any) -> Callable[..., Any]:
    return lambda x, axes, keepdims: function(x, axis=axes, keepdims=keepdims)


def spread(v: Expr, x: Expr, axes: Expr) -> Expr:
    """v (the reduced shape) broadcast back to the shape of x."""
    assert isinstance(x.type, Array)
    kept = reduced_shape(x.type.shape, axes.value, True)
    if isinstance(v.type, Array) and v.type.shape != kept:
        v = apply("reshape", v, static=[kept])
    return apply("broadcast_to", v, static=[x.type.shape])


def _sum_rule(x: Expr, axes: Expr, keepdims: Expr, out: Expr, d: Expr) -> tuple[Any, ...]:
    return lambda: spread(d, x, axes), None, None


def _extreme_rule(x: Expr, axes: Expr, keepdims: Expr, out: Expr, d: Expr) -> tuple[Any, ...]:
    """Elements that attain the extreme share ∇z equally."""

    def rule() -> Expr:
        hits = apply("where", x.equals(spread(out, x, axes)), 1.0, 0.0)
        count = apply("reduce_sum", hits, static=[axes.value, keepdims.value])
        return spread(d, x, axes) * (hits / spread(count, x, axes))

    return rule, None, None


def _prod_rule(x: Expr, axes: Expr, keepdims: Expr, out: Expr, d: Expr) -> tuple[Any, ...]:
    """∇x_i = ∇z·∏_{j≠i} x_j, by a primitive that divides by nothing (right with zeros)."""
    return lambda: spread(d, x, axes) * apply("product_of_others", x, static=[axes.value]), None, None


def product_of_others_value(x: Any, axes: tuple[int, ...]) -> Any:
    """For each element the product of the other elements along `axes`, by products from both ends."""
    rest = [i for i in range(x.ndim) if i not in axes]
    order = [*rest, *axes]
    moved = np.transpose(x, order)
    flat = moved.reshape(*(x.shape[i] for i in rest), -1)
    ones = np.ones((*flat.shape[:-1], 1), x.dtype)
    before = np.concatenate([ones, np.cumprod(flat, -1)[..., :-1]], -1) if flat.shape[-1] else flat
    after = np.concatenate([np.cumprod(flat[..., ::-1], -1)[..., ::-1][..., 1:], ones], -1) if flat.shape[-1] else flat
    return np.ascontiguousarray(np.transpose((before * after).reshape(moved.shape), np.argsort(order)))


def _accumulated(dtype: str) -> Scalar:
    """The dtype of a sum or product: booleans and small ints accumulate in int64."""
    return Scalar("int64") if dtype in ("bool", "int32", "int64") else Scalar(dtype)


def _same(dtype: str) -> Scalar:
    return BOOL if dtype == "bool" else Scalar(dtype)


def _reduction(name: str, function: Any, operation: str, rule: Any, tangent: Any, symbol: str, result: Any, nonempty: bool = False) -> Primitive:
    return Primitive(name, _infer(symbol, result, nonempty), _run(function), rule, tangent, Reduction(operation), symbol, False,
                     frozenset({"reduction"}), SAMPLES, "NumPy")


def _by_rule(rule: Callable[..., tuple[Any, ...]]) -> Callable[..., Expr]:
    """The tangent of a reduction: the sum over the axes of the gradient's elements times the tangent, ż = Σ ẋ·∇x(1)."""

    def tangent(arguments: list[Expr], out: Expr, tangents: list[Any]) -> Expr:
        x, axes, keepdims = arguments
        weights = rule(x, axes, keepdims, out, _ones(out))[0]()
        return apply("reduce_sum", tangents[0] * weights, static=[axes.value, keepdims.value])

    return tangent


def _ones(out: Expr) -> Expr:
    one = out.lift(np.dtype(out.type.dtype).type(1))  # type: ignore[attr-defined]
    return apply("broadcast_to", one, static=[out.type.shape]) if isinstance(out.type, Array) else one


reduce_sum = _reduction("reduce_sum", np.sum, "add", _sum_rule, Linear((0,)), "sum", _accumulated)
reduce_prod = _reduction("reduce_prod", np.prod, "multiply", _prod_rule, _by_rule(_prod_rule), "prod", _accumulated)
reduce_max = _reduction("reduce_max", np.max, "maximum", _extreme_rule, _by_rule(_extreme_rule), "max", _same, True)
reduce_min = _reduction("reduce_min", np.min, "minimum", _extreme_rule, _by_rule(_extreme_rule), "min", _same, True)
reduce_all = _reduction("reduce_all", np.all, "and", DISCRETE, DISCRETE, "all", lambda dtype: BOOL)
reduce_any = _reduction("reduce_any", np.any, "or", DISCRETE, DISCRETE, "any", lambda dtype: BOOL)


def _others_infer(arguments: list[Abstract]) -> Type:
    return arguments[0].type


def _others_map(x: Expr, axes: tuple[int, ...], d: Expr) -> Expr:
    """With z_i = ∏_{j≠i} x_j, the matrix ∂z_i/∂x_k = ∏_{j≠i,k} x_j (0 for i = k) is symmetric: it maps ẋ to ż and ∇z to ∇x. Row i is
    `product_of_others` of x with x_i replaced by 1."""
    assert isinstance(x.type, Array)
    shape = x.type.shape
    rest = tuple(i for i in range(len(shape)) if i not in axes)
    order = (*rest, *axes)
    lead = tuple(shape[i] for i in rest)
    n = math.prod(shape[i] for i in axes)

    def flat(v: Expr, row: tuple[int, ...]) -> Expr:
        return apply("reshape", apply("transpose", v, static=[order]), static=[(*lead, *row)])

    eye = x.lift(np.eye(n, dtype=bool))
    rows = apply("product_of_others", apply("where", eye, 1.0, flat(x, (1, n))), static=[(len(lead) + 1,)])
    result = apply("reduce_sum", flat(d, (n, 1)) * apply("where", eye, 0.0, rows), static=[(len(lead),), False])
    moved = apply("reshape", result, static=[tuple(shape[i] for i in order)])
    return apply("transpose", moved, static=[tuple(np.argsort(order).tolist())])


product_of_others = Primitive("product_of_others", _others_infer, product_of_others_value,
                              lambda x, axes, out, d: (lambda: _others_map(x, axes.value, d), None),
                              lambda arguments, out, tangents: _others_map(arguments[0], arguments[1].value, tangents[0]),
                              Kernel("product_of_others"), "prod of others", False, frozenset(),
                              (Sample((np.array([2.0, 0.0, 3.0]), (0,)), (0,)), Sample((np.array([[2.0, 0.5], [1.5, 3.0]]), (0, 1)), (0,)),
                               Sample((np.array([[2.0, 0.5, 1.25], [1.5, 0.0, 3.0]]), (1,)), (0,))), "docs/operations.md")


def _arg_infer(arguments: list[Abstract]) -> Type:
    x, axis = arguments
    if not isinstance(x.type, Array):
        raise error("M301", operation="argmax", types=str(x.type))
    return with_shape(Scalar("int64"), tuple(n for i, n in enumerate(x.type.shape) if i != axis.value))


argmax = Primitive("argmax", _arg_infer, lambda x, axis: np.argmax(x, axis), DISCRETE, DISCRETE, Kernel("argmax"), "argmax", False, frozenset(),
                   (Sample((np.array([1.0, 3.0, 2.0]), 0)),), "NumPy")
argmin = Primitive("argmin", _arg_infer, lambda x, axis: np.argmin(x, axis), DISCRETE, DISCRETE, Kernel("argmin"), "argmin", False, frozenset(),
                   (Sample((np.array([1.0, 3.0, 2.0]), 0)),), "NumPy")

FAMILY: tuple[Primitive, ...] = (reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_all, reduce_any, product_of_others, argmax, argmin)
