"""Array expressions that wait for their user, across branches of which one arm calls."""
import numpy as np
import pytest

from myia_notebook import grad, myia


def trace_and_items(x):  # type: ignore[no-untyped-def]
    m = np.array([[x, 1.0], [0.0, 2.0]])
    return sum(m[i, j] * (i + 1) for i in range(2) for j in range(2)) + float(np.trace(m @ m))


def recursive(n, a):  # type: ignore[no-untyped-def]
    return np.sum(a) if n == 0 else recursive(n - 1, a * 1.5) + recursive(n - 1, a) * 0.5


def waits(a, n):  # type: ignore[no-untyped-def]
    w = a * 2.0 + 1.0
    t = recursive(n, a) if n > 0 else 0.5
    return np.sum(w * t)


@pytest.mark.parametrize("backend", ["vm", "numba"])
def test_a_sensitivity_that_waits(backend: str) -> None:
    assert grad(trace_and_items, backend=backend)(0.7) == pytest.approx(1 + 2 * 0.7)


@pytest.mark.parametrize("n", [0, 2])
def test_a_value_that_waits(n: int) -> None:
    a = np.array([0.5, -1.0, 2.0])
    assert np.isclose(myia(waits)(a, n), waits(a, n))
    slope = [(waits(a + h, n) - waits(a - h, n)) / 2e-6 for h in 1e-6 * np.eye(3)]
    assert np.allclose(grad(waits)(a, n), slope, rtol=1e-6)
