"""What the optimizer did: light records of IR nodes, turned into `snapshot.Event`s by the view."""
from __future__ import annotations

import time
from dataclasses import dataclass, field

from myia_notebook.ir.graph import Apply, Graph, Node, Parameter, reachable, schedule


@dataclass(frozen=True, slots=True)
class NodeForm:
    """How a node was at one moment: its inputs and type (nodes change in place)."""

    node: Node
    graph: Graph | None
    inputs: tuple[Node, ...]


@dataclass(slots=True)
class Rewrite:
    """One event. `matched` and `produced` are nodes; `added` and `changed` are forms after it; `outputs` graphs with a new output;
    `graphs` graphs that are new or whose parameters changed."""

    pass_name: str
    rule: str
    family: str
    reason: str
    location: str
    graph: Graph | None
    matched: tuple[Node, ...] = ()
    produced: tuple[Node, ...] = ()
    added: list[NodeForm] = field(default_factory=list)
    changed: list[NodeForm] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    outputs: list[tuple[Graph, Node]] = field(default_factory=list)
    graphs: list[tuple[Graph, tuple[Parameter, ...], Node, int]] = field(default_factory=list)
    time: float = 0.0
    checked: bool | None = None

    @property
    def has_delta(self) -> bool:
        """Whether anything changed: a pass that changes nothing is an event too."""
        return bool(self.added or self.changed or self.removed or self.graphs or self.outputs)


def form(node: Node) -> NodeForm:
    inputs = tuple(node.inputs) if isinstance(node, Apply) else ()
    return NodeForm(node, getattr(node, "graph", None), inputs)


class Recorder:
    """Collects rewrites. `None` in its place costs nothing."""

    def __init__(self) -> None:
        self.rewrites: list[Rewrite] = []
        self.start = time.perf_counter()

    def add(self, rewrite: Rewrite) -> None:
        rewrite.time = (time.perf_counter() - self.start) * 1000
        self.rewrites.append(rewrite)


class Shape:
    """The whole program at one moment, for passes that change many nodes at once: `difference` is what a pass did."""

    def __init__(self, root: Graph) -> None:
        self.graphs: dict[int, tuple[Graph, tuple[Parameter, ...], Node, int]] = {}
        self.nodes: dict[int, NodeForm] = {}
        for graph in reachable(root):
            self.graphs[graph.id] = (graph, tuple(graph.parameters), graph.output, graph.captured)
            for node in (*graph.parameters, *schedule(graph)):
                self.nodes[node.id] = form(node)

    def difference(self, after: Shape, rewrite: Rewrite) -> bool:
        """Fills the rewrite's delta; False when nothing changed."""
        for key, new in after.nodes.items():
            old = self.nodes.get(key)
            if old is None:
                rewrite.added.append(new)
            elif [x.id for x in old.inputs] != [x.id for x in new.inputs]:
                rewrite.changed.append(new)
        rewrite.removed = [key for key in self.nodes if key not in after.nodes]
        for key, entry in after.graphs.items():
            old_entry = self.graphs.get(key)
            if old_entry is None or [p.id for p in old_entry[1]] != [p.id for p in entry[1]] or old_entry[3] != entry[3]:
                rewrite.graphs.append(entry)
            elif old_entry[2].id != entry[2].id:
                rewrite.outputs.append((entry[0], entry[2]))
        rewrite.produced = tuple(f.node for f in rewrite.added)
        return rewrite.has_delta
