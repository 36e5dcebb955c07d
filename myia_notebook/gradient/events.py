"""What the gradient transform did, in the order in which the mathematics does it, as light records of IR nodes.

`pipeline` turns them into `snapshot.Event`s. For every transformed graph: one 'forward' record per node (▶ appears), one 'seed'
(∇ of the output), one 'backward' record per differentiated node in reverse order (◀ is called, with its additions), one 'return'.
"""
from __future__ import annotations

from dataclasses import dataclass, field

from myia_notebook.ir.graph import Apply, Graph, Node, Parameter


@dataclass(slots=True, eq=False)
class Addition:
    """∇target += node; `total` is the sum after it."""

    target: Node
    node: Node
    total: Node


@dataclass(slots=True, eq=False)
class GradientRecord:
    phase: str
    graph: Graph
    primal: Node | None
    forward: Node | None
    sensitivity: Node | None
    additions: list[Addition]

    def keeps(self, backward: Graph) -> list[Parameter]:
        """The captured parameters of ◀g that this node's backpropagator uses (what ◀ keeps)."""
        stop = {self.sensitivity.id} if self.sensitivity is not None else set()
        seen: set[int] = set(stop)
        found: list[Parameter] = []
        stack: list[Node] = [addition.node for addition in reversed(self.additions)]
        while stack:
            node = stack.pop()
            if node.id in seen:
                continue
            seen.add(node.id)
            if isinstance(node, Parameter) and node.graph is backward:
                found.append(node)
            elif isinstance(node, Apply) and node.graph is backward:
                stack.extend(reversed(node.inputs))
        return found


@dataclass(slots=True, eq=False)
class TransformedGraph:
    """One graph with its ▶ and ◀, its records, and all additions to each primal node's sensitivity (by node id)."""

    primal: Graph
    forward: Graph
    backward: Graph
    records: list[GradientRecord]
    uses: dict[int, list[Addition]]


@dataclass(slots=True)
class GradientEvents:
    """All graphs transformed, in order; `level` counts the rounds (a gradient of a gradient has two)."""

    graphs: list[TransformedGraph] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    level: int = 1

    def add_graph(self, primal: Graph, forward: Graph, backward: Graph, records: list[GradientRecord],
                  uses: dict[int, list[Addition]]) -> None:
        self.graphs.append(TransformedGraph(primal, forward, backward, records, uses))
        self.levels.append(self.level)
