"""Type inference by coroutines: one for each context, a context being a closed graph with what is known of its parameters.

A coroutine walks its graph and awaits the results of the calls it meets. When all wait for each other (recursion), one that waits for the
arms of a branch, one arm being finished, goes on with that arm's type: an *assumption*. Whoever used a result that proves too small
starts again; results only grow, so this ends. When no arm is finished anywhere, the recursion never returns. `Engine.run` leaves, for
every context, what is known of every node; `monomorphize` makes graphs of that. Reference: abstract interpretation with contexts as in
van Merriënboer et al. 2018, section 4.2; the scheduler and its restarts are ours (docs/architecture.md).
"""
from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from myia_notebook.errors import MyiaError, error, with_span
from myia_notebook.gradient.options import is_operator as _is_gradient
from myia_notebook.infer import classes, derivatives
from myia_notebook.infer.calls import arranged, template_instance
from myia_notebook.infer.expansion import Expansion, Path, expand_operation, expand_primitive
from myia_notebook.infer.join import CannotJoin, FunctionSet, Known, Label, as_fact, is_trackable, is_union, join, join_abstract, walk, widened
from myia_notebook.infer.records import MethodUse, intern, method_call
from myia_notebook.infer.recursion import invariant_parameters
from myia_notebook.infer.unions import Boxes
from myia_notebook.ir.graph import UNDEFINED, Apply, Constant, Graph, Node, schedule
from myia_notebook.ir.types import LIST, NEVER, Array, NoneType, Record, Static, Structure, Tuple, Type, map_parts, parts
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.primitive import Abstract, Primitive
from myia_notebook.ops.table import NAMED, PRIMITIVES, operation_for
from myia_notebook.parse.expressions import CALL_WITH, describe
from myia_notebook.parse.parser import REBOUND

BRANCH, PARTIAL = PRIMITIVES["branch"], PRIMITIVES["partial"]
SWITCH, MAKE_TUPLE = PRIMITIVES["switch"], PRIMITIVES["make_tuple"]
MAX_CONTEXTS, MAX_VALUES, MAX_UNROLLED = 5000, 24, 1000
NEEDS_VALUE = "M306"
_OF_SHAPES = ("M401", "M402", "M403")
_UNROLLING_MAY_MEND = ("M301", "M302", "M303", "M306", "M307", "M308", "M401", "M402", "M403")
_MAY_PASS = ("M301", "M302", "M303", "M304", "M401")
"""What is wrong with a type while a recursion is being inferred may be right when the type has grown."""
CALL_VALUE, CALL_METHOD = "__call__", NAMED["call_method"]


class Context:
    """One graph with what is known of its parameters. `facts` and `uses` hold the last walk: what is known of each node, and the
    contexts (or expansion) that each call used. `declared` is the type that the result must have where two arms join."""

    __slots__ = ("graph", "label", "arguments", "result", "facts", "uses", "used", "dependents", "waiting", "coroutine", "number", "declared",
                 "instance", "is_done", "problems")

    def __init__(self, graph: Graph, arguments: tuple[Abstract, ...], number: int, label: Label | None = None) -> None:
        self.graph, self.arguments, self.number, self.label = graph, arguments, number, label
        self.result: Abstract | None = None
        self.declared: Type | None = None
        self.facts: dict[int, Abstract] = {}
        self.uses: dict[int, Any] = {}
        self.used: dict[Context, Abstract] = {}
        self.dependents: dict[Context, None] = {}
        self.waiting: Wait | None = None
        self.coroutine: Generator[Wait, Abstract, Abstract] | None = None
        self.instance: Graph | None = None
        self.problems: dict[int, tuple[int, MyiaError]] = {}
        self.is_done = False

    def parameters(self) -> tuple[Abstract, ...]:
        return self.arguments if self.label is None else (*self.label.captured, *self.arguments)

    def __repr__(self) -> str:
        return f"<{self.graph.name}({', '.join(str(a.type) for a in self.parameters())})>"


class Wait:
    """What a coroutine awaits: the joined result of `contexts`; `is_branch` when one of them is enough to go on."""

    __slots__ = ("contexts", "is_branch", "node")

    def __init__(self, contexts: list[Context], is_branch: bool, node: Apply) -> None:
        self.contexts, self.is_branch, self.node = contexts, is_branch, node


Walk = Generator[Wait, Abstract, Abstract]


