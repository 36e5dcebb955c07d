"""NumPy's reductions, scans and statistics, as compositions of primitives. Axes and counts are known before running."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.extent import Extent
from myia_notebook.ir.types import FLOAT, Array, Scalar
from myia_notebook.ops.arguments import (
    Bound,
    as_array,
    axes_of,
    bind,
    common,
    concatenated,
    constant_of,
    dtype_name,
    dtype_of,
    flag,
    floating,
    needed,
    of_dtype,
    one_axis,
    option,
    raveled,
    require_number,
    reshaped,
    shape_of,
    spread,
    strong,
)
from myia_notebook.ops.expression import Builder, Expr, apply
from myia_notebook.ops.masked import is_masked, reduced
from myia_notebook.ops.masked import mean as mean_selected
from myia_notebook.ops.operation import Expand, Operation
from myia_notebook.ops.operators import Keywords, known, static_value, truth_of
from myia_notebook.ops.primitive import UNKNOWN


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keep: bool) -> tuple[int, ...]:
    return tuple(1 if i in axes else n for i, n in enumerate(shape) if keep or i not in axes)


def total(primitive: str, x: Expr, axes: tuple[int, ...], keep: bool = False) -> Expr:
    """A reduction of an array; of a number, the number (as NumPy's reductions of it)."""
    if isinstance(x.type, Array):
        return apply(primitive, x, static=[axes, keep])
    if primitive in ("reduce_all", "reduce_any"):
        return truth_of(x)
    return of_dtype(x, "int64") if dtype_name(x) in ("bool", "int32") and primitive in ("reduce_sum", "reduce_prod") else strong(x)


def _operand(name: str, bound: Bound, parameter: str = "a") -> tuple[Expr, tuple[int, ...], bool]:
    """What is reduced, over which axes, and whether they are kept."""
    x = as_array(bound[parameter])
    require_number(name, x)
    if isinstance(x.type, Scalar) and "axis" in bound and static_value(bound["axis"]) in (0, -1):
        return x, (), False
    return x, axes_of(x, bound.get("axis"), name), flag(bound, "keepdims")


def _count(x: Expr, axes: tuple[int, ...]) -> int:
    return math.prod(shape_of(x)[i] for i in axes)


def _real(x: Expr, count: int) -> Expr:
    """A count as a float constant."""
    return x.builder.expr(x.builder.constant(count if isinstance(count, Extent) else float(count), FLOAT))


def _is_whole(bound: Bound) -> bool:
    return set(bound) == {"a"}


def reduction(name: str, primitive: str, has_dtype: bool = False) -> Expand:
    parameters = ("a", "axis", *(("dtype",) if has_dtype else ()), "keepdims")

    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        if len(arguments) > 2:
            raise error("M501", signature=f"{name}()", problem="takes a and axis by position; give the others by name")
        bound = bind(name, parameters, arguments, keywords)
        x = as_array(bound["a"])
        if is_masked(x.type):
            if not _is_whole(bound):
                raise error("M308", message=f"{name} of a selection x[mask] along an axis", hint="use np.where(mask, x, neutral)")
            return reduced(primitive, x, name)
        x, axes, keep = _operand(name, bound)
        if "dtype" in bound:
            x = of_dtype(x, dtype_of(bound["dtype"], dtype_name(x)))
            made = total(primitive, x, axes, keep)
            return of_dtype(made, dtype_name(x))
        return total(primitive, x, axes, keep)
    return expand


def _mean(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.mean", ("a", "axis", "dtype", "keepdims"), arguments, keywords)
    x = as_array(bound["a"])
    if is_masked(x.type):
        if not _is_whole(bound):
            raise error("M308", message="np.mean of a selection x[mask] along an axis", hint="use np.where(mask, x, 0.0) and divide by the count")
        return mean_selected(x)
    x, axes, keep = _operand("np.mean", bound)
    x = of_dtype(x, dtype_of(bound["dtype"], dtype_name(x))) if "dtype" in bound else x
    return mean(floating(x), axes, keep)


def mean(x: Expr, axes: tuple[int, ...], keep: bool = False) -> Expr:
    if not isinstance(x.type, Array):
        return strong(x)
    return total("reduce_sum", x, axes, keep) / _real(x, _count(x, axes))


def variance(x: Expr, axes: tuple[int, ...], keep: bool, ddof: Any) -> Expr:
    """The mean square of what is left after subtracting the mean."""
    n = _count(x, axes)
    centered = x - mean(x, axes, True)
    return total("reduce_sum", centered * centered, axes, keep) / _real(x, max(n - ddof, 0))


def root(x: Expr) -> Expr:
    """√x with slope 0 at 0: of a sum of squares, where 0 is a valid subgradient of the norm."""
    is_zero = x.equals(0)
    return apply("where", is_zero, constant_of(x.builder, 0, dtype_name(x)), apply("sqrt", apply("where", is_zero, constant_of(x.builder, 1, dtype_name(x)), x)))


def _variance(name: str, is_root: bool) -> Expand:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        if len(arguments) > 2:
            raise error("M501", signature=f"{name}()", problem="takes a and axis by position; give the others by name")
        bound = bind(name, ("a", "axis", "dtype", "keepdims", "ddof", "correction"), arguments, keywords)
        x, axes, keep = _operand(name, bound)
        x = floating(of_dtype(x, dtype_of(bound["dtype"], dtype_name(x))) if "dtype" in bound else x)
        is_scalar = not isinstance(x.type, Array)
        if is_scalar:
            x, axes = reshaped(strong(x), (1,)), (0,)
        made = variance(x, axes, keep and not is_scalar, option(bound, "ddof", option(bound, "correction", 0)))
        return root(made) if is_root else made
    return expand


def _arg(name: str, primitive: str) -> Expand:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = bind(name, ("a", "axis", "keepdims"), arguments, keywords)
        x, axis = as_array(bound["a"]), option(bound, "axis", None)
        require_number(name, x)
        shape = shape_of(x)
        i = one_axis(x, axis) if axis is not None and shape else None
        flat = raveled(x) if i is None else x
        at = 0 if i is None else i
        if shape_of(flat)[at] == 0:
            raise error("M402", message=f"attempt to get {primitive} of an empty sequence")
        made = apply(primitive, flat, static=[at])
        if not flag(bound, "keepdims"):
            return made
        return reshaped(made, tuple(1 if i is None or i == k else n for k, n in enumerate(shape)))
    return expand


def _count_nonzero(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x, axes, keep = _operand("np.count_nonzero", bind("np.count_nonzero", ("a", "axis", "keepdims"), arguments, keywords))
    return total("reduce_sum", of_dtype(apply("not_equal", x, 0), "int64"), axes, keep)


def _ptp(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x, axes, keep = _operand("np.ptp", bind("np.ptp", ("a", "axis", "keepdims"), arguments, keywords))
    if dtype_name(x) == "bool":
        raise error("M301", operation="np.ptp", types=str(x.type), hint="convert with .astype(int)")
    return total("reduce_max", x, axes, keep) - total("reduce_min", x, axes, keep)


# -- products

def _prod(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """Floats pairwise, in halves: right at zeros to any order of derivative."""
    bound = bind("np.prod", ("a", "axis", "dtype", "keepdims"), arguments, keywords)
    x = as_array(bound["a"])
    if "dtype" in bound and isinstance(x.type, (Array, Scalar)):
        x = of_dtype(x, dtype_of(bound["dtype"], dtype_name(x)))
    if not isinstance(x.type, Array) or not x.type.dtype.startswith("float"):
        return reduction("np.prod", "reduce_prod", True)(builder, arguments, keywords)
    axes, keep = axes_of(x, bound.get("axis"), "np.prod"), flag(bound, "keepdims")
    shape = shape_of(x)
    rest = [i for i in range(len(shape)) if i not in axes]
    moved = apply("transpose", x, static=[(*rest, *axes)]) if len(shape) > 1 else x
    flat = reshaped(moved, (*(shape[i] for i in rest), _count(x, axes)))
    axis = len(rest)
    while (n := shape_of(flat)[axis]) > 1:
        half = n // 2
        low = _cut(flat, axis, 0, half) * _cut(flat, axis, half, 2 * half)
        flat = low if n % 2 == 0 else concatenated(axis, [low, _cut(flat, axis, 2 * half, n)])
    wanted = reduced_shape(shape, axes, keep)
    if shape_of(flat)[axis] == 0:
        return spread(constant_of(builder, 1, x.type.dtype), wanted)
    return apply("reshape", flat, static=[wanted])


def _cut(x: Expr, axis: int, start: int, stop: int) -> Expr:
    from myia_notebook.ops.library_shape import cut
    return cut(x, axis, start, stop)


# -- scans

def _scanned(name: str, arguments: list[Expr], keywords: Keywords) -> tuple[Expr, int]:
    bound = bind(name, ("a", "axis", "dtype"), arguments, keywords)
    x, axis = as_array(bound["a"]), option(bound, "axis", None)
    require_number(name, x)
    if axis is None or not shape_of(x):
        x, axis = raveled(x), 0
    wanted = dtype_of(bound.get("dtype"), "int64" if dtype_name(x) in ("bool", "int32") else dtype_name(x))
    return of_dtype(x, wanted), one_axis(x, axis)


def _cumsum(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x, axis = _scanned("np.cumsum", arguments, keywords)
    return apply("cumulate", x, static=[axis, False])


def _cumprod(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """By doubling: after step k each element holds the product of the last 2^k; zeros need no special care at any order of derivative."""
    x, axis = _scanned("np.cumprod", arguments, keywords)
    n, reach = shape_of(x)[axis], 1
    while reach < n:
        x = concatenated(axis, [_cut(x, axis, 0, reach), _cut(x, axis, reach, n) * _cut(x, axis, 0, n - reach)])
        reach *= 2
    return x


# -- order statistics

def _along_one(x: Expr, axes: tuple[int, ...]) -> Expr:
    """The reduced axes as one, the last."""
    shape = shape_of(x)
    rest = [i for i in range(len(shape)) if i not in axes]
    moved = apply("transpose", x, static=[(*rest, *axes)]) if len(shape) > 1 else x
    return reshaped(moved, (*(shape[i] for i in rest), _count(x, axes)))


def _sorted_last(name: str, x: Expr, axes: tuple[int, ...]) -> Expr:
    """The elements along the axes in order; NaN in every place where one of them is NaN."""
    from myia_notebook.ops.library_shape import taken_along
    flat = floating(_along_one(x, axes) if isinstance(x.type, Array) else reshaped(strong(x), (1,)))
    last = len(shape_of(flat)) - 1
    n = shape_of(flat)[last]
    if n == 0:
        raise error("M402", message=f"{name} of an empty array has no value")
    ordered = taken_along(flat, apply("argsort", flat, static=[last]), last)
    largest = _cut(ordered, last, n - 1, n)
    return apply("where", apply("isnan", largest), constant_of(x.builder, np.nan, dtype_name(flat)), ordered)


def _quantile_at(ordered: Expr, q: float, method: str) -> Expr:
    """The element at place q (n − 1), between two of them by `method`."""
    last = len(shape_of(ordered)) - 1
    n = shape_of(ordered)[last]
    place = q * (n - 1)
    low = min(int(math.floor(place)), n - 1)
    high = min(low + 1, n - 1)
    part = {"linear": place - low, "lower": 0.0, "higher": float(place > low), "midpoint": 0.5 * (place > low),
            "nearest": float(round(place) > low)}[method]
    a = total("reduce_sum", _cut(ordered, last, low, low + 1), (last,))
    if part == 0.0:
        return a
    b = total("reduce_sum", _cut(ordered, last, high, high + 1), (last,))
    return a + (b - a) * part


def _quantile(name: str, scale: float) -> Expand:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = bind(name, ("a", "q", "axis", "method", "keepdims"), arguments, keywords)
        x, axes, keep = _operand(name, bound)
        given, method = needed(name, bound, "q")[0], option(bound, "method", "linear")
        q = static_value(given)
        if q is UNKNOWN:
            return _run_time_quantile(name, x, axes, keep, as_array(given) / scale, method)
        many = isinstance(q, (tuple, list, np.ndarray))
        if method not in ("linear", "lower", "higher", "midpoint", "nearest"):
            raise error("M308", message=f"{name} with method {method!r}", hint="use linear, lower, higher, midpoint or nearest")
        values = [float(v) / scale for v in (q if many else (q,))]
        if not all(0 <= v <= 1 for v in values):
            raise error("M402", message=f"{name}: q must be between 0 and {scale:g}")
        ordered = _sorted_last(name, x, axes)
        shape = reduced_shape(shape_of(x), axes, keep)
        made = [reshaped(_quantile_at(ordered, v, method), shape) for v in values]
        if method in ("lower", "higher", "nearest") and not dtype_name(x).startswith("float"):
            made = [of_dtype(m, dtype_name(x)) for m in made]
        return concatenated(0, [reshaped(m, (1, *shape), always=True) for m in made]) if many else made[0]
    return expand


def _run_time_quantile(name: str, x: Expr, axes: tuple[int, ...], keep: bool, q: Expr, method: str) -> Expr:
    """The same at places known only at run time (limited to 0 … 1)."""
    if method != "linear" or len(shape_of(q)) > 1:
        raise error("M308", message=f"{name} with method {method!r} at places known only at run time", hint="use method='linear'")
    ordered, q = common([_sorted_last(name, x, axes), floating(q)])
    last = len(shape_of(ordered)) - 1
    n = shape_of(ordered)[last]
    place = reshaped(apply("minimum", apply("maximum", q, 0.0), 1.0) * float(n - 1), (math.prod(shape_of(q)),), always=True)
    low = of_dtype(apply("floor", place), "int64")
    a, b = (apply("take", ordered, i, static=[last]) for i in (low, apply("minimum", low + 1, n - 1)))
    made = a + (b - a) * (place - apply("floor", place))
    if len(shape_of(made)) > 1:
        made = apply("transpose", made, static=[(last, *range(last))])
    return reshaped(made, (*shape_of(q), *reduced_shape(shape_of(x), axes, keep)))


def _median(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """The mean of the one or two elements in the middle."""
    bound = bind("np.median", ("a", "axis", "keepdims"), arguments, keywords)
    x, axes, keep = _operand("np.median", bound)
    shape = reduced_shape(shape_of(x), axes, keep)
    if isinstance(x.type, Array) and _count(x, axes) == 0:
        dtype = dtype_name(floating(x))
        return spread(constant_of(builder, np.nan, dtype), shape)
    ordered = _sorted_last("np.median", x, axes)
    last = len(shape_of(ordered)) - 1
    n = shape_of(ordered)[last]
    middle = _cut(ordered, last, (n - 1) // 2, n // 2 + 1)
    return reshaped(mean(middle, (last,)), shape)


def _average(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.average", ("a", "axis", "weights", "keepdims"), arguments, keywords)
    x, axes, keep = _operand("np.average", bound)
    is_weighted = "weights" in bound and static_value(bound["weights"]) is not None
    if 0 in (shape_of(x) if is_weighted else reduced_shape(shape_of(x), axes, keep)):
        raise error("M701", message="division by zero")
    x = floating(x)
    if not is_weighted:
        return mean(x, axes, keep)
    w = as_array(bound["weights"])
    if shape_of(w) != shape_of(x):
        if shape_of(w) != tuple(shape_of(x)[i] for i in axes):
            raise error("M402", message=f"the weights have shape {shape_of(w)}, the averaged axes {tuple(shape_of(x)[i] for i in axes)}")
        w = spread(reshaped(w, tuple(n if i in axes else 1 for i, n in enumerate(shape_of(x)))), shape_of(x))
    return total("reduce_sum", x * w, axes, keep) / total("reduce_sum", w, axes, keep)


def _covariance(name: str, is_correlation: bool) -> Expand:
    """Rows are variables (columns with rowvar=False); a second set of rows is put below."""
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        names = ("m", "y", "rowvar", "bias", "ddof") if not is_correlation else ("x", "y", "rowvar")
        bound = bind(name, names, arguments, keywords)
        parts = [floating(as_array(bound[n])) for n in names[:2] if n in bound and static_value(bound[n]) is not None]
        for p in parts:
            if len(shape_of(p)) not in (1, 2):
                raise error("M402", message=f"{name} takes arrays of one or two axes")
        by_rows = bool(option(bound, "rowvar", True))
        rows = [reshaped(p, (1, *shape_of(p))) if len(shape_of(p)) == 1 else p if by_rows else apply("transpose", p, static=[(1, 0)]) for p in parts]
        x = concatenated(0, rows) if len(rows) > 1 else rows[0]
        ddof = option(bound, "ddof", None)
        centered = x - mean(x, (1,), True)
        n = float(max(shape_of(x)[1] - (int(not option(bound, "bias", False)) if ddof is None else ddof), 0))
        c = apply("matmul", centered, apply("transpose", centered, static=[(1, 0)])) / n
        if is_correlation:
            count = shape_of(x)[0]
            size = apply("sqrt", total("reduce_sum", c * known(builder, np.eye(count, dtype=dtype_name(c))), (1,)))
            c = c / reshaped(size, (count, 1)) / reshaped(size, (1, count))
            c = apply("minimum", apply("maximum", c, -1.0), 1.0)
        return reshaped(c, () if shape_of(c) == (1, 1) else shape_of(c))
    return expand


def _ignoring_nan(name: str, function: Callable[[Expr, tuple[int, ...], bool], Expr]) -> Expand:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        x, axes, keep = _operand(name, bind(name, ("a", "axis", "keepdims"), arguments, keywords))
        return function(x, axes, keep)
    return expand


def _without_nan(x: Expr, value: float) -> Expr:
    if not dtype_name(x).startswith("float"):
        return x
    return apply("where", apply("isnan", x), constant_of(x.builder, value, dtype_name(x)), strong(x))


def _nan_extreme(primitive: str, neutral: float) -> Callable[[Expr, tuple[int, ...], bool], Expr]:
    def function(x: Expr, axes: tuple[int, ...], keep: bool) -> Expr:
        made = total(primitive, _without_nan(x, neutral), axes, keep)
        if not dtype_name(x).startswith("float"):
            return made
        nothing = total("reduce_all", apply("isnan", x), axes, keep)
        return apply("where", nothing, constant_of(x.builder, np.nan, dtype_name(x)), made)
    return function


def _nan_mean(x: Expr, axes: tuple[int, ...], keep: bool) -> Expr:
    there = of_dtype(apply("logical_not", apply("isnan", x)), dtype_name(floating(x)))
    return total("reduce_sum", floating(_without_nan(x, 0.0)), axes, keep) / total("reduce_sum", there, axes, keep)


REDUCTIONS: dict[Any, Operation] = {
    f: Operation(f"np.{name}", expand, name) for f, name, expand in (
        (np.sum, "sum", reduction("np.sum", "reduce_sum", True)), (np.prod, "prod", _prod), (np.max, "max", reduction("np.max", "reduce_max")),
        (np.min, "min", reduction("np.min", "reduce_min")), (np.all, "all", reduction("np.all", "reduce_all")),
        (np.any, "any", reduction("np.any", "reduce_any")), (np.mean, "mean", _mean), (np.var, "var", _variance("np.var", False)),
        (np.std, "std", _variance("np.std", True)), (np.argmax, "argmax", _arg("np.argmax", "argmax")),
        (np.argmin, "argmin", _arg("np.argmin", "argmin")), (np.count_nonzero, "count_nonzero", _count_nonzero), (np.ptp, "ptp", _ptp),
        (np.cumsum, "cumsum", _cumsum), (np.cumprod, "cumprod", _cumprod), (np.median, "median", _median), (np.average, "average", _average),
        (np.percentile, "percentile", _quantile("np.percentile", 100.0)), (np.quantile, "quantile", _quantile("np.quantile", 1.0)),
        (np.cov, "cov", _covariance("np.cov", False)), (np.corrcoef, "corrcoef", _covariance("np.corrcoef", True)),
        (np.nansum, "nansum", _ignoring_nan("np.nansum", lambda x, axes, keep: total("reduce_sum", _without_nan(x, 0.0), axes, keep))),
        (np.nanmean, "nanmean", _ignoring_nan("np.nanmean", _nan_mean)),
        (np.nanmax, "nanmax", _ignoring_nan("np.nanmax", _nan_extreme("reduce_max", -math.inf))),
        (np.nanmin, "nanmin", _ignoring_nan("np.nanmin", _nan_extreme("reduce_min", math.inf))))}

__all__ = ["REDUCTIONS", "mean", "reduced_shape", "reduction", "root", "total"]
