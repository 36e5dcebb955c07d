"""Programs with known right answers, on every backend. A program outside the language as built must be refused with a MyiaError,
never answered wrongly; those inside it (`OUTSIDE` lists the others, with the feature that is missing) must be right."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import myia_notebook as myia
from myia_notebook import MyiaError
from tests.cases.programs import PROGRAMS
from tests.cases.running import BACKENDS, define, same

OUTSIDE: dict[str, str] = {}
ERRORS: dict[str, tuple[type, ...]] = {
    "name": (NameError,), "nargs": (TypeError,), "type": (TypeError, KeyError), "shape": (ValueError,), "assertion": (AssertionError,),
    "recursion": (RecursionError,), "purity": (SyntaxError, TypeError), "syntax": (SyntaxError,),
}


def _arguments(case: dict[str, Any], namespace: dict[str, Any]) -> tuple[Any, ...]:
    value = eval(case["call"][1], namespace)
    return value if isinstance(value, tuple) else (value,)


def _check(case: dict[str, Any], backend: str) -> None:
    expect = case["expect"]
    if "error" in expect:
        with pytest.raises(ERRORS[expect["error"]]) as caught:
            namespace = define(case["source"], backend)
            namespace[case["call"][0]](*_arguments(case, namespace))
        assert isinstance(caught.value, MyiaError)
        assert caught.value.code.startswith("M") and caught.value.code != "M800"
        return
    namespace = define(case["source"], backend)
    function = namespace[case["call"][0]]
    arguments = _arguments(case, namespace)
    if "value" in expect:
        assert same(function(*arguments), expect["value"], 1e-10), (function(*arguments), expect["value"])
    for position, gradient in enumerate(expect.get("grad", ())):
        if gradient is not None:
            found = myia.grad(function, position, backend=backend)(*arguments)
            assert same(found, gradient, 1e-9), (position, found, gradient)
    if "hess" in expect:
        second = myia.grad(myia.grad(function, backend=backend), backend=backend)(*arguments)
        assert math.isclose(float(second), expect["hess"], rel_tol=1e-9)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", [c for c in PROGRAMS if c["name"] not in OUTSIDE], ids=lambda c: c["name"])
def test_program(case: dict[str, Any], backend: str) -> None:
    _check(case, backend)


@pytest.mark.parametrize("case", [c for c in PROGRAMS if c["name"] in OUTSIDE], ids=lambda c: c["name"])
def test_outside_is_refused_or_right(case: dict[str, Any]) -> None:
    """What is not built yet says so: one MyiaError, no internal error, no other value."""
    try:
        _check(case, "vm")
    except MyiaError as problem:
        assert problem.code != "M800", problem


def test_plain_python_agrees() -> None:
    """The expected values are Python's own (where plain Python can run the program)."""
    checked = 0
    for case in PROGRAMS:
        if "value" in case["expect"] and "grad" not in case["source"]:
            namespace: dict[str, Any] = {"np": np, "math": math}
            exec(case["source"], namespace)
            assert same(namespace[case["call"][0]](*_arguments(case, namespace)), case["expect"]["value"], 1e-12), case["name"]
            checked += 1
    assert checked > 50
