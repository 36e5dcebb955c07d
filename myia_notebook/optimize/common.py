"""Common subexpressions: equal nodes of one graph become one (value numbering in schedule order)."""
from __future__ import annotations

from typing import Any

from myia_notebook.ir.graph import Constant, Graph, Node, primitive_of, reachable, schedule
from myia_notebook.ops.primitive import Primitive
from myia_notebook.ops.table import PRIMITIVES

SEQUENCE = PRIMITIVES["sequence"]


def eliminate_common_subexpressions(root: Graph) -> bool:
    """Merges in place; True when something was merged. Effects are left alone."""
    changed = False
    for graph in reachable(root):
        table: dict[Any, Node] = {}
        kept = {n.inputs[1].id for n in schedule(graph) if primitive_of(n) is SEQUENCE}  # calls for their effect
        replaced: dict[int, Node] = {}
        for node in schedule(graph):
            node.inputs[:] = [replaced.get(x.id, x) for x in node.inputs]
            primitive = primitive_of(node)
            if node.id in kept or (primitive is not None and "effect" in primitive.laws):
                continue
            inputs = [_key(x) for x in node.inputs]
            if primitive is not None and "commutative" in primitive.laws and len(inputs) == 3:
                inputs[1:] = sorted(inputs[1:], key=repr)
            key = (*inputs, node.type)
            known = table.setdefault(key, node)
            if known is not node:
                replaced[node.id] = known
                if not known.name:
                    known.name = node.name
                changed = True
        graph.output = replaced.get(graph.output.id, graph.output)
    return changed


def _key(node: Node) -> Any:
    if not isinstance(node, Constant):
        return ("node", node.id)
    value = node.value
    if isinstance(value, Primitive):
        return ("primitive", value.name)
    if isinstance(value, Graph):
        return ("graph", value.id)
    if type(value).__name__ == "Label":
        return ("label", value.graph.id)
    if isinstance(value, (int, float, bool, str, tuple, type(None))):
        return ("constant", type(value).__name__, repr(value), str(node.type))
    return ("object", id(value), str(node.type))
