"""NumPy's and scipy's functions in the language, against NumPy and scipy themselves: values with their dtypes, gradients against differences of
the plain function, second derivatives against differences of the gradient; on both backends."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from myia_notebook import MyiaError, grad, myia

special = pytest.importorskip("scipy.special")
BACKENDS = ("vm", "numba")
rng = np.random.default_rng(7)
A = rng.normal(size=(3, 4))
B = rng.normal(size=(4, 2))
C = rng.normal(size=(2, 3, 4))
V = rng.normal(size=5)
S = rng.normal(size=(3, 3)) + 3 * np.eye(3)
P = S @ S.T
I = np.array([2, 0, 2, -1])
Z = np.array([2.0, 0.0, 3.0, 0.0])

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "index_array": (lambda x: x[I], (V,)),
    "index_array_rows": (lambda x: x[np.array([[1, 0], [2, 2]])], (A,)),
    "index_array_column": (lambda x: x[:, np.array([0, 3, 3])], (A,)),
    "index_array_pairs": (lambda x: x[np.array([0, 2, 2]), np.array([1, -1, 3])], (A,)),
    "index_array_int": (lambda x: x[1, np.array([0, 0, 2])], (A,)),
    "index_list": (lambda x: x[[0, 2]], (A,)),
    "take": (lambda x: np.take(x, I, axis=1), (C,)),
    "take_flat": (lambda x: np.take(x, np.array([5, 1, 5])), (A,)),
    "take_along_axis": (lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1), (A,)),
    "einsum_matmul": (lambda a, b: np.einsum("ij,jk->ik", a, b), (A, B)),
    "einsum_implicit": (lambda a, b: np.einsum("ij,jk", a, b), (A, B)),
    "einsum_batch": (lambda a, b: np.einsum("bij,jk->bik", a, b), (C, B)),
    "einsum_all": (lambda a: np.einsum("ij->", a), (A,)),
    "einsum_transpose": (lambda a: np.einsum("ij->ji", a), (A,)),
    "einsum_trace": (lambda a: np.einsum("ii->", a), (S,)),
    "einsum_diagonal": (lambda a: np.einsum("ii->i", a), (S,)),
    "einsum_repeated": (lambda a, b: np.einsum("iij,jk->ik", a, b), (rng.normal(size=(3, 3, 4)), B)),
    "einsum_three": (lambda a, b, c: np.einsum("ij,jk,kl->il", a, b, c), (A, B, rng.normal(size=(2, 2)))),
    "einsum_outer": (lambda a, b: np.einsum("i,j->ij", a, b), (V, Z)),
    "einsum_ellipsis": (lambda a, b: np.einsum("...ij,jk->...ik", a, b), (C, B)),
    "einsum_hadamard": (lambda a, b: np.einsum("ij,ij->i", a, b), (A, A + 1)),
    "tensordot": (lambda a, b: np.tensordot(a, b, axes=(0, 1)), (A, rng.normal(size=(2, 3)))),
    "tensordot_two": (lambda a, b: np.tensordot(a, b, axes=([1, 2], [0, 1])), (C, A)),
    "tensordot_int": (lambda a, b: np.tensordot(a, b, 1), (C, B)),
    "dot_batches": (lambda a, b: np.dot(a, b), (C, rng.normal(size=(2, 4, 3)))),
    "inner": (lambda a, b: np.inner(a, b), (A, C)),
    "kron": (lambda a, b: np.kron(a, b), (A[:2, :2], B[:2])),
    "cross": (lambda a, b: np.cross(a, b), (A[:, 0], A[:, 1])),
    "cumsum": (lambda x: np.cumsum(x, axis=0), (A,)),
    "cumsum_flat": (lambda x: np.cumsum(x), (A,)),
    "cumprod": (lambda x: np.cumprod(x), (Z,)),
    "cumprod_axis": (lambda x: np.cumprod(x, axis=1), (A,)),
    "prod_zeros": (lambda x: np.prod(x), (Z,)),
    "prod_axis": (lambda x: np.prod(x, axis=(0, 2), keepdims=True), (C,)),
    "sort": (lambda x: np.sort(x, axis=0), (A,)),
    "argsort": (lambda x: np.argsort(x, axis=-1), (A,)),
    "median": (lambda x: np.median(x, axis=1), (A,)),
    "diff": (lambda x: np.diff(x, n=2, axis=1), (A,)),
    "flip": (lambda x: np.flip(x, (0, 1)), (A,)),
    "roll": (lambda x: np.roll(x, 2, axis=1), (A,)),
    "roll_flat": (lambda x: np.roll(x, -1), (A,)),
    "tile": (lambda x: np.tile(x, (2, 1, 3)), (A,)),
    "repeat": (lambda x: np.repeat(x, 3, axis=1), (A,)),
    "repeat_counts": (lambda x: np.repeat(x, (1, 0, 2), axis=0), (A,)),
    "pad": (lambda x: np.pad(x, ((1, 0), (2, 1))), (A,)),
    "pad_value": (lambda x: np.pad(x, 1, constant_values=2.5), (A,)),
    "pad_reflect": (lambda x: np.pad(x, 2, mode="reflect"), (V,)),
    "split": (lambda x: np.split(x, 2, axis=1)[1], (A,)),
    "split_at": (lambda x: np.split(x, [1, 3])[1], (V,)),
    "hstack": (lambda a, b: np.hstack((a, b)), (A, A)),
    "vstack": (lambda a, b: np.vstack([a, b]), (V, V)),
    "column_stack": (lambda a, b: np.column_stack((a, b)), (V, V)),
    "moveaxis": (lambda x: np.moveaxis(x, 0, -1), (C,)),
    "append": (lambda a, b: np.append(a, b), (A, V)),
    "tril": (lambda x: np.tril(x, -1), (A,)),
    "triu": (lambda x: np.triu(x), (C,)),
    "diag_of": (lambda x: np.diag(x, 1), (A,)),
    "diag_from": (lambda x: np.diag(x, -1), (V,)),
    "trace": (lambda x: np.trace(x, 1), (A,)),
    "meshgrid": (lambda a, b: np.meshgrid(a, b)[0], (V, Z)),
    "rot90": (lambda x: np.rot90(x), (A,)),
    "average": (lambda x: np.average(x, axis=0, weights=np.array([1.0, 2.0, 3.0])), (A,)),
    "var_ddof": (lambda x: np.var(x, axis=1, ddof=1), (A,)),
    "ptp": (lambda x: np.ptp(x, axis=0), (A,)),
    "norm": (lambda x: np.linalg.norm(x), (A,)),
    "interp": (lambda x: np.interp(x, np.array([-2.0, 0.0, 2.0]), np.array([1.0, 3.0, 2.0])), (V,)),
    "solve": (lambda a, b: np.linalg.solve(a, b), (S, A)),
    "solve_vector": (lambda a, b: np.linalg.solve(a, b), (S, A[:, 0])),
    "inv": (lambda a: np.linalg.inv(a), (S,)),
    "det": (lambda a: np.linalg.det(a), (S,)),
    "slogdet": (lambda a: np.linalg.slogdet(a)[1], (S,)),
    "cholesky": (lambda a: np.linalg.cholesky(a @ a.T), (S,)),
    "matrix_power": (lambda a: np.linalg.matrix_power(a, 3), (S,)),
    "fmax": (lambda a, b: np.fmax(a, b), (V, np.roll(V, 1))),
    "logaddexp": (lambda a, b: np.logaddexp(a, b), (V, V + 0.5)),
    "nan_to_num": (lambda a: np.nan_to_num(a), (np.array([1.0, 2.0]),)),
    "sinc": (lambda a: np.sinc(a), (V,)),
    "degrees": (lambda a: np.degrees(a), (V,)),
    "copysign": (lambda a, b: np.copysign(a, b), (V, -V)),
    "fmod": (lambda a: np.fmod(a, 0.7), (V,)),
    "round": (lambda a: np.round(a, 2) + a, (V,)),
    "logsumexp": (lambda a: special.logsumexp(a, axis=1), (A,)),
    "softmax": (lambda a: special.softmax(a, axis=0), (A,)),
    "log_softmax": (lambda a: special.log_softmax(a, axis=1), (A,)),
    "expit": (lambda a: special.expit(a), (V * 3,)),
    "xlogy": (lambda a, b: special.xlogy(a, b), (np.abs(V), np.abs(V) + 1)),
    "logit": (lambda a: special.logit(a), (np.array([0.2, 0.9]),)),
}


def scalar_of(f: Callable[..., Any]) -> Callable[..., Any]:
    """A weighted sum of squares of the result: a scalar whose derivatives see every element."""
    def total(*args):  # type: ignore[no-untyped-def]
        y = f(*args)
        return np.sum(y * y * 0.5 + np.sin(y))
    return total


def differences(f: Callable[..., Any], args: tuple[Any, ...], wrt: int) -> Any:
    x = np.array(args[wrt], float)
    result = np.zeros(np.shape(f(*args)) + x.shape)
    for place in np.ndindex(*x.shape):
        def at(h: float, place: tuple[int, ...] = place) -> Any:
            moved = x.copy()
            moved[place] += h
            return np.asarray(f(*args[:wrt], moved, *args[wrt + 1:]))
        h = 1e-3
        result[(..., *place)] = (8 * (at(h / 2) - at(-h / 2)) - (at(h) - at(-h))) / (6 * h)
    return result


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_value(name: str, backend: str) -> None:
    f, args = CASES[name]
    found, expected = myia(f, backend=backend)(*args), f(*args)
    assert np.shape(found) == np.shape(expected) and np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", [n for n in CASES if n != "argsort"])
def test_gradient(name: str) -> None:
    f, args = CASES[name]
    total = scalar_of(f)
    for wrt in range(len(args)):
        expected = differences(total, args, wrt)
        for backend in BACKENDS:
            np.testing.assert_allclose(grad(total, wrt, backend=backend)(*args), expected, rtol=2e-7, atol=2e-7)


@pytest.mark.parametrize("name", [n for n in CASES if n != "argsort"])
def test_second_derivative(name: str) -> None:
    """The gradient of a weighted sum of the gradient, against differences of the gradient."""
    f, args = CASES[name]
    inner = grad(scalar_of(f))
    weights = np.cos(np.arange(np.size(args[0]))).reshape(np.shape(args[0]))

    def weighted(*xs):  # type: ignore[no-untyped-def]
        return np.sum(inner_of(*xs) * weights)

    def inner_of(*xs):  # type: ignore[no-untyped-def]
        return grad(total)(*xs)

    total = scalar_of(f)
    expected = differences(lambda *xs: np.sum(inner(*xs) * weights), args, 0)
    np.testing.assert_allclose(grad(weighted)(*args), expected, rtol=1e-6, atol=1e-6)


def test_float32_stays() -> None:
    x = A.astype(np.float32)
    for f in (lambda v: np.cumsum(v, axis=1), lambda v: np.prod(v, axis=0), lambda v: np.sort(v), lambda v: np.linalg.inv(v[:, :3]), lambda v: np.pad(v, 1)):
        for backend in BACKENDS:
            assert myia(f, backend=backend)(x).dtype == np.float32
            assert grad(lambda v: np.sum(f(v) ** 2), backend=backend)(x).dtype == np.float32  # noqa: B023


@pytest.mark.parametrize("backend", BACKENDS)
def test_errors(backend: str) -> None:
    with pytest.raises(IndexError):
        myia(lambda x, i: x[i], backend=backend)(V, np.array([0, 7]))
    with pytest.raises(ValueError):
        myia(lambda a: np.linalg.inv(a), backend=backend)(np.zeros((2, 2)))
    with pytest.raises(ValueError):
        myia(lambda a, b: np.einsum("ij,jk->ik", a, b), backend=backend)(A, A)
    with pytest.raises(MyiaError):
        myia(lambda a: a[a > 0][0], backend=backend)(V)


def test_extremes() -> None:
    """Stable forms at the ends of the range."""
    for backend in BACKENDS:
        assert myia(lambda x: special.logsumexp(x), backend=backend)(np.array([1000.0, 1000.0])) == pytest.approx(1000 + math.log(2))
        assert grad(lambda x: special.logsumexp(x), backend=backend)(np.array([-1e4, 0.0])).tolist() == [0.0, 1.0]
        assert myia(lambda x: special.expit(x), backend=backend)(np.array([-800.0, 800.0])).tolist() == [0.0, 1.0]
        assert np.all(np.isfinite(grad(lambda x: np.sum(np.logaddexp(x, 0.0)), backend=backend)(np.array([-1e3, 1e3]))))


@pytest.mark.parametrize("backend", BACKENDS)
def test_sums_of_numbers_are_wide(backend: str) -> None:
    """NumPy adds small ints and booleans up in int64, numbers as arrays."""
    for x in (np.int32(3), np.array(3, np.int32), np.bool_(True)):
        for f in (np.sum, np.prod):
            found, expected = myia(lambda v: f(v), backend=backend)(x), f(x)  # noqa: B023
            assert found == expected and np.asarray(found).dtype == expected.dtype
