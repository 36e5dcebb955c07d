"""Tuples, closures, environments and arrays that are added to in place, in LLVM: one function for each primitive, `STRUCTURAL` is the table."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from myia_notebook.emit.loops import SIZE
from myia_notebook.ir.graph import UNDEFINED, Apply, Graph, graph_constant
from myia_notebook.ir.types import Array, Tuple, Type
from myia_notebook.lower.plan import words
from myia_notebook.lower.primitives import ACCUMULATE, COPIED, ENV_IS, ENV_IS_ZERO, FRESH_ZEROS, LIST_ADD
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.primitive import Primitive
from myia_notebook.ops.table import PRIMITIVES

if TYPE_CHECKING:
    from myia_notebook.emit.llvm import Machine

PARTIAL, MAKE_TUPLE, GETITEM, SWITCH, SEQUENCE, ENV_MAKE, ENV_GET, CLOSURE_IS, CLOSURE_GET = (PRIMITIVES[n] for n in (
    "partial", "make_tuple", "tuple_getitem", "switch", "sequence", "env_make", "env_get", "closure_is", "closure_get"))


def _tuple(m: Machine, node: Apply, t: Type) -> list[Any]:
    assert isinstance(t, Tuple)
    result: list[Any] = []
    for x, item in zip(node.inputs[1:], t.items):
        own = m.operand(x)
        result += own if len(own) == len(words(item)) else m.constant(UNDEFINED, item)
    return result


def _getitem(m: Machine, node: Apply, t: Type) -> list[Any]:
    of = Builder.type_of(node.inputs[1])
    assert isinstance(of, Tuple)
    index = node.inputs[2].value  # type: ignore[attr-defined]
    start = sum(len(words(item)) for item in of.items[:index])
    return m.operand(node.inputs[1])[start:start + len(words(t))]


def _partial(m: Machine, node: Apply, t: Type) -> list[Any]:
    target = graph_constant(node.inputs[1])
    assert target is not None
    kinds = [w for p in target.parameters[:target.captured] for w in words(Builder.type_of(p))]
    return [m._cell(m.tags[target.id], list(zip(m.operands(node.inputs[2:]), kinds)))]


def _switch(m: Machine, node: Apply, t: Type) -> list[Any]:
    test = m.operand(node.inputs[1])[0]
    return [m.b.select(test, x, y) for x, y in zip(m.operand(node.inputs[2]), m.operand(node.inputs[3]))]


def _sequence(m: Machine, node: Apply, t: Type) -> list[Any]:
    return m.operand(node.inputs[2])


def _fields(label: Graph) -> list[list[str]]:
    from myia_notebook.ir.types import sensitivity
    return [words(sensitivity(Builder.type_of(p))) for p in label.parameters[:label.captured]]


def _env_make(m: Machine, node: Apply, t: Type) -> list[Any]:
    label: Graph = node.inputs[1].value.graph  # type: ignore[attr-defined]
    kinds = [k for own in _fields(label) for k in own]
    return [m._cell(m.tags[label.id], list(zip(m.operands(node.inputs[2:]), kinds)))]


def _env_get(m: Machine, node: Apply, t: Type) -> list[Any]:
    """The part of a label, or zero: the environment is 0, or of another label."""
    b = m.b
    label: Graph = node.inputs[2].value.graph  # type: ignore[attr-defined]
    index = node.inputs[3].value  # type: ignore[attr-defined]
    environment = m.operand(node.inputs[1])[0]
    own = _fields(label)
    start = 1 + sum(len(k) for k in own[:index])
    absent, look, read, join = (m.block(n) for n in ("absent", "look", "read", "part"))
    b.cbranch(b.icmp_unsigned("==", environment, m.int(0)), absent, look)
    b.position_at_end(look)
    b.cbranch(b.icmp_unsigned("==", m.load(environment, 0, "i"), m.int(m.tags[label.id])), read, absent)
    b.position_at_end(read)
    parts = [m.load(environment, start + i, k) for i, k in enumerate(own[index])]
    b.branch(join)
    b.position_at_end(absent)
    zeros = m._zero(t)
    absent_end = b.block
    b.branch(join)
    b.position_at_end(join)
    return m.joined(parts, read, zeros, absent_end)


def _env_is_zero(m: Machine, node: Apply, t: Type) -> list[Any]:
    return [m.b.icmp_unsigned("==", m.operand(node.inputs[1])[0], m.int(0))]


def _has_tag(m: Machine, node: Apply, t: Type) -> list[Any]:
    label: Graph = node.inputs[2].value.graph  # type: ignore[attr-defined]
    return [m.b.icmp_unsigned("==", m.load(m.operand(node.inputs[1])[0], 0, "i"), m.int(m.tags[label.id]))]


def _accumulate(m: Machine, node: Apply, t: Type) -> list[Any]:
    """Adds into the array itself: whoever made the node says that nobody else reads it."""
    address = m.operand(node.inputs[1])[0]
    m.arrays._add_into(address, t, node.inputs[2], node.inputs[3].value, node.inputs[4:], node, m.scopes[-1])  # type: ignore[attr-defined]
    return [address]


def _fresh_zeros(m: Machine, node: Apply, t: Type) -> list[Any]:
    return [m.arrays.zeros(t)]


def _copied(m: Machine, node: Apply, t: Type) -> list[Any]:
    assert isinstance(t, Array)
    size = math.prod(t.shape) * SIZE[t.dtype]
    source, address = m.operand(node.inputs[1])[0], m.allocate(max(size, 1))
    m.copy_bytes(source, address, m.int(size))
    return [address]


def _closure_get(m: Machine, node: Apply, t: Type) -> list[Any]:
    label: Graph = node.inputs[2].value.graph  # type: ignore[attr-defined]
    index = node.inputs[3].value  # type: ignore[attr-defined]
    kinds = [words(Builder.type_of(p)) for p in label.parameters[:label.captured]]
    start = 1 + sum(map(len, kinds[:index]))
    closure = m.operand(node.inputs[1])[0]
    return [m.load(closure, start + i, k) for i, k in enumerate(kinds[index])]



STRUCTURAL: dict[Primitive, Callable[[Machine, Apply, Type], list[Any]]] = {
    MAKE_TUPLE: _tuple, GETITEM: _getitem, PARTIAL: _partial, SWITCH: _switch, SEQUENCE: _sequence,
    ENV_MAKE: _env_make, ENV_GET: _env_get, ENV_IS_ZERO: _env_is_zero, ENV_IS: _has_tag, CLOSURE_IS: _has_tag,  # type: ignore[dict-item]
    CLOSURE_GET: _closure_get, ACCUMULATE: _accumulate, FRESH_ZEROS: _fresh_zeros, COPIED: _copied,
    LIST_ADD: lambda m, node, t: [m.lists.add(m.operand(node.inputs[1])[0], m.operand(node.inputs[2])[0], t, node)]}
