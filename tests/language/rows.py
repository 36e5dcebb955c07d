"""One program for each row of the language: a function of one real number that uses the construct. `docs/language.md` is made from this table
(`tools/conformance.py`); `test_rows.py` compares value, first and second derivative with plain Python on every backend."""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from myia_notebook import grad, myia, value_and_grad


@dataclass(frozen=True)
class Row:
    group: str
    construct: str
    program: Callable[[float], float]
    at: float = 1.3


ROWS: list[Row] = []


def row(group: str, construct: str, at: float = 1.3) -> Callable[[Any], Any]:
    def add(f: Any) -> Any:
        ROWS.append(Row(group, construct, f, at))
        return f
    return add


# ---- functions

@row("functions", "nested def, forward reference, mutual recursion")
def nested(x):
    def even(n, v):
        return v if n == 0 else odd(n - 1, v * x)

    def odd(n, v):
        return v if n == 0 else even(n - 1, math.sin(v))
    return even(5, x)


def tree_recursive(n, v):
    return v * v if n == 0 else tree_recursive(n - 1, v * 0.5) * tree_recursive(n - 1, v + 1.0)


@row("functions", "tree recursion")
def tree_recursion(x):
    return tree_recursive(3, x)


def everything(a, /, b, c=2.0, *args, d, e=3.0, **rest):
    return a * b + c * sum(args) + d * e + rest["z"] * a


@row("functions", "all kinds of parameters; calls with *t, **d and keywords")
def parameters(x):
    t = (x, 2.0)
    k = {"d": x * x, "z": x}
    return everything(*t, 1.0, x, x, **k) + everything(x, b=x, d=x, z=1.0, e=x)


@row("functions", "*args and **kwargs of a closure")
def variadic_closure(x):
    def total(*args, **named):
        return sum(args) * named["scale"]
    return total(x, x * x, scale=x)


@row("functions", "lambda with defaults, functions as arguments and results")
def lambdas(x):
    compose = lambda f, g: lambda v: f(g(v))  # noqa: E731
    scaled = lambda v, k=x: v * k  # noqa: E731
    return compose(scaled, math.sin)(x) + compose(math.exp, scaled)(0.1)


@row("functions", "closures in tuples, lists and dicts")
def function_data(x):
    fs = [lambda v: v * v, lambda v: v + x]
    d = {"a": math.cos, "b": lambda v: v * x}
    (p, q) = (lambda v: v * 3.0, math.tanh)
    return fs[0](x) + fs[1](x) + d["a"](x) + d["b"](x) + p(x) + q(x)


@row("functions", "functions of the library as values, chosen at run time")
def library_functions(x):
    g = math.sin if x > 0 else math.cos
    h = math.tanh if x < 0 else (lambda v: v * x)
    fs = [math.sin, math.exp, lambda v: v * 0.5]
    n = int(x * 0.0) + 1
    twice = lambda f: lambda v: f(f(v))  # noqa: E731
    return g(x) + h(x) + fs[n](x) + twice(twice(math.sin))(x)


@row("functions", "a list of closures made in a loop")
def closures_in_a_loop(x):
    fs = []
    for i in range(3):
        fs = fs + [lambda v, i=i: v * x + i]
    total = x
    for f in fs:
        total = f(total)
    return total


def doubled(f):
    def g(v):
        return f(v) * 2.0
    return g


@row("functions", "decorator on an inner function, annotations")
def decorated(x: float) -> float:
    @doubled
    def h(v: float) -> float:
        return math.sin(v)
    y: float = h(x)
    return y


@row("functions", "several returns, a bare return, a path without return")
def returns(x):
    def early(v):
        if v < 0:
            return v
        if v > 100:
            return
        return v * v
    y = early(x)
    z = early(1000.0)
    return y * y if z is None and y is not None else 0.0


# ---- statements

@row("control", "if / elif / else, conditional expression")
def branches(x):
    if x < 0:
        y = x
    elif x < 1:
        y = x * x
    else:
        y = x ** 3
    return y if y > 0 else -y


@row("control", "while with break, continue and else")
def while_loop(x):
    i = 0
    y = x
    while i < 10:
        i += 1
        if i == 2:
            continue
        if i == 5:
            break
        y = y * x
    else:
        y = 0.0
    return y


@row("control", "for over range, tuple, list, array, zip, enumerate, reversed; else")
def for_loops(x):
    total = 0.0
    for i in range(1, 6, 2):
        total = total + i * x
    for v in (x, x * x):
        total += v
    for v in [x, 2.0 * x]:
        total += v * v
    for v in np.array([1.0, 2.0]) * x:
        total += v * v
    for i, (a, b) in enumerate(zip([x, x], [1.0, x])):
        total += i * a * b
    for v in reversed([x, 3.0]):
        total = total * v
    else:
        total += 1.0
    return total


