"""Every rule, on programs made to match it: both sides have one value and one type, whatever the numbers (infinities and NaN too).

A rule made of two patterns is tested by itself: its left side is built over parameters of many types, with constants that meet its condition.
The others are tested on programs in textual form (`cases.py`), each with one that they must leave alone. `test_a_wrong_*` break rules, to
see that these tests would notice.
"""
from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest

from myia_notebook.ir.graph import ZERO, Constant, Graph, Node, count_nodes
from myia_notebook.ir.text import parse_program, print_program
from myia_notebook.ir.types import FLOAT, FLOAT32, FLOAT64, INT, Array, Scalar, Type, is_float
from myia_notebook.ir.verify import verify_typed
from myia_notebook.ops.expression import Builder
from myia_notebook.optimize.check import same_value
from myia_notebook.optimize.driver import PASSES
from myia_notebook.optimize.pattern import Application, Literal, Pattern, Variable, call
from myia_notebook.optimize.program import Program
from myia_notebook.optimize.rewriter import Rewriter, Rule
from myia_notebook.optimize.rules import RULES
from myia_notebook.optimize.rules.arithmetic import rule
from myia_notebook.vm import run
from tests.optimize.cases import CASES

PATTERNS = [r for r in RULES if r.pattern is not None]
TYPES: tuple[Type, ...] = (FLOAT, FLOAT64, FLOAT32, INT, Array("float64", (3,)), Array("float32", (2, 3)))
NUMBERS: dict[str, tuple[Any, ...]] = {"float": (0.75, -2.5, 3.0, 0.0, math.inf, -math.inf, math.nan), "int": (3, -2, 0, 1)}
CONSTANTS = (0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -4.0, 0.3, 2, 3)


def values_of(t: Type) -> list[Any]:
    """Arguments of a type, edges among them."""
    match t:
        case Scalar("int64"):
            return list(NUMBERS["int"])
        case Scalar(dtype, weak):
            return [v if weak else np.dtype(dtype).type(v) for v in NUMBERS["float"]]
        case Array(dtype, shape):
            size = math.prod(shape)
            return [np.resize(np.roll(np.array(NUMBERS["float"], dtype), k), size).reshape(shape) for k in range(3)]
    raise AssertionError(t)


def variables(pattern: Pattern) -> dict[str, bool]:
    """Name → whether it stands for a constant."""
    match pattern:
        case Variable(name, constant):
            return {name: constant}
        case Application(_, operands):
            found: dict[str, bool] = {}
            for operand in operands:
                found |= variables(operand)
            return found
        case _:
            return {}


def build(pattern: Pattern, binding: dict[str, Node], builder: Builder, zero: Type) -> Node:
    """The left side of a rule as nodes, with no simplification."""
    match pattern:
        case Variable(name):
            return binding[name]
        case Literal(value):
            return Constant(ZERO, zero) if value is ZERO else builder.constant(value)
        case Application(primitive, operands):
            return builder.apply(primitive, *(build(o, binding, builder, zero) for o in operands))
    raise AssertionError(pattern)


def instances(r: Rule) -> list[Graph]:
    """Programs that the rule's left side matches, over types and constants."""
    assert r.pattern is not None
    names = variables(r.pattern)
    free, fixed = [n for n, c in names.items() if not c], [n for n, c in names.items() if c]
    programs: list[Graph] = []
    linear = "·" in repr(r.pattern) or "strong" in repr(r.pattern) or any(isinstance(x, Literal) and x.value is ZERO for x in r.pattern.operands)
    for types in itertools.product([t for t in TYPES if not linear or is_float(t)], repeat=len(free)):
        if len(free) > 1 and len({str(t) for t in types}) > 1 and len({t.dtype for t in types}) > 1:  # type: ignore[attr-defined]
            continue
        for constants in itertools.product(CONSTANTS, repeat=len(fixed)):
            g = Graph("f")
            binding: dict[str, Node] = {n: g.add_parameter(n, t) for n, t in zip(free, types)}
            builder = Builder(g)
            binding |= {n: builder.constant(c) for n, c in zip(fixed, constants)}
            try:
                g.output = build(r.pattern, binding, builder, types[0] if types else FLOAT)
            except Exception:  # no such operation on these types
                continue
            g.result = Builder.type_of(g.output)
            programs.append(g)
    return programs


def agrees(before: Graph, r: Rule) -> bool | None:
    """None when the rule leaves the program alone; else whether the two sides agree in type and value on every argument."""
    after = parse_program(print_program(before))
    rewriter = Rewriter(Program(after), (r,))
    rewriter.fuel = 1
    try:
        if rewriter.run() == 0:
            return None
    except ArithmeticError:
        return False
    if verify_typed(after) or after.result != before.result or Builder.type_of(after.output) != before.result:
        return False
    columns = [values_of(p.type) for p in before.parameters]  # type: ignore[arg-type]
    rows = list(itertools.islice(itertools.product(*columns), 0, 60, 1))
    return all(same_value(run(before, row), run(after, row)) for row in rows)


