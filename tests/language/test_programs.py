"""Programs as people write them: value, first and second derivative on every backend, against plain Python and differences."""
from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from myia_notebook import grad, myia
from tests.language import programs_everyday, programs_functions
from tests.language.test_rows import BACKENDS, differences

PROGRAMS = (*programs_functions.PROGRAMS, *programs_everyday.PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("backend", BACKENDS)
def test_program(program: Callable[[float], float], backend: str) -> None:
    x = 1.3
    value = program(x)
    found = myia(program, backend=backend)(x)
    assert type(found) in (float, type(value)) and math.isclose(found, value, rel_tol=1e-12)
    first, second = differences(lambda v: float(program(v)), x)
    assert math.isclose(grad(program, backend=backend)(x), first, rel_tol=1e-6, abs_tol=1e-7)
    assert math.isclose(grad(grad(program, backend=backend), backend=backend)(x), second, rel_tol=3e-4, abs_tol=3e-4)
