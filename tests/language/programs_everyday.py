"""Programs as teachers, physicists and people of machine learning write Python; each a function of one real number, compared with plain
Python by `test_programs.py`."""
from __future__ import annotations

import functools
import itertools
import math
import operator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Optional, Union

import numpy as np

from myia_notebook import grad


@dataclass(frozen=True)
class Vec:
    x: float
    y: float = 0.0

    def __add__(self, other):
        return Vec(self.x + other.x, self.y + other.y)

    def __radd__(self, other):
        return self if other == 0 else Vec(self.x + other, self.y + other)

    def __sub__(self, other):
        return Vec(self.x - other.x, self.y - other.y)

    def __mul__(self, k):
        return Vec(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __truediv__(self, k):
        return self * (1.0 / k)

    def __neg__(self):
        return Vec(-self.x, -self.y)

    def __matmul__(self, other):
        return self.x * other.x + self.y * other.y

    def __abs__(self):
        return math.sqrt(self @ self)

    def __getitem__(self, i):
        return self.x if i == 0 else self.y

    def __len__(self):
        return 2

    def __call__(self, t):
        return self.x * t + self.y

    def __lt__(self, other):
        return abs(self) < abs(other)

    def __eq__(self, other):
        return self.x == other.x and self.y == other.y

    @property
    def norm2(self):
        return self @ self

    @staticmethod
    def unit(angle):
        return Vec(math.cos(angle), math.sin(angle))

    @classmethod
    def diagonal(cls, v):
        return cls(v, v)


def vectors(x: float) -> float:
    a, b = Vec(x, 2.0), Vec.unit(x)
    c = 2.0 * a + b * x - -b / 3.0
    c += Vec.diagonal(x)
    total = sum([a, b, c], Vec(0.0))
    return abs(c) + c @ a + c[0] * c[1] + len(c) + total.norm2 + c(0.5) + (1.0 if a < b else 2.0) + (x if a == a else 0.0)


def sum_of_records(x: float) -> float:
    total = sum(Vec(i * x, 1.0) for i in range(4))
    return total.x * total.y


class State(NamedTuple):
    position: float
    velocity: float
    time: float = 0.0

    def energy(self):
        return 0.5 * self.velocity ** 2 + 0.5 * self.position ** 2

    @property
    def phase(self):
        return math.atan2(self.velocity, self.position)


def named_tuple_replace(x: float) -> float:
    s = State(x, 1.0)
    for _ in range(3):
        s = s._replace(velocity=s.velocity - 0.1 * s.position)
        s = s._replace(position=s.position + 0.1 * s.velocity, time=s.time + 0.1)
    q, p, t = s
    return s.energy() + s.phase + q * p * t + s[0] + s._asdict()["velocity"]


@dataclass(frozen=True)
class Config:
    rate: float = 0.1
    steps: int = 3
    name: str = "adam"
    decay: float | None = None

    def with_rate(self, rate):
        return replace(self, rate=rate)


def dataclass_replace(x: float) -> float:
    c = Config()
    d = c.with_rate(x * 2.0)
    e = replace(d, steps=5, decay=x)
    scale = 1.0 if e.decay is None else e.decay
    return e.rate * e.steps * scale + (d.rate if d.name == "adam" else 0.0)


def reduces(x: float) -> float:
    p = functools.reduce(lambda a, b: a * x + b, [1.0, 2.0, 3.0, 4.0])
    q = functools.reduce(operator.mul, (x, 2.0, x + 1.0), 1.0)
    return p + q + functools.reduce(lambda a, b: max(a, b), [x, 1.0, 0.5])


def higher_order(x: float) -> float:
    squares = list(map(lambda v: v * v, [x, 2.0, 3.0]))
    large = list(filter(lambda v: v > 1.5, squares))
    both = [a * b for a, b in zip(squares, reversed(squares))]
    ranked = sorted([x, -1.0, 2.5], key=lambda v: -v)
    return sum(large) + sum(both) + sum(i * v for i, v in enumerate(ranked, start=1)) + sorted([3.0, x], reverse=True)[0]


def sums_with_start(x: float) -> float:
    return sum([x, x * x], 10.0) + sum((v for v in (x, 2.0)), start=x) + sum(range(4)) * x


def minima(x: float) -> float:
    xs = [x, -2.0, 3.0]
    return (min(xs, key=abs) + max(xs, key=lambda v: -v * v) * x + max([], default=x) + min(x, 2.0, 1.0) + max(len(xs), 2)
            + min((v * v, i) for i, v in enumerate(xs))[1] + max(xs) * x)


def chained(x: float) -> float:
    y = 0.0
    if 0.0 < x < 2.0 <= 3.0:
        y += x
    if 1 < 2 > x != 5.0 == 5.0:
        y += x * x
    return y if not (x < 0.0 < 1.0) else -y


def walrus(x: float) -> float:
    if (y := x * x) > 1.0 and (z := y + x) > 2.0:
        return y * z
    while (y := y * 1.5) < 10.0:
        pass
    return y + sum((last := v) * x for v in [1.0, 2.0])


def starred(x: float) -> float:
    first, *middle, last = [x, 2.0, 3.0 * x, 4.0]
    (a, *b), c = (x, 1.0, 2.0), x
    *init, end = (1.0, x)
    return first * last + sum(middle) + a * sum(b) * c + init[0] * end + max(*middle, x)


def nested_comprehensions(x: float) -> float:
    m = [[i * x + j for j in range(3)] for i in range(2)]
    flat = [v for row in m for v in row if v > 1.0]
    t = [[row[j] for row in m] for j in range(3)]
    d = {f"k{i}": flat[i] for i in range(2)}
    return sum(flat) + t[2][1] * t[1][0] + sum(d[k] for k in d) + sum(v * w for v, w in zip(m[0], m[1]))


def matching(x: float) -> float:
    def area(shape):
        match shape:
            case ("circle", r):
                return math.pi * r * r
            case ("rect", w, h) if w == h:
                return w ** 2
            case ("rect", w, h):
                return w * h
            case {"kind": "poly", "sides": sides}:
                return sum(sides)
            case [a, *rest]:
                return a + len(rest)
            case _:
                return 0.0
    return (area(("circle", x)) + area(("rect", x, 2.0)) + area(("rect", x, x)) + area({"kind": "poly", "sides": [x, x]})
            + area([x, 1.0, 2.0]) + area(()))


def match_values(x: float) -> float:
    def weight(k):
        match k:
            case 0:
                return 1.0
            case 1 | 2:
                return x
            case int(n) if n < 0:
                return -x
            case n:
                return x ** n
    return weight(0) + weight(1) + weight(2) + weight(-1) + weight(4)


def match_records(x: float) -> float:
    def f(v):
        match v:
            case Vec(x=0.0, y=y):
                return y
            case Vec(a, b) if a > b:
                return a - b
            case Vec() as w:
                return w.norm2
            case State(position=p, velocity=q):
                return p * q
            case float():
                return v
            case None:
                return 7.0
            case str():
                return 8.0
        return 9.0
    return f(Vec(0.0, x)) + f(Vec(x, 0.5)) + f(Vec(0.5, x)) + f(State(x, x)) + f(x) + f(None) + f("a") + f((1, 2))


def isinstance_of_many(x: float) -> float:
    def scale(v):
        if isinstance(v, (int, float)):
            return v * 2.0
        if isinstance(v, tuple):
            return sum(v)
        if isinstance(v, (Vec, State)):
            return v[0]
        return 0.0
    return scale(x) + scale(3) + scale((x, x)) + scale(Vec(x)) + scale(State(x, 0.0)) + scale("text")


def forwarding(x: float) -> float:
    def inner(a, b=2.0, *rest, scale=1.0, **more):
        return (a + b + sum(rest)) * scale + sum(more.values())

    def outer(*args, **kwargs):
        return inner(*args, **kwargs)

    def logged(f):
        def wrapper(*args, **kwargs):
            return f(*args, **kwargs) * 2.0
        return wrapper
    return outer(x) + outer(x, 1.0, x, scale=x) + outer(x, shift=x) + logged(outer)(x, b=3.0) + logged(logged(inner))(x)


def late_binding(x: float) -> float:
    fs = [lambda v, k=k: v * k for k in range(3)]
    gs = [(lambda k: lambda v: v + k)(k) for k in range(3)]
    return sum(f(x) for f in fs) + sum(g(x) for g in gs)


def while_else(x: float) -> float:
    v, n = x, 0
    while n < 10:
        v = v * 1.1
        if v > 50.0:
            break
        n += 1
    else:
        v += x
    for i in range(5):
        if i * x > 100.0:
            break
    else:
        v *= 2.0
    return v


def early_returns(x: float) -> float:
    def find(limit):
        for i in range(5):
            for j in range(5):
                if i * j * x > limit:
                    return i * x + j
                if j > i:
                    continue
            if i > 3:
                break
        return -x
    return find(2.0) + find(100.0) * x + find(0.0)


def integers(x: float) -> float:
    a = (-7 // 2) + (-7 % 3) + (7 // -2) + (7 % -3) + (-2) ** 3 + (5 << 3) + (-17 >> 2) + (6 & 3) + (6 | 3) + (6 ^ 3) + ~5
    q, r = divmod(-7, 3)
    b = 2 ** -1 + 7 / 2 + int(-2.7) + round(2.5) + round(-1.5) + abs(-3) + pow(3, 4) + pow(3, 4, 5)
    return (a + q * r + b) * x + -7.5 // 2.0 + -7.5 % 2.0 + x // 0.3 + x % 0.3


def booleans(x: float) -> float:
    t, f = x > 1.0, x < 1.0
    n = t + t + f
    return n * x + (t and x) + (f or 2.0) + (not f) * x + sum([t, f, t]) + (t & True) * 3 + (t ^ f) * x + True * 2


def power_of_self(x: float) -> float:
    return x ** 2 + x ** -1 + x ** 0.5 + 2 ** x + x ** x + x ** 3.0 + (-x) ** 2 + (-2.0) ** 3 + abs(-x) ** 1.5


def strings(x: float) -> float:
    mode = "train" if x > 100.0 else "test"
    name = "mo" + "de"
    k = 2.0 if name == "mode" else 3.0
    return k * x + (1.0 if "es" in "test" else 0.0) + len("abc") * x


def keyword_only(x: float) -> float:
    def f(a, /, b, *, c=1.0, d):
        return a * b + c * d
    return f(x, 2.0, d=x) + f(x, b=x, d=1.0, c=x)


def unpacking_displays(x: float) -> float:
    a = (x, 2.0)
    b = [*a, *[3.0, x], 1.0]
    d = {"p": x, **{"q": 2.0, "p": 3.0}}
    e = {**d, "r": x}
    return sum(b) + d["p"] + sum(e.values()) + sum(v for _, v in e.items()) + len(e) + ("q" in e) + e.get("z", x) + e.get("r", 0.0)


def operator_module(x: float) -> float:
    return operator.add(x, 2.0) * operator.itemgetter(1)((x, x * x)) + operator.attrgetter("x")(Vec(x, 1.0)) + operator.truediv(x, 3.0)


def tuple_arithmetic(x: float) -> float:
    t = (x,) * 3 + (1.0, 2.0)
    return t[-1] + t[1:4][0] + sum(t[::2]) + t.index(1.0) + t.count(2.0) + (x if (1, 2) < (1, 3) else 0.0) + len(t)


def list_methods(x: float) -> float:
    xs = [x]
    for i in range(5):
        xs = xs + [xs[-1] * 0.5 + i]
    return sum(xs[1:-1]) + xs[-2] + max(xs) + len(xs[::2]) + sum(sorted(xs)[:2]) + sum(reversed(xs)) + sum(xs * 2)


def runge_kutta(x: float) -> float:
    def step(f, t, y, h):
        k1 = f(t, y)
        k2 = f(t + h / 2, tuple(a + h / 2 * b for a, b in zip(y, k1)))
        k3 = f(t + h / 2, tuple(a + h / 2 * b for a, b in zip(y, k2)))
        k4 = f(t + h, tuple(a + h * b for a, b in zip(y, k3)))
        return tuple(a + h / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in zip(y, k1, k2, k3, k4))

    def pendulum(t, y):
        q, p = y
        return p, -math.sin(q) - 0.1 * p
    y, t = (x, 0.0), 0.0
    while t < 0.95:
        y = step(pendulum, t, y, 0.1)
        t += 0.1
    return y[0] * y[1]


def newton(x: float) -> float:
    def f(v):
        return v ** 3 - x

    def solve(g, v, steps=0):
        d = g(v) / grad(g)(v)
        return v if abs(d) < 1e-14 or steps > 50 else solve(g, v - d, steps + 1)
    return solve(f, 1.0) ** 2


def bisection(x: float) -> float:
    lo, hi = 0.0, 3.0
    while hi - lo > 0.5:
        mid = (lo + hi) / 2
        lo, hi = (mid, hi) if mid * mid < x else (lo, mid)
    return lo * x + hi


def collatz(x: float) -> float:
    n, total = 27, 0.0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        total += x / n
    return total


def matrix_of_lists(x: float) -> float:
    def mul(a, b):
        return [[sum(p * q for p, q in zip(row, col)) for col in zip(*b)] for row in a]
    m = [[x, 1.0], [2.0, x]]
    p = m
    for _ in range(3):
        p = mul(p, m)
    return p[0][1] + p[1][1]


def determinant(x: float) -> float:
    def det(m):
        if len(m) == 1:
            return m[0][0]
        return sum((-1) ** j * m[0][j] * det([row[:j] + row[j + 1:] for row in m[1:]]) for j in range(len(m)))
    return det([[x, 2.0, 3.0], [1.0, x, 4.0], [0.5, 1.0, x]])


def polynomial(x: float) -> float:
    coefficients = [1.0, -2.0, 0.5, 3.0]
    horner = functools.reduce(lambda acc, c: acc * x + c, reversed(coefficients), 0.0)
    return horner + sum(c * x ** i for i, c in enumerate(coefficients)) + np.polyval(coefficients, x)


def attention(x: float) -> float:
    q = np.array([[1.0, 0.5], [0.3, x]])
    k, v = q * x, q + 1.0
    scores = q @ k.T / math.sqrt(q.shape[-1])
    w = np.exp(scores - scores.max(axis=-1, keepdims=True))
    w = w / w.sum(axis=-1, keepdims=True)
    return (w @ v).mean()


def any_and_all(x: float) -> float:
    xs = [x, 2.0, -1.0]
    return (x if any(v < 0 for v in xs) else 1.0) + (x * x if all(v > -2.0 for v in xs) else 1.0) + any([]) + all([])


def conditional_functions(x: float) -> float:
    rule = {"relu": lambda v: max(v, 0.0), "leaky": lambda v, slope=0.1: v if v > 0 else slope * v}
    total = 0.0
    for name, f in rule.items():
        total += f(-x) + f(x) * (2.0 if name == "relu" else 3.0)
    return total


def accumulate_tuples(x: float) -> float:
    acc = ()
    for i in range(3):
        acc = acc + (x * i,)
    a, b, c = acc
    return a + b * c


def swap_and_fibonacci(x: float) -> float:
    a, b = x, 1.0
    for _ in range(10):
        a, b = b, a + b
    return a * b


def ternaries(x: float) -> float:
    sign = 1 if x > 0 else -1 if x < 0 else 0
    return sign * x + (x if sign == 1 and x > 1 or x < -5 else 0)


def global_constant(x: float) -> float:
    return x * RATES["slow"] + TABLE[1] * x + SETTINGS.rate + SETTINGS.steps


RATES, TABLE, SETTINGS = {"slow": 0.1, "fast": 2.0}, [1.0, 2.0, 3.0], Config(rate=0.5)


def products(x: float) -> float:
    return sum(a * b * x for a, b in itertools.product([1.0, 2.0], [x, 3.0])) + math.prod([x, 2.0, x]) + sum(itertools.accumulate([x, 1.0, 2.0]))


def zip_longest_and_strict(x: float) -> float:
    return sum(a * b for a, b in zip([x, 2.0], [1.0, x], strict=True)) + sum(a + b for (a, b) in [(x, 1.0), (2.0, x)])


def operators_as_values(x: float) -> float:
    def fold(f, items):
        total = items[0]
        for item in items[1:]:
            total = f(total, item)
        return total
    a, b = Vec(x, 1.0), Vec(2.0, x)
    return fold(operator.add, [a, b, a]).norm2 + functools.reduce(operator.sub, [a, b])[1] + sum(map(abs, [a, b])) + fold(operator.mul, [x, 2.0, x])


PROGRAMS = (
    operators_as_values,
    vectors, sum_of_records, named_tuple_replace, dataclass_replace, reduces, higher_order, sums_with_start, minima, chained, walrus, starred,
    nested_comprehensions, matching, match_values, match_records, isinstance_of_many, forwarding, late_binding, while_else, early_returns, integers,
    booleans, power_of_self, strings, keyword_only, unpacking_displays, operator_module, tuple_arithmetic, list_methods, runge_kutta, newton, bisection,
    collatz, matrix_of_lists, determinant, polynomial, attention, any_and_all, conditional_functions, accumulate_tuples, swap_and_fibonacci, ternaries,
    global_constant, products, zip_longest_and_strict)
