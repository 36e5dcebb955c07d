"""The contract between the compiler and the viewer: a `Snapshot` after each stage, with the `Event`s inside it.

Everything here is frozen, holds only strings, numbers and tuples, and becomes JSON with `to_dict`. The front end
(`labextension/src/snapshot.ts` mirrors this file) rebuilds any step from it and knows nothing else of the compiler.

Identity. Node and graph ids are small integers, unique within one compilation and *stable across its stages and events*: a
node that a stage leaves alone keeps its id. Ids of nodes and of graphs are drawn from one sequence.

Replay. `initial` is the state before the stage's first event (the final state of the stage before it, repeated in full so
that a snapshot stands alone); applying every event's delta to it gives `final`. For an event: first `removed` nodes go, then
`added` nodes come (with the graphs of `added_graphs`), then each `changed` view replaces the node with the same id, and
`outputs` gives graphs a new output node. A node is shown when it can be reached from its graph's output; deltas may leave
unreachable nodes behind, and the viewer hides them.

The gradient stage is laid out once in its final form, and its events only *reveal* (`Event.gradient` says, for one primal
node, which nodes of ▶g and ◀g it introduced). Equations are plain token lists, so that the viewer can draw MathML with the
program's names and put each symbol's value under it.
"""
from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal

VERSION = 1

NodeKind = Literal["parameter", "apply", "constant"]
Role = Literal["primal", "forward", "backpropagator", "sensitivity", "tangent", "constant", "free", "control"]
GraphKind = Literal["function", "loop", "branch", "closure", "forward", "backpropagator", "tangent", "program"]
EventKind = Literal["parse", "infer", "gradient", "rewrite", "pass", "run"]


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node. `inputs` are node ids, the function first when it is a node (an unknown call); constants inline as nodes.

    `name` is the user's variable or '' ; `label` is what to draw when there is no name (source text such as `0.6 * s`);
    `op` the primitive's or callee's name; `symbol` what the picture writes for it (`×`, `sin`, `f`);
    `callee` a graph id for a known call, `callees` all graphs that a call, branch or closure may run;
    `type` as the user reads it (`float64[3, 2]`); `value` the value on the cell's inputs ('' when not recorded);
    `span` is [line, column, end line, end column]; `primal` the id of the node it differentiates or is the forward of;
    `keeps` names what a closure captured.
    """

    id: int
    graph: int | None
    kind: NodeKind
    role: Role
    name: str = ""
    label: str = ""
    op: str = ""
    symbol: str = ""
    inputs: tuple[int, ...] = ()
    callee: int | None = None
    callees: tuple[int, ...] = ()
    type: str = ""
    value: str = ""
    span: tuple[int, int, int, int] | None = None
    primal: int | None = None
    keeps: tuple[str, ...] = ()
    how: str = ""


@dataclass(frozen=True, slots=True)
class GraphView:
    """One graph (function). `captured` leading parameters are captured values; `parent` is the graph that encloses it in
    the parsed form; `primal` the graph that a ▶, ◀ or ▷ graph was made from; `output` a node id."""

    id: int
    name: str
    kind: GraphKind
    parameters: tuple[int, ...]
    output: int
    captured: int = 0
    parent: int | None = None
    primal: int | None = None
    span: tuple[int, int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class State:
    """All graphs and nodes at one moment. `root` is the id of the graph that runs."""

    root: int
    graphs: tuple[GraphView, ...]
    nodes: tuple[NodeView, ...]


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of an equation. `kind`: 'name' (with `node`), 'number', 'operator', 'function', 'text', 'open', 'close', 'sup'.

    `role` colors it; `node` ties it to the graph and to its value. 'sup' raises the tokens of `body`; 'function' applies
    `text` to `body`; 'fraction' puts `body` over `below`.
    """

    kind: str
    text: str = ""
    role: str = ""
    node: int | None = None
    body: tuple[Token, ...] = ()
    below: tuple[Token, ...] = ()


@dataclass(frozen=True, slots=True)
class Contribution:
    """`∇target += equation`: one addition to the sensitivity of the primal node `target`; `node` in ◀g holds the addend,
    `total` the sum so far (the same node when it is the first), `index` of `of` additions."""

    target: int
    node: int
    total: int
    index: int
    of: int
    equation: tuple[Token, ...] = ()


