"""Snapshots of the stages: states before and after, and the events inside, from what the compiler left in a `Unit`."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from myia_notebook.gradient.events import GradientEvents, TransformedGraph
from myia_notebook.ir.graph import Apply, Graph, Node
from myia_notebook.ir.text import print_program
from myia_notebook.optimize.events import NodeForm, Recorder, Rewrite
from myia_notebook.optimize.program import targets
from myia_notebook.optimize.rules import RULES
from myia_notebook.pipeline import Unit
from myia_notebook.snapshot import CodeText, Contribution, Event, GradientStep, GraphView, NodeView, Snapshot, State, Token, Trace
from myia_notebook.view.equation import Writer, statement
from myia_notebook.view.graph_json import Identity, Viewer
from myia_notebook.view.labels import Source, plain_name, value_text

MAX_EVENTS = 4000
MAX_LINES = 5000
_STATEMENTS = {rule.name: rule.statement for rule in RULES}


def snapshot_of(stage: str, unit: Unit, identity: Identity, before: dict[str, Snapshot], source: str, milliseconds: float) -> Snapshot:
    """The snapshot of a stage that has just run."""
    viewer = Viewer(identity, source)
    previous = next(reversed(before.values()), None)
    initial = previous.final if previous is not None else None
    match stage:
        case "parsed":
            return Snapshot(stage, nested_text(unit.parsed), source, None, viewer.state(unit.parsed), time=milliseconds)
        case "typed":
            assert unit.typed is not None
            final = viewer.state(unit.typed)
            return Snapshot(stage, print_program(unit.typed), source, None, final, infer_events(final), time=milliseconds)
        case "adjoint":
            assert unit.adjoint is not None
            events = gradient_events(unit.gradient_events, viewer, source)
            return Snapshot(stage, print_program(unit.adjoint), source, initial, viewer.state(unit.adjoint), events, time=milliseconds)
        case "optimized":
            assert unit.optimized is not None
            return Snapshot(stage, print_program(unit.optimized), source, initial, viewer.state(unit.optimized),
                            rewrite_events(unit.optimizer_recorder, viewer), time=milliseconds)
        case "lowered":
            assert unit.optimized is not None
            text = unit.lowered.text() if unit.lowered is not None else "the interpreter runs the optimized graph"
            return Snapshot(stage, text, source, None, viewer.state(unit.optimized), code=(CodeText("ir", "machine", tuple(text.splitlines())),),
                            time=milliseconds)
        case _:
            code = code_texts(unit, viewer)
            return Snapshot(stage, "\n".join(code[0].lines), source, None, initial, code=code, time=milliseconds)


def parsed_snapshot(graphs: list[Graph], identity: Identity, source: str, milliseconds: float) -> Snapshot:
    """The parsed graphs of several functions."""
    viewer = Viewer(identity, source)
    text = "\n\n".join(map(nested_text, graphs))
    return Snapshot("parsed", text, source, None, viewer.state(graphs[-1], tuple(graphs[:-1])), time=milliseconds)


def nested_text(graph: Graph) -> str:
    return print_program(graph)


def code_texts(unit: Unit, viewer: Viewer) -> tuple[CodeText, ...]:
    """Listings: the optimized program as readable Python, and LLVM."""
    from myia_notebook.emit.python_source import python_source
    assert unit.optimized is not None
    text = python_source(unit.optimized)
    ids = tuple((viewer.identity.number(node.id),) if node is not None else () for node in text.nodes)
    python = CodeText("python", "as Python", tuple(text.lines), tuple(text.origins), ids)
    if unit.code is None:
        return (python,)
    if unit.backend == "cuda":
        return (*(CodeText(language, title, lines[:MAX_LINES], origins[:MAX_LINES]) for language, title, lines, origins in unit.code.listings()), python)
    llvm = unit.code.llvm_text.split("declare ptr @malloc")[0]
    return (python, CodeText("llvm", "LLVM", tuple(llvm.splitlines())))


# -- events

def infer_events(final: State) -> tuple[Event, ...]:
    """Types as they became known, node by node."""
    events: list[Event] = []
    for node in final.nodes:
        if node.kind != "constant" and node.type and len(events) < MAX_EVENTS:
            name = node.name or node.label or node.symbol
            events.append(Event(len(events), "infer", f"{name} is {_article(node.type)}", graph=node.graph, focus=(node.id,)))
    return tuple(events)


def _article(type_: str) -> str:
    return f"{'an' if type_[:1] in 'aeiou' else 'a'} {type_}"


def gradient_events(recorded: GradientEvents | None, viewer: Viewer, source: str) -> tuple[Event, ...]:
    """One event per primal node and phase, with its equations."""
    events: list[Event] = []
    for transformed in (recorded.graphs if recorded is not None else []):
        story = _GradientStory(transformed, viewer, source)
        for event in story.events():
            events.append(replace(event, index=len(events)))
            if len(events) >= MAX_EVENTS:
                return tuple(events)
    return tuple(events)


class _GradientStory:
    """The events of one transformed graph."""

    def __init__(self, transformed: TransformedGraph, viewer: Viewer, source: str) -> None:
        self.t, self.viewer = transformed, viewer
        self.text = Source(source)
        self.totals = {a.total.id: target for target, additions in transformed.uses.items() for a in additions}
        self.names = {a.target.id: a.target for additions in transformed.uses.values() for a in additions}
        self.done: dict[int, int] = {}

    def id(self, node: Node) -> int:
        return self.viewer.identity.number(node.id)

    def label(self, node: Node) -> str:
        if not node.name and isinstance(node, Apply):
            called = targets(node)
            if called and called[0].kind in ("loop", "branch"):
                return called[0].name if called[0].kind == "loop" else "if"
        return plain_name(node) or self.text.slice(node) or "…"

    def name(self, node: Node) -> str:
        """Totals are called after the variable whose sensitivity they are."""
        target = self.totals.get(node.id)
        if target is not None and target in self.names:
            return "∇" + self.label(self.names[target])
        return node.name

    def writer(self, stop: set[int]) -> Writer:
        return Writer(self.id, self.label, stop, self.name)

    def events(self) -> list[Event]:
        made: list[Event] = []
        for record in self.t.records:
            made.append(self._event(record))
        return made

    def _event(self, record: Any) -> Event:
        graph = self.viewer.identity.number(self.t.primal.id)
        node: Node | None = record.primal
        match record.phase:
            case "forward":
                step = GradientStep("forward", graph, self.id(node), self.id(record.forward))
                equation = self.writer(set()).tokens(node) if isinstance(node, Apply) else ()
                return Event(0, "gradient", f"Compute {self.label(node)}.", "The value is computed as before, and what ◀ will need is kept.",
                             graph=graph, focus=(step.forward or 0,), gradient=step, equation=self._assign(node, equation))
            case "seed":
                step = GradientStep("seed", graph, self.id(node) if node is not None else None, None, self.id(record.sensitivity))
                return Event(0, "gradient", f"Begin with ∇{self.label(node)}.", "The sensitivity of the result is given by whoever calls ◀.",
                             graph=graph, focus=(step.sensitivity or 0,), gradient=step)
            case "backward":
                return self._backward(record, graph)
            case _:
                return Event(0, "gradient", f"Return the sensitivities of ▶{self.t.primal.name}'s parameters.", "", graph=graph,
                             gradient=GradientStep("return", graph), equation=self._returned())

    def _returned(self) -> tuple[Token, ...]:
        """The sensitivities of the parameters, side by side: what has none has 0."""
        tokens: list[Token] = []
        for p in self.t.primal.parameters:
            additions = self.t.uses.get(p.id)
            if additions:
                tokens += [Token("operator", ","), Token("name", "∇" + self.label(p), "sensitivity", self.id(additions[-1].total))]
        return tuple(tokens[1:])

    def _assign(self, node: Node, tokens: tuple[Any, ...]) -> tuple[Any, ...]:
        """`y = x · w`; what has no name is written once: `n > 0`, not `n > 0 = n > 0`."""
        if not node.name and any(t.kind != "name" for t in tokens):
            return tokens
        return (Token("name", self.label(node), "primal", self.id(node)), Token("operator", "="), *tokens)

    def _backward(self, record: Any, graph: int) -> Event:
        node = record.primal
        stop = set(self.totals) | {record.sensitivity.id}
        contributions: list[Contribution] = []
        equation: list[Token] = []
        for addition in record.additions:
            key = addition.target.id
            self.done[key] = self.done.get(key, 0) + 1
            tokens = self.writer(stop - {addition.node.id}).tokens(addition.node)
            contributions.append(Contribution(self.id(addition.target), self.id(addition.node), self.id(addition.total), self.done[key],
                                              len(self.t.uses[key]), tokens))
            if equation:
                equation.append(Token("text", "\u2003\u2003"))
            name = Token("name", "∇" + self.label(addition.target), "sensitivity", self.id(addition.total))
            equation += [name, Token("operator", "+="), *tokens]
        keeps = tuple(self.id(k) for k in record.keeps(self.t.backward))
        step = GradientStep("backward", graph, self.id(node), None, self.id(record.sensitivity), keeps, tuple(contributions))
        return Event(0, "gradient", f"Call the backpropagator of {self.label(node)}.", _why(node), graph=graph,
                     focus=tuple(c.total for c in contributions), gradient=step, equation=tuple(equation))


def _why(node: Node) -> str:
    """One sentence on the rule of a node's operation."""
    from myia_notebook.ir.graph import primitive_of
    primitive = primitive_of(node)
    if primitive is None:
        return "A call is differentiated by calling the backpropagator that it returned."
    return {"multiply": "A product sends to each factor the other factor times its sensitivity.",
            "add": "A sum sends its sensitivity to both terms.", "subtract": "A difference sends its sensitivity to the first term, and its negative to the second.",
            "branch": "The arm that ran returned its backpropagator: only that one is called.",
            "partial": "What was captured gets its part of the closure's environment."}.get(
        primitive.name, f"The rule of {primitive.symbol}: {primitive.reference}.")


