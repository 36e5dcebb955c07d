"""Functions of array loops against mpmath: at most two units in the last place, everywhere; edges exactly; huge arguments of sin and cos."""
from __future__ import annotations

import functools
import math
from typing import Any

import mpmath
import numpy as np
import pytest

import myia_notebook as myia

NAMES = ("exp", "expm1", "tanh", "log", "log1p", "sin", "cos")
DTYPES = ("float64", "float32")
EDGES = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-310, 1e-45, 1e-40, -1e-40, 2.0 ** -1022, 1e-17, -1e-17, 1e-9, 1e-5, 0.5,
         88.7, 89.5, -87.5, -103.5, -104.5, 709.7, 709.9, -708.5, -745.1, -746.5, 20.0, -20.0, 40.0, -40.0, 1e30, -1e30]


@functools.cache
def compiled(name: str) -> Any:
    return myia.compile_source(f"def f(x):\n    return np.{name}(x)\n", {"np": np})["f"]


def inputs(name: str, dtype: str) -> Any:
    """Dense where the function bends, spread over the exponents, and next to the multiples of a quarter turn."""
    random = np.random.default_rng(7)
    low, high = (-104, 89) if dtype == "float32" else (-746, 710)
    dense = random.uniform(-3, 3, 500)
    wide = random.uniform(low, high, 300)
    scales = np.exp2(random.uniform(-120, 60, 300)) * random.choice([-1, 1], 300)
    turns = random.integers(-40_000, 40_000, 200) * (math.pi / 2)
    near_one = 1 + random.uniform(-1, 1, 200) * np.exp2(random.uniform(-50, -1, 200))
    x = np.concatenate([dense, wide, scales, turns, near_one, EDGES])
    with np.errstate(over="ignore", under="ignore"):
        x = x.astype(dtype)
    return np.abs(x) if name == "log" else x


def exact(name: str, x: float) -> Any:
    return {"exp": mpmath.exp, "expm1": mpmath.expm1, "tanh": mpmath.tanh, "log": mpmath.log, "log1p": mpmath.log1p, "sin": mpmath.sin,
            "cos": mpmath.cos}[name](mpmath.mpf(x))


def unit(value: Any, dtype: str) -> float:
    """The distance of floats around a value, at least that of the subnormal ones."""
    digits, least = (53, -1074) if dtype == "float64" else (24, -149)
    exponent = math.floor(mpmath.log(abs(value), 2)) if value else least
    return math.ldexp(1.0, max(exponent + 1 - digits, least))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_two_units_in_the_last_place(name: str, dtype: str) -> None:
    x = inputs(name, dtype)
    y = compiled(name)(x)
    assert y.dtype == dtype
    top = float(np.finfo(dtype).max)
    worst, where = 0.0, 0.0
    with mpmath.workprec(400):
        for a, b in zip(x.tolist(), y.tolist()):
            if not math.isfinite(a) or (name == "log" and a <= 0) or (name == "log1p" and a <= -1):
                continue
            right = exact(name, a)
            if abs(right) > top:
                assert b == math.copysign(math.inf, right) or abs(b) == top, (name, a, b)
                continue
            error = float(abs(mpmath.mpf(b) - right) / unit(right, dtype))
            if not error <= worst:
                worst, where = error, a
    assert worst <= 2, (worst, where)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_edges_are_those_of_numpy(name: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        x = np.array([math.nan, math.inf, -math.inf, 0.0, -0.0, -1.0, -2.0, 1e38, -1e38], dtype)
        right = getattr(np, name)(x)
        y = compiled(name)(x)
    rest = np.isfinite(right) & (right != 0)
    np.testing.assert_array_equal(y[~rest], right[~rest])
    np.testing.assert_array_equal(np.signbit(y[right == 0]), np.signbit(right[right == 0]))
    np.testing.assert_allclose(y[rest], right[rest], rtol=4e-7 if dtype == "float32" else 1e-15)


@pytest.mark.parametrize("name", ("sin", "cos"))
@pytest.mark.parametrize("huge", (1e16, 2.0 ** 45 + 1, 1e300, 6381956970095103 * 2.0 ** 797))
def test_huge_arguments_are_reduced_exactly(name: str, huge: float) -> None:
    """Also where one of many is huge, and inside a sum."""
    x = np.linspace(-5, 5, 37)
    x[20] = huge
    with mpmath.workprec(1400):
        right = np.array([float(exact(name, a)) for a in x.tolist()])
    # the last one is the float nearest to a multiple of π/2: there glibc's own cos, to which huge arguments go, is 8 units off
    np.testing.assert_allclose(compiled(name)(x), right, rtol=2e-15 if huge > 1e200 else 4.5e-16)
    total = myia.compile_source(f"def f(x):\n    return np.sum(np.{name}(x) * 2.0)\n", {"np": np})["f"]
    assert abs(total(x) - 2 * math.fsum(right)) < 1e-14


def test_a_shared_part_is_computed_once_and_forced_where_it_must_be() -> None:
    """Expressions whose parts are used several times: in one loop, in two results, under broadcasting and beside a reduction."""
    source = """
def f(x, w):
    s = np.sin(x)
    a = s * s + s
    m = np.sum(a, axis=0)
    b = (a - m) * np.exp(-a * a)
    c = a * w + b
    return np.sum(b), c, c * c + s, np.max(b, axis=1)
"""
    f = myia.compile_source(source, {"np": np})["f"]
    random = np.random.default_rng(1)
    x, w = random.normal(size=(5, 7)), random.normal(size=(7,))
    s = np.sin(x)
    a = s * s + s
    b = (a - a.sum(0)) * np.exp(-a * a)
    c = a * w + b
    for one, other in zip(f(x, w), (b.sum(), c, c * c + s, b.max(1))):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-14)


def test_long_expressions_with_every_part_used_twice() -> None:
    """Doubling at every line: computed once each, or this would never end."""
    lines = "".join("    x = x * 0.5 + np.tanh(x) * x\n" for _ in range(70))
    f = myia.compile_source(f"def f(x):\n{lines}    return x\n", {"np": np})["f"]
    x = right = np.linspace(-1, 1, 11)
    for _ in range(70):
        right = right * 0.5 + np.tanh(right) * right
    np.testing.assert_allclose(f(x), right, rtol=1e-12, atol=1e-300)
