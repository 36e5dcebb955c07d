"""Derivatives of programs with many parts at once: `wrt` of every form, structures, closures, auxiliary results, custom gradients and stops, in programs,
natively and from Python, against derivatives by hand."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from myia_notebook import custom_gradient, grad, hessian, jacobian, jvp, myia, stop_gradient, value_and_grad, vjp


class Pair(NamedTuple):
    a: float
    b: float


@dataclass(frozen=True)
class Power:
    w: Any
    n: int

    def at(self, x: float) -> float:
        return np.sum(self.w * x) ** self.n


@custom_gradient
def tenfold(x: float, y: float) -> Any:
    """x y, with ten times the sensitivity in x."""
    return x * y, lambda d: (10 * d * y, d * x)


@custom_gradient
def threefold(p: dict[str, float]) -> Any:
    return p["a"] * p["b"], lambda d: {"a": d * p["b"] * 3, "b": d * p["a"]}


def root(b: float) -> float:
    """√b by Newton's method, whose slope is a derivative."""
    x = 1.0
    while abs(x * x - b) > 1e-13:
        x = x - (x * x - b) / grad(lambda v: v * v - b)(x)
    return x


WALK: dict[str, tuple[Callable[..., Any], Any, Any]] = {  # a program, its argument, and what it gives
    "keyword-only by name": (lambda x: grad(lambda a, *, k: a * a * k**3, "k")(x, k=2 * x), 1.5, 3 * 1.5**2 * 9.0),
    "names": (lambda x: grad(lambda a, b: a * b * b, ("b", "a"))(x, x + 1), 1.5, (2 * 1.5 * 2.5, 6.25)),
    "from the end": (lambda x: grad(lambda a, b: a * b * b, -1)(x, x + 1), 1.5, 7.5),
    "starred": (lambda x: grad(lambda *v: v[0] * v[1] ** 2, "*")(x, 2.0), 1.5, (4.0, 6.0)),
    "named tuple": (lambda x: grad(lambda p: p.a * p.b**2)(Pair(x, 2 * x)), 1.5, Pair(9.0, 2 * 1.5 * 3.0)),
    "dict of lists": (lambda x: value_and_grad(lambda d: d["u"][0] * d["v"])({"u": [x, 1.0], "v": x * x}), 2.0, (8.0, {"u": [4.0, 0.0], "v": 2.0})),
    "method and its object": (lambda w: grad(lambda q: q.at(2.0))(Power(w, 3)).w, np.array([1.0, 2.0]), 3 * 36.0 * np.array([2.0, 2.0])),
    "partial": (lambda x: grad(functools.partial(lambda a, b, c: a * b * c, c=3.0), 1)(x, 2.0), 1.5, 4.5),
    "forward in reverse": (lambda x: vjp(lambda v: jvp(lambda u: u**4, (v,), (v,))[1], x)[1](1.0)[0], 1.5, 16 * 1.5**3),
    "Jacobian of gradient of Jacobian": (lambda x: jacobian(lambda v: grad(lambda u: np.sum(jacobian(lambda w: w**3)(u)))(v))(x), np.array([1.0, 2.0]), np.diag([6.0, 6.0])),
    "Hessians in a loop": (lambda x: functools.reduce(lambda a, i: a + hessian(lambda v: v ** (i + 2))(x), [0, 1, 2], 0.0), 1.5, 2 + 6 * 1.5 + 12 * 2.25),
    "stop in a Hessian": (lambda x: hessian(lambda v: v * stop_gradient(v) * v)(x), 1.5, 3.0),
    "stop of a structure": (lambda x: grad(lambda p: p[0] * stop_gradient(p)[1])((x, x)), 1.5, (1.5, 0.0)),
    "custom in a Jacobian": (lambda x: jacobian(lambda v: np.array([tenfold(v, 2.0), v]))(x), 1.5, np.array([20.0, 1.0])),
    "custom twice": (lambda x: grad(grad(lambda v: tenfold(v, v)))(x), 1.5, 11.0),
    "custom of a dict": (lambda x: grad(lambda v: threefold({"a": v, "b": v * v}))(x), 2.0, 3 * 4.0 + 2 * 2 * 2.0),
    "aux in a loop": (lambda x: [grad(lambda v: (v**3, v), has_aux=True)(x + i) for i in range(2)], 1.0, [(3.0, 1.0), (12.0, 2.0)]),
    "aux in aux": (lambda x: value_and_grad(lambda v: (v * grad(lambda u: (u * u * v, u), has_aux=True)(v)[0], {"k": v}), has_aux=True)(x), 1.5,
                   ((2 * 1.5**3, {"k": 1.5}), 6 * 1.5**2)),
    "structured sensitivity": (lambda x: vjp(lambda a, b: (a * b, [a, b]), x, 2.0)[1]((1.0, [2.0, 3.0])), 1.5, (4.0, 4.5)),
    "kept backpropagators": (lambda x: [b(float(i))[0] for i, b in enumerate((vjp(lambda v: v**3, x)[1], vjp(lambda v: v * v, x)[1]))], 1.5, [0.0, 3.0]),
    "int without tangent": (lambda x: jvp(lambda a, n: a**n, (x, 3), (1.0, None)), 2.0, (8.0, 12.0)),
    "one element twice": (lambda x: grad(lambda v: v[2] * v[-1])(x), np.array([1.0, 2.0, 3.0]), np.array([0, 0, 6.0])),
    "float32": (lambda x: grad(lambda v: np.sum(v * v * 0.5))(x), np.array([1.0, 2.0], np.float32), np.array([1.0, 2.0], np.float32)),
    "unused and empty": (lambda x: grad(lambda a, b: a * 1.0, (0, 1))(1.0, x), np.ones((2, 0)), (1.0, np.zeros((2, 0)))),
    "third by values": (lambda x: value_and_grad(lambda v: value_and_grad(lambda u: value_and_grad(lambda w: w**5)(u)[1])(v)[1])(x), 1.1, (20 * 1.1**3, 60 * 1.1**2)),
    "Hessian in two arguments": (lambda x: hessian(lambda a, b: a * a * b, (0, 1))(x, 2.0), 1.5, ((4.0, 3.0), (3.0, 0.0))),
    "Hessian of a dict": (lambda x: hessian(lambda d: d["a"] ** 2 * d["b"])({"a": x, "b": 2.0}), 1.5, {"a": {"a": 4.0, "b": 3.0}, "b": {"a": 3.0, "b": 0.0}}),
    "Jacobian of structures": (lambda x: jacobian(lambda v: [v * v, {"q": v * 3}])(x), 1.5, [3.0, {"q": 3.0}]),
    "Newton's root": (lambda a: grad(root)(a), 2.0, 1 / (2 * math.sqrt(2))),
}


def same(found: Any, expected: Any) -> bool:
    """Value, structure, shape and dtype."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and found.keys() == expected.keys() and all(same(found[k], expected[k]) for k in expected)
    if isinstance(expected, (tuple, list)):
        return type(found) is type(expected) and len(found) == len(expected) and all(map(same, found, expected))
    a, b = np.asarray(found), np.asarray(expected)
    return a.shape == b.shape and a.dtype == b.dtype and bool(np.allclose(a, b, rtol=1e-9, atol=0))


@pytest.mark.parametrize("how", ["vm", "numba", "python"])
@pytest.mark.parametrize("name", WALK)
def test_walk(name: str, how: str) -> None:
    f, x, expected = WALK[name]
    found = f(x) if how == "python" else myia(f, backend=how)(x)
    assert same(found, expected), found
