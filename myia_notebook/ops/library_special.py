"""Elementwise functions made of others in stable forms, `math`'s and scipy.special's names."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.types import FLOAT, FLOAT_DTYPES, Array, Scalar
from myia_notebook.ops.arguments import (
    as_array,
    axes_of,
    bind,
    composed,
    constant_of,
    dtype_name,
    elementwise,
    flag,
    floating,
    needed,
    of_dtype,
    option,
    require_number,
    reshaped,
    shape_of,
    strong,
)
from myia_notebook.ops.expression import Builder, Expr, apply
from myia_notebook.ops.library_reduce import reduced_shape, total
from myia_notebook.ops.operation import Expand, Operation
from myia_notebook.ops.operators import Keywords, convert, require_static, takes


def where(test: Expr, x: Any, y: Any) -> Expr:
    """`x if test else y`, element by element, in the dtype of the one that is an expression."""
    like = x if isinstance(x, Expr) else y
    x, y = (v if isinstance(v, Expr) else constant_of(like.builder, v, dtype_name(like)) for v in (x, y))
    return apply("where", test, x, y)


def fn(name: str, *operands: Expr) -> Expr:
    return apply(name, *operands)


# -- choosing

def _fmax(x: Expr, y: Expr) -> Expr:
    if dtype_name(x) == "bool":
        return fn("logical_or", x, y)
    return where(fn("isnan", x), y, where(fn("isnan", y), x, fn("maximum", x, y))) if dtype_name(x) in FLOAT_DTYPES else fn("maximum", x, y)


def _fmin(x: Expr, y: Expr) -> Expr:
    if dtype_name(x) == "bool":
        return fn("logical_and", x, y)
    return where(fn("isnan", x), y, where(fn("isnan", y), x, fn("minimum", x, y))) if dtype_name(x) in FLOAT_DTYPES else fn("minimum", x, y)


def _heaviside(x: Expr, y: Expr) -> Expr:
    one = constant_of(x.builder, 1, dtype_name(x))
    return where(x.equals(0), y, where(x > 0, one, where(fn("isnan", x), x, 0.0)))


def is_negative(y: Expr) -> Expr:
    """The sign bit: of −0 too."""
    return fn("logical_or", y < 0, fn("logical_and", y.equals(0), 1.0 / y < 0))


def _copysign(x: Expr, y: Expr) -> Expr:
    size = fn("absolute", x)
    return where(is_negative(y), -size, size)


def _fmod(x: Expr, y: Expr, remainder: str = "mod") -> Expr:
    """The remainder with the sign of x; the slope in x is 1, at 0 too."""
    rest = fn(remainder, where(x < 0, -x, x), where(y < 0, -y, y))
    signed = where(x < 0, -rest, rest)
    return signed if dtype_name(x) not in FLOAT_DTYPES else where(fn("logical_and", fn("isinf", y), fn("isfinite", x)), x, signed)


def _nan_to_num(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.nan_to_num", ("x", "copy", "nan", "posinf", "neginf"), arguments, keywords)
    x = as_array(bound["x"])
    require_number("np.nan_to_num", x)
    dtype = dtype_name(x)
    if dtype not in FLOAT_DTYPES:
        return strong(x)
    info = np.finfo(dtype)
    nan, high, low = (d if (v := option(bound, n, None)) is None else v for n, d in (("nan", 0.0), ("posinf", float(info.max)), ("neginf", float(info.min))))
    infinite = where(x > 0, constant_of(builder, high, dtype), low)
    return strong(where(fn("isnan", x), nan, where(fn("isinf", x), infinite, x)))


def _round(name: str) -> Expand:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = bind(name, ("a", "decimals"), arguments, keywords)
        x, n = as_array(bound["a"]), option(bound, "decimals", 0)
        require_number(name, x)
        dtype = dtype_name(x)
        if dtype == "bool" or not isinstance(n, int):
            raise error("M301", operation=name, types=f"{x.type} and {n!r}", hint="convert with .astype(int)")
        if dtype not in FLOAT_DTYPES:
            return strong(x) if n >= 0 else of_dtype(fn("rint", of_dtype(x, "float64") / 10.0 ** -n) * 10.0 ** -n, dtype)
        if n == 0:
            return strong(fn("rint", x))
        return strong(fn("rint", x * 10.0 ** n) / 10.0 ** n) if n > 0 else strong(fn("rint", x / 10.0 ** -n) * 10.0 ** -n)
    return expand


# -- logarithms of sums

def softplus(x: Expr) -> Expr:
    """log(1 + e^x), from the side where nothing overflows."""
    return where(x > 0, x + fn("log1p", fn("exp", -x)), fn("log1p", fn("exp", x)))


def _logaddexp(x: Expr, y: Expr) -> Expr:
    """log(e^x + e^y) = x + softplus(y − x), from the larger of the two: smooth where they are equal, to any order."""
    same = fn("logical_and", fn("isinf", x), x.equals(y))
    z = where(same, 0.0, y - x)
    return where(z > 0, y + fn("log1p", fn("exp", -z)), x + fn("log1p", fn("exp", z)))


def _logaddexp2(x: Expr, y: Expr) -> Expr:
    ln2 = math.log(2.0)
    return _logaddexp(x * ln2, y * ln2) / ln2


def expit(x: Expr) -> Expr:
    """1/(1 + e^−x), as e^x/(1 + e^x) for x < 0: exact in both tails, with finite derivatives."""
    size = where(x > 0, -x, x)
    e = fn("exp", size)
    return where(x > 0, 1.0 / (1.0 + e), e / (1.0 + e))


def _shift(x: Expr, axes: tuple[int, ...]) -> Expr:
    top = total("reduce_max", x, axes, True)
    return where(fn("isfinite", top), top, 0.0)


def logsumexp(x: Expr, axes: tuple[int, ...], keep: bool) -> Expr:
    """m + log ∑ e^(x−m): the shift has no part in the derivative, which is softmax to any order."""
    shift = _shift(x, axes)
    made = fn("log", total("reduce_sum", fn("exp", x - shift), axes, True)) + shift
    return reshaped(made, reduced_shape(shape_of(x), axes, keep))


def softmax(x: Expr, axes: tuple[int, ...], keep: bool = False) -> Expr:
    e = fn("exp", x - total("reduce_max", x, axes, True))
    return e / total("reduce_sum", e, axes, True)


def log_softmax(x: Expr, axes: tuple[int, ...], keep: bool = False) -> Expr:
    shifted = x - _shift(x, axes)
    return shifted - fn("log", total("reduce_sum", fn("exp", shifted), axes, True))


def _over_axis(name: str, function: Any, has_keepdims: bool, has_empty: bool) -> Expand:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = bind(name, ("a", "axis", "keepdims") if has_keepdims else ("a", "axis"), arguments, keywords)
        x = as_array(bound["a"])
        require_number(name, x)
        if dtype_name(x) == "bool" and not has_keepdims:
            raise error("M301", operation=name, types=str(x.type), hint="convert with .astype(float)")
        x, is_scalar = strong(floating(x)), not isinstance(x.type, Array)
        axes = (0,) if is_scalar else axes_of(x, bound.get("axis"), name)
        x = reshaped(x, (1,)) if is_scalar else x
        keep = flag(bound, "keepdims") and not is_scalar
        if math.prod(shape_of(x)[i] for i in axes) == 0 and 0 not in reduced_shape(shape_of(x), axes, keep):
            if not has_empty:
                raise error("M402", message=f"{name} of an empty array has no value")
            return fn("log", total("reduce_sum", x, axes, keep))
        if 0 in shape_of(x):
            return total("reduce_sum", x, axes, keep) if has_keepdims else x
        made = function(x, axes, keep)
        return reshaped(made, ()) if is_scalar else made
    return expand


# -- information

def _xlogy(x: Expr, y: Expr) -> Expr:
    """x log y, 0 for x = 0 whatever y is; the slope in x is log y there too."""
    unused = fn("logical_and", x.equals(0), fn("logical_not", fn("logical_or", fn("logical_and", y > 0, fn("isfinite", y)), fn("isnan", y))))
    return x * fn("log", where(unused, 1.0, y))


def _xlog1py(x: Expr, y: Expr) -> Expr:
    unused = fn("logical_and", x.equals(0), fn("logical_not", fn("logical_or", fn("logical_and", y > -1, fn("isfinite", y)), fn("isnan", y))))
    return x * fn("log1p", where(unused, 0.0, y))


def _entr(x: Expr) -> Expr:
    """−x log x for x > 0, 0 at 0, −∞ below."""
    return where(x > 0, -(x * fn("log", x)), where(x < 0, constant_of(x.builder, -math.inf, dtype_name(x)), x))


def _rel_entr(x: Expr, y: Expr) -> Expr:
    """x log(x/y) for x, y > 0; 0 for x = 0 ≤ y; +∞ elsewhere."""
    both, none = fn("logical_and", x > 0, y > 0), fn("logical_and", x.equals(0), y >= 0)
    lost = where(fn("isnan", x + y), x + y, math.inf)
    return where(both, x * fn("log", x / y), where(none, 0.0, lost))


def _kl_div(x: Expr, y: Expr) -> Expr:
    return _rel_entr(x, y) + where(fn("logical_and", x >= 0, y >= 0), y - x, 0.0)


def _sinc(x: Expr) -> Expr:
    """sin(πx)/πx; near 0 its series, so that no order of derivative cancels."""
    p = x * math.pi
    small = fn("absolute", p) < 0.1
    safe = where(small, 1.0, p)
    s = p * p
    series = 1.0 - s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0 * (1.0 - s / 110.0))))
    return where(small, series, fn("sin", safe) / safe)


def _normal_cdf(x: Expr) -> Expr:
    return fn("erfc", x * (-math.sqrt(0.5))) * 0.5


def _polygamma(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """ψ⁽ⁿ⁾(x); the order is known before running."""
    bound = bind("polygamma", ("n", "x"), arguments, keywords)
    n, x = require_static(bound["n"], "the order of polygamma"), floating(as_array(needed("polygamma", bound, "x")[0]))
    if not isinstance(n, int) or n < 0:
        raise error("M402", message=f"the order of polygamma is a nonnegative int, not {n!r}")
    return strong(apply("polygamma", x, static=[n]))


def digamma(x: Expr) -> Expr:
    return apply("polygamma", x, static=[0])


# -- names

def _math(name: str, function: Any, count: int = 1) -> Expand:
    """Python floats in and out."""
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        takes(name, arguments, keywords, count)
        operands = [reshaped(a, ()) if isinstance(a.type, Array) and math.prod(a.type.shape) == 1 else a for a in arguments]
        for o in operands:
            if not isinstance(o.type, Scalar):
                raise error("M301", operation=name, types=str(o.type), hint="it takes numbers, not arrays")
        return convert(function(*(convert(o, FLOAT) for o in operands)), FLOAT)
    return expand


_ANGLES = (("degrees", 180.0 / math.pi), ("radians", math.pi / 180.0), ("rad2deg", 180.0 / math.pi), ("deg2rad", math.pi / 180.0))
SPECIAL: dict[Any, Operation] = {
    f: Operation(f"np.{name}", expand, name) for f, name, expand in (
        (np.fmax, "fmax", composed("np.fmax", _fmax, 2)), (np.fmin, "fmin", composed("np.fmin", _fmin, 2)),
        (np.logaddexp, "logaddexp", composed("np.logaddexp", _logaddexp, 2, True)),
        (np.logaddexp2, "logaddexp2", composed("np.logaddexp2", _logaddexp2, 2, True)), (np.nan_to_num, "nan_to_num", _nan_to_num),
        (np.sinc, "sinc", composed("np.sinc", _sinc, 1, True)), (np.round, "round", _round("np.round")),
        (np.heaviside, "heaviside", composed("np.heaviside", _heaviside, 2, True)), (np.copysign, "copysign", composed("np.copysign", _copysign, 2, True)),
        (np.fmod, "fmod", composed("np.fmod", lambda x, y: _fmod(of_dtype(x, "int64"), of_dtype(y, "int64")) if dtype_name(x) == "bool" else _fmod(x, y), 2)),
        (np.positive, "positive", composed("np.positive", lambda x: x, 1, refuses_bool=True)),
        (np.fabs, "fabs", composed("np.fabs", lambda x: fn("absolute", x), 1, True)),
        (np.float_power, "float_power", composed("np.float_power", lambda x, y: of_dtype(x, "float64") ** of_dtype(y, "float64"), 2, True)))}
SPECIAL |= {np.around: SPECIAL[np.round]}
SPECIAL |= {getattr(np, n): Operation(f"np.{n}", composed(f"np.{n}", lambda x, c=c: x * c, 1, True), n) for n, c in _ANGLES}
SPECIAL |= {
    math.degrees: Operation("math.degrees", _math("math.degrees", lambda x: x * (180.0 / math.pi)), "degrees"),
    math.radians: Operation("math.radians", _math("math.radians", lambda x: x * (math.pi / 180.0)), "radians"),
    math.copysign: Operation("math.copysign", _math("math.copysign", _copysign, 2), "copysign"),
    math.fmod: Operation("math.fmod", _math("math.fmod", lambda x, y: _fmod(x, y, "math_mod"), 2), "fmod"),
    math.gamma: Operation("math.gamma", _math("math.gamma", lambda x: fn("math_gamma", x)), "Γ"),
    math.erfc: Operation("math.erfc", _math("math.erfc", lambda x: fn("erfc", x)), "erfc"),
}


def _scipy() -> dict[Any, Operation]:
    """scipy.special's functions by their names, where scipy is installed."""
    try:
        from scipy import special
    except ImportError:
        return {}
    one: dict[str, Any] = {
        "expit": expit, "log_expit": lambda x: -softplus(-x), "softplus": softplus, "logit": lambda x: fn("log", x) - fn("log1p", -x), "entr": _entr,
        "ndtr": _normal_cdf, "digamma": digamma, "psi": digamma, "exp10": lambda x: fn("exp", x * math.log(10.0))}
    two: dict[str, Any] = {"xlogy": _xlogy, "xlog1py": _xlog1py, "rel_entr": _rel_entr, "kl_div": _kl_div}
    plain = {"erf": "erf", "erfc": "erfc", "gammaln": "lgamma", "gamma": "gamma", "exp2": "exp2", "expm1": "expm1", "log1p": "log1p", "cbrt": "cbrt"}
    named: dict[str, Expand] = {
        "logsumexp": _over_axis("logsumexp", logsumexp, True, True), "softmax": _over_axis("softmax", softmax, False, False),
        "log_softmax": _over_axis("log_softmax", log_softmax, False, False), "polygamma": _polygamma,
        **{n: composed(n, f, 1, True) for n, f in one.items()}, **{n: composed(n, f, 2, True) for n, f in two.items()},
        **{n: elementwise(n, p) for n, p in plain.items()}}
    return {getattr(special, n): Operation(f"special.{n}", expand, n) for n, expand in named.items() if hasattr(special, n)}


SPECIAL |= _scipy()

__all__ = ["SPECIAL", "expit", "fn", "is_negative", "where", "log_softmax", "logsumexp", "softmax", "softplus"]
