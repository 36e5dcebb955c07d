"""The call from Python: what the machine-code entry accepts and what it hands to the slow path gives the same answers, and errors stay errors."""
from __future__ import annotations

import math
import resource

import numpy as np
import pytest

from myia_notebook import grad, myia

K = 3.0


def scaled(x):
    return math.sin(x) * K


def test_kinds_of_arguments_alternate() -> None:
    f = myia(lambda x: x * 2 + 1)
    for _ in range(3):
        for x in (1.5, 2, True, np.float64(2.5), np.float32(1.5), np.int32(3), np.int64(4), np.array([1.0, 2.0]), np.array(2.0)):
            expected = x * 2 + 1
            found = f(x)
            assert type(found) is type(np.asarray(expected)[()] if isinstance(x, np.ndarray) and x.ndim == 0 else expected)
            np.testing.assert_array_equal(found, expected)


def test_arrays_that_are_not_contiguous_or_have_another_shape() -> None:
    f = myia(lambda a: (a * 2.0, np.sum(a)))
    a = np.arange(12.0).reshape(3, 4)
    for _ in range(2):
        for v in (a, a.T, a[:, ::2], np.asfortranarray(a), a[::-1], a.astype(">f8"), a.astype(np.float32), a[:, :0]):
            doubled, total = f(v)
            np.testing.assert_array_equal(doubled, v * 2.0)
            assert total == np.sum(v)
    read_only = a.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(f(read_only)[0], a * 2)


def test_results_are_fresh() -> None:
    f = myia(lambda a: a + 1.0)
    first = f(np.zeros(3))
    second = f(np.zeros(3))
    first[0] = 100.0
    assert second.tolist() == [1.0, 1.0, 1.0]


def test_a_rebound_global_is_seen() -> None:
    global K
    f = myia(scaled)
    assert [f(1.0) for _ in range(3)] == [math.sin(1.0) * 3.0] * 3
    K = 4.0
    assert f(1.0) == math.sin(1.0) * 4.0
    del K
    with pytest.raises(NameError):
        f(1.0)
    K = 3.0
    assert f(1.0) == math.sin(1.0) * 3.0


def test_a_changed_cell_and_changed_code_are_seen() -> None:
    k = 2.0

    def g(x):  # type: ignore[no-untyped-def]
        return x * k

    f = myia(g)
    assert f(3.0) == 6.0 and f(3.0) == 6.0
    k = 5.0
    assert f(3.0) == 15.0
    g.__code__ = (lambda x: x * k + 1.0).__code__
    assert f(3.0) == 16.0


def test_errors_come_back_each_time() -> None:
    f = myia(lambda x, y: x / y)
    assert f(1.0, 2.0) == 0.5
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            f(1.0, 0.0)
        with pytest.raises(TypeError):
            f(1.0)
        with pytest.raises(OverflowError):
            myia(lambda n: n + 1)(2**70)
    assert f(1.0, 4.0) == 0.25


def test_keyword_only_parameters_stay_so() -> None:
    def g(x, *, s):  # type: ignore[no-untyped-def]
        return x * s

    f = myia(g)
    assert f(2.0, s=3.0) == f(2.0, s=3.0) == 6.0
    with pytest.raises(TypeError):
        f(2.0, 3.0)


def test_nothing_leaks() -> None:
    f, g = myia(lambda a: (a * 2.0, np.sum(a), a.shape[0])), grad(lambda x: x * x / x)
    a = np.ones(1000)
    for _ in range(100):
        f(a), g(2.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for i in range(50_000):
        f(a), g(2.0)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4000  # KiB


def test_first_calls_from_several_threads() -> None:
    import threading

    @myia
    def shared(x, n):
        y = x
        while n > 0:
            y = math.sin(y) * x
            n = n - 1
        return y

    def python(x: float, n: int) -> float:
        y = x
        while n > 0:
            y = math.sin(y) * x
            n = n - 1
        return y

    found: dict[int, list[float]] = {}
    wrong: list[BaseException] = []

    def work(i: int) -> None:
        try:
            own = grad(lambda v: math.tanh(v * v))
            found[i] = [shared(0.5 + i * 0.01, 3), grad(shared)(0.5, 2), own(1.0), shared(1, 3)]
        except BaseException as problem:
            wrong.append(problem)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong
    for i in range(8):
        assert found[i][0] == python(0.5 + i * 0.01, 3) and found[i][3] == python(1, 3)
        assert found[i][1:3] == found[0][1:3]


def test_objects_are_called_directly_where_the_interpreter_allows() -> None:
    """The field of `Direct` is set after the first call; names, other types and errors still go where they should."""
    import ctypes

    from myia_notebook.emit import vectorcall
    f = myia(lambda a, b: a / b)
    assert f(3.0, 2.0) == 1.5
    field = ctypes.c_int64.from_address(id(f) + object.__basicsize__).value if vectorcall._is_expected() else 1
    assert field != 0
    assert list(map(f, [1.0, 2.0], [4.0, 4.0])) == [0.25, 0.5]
    assert f(*(3.0, 4.0)) == 0.75 and f(b=2.0, a=1.0) == 0.5 and f(1.0, b=4.0) == 0.25
    with pytest.raises(ZeroDivisionError):
        f(1.0, 0.0)
    with pytest.raises(TypeError):
        f(1.0)
    np.testing.assert_array_equal(f(np.array([1.0, 2.0]), 2.0), [0.5, 1.0])


def test_new_arrays_come_from_numpy() -> None:
    from myia_notebook.emit.call import array_maker
    f = myia(lambda a: (a * 2, a.T + 0.5))
    a = np.arange(6.0).reshape(2, 3)
    for _ in range(3):
        doubled, turned = f(a)
        np.testing.assert_array_equal(doubled, a * 2)
        np.testing.assert_array_equal(turned, a.T + 0.5)
        assert doubled.flags.owndata and doubled.flags.writeable and doubled.flags.c_contiguous
    assert isinstance(array_maker(), int)


def test_copies_and_pickles() -> None:
    import copy
    import pickle
    f, g = myia(scaled), grad(scaled)
    assert f(0.5) == math.sin(0.5) * 3.0 and math.isclose(g(0.5), math.cos(0.5) * 3.0)
    for again in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        for _ in range(2):
            assert again(f)(0.5) == f(0.5) and again(g)(0.5) == g(0.5)
            assert again(grad(g))(0.5) == grad(g)(0.5)
