"""Arithmetic of sensitivities: zeros, sums, environments, and fitting a contribution to its target.

A sensitivity that is a known zero is the constant ZERO of its type and disappears from sums. An environment is the sensitivity of a
closure: a sum over the members of its function class of the sensitivities of their captured values (DESIGN.md, Gradient).
"""
from __future__ import annotations

from myia_notebook.ir.graph import ZERO, Apply, Constant, Graph, Node, is_call_of
from myia_notebook.ir.types import Array, Environment, FunctionClass, Scalar, Static, Type, is_float, sensitivity
from myia_notebook.ops.environment import Label
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.table import PRIMITIVES

ENV_MAKE, ENV_GET = PRIMITIVES["env_make"], PRIMITIVES["env_get"]
ADD, ADD_SENSITIVITIES = PRIMITIVES["add"], PRIMITIVES["add_sensitivities"]
SUM_TO, CAST = PRIMITIVES["sum_to"], PRIMITIVES["cast"]


def is_zero(node: Node) -> bool:
    """Whether a sensitivity is the constant zero."""
    return isinstance(node, Constant) and node.value is ZERO


def accumulate(builder: Builder, total: Node, addend: Node) -> Node:
    """total + addend, both of one sensitivity type."""
    if is_zero(total):
        return addend
    if is_zero(addend):
        return total
    t = Builder.type_of(total)
    return builder.apply(ADD if is_float(t) else ADD_SENSITIVITIES, total, addend, type=t)


def adapt(builder: Builder, node: Node, target: Type) -> Node:
    """A contribution of exactly the target's type: summed over the axes along which the operand was broadcast, and cast."""
    t = Builder.type_of(node)
    if t == target:
        return node
    if isinstance(node, Constant) and node.value is ZERO:
        return builder.zero(target)
    if isinstance(t, Array) and isinstance(target, (Array, Scalar)):
        shape = target.shape if isinstance(target, Array) else ()
        if t.shape != shape:
            node = builder.apply(SUM_TO, node, builder.constant(shape))
    elif isinstance(t, Scalar) and isinstance(target, Array):
        node = builder.apply(PRIMITIVES["broadcast_to"], node, builder.constant(target.shape))
    if Builder.type_of(node) != target:
        node = builder.apply(CAST, node, Constant(target, Static(target)), type=target)
    return node


def nabla(node: Node, target: Node) -> None:
    """Names a sensitivity after the variable it belongs to."""
    if isinstance(node, Apply) and target.name and not node.name:
        node.name = f"∇{target.name}"


def _label(graph: Graph) -> Constant:
    label = Label(graph)
    return Constant(label, Static(label))


def environment_make(builder: Builder, graph: Graph, cls: FunctionClass, items: list[Node]) -> Node:
    """The environment whose only part is that of `graph`, with the sensitivities of its captured values."""
    if all(map(is_zero, items)):
        return builder.zero(Environment(cls))
    return builder.apply(ENV_MAKE, _label(graph), *items, type=Environment(cls))


def environment_get(builder: Builder, environment: Node, graph: Graph, cls: FunctionClass, index: int) -> Node:
    """The sensitivity of captured value `index` of `graph` in an environment of `cls`; read directly where it is visible."""
    t = sensitivity(Builder.type_of(graph.parameters[index]))
    if is_zero(environment):
        return builder.zero(t)
    if isinstance(environment, Apply) and is_call_of(environment, ENV_MAKE):
        label = environment.inputs[1]
        assert isinstance(label, Constant)
        return environment.inputs[2 + index] if label.value.graph is graph else builder.zero(t)
    return builder.apply(ENV_GET, environment, _label(graph), builder.constant(index), type=t)
