"""Array operations in LLVM: every primitive with a kernel of its own, and those that NumPy computes. Loops are in `loops`, elementwise expressions in
`fusion`, then `reductions`, `indexing` and `products`; this is what the machine holds. A reshape is the same pointer.
"""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from myia_notebook.emit.frames import HOST_STEPS
from myia_notebook.emit.fusion import Lazy
from myia_notebook.emit.host import HostCall, Known
from myia_notebook.emit.indexing import Indexing
from myia_notebook.emit.products import Products
from myia_notebook.emit.scalar import I64
from myia_notebook.errors import error
from myia_notebook.ir.graph import ZERO, Apply, Constant, primitive_of
from myia_notebook.ir.types import Array, Scalar
from myia_notebook.lower.plan import words
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.promotion import scalar_of

if TYPE_CHECKING:
    from myia_notebook.emit.llvm import Scope


class ArrayCode(Indexing, Products):
    """Emits array operations for a machine."""

    def kernel(self, node: Apply, name: str, scope: Scope) -> Any:
        handler = getattr(self, f"_{name}", None)
        return self._host(node, scope) if handler is None else handler(node, scope)

    def _host(self, node: Apply, scope: Scope) -> Any:
        """A primitive that NumPy computes: its operands' words are handed over (see emit.host)."""
        primitive, result = primitive_of(node), Builder.type_of(node)
        if self.m.shapes is not None:
            raise error("M801", node.provenance.span, message=f"'{primitive}' is compiled for each shape")
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
        area = self.m.b.ptrtoint(self.m.slot(ir.ArrayType(I64, 1 + len(given)), "operands"), I64)
        self.m.store(self.m.int(0), area, 0, "i")
        for i, (value, kind) in enumerate(given, 1):
            if kind in "sw":
                self.m.store(self.m.int(0), area, i, "i")
            self.m.store(value, area, i, kind)
        target = self.new(result) if isinstance(result, Array) else self.m.b.ptrtoint(self.m.slot(I64, "result"), I64)
        number = self.m.host.add(HostCall(primitive.implementation, tuple(operands), result))
        call = ir.FunctionType(ir.VoidType(), [I64, I64, I64]).as_pointer()
        self.b.call(self.b.inttoptr(self.m.outside(self.m.host.address), call), [self.m.int(number), area, target])
        self.m.check(self.b.icmp_unsigned("!=", self.m.load(area, 0, "i"), self.m.int(0)), "host", "", node.provenance.span)
        self.m.worked(HOST_STEPS)
        return target if isinstance(result, Array) else self.m.load(target, 0, words(result)[0])

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


__all__ = ["ArrayCode"]
