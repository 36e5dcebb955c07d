"""Hessians of Rosenbrock's function (W11)."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.case import Case
from myia_notebook import hessian, myia


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def by_hand() -> Any:
    import numba

    @numba.njit
    def second(x: Any) -> Any:
        n = x.size
        h = np.zeros((n, n))
        for i in range(n - 1):
            h[i, i] += 1200 * x[i] * x[i] - 400 * x[i + 1] + 2
            h[i + 1, i + 1] += 200
            h[i, i + 1] = h[i + 1, i] = -400 * x[i]
        return h

    return second


def jax_(x: Any) -> Any:
    import jax
    from jax import numpy as jnp
    g, a = jax.jit(jax.hessian(lambda x: jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))), jnp.asarray(x)
    return lambda: jax.block_until_ready(g(a))


def torch_(x: Any) -> Any:
    import torch
    a = torch.tensor(x)
    f = lambda x: (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
    return lambda: torch.autograd.functional.hessian(f, a)


def cases() -> Iterator[Case]:
    hand = by_hand()
    for n in (10, 100):
        x = np.random.default_rng(0).random(n)
        yield Case(f"Hessian of {n} variables (by hand: the closed form)", hessian(rosenbrock), (x,), rosenbrock, myia(rosenbrock), hand=hand, expected=hand(x),
                   target="1.15 hand", peers={"JAX": lambda x=x: jax_(x), "torch": lambda x=x: torch_(x)})
