"""Arrays in LLVM. An array is a pointer to its elements, contiguous in C order; its shape is in its type.

Arrays are values: nothing is written after it is made, so a reshape is the same pointer. An elementwise operation that is used
once, or only inside one expression, is not stored: it stays a `Lazy` expression that its user computes element by element, in one pass (fusion).
"""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir

from myia_notebook.emit.blas import blas
from myia_notebook.emit.host import HostCall, Known
from myia_notebook.emit.scalar import FLOATS, I1, I32, I64, LLVM_TYPES
from myia_notebook.emit.vector_math import is_available
from myia_notebook.errors import error
from myia_notebook.ir.graph import ZERO, Apply, Constant, Node, primitive_of
from myia_notebook.ir.types import Array, Scalar, Static, Type
from myia_notebook.lower.plan import words
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.index import slice_length, window_message
from myia_notebook.ops.primitive import Checked, Elementwise
from myia_notebook.ops.promotion import promote, scalar_of
from myia_notebook.ops.shape import sum_axes

if TYPE_CHECKING:
    from myia_notebook.emit.llvm import Machine, Scope

SIZE = {"float64": 8, "float32": 4, "int64": 8, "int32": 4, "bool": 1}
MEMORY = {**LLVM_TYPES, "bool": ir.IntType(8)}


@dataclass(slots=True)
class Lazy:
    """An elementwise expression over values: `operands` are (words or Lazy, type)."""

    operation: str
    operands: list[tuple[Any, Type]]
    type: Array
    common: str
    stored: Any = None  # its address, once something needed it in memory


def shape_of(t: Type | None) -> tuple[int, ...]:
    return t.shape if isinstance(t, Array) else ()


