"""Gradients against hand-written Numba and plain NumPy, side by side in one run: minimum time of many, and ratios.

    make bench        prints the table; the figures of a machine are in docs/performance.md
"""
from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import myia_notebook as myia

LOOP = """
def loop(x, n):
    y = x
    for i in range(n):
        y = math.sin(y) * x + 0.1
    return y
"""
RECURSION = """
def recursion(x, n):
    if n == 0:
        return x
    return math.sin(recursion(x, n - 1)) * x + 0.1
"""
CALL = """
def call(x):
    return x * x + 3.0 * x
"""
MLP = """
def mlp(w1, w2, x, t):
    h = np.tanh(x @ w1)
    y = h @ w2
    return np.mean((y - t) ** 2)
"""


CHAIN = """
def chain(x):
    return np.sum(np.tanh(x * np.sin(x) + np.exp(-x * x)))
"""


def best(call: Callable[[], Any], least: float = 0.3) -> float:
    """Seconds of the fastest of many calls."""
    call()
    times: list[float] = []
    end = time.perf_counter() + least
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def compiled(source: str, name: str) -> Any:
    return myia.compile_source(source, {"math": math, "np": np})[name]


def by_hand() -> tuple[Any, Any]:
    """The derivative of `loop` as one would write it, by Numba; and of `mlp` in NumPy."""
    import numba

    @numba.njit
    def loop(x: float, n: int) -> float:
        kept = np.empty(n)
        y = x
        for i in range(n):
            kept[i] = y
            y = math.sin(y) * x + 0.1
        d_x, d_y = 0.0, 1.0
        for i in range(n - 1, -1, -1):
            d_x += d_y * math.sin(kept[i])
            d_y = d_y * x * math.cos(kept[i])
        return d_x + d_y

    def mlp(w1: Any, w2: Any, x: Any, t: Any) -> Any:
        h = np.tanh(x @ w1)
        e = 2 * (h @ w2 - t) / t.size
        return x.T @ (e @ w2.T * (1 - h * h)), h.T @ e

    return loop, mlp


def main() -> None:
    hand_loop, hand_mlp = by_hand()
    print(f"{'work':<34}{'ours':>12}{'by hand':>12}{'ratio':>8}")

    def row(name: str, ours: Callable[[], Any], hand: Callable[[], Any]) -> None:
        np.testing.assert_allclose(np.concatenate([np.ravel(v) for v in _tuple(ours())]), np.concatenate([np.ravel(v) for v in _tuple(hand())]), rtol=1e-9)
        a, b = best(ours), best(hand)
        print(f"{name:<34}{a * 1e6:>10.2f}µs{b * 1e6:>10.2f}µs{a / b:>8.2f}")

    call = myia.grad(compiled(CALL, "call"))
    row("one scalar gradient, from Python", lambda: call(2.0), lambda: 2 * 2.0 + 3.0)
    loop = myia.grad(compiled(LOOP, "loop"))
    recursion = myia.grad(compiled(RECURSION, "recursion"))
    for n in (100, 1000, 10_000, 1_000_000):
        row(f"loop of {n} steps", lambda n=n: loop(0.9, n), lambda n=n: hand_loop(0.9, n))
    row("recursion of 500 (hand: the loop)", lambda: recursion(0.9, 500), lambda: hand_loop(0.9, 500))
    random = np.random.default_rng(0)
    w1, w2, x, t = random.normal(size=(32, 64)), random.normal(size=(64, 8)), random.normal(size=(128, 32)), random.normal(size=(128, 8))
    mlp = myia.grad(compiled(MLP, "mlp"), (0, 1))
    row("two layers, 128×32→64→8 (hand: NumPy)", lambda: mlp(w1, w2, x, t), lambda: hand_mlp(w1, w2, x, t))
    z = random.normal(size=1_000_000)
    chain = myia.grad(compiled(CHAIN, "chain"))
    row("sin, exp, tanh on 10^6 (hand: NumPy)", lambda: chain(z), lambda: (1 - np.tanh(z * np.sin(z) + np.exp(-z * z)) ** 2) * (
        np.sin(z) + z * np.cos(z) - 2 * z * np.exp(-z * z)))
    start = time.perf_counter()
    myia.grad(compiled(LOOP, "loop"))(0.9, 10)
    print(f"first call of a new loop gradient: {(time.perf_counter() - start) * 1e3:.0f} ms")


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


if __name__ == "__main__":
    main()
