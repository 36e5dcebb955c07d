"""The optimizer's driver: local rules to a fixpoint, then the passes over the whole program, until nothing changes.

On entry and on exit: typed form. The input is not touched. Deterministic: everything is visited in program order. It ends: each round
must change something, rounds are bounded, and the rules have fuel; both bounds are generous and reported by the recorder when hit.
"""
from __future__ import annotations

from collections.abc import Callable

from myia_notebook.ir.clone import clone
from myia_notebook.ir.graph import Graph
from myia_notebook.optimize.common import eliminate_common_subexpressions
from myia_notebook.optimize.events import Recorder, Rewrite, Shape
from myia_notebook.optimize.representation import represent_functions_as_data
from myia_notebook.optimize.rewriter import Rewriter, location
from myia_notebook.optimize.rules import RULES
from myia_notebook.optimize.signatures import drop_dead_parameters, drop_dead_results, flatten_parameters, flatten_results
from myia_notebook.optimize.strong import relax_strong_products

ROUNDS = 40

PASSES: tuple[tuple[str, str, Callable[[Graph], bool], str], ...] = (
    ("strong products", "gradient", relax_strong_products, "No masked zero can reach these sensitivities: a plain product is the same."),
    ("common subexpressions", "structural", eliminate_common_subexpressions, "What is computed twice is computed once."),
    ("dead parameters", "structural", drop_dead_parameters, "Nobody reads these parameters."),
    ("dead results", "structural", drop_dead_results, "Nobody reads these results."),
    ("tuples in results", "tuple", flatten_results, "Tuples between functions become separate results."),
    ("tuples in parameters", "tuple", flatten_parameters, "Tuples between functions become separate parameters."),
    ("functions as data", "closure", represent_functions_as_data, "These closures are what they captured, and a tag."),
)


def optimize(root: Graph, recorder: Recorder | None = None) -> Graph:
    """A program of the same value. `recorder` collects one event per rewrite and per pass."""
    root, _ = clone(root)
    for round_ in range(ROUNDS):
        changed = Rewriter(root, RULES, recorder, f"round {round_ + 1}").run() > 0
        for name, family, run, why in PASSES:
            changed |= _run_pass(root, name, family, run, why, recorder)
        if not changed:
            break
    return root


def _run_pass(root: Graph, name: str, family: str, run: Callable[[Graph], bool], why: str, recorder: Recorder | None) -> bool:
    if recorder is None:
        return run(root)
    before = Shape(root)
    changed = run(root)
    rewrite = Rewrite(name, name, family, why, location(run), None)
    if changed:
        changed = before.difference(Shape(root), rewrite) or changed
    recorder.add(rewrite)
    return changed
