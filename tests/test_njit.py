"""Compiled functions and derivatives called from `@njit` code: values, gradients, arrays of changing shapes, errors, threads."""
from __future__ import annotations

import math
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit, prange

from myia_notebook import MyiaError, grad, myia, value_and_grad
from tests.cases.running import define


@myia
def waves(x, n=3):
    s = 0.0
    for i in range(n):
        s = s + math.sin(x * i)
    return s


slope = grad(waves)


def test_values_and_gradients_in_a_loop() -> None:
    @njit
    def total(m):
        t = 0.0
        for i in range(m):
            t += waves(i * 0.1) + slope(i * 0.1, 4) + waves(0.1, n=2)
        return t

    expected = sum(math.sin(0.1 * i * k) for i in range(10) for k in range(3)) + sum(k * math.cos(0.1 * i * k) for i in range(10) for k in range(4)) + 10 * math.sin(0.1)
    assert total(10) == pytest.approx(expected, rel=1e-14)


def test_newton_with_our_derivative() -> None:
    f = myia(lambda x: x * x * x - 2.0 * x - 5.0)
    both = value_and_grad(f)

    @njit
    def root(x):
        steps = 0
        while True:
            y, d = both(x)
            if abs(y) < 1e-13 or steps > 50:
                return x, steps
            x -= y / d
            steps += 1

    x, steps = root(2.0)
    assert x == pytest.approx(2.0945514815423265, rel=1e-14) and steps < 10  # Wallis' equation


def test_dtypes() -> None:
    twice = myia(lambda x: x + x)

    @njit
    def all_of(a, b, c, d):
        return twice(a), twice(b), twice(c), twice(d)

    found = all_of(np.float32(1.5), np.int32(3), 4, True)
    assert found == (3.0, 6, 8, 2)
    kinds = [str(t) for t in all_of.nopython_signatures[0].return_type]
    assert kinds == ["float32", "int32", "int64", "int64"]


class Point(NamedTuple):
    a: float
    b: Any


@myia
def layer(p, w):
    return Point(p.a * 2.0, np.tanh(w @ p.b)), np.sum(w)


def test_arrays_of_several_shapes_and_named_tuples() -> None:
    @njit
    def use(w, v):
        q, s = layer(Point(1.5, v), w)
        return q.a + q.b.sum() + s

    random = np.random.default_rng(0)
    for rows, columns in ((3, 4), (5, 2), (3, 4), (1, 1)):
        w, v = random.normal(size=(rows, columns)), random.normal(size=2 * columns)[::2]
        assert use(w, v) == pytest.approx(3.0 + np.tanh(w @ v).sum() + w.sum(), rel=1e-13)
    assert use(np.asfortranarray(w), v) == pytest.approx(3.0 + np.tanh(w @ v).sum() + w.sum(), rel=1e-13)
    with pytest.raises(ValueError) as caught:
        use(np.ones((2, 3)), np.ones(4))
    assert isinstance(caught.value, MyiaError) and caught.value.code == "M401"


def test_gradient_descent() -> None:
    loss = grad(lambda w, x: np.sum(np.log(np.cosh(x @ w))), "*")

    @njit(nogil=True)
    def descend(w, x, n):
        for _ in range(n):
            a, b = loss(w, x)
            w = w - 0.1 * a
        return w

    random = np.random.default_rng(1)
    w, x = random.normal(size=3), random.normal(size=(4, 3))
    expected = w.copy()
    for _ in range(5):
        expected = expected - 0.1 * (np.tanh(x @ expected) @ x)
    assert np.allclose(descend(w, x, 5), expected, rtol=1e-13)


def test_the_shape_is_learned_from_an_earlier_call() -> None:
    @myia
    def first_of_seven(x):
        a, b, c, d, e, f, g = x
        return a + g

    @njit
    def use(x):
        return first_of_seven(x)

    with pytest.raises(MyiaError) as caught:
        use(np.arange(7.0))
    assert caught.value.code == "M801" and "call the function once" in caught.value.hint
    assert first_of_seven(np.arange(7.0)) == 6.0
    assert use(np.arange(7.0)) == 6.0


def test_errors_are_those_of_the_program() -> None:
    quotient = myia(lambda x, y: x / y)

    @njit
    def use(x):
        s = 0.0
        for i in range(3):
            s += quotient(x, 1.0 - i)
        return s

    with pytest.raises(ZeroDivisionError) as caught:
        use(1.0)
    assert isinstance(caught.value, MyiaError) and caught.value.code == "M701" and "x / y" in str(caught.value)

    @njit
    def caught_there(x):
        try:
            return quotient(x, 0.0)
        except Exception:
            return -1.0

    assert caught_there(1.0) == -1.0
    with pytest.raises(ZeroDivisionError):
        use(1.0)


def test_messages_come_with_their_values() -> None:
    space = define("def f(x):\n    if x > 2.0:\n        raise ValueError(f'too much: {x}')\n    return x\n", "numba")
    f = space["f"]

    @njit
    def use(x):
        return f(x)

    assert use(1.5) == 1.5
    with pytest.raises(ValueError, match="too much: 2.5"):
        use(2.5)


def test_in_threads_of_prange() -> None:
    @njit(parallel=True)
    def many(n):
        out = np.empty(n)
        for i in prange(n):
            out[i] = slope(i * 0.01, 5)
        return out

    x = np.arange(1000) * 0.01
    assert np.allclose(many(1000), sum(k * np.cos(x * k) for k in range(5)), rtol=1e-13, atol=1e-12)


def test_as_an_argument() -> None:
    @njit
    def apply(q, x):
        return q(x, 2)

    assert apply(slope, 0.3) == pytest.approx(math.cos(0.3)) and apply(waves, 0.3) == pytest.approx(math.sin(0.3))

    @njit
    def square(x):
        return x * x

    at = myia(lambda f, x: f(x) + 1.0)

    @njit
    def inner(x):
        return at(square, x) + at(waves, x)

    assert inner(3.0) == pytest.approx(11.0 + math.sin(3.0) + math.sin(6.0))


def test_deep_recursion_is_safe() -> None:
    space = define("def depth(n):\n    return 0 if n == 0 else 1 + depth(n - 1)\n", "numba")
    depth = space["depth"]

    @njit
    def use(n):
        return depth(n)

    assert use(100_000) == 100_000


@pytest.mark.parametrize("source, argument, hint", [
    ("def f(x):\n    return [x]\n", 1.0, "tuples"),
    ("def f(x):\n    return {'a': x}\n", 1.0, "named tuples"),
    ("def f(x, *more):\n    return x\n", 1.0, "plain parameters"),
    ("def f(x):\n    return lambda y: x\n", 1.0, "numbers, arrays"),
    ("def f(x):\n    return x\n", "text", "numbers, arrays, tuples and functions"),
])
def test_what_does_not_cross_is_refused(source: str, argument: Any, hint: str) -> None:
    f = define(source, "numba")["f"]

    @njit
    def use(x):
        return f(x)

    with pytest.raises(MyiaError) as caught:
        use(argument)
    assert hint in caught.value.hint


def test_numba_is_not_imported_for_it() -> None:
    code = ("import sys, operator, myia_notebook\nspace = myia_notebook.compile_source('def f(x):\\n    return x * x\\n')\n"
            "assert space['f'](3.0) == 9.0 and myia_notebook.grad(space['f'])(3.0) == 6.0\nassert 'numba' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True)
