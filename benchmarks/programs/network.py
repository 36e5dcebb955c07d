"""One step of a two-layer network: loss and gradient (W6)."""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.case import Case
from myia_notebook import myia, value_and_grad


def loss(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
    h = np.tanh(x @ w1 + b1)
    o = np.tanh(h @ w2 + b2)
    e = o - y
    return np.mean(e * e)


def by_hand() -> Any:
    import numba

    @numba.njit
    def step(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
        h = np.dot(x, w1)
        for i in range(h.shape[0]):
            for j in range(h.shape[1]):
                h[i, j] = math.tanh(h[i, j] + b1[j])
        o = np.dot(h, w2)
        d_b1, d_b2, total, scale = np.zeros_like(b1), np.zeros_like(b2), 0.0, 2.0 / o.size
        for i in range(o.shape[0]):
            for j in range(o.shape[1]):
                v = math.tanh(o[i, j] + b2[j])
                e = v - y[i, j]
                total += e * e
                o[i, j] = scale * e * (1 - v * v)
                d_b2[j] += o[i, j]
        d_w2, d_h = np.dot(h.T, o), np.dot(o, w2.T)
        for i in range(h.shape[0]):
            for j in range(h.shape[1]):
                d_h[i, j] *= 1 - h[i, j] * h[i, j]
                d_b1[j] += d_h[i, j]
        return total / o.size, np.dot(x.T, d_h), d_b1, d_w2, d_b2

    return step


def arguments(sizes: tuple[int, int, int], batch: int, dtype: Any) -> tuple[Any, ...]:
    r = np.random.default_rng(0)
    made = (r.normal(size=sizes[:2]) / np.sqrt(sizes[0]), 0.1 * r.normal(size=sizes[1]), r.normal(size=sizes[1:]) / np.sqrt(sizes[1]), 0.1 * r.normal(size=sizes[2]),
            r.normal(size=(batch, sizes[0])), r.normal(size=(batch, sizes[2])))
    return tuple(a.astype(dtype) for a in made)


def jax_(given: tuple[Any, ...]) -> Any:
    import jax
    from jax import numpy as jnp

    def inner(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
        e = jnp.tanh(jnp.tanh(x @ w1 + b1) @ w2 + b2) - y
        return jnp.mean(e * e)

    g, values = jax.jit(jax.value_and_grad(inner, (0, 1, 2, 3))), tuple(jnp.asarray(a) for a in given)
    return lambda: jax.block_until_ready(g(*values))


def torch_(given: tuple[Any, ...]) -> Any:
    import torch
    w1, b1, w2, b2 = weights = tuple(torch.tensor(a, requires_grad=True) for a in given[:4])
    x, y = (torch.tensor(a) for a in given[4:])

    def run() -> Any:
        e = torch.tanh(torch.tanh(x @ w1 + b1) @ w2 + b2) - y
        return torch.autograd.grad((e * e).mean(), weights)

    return run


def cases() -> Iterator[Case]:
    hand = by_hand()
    for name, sizes, batch, dtype, target in (("tiny, float64", (10, 50, 1), 32, np.float64, "0.5 JAX"), ("medium, float64", (784, 256, 10), 128, np.float64, "1.05 best"),
                                              ("medium, float32", (784, 256, 10), 128, np.float32, "0.9 JAX")):
        given = arguments(sizes, batch, dtype)
        step = value_and_grad(loss, (0, 1, 2, 3))
        ours = lambda *a, f=step: _joined(f(*a))
        yield Case(f"two-layer network, {name}", ours, given, loss, myia(loss), (0, 1, 2, 3), hand, target=target, has_value=True,
                   rtol=1e-6 if dtype == np.float64 else 1e-3, peers={"JAX": lambda g=given: jax_(g), "torch": lambda g=given: torch_(g)})


def _joined(result: Any) -> Any:
    return result[0], *result[1]
