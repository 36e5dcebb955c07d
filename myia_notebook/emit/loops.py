"""Arrays in memory and loops over them, in LLVM. An array is a pointer to its elements, contiguous in C order; its shape is in its type."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir

from myia_notebook.emit.scalar import I1, I32, I64, LLVM_TYPES
from myia_notebook.emit.vector_math import is_available
from myia_notebook.ir.extent import Extent, low
from myia_notebook.ir.types import Array, Type

if TYPE_CHECKING:
    from myia_notebook.emit.llvm import Machine

STRIP = 1 << 20
"""Elements that a loop goes over without asking whether it is to stop."""
SIZE = {"float64": 8, "float32": 4, "int64": 8, "int32": 4, "bool": 1}
MEMORY = {**LLVM_TYPES, "bool": ir.IntType(8)}


def shape_of(t: Type | None) -> tuple[int, ...]:
    return t.shape if isinstance(t, Array) else ()


def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Elements between neighbors along each axis."""
    return tuple(math.prod(shape[i + 1:]) for i in range(len(shape)))


class Loops:
    """Emits loops over elements for a machine. `work`: the steps so far of the loop body that is being emitted; None outside of loops."""

    work: int | None = None

    def __init__(self, machine: Machine) -> None:
        self.m = machine

    @property
    def b(self) -> ir.IRBuilder:
        return self.m.b

    def constant(self, value: Any) -> Any:
        """The address of a constant array, kept alive by the compiled program."""
        array = np.ascontiguousarray(value)
        self.m.keep.append(array)
        return self.m.outside(array.ctypes.data)

    def zeros(self, t: Array) -> Any:
        address = self.m.allocate(math.prod(t.shape) * SIZE[t.dtype])
        memset = self.m.ops.external("memset", ir.IntType(8).as_pointer(), [ir.IntType(8).as_pointer(), I32, I64])
        self.b.call(memset, [self.b.inttoptr(address, ir.IntType(8).as_pointer()), ir.Constant(I32, 0), self.m.int(math.prod(t.shape) * SIZE[t.dtype])])
        return address

    def new(self, t: Array) -> Any:
        return self.m.allocate(math.prod(t.shape) * SIZE[t.dtype])

    def read(self, address: Any, index: Any, dtype: str) -> Any:
        pointer = self.b.gep(self.b.inttoptr(address, MEMORY[dtype].as_pointer()), [index])
        value = self.b.load(pointer)
        return self.b.trunc(value, I1) if dtype == "bool" else value

    def write(self, value: Any, address: Any, index: Any, dtype: str) -> None:
        if dtype == "bool":
            value = self.b.zext(value, MEMORY["bool"])
        self.b.store(value, self.b.gep(self.b.inttoptr(address, MEMORY[dtype].as_pointer()), [index]))

    def loop(self, count: int, body: Callable[[Any], None]) -> None:
        """body(i) for i from 0 to count − 1. Counts the work, so that a long loop can be interrupted."""
        if count == 0:
            return
        if count > STRIP:
            whole, rest = divmod(count, STRIP)
            self.loop(whole, lambda k: self.loop(STRIP, lambda i: body(self.b.add(self.b.mul(k, self.m.int(STRIP)), i))))
            self.loop(rest, lambda i: body(self.b.add(i, self.m.int(whole * STRIP))))
            return
        outside, self.work = self.work, 0
        if count == 1:
            body(self.m.int(0))
        else:
            self._repeat(count, body)
        steps = count * max(self.work or 0, 1)
        self.work = outside
        if outside is None or steps >= STRIP:
            self.m.worked(steps)
        else:
            self.work = outside + steps

    def _repeat(self, count: int, body: Callable[[Any], None]) -> None:
        b, skip = self.b, None
        if isinstance(count, Extent) and (low(count) or 0) < 1:
            enter, skip = self.m.block("enter"), self.m.block("skip")
            b.cbranch(b.icmp_signed(">", self.m.int(count), self.m.int(0)), enter, skip)
            b.position_at_end(enter)
        before = b.block
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
        if skip is not None:
            b.branch(skip)
            b.position_at_end(skip)

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
        return self.m.joined([value], quick, [slow], slow_end)[0]
