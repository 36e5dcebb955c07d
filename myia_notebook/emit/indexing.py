"""Reading and writing parts of arrays in LLVM: basic indexing, its adjoint, and updates."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from myia_notebook.emit.loops import strides
from myia_notebook.emit.reductions import Reductions
from myia_notebook.ir.extent import Extent
from myia_notebook.ir.graph import Apply, Node
from myia_notebook.ir.types import Array, Scalar
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.index import slice_length, window_message
from myia_notebook.ops.promotion import scalar_of

if TYPE_CHECKING:
    from myia_notebook.emit.llvm import Scope


class Indexing(Reductions):
    """Emits basic indexing and its adjoints."""

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
                start = self.m.int(entry[1]) if isinstance(entry[1], (int, Extent)) else entry[1]
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
