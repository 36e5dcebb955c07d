"""Arguments of every kind that one may pass by mistake: each gives the right value or one clear error, the same on both backends, and the function goes on."""
from __future__ import annotations

import decimal
import functools
import math
import pathlib
from typing import Any

import numpy as np
import pytest

from myia_notebook import MyiaError, grad, myia

BACKENDS = ("vm", "numba")
A = np.arange(4.0)


class Sub(np.ndarray):
    pass


class Real(float):
    pass


def twice(x):  # type: ignore[no-untyped-def]
    return x * 2.0


def squares(x):  # type: ignore[no-untyped-def]
    return np.sum(x * x)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("value", [
    A.view(Sub), np.ma.array(A, mask=[0, 1, 0, 0]), np.array([1.0, None], object), np.array(["a"]), np.zeros(3, [("a", float)]),
    np.array(["2020-01-01"], "datetime64[D]"), A.astype("f2"), A.astype("g"), A.astype(complex), A.astype("i1"), np.array([2**63], np.uint64), {1: 2}, {1},
    object(), b"a", math, 1j, decimal.Decimal(1), (i for i in ()), functools.reduce(lambda a, _: (a,), range(5000), 1.0)],
    ids=lambda v: type(v).__name__ + (f"-{v.dtype}" if isinstance(v, np.ndarray) else ""))
def test_values_that_are_refused(value: Any, backend: str) -> None:
    f = myia(squares, backend=backend)
    with pytest.raises(TypeError) as caught:
        f(value)
    assert isinstance(caught.value, MyiaError) and caught.value.code == "M305" and caught.value.hint
    assert f(A) == 14.0


def _read_only() -> Any:
    a = A.copy()
    a.flags.writeable = False
    return a


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("value", [
    _read_only(), A.astype(">f8"), np.frombuffer(b"\0" + A.tobytes(), "u1")[1:].view("f8"), A[::-2], np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.zeros((0, 3)), np.broadcast_to(2.0, (3, 2)), np.array([np.nan, np.inf, 5e-324])], ids=["read-only", "swapped", "unaligned", "strided", "fortran",
                                                                                              "empty", "broadcast", "nan"])
def test_arrays_laid_out_in_any_way(value: Any, backend: str) -> None:
    before = value.copy()
    np.testing.assert_array_equal(myia(squares, backend=backend)(value), np.sum(value * value))
    found = grad(squares, backend=backend)(value)
    np.testing.assert_array_equal(found, 2 * value)
    assert found.dtype == np.float64 and found.flags.writeable
    np.testing.assert_array_equal(value, before)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f, n, expected", [
    (lambda n: n + 1, 2**63 - 1, -2**63), (lambda n: n * n, 2**40, 0), (lambda n: -n, -2**63, -2**63), (lambda n: abs(n), -2**63, -2**63),
    (lambda n: n // -1, -2**63, -2**63), (lambda n: n % -1, -2**63, 0)], ids=["add", "multiply", "negative", "abs", "floor-divide", "remainder"])
def test_integers_wrap_at_64_bits(f: Any, n: int, expected: int, backend: str) -> None:
    assert myia(f, backend=backend)(n) == expected


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f, x, kind, words", [
    (lambda n: np.sum(np.zeros(n)), -1, ValueError, "negative dimensions"), (lambda n: np.sum(np.full((2, n), 3.0)), -2, ValueError, "negative dimensions"),
    (twice, 2**70, OverflowError, "does not fit in 64 bits"), (lambda x: int(x), math.nan, ValueError, "cannot convert"),
    (lambda x: x ** 1000.0, 10.0, OverflowError, "math range error"), (lambda x: math.exp(x), 1e4, OverflowError, "math range error"),
    (squares, np.broadcast_to(1.0, (2**40,)), MemoryError, "not enough memory")], ids=["zeros", "full", "big", "nan", "power", "exp", "memory"])
def test_errors_as_python_and_numpy_have_them(f: Any, x: Any, kind: type[Exception], words: str, backend: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        myia(f, backend=backend)(x)
    assert isinstance(caught.value, MyiaError) and str(caught.value).count("M7") <= 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_subclasses_of_numbers_are_numbers(backend: str) -> None:
    for value in (Real(3.0), 5e-324, -0.0):
        found = myia(twice, backend=backend)(value)
        assert found == value * 2.0 and math.copysign(1, found) == math.copysign(1, value)


def test_a_memory_mapped_file_is_read_or_refused(tmp_path: pathlib.Path) -> None:
    mapped = np.memmap(tmp_path / "a", float, "w+", shape=(4,))
    mapped[:] = A
    for backend in BACKENDS:
        try:
            assert myia(squares, backend=backend)(mapped) == 14.0
        except MyiaError as problem:
            assert problem.code == "M305"
        assert myia(squares, backend=backend)(np.asarray(mapped)) == 14.0


def test_data_whose_parts_are_shared_are_looked_at_once() -> None:
    """A tuple that holds itself twice, forty times over, has 2⁴⁰ leaves and 41 parts."""
    from myia_notebook.foreign import as_known
    shared: Any = (1.0,)
    for _ in range(40):
        shared = (shared, shared)
    assert as_known(shared) is shared
    endless: list[Any] = [1.0]
    endless += [endless, endless]
    assert as_known(endless) is endless
    with pytest.raises(TypeError) as caught:
        myia(twice)(endless)
    assert isinstance(caught.value, MyiaError) and caught.value.code == "M305"
