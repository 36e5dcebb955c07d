"""The Gaussian mixture model of ADBench: 1000 points in 10 dimensions, 5 components (W8)."""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.case import Case
from myia_notebook import grad, myia

D, K, N = 10, 5, 1000


def objective(alphas: Any, means: Any, icf: Any, x: Any, gamma: float) -> Any:
    """The part of the log-likelihood that depends on the parameters. `icf`: logarithms of a diagonal, then a lower triangle column by column."""
    d = means.shape[1]
    scales, spread = np.exp(icf[:, :d]), np.sum(icf[:, :d], axis=1)
    centered = x[:, None, :] - means
    columns = [scales[:, i] * centered[:, :, i] for i in range(d)]
    at = d
    for c in range(d):
        for r in range(c + 1, d):
            columns[r] = columns[r] + icf[:, at] * centered[:, :, c]
            at = at + 1
    squares = columns[0] ** 2
    for i in range(1, d):
        squares = squares + columns[i] ** 2
    terms = alphas + spread - 0.5 * squares
    top = np.max(terms, axis=1, keepdims=True)
    each = np.sum(top[:, 0] + np.log(np.sum(np.exp(terms - top), axis=1)))
    prior = 0.5 * gamma**2 * (np.sum(scales**2) + np.sum(icf[:, d:] ** 2))
    return each - x.shape[0] * np.log(np.sum(np.exp(alphas))) + prior


def by_hand() -> Any:
    import numba

    @numba.njit
    def gradient(alphas: Any, means: Any, icf: Any, x: Any, gamma: float) -> Any:
        k, d = means.shape
        d_a, d_m, d_i = np.zeros(k), np.zeros((k, d)), np.zeros(icf.shape)
        scales, base = np.exp(icf[:, :d]), alphas + np.sum(icf[:, :d], axis=1)
        away, q, t, dx = np.empty((k, d)), np.empty((k, d)), np.empty(k), np.empty(d)
        for p in range(x.shape[0]):
            top = -np.inf
            for a in range(k):
                for i in range(d):
                    away[a, i] = x[p, i] - means[a, i]
                    q[a, i] = scales[a, i] * away[a, i]
                at = d
                for c in range(d):
                    for r in range(c + 1, d):
                        q[a, r] += icf[a, at] * away[a, c]
                        at += 1
                s = 0.0
                for i in range(d):
                    s += q[a, i] * q[a, i]
                t[a] = base[a] - 0.5 * s
                top = max(top, t[a])
            total = 0.0
            for a in range(k):
                t[a] = math.exp(t[a] - top)
                total += t[a]
            for a in range(k):
                w = t[a] / total
                d_a[a] += w
                for i in range(d):
                    dx[i] = -w * q[a, i] * scales[a, i]
                    d_i[a, i] += dx[i] * away[a, i]
                at = d
                for c in range(d):
                    for r in range(c + 1, d):
                        d_i[a, at] -= w * q[a, r] * away[a, c]
                        dx[c] -= w * q[a, r] * icf[a, at]
                        at += 1
                for i in range(d):
                    d_m[a, i] -= dx[i]
        e = np.exp(alphas - alphas.max())
        for a in range(k):
            for i in range(d):
                d_i[a, i] += d_a[a] + gamma * gamma * scales[a, i] ** 2
            for j in range(d, icf.shape[1]):
                d_i[a, j] += gamma * gamma * icf[a, j]
        return d_a - x.shape[0] * e / e.sum(), d_m, d_i

    return gradient


def jax_(given: tuple[Any, ...]) -> Any:
    import jax
    from jax import numpy as jnp
    columns, rows = np.triu_indices(D, 1)

    def inner(alphas: Any, means: Any, icf: Any, x: Any, gamma: float) -> Any:
        scales = jnp.exp(icf[:, :D])
        lower = jnp.zeros((K, D, D)).at[:, rows, columns].set(icf[:, D:])
        centered = x[:, None, :] - means
        q = scales * centered + jnp.einsum("kij,nkj->nki", lower, centered)
        terms = alphas + icf[:, :D].sum(1) - 0.5 * (q**2).sum(2)
        return (jax.nn.logsumexp(terms, axis=1).sum() - x.shape[0] * jax.nn.logsumexp(alphas)
                + 0.5 * gamma**2 * ((scales**2).sum() + (icf[:, D:] ** 2).sum()))

    g, values = jax.jit(jax.grad(inner, (0, 1, 2))), tuple(jnp.asarray(a) for a in given)
    return lambda: jax.block_until_ready(g(*values))


def torch_(given: tuple[Any, ...]) -> Any:
    import torch
    columns, rows = np.triu_indices(D, 1)
    alphas, means, icf = parameters = tuple(torch.tensor(a, requires_grad=True) for a in given[:3])
    x = torch.tensor(given[3])

    def run() -> Any:
        scales = torch.exp(icf[:, :D])
        lower = torch.zeros((K, D, D), dtype=torch.float64)
        lower[:, rows, columns] = icf[:, D:]
        centered = x[:, None, :] - means
        q = scales * centered + torch.einsum("kij,nkj->nki", lower, centered)
        terms = alphas + icf[:, :D].sum(1) - 0.5 * (q**2).sum(2)
        value = torch.logsumexp(terms, 1).sum() - len(x) * torch.logsumexp(alphas, 0) + 0.5 * ((scales**2).sum() + (icf[:, D:] ** 2).sum())
        return torch.autograd.grad(value, parameters)

    return run


def cases() -> Iterator[Case]:
    r = np.random.default_rng(0)
    given = (r.normal(size=K), r.random((K, D)), 0.3 * r.normal(size=(K, D * (D + 1) // 2)), r.normal(size=(N, D)), 1.0)
    yield Case("Gaussian mixture, 1000×10, 5 components", grad(objective, (0, 1, 2)), given, objective, myia(objective), (0, 1, 2), by_hand(), target="0.6 JAX", rtol=1e-5,
               peers={"JAX": lambda: jax_(given), "torch": lambda: torch_(given)})
