"""Derivatives of order 0 to 3 of programs of every shape, against mpmath at 50 digits, on the interpreter and natively; well formed at
every stage; and nested gradients without perturbation confusion."""
from __future__ import annotations

import math
from typing import Any

import mpmath
import pytest

import myia_notebook as myia
from myia_notebook.api import Derivative, make_unit
from myia_notebook.cell import CellOptions, run_cell
from myia_notebook.emit.cpu import compile_cpu
from myia_notebook.gradient.expand import expand_gradients
from myia_notebook.infer.close import close
from myia_notebook.infer.engine import infer
from myia_notebook.ir.graph import Graph, count_nodes
from myia_notebook.ir.text import print_program
from myia_notebook.ir.verify import verify_typed
from myia_notebook.lower import lower
from myia_notebook.optimize import optimize
from myia_notebook.vm import run

HEAD = "from math import sin, cos, tanh, exp, log, sqrt\n"
PROGRAMS: dict[str, tuple[str, tuple[Any, ...], tuple[float, ...]]] = {
    "cube": ("def f(x):\n    return x * x * x\n", (), (0.7, -1.3)),
    "product": ("def f(x):\n    return tanh(x) * sin(x) ** 2\n", (), (0.7, -1.3)),
    "branch": ("def f(x):\n    if x < 0.0:\n        return x * x * x\n    return sin(x) * x\n", (), (0.7, -1.3)),
    "joined branches": ("def f(x):\n    y = x * x\n    if x > 0.0:\n        y = y * sin(x)\n        z = x\n    else:\n        z = y * x\n    if y > 0.2:\n        z = z * y\n    return z * y\n",
                        (), (0.7, -1.3)),
    "while": ("def f(x):\n    y = x\n    i = 0\n    while i < 3:\n        y = sin(y) * x\n        i = i + 1\n    return y\n", (), (0.7, -1.3)),
    "data-dependent exit": ("def f(x):\n    y = x * x\n    while y < 10.0:\n        y = y * (x * x + 2.0)\n    return y\n", (), (0.7, -1.3)),
    "nested loops": ("def f(x, n):\n    s = 0.0\n    for i in range(n):\n        p = x\n        for j in range(i):\n            if j % 2 == 0:\n                p = p * x\n            else:\n                p = p + sin(p)\n"
                     "        s = s + p\n    return s\n", (3,), (0.7, -1.3)),
    "break and continue": ("def f(x, n):\n    s = x\n    for i in range(n):\n        if i == 1:\n            continue\n        if i == 4:\n            break\n        s = s * x + sin(s)\n    return s\n", (9,), (0.7,)),
    "recursion": ("def power(x, n):\n    return 1.0 if n == 0 else x * power(x, n - 1)\n\ndef f(x):\n    return power(x, 5)\n", (), (0.7, -1.3)),
    "mutual recursion": ("def even(x, n):\n    return x if n == 0 else sin(odd(x, n - 1))\n\ndef odd(x, n):\n    return x * x if n == 0 else even(x, n - 1) * x\n\ndef f(x):\n    return even(x, 4) + odd(x, 2)\n",
                         (), (0.7, -1.3)),
    "tree recursion": ("def fib(x, n):\n    if n < 2:\n        return x if n == 0 else x * x\n    return fib(x, n - 1) * fib(x, n - 2) + x\n\ndef f(x):\n    return fib(x, 5)\n", (), (0.7, -0.9)),
    "ackermann": ("def a(x, m, n):\n    if m == 0:\n        return sin(x) * (n + 1.0)\n    if n == 0:\n        return a(x * 1.1, m - 1, 1)\n    return a(a(x, m, n - 1), m - 1, n)\n\ndef f(x):\n    return a(x, 2, 1)\n",
                  (), (0.7, -1.3)),
    "escaping closure": ("def make(a):\n    def g(y):\n        return a * y * sin(a)\n    return g\n\ndef f(x):\n    g = make(x)\n    h = make(x * x)\n    return g(h(x)) * h(g(x))\n", (), (0.7, -1.3)),
    "chosen function": ("def f(x):\n    def p(y):\n        return y * y * x\n    def q(y):\n        return sin(y) + x * x\n    h = p if x > 0.0 else q\n    def twice(k, v):\n        return k(k(v))\n"
                        "    return twice(h, x) * twice(q, x) + h(2.0)\n", (), (0.7, -1.3)),
    "closures made in a loop": ("def wrap(g, c):\n    return lambda v: sin(g(v)) * c + v\n\ndef f(x):\n    g = lambda v: v\n    i = 0\n    while i < 3:\n        g = wrap(g, x * (i + 1))\n        i = i + 1\n    return g(x)\n",
                                (), (0.7, -1.3)),
    "continuation passing": ("def cps(x, n, k):\n    if n == 0:\n        return k(x)\n    return cps(x, n - 1, lambda v: k(sin(v) * x))\n\ndef f(x):\n    return cps(x, 3, lambda v: v * v)\n", (), (0.7, -1.3)),
    "composition": ("def compose(f, g):\n    return lambda v: f(g(v))\n\ndef f(x):\n    def s(v):\n        return sin(v) * x\n    c = compose(s, compose(s, lambda v: v * v))\n    return compose(c, c)(x)\n", (), (0.7, -0.9)),
    "functions in tuples": ("def f(x):\n    t = (x, x * x, lambda v: v * x)\n    a, b, g = t\n    u = (g(a), t)\n    return u[0] * u[1][1] + u[1][2](b)\n", (), (0.7, -1.3)),
    "newton": ("def f(x):\n    y = 1.0\n    i = 0\n    while i < 4:\n        y = y - (y * y - x) / (2.0 * y)\n        i = i + 1\n    return y\n", (), (0.7, 2.3)),
}


