"""The machine in LLVM: one function that runs a whole program (see `lower.plan` for its shape).

    i64 program(words *arguments, words *results)      0, or 1 + the index of an error; −1 when interrupted

Frames are on a stack of 8-byte words that grows by realloc; cells (closures, environments) and arrays are in an arena of chunks that is
freed when the program ends, by whatever exit. A call pushes the words that are still needed and a return number; a return switches on the
number it pops. Parameters of entries are stack slots that LLVM turns into registers.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir

from myia_notebook.emit.arrays import ArrayCode
from myia_notebook.emit.host import HostCalls
from myia_notebook.emit.lists import ListCode
from myia_notebook.emit.memory import Writer
from myia_notebook.emit.messages import Messages
from myia_notebook.emit.scalar import F32, F64, FLOATS, I1, I32, I64, ScalarOps
from myia_notebook.errors import error
from myia_notebook.ir.graph import UNDEFINED, ZERO, Apply, Constant, Graph, Node, callee_of, graph_constant, primitive_of, schedule
from myia_notebook.ir.types import Array, Environment, Function, List, Scalar, Static, Tuple, Type, parts
from myia_notebook.lower.plan import BRANCH, Plan, array_words, needs_arena, words
from myia_notebook.lower.primitives import ACCUMULATE, COPIED, ENV_IS, ENV_IS_ZERO, FRESH_ZEROS, LIST_ADD
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.primitive import Checked, Elementwise, Kernel, Primitive, Reduction
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.provenance import Span

PARTIAL, MAKE_TUPLE, GETITEM, SWITCH, SEQUENCE, RAISE, PRINT, ENV_MAKE, ENV_GET, CLOSURE_IS, CLOSURE_GET, CAST = (PRIMITIVES[n] for n in (
    "partial", "make_tuple", "tuple_getitem", "switch", "sequence", "raise_", "print_", "env_make", "env_get", "closure_is", "closure_get", "cast"))
WORD = {"f": F64, "s": F32, "i": I64, "w": I32, "b": I1, "p": I64}
OWN_STACK, OWN_ARENA = 1024, 2048
POLL = (1 << 16) - 1


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


class Machine:
    """Emits one program."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.module = ir.Module("myia")
        self.ops = ScalarOps(self.module)
        self.errors: list[ErrorExit] = []
        self.keep: list[Any] = []
        self.zeros: dict[int, np.ndarray[Any, Any]] = {}
        self.function = ir.Function(self.module, ir.FunctionType(I64, [I64.as_pointer(), I64.as_pointer()]), "myia_program")
        for wide in ('"prefer-vector-width"="512"', '"min-legal-vector-width"="512"'):  # LLVM prefers half of it; past llvmlite's check of names
            set.add(self.function.attributes, wide)
        self.entry_block = self.function.append_basic_block("entry")
        self.b = ir.IRBuilder(self.entry_block)
        self.arrays = ArrayCode(self)
        self.lists = ListCode(self)
        self.messages, self.host = Messages(), HostCalls()
        self.keep += [self.messages, self.host]
        self.keeps_arena = needs_arena(plan.root.result)
        self.scopes: list[Scope] = []
        self.tags = self._tags()
        self.reachable = {g.id for g in plan.graphs}
        self.entries: dict[int, tuple[Any, list[Any]]] = {}
        self.pending: list[Graph] = []
        self.result_slots: dict[tuple[str, ...], list[Any]] = {}
        self.returns: dict[tuple[str, ...], tuple[Any, list[Any]]] = {}

    # -- small helpers

    def int(self, value: int) -> Any:
        return ir.Constant(I64, value)

    def slot(self, t: Any, name: str) -> Any:
        """A variable of the machine, in the entry block."""
        with self.b.goto_block(self.entry_block) if self.b.block is not self.entry_block else _Here():
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
        if exit_ not in self.errors:
            self.errors.append(exit_)
        self.b.store(self.int(1 + self.errors.index(exit_)), self.status)
        self.b.branch(self.exit_block)

    def check(self, condition: Any, code: str, message: str, span: Span | None) -> None:
        """Fails when the condition (an i1) is false."""
        good, bad = self.block("ok"), self.block("fail")
        self.b.cbranch(condition, good, bad)
        self.b.position_at_end(bad)
        self.fail(code, message, span)
        self.b.position_at_end(good)

    # -- the whole program

    def build(self) -> None:
        arguments, results = self.function.args
        self.status = self.b.alloca(I64, name="status")
        self.b.store(self.int(0), self.status)
        self._memory_setup()
        self.ticks = self.b.alloca(I64, name="ticks")
        self.b.store(self.int(0), self.ticks)
        setup_end = self.b.block
        self.exit_block = self.block("exit")
        body = self.block("start")
        self.b.position_at_end(body)
        root = self.plan.root
        kinds = [w for p in root.parameters for w in words(Builder.type_of(p))]
        base = self.b.ptrtoint(arguments, I64)
        values = [self.load(base, i, k) for i, k in enumerate(kinds)]
        result_kinds = tuple(words(root.result))  # type: ignore[arg-type]
        done = self._return_point(result_kinds)
        self._push([], done[0])
        self._jump(root, values)
        self.b.position_at_end(done[1])
        self._hand_over(results, result_kinds)
        self.b.branch(self.exit_block)
        while self.pending:
            self._emit_entry(self.pending.pop(0))
        self._emit_returns()
        self._emit_exit()
        self.b.position_at_end(setup_end)
        self.b.branch(body)

    def _hand_over(self, results: Any, kinds: tuple[str, ...]) -> None:
        """Writes the result's words; arrays are copied to where the caller wants them (the word there says)."""
        from myia_notebook.emit.arrays import SIZE
        address = self.b.ptrtoint(results, I64)
        sizes = {place: math.prod(t.shape) * SIZE[t.dtype] for place, t in array_words(self.plan.root.result)}  # type: ignore[arg-type]
        byte = ir.IntType(8).as_pointer()
        copy = self.ops.external("memcpy", byte, [byte, byte, I64])
        for i, (kind, slot) in enumerate(zip(kinds, self._slots(kinds))):
            value = self.b.load(slot)
            if i in sizes and not self.keeps_arena:
                target = self.load(address, i, "i")
                self.b.call(copy, [self.b.inttoptr(target, byte), self.b.inttoptr(value, byte), self.int(sizes[i])])
            else:
                self.store(value, address, i, kind)

    def _tags(self) -> dict[int, int]:
        """A number for each graph that is a member of a class, unique in its class."""
        tags: dict[int, int] = {}
        for g in self.plan.graphs:
            for t in (*(p.type for p in g.parameters), *(n.type for n in schedule(g)), g.result):
                stack = [t]
                while stack:
                    match stack.pop():
                        case Tuple() | List() as whole:
                            stack.extend(parts(whole))
                        case Function(cls) | Environment(cls):
                            for i, member in enumerate(cls.members):
                                tags.setdefault(member.id, i)
                        case _:
                            pass
        return tags

    # -- memory

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
        bad, good = self.block("no_memory"), self.block("got")
        b.cbranch(b.icmp_unsigned("==", address, self.int(0)), bad, good)
        b.position_at_end(bad)
        self.fail("M707", "the values of this program", None)
        b.position_at_end(good)
        b.branch(done)
        b.position_at_end(fits)
        b.store(b.add(here, rounded), self.top)
        b.branch(done)
        b.position_at_end(done)
        phi = b.phi(I64)
        phi.add_incoming(address, good)
        phi.add_incoming(here, fits)
        return phi

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
        bad, good = self.block("too_deep"), self.block("grown")
        b.cbranch(b.icmp_unsigned("==", ok, self.int(0)), bad, good)
        b.position_at_end(bad)
        self.fail("M706", "its frames do not fit in memory", None)
        b.position_at_end(good)
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

    # -- entries, calls, returns

    def _slots(self, kinds: tuple[str, ...]) -> list[Any]:
        """Where results of these kinds are handed over."""
        if kinds not in self.result_slots:
            self.result_slots[kinds] = [self.slot(WORD[k], f"result{i}") for i, k in enumerate(kinds)]
        return self.result_slots[kinds]

    def _return_point(self, kinds: tuple[str, ...]) -> tuple[int, Any]:
        """A new place that a function with this result can return to: (its number, its block)."""
        if kinds not in self.returns:
            self.returns[kinds] = (self.block("return"), [])
        points = self.returns[kinds][1]
        block = self.block("back")
        points.append(block)
        return len(points) - 1, block

    def _emit_returns(self) -> None:
        for block, points in self.returns.values():
            self.b.position_at_end(block)
            sp = self.b.load(self.sp)
            number = self.load(self.b.sub(sp, self.int(8)), 0, "i")
            switch = self.b.switch(number, points[-1])
            for i, point in enumerate(points[:-1]):
                switch.add_case(self.int(i), point)

    def _return(self, values: list[Any], kinds: tuple[str, ...]) -> None:
        if kinds not in self.returns:
            self.returns[kinds] = (self.block("return"), [])
            _, block = self._return_point(kinds)
            with self.b.goto_block(block):
                self.b.unreachable()
        for value, slot in zip(values, self._slots(kinds)):
            self.b.store(value, slot)
        self.b.branch(self.returns[kinds][0])

    def _entry(self, graph: Graph) -> tuple[Any, list[Any]]:
        """(block, parameter slots) of a graph that is jumped to."""
        if graph.id not in self.entries:
            kinds = [w for p in graph.parameters for w in words(Builder.type_of(p))]
            slots = [self.slot(WORD[k], f"{graph.name}.{i}") for i, k in enumerate(kinds)]
            self.entries[graph.id] = (self.block(_symbol(graph.name)), slots)
            self.pending.append(graph)
        return self.entries[graph.id]

    def _jump(self, graph: Graph, values: list[Any]) -> None:
        block, slots = self._entry(graph)
        for value, slot in zip(values, slots):
            self.b.store(value, slot)
        self.b.branch(block)

    def _emit_entry(self, graph: Graph) -> None:
        block, slots = self.entries[graph.id]
        self.b.position_at_end(block)
        self._poll()
        loaded = [self.b.load(s) for s in slots]
        assert graph.result is not None
        kinds = tuple(words(graph.result))
        self.scopes = []
        self._body(graph, loaded, lambda values: self._return(values, kinds), True)

    def _poll(self) -> None:
        """Every 65536 entries: other threads may run, and has the user interrupted?"""
        b = self.b
        ticks = b.add(b.load(self.ticks), self.int(1))
        b.store(ticks, self.ticks)
        ask, go = self.block("poll"), self.block("go")
        b.cbranch(b.icmp_unsigned("==", b.and_(ticks, self.int(POLL)), self.int(0)), ask, go).set_weights([1, 60000])
        b.position_at_end(ask)
        b.call(self.restore_thread, [b.call(self.save_thread, [])])
        stop, on = self.block("interrupted"), self.block("on")
        b.cbranch(b.icmp_signed("!=", b.call(self.poll, []), ir.Constant(I32, 0)), stop, on)
        b.position_at_end(stop)
        b.store(self.int(-1), self.status)
        b.branch(self.exit_block)
        b.position_at_end(on)
        b.branch(go)
        b.position_at_end(go)

    # -- bodies

    def _body(self, graph: Graph, arguments: list[Any], finish: Callable[[list[Any]], None], is_tail: bool) -> None:
        """Emits the nodes of a graph and hands the words of its output to `finish`; in tail position the last call is a jump."""
        nodes = schedule(graph)
        scope = Scope(graph, nodes, _last_uses(nodes, graph.output))
        position = 0
        for p in graph.parameters:
            count = len(words(Builder.type_of(p)))
            scope.values[p.id] = arguments[position:position + count]
            position += count
        self.scopes.append(scope)
        self.arrays.plan_fusion(scope)
        for i, node in enumerate(nodes):
            scope.position = i
            if is_tail and node is graph.output and self._tail(node):
                self.scopes.pop()
                return
            values = self._node(node)
            if values is None:  # the node never returns
                self.scopes.pop()
                return
            scope.values[node.id] = values
        scope.position = len(nodes)
        values = self.operand(graph.output)
        self.scopes.pop()
        finish(values)

    def operand(self, node: Node) -> list[Any]:
        """The words of a node of the current graph, or of a constant."""
        if not isinstance(node, Constant):
            return self.arrays.force(node, self.scopes[-1])
        return self.constant(node.value, Builder.type_of(node))

    def operands(self, nodes: list[Node]) -> list[Any]:
        return [w for node in nodes for w in self.operand(node)]

    def constant(self, value: Any, t: Type) -> list[Any]:
        if value is ZERO:
            return self._zero(t)
        if value is UNDEFINED:
            return [ir.Constant(WORD[k], 0.0 if k in "fs" else 0) for k in words(t)]
        match t:
            case Scalar():
                kind = words(t)[0]
                return [ir.Constant(WORD[kind], float(value) if kind in "fs" else int(value))]
            case Tuple(items):
                return [w for v, item in zip(value, items) for w in self.constant(v, item)]
            case Array():
                return [self.arrays.constant(value)]
            case Function():
                return [self._cell(self.tags[value.id], [])]
            case List():
                writer = Writer()
                self.keep.append(writer)
                return [self.int(writer.words(value, t)[0])]
            case _:
                return []

    def _zero(self, t: Type) -> list[Any]:
        match t:
            case Tuple(items):
                return [w for item in items for w in self._zero(item)]
            case Array():  # shared: values are never written after they are made
                size = math.prod(t.shape) * 8
                if size not in self.zeros:
                    self.zeros[size] = np.zeros(size + 64, np.uint8)
                    self.keep.append(self.zeros[size])
                return [self.int(self.zeros[size].ctypes.data)]
            case _:
                return [ir.Constant(WORD[k], 0.0 if k in "fs" else 0) for k in words(t)]

    def _cell(self, tag: int, values: list[tuple[Any, str]]) -> Any:
        """A closure or environment: [tag, words…]"""
        address = self.allocate(8 * (1 + len(values)))
        self.store(self.int(tag), address, 0, "i")
        for i, (value, kind) in enumerate(values):
            self.store(value, address, 1 + i, kind)
        return address

    # -- calls

    def _live_frame(self) -> tuple[list[tuple[Any, str]], list[tuple[Scope, int, list[str]]]]:
        """The words of all scopes that are needed after the current node, and whose they are."""
        values: list[tuple[Any, str]] = []
        owners: list[tuple[Scope, int, list[str]]] = []
        for scope in self.scopes:
            for key in scope.live():
                own = self.arrays.force_id(key, scope)
                kinds = [_kind_of(v) for v in own]
                values.extend(zip(own, kinds))
                owners.append((scope, key, kinds))
        return values, owners

    def _call(self, kinds: tuple[str, ...], jump: Callable[[], None]) -> list[Any]:
        """Pushes what is needed later, jumps, and goes on where the call returns: gives the result's words."""
        values, owners = self._live_frame()
        number, back = self._return_point(kinds)
        self._push(values, number)
        jump()
        self.b.position_at_end(back)
        restored = self._pop([k for _, k in values])
        position = 0
        for scope, key, own in owners:
            scope.values[key] = restored[position:position + len(own)]
            position += len(own)
        return [self.b.load(s) for s in self._slots(kinds)]

    def _tail(self, node: Apply) -> bool:
        """Emits a call in tail position as a jump; False when the node is no call."""
        target = callee_of(node)
        primitive = primitive_of(node)
        if target is not None:
            self._jump(target, self.operands(node.inputs[1:]))
            return True
        if primitive is BRANCH:
            self._tail_branch(node)
            return True
        if primitive is None:
            self._unknown_jump(node)
            return True
        return False

    def _tail_branch(self, node: Apply) -> None:
        arguments = self.operands(node.inputs[4:])
        first, second = self.block("then"), self.block("else")
        self.b.cbranch(self.operand(node.inputs[1])[0], first, second)
        saved = self.scopes
        for block, arm_node in zip((first, second), node.inputs[2:4]):
            self.b.position_at_end(block)
            arm = graph_constant(arm_node)
            assert arm is not None and arm.result is not None
            if arm.id in self.plan.entries:
                self._jump(arm, arguments)
            else:
                self.scopes = []
                kinds = tuple(words(arm.result))
                self._body(arm, arguments, lambda values, kinds=kinds: self._return(values, kinds), True)
        self.scopes = saved

    def _unknown_jump(self, node: Apply) -> None:
        """Jumps to the graph of a closure, by its tag."""
        t = Builder.type_of(node.inputs[0])
        assert isinstance(t, Function)
        closure = self.operand(node.inputs[0])[0]
        arguments = self.operands(node.inputs[1:])
        members = t.cls.members
        blocks = [self.block(_symbol(m.name)) for m in members]
        if len(members) == 1:
            self.b.branch(blocks[0])
        else:
            switch = self.b.switch(self.load(closure, 0, "i"), blocks[0])
            for member, block in list(zip(members, blocks))[1:]:
                switch.add_case(self.int(self.tags[member.id]), block)
        for member, block in zip(members, blocks):
            self.b.position_at_end(block)
            if member.id not in self.reachable:
                self.b.unreachable()
                continue
            kinds = [w for p in member.parameters[:member.captured] for w in words(Builder.type_of(p))]
            captured = [self.load(closure, 1 + i, k) for i, k in enumerate(kinds)]
            self._jump(member, [*captured, *arguments])

    # -- nodes

    def _node(self, node: Apply) -> list[Any] | None:
        primitive = primitive_of(node)
        t = Builder.type_of(node)
        if primitive is None:
            target = callee_of(node)
            if target is not None:
                arguments = self.operands(node.inputs[1:])
                return self._call(tuple(words(t)), lambda: self._jump(target, arguments))
            return self._call(tuple(words(t)), lambda: self._unknown_jump(node))
        if primitive is BRANCH:
            return self._branch(node, t)
        handler = _STRUCTURAL.get(primitive)
        if handler is not None:
            return handler(self, node, t)
        if primitive is RAISE:
            kind, form = (x.value for x in node.inputs[1:3])  # type: ignore[attr-defined]
            if len(node.inputs) > 3:
                self.say(form, node.inputs[3:], False)
            self.fail("raise", str(form), node.provenance.span, kind)
            return None
        if primitive is PRINT:
            self.say(node.inputs[1].value, node.inputs[2:], True)  # type: ignore[attr-defined]
            return []
        return self._compute(node, primitive, t)

    def say(self, form: Any, nodes: list[Node], prints: bool) -> None:
        """Hands the values of a message to Python, which prints it, or keeps it for the error that follows."""
        flat = [(w, _kind_of(w)) for w in self.operands(nodes)]
        area = self.slot(ir.ArrayType(I64, max(len(flat), 1)), "message")
        address = self.b.ptrtoint(area, I64)
        for i, (value, kind) in enumerate(flat):
            if kind in "sw":
                self.store(self.int(0), address, i, "i")
            self.store(value, address, i, kind)
        number = self.messages.add(form, [Builder.type_of(x) for x in nodes], prints)
        t = ir.FunctionType(ir.VoidType(), [I64, I64])
        self.b.call(self.b.inttoptr(self.int(self.messages.address), t.as_pointer()), [self.int(number), address])

    def _compute(self, node: Apply, primitive: Primitive, t: Type) -> list[Any]:
        """Numbers and arrays."""
        if primitive is CAST and not isinstance(t, (Scalar, Array)):
            source = self.operand(node.inputs[1])
            return source if len(source) == len(words(t)) else self.constant(UNDEFINED, t)
        match primitive.emit:
            case Elementwise(operation) | Checked(operation):
                if isinstance(t, Array) or any(isinstance(Builder.type_of(x), Array) for x in node.inputs[1:]):
                    return self.arrays.elementwise(node, self.scopes[-1])
                return [self.scalar(node, primitive, operation, t)]
            case Reduction(operation):
                return [self.arrays.reduction(node, operation, self.scopes[-1])]
            case Kernel(name) if "list" in primitive.laws:
                return self.lists.emit(node, name)
            case Kernel(name):
                return [self.arrays.kernel(node, name, self.scopes[-1])]
            case other:
                raise error("M801", node.provenance.span, message=f"'{primitive.symbol}' has no native form ({other})", hint="use backend='vm'")

    def scalar(self, node: Apply, primitive: Primitive, operation: str, t: Type) -> Any:
        from myia_notebook.ops.promotion import promote
        inputs = [x for x in node.inputs[1:] if not isinstance(x.type, Static)]
        types = [Builder.type_of(x) for x in inputs]
        pairs = []
        for x, xt in zip(inputs, types):
            own = self.operand(x)
            if not own:  # never assigned
                own, xt = self.constant(UNDEFINED, t), t
            pairs.append((own[0], xt.dtype))  # type: ignore[union-attr]
        common = promote([xt for xt in types if isinstance(xt, Scalar)]).dtype
        assert isinstance(t, Scalar)
        span = node.provenance.span
        pairs = [self.narrowed(v, d, t.dtype, operation, span) for v, d in pairs]
        if isinstance(primitive.emit, Checked):
            self._check(primitive.emit, pairs, t.dtype, span)
        else:
            self.check_exponent(operation, t.dtype, pairs, span)
        result = self.ops.apply(self.b, operation, t.dtype, pairs, common)
        if isinstance(primitive.emit, Checked) and t.dtype in FLOATS:
            if primitive.emit.check == "finite_result":
                self._check_finite(result, pairs, t.dtype, primitive.emit.code, primitive.emit.message, span)
            elif primitive.emit.check in ("power", "not_pole"):
                self._check_finite(result, pairs, t.dtype, "M708", "math range error", span)
        return result

    def narrowed(self, value: Any, dtype: str, result: str, operation: str, span: Span | None) -> tuple[Any, str]:
        """A Python int that meets an int32 becomes one: fails when it does not fit."""
        if dtype != "int64" or result != "int32" or operation == "cast":
            return value, dtype
        narrow = self.b.trunc(value, I32)
        self.check(self.b.icmp_signed("==", self.b.sext(narrow, I64), value), "M708", "a Python int is too large for int32", span)
        return narrow, "int32"

    def check_exponent(self, operation: str, dtype: str, pairs: list[tuple[Any, str]], span: Span | None) -> None:
        """An int to a negative int power is no int: NumPy refuses it too."""
        if operation == "power" and dtype in ("int32", "int64"):
            y = self.ops.convert(self.b, *pairs[1], dtype)
            self.check(self.b.icmp_signed(">=", y, ir.Constant(y.type, 0)), "M702", "integers to negative integer powers are not allowed", span)

    def _check_finite(self, result: Any, pairs: list[tuple[Any, str]], dtype: str, code: str, message: str, span: Span | None) -> None:
        """Python's OverflowError: an infinite result of finite operands."""
        b = self.b
        good = b.not_(self.ops._classify(b, "isinf", result, dtype))
        for pair in pairs:
            good = b.or_(good, b.not_(self.ops._classify(b, "isfinite", self.ops.convert(b, *pair, dtype), dtype)))
        self.check(good, code, message, span)

    def _check(self, emit: Checked, pairs: list[tuple[Any, str]], dtype: str, span: Span | None) -> None:
        """Python's exceptions on Python numbers."""
        b = self.b
        if emit.check == "finite_result":
            return
        if emit.check == "power":
            self._check_power(emit, pairs, dtype, span)
            return
        which = 1 if emit.check == "second_nonzero" else 0
        v = self.ops.convert(b, *pairs[which], dtype)
        zero = ir.Constant(v.type, 0.0 if dtype in ("float64", "float32") else 0)
        if dtype not in ("float64", "float32"):
            self.check(b.icmp_signed("!=", v, zero), emit.code, emit.message, span)
            return
        one = ir.Constant(v.type, 1.0)
        size = self.ops._call(b, "llvm.fabs", v.type, [v])
        condition = {"second_nonzero": lambda: b.fcmp_unordered("!=", v, zero), "nonnegative": lambda: b.fcmp_unordered(">=", v, zero),
                     "positive": lambda: b.fcmp_unordered(">", v, zero), "unit_interval": lambda: b.fcmp_unordered("<=", size, one),
                     "at_least_one": lambda: b.fcmp_unordered(">=", v, one), "open_unit": lambda: b.fcmp_unordered("<", size, one),
                     "above_minus_one": lambda: b.fcmp_unordered(">", v, ir.Constant(v.type, -1.0)),
                     "not_infinite": lambda: b.fcmp_unordered("!=", size, ir.Constant(v.type, float("inf"))),
                     "fits_int": lambda: b.fcmp_ordered("<", size, ir.Constant(v.type, 2.0**63)),
                     "not_pole": lambda: b.or_(b.fcmp_unordered(">", v, zero), b.fcmp_unordered("!=", v, self.ops._call(b, "llvm.floor", v.type, [v])))}[emit.check]()
        self.check(condition, emit.code, emit.message, span)

    def _check_power(self, emit: Checked, pairs: list[tuple[Any, str]], dtype: str, span: Span | None) -> None:
        b = self.b
        x, y = (self.ops.convert(b, *p, dtype) for p in pairs)
        if dtype not in ("float64", "float32"):
            self.check(b.icmp_signed(">=", y, ir.Constant(y.type, 0)), "M702",
                       "an int to a negative int power known only at run time: write float(x) ** n", span)
            return
        zero = ir.Constant(x.type, 0.0)
        whole = b.fcmp_unordered("==", y, self.ops._call(b, "llvm.floor", y.type, [y]))
        endless = b.fcmp_ordered("==", x, ir.Constant(x.type, float("-inf")))
        self.check(b.or_(b.or_(b.fcmp_unordered(">=", x, zero), whole), endless), "M702", "a negative number to a fractional power is complex", span)
        infinite = b.fcmp_ordered("==", y, ir.Constant(y.type, float("-inf")))
        whole_or_far = b.or_(b.fcmp_unordered(">=", y, zero), infinite)
        self.check(b.or_(b.fcmp_unordered("!=", x, zero), whole_or_far), "M701", "0.0 cannot be raised to a negative power", span)

    def _branch(self, node: Apply, t: Type) -> list[Any] | None:
        """A branch inside a graph: arms used once are placed here and join; others are called."""
        arms = [graph_constant(x) for x in node.inputs[2:4]]
        arguments = self.operands(node.inputs[4:])
        test = self.operand(node.inputs[1])[0]
        kinds = tuple(words(t))
        if any(arm.id in self.plan.entries for arm in arms if arm is not None):
            return self._call(kinds, lambda: self._branch_jump(test, arms, arguments))
        live = [s.live() for s in self.scopes]
        for scope, keys in zip(self.scopes, live):
            for key in keys:  # an arm that calls would compute what waits; the other would not
                self.arrays.force_id(key, scope)
        before = [dict(s.values) for s in self.scopes]
        blocks = [self.block("then"), self.block("else")]
        join = self.block("join")
        self.b.cbranch(test, *blocks)
        ends: list[tuple[Any, list[Any], list[dict[int, list[Any]]]]] = []
        scopes = list(self.scopes)
        for block, arm in zip(blocks, arms):
            assert arm is not None
            self.b.position_at_end(block)
            self.scopes = list(scopes)
            for scope, values in zip(scopes, before):
                scope.values = dict(values)

            def finish(values: list[Any]) -> None:
                ends.append((self.b.block, values, [dict(s.values) for s in scopes]))
                self.b.branch(join)

            self._body(arm, arguments, finish, False)
        self.scopes = scopes
        if not ends:
            self.b.position_at_end(join)
            self.b.unreachable()
            return None
        self.b.position_at_end(join)
        return self._merge(ends, live, kinds)

    def _branch_jump(self, test: Any, arms: list[Any], arguments: list[Any]) -> None:
        blocks = [self.block("then"), self.block("else")]
        self.b.cbranch(test, *blocks)
        saved = self.scopes
        for block, arm in zip(blocks, arms):
            self.b.position_at_end(block)
            self._jump_or_place(arm, arguments)
        self.scopes = saved

    def _jump_or_place(self, arm: Graph, arguments: list[Any]) -> None:
        if arm.id in self.plan.entries:
            self._jump(arm, arguments)
            return
        assert arm.result is not None
        kinds = tuple(words(arm.result))
        self.scopes = []
        self._body(arm, arguments, lambda values: self._return(values, kinds), True)

    def _merge(self, ends: list[tuple[Any, list[Any], list[dict[int, list[Any]]]]], live: list[list[int]], kinds: tuple[str, ...]) -> list[Any]:
        """Phis for the result and for what is needed later and differs between the arms."""
        def phi(options: list[Any]) -> Any:
            if all(o is options[0] for o in options):
                return options[0]
            node = self.b.phi(options[0].type)
            for (block, _, _), option in zip(ends, options):
                node.add_incoming(option, block)
            return node

        result = [phi([end[1][i] for end in ends]) for i in range(len(kinds))]
        for place, scope in enumerate(self.scopes):
            merged = dict(ends[0][2][place])
            for key in live[place]:
                versions = [end[2][place][key] for end in ends]
                merged[key] = [phi([v[i] for v in versions]) for i in range(len(versions[0]))]
            scope.values = merged
        return result

    # -- structure

    def _tuple(self, node: Apply, t: Type) -> list[Any]:
        assert isinstance(t, Tuple)
        result: list[Any] = []
        for x, item in zip(node.inputs[1:], t.items):
            own = self.operand(x)
            result += own if len(own) == len(words(item)) else self.constant(UNDEFINED, item)
        return result

    def _getitem(self, node: Apply, t: Type) -> list[Any]:
        of = Builder.type_of(node.inputs[1])
        assert isinstance(of, Tuple)
        index = node.inputs[2].value  # type: ignore[attr-defined]
        start = sum(len(words(item)) for item in of.items[:index])
        return self.operand(node.inputs[1])[start:start + len(words(t))]

    def _partial(self, node: Apply, t: Type) -> list[Any]:
        target = graph_constant(node.inputs[1])
        assert target is not None
        kinds = [w for p in target.parameters[:target.captured] for w in words(Builder.type_of(p))]
        return [self._cell(self.tags[target.id], list(zip(self.operands(node.inputs[2:]), kinds)))]

    def _switch(self, node: Apply, t: Type) -> list[Any]:
        test = self.operand(node.inputs[1])[0]
        return [self.b.select(test, x, y) for x, y in zip(self.operand(node.inputs[2]), self.operand(node.inputs[3]))]

    def _sequence(self, node: Apply, t: Type) -> list[Any]:
        return self.operand(node.inputs[2])

    @staticmethod
    def _fields(label: Graph) -> list[list[str]]:
        from myia_notebook.ir.types import sensitivity
        return [words(sensitivity(Builder.type_of(p))) for p in label.parameters[:label.captured]]

    def _env_make(self, node: Apply, t: Type) -> list[Any]:
        label: Graph = node.inputs[1].value.graph  # type: ignore[attr-defined]
        kinds = [k for own in self._fields(label) for k in own]
        return [self._cell(self.tags[label.id], list(zip(self.operands(node.inputs[2:]), kinds)))]

    def _env_get(self, node: Apply, t: Type) -> list[Any]:
        """The part of a label, or zero: the environment is 0, or of another label."""
        b = self.b
        label: Graph = node.inputs[2].value.graph  # type: ignore[attr-defined]
        index = node.inputs[3].value  # type: ignore[attr-defined]
        environment = self.operand(node.inputs[1])[0]
        own = self._fields(label)
        start = 1 + sum(len(k) for k in own[:index])
        absent, look, read, join = (self.block(n) for n in ("absent", "look", "read", "part"))
        b.cbranch(b.icmp_unsigned("==", environment, self.int(0)), absent, look)
        b.position_at_end(look)
        b.cbranch(b.icmp_unsigned("==", self.load(environment, 0, "i"), self.int(self.tags[label.id])), read, absent)
        b.position_at_end(read)
        parts = [self.load(environment, start + i, k) for i, k in enumerate(own[index])]
        b.branch(join)
        b.position_at_end(absent)
        zeros = self._zero(t)
        absent_end = b.block
        b.branch(join)
        b.position_at_end(join)
        result: list[Any] = []
        for part, zero in zip(parts, zeros):
            phi = b.phi(part.type)
            phi.add_incoming(part, read)
            phi.add_incoming(zero, absent_end)
            result.append(phi)
        return result

    def _env_is_zero(self, node: Apply, t: Type) -> list[Any]:
        return [self.b.icmp_unsigned("==", self.operand(node.inputs[1])[0], self.int(0))]

    def _has_tag(self, node: Apply, t: Type) -> list[Any]:
        label: Graph = node.inputs[2].value.graph  # type: ignore[attr-defined]
        return [self.b.icmp_unsigned("==", self.load(self.operand(node.inputs[1])[0], 0, "i"), self.int(self.tags[label.id]))]

    def _accumulate(self, node: Apply, t: Type) -> list[Any]:
        """Adds into the array itself: whoever made the node says that nobody else reads it."""
        address = self.operand(node.inputs[1])[0]
        self.arrays._add_into(address, t, node.inputs[2], node.inputs[3].value, node.inputs[4:], node, self.scopes[-1])  # type: ignore[attr-defined]
        return [address]

    def _fresh_zeros(self, node: Apply, t: Type) -> list[Any]:
        return [self.arrays.zeros(t)]

    def _copied(self, node: Apply, t: Type) -> list[Any]:
        from myia_notebook.emit.arrays import SIZE
        assert isinstance(t, Array)
        size, byte = math.prod(t.shape) * SIZE[t.dtype], ir.IntType(8).as_pointer()
        source, address = self.operand(node.inputs[1])[0], self.allocate(max(size, 1))
        self.b.call(self.ops.external("memcpy", byte, [byte, byte, I64]), [self.b.inttoptr(x, byte) for x in (address, source)] + [self.int(size)])
        return [address]

    def _closure_get(self, node: Apply, t: Type) -> list[Any]:
        label: Graph = node.inputs[2].value.graph  # type: ignore[attr-defined]
        index = node.inputs[3].value  # type: ignore[attr-defined]
        kinds = [words(Builder.type_of(p)) for p in label.parameters[:label.captured]]
        start = 1 + sum(map(len, kinds[:index]))
        closure = self.operand(node.inputs[1])[0]
        return [self.load(closure, start + i, k) for i, k in enumerate(kinds[index])]


