"""Reductions in LLVM: what is reduced is computed in the same loop where it can wait."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from myia_notebook.emit.fusion import Fusion
from myia_notebook.emit.scalar import FLOATS, I1, I64, LLVM_TYPES
from myia_notebook.ir.graph import Apply
from myia_notebook.ir.types import Array, Type
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.promotion import scalar_of
from myia_notebook.ops.shape import sum_axes

if TYPE_CHECKING:
    from myia_notebook.emit.llvm import Scope


class Reductions(Fusion):
    """Emits sums, products, extremes and where they are."""

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

    def _sum_to(self, node: Apply, scope: Scope) -> Any:
        read, t = self._source(node.inputs[1], scope)
        shape = self._static(node.inputs[2])
        return self.fold(read, t, sum_axes(t.shape, shape), "add", Builder.type_of(node), True)

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
