"""Live inputs and curves: the program runs again on other numbers, without a compilation, and within a budget of time."""
from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import myia_notebook as myia
from myia_notebook.cell import run_cell
from myia_notebook.view import curve, live

POWER = "def power(x, n):\n    y = 1.0\n    while n > 0:\n        y = y * x\n        n = n - 1\n    return y\n\ngrad(power)(1.5, 4)"


def described(source: str, **names: Any) -> dict[str, Any]:
    result = run_cell(source, {"grad": myia.grad, "value_and_grad": myia.value_and_grad, "math": math, **names})
    assert result.problem is None
    return json.loads(json.dumps(result.compilation.payload()["live"]))


def test_inputs_are_named_and_typed() -> None:
    got = described(POWER)["inputs"]
    assert [(i["name"], i["kind"], i["value"]) for i in got] == [("x", "float", 1.5), ("n", "int", 4)]


def test_another_run_has_the_values_of_the_new_numbers() -> None:
    made = described(POWER)
    got = live.answer({"token": made["token"], "values": [2.0, 6], "input": 0, "range": [0.0, 4.0], "number": 7})
    assert (got["known"], got["number"], got["result"], got["error"]) == (True, 7, "192.0", "")
    assert got["curve"]["range"] == [0.0, 4.0] and got["curve"]["text"] == "power(x, 6)"
    assert got["curve"]["at"] == [2.0, 64.0, 192.0]
    assert "32.0" in got["trace"]["values"]  # x⁵, on the way


def test_the_curve_is_f_and_its_derivative() -> None:
    got = described(POWER)["curve"]
    x = np.array(got["x"])
    assert (x[0], x[-1]) == (0.0, 3.0)
    np.testing.assert_allclose(got["f"], x**4, rtol=1e-12)
    np.testing.assert_allclose(got["d"], 4 * x**3, rtol=1e-12)


def test_a_plain_call_shows_itself_and_its_derivative() -> None:
    got = described("def f(x):\n    return math.sin(x) * x\n\nf(a) + 1.0", a=0.5)["curve"]
    x = np.array(got["x"])
    assert got["text"] == "f(a) + 1.0"
    np.testing.assert_allclose(got["f"], np.sin(x) * x + 1, atol=1e-12)
    np.testing.assert_allclose(got["d"], np.cos(x) * x + np.sin(x), atol=1e-12)


def test_where_there_is_no_value_there_is_a_gap() -> None:
    got = described("def f(x):\n    return math.log(x)\n\ngrad(f)(1.0)")["curve"]
    assert [v is None for v in got["f"]] == [x <= 0 for x in got["x"]]
    assert all(abs(f - math.log(x)) < 1e-12 for x, f in zip(got["x"], got["f"]) if f is not None)


def test_a_loop_that_never_ends_does_not_stop_the_kernel() -> None:
    """x ≤ 0 never reaches 100 by doubling."""
    made = described("def f(x):\n    while x < 100.0:\n        x = x * 2.0\n    return x\n\ngrad(f)(0.5)")
    assert made["curve"]["at"] == [0.5, 128.0, 256.0]
    got = live.answer({"token": made["token"], "values": [-1.0], "number": 1})
    assert got["error"].startswith("still running") and got["result"] == ""


def test_an_error_of_the_program_is_said() -> None:
    made = described("def f(x):\n    return 1.0 / x\n\ngrad(f)(2.0)")
    assert live.answer({"token": made["token"], "values": [0.0], "number": 1})["error"].startswith("M701")


@pytest.mark.parametrize("values", [["a"], [None], [], [1.0, 2.0], "x", [float("nan")], [1e400], [True]])
def test_what_is_no_number_changes_nothing(values: Any) -> None:
    made = described("def f(x):\n    return x * x\n\ngrad(f)(3.0)")
    assert live.answer({"token": made["token"], "values": values, "number": 1})["result"] == "6.0"


@pytest.mark.parametrize("message", [None, 3, {}, {"token": "gone", "values": [1.0]}, {"token": None}])
def test_a_program_that_is_not_here_is_not_known(message: Any) -> None:
    assert live.answer(message)["known"] is False


def test_a_program_that_prints_does_not_run_unasked() -> None:
    result = run_cell("def f(x):\n    print(x)\n    return x * x\n\ngrad(f)(3.0)", {"grad": myia.grad})
    assert result.compilation.payload()["live"] is None


def test_no_curve_where_the_value_is_no_float() -> None:
    assert described("def f(x):\n    return (x, x)\n\nf(3.0)")["curve"] is None
    assert described("def f(n):\n    return n + 1\n\nf(3)")["curve"] is None


def test_the_same_name_twice() -> None:
    got = described("def f(x):\n    return x * x\n\nf(2.0) + f(3.0)")
    assert [i["name"] for i in got["inputs"]] == ["x", "x"] and got["curve"]["text"] == "f(x) + f(3.0)" and got["curve"]["at"] == [2.0, 13.0, 4.0]


@pytest.mark.parametrize("value, window", [(1.5, (0, 3)), (0.3, (-0.5, 1.5)), (250.0, (0, 500)), (-2.0, (-4, 0)), (0.0, (-1, 1))])
def test_windows_have_round_ends(value: float, window: tuple[float, float]) -> None:
    assert curve.window_of(value) == window