@pytest.mark.parametrize("r", PATTERNS, ids=lambda r: r.name)
def test_both_sides_agree(r: Rule) -> None:
    results = [agrees(g, r) for g in instances(r)]
    assert any(x is not None for x in results), "the rule fires on none"
    assert False not in results


@pytest.mark.parametrize("r", PATTERNS, ids=lambda r: r.name)
def test_a_wrong_right_side_is_noticed(r: Rule) -> None:
    assert r.pattern is not None and r.after is not None
    is_zero = isinstance(r.after, Literal) and r.after.value is ZERO
    wrong = Literal(0.125) if is_zero else call("add", call("negative", r.after), 0.125)
    broken = rule(r.name, r.pattern, wrong, "", r.where)
    assert False in [agrees(g, broken) for g in instances(r)]


CONDITIONAL = [r for r in PATTERNS if r.where is not None and r.name in ("strong_constant", "strong_divide_constant", "divide_by_power_of_two")]


@pytest.mark.parametrize("r", CONDITIONAL, ids=lambda r: r.name)
def test_a_lost_condition_is_noticed(r: Rule) -> None:
    """Without its condition, the rule changes a value (0·∞, or the last bit) or gives what it had: never silence."""
    broken = dataclasses.replace(r, where=None)
    assert r.pattern is not None and r.after is not None
    broken = rule(r.name, r.pattern, r.after, "")
    more = [agrees(g, broken) for g in instances(r)]
    assert sum(x is not None for x in more) > sum(agrees(g, r) is not None for g in instances(r))
    if r.name != "divide_by_power_of_two":  # there the last bit is within the tolerance
        assert False in more


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.rule}-{c.fires}")
def test_case(case: Any) -> None:
    """The rule alone on a program: it fires or not, and nothing else changes."""
    before, after = parse_program(case.text), parse_program(case.text)
    assert verify_typed(before) == []
    step = next((p for p in PASSES if p.name == case.rule), None)
    if step is not None:
        fired = step.run(Program(after))
    else:
        fired = Rewriter(Program(after), tuple(r for r in RULES if r.name == case.rule)).run() > 0
    assert fired == case.fires
    assert verify_typed(after) == []
    if case.expect:
        assert print_program(after) == case.expect.strip("\n")
    for arguments in case.arguments:
        assert same_value(run(before, arguments), run(after, arguments))


def test_every_rule_is_tested() -> None:
    tested = {c.rule for c in CASES if c.fires} | {r.name for r in PATTERNS}
    assert [r.name for r in (*RULES, *PASSES) if r.name not in tested] == []
    assert {c.rule for c in CASES} <= {r.name for r in (*RULES, *PASSES)}
    names = [r.name for r in (*RULES, *PASSES)]
    assert len(names) == len(set(names))


def test_sums_and_products_on_random_expressions() -> None:
    """Random trees of +, −, ×: the same value to rounding, the same type, never more nodes."""
    rng = np.random.default_rng(7)
    step = next(p for p in PASSES if p.name == "sums and products")
    smaller = 0
    for _ in range(150):
        g = Graph("f")
        builder = Builder(g)
        t = TYPES[int(rng.integers(0, 2))]
        pool: list[Node] = [g.add_parameter(n, t) for n in "xyz"]
        for _ in range(int(rng.integers(3, 25))):
            name = ("add", "subtract", "multiply", "multiply", "negative", "sin")[int(rng.integers(0, 6))]
            operands = [pool[int(rng.integers(max(0, len(pool) - 6), len(pool)))] for _ in range(2)]
            if rng.random() < 0.25:
                operands[0] = builder.constant(float(rng.integers(1, 4)))
            pool.append(call_node(builder, name, operands[1:] if name in ("negative", "sin") else operands))
        g.output, g.result = pool[-1], t
        after = parse_program(print_program(g))
        if step.run(Program(after)):
            smaller += 1
            assert count_nodes(after) < count_nodes(g)
            assert verify_typed(after) == []
            row = [values_of(t)[0] * s for s in (0.5, 0.25, -0.75)]
            a, b = run(g, row), run(after, row)
            assert type(a) is type(b) and math.isclose(a, b, rel_tol=1e-7, abs_tol=1e-9)
    assert smaller > 50


def call_node(builder: Builder, name: str, operands: list[Node]) -> Node:
    from myia_notebook.ops.table import PRIMITIVES
    return builder.apply(PRIMITIVES[name], *operands)
