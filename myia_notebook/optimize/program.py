"""A program as the passes see it: its graphs, their nodes in order, and the places where each graph is used, found once.

A pass reads these as often as it likes; it walks nothing twice. After a pass that changed something, the driver calls `forget`. While a
pass rewrites, what it has read stays as it was when the pass began.
"""
from __future__ import annotations

from dataclasses import dataclass, field

from myia_notebook.ir.graph import Apply, Constant, Graph, Node, callee_of, graph_constant, is_call_of, primitive_of, reachable, schedule
from myia_notebook.ir.types import Function, List, Tuple, Type, parts
from myia_notebook.ops.environment import Label
from myia_notebook.ops.table import PRIMITIVES

BRANCH, PARTIAL = PRIMITIVES["branch"], PRIMITIVES["partial"]


@dataclass(slots=True)
class Sites:
    """How each graph (by id) is used: known calls, arms of branches, partials, other uses as a value. `frozen`: graphs whose captured values
    something else looks at: environments in use, and closures that Python sees."""

    calls: dict[int, list[Apply]] = field(default_factory=dict)
    arms: dict[int, list[Apply]] = field(default_factory=dict)
    partials: dict[int, list[Apply]] = field(default_factory=dict)
    values: set[int] = field(default_factory=set)
    frozen: set[int] = field(default_factory=set)
    branches: list[Apply] = field(default_factory=list)


class Program:
    """Everything reachable from `root`."""

    def __init__(self, root: Graph) -> None:
        self.root = root
        self._graphs: list[Graph] | None = None
        self._nodes: dict[int, list[Apply]] = {}
        self._sites: Sites | None = None

    def forget(self) -> None:
        """The program changed: what was found is found again."""
        self._graphs, self._sites = None, None
        self._nodes.clear()

    @property
    def graphs(self) -> list[Graph]:
        if self._graphs is None:
            self._graphs = reachable(self.root)
        return self._graphs

    def nodes(self, graph: Graph) -> list[Apply]:
        """The Apply nodes of a graph, each after what it needs."""
        found = self._nodes.get(graph.id)
        if found is None:
            found = self._nodes[graph.id] = schedule(graph)
        return found

    @property
    def sites(self) -> Sites:
        if self._sites is None:
            self._sites = self._find_sites()
        return self._sites

    def _find_sites(self) -> Sites:
        found = Sites()
        found.values.add(self.root.id)
        found.frozen.update(_outside(self.root))
        for g in self.graphs:
            if (target := graph_constant(g.output)) is not None:
                found.values.add(target.id)
            for node in self.nodes(g):
                if is_call_of(node, BRANCH):
                    found.branches.append(node)
                for i, x in enumerate(node.inputs):
                    if x.__class__ is Constant:
                        _note(found, node, i, x.value)  # type: ignore[attr-defined]
        return found


def _note(found: Sites, node: Apply, position: int, value: object) -> None:
    if value.__class__ is Label:
        found.frozen.add(value.graph.id)  # type: ignore[attr-defined]
    elif isinstance(value, Graph):
        primitive = primitive_of(node)
        if position == 0:
            found.calls.setdefault(value.id, []).append(node)
        elif primitive is BRANCH and position in (2, 3):
            found.arms.setdefault(value.id, []).append(node)
        elif primitive is PARTIAL and position == 1:
            found.partials.setdefault(value.id, []).append(node)
        else:
            found.values.add(value.id)


def _outside(root: Graph) -> set[int]:
    """Graphs of closures that the program returns or takes: Python sees what they captured."""
    found: set[int] = set()
    stack: list[Type | None] = [root.result, *(p.type for p in root.parameters)]
    while stack:
        match stack.pop():
            case Tuple() | List() as whole:
                stack.extend(parts(whole))
            case Function(cls):
                for member in cls.members:
                    if member.id not in found:
                        found.add(member.id)
                        stack.extend(p.type for p in member.parameters[:member.captured])
            case _:
                pass
    return found


class Groups:
    """Union-find over graphs: those that must change together."""

    def __init__(self, graphs: list[Graph]) -> None:
        self.parent = {g.id: g.id for g in graphs}
        self.graphs = {g.id: g for g in graphs}

    def find(self, key: int) -> int:
        while self.parent[key] != key:
            self.parent[key] = self.parent[self.parent[key]]
            key = self.parent[key]
        return key

    def join(self, a: Graph, *others: Graph) -> None:
        for b in others:
            self.parent[self.find(a.id)] = self.find(b.id)

    def groups(self) -> list[list[Graph]]:
        found: dict[int, list[Graph]] = {}
        for key, g in self.graphs.items():
            found.setdefault(self.find(key), []).append(g)
        return list(found.values())


def targets(node: Node) -> list[Graph]:
    """The graphs that a known call or a branch may run."""
    target = callee_of(node)
    if target is not None:
        return [target]
    if is_call_of(node, BRANCH):
        return [g for x in node.inputs[2:4] if (g := graph_constant(x)) is not None]  # type: ignore[attr-defined]
    return []
