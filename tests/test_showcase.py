"""What issue 2 must show: values and gradients of every kind of program, against closed forms and high-precision differences."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import myia_notebook as myia
from tests.cases.running import BACKENDS, define


def derivative(f: Callable[[Any], Any], x: float, order: int = 1) -> float:
    """The n-th derivative of a function written for mpmath numbers, at 60 digits."""
    with mpmath.workdps(60):
        return float(mpmath.diff(f, mpmath.mpf(x), order))


def close(found: Any, expected: float, tolerance: float = 1e-10) -> bool:
    return isinstance(found, float) and math.isclose(found, expected, rel_tol=tolerance, abs_tol=1e-12)


POWER = """
def power(x, n):
    y = 1.0
    while n > 0:
        y = y * x
        n = n - 1
    return y
"""
NEWTON = """
def root(a):
    x = a
    while abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
    return x
"""
RECURSIONS = """
def fact(x, n):
    if n == 0:
        return 1.0
    return (x + n) * fact(x, n - 1)

def fib(x, n):
    if n < 2:
        return x if n == 0 else x * x
    return fib(x, n - 1) * fib(x, n - 2) + x

def ack(x, m, n):
    if m == 0:
        return math.sin(x) * (n + 1.0)
    if n == 0:
        return ack(x * 1.1, m - 1, 1)
    return ack(ack(x, m, n - 1), m - 1, n)

def even(x, n):
    return x if n == 0 else math.sin(odd(x, n - 1))

def odd(x, n):
    return x * x if n == 0 else even(x, n - 1) * x

def leaves(t, x):
    if isinstance(t, tuple):
        return leaves(t[0], x) * leaves(t[1], x)
    return math.sin(t * x)
"""
CLOSURES = """
def escaping(x):
    y = x
    i = 0
    while i < 3:
        y = y * math.sin(y) + 1.0
        i = i + 1
    def g(z):
        return z * y * x
    return g

def use(x):
    return escaping(x)(x * x)

def compose(fs, x):
    for f in fs:
        x = f(x)
    return x

def chosen(x):
    def p(y):
        return y * y * x
    def q(y):
        return math.sin(y) + x * x
    h = p if x > 0.0 else q
    return compose((h, q, h, p), x)
