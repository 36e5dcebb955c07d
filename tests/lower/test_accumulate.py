"""Gradients of arrays that a recursion reads item by item: one array, added to in place; compared with closed forms and with the interpreter."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from myia_notebook import grad, jacobian, value_and_grad
from myia_notebook.ir.graph import is_call_of, reachable, schedule
from myia_notebook.lower.plan import lower
from myia_notebook.lower.primitives import ACCUMULATE


def tree(xs, lo, n):  # type: ignore[no-untyped-def]
    if n == 1:
        return math.sin(xs[lo])
    h = n // 2
    return tree(xs, lo, h) * 0.7 + tree(xs, lo + h, h) * 1.1


def in_turn(xs, s, lo, n):  # type: ignore[no-untyped-def]
    """The second call needs the first one's result: backwards, the first waits for the second."""
    if n == 1:
        return math.sin(xs[lo] * s)
    h = n // 2
    return in_turn(xs, in_turn(xs, s, lo, h), lo + h, h)


def twice(xs, lo, n):  # type: ignore[no-untyped-def]
    """Every call reads two places, one of them shared by all."""
    if n == 1:
        return xs[lo] * xs[0]
    h = n // 2
    return twice(xs, lo, h) * twice(xs, lo + h, h) + xs[lo] * 0.5


def accumulations(f: Any) -> int:
    plan = lower(next(iter(f._cache.values())).unit.optimized)
    return sum(is_call_of(n, ACCUMULATE) for g in plan.graphs for n in schedule(g))


@pytest.mark.parametrize("n", (1, 4, 64))
def test_tree_against_the_closed_form(n: int) -> None:
    xs = np.random.default_rng(1).normal(size=n)
    g = grad(tree)
    expected = [math.cos(x) * 0.7 ** (format(i, "b").zfill(n.bit_length() - 1).count("0") if n > 1 else 0) * 1.1 ** format(i, "b").count("1")
                for i, x in enumerate(xs)]
    for _ in range(2):
        np.testing.assert_allclose(g(xs, 0, n), expected, rtol=1e-13)
    assert accumulations(g) == 1


@pytest.mark.parametrize(("f", "rest"), ((tree, ()), (in_turn, (0.8,)), (twice, ())), ids=("tree", "in_turn", "twice"))
def test_against_the_interpreter(f: Any, rest: tuple[Any, ...]) -> None:
    xs = np.random.default_rng(2).normal(size=8)
    fast, slow = value_and_grad(f, backend="numba"), value_and_grad(f, backend="vm")
    for shift in (0.0, 0.3):
        for found, expected in zip(fast(xs + shift, *rest, 0, 8), slow(xs + shift, *rest, 0, 8)):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_first_waits_for_the_second() -> None:
    xs = np.random.default_rng(4).normal(size=4)
    g = grad(in_turn, (0, 1))
    d, ds = g(xs, 0.8, 0, 4)
    value = 0.8
    partials = []
    for x in xs:
        partials.append((math.cos(x * value) * value, math.cos(x * value) * x))
        value = math.sin(x * value)
    after, expected = 1.0, []
    for of_x, of_s in reversed(partials):
        expected.append(of_x * after)
        after *= of_s
    np.testing.assert_allclose(d, expected[::-1], rtol=1e-12)
    assert math.isclose(ds, after, rel_tol=1e-12)


def test_second_order_stays_right() -> None:
    xs = np.random.default_rng(3).normal(size=4)
    found = jacobian(grad(tree))(xs, 0, 4)
    np.testing.assert_allclose(found, np.diag(-np.sin(xs) * [0.49, 0.77, 0.77, 1.21]), rtol=1e-12, atol=1e-15)


def test_results_are_not_shared() -> None:
    xs = np.ones(4)
    g = grad(tree)
    first = g(xs, 0, 4)
    kept = first.copy()
    second = g(xs, 0, 4)
    second += 1.0
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(xs, np.ones(4))
    assert len(reachable(next(iter(g._cache.values())).unit.optimized)) > 1
