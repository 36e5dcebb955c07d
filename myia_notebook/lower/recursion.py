"""Which recursions are loops from the point of view of what they give: found, and described, for `lower.tapes`.

A component is a set of graphs that call each other. It qualifies when one of its graphs, the entry, is called from outside; none is a value; and in each graph one node
leads back into the component (a call, or a branch with arms in it), after which the graph only

    * hands on items of the result, each in its place, and
    * wraps closures among them: partial(◀g, saved…, closure).

`Component.contexts` are these wraps; `early` the nodes before. `unchanged` are the entry's parameters that every call inside hands on as they are.
"""
from __future__ import annotations

from dataclasses import dataclass, field

from myia_notebook.ir.graph import Apply, Constant, Graph, Node, Parameter, callee_of, graph_constant, is_call_of, primitive_of, reachable, schedule
from myia_notebook.ir.types import Function, NoneType, Static, Tuple, Type
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.table import PRIMITIVES

BRANCH, PARTIAL, MAKE_TUPLE, GETITEM = (PRIMITIVES[n] for n in ("branch", "partial", "make_tuple", "tuple_getitem"))


@dataclass(frozen=True, slots=True)
class Wrap:
    """partial(graph, operands… with a closure put in at position `hole`)"""

    graph: Graph
    operands: tuple[Node, ...]
    hole: int
    type: Type

    def mapped(self, known: dict[int, Node]) -> Wrap:
        return Wrap(self.graph, tuple(x if isinstance(x, Constant) else known[x.id] for x in self.operands), self.hole, self.type)

    def after_call(self, builder: Builder, received: Node) -> Node:
        """What the graph computes once the closure inside has answered: its nodes, copied. Only if it `passes_through`."""
        captured = self.graph.parameters[:self.graph.captured]
        known: dict[int, Node] = dict(zip((p.id for p in captured[:self.hole] + captured[self.hole + 1:]), self.operands))
        inner = call_through(self.graph, captured[self.hole])
        assert inner is not None
        known[inner.id] = received
        for node in schedule(self.graph):
            if node is not inner:
                inputs = [x if isinstance(x, Constant) else known[x.id] for x in node.inputs]
                is_item = is_call_of(node, GETITEM) and is_call_of(inputs[1], MAKE_TUPLE)
                known[node.id] = (inputs[1].inputs[1 + inputs[2].value] if is_item  # type: ignore[attr-defined]
                                  else Apply(builder.graph, inputs, node.type, node.name, node.provenance))
        output = self.graph.output
        return output if isinstance(output, Constant) else known[output.id]


def passes_through(wrap: Wrap) -> bool:
    """Whether the graph of a wrap first asks the closure inside, with its own sensitivity, which it needs for nothing else."""
    return call_through(wrap.graph, wrap.graph.parameters[wrap.hole]) is not None


def call_through(g: Graph, closure: Parameter) -> Apply | None:
    """The call closure(∇…) with exactly the sensitivities of g, if that is the only use of both."""
    sensitivities = g.parameters[g.captured:]
    found: Apply | None = None
    for node in schedule(g):
        if node.inputs[0] is closure and found is None and _same(node.inputs[1:], sensitivities):
            found = node
        elif any(x is closure or any(x is s for s in sensitivities) for x in node.inputs):
            return None
    return None if g.output is closure or any(g.output is s for s in sensitivities) else found


def _same(given: list[Node], wanted: list[Parameter]) -> bool:
    return len(given) == len(wanted) and all(x is p for x, p in zip(given, wanted))


@dataclass(slots=True)
class Component:
    graphs: list[Graph]
    ids: set[int]
    entry: Graph
    jumped: set[int]
    """Graphs that calls or several arms lead to."""
    placed: set[int]
    """Arms outside of the component that are used once: they can be copied."""
    calls: dict[int, Apply] = field(default_factory=dict)
    contexts: dict[int, dict[int, list[Wrap]]] = field(default_factory=dict)
    early: dict[int, list[Apply]] = field(default_factory=dict)
    wrapped: set[int] = field(default_factory=set)
    unchanged: set[int] = field(default_factory=set)

    def items(self, g: Graph) -> dict[int, Type]:
        """The closures in the result of g that are wrapped on the way: position and type (a result that is a closure is item 0)."""
        return {i: t for i, t in enumerate(_items(g.result)) if i in self.wrapped}


