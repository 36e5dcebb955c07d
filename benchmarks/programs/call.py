"""The cost of one call from Python (W10)."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.case import Case
from myia_notebook import grad, myia


def square(x: float) -> float:
    return x * x + 3 * x


def small(x: Any) -> Any:
    return np.sum(x * x)


def by_hand() -> tuple[Any, Any, Any]:
    import numba

    @numba.njit
    def doubled(x: Any) -> Any:
        out = np.empty_like(x)
        for i in range(x.size):
            out[i] = 2 * x[i]
        return out

    return numba.njit(lambda x: 2 * x + 3.0), numba.njit(square), doubled


def jax_() -> Any:
    import jax
    g = jax.jit(jax.grad(square))
    return lambda: jax.block_until_ready(g(1.7))


def torch_() -> Any:
    import torch

    def run() -> Any:
        x = torch.tensor(1.7, dtype=torch.float64, requires_grad=True)
        return torch.autograd.grad(square(x), x)  # type: ignore[arg-type]

    return run


def cases() -> Iterator[Case]:
    hand, primal, doubled = by_hand()
    yield Case("gradient of x² + 3x, one call", grad(square), (1.7,), square, myia(square), hand=hand, hand_primal=primal, target="0.15 µs, hand",
               peers={"JAX": jax_, "torch": torch_})
    x = np.arange(10.0)
    yield Case("gradient of Σx², 10 numbers", grad(small), (x,), small, myia(small), hand=doubled, target="0.3 µs")
