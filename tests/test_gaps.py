"""What the original Myia (2021) could not do, one named test each, to the second order, against mpmath or closed forms: its sin, cos and tan, mod, prod, scan,
second derivatives of conv, einsum with repeated indices, and second derivatives through if, while, recursion and trees."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import pytest

from myia_notebook import grad, hessian, myia, nn

BACKENDS = ("vm", "numba")
both = pytest.mark.parametrize("backend", BACKENDS)


def close(found: Any, expected: Any, rel: float = 1e-11) -> None:
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), rtol=rel, atol=1e-13)


def check_number(f: Any, exact: Any, x: float, backend: str) -> None:
    """Value, first and second derivative of a function of a number; `exact` is the same function in mpmath."""
    with mpmath.workdps(40):
        expected = [float(mpmath.diff(exact, mpmath.mpf(x), n)) for n in range(3)]
    close([myia(f, backend=backend)(x), grad(f, backend=backend)(x), grad(grad(f, backend=backend))(x)], expected)


@both
def test_sin_cos_tan(backend: str) -> None:
    check_number(lambda x: math.sin(x) * math.cos(x) + math.tan(x), lambda x: mpmath.sin(x) * mpmath.cos(x) + mpmath.tan(x), 0.7, backend)
    x = np.array([0.7, -1.1])
    close(grad(lambda v: np.sum(np.tan(v)), backend=backend)(x), 1 / np.cos(x) ** 2)


@both
def test_mod(backend: str) -> None:
    # −7.3 mod 2.1 = −7.3 + 4·2.1, and so for its square
    check_number(lambda x: (x % 2.1) ** 2, lambda x: (x + 4 * mpmath.mpf("2.1")) ** 2, -7.3, backend)
    close(grad(lambda x, y: (x % y) ** 2, 1, backend=backend)(-7.3, 2.1), 2 * (-7.3 + 4 * 2.1) * 4)


@both
def test_prod(backend: str) -> None:
    x = np.array([2.0, 0.0, 3.0])
    close(grad(lambda v: np.prod(v), backend=backend)(x), [0.0, 6.0, 0.0])
    close(hessian(lambda v: np.prod(v), backend=backend)(x), [[0, 3, 0], [3, 0, 2], [0, 2, 0]])


@both
def test_scan(backend: str) -> None:
    """y ← y·x + c over a list, the running values squared and summed."""
    def f(x: float, cs: list[float]) -> float:
        y, total = 1.0, 0.0
        for c in cs:
            y = y * x + c
            total = total + y * y
        return total

    def exact(x: Any) -> Any:
        a = x + 2
        b = a * x - 1
        return a * a + b * b + (b * x + 3) ** 2
    with mpmath.workdps(40):
        expected = [float(mpmath.diff(exact, mpmath.mpf("0.7"), n)) for n in range(3)]
    cs = [2.0, -1.0, 3.0]
    close([f(0.7, cs), grad(f, backend=backend)(0.7, cs), grad(grad(f, backend=backend))(0.7, cs)], expected)
    v = np.array([0.5, -2.0, 3.0])  # ∂/∂v_i ∑_k (∑_{j ≤ k} v_j)²; twice the number of sums that hold both
    close(grad(lambda u: np.sum(np.cumsum(u) ** 2), backend=backend)(v), [0.5 * 2 - 3.0 + 3.0, -3.0 + 3.0, 3.0])
    close(hessian(lambda u: np.sum(np.cumsum(u) ** 2), backend=backend)(v), [[6, 4, 2], [4, 4, 2], [2, 2, 2]])


@both
def test_conv_second_order(backend: str) -> None:
    """∑ (x ∗ w)² is a quadratic form in w: its Hessian is 2 ∑ of the windows' outer products."""
    x = np.arange(12.0).reshape(1, 1, 3, 4) ** 1.5
    w = np.array([[0.5, -1.0], [2.0, 0.25]]).reshape(1, 1, 2, 2)
    windows = np.array([x[0, 0, i:i + 2, j:j + 2].ravel() for i in range(2) for j in range(3)])
    found = hessian(lambda k: np.sum(nn.conv2d(x, k) ** 2), backend=backend)(w)
    close(np.reshape(found, (4, 4)), 2 * windows.T @ windows)


@both
def test_einsum_with_repeated_indices(backend: str) -> None:
    a, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, -2.0])
    close(grad(lambda m: np.einsum("ii->", m) ** 2, backend=backend)(a), 2 * 5.0 * np.eye(2))
    close(grad(lambda m: np.sum(np.einsum("ii,i->i", m, b) ** 2), backend=backend)(a), np.diag(2 * np.diag(a) * b * b))
    found = hessian(lambda m: np.einsum("ii,ii->", m, m), backend=backend)(a)
    close(np.reshape(found, (4, 4)), np.diag([2.0, 0, 0, 2.0]))


@both
def test_second_order_through_if(backend: str) -> None:
    def f(x: float) -> float:
        if x > 0.0:
            y = x * math.sin(x)
        else:
            y = math.exp(x)
        return y * y
    check_number(f, lambda x: (x * mpmath.sin(x)) ** 2, 0.7, backend)
    check_number(f, lambda x: mpmath.exp(2 * x), -0.7, backend)


@both
def test_second_order_through_while(backend: str) -> None:
    def f(x: float) -> float:
        y = x
        while y < 20.0:
            y = y * y + x
        return y
    check_number(f, lambda x: (((x * x + x) ** 2 + x) ** 2 + x), 1.2, backend)


@both
def test_second_order_through_recursion(backend: str) -> None:
    def f(x: float) -> float:
        def power(n: int) -> float:
            return 1.0 if n == 0 else x * power(n - 1)
        return power(5)
    check_number(f, lambda x: x**5, 1.3, backend)


@dataclass(frozen=True)
class Leaf:
    value: float


@dataclass(frozen=True)
class Node:
    left: Node | Leaf
    right: Node | Leaf


def evaluate(tree: Node | Leaf, x: float) -> float:
    match tree:
        case Leaf(value):
            return value * x
        case Node(left, right):
            return evaluate(left, x) * math.sin(evaluate(right, x))


@both
def test_second_order_through_trees(backend: str) -> None:
    tree = Node(Node(Leaf(2.0), Leaf(0.5)), Leaf(-1.5))

    def exact(x: Any) -> Any:
        return 2 * x * mpmath.sin(x / 2) * mpmath.sin(-1.5 * x)

    with mpmath.workdps(40):
        expected = [float(mpmath.diff(exact, mpmath.mpf("0.7"), n)) for n in (1, 2)]
    close([grad(evaluate, 1, backend=backend)(tree, 0.7), grad(grad(evaluate, 1, backend=backend), 1)(tree, 0.7)], expected)
    slope = grad(evaluate, backend=backend)(tree, 0.7)
    assert isinstance(slope, Node) and isinstance(slope.right, Leaf)
    close(slope.right.value, 2 * 0.7 * math.sin(0.35) * math.cos(-1.05) * 0.7)
