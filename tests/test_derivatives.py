"""jvp, vjp, jacobian, hessian, custom_gradient, stop_gradient, has_aux and checks, from Python and inside programs, nested in every order. Expected
values are closed forms, or mpmath's at high precision."""
from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import pytest

import myia_notebook as myia
from myia_notebook import MyiaError, custom_gradient, grad, hessian, jacobian, jvp, stop_gradient, value_and_grad, vjp
from myia_notebook.cell import CellOptions, run_cell
from tests.test_orders import HEAD, PROGRAMS

BACKENDS = ("vm", "numba")
both = pytest.mark.parametrize("backend", BACKENDS)


def define(source: str, backend: str) -> dict[str, Any]:
    names = ("grad", "value_and_grad", "jvp", "vjp", "jacobian", "hessian", "custom_gradient", "stop_gradient")
    space: dict[str, Any] = {"np": np, "math": math, **{n: getattr(myia, n) for n in names}}
    run_cell(HEAD + source, space, CellOptions(backend=backend, observe=False))
    return space


# -- programs of every shape

MODES = """
def first(x{more}):
    return jvp(f, (x{more}), (1.0{zeros}))[1]
def forward_over_reverse(x{more}):
    return jvp(grad(f), (x{more}), (1.0{zeros}))[1]
def reverse_over_forward(x{more}):
    return grad(first)(x{more})
def derivatives(x{more}):
    forward_over_forward = jvp(first, (x{more}), (1.0{zeros}))[1]
    return first(x{more}), forward_over_reverse(x{more}), reverse_over_forward(x{more}), forward_over_forward
"""


@both
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_shape_of_program(name: str, backend: str) -> None:
    """First derivative forwards; second in the three orders that forward mode adds."""
    source, extra, points = PROGRAMS[name]
    more = "".join(f", n{i}" for i in range(len(extra))) or ","
    space = define(source + MODES.format(more=more, zeros=", 0" * len(extra) or ","), backend)
    plain: dict[str, Any] = {n: getattr(mpmath, n) for n in ("sin", "cos", "tanh", "exp", "log", "sqrt")}
    exec(source, plain)
    for x in points[:1 if backend == "numba" else 2]:
        with mpmath.workdps(50):
            one, two = (float(mpmath.diff(lambda v: plain["f"](v, *extra), mpmath.mpf(x), n)) for n in (1, 2))
        found = space["derivatives"](x, *extra)
        np.testing.assert_allclose(found, (one, two, two, two), rtol=1e-9, atol=1e-10)


SADDLE = """
def descend(f, x):
    i = 0
    while i < 80:
        x = x - 0.1 * {slope}(f, x)
        i = i + 1
    return x
def reverse(f, x):
    return grad(f)(x)
def forward(f, x):
    return jvp(f, (x,), (1.0,))[1]
def cost(a, b):
    return (a - 1.0) ** 2 + a * b - (b + 2.0) ** 2
def saddle(a, b):
    def worst(x):
        y = descend(lambda v: -cost(x, v), b)
        return cost(x, y)
    x = descend(worst, a)
    return x, descend(lambda v: -cost(x, v), b)
"""


@both
@pytest.mark.parametrize("slope", ["reverse", "forward"])
def test_saddle(slope: str, backend: str) -> None:
    """min over a of max over b, by gradient descent within gradient descent (Siskind & Pearlmutter 2008). The saddle solves
    2(a − 1) + b = 0 and a − 2(b + 2) = 0."""
    a, b = define(SADDLE.format(slope=slope), backend)["saddle"](5.0, 5.0)
    assert math.isclose(a, 1.6, rel_tol=1e-6) and math.isclose(b, -1.2, rel_tol=1e-6)