@row("control", "loop with an exit that depends on the data")
def data_exit(x):
    y = x
    n = 0
    while abs(y * y - x) > 1e-12 and n < 50:
        y = 0.5 * (y + x / y)
        n += 1
    return y


@row("control", "return inside a loop")
def loop_return(x):
    for i in range(10):
        x = x * 1.5
        if x > 5.0:
            return x * x
    return x


@row("control", "assert and raise, with f-strings in the message")
def checks(x):
    assert x > 0, f"x must be positive, is {x:.3f}"
    if x > 100:
        raise ValueError(f"{x!r} is too large")
    return x * x


@row("control", "match: class, sequence, literal, or-, as-, guard, mapping and wildcard patterns")
def matches(x):
    def of(v):
        match v:
            case 0 | 1:
                return 1.0
            case float(f) if f > 2.0:
                return f * f
            case float() as f:
                return f * x
            case (a, b):
                return a * b
            case {"k": k}:
                return k * k * k
            case _:
                return 0.0
    return of(1) + of(x) + of(x + 3.0) + of((x, x * x)) + of({"k": x}) + of(None)


@row("control", "print, kept in program order")
def printing(x):
    y = x * x
    if y > 1e9:
        print("large", y)
    return y


# ---- assignment and operators

@row("assignment", "nested and starred targets, several targets, walrus, augmented")
def targets(x):
    (a, b), *rest = (x, 2.0), x * x, 3.0
    p = q = a + b
    p *= x
    if (n := p * q) > 0 and (m := n * x) > 0:
        return m + rest[0] + rest[-1]
    return 0.0


@row("assignment", "a[i] = v, a[i] += v, a[i:j] = v on a local array")
def item_assignment(x):
    a = np.zeros(4)
    a[0] = x
    a[1:3] = x * x
    a[1] += a[0]
    a[-1] = a[0] * a[1]
    b = a
    b[0] = 100.0
    return np.sum(a * a)


@row("assignment", "items of local lists and dicts set")
def set_items(x):
    xs = [x, 2.0]
    xs[1] = x * x
    xs[0] += 1.0
    d = {"a": x}
    d["b"] = x * 3.0
    d["a"] *= x
    return xs[0] * xs[1] + d["a"] * d["b"]


@row("operators", "arithmetic, //, %, **, bits, shifts, unary")
def arithmetic(x):
    n = (7 // 2) | (5 & 6) ^ (1 << 3) >> 1
    return (x + 1.0) * x - x / 3.0 + x ** 2.5 + x ** n + (-x) ** 3 + x % 0.7 + (x // 0.5) * x + (~2) * x


@row("operators", "chained comparison, and / or / not, in, is")
def logic(x):
    a = x if 0 < x < 2 else -x
    b = (x > 5) or a
    c = (x > 0) and a * a
    d = x if 2 in (1, 2, 3) and "k" in {"k": 1} and 3 not in [1, 2] else 0.0
    e = None
    return a * (b if e is None else 0.0) + c * d


@row("operators", "@ and broadcasting")
def matrices(x):
    a = np.array([[1.0, 2.0], [3.0, 4.0]]) * x
    v = np.array([x, x * x])
    return np.sum(a @ v + v)


# ---- data

@row("data", "tuple, list and dict displays with * and **; subscript, slice, ..., None")
def displays(x):
    t = (x, *(x * x, 3.0))
    xs = [*t, x]
    d = {**{"a": x, "b": 1.0}, "b": x * x}
    a = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]) * x
    return t[-1] * t[0] + xs[1] * xs[3] + d["a"] * d["b"] + np.sum(a[..., ::2][None, 1]) + xs[1:3][0]


@row("data", "list and dict comprehensions, several generators and conditions")
def comprehensions(x):
    xs = [v * x for v in (1.0, 2.0, 3.0) if v > 1.5]
    ys = [i * a for i in range(3) for a in xs if i > 0]
    d = {k: v * x for k, v in {"a": 1.0, "b": x}.items()}
    return sum(xs) + sum(ys) + d["a"] * d["b"]


@row("data", "generators in sum, any, all, min, max, tuple, list")
def generators(x):
    t = tuple(v * x for v in (1.0, 2.0))
    ok = any(v > 1 for v in t) and all(v > 0 for v in t)
    return sum(v * v for v in t) * max(v for v in t) + min([v for v in list(t)]) if ok else 0.0


class Pair(NamedTuple):
    first: float
    second: float = 2.0

    def product(self):
        return self.first * self.second


