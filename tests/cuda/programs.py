"""Programs of numbers for the device: loops, recursion, closures, unions, records, dtypes; the corpus of the language besides."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


def newton(a):
    x, n = 1.0, 0
    while abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
        n = n + 1
    return x, n


def root(a):
    return newton(a)[0]


def tree(x):
    def grow(d, v):
        return v if d <= 0 else grow(d - 1, math.sin(v)) + 0.1 * grow(d - 2, v)
    return grow(4, x)


def chosen(x):
    fs = (lambda v: v * v, lambda v: v + x, math.cos)
    y = x
    for i in range(5):
        f = fs[0] if y > 1.0 else fs[1] if i % 2 == 0 else fs[2]
        y = f(y)
    return y


def optional(x):
    found = None
    for k in range(6):
        if x * k > 2.0 and found is None:
            found = x * k
    return 0.5 * x if found is None else found * found


@dataclass(frozen=True)
class Point:
    x: float
    y: float


class Pair(NamedTuple):
    x: float
    k: int


def orbit(p, dt):
    for _ in range(20):
        r = math.sqrt(p.x * p.x + p.y * p.y)
        p = Point(p.x - dt * p.y / r, p.y + dt * p.x / r)
    return p


def numbers(x, y):
    """The edges of integer and float arithmetic."""
    return x // y, x % y, x / y, abs(x) ** 0.5, np.sign(x - y), np.maximum(x, y), np.floor(x), np.arctan2(x, y), np.hypot(x, y), np.log1p(abs(x))


def integers(i, k):
    return i // k, i % k, i * k - (i & 7), i ^ k, i << 3, i >> 1, abs(i) ** 3, -i if i > k else ~i, i == k, (i > 0) and (k > 1)


SCALARS = (root, tree, chosen, optional)
