"""The machine's memory in LLVM: words and where they lie, the stack of frames, the arena, and the exits.

Frames are on a stack of 8-byte words that grows by realloc; cells (closures, environments) and arrays are in an arena of chunks that is
freed when the program ends, by whatever exit.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir

from myia_notebook.emit.jit import HELPERS, TABLE
from myia_notebook.emit.runtime import LIMIT, SPARE, helpers
from myia_notebook.emit.scalar import F32, F64, I1, I32, I64, ScalarOps
from myia_notebook.ir.extent import Extent, Shapes, emit_extent
from myia_notebook.ir.graph import Apply, Graph
from myia_notebook.lower.plan import Plan, needs_arena, words
from myia_notebook.ops.expression import Builder
from myia_notebook.provenance import Span

WORD = {"f": F64, "s": F32, "i": I64, "w": I32, "b": I1, "p": I64}
OWN_STACK, OWN_ARENA = 1024, 2048
HOST_STEPS = 1 << 13
"""What a call of Python counts among the steps of a program."""


@dataclass(frozen=True, slots=True)
class ErrorExit:
    """One way in which a program can fail: what the Python side raises."""

    code: str
    message: str
    span: Span | None
    kind: str = ""


@dataclass(slots=True)
class Scope:
    """A graph being emitted: the words of its nodes so far, its nodes, and where in them we are. Arms are scopes inside a scope."""

    graph: Graph
    nodes: list[Apply]
    last_use: dict[int, int]
    values: dict[int, list[Any]] = field(default_factory=dict)
    position: int = 0

    def live(self) -> list[int]:
        """Ids whose words are needed after the current node."""
        return [key for key in self.values if self.last_use.get(key, -1) > self.position]


class Frames:
    """The function that is a program: its memory, and how it fails."""

    def __init__(self, plan: Plan, free: bool = False) -> None:
        self.extents: dict[Any, Any] = {}
        self.shapes: Shapes | None = None
        self.plan, self.free = plan, free
        self.module = ir.Module("myia")
        self.ops = ScalarOps(self.module)
        self.errors: list[ErrorExit] = []
        self._numbers: dict[ErrorExit, int] = {}
        self.here: Span | None = None
        """The place in the user's source of the node that is being emitted."""
        self.keep: list[Any] = []
        self.links: dict[int, int] = {}
        """What the program takes from this process, by its place in the table (`emit.jit`)."""
        self.table = ir.GlobalVariable(self.module, ir.ArrayType(I64, 0), TABLE)
        self._invariant = self.module.add_metadata([])
        self.spare, self.limit = self.link(SPARE), self.link(LIMIT)
        self.zeros: dict[int, np.ndarray[Any, Any]] = {}
        self.function = ir.Function(self.module, ir.FunctionType(I64, [I64.as_pointer(), I64.as_pointer()]), "myia_program")
        for wide in ('"prefer-vector-width"="512"', '"min-legal-vector-width"="512"'):  # LLVM prefers half of it; past llvmlite's check of names
            set.add(self.function.attributes, wide)
        self.entry_block = self.function.append_basic_block("entry")
        self.b = ir.IRBuilder(self.entry_block)
        self.keeps_arena = needs_arena(plan.root.result)

    def int(self, value: int) -> Any:
        """A number, or an extent: computed once, in the entry block, from the extents of the inputs, which are words after the arguments."""
        if not isinstance(value, Extent):
            return ir.Constant(I64, value)
        if value not in self.extents:
            with self._in_entry():
                self.extents[value] = emit_extent(value, self._symbol, self.int, self.b)
        return self.extents[value]

    def _symbol(self, number: int) -> Any:
        key = ("symbol", number)
        if key not in self.extents:
            with self._in_entry():
                first = sum(len(words(Builder.type_of(p))) for p in self.plan.root.parameters)
                self.extents[key] = self.b.load(self.b.gep(self.function.args[0], [ir.Constant(I64, first + number)]))
        return self.extents[key]

    def _in_entry(self) -> Any:
        return self.b.goto_block(self.entry_block) if self.b.block is not self.entry_block else _Here()

    def link(self, address: int) -> int:
        """The place in the table of an address of this process, whose owner is kept by the caller."""
        return self.links.setdefault(address, len(self.links))

    def outside(self, address: int, b: ir.IRBuilder | None = None) -> Any:
        """An address of this process: a word that is filled in when the program is loaded, so that machine code is the same in every process."""
        b = b or self.b
        word = b.load(b.gep(b.bitcast(self.table, I64.as_pointer()), [self.int(self.link(address))]))
        word.set_metadata("invariant.load", self._invariant)
        return word

    def text(self) -> str:
        """The module as LLVM assembly, with the helpers in it."""
        self.table.value_type = ir.ArrayType(I64, len(self.links))
        self.table.initializer = ir.Constant(self.table.value_type, None)
        lines = (line for line in str(self.module).splitlines() if not (line.startswith("declare") and any(h in line for h in HELPERS)))
        return "\n".join(lines) + "\n" + helpers(self.spare, self.limit, self.free)

    def slot(self, t: Any, name: str) -> Any:
        """A variable of the machine, in the entry block."""
        with self._in_entry():
            return self.b.alloca(t, name=name)

    def block(self, name: str) -> Any:
        return self.function.append_basic_block(name)

    def pointer(self, address: Any, t: Any) -> Any:
        return self.b.inttoptr(address, t.as_pointer())

    def load(self, address: Any, offset: int, kind: str) -> Any:
        """Word `offset` at an address."""
        raw = self.b.add(address, self.int(8 * offset)) if offset else address
        if kind == "b":
            return self.b.trunc(self.b.load(self.pointer(raw, I64)), I1)
        return self.b.load(self.pointer(raw, WORD[kind]))

    def store(self, value: Any, address: Any, offset: int, kind: str) -> None:
        raw = self.b.add(address, self.int(8 * offset)) if offset else address
        if kind == "b":
            value = self.b.zext(value, I64)
            kind = "i"
        self.b.store(value, self.pointer(raw, WORD[kind]))

    def fail(self, code: str, message: str, span: Span | None, kind: str = "") -> None:
        """Ends the program with an error."""
        exit_ = ErrorExit(code, message, span, kind)
        if exit_ not in self._numbers:
            self.errors.append(exit_)
        self.b.store(self.int(self._numbers.setdefault(exit_, len(self.errors))), self.status)
        self.b.branch(self.exit_block)

    def check(self, condition: Any, code: str, message: str, span: Span | None) -> None:
        """Fails when the condition (an i1) is false."""
        good, bad = self.block("ok"), self.block("fail")
        self.b.cbranch(condition, good, bad)
        self.b.position_at_end(bad)
        self.fail(code, message, span)
        self.b.position_at_end(good)

    def _memory_setup(self) -> None:
        b = self.b
        self.top, self.end, self.chunks, self.used = (b.alloca(I64, name=n) for n in ("top", "end", "chunks", "used"))
        self.stack, self.sp, self.room = (b.alloca(I64, name=n) for n in ("stack", "sp", "room"))
        own, self.first = (b.ptrtoint(self._own(n), I64) for n in (0 if self.keeps_arena else OWN_ARENA, OWN_STACK))
        for slot, start in ((self.top, own), (self.end, own), (self.chunks, self.int(0)), (self.used, self.int(0)), (self.stack, self.first),
                            (self.sp, self.first), (self.room, self.first)):
            b.store(start, slot)
        b.store(b.add(own, self.int(0 if self.keeps_arena else OWN_ARENA)), self.end)
        b.store(b.add(self.first, self.int(OWN_STACK)), self.room)
        pp = I64.as_pointer()
        self.refill = self.ops.external("myia_arena_refill", I64, [I64, pp, pp, pp, pp])
        self.grow = self.ops.external("myia_stack_grow", I64, [I64, pp, pp, pp, I64])
        self.free_all = self.ops.external("myia_free", ir.VoidType(), [I64, I64])
        self.poll = self.ops.external("PyErr_CheckSignals", I32, [])
        byte = ir.IntType(8).as_pointer()
        self.save_thread = self.ops.external("PyEval_SaveThread", byte, [])
        self.restore_thread = self.ops.external("PyEval_RestoreThread", ir.VoidType(), [byte])

    def _own(self, size: int) -> Any:
        """Memory in the frame of the machine itself."""
        made = self.b.alloca(ir.ArrayType(I64, max(size // 8, 1)))
        made.align = 64
        return made

    def allocate(self, size: int) -> Any:
        """The address of `size` fresh bytes in the arena (64-byte aligned when large)."""
        if isinstance(size, Extent):
            return self.allocate_dynamic(self.int(size))
        size = max(size, 1)
        return self._fresh(self.int((size + 15) // 16 * 16 if size < 1024 else (size + 63) // 64 * 64))

    def allocate_dynamic(self, size: Any) -> Any:
        """The address of fresh bytes, as many as a value says."""
        return self._fresh(self.b.and_(self.b.add(size, self.int(15)), self.int(-16)))

    def _fresh(self, rounded: Any) -> Any:
        b = self.b
        here = b.load(self.top)
        full, fits, done = self.block("full"), self.block("fits"), self.block("allocated")
        b.cbranch(b.icmp_unsigned(">", rounded, b.sub(b.load(self.end), here)), full, fits).set_weights([1, 10000])
        b.position_at_end(full)
        address = b.call(self.refill, [rounded, self.top, self.end, self.chunks, self.used])
        good = self._or_fail(address, "M707", "the values of this program")
        b.branch(done)
        b.position_at_end(fits)
        b.store(b.add(here, rounded), self.top)
        b.branch(done)
        b.position_at_end(done)
        return self.joined([address], good, [here], fits)[0]

    def _or_fail(self, value: Any, code: str, message: str) -> Any:
        """Goes on where the value is not 0: gives that block."""
        b = self.b
        bad, good = self.block("bad"), self.block("good")
        b.cbranch(b.icmp_unsigned("==", value, self.int(0)), bad, good)
        b.position_at_end(bad)
        self.fail(code, message, self.here)
        b.position_at_end(good)
        return good

    def joined(self, values: list[Any], end: Any, others: list[Any], other_end: Any) -> list[Any]:
        """What each pair of values is where two blocks have met."""
        phis: list[Any] = []
        for x, y in zip(values, others):
            phi = self.b.phi(x.type)
            phi.add_incoming(x, end)
            phi.add_incoming(y, other_end)
            phis.append(phi)
        return phis

    def copy_bytes(self, source: Any, target: Any, size: Any) -> None:
        """memcpy between addresses."""
        byte = ir.IntType(8).as_pointer()
        copy = self.ops.external("memcpy", byte, [byte, byte, I64])
        self.b.call(copy, [self.b.inttoptr(target, byte), self.b.inttoptr(source, byte), size])

    def _push(self, values: list[tuple[Any, str]], number: int) -> None:
        """A frame: the words, then the return number."""
        b = self.b
        size = len(values) + 1
        sp = b.load(self.sp)
        new = b.add(sp, self.int(8 * size))
        full, fits = self.block("grow"), self.block("push")
        b.cbranch(b.icmp_unsigned(">", new, b.load(self.room)), full, fits).set_weights([1, 10000])
        b.position_at_end(full)
        ok = b.call(self.grow, [self.int(8 * size), self.stack, self.sp, self.room, self.first])
        self._or_fail(ok, "M706", "its frames do not fit in memory")
        b.branch(fits)
        b.position_at_end(fits)
        sp = b.load(self.sp)
        for i, (value, kind) in enumerate(values):
            self.store(value, sp, i, kind)
        self.store(self.int(number), sp, len(values), "i")
        b.store(b.add(sp, self.int(8 * size)), self.sp)

    def _pop(self, kinds: list[str]) -> list[Any]:
        """Takes a frame (its number was read already) and gives its words."""
        sp = self.b.sub(self.b.load(self.sp), self.int(8 * (len(kinds) + 1)))
        self.b.store(sp, self.sp)
        return [self.load(sp, i, k) for i, k in enumerate(kinds)]

    def _emit_exit(self) -> None:
        self.b.position_at_end(self.exit_block)
        chunks = self.b.load(self.chunks)
        if self.keeps_arena:  # the caller reads the result there, and frees it
            ok = self.b.icmp_unsigned("==", self.b.load(self.status), self.int(0))
            address = self.b.ptrtoint(self.function.args[1], I64)
            self.store(self.b.select(ok, chunks, self.int(0)), address, len(words(self.plan.root.result)), "i")  # type: ignore[arg-type]
            chunks = self.b.select(ok, self.int(0), chunks)
        stack = self.b.load(self.stack)
        self.b.call(self.free_all, [chunks, self.b.select(self.b.icmp_unsigned("==", stack, self.first), self.int(0), stack)])
        self.b.ret(self.b.load(self.status))


class _Here:
    """Stays where the builder is."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        return None


def symbol(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name) or "graph"


def kind_of(value: Any) -> str:
    """The word kind of an LLVM value (a pointer is an i64 too)."""
    return {str(F64): "f", str(F32): "s", str(I64): "i", str(I32): "w", str(I1): "b"}[str(value.type)]