"""


@pytest.mark.parametrize("backend", BACKENDS)
class TestValuesAndGradients:
    def test_power(self, backend: str) -> None:
        power = define(POWER, backend)["power"]
        assert power(1.5, 4) == 1.5**4
        assert close(myia.grad(power, backend=backend)(1.5, 4), 4 * 1.5**3)
        second = myia.grad(myia.grad(power, backend=backend), backend=backend)
        assert close(second(1.5, 4), 12 * 1.5**2)

    def test_newton_stopped_by_tolerance(self, backend: str) -> None:
        root = define(NEWTON, backend)["root"]
        assert close(root(2.0), math.sqrt(2.0))
        assert close(myia.grad(root, backend=backend)(2.0), 0.5 / math.sqrt(2.0), 1e-8)

    def test_factorial_like(self, backend: str) -> None:
        fact = define(RECURSIONS, backend)["fact"]
        exact = lambda x: mpmath.fprod(x + k for k in range(1, 6))
        assert close(fact(0.3, 5), float(exact(0.3)))
        for order in (1, 2):
            g = fact
            for _ in range(order):
                g = myia.grad(g, backend=backend)
            assert close(g(0.3, 5), derivative(exact, 0.3, order))

    @pytest.mark.parametrize("name", ["fib", "ack", "even"])
    def test_recursions(self, backend: str, name: str) -> None:
        function = define(RECURSIONS, backend)[name]
        extra = {"fib": (5,), "ack": (2, 1), "even": (4,)}[name]
        plain: dict[str, Any] = {"math": mpmath}
        exec(RECURSIONS, plain)
        exact = lambda x: plain[name](x, *extra)
        assert close(function(0.7, *extra), float(exact(mpmath.mpf(0.7))))
        assert close(myia.grad(function, backend=backend)(0.7, *extra), derivative(exact, 0.7))
        twice = myia.grad(myia.grad(function, backend=backend), backend=backend)
        assert close(twice(0.7, *extra), derivative(exact, 0.7, 2), 1e-9)

    def test_tree_of_nested_tuples(self, backend: str) -> None:
        leaves = define(RECURSIONS, backend)["leaves"]
        tree = ((1.0, 2.0), (0.5, (3.0, 1.5)))
        flat = (1.0, 2.0, 0.5, 3.0, 1.5)
        exact = lambda x: mpmath.fprod(mpmath.sin(t * x) for t in flat)
        assert close(leaves(tree, 0.4), float(exact(mpmath.mpf(0.4))))
        assert close(myia.grad(leaves, 1, backend=backend)(tree, 0.4), derivative(exact, 0.4))
        gradient = myia.grad(leaves, 0, backend=backend)(tree, 0.4)
        value = float(exact(mpmath.mpf(0.4)))
        expected = [0.4 * value / math.tan(t * 0.4) for t in flat]
        (a, b), (c, (d, e)) = gradient
        assert all(close(f, g) for f, g in zip((a, b, c, d, e), expected))

    def test_closure_over_a_loop_carried_value(self, backend: str) -> None:
        use = define(CLOSURES, backend)["use"]

        def exact(x: Any) -> Any:
            y = x
            for _ in range(3):
                y = y * mpmath.sin(y) + 1
            return x * x * y * x

        assert close(use(0.6), float(exact(mpmath.mpf(0.6))))
        assert close(myia.grad(use, backend=backend)(0.6), derivative(exact, 0.6))
        assert close(myia.grad(myia.grad(use, backend=backend), backend=backend)(0.6), derivative(exact, 0.6, 2))

    @pytest.mark.parametrize("x", [0.8, -0.8])
    def test_compose_of_functions_chosen_at_run_time(self, backend: str, x: float) -> None:
        chosen = define(CLOSURES, backend)["chosen"]

        def exact(v: Any) -> Any:
            p, q = (lambda y: y * y * v), (lambda y: mpmath.sin(y) + v * v)
            h = p if x > 0 else q
            return p(h(q(h(v))))

        assert close(chosen(x), float(exact(mpmath.mpf(x))))
        assert close(myia.grad(chosen, backend=backend)(x), derivative(exact, x))
        assert close(myia.grad(myia.grad(chosen, backend=backend), backend=backend)(x), derivative(exact, x, 2), 1e-9)

    def test_two_layer_network(self, backend: str) -> None:
        source = """
def loss(w1, b1, w2, b2, x, t):
    h = np.tanh(x @ w1 + b1)
    y = np.tanh(h @ w2 + b2)
    return np.mean((y - t) ** 2)
"""
        loss = define(source, backend)["loss"]
        random = np.random.default_rng(0)
        shapes = [(4, 5), (5,), (5, 3), (3,), (7, 4), (7, 3)]
        arguments = [random.normal(size=s) for s in shapes]
        plain: dict[str, Any] = {"np": np}
        exec(source, plain)
        assert math.isclose(loss(*arguments), plain["loss"](*arguments), rel_tol=1e-12)
        gradients = myia.grad(loss, (0, 1, 2, 3), backend=backend)(*arguments)
        for i, gradient in enumerate(gradients):
            assert gradient.shape == shapes[i]
            for place in np.ndindex(*shapes[i]):
                shifted = [a.astype(complex) for a in arguments]
                shifted[i][place] += 1e-30j
                assert math.isclose(gradient[place], plain["loss"](*shifted).imag / 1e-30, rel_tol=1e-10, abs_tol=1e-14)

    @pytest.mark.parametrize("order", [1, 2, 3, 4])
    def test_derivatives_of_tanh_sin(self, backend: str, order: int) -> None:
        f = define("def f(x):\n    return math.tanh(x) * math.sin(x) ** 2\n", backend)["f"]
        g = f
        for _ in range(order):
            g = myia.grad(g, backend=backend)
        assert close(g(0.7), derivative(lambda x: mpmath.tanh(x) * mpmath.sin(x) ** 2, 0.7, order), 1e-9)

    def test_nested_gradients_do_not_confuse_perturbations(self, backend: str) -> None:
        source = """
