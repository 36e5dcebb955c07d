"""Gradients of arrays that a loop reads item by item: added to in place, and right however the backpropagator is used."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from myia_notebook import grad, hessian, myia, vjp
from myia_notebook.ir.graph import is_call_of, schedule
from myia_notebook.lower.plan import lower
from myia_notebook.lower.primitives import ACCUMULATE


def products(xs, n):  # type: ignore[no-untyped-def]
    s = 1.0
    for i in range(n):
        s = s + math.sin(xs[i]) * s
    return s


def neighbors(xs, n):  # type: ignore[no-untyped-def]
    """Two places a step, one of them twice; with an exit."""
    s = 0.0
    for i in range(n - 1):
        s = s + xs[i] * xs[i + 1] * xs[i]
        if s > 50.0:
            break
    return s


def choosing(xs, n):  # type: ignore[no-untyped-def]
    s = 1.0
    for i in range(n):
        if xs[i] > 0.0:
            s = s * xs[i]
        else:
            s = s - xs[0]
    return s


def whole(xs, n):  # type: ignore[no-untyped-def]
    """The array itself is scaled on the way: no sum of places."""
    s = 0.0
    for i in range(n):
        s = s + xs[i]
        xs = xs * 1.5
    return s


def accumulations(f: Any) -> int:
    plan = lower(next(iter(f._cache.values())).unit.optimized)
    return sum(is_call_of(n, ACCUMULATE) for g in plan.graphs for n in schedule(g))


def test_products_against_the_closed_form() -> None:
    xs = np.random.default_rng(0).normal(size=40) * 0.3
    factors = 1.0 + np.sin(xs)
    g = grad(products)
    for _ in range(2):
        np.testing.assert_allclose(g(xs, 40), np.cos(xs) * np.prod(factors) / factors, rtol=1e-12)
    assert accumulations(g) == 1
    half = np.concatenate([np.cos(xs[:20]) * np.prod(factors[:20]) / factors[:20], np.zeros(20)])
    np.testing.assert_allclose(g(xs, 20), half, rtol=1e-12)


@pytest.mark.parametrize("f", (products, neighbors, choosing, whole), ids=lambda f: f.__name__)
def test_against_the_interpreter(f: Any) -> None:
    for seed, scale in ((1, 1.0), (2, 6.0)):
        xs = np.random.default_rng(seed).normal(size=7) * scale
        kept = xs.copy()
        np.testing.assert_allclose(grad(f, backend="numba")(xs, 7), grad(f, backend="vm")(xs, 7), rtol=1e-12)
        np.testing.assert_allclose(hessian(f, backend="numba")(xs, 7), hessian(f, backend="vm")(xs, 7), rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(xs, kept)


def test_a_backpropagator_called_twice_gives_two_arrays() -> None:
    def both(xs: Any, n: int) -> Any:
        _, back = vjp(products, xs, n)
        return back(1.0)[0], back(2.0)[0]

    xs = np.random.default_rng(3).normal(size=6)
    once, double = myia(both)(xs, 6)
    np.testing.assert_allclose(double, 2.0 * once, rtol=1e-12)
    np.testing.assert_allclose(once, grad(products, backend="vm")(xs, 6), rtol=1e-12)
