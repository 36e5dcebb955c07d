"""A program over many elements: the loop around a *free* program, in machine code.

    i64 myia_map(i64 start, i64 stop, table, flag, failed)    0, or the status of the first element that failed, whose index is left in `failed`

`table` holds [address, bytes from one element to the next] for each word of the arguments and then of the result. The loop asks the flag before each
element, and the program asks it in its own loops.
"""
from __future__ import annotations

import ctypes
from typing import Any

from llvmlite import ir

from myia_notebook.emit.cpu import NativeFunction, compile_free
from myia_notebook.emit.frames import WORD
from myia_notebook.emit.scalar import I32, I64
from myia_notebook.lower.plan import Plan, words
from myia_notebook.ops.expression import Builder

NAME = "myia_map"
_BYTE = ir.IntType(8)
_STORED = {**WORD, "b": _BYTE}


class _MapCode:
    """Emits the loop into the module of a machine."""

    def __init__(self, machine: Any) -> None:
        plan: Plan = machine.plan
        self.machine = machine
        self.takes = [w for p in plan.root.parameters for w in words(Builder.type_of(p))]
        self.gives = words(plan.root.result)  # type: ignore[arg-type]
        pointer = I64.as_pointer()
        self.function = ir.Function(machine.module, ir.FunctionType(I64, [I64, I64, pointer, pointer, pointer]), NAME)
        self.b = ir.IRBuilder(self.function.append_basic_block("entry"))

    def build(self) -> None:
        b = self.b
        start, stop, table, flag, failed = self.function.args
        given = b.alloca(ir.ArrayType(I64, len(self.takes) + 1))
        made = b.alloca(ir.ArrayType(I64, len(self.gives) + 1))
        index = b.alloca(I64)
        b.store(b.ptrtoint(flag, I64), self._word(given, len(self.takes), I64))
        b.store(start, index)
        head, body, after, done, stopped, bad = (self.function.append_basic_block(n) for n in ("head", "body", "after", "done", "stopped", "failed"))
        b.branch(head)
        b.position_at_end(head)
        i = b.load(index)
        b.cbranch(b.icmp_signed("<", i, stop), body, done)
        b.position_at_end(body)
        for k, kind in enumerate(self.takes):
            value = b.load(self._element(table, k, i, kind))
            b.store(b.zext(value, I64) if kind == "b" else value, self._word(given, k, I64 if kind == "b" else _STORED[kind]))
        asked = b.icmp_signed("!=", b.load_atomic(flag, "monotonic", 8), ir.Constant(I64, 0))
        go = self.function.append_basic_block("go")
        b.cbranch(asked, stopped, go)
        b.position_at_end(go)
        status = b.call(self.machine.function, [self._word(given, 0, I64), self._word(made, 0, I64)])
        b.cbranch(b.icmp_signed("==", status, ir.Constant(I64, 0)), after, bad)
        b.position_at_end(after)
        for k, kind in enumerate(self.gives):
            value = b.load(self._word(made, k, I64 if kind == "b" else _STORED[kind]))
            b.store(b.and_(b.trunc(value, _BYTE), ir.Constant(_BYTE, 1)) if kind == "b" else value, self._element(table, len(self.takes) + k, i, kind))
        b.store(b.add(i, ir.Constant(I64, 1)), index)
        b.branch(head)
        b.position_at_end(bad)
        b.store(i, failed)
        b.ret(status)
        b.position_at_end(stopped)
        b.ret(ir.Constant(I64, -1))
        b.position_at_end(done)
        b.ret(ir.Constant(I64, 0))

    def _word(self, area: Any, k: int, t: Any) -> Any:
        zero = ir.Constant(I32, 0)
        return self.b.bitcast(self.b.gep(area, [zero, ir.Constant(I32, k)]), t.as_pointer())

    def _element(self, table: Any, k: int, i: Any, kind: str) -> Any:
        """Where element i of word k lies."""
        b = self.b
        address, step = (b.load(b.gep(table, [ir.Constant(I32, 2 * k + j)])) for j in range(2))
        return b.inttoptr(b.add(address, b.mul(i, step)), _STORED[kind].as_pointer())


class MappedProgram:
    """A compiled program with its loop. `run` gives up the GIL while it runs."""

    def __init__(self, plan: Plan) -> None:
        self.native: NativeFunction = compile_free(plan, lambda machine: _MapCode(machine).build())
        pointer = ctypes.c_void_p
        self._function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, pointer, pointer, pointer)(self.native.engine.get_function_address(NAME))

    def run(self, start: int, stop: int, table: Any, flag: Any) -> tuple[int, int]:
        """(status, index of the element that failed) of the elements from start to stop."""
        failed = ctypes.c_int64(0)
        status = self._function(start, stop, table.ctypes.data, ctypes.addressof(flag), ctypes.addressof(failed))
        return status, failed.value


__all__ = ["MappedProgram"]
