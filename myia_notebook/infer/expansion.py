"""Expanding an operation while inferring: a small typed graph of primitives in place of one node."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from myia_notebook.infer.join import is_trackable, partly_known
from myia_notebook.ir.graph import UNDEFINED, ZERO, Constant, Graph, Node, Parameter, is_call_of
from myia_notebook.ir.types import Static, Tuple, Type
from myia_notebook.ops.expression import Builder, Expr
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.primitive import UNKNOWN, Abstract, Primitive
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.provenance import Provenance

MAKE_TUPLE = PRIMITIVES["make_tuple"]


@dataclass(slots=True)
class Expansion:
    """`output` in a scratch graph over `leaves` (one for each operand: a parameter, or the constant itself)."""

    output: Node
    leaves: list[Node]
    result: Abstract


Path = tuple[int, int | None]
"""An argument of a call: the operand's position, and which item of it (None: all of it)."""


class FoldingBuilder(Builder):
    """Computes what is known: a primitive on known ints, bools and static values gives a constant. Floats are left to the optimizer.
    `items` holds what is known of the items of a tuple, by node id."""

    def __init__(self, graph: Graph, provenance: Provenance) -> None:
        super().__init__(graph, provenance)
        self.items: dict[int, tuple[Abstract, ...]] = {}

    def item(self, value: Node, index: int, name: str = "") -> Node:
        if value.id not in self.items:
            return super().item(value, index, name)
        fact = self.items[value.id][index]
        if fact.is_known and is_trackable(fact.type):
            return Constant(fact.value, fact.type, name, self.provenance)
        node = super().item(value, index, name)
        if fact.items:
            self.items[node.id] = fact.items
        return node

    def fact(self, node: Node) -> Abstract:
        """What is known of a node that was made here."""
        t = self.type_of(node)
        if isinstance(node, Constant):
            if is_trackable(t):
                return Abstract(t, node.value)
            if isinstance(t, Tuple) and isinstance(node.value, tuple):
                return partly_known(t, [self.fact(Constant(v, i)) for v, i in zip(node.value, t.items)])
        if isinstance(t, Static):
            return Abstract(t, t.value)
        if isinstance(t, Tuple) and is_call_of(node, MAKE_TUPLE):
            return partly_known(t, [self.fact(i) for i in node.inputs[1:]])
        return Abstract(t, UNKNOWN, self.items.get(node.id, ()))

    def apply(self, primitive: Primitive, *arguments: Node, type: Type | None = None, name: str = "") -> Node:
        node = super().apply(primitive, *arguments, type=type, name=name)
        if isinstance(node, Constant) or not is_trackable(self.type_of(node)) or not callable(primitive.implementation):
            return node
        if "effect" in primitive.laws:
            return node
        facts = [self.abstract(a) for a in arguments]
        if not all(f.is_known and is_trackable(f.type) for f in facts):
            return node
        try:
            value = primitive.implementation(*(f.value for f in facts))
        except Exception:
            return node
        return Constant(value, node.type, name, self.provenance)


def _leaf(scratch: Graph, builder: FoldingBuilder, node: Node, fact: Abstract) -> Node:
    if isinstance(node, Constant) and not isinstance(node.value, Graph) and node.value is not UNDEFINED and node.value is not ZERO:
        return Constant(node.value, fact.type, node.name, node.provenance)
    if fact.is_known and is_trackable(fact.type):
        return Constant(fact.value, fact.type, node.name, node.provenance)
    leaf = Parameter(scratch, node.name, fact.type, node.provenance)
    if fact.items:
        builder.items[leaf.id] = fact.items
    return leaf


def _prepare(nodes: list[Node], facts: list[Abstract], provenance: Provenance, box: Any) -> tuple[FoldingBuilder, list[Node]]:
    scratch = Graph("expansion")
    builder = FoldingBuilder(scratch, provenance)
    builder.box = box
    builder.checks_windows = box is not None and box.engine.checks_windows
    return builder, [_leaf(scratch, builder, node, fact) for node, fact in zip(nodes, facts)]


def expand_operation(operation: Operation, nodes: list[Node], facts: list[Abstract], paths: list[Path], names: tuple[str, ...], provenance: Provenance,
                     box: Any) -> Expansion:
    """`operation` on the operands at `paths`; the last ones are keyword arguments with these names."""
    builder, leaves = _prepare(nodes, facts, provenance, box)
    expressions = [Expr(builder, leaves[i] if item is None else builder.item(leaves[i], item)) for i, item in paths]
    split = len(expressions) - len(names)
    made = operation.expand(builder, expressions[:split], dict(zip(names, expressions[split:])))
    return Expansion(made.node, leaves, builder.fact(made.node))


def expand_primitive(primitive: Primitive, nodes: list[Node], facts: list[Abstract], provenance: Provenance, box: Any = None) -> Expansion:
    builder, leaves = _prepare(nodes, facts, provenance, box)
    if primitive.name == "make_tuple":
        output: Any = builder.tuple(*leaves)
    elif primitive.name == "tuple_getitem" and isinstance(leaves[1], Constant):
        output = builder.item(leaves[0], leaves[1].value)
    else:
        output = builder.apply(primitive, *leaves)
    return Expansion(output, leaves, builder.fact(output))
