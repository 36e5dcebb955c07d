"""The optimizer's driver: local rules to a fixpoint, then the passes over the whole program, until nothing changes.

On entry and on exit: typed form. The input is not touched. Deterministic: everything is visited in program order. It ends: each round
must change something, rounds are bounded, and the rules have fuel; both bounds are generous, and the recorder is told when one is hit.
A pass does not run again on a program that it has left as it was.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from myia_notebook.ir.clone import clone
from myia_notebook.ir.graph import Graph
from myia_notebook.optimize.algebra import collect_terms
from myia_notebook.optimize.check import Checker
from myia_notebook.optimize.common import eliminate_common_subexpressions
from myia_notebook.optimize.events import Recorder, Rewrite, Shape
from myia_notebook.optimize.members import drop_dead_members
from myia_notebook.optimize.program import Program
from myia_notebook.optimize.representation import represent_functions_as_data
from myia_notebook.optimize.rewriter import Rewriter, location
from myia_notebook.optimize.rules import RULES
from myia_notebook.optimize.signatures import drop_dead_parameters, drop_dead_results, flatten_parameters, flatten_results
from myia_notebook.optimize.strong import relax_strong_products

ROUNDS = 40


@dataclass(frozen=True, slots=True)
class Pass:
    """A rewrite of the whole program. `run` gives True when something changed. `is_complete`: run again at once, it would change nothing."""

    name: str
    family: str
    run: Callable[[Program], bool]
    why: str
    is_complete: bool = False


PASSES: tuple[Pass, ...] = (
    Pass("strong products", "gradient", relax_strong_products, "No masked zero can reach these sensitivities: a plain product is the same.", True),
    Pass("sums and products", "arithmetic", collect_terms, "Like terms are added and common factors taken out: fewer operations."),
    Pass("common subexpressions", "structural", eliminate_common_subexpressions, "What is computed twice is computed once.", True),
    Pass("dead parameters", "structural", drop_dead_parameters, "Nobody reads these parameters.", True),
    Pass("dead results", "structural", drop_dead_results, "Nobody reads these results."),
    Pass("tuples in results", "tuple", flatten_results, "Tuples between functions become separate results."),
    Pass("tuples in parameters", "tuple", flatten_parameters, "Tuples between functions become separate parameters."),
    Pass("dead members", "closure", drop_dead_members, "Nobody makes a closure of these functions.", True),
    Pass("functions as data", "closure", represent_functions_as_data, "These closures are what they captured, and a tag."),
)
_RULES = Pass("rules", "structural", lambda program: False, "")


def optimize(root: Graph, recorder: Recorder | None = None, checker: Checker | None = None) -> Graph:
    """A program of the same value. `recorder` collects one event per rewrite and per pass; `checker` evaluates after each and stops at the
    first that changes the value."""
    root, _ = clone(root)
    program = Program(root)
    version, settled = 0, {step.name: -1 for step in (_RULES, *PASSES)}
    if checker is not None:
        checker.begin(root)
    for round_ in range(1, ROUNDS + 1):
        before = version
        is_over = False
        for step in (_RULES, *PASSES):
            if settled[step.name] == version:
                continue
            if step is _RULES:
                changed, is_complete = _apply_rules(program, recorder, checker, f"round {round_}")
                is_over = not is_complete
            else:
                changed, is_complete = _run_pass(program, step, recorder, checker), step.is_complete
            if changed:
                version += 1
                program.forget()
            if is_complete or not changed:
                settled[step.name] = version
        if version == before or is_over:
            return root
    _stopped(recorder, "rounds", f"the program still changed after {ROUNDS} rounds")
    return root


def _apply_rules(program: Program, recorder: Recorder | None, checker: Checker | None, name: str) -> tuple[bool, bool]:
    rewriter = Rewriter(program, RULES, recorder, checker, name)
    rewrites = rewriter.run()
    if rewriter.fuel <= 0:
        _stopped(recorder, "fuel", f"the rules still applied after {rewrites} rewrites")
    if checker is not None and rewrites and not checker.is_local:
        checker.after(Rewrite(name, name, "structural", "", location(Rewriter.run), None))
    if not rewrites and recorder is not None:
        recorder.add(Rewrite(name, name, "structural", "No rule applies.", location(Rewriter.run), None))
    return rewrites > 0, rewriter.fuel > 0


def _stopped(recorder: Recorder | None, bound: str, text: str) -> None:
    if recorder is not None:
        recorder.add(Rewrite("bound", bound, "structural", f"The optimizer stopped here: {text}.", location(optimize), None))


def _run_pass(program: Program, step: Pass, recorder: Recorder | None, checker: Checker | None) -> bool:
    rewrite = Rewrite(step.name, step.name, step.family, step.why, location(step.run), None)
    before = Shape(program.root) if recorder is not None else None
    if checker is not None:
        checker.before(rewrite)
    changed = step.run(program)
    if before is not None and changed:
        before.difference(Shape(program.root), rewrite)
    if checker is not None and changed:
        checker.after(rewrite)
    if recorder is not None:
        recorder.add(rewrite)
    return changed
