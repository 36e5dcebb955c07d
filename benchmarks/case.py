"""What a benchmark is: a program of the language, its gradient, who else computes the same, and how the result is verified."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table.

    `ours(*arguments)` is timed; `hand(*arguments)` gives the same by hand, compiled by Numba. `plain` is the program itself: run by Python, its differences verify `ours` (along random
    directions of the arguments `wrt`), unless `expected` says what is right. `peers` make, where they are installed, a call without arguments and what reads its result.
    """

    name: str
    ours: Callable[..., Any]
    arguments: tuple[Any, ...]
    plain: Callable[..., Any] | None = None
    primal: Callable[..., Any] | None = None
    wrt: tuple[int, ...] = (0,)
    hand: Callable[..., Any] | None = None
    hand_primal: Callable[..., Any] | None = None
    expected: Any = None
    rtol: float = 1e-7
    target: str = ""
    has_value: bool = False
    peers: dict[str, Callable[[], Callable[[], Any]]] = field(default_factory=dict)


def flat(value: Any) -> np.ndarray[Any, Any]:
    """All numbers of a result, in order."""
    if isinstance(value, (tuple, list)):
        return np.concatenate([flat(v) for v in value]) if value else np.zeros(0)
    if value is None:
        return np.zeros(0)
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    if hasattr(value, "__dataclass_fields__"):
        return flat([getattr(value, name) for name in value.__dataclass_fields__])
    return np.asarray(value, np.float64).ravel()


def gradient_part(case: Case, result: Any) -> np.ndarray[Any, Any]:
    return flat(result[1:] if case.has_value else result)


def directional(f: Callable[..., Any], arguments: tuple[Any, ...], wrt: tuple[int, ...], directions: list[Any], step: float) -> float:
    """d f(x + s·direction) / ds at 0 by central differences with two steps, extrapolated."""
    def at(s: float) -> float:
        moved = list(arguments)
        for i, d in zip(wrt, directions):
            moved[i] = arguments[i] + s * d
        return float(f(*moved))

    coarse, fine = ((at(h) - at(-h)) / (2 * h) for h in (step, step / 2))
    return (4 * fine - coarse) / 3


def verify(case: Case, result: Any) -> float:
    """The largest relative deviation of a result from what is right."""
    got = gradient_part(case, result)
    if case.expected is not None:
        wanted = flat(case.expected)
        assert got.shape == wanted.shape, (case.name, got.shape, wanted.shape)
        return float(np.max(np.abs(got - wanted)) / max(np.max(np.abs(wanted)), 1e-300))
    assert case.plain is not None, case.name
    random, worst = np.random.default_rng(7), 0.0
    arguments = tuple(a.astype(np.float64) if isinstance(a, np.ndarray) and a.dtype == np.float32 else a for a in case.arguments)
    for _ in range(3):
        directions = [random.normal(size=np.shape(arguments[i])) if np.shape(arguments[i]) else float(random.normal()) for i in case.wrt]
        wanted = directional(case.plain, arguments, case.wrt, directions, 1e-3 if got.size < 1000 else 1e-4)
        along = float(got @ flat(directions))
        worst = max(worst, abs(along - wanted) / max(abs(wanted), 1e-3 * float(np.linalg.norm(got) * np.linalg.norm(flat(directions))), 1e-300))
    return worst
