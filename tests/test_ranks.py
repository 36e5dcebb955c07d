"""One program for every shape of a rank: values, gradients and errors are those of a program for each shape, and little is compiled."""
from __future__ import annotations

import numpy as np
import pytest

from myia_notebook import MyiaError, grad, myia, value_and_grad
from myia_notebook import api as api_module
from myia_notebook import ranks as ranks_module


def _network(x, w1, b1, w2, y):
    h = np.tanh(x @ w1 + b1)
    return np.mean((h @ w2 - y) ** 2)


def _network_gradient(x, w1, b1, w2, y):
    h = np.tanh(x @ w1 + b1)
    d = 2 * (h @ w2 - y) / y.size
    back = (d @ w2.T) * (1 - h * h)
    return x.T @ back, back.sum(0), h.T @ d


@pytest.fixture
def compilations(monkeypatch):
    """The programs that were compiled, one entry each."""
    made = []
    real = api_module.compile_unit
    for module in (api_module, ranks_module):
        monkeypatch.setattr(module, "compile_unit", lambda unit, *rest: made.append(unit) or real(unit, *rest))
    return made


def test_twenty_shapes_of_a_network_compile_two_programs(compilations):
    step = value_and_grad(_network, (1, 2, 3))
    rng = np.random.default_rng(0)
    for n in range(20):
        rows, inner, hidden, out = 30 + n, 3 + n % 4, 9 + n % 3, 20 + n % 2
        a = [rng.normal(size=s) for s in ((rows, inner), (inner, hidden), (hidden,), (hidden, out), (rows, out))]
        value, gradient = step(*a)
        np.testing.assert_allclose(value, _network(*a), rtol=1e-12)
        for mine, want in zip(gradient, _network_gradient(*a), strict=True):
            np.testing.assert_allclose(mine, want, rtol=1e-10, atol=1e-14)
    assert len(compilations) <= 2


def _row_sums(x):
    total = 0.0
    for row in x:
        total = total + np.sum(row) ** 2
    return total


def _by_index(x):
    total = 0.0
    for i in range(len(x)):
        total = total + x[i] * x[i] * (i + 1)
    return total


PROGRAMS = {
    "elementwise": (lambda x: np.exp(x) * 2.0 - x / 3.0, ((1,), (2,), (3,), (7,), (0,), (5,))),
    "broadcast": (lambda x: x[:, None] * x[None, :] + x, ((1,), (2,), (4,), (0,), (9,))),
    "broadcast two": (lambda x, y: x * y + x, (((3, 1), (4,)), ((5, 1), (2,)), ((4, 4), (4,)), ((6, 6), (6,)), ((1, 7), (7,)), ((1, 3), (3,)))),
    "mean": (lambda x: np.mean(x) + np.mean(x, axis=0) @ np.ones(3), ((4, 3), (5, 3), (9, 3), (3, 3))),
    "variance": (lambda x: np.var(x), ((4,), (5,), (2,), (11,))),
    "reductions": (lambda x: np.sum(x, axis=1) + np.max(x, axis=1) - np.min(x), ((2, 3), (3, 4), (4, 4), (5, 2), (2, 1))),
    "product": (lambda x, y: x @ y, (((2, 3), (3, 4)), ((3, 5), (5, 2)), ((2, 2), (2, 2)), ((40, 30), (30, 20)), ((1, 3), (3, 1)), ((4, 0), (0, 3)))),
    "transposed": (lambda x: x.T @ x + x.T @ np.ones(x.shape), ((2, 3), (4, 5), (3, 3), (6, 2))),
    "reshape": (lambda x: x.reshape(-1) * 2.0, ((2, 3), (4, 5), (3, 3))),
    "halves": (lambda x: x.reshape(2, -1), ((4,), (6,), (10,), (8,))),
    "slices": (lambda x: x[1:] - x[:-1], ((3,), (4,), (2,), (8,))),
    "steps": (lambda x: x[::2] * 1.5, ((3,), (4,), (5,), (8,), (9,))),
    "backwards": (lambda x: x[::-1] - x, ((3,), (4,), (5,))),
    "ends": (lambda x: x[0] + x[-1] * x[len(x) - 1], ((3,), (4,), (5,), (2,))),
    "concatenated": (lambda x, y: np.concatenate((x, y)) * 2.0, (((2,), (3,)), ((4,), (5,)), ((6,), (6,)), ((2,), (9,)))),
    "rows": (_row_sums, ((2, 3), (3, 4), (5, 5), (1, 4))),
    "indices": (_by_index, ((2,), (3,), (70,), (9,))),
    "size": (lambda x: x * len(x) + x.size / 2, ((3,), (4,), (5,), (7,))),
    "branch on a shape": (lambda x: x * 2.0 if len(x) > 4 else x - 1.0, ((3,), (4,), (5,), (9,), (2,))),
}


