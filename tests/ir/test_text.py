"""The textual IR: what is printed is read back to an equal program; the verifier names what is wrong."""
from __future__ import annotations

import math

import pytest

import myia_notebook as myia
from myia_notebook.api import Derivative, make_unit
from myia_notebook.infer.close import close
from myia_notebook.infer.engine import infer
from myia_notebook.ir.clone import clone
from myia_notebook.ir.text import parse_program, print_program
from myia_notebook.ir.verify import verify_typed
from myia_notebook.vm import run

PROGRAMS = {
    "power": ("def f(x, n):\n    y = 1.0\n    while n > 0:\n        y = y * x\n        n = n - 1\n    return y\n", (1.5, 4)),
    "branch": ("def f(x):\n    if x > 0.0:\n        return x * x\n    return -x\n", (-2.0,)),
    "closure": ("def f(x):\n    def g(y):\n        return x * y\n    h = g if x > 0.0 else (lambda y: y + x)\n    return h(3.0)\n", (2.0,)),
    "tuple": ("def f(x):\n    t = (x, (x * x, 2))\n    return t[1][0] + t[1][1]\n", (2.0,)),
    "recursion": ("def f(x, n):\n    return 1.0 if n == 0 else x * f(x, n - 1)\n", (2.0, 5)),
}


def typed(name: str):  # noqa: ANN201
    source, arguments = PROGRAMS[name]
    function = myia.compile_source(source, {"math": math})["f"]
    unit, _ = make_unit(function.__myia_function__, list(arguments), Derivative(), "vm")
    return infer(close(unit.parsed), unit.arguments), arguments


@pytest.mark.parametrize("name", PROGRAMS)
def test_round_trip(name: str) -> None:
    program, arguments = typed(name)
    text = print_program(program)
    again = parse_program(text)
    assert print_program(again) == text
    assert verify_typed(again) == []
    assert run(again, arguments) == run(program, arguments)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_clone_prints_the_same_and_shares_no_graph(name: str) -> None:
    program, _ = typed(name)
    copy, _ = clone(program)
    assert print_program(copy) == print_program(program)
    assert copy is not program


def test_the_verifier_names_a_wrong_type() -> None:
    wrong = parse_program("@f(x: float) -> int:\n  y : float = multiply(x, x)\n  return y\n")
    assert verify_typed(wrong) == ["@f: result is float, not int"]
    wrong = parse_program("@f(x: float) -> float:\n  y : float = @g(x, x)\n  return y\n\n@g(x: float) -> float:\n  return x\n")
    assert "takes 1 values, got 2" in verify_typed(wrong)[0]


def test_unreadable_text_names_its_line() -> None:
    with pytest.raises(ValueError, match="line 2"):
        parse_program("@f(x: float) -> float:\n  y : float = nothing(x)\n  return y\n")