def rewrite_events(recorder: Recorder | None, viewer: Viewer) -> tuple[Event, ...]:
    """The optimizer's events, as deltas."""
    if recorder is None:
        return ()
    events: list[Event] = []
    for rewrite in recorder.rewrites[:MAX_EVENTS]:
        events.append(_rewrite_event(rewrite, len(events), viewer))
    return tuple(events)


def _rewrite_event(rewrite: Rewrite, index: int, viewer: Viewer) -> Event:
    number = viewer.identity.number
    added: list[NodeView] = []
    changed: list[NodeView] = []
    for forms, into in ((rewrite.added, added), (rewrite.changed, changed)):
        for form in forms:
            into.extend(_form_view(form, viewer))
    graphs: list[GraphView] = []
    for graph, parameters, output, captured in rewrite.graphs:
        added.extend(viewer.parameter(p, graph) for p in parameters)
        output_id, extra = _output(graph, output, viewer)
        added.extend(extra)
        view = viewer.graph(graph, output_id)
        graphs.append(replace(view, parameters=tuple(number(p.id) for p in parameters), captured=captured))
    outputs: list[tuple[int, int]] = []
    for graph, output in rewrite.outputs:
        output_id, extra = _output(graph, output, viewer)
        added.extend(extra)
        outputs.append((number(graph.id), output_id))
    has_delta = bool(added or changed or graphs or outputs or rewrite.removed)
    return Event(index, "rewrite" if has_delta else "pass", rewrite.rule.replace("_", " "), rewrite.reason, rewrite.pass_name, rewrite.rule, rewrite.family,
                 rewrite.location, number(rewrite.graph.id) if rewrite.graph is not None else None,
                 tuple(number(n.id) for n in rewrite.matched), tuple(number(n.id) for n in rewrite.matched),
                 tuple(number(n.id) for n in rewrite.produced), tuple(number(i) for i in rewrite.removed), tuple(added), tuple(graphs), tuple(changed),
                 tuple(outputs), *_sides(rewrite.rule), checked=rewrite.checked, time=round(rewrite.time, 3))