def _arguments(shape):
    shapes = shape if shape and isinstance(shape[0], tuple) else (shape,)
    rng = np.random.default_rng(sum(map(len, shapes)))
    return [rng.normal(size=s) for s in shapes]


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_numpy(name):
    function, shapes = PROGRAMS[name]
    compiled = myia(function)
    for shape in (*shapes, *shapes):
        a = _arguments(shape)
        np.testing.assert_allclose(compiled(*a), function(*a), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_are_those_of_a_program_for_each_shape(name):
    function, shapes = PROGRAMS[name]
    total = lambda *a: np.sum(np.sin(function(*a)))
    twice = lambda *a: np.sum(grad(total)(*a) ** 2)
    first, second = grad(total), grad(twice)
    for shape in shapes[:4]:
        a = _arguments(shape)
        np.testing.assert_allclose(first(*a), grad(lambda *b: total(*b))(*a), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(second(*a), grad(lambda *b: twice(*b))(*a), rtol=1e-10, atol=1e-10)


def test_an_error_is_that_of_its_shape():
    def f(x, y):
        return np.sum(x + y)

    shared = myia(f)
    for n in (3, 4, 5):
        assert shared(np.ones(n), np.ones(n)) == 2.0 * n
    with pytest.raises(MyiaError) as raised:
        shared(np.ones(6), np.ones(7))
    with pytest.raises(MyiaError) as alone:
        myia(f)(np.ones(6), np.ones(7))
    assert raised.value.code == alone.value.code == "M401" and str(raised.value) == str(alone.value)
    assert shared(np.ones(8), np.ones(8)) == 16.0


def test_an_error_at_run_time_names_its_own_size():
    def f(x, i):
        return x[i]

    shared = myia(f)
    assert [shared(np.arange(n) * 1.0, 1) for n in (3, 4, 5, 6)] == [1.0] * 4
    with pytest.raises(MyiaError, match="size 7"):
        shared(np.arange(7) * 1.0, 7)


def test_a_new_dtype_is_another_program():
    def f(x):
        return x * 2

    shared = myia(f)
    for n in (3, 4, 5):
        assert shared(np.arange(n)).dtype == np.int64
        assert shared(np.arange(n, dtype=np.float32)).dtype == np.float32


def test_arrays_in_a_tuple(compilations):
    step = grad(lambda p, x: np.mean((x @ p[0] + p[1]) ** 2))
    rng = np.random.default_rng(1)
    for n, k in ((11, 3), (12, 4), (15, 5), (18, 6), (21, 7)):
        w, b, x = rng.normal(size=k), 0.5, rng.normal(size=(n, k))
        got = step((w, b), x)
        r = x @ w + b
        np.testing.assert_allclose(got[0], 2 * x.T @ r / n, rtol=1e-10)
        np.testing.assert_allclose(got[1], 2 * np.mean(r), rtol=1e-10)
    assert len(compilations) <= 2
