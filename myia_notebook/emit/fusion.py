"""Elementwise expressions in LLVM, in one pass each.

Arrays are values: nothing is written after it is made. An elementwise operation that is used once, or only inside one expression, is not stored: it
stays a `Lazy` expression that its user computes element by element (fusion).
"""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from myia_notebook.emit.loops import Loops, shape_of
from myia_notebook.emit.scalar import LLVM_TYPES
from myia_notebook.ir.graph import ZERO, Apply, Constant, Node, primitive_of
from myia_notebook.ir.types import Array, Scalar, Static, Type
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.primitive import Checked, Elementwise
from myia_notebook.ops.promotion import promote, scalar_of

if TYPE_CHECKING:
    from myia_notebook.emit.llvm import Machine, Scope

GROUP = 48  # operations in one loop


def is_fusable(node: Node) -> bool:
    """An elementwise operation whose result is an array."""
    primitive = primitive_of(node) if isinstance(node, Apply) else None
    return primitive is not None and isinstance(primitive.emit, (Elementwise, Checked)) and isinstance(node.type, Array)


@dataclass(slots=True)
class Lazy:
    """An elementwise expression over values: `operands` are (words or Lazy, type)."""

    operation: str
    operands: list[tuple[Any, Type]]
    type: Array
    common: str
    stored: Any = None  # its address, once something needed it in memory


