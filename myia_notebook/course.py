"""The exercises of the course: what each asks for, and the function that its answer is judged by.

No answer stands here for an exercise on derivatives: it is computed from the primal function when a student's answer is judged
(`exercise.py`). Inputs are drawn from the given ranges, so that no answer passes by accident at one point.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Kind = Literal["value", "backpropagator", "primal"]


@dataclass(frozen=True, slots=True)
class Input:
    """An argument of an exercise: a number of a range, or an array of numbers of it; whole numbers where `whole`."""
    name: str
    low: float
    high: float
    shape: tuple[int, ...] = ()
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Exercise:
    """`value`: compute what `reference` computes. `backpropagator`: from reference's arguments and ∇ give the tuple of the
    arguments' sensitivities. `primal`: a function of one number whose derivative is `reference`."""
    name: str
    kind: Kind
    function: str
    inputs: tuple[Input, ...]
    reference: Callable[..., Any]
    task: str


def _product(x, y):  # type: ignore[no-untyped-def]
    return x * y


def _quotient(x, y):  # type: ignore[no-untyped-def]
    return x / y


def _logistic(x):  # type: ignore[no-untyped-def]
    return 1.0 / (1.0 + math.exp(-x))


def _distance(x, y):  # type: ignore[no-untyped-def]
    return math.sqrt(x * x + y * y)


def _dot(a, b):  # type: ignore[no-untyped-def]
    return np.sum(a * b)


def _matvec(m, v):  # type: ignore[no-untyped-def]
    return m @ v


def _power_sum(x, n):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(n):
        total = total + x ** k
    return total


def _cosine_of_square(x):  # type: ignore[no-untyped-def]
    return 2.0 * x * math.cos(x * x)


_X, _Y = Input("x", -2.0, 2.0), Input("y", 0.5, 2.0)

EXERCISES: dict[str, Exercise] = {e.name: e for e in (
    Exercise("product", "backpropagator", "product_back", (_X, _Y), _product, "the backpropagator of x * y: product_back(x, y, d) gives (∇x, ∇y)"),
    Exercise("quotient", "backpropagator", "quotient_back", (_X, _Y), _quotient, "the backpropagator of x / y: quotient_back(x, y, d) gives (∇x, ∇y)"),
    Exercise("logistic", "backpropagator", "logistic_back", (_X,), _logistic, "the backpropagator of 1 / (1 + exp(-x)): logistic_back(x, d) gives (∇x,)"),
    Exercise("distance", "backpropagator", "distance_back", (_X, _Y), _distance, "the backpropagator of sqrt(x² + y²): distance_back(x, y, d) gives (∇x, ∇y)"),
    Exercise("dot", "backpropagator", "dot_back", (Input("a", -1.0, 1.0, (4,)), Input("b", -1.0, 1.0, (4,))), _dot,
             "the backpropagator of the sum of a * b: dot_back(a, b, d) gives (∇a, ∇b)"),
    Exercise("matvec", "backpropagator", "matvec_back", (Input("m", -1.0, 1.0, (3, 4)), Input("v", -1.0, 1.0, (4,))), _matvec,
             "the backpropagator of m @ v: matvec_back(m, v, d) gives (∇m, ∇v)"),
    Exercise("power_sum", "value", "power_sum", (Input("x", -1.5, 1.5), Input("n", 0, 8, whole=True)), _power_sum,
             "power_sum(x, n) gives 1 + x + x² + … with n terms"),
    Exercise("antiderivative", "primal", "antiderivative", (_X,), _cosine_of_square, "a function of x whose derivative is 2 x cos(x²)"),
)}
