"""Right answers pass, wrong ones are told what differs; the magic does the same and leaves the notebook's names alone."""
from __future__ import annotations

import math
import re

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

from myia_notebook.course import EXERCISES, Exercise, Input
from myia_notebook.exercise import check


def logistic_back(x, d):
    y = 1.0 / (1.0 + math.exp(-x))
    return (d * y * (1.0 - y),)


def power_sum(x, n):
    return sum(x ** k for k in range(n)) if n else 0.0


def antiderivative(x):
    return math.sin(x * x)


ANSWERS = {
    "product": lambda x, y, d: (d * y, d * x),
    "quotient": lambda x, y, d: (d / y, -d * x / (y * y)),
    "logistic": logistic_back,
    "distance": lambda x, y, d: (d * x / math.hypot(x, y), d * y / math.hypot(x, y)),
    "dot": lambda a, b, d: (d * b, d * a),
    "matvec": lambda m, v, d: (np.outer(d, v), m.T @ d),
    "power_sum": power_sum,
    "antiderivative": antiderivative,
}


@pytest.mark.parametrize("name", EXERCISES)
def test_a_right_answer_passes(name: str) -> None:
    feedback = check(name, ANSWERS[name])
    assert feedback, feedback.text


def test_a_wrong_argument_is_named_with_both_values() -> None:
    feedback = check("quotient", lambda x, y, d: (d / y, d * x / (y * y)))
    assert not feedback
    assert "∇y is not right (argument 2 of 2)" in feedback.text and "yours" in feedback.text and "∇x" not in feedback.text


def test_a_forgotten_sensitivity_is_recognized() -> None:
    assert "one factor d" in check("product", lambda x, y, d: (y, x)).text
    assert "one factor d" not in check("product", lambda x, y, d: (d * x, d * y)).text


def test_a_wrong_element_of_an_array_is_named() -> None:
    def wrong(a, b, d):
        right = d * b
        right[2] += 1.0
        return right, d * a
    assert "∇a [2] is not right" in check("dot", wrong).text


@pytest.mark.parametrize("answer, told", [
    (lambda x, y, d: d * y, "a tuple with one sensitivity for each argument, here 2; yours gave a float"),
    (lambda x, y, d: (d * y,), "yours gave a tuple of 1"),
    (lambda x, y, d: (d * y, None), "∇y should be a number or an array .*; yours is None"),
    (lambda x, y, d: (np.array([d * y]), d * x), r"∇x has shape \(1,\)"),
    (lambda x, y: (x, y), "your function stopped at .*TypeError"),
    (lambda x, y, d: (math.nan, d * x), "(?s)^(?!.*one factor).*∇x is not right"),
])
def test_answers_of_a_wrong_kind(answer, told) -> None:
    assert re.search(told, check("product", answer).text)


def test_another_course_has_its_own_table() -> None:
    table = {"square": Exercise("square", "value", "square", (Input("x", 0, 3, (2, 2)),), lambda x: x * x, "the square")}
    assert check("square", lambda x: x ** 2, table) and not check("square", lambda x: x + x, table)
    with pytest.raises(ValueError, match="there are square"):
        check("cube", lambda x: x, table)


@pytest.fixture
def shell():
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "myia_notebook")
    return shell


def test_the_magic_judges_and_defines(shell) -> None:
    feedback = shell.run_cell_magic("myia_exercise", "product", "def product_back(x, y, d):\n    return d * y, d * x\n")
    assert feedback and shell.user_ns["product_back"](2.0, 3.0, 1.0) == (3.0, 2.0)
    assert not shell.run_cell_magic("myia_exercise", "product", "def product_back(x, y, d):\n    return d, d\n")


def test_an_untouched_cell_shows_the_task_even_if_the_name_is_taken(shell, capsys) -> None:
    shell.user_ns["product_back"] = ANSWERS["product"]
    assert shell.run_cell_magic("myia_exercise", "product", "# your answer\n") is None
    assert "Define product_back" in capsys.readouterr().out
    assert shell.user_ns["product_back"] is ANSWERS["product"]


def test_an_unknown_name_is_refused_with_those_there_are(shell) -> None:
    from IPython.core.error import UsageError
    with pytest.raises(UsageError, match="there is no exercise 'nothing'"):
        shell.run_cell_magic("myia_exercise", "nothing", "pass")
