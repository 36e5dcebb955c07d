"""A long short-term memory over 16 steps: loss and gradient of the weights (W7)."""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.case import Case
from myia_notebook import grad, myia

STEPS, BATCH, WIDTH = 16, 16, 64


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def loss(wx: Any, wh: Any, b: Any, xs: Any, h: Any, c: Any) -> Any:
    n = h.shape[1]
    for t in range(xs.shape[0]):
        z = xs[t] @ wx + h @ wh + b
        i, f, g, o = sigmoid(z[:, :n]), sigmoid(z[:, n:2 * n]), np.tanh(z[:, 2 * n:3 * n]), sigmoid(z[:, 3 * n:])
        c = f * c + i * g
        h = o * np.tanh(c)
    return np.mean(h * h)


def by_hand() -> Any:
    import numba

    @numba.njit
    def s(x: float) -> float:
        return 1 / (1 + math.exp(-x))

    @numba.njit
    def gradient(wx: Any, wh: Any, bias: Any, xs: Any, h0: Any, c0: Any) -> Any:
        steps, rows, n = xs.shape[0], h0.shape[0], h0.shape[1]
        flat_x = xs.reshape(steps * rows, xs.shape[2])
        z = np.dot(flat_x, wx)
        hs, cs, ts = np.empty((steps + 1, rows, n)), np.empty((steps + 1, rows, n)), np.empty((steps, rows, n))
        hs[0], cs[0] = h0, c0
        for t in range(steps):
            from_h = np.dot(hs[t], wh)
            for r in range(rows):
                at = t * rows + r
                for j in range(4 * n):
                    v = z[at, j] + from_h[r, j] + bias[j]
                    z[at, j] = math.tanh(v) if 2 * n <= j < 3 * n else s(v)
                for j in range(n):
                    cs[t + 1, r, j] = z[at, n + j] * cs[t, r, j] + z[at, j] * z[at, 2 * n + j]
                    ts[t, r, j] = math.tanh(cs[t + 1, r, j])
                    hs[t + 1, r, j] = z[at, 3 * n + j] * ts[t, r, j]
        d_h, d_c, d_b, back = hs[steps] * (2.0 / (rows * n)), np.zeros((rows, n)), np.zeros(4 * n), np.ascontiguousarray(wh.T)
        for t in range(steps - 1, -1, -1):
            for r in range(rows):
                at = t * rows + r
                for j in range(n):
                    i, f, g, o, q = z[at, j], z[at, n + j], z[at, 2 * n + j], z[at, 3 * n + j], ts[t, r, j]
                    e = d_c[r, j] + d_h[r, j] * o * (1 - q * q)
                    z[at, j], z[at, n + j] = e * g * i * (1 - i), e * cs[t, r, j] * f * (1 - f)
                    z[at, 2 * n + j], z[at, 3 * n + j] = e * i * (1 - g * g), d_h[r, j] * q * o * (1 - o)
                    d_c[r, j] = e * f
                for j in range(4 * n):
                    d_b[j] += z[at, j]
            d_h = np.dot(z[t * rows:(t + 1) * rows], back)
        return np.dot(flat_x.T, z), np.dot(hs[:steps].copy().reshape(steps * rows, n).T, z), d_b

    return gradient


def jax_(given: tuple[Any, ...]) -> Any:
    import jax
    from jax import lax
    from jax import numpy as jnp

    def inner(wx: Any, wh: Any, b: Any, xs: Any, h: Any, c: Any) -> Any:
        def cell(state: Any, x: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(x @ wx + h @ wh + b, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None
        (h, c), _ = lax.scan(cell, (h, c), xs)
        return jnp.mean(h * h)

    g, values = jax.jit(jax.grad(inner, (0, 1, 2))), tuple(jnp.asarray(a) for a in given)
    return lambda: jax.block_until_ready(g(*values))


def torch_(given: tuple[Any, ...]) -> Any:
    import torch
    wx, wh, b = weights = tuple(torch.tensor(a, requires_grad=True) for a in given[:3])
    xs, h0, c0 = (torch.tensor(a) for a in given[3:])

    def run() -> Any:
        h, c = h0, c0
        for x in xs:
            i, f, g, o = (x @ wx + h @ wh + b).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return torch.autograd.grad((h * h).mean(), weights)

    return run


def cases() -> Iterator[Case]:
    r = np.random.default_rng(0)
    given = (r.normal(size=(WIDTH, 4 * WIDTH)) / 8, r.normal(size=(WIDTH, 4 * WIDTH)) / 8, 0.1 * r.normal(size=4 * WIDTH), r.normal(size=(STEPS, BATCH, WIDTH)),
             np.zeros((BATCH, WIDTH)), np.zeros((BATCH, WIDTH)))
    yield Case("LSTM, 16 steps of 16×64", grad(loss, (0, 1, 2)), given, loss, myia(loss), (0, 1, 2), by_hand(), target="0.4 JAX", rtol=1e-5,
               peers={"JAX": lambda: jax_(given), "torch": lambda: torch_(given)})
