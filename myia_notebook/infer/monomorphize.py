"""From contexts to typed graphs: one graph per context, every node with one type, casts where types meet.

First the classes: labels that occur in one function type are unified, and get one signature (the join of all their calls) and one
result; contexts that this concerns are inferred again, until nothing changes. Then each context reached from the program's becomes a
graph: operations are replaced by their expansions, known ints, bools and static values by constants, a conditional with a known
condition by the call of its arm, a call of a closure that is visible by a known call.
"""
from __future__ import annotations

from collections import deque
from typing import Any

from myia_notebook.errors import error
from myia_notebook.infer.calls import arranged
from myia_notebook.infer.engine import BRANCH, CALL_STAR, CALL_WITH, GRADIENT_CALL, MAKE_TUPLE, PARTIAL, REBOUND, SWITCH, Context, Engine, Expansion, _join_all
from myia_notebook.infer.join import CannotJoin, FunctionSet, Label, is_trackable, join
from myia_notebook.ir.graph import UNDEFINED, Apply, Constant, Graph, Node, is_call_of, schedule
from myia_notebook.ir.types import NEVER, Function, FunctionClass, Static, Tuple, Type
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.primitive import Abstract
from myia_notebook.ops.table import PRIMITIVES

CAST = PRIMITIVES["cast"]


def monomorphize(engine: Engine, root: Context) -> Graph:
    """The typed form of a program."""
    _unify(engine)
    return _Monomorphizer(engine, root).run()


# -- function classes

def _unify(engine: Engine) -> None:
    """One signature and one result for each class of labels; to a fixpoint."""
    for _ in range(200):
        for context in engine.all:
            for fact in (*context.parameters(), *context.facts.values(), *((context.result,) if context.result else ())):
                _see(fact.type)
        changed = False
        for members in _classes(engine):
            changed |= _one_signature(engine, members)
        engine.drain()
        for members in _classes(engine):
            changed |= _one_result(engine, members)
        engine.drain()
        if not changed:
            return
    raise error("M307", name="a function", types="its signature does not settle")


def _see(t: Type) -> None:
    stack = [t]
    while stack:
        match stack.pop():
            case Tuple(items):
                stack.extend(items)
            case FunctionSet(labels):
                first = labels[0].root()
                for label in labels[1:]:
                    other = label.root()
                    if other is not first:
                        low, high = sorted((first, other), key=lambda x: x.number)
                        high.parent = low
                        if high.signature is not None:
                            low.signature = high.signature if low.signature is None else _join_all(low.signature, high.signature, low)
                        first = low
            case _:
                pass


def _classes(engine: Engine) -> list[list[Label]]:
    groups: dict[int, list[Label]] = {}
    for label in engine.label_list:
        groups.setdefault(label.root().number, []).append(label)
    return list(groups.values())


def _one_signature(engine: Engine, members: list[Label]) -> bool:
    root = members[0].root()
    signatures = list(dict.fromkeys(types for label in members for types in label.contexts))
    if not signatures:
        return False
    total = root.signature or signatures[0]
    for types in signatures:
        total = _join_all(total, types, root)
    changed = root.signature != total
    root.signature = total
    for label in members:
        if total not in label.contexts:
            engine.label_context(label, total)
            changed = True
        for types, context in list(label.contexts.items()):
            if types != root.signature:
                del label.contexts[types]
                for dependent in list(context.dependents):
                    engine._start(dependent)
                changed = True
    return changed


def _one_result(engine: Engine, members: list[Label]) -> bool:
    contexts = [context for label in members for context in label.contexts.values()]
    results = [context.result for context in contexts if context.result is not None]
    if not results:
        return False
    total = results[0].type
    for result in results[1:]:
        try:
            total = join(total, result.type)
        except CannotJoin:
            raise error("M302", contexts[0].graph.provenance.span, first=total, second=result.type) from None
    changed = False
    for context in contexts:
        context.declared = total
        if context.result is None or context.result.type != total or context.result.is_known:
            context.result = Abstract(total)
            changed = True
            for dependent in list(context.dependents):
                if context in dependent.used and dependent.used[context] != context.result:
                    engine._start(dependent)
    return changed


# -- graphs

