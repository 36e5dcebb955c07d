"""Matrix products in LLVM: by BLAS where they are large, else in loops."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir

from myia_notebook.emit.blas import blas
from myia_notebook.emit.fusion import Fusion
from myia_notebook.emit.loops import SIZE
from myia_notebook.emit.scalar import I32, I64, LLVM_TYPES
from myia_notebook.ir.extent import likely
from myia_notebook.ir.graph import Apply
from myia_notebook.ir.types import Array
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.promotion import scalar_of

if TYPE_CHECKING:
    from myia_notebook.emit.llvm import Scope

LONGEST_GEMM, GEMM_SPEED = 1 << 30, 16
"""Multiplications in one call of BLAS, and for each step of the machine's clock."""


class Products(Fusion):
    """Emits matrix products."""

    def _at(self, address: Any, element: Any, dtype: str) -> Any:
        return self.b.add(address, self.b.mul(element, self.m.int(SIZE[dtype])))

    def _gemm(self, dtype: str, places: list[Any], rows: int, inner: int, columns: int) -> None:
        """C = A·B of contiguous matrices by the BLAS that NumPy brings."""
        t, byte = LLVM_TYPES[dtype], ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [I32, I32, I32, I64, I64, I64, t, byte, I64, byte, I64, t, byte, I64])
        function = self.b.inttoptr(self.m.outside(blas()[dtype]), kind.as_pointer())
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
        use_blas = all(t.dtype == dtype for t in types if isinstance(t, Array)) and dtype in blas() and likely(rows * inner * columns) >= 2048
        address = self.new(whole) if use_blas else self.zeros(whole)  # BLAS does not read what it overwrites

        def product(indices: list[Any]) -> None:
            base_a = self.b.mul(self.offset(indices, a[:-2]), self.m.int(rows * inner))
            base_c = self.b.mul(self.offset(indices, c[:-2]), self.m.int(inner * columns))
            base = self.b.mul(self.offset(indices, batch), self.m.int(rows * columns))
            if use_blas:
                def some(first: Any, count: int) -> None:
                    places = (self.b.add(base_a, self.b.mul(first, self.m.int(inner))), base_c, self.b.add(base, self.b.mul(first, self.m.int(columns))))
                    self._gemm(dtype, [self._at(x, i, dtype) for x, i in zip((*addresses, address), places)], count, inner, columns)
                    self.m.worked(count * inner * columns // GEMM_SPEED)

                part = max(LONGEST_GEMM // likely(inner * columns), 1)  # an interrupt waits for no more than this
                whole, rest = divmod(rows, part)
                self.loop(whole, lambda k: some(self.b.mul(k, self.m.int(part)), part))
                if rest:
                    some(self.m.int(whole * part), rest)
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
