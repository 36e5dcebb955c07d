"""The gradient of every operation of the library, to relative 1e-8, and its second derivatives by every nesting of the two modes, to relative 1e-6, against
differences in extended precision that are known ten times better. A new name of the table is checked by itself."""
from __future__ import annotations

import json
import zlib

import numpy as np
import pytest

from tests.ops.catalog import family_of, makers
from tests.ops.draw import Draw
from tests.ops.gradcheck import BOUNDS, FIGURES, Measured, Reference, along, measured

pytest.importorskip("scipy.special")
MAKERS = makers()
RECORDED = json.loads(FIGURES.read_text())
NATIVE = ("reverse", "forward over reverse")


def call(name: str, i: int):  # type: ignore[no-untyped-def]
    return MAKERS[name][1](Draw([3, i, zlib.crc32(name.encode())], True))


@pytest.mark.parametrize("name", MAKERS)
def test_derivatives(name: str) -> None:
    found = [m for i in range(2) for m in measured(call(name, i), ("vm",), np.random.default_rng(i))]
    found += measured(call(name, 0), ("numba",), np.random.default_rng(0), NATIVE)
    assert not [m.fault for m in found if m.fault], name
    assert bool(found) == (name not in RECORDED["discrete"]), "write the figures again: python tools/gradcheck.py"


def test_every_operation_has_a_figure() -> None:
    """What the page says: how many operations of each family were checked, and none beyond the bounds."""
    differentiable: dict[str, int] = {}
    for name, (f, _) in MAKERS.items():
        if name not in RECORDED["discrete"]:
            differentiable[family_of(name, f)] = differentiable.get(family_of(name, f), 0) + 1
    assert {family: row["operations"] for family, row in RECORDED["families"].items()} == differentiable
    for row in RECORDED["families"].values():
        assert row["first"] <= BOUNDS[1] and row["second"] <= BOUNDS[2]


def test_the_reference_knows_how_good_it_is() -> None:
    """Derivatives of sin and exp, whose exact values are known, are as good as it says; a noisy function is known to be badly known."""
    def f(x):  # type: ignore[no-untyped-def]
        return np.sum(np.sin(3 * x) + np.exp(x))
    at, exact = (0.7,), {1: 3 * np.cos(2.1) + np.exp(0.7), 2: -9 * np.sin(2.1) + np.exp(0.7)}
    for order, reference in along(f, at, (1.0,)).items():
        assert reference.doubt < 1e-11 and abs(reference.value - exact[order]) <= max(10 * reference.doubt, 1e-15)
    assert along(lambda x: np.float32(f(x)), at, (1.0,))[2].doubt > 1e-6


def test_a_wrong_derivative_is_a_fault() -> None:
    good = Reference(2.0, 1e-12)
    assert not Measured("reverse", 1, "vm", 2.0 + 1e-9, good).fault
    assert Measured("reverse", 1, "vm", 2.0 + 1e-7, good).fault and Measured("reverse", 2, "vm", float("nan"), good).fault
    assert "only known to" in Measured("reverse", 1, "vm", 2.0, Reference(2.0, 1e-8)).fault