PARTICLE = """
def cost(w):
    def potential(x, y):
        a = sqrt((x - 10.0) ** 2 + (y - (10.0 - w)) ** 2)
        b = sqrt((x - 10.0) ** 2 + y ** 2)
        return 1.0 / a + 1.0 / b
    x, y, u, v = 0.0, 8.0, 0.75, 0.0
    while y + 0.1 * v > 0.0:
        p, q = FORCE
        x, y, u, v = x + 0.1 * u, y + 0.1 * v, u - 0.1 * p, v - 0.1 * q
    t = -y / v
    return (x + t * u) ** 2
"""
NEWTON = """
def newton(w):
    i = 0
    while i < 6:
        slope, curvature = jvp(grad(cost), (w,), (1.0,))
        w = w - slope / curvature
        i = i + 1
    return w
"""


@functools.cache
def exact_control() -> float:
    """Newton's method at 30 digits, with the force written out: 0.2071994601 (there is another control, at −0.267)."""
    force = """
def force(x, y, w):
    a = ((x - 10) ** 2 + (y - (10 - w)) ** 2) ** mpf(1.5)
    b = ((x - 10) ** 2 + y ** 2) ** mpf(1.5)
    return -(x - 10) / a - (x - 10) / b, -(y - (10 - w)) / a - y / b
"""
    plain: dict[str, Any] = {"sqrt": mpmath.sqrt, "mpf": mpmath.mpf}
    exec(force + PARTICLE.replace("FORCE", "force(x, y, w)"), plain)
    with mpmath.workdps(30):
        w = mpmath.mpf("0.2")
        for _ in range(4):
            w -= mpmath.diff(plain["cost"], w) / mpmath.diff(plain["cost"], w, 2)
        return float(w)


@both
def test_particle(backend: str) -> None:
    """A charge steered by Newton's method through a simulation whose force is a gradient: third derivatives through a loop of unknown length."""
    space = define(PARTICLE.replace("FORCE", "grad(potential, (0, 1))(x, y)") + NEWTON, backend)
    assert math.isclose(space["newton"](0.2), exact_control(), rel_tol=1e-8)


# -- perturbation confusion

CONFUSION = {
    "jvp in jvp": ("def f(x):\n    return jvp(lambda x: x * jvp(lambda y: x + y, (1.0,), (1.0,))[1], (x,), (1.0,))[1]\n", lambda x: 1.0),
    "jvp in grad": ("def f(x):\n    return grad(lambda x: x * jvp(lambda y: x + y, (1.0,), (1.0,))[1])(x)\n", lambda x: 1.0),
    "grad in jvp": ("def f(x):\n    return jvp(lambda x: x * grad(lambda y: x + y)(1.0), (x,), (1.0,))[1]\n", lambda x: 1.0),
    "through a closure": ("def d(g):\n    return lambda v: jvp(g, (v,), (1.0,))[1]\n"
                          "def f(x):\n    return d(lambda z: d(lambda y: sin(y) * z * y)(x) * z)(x)\n",
                          lambda x: 2 * x * (math.cos(x) * x + math.sin(x))),
    "vjp in jvp": ("def f(x):\n    return jvp(lambda y: vjp(lambda z: z * z * y * x, y)[1](1.0)[0], (x,), (1.0,))[1]\n", lambda x: 4 * x * x),
    "in a loop": ("def f(x):\n    y = x\n    i = 0\n    while i < 3:\n        y = jvp(lambda z: x * z * y, (y,), (1.0,))[1]\n        i = i + 1\n    return y\n",
                  lambda x: x ** 4),
    "a backpropagator kept": ("def f(x):\n    y, back = vjp(lambda u, v: u * v * x, x, 3.0)\n    return grad(lambda s: back(s)[1] * s)(x) * y\n",
                              lambda x: 2 * x ** 3 * 3 * x ** 2),
}


