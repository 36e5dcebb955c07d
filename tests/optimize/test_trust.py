"""The optimizer changes no value, and says so when it does: programs evaluated and verified after every rewrite, rules broken on purpose."""
from __future__ import annotations

import math
import os
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import myia_notebook as myia
from myia_notebook import explain, grad
from myia_notebook.errors import MyiaError
from myia_notebook.ir.graph import Constant, count_nodes
from myia_notebook.ir.text import parse_program, print_program
from myia_notebook.ir.verify import verify_typed
from myia_notebook.ir.verify_classes import verify_classes
from myia_notebook.optimize import Recorder, driver, optimize
from myia_notebook.optimize.check import Checker, same_value
from myia_notebook.optimize.pattern import Variable, call
from myia_notebook.optimize.rules.arithmetic import rule
from myia_notebook.vm import run
from tests.golden.programs import PROGRAMS, tanh_sin
from tests.language.rows import ROWS
from tests.optimize.running import assert_well_formed, derivative, optimized

SLOW = {"lists", "for_loops", "comprehensions", "generators", "matches", "tree_match"}  # hundreds of rewrites of many graphs: seconds each


@pytest.mark.parametrize("row", [r for r in ROWS if r.program.__name__ not in SLOW], ids=lambda r: r.program.__name__)
def test_every_rewrite_keeps_the_value(row: Any) -> None:
    """Value, dtype, types and classes after each rewrite of the gradient of each row of the language."""
    unit = optimized(derivative(row.program, 1), (row.at,), seconds=3.0)
    assert_well_formed(unit)
    assert unit.checker.compared > 0


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.folder)
def test_golden_programs_keep_their_value(program: Any) -> None:
    unit = optimized(derivative(program.f, program.order, program.wrt), program.arguments)
    assert_well_formed(unit)
    assert all(r.checked for r in unit.optimizer_recorder.rewrites if r.matched)


def broken() -> Any:
    x, y = Variable("x"), Variable("y")
    return rule("wrong_rule", x + y, call("subtract", x, y), "It is not so.")


def test_a_wrong_rule_is_stopped_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the rule, its place, what it replaced by what, and both values."""
    monkeypatch.setattr(driver, "RULES", (*driver.RULES, broken()))

    def f(x):  # type: ignore[no-untyped-def]
        return math.sin(x) + x * x

    compilation = explain(f, 2.0, check=True)
    assert isinstance(compilation.problem, MyiaError) and compilation.problem.code == "M800"
    text = str(compilation.problem)
    for part in ("'wrong_rule'", "test_trust.py:", "add(", "subtract(", repr(math.sin(2.0) + 4.0), repr(math.sin(2.0) - 4.0)):
        assert part in text, text
    assert explain(f, 2.0, check=False).problem is None  # without the check nobody notices


def test_a_wrong_type_is_noticed() -> None:
    assert not same_value(1.0, np.float64(1.0))
    assert not same_value(1, 1.0) and not same_value(True, 1)
    assert not same_value((1.0,), [1.0]) and not same_value(np.zeros(2), np.zeros((2, 1)))
    assert not same_value(np.zeros(2), np.zeros(2, np.float32))
    assert same_value(math.nan, math.nan) and same_value(1.0, 1.0 + 1e-12) and not same_value(1.0, 1.0 + 1e-6)


def test_errors_and_prints_are_part_of_the_outcome() -> None:
    def f(x):  # type: ignore[no-untyped-def]
        print("at", x)
        if x < 0.0:
            raise ValueError("negative")
        return math.sqrt(x)

    for x in (4.0, -1.0):
        unit = optimized(f, (x,))
        assert unit.checker.outcome[2] == f"at {x}\n"
        assert unit.checker.outcome[0] == ("value" if x > 0 else "error")


CLASSES = """
@f(c: bool, a: float) -> float:
  p : fn<@g | @h> = partial(@g, a)
  q : fn<@g | @h> = partial(@h, a)
  r : fn<@g | @h> = switch(c, p, q)
  %1 : float = r(a)
  return %1

@g[1](a: float, x: float) -> float:
  return a

@h[1](a: float, x: {x}) -> float:
  return a