class _Monomorphizer:
    def __init__(self, engine: Engine, root: Context) -> None:
        self.engine, self.root = engine, root
        self.classes: dict[int, FunctionClass] = {}
        self.types: dict[Type, Type] = {}
        self.pending: deque[Context] = deque()
        self.used_ids: set[int] = set()
        self.uncalled: dict[int, Graph] = {}

    def run(self) -> Graph:
        program = self.instance(self.root)
        while self.pending:
            context = self.pending.popleft()
            _Body(self, context).build()
        return program

    # -- types

    def type(self, t: Type) -> Type:
        """The final type: function sets become their classes."""
        match t:
            case FunctionSet(labels):
                return Function(self.function_class(labels[0].root()))
            case Tuple(items):
                known = self.types.get(t)
                if known is None:
                    mapped = tuple(map(self.type, items))
                    known = self.types[t] = t if all(a is b for a, b in zip(mapped, items)) else Tuple(mapped)
                return known
            case _:
                return t

    def function_class(self, root: Label) -> FunctionClass:
        cls = self.classes.get(root.number)
        if cls is None:
            cls = self.classes[root.number] = FunctionClass([], root.graph.name)
            for label in self.engine.label_list:
                if label.root() is root:
                    member = self.label_graph(label)
                    member.function_class = cls
                    cls.members.append(member)
        return cls

    def label_graph(self, label: Label) -> Graph:
        """The graph that a closure runs; one that is never called has only its captured parameters."""
        signature = label.root().signature
        if signature is not None and signature in label.contexts:
            return self.instance(label.contexts[signature])
        graph = self.uncalled.get(label.number)
        if graph is None:
            graph = self.uncalled[label.number] = Graph(label.graph.name, label.graph.kind, label.graph.provenance)
            graph.captured = label.graph.captured
            for p, fact in zip(label.graph.parameters, label.captured):
                graph.add_parameter(p.name, self.type(fact.type), p.provenance)
            graph.result = NEVER
            graph.output = Constant(UNDEFINED, NEVER)
            graph.signature = label.graph.signature
            graph.flags["source"] = label.graph
        return graph

    def instance(self, context: Context, declared: Type | None = None) -> Graph:
        """The graph of a context, declared now and filled later."""
        if context.instance is None:
            source = context.graph
            graph = context.instance = Graph(source.name, source.kind, source.provenance)
            if source.id not in self.used_ids:
                self.used_ids.add(source.id)
                graph.id = source.id
            graph.flags = {k: v for k, v in source.flags.items() if not k.startswith("gradient")}
            graph.flags["source"] = source
            graph.signature = source.signature
            graph.captured = source.captured if context.label is not None else 0
            assert context.result is not None
            context.declared = declared or context.declared or context.result.type
            for p, fact in zip(source.parameters, context.parameters()):
                new = graph.add_parameter(p.name, self.type(fact.type), p.provenance)
                if p.id not in self.used_ids:
                    self.used_ids.add(p.id)
                    new.id = p.id
            graph.result = self.type(context.declared)
            self.pending.append(context)
        return context.instance