@row("data", "NamedTuple: fields, items, defaults, methods, unpacking")
def named_tuple(x):
    p = Pair(x, second=x * x)
    a, b = Pair(x)
    return p.product() + p[0] + p.second + a * b


@dataclass(frozen=True)
class Vector:
    x: float
    y: float = 1.0

    @property
    def squared(self):
        return self.x * self.x + self.y * self.y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)

    def __rmul__(self, k):
        return self * k

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __call__(self, t):
        return self.x * t + self.y

    def __getitem__(self, i):
        return self.x if i == 0 else self.y

    @staticmethod
    def unit(k):
        return Vector(k, k)

    @classmethod
    def of(cls, k):
        return cls(k, y=k * k)


@row("data", "frozen dataclass: methods, properties, operators, __call__, keywords, defaults")
def data_class(x):
    v = Vector(x, y=2.0) + 2.0 * Vector(x) + -Vector.unit(x) + Vector.of(x)
    return v.squared + v(x) + v[0] * v[1]


@dataclass(frozen=True)
class Leaf:
    value: float


@dataclass(frozen=True)
class Node:
    left: Any
    right: Any


def grow(n, v):
    return Leaf(v) if n == 0 else Node(grow(n - 1, v * 0.5), grow(n - 1, v + 1.0))


def fold(t):
    if isinstance(t, Leaf):
        return t.value * t.value
    return fold(t.left) * 0.5 + fold(t.right)


@row("data", "recursive dataclass (a tree), isinstance")
def trees(x):
    return fold(grow(3, x))


def fold_by_match(t):
    match t:
        case Leaf(v):
            return math.sin(v)
        case Node(left, Leaf(v)):
            return fold_by_match(left) * v
        case Node(left, right):
            return fold_by_match(left) + fold_by_match(right)


@row("data", "recursive dataclass, match")
def tree_match(x):
    return fold_by_match(grow(2, x)) * fold_by_match(Node(Leaf(x), Leaf(x)))


@dataclass(frozen=True)
class Cons:
    head: float
    tail: Any = None


@row("data", "linked list, Optional, 'is None'")
def linked(x):
    xs = None
    for i in range(4):
        xs = Cons(x * i, xs)
    total = 0.0
    while xs is not None:
        total = total * x + xs.head
        xs = xs.tail
    return total


@dataclass(frozen=True)
class Circle:
    r: float

    def area(self):
        return 3.0 * self.r * self.r


@dataclass(frozen=True)
class Rectangle:
    a: float
    b: float

    def area(self):
        return self.a * self.b


@row("data", "union of dataclasses, methods chosen at run time")
def union(x):
    total = 0.0
    for i in range(3):
        shape = Circle(x) if i % 2 == 0 else Rectangle(x, x * x)
        total += shape.area()
    return total


@row("data", "list of run-time length: built, indexed, sliced, added, iterated, returned")
def lists(x):
    def build(n):
        xs = []
        for i in range(n):
            xs = xs + [x * i]
        return xs
    xs = build(int(x * 0.0) + 5)
    ys = xs[1:3] + xs[::-2] + [x]
    return sum(y * y for y in ys) + ys[-1] * xs[2] + len(ys) * x + max(xs) + sorted(ys)[1]


@row("data", "None, str constants, bool and int beside floats")
def constants(x):
    mode = "square" if True else "cube"
    flag = x > 0
    return (x * x if mode == "square" else x ** 3) * flag + 2 * x


@dataclass(frozen=True)
class Layer:
    weight: Any
    bias: Any
    name: str = field(default="layer")

    def __call__(self, v):
        return np.tanh(self.weight @ v + self.bias)


@row("data", "records of arrays: a network of dataclasses")
def network(x):
    layers = [Layer(np.array([[0.5, -0.2], [0.1, 0.3]]) * x, np.array([0.1, 0.2])), Layer(np.array([[1.0, x]]), np.array([0.0]))]
    v = np.array([x, 1.0])
    for layer in layers:
        v = layer(v)
    return np.sum(v)


# ---- derivatives in the language

@row("derivatives", "grad inside a function, nested, in a loop")
def inner_gradients(x):
    def f(v):
        return math.sin(v) * x
    y = x
    for _ in range(3):
        y = y - 0.1 * grad(f)(y)
    return y + grad(grad(f))(x)


@row("derivatives", "value_and_grad with respect to a record")
def gradient_of_record(x):
    v, g = value_and_grad(lambda p: p.squared * x)(Vector(x, 2.0))
    return v + g.x * g.y


compiled_square = myia(lambda v: v * v)


@row("functions", "calling compiled functions")
def calls_compiled(x):
    return compiled_square(x) * x