def _sides(rule: str) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """A rule's pattern and replacement, as equations; empty for passes, which have none."""
    before, arrow, after = _STATEMENTS.get(rule, "").partition("→")
    return (statement(before.strip()), statement(after.strip())) if arrow else ((), ())


def _output(graph: Graph, output: Node, viewer: Viewer) -> tuple[int, list[NodeView]]:
    from myia_notebook.ir.graph import Constant
    if isinstance(output, Constant):
        id_ = viewer.identity.constant(graph, 0)
        return id_, [viewer.constant(output, id_, graph)]
    return viewer.identity.number(output.id), []


def _form_view(form: NodeForm, viewer: Viewer) -> list[NodeView]:
    """The view of a node as it was at the event."""
    node = form.node
    if not isinstance(node, Apply) or form.graph is None:
        return [viewer.parameter(node, form.graph)] if form.graph is not None else []  # type: ignore[arg-type]
    frozen = Apply(form.graph, list(form.inputs), node.type, node.name, node.provenance)
    frozen.id = node.id
    return viewer.node(frozen, form.graph)


# -- values and the run

def add_values(stages: dict[str, Snapshot], values: dict[int, list[Any]], identity: Identity) -> None:
    """Puts the last recorded value of each node into the states and events."""
    texts = {identity.number(key): value_text(found[-1]) for key, found in values.items()}

    def filled(state: State | None) -> State | None:
        if state is None:
            return None
        return replace(state, nodes=tuple(replace(n, value=texts[n.id]) if n.id in texts else n for n in state.nodes))

    for name, snapshot in list(stages.items()):
        stages[name] = replace(snapshot, initial=filled(snapshot.initial), final=filled(snapshot.final))


def run_snapshot(stages: dict[str, Snapshot], source: str, value: Any, milliseconds: float, trace: Trace | None = None) -> Snapshot:
    """The run: the adjoint graph, whose values the trace gives one by one (the optimized graph has the same value in fewer steps)."""
    last = stages.get("adjoint") or stages.get("optimized")
    text = value_text(value) if not hasattr(value, "__myia_function__") else repr(value)
    return Snapshot("run", text, source, None, last.final if last is not None else None, result=text, trace=trace, time=milliseconds)


__all__ = ["add_values", "parsed_snapshot", "run_snapshot", "snapshot_of"]
