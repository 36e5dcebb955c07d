"""Recursion over trees: on an array, on a recursive dataclass, and with closures chosen at run time (W4)."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.case import Case
from myia_notebook import grad, myia


def on_array(a: float, b: float, leaves: Any, start: int, n: int) -> float:
    if n == 1:
        return leaves[start]
    h = n // 2
    return math.tanh(a * on_array(a, b, leaves, start, h) + b * on_array(a, b, leaves, start + h, h))


@dataclass
class Leaf:
    value: float


@dataclass
class Branch:
    left: Any
    right: Any


def fold(a: float, b: float, t: Any) -> float:
    if isinstance(t, Leaf):
        return t.value
    return math.tanh(a * fold(a, b, t.left) + b * fold(a, b, t.right))


def grow(depth: int, x: float) -> Any:
    if depth == 0:
        return Leaf(x)
    return Branch(grow(depth - 1, x * 0.9), grow(depth - 1, x + 0.01))


def on_dataclass(a: float, b: float, depth: int) -> float:
    return fold(a, b, grow(depth, 0.5))


def with_closures(x: float, choices: Any, n: int) -> float:
    """Builds a function by composition, one closure a step, the kind known at run time only, then calls it."""
    def identity(v: float) -> float:
        return v

    f = identity
    for i in range(n):
        f = added(f, x) if choices[i] > 0 else scaled(f, x)
    return f(0.5)


def added(f: Callable[[float], float], x: float) -> Callable[[float], float]:
    return lambda v: f(v + 0.1 * x)


def scaled(f: Callable[[float], float], x: float) -> Callable[[float], float]:
    return lambda v: f(v * x)


def by_hand() -> dict[str, Any]:
    import numba

    @numba.njit
    def value(a: float, b: float, leaves: Any, start: int, n: int, kept: Any, at: int) -> float:
        if n == 1:
            return leaves[start]
        h = n // 2
        left, right = value(a, b, leaves, start, h, kept, 2 * at), value(a, b, leaves, start + h, h, kept, 2 * at + 1)
        kept[at, 0], kept[at, 1], kept[at, 2] = left, right, math.tanh(a * left + b * right)
        return kept[at, 2]

    @numba.njit
    def back(a: float, b: float, n: int, kept: Any, at: int, d: float) -> Any:
        if n == 1:
            return 0.0, 0.0
        e = d * (1 - kept[at, 2] * kept[at, 2])
        left, right = back(a, b, n // 2, kept, 2 * at, e * a), back(a, b, n // 2, kept, 2 * at + 1, e * b)
        return e * kept[at, 0] + left[0] + right[0], e * kept[at, 1] + left[1] + right[1]

    @numba.njit
    def on_array_(a: float, b: float, leaves: Any, start: int, n: int) -> Any:
        kept = np.empty((n, 3))
        value(a, b, leaves, start, n, kept, 1)
        return back(a, b, n, kept, 1, 1.0)

    @numba.njit
    def fill(leaves: Any, start: int, depth: int, x: float) -> None:
        if depth == 0:
            leaves[start] = x
            return
        fill(leaves, start, depth - 1, x * 0.9)
        fill(leaves, start + (1 << (depth - 1)), depth - 1, x + 0.01)

    @numba.njit
    def on_dataclass_(a: float, b: float, depth: int) -> Any:
        n = 1 << depth
        leaves, kept = np.empty(n), np.empty((n, 3))
        fill(leaves, 0, depth, 0.5)
        value(a, b, leaves, 0, n, kept, 1)
        return back(a, b, n, kept, 1, 1.0)

    @numba.njit
    def with_closures_(x: float, choices: Any, n: int) -> float:
        kept, v = np.empty(n), 0.5
        for i in range(n - 1, -1, -1):
            kept[i] = v
            v = v + 0.1 * x if choices[i] > 0 else v * x
        d_x, d_v = 0.0, 1.0
        for i in range(n):
            if choices[i] > 0:
                d_x += d_v * 0.1
            else:
                d_x += d_v * kept[i]
                d_v *= x
        return d_x

    return {"array": on_array_, "dataclass": on_dataclass_, "closures": with_closures_}


def jax_(leaves: Any) -> Any:
    import jax
    from jax import numpy as jnp

    def inner(a: Any, b: Any, v: Any) -> Any:
        return v[0] if len(v) == 1 else jnp.tanh(a * inner(a, b, v[:len(v) // 2]) + b * inner(a, b, v[len(v) // 2:]))

    g, v = jax.jit(jax.grad(inner, (0, 1))), [float(x) for x in leaves]
    return lambda: jax.block_until_ready(g(0.9, 1.1, v))


def torch_(leaves: Any) -> Any:
    import torch

    def inner(a: Any, b: Any, start: int, n: int) -> Any:
        return leaves[start] if n == 1 else torch.tanh(a * inner(a, b, start, n // 2) + b * inner(a, b, start + n // 2, n // 2))

    def run() -> Any:
        a, b = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (0.9, 1.1))
        return torch.autograd.grad(inner(a, b, 0, len(leaves)), (a, b))

    return run


def cases() -> Iterator[Case]:
    hand = by_hand()
    for k in (10, 14):
        leaves = np.random.default_rng(0).normal(size=2**k)
        yield Case(f"tree on an array, 2^{k} leaves", grad(on_array, (0, 1)), (0.9, 1.1, leaves, 0, 2**k), on_array, myia(on_array), (0, 1), hand["array"], target="1.15 hand",
                   peers={"JAX": lambda: jax_(leaves[:256]), "torch": lambda v=leaves: torch_(v)} if k == 1 else {"torch": lambda v=leaves: torch_(v)} if k == 10 else {})
    for k in (10, 14):
        yield Case(f"tree of a dataclass, built and folded, 2^{k} leaves", grad(on_dataclass, (0, 1)), (0.9, 1.1, k), on_dataclass, myia(on_dataclass), (0, 1),
                   hand["dataclass"], target="1.5 hand")
    for n in (100, 10_000):
        choices = np.random.default_rng(1).normal(size=n)
        plain = None if n > 500 else with_closures
        expected = hand["closures"](0.99, choices, n) if plain is None else None
        yield Case(f"composition of {n} closures chosen at run time", grad(with_closures), (0.99, choices, n), plain, myia(with_closures), hand=hand["closures"],
                   expected=expected, target="1.6 hand")
