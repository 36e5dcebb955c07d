"""Values of unions as arguments: in dataclasses, lists, tuples, dicts and optional fields; the value, and the gradient along the argument itself."""
from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from myia_notebook import grad, myia


@dataclass(frozen=True)
class Leaf:
    v: float


@dataclass(frozen=True)
class Node:
    left: Leaf | Node
    right: Leaf | Node


@dataclass(frozen=True)
class Circle:
    r: float


@dataclass(frozen=True)
class Rect:
    w: float
    h: float


@dataclass(frozen=True)
class Scene:
    shape: Circle | Rect
    weight: float | None = None


class Cons(NamedTuple):
    head: float
    tail: Any


def product(t):
    if isinstance(t, Leaf):
        return t.v * t.v
    return product(t.left) * product(t.right)


def area(s):
    match s:
        case Circle(r):
            return 3.0 * r * r
        case Rect(w, h):
            return w * h


def scene(s):
    return area(s.shape) * (1.0 if s.weight is None else s.weight)


def scenes(ss):
    return sum(scene(s) for s in ss)


def scenes_in_a_loop(ss):
    total = 0.0
    for s in ss:
        total = total + scene(s)
    return total


def linked(c):
    return 0.0 if c is None else c.head ** 2 + linked(c.tail)


def in_a_dict(d):
    return scene(d["s"]) if d["k"] is None else scene(d["s"]) * d["k"]


def in_a_tuple(t):
    return area(t[0]) * area(t[1])


def optional_items(xs):
    total = 0.0
    for x in xs:
        if x is not None:
            total = total + x * x
    return total


CASES: list[tuple[Callable[[Any], float], list[Any]]] = [
    (product, [Leaf(2.0), Node(Leaf(2.0), Leaf(3.0)), Node(Leaf(2.0), Node(Leaf(1.5), Leaf(3.0))), Node(Node(Leaf(1.0), Leaf(2.0)), Leaf(3.0))]),
    (scene, [Scene(Circle(1.5)), Scene(Rect(1.0, 2.0)), Scene(Rect(1.0, 2.0), 3.0), Scene(Circle(1.5), 2.0)]),
    (scenes, [[Scene(Circle(1.5))], [Scene(Rect(1.0, 2.0)), Scene(Rect(1.0, 2.0), 3.0)], [Scene(Circle(1.0), 2.0), Scene(Rect(1.0, 2.0))]]),
    (scenes_in_a_loop, [[Scene(Circle(1.5))], [Scene(Circle(1.0), 2.0), Scene(Rect(1.0, 2.0)), Scene(Rect(1.0, 3.0))]]),
    (linked, [Cons(1.0, None), Cons(1.0, Cons(2.0, None)), Cons(1.0, Cons(2.0, Cons(3.0, None)))]),
    (in_a_dict, [{"s": Scene(Circle(1.5)), "k": None}, {"s": Scene(Circle(1.5)), "k": 2.0}]),
    (in_a_tuple, [(Circle(1.5), Rect(2.0, 3.0)), (Rect(2.0, 3.0), Circle(1.5))]),
    (optional_items, [[1.0, None, 2.0], [1.5]]),
]


def scaled(v: Any, k: float) -> Any:
    """v with each number multiplied by k."""
    match v:
        case float():
            return v * k
        case list():
            return [scaled(x, k) for x in v]
        case dict():
            return {n: scaled(x, k) for n, x in v.items()}
        case tuple():
            items = [scaled(x, k) for x in v]
            return type(v)(*items) if hasattr(v, "_fields") else tuple(items)
        case _ if dataclasses.is_dataclass(v):
            return type(v)(*(scaled(getattr(v, f.name), k) for f in dataclasses.fields(v)))
        case _:
            return v


def numbers(v: Any) -> list[float]:
    match v:
        case float():
            return [v]
        case list() | tuple():
            return [n for x in v for n in numbers(x)]
        case dict():
            return [n for x in v.values() for n in numbers(x)]
        case _ if dataclasses.is_dataclass(v):
            return [n for f in dataclasses.fields(v) for n in numbers(getattr(v, f.name))]
        case _:
            return []


@pytest.mark.parametrize(("f", "values"), CASES, ids=lambda x: getattr(x, "__name__", ""))
@pytest.mark.parametrize("backend", ["vm", "numba"])
def test_argument(f: Callable[[Any], float], values: list[Any], backend: str) -> None:
    compiled, gradient = myia(f, backend=backend), grad(f, backend=backend)
    for v in values:
        assert math.isclose(compiled(v), f(v), rel_tol=1e-14)
        found = gradient(v)
        assert type(found) is type(v) and len(numbers(found)) == len(numbers(v))
        along = sum(a * b for a, b in zip(numbers(found), numbers(v), strict=True))
        h = 1e-6
        assert math.isclose(along, (f(scaled(v, 1 + h)) - f(scaled(v, 1 - h))) / (2 * h), rel_tol=1e-7)


def test_lengths_do_not_make_specializations() -> None:
    compiled = myia(lambda xs: sum(x * x for x in xs))
    for n in range(1, 12):
        assert compiled([0.5] * n) == 0.25 * n
    assert len(compiled._cache) == 1
