"""Order of effects: what prints, prints once and in program order.

The parser notes, for each graph, its calls in program order (`flags["calls"]`), those of a value that nobody reads among them. `anchor` keeps
the ones that may print, and ties them to the graph's result: output := sequence(e1, sequence(e2, … output)). A graph's nodes run in the
order in which its output needs them, operands from the left, so the effects run in that order. A program that does not print is left
as it is.
"""
from __future__ import annotations

from myia_notebook.ir.graph import Apply, Constant, Graph, Node, callee_of, graph_constant, is_call_of
from myia_notebook.ops.messages import PRINT
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.parse.expressions import CALL_WITH

SEQUENCE, SWITCH = PRIMITIVES["sequence"], PRIMITIVES["switch"]


def anchor(root: Graph) -> None:
    """Ties effects to results, in place, in nested form. Once for each graph."""
    graphs, mentions, printing = _survey(root)
    if not printing:
        return
    effectful = set(printing)
    changed = True
    while changed:
        changed = False
        for g in graphs:
            if g.id not in effectful and any(m in effectful for m in mentions[g.id]):
                effectful.add(g.id)
                changed = True
    for g in graphs:
        calls = g.flags.pop("calls", ())
        for node in reversed([n for n in calls if _may_print(n, effectful)]):
            if node is not g.output:
                g.output = g.apply(SEQUENCE, node, g.output, provenance=node.provenance)


def _survey(root: Graph) -> tuple[list[Graph], dict[int, set[int]], set[int]]:
    """Every graph of the program, dead calls included; the graphs that each mentions; those that print themselves."""
    graphs: list[Graph] = []
    mentions: dict[int, set[int]] = {}
    printing: set[int] = set()
    seen = {root.id}
    stack = [root]
    while stack:
        g = stack.pop()
        graphs.append(g)
        found = mentions[g.id] = set()
        visited: set[int] = set()
        nodes: list[Node] = [g.output, *g.flags.get("calls", ())]
        while nodes:
            node = nodes.pop()
            if node.id in visited:
                continue
            visited.add(node.id)
            target = graph_constant(node)
            if target is None and isinstance(node, Apply) and node.graph is not g:
                target = node.graph
                if target.id not in seen:
                    seen.add(target.id)
                    stack.append(target)
                continue
            if target is not None:
                found.add(target.id)
                if target.id not in seen:
                    seen.add(target.id)
                    stack.append(target)
            if isinstance(node, Apply):
                if _is_print(node):
                    printing.add(g.id)
                nodes.extend(node.inputs)
    return graphs, mentions, printing


def _is_print(node: Apply) -> bool:
    return any(isinstance(x, Constant) and (x.value is PRINT or x.value is print) for x in node.inputs[:2])


def _is_call_of(node: Apply, operation: object) -> bool:
    head = node.inputs[0]
    return isinstance(head, Constant) and head.value is operation


def _may_print(node: Apply, effectful: set[int]) -> bool:
    """A print, a call of what may print, or of something unknown."""
    if _is_print(node):
        return True
    target = callee_of(node) or (graph_constant(node.inputs[1]) if len(node.inputs) > 1 and _is_call_of(node, CALL_WITH) else None)
    if target is not None:
        return target.id in effectful
    head = node.inputs[0]
    if isinstance(head, Apply) and is_call_of(head, SWITCH):
        return any(g.id in effectful for x in head.inputs[2:] if (g := graph_constant(x)) is not None)
    return not isinstance(head, Constant) or _is_call_of(node, CALL_WITH) and not isinstance(node.inputs[1], Constant)


__all__ = ["anchor"]
