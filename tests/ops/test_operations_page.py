"""docs/operations.md is what the tables say, and what it says is complete."""
from __future__ import annotations

import pathlib

import pytest

from myia_notebook.ops.primitive import NotDifferentiable, Structural
from myia_notebook.ops.table import OPERATIONS, PRIMITIVES
from tests.ops.kinks import KINKS
from tools.operation_table import operations, rules_of

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "operations.md"


def test_the_page_is_current() -> None:
    pytest.importorskip("scipy.special")
    assert PAGE.read_text() == operations(), "write it again: python tools/tables.py"


def test_equations() -> None:
    """The printed rules of a few operations, by hand."""
    expected = {
        "sin": ("∇x = ∇z·cos(x)", "ż = ẋ·cos(x)"), "multiply": ("∇x = ∇z·y; ∇y = ∇z·x", "ż = ẋ·y + ẏ·x"),
        "divide": ("∇x = ∇z/y; ∇y = −(∇z·z/y)", "ż = ẋ/y − (ẏ·z/y)"), "inv": ("∇x = −(zᵀ@(∇z@zᵀ))", "ż = −(z@(ẋ@z))"),
        "reshape": ("∇x = reshape(∇z, shape of x)", "ż = reshape(ẋ, shape of z)"), "less": ("0: a comparison is a step", "0")}
    assert {name: rules_of(PRIMITIVES[name]) for name in expected} == expected


def test_every_differentiable_primitive_has_both_rules() -> None:
    for name, p in PRIMITIVES.items():
        reverse, forward = rules_of(p)
        assert reverse and forward, name
        if p.samples and not isinstance(p.backpropagator, (NotDifferentiable, Structural)) and "tuple" not in p.laws:
            assert reverse.startswith("∇x = ") and forward.startswith("ż = "), (name, reverse, forward)


def test_kinks_name_operations() -> None:
    names = {*PRIMITIVES, *(o.name for o in OPERATIONS.values()), "nn.relu", "min, max"}
    assert {k.operation for k in KINKS} <= names
