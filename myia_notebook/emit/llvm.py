"""The machine in LLVM: one function that runs a whole program (see `lower.plan` for its shape).

    i64 program(words *arguments, words *results)      0, or 1 + the index of an error; −1 when interrupted

Frames are on a stack of 8-byte words that grows by realloc; cells (closures, environments) and arrays are in an arena of chunks that is
freed when the program ends, by whatever exit. A call pushes the words that are still needed and a return number; a return switches on the
number it pops. Parameters of entries are stack slots that LLVM turns into registers.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from myia_notebook.emit.arrays import ArrayCode
from myia_notebook.emit.calls import Calls
from myia_notebook.emit.checks import check_exponent, check_finite, check_operands, narrowed
from myia_notebook.emit.frames import HOST_STEPS, WORD, Scope, kind_of
from myia_notebook.emit.host import HostCalls
from myia_notebook.emit.lists import ListCode
from myia_notebook.emit.loops import SIZE
from myia_notebook.emit.memory import Writer
from myia_notebook.emit.messages import Messages
from myia_notebook.emit.scalar import FLOATS, I64
from myia_notebook.emit.structure import STRUCTURAL
from myia_notebook.errors import error
from myia_notebook.ir.extent import Extent, Shapes
from myia_notebook.ir.graph import UNDEFINED, ZERO, Apply, Constant, Graph, Node, callee_of, primitive_of, schedule
from myia_notebook.ir.types import Array, Function, List, Scalar, Static, Tuple, Type
from myia_notebook.lower.plan import BRANCH, Plan, array_words, last_uses, member_tags, words
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.primitive import Checked, Elementwise, Kernel, Primitive, Reduction
from myia_notebook.ops.table import PRIMITIVES

RAISE, PRINT, CAST = (PRIMITIVES[n] for n in ("raise_", "print_", "cast"))


class Machine(Calls):
    """Emits one program. A `free` one runs without the GIL, in any thread: it keeps no memory from call to call, and asks a flag, whose address is the word
    after its arguments, whether it is to stop."""

    def __init__(self, plan: Plan, free: bool = False, shapes: Shapes | None = None) -> None:
        super().__init__(plan, free)
        self.shapes = shapes
        self.arrays = ArrayCode(self)
        self.lists = ListCode(self)
        self.messages, self.host = Messages(), HostCalls()
        self.keep += [self.messages, self.host]
        self.tags = member_tags(self.plan)

    def build(self) -> None:
        arguments, results = self.function.args
        self.status = self.b.alloca(I64, name="status")
        self.b.store(self.int(0), self.status)
        self._memory_setup()
        self.ticks = self.b.alloca(I64, name="ticks")
        self.b.store(self.int(0), self.ticks)
        self.flag = self.b.alloca(I64, name="flag")
        setup_end = self.b.block
        self.exit_block = self.block("exit")
        body = self.block("start")
        self.b.position_at_end(body)
        root = self.plan.root
        kinds = [w for p in root.parameters for w in words(Builder.type_of(p))]
        base = self.b.ptrtoint(arguments, I64)
        values = [self.load(base, i, k) for i, k in enumerate(kinds)]
        if self.free:
            self.b.store(self.load(base, len(kinds), "i"), self.flag)
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
        address = self.b.ptrtoint(results, I64)
        sizes = {place: math.prod(t.shape) * SIZE[t.dtype] for place, t in array_words(self.plan.root.result)}  # type: ignore[arg-type]
        for i, (kind, slot) in enumerate(zip(kinds, self._slots(kinds))):
            value = self.b.load(slot)
            if i in sizes and not self.keeps_arena:
                self.copy_bytes(value, self.load(address, i, "i"), self.int(sizes[i]))
            else:
                self.store(value, address, i, kind)

    def _body(self, graph: Graph, arguments: list[Any], finish: Callable[[list[Any]], None], is_tail: bool) -> None:
        """Emits the nodes of a graph and hands the words of its output to `finish`; in tail position the last call is a jump."""
        nodes = schedule(graph)
        scope = Scope(graph, nodes, last_uses(nodes, graph.output))
        position = 0
        for p in graph.parameters:
            count = len(words(Builder.type_of(p)))
            scope.values[p.id] = arguments[position:position + count]
            position += count
        self.scopes.append(scope)
        self.arrays.plan_fusion(scope)
        for i, node in enumerate(nodes):
            scope.position = i
            self.here = node.provenance.span
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
                if isinstance(value, Extent):
                    return [self.ops.convert(self.b, self.int(value), "int64", t.dtype)]
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
                address = writer.words(value, t)[0]
                return [self.outside(address) if address else self.int(0)]
            case _:
                return []

    def _zero(self, t: Type) -> list[Any]:
        match t:
            case Tuple(items):
                return [w for item in items for w in self._zero(item)]
            case Array():  # shared: values are never written after they are made
                size = math.prod(t.shape) * 8
                if isinstance(size, Extent):
                    return [self._zero_array(t)]
                if size not in self.zeros:
                    self.zeros[size] = np.zeros(size + 64, np.uint8)
                    self.keep.append(self.zeros[size])
                return [self.outside(self.zeros[size].ctypes.data)]
            case _:
                return [ir.Constant(WORD[k], 0.0 if k in "fs" else 0) for k in words(t)]

    def _zero_array(self, t: Array) -> Any:
        """Zeros whose number is known at run time: made where they are first needed, then shared."""
        if t not in self.extents:
            self.extents[t] = self.slot(I64, "zeros")
            with self._in_entry():
                self.b.store(ir.Constant(I64, 0), self.extents[t])
        slot, b = self.extents[t], self.b
        missing, ready = self.block("zeros"), self.block("ready")
        b.cbranch(b.icmp_unsigned("==", b.load(slot), ir.Constant(I64, 0)), missing, ready)
        b.position_at_end(missing)
        b.store(self.arrays.zeros(t), slot)
        b.branch(ready)
        b.position_at_end(ready)
        return b.load(slot)

    def _cell(self, tag: int, values: list[tuple[Any, str]]) -> Any:
        """A closure or environment: [tag, words…]"""
        address = self.allocate(8 * (1 + len(values)))
        self.store(self.int(tag), address, 0, "i")
        for i, (value, kind) in enumerate(values):
            self.store(value, address, 1 + i, kind)
        return address

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
        handler = STRUCTURAL.get(primitive)
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
        flat = [(w, kind_of(w)) for w in self.operands(nodes)]
        area = self.slot(ir.ArrayType(I64, 1 + len(flat)), "message")
        address = self.b.ptrtoint(area, I64)
        self.store(self.int(0), address, 0, "i")
        for i, (value, kind) in enumerate(flat, 1):
            if kind in "sw":
                self.store(self.int(0), address, i, "i")
            self.store(value, address, i, kind)
        number = self.messages.add(form, [Builder.type_of(x) for x in nodes], prints)
        t = ir.FunctionType(ir.VoidType(), [I64, I64])
        self.b.call(self.b.inttoptr(self.outside(self.messages.address), t.as_pointer()), [self.int(number), address])
        self.check(self.b.icmp_unsigned("!=", self.load(address, 0, "i"), self.int(0)), "message", "", self.here)
        self.worked(HOST_STEPS)

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
        pairs = [narrowed(self, v, d, t.dtype, operation, span) for v, d in pairs]
        if isinstance(primitive.emit, Checked):
            check_operands(self, primitive.emit, pairs, t.dtype, span)
        else:
            check_exponent(self, operation, t.dtype, pairs, span)
        result = self.ops.apply(self.b, operation, t.dtype, pairs, common)
        if isinstance(primitive.emit, Checked) and t.dtype in FLOATS:
            if primitive.emit.check == "finite_result":
                check_finite(self, result, pairs, t.dtype, primitive.emit.code, primitive.emit.message, span)
            elif primitive.emit.check in ("power", "not_pole"):
                check_finite(self, result, pairs, t.dtype, "M708", "math range error", span)
        return result