@dataclass(frozen=True, slots=True)
class GradientStep:
    """What the gradient transform introduced for one primal node, in the order in which the mathematics does.

    `phase` is 'forward' (▶ appears, ◀ keeps), 'seed' (∇ of the output), 'backward' (◀ is called with ∇) or 'return'.
    `forward` is the node in ▶g, `sensitivity` the complete ∇ node in ◀g, `keeps` the ▶ nodes that ◀ uses.
    """

    phase: Literal["forward", "seed", "backward", "return"]
    graph: int
    primal: int | None = None
    forward: int | None = None
    sensitivity: int | None = None
    keeps: tuple[int, ...] = ()
    contributions: tuple[Contribution, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """One change inside a stage. `title` says it in a sentence, `reason` says why it is right.

    Rewrites have `rule`, `family`, `location` (file:line of the rule). `matched` are the nodes the pattern covered, in the
    state before; `produced` the nodes that took their place. A pass that changed nothing is one event of kind 'pass' with
    an empty delta. `time` is in milliseconds since the stage began.
    """

    index: int
    kind: EventKind
    title: str
    reason: str = ""
    pass_name: str = ""
    rule: str = ""
    family: str = ""
    location: str = ""
    graph: int | None = None
    focus: tuple[int, ...] = ()
    matched: tuple[int, ...] = ()
    produced: tuple[int, ...] = ()
    removed: tuple[int, ...] = ()
    added: tuple[NodeView, ...] = ()
    added_graphs: tuple[GraphView, ...] = ()
    changed: tuple[NodeView, ...] = ()
    outputs: tuple[tuple[int, int], ...] = ()
    equation: tuple[Token, ...] = ()
    after_equation: tuple[Token, ...] = ()
    gradient: GradientStep | None = None
    checked: bool | None = None
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class ErrorView:
    """A failure, for the stage where it happened."""

    code: str
    kind: str
    message: str
    span: tuple[int, int, int, int] | None
    hint: str = ""
    line_text: str = ""


@dataclass(frozen=True, slots=True)
class CodeText:
    """One listing of the code stage. `lines[i]` came from source line `origin[i]` (0 when from none); `nodes[i]` the node ids."""

    language: Literal["python", "llvm", "ir", "ptx"]
    title: str
    lines: tuple[str, ...]
    origin: tuple[int, ...] = ()
    nodes: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """What the reference interpreter saw on the cell's inputs, in order: node `nodes[i]` got `values[i]` in call `calls[i]`.

    Calls are numbered from 1. Call `c` ran graph `graphs[c - 1]`; `forwards[c - 1]` is, for the call of a backpropagator, the call of
    the ▶ graph that made it (0 when there is none). `is_cut` when the run was longer than what is kept here.
    """

    nodes: tuple[int, ...] = ()
    calls: tuple[int, ...] = ()
    values: tuple[str, ...] = ()
    graphs: tuple[int, ...] = ()
    forwards: tuple[int, ...] = ()
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state after one stage. `text` is its textual IR (or generated code), `time` in milliseconds."""

    stage: str
    text: str
    source: str
    initial: State | None = None
    final: State | None = None
    events: tuple[Event, ...] = ()
    code: tuple[CodeText, ...] = ()
    error: ErrorView | None = None
    result: str = ""
    trace: Trace | None = None
    time: float = 0.0
    version: int = VERSION

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: dataclasses become dicts without their default values, tuples become lists."""
        data: dict[str, Any] = to_json(replace(self, events=()))
        if self.events:
            data["events"] = compact_events(self.events, self.initial)
        data["version"] = self.version
        return data

    def svg(self) -> str:
        """The static picture of this stage (drawn without a browser)."""
        from myia_notebook.view.fallback import stage_svg
        return stage_svg(self)


_SHARED = ("kind", "title", "reason", "family", "location")


def compact_events(events: tuple[Event, ...], initial: State | None) -> list[Any]:
    """Events as JSON, each by what differs from what came before (`labextension/src/deltas.ts` undoes it).

    For rewrites: the texts of a rule stand in its first event only, the pass where it changes, `index` where it is not the position, `focus`
    where it is not `matched`, `produced` where it is not the added applications. A view of a node says what differs from the last view with its
    id, or, when it is new, from the view with the id `like`, a node that reads the same; the value is never taken over from `like`.
    """
    known: dict[int, NodeView] = {n.id: n for n in initial.nodes} if initial is not None else {}
    alike: dict[Any, int] = {_looks(n): n.id for n in known.values()}
    rules: dict[str, dict[str, Any]] = {}
    last_pass = ""
    made: list[Any] = []
    for position, event in enumerate(events):
        data = to_json(event)
        if event.rule:
            texts = {name: getattr(event, name) for name in _SHARED}
            shared = rules.get(event.rule, dict.fromkeys(_SHARED, ""))
            for name in _SHARED:
                data.pop(name, None)
                if texts[name] != shared[name]:
                    data[name] = texts[name]
            rules[event.rule] = texts
            data.pop("pass_name", None)
            if event.pass_name != last_pass:
                data["pass_name"] = last_pass = event.pass_name
            if event.index == position:
                data.pop("index", None)
            if event.focus == event.matched:
                data.pop("focus", None)
            if event.produced == tuple(n.id for n in event.added if n.kind == "apply"):
                data.pop("produced", None)
            else:
                data["produced"] = list(event.produced)
            for name, views in (("added", event.added), ("changed", event.changed)):
                if views:
                    data[name] = [_difference(view, known, alike) for view in views]
        made.append(data)
    return made


def _looks(view: NodeView) -> Any:
    return (view.kind, view.label, view.op, view.symbol, view.type, view.span, view.primal)


def _difference(view: NodeView, known: dict[int, NodeView], alike: dict[Any, int]) -> dict[str, Any]:
    data: dict[str, Any] = {"id": view.id}
    base = known.get(view.id)
    if base is None:
        like = alike.get(_looks(view))
        if like is not None:
            data["like"] = like
            base = replace(known[like], value="")
    if base is None:
        data = to_json(view)
    else:
        for f in fields(NodeView):
            new = getattr(view, f.name)
            if f.name != "id" and new != getattr(base, f.name) and not (f.name == "value" and not new):
                data[f.name] = to_json(new)
    known[view.id] = view if view.value or base is None or "like" in data else replace(view, value=base.value)
    alike[_looks(view)] = view.id
    return data


def to_json(value: Any) -> Any:
    """Frozen dataclasses to plain JSON values. A field equal to its default is left out, to keep event streams small."""
    if is_dataclass(value) and not isinstance(value, type):
        result: dict[str, Any] = {}
        for f in fields(value):
            item = getattr(value, f.name)
            if f.default is item or (item == f.default and type(item) is type(f.default)):
                continue
            result[f.name] = to_json(item)
        return result
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    return value


__all__ = ["VERSION", "CodeText", "Contribution", "ErrorView", "Event", "GradientStep", "GraphView", "NodeView", "Snapshot",
           "State", "Token", "Trace", "compact_events", "to_json"]