class Engine:
    """Infers one program. `order` lists (node, type) as types became known."""

    def __init__(self, root: Graph, session: Any = None, before: Engine | None = None, unrolled: frozenset[int] = frozenset(),
                 fixed: frozenset[int] | None = None, checks_windows: bool = False) -> None:
        self.session = session
        self.checks_windows = checks_windows
        self.unrolled, self.fixed = unrolled, fixed or frozenset()
        self.keeps_values = bool(unrolled) or fixed is not None
        self.culprit: Context | None = None
        self.cycles: dict[int, int] = {}
        self.invariants: dict[int, frozenset[int] | None] = {}
        self.add_cycles(root)
        self.methods: dict[int, Graph] = {}
        if before is not None:  # the same graphs for the same methods
            self.cycles, self.invariants, self.methods, self.session = before.cycles, before.invariants, before.methods, before.session
        self.gradient_labels: dict[int, Label] = {}
        self.has_grown = False
        self.refusals = 0
        self.sizes: dict[int, tuple[int, int]] = {}
        self.box = Boxes(self)
        self.contexts: dict[Any, Context] = {}
        self.labels: dict[Any, Label] = {}
        self.label_list: list[Label] = []
        self.ready: deque[Context] = deque()
        self.all: list[Context] = []
        self.per_graph: dict[int, int] = {}
        self.per_signature: dict[int, int] = {}
        self.order: list[tuple[Node, Type]] = []

    def add_cycles(self, root: Graph) -> None:
        """Learns the loops and recursions of the graphs that `root` reaches."""
        cycles, invariants = invariant_parameters(root)
        shift = max(self.cycles.values(), default=-1) + 1
        for key, number in cycles.items():
            self.cycles.setdefault(key, number if number < 0 else number + shift)
            self.invariants.setdefault(key, invariants[key])

    # -- contexts

    def context(self, graph: Graph, arguments: tuple[Abstract, ...], kind: str = "call") -> Context:
        """The context of a known call, made and scheduled when it is new."""
        arguments = self._erased(graph, arguments)
        key = (graph.id, arguments, kind)
        found = self.contexts.get(key)
        if found is None:
            found = self.contexts[key] = self._new(Context(graph, arguments, len(self.all)))
        return found

    def label_context(self, label: Label, arguments: tuple[Type, ...]) -> Context:
        """The context of calling a closure. Once the classes of closures are known (`monomorphize`), a class has one signature."""
        root = label.root()
        if root.signature is not None:
            try:
                arguments = root.signature = classes.joined_signature(root.signature, arguments, self.box)
            except CannotJoin:
                classes.dispatch(self, root)
        found = label.contexts.get(arguments)
        if found is None:
            graph = label.graph
            if "gradient" in graph.flags:
                graph = template_instance(graph, len(arguments), self.invariants)
            found = label.contexts[arguments] = self._new(Context(graph, tuple(map(as_fact, arguments)), len(self.all), label))
        return found

    def signature(self, facts: list[Abstract]) -> tuple[Type, ...]:
        """The arguments of a call of a closure as a part of its signature: known values only where they are needed."""
        if not self.keeps_values:
            return tuple(a.type for a in facts)
        return tuple(Known(a.type, a.value) if a.is_known and is_trackable(a.type) and not isinstance(a.type, Static) else a.type for a in facts)

    def _new(self, context: Context) -> Context:
        self.all.append(context)
        same = self.per_signature[context.graph.id] = self.per_signature.get(context.graph.id, 0) + 1
        most = MAX_CONTEXTS * max(1, len(self.per_signature) // 500)  # a large program has many graphs
        if len(self.all) > most or same % MAX_VALUES == 0 and _part_count(context) > same // 2 > MAX_VALUES or same % 4 == 0 and self._explodes(context):
            texts = [str(a.type) for a in context.parameters()]
            raise error("M307", context.graph.provenance.span, name=context.graph.name, types=", ".join(t if len(t) < 40 else f"{t[:40]}…" for t in texts))
        self._start(context)
        return context

    def _explodes(self, context: Context) -> bool:
        """Whether the parameters of a graph have become many times larger again and again: `f((t, t))` inside f(t)."""
        before, times = self.sizes.get(context.graph.id, (1, 0))
        size = _part_count(context)
        times = times + 1 if size >= 4 * before else 0
        self.sizes[context.graph.id] = size, times
        return times >= 3 and size > 1000

    def _start(self, context: Context) -> None:
        context.coroutine = self._walk(context)
        context.problems = {}
        context.waiting = None
        for other in context.used:
            other.dependents.pop(context, None)
        context.used = {}
        context.is_done = False
        self.ready.append(context)

    def _erased(self, graph: Graph, arguments: tuple[Abstract, ...]) -> tuple[Abstract, ...]:
        """Known values stay only where they cannot unroll a recursion, and not in too many versions."""
        kept = self.invariants.get(graph.id)
        is_unrolled = self._is_unrolled(graph)
        if kept is not None and graph.kind != "branch" and not is_unrolled:  # a list that may grow while this recurses
            arguments = tuple(a if i in kept else _settled(a, self.box) for i, a in enumerate(arguments))
        if is_unrolled:
            kept = None
        result = tuple(a if a.is_known and is_trackable(a.type) and (kept is None or i in kept) or is_unrolled and a.items else _typed(a)
                       for i, a in enumerate(arguments))
        if any(a.items or a.is_known and not isinstance(a.type, Static) for a in result):
            count = self.per_graph[graph.id] = self.per_graph.get(graph.id, 0) + 1
            if count > (MAX_UNROLLED if is_unrolled else MAX_VALUES):
                return tuple(map(_typed, arguments))
        return result

    def _is_unrolled(self, graph: Graph) -> bool:
        return "unroll" in graph.flags or graph.id in self.unrolled

    def make_label(self, graph: Graph, captured: tuple[Abstract, ...]) -> Label:
        """The label of a closure; one that captures itself (through data or functions) is merged with the inner one."""
        is_free = self.invariants.get(graph.id) is None or self._is_unrolled(graph)
        captured = tuple(a if a.is_known and is_trackable(a.type) and is_free else _typed(a) for a in captured)
        key = (graph.id, captured)
        found = self.labels.get(key)
        if found is not None:
            return found
        inner = self._inner_label(graph, captured)
        if inner is not None and self._grow(inner, captured):
            self.labels[key] = inner
            return inner
        found = self.labels[key] = Label(graph, captured, len(self.label_list))
        self.label_list.append(found)
        return found

    def _inner_label(self, graph: Graph, captured: tuple[Abstract, ...]) -> Label | None:
        if "gradient" in graph.flags:  # a gradient of a gradient is no recursion
            return None
        for t in walk(*(a.type for a in captured)):
            if isinstance(t, FunctionSet):
                for label in t.labels:
                    if label.graph is graph:
                        return label
        return None

    def _grow(self, label: Label, captured: tuple[Abstract, ...]) -> bool:
        """The captured values of a label can be more than was known: whoever walked it starts again. False when they have no common type (then
        the closure gets a label of its own, as for `twice(twice(sin))`)."""
        try:
            joined = tuple(Abstract(join(a.type, b.type, self.box)) for a, b in zip(label.captured, captured))
        except CannotJoin:
            if label.number + 64 < len(self.label_list):
                raise error("M307", label.graph.provenance.span, name=label.graph.name, types=", ".join(str(a.type) for a in captured)) from None
            return False
        if joined != label.captured:
            label.captured = joined
            self.has_grown |= "box" in label.graph.flags
            for context in label.contexts.values():
                self._start(context)
        return True

    def merge(self, low: Label, high: Label) -> None:
        """Makes two constructors one, which holds what both hold. Raises CannotJoin."""
        joined = tuple(Abstract(join(a.type, b.type, self.box)) for a, b in zip(low.captured, high.captured))
        self.has_grown |= joined != low.captured or not high.is_merged
        low.captured, high.is_merged = joined, True
        for key, label in self.labels.items():
            if label is high:
                self.labels[key] = low
        self.labels[low.graph.id, joined] = low

    # -- scheduling

    def run(self, root: Graph, arguments: list[Abstract]) -> Context:
        """The finished context of the program. Raises MyiaError with the user's span."""
        facts = (a if i in self.fixed else Abstract(intern(self, a.type)) for i, a in enumerate(arguments))
        context = self.context(root, tuple(facts), "root")
        self.drain(context)
        self.check(context)
        if context.result is None or context.result.type == NEVER and not self._raises(context):
            raise error("M502", root.provenance.span, name=root.name)
        return context

    def check(self, root: Context) -> None:
        """Raises the first refusal that stands in a context that the program uses."""
        seen = {root.number: root}
        queue = deque([root])
        while queue:
            for other in queue.popleft().used:
                if other.number not in seen:
                    seen[other.number] = other
                    queue.append(other)
        standing = [(number, other, problem) for other in seen.values() for number, problem in other.problems.values()]
        if standing:
            _, self.culprit, problem = min(standing, key=lambda found: found[0])
            raise with_span(problem, self._caller_span(self.culprit))

    def later(self, context: Context, node: Apply, problem: MyiaError) -> Abstract:
        """A refusal that stands unless the types that it is about grow."""
        self.refusals += 1
        context.problems[node.id] = self.refusals, with_span(problem, node.provenance.span)
        return Abstract(NEVER)

    def drain(self, root: Context | None = None) -> None:
        while True:
            while self.ready:
                context = self.ready.popleft()
                if context.coroutine is not None and not context.is_done:
                    try:
                        self._step(context)
                    except MyiaError as problem:
                        self.culprit = context
                        raise with_span(problem, self._caller_span(context)) from None
            waiting = [c for c in self.all if c.waiting is not None]
            if not waiting and self.has_grown:  # the fields of a union hold more than was known: all look again
                self.has_grown = False
                for context in self.all:
                    self._start(context)
                continue
            if not waiting:
                return
            self._resolve(waiting)

    def _caller_span(self, context: Context) -> Any:
        """The place in the user's source from which a context without one (of a derivative) was called."""
        return next((node.provenance.span for _, node in self._callers(context) if node.provenance.span is not None), None)

    def _callers(self, context: Context) -> Iterator[tuple[Context, Apply]]:
        """Who called a context, who called those, and so on, the nearest first; and where."""
        seen: set[int] = set()
        queue = deque([context])
        while queue:
            callee = queue.popleft()
            for caller in callee.dependents:
                wait = caller.waiting
                nodes = [wait.node] if wait is not None and callee in wait.contexts else []
                nodes += [n for n in schedule(caller.graph) if isinstance(use := caller.uses.get(n.id), list) and callee in use]
                for node in nodes:
                    yield caller, node
                if nodes and caller.number not in seen:
                    seen.add(caller.number)
                    queue.append(caller)

    def cycle_around_culprit(self) -> frozenset[int]:
        """The graphs of the innermost loop or recursion, not unrolled so far, in which inference failed; empty when there is none."""
        if self.culprit is None:
            return frozenset()
        for context in chain([self.culprit], (caller for caller, _ in self._callers(self.culprit))):
            number = self.cycles.get(context.graph.id, -1)
            if number >= 0 and context.graph.id not in self.unrolled:
                return frozenset(g for g, n in self.cycles.items() if n == number)
        return frozenset()

    def _raises(self, context: Context) -> bool:
        """Whether a program that never returns ends by raising (rather than by recursing for ever)."""
        raising = NAMED["raise"]
        return any(isinstance(n.inputs[0], Constant) and n.inputs[0].value is raising for c in self.all for n in schedule(c.graph))

    def _step(self, context: Context) -> None:
        """Runs a coroutine until it awaits an unknown result or ends."""
        value: Any = None
        wait = context.waiting
        if wait is not None:
            context.waiting = None
            value = self._joined(context, wait, False)
            if value is None:
                context.waiting = wait
                return
        while True:
            try:
                assert context.coroutine is not None
                wait = context.coroutine.send(value)
            except StopIteration as end:
                self._finish(context, end.value)
                return
            value = self._joined(context, wait, False)
            if value is None:
                context.waiting = wait
                for other in wait.contexts:
                    other.dependents[context] = None
                return

    def _joined(self, context: Context, wait: Wait, assume: bool) -> Abstract | None:
        """The join of the awaited results; None while one is missing (unless `assume`: a missing one counts as `never`)."""
        results: list[Abstract] = []
        for other in wait.contexts:
            if other.result is None and not assume:
                return None
            results.append(other.result or Abstract(NEVER))
        for other, result in zip(wait.contexts, results):
            context.used[other] = result
            other.dependents[context] = None
        total = results[0]
        for result in results[1:]:
            try:
                total = join_abstract(total, result, self.box)
            except CannotJoin:
                raise self._clash(wait, total.type, result.type) from None
        return total

    def _clash(self, wait: Wait, first: Type, second: Type) -> MyiaError:
        problem = error("M302", wait.node.provenance.span, first=first, second=second)
        for context, t in zip(wait.contexts, (first, second)):
            problem.notes.append((f"{t} comes from here:", context.graph.output.provenance.span or context.graph.provenance.span))
        return problem

    def _finish(self, context: Context, result: Abstract) -> None:
        context.is_done = True
        context.coroutine = None
        before = context.result
        if before is not None:
            try:
                result = join_abstract(before, result, self.box) if before.type != NEVER else result
            except CannotJoin:
                raise error("M302", context.graph.provenance.span, first=before.type, second=result.type) from None
        context.result = result
        for node in schedule(context.graph):
            if node.id in context.facts:
                self.order.append((node, context.facts[node.id].type))
        for dependent in list(context.dependents):
            if dependent.waiting is not None and context in dependent.waiting.contexts:
                self.ready.append(dependent)
            elif context in dependent.used and dependent.used[context] != result:
                self._start(dependent)

    def _resolve(self, waiting: list[Context]) -> None:
        """All wait for each other: one goes on with what is there."""
        chosen = next((c for c in waiting if c.waiting is not None and c.waiting.is_branch and any(o.result is not None for o in c.waiting.contexts)), None)
        chosen = chosen or waiting[0]
        wait = chosen.waiting
        assert wait is not None and chosen.coroutine is not None
        chosen.waiting = None
        value = self._joined(chosen, wait, True)
        try:
            next_wait = chosen.coroutine.send(value)  # type: ignore[arg-type]
        except StopIteration as end:
            self._finish(chosen, end.value)
            return
        chosen.waiting = next_wait
        for other in next_wait.contexts:
            other.dependents[chosen] = None
        self.ready.append(chosen)

    # -- walking a graph

    def _walk(self, context: Context) -> Walk:
        facts: dict[int, Abstract] = {p.id: a for p, a in zip(context.graph.parameters, context.parameters())}
        context.facts, context.uses = facts, {}
        for node in schedule(context.graph):
            try:
                fact = yield from self._node(context, node, facts)
            except MyiaError as problem:
                if problem.code == "M401" and not problem.notes:
                    problem.notes = self._shapes(node, facts)
                if problem.code not in _MAY_PASS:
                    raise with_span(problem, node.provenance.span) from None
                fact = self.later(context, node, problem)
            facts[node.id] = fact
        return self.fact(context.graph.output, facts)

    def _shapes(self, node: Apply, facts: dict[int, Abstract]) -> list[tuple[str, Any]]:
        """Where the arrays come from whose shapes do not fit."""
        found: list[tuple[str, Any]] = []
        for x in node.inputs[1:]:
            t = facts[x.id].type if x.id in facts else None
            if isinstance(t, Array):
                found.append((f"{repr(x.name) if x.name else 'this'} is {t}:", x.provenance.span))
        return found

    def fact(self, node: Node, facts: dict[int, Abstract]) -> Abstract:
        """What is known of an operand."""
        if not isinstance(node, Constant):
            return facts[node.id]
        value = node.value
        if isinstance(value, Graph):
            return Abstract(FunctionSet((self.make_label(value, ()),)))
        if value is UNDEFINED:
            return Abstract(NEVER)
        if _is_gradient(value):
            return Abstract(Static(value), value)
        from myia_notebook.infer.values import type_of_value
        try:
            if isinstance(node.type, Static) and isinstance(value, Label):
                return Abstract(node.type, value)
            return Abstract(node.type or type_of_value(value), value)
        except MyiaError as problem:
            raise with_span(problem, node.provenance.span) from None

    def _node(self, context: Context, node: Apply, facts: dict[int, Abstract]) -> Generator[Wait, Abstract, Abstract]:
        head = node.inputs[0]
        value = head.value if isinstance(head, Constant) else None
        if isinstance(value, Graph):
            arguments = tuple(self.fact(x, facts) for x in node.inputs[1:])
            return (yield from self._known_call(context, node, value, arguments))
        if value is BRANCH:
            return (yield from self._branch(context, node, facts))
        if value is PARTIAL:
            graph = node.inputs[1]
            assert isinstance(graph, Constant)
            label = self.make_label(graph.value, tuple(self.fact(x, facts) for x in node.inputs[2:]))
            context.uses[node.id] = label
            return Abstract(FunctionSet((label,)))
        operands = [self.fact(x, facts) for x in node.inputs[1:]]
        if value in derivatives.CALLS:
            return (yield from derivatives.call(self, context, node, operands))
        if value is CALL_METHOD and _field_of(operands) is not None:
            return (yield from self._field_call(context, node, operands))
        if value is CALL_WITH:
            return (yield from self._arranged_call(context, node, operands))
        if value is REBOUND:
            return self._rebound(context, operands)
        if isinstance(value, (Primitive, Operation)) or (isinstance(head, Constant) and not _is_gradient(value)):
            method = method_call(self, value, operands)
            if method is not None:
                return (yield from self._method(context, node, method, operands, list(range(len(operands))), ()))
            return self._expand(context, node, value, operands)
        callee = self.fact(head, facts)
        return (yield from self._call_value(context, node, callee, operands))

    def _expand(self, context: Context, node: Apply, value: Any, operands: list[Abstract], paths: list[Path] | None = None,
                names: tuple[str, ...] = ()) -> Abstract:
        """A primitive or an operation; of a value that does not exist (`never`) it does not exist either."""
        if value is SWITCH:
            return self._switch(context, node, operands)
        if any(a.type == NEVER for a in operands) and value is not MAKE_TUPLE:
            return Abstract(NEVER)
        operation = value if isinstance(value, (Operation, Primitive)) else operation_for(value)
        if operation is None:
            raise error("M303", type=operands and "this value" or type(value).__name__)
        if isinstance(operation, Primitive):
            expansion = expand_primitive(operation, node.inputs[1:], operands, node.provenance, self.box)
        else:
            if paths is None:
                paths = [(i, None) for i in range(len(operands))]
            inputs = node.inputs[-len(operands):] if operands else []
            expansion = expand_operation(operation, inputs, operands, paths, names, node.provenance, self.box)
        context.uses[node.id] = expansion
        return expansion.result

    def _switch(self, context: Context, node: Apply, operands: list[Abstract]) -> Abstract:
        test, first, second = operands
        if test.value is True or test.value is False:
            return first if test.value else second
        try:
            return Abstract(join(first.type, second.type, self.box))
        except CannotJoin:
            raise error("M302", node.provenance.span, first=first.type, second=second.type) from None

    def _rebound(self, context: Context, operands: list[Abstract]) -> Abstract:
        """A live value must hold no closure over a variable that is assigned again."""
        mark = operands[1].value
        for t in walk(operands[0].type):
            if isinstance(t, FunctionSet) and any(label.graph.id == mark.graph.id for label in t.labels):
                raise error("M203", name=mark.name, line=mark.line)
        return operands[0]

    # -- calls

    def _known_call(self, context: Context, node: Apply, graph: Graph, arguments: tuple[Abstract, ...]) -> Generator[Wait, Abstract, Abstract]:
        if len(arguments) != len(graph.parameters):
            raise error("M501", signature=describe(graph), problem=f"got {len(arguments) - graph.captured} arguments")
        callee = self.context(graph, arguments)
        context.uses[node.id] = [callee]
        return (yield Wait([callee], False, node))

    def _branch(self, context: Context, node: Apply, facts: dict[int, Abstract]) -> Generator[Wait, Abstract, Abstract]:
        test = self.fact(node.inputs[1], facts)
        arms = [x.value for x in node.inputs[2:4] if isinstance(x, Constant)]
        arguments = tuple(self.fact(x, facts) for x in node.inputs[4:])
        if test.type == NEVER:
            return Abstract(NEVER)
        if isinstance(test.value, bool):
            arms = [arms[0] if test.value else arms[1]]
            callee = self.context(arms[0], arguments)
            context.uses[node.id] = [callee]
            return (yield Wait([callee], False, node))
        callees = [self.context(arm, arguments, "arm") for arm in arms]
        context.uses[node.id] = callees
        result = yield Wait(callees, True, node)
        return result

    def _call_value(self, context: Context, node: Apply, callee: Abstract, operands: list[Abstract]) -> Generator[Wait, Abstract, Abstract]:
        """A call of a function that is only known by its type."""
        if callee.type == NEVER or any(a.type == NEVER for a in operands):
            return Abstract(NEVER)
        if isinstance(callee.type, Static):
            if _is_gradient(callee.type.value):
                return (yield from derivatives.operator(self, context, node, callee.type.value, operands))
            method = method_call(self, callee.type.value, operands)
            if method is not None:
                return (yield from self._method(context, node, method, operands, list(range(len(operands))), ()))
            return self._expand(context, node, callee.type.value, operands)
        method = method_call(self, CALL_VALUE, [callee, *operands])
        if method is not None:
            return (yield from self._method(context, node, method, [callee, *operands], list(range(-1, len(operands))), ()))
        if not isinstance(callee.type, FunctionSet) or is_union(callee.type):
            raise error("M303", type=callee.type)
        callees = self.callees(callee.type, operands, ())
        context.uses[node.id] = callees
        return (yield Wait(callees, len(callees) > 1, node))

    def callees(self, functions: FunctionSet, operands: list[Abstract], names: tuple[str, ...]) -> list[Context]:
        """The contexts of a call of one of these functions, the last operands by name: variadic parameters get tuples, defaults are filled in."""
        labels = tuple(derivatives.by_name(self, label, names) if "gradient" in label.graph.flags else label for label in functions.labels)
        recipes = [list(range(len(operands))) if "gradient" in label.graph.flags else arranged(label.graph, len(operands) - len(names), names)
                   for label in labels]
        if not all(classes.same_recipe(recipes[0], recipe) for recipe in recipes[1:]):
            classes.dispatch(self, classes.unite(self, functions.labels))
        return [self.label_context(label, self.signature([recipe_fact(part, operands) for part in recipe])) for label, recipe in zip(labels, recipes)]

    def _arranged_call(self, context: Context, node: Apply, operands: list[Abstract]) -> Generator[Wait, Abstract, Abstract]:
        """f(x, *t, name=y, **d) on a callee known by its type. Operations take keywords; functions are bound by their signature."""
        callee, kinds, *given = operands
        if any(a.type == NEVER for a in operands):
            return Abstract(NEVER)
        paths, names = flattened(kinds.value, given)
        values = [given[i] if item is None else Abstract(parts(given[i].type)[item]) for i, item in paths]
        context.uses[node.id, "call"] = (paths, names)  # type: ignore[index]
        head = node.inputs[1]
        value = head.value if isinstance(head, Constant) else callee.type.value if isinstance(callee.type, Static) else None
        if isinstance(value, Graph):
            value = None
        if value is not None and _is_gradient(value):
            return (yield from derivatives.operator(self, context, node, value, values, names))
        if value is not None:
            method = method_call(self, value, values, names)
            if method is not None:
                return (yield from self._method(context, node, method, values, list(range(len(values))), names))
            return self._expand(context, node, value, given, paths, names)
        method = method_call(self, CALL_VALUE, [callee, *values], names)
        if method is not None:
            return (yield from self._method(context, node, method, [callee, *values], list(range(-1, len(values))), names))
        if not isinstance(callee.type, FunctionSet) or is_union(callee.type):
            raise error("M303", type=callee.type)
        callees = self.callees(callee.type, values, names)
        context.uses[node.id] = callees
        return (yield Wait(callees, len(callees) > 1, node))

    def _method(self, context: Context, node: Apply, method: MethodUse, operands: list[Abstract], positions: list[int],
                names: tuple[str, ...]) -> Generator[Wait, Abstract, Abstract]:
        """The call of a user's method: one context for each constructor that the receiver may be."""
        kept = [operands[i] for i in method.order]
        method.positions = [positions[i] for i in method.order]
        callees: list[Context] = []
        for case in method.cases:
            values = [kept[0] if case.label is None else Abstract(case.receiver), *kept[1:]]
            is_application = "application" in case.graph.flags  # it hands all operands on
            case.recipe = list(range(len(values))) if is_application else arranged(case.graph, len(values) - len(names), names)
            callees.append(self.context(case.graph, tuple(recipe_fact(part, values) for part in case.recipe)))
        method.contexts = callees
        context.uses[node.id] = method
        return (yield Wait(callees, len(callees) > 1, node))

    def _field_call(self, context: Context, node: Apply, operands: list[Abstract]) -> Generator[Wait, Abstract, Abstract]:
        """x.f(…) where f is a field that holds a function."""
        index = _field_of(operands)
        assert index is not None
        callee = Abstract(parts(operands[0].type)[index])
        if isinstance(callee.type, Static) and not _is_gradient(callee.type.value):
            return self._expand(context, node, callee.type.value, operands[2:])
        result = yield from self._call_value(context, node, callee, operands[2:])
        if isinstance(context.uses.get(node.id), (list, MethodUse)):
            context.uses[node.id] = FieldUse(index, context.uses[node.id])
        return result


@dataclass(slots=True)
class FieldUse:
    """A call of the function in field `index` of the receiver."""

    index: int
    contexts: list[Context] | MethodUse


def _field_of(operands: list[Abstract]) -> int | None:
    """The field that a method call names, when the receiver is a record with that field."""
    t = operands[0].type
    if not isinstance(t, Record) or not isinstance(operands[1].type, Static) or operands[1].type.value not in t.structure.names:
        return None
    return None if t.structure.kind == "dict" else t.structure.names.index(operands[1].type.value)


def flattened(kinds: tuple[str, ...], operands: list[Abstract]) -> tuple[list[Path], tuple[str, ...]]:
    """The arguments of a call with '*' and '**': positional ones, then those with names."""
    positional: list[Path] = []
    named: list[tuple[str, Path]] = []
    for i, (kind, operand) in enumerate(zip(kinds, operands)):
        t = operand.type
        if kind == "*":
            if not isinstance(t, Tuple) or (isinstance(t, Record) and t.structure.kind not in ("list", "namedtuple")):
                raise error("M301", operation="'*' in a call", types=str(t), hint="only tuples, and lists of known length, can be spread")
            positional.extend((i, k) for k in range(len(t.items)))
        elif kind == "**":
            if not (isinstance(t, Record) and t.structure.kind == "dict"):
                raise error("M301", operation="'**' in a call", types=str(t), hint="only dicts can be spread into keywords")
            named.extend((name, (i, k)) for k, name in enumerate(t.structure.names))
        elif kind:
            named.append((kind, (i, None)))
        else:
            positional.append((i, None))
    names = tuple(name for name, _ in named)
    for name in names:
        if names.count(name) > 1:
            raise error("M501", signature="this call", problem=f"got several values for '{name}'")
    return [*positional, *(path for _, path in named)], names


def recipe_type(part: Any, operands: list[Abstract]) -> Type:
    """The type of one arranged argument."""
    match part:
        case dict():
            return Record(tuple(operands[i].type for i in part.values()), Structure("dict", tuple(part)))
        case int():
            return operands[part].type
        case tuple():
            return Tuple(tuple(operands[i].type for i in part))
        case Constant(value=value):
            from myia_notebook.infer.values import type_of_value
            return type_of_value(value)
        case _:
            raise AssertionError(part)


def recipe_fact(part: Any, operands: list[Abstract]) -> Abstract:
    """What is known of one arranged argument."""
    if isinstance(part, int):
        return operands[part]
    return Abstract(recipe_type(part, operands), part.value) if isinstance(part, Constant) else Abstract(recipe_type(part, operands))


def _typed(a: Abstract) -> Abstract:
    return Abstract(a.type) if a.is_known or a.items else a


def _part_count(context: Context) -> int:
    """How many values the parameters hold. In a loop that makes a tuple longer each time it grows with the number of contexts."""
    return sum(1 for _ in walk(*(a.type for a in context.parameters()), into_closures=False))


def _settled(a: Abstract, box_: Any) -> Abstract:
    """Lists of known length become lists of run-time length where their items have one type."""
    t = _settled_type(a.type, box_)
    return a if t is a.type else Abstract(t)


def _settled_type(t: Type, box_: Any) -> Type:
    if isinstance(t, Record) and t.structure == LIST:
        try:
            return widened(t, box_)
        except CannotJoin:
            return t
    return map_parts(t, lambda inner: _settled_type(inner, box_)) if isinstance(t, Tuple) else t


def infer(root: Graph, arguments: list[Abstract], events: list[Any] | None = None, session: Any = None) -> Graph:
    """The typed form of a closed program called with these arguments. `events` receives (node, type) in order of resolution."""
    if len(arguments) != len(root.parameters):
        raise error("M501", root.provenance.span, signature=describe(root), problem=f"got {len(arguments)} arguments")
    engine, typed = _inferred(root, arguments, session)
    if events is not None:
        events.extend(engine.order)
    return typed


def _inferred(root: Graph, arguments: list[Abstract], session: Any) -> tuple[Engine, Graph]:
    """A loop is one graph for all its steps and a program is one for all its inputs, unless that has no type: because a step needs the counter's
    value (`x[:i]`), or changes a type (`x = np.concatenate((x, x))`), or a shape is an input (`np.linspace(0, 1, n)`). Then loops are unrolled, from
    the innermost outwards: their graphs get a context for each known value; and then inputs are fixed: the program is one for their values.
    `flags["fixed"]` of the result has their positions. At last a slice of known length (`x[i:i + 3]`) is checked at run time to be that long.
    Where nothing helps, the first problem is told; but one of shapes that fixed inputs have (`np.zeros(-1)`) is the user's own."""
    from myia_notebook.infer.monomorphize import monomorphize
    first: MyiaError | None = None
    engine: Engine | None = None
    for fixed, checks_windows in _attempts(arguments):
        unrolled: frozenset[int] = frozenset()
        while True:
            engine = Engine(root, session, engine, unrolled, fixed, checks_windows)
            try:
                typed = monomorphize(engine, engine.run(root, arguments))
                typed.flags["fixed"] = tuple(sorted(fixed or ()))
                return engine, typed
            except MyiaError as problem:
                if first is None or fixed and first.code == NEEDS_VALUE and problem.code in _OF_SHAPES:
                    first = problem
                more = engine.cycle_around_culprit() if problem.code in _UNROLLING_MAY_MEND and not checks_windows else frozenset()
                if not more:
                    break
                unrolled |= more
        if first.code != NEEDS_VALUE:
            break
    assert first is not None
    raise first from None


def _attempts(arguments: list[Abstract]) -> list[tuple[frozenset[int] | None, bool]]:
    """(the inputs to fix, whether windows are checked), in the order to try. Fixed are none, each alone, all; from the second attempt on,
    known values go into closures too."""
    known = [i for i, a in enumerate(arguments) if a.is_known and is_trackable(a.type) and not isinstance(a.type, (Static, NoneType))]
    sets = [None, frozenset(), *(frozenset({i}) for i in known), *([frozenset(known)] if len(known) > 1 else [])]
    return [*((fixed, False) for fixed in sets), (None, True)]


__all__ = ["Context", "Engine", "Expansion", "infer"]