_STRUCTURAL: dict[Primitive, Callable[[Machine, Apply, Type], list[Any]]] = {
    MAKE_TUPLE: Machine._tuple, GETITEM: Machine._getitem, PARTIAL: Machine._partial, SWITCH: Machine._switch, SEQUENCE: Machine._sequence,
    ENV_MAKE: Machine._env_make, ENV_GET: Machine._env_get, ENV_IS_ZERO: Machine._env_is_zero, ENV_IS: Machine._has_tag, CLOSURE_IS: Machine._has_tag,  # type: ignore[dict-item]
    CLOSURE_GET: Machine._closure_get, ACCUMULATE: Machine._accumulate, FRESH_ZEROS: Machine._fresh_zeros, COPIED: Machine._copied,
    LIST_ADD: lambda m, node, t: [m.lists.add(m.operand(node.inputs[1])[0], m.operand(node.inputs[2])[0], t, node)]}


class _Here:
    """Stays where the builder is."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        return None


def _symbol(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name) or "graph"


def _kind_of(value: Any) -> str:
    """The word kind of an LLVM value (a pointer is an i64 too)."""
    return {str(F64): "f", str(F32): "s", str(I64): "i", str(I32): "w", str(I1): "b"}[str(value.type)]


def _last_uses(nodes: list[Apply], output: Node) -> dict[int, int]:
    """The position of the last node that uses each node; the output is used after all."""
    last: dict[int, int] = {}
    for i, node in enumerate(nodes):
        for x in node.inputs:
            if not isinstance(x, Constant):
                last[x.id] = i
    if not isinstance(output, Constant):
        last[output.id] = len(nodes) + 1
    return last