def _items(t: Type | None) -> tuple[Type, ...]:
    return t.items if isinstance(t, Tuple) else () if t is None else (t,)


def components(root: Graph) -> list[Component]:
    """The components that qualify, each with what is to be known of it."""
    graphs = reachable(root)
    uses = _Uses(graphs)
    made = [_component(c, uses) for c in _strong_components(graphs, uses.leads_to) if c[0].id in uses.leads_to[c[0].id] or len(c) > 1]
    return [c for c in made if c is not None]


class _Uses:
    """How each graph is used."""

    def __init__(self, graphs: list[Graph]) -> None:
        self.leads_to: dict[int, dict[int, Graph]] = {g.id: {} for g in graphs}
        self.called: dict[int, list[Graph]] = {}
        self.arms: dict[int, list[Graph]] = {}
        self.is_value: set[int] = set()
        for g in graphs:
            if (target := graph_constant(g.output)) is not None:
                self.is_value.add(target.id)
            for node in schedule(g):
                is_branch = is_call_of(node, BRANCH)
                for i, x in enumerate(node.inputs):
                    target = graph_constant(x)
                    if target is None:
                        continue
                    if i == 0 or (is_branch and i in (2, 3)):
                        self.leads_to[g.id][target.id] = target
                        (self.called if i == 0 else self.arms).setdefault(target.id, []).append(g)
                    else:
                        self.is_value.add(target.id)


