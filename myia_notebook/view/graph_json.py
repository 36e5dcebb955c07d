"""IR graphs to snapshot states: plain views of graphs and nodes with ids that stay the same over a compilation."""
from __future__ import annotations

from myia_notebook.ir.graph import Apply, Constant, Graph, Node, Parameter, callee_of, graph_constant, primitive_of, reachable, schedule
from myia_notebook.ir.types import Function, Type
from myia_notebook.snapshot import GraphView, NodeView, State
from myia_notebook.view.labels import Source, constant_text, cut, label_of, operation_of, plain_name, role_of


class Identity:
    """Small numbers for nodes and graphs, given at first sight and kept over all stages and events of a compilation."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._constants: dict[tuple[int, int], int] = {}
        self._next = 0

    def number(self, id_: int) -> int:
        found = self._numbers.get(id_)
        if found is None:
            self._next += 1
            found = self._numbers[id_] = self._next
        return found

    def constant(self, user: Apply | Graph, position: int) -> int:
        """A constant is drawn beside each of its uses, so it has a number for each."""
        key = (user.id, position)
        if key not in self._constants:
            self._next += 1
            self._constants[key] = self._next
        return self._constants[key]


def span_of(thing: Node | Graph) -> tuple[int, int, int, int] | None:
    span = thing.provenance.span
    return None if span is None else (span.line, span.column, span.end_line, span.end_column)


class Viewer:
    """Makes views for one program. `source` is the user's text."""

    def __init__(self, identity: Identity, source: str) -> None:
        self.identity, self.source = identity, Source(source)

    def state(self, root: Graph, others: tuple[Graph, ...] = ()) -> State:
        """All graphs reachable from root (and from `others`)."""
        graphs: dict[int, Graph] = {}
        for start in (root, *others):
            graphs.update((g.id, g) for g in reachable(start))
        nodes: list[NodeView] = []
        views: list[GraphView] = []
        for g in graphs.values():
            nodes.extend(self.parameter(p, g) for p in g.parameters)
            for node in _needed(g):
                nodes.extend(self.node(node, g))
            output, extra = self.output(g)
            nodes.extend(extra)
            views.append(self.graph(g, output))
        return State(self.identity.number(root.id), tuple(views), tuple({n.id: n for n in nodes}.values()))

    def graph(self, g: Graph, output: int) -> GraphView:
        n = self.identity.number
        return GraphView(n(g.id), g.name, g.kind, tuple(n(p.id) for p in g.parameters), output, g.captured, self._parent(g),
                         n(g.primal.id) if g.primal is not None else None, span_of(g))

    def _parent(self, g: Graph) -> int | None:
        for node in schedule(g):
            for x in node.inputs:
                owner = getattr(x, "graph", None)
                if isinstance(owner, Graph) and owner is not g:
                    return self.identity.number(owner.id)
        owner = getattr(g.output, "graph", None)
        return self.identity.number(owner.id) if isinstance(owner, Graph) and owner is not g else None

    def output(self, g: Graph) -> tuple[int, list[NodeView]]:
        if isinstance(g.output, Constant):
            id_ = self.identity.constant(g, 0)
            return id_, [self.constant(g.output, id_, g)]
        return self.identity.number(g.output.id), []

    def parameter(self, p: Parameter, g: Graph) -> NodeView:
        captured = p in g.parameters[:g.captured]
        role = "free" if captured and g.kind not in ("forward",) else role_of(p, g)
        return NodeView(self.identity.number(p.id), self.identity.number(g.id), "parameter", role, plain_name(p),  # type: ignore[arg-type]
                        "" if p.name else cut(self.source.slice(p)), type=_type(p.type), span=span_of(p), primal=self._primal(p), how=p.provenance.how)

    def _primal(self, node: Node) -> int | None:
        origin = node.provenance.origin
        return None if origin is None else self.identity.number(origin)

    def constant(self, node: Constant, id_: int, g: Graph) -> NodeView:
        text = constant_text(node)
        target = graph_constant(node)
        return NodeView(id_, self.identity.number(g.id), "constant", "constant", "", text, type=_type(node.type), span=span_of(node),
                        callees=(self.identity.number(target.id),) if target is not None else (), value=text)

    def node(self, node: Apply, g: Graph) -> list[NodeView]:
        """The view of an Apply, and those of its constants."""
        extra: list[NodeView] = []
        inputs: list[int] = []
        callees: list[int] = []
        known = callee_of(node)
        for position, x in enumerate(node.inputs):
            target = graph_constant(x)
            if target is not None:
                callees.append(self.identity.number(target.id))
            if position == 0 and isinstance(x, Constant):
                continue
            if not isinstance(x, Constant):
                inputs.append(self.identity.number(x.id))
            elif target is None and not _is_hidden(x):
                id_ = self.identity.constant(node, position)
                extra.append(self.constant(x, id_, g))
                inputs.append(id_)
        if known is None and isinstance(node.inputs[0].type, Function):
            callees += [self.identity.number(m.id) for m in node.inputs[0].type.cls.members]
        op, symbol = operation_of(node)
        primitive = primitive_of(node)
        keeps = tuple(plain_name(x) or cut(self.source.slice(x)) for x in node.inputs[2:]) if primitive is not None and primitive.name == "partial" else ()
        view = NodeView(self.identity.number(node.id), self.identity.number(g.id), "apply", role_of(node, g), plain_name(node),
                        "" if node.name else label_of(node, self.source), op, symbol, tuple(inputs),
                        self.identity.number(known.id) if known is not None else None, tuple(callees), _type(node.type), "", span_of(node),
                        self._primal(node), keeps, node.provenance.how)
        return [*extra, view]


def _needed(g: Graph) -> list[Apply]:
    return schedule(g)


def _is_hidden(x: Constant) -> bool:
    """Constants that are not drawn: labels, types, static arguments that are no numbers."""
    return type(x.value).__name__ in ("Label", "GradientOptions", "TangentOptions", "Request", "Rebound") or isinstance(x.value, Type)


def _type(t: Type | None) -> str:
    return "" if t is None else str(t)