@both
@pytest.mark.parametrize("name", CONFUSION)
def test_no_perturbation_confusion(name: str, backend: str) -> None:
    source, exact = CONFUSION[name]
    f = define(source, backend)["f"]
    for x in (0.7, -1.3):
        assert math.isclose(f(x), exact(x), rel_tol=1e-12)
    slope = grad(f, backend=backend)(0.7)
    with mpmath.workdps(30):
        h = 1e-6
        assert math.isclose(slope, (exact(0.7 + h) - exact(0.7 - h)) / (2 * h), rel_tol=1e-7, abs_tol=1e-9)


# -- from Python

class Model:
    def __init__(self, w: float) -> None:
        self.w = w

    def loss(self, x: Any) -> Any:
        return self.w * x * x


@dataclass(frozen=True)
class Point:
    x: float
    n: int

    def norm(self, s: Any) -> Any:
        return self.x * self.x * self.n * s


@both
def test_jvp(backend: str) -> None:
    assert jvp(lambda x, y: math.sin(x) * y, (0.5, 3.0), (1.0, 2.0), backend=backend) == pytest.approx(
        (3 * math.sin(0.5), 3 * math.cos(0.5) + 2 * math.sin(0.5)), rel=1e-14)
    y, dy = jvp(lambda a, v: a @ v, (np.eye(2), np.array([1.0, 2.0])), (np.ones((2, 2)), np.array([0.5, 0.0])), backend=backend)
    np.testing.assert_allclose(y, [1.0, 2.0])
    np.testing.assert_allclose(dy, [3.5, 3.0])
    assert jvp(Model(3.0).loss, (2.0,), (1.0,), backend=backend) == (12.0, 12.0)
    assert jvp(functools.partial(lambda a, x: a * x, 3.0), (2.0,), (1.0,), backend=backend) == (6.0, 3.0)
    assert jvp(grad(lambda x: x**3), (2.0,), (1.0,), backend=backend) == (12.0, 12.0)
    assert jvp(lambda p: p.norm(2.0), (Point(2.0, 3),), (Point(1.0, 0),), backend=backend) == (24.0, 24.0)
    assert jvp(lambda x: Point(x * x, 3), (2.0,), (1.0,), backend=backend) == (Point(4.0, 3), Point(4.0, 0))
    assert jvp(lambda xs: [x * x for x in xs], ([1.0, 2.0],), ([1.0, 0.5],), backend=backend) == ([1.0, 4.0], [2.0, 2.0])
    assert jvp(lambda f, x: f(f(x)), (lambda v: v * v, 1.5), (None, 1.0), backend=backend) == (1.5**4, 4 * 1.5**3)
    value, tangent = jvp(lambda x: np.sin(x), (np.ones(2, np.float32),), (np.ones(2, np.float32),), backend=backend)
    assert value.dtype == tangent.dtype == np.float32


@both
def test_lists_of_run_time_length(backend: str) -> None:
    def f(x: float, n: int) -> float:
        xs = [x]
        for i in range(n):
            xs = xs + [xs[i] * x]
        return xs[n] * xs[1] + sum(xs[1:3])
    # x⁵·x² + x² + x³ for n = 4
    assert jvp(f, (1.3, 4), (1.0, 0), backend=backend)[1] == pytest.approx(7 * 1.3**6 + 2 * 1.3 + 3 * 1.3**2, rel=1e-13)
    assert hessian(f, backend=backend)(1.3, 4) == pytest.approx(42 * 1.3**5 + 2 + 6 * 1.3, rel=1e-13)


