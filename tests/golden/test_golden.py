"""The stages of small programs are what the golden files say (`make golden` writes them again), and every text reads back to an equal program."""
from __future__ import annotations

import pathlib

import pytest

from myia_notebook.ir.text import parse_program, print_program
from myia_notebook.ir.verify import verify_typed
from myia_notebook.optimize.check import same_value
from myia_notebook.optimize.driver import PASSES
from myia_notebook.optimize.rules import RULES
from myia_notebook.vm import run
from tests.golden.programs import PROGRAMS, Golden
from tests.optimize.running import derivative, fired, optimized

HERE = pathlib.Path(__file__).parent
STAGES = ("parsed", "typed", "adjoint", "optimized")

# Rules that need what no small program brings up by itself; each has its case in tests/optimize.
JUSTIFIED = {
    "sequence_of_constant": "an effect that folded away: the arm that would have printed or raised is never taken",
    "env_get_of_sum": "two calls of one closure that is chosen at run time, in second derivatives",
    "env_get_of_switch": "a choice between environments, left by a branch that became a choice",
    "closure_is_known": "a union's constructor that inlining brings to its test",
    "closure_get_known": "a union's constructor that inlining brings to its field",
    "get_of_constant": "tuples of absent sensitivities", "env_get_of_make": "closures of recursive classes, in second derivatives",
    "dead members": "an invariant that lowering relies on: a class holds only what is made",
    "subtract_zero": "absent sensitivities, in second derivatives", "zero_minus": "absent sensitivities, in second derivatives",
    "negative_zero": "absent sensitivities, in second derivatives", "strong_zero": "absent sensitivities, in second derivatives",
    "strong_zero_divide": "absent sensitivities, in second derivatives", "add_zero": "absent sensitivities, in loops",
    "sum_with_zero": "absent sensitivities of tuples, in loops", "strong_divide_constant": "a quotient that is the program's result, where masks are",
    "strong_by_one": "a factor that folds to one, where masks are", "negative_out_of_strong_factor": "signs beside masks",
    "transpose_of_transpose": "second derivatives of matrix products",
    "cast_to_same": "arms whose types met and then were known", "branch_on_constant": "a test that folds after inlining",
    "switch_on_constant": "a test that folds after inlining", "env_make_of_zeros": "closures without an active part, in second derivatives",
    "get_of_switch": "tuples chosen at run time", "sum_of_environments": "two calls of one closure, in second derivatives",
}


def texts(program: Golden) -> dict[str, str]:
    """The text of each stage, and the rules that fired."""
    unit = optimized(derivative(program.f, program.order, program.wrt), program.arguments, check=False)
    found = {name: print_program(getattr(unit, name)) + "\n" for name in STAGES}
    found["rules"] = "\n".join(fired(unit)) + "\n"
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.folder)
def test_stages(program: Golden) -> None:
    for name, text in texts(program).items():
        path = HERE / program.folder / f"{name}.txt"
        assert path.read_text(encoding="utf-8") == text, f"{path.name} of {program.folder} is another: see `make golden`"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.folder)
def test_round_trip(program: Golden) -> None:
    """Printed and read back: equal in text at every stage; well formed, and of the same value, where it can run."""
    unit = optimized(derivative(program.f, program.order, program.wrt), program.arguments, check=False)
    for name in STAGES:
        graph = getattr(unit, name)
        text = print_program(graph)
        again = parse_program(text)
        assert print_program(again) == text
        if name != "parsed":
            assert verify_typed(again) == []
        if name in ("adjoint", "optimized") and "‹" not in text:
            assert same_value(run(again, program.arguments), run(graph, program.arguments))


def test_every_rule_fires_in_a_golden_program() -> None:
    seen = {line for path in HERE.glob("*/rules.txt") for line in path.read_text(encoding="utf-8").splitlines()}
    names = [r.name for r in (*RULES, *PASSES)]
    assert [n for n in names if n not in seen and n not in JUSTIFIED] == []
    assert set(JUSTIFIED) <= set(names)


def test_no_folder_is_left_over() -> None:
    assert sorted(p.name for p in HERE.iterdir() if p.is_dir() and not p.name.startswith("_")) == sorted(p.folder for p in PROGRAMS)
