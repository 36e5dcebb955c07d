"""Small programs whose stages are kept as text beside this file, one folder for each: what the compiler makes of them, to read and to compare.

A folder holds `parsed.txt`, `typed.txt`, `adjoint.txt`, `optimized.txt` and `rules.txt`: the rules that fired, in order. `make golden` writes them.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Golden:
    """`order` derivatives of `f` by its first argument (or `wrt`), on `arguments`."""

    f: Callable[..., Any]
    arguments: tuple[Any, ...]
    order: int = 1
    wrt: Any = 0
    name: str = ""

    @property
    def folder(self) -> str:
        return self.name or self.f.__name__


def cube(x):
    return x ** 3


def polynomial(x):
    return x * 1.0 + 2.0 * (3.0 * x) + x / 4 + x ** 4 + x ** -1 + x ** 1 + x ** 0 - (-x) * 5.0


def arrays(x):
    y = np.reshape(np.reshape(x, (3, 2)), (6,))
    z = y / 1 + y ** -1 + y / 4 + (-y) / (y + 3.0) + (y + 2.0 * y) + y * (-1) + y ** 3 + -(-y)  # noqa: B002
    return np.sum(np.sum(2.0 * np.reshape(z, (2, 3)), axis=1), axis=0)


def tanh_sin(x):
    return math.tanh(x) * math.sin(x) ** 2


def absolute(x):
    if not x < 0.0:
        return x
    return -x


def same(x, flag):
    y = math.sin(x) if flag else math.sin(x)
    return y * (x if flag else x)


def power(x, n):
    y = 1.0
    while n > 0:
        y = y * x
        n = n - 1
    return y


def factorial(x, n):
    return 1.0 if n == 0 else (x + n) * factorial(x, n - 1)


def closures(x, n):
    def scale(a):
        return lambda v: a * v

    def shift(a):
        return lambda v: a + v

    f = scale(x) if n > 0 else shift(x)
    return f(3.0) * f(x)


@dataclass(frozen=True)
class Point:
    a: float
    b: float


def record(x):
    p = Point(x, x * x)
    q = Point(p.b, 2.0)
    return p.a * q.a + q.b


def masked(x):
    return np.sum(np.where(x > 0.0, np.sqrt(x), 0.0))


def layer(w, b, x):
    return np.mean(np.tanh(x @ w + b) ** 2)


def shapes(x):
    y = np.reshape(np.reshape(x, (3, 2)), (6,))
    return np.sum(np.sum(np.reshape(y, (2, 3)) * 2.0, axis=1)) + np.sum(np.ones((2, 3)) * x[0, 0]) - np.sum(-x)


def products(a, b, v):
    return np.sum(a @ b @ v)


def item(xs):
    return xs[0] * xs[1] + xs[1] ** 2


def printed(x):
    print("x is", x)
    return x * x


X = np.array([[1.0, -2.0, 0.5], [4.0, 0.25, -1.0]])

PROGRAMS = (
    Golden(cube, (2.0,)),
    Golden(cube, (2.0,), 2, name="cube_twice"),
    Golden(polynomial, (1.5,), 0),
    Golden(arrays, (X,), 0),
    Golden(tanh_sin, (0.7,)),
    Golden(tanh_sin, (0.7,), 2, name="tanh_sin_twice"),
    Golden(absolute, (-2.0,)),
    Golden(same, (1.5, True), 0),
    Golden(power, (1.1, 4)),
    Golden(factorial, (0.5, 3)),
    Golden(closures, (1.5, 1)),
    Golden(closures, (1.5, 1), 2, name="closures_twice"),
    Golden(record, (1.5,)),
    Golden(masked, (np.array([1.0, 0.0, -4.0]),)),
    Golden(layer, (X.T, np.array([0.1, 0.2]), X)),
    Golden(shapes, (X,)),
    Golden(products, (X, X.T.copy(), X[:, 0].copy()), 0),
    Golden(item, (np.array([1.5, -0.5, 2.0]),)),
    Golden(printed, (1.5,)),
)
