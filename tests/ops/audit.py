"""What a call of the catalog must satisfy: NumPy's value, dtype and shape, or a refusal of ours where NumPy refuses; derivatives by each mode and order equal
to differences in extended precision (80-bit floats, so that first derivatives are right to 1e-10 and second ones to 1e-8)."""
from __future__ import annotations

import itertools
import linecache
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from myia_notebook import MyiaError, grad, jvp, myia
from tests.ops.catalog import Call
from tests.ops.extended import EXTENDED, SPECIAL

try:
    from scipy import special
except ImportError:
    special = None
_numbers = itertools.count()
WIDER = {"float16": "float64", "int8": "int64", "uint64": "int64"}  # what NumPy makes of booleans alone; the language has four dtypes of numbers


def program(text: str, count: int, **names: Any) -> Callable[..., Any]:
    """A function of x0, x1, … with this body."""
    name = f"<audit {next(_numbers)}>"
    source = f"def program({', '.join(f'x{i}' for i in range(count))}):\n    {text}\n"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"np": np, "special": special, "grad": grad, "jvp": jvp, **names}
    exec(compile(source, name, "exec"), namespace)
    return namespace["program"]


def check_value(call: Call, backend: str) -> str:
    """'' when it is as NumPy; 'refused …' for an error of ours where NumPy has a value; else what is wrong."""
    f = program(f"return {call.text}", len(call.arguments))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected: Any = f(*call.arguments)
            failed = None
        except Exception as problem:
            failed = problem
        try:
            found = myia(f, backend=backend)(*call.arguments)
        except MyiaError as problem:
            if problem.code.startswith("M80"):
                return f"broken: {problem.code} {problem.message}"
            return "" if failed is not None else f"refused {problem.code} {problem.message.splitlines()[0]}"
        except Exception as problem:
            return f"broken: {type(problem).__name__} {problem}"
    if failed is not None:
        return f"gives {found!r:.60} where NumPy says {type(failed).__name__}: {failed}"
    return difference(found, expected, "special." in call.text)


def difference(found: Any, expected: Any, is_loose: bool = False) -> str:
    if isinstance(expected, (tuple, list)) and not np.isscalar(expected):
        if not isinstance(found, (tuple, list)) or len(found) != len(expected):
            return f"structure {type(found).__name__}, NumPy {type(expected).__name__}"
        return next((d for d in map(difference, found, expected) if d), "")
    if np.shape(found) != np.shape(expected):
        return f"shape {np.shape(found)}, NumPy {np.shape(expected)}"
    a, b = np.asarray(found), np.asarray(expected)
    b = b.astype(WIDER.get(b.dtype.name, b.dtype.newbyteorder("=")))
    if a.dtype != b.dtype and not (is_loose and a.dtype.kind == b.dtype.kind == "f"):
        return f"dtype {a.dtype}, NumPy {b.dtype}"
    if isinstance(expected, np.ndarray) and not isinstance(found, np.ndarray) and b.ndim:
        return f"kind {type(found).__name__}"
    tolerance = 2e-5 if np.float32 in (a.dtype, b.dtype) else 1e-11
    with np.errstate(all="ignore"):
        if not np.allclose(a, b, rtol=1e-2 if np.asarray(expected).dtype == np.float16 else tolerance, atol=tolerance, equal_nan=True):
            return f"value {a!r}, NumPy {b!r}"
    return ""


# -- derivatives

def scalar(call: Call) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """A scalar that sees every element of the call's result, as a program and in extended precision; None where the result is discrete."""
    y = program(f"return {call.text}", len(call.arguments))(*call.arguments)
    if isinstance(y, (tuple, list)):
        terms = [f"np.sum(np.sin({0.5 + 0.3 * i} * y[{i}]) * {1.0 + 0.2 * i})" for i, v in enumerate(y) if np.asarray(v).dtype.kind == "f"]
        w: Any = 1.0
    else:
        terms = ["np.sum(np.sin(y * w) + y * y * 0.25)"] if np.asarray(y).dtype.kind == "f" else []
        w = np.linspace(0.5, 1.5, max(np.size(y), 1))[:np.size(y)].reshape(np.shape(y))
        w = float(w) if np.ndim(w) == 0 else w
    if not terms:
        return None
    text, count = f"y = {call.text}\n    return {' + '.join(terms)}", len(call.arguments)
    return program(text, count, w=w), program(text, count, w=w, np=EXTENDED, special=SPECIAL)


