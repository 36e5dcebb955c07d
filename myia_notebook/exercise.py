"""Exercises that check themselves.

`%%myia_exercise NAME` runs a cell as `%%myia` does and judges the function that the exercise asks for; `check(NAME, function)` is the
same from Python. A judgement is a `Feedback`: true if the answer is right (so that `assert check(...)` grades it), and a text that
says which result differs, at which inputs and by how much. Inputs are drawn from a fixed seed: a judgement can be repeated.

Right answers of derivatives are computed, by `vjp` and `grad`, from the primal function in `course.py`.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from myia_notebook.course import EXERCISES, Exercise, Input

ROUNDS = 12
TOLERANCE = 1e-7


@dataclass(frozen=True, slots=True)
class Feedback:
    """The judgement of one answer."""
    exercise: str
    passed: bool
    text: str

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


def exercise_named(name: str, exercises: dict[str, Exercise] | None = None) -> Exercise:
    """The exercise, or a ValueError that lists those there are."""
    known = EXERCISES if exercises is None else exercises
    if name not in known:
        raise ValueError(f"there is no exercise {name!r}; there are {', '.join(known)}")
    return known[name]


def check(name: str, answer: Callable[..., Any], exercises: dict[str, Exercise] | None = None) -> Feedback:
    """Judges an answer to the exercise `name`. `exercises` is the table of another course.

    >>> bool(check("product", lambda x, y, d: (d * y, d * x)))
    True
    >>> print(check("product", lambda x, y, d: (d * y, d * y)).text.splitlines()[0])
    product: ∇y is not right (argument 2 of 2).
    """
    exercise = exercise_named(name, exercises)
    random = np.random.default_rng(2018)
    for _ in range(ROUNDS):
        inputs = [_draw(i, random) for i in exercise.inputs]
        problem = _judge(exercise, answer, inputs, random)
        if problem:
            return Feedback(name, False, f"{name}: {problem}")
    return Feedback(name, True, f"{name}: right, at {ROUNDS} random inputs.")


def _draw(given: Input, random: np.random.Generator) -> Any:
    if given.whole:
        return int(random.integers(int(given.low), int(given.high) + 1))
    value = random.uniform(given.low, given.high, given.shape)
    return value if given.shape else float(value)


def _judge(exercise: Exercise, answer: Callable[..., Any], inputs: list[Any], random: np.random.Generator) -> str:
    """What is wrong with the answer at these inputs, or ''."""
    match exercise.kind:
        case "value":
            found, problem = _called(answer, exercise, inputs)
            return problem or _compare("the result", "", found, exercise.reference(*inputs), _at(exercise, inputs))
        case "primal":
            return _judge_primal(exercise, answer, inputs)
        case "backpropagator":
            return _judge_backpropagator(exercise, answer, inputs, random)


def _judge_primal(exercise: Exercise, answer: Callable[..., Any], inputs: list[Any]) -> str:
    from myia_notebook.api import grad
    found, problem = _called(grad(answer), exercise, inputs)
    return problem or _compare("the derivative of your function", "", found, exercise.reference(*inputs), _at(exercise, inputs))


def _judge_backpropagator(exercise: Exercise, answer: Callable[..., Any], inputs: list[Any], random: np.random.Generator) -> str:
    from myia_notebook.derivatives import vjp
    value, back = vjp(exercise.reference, *inputs)
    shape = np.shape(value)
    d: Any = random.uniform(0.5, 2.0, shape) if shape else float(random.uniform(0.5, 2.0))
    expected = back(d)
    expected = expected if isinstance(expected, tuple) else (expected,)
    found, problem = _called(answer, exercise, [*inputs, d])
    if problem:
        return problem
    count = len(inputs)
    if not isinstance(found, tuple) or len(found) != count:
        what = f"a tuple of {len(found)}" if isinstance(found, tuple) else f"a {type(found).__name__}"
        return f"a backpropagator gives a tuple with one sensitivity for each argument, here {count}; yours gave {what}."
    where = f"{_at(exercise, inputs)}, d = {_number(d)}"
    for position, (given, mine, right) in enumerate(zip(exercise.inputs, found, expected)):
        problem = _compare(f"∇{given.name}", f" (argument {position + 1} of {count})", mine, right, where)
        if problem:
            doubled, again = _called(answer, exercise, [*inputs, 2.0 * d])
            return problem + ("" if again or _is_linear(doubled, mine, position) else
                              "\nTwice the sensitivity d must give twice the result; yours does not: does each term carry one factor d?")
    return ""


def _is_linear(doubled: Any, mine: Any, position: int) -> bool:
    """Whether the result for twice the sensitivity is twice the result; also where the results are no numbers at all."""
    if _real(mine) is None:
        return True
    twice = _real(doubled[position]) if isinstance(doubled, tuple) and len(doubled) > position else None
    return twice is not None and twice.shape == np.shape(mine) and bool(np.allclose(twice, 2.0 * np.asarray(mine), equal_nan=True))


def _real(value: Any) -> np.ndarray | None:
    """The value as an array of floats if it is numbers."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        return None
    return array.astype(float) if array.dtype.kind in "biuf" else None


def _called(answer: Callable[..., Any], exercise: Exercise, arguments: list[Any]) -> tuple[Any, str]:
    """The answer's result, or what went wrong as a sentence: a student's error is feedback, not a traceback."""
    try:
        return answer(*arguments), ""
    except Exception as problem:  # whatever the student's function raises
        return None, f"your function stopped at {_at(exercise, arguments)}: {type(problem).__name__}: {problem}"


def _compare(what: str, place: str, found: Any, expected: Any, where: str) -> str:
    """Why found is not expected, or ''."""
    mine = _real(found)
    if mine is None:
        return f"{what} should be a number or an array{place}; yours is {found!r}."
    right = np.asarray(expected, dtype=float)
    if mine.shape != right.shape:
        return f"{what} has shape {mine.shape}{place}; it should have {right.shape}, the shape of what it is the sensitivity of."
    wrong = ~np.isclose(mine, right, rtol=TOLERANCE, atol=TOLERANCE)
    if not wrong.any():
        return ""
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    element = f" [{', '.join(map(str, index))}]" if index else ""
    return (f"{what}{element} is not right{place}.\nAt {where}:\n    yours     {mine[index]:.10g}\n    expected  {right[index]:.10g}\n"
            f"    difference {mine[index] - right[index]:.3g}")


def _at(exercise: Exercise, values: list[Any]) -> str:
    names = [i.name for i in exercise.inputs] + ["d"]
    return ", ".join(f"{n} = {_number(v)}" for n, v in zip(names, values))


def _number(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, separator=", ").replace("\n", "")
    return f"{value:.6g}" if isinstance(value, float) else repr(value)
