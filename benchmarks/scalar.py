"""Loops, trees and the call from Python against the same derivatives written by hand and compiled by Numba: `python benchmarks/scalar.py` prints the ratios of docs/performance.md."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import myia_notebook as myia
from benchmarks.gradients import best

SOURCE = """
def poly(x, n):
    y = x
    for i in range(n):
        y = y * x * 0.5 + 0.1
    return y
def tree(x, d):
    if d == 0:
        return math.tanh(x)
    return tree(x * 0.9, d - 1) * tree(x + 0.1, d - 1)
def array_tree(xs, lo, n):
    if n == 1:
        return math.sin(xs[lo])
    h = n // 2
    return array_tree(xs, lo, h) * 0.7 + array_tree(xs, lo + h, h) * 1.1
def items(xs, n):
    s = 1.0
    for i in range(n):
        s = s + math.sin(xs[i]) * s
    return s
def call(x):
    return x * x + 3.0 * x
"""


def by_hand() -> dict[str, Any]:
    import numba

    @numba.njit
    def poly(x: float, n: int) -> float:
        kept = np.empty(n)
        y = x
        for i in range(n):
            kept[i] = y
            y = y * x * 0.5 + 0.1
        dx, dy = 0.0, 1.0
        for i in range(n - 1, -1, -1):
            dx += dy * kept[i] * 0.5
            dy = dy * x * 0.5
        return dx + dy

    @numba.njit
    def pair(x: float, d: int) -> Any:
        if d == 0:
            t = math.tanh(x)
            return t, 1 - t * t
        a, da = pair(x * 0.9, d - 1)
        b, db = pair(x + 0.1, d - 1)
        return a * b, da * 0.9 * b + db * a

    @numba.njit
    def tree(x: float, d: int) -> float:
        return pair(x, d)[1]

    @numba.njit
    def value(xs: Any, lo: int, n: int) -> float:
        if n == 1:
            return math.sin(xs[lo])
        h = n // 2
        return value(xs, lo, h) * 0.7 + value(xs, lo + h, h) * 1.1

    @numba.njit
    def back(xs: Any, out: Any, lo: int, n: int, d: float) -> None:
        if n == 1:
            out[lo] += d * math.cos(xs[lo])
            return
        h = n // 2
        back(xs, out, lo, h, d * 0.7)
        back(xs, out, lo + h, h, d * 1.1)

    @numba.njit
    def array_tree(xs: Any, lo: int, n: int) -> Any:
        value(xs, lo, n)
        out = np.zeros_like(xs)
        back(xs, out, lo, n, 1.0)
        return out

    @numba.njit
    def items(xs: Any, n: int) -> Any:
        kept = np.empty(n)
        s = 1.0
        for i in range(n):
            kept[i] = s
            s = s + math.sin(xs[i]) * s
        out, d = np.zeros_like(xs), 1.0
        for i in range(n - 1, -1, -1):
            out[i] += d * kept[i] * math.cos(xs[i])
            d += d * math.sin(xs[i])
        return out

    @numba.njit
    def call(x: float) -> float:
        return 2 * x + 3.0

    return {"poly": poly, "tree": tree, "array_tree": array_tree, "items": items, "call": call}


def main() -> None:
    names, hand = myia.compile_source(SOURCE, {"math": math}), by_hand()
    xs = {n: np.random.default_rng(0).normal(size=n) * 0.1 for n in (256, 1000, 1024, 10_000)}
    rows: list[tuple[str, tuple[Any, ...]]] = [("call", (2.0,)), *(("poly", (0.9, n)) for n in (100, 1000, 10_000)), ("tree", (0.9, 10)), ("tree", (0.9, 14)),
                                               *(("array_tree", (xs[n], 0, n)) for n in (256, 1024)), *(("items", (xs[n], n)) for n in (1000, 10_000))]
    for name, arguments in rows:
        ours, theirs = myia.grad(names[name]), hand[name]
        np.testing.assert_allclose(ours(*arguments), theirs(*arguments), rtol=1e-9)
        a, b = best(lambda f=ours, v=arguments: f(*v)), best(lambda f=theirs, v=arguments: f(*v))
        shown = ", ".join("array" if isinstance(v, np.ndarray) else str(v) for v in arguments)
        print(f"{name}({shown})".ljust(28) + f"{a * 1e6:>10.2f} µs{b * 1e6:>10.2f} µs{a / b:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
