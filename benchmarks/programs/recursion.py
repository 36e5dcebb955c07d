"""Recursion of depth 500 and 10⁶ (W3)."""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.case import Case
from myia_notebook import grad, myia


def recursion(x: float, n: int) -> float:
    if n == 0:
        return x
    return math.sin(recursion(x, n - 1)) * x


def by_hand() -> tuple[Any, Any, Any]:
    import numba

    @numba.njit
    def forward(x: float, n: int, sines: Any, cosines: Any) -> float:
        if n == 0:
            return x
        v = forward(x, n - 1, sines, cosines)
        sines[n - 1], cosines[n - 1] = math.sin(v), math.cos(v)
        return sines[n - 1] * x

    @numba.njit
    def backward(x: float, n: int, sines: Any, cosines: Any) -> float:
        d_x, d_v = 0.0, 1.0
        for i in range(n - 1, -1, -1):
            d_x += d_v * sines[i]
            d_v *= cosines[i] * x
        return d_x + d_v

    @numba.njit
    def gradient(x: float, n: int) -> float:
        sines, cosines = np.empty(n), np.empty(n)
        forward(x, n, sines, cosines)
        return backward(x, n, sines, cosines)

    @numba.njit
    def as_loop(x: float, n: int) -> float:
        sines, cosines, v = np.empty(n), np.empty(n), x
        for i in range(n):
            sines[i], cosines[i] = math.sin(v), math.cos(v)
            v = sines[i] * x
        return backward(x, n, sines, cosines)

    @numba.njit
    def primal(x: float, n: int) -> float:
        return x if n == 0 else math.sin(primal(x, n - 1)) * x

    return gradient, as_loop, primal


def jax_() -> Any:
    import jax
    from jax import numpy as jnp

    def unrolled(x: Any, n: int) -> Any:
        return x if n == 0 else jnp.sin(unrolled(x, n - 1)) * x

    g = jax.jit(jax.grad(lambda x: unrolled(x, 500)))
    return lambda: jax.block_until_ready(g(1.3))


def torch_(n: int) -> Any:
    import torch

    def inner(x: Any, n: int) -> Any:
        return x if n == 0 else torch.sin(inner(x, n - 1)) * x

    def run() -> Any:
        x = torch.tensor(1.3, dtype=torch.float64, requires_grad=True)
        return torch.autograd.grad(inner(x, n), x)

    return run


def cases() -> Iterator[Case]:
    hand, as_loop, primal = by_hand()
    yield Case("recursion of depth 500", grad(recursion), (1.3, 500), recursion, myia(recursion), hand=hand, hand_primal=primal, rtol=1e-4, target="1.1 hand",
               peers={"JAX": jax_, "torch": lambda: torch_(500)})
    yield Case("recursion of depth 10⁶ (by hand: a loop)", grad(recursion), (1.3, 1_000_000), None, myia(recursion), hand=as_loop, expected=as_loop(1.3, 1_000_000),
               target="1.5 hand")
