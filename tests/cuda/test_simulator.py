"""Kernels on Numba's simulator, against the interpreter. Runs under NUMBA_ENABLE_CUDASIM=1 only: `test_cuda` starts it in a process of its own."""
from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest

if os.environ.get("NUMBA_ENABLE_CUDASIM") != "1":
    pytest.skip("started by test_cuda, with the simulator switched on", allow_module_level=True)

from myia_notebook import MyiaError, grad, map_elements, myia  # noqa: E402
from tests.cuda.programs import SCALARS, Pair, Point, integers, newton, numbers, orbit  # noqa: E402
from tests.fuzz.generator import program  # noqa: E402
from tests.fuzz.judge import load, outcome  # noqa: E402
from tests.language import programs_everyday, programs_functions  # noqa: E402
from tests.language.rows import ROWS  # noqa: E402

CORPUS = [*((p, 1.3) for p in (*programs_functions.PROGRAMS, *programs_everyday.PROGRAMS)[::7]), *((r.program, r.at) for r in ROWS[::9])]


def _same(f: Any, *args: Any) -> None:
    """The device's value is the interpreter's, or the program is refused by name."""
    try:
        found = outcome(f("cuda"), *args)
    except MyiaError as problem:
        assert problem.code == "M801" and "no CUDA form" in problem.message and problem.span is not None
        return
    expected = outcome(f("vm"), *args)
    assert found == expected if isinstance(expected, str) else found == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("entry", CORPUS, ids=lambda e: e[0].__name__)
def test_corpus(entry: Any) -> None:
    f, x = entry
    _same(lambda backend: myia(f, backend=backend), x)
    _same(lambda backend: grad(f, backend=backend), x)


@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed: int) -> None:
    f = load(program(seed))["f"]
    _same(lambda backend: myia(f, backend=backend), 0.37, 2)
    _same(lambda backend: grad(f, backend=backend), 0.37, 2)


@pytest.mark.parametrize("f", SCALARS, ids=lambda f: f.__name__)
def test_mapped_with_two_derivatives(f: Any) -> None:
    x = np.linspace(0.3, 2.7, 19)
    for g in (f, grad(f), grad(grad(f))):
        found, expected = map_elements(g, backend="cuda")(x), map_elements(g, backend="vm")(x)
        assert np.allclose(found, expected, rtol=1e-12, atol=1e-13)
    assert np.allclose(map_elements(f, backend="cuda")(x), [f(v) for v in x.tolist()], rtol=1e-13)


def test_tuples_broadcasting_and_records() -> None:
    a = np.linspace(0.5, 4.0, 6).reshape(2, 3)
    x, n = map_elements(newton, backend="cuda")(a)
    assert np.allclose(x, np.sqrt(a)) and n.dtype == np.int64 and n.tolist() == [[newton(v)[1] for v in row] for row in a.tolist()]
    start, dt = Point(np.array([1.0, 0.5, 2.0]), 0.25), np.array([[0.1], [0.2]])
    found = map_elements(orbit, backend="cuda")(start, dt)
    for i, j in np.ndindex(2, 3):
        one = orbit(Point(float(start.x[j]), 0.25), float(dt[i, 0]))
        assert found.x[i, j] == pytest.approx(one.x, rel=1e-14) and found.y[i, j] == pytest.approx(one.y, rel=1e-14)
    slope = map_elements(grad(lambda p: p.x ** p.k), backend="cuda")(Pair(np.array([0.5, 2.0]), np.array([2, 3])))
    assert np.allclose(slope.x, [1.0, 12.0])


def test_numbers_at_their_edges() -> None:
    x, y = (v.ravel() for v in np.meshgrid([-7.5, -2.0, 0.0, 0.5, 3.0, 1e300], [-2.0, 0.75, 3.0]))
    for found, expected in zip(map_elements(numbers, backend="cuda")(x, y), map_elements(numbers, backend="vm")(x, y)):
        assert np.allclose(found, expected, rtol=1e-14, atol=0.0, equal_nan=True) and found.dtype == expected.dtype
    single = [v.astype(np.float32) for v in (x[:10], y[:10])]
    for found, expected in zip(map_elements(numbers, backend="cuda")(*single), map_elements(numbers, backend="vm")(*single)):
        assert found.dtype == expected.dtype and np.allclose(found, expected, rtol=1e-6, equal_nan=True)
    i, k = (v.ravel() for v in np.meshgrid([-9, -1, 0, 4, 1000], [-3, 1, 5]))
    for found, expected in zip(map_elements(integers, backend="cuda")(i, k), [np.array(v) for v in zip(*(integers(a, b) for a, b in zip(i.tolist(), k.tolist())))]):
        assert np.array_equal(found, expected) and found.dtype == expected.dtype


def test_errors_have_the_line_and_the_element() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        map_elements(lambda x, y: x / y, backend="cuda")(1.0, np.array([1.0, 2.0, 0.0, 3.0, 0.0]))
    assert caught.value.element == 2 and "x / y" in str(caught.value)

    def asked(x):
        if x > 2.0:
            raise ValueError(f"too much: {x}")
        return x

    with pytest.raises(ValueError, match="too much: 2.5 .at element 1"):
        map_elements(asked, backend="cuda")(np.array([1.0, 2.5, 3.0]))
    with pytest.raises(ValueError, match="math domain error"):
        myia(lambda x: math.sqrt(x), backend="cuda")(-1.0)


def test_columns_grow_with_the_recursion() -> None:
    def deep(x, n):
        return x if n == 0 else x * deep(x, n - 1)

    x, n = np.array([1.0, 1.001, 0.999]), np.array([3, 400, 700])
    assert np.allclose(map_elements(deep, backend="cuda")(x, n), x ** (n + 1), rtol=1e-12)
