"""Every row of the language: value, first and second derivative, on every backend, against plain Python."""
from __future__ import annotations

import math

import pytest

from myia_notebook import explain, grad, myia
from tests.language.rows import ROWS, Row

BACKENDS = ("vm", "numba", "python")


def differences(f, x: float) -> tuple[float, float]:
    """First and second derivative by central differences with Richardson's extrapolation (errors about 1e-9 and 1e-6)."""
    def first(h: float) -> float:
        return (f(x + h) - f(x - h)) / (2 * h)

    def second(h: float) -> float:
        return (f(x + h) - 2 * f(x) + f(x - h)) / (h * h)

    h = 2e-3
    return tuple((64 * d(h / 4) - 20 * d(h / 2) + d(h)) / 45 for d in (first, second))  # type: ignore[return-value]


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.program.__name__)
@pytest.mark.parametrize("backend", BACKENDS)
def test_row(row: Row, backend: str) -> None:
    f, x = row.program, row.at
    value = f(x)
    found = myia(f, backend=backend)(x)
    assert type(found) in (float, type(value)) and math.isclose(found, value, rel_tol=1e-12)
    first, second = differences(lambda v: float(f(v)), x)
    assert math.isclose(grad(f, backend=backend)(x), first, rel_tol=1e-6, abs_tol=1e-7)
    assert math.isclose(grad(grad(f, backend=backend), backend=backend)(x), second, rel_tol=3e-4, abs_tol=3e-4)


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.program.__name__)
def test_row_is_explained(row: Row) -> None:
    """All stages are there, with graphs, text and a check of every stage."""
    compilation = explain(grad(row.program), row.at, check=True)
    assert compilation.problem is None, compilation.problem
    assert [*compilation.stages] == ["parsed", "typed", "adjoint", "optimized", "lowered", "code", "run"]
    for name in ("parsed", "typed", "adjoint", "optimized"):
        assert compilation.stages[name].text and compilation.stages[name].final.nodes
