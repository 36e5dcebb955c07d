"""Made derivatives against hand-written ones: the same values, and at most 1.2 times the operations."""
from __future__ import annotations

import numpy as np
import pytest

import myia_notebook as myia
from tests.optimize.handwritten import PROGRAMS, Program
from tools.operation_counts import row

STRAIGHT = ("x²", "tanh", "its", "network", "LSTM", "array", "Rosenbrock")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_counts(program: Program) -> None:
    arguments = program.arguments()
    made = program.derivative or myia.grad(program.f, program.wrt, backend="vm")
    expected = program.by_hand(*arguments)
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (made(*arguments), expected))):
        np.testing.assert_allclose(a, b, rtol=1e-10)
    _, _, hand, ours, _, left = row(program)
    assert ours <= program.ratio * hand
    assert not {"env_make", "env_get", "add_sensitivities"} & left.keys()
    if program.name.startswith(STRAIGHT):
        assert left == {}
