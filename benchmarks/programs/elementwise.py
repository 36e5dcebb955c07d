"""A chain of functions on 10⁶ numbers (W9)."""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.case import Case
from myia_notebook import grad, myia


def chain(x: Any) -> Any:
    return np.sum(np.tanh(x * np.sin(x) + np.exp(-x * x)))


def by_hand() -> Any:
    import numba

    @numba.njit
    def gradient(x: Any) -> Any:
        out = np.empty_like(x)
        for i in range(x.size):
            v = x[i]
            s, e = math.sin(v), math.exp(-v * v)
            t = math.tanh(v * s + e)
            out[i] = (1 - t * t) * (s + v * math.cos(v) - 2 * v * e)
        return out

    return gradient


def jax_(x: Any) -> Any:
    import jax
    from jax import numpy as jnp
    g, a = jax.jit(jax.grad(lambda x: jnp.sum(jnp.tanh(x * jnp.sin(x) + jnp.exp(-x * x))))), jnp.asarray(x)
    return lambda: jax.block_until_ready(g(a))


def torch_(x: Any) -> Any:
    import torch
    a = torch.tensor(x, requires_grad=True)
    return lambda: torch.autograd.grad(torch.tanh(a * torch.sin(a) + torch.exp(-a * a)).sum(), a)


def cases() -> Iterator[Case]:
    x = np.random.default_rng(0).normal(size=1_000_000)
    yield Case("sin, exp, tanh on 10⁶ numbers", grad(chain), (x,), chain, myia(chain), hand=by_hand(), target="0.3 JAX", rtol=1e-5,
               peers={"JAX": lambda: jax_(x), "torch": lambda: torch_(x)})
