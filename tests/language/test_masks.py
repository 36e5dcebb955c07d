"""Selections by a boolean array."""
from __future__ import annotations

import numpy as np
import pytest

from myia_notebook import MyiaError, grad, myia

BACKENDS = ("vm", "numba")
A = np.array([1.0, -2.0, 3.0, -0.5])
PROGRAMS = [
    lambda a: a[a > 0], lambda a: np.sum(a[a > 0]), lambda a: np.sum(np.sqrt(a[a > 0]) * 2.0 + 1), lambda a: np.mean(a[a > 0]), lambda a: a[a > 0].max(),
    lambda a: len(a[a > 0]), lambda a: a[a > 0].size, lambda a: (a[a > 0] ** 2).sum(), lambda a: np.prod(a[a < 0]), lambda a: np.any(a[a > 0] > 2),
    lambda a: np.log(a[a > 0]), lambda a: np.sum(a[a > 0] * a[a > 0]), lambda a: 1.0 - a[a < 1], lambda a: np.min(a[np.abs(a) > 0.7]),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_value(number: int, backend: str) -> None:
    f = PROGRAMS[number]
    for a in (A, A.reshape(2, 2), A.astype(np.float32)):
        found, expected = myia(f, backend=backend)(a), f(a)
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradient_is_zero_where_nothing_is_selected(backend: str) -> None:
    """Also where the function would be NaN there."""
    g = grad(lambda a: np.sum(np.sqrt(a[a > 0]) * a[a > 0]), backend=backend)(A)
    np.testing.assert_allclose(g, np.where(A > 0, 1.5 * np.sqrt(np.abs(A)), 0.0))
    second = grad(lambda a: np.sum(grad(lambda v: np.sum(v[v > 0] ** 3))(a)), backend=backend)(A)
    np.testing.assert_allclose(second, np.where(A > 0, 6 * A, 0.0))


@pytest.mark.parametrize("backend", BACKENDS)
def test_assignment(backend: str) -> None:
    def f(a):  # type: ignore[no-untyped-def]
        a[a < 0] = 0.0
        return a

    before = A.copy()
    np.testing.assert_array_equal(myia(f, backend=backend)(A), np.maximum(A, 0.0))
    np.testing.assert_array_equal(A, before)


@pytest.mark.parametrize("backend", BACKENDS)
def test_errors(backend: str) -> None:
    with pytest.raises(ValueError, match="no identity"):
        myia(lambda a: a[a > 10].max(), backend=backend)(A)
    with pytest.raises(ValueError, match="two masks"):
        myia(lambda a: np.sum(a[a > 0] * a[a > 2]), backend=backend)(A)
    with pytest.raises(MyiaError):
        myia(lambda a: a[a > 0][0], backend=backend)(A)
