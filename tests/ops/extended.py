"""NumPy and scipy.special in extended precision (80-bit floats), for differences: what those libraries do in float64 only is done here by plain
elimination, or by mpmath."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

LONG = np.longdouble


def _eliminated(a: Any, b: Any) -> tuple[Any, Any]:
    """(a⁻¹ b, det a) by Gauss and Jordan, with pivots."""
    a, b = np.array(a, LONG), np.array(b, LONG)
    n, det = len(a), LONG(1)
    for i in range(n):
        p = i + int(np.argmax(np.abs(a[i:, i])))
        if p != i:
            a[[i, p]], b[[i, p]], det = a[[p, i]], b[[p, i]], -det
        det = det * a[i, i]
        b[i], a[i] = b[i] / a[i, i], a[i] / a[i, i]
        for j in range(n):
            if j != i:
                b[j], a[j] = b[j] - a[j, i] * b[i], a[j] - a[j, i] * a[i]
    return b, det


def _each(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of one matrix, on a stack of them."""
    def stacked(a: Any) -> Any:
        return function(a) if a.ndim == 2 else np.stack([stacked(m) for m in a])
    return stacked


def _cholesky(a: Any) -> Any:
    n = len(a)
    low = np.zeros((n, n), LONG)
    for i in range(n):
        for j in range(i + 1):
            rest = a[i, j] - np.sum(low[i, :j] * low[j, :j])
            low[i, j] = np.sqrt(rest) if i == j else rest / low[j, j]
    return low


def _solve(a: Any, b: Any) -> Any:
    if np.ndim(b) == 1:
        return _solve(a, b[:, None])[..., 0]
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if not lead:
        return _eliminated(a, b)[0]
    a, b = np.broadcast_to(a, (*lead, *a.shape[-2:])), np.broadcast_to(b, (*lead, *b.shape[-2:]))
    return np.stack([_solve(p, q) for p, q in zip(a, b)])


class Linalg:
    inv = staticmethod(_each(lambda a: _eliminated(a, np.eye(len(a)))[0]))
    det = staticmethod(_each(lambda a: _eliminated(a, np.eye(len(a)))[1]))
    cholesky = staticmethod(_each(_cholesky))
    solve = staticmethod(_solve)
    norm, cross, tensordot = staticmethod(np.linalg.norm), staticmethod(np.cross), staticmethod(np.tensordot)

    @staticmethod
    def multi_dot(parts: Any) -> Any:
        return functools.reduce(np.matmul, parts)

    @staticmethod
    def slogdet(a: Any) -> Any:
        det = Linalg.det(a)
        return np.sign(det), np.log(np.abs(det))

    @staticmethod
    def matrix_power(a: Any, n: int) -> Any:
        return np.linalg.matrix_power(a, n) if n >= 0 else np.linalg.matrix_power(Linalg.inv(a), -n)


class Extended:
    """NumPy, but for what it does in float64 only."""

    linalg = Linalg

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def interp(x: Any, xp: Any, fp: Any) -> Any:
        if len(xp) == 1:
            return np.zeros_like(x) + fp[0]
        i = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, len(xp) - 2)
        line = fp[i] + (fp[i + 1] - fp[i]) / (xp[i + 1] - xp[i]) * (x - xp[i])
        return np.where(x < xp[0], fp[0], np.where(x > xp[-1], fp[-1], line))


def _by_mpmath(function: Callable[..., Any]) -> Callable[..., Any]:
    def one(*values: Any) -> Any:
        import mpmath
        made = function(mpmath, *(mpmath.mpf(float(v)) + mpmath.mpf(float(v - LONG(float(v)))) for v in values))
        high = float(made)
        return LONG(high) + LONG(float(made - high))

    def elementwise(*values: Any) -> Any:
        import mpmath
        with mpmath.workdps(30):
            return np.vectorize(one, otypes=[LONG])(*values)[()]
    return elementwise


class Special:
    """scipy.special, but for what it does in float64 only."""

    erf = staticmethod(_by_mpmath(lambda mp, x: mp.erf(x)))
    erfc = staticmethod(_by_mpmath(lambda mp, x: mp.erfc(x)))
    gammaln = staticmethod(_by_mpmath(lambda mp, x: mp.log(abs(mp.gamma(x)))))
    gamma = staticmethod(_by_mpmath(lambda mp, x: mp.gamma(x)))
    digamma = staticmethod(_by_mpmath(lambda mp, x: mp.digamma(x)))
    polygamma = staticmethod(_by_mpmath(lambda mp, n, x: mp.polygamma(int(n), x)))
    psi = digamma
    beta = staticmethod(_by_mpmath(lambda mp, x, y: mp.beta(x, y)))
    betaln = staticmethod(_by_mpmath(lambda mp, x, y: mp.log(mp.beta(x, y))))
    ndtr = staticmethod(_by_mpmath(lambda mp, x: mp.ncdf(x)))
    exp2, expm1, log1p, cbrt = staticmethod(np.exp2), staticmethod(np.expm1), staticmethod(np.log1p), staticmethod(np.cbrt)
    exp10 = staticmethod(lambda x: LONG(10) ** x)
    expit = staticmethod(lambda x: 1 / (1 + np.exp(-x)))
    log_expit = staticmethod(lambda x: -np.log1p(np.exp(-x)))
    logit = staticmethod(lambda x: np.log(x / (1 - x)))
    softplus = staticmethod(lambda x: np.log1p(np.exp(x)))
    xlogy = staticmethod(lambda x, y: x * np.log(y))
    xlog1py = staticmethod(lambda x, y: x * np.log1p(y))
    entr = staticmethod(lambda x: -x * np.log(x))
    rel_entr = staticmethod(lambda x, y: x * np.log(x / y))
    kl_div = staticmethod(lambda x, y: x * np.log(x / y) - x + y)

    def __getattr__(self, name: str) -> Any:
        from scipy import special
        return getattr(special, name)


class Math:
    """`math`, of 80-bit floats: NumPy's functions under its names."""

    NAMES = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh", "pow": "power"}
    erf, erfc, lgamma, gamma = map(staticmethod, (Special.erf, Special.erfc, Special.gammaln, Special.gamma))

    @staticmethod
    def dist(p: Any, q: Any) -> Any:
        return np.sqrt(sum((a - b) ** 2 for a, b in zip(p, q)))

    @staticmethod
    def log(x: Any, base: Any = None) -> Any:
        return np.log(x) if base is None else np.log(x) / np.log(base)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, self.NAMES.get(name, name))


EXTENDED, SPECIAL, MATH = Extended(), Special(), Math()