class Fusion(Loops):
    """Emits elementwise expressions, each in one loop."""

    def __init__(self, machine: Machine) -> None:
        self.m = machine
        self.waits: set[int] = set()  # nodes that need no memory of their own: looked up, never walked

    def plan_fusion(self, scope: Scope) -> None:
        """Decides what can wait: a node with one use, and an elementwise one whose users all end in the same expression, of the same shape, so that
        one loop computes it once for all of them. `anchor` is the node that an expression ends in; groups are bounded, as registers are."""
        users: dict[int, list[Node | None]] = {scope.graph.output.id: [None, None]}
        for node in scope.nodes:
            for x in node.inputs:
                users.setdefault(x.id, []).append(node)
        anchor: dict[int, int] = {}
        size: dict[int, int] = {}
        for node in reversed(scope.nodes):
            own = users.get(node.id, [])
            ends = {anchor[u.id] if u is not None and u.id in anchor and shape_of(u.type) == shape_of(node.type) else node.id for u in own}
            end = ends.pop() if len(ends) == 1 else node.id
            is_full = end != node.id and size[end] >= GROUP
            if end != node.id and is_fusable(node) and not is_full:
                anchor[node.id] = end
                size[end] += 1
            elif is_fusable(node):
                anchor[node.id] = node.id
                size[node.id] = 1
            if (len(own) == 1 and not is_full) or anchor.get(node.id, node.id) != node.id:
                self.waits.add(node.id)
            else:
                self.waits.discard(node.id)

    def force(self, node: Node, scope: Scope) -> list[Any]:
        return self.force_id(node.id, scope)

    def force_id(self, key: int, scope: Scope) -> list[Any]:
        """The words of a node; a waiting expression is computed into memory now."""
        values = scope.values[key]
        if values and isinstance(values[0], Lazy):
            values = scope.values[key] = [self.store(values[0])]
        return values

    def elementwise(self, node: Apply, scope: Scope) -> list[Any]:
        primitive = primitive_of(node)
        assert primitive is not None and isinstance(primitive.emit, (Elementwise, Checked))
        t = Builder.type_of(node)
        inputs = [x for x in node.inputs[1:] if not isinstance(x.type, Static)]
        operands = [(self._waiting(x, scope), Builder.type_of(x)) for x in inputs]
        common = promote([scalar_of(xt) for _, xt in operands]).dtype
        assert isinstance(t, Array)
        lazy = Lazy(primitive.emit.operation, operands, t, common)
        if node.id in self.waits and math.prod(t.shape) > 0:
            return [lazy]
        return [self.store(lazy)]

    def _waiting(self, node: Node, scope: Scope) -> Any:
        """An operand: its Lazy if it waits, else its word."""
        if isinstance(node, Constant):
            t = Builder.type_of(node)
            if node.value is ZERO and isinstance(t, Array):
                return ir.Constant(LLVM_TYPES[t.dtype], 0), Scalar(t.dtype)
            return self.m.constant(node.value, t)[0]
        values = scope.values[node.id]
        return values[0]

    def sum_of(self, x: Any, y: Any, t: Array) -> Any:
        """x + y of two arrays in memory."""
        return self.store(Lazy("add", [(x, t), (y, t)], t, t.dtype))

    def store(self, lazy: Lazy) -> Any:
        """Computes an expression into fresh memory."""
        if lazy.stored is None:
            address = self.new(lazy.type)
            self.vectorized(lambda: self._fill(lazy, address))
            lazy.stored = address
        return lazy.stored

    def _fill(self, lazy: Lazy, address: Any) -> None:
        shape = lazy.type.shape
        if self._is_flat(lazy, shape):
            self.loop(math.prod(shape), lambda i: self.write(self.element(lazy, None, i), address, i, lazy.type.dtype))
        else:
            self.nest(shape, lambda indices: self.write(self.element(lazy, indices, None), address, self.offset(indices, shape), lazy.type.dtype))

    def _is_flat(self, value: Lazy, shape: tuple[int, ...]) -> bool:
        """Whether every array in the expression has the shape itself, so that one counter serves all."""
        pending, seen = [value], {id(value)}
        while pending:
            for operand, t in pending.pop().operands:
                if isinstance(operand, tuple):
                    continue
                if isinstance(t, Array) and t.shape != shape:
                    return False
                if isinstance(operand, Lazy):
                    if operand.type.shape != shape:
                        return False
                    if operand.stored is None and id(operand) not in seen:
                        seen.add(id(operand))
                        pending.append(operand)
        return True

    def element(self, lazy: Lazy, indices: list[Any] | None, flat: Any, known: dict[int, Any] | None = None) -> Any:
        """One element of an expression, at loop indices or at a flat position. `known` holds what this element has computed: indices belong to the
        same axes everywhere in an expression, so one value of a shared part serves all its users."""
        known = {} if known is None else known
        pairs: list[tuple[Any, str]] = []
        for operand, t in lazy.operands:
            if isinstance(operand, tuple):
                pairs.append((operand[0], operand[1].dtype))
            elif isinstance(operand, Lazy) and operand.stored is None:
                if id(operand) not in known:
                    known[id(operand)] = self.element(operand, self._inner(indices, operand.type.shape), flat, known)
                pairs.append((known[id(operand)], operand.type.dtype))
            elif isinstance(operand, Lazy) or isinstance(t, Array):
                address, dtype = (operand.stored, operand.type) if isinstance(operand, Lazy) else (operand, t)
                place = flat if indices is None else self.offset(indices, dtype.shape)
                pairs.append((self.read(address, place, dtype.dtype), dtype.dtype))
            else:
                assert isinstance(t, Scalar)
                pairs.append((operand, t.dtype))
        return self.m.ops.apply(self.b, lazy.operation, lazy.type.dtype, pairs, lazy.common)

    def _inner(self, indices: list[Any] | None, shape: tuple[int, ...]) -> list[Any] | None:
        """The indices that broadcasting gives an operand of `shape`."""
        if indices is None:
            return None
        return [self.m.int(0) if n == 1 else i for i, n in zip(indices[len(indices) - len(shape):], shape)]

    def _source(self, node: Node, scope: Scope) -> tuple[Callable[[list[Any] | None, Any], Any], Array]:
        """(element reader, type) of an array operand, waiting or stored."""
        t = Builder.type_of(node)
        assert isinstance(t, Array)
        value = scope.values[node.id][0] if not isinstance(node, Constant) else self.m.constant(node.value, t)[0]
        if isinstance(value, Lazy):
            lazy = value
            return (lambda indices, flat: self.element(lazy, indices, flat)), t
        return (lambda indices, flat: self.read(value, flat if indices is None else self.offset(indices, t.shape), t.dtype)), t

    def _address(self, node: Node, scope: Scope) -> Any:
        if isinstance(node, Constant):
            return self.m.constant(node.value, Builder.type_of(node))[0]
        return self.force(node, scope)[0]

    def _static(self, node: Node) -> Any:
        assert isinstance(node, Constant)
        return node.value
