"""Derivatives of order 1 to 5 (W5)."""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.case import Case
from myia_notebook import grad, myia


def wave(x: float) -> float:
    return math.tanh(x) * math.sin(x) ** 2


def by_hand(order: int) -> Any:
    """Taylor coefficients, one after the other."""
    import numba

    @numba.njit
    def derivative(x: float) -> float:
        s, c, t = np.empty(order + 1), np.empty(order + 1), np.empty(order + 1)
        s[0], c[0], t[0] = math.sin(x), math.cos(x), math.tanh(x)
        for k in range(order):
            s[k + 1], c[k + 1] = c[k] / (k + 1), -s[k] / (k + 1)
            square = 0.0
            for j in range(k + 1):
                square += t[j] * t[k - j]
            t[k + 1] = ((1.0 if k == 0 else 0.0) - square) / (k + 1)
        total = 0.0
        for k in range(order + 1):
            square = 0.0
            for j in range(k + 1):
                square += s[j] * s[k - j]
            total += square * t[order - k]
        for k in range(2, order + 1):
            total *= k
        return total

    return derivative


def jax_(order: int) -> Any:
    import jax
    from jax import numpy as jnp
    g = lambda x: jnp.tanh(x) * jnp.sin(x) ** 2
    for _ in range(order):
        g = jax.grad(g)
    g = jax.jit(g)
    return lambda: jax.block_until_ready(g(0.7))


def torch_(order: int) -> Any:
    import torch

    def run() -> Any:
        x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
        y = torch.tanh(x) * torch.sin(x) ** 2
        for _ in range(order):
            (y,) = torch.autograd.grad(y, x, create_graph=True)
        return y

    return run


def cases() -> Iterator[Case]:
    g: Any = wave
    for order in range(1, 6):
        previous, g = g, grad(g)
        yield Case(f"derivative {order} of tanh·sin²", g, (0.7,), previous if order == 1 else previous, myia(wave), hand=by_hand(order), rtol=1e-6, target="1.15 hand",
                   peers={"JAX": lambda k=order: jax_(k), "torch": lambda k=order: torch_(k)})
