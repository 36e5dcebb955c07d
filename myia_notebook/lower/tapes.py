"""Tapes: the adjoint of a loop as two loops.

The forward pass of a loop calls itself and then wraps the backpropagator that comes back; the backward pass calls from the first step down to
the last and works on the way up. Both go down and up. Turned around, each goes one way only:

    ▶for(i, y):                                   ▶for(i, y, tape):
        if i < n:                                     if i < n:
            v, k = ▶for(i + 1, step(y))     -->           jump ▶for(i + 1, step(y), tape + (y))
            return v, partial(◀body, y, k)            else:
        else:                                             return y, partial(back, ◀done, tape)
            return y, ◀done
    ◀body(y, k, ∇):                               step back(y, tape, r):
        r = k(∇)                                      jump tape(… y … r …)
        return … y … r …                          back(k, tape, ∇):  jump tape(k(∇))

The tape is a chain of closures, the newest first: popping is a tail call. It is a value like any other: a backpropagator may be called twice, never, or be
differentiated. Values that no step changes lie beside the tape, once. Where a backpropagator needs its sensitivity before it calls the next one (tapes of
tapes), the chain that it expects is built from the tape at the end of the forward loop.

On entry: a typed program of which the caller owns every graph. On exit: typed, the same value; `flags["tape"]` says what the new graphs are. A component of
mutual recursion is rewritten when each of its graphs calls it once, and what follows that call only wraps closures (`lower.recursion`); others are left alone.
References: Wand 1980 (continuations as data structures); the list of a loop's backpropagators, Pearlmutter & Siskind 2008.
"""
from __future__ import annotations

from dataclasses import dataclass, replace

from myia_notebook.ir.graph import Apply, Constant, Graph, Node, callee_of, graph_constant, is_call_of, primitive_of, schedule
from myia_notebook.ir.types import Function, FunctionClass, Static, Tuple, Type
from myia_notebook.lower.recursion import BRANCH, GETITEM, MAKE_TUPLE, PARTIAL, Component, Wrap, components, passes_through
from myia_notebook.ops.expression import Builder


def tapes(root: Graph) -> int:
    """Rewrites what can be; gives the number of components rewritten."""
    found = components(root)
    for component in found:
        _Turn(component).run()
    return len(found)


@dataclass(slots=True)
class _Task:
    """A graph of the component to be written anew: `new` has the parameters of `old`, then the `extra` ones: `chains` (one for each item) and more."""

    old: Graph
    new: Graph
    chains: dict[int, Node]
    pending: dict[int, list[Wrap]]
    constant: dict[int, Node]
    """Where the values that no step changes are: position in the entry's parameters -> node."""