def along(f: Callable[..., Any], arguments: tuple[Any, ...], directions: tuple[Any, ...]) -> tuple[float, float]:
    """First and second derivative of t ↦ f(x + t u) at 0, by differences of order 8 in extended precision."""
    def at(t: Any) -> Any:
        return f(*(x if u is None else np.asarray(x, np.longdouble) + t * np.asarray(u, np.longdouble) for x, u in zip(arguments, directions)))
    h = np.longdouble(1) / 2048
    values = {k: np.longdouble(at(k * h)) for k in range(-4, 5)}
    first = sum(c * (values[k] - values[-k]) for k, c in ((1, np.longdouble(4) / 5), (2, -np.longdouble(1) / 5), (3, np.longdouble(4) / 105), (4, -np.longdouble(1) / 280))) / h
    second = sum(c * (values[k] + values[-k] - 2 * values[0]) for k, c in (
        (1, np.longdouble(8) / 5), (2, -np.longdouble(1) / 5), (3, np.longdouble(8) / 315), (4, -np.longdouble(1) / 560))) / h**2
    return float(first), float(second)


def check_derivatives(call: Call, backends: tuple[str, ...], rng: Any) -> str:
    """'' when gradients, tangents and second derivatives by three nestings agree with differences."""
    try:
        made = scalar(call)
    except Exception:
        return ""  # NumPy refuses: see check_value
    if made is None:
        return ""
    f, reference = made
    active = [i for i, x in enumerate(call.arguments) if np.asarray(x).dtype.kind == "f"]
    if not active:
        return ""
    directions = tuple(rng.normal(size=np.shape(x)) if i in active else None for i, x in enumerate(call.arguments))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first, second = along(reference, call.arguments, directions)
        names = ", ".join(f"x{i}" for i in range(len(call.arguments)))
        us = {f"u{i}": float(u) if np.ndim(u) == 0 else u for i, u in enumerate(directions) if u is not None}
        tangents = ", ".join(f"u{i}" if i in active else "None" for i in range(len(call.arguments)))
        dots = " + ".join(f"np.sum(g[{k}] * u{i})" for k, i in enumerate(active))
        slope = f"g = grad(f, {tuple(active)!r})({names})\n    return {dots}"
        forward = f"return jvp(f, ({names},), ({tangents},))[1]"
        programs = {"reverse": (slope, first), "forward": (forward, first),
                    "reverse over reverse": (slope, second), "forward over reverse": (forward, second), "reverse over forward": (slope, second)}
        inner = {"reverse over reverse": slope, "forward over reverse": slope, "reverse over forward": forward}
        arguments = tuple(float(x) if np.ndim(x) == 0 and np.asarray(x).dtype.kind == "f" else x for x in call.arguments)
        for backend in backends:
            for kind, (text, expected) in programs.items():
                g = f if kind not in inner else program(inner[kind], len(arguments), f=f, **us)
                try:
                    found = myia(program(text, len(arguments), f=g, **us), backend=backend)(*arguments)
                except MyiaError as problem:
                    return f"{kind}, {backend}: {problem.code} {problem.message.splitlines()[0]}"
                except Exception as problem:
                    return f"{kind}, {backend}: broken: {type(problem).__name__} {problem}"
                tolerance = 1e-8 if expected is first else 1e-6
                if not abs(found - expected) <= tolerance * max(1.0, abs(expected)):
                    return f"{kind}, {backend}: {float(found)!r}, differences say {expected!r}"
    return ""