def _strong_components(graphs: list[Graph], edges: dict[int, dict[int, Graph]]) -> list[list[Graph]]:
    """Tarjan's algorithm with a stack of its own."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    path: list[Graph] = []
    on_path: set[int] = set()
    found: list[list[Graph]] = []
    for start in graphs:
        if start.id in index:
            continue
        work = [(start, iter(edges[start.id].values()))]
        index[start.id] = low[start.id] = len(index)
        path.append(start)
        on_path.add(start.id)
        while work:
            g, successors = work[-1]
            successor = next(successors, None)
            if successor is None:
                work.pop()
                if work:
                    low[work[-1][0].id] = min(low[work[-1][0].id], low[g.id])
                if low[g.id] == index[g.id]:
                    at = next(i for i, x in enumerate(path) if x is g)
                    found.append(path[at:])
                    on_path.difference_update(x.id for x in path[at:])
                    del path[at:]
            elif successor.id not in index:
                index[successor.id] = low[successor.id] = len(index)
                path.append(successor)
                on_path.add(successor.id)
                work.append((successor, iter(edges[successor.id].values())))
            elif successor.id in on_path:
                low[g.id] = min(low[g.id], index[successor.id])
    return found


def _component(graphs: list[Graph], uses: _Uses) -> Component | None:
    ids = {g.id for g in graphs}
    if any(g.id in uses.is_value for g in graphs):
        return None
    outside = [g for g in graphs if any(user.id not in ids for user in (*uses.called.get(g.id, []), *uses.arms.get(g.id, [])))]
    if len(outside) != 1:
        return None
    entry = outside[0]
    jumped = {g.id for g in graphs if g.id in uses.called or len(uses.arms.get(g.id, [])) != 1}
    leaves = [graph_constant(x) for g in graphs for n in schedule(g) if is_call_of(n, BRANCH) for x in n.inputs[2:4]]
    placed = {a.id for a in leaves if a is not None and a.id not in ids and a.id not in uses.called and len(uses.arms[a.id]) == 1}
    component = Component(graphs, ids, entry, {*jumped, entry.id}, placed)
    for g in graphs:
        if not _describe(component, g):
            return None
        component.wrapped |= {i for i, wraps in component.contexts[g.id].items() if wraps}
    if not component.wrapped:
        return None
    component.unchanged = _unchanged(component)
    return component


def _describe(component: Component, g: Graph) -> bool:
    """Finds the node of g that leads back, and what follows it."""
    nodes = schedule(g)
    leading = [n for n in nodes if _leads_back(n, component.ids)]
    if len(leading) != 1:
        return False
    node = leading[0]
    items = _items(g.result)
    inner = _items(Builder.type_of(node))
    late = _dependents(nodes, node)
    if len(items) != len(inner) or isinstance(g.result, Tuple) != isinstance(node.type, Tuple):
        return False
    contexts: dict[int, list[Wrap]] = {i: [] for i, t in enumerate(items) if isinstance(t, Function)}
    if g.output is not node:
        whole = not isinstance(g.result, Tuple)
        if not whole and primitive_of(g.output) is not MAKE_TUPLE:
            return False
        given = [g.output] if whole else g.output.inputs[1:]  # type: ignore[attr-defined]
        for i, x in enumerate(given):
            if is_empty(inner[i]):
                continue
            found = _wraps(x, i, None if whole else node, node, late)
            if found is None or (found and i not in contexts):
                return False
            if found:
                contexts[i] = found
    for i in contexts:
        if not isinstance(inner[i], Function):
            return False
    component.calls[g.id], component.contexts[g.id] = node, contexts
    component.early[g.id] = [n for n in nodes if n.id not in late]
    return True


def is_empty(t: Type) -> bool:
    """Whether a type has one value only."""
    return isinstance(t, (NoneType, Static)) or (isinstance(t, Tuple) and all(map(is_empty, t.items)))


def _leads_back(node: Apply, ids: set[int]) -> bool:
    target = callee_of(node)
    if target is not None:
        return target.id in ids
    return is_call_of(node, BRANCH) and any((a := graph_constant(x)) is not None and a.id in ids for x in node.inputs[2:4])


def _dependents(nodes: list[Apply], node: Apply) -> set[int]:
    """The node, and all that need it."""
    late = {node.id}
    for n in nodes:
        if any(x.id in late for x in n.inputs):
            late.add(n.id)
    return late


def _wraps(x: Node, i: int, tuple_node: Apply | None, node: Apply, late: set[int]) -> list[Wrap] | None:
    """The wraps around item i, the outermost first; None when x is anything else."""
    wraps: list[Wrap] = []
    while True:
        if tuple_node is None and x is node:
            return wraps
        if tuple_node is not None and is_call_of(x, GETITEM) and x.inputs[1] is node:  # type: ignore[attr-defined]
            return wraps if x.inputs[2].value == i else None  # type: ignore[attr-defined]
        if not is_call_of(x, PARTIAL):
            return None
        assert isinstance(x, Apply)
        holes = [k for k, operand in enumerate(x.inputs[2:]) if operand.id in late]
        target = graph_constant(x.inputs[1])
        if len(holes) != 1 or target is None:
            return None
        hole = holes[0]
        operands = x.inputs[2:]
        inside = operands.pop(hole)
        if not isinstance(inside.type, Function):
            return None
        wraps.append(Wrap(target, tuple(operands), hole, Builder.type_of(x)))
        x = inside


def _unchanged(component: Component) -> set[int]:
    """Positions of the entry's parameters that every step hands on as they are. None where several graphs are jumped to."""
    entry = component.entry
    if component.jumped != {entry.id}:
        return set()
    origin = {p.id: i for i, p in enumerate(entry.parameters)}
    kept = set(range(len(entry.parameters)))
    work = [entry]
    while work:
        node = component.calls[work.pop().id]
        if callee_of(node) is entry:
            kept &= {i for i, x in enumerate(node.inputs[1:]) if origin.get(x.id) == i}
            continue
        for arm in (graph_constant(x) for x in node.inputs[2:4]):
            assert arm is not None
            if arm is entry:
                kept &= {i for i, x in enumerate(node.inputs[4:]) if origin.get(x.id) == i}
            elif arm.id in component.ids:
                origin.update((p.id, origin[x.id]) for p, x in zip(arm.parameters, node.inputs[4:]) if x.id in origin)
                work.append(arm)
    return kept
