"""States as DOT, for the static picture and for export, built with the `graphviz` package (which escapes all text)."""
from __future__ import annotations

import graphviz

from myia_notebook.snapshot import GraphView, NodeView, State

COLORS = {"primal": ("#1f5fc9", "#edf3fd"), "forward": ("#066b62", "#e6f4f2"), "backpropagator": ("#a63c00", "#fdf0e7"), "sensitivity": ("#b02a80", "#fcebf5"),
          "constant": ("#57606a", "#f6f7f8"), "free": ("#6f6100", "#fbf7df"), "control": ("#30363d", "#eef0f2"), "tangent": ("#066b62", "#e6f4f2")}
GLYPHS = {"forward": "▶ ", "backpropagator": "◀ ", "sensitivity": "∇ "}
LIMIT = 120


def visible(state: State) -> tuple[list[GraphView], dict[int, list[NodeView]]]:
    """Graphs reachable from the root, and the nodes that each shows."""
    graphs = {g.id: g for g in state.graphs}
    nodes = {n.id: n for n in state.nodes}
    order: list[GraphView] = []
    shown: dict[int, list[NodeView]] = {}
    queue = [state.root]
    while queue:
        g = graphs.get(queue.pop(0))
        if g is None or g.id in shown:
            continue
        order.append(g)
        own: dict[int, NodeView] = {p: nodes[p] for p in g.parameters if p in nodes}
        stack, seen = [g.output], set()
        while stack:
            key = stack.pop()
            n = nodes.get(key)
            if n is None or key in seen:
                continue
            seen.add(key)
            if n.graph == g.id:
                own[key] = n
            elif n.graph is not None:
                queue.append(n.graph)
            stack.extend(n.inputs)
            queue.extend(n.callees)
        shown[g.id] = list(own.values())
    return order, shown


def _label(n: NodeView) -> str:
    name = n.name or n.label or n.symbol or n.op
    mark = GLYPHS.get(n.role, "")
    first = f"{mark}{name}" + (f"  {n.symbol}" if n.kind == "apply" and n.name and n.symbol else "")
    second = n.value or n.type
    return graphviz.escape(first) + ("\\n" + graphviz.escape(second) if second and n.kind != "constant" else "")


def to_dot(state: State) -> graphviz.Digraph:
    """The picture of a state. Beyond `LIMIT` nodes, functions are closed boxes that show their size."""
    order, shown = visible(state)
    dot = graphviz.Digraph("myia", graph_attr={"rankdir": "TB", "nodesep": "0.25", "ranksep": "0.35", "fontname": "Courier", "bgcolor": "transparent"},
                           node_attr={"shape": "box", "style": "rounded,filled", "fontname": "Courier", "fontsize": "11"},
                           edge_attr={"color": "#7a8591", "arrowsize": "0.6"})
    total = 0
    closed: set[int] = set()
    for g in order:
        total += len(shown[g.id])
        if total > LIMIT and g.id != state.root:
            closed.add(g.id)
    place: dict[int, str] = {}
    for g in order:
        if g.id in closed:
            dot.node(f"g{g.id}", graphviz.escape(f"{g.name}  ({len(shown[g.id])})"), color="#1f5fc9", fillcolor="#edf3fd", peripheries="2")
            place.update((n.id, f"g{g.id}") for n in shown[g.id])
            continue
        _cluster(dot, g, shown[g.id])
        place.update((n.id, f"n{n.id}") for n in shown[g.id])
    for g in order:
        _edges(dot, g, shown[g.id], place, closed)
    return dot


def _cluster(dot: graphviz.Digraph, g: GraphView, nodes: list[NodeView]) -> None:
    ink = COLORS.get({"forward": "forward", "backpropagator": "backpropagator"}.get(g.kind, "primal"), COLORS["primal"])
    with dot.subgraph(name=f"cluster_{g.id}") as c:
        c.attr(label=graphviz.escape(g.name), labeljust="l", color=ink[0], fontcolor=ink[0], style="rounded", fontsize="12")
        for n in nodes:
            color, fill = COLORS.get(n.role, COLORS["primal"])
            shape = {"constant": "note", "control": "hexagon"}.get(n.role, "box")
            style = "filled,dashed" if n.role == "free" else "rounded,filled"
            c.node(f"n{n.id}", _label(n), color=color, fillcolor=fill, fontcolor=color, shape=shape, style=style)
        c.node(f"r{g.id}", "return", color="#30363d", fillcolor="#eef0f2", fontcolor="#30363d", style="filled")


def _edges(dot: graphviz.Digraph, g: GraphView, nodes: list[NodeView], place: dict[int, str], closed: set[int]) -> None:
    for n in nodes:
        for i in n.inputs:
            if i in place and place[i] != place[n.id]:
                dot.edge(place[i], place[n.id])
        for callee in n.callees:
            if callee in closed and place[n.id] != f"g{callee}":
                dot.edge(place[n.id], f"g{callee}", style="bold", color="#30363d")
    if g.id not in closed and g.output in place:
        dot.edge(place[g.output], f"r{g.id}")
