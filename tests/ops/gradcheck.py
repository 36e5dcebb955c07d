"""Derivatives of the calls of the catalog, by each mode and order, against differences in extended precision (80-bit floats; special functions by mpmath).

The differences are central ones of order 8 with several steps. Of two neighboring steps that agree best, the smaller one is the reference, and what they
differ by bounds its error: a check whose reference is not ten times better than the bound it serves proves nothing and is reported as such.
Errors are relative, without a floor.
"""
from __future__ import annotations

import pathlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from myia_notebook import MyiaError, myia
from tests.ops.audit import program
from tests.ops.draw import Call
from tests.ops.extended import EXTENDED, LONG, MATH, SPECIAL

FIGURES = pathlib.Path(__file__).with_name("gradcheck.json")  # written by tools/gradcheck.py, shown in docs/operations.md
BOUNDS = {1: 1e-8, 2: 1e-6}  # relative, by order
STEPS = tuple(LONG(1) / 2**k for k in (7, 9, 11, 13, 15))
_FIRST = tuple(LONG(a) / b for a, b in ((4, 5), (-1, 5), (4, 105), (-1, 280)))
_SECOND = tuple(LONG(a) / b for a, b in ((8, 5), (-1, 5), (8, 315), (-1, 560)))


@dataclass(frozen=True, slots=True)
class Reference:
    """A derivative by differences; `doubt` bounds its absolute error."""

    value: float
    doubt: float


@dataclass(frozen=True, slots=True)
class Measured:
    """A derivative of ours beside its reference; `problem` says why there is none."""

    kind: str
    order: int
    backend: str
    found: float
    reference: Reference
    problem: str = ""

    @property
    def error(self) -> float:
        """Relative; absolute where the derivative is 0."""
        return abs(self.found - self.reference.value) / (abs(self.reference.value) or 1.0)

    @property
    def fault(self) -> str:
        """'' when all is well."""
        where = f"{self.kind}, {self.backend}"
        if self.problem:
            return f"{where}: {self.problem}"
        bound = BOUNDS[self.order]
        if not self.reference.doubt <= 0.1 * bound * (abs(self.reference.value) or 1.0):
            return f"{where}: reference {self.reference.value!r} is only known to {self.reference.doubt:.1e}"
        return "" if self.error <= bound else f"{where}: {self.found!r}, differences say {self.reference.value!r}"


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
    return program(text, count, w=w), program(text, count, w=w, np=EXTENDED, special=SPECIAL, math=MATH)


def along(f: Callable[..., Any], arguments: tuple[Any, ...], directions: tuple[Any, ...]) -> dict[int, Reference]:
    """First and second derivative of t ↦ f(x + t u) at 0."""
    def at(t: Any) -> Any:
        return LONG(f(*(x if u is None else np.asarray(x, LONG) + t * np.asarray(u, LONG) for x, u in zip(arguments, directions))))

    middle = at(LONG(0))
    tries: dict[int, list[Any]] = {1: [], 2: []}
    for h in STEPS:
        right, left = [at(k * h) for k in range(1, 5)], [at(-k * h) for k in range(1, 5)]
        tries[1].append(sum(c * (a - b) for c, a, b in zip(_FIRST, right, left)) / h)
        tries[2].append(sum(c * (a + b - 2 * middle) for c, a, b in zip(_SECOND, right, left)) / h**2)
    return {order: _best(values) for order, values in tries.items()}


def _best(values: list[Any]) -> Reference:
    pairs = [Reference(float(b), float(abs(a - b))) for a, b in zip(values, values[1:])]
    return min(pairs, key=lambda r: (not np.isfinite(r.doubt), r.doubt))


def programs(f: Any, arguments: tuple[Any, ...], directions: tuple[Any, ...]) -> dict[str, tuple[int, Any]]:
    """By kind: the order, and a program of its derivative along the directions."""
    active = [i for i, u in enumerate(directions) if u is not None]
    count, names = len(arguments), ", ".join(f"x{i}" for i in range(len(arguments)))
    us = {f"u{i}": float(u) if np.ndim(u) == 0 else u for i, u in enumerate(directions) if u is not None}
    tangents = ", ".join(f"u{i}" if i in active else "None" for i in range(count))
    dots = " + ".join(f"np.sum(g[{k}] * u{i})" for k, i in enumerate(active))
    slope = f"g = grad(f, {tuple(active)!r})({names})\n    return {dots}"
    forward = f"return jvp(f, ({names},), ({tangents},))[1]"
    first = {"reverse": slope, "forward": forward}
    made = {kind: (1, program(text, count, f=f, **us)) for kind, text in first.items()}
    for outer, inner in (("reverse", "reverse"), ("forward", "reverse"), ("reverse", "forward"), ("forward", "forward")):
        made[f"{outer} over {inner}"] = 2, program(first[outer], count, f=made[inner][1], **us)
    return made


def measured(call: Call, backends: tuple[str, ...], rng: Any, kinds: tuple[str, ...] = ()) -> list[Measured]:
    """Every derivative of the call along a random direction of all its floats; none where NumPy refuses it or the result is discrete."""
    try:
        made = scalar(call)
    except Exception:
        return []  # see `audit.check_value`
    directions = tuple(rng.normal(size=np.shape(x)) if np.asarray(x).dtype.kind == "f" else None for x in call.arguments)
    if made is None or all(u is None for u in directions):
        return []
    f, extended = made
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        references = along(extended, call.arguments, directions)
        arguments = tuple(float(x) if np.ndim(x) == 0 and np.asarray(x).dtype.kind == "f" else x for x in call.arguments)
        return [_measure(kind, order, backend, g, arguments, references[order])
                for backend in backends for kind, (order, g) in programs(f, arguments, directions).items() if not kinds or kind in kinds]


def _measure(kind: str, order: int, backend: str, g: Any, arguments: tuple[Any, ...], reference: Reference) -> Measured:
    try:
        return Measured(kind, order, backend, float(myia(g, backend=backend)(*arguments)), reference)
    except MyiaError as problem:
        return Measured(kind, order, backend, np.nan, reference, f"{problem.code} {problem.message.splitlines()[0]}")
    except Exception as problem:
        return Measured(kind, order, backend, np.nan, reference, f"broken: {type(problem).__name__} {problem}")


def check_derivatives(call: Call, backends: tuple[str, ...], rng: Any) -> str:
    """'' when all derivatives agree with differences; else the first fault."""
    return next((m.fault for m in measured(call, backends, rng) if m.fault), "")
