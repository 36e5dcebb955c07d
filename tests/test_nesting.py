"""Every nesting of the derivative operators: chains of them around one function, written in several ways of the language, against mpmath's derivatives
of the same function. A chain is applied outside a program or inside one."""
from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from myia_notebook import custom_gradient, grad, hessian, jacobian, jvp, myia, value_and_grad, vjp

mpmath = pytest.importorskip("mpmath")
BACKENDS = ("vm", "numba")


# -- one function of one number, x ↦ sin(x) e^(x/2), in many forms

def plain(x: float) -> float:
    return np.sin(x) * np.exp(0.5 * x)


def by_loop(x: float) -> float:
    """e^(x/2) as sixteen factors."""
    y = np.sin(x)
    for _ in range(16):
        y = y * np.exp(x / 32.0)
    return y


def by_recursion(x: float) -> float:
    def power(n: int) -> float:
        return np.sin(x) if n == 0 else power(n - 1) * np.exp(0.125 * x)
    return power(4)


def by_closure(x: float) -> float:
    def scaled(g: Callable[[float], float]) -> Callable[[float], float]:
        return lambda v: g(v) * np.exp(0.5 * x)
    return scaled(np.sin)(x)


def by_list(x: float) -> float:
    parts = [np.exp(0.25 * x) for _ in range(2)]
    product = np.sin(x)
    for p in parts:
        product = product * p
    return product


def by_branch(x: float) -> float:
    return np.where(x > 100.0, x, np.sin(x)) * (np.exp(0.5 * x) if x < 50.0 else 0.0)


def by_array(x: float) -> float:
    v = np.array([np.sin(x), 1.0]) * np.exp(0.5 * x)
    return np.sum(v * np.array([1.0, 0.0]))


@dataclass(frozen=True)
class Wave:
    rate: float

    def at(self, x: float) -> float:
        return np.sin(x) * np.exp(self.rate * x)


def with_rate(rate: float, x: float) -> float:
    return np.sin(x) * np.exp(rate * x)


@custom_gradient
def by_custom(x: float) -> Any:
    return np.sin(x) * np.exp(0.5 * x), lambda d: d * (np.cos(x) + 0.5 * np.sin(x)) * np.exp(0.5 * x)


FORMS: dict[str, Callable[[float], float]] = {
    "plain": plain, "loop": by_loop, "recursion": by_recursion, "closure": by_closure, "list": by_list, "branch": by_branch, "array": by_array,
    "method": Wave(0.5).at, "partial": functools.partial(with_rate, 0.5), "custom": by_custom, "lambda": lambda x: plain(x)}

# -- the operators, as maps from a function of a number to its derivative; the order that each adds

OPERATORS: dict[str, tuple[int, Callable[[Any], Any]]] = {
    "grad": (1, lambda f: grad(f)),
    "value_and_grad": (1, lambda f: lambda x: value_and_grad(f)(x)[1]),
    "jvp": (1, lambda f: lambda x: jvp(f, (x,), (1.0,))[1]),
    "vjp": (1, lambda f: lambda x: vjp(f, x)[1](1.0)[0]),
    "jacobian": (1, lambda f: jacobian(f)),
    "hessian": (2, lambda f: hessian(f)),
    "aux": (1, lambda f: lambda x: grad(lambda v: (f(v), v), has_aux=True)(x)[0]),
    "dict": (1, lambda f: lambda x: grad(lambda d: f(d["a"]) + 0.0 * d["b"])({"a": x, "b": 1.0})["a"]),
    "confused": (1, lambda f: lambda x: grad(lambda v: v * grad(lambda w: f(v) * w)(2.0))(x) - f(x)),  # v f(v) differentiated, less f, is v f′
}


def expected(order: int, x: float) -> float:
    with mpmath.workdps(40):
        return float(mpmath.diff(lambda v: mpmath.sin(v) * mpmath.exp(v / 2), x, order))


SIMPLE = [n for n in OPERATORS if n != "confused"]
CHAINS = [c for n in (1, 2) for c in itertools.product(SIMPLE, repeat=n)]
LONG = random.Random(4).sample([c for c in itertools.product(SIMPLE, repeat=3) if sum(OPERATORS[o][0] for o in c) <= 4], 25)


def check(form: str, chain: tuple[str, ...], inside: bool, backend: str) -> None:
    f: Any = FORMS[form]
    order = 0
    for name in reversed(chain):
        added, operator = OPERATORS[name]
        f, order = operator(f), order + added
    made = myia(f, backend=backend) if not inside else myia(lambda x: f(x) + 0.0, backend=backend)
    want = expected(order, 0.7)
    assert float(made(0.7)) == pytest.approx(want, rel=1e-11, abs=1e-11), (form, chain)


@pytest.mark.parametrize("chain", CHAINS, ids="-".join)
def test_pairs(chain: tuple[str, ...]) -> None:
    forms = list(FORMS)
    form = forms[CHAINS.index(chain) % len(forms)]
    check(form, chain, len(chain) == 2, BACKENDS[CHAINS.index(chain) % 2])


@pytest.mark.parametrize("chain", LONG, ids="-".join)
def test_triples(chain: tuple[str, ...]) -> None:
    check(list(FORMS)[LONG.index(chain) % len(FORMS)], chain, True, "vm")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_to_the_third_order(form: str) -> None:
    for chain in (("grad", "grad", "grad"), ("jvp", "vjp", "jvp"), ("hessian", "jvp")):
        check(form, chain, True, "vm")


@pytest.mark.parametrize("backend", BACKENDS)
def test_perturbations_are_not_confused(backend: str) -> None:
    """d/dv (v · d/dw (f(v) w)) − f(v) = v f′(v), around other derivatives too."""
    operator = OPERATORS["confused"][1]
    with mpmath.workdps(40):
        f = lambda v: mpmath.sin(v) * mpmath.exp(v / 2)  # noqa: E731
        first, second = float(0.7 * mpmath.diff(f, 0.7)), float(mpmath.diff(lambda v: v * mpmath.diff(f, v, 2), 0.7))
    assert float(myia(operator(plain), backend=backend)(0.7)) == pytest.approx(first, rel=1e-11)
    assert float(myia(grad(operator(grad(plain))), backend=backend)(0.7)) == pytest.approx(second, rel=1e-8)


if __name__ == "__main__":  # all of them
    for name in FORMS:
        for chain in [c for n in (1, 2, 3) for c in itertools.product(SIMPLE, repeat=n)]:
            if sum(OPERATORS[o][0] for o in chain) <= 4:
                try:
                    check(name, chain, True, "vm")
                except Exception as problem:
                    print(name, chain, repr(problem)[:150], flush=True)