@both
def test_vjp(backend: str) -> None:
    a, v = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, -1.0])
    y, back = vjp(lambda a, v: a @ v, a, v, backend=backend)
    d = np.array([1.0, 10.0])
    np.testing.assert_allclose(y, a @ v)
    da, dv = back(d)
    np.testing.assert_allclose(da, np.outer(d, v))
    np.testing.assert_allclose(dv, a.T @ d)
    v[:] = 0.0  # what was given stays what it was
    np.testing.assert_allclose(back(d)[0], np.outer(d, [0.5, -1.0]))
    y, back = vjp(lambda x, n: (x * n, {"square": x * x}), 2.0, 3, backend=backend)
    assert y == (6.0, {"square": 4.0})
    assert back((1.0, {"square": 10.0})) == (43.0, 0)
    assert vjp(lambda x: [x, x * x], 2.0, backend=backend)[1]([1.0, 1.0]) == (5.0,)
    assert vjp(lambda x, n: [x * i for i in range(n)], 2.0, 3, backend=backend)[1]([1.0, 1.0, 10.0]) == (21.0, 0)
    _, product = vjp(lambda x, y: x * y, 2.0, 3.0, backend=backend)
    assert grad(lambda d: product(d)[0] * d, backend=backend)(5.0) == 30.0  # 3d²
    assert myia.myia(lambda x: vjp(lambda y: vjp(lambda z: z**3, y)[1](1.0)[0], x)[1](1.0)[0], backend=backend)(2.0) == 12.0


@both
def test_jacobian(backend: str) -> None:
    w = np.arange(12.0).reshape(4, 3) / 10
    x = np.linspace(0.1, 1.0, 4)
    wide = jacobian(lambda x: np.sin(x) @ w, backend=backend)(x)  # 3 outputs, 4 inputs: backwards
    np.testing.assert_allclose(wide, (np.cos(x)[:, None] * w).T, rtol=1e-14)
    tall = jacobian(lambda x: np.outer(x, x), backend=backend)(x)  # 16 outputs: forwards
    eye = np.eye(4)
    np.testing.assert_allclose(tall, np.einsum("ik,j->ijk", eye, x) + np.einsum("jk,i->ijk", eye, x), rtol=1e-14)
    assert jacobian(lambda x: x**3, backend=backend)(2.0) == 12.0
    both_ = jacobian(lambda x, y: x * y, ("x", "y"), backend=backend)(np.array([1.0, 2.0]), 3.0)
    np.testing.assert_allclose(both_[0], 3.0 * np.eye(2))
    np.testing.assert_allclose(both_[1], [1.0, 2.0])
    made = jacobian(lambda t: {"a": t[0] * t[1], "b": (t[1],)}, backend=backend)((np.array([1.0, 2.0]), 3.0))
    np.testing.assert_allclose(made["a"][0], 3.0 * np.eye(2))
    np.testing.assert_allclose(made["a"][1], [1.0, 2.0])
    np.testing.assert_allclose(made["b"][0][0], np.zeros(2))
    assert made["b"][0][1] == 1.0
    np.testing.assert_allclose(jacobian(jacobian(lambda x: x**3), backend=backend)(np.array([1.0, 2.0]))[1, 1], [0.0, 12.0])
    assert jacobian(lambda x: x * x, backend=backend)(np.ones(3, np.float32)).dtype == np.float32
    assert jacobian(lambda x: x * x, backend=backend)(np.ones((0, 2))).shape == (0, 2, 0, 2)


@both
def test_hessian(backend: str) -> None:
    x = np.array([1.0, 2.0, -0.5])
    np.testing.assert_allclose(hessian(lambda x: np.sum(x) ** 3, backend=backend)(x), np.full((3, 3), 6 * x.sum()), rtol=1e-14)
    np.testing.assert_allclose(hessian(lambda x: np.prod(x), backend=backend)(np.array([2.0, 0.0, 3.0])), [[0, 3, 0], [3, 0, 2], [0, 2, 0]])
    pair = hessian(lambda x, y: np.sum(x * x) * y, ("x", "y"), backend=backend)(np.array([1.0, 2.0]), 3.0)
    np.testing.assert_allclose(pair[0][0], 6 * np.eye(2))
    np.testing.assert_allclose(pair[0][1], [2.0, 4.0])
    assert pair[1][1] == 0.0
    third = grad(lambda x: np.sum(hessian(lambda y: np.sum(y**4))(x)), backend=backend)(np.array([1.0, 2.0]))
    np.testing.assert_allclose(third, [24.0, 48.0])
    assert hessian(lambda x: np.where(x < 1, np.sqrt(1 - x), x * x), backend=backend)(3.0) == 2.0  # the branch not taken is nan


