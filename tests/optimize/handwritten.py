"""Programs of the benchmark with their derivatives written by hand, as one who knows them would: the measure of the optimizer
(`tools/operation_counts.py`, `test_counts.py`). Every derivative is compared with the one that is made."""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from myia_notebook import grad


@dataclass(frozen=True)
class Program:
    """`by_hand(*arguments)` is the derivative of `f` (`derivative` when it is another than `grad(f, wrt)`)."""

    name: str
    f: Callable[..., Any]
    by_hand: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]
    wrt: Any = 0
    derivative: Callable[..., Any] | None = None
    ratio: float = 1.2


def quadratic(x):
    return x * x + 3 * x


def quadratic_by_hand(x):
    return 2.0 * x + 3


def tanh_sin(x):
    return math.tanh(x) * math.sin(x) ** 2


def tanh_sin_by_hand(x):
    t, s = math.tanh(x), math.sin(x)
    return s * ((1.0 - t * t) * s + 2.0 * t * math.cos(x))


def tanh_sin_twice_by_hand(x):
    t, s, c = math.tanh(x), math.sin(x), math.cos(x)
    u = 1.0 - t * t
    return 2.0 * (u * s * (2.0 * c - t * s) + t * (c * c - s * s))


def tanh_sin_first(x):
    return grad(tanh_sin)(x)


def wave(x, n):
    v = x
    for _ in range(n):
        v = math.sin(v) * x + 0.1 * v
    return v


def wave_by_hand(x, n):
    kept = []
    v = x
    for _ in range(n):
        kept = kept + [v]
        v = math.sin(v) * x + 0.1 * v
    d, dx = 1.0, 0.0
    for i in range(n):
        v = kept[n - 1 - i]
        dx = dx + d * math.sin(v)
        d = d * (x * math.cos(v) + 0.1)
    return dx + d


def newton(x):
    v = x
    while abs(v * v - x) > 1e-12:
        v = 0.5 * (v + x / v)
    return v


def newton_by_hand(x):
    kept = [x]
    v = x
    while abs(v * v - x) > 1e-12:
        kept = kept + [v]
        v = 0.5 * (v + x / v)
    d, dx = 1.0, 0.0
    for i in range(len(kept) - 1):
        v = kept[len(kept) - 1 - i]
        h = 0.5 * d
        q = h / v
        dx = dx + q
        d = h - q * (x / v)
    return dx + d


def tree(a, b, leaves):
    v = leaves
    while v.shape[0] > 1:
        v = np.tanh(a * v[0::2] + b * v[1::2])
    return v[0]


def power(x, n):
    y = 1.0
    for _ in range(n):
        y = y * x
    return y


def power_by_hand(x, n):
    kept = []
    y = 1.0
    for _ in range(n):
        kept = kept + [y]
        y = y * x
    d, dx = 1.0, 0.0
    for i in range(n):
        dx = dx + d * kept[n - 1 - i]
        d = d * x
    return dx


def network(w1, b1, w2, b2, x, y):
    h = np.tanh(x @ w1 + b1)
    o = np.tanh(h @ w2 + b2)
    e = o - y
    return np.mean(e * e)


def network_by_hand(w1, b1, w2, b2, x, y):
    h = np.tanh(x @ w1 + b1)
    o = np.tanh(h @ w2 + b2)
    dz2 = (2.0 / 32) * (o - y) * (1.0 - o * o)
    dz1 = (dz2 @ w2.T) * (1.0 - h * h)
    return x.T @ dz1, np.sum(dz1, axis=0), h.T @ dz2, np.sum(dz2, axis=0)


def network_arguments():
    r = np.random.default_rng(0)
    return r.normal(size=(10, 50)) / 3, 0.1 * r.normal(size=50), r.normal(size=(50, 1)) / 7, 0.1 * r.normal(size=1), r.normal(size=(32, 10)), r.normal(size=(32, 1))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def cell(w, u, b, x, h, c):
    z = x @ w + h @ u + b
    i, f, g, o = sigmoid(z[:, :8]), sigmoid(z[:, 8:16]), np.tanh(z[:, 16:24]), sigmoid(z[:, 24:])
    d = f * c + i * g
    return np.sum(o * np.tanh(d))


def cell_by_hand(w, u, b, x, h, c):
    z = x @ w + h @ u + b
    i, f, g, o = sigmoid(z[:, :8]), sigmoid(z[:, 8:16]), np.tanh(z[:, 16:24]), sigmoid(z[:, 24:])
    t = np.tanh(f * c + i * g)
    dd = o * (1.0 - t * t)
    dz = np.concatenate((dd * g * i * (1.0 - i), dd * c * f * (1.0 - f), dd * i * (1.0 - g * g), t * o * (1.0 - o)), axis=1)
    return x.T @ dz, h.T @ dz, np.sum(dz, axis=0)


def cell_arguments():
    r = np.random.default_rng(1)
    return tuple(r.normal(size=s) / 3 for s in ((8, 32), (8, 32), (32,), (4, 8), (4, 8), (4, 8)))


def chain(x):
    return np.sum(np.tanh(x * np.sin(x) + np.exp(-x * x)))


def chain_by_hand(x):
    s, e = np.sin(x), np.exp(-x * x)
    t = np.tanh(x * s + e)
    return (1.0 - t * t) * (s + x * np.cos(x) - 2.0 * x * e)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_by_hand(x):
    a, b = x[:-1], x[1:]
    r = 200.0 * (b - a * a)
    g = np.zeros(10)
    g[1:] += r
    g[:-1] += -2.0 * (r * a + (1.0 - a))
    return g


def logsumexp(x):
    m = np.max(x)
    return m + np.log(np.sum(np.exp(x - m)))


PROGRAMS = (
    Program("x² + 3x (W10)", quadratic, quadratic_by_hand, lambda: (1.7,)),
    Program("tanh x · sin² x (W5)", tanh_sin, tanh_sin_by_hand, lambda: (0.7,)),
    Program("its second derivative (W5)", tanh_sin, tanh_sin_twice_by_hand, lambda: (0.7,), derivative=grad(tanh_sin_first)),
    Program("power, 20 steps", power, power_by_hand, lambda: (1.1, 20)),
    Program("v ← sin(v)·x + 0.1·v, 100 steps (W1)", wave, wave_by_hand, lambda: (1.3, 100)),
    Program("Newton's root (W2)", newton, newton_by_hand, lambda: (2.7,)),
    Program("network of two layers (W6)", network, network_by_hand, network_arguments, (0, 1, 2, 3)),
    Program("LSTM cell (W7)", cell, cell_by_hand, cell_arguments, (0, 1, 2)),
    Program("array chain (W9)", chain, chain_by_hand, lambda: (np.linspace(-1, 1, 9),)),
    Program("Rosenbrock (W11)", rosenbrock, rosenbrock_by_hand, lambda: (np.linspace(0.1, 0.9, 10),)),
)
