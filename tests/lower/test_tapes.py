"""Adjoints of loops as two loops: the rewritten program is well typed, gives the same on the interpreter, and calls itself last only."""
from __future__ import annotations

import math
from typing import Any

import pytest

from myia_notebook import grad, myia, vjp
from myia_notebook.ir.clone import clone
from myia_notebook.ir.graph import callee_of, reachable, schedule
from myia_notebook.ir.verify import verify_typed
from myia_notebook.lower.tapes import tapes
from myia_notebook.vm import Machine


def loop(x, n):  # type: ignore[no-untyped-def]
    y = x
    for i in range(n):
        y = math.sin(y) * x + 0.1 * i
    return y


def newton(a):  # type: ignore[no-untyped-def]
    x = a
    while abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
    return x


def nested(x, n):  # type: ignore[no-untyped-def]
    y = x
    for i in range(n):
        for _ in range(i):
            y = math.sin(y) * x
        y = y + x
    return y


def exits(x, n):  # type: ignore[no-untyped-def]
    y = x
    for i in range(n):
        if i == 2:
            continue
        y = math.sin(y) * x + 0.1
        if y > 1.2:
            y = y * y
            break
    else:
        y = y + x * x * x
    return y


def branches(x, n):  # type: ignore[no-untyped-def]
    y, z = x, 1.0
    for i in range(n):
        if y > 0.5:
            y = y * 0.7 * x
        else:
            z = z + y * x
            y = y + 0.4
    return y * z


def even(x, n):  # type: ignore[no-untyped-def]
    return x if n == 0 else odd(x * 1.1, n - 1)


def odd(x, n):  # type: ignore[no-untyped-def]
    return x * x if n == 0 else even(math.sin(x), n - 1)


CASES: list[tuple[Any, tuple[Any, ...], int]] = [
    (loop, (0.9, 6), 1), (newton, (2.0,), 1), (nested, (0.9, 4), 2), (exits, (0.9, 3), 1), (exits, (1.3, 9), 1), (branches, (0.9, 7), 1), (even, (0.4, 4), 1)]


def program(f: Any, order: int, arguments: tuple[Any, ...]) -> Any:
    """The optimized program of the derivative of an order."""
    for _ in range(order):
        f = grad(f, backend="vm")
    f(*arguments)
    return next(iter(f._cache.values())).unit.optimized


@pytest.mark.parametrize("order", (1, 2, 3))
@pytest.mark.parametrize(("f", "arguments", "count"), CASES, ids=lambda x: getattr(x, "__name__", None))
def test_the_same_value_and_well_typed(f: Any, arguments: tuple[Any, ...], count: int, order: int) -> None:
    optimized = program(f, order, arguments)
    turned, _ = clone(optimized)
    assert tapes(turned) >= count
    assert verify_typed(turned) == []
    expected = Machine().run(optimized, arguments)
    assert math.isclose(Machine().run(turned, arguments), expected, rel_tol=1e-13)
    native = f
    for _ in range(order):
        native = grad(native, backend="numba")
    assert math.isclose(native(*arguments), expected, rel_tol=1e-9)


@pytest.mark.parametrize("f", (loop, newton, exits), ids=lambda f: f.__name__)
def test_no_graph_calls_itself_but_last(f: Any) -> None:
    turned, _ = clone(program(f, 1, (0.9, 6) if f is not newton else (2.0,)))
    tapes(turned)
    loops = [g for g in reachable(turned) if g.flags.get("tape") == "forward"]
    assert loops
    for g in loops:
        assert all(callee_of(n) not in loops for n in schedule(g) if n is not g.output)


def test_a_backpropagator_is_called_twice() -> None:
    def both(x: float, n: int) -> tuple[float, float]:
        y, back = vjp(loop, x, n)
        return back(1.0)[0] + 10.0 * back(2.0)[0], y

    expected = grad(loop, backend="vm")(0.9, 6)
    g, y = myia(both)(0.9, 6)
    assert math.isclose(g, 21.0 * expected, rel_tol=1e-12) and math.isclose(y, loop(0.9, 6), rel_tol=1e-12)


def test_steps_are_many() -> None:
    """10⁶ steps against the recurrence written by hand; twice, so that kept memory is used again."""
    def shrink(x, n):  # type: ignore[no-untyped-def]
        y = x
        for _ in range(n):
            y = y * x * 0.5 + 0.1
        return y

    n, x = 1_000_000, 0.9
    y, d = x, 1.0
    for _ in range(n):
        y, d = y * x * 0.5 + 0.1, d * x * 0.5 + y * 0.5
    for _ in range(2):
        assert math.isclose(grad(shrink)(x, n), d, rel_tol=1e-9)


def test_the_lowered_stage_speaks_of_tapes() -> None:
    g = grad(loop)
    g(0.9, 3)
    text = next(iter(g._cache.values())).unit.lowered.text()
    assert "put on the tape" in text and "take from the tape" in text