class _Turn:
    """Turns one component around."""

    def __init__(self, component: Component) -> None:
        self.c = component
        self.answers = {i: _answer(t) for i, t in component.items(component.entry).items()}
        self.turned = {i for i in self.answers if all(passes_through(w) for g in component.graphs for w in component.contexts[g.id].get(i, []))}
        self.classes: dict[tuple[int, int], FunctionClass] = {}
        self.entries: dict[int, tuple[Graph, dict[int, Node]]] = {}
        self.tasks: list[_Task] = []
        self.kept = sorted(component.unchanged)
        self.last: dict[int, Graph] = {}

    def run(self) -> None:
        entry = self.c.entry
        new = self.entry(entry)
        while self.tasks:
            self.write(self.tasks.pop(0))
        ends = [Constant(self.last[i], Function(self.classes[entry.id, i])) for i in self.answers]
        assert entry.result is not None
        entry.output = Builder(entry, entry.provenance).call(new, *entry.parameters, *ends, type=entry.result)

    # -- graphs and classes

    def entry(self, g: Graph) -> Graph:
        """The new form of a graph that is jumped to: its parameters, then a chain for each closure item of its result."""
        if g.id not in self.entries:
            new = Graph(g.name, g.kind, g.provenance, g.primal)
            new.result = self.c.entry.result
            new.flags = {"tape": "forward"}
            for p in g.parameters:
                new.add_parameter(p.name, p.type, p.provenance)
            chains: dict[int, Node] = {}
            for i, t in self.c.items(g).items():
                cls = self.classes[g.id, i] = FunctionClass([], f"tape of {g.name}")
                chains[i] = new.add_parameter("tape", Function(cls))
                if g is self.c.entry:
                    self.last[i] = self._last(i, cls, self.received(i, t))
            self.entries[g.id] = new, chains
            self.tasks.append(_Task(g, new, chains, {i: [] for i in chains}, {p: new.parameters[p] for p in self.kept}))
        return self.entries[g.id][0]

    def received(self, i: int, closure: Type) -> Type:
        """What a chain of item i is given: what the closure below it answers, or that closure."""
        return _answer(closure) if i in self.turned else closure

    def _kept_parameters(self, graph: Graph) -> dict[int, Node]:
        return {p: graph.add_parameter(self.c.entry.parameters[p].name, self.c.entry.parameters[p].type) for p in self.kept}

    def _last(self, i: int, cls: FunctionClass, t: Type) -> Graph:
        """The end of a chain: gives back what it is given."""
        end = Graph("tape is empty", "closure")
        end.flags = {"tape": "end"}
        end.output = end.add_parameter("∇", t)
        self._kept_parameters(end)
        end.result = t
        _join(cls, end)
        return end

    # -- one graph of the component

    def write(self, task: _Task) -> None:
        node = self.c.calls[task.old.id]
        builder = Builder(task.new, task.old.provenance)
        known: dict[int, Node] = dict(zip((p.id for p in task.old.parameters), task.new.parameters))
        for early in self.c.early[task.old.id]:
            known[early.id] = _copied(task.new, early, known)
        pending = {i: list(wraps) for i, wraps in task.pending.items()}
        for i in pending:
            pending[i] += [w.mapped(known) for w in self.c.contexts[task.old.id][i]]
        target = callee_of(node)
        arguments = [x if isinstance(x, Constant) else known[x.id] for x in node.inputs[1:]]
        if target is not None:
            task.new.output = self.jump(builder, target, arguments, replace(task, pending=pending))
            return
        assert task.new.result is not None
        here = replace(task, pending=pending)
        arms = [self.arm(graph_constant(x), arguments[3:], here) for x in node.inputs[2:4]]
        more = self.carried(here, arguments[3:])
        task.new.output = Builder(task.new, node.provenance).apply(BRANCH, arguments[0], *map(Constant, arms), *arguments[3:], *more, type=task.new.result)

    def carried(self, task: _Task, arguments: list[Node]) -> list[Node]:
        """The nodes that an arm needs besides its arguments: chains, what pending wraps save, what no step changes."""
        given = {x.id for x in arguments}
        nodes = [*task.chains.values(), *(x for wraps in task.pending.values() for w in wraps for x in w.operands), *task.constant.values()]
        return list({x.id: x for x in nodes if not isinstance(x, Constant) and x.id not in given}.values())

    def arm(self, old: Graph | None, arguments: list[Node], task: _Task) -> Graph:
        """An arm of the branch that leads on: written anew with what it carries."""
        assert old is not None
        new = Graph(old.name, old.kind, old.provenance, old.primal)
        new.result = self.c.entry.result
        for p, _ in zip(old.parameters, arguments):
            new.add_parameter(p.name, p.type, p.provenance)
        known: dict[int, Node] = dict(zip((x.id for x in arguments), new.parameters))
        for x in self.carried(task, arguments):
            known[x.id] = new.add_parameter(x.name, x.type, x.provenance)
        inner = _Task(old, new, {i: known[x.id] for i, x in task.chains.items()},
                      {i: [w.mapped(known) for w in wraps] for i, wraps in task.pending.items()},
                      {p: known.get(x.id, x) for p, x in task.constant.items()})
        own = list(new.parameters[:len(old.parameters)])
        if old.id not in self.c.ids:
            self.leave(inner, own)
        elif old.id in self.c.jumped:
            new.output = self.jump(Builder(new, old.provenance), old, own, inner)
        else:
            self.tasks.append(inner)
        return new

    # -- the next step, and the last

    def jump(self, builder: Builder, target: Graph, arguments: list[Node], task: _Task) -> Node:
        """On to the next step, with what is saved of this one on the tape."""
        new = self.entry(target)
        types = self.c.items(target)
        chains = [self.pushed(builder, i, self.classes[target.id, i], self.received(i, types[i]), task) for i in types]
        assert self.c.entry.result is not None
        return builder.call(new, *arguments, *chains, type=self.c.entry.result)

    def pushed(self, builder: Builder, i: int, cls: FunctionClass, given: Type, task: _Task) -> Node:
        """The chain with one more link: the pending wraps of item i. Nothing pending: the chain as it is."""
        wraps, chain = task.pending[i], task.chains[i]
        if not wraps and chain.type == Function(cls):
            return chain
        step = Graph(wraps[-1].graph.name if wraps else "step", "backpropagator", builder.provenance)
        step.flags = {"tape": "step"}
        saved = self.saved(wraps, task)
        known: dict[int, Node] = {x.id: step.add_parameter(x.name, x.type, x.provenance) for x in saved}
        rest = step.add_parameter("tape", chain.type)
        step.captured = len(step.parameters)
        received = step.add_parameter("∇", given)
        kept = self._kept_parameters(step)
        known.update((task.constant[p].id, kept[p]) for p in self.kept)
        inside = Builder(step, builder.provenance)
        step.result = self.answers[i] if i in self.turned else self.c.items(self.c.entry)[i]
        answer = self.after(inside, i, [w.mapped(known) for w in wraps], received)
        step.output = inside.call(rest, answer, *kept.values(), type=step.result)
        _join(cls, step)
        return builder.apply(PARTIAL, Constant(step), *saved, chain, type=Function(cls))

    def saved(self, wraps: list[Wrap], task: _Task) -> list[Node]:
        """What a link holds: the wraps' operands but for constants and what no step changes."""
        kept = {task.constant[p].id for p in self.kept}
        return list({x.id: x for w in wraps for x in w.operands if not isinstance(x, Constant) and x.id not in kept}.values())

    def after(self, builder: Builder, i: int, wraps: list[Wrap], received: Node) -> Node:
        """What the wraps make of what came from below: the innermost first."""
        for wrap in reversed(wraps):
            if i in self.turned:
                received = wrap.after_call(builder, received)
            else:
                operands = list(wrap.operands)
                operands.insert(wrap.hole, received)
                received = builder.apply(PARTIAL, Constant(wrap.graph), *operands, type=wrap.type)
        return received

    def leave(self, task: _Task, arguments: list[Node]) -> None:
        """An arm that ends the loop: its value, with the closures of the tape in place of its own."""
        old, new = task.old, task.new
        builder = Builder(new, old.provenance)
        assert old.result is not None
        if old.id in self.c.placed:
            known: dict[int, Node] = dict(zip((p.id for p in old.parameters), arguments))
            for node in schedule(old):
                known[node.id] = _copied(new, node, known)
            value = _known(known, old.output)
        else:
            value = builder.call(old, *arguments, type=old.result)
        if isinstance(new.result, Tuple):
            assert isinstance(old.result, Tuple)
            items = [_item(builder, value, k, t) for k, t in enumerate(old.result.items)]
            for i in task.chains:
                items[i] = self.closure(builder, i, items[i], task)
            new.output = builder.apply(MAKE_TUPLE, *items, type=new.result)
        else:
            new.output = self.closure(builder, 0, value, task)

    def closure(self, builder: Builder, i: int, own: Node, task: _Task) -> Node:
        """The closure that the loop gives: own at the end of the tape."""
        t = self.c.items(self.c.entry)[i]
        own_type = Builder.type_of(own)
        assert isinstance(t, Function) and isinstance(own_type, Function)
        kept = [task.constant[p] for p in self.kept]
        if i not in self.turned:
            value = self.after(builder, i, task.pending[i], own)
            return builder.call(task.chains[i], value, *kept, type=t)
        back = Graph(f"back through {self.c.entry.name}", "backpropagator", builder.provenance)
        back.flags = {"tape": "back"}
        saved = self.saved(task.pending[i], task)
        target, caught = _known_closure(own)
        head = back.add_parameter("k", own_type) if target is None else None
        held = [back.add_parameter(x.name, Builder.type_of(x)) for x in caught]
        known: dict[int, Node] = {x.id: back.add_parameter(x.name, x.type, x.provenance) for x in saved}
        rest = back.add_parameter("tape", task.chains[i].type)
        places = self._kept_parameters(back)
        known.update((x.id, places[p]) for p, x in zip(self.kept, kept))
        back.captured = len(back.parameters)
        member = own_type.cls.members[0]
        sensitivities = [back.add_parameter(p.name, p.type) for p in member.parameters[member.captured:]]
        inside = Builder(back, builder.provenance)
        answer = _answer(own_type)
        received = inside.call(head if target is None else target, *held, *sensitivities, type=answer)  # type: ignore[arg-type]
        made = self.after(inside, i, [w.mapped(known) for w in task.pending[i]], received)
        back.result = self.answers[i]
        back.output = inside.call(rest, made, *places.values(), type=back.result)
        _join(t.cls, back)
        return builder.apply(PARTIAL, Constant(back), *([own] if target is None else []), *caught, *saved, task.chains[i], *kept, type=t)


def _known_closure(node: Node) -> tuple[Graph | None, list[Node]]:
    """(the graph of a closure, what it captured) where that is plain to see."""
    target = graph_constant(node)
    if target is not None:
        return target, []
    if is_call_of(node, PARTIAL):
        assert isinstance(node, Apply)
        return graph_constant(node.inputs[1]), node.inputs[2:]
    return None, []


def _item(builder: Builder, value: Node, k: int, t: Type) -> Node:
    if primitive_of(value) is MAKE_TUPLE:
        assert isinstance(value, Apply)
        return value.inputs[1 + k]
    return builder.apply(GETITEM, value, Constant(k, Static(k)), type=t)


def _answer(closure: Type) -> Type:
    """What a closure's call gives."""
    assert isinstance(closure, Function) and closure.cls.members[0].result is not None
    return closure.cls.members[0].result


def _join(cls: FunctionClass, member: Graph) -> None:
    cls.members.append(member)
    member.function_class = cls


def _known(known: dict[int, Node], x: Node) -> Node:
    return x if isinstance(x, Constant) else known[x.id]


def _copied(graph: Graph, node: Apply, known: dict[int, Node]) -> Apply:
    return Apply(graph, [_known(known, x) for x in node.inputs], node.type, node.name, node.provenance)