def derivative(name: str, order: int) -> tuple[Graph, Any]:
    """The optimized program of the n-th derivative, and the plain function for mpmath."""
    source, extra, points = PROGRAMS[name]
    space: dict[str, Any] = {}
    run_cell(HEAD + source, space, CellOptions(observe=False))
    kind = Derivative("grad", 0) if order else Derivative()
    unit, _ = make_unit(space["f"].__myia_function__, [points[0], *extra], kind, "vm", (Derivative("grad", 0),) * (order - 1))
    typed = infer(close(unit.parsed), unit.arguments)
    assert verify_typed(typed) == []
    before = print_program(typed)
    adjoint = expand_gradients(typed, optimize)
    assert print_program(typed) == before  # a stage leaves its input alone
    assert verify_typed(adjoint) == []
    plain: dict[str, Any] = {n: getattr(mpmath, n) for n in ("sin", "cos", "tanh", "exp", "log", "sqrt")}
    exec(source, plain)
    optimized = optimize(adjoint)
    assert verify_typed(optimized) == []
    return optimized, plain["f"]


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivative(name: str, order: int) -> None:
    program, exact = derivative(name, order)
    _, extra, points = PROGRAMS[name]
    native = compile_cpu(lower(program)) if order < 3 else None
    for x in points:
        with mpmath.workdps(50):
            expected = float(exact(mpmath.mpf(x), *extra) if order == 0 else mpmath.diff(lambda v: exact(v, *extra), mpmath.mpf(x), order))
        found = run(program, (x, *extra))
        assert math.isclose(found, expected, rel_tol=1e-8, abs_tol=1e-9), (x, found, expected)
        if native is not None:
            assert math.isclose(native(x, *extra), found, rel_tol=1e-11, abs_tol=1e-12)


def test_derivatives_stay_small() -> None:
    """Straight-line derivatives grow with their mathematical size."""
    sizes = [count_nodes(derivative("product", order)[0]) for order in range(4)]
    assert sizes[1] <= 14 and sizes[2] <= 30 and sizes[3] <= 60, sizes


NESTED = {
    "confusion": ("def f(x):\n    def inner(y):\n        return x + y\n    return x * grad(inner)(1.0)\n", lambda x: x),
    "product": ("def f(x):\n    def inner(y):\n        return x * y * y * x\n    return grad(inner)(x * 3.0)\n", lambda x: 6 * x**3),
    "three deep": ("def f(x):\n    def g(y):\n        def h(z):\n            return x * y * z * z\n        return grad(h)(y) * x\n    return grad(g)(x)\n", lambda x: 4 * x**3),
    "in a loop": ("def f(x):\n    y = x\n    i = 0\n    while i < 2:\n        def h(z):\n            return sin(z) * x * y\n        y = grad(h)(y)\n        i = i + 1\n    return y\n",
                  lambda x: mpmath.cos(mpmath.cos(x) * x * x) * x * mpmath.cos(x) * x * x),
    "of a choice": ("def f(x):\n    def p(y):\n        return y * y * x\n    def q(y):\n        return sin(y) + x * x * y\n    h = p if x > 0.0 else q\n    return grad(h)(x)\n",
                    lambda x: 2 * x * x if x > 0 else mpmath.cos(x) + x * x),
    "higher order": ("def d(k, x):\n    return grad(k)(x)\n\ndef pick(x, p, q):\n    if x > 0.0:\n        return p\n    return q\n\ndef f(x):\n    def p(y):\n        return y * y * x\n    def q(y):\n        return sin(y) + x * x * y\n"
                     "    return d(pick(x, p, q), x) * d(q, 2.0 * x)\n", lambda x: (2 * x * x if x > 0 else mpmath.cos(x) + x * x) * (mpmath.cos(2 * x) + x * x)),
    "second inside": ("def power(x, n):\n    return 1.0 if n == 0 else x * power(x, n - 1)\n\ndef f(x):\n    def h(y):\n        return power(y, 3) * x\n    return grad(grad(h))(x)\n", lambda x: 6 * x * x),
}


@pytest.mark.parametrize("backend", ["vm", "numba"])
@pytest.mark.parametrize("name", NESTED)
def test_nested_gradients(name: str, backend: str) -> None:
    source, exact = NESTED[name]
    space: dict[str, Any] = {"grad": myia.grad}
    run_cell(HEAD + source, space, CellOptions(backend=backend, observe=False))
    for x in (0.7, -1.3):
        assert math.isclose(space["f"](x), float(exact(mpmath.mpf(x))), rel_tol=1e-11)
        with mpmath.workdps(50):
            slope = float(mpmath.diff(exact, mpmath.mpf(x)))
        assert math.isclose(myia.grad(space["f"], backend=backend)(x), slope, rel_tol=1e-9)
