"""Snapshots are what the viewer replays: each event's delta applied to the state before gives the state after; all of it is JSON; names and
strings of programs stay text."""
from __future__ import annotations

import json
import math
from typing import Any

import pytest

import myia_notebook as myia
from myia_notebook.cell import run_cell
from myia_notebook.snapshot import Snapshot, State
from myia_notebook.view.dot import to_dot, visible

CELLS = {
    "loop": "def power(x, n):\n    y = 1.0\n    while n > 0:\n        y = y * x\n        n = n - 1\n    return y\n\ngrad(power)(1.5, 4)\n",
    "closure": "def layer(w):\n    def f(x):\n        a = x * w\n        b = math.tanh(a)\n        y = b * x\n        return y\n    return f\n\ngrad(layer(0.5))(1.2)\n",
    "branch": "def f(x):\n    if x > 0.0:\n        return x * x\n    return -x\n\ngrad(grad(f))(2.0)\n",
    "cube": "def f(x):\n    return x ** 3\n\ngrad(f)(2.0)\n",
}


def compilation(name: str) -> Any:
    return run_cell(CELLS[name], {"grad": myia.grad, "math": math}).compilation


def replay(snapshot: Snapshot) -> State:
    """The state after all events, by their deltas alone."""
    assert snapshot.initial is not None
    graphs = {g.id: g for g in snapshot.initial.graphs}
    nodes = {n.id: n for n in snapshot.initial.nodes}
    for event in snapshot.events:
        graphs.update((g.id, g) for g in event.added_graphs)
        nodes.update((n.id, n) for n in (*event.added, *event.changed))
        for graph, output in event.outputs:
            old = graphs[graph]
            graphs[graph] = type(old)(**{**{f: getattr(old, f) for f in old.__dataclass_fields__}, "output": output})
    return State(snapshot.initial.root, tuple(graphs.values()), tuple(nodes.values()))


def picture(state: State) -> list[Any]:
    """What a viewer shows: graphs with their nodes and edges, without values."""
    order, shown = visible(state)
    return sorted((g.id, g.output, g.parameters, tuple(sorted((n.id, n.inputs, n.op) for n in shown[g.id]))) for g in order)


@pytest.mark.parametrize("name", CELLS)
def test_rewrites_replay_to_the_final_state(name: str) -> None:
    snapshot = compilation(name).stages["optimized"]
    assert snapshot.final is not None
    assert picture(replay(snapshot)) == picture(snapshot.final)


@pytest.mark.parametrize("name", CELLS)
def test_every_stage_is_there_and_is_json(name: str) -> None:
    made = compilation(name)
    assert list(made.stages) == ["parsed", "typed", "adjoint", "optimized", "lowered", "code", "run"]
    text = json.dumps(made.payload())
    assert json.loads(text)["stages"][0]["stage"] == "parsed"
    assert all(snapshot.text for snapshot in made.stages.values())
    for event in made.stages["adjoint"].events:
        assert event.gradient is not None and event.title


def test_the_adjoint_tells_the_chain_rule() -> None:
    """b += ∇y·x and x += ∇y·b for y = b·x, each with its place among the additions."""
    events = compilation("closure").stages["adjoint"].events
    backward = [e for e in events if e.gradient is not None and e.gradient.phase == "backward"]
    assert [e.title for e in backward[:2]] == ["Call the backpropagator of y.", "Call the backpropagator of b."]
    first = backward[0].gradient
    assert first is not None
    assert [(c.index, c.of) for c in first.contributions] == [(1, 1), (1, 2)]
    written = ["".join(t.text for t in c.equation) for c in first.contributions]
    assert written == ["∇y·x", "∇y·b"]


def test_a_failure_shows_the_stages_before_it() -> None:
    result = run_cell("def f(x):\n    return x @ x\n\nf(2.0)\n", {})
    assert isinstance(result.problem, TypeError)
    stages = result.compilation.stages
    assert list(stages) == ["parsed", "typed"] and stages["parsed"].error is None
    error = stages["typed"].error
    assert error is not None and error.code == "M301" and error.span == (2, 11, 2, 16) and error.line_text == "    return x @ x"


def test_hostile_names_and_strings_stay_text() -> None:
    source = 'def f(x):\n    """<script>alert(1)</script> "] [label=<b>"""\n    return x * x\n\nf(2.0)\n'
    made = run_cell(source, {}).compilation
    html = made.display().picture()
    assert "<script>" not in html
    dot = to_dot(made.stages["parsed"].final).source
    assert "<script>" not in dot
    assert "<script" not in made.stages["parsed"].svg()


def test_text_for_a_terminal() -> None:
    text = repr(compilation("cube"))
    assert "optimized" in text and "multiply(3.0" in text


def test_the_python_of_the_code_stage_runs() -> None:
    """What the code stage shows is a program of the same value."""
    source = compilation("cube").stages["code"].text
    space: dict[str, Any] = {}
    exec(source, space)
    assert space["cell"](2.0) == 12.0


@pytest.mark.parametrize("text, wanted", [("(x × 1)", "x×1"), ("((a × x) + (b × x))", "(a×x)+(b×x)"), ("(x, y)[0]", "(x,y)[0]"), ("negative(negative(x))", "−(−(x))"),
                                          ("body of f", " body  of f"), ("reshape(x, s)", "reshape(x,s)")])
def test_the_statement_of_a_rule_as_tokens(text: str, wanted: str) -> None:
    from myia_notebook.view.equation import statement
    assert "".join(t.text for t in statement(text)) == wanted


def test_every_rule_that_fired_has_two_sides() -> None:
    result = run_cell("def f(x):\n    return x ** 3\n\ngrad(f)(2.0)", {"grad": myia.grad})
    rewrites = [e for e in result.compilation.stages["optimized"].events if e.rule in ("power_of_two", "strong_one", "inline")]
    assert rewrites and all(e.equation and e.after_equation for e in rewrites)


def test_what_has_no_name_is_written_once() -> None:
    result = run_cell("def f(x):\n    y = x * x\n    return y + 1.0\n\ngrad(f)(2.0)", {"grad": myia.grad})
    forward = [e.equation for e in result.compilation.stages["adjoint"].events if e.gradient is not None and e.gradient.phase == "forward"]
    assert [[t.text for t in eq] for eq in forward] == [["y", "=", "x", "·", "x"], ["y", "+", "1.0"]]


def test_the_last_step_says_the_sensitivities_of_the_parameters() -> None:
    result = run_cell("def f(x, n, z):\n    return x * z\n\ngrad(f, wrt=(0, 2))(2.0, 3, 5.0)", {"grad": myia.grad})
    adjoint = result.compilation.stages["adjoint"]
    last = next(e for e in adjoint.events if e.gradient is not None and e.gradient.phase == "return")
    values = {n.id: n.value for n in adjoint.final.nodes}
    assert [(t.text, values[t.node]) for t in last.equation if t.kind == "name"] == [("∇x", "5.0"), ("∇z", "2.0")]
