"""The recorded run: forward sweep, then backward sweep, each backpropagator paired with the call of ▶ that made it."""
from __future__ import annotations

from typing import Any

from tests.view.test_snapshots import compilation


def calls(name: str) -> tuple[Any, list[tuple[str, int]]]:
    run = compilation(name).stages["run"]
    assert run.trace is not None and run.final is not None
    names = {g.id: g.name for g in run.final.graphs}
    return run, [(names.get(g, ""), f) for g, f in zip(run.trace.graphs, run.trace.forwards)]


def test_backward_iterations_are_paired_with_forward_ones() -> None:
    run, found = calls("loop")
    assert not run.trace.is_cut
    forward = [i + 1 for i, (name, _) in enumerate(found) if name == "▶body"]
    backward = [f for name, f in found if name == "◀body"]
    assert len(forward) == 4 and backward == forward  # ◀body of iteration 4 is entered last, called from inside that of 3
    assert dict(found)["◀done"] == [i + 1 for i, (name, _) in enumerate(found) if name == "▶done"][0]


def test_the_values_are_those_of_the_mathematics() -> None:
    run, _ = calls("closure")
    names = {n.id: (n.role, n.name) for n in run.final.nodes}
    values = {names[n]: v for n, v in zip(run.trace.nodes, run.trace.values) if n in names}
    assert values["forward", "y"] == "0.6445" and values["sensitivity", "y"] == "1.0" and values["sensitivity", "b"] == "1.2"
    assert run.trace.values[-1] == run.result


def test_a_long_run_is_cut_and_says_so() -> None:
    import myia_notebook as myia
    from myia_notebook.cell import run_cell
    from myia_notebook.view.trace import TRACE_LIMIT
    source = "def f(x, n):\n    while n > 0:\n        x = x * 0.5\n        n = n - 1\n    return x\n\ngrad(f)(1.5, 1500)\n"
    run = run_cell(source, {"grad": myia.grad}).compilation.stages["run"]
    assert run.trace is not None and run.trace.is_cut and len(run.trace.nodes) == TRACE_LIMIT