class _Body:
    """Fills the graph of one context."""

    def __init__(self, m: _Monomorphizer, context: Context) -> None:
        self.m, self.context = m, context
        assert context.instance is not None
        self.graph = context.instance
        self.nodes: dict[int, Node] = {p.id: q for p, q in zip(context.graph.parameters, self.graph.parameters)}

    def build(self) -> None:
        for node in schedule(self.context.graph):
            fact = self.context.facts[node.id]
            if self._is_constant(fact):
                self.nodes[node.id] = Constant(fact.value, fact.type, node.name, node.provenance)
                continue
            made = self._node(node)
            if isinstance(made, Apply) and made.graph is self.graph:
                if not made.name:
                    made.name = node.name
                if node.id not in self.m.used_ids and made.id not in self.m.used_ids:
                    self.m.used_ids.add(node.id)
                    made.id = node.id
            self.nodes[node.id] = made
        output = self.get(self.context.graph.output)
        assert self.graph.result is not None
        builder = Builder(self.graph, self.context.graph.output.provenance)
        self.graph.output = self.fit(builder, output, self.graph.result)

    @staticmethod
    def _is_constant(fact: Abstract) -> bool:
        return fact.is_known and is_trackable(fact.type) and fact.value is not UNDEFINED

    def get(self, node: Node) -> Node:
        """The typed node for an operand."""
        if not isinstance(node, Constant):
            return self.nodes[node.id]
        if isinstance(node.value, Graph):
            label = self.context_label(node)
            return Constant(self.m.label_graph(label), self.m.type(FunctionSet((label,))), node.name, node.provenance)
        fact = self.m.engine.fact(node, {})
        return Constant(node.value, fact.type, node.name, node.provenance)

    def context_label(self, node: Constant) -> Label:
        fact = self.m.engine.fact(node, {})
        assert isinstance(fact.type, FunctionSet)
        return fact.type.labels[0]

    def fit(self, builder: Builder, node: Node, want: Type) -> Node:
        """`node` as a value of exactly the type `want`."""
        have = Builder.type_of(node)
        if have == want:
            return node
        if isinstance(node, Constant) and node.value is UNDEFINED:
            return Constant(UNDEFINED, want, node.name, node.provenance)
        if isinstance(have, Tuple) and isinstance(want, Tuple):
            items = [self.fit(builder, builder.item(node, i), t) for i, t in enumerate(want.items)]
            return builder.apply(MAKE_TUPLE, *items, type=want) if items else node
        from myia_notebook.ops.operators import convert
        if have == NEVER:
            return builder.apply(CAST, node, Constant(want, Static(want)), type=want)
        return convert(builder.expr(node), want).node

    # -- nodes

    def _node(self, node: Apply) -> Node:
        builder = Builder(self.graph, node.provenance)
        use = self.context.uses.get(node.id)
        head = node.inputs[0]
        value = head.value if isinstance(head, Constant) else None
        fact = self.context.facts[node.id]
        if isinstance(use, Expansion):
            operands = node.inputs[len(node.inputs) - len(use.leaves):]
            return self._splice(builder, use, operands)
        if value is REBOUND:
            return self.get(node.inputs[1])
        if value is SWITCH:
            return self._switch(builder, node, fact)
        if fact.type == NEVER and use is None:
            return Constant(UNDEFINED, NEVER, node.name, node.provenance)
        if isinstance(use, Label):
            captured = node.inputs[2:] if value is PARTIAL else [self._gradient_operand(node)]
            return self._closure(builder, use, [self.get(x) for x in captured], fact)
        if value is GRADIENT_CALL:
            return self._gradient_call(builder, node, use[1], self.get(node.inputs[1]), [self.get(x) for x in node.inputs[3:]], fact)
        assert isinstance(use, list), f"{node!r} was not inferred"
        if value is BRANCH:
            return self._branch(builder, node, use, fact)
        if isinstance(value, Graph):
            graph = self.m.instance(use[0])
            return self._call(builder, graph, [self.get(x) for x in node.inputs[1:]], fact)
        if value is CALL_STAR or value is CALL_WITH:
            count, names = node.inputs[2].value  # type: ignore[attr-defined]
            operands = [self.get(x) for x in node.inputs[3:]]
            return self._unknown_call(builder, self.get(node.inputs[1]), use, operands, count, names, fact)
        operands = [self.get(x) for x in node.inputs[1:]]
        return self._unknown_call(builder, self.get(head), use, operands, len(operands), (), fact)

    def _gradient_operand(self, node: Apply) -> Node:
        head = node.inputs[0]
        return node.inputs[3] if isinstance(head, Constant) and head.value is CALL_WITH else node.inputs[1]

    def _splice(self, builder: Builder, use: Expansion, operands: list[Node]) -> Node:
        """Copies the expansion into this graph over the typed operands."""
        made: dict[int, Node] = {}
        for leaf, operand in zip(use.leaves, operands):
            made[leaf.id] = leaf if isinstance(leaf, Constant) else self.fit(builder, self.get(operand), self.m.type(leaf.type))  # type: ignore[arg-type]
        output = use.output
        if not isinstance(output, Apply):
            return made.get(output.id, output)
        for inner in schedule(output.graph, [output]):
            if inner.id not in made:
                inputs = [made.get(x.id, x) for x in inner.inputs]
                made[inner.id] = Apply(self.graph, inputs, self.m.type(inner.type), inner.name, inner.provenance)  # type: ignore[arg-type]
        return made[output.id]

    def _switch(self, builder: Builder, node: Apply, fact: Abstract) -> Node:
        test = self.context.facts.get(node.inputs[1].id)
        if test is not None and isinstance(test.value, bool):
            return self.get(node.inputs[2] if test.value else node.inputs[3])
        want = self.m.type(fact.type)
        return builder.apply(SWITCH, self.get(node.inputs[1]), *(self.fit(builder, self.get(x), want) for x in node.inputs[2:4]), type=want)

    def _closure(self, builder: Builder, label: Label, captured: list[Node], fact: Abstract) -> Node:
        graph = self.m.label_graph(label)
        t = self.m.type(fact.type)
        operands = [self.fit(builder, x, Builder.type_of(p)) for x, p in zip(captured, graph.parameters)]
        head = Constant(graph, t)
        return builder.apply(PARTIAL, head, *operands, type=t) if operands else head

    def _call(self, builder: Builder, graph: Graph, operands: list[Node], fact: Abstract) -> Node:
        arguments = [self.fit(builder, x, Builder.type_of(p)) for x, p in zip(operands, graph.parameters)]
        assert graph.result is not None
        return builder.call(graph, *arguments, type=graph.result)

    def _branch(self, builder: Builder, node: Apply, use: list[Context], fact: Abstract) -> Node:
        operands = [self.get(x) for x in node.inputs[4:]]
        if len(use) == 1:
            return self._call(builder, self.m.instance(use[0]), operands, fact)
        arms = [self.m.instance(c, fact.type) for c in use]
        result = arms[0].result
        assert result is not None
        arguments = [self.fit(builder, x, Builder.type_of(p)) for x, p in zip(operands, arms[0].parameters)]
        return builder.apply(BRANCH, self.get(node.inputs[1]), Constant(arms[0]), Constant(arms[1]), *arguments, type=result)

    def _unknown_call(self, builder: Builder, head: Node, use: list[Context], operands: list[Node], count: int, names: tuple[str, ...],
                      fact: Abstract) -> Node:
        """A call of a closure: a known one where the closure is visible."""
        label = use[0].label
        assert label is not None
        arguments = self._arranged(builder, label, operands, count, names)
        if is_call_of(head, PARTIAL) and len(use) == 1:
            assert isinstance(head, Apply)
            captured = head.inputs[2:]
            if "gradient" in label.graph.flags:
                return self._inline_gradient(builder, use[0], captured[0], arguments, fact)
            return self._call(builder, self.m.label_graph(label), [*captured, *arguments], fact)
        if isinstance(head, Constant) and isinstance(head.value, Graph):
            return self._call(builder, self.m.label_graph(label), arguments, fact)
        graph = self.m.label_graph(label)
        fitted = [self.fit(builder, x, Builder.type_of(p)) for x, p in zip(arguments, graph.parameters[graph.captured:])]
        assert graph.result is not None
        return builder.call(head, *fitted, type=graph.result)

    def _arranged(self, builder: Builder, label: Label, operands: list[Node], count: int, names: tuple[str, ...]) -> list[Node]:
        if "gradient" in label.graph.flags:
            return operands
        signature = label.graph.signature
        if signature is None or (not names and signature.variadic is None and count == len(label.graph.parameters) - label.graph.captured):
            return operands
        made: list[Node] = []
        for part in arranged(label.graph, count, names):
            match part:
                case int():
                    made.append(operands[part])
                case tuple():
                    made.append(builder.tuple(*(operands[i] for i in part)))
                case _:
                    made.append(part)
        return made

    # -- gradients

    def _inline_gradient(self, builder: Builder, context: Context, f: Node, arguments: list[Node], fact: Abstract) -> Node:
        """grad(f)(x…) where grad(f) is visible: the gradient_call itself."""
        inner = context.graph.output
        _, options = context.uses[inner.id]
        t = self.m.type(context.facts[inner.id].type)
        return self._gradient_call(builder, inner, options, f, arguments, Abstract(t))  # type: ignore[arg-type]

    def _gradient_call(self, builder: Builder, node: Apply, options: Any, f: Node, arguments: list[Node], fact: Abstract) -> Node:
        ft = Builder.type_of(f)
        assert isinstance(ft, Function)
        graph = ft.cls.members[0]
        fitted = [self.fit(builder, x, Builder.type_of(p)) for x, p in zip(arguments, graph.parameters[graph.captured:])]
        return builder.apply(GRADIENT_CALL, f, Constant(options, Static(options)), *fitted, type=self.m.type(fact.type))


__all__ = ["monomorphize"]