def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Elements between neighbors along each axis."""
    return tuple(math.prod(shape[i + 1:]) for i in range(len(shape)))


GROUP = 48  # operations in one loop


def is_fusable(node: Node) -> bool:
    """An elementwise operation whose result is an array."""
    primitive = primitive_of(node) if isinstance(node, Apply) else None
    return primitive is not None and isinstance(primitive.emit, (Elementwise, Checked)) and isinstance(node.type, Array)


class ArrayCode:
    """Emits array operations for a machine."""

    def __init__(self, machine: Machine) -> None:
        self.m = machine
        self.waits: set[int] = set()  # nodes that need no memory of their own: looked up, never walked

    @property
    def b(self) -> ir.IRBuilder:
        return self.m.b

    # -- values

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

    def constant(self, value: Any) -> Any:
        """The address of a constant array, kept alive by the compiled program."""
        array = np.ascontiguousarray(value)
        self.m.keep.append(array)
        return ir.Constant(I64, array.ctypes.data)

    def zeros(self, t: Array) -> Any:
        address = self.m.allocate(max(math.prod(t.shape) * SIZE[t.dtype], 1))
        memset = self.m.ops.external("memset", ir.IntType(8).as_pointer(), [ir.IntType(8).as_pointer(), I32, I64])
        self.b.call(memset, [self.b.inttoptr(address, ir.IntType(8).as_pointer()), ir.Constant(I32, 0), self.m.int(math.prod(t.shape) * SIZE[t.dtype])])
        return address

    def new(self, t: Array) -> Any:
        return self.m.allocate(max(math.prod(t.shape) * SIZE[t.dtype], 1))

    # -- elements and loops

    def read(self, address: Any, index: Any, dtype: str) -> Any:
        pointer = self.b.gep(self.b.inttoptr(address, MEMORY[dtype].as_pointer()), [index])
        value = self.b.load(pointer)
        return self.b.trunc(value, I1) if dtype == "bool" else value

    def write(self, value: Any, address: Any, index: Any, dtype: str) -> None:
        if dtype == "bool":
            value = self.b.zext(value, MEMORY["bool"])
        self.b.store(value, self.b.gep(self.b.inttoptr(address, MEMORY[dtype].as_pointer()), [index]))

    def loop(self, count: int, body: Callable[[Any], None]) -> None:
        """body(i) for i from 0 to count − 1."""
        if count == 0:
            return
        if count == 1:
            body(self.m.int(0))
            return
        b, before = self.b, self.b.block
        head, after = self.m.block("loop"), self.m.block("after")
        b.branch(head)
        b.position_at_end(head)
        i = b.phi(I64)
        i.add_incoming(self.m.int(0), before)
        body(i)
        following = b.add(i, self.m.int(1), flags=["nsw"])
        i.add_incoming(following, b.block)
        b.cbranch(b.icmp_signed("<", following, self.m.int(count)), head, after)
        b.position_at_end(after)

    def nest(self, shape: tuple[int, ...], body: Callable[[list[Any]], None]) -> None:
        """body(indices) over a shape."""
        def level(axis: int, indices: list[Any]) -> None:
            if axis == len(shape):
                body(indices)
            else:
                self.loop(shape[axis], lambda i: level(axis + 1, [*indices, i]))
        level(0, [])

    def offset(self, indices: list[Any], shape: tuple[int, ...]) -> Any:
        """The position in an array of `shape` of the element that broadcasting puts at `indices`."""
        own = indices[len(indices) - len(shape):]
        total: Any = self.m.int(0)
        for i, n, step in zip(own, shape, strides(shape)):
            if n != 1:
                total = self.b.add(total, self.b.mul(i, self.m.int(step)) if step != 1 else i)
        return total

    def reduce_loop(self, shape: tuple[int, ...], dtype: str, start: Any, body: Callable[[list[Any], Any], Any]) -> Any:
        """Carries an accumulator through a loop nest: body(indices, accumulator) gives the next one."""
        slot = self.m.slot(LLVM_TYPES[dtype], "accumulator")
        self.b.store(start, slot)
        self.nest(shape, lambda indices: self.b.store(body(indices, self.b.load(slot)), slot) and None)
        return self.b.load(slot)

    def vectorized(self, body: Callable[[], Any]) -> Any:
        """A loop whose functions are those of `vector_math`. An argument that they cannot reduce is noted, and the loop is run again with libm's: it
        only reads arrays that are there and writes fresh ones, so the second run overwrites the first."""
        ops, notes = self.m.ops, []
        if ops.vector or not is_available():
            return body()

        def note(b: ir.IRBuilder) -> Any:
            if not notes:
                notes.append(self.m.slot(I1, "beyond"))
            return notes[0]

        start = self.m.block("elements")
        self.b.branch(start)
        before = self.b.block
        self.b.position_at_end(start)
        ops.vector, ops.beyond = True, note
        try:
            value = body()
        finally:
            ops.vector, ops.beyond = False, None
        if not notes:
            return value
        with self.b.goto_block(before):
            self.b.store(ir.Constant(I1, 0), notes[0])
        again, done, quick = self.m.block("again"), self.m.block("done"), self.b.block
        self.b.cbranch(self.b.load(notes[0]), again, done).set_weights([1, 10000])
        self.b.position_at_end(again)
        slow = body()
        slow_end = self.b.block
        self.b.branch(done)
        self.b.position_at_end(done)
        if value is None:
            return None
        phi = self.b.phi(value.type)
        phi.add_incoming(value, quick)
        phi.add_incoming(slow, slow_end)
        return phi

    # -- elementwise

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

    # -- reductions

    def _source(self, node: Node, scope: Scope) -> tuple[Callable[[list[Any] | None, Any], Any], Array]:
        """(element reader, type) of an array operand, waiting or stored."""
        t = Builder.type_of(node)
        assert isinstance(t, Array)
        value = scope.values[node.id][0] if not isinstance(node, Constant) else self.m.constant(node.value, t)[0]
        if isinstance(value, Lazy):
            lazy = value
            return (lambda indices, flat: self.element(lazy, indices, flat)), t
        return (lambda indices, flat: self.read(value, flat if indices is None else self.offset(indices, t.shape), t.dtype)), t

    def reduction(self, node: Apply, operation: str, scope: Scope) -> Any:
        axes, keep = node.inputs[2].value, node.inputs[3].value  # type: ignore[attr-defined]
        read, t = self._source(node.inputs[1], scope)
        result = Builder.type_of(node)
        return self.fold(read, t, axes, operation, result, keep)

    def fold(self, read: Callable[[list[Any] | None, Any], Any], t: Array, axes: tuple[int, ...], operation: str, result: Type, keep: bool) -> Any:
        dtype = scalar_of(result).dtype
        rest = [i for i in range(len(t.shape)) if i not in axes]
        inner_shape = tuple(t.shape[i] for i in axes)
        empty = math.prod(inner_shape) == 0

        def total(outer: list[Any]) -> Any:
            def at(inner: list[Any]) -> list[Any]:
                full: list[Any] = [None] * len(t.shape)
                for axis, i in zip(rest, outer):
                    full[axis] = i
                for axis, i in zip(axes, inner):
                    full[axis] = i
                return full
            if operation in ("maximum", "minimum") and not empty:
                start = self.m.ops.convert(self.b, read(at([self.m.int(0)] * len(axes)), None), t.dtype, dtype)
            else:
                start = self._neutral(operation, dtype)
            return self.reduce_loop(inner_shape, dtype, start, lambda inner, acc: self._combine(
                operation, acc, self.m.ops.convert(self.b, read(at(inner), None), t.dtype, dtype), dtype))

        if not isinstance(result, Array):
            return self.vectorized(lambda: total([self.m.int(0)] * len(rest)))
        address = self.new(result)
        outer_shape = tuple(t.shape[i] for i in rest)
        self.vectorized(lambda: self.nest(outer_shape, lambda outer: self.write(total(outer), address, self.offset(outer, outer_shape), dtype)))
        return address

    def _neutral(self, operation: str, dtype: str) -> Any:
        value = {"add": 0, "multiply": 1, "and": 1, "or": 0, "maximum": 0, "minimum": 0}[operation]
        return ir.Constant(LLVM_TYPES[dtype], float(value) if dtype in FLOATS else value)

    def _combine(self, operation: str, acc: Any, x: Any, dtype: str) -> Any:
        if dtype in FLOATS and operation == "add":
            return self.b.fadd(acc, x, flags=["reassoc", "nsz"])
        if operation in ("and", "or"):
            return self.b.and_(acc, x) if operation == "and" else self.b.or_(acc, x)
        return self.m.ops.apply(self.b, operation, dtype, [(acc, dtype), (x, dtype)], dtype)

    # -- kernels

    def kernel(self, node: Apply, name: str, scope: Scope) -> Any:
        handler = getattr(self, f"_{name}", None)
        return self._host(node, scope) if handler is None else handler(node, scope)

    def _host(self, node: Apply, scope: Scope) -> Any:
        """A primitive that NumPy computes: its operands' words are handed over (see emit.host)."""
        primitive, result = primitive_of(node), Builder.type_of(node)
        if primitive is None or not callable(primitive.implementation) or not isinstance(result, (Array, Scalar)):
            raise error("M801", node.provenance.span, message=f"'{primitive}' has no native form", hint="use backend='vm'")
        operands: list[Any] = []
        given: list[tuple[Any, str]] = []
        for x in node.inputs[1:]:
            t = Builder.type_of(x)
            if isinstance(x, Constant) and x.value is not ZERO:
                operands.append(Known(x.value))
            elif isinstance(t, (Array, Scalar)):
                operands.append(t)
                given.append((self._address(x, scope), "i" if isinstance(t, Array) else words(t)[0]))
            else:
                raise error("M801", node.provenance.span, message=f"'{primitive}' of {t} has no native form", hint="use backend='vm'")
        area = self.m.b.ptrtoint(self.m.slot(ir.ArrayType(I64, max(len(given), 1)), "operands"), I64)
        for i, (value, kind) in enumerate(given):
            if kind in "sw":
                self.m.store(self.m.int(0), area, i, "i")
            self.m.store(value, area, i, kind)
        target = self.new(result) if isinstance(result, Array) else self.m.b.ptrtoint(self.m.slot(I64, "result"), I64)
        number = self.m.host.add(HostCall(primitive.implementation, tuple(operands), result))
        call = ir.FunctionType(I64, [I64, I64, I64]).as_pointer()
        status = self.b.call(self.b.inttoptr(self.m.int(self.m.host.address), call), [self.m.int(number), area, target])
        self.m.check(self.b.icmp_unsigned("==", status, self.m.int(0)), "host", "", node.provenance.span)
        return target if isinstance(result, Array) else self.m.load(target, 0, words(result)[0])

    def _address(self, node: Node, scope: Scope) -> Any:
        if isinstance(node, Constant):
            return self.m.constant(node.value, Builder.type_of(node))[0]
        return self.force(node, scope)[0]

    def _static(self, node: Node) -> Any:
        assert isinstance(node, Constant)
        return node.value

    def _reshape(self, node: Apply, scope: Scope) -> Any:
        source, result = Builder.type_of(node.inputs[1]), Builder.type_of(node)
        value = self._address(node.inputs[1], scope)
        if isinstance(source, Array):
            return value if isinstance(result, Array) else self.read(value, self.m.int(0), source.dtype)
        if not isinstance(result, Array):
            return value
        address = self.new(result)
        self.write(value, address, self.m.int(0), result.dtype)
        return address

    def _transpose(self, node: Apply, scope: Scope) -> Any:
        read, t = self._source(node.inputs[1], scope)
        permutation = self._static(node.inputs[2])
        result = Builder.type_of(node)
        assert isinstance(result, Array)
        address = self.new(result)

        def copy(indices: list[Any]) -> None:
            source: list[Any] = [None] * len(indices)
            for i, axis in zip(indices, permutation):
                source[axis] = i
            self.write(read(source, None), address, self.offset(indices, result.shape), result.dtype)

        self.nest(result.shape, copy)
        return address

    def _broadcast_to(self, node: Apply, scope: Scope) -> Any:
        t, result = Builder.type_of(node.inputs[1]), Builder.type_of(node)
        value = self._waiting(node.inputs[1], scope)
        if not isinstance(result, Array):
            return value
        dtype = scalar_of(t).dtype
        lazy = Lazy("cast", [(value, t)], result, dtype)
        return lazy if node.id in self.waits and math.prod(result.shape) else self.store(lazy)

    def _sum_to(self, node: Apply, scope: Scope) -> Any:
        read, t = self._source(node.inputs[1], scope)
        shape = self._static(node.inputs[2])
        return self.fold(read, t, sum_axes(t.shape, shape), "add", Builder.type_of(node), True)

    def _concatenate(self, node: Apply, scope: Scope) -> Any:
        axis = self._static(node.inputs[1])
        result = Builder.type_of(node)
        assert isinstance(result, Array)
        address = self.new(result)
        start = 0
        for part in node.inputs[2:]:
            read, t = self._source(part, scope)

            def copy(indices: list[Any], read: Any = read, t: Array = t, start: int = start) -> None:
                target = list(indices)
                target[axis] = self.b.add(indices[axis], self.m.int(start))
                value = self.m.ops.convert(self.b, read(indices, None), t.dtype, result.dtype)
                self.write(value, address, self.offset(target, result.shape), result.dtype)

            self.nest(t.shape, copy)
            start += t.shape[axis]
        return address

    def _positions(self, shape: tuple[int, ...], spec: tuple[Any, ...], positions: list[Node], node: Apply, scope: Scope
                   ) -> tuple[list[Any], tuple[int, ...]]:
        """(for each axis of x an affine description, the shape walked): a fixed position, or (start, step) along a result axis."""
        rest = list(positions)
        described: list[Any] = []
        walked: list[int] = []
        for entry in spec:
            axis = len(described)
            if entry is None:
                continue
            if entry == "int":
                described.append(("at", self._checked_position(rest.pop(0), shape[axis], axis, node, scope)))
            elif entry[0] == "window":
                described.append(("along", self._checked_window(rest.pop(0), entry[1], shape[axis], node, scope), 1))
                walked.append(entry[1])
            else:
                _, start, stop, step = entry
                described.append(("along", start, step))
                walked.append(slice_length(start, stop, step))
        for axis in range(len(described), len(shape)):
            described.append(("along", 0, 1))
            walked.append(shape[axis])
        return described, tuple(walked)

    def _position(self, position: Node, size: int, scope: Scope) -> tuple[Any, Any, Any]:
        """A run-time position: as given, whether it counts from the end, and from the beginning."""
        i = self._address(position, scope)
        t = Builder.type_of(position)
        assert isinstance(t, Scalar)
        i = self.m.ops.convert(self.b, i, t.dtype, "int64")
        is_negative = self.b.icmp_signed("<", i, self.m.int(0))
        return i, is_negative, self.b.select(is_negative, self.b.add(i, self.m.int(size)), i)

    def _checked_window(self, start: Node, length: int, size: int, node: Apply, scope: Scope) -> Any:
        given, is_negative, begin = self._position(start, size, scope)
        is_inside = self.b.icmp_unsigned("<=", begin, self.m.int(size - length))
        if length:  # one that goes from the end to the beginning is empty
            is_inside = self.b.and_(is_inside, self.b.icmp_signed("<", self.b.select(is_negative, self.b.add(given, self.m.int(length)), self.m.int(-1)),
                                                                  self.m.int(0)))
        self.m.check(is_inside, "M703", window_message(length, size), node.provenance.span)
        return begin

    def _checked_position(self, position: Node, size: int, axis: int, node: Apply, scope: Scope) -> Any:
        _, _, wrapped = self._position(position, size, scope)
        self.m.check(self.b.icmp_unsigned("<", wrapped, self.m.int(size)), "M703", f"index out of bounds for axis {axis} with size {size}", node.provenance.span)
        return wrapped

    def _place(self, described: list[Any], indices: list[Any], shape: tuple[int, ...]) -> Any:
        rest = iter(indices)
        total: Any = self.m.int(0)
        for entry, step in zip(described, strides(shape)):
            if entry[0] == "at":
                place = entry[1]
            else:
                start = self.m.int(entry[1]) if isinstance(entry[1], int) else entry[1]
                place = self.b.add(start, self.b.mul(next(rest), self.m.int(entry[2])))
            total = self.b.add(total, self.b.mul(place, self.m.int(step)))
        return total

    def _index(self, node: Apply, scope: Scope) -> Any:
        t, result = Builder.type_of(node.inputs[1]), Builder.type_of(node)
        assert isinstance(t, Array)
        described, walked = self._positions(t.shape, self._static(node.inputs[2]), node.inputs[3:], node, scope)
        source = self._address(node.inputs[1], scope)
        if not isinstance(result, Array):
            return self.read(source, self._place(described, [self.m.int(0)] * len(walked), t.shape), t.dtype)
        address = self.new(result)
        self.nest(walked, lambda indices: self.write(self.read(source, self._place(described, indices, t.shape), t.dtype), address,
                                                     self.offset(indices, walked), t.dtype))
        return address

    def _add_into(self, address: Any, t: Array, d: Node, spec: Any, positions: list[Node], node: Apply, scope: Scope) -> None:
        described, walked = self._positions(t.shape, spec, positions, node, scope)
        dt = Builder.type_of(d)
        value = self._address(d, scope)
        dtype = scalar_of(dt).dtype

        def add(indices: list[Any]) -> None:
            place = self._place(described, indices, t.shape)
            x = self.read(value, self.offset(indices, walked), dtype) if isinstance(dt, Array) else value
            x = self.m.ops.convert(self.b, x, dtype, t.dtype)
            self.write(self._combine("add", self.read(address, place, t.dtype), x, t.dtype), address, place, t.dtype)

        self.nest(walked, add)

    def _scatter(self, node: Apply, scope: Scope) -> Any:
        result = Builder.type_of(node)
        assert isinstance(result, Array)
        address = self.zeros(result)
        self._add_into(address, result, node.inputs[1], self._static(node.inputs[3]), node.inputs[4:], node, scope)
        return address

    def _index_add(self, node: Apply, scope: Scope) -> Any:
        result = Builder.type_of(node)
        assert isinstance(result, Array)
        source = self._address(node.inputs[1], scope)
        address = self.new(result)
        self.loop(math.prod(result.shape), lambda i: self.write(self.read(source, i, result.dtype), address, i, result.dtype))
        self._add_into(address, result, node.inputs[2], self._static(node.inputs[3]), node.inputs[4:], node, scope)
        return address

    def _index_set(self, node: Apply, scope: Scope) -> Any:
        result = Builder.type_of(node)
        assert isinstance(result, Array)
        source = self._address(node.inputs[1], scope)
        address = self.new(result)
        self.loop(math.prod(result.shape), lambda i: self.write(self.read(source, i, result.dtype), address, i, result.dtype))
        v = node.inputs[2]
        vt = Builder.type_of(v)
        dtype = scalar_of(vt).dtype
        described, walked = self._positions(result.shape, self._static(node.inputs[3]), node.inputs[4:], node, scope)
        value = self._address(v, scope)

        def put(indices: list[Any]) -> None:
            x = self.read(value, self.offset(indices, walked), dtype) if isinstance(vt, Array) else value
            self.write(self.m.ops.convert(self.b, x, dtype, result.dtype), address, self._place(described, indices, result.shape), result.dtype)

        self.nest(walked, put)
        return address

    def _check_index(self, node: Apply, scope: Scope) -> Any:
        size = self._static(node.inputs[2])
        i = self._address(node.inputs[1], scope)
        wrapped = self.b.select(self.b.icmp_signed("<", i, self.m.int(0)), self.b.add(i, self.m.int(size)), i)
        self.m.check(self.b.icmp_unsigned("<", wrapped, self.m.int(size)), "M703", f"tuple index is out of range for {size} items", node.provenance.span)
        return wrapped

    def _argmax(self, node: Apply, scope: Scope) -> Any:
        return self._argument(node, scope, ">")

    def _argmin(self, node: Apply, scope: Scope) -> Any:
        return self._argument(node, scope, "<")

    def _argument(self, node: Apply, scope: Scope, better: str) -> Any:
        """The position of the extreme along an axis, the first where there are several; a NaN wins, as in NumPy."""
        read, t = self._source(node.inputs[1], scope)
        axis = self._static(node.inputs[2])
        result = Builder.type_of(node)
        outer = tuple(n for i, n in enumerate(t.shape) if i != axis)

        def best(indices: list[Any]) -> Any:
            at = lambda k: [*indices[:axis], k, *indices[axis:]]
            value_slot, place = self.m.slot(LLVM_TYPES[t.dtype], "best"), self.m.slot(I64, "place")
            self.b.store(read(at(self.m.int(0)), None), value_slot)
            self.b.store(self.m.int(0), place)

            def step(k: Any) -> None:
                x, top = read(at(k), None), self.b.load(value_slot)
                wins = self.m.ops._compare(self.b, better, x, top, t.dtype)
                if t.dtype in FLOATS:
                    wins = self.b.and_(self.b.or_(wins, self.b.fcmp_unordered("uno", x, x)), self.b.fcmp_ordered("ord", top, top))
                self.b.store(self.b.select(wins, x, top), value_slot)
                self.b.store(self.b.select(wins, k, self.b.load(place)), place)

            self.loop(t.shape[axis], step)
            return self.b.load(place)

        if not isinstance(result, Array):
            return best([])
        address = self.new(result)
        self.nest(outer, lambda indices: self.write(best(indices), address, self.offset(indices, outer), "int64"))
        return address

    def _product_of_others(self, node: Apply, scope: Scope) -> Any:
        """For each element the product of the others along the axes: nothing is divided, so zeros are right."""
        source = self._address(node.inputs[1], scope)
        t, axes = Builder.type_of(node), self._static(node.inputs[2])
        assert isinstance(t, Array)
        address = self.new(t)
        inner_shape = tuple(t.shape[i] for i in axes)

        def one(indices: list[Any]) -> None:
            def factor(inner: list[Any], acc: Any) -> Any:
                place = list(indices)
                same: Any = ir.Constant(I1, 1)
                for axis, i in zip(axes, inner):
                    same = self.b.and_(same, self.b.icmp_signed("==", i, indices[axis]))
                    place[axis] = i
                x = self.read(source, self.offset(place, t.shape), t.dtype)
                return self._combine("multiply", acc, self.b.select(same, self._neutral("multiply", t.dtype), x), t.dtype)

            value = self.reduce_loop(inner_shape, t.dtype, self._neutral("multiply", t.dtype), factor)
            self.write(value, address, self.offset(indices, t.shape), t.dtype)

        self.nest(t.shape, one)
        return address

    def _at(self, address: Any, element: Any, dtype: str) -> Any:
        return self.b.add(address, self.b.mul(element, self.m.int(SIZE[dtype])))

    def _gemm(self, dtype: str, places: list[Any], rows: int, inner: int, columns: int) -> None:
        """C = A·B of contiguous matrices by the BLAS that NumPy brings."""
        t, byte = LLVM_TYPES[dtype], ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [I32, I32, I32, I64, I64, I64, t, byte, I64, byte, I64, t, byte, I64])
        function = self.b.inttoptr(self.m.int(blas()[dtype]), kind.as_pointer())
        a, c, out = (self.b.inttoptr(p, byte) for p in places)
        small, size = lambda v: ir.Constant(I32, v), self.m.int
        self.b.call(function, [small(101), small(111), small(111), size(rows), size(columns), size(inner), ir.Constant(t, 1.0), a, size(inner), c,
                               size(columns), ir.Constant(t, 0.0), out, size(columns)])

    def _matmul(self, node: Apply, scope: Scope) -> Any:
        """C[i, :] += A[i, k] · B[k, :], over broadcast batches."""
        types = [Builder.type_of(x) for x in node.inputs[1:3]]
        addresses = [self._address(x, scope) for x in node.inputs[1:3]]
        result = Builder.type_of(node)
        dtype = scalar_of(result).dtype
        x, y = (t.shape for t in types if isinstance(t, Array))
        a = (1, *x) if len(x) == 1 else x
        c = (*y, 1) if len(y) == 1 else y
        batch = result.shape[:len(result.shape) - (len(x) > 1) - (len(y) > 1)] if isinstance(result, Array) else ()
        rows, inner, columns = a[-2], a[-1], c[-1]
        whole = Array(dtype, (*batch, rows, columns))
        use_blas = all(t.dtype == dtype for t in types if isinstance(t, Array)) and dtype in blas() and rows * inner * columns >= 2048
        address = self.new(whole) if use_blas else self.zeros(whole)  # BLAS does not read what it overwrites

        def product(indices: list[Any]) -> None:
            base_a = self.b.mul(self.offset(indices, a[:-2]), self.m.int(rows * inner))
            base_c = self.b.mul(self.offset(indices, c[:-2]), self.m.int(inner * columns))
            base = self.b.mul(self.offset(indices, batch), self.m.int(rows * columns))
            if use_blas:
                self._gemm(dtype, [self._at(addresses[0], base_a, dtype), self._at(addresses[1], base_c, dtype), self._at(address, base, dtype)],
                           rows, inner, columns)
                return

            def row(i: Any) -> None:
                def depth(k: Any) -> None:
                    factor = self.m.ops.convert(self.b, self.read(addresses[0], self.b.add(base_a, self.b.add(self.b.mul(i, self.m.int(inner)), k)),
                                                                  types[0].dtype), types[0].dtype, dtype)  # type: ignore[union-attr]

                    def column(j: Any) -> None:
                        place = self.b.add(base, self.b.add(self.b.mul(i, self.m.int(columns)), j))
                        other = self.read(addresses[1], self.b.add(base_c, self.b.add(self.b.mul(k, self.m.int(columns)), j)), types[1].dtype)  # type: ignore[union-attr]
                        other = self.m.ops.convert(self.b, other, types[1].dtype, dtype)  # type: ignore[union-attr]
                        term = self.m.ops.apply(self.b, "multiply", dtype, [(factor, dtype), (other, dtype)], dtype)
                        self.write(self._combine("add", self.read(address, place, dtype), term, dtype), address, place, dtype)

                    self.loop(columns, column)
                self.loop(inner, depth)
            self.loop(rows, row)

        self.nest(batch, product)
        return address if isinstance(result, Array) else self.read(address, self.m.int(0), dtype)


__all__ = ["ArrayCode", "Lazy"]