def f(x):
    def inner(y):
        return x + y
    return x * grad(inner)(1.0)

def h(x):
    def g(y):
        def k(z):
            return x * y * z * z
        return grad(k)(y) * x
    return grad(g)(x)
"""
        space = define(source, backend)
        assert close(space["f"](3.0), 3.0)
        assert close(myia.grad(space["f"], backend=backend)(3.0), 1.0)
        assert close(space["h"](1.5), 4 * 1.5**3)
        assert close(myia.grad(space["h"], backend=backend)(1.5), 12 * 1.5**2)

    def test_a_million_steps(self, backend: str) -> None:
        if backend != "numba":
            steps = 20_000  # the interpreter and the text are for comparison, not the fast path: the same program, fewer steps
        else:
            steps = 1_000_000
        source = """
def loop(x, n):
    y = x
    for i in range(n):
        y = 0.999999 * y + 0.000001 * x
    return y

def deep(x, n):
    if n == 0:
        return x
    return 0.999999 * deep(x, n - 1) + 0.000001 * x
"""
        space = define(source, backend)
        for name in ("loop", "deep"):
            assert math.isclose(space[name](2.0, steps), 2.0, rel_tol=1e-9)
            assert math.isclose(myia.grad(space[name], backend=backend)(2.0, steps), 1.0, rel_tol=1e-9)


def test_cube_becomes_the_hand_written_derivative() -> None:
    """After optimization no closure, environment or tuple is left: `3 * x * x`."""
    space = define("def cube(x):\n    return x ** 3\n", "vm")
    compilation = myia.explain(myia.grad(space["cube"]), 2.0, backend="vm")
    assert compilation.value == 12.0
    assert compilation.stages["optimized"].text.strip() == """
@cube(x: float) -> float:
  %1 : float = multiply(x, x)
  ∇x : float = multiply(3.0, %1)
  return ∇x
""".strip()


STRAIGHT = {
    "polynomial": "def f(x):\n    return 2.0 * x * x * x + x\n",
    "locals": "def f(x):\n    y = math.sin(x)\n    z = y * y\n    return math.exp(z) + y\n",
    "calls": "def g(v):\n    return math.tanh(v) * v\n\ndef f(x):\n    return g(g(x)) + g(1.5)\n",
    "closures": "def f(x):\n    h = lambda k: lambda v: k * v\n    return h(x)(h(2.0)(x))\n",
    "tuples": "def f(x):\n    a, (b, c) = x, (x * x, 2.0)\n    t = (a, b)\n    return t[0] * t[1] * c\n",
    "higher order": "def f(x):\n    twice = lambda g: lambda v: g(g(v))\n    return twice(twice(math.sin))(x)\n",
    "record": "def f(x):\n    d = {'a': x, 'b': x * x}\n    return d['a'] * d['b']\n",
}


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("name", STRAIGHT)
def test_nothing_of_the_closures_is_left_in_straight_line_code(name: str, order: int) -> None:
    """One graph, no closure, no environment, no tuple: arithmetic only, at every order."""
    space = define(STRAIGHT[name], "vm")
    f = space["f"]
    for _ in range(order):
        f = myia.grad(f)
    text = myia.explain(f, 0.7, backend="vm").stages["optimized"].text
    assert text.count("@") == 1, text
    for primitive in ("partial", "closure", "env_", "make_tuple", "tuple_getitem", "branch"):
        assert primitive not in text, text
