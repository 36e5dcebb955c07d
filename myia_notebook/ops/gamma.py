"""The logarithmic derivatives of the gamma function: ψ⁽ⁿ⁾ = polygamma(x, n), of every order.

For x > 0 by recurrence to where the asymptotic series holds to the last digit; for x < ½ by reflection. References: DLMF §5.5 (recurrence, reflection),
§5.11.2 (ψ), §5.15 (ψ⁽ⁿ⁾), §25.11 (the Hurwitz zeta function: ψ⁽ⁿ⁾(x) = (−1)ⁿ⁺¹ n! ζ(n + 1, x)).
"""
from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np

from myia_notebook.ir.types import Type
from myia_notebook.ops.elementwise import arithmetic
from myia_notebook.ops.expression import Expr, apply
from myia_notebook.ops.primitive import Abstract, FromBackpropagator, Kernel, Primitive, Sample
from myia_notebook.ops.promotion import as_float

TERMS = 12


@lru_cache(maxsize=1)
def _bernoulli() -> tuple[Fraction, ...]:
    """B₀, B₁, … B_2·TERMS, by their recurrence."""
    b = [Fraction(1)]
    for m in range(1, 2 * TERMS + 1):
        b.append(-sum((math.comb(m + 1, k) * b[k] for k in range(m)), Fraction(0)) / (m + 1))
    return tuple(b)


def _digamma(x: Any) -> Any:
    """ψ(x) for x ≥ ½."""
    result, x = np.zeros_like(x), np.array(x)
    for _ in range(12):
        low = x < 12
        result -= np.where(low, 1 / np.where(low, x, 1.0), 0.0)
        x = np.where(low, x + 1, x)
    series = np.zeros_like(x)
    for k in range(TERMS, 0, -1):
        series = (series + float(_bernoulli()[2 * k] / (2 * k))) / (x * x)
    return result + np.log(x) - 0.5 / x - series


def _zeta(s: int, x: Any) -> Any:
    """∑ (x + k)^−s over k ≥ 0 for x ≥ ½, by Euler's and Maclaurin's summation from x + k ≥ 12 + s on."""
    result, x = np.zeros_like(x), np.array(x)
    top = 12 + s
    for _ in range(top):
        low = x < top
        result += np.where(low, np.where(low, x, 1.0) ** -s, 0.0)
        x = np.where(low, x + 1, x)
    rest = x ** (1 - s) / (s - 1) + 0.5 * x ** -s
    factor, power = float(s), x ** (-s - 1)
    for k in range(1, TERMS + 1):
        rest += float(_bernoulli()[2 * k] / math.factorial(2 * k)) * factor * power
        factor *= (s + 2 * k - 1) * (s + 2 * k)
        power = power / (x * x)
    return result + rest


@cache
def _cotangent(n: int) -> tuple[int, ...]:
    """The polynomial P with (d/du)ⁿ cot u = P(cot u), from the constant term: P₀ = c, Pₙ₊₁ = −(1 + c²) Pₙ′."""
    if n == 0:
        return 0, 1
    slope = [k * a for k, a in enumerate(_cotangent(n - 1))][1:]
    made = [0] * (len(slope) + 2)
    for k, a in enumerate(slope):
        made[k] -= a
        made[k + 2] -= a
    return tuple(made)


def polygamma_value(x: Any, n: int) -> Any:
    given = np.asarray(x)
    v = np.asarray(given, np.float64)
    is_low = v < 0.5
    with np.errstate(all="ignore"):
        safe = np.where(np.isfinite(v), np.where(is_low, 1.0 - v, v), 1.0)
        y = _digamma(safe) if n == 0 else (-1.0) ** (n + 1) * math.factorial(n) * _zeta(n + 1, safe)
        cot = 1.0 / np.tan(math.pi * (v - np.rint(v)))
        mirror = np.polynomial.polynomial.polyval(cot, np.array(_cotangent(n), float)) * math.pi ** (n + 1)
        y = np.where(is_low, (-1.0) ** n * y - mirror, y)
        pole = (v <= 0) & (v == np.rint(v))
        y = np.where(pole, np.where(v == 0, np.copysign(math.inf, -v), math.nan) if n == 0 else math.inf if n % 2 else math.nan, y)
        end = math.inf if n == 0 else 0.0
        y = np.where(np.isfinite(v), y, np.where(v > 0, end, math.nan))
    if type(x) in (int, float, bool):
        return float(y)
    return y.astype(given.dtype if given.dtype.kind == "f" else np.float64)[()]


def _infer(arguments: list[Abstract]) -> Type:
    return arithmetic("polygamma", 1, as_float)(arguments[:1])


def _rule(x: Expr, n: Expr, out: Expr, d: Expr) -> tuple[Any, None]:
    """∇x = ∇z·ψ⁽ⁿ⁺¹⁾(x)"""
    return lambda: d * apply("polygamma", x, static=[n.value + 1]), None


polygamma = Primitive("polygamma", _infer, polygamma_value, _rule, FromBackpropagator(), Kernel("polygamma"), "ψ", False, frozenset(),
                      (Sample((0.7, 0), (0,)), Sample((np.array([0.25, 1.5, 7.0]), 0), (0,)), Sample((np.array([-0.3, 2.5]), 1), (0,)),
                       Sample((np.array([0.5, 3.0]), 2), (0,))), "DLMF §5.15")

FAMILY: tuple[Primitive, ...] = (polygamma,)

__all__ = ["FAMILY", "polygamma_value"]
