"""Which closed graphs are recursive, and which of their parameters never change while they recurse.

A known value may flow into a graph outside any cycle. Into a cycle it flows only through a parameter that every call inside the cycle
hands on unchanged: so an axis or a shape stays known inside a loop, and a loop counter does not (it would unroll the loop).
"""
from __future__ import annotations

from typing import Any

from myia_notebook.ir.graph import Apply, Constant, Graph, Node, Parameter, callee_of, graph_constant, is_call_of, reachable, references, schedule
from myia_notebook.ops.table import PRIMITIVES

BRANCH, PARTIAL = PRIMITIVES["branch"], PRIMITIVES["partial"]
_TOP, _VARIES = ("top",), ("varies",)


def components(graphs: list[Graph]) -> dict[int, int]:
    """Strongly connected components of the reference graph (Tarjan 1972, iterative): graph id -> component number; −1 when the graph
    is in no cycle."""
    edges = {g.id: list({r.id: r for r in references(g)}.values()) for g in graphs}
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    result: dict[int, int] = {}
    count = 0
    for start in graphs:
        if start.id in index:
            continue
        work: list[tuple[int, int]] = [(start.id, 0)]
        while work:
            v, at = work.pop()
            if at == 0:
                index[v] = low[v] = len(index)
                stack.append(v)
                on_stack.add(v)
            descended = False
            for i in range(at, len(edges[v])):
                w = edges[v][i].id
                if w not in index:
                    work.append((v, i + 1))
                    work.append((w, 0))
                    descended = True
                    break
                if w in on_stack:
                    low[v] = min(low[v], index[w])
            if descended:
                continue
            if low[v] == index[v]:
                members: list[int] = []
                while True:
                    w = stack.pop()
                    on_stack.discard(w)
                    members.append(w)
                    if w == v:
                        break
                cyclic = len(members) > 1 or any(e.id == v for e in edges[v])
                for w in members:
                    result[w] = count if cyclic else -1
                count += cyclic
            if work:
                u = work[-1][0]
                low[u] = min(low[u], low[v])
    return result


def invariant_parameters(root: Graph) -> tuple[dict[int, int], dict[int, frozenset[int] | None]]:
    """The cycle of each graph (see `components`), and the positions of its parameters through which known values may pass; None: all (the
    graph is in no cycle)."""
    graphs = reachable(root)
    component = components(graphs)
    sources: dict[tuple[int, int], Any] = {}
    calls: list[tuple[Graph, Graph, list[Node]]] = []
    for g in graphs:
        for node in schedule(g):
            calls.extend((g, target, arguments) for target, arguments in _passed(node))
    for g in graphs:
        for i in range(len(g.parameters)):
            sources[g.id, i] = _TOP
    for i in range(len(root.parameters)):
        sources[root.id, i] = ("outside", root.id, i)
    positions = {p.id: (g.id, i) for g in graphs for i, p in enumerate(g.parameters)}
    changed = True
    while changed:
        changed = False
        for caller, target, arguments in calls:
            inside = component[target.id] >= 0 and component[caller.id] == component[target.id]
            for i in range(len(target.parameters)):
                key = (target.id, i)
                argument = arguments[i] if i < len(arguments) else None
                source = _source(argument, sources, positions) if inside else ("outside", *key)
                merged = _meet(sources[key], source)
                if merged != sources[key]:
                    sources[key] = merged
                    changed = True
    return component, {g.id: None if component[g.id] < 0 else frozenset(i for i in range(len(g.parameters)) if sources[g.id, i] is not _VARIES)
            for g in graphs}


def _passed(node: Apply) -> list[tuple[Graph, list[Node]]]:
    """(graph, the leading arguments that this node passes to it)"""
    target = callee_of(node)
    if target is not None:
        return [(target, node.inputs[1:])]
    if is_call_of(node, BRANCH):
        arms = [graph_constant(x) for x in node.inputs[2:4]]
        return [(arm, node.inputs[4:]) for arm in arms if arm is not None]
    if is_call_of(node, PARTIAL):
        closure = graph_constant(node.inputs[1])
        return [(closure, node.inputs[2:])] if closure is not None else []
    return [(g, []) for x in node.inputs if (g := graph_constant(x)) is not None]


def _source(argument: Node | None, sources: dict[tuple[int, int], Any], positions: dict[int, tuple[int, int]]) -> Any:
    if isinstance(argument, Parameter):
        return sources[positions[argument.id]]
    if isinstance(argument, Constant) and type(argument.value) in (int, bool, str, type(None)):
        return ("constant", type(argument.value).__name__, argument.value)
    if isinstance(argument, Apply):  # known only where its operands are: what varies was erased at the entry of the cycle
        return ("node", argument.id)
    return _VARIES


def _meet(a: Any, b: Any) -> Any:
    if a is _TOP or a == b:
        return b
    return a if b is _TOP else _VARIES
