"""Programs distilled from public bug reports: the fault of each must not exist here. Cases that need what is not built yet
(`OUTSIDE`) must be refused with a MyiaError or be right."""
from __future__ import annotations

import os
import signal
import threading
from typing import Any

import numpy as np
import pytest

import myia_notebook as myia
from myia_notebook import MyiaError
from tests.cases.reports import CASES
from tests.cases.running import BACKENDS, define, same

OUTSIDE = {"list_append_in_loop": "append changes a list in place: refused"}
VALUE_KINDS = ("value", "grad", "deriv", "hessian", "subgrad", "dtype", "error", "value_or_error")


def _nth(function: Any, order: int, backend: str) -> Any:
    for _ in range(order):
        function = myia.grad(function, backend=backend)
    return function


def _gradients(case: dict[str, Any], function: Any, backend: str) -> list[Any]:
    wrt = case.get("wrt", range(len(case["args"])))
    return [myia.grad(function, i, backend=backend)(*case["args"]) for i in wrt]


def _bounds(case: dict[str, Any], found: Any) -> None:
    expect, values = case["expect"], np.atleast_1d(np.asarray(found, float))
    assert np.all(np.isfinite(values))
    assert np.all(values >= expect["lo"]) and np.all(values <= expect["hi"])
    if "sum" in expect:
        assert np.isclose(values.sum(), expect["sum"])
    assert all(values[i] == 0 for i in expect.get("zero_at", ()))


def _error(case: dict[str, Any], function: Any) -> None:
    with pytest.raises(MyiaError) as caught:
        function(*case["args"])
    text = str(caught.value)
    assert all(word in text for word in case["expect"]["mention"]), text
    assert caught.value.span is not None and caught.value.span.line == case["expect"]["line"], text
    names = [c.__name__ for c in type(caught.value).__mro__]
    assert case["expect"]["python"] is None or case["expect"]["python"] in names, names


def _check(case: dict[str, Any], backend: str) -> None:
    function = define(case["source"], backend)[case["call"]]
    tolerance = case.get("tol", 1e-9)
    if "value" in case:
        assert same(float(function(*case["args"])), float(case["value"]), tolerance)
    match case["expect_kind"]:
        case "value":
            assert same(function(*case["args"]), case["expect"], tolerance)
        case "grad":
            for found, expected in zip(_gradients(case, function, backend), case["expect"]):
                assert same(found, expected, tolerance), (found, expected)
        case "deriv":
            assert same(_nth(function, case["order"], backend)(*case["args"]), case["expect"], tolerance)
        case "subgrad":
            _bounds(case, myia.grad(function, backend=backend)(*case["args"]))
        case "dtype":
            assert np.asarray(function(*case["args"])).dtype == case["expect"]["value"]
            for found, dtype, value in zip(_gradients(case, function, backend), case["expect"]["grads"], case["expect"]["grad_values"]):
                assert found.dtype == dtype and np.allclose(found, value)
        case "error":
            _error(case, function)
        case "value_or_error":
            _value_or_error(case, function, backend)
        case "hessian":
            found = myia.hessian(function, backend=backend)(*case["args"])
            assert same(np.asarray(found), np.asarray(case["expect"], float), tolerance), found
        case kind:
            raise MyiaError(f"not built: {kind}", "M603")


def _value_or_error(case: dict[str, Any], function: Any, backend: str) -> None:
    try:
        found = function(*case["args"])
    except MyiaError as problem:
        assert problem.code != "M800"
        return
    assert same(found, case["expect"], 1e-9), found
    try:
        gradients = _gradients(case, function, backend)
    except MyiaError as problem:
        assert problem.code != "M800"
        return
    for gradient, expected in zip(gradients, case.get("grads", ())):
        assert same(float(gradient), float(expected), 1e-9)


_VALUES = [c for c in CASES if c["expect_kind"] in VALUE_KINDS]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", [c for c in _VALUES if c["id"] not in OUTSIDE], ids=lambda c: c["id"])
def test_report(case: dict[str, Any], backend: str) -> None:
    _check(case, backend)


@pytest.mark.parametrize("case", [c for c in _VALUES if c["id"] in OUTSIDE], ids=lambda c: c["id"])
def test_outside_is_refused_or_right(case: dict[str, Any]) -> None:
    try:
        _check(case, "vm")
    except MyiaError as problem:
        assert problem.code != "M800", problem


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", [c for c in CASES if c["expect_kind"] == "session"], ids=lambda c: c["id"])
def test_session(case: dict[str, Any], backend: str) -> None:
    from myia_notebook.cell import CellOptions, run_cell
    namespace = define("", backend)
    for step in case["steps"]:
        if step[0] == "exec":
            run_cell(step[1], namespace, CellOptions(backend=backend, observe=False))
        else:
            assert same(eval(step[1], namespace), step[2], 1e-12), step


@pytest.mark.parametrize("backend", BACKENDS)
def test_interrupt(backend: str) -> None:
    """An endless loop ends with KeyboardInterrupt, and the next call is right."""
    case = next(c for c in CASES if c["expect_kind"] == "interrupt")
    function = define(case["source"], backend)[case["call"]]
    assert function(20.0) == 20.0
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    timer = threading.Timer(0.4, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        function(*case["args"])
    timer.join()
    signal.signal(signal.SIGINT, before)
    assert function(30.0) == 30.0
