"""What derivatives are where a function has a kink, a step or a singular point: one row an operation, from which tests and `docs/operations.md` are made."""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from myia_notebook import nn

INF = math.inf


@dataclass(frozen=True, slots=True)
class Kink:
    """`operation` is the primitive's name (or the name in the library); the gradient of `f` at `at`, with respect to every argument."""

    operation: str
    says: str
    f: Callable[..., Any]
    at: tuple[Any, ...]
    gradient: tuple[Any, ...]


V = np.array
KINKS: tuple[Kink, ...] = (
    Kink("absolute", "0 at 0", lambda x: abs(x), (0.0,), (0.0,)),
    Kink("sign", "0 everywhere", lambda x: np.sign(x), (0.0,), (0.0,)),
    Kink("maximum", "equal operands get half each", lambda x, y: np.maximum(x, y), (2.0, 2.0), (0.5, 0.5)),
    Kink("minimum", "equal operands get half each", lambda x, y: np.minimum(x, y), (2.0, 2.0), (0.5, 0.5)),
    Kink("reduce_max", "equal elements share", lambda x: np.max(x), (V([3.0, 1.0, 3.0]),), (V([0.5, 0.0, 0.5]),)),
    Kink("reduce_min", "equal elements share", lambda x: np.min(x), (V([1.0, 1.0, 1.0, 2.0]),), (V([1 / 3, 1 / 3, 1 / 3, 0.0]),)),
    Kink("where", "the side not taken gets a strong zero: never NaN", lambda x: np.where(x < 1.0, np.sqrt(1.0 - x), x * x), (3.0,), (6.0,)),
    Kink("sqrt", "infinite at 0, the limit of the slope", lambda x: np.sqrt(x), (0.0,), (INF,)),
    Kink("cbrt", "infinite at 0, the limit of the slope", lambda x: np.cbrt(x), (0.0,), (INF,)),
    Kink("log", "infinite at 0, the limit of the slope", lambda x: np.log(x), (0.0,), (INF,)),
    Kink("arcsin", "infinite at ±1, the limit of the slope", lambda x: np.arcsin(x), (1.0,), (INF,)),
    Kink("arccosh", "infinite at 1, the limit of the slope", lambda x: np.arccosh(x), (1.0,), (INF,)),
    Kink("power", "x ** n at 0 as the polynomial: n·0ⁿ⁻¹, 0 for n = 0; in n, 0 where x = 0", lambda x, n: x**n, (0.0, 2.0), (0.0, 0.0)),
    Kink("power", "x ** n at 0 as the polynomial: n·0ⁿ⁻¹, 0 for n = 0; in n, 0 where x = 0", lambda x, n: x**n, (0.0, 1.0), (1.0, 0.0)),
    Kink("power", "x ** n at 0 as the polynomial: n·0ⁿ⁻¹, 0 for n = 0; in n, 0 where x = 0", lambda x, n: x**n, (0.0, 0.0), (0.0, 0.0)),
    Kink("power", "x ** n at 0 as the polynomial: n·0ⁿ⁻¹, 0 for n = 0; in n, 0 where x = 0", lambda x: x**0.5, (0.0,), (INF,)),
    Kink("hypot", "0 at the origin", lambda x, y: np.hypot(x, y), (0.0, 0.0), (0.0, 0.0)),
    Kink("arctan2", "0 at the origin", lambda y, x: np.arctan2(y, x), (0.0, 0.0), (0.0, 0.0)),
    Kink("floor", "0 everywhere", lambda x: np.floor(x), (2.0,), (0.0,)),
    Kink("ceil", "0 everywhere", lambda x: np.ceil(x), (2.0,), (0.0,)),
    Kink("trunc", "0 everywhere", lambda x: np.trunc(x), (0.0,), (0.0,)),
    Kink("rint", "0 everywhere", lambda x: np.rint(x), (0.5,), (0.0,)),
    Kink("floor_divide", "0 everywhere", lambda x, y: x // y, (4.0, 2.0), (0.0, 0.0)),
    Kink("mod", "in x 1, in y −⌊x/y⌋, at the jumps too", lambda x, y: x % y, (4.0, 2.0), (1.0, -2.0)),
    Kink("strong_multiply", "a zero sensitivity stays zero, whatever it meets", lambda x: np.sum(np.where(x > 0, np.log(x), 0.0)), (V([0.0, 2.0]),), (V([0.0, 0.5]),)),
    Kink("strong_divide", "a zero sensitivity stays zero, whatever it meets", lambda x: np.sum(np.where(x > 0, 1.0 / x, 0.0)), (V([0.0, 2.0]),), (V([0.0, -0.25]),)),
    Kink("reduce_prod", "the product of the others: right with zeros", lambda x: np.prod(x), (V([0.0, 2.0, 3.0]),), (V([6.0, 0.0, 0.0]),)),
    Kink("product_of_others", "right with zeros", lambda x: np.prod(x), (V([0.0, 0.0, 3.0]),), (V([0.0, 0.0, 0.0]),)),
    Kink("argsort", "0; sorted equal elements keep their order", lambda x: np.sum(np.sort(x) * V([1.0, 2.0, 3.0])), (V([2.0, 1.0, 2.0]),), (V([2.0, 1.0, 3.0]),)),
    Kink("argmax", "0", lambda x: 0.0 * x[0] + float(np.argmax(x)), (V([1.0, 1.0]),), (V([0.0, 0.0]),)),
    Kink("polygamma", "NaN at the poles 0, −1, …", lambda x: np.where(x > 0, special.gammaln(x), 0.0), (0.0,), (0.0,)),
    # of the library
    Kink("np.linalg.norm", "0 at 0, a subgradient", lambda x: np.linalg.norm(x), (V([0.0, 0.0]),), (V([0.0, 0.0]),)),
    Kink("np.std", "0 where all elements are equal, a subgradient", lambda x: np.std(x), (V([2.0, 2.0]),), (V([0.0, 0.0]),)),
    Kink("np.clip", "half at the bounds", lambda x: np.clip(x, -1.0, 1.0), (1.0,), (0.5,)),
    Kink("np.fmax", "half each where equal; a NaN gets nothing", lambda x, y: np.fmax(x, y), (math.nan, 2.0), (0.0, 1.0)),
    Kink("np.heaviside", "0 in x; in y 1 at x = 0", lambda x, y: np.heaviside(x, y), (0.0, 0.5), (0.0, 1.0)),
    Kink("np.copysign", "0 at x = 0; 0 in y", lambda x, y: np.copysign(x, y), (0.0, -1.0), (0.0, 0.0)),
    Kink("np.sinc", "0 at 0, smooth", lambda x: np.sinc(x), (0.0,), (0.0,)),
    Kink("np.logaddexp", "smooth; −∞ has weight 0", lambda x, y: np.logaddexp(x, y), (-INF, 1.0), (0.0, 1.0)),
    Kink("np.median", "between the two middle ones, half each", lambda x: np.median(x), (V([1.0, 3.0, 2.0, 4.0]),), (V([0.0, 0.5, 0.5, 0.0]),)),
    Kink("np.interp", "at a point, the slope to its right", lambda x: np.interp(x, V([0.0, 1.0, 2.0]), V([0.0, 1.0, 3.0])), (1.0,), (2.0,)),
    Kink("np.nan_to_num", "0 where it replaces", lambda x: np.nan_to_num(x), (math.nan,), (0.0,)),
    Kink("nn.relu", "0 at 0", lambda x: nn.relu(x), (0.0,), (0.0,)),
    Kink("min, max", "of Python's: equal operands get half each", lambda x, y: max(x, y), (1.0, 1.0), (0.5, 0.5)),
)

__all__ = ["KINKS", "Kink"]