MLP = """
def loss(w, x, y):
    h = np.tanh(x @ np.reshape(w[:6], (2, 3)) + w[6:9])
    z = np.tanh(h @ w[9:12])
    return np.mean((z - y) ** 2)
"""


@both
def test_hessian_of_a_network(backend: str) -> None:
    rng = np.random.default_rng(3)
    w, x, y = rng.normal(size=12), rng.normal(size=(3, 2)), rng.normal(size=3)

    def exact(*v: Any) -> Any:
        total = mpmath.mpf(0)
        for row, target in zip(x, y):
            h = [mpmath.tanh(sum(mpmath.mpf(row[i]) * v[3 * i + j] for i in range(2)) + v[6 + j]) for j in range(3)]
            total += (mpmath.tanh(sum(h[j] * v[9 + j] for j in range(3))) - mpmath.mpf(target)) ** 2
        return total / 3

    found = hessian(define(MLP, backend)["loss"], backend=backend)(w, x, y)
    assert found.shape == (12, 12)
    np.testing.assert_allclose(found, found.T, rtol=1e-12, atol=1e-14)
    with mpmath.workdps(40):
        h = mpmath.mpf(10) ** -10
        for i, j in ((0, 0), (0, 7), (2, 10), (5, 6), (8, 8), (9, 11), (11, 11)):
            def at(a: int, b: int, i: int = i, j: int = j) -> Any:
                v = list(map(mpmath.mpf, w))
                v[i] += a * h
                v[j] += b * h
                return exact(*v)
            expected = float((at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / (4 * h * h))
            assert math.isclose(found[i, j], expected, rel_tol=1e-11, abs_tol=1e-14), (i, j)


# -- custom and stopped gradients

@custom_gradient
def scaled(x: Any, y: Any) -> Any:
    z = x * y

    def back(d: Any) -> Any:
        return 100.0 * d * y, d * x
    return z, back


@custom_gradient
def log1pexp(x: Any) -> Any:
    """log(1 + eˣ), whose gradient does not overflow."""
    e = np.exp(x)
    return np.log(1 + e), lambda d: d * (1 - 1 / (1 + e))


@both
def test_custom_gradient(backend: str) -> None:
    assert scaled(2.0, 3.0) == 6.0
    assert grad(scaled, "*", backend=backend)(2.0, 3.0) == (300.0, 2.0)
    assert jvp(scaled, (2.0, 3.0), (1.0, 0.5), backend=backend) == (6.0, 301.0)  # the transpose of the backpropagator
    assert grad(lambda x: scaled(x, x) * x, backend=backend)(2.0) == 4.0 + 2 * (200.0 + 2.0)
    assert hessian(scaled, (0, 1), backend=backend)(2.0, 3.0) == ((0.0, 100.0), (1.0, 0.0))
    assert grad(log1pexp, backend=backend)(100.0) == 1.0
    assert math.isclose(float(grad(grad(log1pexp), backend=backend)(0.3)), 1 / (2 + 2 * math.cosh(0.3)), rel_tol=1e-13)
    source = "def f(x):\n    @custom_gradient\n    def h(v):\n        return v * v, lambda d: (3.0 * d,)\n    return h(x) * x\n"
    assert grad(define(source, backend)["f"], backend=backend)(2.0) == 4.0 + 2.0 * 3.0
    in_cell = define("@custom_gradient\ndef g(v):\n    return v * v, lambda d: (3.0 * d,)\ndef f(x):\n    return g(x) * x\n", backend)
    assert in_cell["g"](2.0) == 4.0 and grad(in_cell["f"], backend=backend)(2.0) == 10.0


@both
def test_stop_gradient(backend: str) -> None:
    assert stop_gradient(3.0) == 3.0
    f = lambda x: stop_gradient(x * x) * x
    assert myia.myia(f, backend=backend)(3.0) == 27.0
    assert grad(f, backend=backend)(3.0) == 9.0
    assert jvp(f, (3.0,), (1.0,), backend=backend) == (27.0, 9.0)
    assert grad(grad(f), backend=backend)(3.0) == 0.0
    assert grad(lambda x: stop_gradient((x, 2.0))[0] * x, backend=backend)(3.0) == 3.0


@both
def test_has_aux(backend: str) -> None:
    f = lambda x: (x * x, {"x": x, "n": 3})
    assert grad(f, has_aux=True, backend=backend)(3.0) == (6.0, {"x": 3.0, "n": 3})
    assert value_and_grad(f, has_aux=True, backend=backend)(3.0) == ((9.0, {"x": 3.0, "n": 3}), 6.0)
    assert myia.myia(lambda x: grad(f, has_aux=True)(x)[0] * 2.0, backend=backend)(3.0) == 12.0
    assert grad(lambda x: grad(lambda y: (y**3, y), has_aux=True)(x)[0], backend=backend)(2.0) == 12.0


@both
def test_every_kind_of_argument(backend: str) -> None:
    def f(x: float, *rest: float, k: float = 3.0) -> float:
        return x * rest[0] * k * k
    assert grad(f, 1, backend=backend)(2.0, 5.0) == 18.0
    assert grad(f, "k", backend=backend)(2.0, 5.0, k=4.0) == 80.0
    assert myia.myia(lambda x: grad(f, ("k", 1, 0))(x, x, k=x), backend=backend)(2.0) == (16.0, 8.0, 8.0)
    def g(x: float, n: float = 2.0) -> float:
        return x * n * n
    assert grad(g, "n", backend=backend)(3.0) == 12.0
    assert myia.myia(lambda x: value_and_grad(g, "n")(n=x, x=3.0), backend=backend)(2.0) == (12.0, 12.0)
    assert grad(grad(f, "k"), "k", backend=backend)(2.0, 5.0, k=4.0) == 20.0
    assert grad(functools.partial(g, n=5.0), backend=backend)(1.0) == 25.0
    slope = grad(g)
    assert grad(lambda x: slope(x, x) * x, backend=backend)(2.0) == 12.0
    assert myia.myia(lambda h, x: h(x), backend=backend)(slope, 2.0) == 4.0


@both
def test_derivatives_as_results(backend: str) -> None:
    """A compiled function may return derivatives; they are callable, differentiable and usable in other programs."""
    made = lambda f: myia.myia(f, backend=backend)(3.0)
    assert made(lambda x: grad(lambda y: x * y * y))(2.0) == 12.0
    assert made(lambda x: hessian(lambda y: x * y * y))(2.0) == 6.0
    value, back = made(lambda x: vjp(lambda y: y * y, x))
    assert (value, back(1.0), grad(lambda d: back(d)[0] * d)(2.0)) == (9.0, (6.0,), 24.0)
    assert grad(made(lambda x: custom_gradient(lambda y: (y * y, lambda d: (d * 7.0,)))))(2.0) == 7.0
    assert made(lambda x: lambda v: jvp(lambda y: x * y * v, (v,), (1.0,))[1])(2.0) == 6.0


@both
def test_functions_chosen_at_run_time(backend: str) -> None:
    source = """
def pick(c, x):
    return (lambda y: y * y * x) if c > 0.0 else (lambda y: sin(y) + x * y)
def forward(x):
    return jvp(pick(x, x), (x,), (1.0,))[1]
def backward(x):
    value, back = vjp(pick(x, x), x)
    return back(value)[0]
def pullback(x):
    back = vjp(lambda y: y * y * x, x)[1] if x > 0.0 else vjp(lambda y: y + x, x)[1]
    return back(2.0)[0]
def second(x):
    return hessian(pick(x, x))(x) + jacobian(pick(x, x))(x)
"""
    space = define(source, backend)
    x = 1.2
    assert space["forward"](x) == pytest.approx(2 * x * x) and space["forward"](-x) == pytest.approx(math.cos(x) - x)
    assert space["backward"](x) == pytest.approx(2 * x**5) and space["backward"](-x) == pytest.approx((math.sin(-x) + x * x) * (math.cos(x) - x))
    assert space["pullback"](x) == pytest.approx(4 * x * x) and space["pullback"](-x) == 2.0
    assert space["second"](x) == pytest.approx(2 * x + 2 * x * x)
    assert grad(space["forward"], backend=backend)(x) == pytest.approx(4 * x)
    assert grad(space["backward"], backend=backend)(x) == pytest.approx(10 * x**4)


@both
def test_a_function_that_raises_raises(backend: str) -> None:
    def f(x: float) -> float:
        if x < 0.0:
            raise ValueError("negative")
        return x * x
    for derivative in (grad(f, backend=backend), hessian(f, backend=backend), myia.myia(lambda x: jvp(f, (x,), (1.0,))[1], backend=backend)):
        assert derivative(3.0) in (6.0, 2.0)
        with pytest.raises(ValueError, match="negative"):
            derivative(-3.0)


# -- refusals

def add_one(x: Any) -> Any:
    return x + 1.0


REFUSED = {
    "grad of an array": (lambda: grad(add_one)(np.ones(2)), "M602", "use vjp or jacobian"),
    "a tangent of an int": (lambda: jvp(add_one, (2,), (1.0,)), "M605", "has no tangent"),
    "a tangent of another shape": (lambda: jvp(add_one, (np.ones(2),), (np.ones(3),)), "M605", "same shape"),
    "a tangent too few": (lambda: jvp(lambda x, y: x, (1.0, 2.0), (1.0,)), "M605", "one tangent for each"),
    "tangents that are no tuple": (lambda: jvp(add_one, 1.0, 1.0), "M603", "write jvp"),
    "a sensitivity of another shape": (lambda: vjp(add_one, np.ones(2))[1](1.0), "M605", "same shape"),
    "a sensitivity of another length": (lambda: vjp(lambda x, n: [x * i for i in range(n)], 2.0, 3)[1]([1.0]), "M605", "same structure"),
    "wrt an int": (lambda: jacobian(add_one)(2), "M601", "use a float"),
    "wrt a name that is none": (lambda: hessian(add_one, "q")(2.0), "M603", "no parameter 'q'"),
    "a jacobian of an int result": (lambda: jacobian(lambda x: (x, 1))(2.0), "M603", "structures of them"),
    "aux that is not there": (lambda: grad(add_one, has_aux=True)(2.0), "M603", "not a pair"),
    "a custom gradient without backpropagator": (lambda: grad(custom_gradient(add_one))(2.0), "M603", "value, backpropagator"),
    "a backpropagator that gives too little": (lambda: grad(custom_gradient(lambda x, y: (x * y, lambda d: d)))(2.0, 3.0), "M603", "2 arguments"),
    "stop_gradient of a function": (lambda: myia.myia(lambda x: stop_gradient(add_one)(x))(2.0), "M603", "stop_gradient of a function"),
    "a function as the result": (lambda: jvp(lambda x: lambda y: x * y, (2.0,), (1.0,)), "M603", "holds functions"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    call, code, text = REFUSED[name]
    with pytest.raises(MyiaError, match=text) as caught:
        call()
    assert caught.value.code == code


def test_a_custom_gradient_that_captures_is_refused() -> None:
    source = "def f(x):\n    @custom_gradient\n    def h(v):\n        return v * x, lambda d: (d,)\n    return h(x)\n"
    with pytest.raises(MyiaError, match="make it an argument"):
        grad(define(source, "vm")["f"])(2.0)


# -- checks

@custom_gradient
def wrong(x: Any, y: Any) -> Any:
    return x * y, lambda d: (d * y, d * y)


def test_check_finds_a_wrong_gradient() -> None:
    made = myia.explain(grad(lambda x, y: wrong(x, y) * x, "*"), 2.0, 3.0, check=True)
    with pytest.raises(ValueError, match=r"the custom gradient of 'wrong' with respect to argument 1 \('y'\) is 3, but differences .* give 2") as caught:
        _ = made.value
    assert caught.value.code == "M604"  # type: ignore[attr-defined]
    made = myia.explain(lambda x: jvp(wrong, (x, 3.0), (0.0, 1.0))[1], 2.0, check=True)
    with pytest.raises(ValueError, match=r"the custom gradient of 'wrong' with respect to argument 1 \('y'\)"):
        _ = made.value
    made = myia.explain(grad(lambda a: wrong(np.sum(a), a[1])), np.array([1.0, 2.0]), check=True)
    with pytest.raises(ValueError, match="the custom gradient of 'wrong'"):
        _ = made.value


@custom_gradient
def doubtful(v: Any, w: Any) -> Any:
    return v * w, lambda d: (d * w, np.sum(d * v) + np.array([0.0, 0.5]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_derivative_that_checks_itself(backend: str) -> None:
    """`check=True`: right ones are as without it; a wrong one is named with its argument, element and line."""
    f = lambda a, b: np.sum(np.sin(a) * b)  # noqa: E731
    a, b = np.array([0.3, 0.5]), np.array([2.0, -1.0])
    for made in (grad(f, "*", backend=backend, check=True)(a, b), value_and_grad(f, "*", backend=backend, check=True)(a, b)[1]):
        np.testing.assert_allclose(made, (np.cos(a) * b, np.sin(a)), rtol=1e-15)
    np.testing.assert_allclose(hessian(f, backend=backend, check=True)(a, b), np.diag(-np.sin(a) * b), rtol=1e-14)
    np.testing.assert_allclose(jacobian(lambda x: np.tanh(x), backend=backend, check=True)(a), np.diag(1 - np.tanh(a) ** 2), rtol=1e-14)
    with pytest.raises(ValueError, match=r"custom gradient of 'doubtful' with respect to argument 1 \('w'\)\[0\](.|\n)*line") as caught:
        grad(lambda a: np.sum(doubtful(a, 2.0 * a)), backend=backend, check=True)(a)
    assert caught.value.code == "M604"  # type: ignore[attr-defined]


@pytest.mark.parametrize("case", [
    (grad(lambda x: x**5), 2.0), (grad(grad(lambda x: x**5)), 2.0), (grad(lambda x: abs(x)), 0.0), (grad(lambda x: max(x, 2.0 * x)), 0.0),
    (jacobian(lambda x: np.sin(x) * np.sum(x)), np.array([1.0, 2.0])), (hessian(lambda x: np.sum(np.sin(x)) ** 2), np.array([1.0, 2.0])),
    (grad(lambda x: np.sum(np.tanh(x) * x)), np.linspace(-1, 1, 5, dtype=np.float32)), (grad(lambda t: t[0] * t[1][0] * t[1][1]), (2.0, (3.0, 4))),
    (grad(lambda x: stop_gradient(x) * x), 2.0), (grad(lambda x: (x * x, x), has_aux=True), 2.0),
    (lambda x: vjp(lambda v: (v * v, v), x)[1]((1.0, 2.0)), 2.0)])
def test_check_accepts_what_is_right(case: tuple[Any, Any]) -> None:
    function, value = case
    made = myia.explain(function, value, check=True, backend="vm")
    assert made.problem is None, made.problem
