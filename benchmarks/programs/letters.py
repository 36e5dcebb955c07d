"""The LSTM of ADBench: two layers of width 14 with weights on the diagonal, 128 letters (W8)."""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.case import Case
from myia_notebook import grad, myia

LAYERS, WIDTH, LETTERS = 2, 14, 128


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def cell(w: Any, b: Any, x: Any, h: Any, c: Any) -> Any:
    forget, take = sigmoid(x * w[0] + b[0]), sigmoid(h * w[1] + b[1])
    show, change = sigmoid(x * w[2] + b[2]), np.tanh(h * w[3] + b[3])
    c = c * forget + take * change
    return show * np.tanh(c), c


def loss(main: Any, extra: Any, state: Any, letters: Any) -> Any:
    h1, c1, h2, c2 = state[0], state[1], state[2], state[3]
    total = 0.0
    n = letters.shape[0] - 1
    for t in range(n):
        h1, c1 = cell(main[0], main[1], letters[t] * extra[0], h1, c1)
        h2, c2 = cell(main[2], main[3], h1, h2, c2)
        y = h2 * extra[1] + extra[2]
        total = total + np.sum(letters[t + 1] * (y - np.log(np.sum(np.exp(y)) + 2)))
    return -total / (letters.shape[1] * n)


def by_hand() -> Any:
    import numba

    @numba.njit
    def s(x: float) -> float:
        return 1 / (1 + math.exp(-x))

    @numba.njit
    def gradient(main: Any, extra: Any, state: Any, letters: Any) -> Any:
        layers, n, w = main.shape[0] // 2, letters.shape[0] - 1, letters.shape[1]
        gates, hs, cs = np.empty((n, layers, 5, w)), np.empty((n + 1, layers, w)), np.empty((n + 1, layers, w))
        ey, sums = np.empty((n, w)), np.empty(n)
        for k in range(layers):
            hs[0, k], cs[0, k] = state[2 * k], state[2 * k + 1]
        for t in range(n):
            for k in range(layers):
                m, b, g = main[2 * k], main[2 * k + 1], gates[t, k]
                for j in range(w):
                    x, h = letters[t, j] * extra[0, j] if k == 0 else hs[t + 1, k - 1, j], hs[t, k, j]
                    g[0, j], g[1, j] = s(x * m[0, j] + b[0, j]), s(h * m[1, j] + b[1, j])
                    g[2, j], g[3, j] = s(x * m[2, j] + b[2, j]), math.tanh(h * m[3, j] + b[3, j])
                    cs[t + 1, k, j] = cs[t, k, j] * g[0, j] + g[1, j] * g[3, j]
                    g[4, j] = math.tanh(cs[t + 1, k, j])
                    hs[t + 1, k, j] = g[2, j] * g[4, j]
            sums[t] = 2.0
            for j in range(w):
                ey[t, j] = math.exp(hs[t + 1, layers - 1, j] * extra[1, j] + extra[2, j])
                sums[t] += ey[t, j]
        d_main, d_extra, scale = np.zeros(main.shape), np.zeros(extra.shape), -1.0 / (w * n)
        d_h, d_c = np.zeros((layers, w)), np.zeros((layers, w))
        for t in range(n - 1, -1, -1):
            ones = 0.0
            for j in range(w):
                ones += letters[t + 1, j]
            for j in range(w):
                d = scale * (letters[t + 1, j] - ones * ey[t, j] / sums[t])
                d_extra[1, j] += d * hs[t + 1, layers - 1, j]
                d_extra[2, j] += d
                d_h[layers - 1, j] += d * extra[1, j]
            for k in range(layers - 1, -1, -1):
                m, g, dm, db = main[2 * k], gates[t, k], d_main[2 * k], d_main[2 * k + 1]
                for j in range(w):
                    x, h = letters[t, j] * extra[0, j] if k == 0 else hs[t + 1, k - 1, j], hs[t, k, j]
                    f, i, o, c, q = g[0, j], g[1, j], g[2, j], g[3, j], g[4, j]
                    e = d_c[k, j] + d_h[k, j] * o * (1 - q * q)
                    zf, zi, zo, zc = e * cs[t, k, j] * f * (1 - f), e * c * i * (1 - i), d_h[k, j] * q * o * (1 - o), e * i * (1 - c * c)
                    dm[0, j] += zf * x
                    dm[1, j] += zi * h
                    dm[2, j] += zo * x
                    dm[3, j] += zc * h
                    db[0, j] += zf
                    db[1, j] += zi
                    db[2, j] += zo
                    db[3, j] += zc
                    d_c[k, j], d_h[k, j] = e * f, zi * m[1, j] + zc * m[3, j]
                    dx = zf * m[0, j] + zo * m[2, j]
                    if k == 0:
                        d_extra[0, j] += dx * letters[t, j]
                    else:
                        d_h[k - 1, j] += dx
        return d_main, d_extra

    return gradient


def jax_(given: tuple[Any, ...]) -> Any:
    import jax
    from jax import lax
    from jax import numpy as jnp

    def inner(main: Any, extra: Any, state: Any, letters: Any) -> Any:
        def step(s: Any, pair: Any) -> Any:
            x, rows = pair[0] * extra[0], []
            for k in range(LAYERS):
                w, b, h, c = main[2 * k], main[2 * k + 1], s[2 * k], s[2 * k + 1]
                c = c * jax.nn.sigmoid(x * w[0] + b[0]) + jax.nn.sigmoid(h * w[1] + b[1]) * jnp.tanh(h * w[3] + b[3])
                h = jax.nn.sigmoid(x * w[2] + b[2]) * jnp.tanh(c)
                rows += [h, c]
                x = h
            y = x * extra[1] + extra[2]
            return jnp.stack(rows), jnp.sum(pair[1] * (y - jnp.log(jnp.sum(jnp.exp(y)) + 2)))
        _, each = lax.scan(step, state, (letters[:-1], letters[1:]))
        return -each.sum() / (letters.shape[1] * (letters.shape[0] - 1))

    g, values = jax.jit(jax.grad(inner, (0, 1))), tuple(jnp.asarray(a) for a in given)
    return lambda: jax.block_until_ready(g(*values))


def cases() -> Iterator[Case]:
    r = np.random.default_rng(0)
    given = (0.5 * r.normal(size=(2 * LAYERS, 4, WIDTH)), 0.5 * r.normal(size=(3, WIDTH)), 0.5 * r.normal(size=(2 * LAYERS, WIDTH)),
             (r.random((LETTERS, WIDTH)) < 0.1).astype(float))
    yield Case("LSTM of ADBench, 127 letters", grad(loss, (0, 1)), given, loss, myia(loss), (0, 1), by_hand(), target="0.3 JAX", rtol=1e-5, peers={"JAX": lambda: jax_(given)})
