"""`vjp` in programs: the function runs once, however often its backpropagator is called, and what the forward pass computed is kept."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from myia_notebook import grad, myia, value_and_grad, vjp
from myia_notebook.ir.graph import primitive_of
from myia_notebook.vm import run
from tests.optimize.running import optimized

BACKENDS = ("vm", "numba")


def repeated(x: float, n: int) -> float:
    y = x
    for _ in range(n):
        y = np.sin(y) * y
    return y


def once(x: float, n: int) -> float:
    y, back = vjp(repeated, x, n)
    return y + back(1.0)[0]


def thrice(x: float, n: int) -> float:
    y, back = vjp(repeated, x, n)
    return back(y)[0] + back(2.0)[0] + back(back(1.0)[0])[0]


def gradient(x: float, n: int) -> float:
    y, d = value_and_grad(repeated)(x, n)
    return y + d


def sines(f: Any, arguments: tuple[Any, ...]) -> int:
    """How many sines a run computes: the loop's own, none of its derivative's (which are cosines)."""
    count = 0

    def record(node: Any, value: Any, activation: int) -> None:
        nonlocal count
        count += getattr(primitive_of(node), "name", "") == "sin"

    run(optimized(f, arguments, check=False).optimized, list(arguments), record)
    return count


def test_the_forward_pass_runs_once() -> None:
    assert [sines(f, (1.3, 10)) for f in (repeated, gradient, once, thrice)] == [10, 10, 10, 10]


@pytest.mark.parametrize("backend", BACKENDS)
def test_values(backend: str) -> None:
    def slope(x: float, n: int) -> float:
        y, dy = x, 1.0
        for _ in range(n):
            y, dy = math.sin(y) * y, (math.cos(y) * y + math.sin(y)) * dy
        return dy

    y, d = repeated(1.3, 6), slope(1.3, 6)
    assert myia(once, backend=backend)(1.3, 6) == pytest.approx(y + d, rel=1e-12)
    assert myia(thrice, backend=backend)(1.3, 6) == pytest.approx(d * y + 2 * d + d * d, rel=1e-12)
    h = 1e-5
    expected = (once(1.3 + h, 3) - once(1.3 - h, 3)) / (2 * h)
    assert grad(once, backend=backend)(1.3, 3) == pytest.approx(expected, rel=1e-8)


def structured(p: dict[str, float], xs: list[float]) -> Any:
    """A backpropagator over structures, chosen at run time, called in a loop."""
    y, back = vjp(lambda q, v: {"s": q["a"] * v[0] ** 2, "t": q["b"] * v[1]}, p, xs)
    total = 0.0
    for i in range(3):
        d = back({"s": y["t"], "t": float(i)})
        total = total + d[0]["a"] + d[1][1]
    return total


@pytest.mark.parametrize("backend", BACKENDS)
def test_structures(backend: str) -> None:
    # y = {s: a v0², t: b v1}; ∂s/∂a = v0² = 4, ∂t/∂v1 = b = 5: ∑ (t·4 + i·5) = 3·(35·4) + 5·(0 + 1 + 2)
    assert myia(structured, backend=backend)({"a": 3.0, "b": 5.0}, [2.0, 7.0]) == pytest.approx(3 * 35 * 4 + 15)
