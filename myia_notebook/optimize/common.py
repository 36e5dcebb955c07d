"""Common subexpressions: equal nodes of one graph become one (value numbering in schedule order)."""
from __future__ import annotations

from typing import Any

from myia_notebook.ir.extent import Extent
from myia_notebook.ir.graph import Constant, Graph, Node, primitive_of
from myia_notebook.ops.environment import Label
from myia_notebook.ops.primitive import Checked, Primitive
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.optimize.program import Program

SEQUENCE = PRIMITIVES["sequence"]


def eliminate_common_subexpressions(program: Program) -> bool:
    """Merges in place; True when something was merged. Effects are left alone."""
    changed = False
    for graph in program.graphs:
        nodes = program.nodes(graph)
        table: dict[Any, Node] = {}
        kept = {n.inputs[1].id for n in nodes if primitive_of(n) is SEQUENCE}  # calls for their effect
        replaced: dict[int, Node] = {}
        for node in nodes:
            if replaced:
                node.inputs[:] = [replaced.get(x.id, x) for x in node.inputs]
            primitive = primitive_of(node)
            if node.id in kept or (primitive is not None and "effect" in primitive.laws):
                continue
            inputs = [x.id if x.__class__ is not Constant else _constant_key(x) for x in node.inputs]  # type: ignore[arg-type]
            if primitive is not None and "commutative" in primitive.laws and len(inputs) == 3:
                inputs[1:] = sorted(inputs[1:], key=str)
            known = table.setdefault((*inputs, node.type), node)
            if primitive is not None and isinstance(primitive.emit, Checked) and primitive.emit.operation in PRIMITIVES:
                table.setdefault((("primitive", primitive.emit.operation), *inputs[1:], node.type), node)  # passed its test: the plain one is it
            if known is not node:
                replaced[node.id] = known
                if not known.name:
                    known.name = node.name
                changed = True
        graph.output = replaced.get(graph.output.id, graph.output)
    return changed


def _constant_key(node: Constant) -> Any:
    """What two constants must share to be one."""
    value = node.value
    match value:
        case Primitive():
            return ("primitive", value.name)
        case Graph():
            return ("graph", value.id)
        case Label():
            return ("label", value.graph.id)
        case int() | float() | bool() | str() | tuple() | Extent() | None:
            return ("constant", type(value).__name__, repr(value), str(node.type))
        case _:
            return ("object", id(value), str(node.type))
