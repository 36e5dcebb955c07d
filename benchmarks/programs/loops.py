"""A loop of n steps (W1)."""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.case import Case
from myia_notebook import grad, myia


def loop(x: float, n: int) -> float:
    v = x
    for _ in range(n):
        v = math.sin(v) * x + 0.1 * v
    return v


def by_hand() -> tuple[Any, Any]:
    import numba

    @numba.njit
    def gradient(x: float, n: int) -> float:
        sines, cosines, v = np.empty(n), np.empty(n), x
        for i in range(n):
            sines[i], cosines[i] = math.sin(v), math.cos(v)
            v = sines[i] * x + 0.1 * v
        d_x, d_v = 0.0, 1.0
        for i in range(n - 1, -1, -1):
            d_x += d_v * sines[i]
            d_v *= cosines[i] * x + 0.1
        return d_x + d_v

    return gradient, numba.njit(loop)


def jax_(x: float, n: int) -> Any:
    import jax
    from jax import lax
    from jax import numpy as jnp
    g = jax.jit(jax.grad(lambda x: lax.fori_loop(0, n, lambda i, v: jnp.sin(v) * x + 0.1 * v, x)))
    return lambda: jax.block_until_ready(g(x))


def torch_(x: float, n: int) -> Any:
    import torch

    def run() -> Any:
        a = torch.tensor(x, dtype=torch.float64, requires_grad=True)
        v = a
        for _ in range(n):
            v = torch.sin(v) * a + 0.1 * v
        return torch.autograd.grad(v, a)

    return run


def cases() -> Iterator[Case]:
    hand, hand_primal = by_hand()
    for n in (100, 1000, 10_000):
        yield Case(f"loop of {n} steps", grad(loop), (1.3, n), loop, myia(loop), hand=hand, hand_primal=hand_primal, target="1.15 hand", rtol=1e-4,
                   peers={"JAX": lambda n=n: jax_(1.3, n)} | ({"torch": lambda n=n: torch_(1.3, n)} if n < 10_000 else {}))
