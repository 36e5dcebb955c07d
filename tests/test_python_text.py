"""The Python text of the code stage is a program: executed, it gives the values; it has the user's names and knows the user's lines. The corpus, the
rows of the language and the random programs run on it too (`backend="python"`)."""
from __future__ import annotations

import math

import numpy as np
import pytest

import myia_notebook as myia
from myia_notebook import MyiaError
from myia_notebook.emit.python_runtime import NAMES
from tests.cases.running import define

LOOP = """
def f(x, n):
    total = 0.0
    for k in range(n):
        total = total + math.sin(k * x)
    return total

def kernel(a, b):
    return np.sum(np.exp(-a * a) / b)
"""


def _code(f, *args):
    compilation = myia.explain(f, *args)
    assert compilation.problem is None
    return next(c for c in compilation.stages["code"].code if c.language == "python")


def test_it_runs_without_the_compiler() -> None:
    space = define(LOOP, "vm")
    text = _code(space["f"], 0.3, 4)
    own = dict(NAMES)
    exec("\n".join(text.lines), own)
    assert own["f"](0.3, 4) == pytest.approx(sum(math.sin(k * 0.3) for k in range(4)), rel=1e-15)
    text = _code(space["kernel"], np.array([0.5, 1.0]), np.array([2.0, 4.0]))
    own = dict(NAMES)
    exec("\n".join(text.lines), own)
    assert own["kernel"](np.array([0.0, 1.0]), np.array([1.0, 2.0])) == pytest.approx(1 + math.exp(-1) / 2, rel=1e-15)


def test_it_reads_like_the_program() -> None:
    text = _code(define(LOOP, "vm")["f"], 0.3, 4)
    whole = "\n".join(text.lines)
    assert "while True:" in whole and "math.sin(" in whole and "total" in whole and "def f(x, n):" in whole
    line = next(i for i, t in enumerate(text.lines) if "math.sin(" in t)
    assert LOOP.strip("\n").splitlines()[text.origin[line] - 1].strip() == "total = total + math.sin(k * x)"


@pytest.mark.parametrize("expression, x, y", [
    ("x * y", 2**62, 6), ("x + y", 2**63 - 1, 2**63 - 1), ("x ** y", 7, 40), ("-x + 0 * y", -2**63, 1), ("x << y", 3, 63), ("x // y", -2**63, -1)])
def test_ints_have_64_bits(expression: str, x: int, y: int) -> None:
    source = f"def f(x, y):\n    return {expression}\n"
    found = define(source, "python")["f"](x, y)
    with np.errstate(all="ignore"):
        exact = eval(expression, {"x": x, "y": y})
    assert found == (exact + 2**63) % 2**64 - 2**63


def test_division_is_pythons_and_derivatives_never_raise() -> None:
    f = define("def f(x, y):\n    return math.sqrt(x) / y\n", "python")["f"]
    with pytest.raises(ZeroDivisionError) as caught:
        f(1.0, 0.0)
    assert isinstance(caught.value, MyiaError) and caught.value.span.line == 2
    with pytest.raises(ValueError, match="math domain error"):
        f(-1.0, 1.0)
    assert myia.grad(f, backend="python")(0.0, 1.0) == math.inf


def test_names_that_the_text_needs_stay_free() -> None:
    f = define("def f(float, exp, ZERO):\n    sum = float * exp\n    return np.exp(sum) + ZERO\n", "python")["f"]
    assert f(0.5, 2.0, 1.0) == pytest.approx(math.e + 1)


def test_deep_recursion_and_its_gradient() -> None:
    f = define("def f(x, n):\n    return x if n == 0 else x * f(x, n - 1) / 2.0 + 1.0\n", "python")["f"]
    y = value = 0.8
    slope = 1.0
    for _ in range(5000):
        value, slope = y * value / 2.0 + 1.0, value / 2.0 + y * slope / 2.0
    assert f(y, 5000) == pytest.approx(value, rel=1e-12) and myia.grad(f, backend="python")(y, 5000) == pytest.approx(slope, rel=1e-12)


def test_the_callers_array_is_not_handed_back() -> None:
    f = define("def f(x):\n    return x[1:]\n", "python")["f"]
    x = np.arange(3.0)
    y = f(x)
    y[0] = 7.0
    assert x[1] == 1.0
