"""Lists of run-time length in LLVM.

A list is a pointer to [length, block] (0: the empty list), a block is [capacity, used, items…], each item as many words as its type has. To append
to a list that ends where its block's used part ends writes in place and makes a new head only; older lists keep their shorter length, so
values never change and building a list of n items costs O(n).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from myia_notebook.emit.scalar import I64
from myia_notebook.errors import error
from myia_notebook.ir.graph import Apply
from myia_notebook.ir.types import Array, List, Scalar, Tuple, Type, is_trivial
from myia_notebook.lower.plan import words
from myia_notebook.ops.expression import Builder

if TYPE_CHECKING:
    from myia_notebook.emit.llvm import Machine

HEAD, BLOCK = 2, 2
LEAST = 4


class ListCode:
    """Emits list operations for a machine."""

    def __init__(self, machine: Machine) -> None:
        self.m = machine

    @property
    def b(self) -> ir.IRBuilder:
        return self.m.b

    def emit(self, node: Apply, name: str) -> list[Any]:
        t = Builder.type_of(node)
        own = [self.m.operand(x) for x in node.inputs[1:]]
        types = [Builder.type_of(x) for x in node.inputs[1:]]
        method: Callable[..., list[Any]] = getattr(self, f"_{name}")
        return method(node, t, own, types)

    # -- small pieces

    def length(self, xs: Any) -> Any:
        """The length of a list that may be 0."""
        is_empty = self.b.icmp_unsigned("==", xs, self.m.int(0))
        return self.when(is_empty, lambda: [self.m.int(0)], lambda: [self.m.load(xs, 0, "i")])[0]

    def block_of(self, xs: Any) -> Any:
        return self.m.load(xs, 1, "i")

    def place(self, block: Any, index: Any, w: int) -> Any:
        """The address of an item's words."""
        b = self.b
        return b.add(b.add(block, self.m.int(8 * BLOCK)), b.mul(index, self.m.int(8 * w)))

    def read(self, xs: Any, index: Any, kinds: list[str]) -> list[Any]:
        address = self.place(self.block_of(xs), index, len(kinds))
        return [self.m.load(address, i, k) for i, k in enumerate(kinds)]

    def write(self, block: Any, index: Any, values: list[Any], kinds: list[str]) -> None:
        address = self.place(block, index, len(kinds))
        for i, (v, k) in enumerate(zip(values, kinds)):
            self.m.store(v, address, i, k)

    def new_block(self, capacity: Any, used: Any, w: int) -> Any:
        b = self.b
        size = b.add(b.mul(capacity, self.m.int(8 * w)), self.m.int(8 * BLOCK))
        address = self.m.allocate_dynamic(size)
        self.m.store(capacity, address, 0, "i")
        self.m.store(used, address, 1, "i")
        return address

    def new_list(self, length: Any, block: Any) -> Any:
        head = self.m.allocate(8 * HEAD)
        self.m.store(length, head, 0, "i")
        self.m.store(block, head, 1, "i")
        return head

    def loop(self, count: Any, body: Callable[[Any], None], start: Any = None) -> None:
        """for i in range(start, count)"""
        b = self.b
        before = b.block
        head, inside, after = self.m.block("each"), self.m.block("item"), self.m.block("done")
        b.branch(head)
        b.position_at_end(head)
        i = b.phi(I64)
        i.add_incoming(start if start is not None else self.m.int(0), before)
        b.cbranch(b.icmp_signed("<", i, count), inside, after)
        b.position_at_end(inside)
        body(i)
        i.add_incoming(b.add(i, self.m.int(1)), b.block)
        b.branch(head)
        b.position_at_end(after)
        self.m.worked(b.sub(i, start) if start is not None else i)

    def copy(self, source: Any, target: Any, count: Any, w: int) -> None:
        """memcpy of items between blocks' item addresses."""
        self.m.copy_bytes(source, target, self.b.mul(count, self.m.int(8 * w)))
        self.m.worked(count)

    def when(self, condition: Any, then: Callable[[], list[Any]], otherwise: Callable[[], list[Any]]) -> list[Any]:
        """A conditional value."""
        b = self.b
        first, second, join = self.m.block("if"), self.m.block("else"), self.m.block("join")
        b.cbranch(condition, first, second)
        b.position_at_end(first)
        x = then()
        x_end = b.block
        b.branch(join)
        b.position_at_end(second)
        y = otherwise()
        y_end = b.block
        b.branch(join)
        b.position_at_end(join)
        return self.m.joined(x, x_end, y, y_end)

    @staticmethod
    def item_type(t: Type) -> Type:
        assert isinstance(t, List)
        return t.item

    # -- lists

    def _list_make(self, node: Apply, t: Type, own: list[list[Any]], types: list[Type]) -> list[Any]:
        kinds = words(self.item_type(t))
        n = self.m.int(len(own))
        block = self.new_block(n, n, len(kinds))
        for i, values in enumerate(own):
            self.write(block, self.m.int(i), values, kinds)
        return [self.new_list(n, block)]

    def _list_length(self, node: Apply, t: Type, own: list[list[Any]], types: list[Type]) -> list[Any]:
        return [self.length(own[0][0])]

    def _list_index(self, node: Apply, t: Type, own: list[list[Any]], types: list[Type]) -> list[Any]:
        b = self.b
        i = self.m.ops.convert(b, own[0][0], types[0].dtype, "int64")  # type: ignore[attr-defined]
        n = own[1][0]
        position = b.select(b.icmp_signed("<", i, self.m.int(0)), b.add(i, n), i)
        good = b.icmp_unsigned("<", position, n)
        self.m.check(good, "M703", "list index out of range", node.provenance.span)
        return [position]

    def _check_length(self, node: Apply, t: Type, own: list[list[Any]], types: list[Type]) -> list[Any]:
        wanted, or_more, message = (x.value for x in node.inputs[3:6])  # type: ignore[attr-defined]
        test = self.b.icmp_signed(">=" if or_more else "==", own[1][0], self.m.int(wanted))
        self.m.check(test, "M702", message, node.provenance.span)
        return own[0]

    def _list_get(self, node: Apply, t: Type, own: list[list[Any]], types: list[Type]) -> list[Any]:
        return self.read(own[0][0], own[1][0], words(t))

    def _list_append(self, node: Apply, t: Type, own: list[list[Any]], types: list[Type]) -> list[Any]:
        b = self.b
        kinds = words(self.item_type(t))
        w = len(kinds)
        xs = own[0][0]
        n = self.length(xs)
        one = self.m.int(1)

        def in_place() -> list[Any]:
            block = self.block_of(xs)
            room = b.and_(b.icmp_unsigned("==", self.m.load(block, 1, "i"), n), b.icmp_unsigned("<", n, self.m.load(block, 0, "i")))
            return self.when(room, lambda: [block], copied)

        def copied() -> list[Any]:
            capacity = b.add(b.mul(n, self.m.int(2)), self.m.int(LEAST))
            block = self.new_block(capacity, n, w)
            target = self.place(block, self.m.int(0), w)
            self.when(b.icmp_unsigned("!=", n, self.m.int(0)),
                      lambda: [self._copied_from(xs, target, n, w)], lambda: [self.m.int(0)])
            return [block]

        block = self.when(b.icmp_unsigned("!=", n, self.m.int(0)), in_place, copied)[0]
        self.write(block, n, own[1], kinds)
        length = b.add(n, one)
        self.m.store(length, block, 1, "i")
        return [self.new_list(length, block)]

    def _copied_from(self, xs: Any, target: Any, n: Any, w: int) -> Any:
        self.copy(self.place(self.block_of(xs), self.m.int(0), w), target, n, w)
        return self.m.int(0)

    def _list_concat(self, node: Apply, t: Type, own: list[list[Any]], types: list[Type]) -> list[Any]:
        b = self.b
        w = len(words(self.item_type(t)))
        xs, ys = own[0][0], own[1][0]
        n, m = self.length(xs), self.length(ys)
        total = b.add(n, m)
        zero = self.m.int(0)

        def both() -> list[Any]:
            old = self.block_of(xs)
            room = b.and_(b.icmp_unsigned("==", self.m.load(old, 1, "i"), n), b.icmp_unsigned("<=", total, self.m.load(old, 0, "i")))

            def fresh() -> list[Any]:
                made = self.new_block(b.add(total, n), total, w)
                self._copied_from(xs, self.place(made, zero, w), n, w)
                return [made]

            block = self.when(room, lambda: [old], fresh)[0]
            self._copied_from(ys, self.place(block, n, w), m, w)
            self.m.store(total, block, 1, "i")
            return [self.new_list(total, block)]

        return self.when(b.icmp_unsigned("==", m, zero), lambda: [xs],
                         lambda: self.when(b.icmp_unsigned("==", n, zero), lambda: [ys], both))

    def _list_slice(self, node: Apply, t: Type, own: list[list[Any]], types: list[Type]) -> list[Any]:
        return self._gather(t, own, False)

    def _gather(self, t: Type, own: list[list[Any]], padded: bool) -> list[Any]:
        """items start, start + step, …; beyond the end zeros when `padded`."""
        b = self.b
        item = self.item_type(t)
        kinds = words(item)
        xs, start, step, count = (o[0] for o in own)
        zero = self.m.int(0)
        n = self.length(xs)

        def some() -> list[Any]:
            block = self.new_block(count, count, len(kinds))

            def one(i: Any) -> None:
                at = b.add(start, b.mul(i, step))
                if padded:
                    values = self.when(b.icmp_unsigned("<", at, n), lambda: self.read(xs, at, kinds), lambda: self.m._zero(item))
                else:
                    values = self.read(xs, at, kinds)
                self.write(block, i, values, kinds)

            self.loop(count, one)
            return [self.new_list(count, block)]

        nothing = b.or_(b.icmp_signed("<=", count, zero), b.icmp_unsigned("==", n, zero))
        return self.when(nothing, lambda: [zero], some)

    # -- sensitivities

    def _list_read(self, node: Apply, t: Type, own: list[list[Any]], types: list[Type]) -> list[Any]:
        kinds = words(t)
        inside = self.b.icmp_unsigned("<", own[1][0], self.length(own[0][0]))
        return self.when(inside, lambda: self.read(own[0][0], own[1][0], kinds), lambda: self.m._zero(t))

    def _zeros(self, item: Type, block: Any, start: Any, count: Any) -> None:
        kinds = words(item)
        self.loop(count, lambda i: self.write(block, i, self.m._zero(item), kinds), start)

    def _list_put(self, node: Apply, t: Type, own: list[list[Any]], types: list[Type]) -> list[Any]:
        b = self.b
        item = self.item_type(t)
        i = own[1][0]
        n = b.add(i, self.m.int(1))
        block = self.new_block(n, n, len(words(item)))
        self._zeros(item, block, self.m.int(0), i)
        self.write(block, i, own[0], words(item))
        return [self.new_list(n, block)]

    def _list_part(self, node: Apply, t: Type, own: list[list[Any]], types: list[Type]) -> list[Any]:
        return self._gather(t, own, True)

    def _list_spread(self, node: Apply, t: Type, own: list[list[Any]], types: list[Type]) -> list[Any]:
        b = self.b
        item = self.item_type(t)
        kinds = words(item)
        xs, start, step = (o[0] for o in own)
        n = self.length(xs)

        def some() -> list[Any]:
            last = b.add(start, b.mul(b.sub(n, self.m.int(1)), step))
            size = b.add(b.select(b.icmp_signed(">", last, start), last, start), self.m.int(1))
            block = self.new_block(size, size, len(kinds))
            self._zeros(item, block, self.m.int(0), size)
            self.loop(n, lambda i: self.write(block, b.add(start, b.mul(i, step)), self.read(xs, i, kinds), kinds))
            return [self.new_list(size, block)]

        return self.when(b.icmp_unsigned("==", n, self.m.int(0)), lambda: [self.m.int(0)], some)

    def _list_pad(self, node: Apply, t: Type, own: list[list[Any]], types: list[Type]) -> list[Any]:
        b = self.b
        item = self.item_type(t)
        w = len(words(item))
        xs, size = own[0][0], own[1][0]
        n = self.length(xs)

        def longer() -> list[Any]:
            block = self.new_block(size, size, w)
            self.when(b.icmp_unsigned("!=", n, self.m.int(0)), lambda: [self._copied_from(xs, self.place(block, self.m.int(0), w), n, w)],
                      lambda: [self.m.int(0)])
            self._zeros(item, block, n, size)
            return [self.new_list(size, block)]

        return self.when(b.icmp_signed("<", n, size), longer, lambda: [xs])

    def add(self, x: Any, y: Any, t: Type, node: Apply) -> Any:
        """The sum of two sensitivities: the longer one's tail stays."""
        b = self.b
        item = self.item_type(t)
        kinds = words(item)
        zero = self.m.int(0)
        n, m = self.length(x), self.length(y)
        longer_first = b.icmp_signed(">=", n, m)
        long_, short = b.select(longer_first, x, y), b.select(longer_first, y, x)
        size, common = b.select(longer_first, n, m), b.select(longer_first, m, n)

        def both() -> list[Any]:
            block = self.new_block(size, size, len(kinds))
            self._copied_from(long_, self.place(block, zero, len(kinds)), size, len(kinds))

            def one(i: Any) -> None:
                self.write(block, i, self._sum(self.read(long_, i, kinds), self.read(short, i, kinds), item, node), kinds)

            self.loop(common, one)
            return [self.new_list(size, block)]

        return self.when(b.icmp_unsigned("==", common, zero), lambda: [long_], both)[0]

    def _sum(self, x: list[Any], y: list[Any], t: Type, node: Apply) -> list[Any]:
        match t:
            case Scalar():
                return [self.b.fadd(x[0], y[0])] if not is_trivial(t) else x
            case Tuple(items):
                result: list[Any] = []
                at = 0
                for item in items:
                    w = len(words(item))
                    result += self._sum(x[at:at + w], y[at:at + w], item, node)
                    at += w
                return result
            case Array():
                return [self.m.arrays.sum_of(x[0], y[0], t)]
            case List():
                return [self.add(x[0], y[0], t, node)]
            case _:
                raise error("M801", node.provenance.span, message="the sum of the sensitivities of a list of functions has no native form",
                            hint="use backend='vm'")