"""


def test_the_verifier_of_classes() -> None:
    right = parse_program(CLASSES.format(x="float"))
    assert verify_typed(right) == []
    assert any("do not take the same arguments" in p for p in verify_classes(parse_program(CLASSES.format(x="int"))))
    lost = parse_program(CLASSES.format(x="float"))
    cls = lost.output.inputs[0].type.cls  # type: ignore[attr-defined]
    member = cls.members.pop()
    assert any("is no member" in p or "of which it is no member" in p for p in verify_classes(lost))
    cls.members += [member, member]
    assert any("occurs twice" in p for p in verify_classes(lost))


def test_it_ends_when_a_rule_never_does(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = Variable("x"), Variable("y")
    monkeypatch.setattr(driver, "RULES", (rule("swap", x - y, -(y - x), ""), rule("swap_back", -x, call("subtract", 0.0, x), "")))
    program = parse_program("@f(x: float, y: float) -> float:\n  %1 : float = subtract(x, y)\n  return %1\n")
    recorder = Recorder()
    optimize(program, recorder)
    assert any(r.pass_name == "bound" for r in recorder.rewrites)


def test_passes_that_change_nothing_are_recorded() -> None:
    unit = optimized(derivative(tanh_sin, 1), (0.7,), check=False)
    quiet = {r.rule for r in unit.optimizer_recorder.rewrites if not r.has_delta}
    assert {"dead parameters", "functions as data"} <= quiet
    compilation = explain(grad(tanh_sin), 0.7)
    events = compilation.stages["optimized"].events
    assert {e.kind for e in events} == {"rewrite", "pass"}
    assert all(e.rule and e.reason and ".py:" in e.location and e.pass_name for e in events)
    final = compilation.stages["optimized"].final
    assert final is not None and any(n.primal is not None and n.span is not None for n in final.nodes)


def test_the_input_is_not_touched() -> None:
    unit = optimized(derivative(tanh_sin, 1), (0.7,), check=False)
    assert unit.adjoint is not None
    before = print_program(unit.adjoint)
    optimize(unit.adjoint)
    assert print_program(unit.adjoint) == before
    assert run(unit.adjoint, (0.7,)) == pytest.approx(run(unit.optimized, (0.7,)), rel=1e-12)  # type: ignore[arg-type]


@pytest.mark.parametrize(("order", "most"), [(1, 10), (2, 16), (3, 32), (4, 60), (5, 120)])
def test_derivatives_of_derivatives_stay_small(order: int, most: int) -> None:
    unit = optimized(derivative(tanh_sin, order), (0.7,), check=False)
    assert unit.optimized is not None and count_nodes(unit.optimized) <= most


_SCRIPT = """
import json, sys
from tests.golden.programs import PROGRAMS
from tests.optimize.running import derivative, optimized
from myia_notebook.ir.text import print_program
from myia_notebook import explain
for p in PROGRAMS:
    f = derivative(p.f, p.order, p.wrt)
    unit = optimized(f, p.arguments, check=False)
    for name in ("parsed", "typed", "adjoint", "optimized"):
        print(print_program(getattr(unit, name)))
    if p.folder != "printed":
        data = [{k: v for k, v in e.items() if k != "time"} for e in explain(f, *p.arguments).stages["optimized"].to_dict()["events"]]
        print(json.dumps(data))
"""


def test_two_processes_make_the_same_graphs_and_events() -> None:
    root = pathlib.Path(__file__).resolve().parents[2]
    texts = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)}
        done = subprocess.run([sys.executable, "-c", _SCRIPT], cwd=root, env=environment, capture_output=True, text=True, check=True, timeout=120)
        texts.append(done.stdout)
    assert texts[0] == texts[1] and len(texts[0]) > 10000


def test_time_grows_with_the_size_only() -> None:
    """An adjoint of 10 000 nodes in seconds, and one of four times the nodes in about four times the time."""
    import time

    def seconds(steps: int) -> tuple[float, int]:
        lines = ["@f(x: float) -> float:", "  v0 : float = sin(x)"]
        for i in range(steps):
            lines += [f"  a{i} : float = multiply(v{i}, x)", f"  b{i} : float = negative(a{i})", f"  c{i} : float = tanh(b{i})", f"  v{i + 1} : float = add(c{i}, x)"]
        lines.append(f"  return v{steps}")
        program = parse_program("\n".join(lines) + "\n")
        start = time.process_time()
        optimize(program)
        return time.process_time() - start, count_nodes(program)

    small, _ = seconds(625)
    large, nodes = seconds(2500)
    assert nodes > 10000 and large < 8.0
    assert large < 8 * small + 0.5


def test_constants_keep_their_kind() -> None:
    """`x * 1.0` on an int is a float, before and after."""
    def f(n):  # type: ignore[no-untyped-def]
        return n * 1.0

    unit = optimized(f, (3,))
    assert run(unit.optimized, (3,)) == 3.0 and isinstance(run(unit.optimized, (3,)), float)  # type: ignore[arg-type]
    assert not isinstance(unit.optimized.output, Constant)  # type: ignore[union-attr]
    assert myia.myia(f)(3) == 3.0
    assert Checker([1.0]).compared == 0
