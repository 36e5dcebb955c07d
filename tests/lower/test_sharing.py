"""Copied arms, erased closures and long chains of arms: fewer frames, the same values."""
from __future__ import annotations

import math
from typing import Any

import pytest

from myia_notebook import compile_source, grad, myia
from myia_notebook.ir.clone import clone
from myia_notebook.ir.graph import reachable
from myia_notebook.lower.plan import lower
from myia_notebook.lower.sharing import erase, unshare
from myia_notebook.vm import Machine


def tree(x, d):  # type: ignore[no-untyped-def]
    if d == 0:
        return math.tanh(x)
    return tree(x * 0.9, d - 1) * tree(x + 0.1, d - 1)


def collatz(x, n):  # type: ignore[no-untyped-def]
    if n == 1:
        return x
    if n % 2 == 0:
        return collatz(x * 0.5 + 1.0, n // 2)
    return math.sin(collatz(x * 1.1, 3 * n + 1))


def optimized(f: Any, *arguments: Any) -> Any:
    f(*arguments)
    return next(iter(f._cache.values())).unit.optimized


@pytest.mark.parametrize("order", (1, 2, 3))
@pytest.mark.parametrize(("f", "arguments"), ((tree, (0.3, 4)), (collatz, (0.3, 7))), ids=("tree", "collatz"))
def test_values_stay(f: Any, arguments: tuple[Any, ...], order: int) -> None:
    native, slow = f, f
    for _ in range(order):
        native, slow = grad(native, backend="numba"), grad(slow, backend="vm")
    program = optimized(slow, *arguments)
    expected = slow(*arguments)
    copied, _ = clone(program)
    unshare(copied)
    assert math.isclose(Machine().run(copied, arguments), expected, rel_tol=1e-13)
    assert math.isclose(native(*arguments), expected, rel_tol=1e-9)


def test_the_tree_has_no_frames_for_arms_and_no_closures_that_only_hand_on() -> None:
    program = optimized(grad(tree, backend="vm"), 0.3, 3)
    plan = lower(program)
    names = [g.name for g in plan.graphs]
    assert "◀tree" in [g.name for g in reachable(program)] and "◀tree" not in names
    assert not [g.name for g in plan.graphs if g.kind == "branch" and g.id in plan.entries]


def test_erasing_keeps_what_environments_name() -> None:
    """At second order labels of the backpropagators are in environments: those closures stay."""
    program = optimized(grad(grad(tree, backend="vm"), backend="vm"), 0.3, 3)
    copied, _ = clone(program)
    before = len(reachable(copied))
    erase(copied)
    assert len(reachable(copied)) <= before
    assert math.isclose(grad(grad(tree, backend="numba"))(0.3, 3), grad(grad(tree, backend="vm"))(0.3, 3), rel_tol=1e-9)


def test_hundreds_of_arms() -> None:
    """A machine of 150 states, three times as deep as arms are placed in arms, against Python."""
    n = 150
    lines = [f"        {'if' if k == 0 else 'elif'} s == {k}:\n            y = y * 0.5 + {k}.0\n            s = {(k * 7 + 1) % n}\n" for k in range(n)]
    source = "def f(x, n):\n    s = 0\n    y = x\n    for _ in range(n):\n" + "".join(lines) + "    return y\n"
    names: dict[str, Any] = {}
    exec(source, names)
    f = compile_source(source, {})["f"]
    assert myia(f)(0.5, 300) == names["f"](0.5, 300)
