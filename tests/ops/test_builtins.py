"""Builtins that need more than an operation: `round` to digits, unions of dicts, and `itertools` whose results have as many items as they were asked for."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from myia_notebook import MyiaError, grad, myia

BACKENDS = ("vm", "numba")


def rounded(x: float) -> Any:
    return round(x * 2.3456789, 3), round(x, -1), round(x, ndigits=2), round(12345, -2), round(True, 1), round(x, None), round(2.675, 2), round(0.0 * x, 1)


def united(x: float) -> float:
    d = {"a": x} | {"b": 2 * x, "a": 3.0}
    d |= {"c": x}
    return d["a"] + d["b"] * d["c"]


def pairs(x: float) -> float:
    s = 0.0
    for p, q in itertools.combinations([x, x + 1, x + 2], 2):
        s = s + p * q
    return s + sum(a * b for a, b in itertools.combinations([v * x for v in range(4)], 2))


def triples(x: float) -> Any:
    s = 0.0
    for p, q, r in itertools.product([x, x + 1], (x, 2.0), [x]):
        s = s + p * q * r
    return s, list(itertools.product([x, x + 1], repeat=2)), list(itertools.combinations((x, x + 1, 3.0, 4.0), 3)), len(list(itertools.combinations([x], 2)))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [rounded, united, pairs, triples], ids=lambda f: f.__name__)
def test_as_in_python(f: Any, backend: str) -> None:
    for x in (2.0, 0.125, -7.5):
        assert repr(myia(f, backend=backend)(x)) == repr(f(x))


@pytest.mark.parametrize("backend", BACKENDS)
def test_lists_of_run_time_length(backend: str) -> None:
    def f(xs: list[float], c: float) -> float:
        return sum(a * b for a, b in itertools.combinations(xs, 2)) + sum(a * b for a, b in itertools.product(xs, [c, 1.0]))
    # e₂ = ab + ac + bc and (a + b + c)(c′ + 1)
    assert myia(f, backend=backend)([1.0, 2.0, 3.0], 2.0) == 11 + 6 * 3
    assert grad(f, (0, 1), backend=backend)([1.0, 2.0, 3.0], 2.0) == ([5.0 + 3, 4.0 + 3, 3.0 + 3], 6.0)


def test_round_of_numpys_numbers_and_its_derivative() -> None:
    for v in (np.float32(2.675), np.float64(1e300), float("inf"), -0.0, 10**18 + 5):
        assert myia(lambda x: round(x, 2))(v) == round(v, 2)
    assert grad(lambda x: round(x, 2) * x)(2.675) == 2.67
    with pytest.raises(MyiaError, match=r"np\.round"):
        myia(lambda x: round(x, 2))(np.ones(3))
