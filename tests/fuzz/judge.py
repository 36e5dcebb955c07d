"""What a random program must satisfy: every backend gives Python's value (or Python's exception), and the first and second derivative agree with
differences of the plain function where that is smooth."""
from __future__ import annotations

import itertools
import linecache
import math
from typing import Any

from myia_notebook import MyiaError, grad, myia

BACKENDS = ("vm", "numba", "python")
_numbers = itertools.count()


def load(source: str) -> dict[str, Any]:
    name = f"<fuzz {next(_numbers)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {}
    exec(compile(source, name, "exec"), namespace)
    return namespace


def outcome(f: Any, *args: Any) -> Any:
    try:
        return f(*args)
    except MyiaError as problem:
        if problem.code in ("M800", "M801"):
            raise
        return next((c.__name__ for c in type(problem).__mro__ if c.__module__ == "builtins"), "?")
    except (ArithmeticError, ValueError, IndexError, UnboundLocalError) as problem:
        return type(problem).__name__


def close(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def slopes(f: Any, x: float, n: int) -> tuple[float, bool]:
    """The derivative by Richardson's extrapolation of central differences, and whether it can be trusted (two step sizes agree)."""
    def d(h: float) -> float:
        return (f(x + h, n) - f(x - h, n)) / (2 * h)

    def best(h: float) -> float:
        return (4 * d(h / 2) - d(h)) / 3

    a, b = best(1e-3), best(3e-4)
    return b, math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6)


def judge(source: str, x: float = 0.37, n: int = 2) -> str | None:
    """None when all is well; else what is wrong."""
    f = load(source)["f"]
    expected = outcome(f, x, n)
    for backend in BACKENDS:
        try:
            found = outcome(myia(f, backend=backend), x, n)
        except Exception as problem:
            return f"{backend}: {type(problem).__name__}: {problem}"
        if not close(found, expected, 1e-10):
            return f"{backend}: {found}, Python: {expected}"
    if isinstance(expected, str):
        return None
    try:
        slope, is_smooth = slopes(f, x, n)
    except (ArithmeticError, ValueError, IndexError, UnboundLocalError):
        return None
    gradients: dict[str, float] = {}
    for backend in BACKENDS:
        try:
            gradients[backend] = grad(f, backend=backend)(x, n)
        except Exception as problem:
            return f"gradient, {backend}: {type(problem).__name__}: {problem}"
    if not all(close(gradients["vm"], other, 1e-9) for other in gradients.values()):
        return f"gradients differ: {gradients}"
    if is_smooth and not close(gradients["vm"], slope, 2e-5):
        return f"gradient {gradients['vm']}, differences {slope}"
    if not is_smooth:
        return None
    curvature, is_smooth = slopes(grad(f, backend="numba"), x, n)
    try:
        second = grad(grad(f, backend="numba"), backend="numba")(x, n)
    except Exception as problem:
        return f"second derivative: {type(problem).__name__}: {problem}"
    if is_smooth and not close(second, curvature, 1e-4):
        return f"second derivative {second}, differences {curvature}"
    return None
