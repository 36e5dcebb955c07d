"""Calls in LLVM: entries of graphs, jumps and returns, tail calls, branches and where they join.

A call pushes the words that are still needed and a return number; a return switches on the number it pops. Parameters of entries are stack
slots that LLVM turns into registers.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from myia_notebook.emit.frames import WORD, Frames, Scope, kind_of, symbol
from myia_notebook.emit.scalar import I32, I64
from myia_notebook.ir.extent import Extent
from myia_notebook.ir.graph import Apply, Graph, callee_of, graph_constant, primitive_of
from myia_notebook.ir.types import Function, Type
from myia_notebook.lower.plan import BRANCH, words
from myia_notebook.ops.expression import Builder

if TYPE_CHECKING:
    from myia_notebook.emit.arrays import ArrayCode
    from myia_notebook.ir.graph import Node
    from myia_notebook.lower.plan import Plan

ENTRY_STEPS, POLL_STEPS = 16, 1 << 20
"""What an entry counts, and after how many steps, of about a nanosecond, the machine asks whether it is to stop."""
ASK_AT_ONCE = 1 << 14


class Calls(Frames):
    """Emits entries, jumps, returns and branches. What a graph computes is emitted by `_body`, a class below."""

    arrays: ArrayCode
    tags: dict[int, int]
    free: bool
    flag: Any
    _body: Callable[[Graph, list[Any], Callable[[list[Any]], None], bool], None]
    operand: Callable[[Node], list[Any]]
    operands: Callable[[list[Node]], list[Any]]

    def __init__(self, plan: Plan, free: bool = False) -> None:
        super().__init__(plan, free)
        self.scopes: list[Scope] = []
        self.reachable = {g.id for g in plan.graphs}
        self.entries: dict[int, tuple[Any, list[Any]]] = {}
        self.pending: list[Graph] = []
        self.result_slots: dict[tuple[str, ...], list[Any]] = {}
        self.returns: dict[tuple[str, ...], tuple[Any, list[Any]]] = {}

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
            self.entries[graph.id] = (self.block(symbol(graph.name)), slots)
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

    def worked(self, steps: Any) -> None:
        """Counts work between two entries: a number of steps, or a word that holds one. Asks here when it is much."""
        if isinstance(steps, (int, Extent)):
            if isinstance(steps, Extent) or steps >= ASK_AT_ONCE:
                self._poll(steps)
                return
            steps = self.int(steps)
        self.b.store(self.b.add(self.b.load(self.ticks), steps), self.ticks)

    def _poll(self, steps: int = ENTRY_STEPS) -> None:
        """Now and then: other threads may run, and has the user interrupted?"""
        b = self.b
        ticks = b.add(b.load(self.ticks), self.int(steps))
        b.store(ticks, self.ticks)
        ask, go = self.block("poll"), self.block("go")
        b.cbranch(b.icmp_unsigned(">=", ticks, self.int(POLL_STEPS)), ask, go).set_weights([1, 60000])
        b.position_at_end(ask)
        b.store(self.int(0), self.ticks)
        stop, on = self.block("interrupted"), self.block("on")
        if self.free:
            asked = b.icmp_signed("!=", b.load_atomic(self.pointer(b.load(self.flag), I64), "monotonic", 8), self.int(0))
        else:
            b.call(self.restore_thread, [b.call(self.save_thread, [])])
            asked = b.icmp_signed("!=", b.call(self.poll, []), ir.Constant(I32, 0))
        b.cbranch(asked, stop, on)
        b.position_at_end(stop)
        b.store(self.int(-1), self.status)
        b.branch(self.exit_block)
        b.position_at_end(on)
        b.branch(go)
        b.position_at_end(go)

    def _live_frame(self) -> tuple[list[tuple[Any, str]], list[tuple[Scope, int, list[str]]]]:
        """The words of all scopes that are needed after the current node, and whose they are."""
        values: list[tuple[Any, str]] = []
        owners: list[tuple[Scope, int, list[str]]] = []
        for scope in self.scopes:
            for key in scope.live():
                own = self.arrays.force_id(key, scope)
                kinds = [kind_of(v) for v in own]
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
        blocks = [self.block(symbol(m.name)) for m in members]
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
