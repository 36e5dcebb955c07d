"""Scalar arithmetic at its edges, natively and on the VM, against Python itself: signed zeros, infinities, NaN, widths, overflow."""

import itertools
import math
import operator

import numpy as np
import pytest

from myia_notebook import myia

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.25, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan]
INTS = [0, 1, -1, 2, -3, 7, 10, 2**31 - 1, -(2**31), 2**62, 2**63 - 1, -(2**63)]
BACKENDS = ["vm", "numba"]


def outcome(f, *args):
    """The value, or the built-in kind of the exception."""
    try:
        return f(*args)
    except (ArithmeticError, ValueError) as e:
        return next(kind for kind in (ZeroDivisionError, OverflowError, ArithmeticError, ValueError) if isinstance(e, kind))


def same(a, b) -> bool:
    if isinstance(a, type) or isinstance(b, type):
        return a is b
    if isinstance(a, float) and math.isnan(a):
        return isinstance(b, float) and math.isnan(b)
    return type(a) is type(b) and a == b and (not isinstance(a, float) or math.copysign(1.0, a) == math.copysign(1.0, b))


def floor_divide(x, y):
    return x // y


def mod(x, y):
    return x % y


def divide(x, y):
    return x / y


def power(x, y):
    return x**y


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [floor_divide, mod, divide], ids=lambda f: f.__name__)
def test_float_division_is_pythons(function, backend):
    compiled = myia(function, backend=backend)
    for x, y in itertools.product(FLOATS, FLOATS):
        expected, actual = outcome(function, x, y), outcome(compiled, x, y)
        assert same(expected, actual), (x, y, expected, actual)


@pytest.mark.parametrize("backend", BACKENDS)
def test_float_power_is_pythons(backend):
    compiled = myia(power, backend=backend)
    for x, y in itertools.product(FLOATS, FLOATS):
        expected = outcome(power, x, y)
        if x < 0 and math.isfinite(x) and math.isfinite(y) and y != math.floor(y):
            expected = ValueError  # complex in Python, even where it overflows
        assert same(expected, outcome(compiled, x, y)), (x, y)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [floor_divide, mod], ids=lambda f: f.__name__)
def test_int_division_is_pythons(function, backend):
    compiled = myia(function, backend=backend)
    for x, y in itertools.product(INTS, INTS):
        expected = outcome(function, x, y)
        if expected == 2**63:
            expected = -(2**63)  # 64-bit ints wrap
        assert same(expected, outcome(compiled, x, y)), (x, y)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul], ids=lambda f: f.__name__)
def test_ints_wrap_at_64_bits(operation, backend):
    compiled = myia({"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y}[operation.__name__], backend=backend)
    for x, y in itertools.product(INTS, INTS):
        expected = (operation(x, y) + 2**63) % 2**64 - 2**63
        assert same(expected, outcome(compiled, x, y)), (x, y)


@pytest.mark.parametrize("backend", BACKENDS)
def test_shifts_by_the_width_or_more(backend):
    left, right = myia(lambda x, n: x << n, backend=backend), myia(lambda x, n: x >> n, backend=backend)
    for x in (1, -1, 5, -(2**40)):
        for n in (0, 1, 31, 62, 63, 64, 65, 200):
            assert left(x, n) == ((x << n) + 2**63) % 2**64 - 2**63, (x, n)
            assert right(x, n) == x >> n, (x, n)


@pytest.mark.parametrize("backend", BACKENDS)
def test_int_to_a_negative_int_power_is_refused(backend):
    with pytest.raises(ValueError):
        myia(power, backend=backend)(2, -1)
    assert myia(power, backend=backend)(3, 0) == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_int_too_large_for_int32_is_refused(backend):
    f = myia(lambda x: x + 3_000_000_000, backend=backend)
    with pytest.raises(OverflowError):
        f(np.int32(1))
    assert myia(lambda x: x < 3_000_000_000, backend=backend)(np.int32(1)) is True


@pytest.mark.parametrize("backend", BACKENDS)
def test_booleans_of_numpy_are_booleans(backend: str) -> None:
    f = myia(lambda x: 1.0 if x else 2.0, backend=backend)
    assert [f(v) for v in (np.True_, np.array(False), True, np.bool_(0))] == [1.0, 2.0, 1.0, 2.0]


FAILS = {
    "int of inf": (lambda x: int(x), math.inf, ValueError), "int of nan": (lambda x: int(x), math.nan, ValueError), "int of 1e300": (lambda x: int(x), 1e300, ValueError),
    "round of inf": (lambda x: round(x), -math.inf, ValueError), "floor of nan": (lambda x: math.floor(x), math.nan, ValueError),
    "sin of inf": (lambda x: math.sin(x), math.inf, ValueError), "tan of inf": (lambda x: math.tan(x), -math.inf, ValueError),
    "cosh of 1000": (lambda x: math.cosh(x), 1e3, OverflowError), "sinh of -1000": (lambda x: math.sinh(x), -1e3, OverflowError),
    "expm1 of 1000": (lambda x: math.expm1(x), 1e3, OverflowError), "gamma of -1": (lambda x: math.gamma(x), -1.0, ValueError),
    "gamma of 200": (lambda x: math.gamma(x), 200.0, OverflowError), "lgamma of 0": (lambda x: math.lgamma(x), 0.0, ValueError),
    "fmod by 0": (lambda x: math.fmod(1.0, x), 0.0, ValueError),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", FAILS)
def test_python_refuses_and_so_do_we(name: str, backend: str) -> None:
    f, at, kind = FAILS[name]
    with pytest.raises((ValueError, OverflowError)):
        f(at) if at != 1e300 else int(math.nan)
    with pytest.raises(kind):
        myia(f, backend=backend)(at)


@pytest.mark.parametrize("backend", BACKENDS)
def test_where_python_has_values_so_do_we(backend: str) -> None:
    for f, values in ((lambda x: (math.sin(x), math.cosh(x), math.expm1(x)), (0.5, -3.0, math.nan, 700.0)), (lambda x: (math.gamma(x), math.lgamma(x)), (0.5, -2.5, 6.0, 170.5)),
                      (lambda x: (int(x), round(x), math.floor(x), math.ceil(x)), (2.5, -2.5, 1e15, -0.1)), (lambda x: math.fmod(x, 0.7), (5.0, -5.0, 0.0))):
        for v in values:
            np.testing.assert_allclose(myia(f, backend=backend)(v), f(v), rtol=1e-14)


@pytest.mark.parametrize("backend", BACKENDS)
def test_more_of_math(backend: str) -> None:
    for f in (lambda x: math.hypot(x, 3.0, 4.0), lambda x: math.hypot(x), lambda x: math.dist((x, 1.0), (2.0, 3.0)), lambda x: math.isclose(x, x * (1 + 1e-10)),
              lambda x: math.isclose(x, x + 1e-3), lambda x: math.isclose(x, 1.0, rel_tol=0.5), lambda x: math.isclose(math.inf, x)):
        for v in (1.25, -2.0):
            found = myia(f, backend=backend)(v)
            assert found == pytest.approx(f(v), rel=1e-15) and type(found) is type(f(v))
