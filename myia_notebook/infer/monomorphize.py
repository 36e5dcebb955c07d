"""From contexts to typed graphs: one graph per context, every node with one type, casts where types meet.

First the classes: labels that occur in one function type are unified, and get one signature (the join of all their calls) and one
result; contexts that this concerns are inferred again, until nothing changes. Then each context reached from the program's becomes a
graph: operations are replaced by their expansions, known ints, bools and static values by constants, a conditional with a known
condition by the call of its arm, a call of a closure that is visible by a known call.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from myia_notebook.errors import error
from myia_notebook.infer import derivatives
from myia_notebook.infer.calls import arranged
from myia_notebook.infer.classes import dispatch, joined_signature, see
from myia_notebook.infer.engine import BRANCH, CALL_WITH, MAKE_TUPLE, PARTIAL, REBOUND, SWITCH, Context, Engine, Expansion, FieldUse
from myia_notebook.infer.join import CannotJoin, FunctionSet, Label, is_trackable, join
from myia_notebook.infer.records import MethodUse
from myia_notebook.ir.graph import UNDEFINED, Apply, Constant, Graph, Node, is_call_of, schedule
from myia_notebook.ir.types import BOOL, NEVER, NONE, Function, FunctionClass, List, Record, Scalar, Static, Structure, Tuple, Type, map_parts, parts
from myia_notebook.ops.environment import Label as Label_
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.primitive import Abstract
from myia_notebook.ops.table import PRIMITIVES

CAST = PRIMITIVES["cast"]


def monomorphize(engine: Engine, root: Context) -> Graph:
    """The typed form of a program."""
    _unify(engine)
    engine.check(root)
    return _Monomorphizer(engine, root).run()


# -- function classes

def _unify(engine: Engine) -> None:
    """One signature and one result for each class of labels; to a fixpoint."""
    for _ in range(200):
        for label in engine.label_list:
            for fact in label.captured:
                see(engine, fact.type)
        for context in engine.all:
            for fact in (*context.parameters(), *context.facts.values(), *((context.result,) if context.result else ())):
                see(engine, fact.type)
        changed = False
        changed |= _one_constructor(engine)
        for members in _classes(engine):
            changed |= _one_signature(engine, members)
        engine.drain()
        for members in _classes(engine):
            changed |= _one_result(engine, members)
        engine.drain()
        if not changed:
            return
    raise error("M307", name="a function", types="its signature does not settle")


def _classes(engine: Engine) -> list[list[Label]]:
    groups: dict[int, list[Label]] = {}
    for label in engine.label_list:
        if "box" not in label.graph.flags:
            groups.setdefault(label.root().number, []).append(label)
    return list(groups.values())


def _one_constructor(engine: Engine) -> bool:
    """Constructors of one union that differ only in which closures of one class they hold become one: their values look the same."""
    found: dict[Any, Label] = {}
    changed = False
    for label in engine.label_list:
        if "box" in label.graph.flags and not label.is_merged and label.captured:
            first = found.setdefault((label.root().number, label.graph.id, tuple(_by_class(a.type) for a in label.captured)), label)
            if first is not label and first.captured != label.captured:
                engine.merge(first, label)
                changed = True
    return changed


def _by_class(t: Type) -> Any:
    """t with each set of closures as the number of its class."""
    match t:
        case FunctionSet(labels):
            return ("class", labels[0].root().number)
        case Record(items, structure):
            return ("record", structure, *map(_by_class, items))
        case Tuple(items):
            return ("tuple", *map(_by_class, items))
        case List(item):
            return ("list", _by_class(item))
        case _:
            return t


def _one_signature(engine: Engine, members: list[Label]) -> bool:
    """The join of all calls; a class for which there is none is dispatched."""
    root = members[0].root()
    signatures = list(dict.fromkeys(types for label in members for types in label.contexts))
    if not signatures or root.is_dispatched:
        return False
    total = root.signature or signatures[0]
    try:
        for types in signatures:
            total = joined_signature(total, types, engine.box)
    except CannotJoin:
        dispatch(engine, root)
        return True
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
    if members[0].root().is_dispatched:
        return False
    contexts = [context for label in members for context in label.contexts.values()]
    results = [context.result for context in contexts if context.result is not None]
    if not results:
        return False
    total = results[0].type
    for result in results[1:]:
        try:
            total = join(total, result.type, engine.box)
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
        program.flags["result"] = program.result
        erase_records(program)
        return program

    # -- types

    def type(self, t: Type) -> Type:
        """The final type: function sets become their classes."""
        match t:
            case FunctionSet(labels):
                return Function(self.function_class(labels[0].root()))
            case Tuple() | List():
                known = self.types.get(t)
                if known is None:
                    known = self.types[t] = map_parts(t, self.type)
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
        """The graph that a closure runs; one that is never called, or whose calls are dispatched, has only its captured parameters."""
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
            if "library" in label.graph.flags:
                graph.flags["library"] = label.graph.flags["library"]
            if label.root().is_dispatched:
                graph.flags["box"] = "function"
            if "box" in label.graph.flags:
                graph.flags["box"] = label.graph.flags["box"]
                graph.flags["number"], graph.flags["origin"] = label.number, label.origin
                graph.flags["fields"] = tuple(p.type for p in graph.parameters)
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
            graph.captured = source.captured if context.label is not None and not context.label.root().is_dispatched else 0
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
        return Constant(node.value, self.m.type(fact.type), node.name, node.provenance)

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
        if isinstance(want, List) and isinstance(have, Record):
            items = [self.fit(builder, builder.item(node, i), want.item) for i in range(len(have.items))]
            return builder.apply(PRIMITIVES["list_make"], *items, type=want) if items else builder.zero(want)
        if isinstance(have, Tuple) and isinstance(want, Tuple):
            items = [self.fit(builder, builder.item(node, i), t) for i, t in enumerate(want.items)]
            return builder.apply(MAKE_TUPLE, *items, type=want) if items else Constant((), want, node.name, node.provenance)
        if isinstance(want, List) and isinstance(have, List):
            return builder.apply(CAST, node, Constant(want, Static(want)), type=want)
        if isinstance(want, Function) and isinstance(have, Static):
            member = next((m for m in want.cls.members if m.flags.get("library") is have.value), None)
            if member is not None:
                return Constant(member, want, node.name, node.provenance)
        if isinstance(want, Function) and have != NEVER and (not isinstance(have, Function) or _holder(have, want) is not None):
            return self._boxed(builder, node, have, want)
        from myia_notebook.ops.operators import convert
        if have == NEVER:
            return builder.apply(CAST, node, Constant(want, Static(want)), type=want)
        return convert(builder.expr(node), want).node

    def _boxed(self, builder: Builder, node: Node, have: Type, want: Function) -> Node:
        """A value as one of a union: the closure of its constructor."""
        kind: Any = "none" if have == NONE else have.structure if isinstance(have, Record) and have.structure.cls is not None else "value"
        found = [m for m in want.cls.members if m.flags.get("box") == kind]
        fields = [node] if kind == "value" else [builder.item(node, i) for i in range(len(parts(have)))]
        types = [Builder.type_of(x) for x in fields]
        exact = [m for m in found if [p.type for p in m.parameters] == types]
        fitting = exact or [m for m in found if all(can_fit(t, Builder.type_of(p)) for t, p in zip(types, m.parameters))]
        assert fitting, f"no constructor of {want} holds {have}"
        member = fitting[0]
        items = [self.fit(builder, x, Builder.type_of(p)) for x, p in zip(fields, member.parameters)]
        head = Constant(member, want)
        return builder.apply(PARTIAL, head, *items, type=want) if items else head

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
        if isinstance(use, MethodUse):
            return self._method(builder, node, use, fact)
        if isinstance(use, FieldUse):
            head = builder.item(self.get(node.inputs[1]), use.index)
            operands = [self.get(x) for x in node.inputs[3:]]
            if isinstance(use.contexts, MethodUse):
                given = [head, *operands]
                return self._method_cases(builder, use.contexts, [given[i + 1] for i in use.contexts.positions], fact)
            return self._unknown_call(builder, head, use.contexts, operands, len(operands), (), fact)
        if isinstance(use, derivatives.Use):
            return use.build(self, builder, node, derivatives.operands_of(self, builder, node), self.m.type(fact.type))
        assert isinstance(use, list), f"{node!r} was not inferred"
        if value is BRANCH:
            return self._branch(builder, node, use, fact)
        if isinstance(value, Graph):
            graph = self.m.instance(use[0])
            return self._call(builder, graph, [self.get(x) for x in node.inputs[1:]], fact)
        if value is CALL_WITH:
            operands, names = self._call_operands(builder, node)
            return self._unknown_call(builder, self.get(node.inputs[1]), use, operands, len(operands) - len(names), names, fact)
        operands = [self.get(x) for x in node.inputs[1:]]
        return self._unknown_call(builder, self.get(head), use, operands, len(operands), (), fact)

    def _call_operands(self, builder: Builder, node: Apply) -> tuple[list[Node], tuple[str, ...]]:
        """The arguments of a call with '*', '**' or keywords, as inference laid them out."""
        paths, names = self.context.uses[node.id, "call"]  # type: ignore[index]
        given = [self.get(x) for x in node.inputs[3:]]
        return [given[i] if item is None else builder.item(given[i], item) for i, item in paths], names

    def _method(self, builder: Builder, node: Apply, use: MethodUse, fact: Abstract) -> Node:
        """The call of a user's method; for a union a branch for each constructor."""
        head = node.inputs[0]
        if isinstance(head, Constant) and head.value is CALL_WITH:
            given, _ = self._call_operands(builder, node)
            callee = node.inputs[1]
        else:
            given, callee = [self.get(x) for x in node.inputs[1:]], head
        operands = [self.get(callee) if i < 0 else given[i] for i in use.positions]
        return self._method_cases(builder, use, operands, fact)

    def _method_cases(self, builder: Builder, use: MethodUse, operands: list[Node], fact: Abstract) -> Node:
        """One call for each constructor that the receiver may be."""
        if len(use.cases) == 1:
            return self._method_call(builder, use, 0, operands, fact)
        labels = [case.label for case in use.cases if case.label is not None]
        return self._cases(builder, labels, operands, lambda inner, i, values: self._method_call(inner, use, i, values, fact), self.m.type(fact.type))

    def _cases(self, builder: Builder, labels: list[Label], operands: list[Node], made: Callable[[Builder, int, list[Node]], Node], want: Type,
               first: int = 0) -> Node:
        """`made(…, i, operands)` where the label i made the first operand: a branch for each but the last."""
        if first == len(labels) - 1:
            return made(builder, first, operands)
        name = Label_(self.m.label_graph(labels[first]))
        test = builder.apply(PRIMITIVES["closure_is"], operands[0], Constant(name, Static(name)), type=BOOL)
        arms = []
        for is_it, text in ((True, labels[first].graph.name), (False, "otherwise")):
            arm = Graph(text, "branch", builder.provenance)
            parameters: list[Node] = [arm.add_parameter(x.name, Builder.type_of(x)) for x in operands]
            arm.result = want
            inner = Builder(arm, builder.provenance)
            x = made(inner, first, parameters) if is_it else self._cases(inner, labels, parameters, made, want, first + 1)
            arm.output = self.fit(inner, x, want)
            arms.append(arm)
        return builder.apply(BRANCH, test, Constant(arms[0]), Constant(arms[1]), *operands, type=want)

    def _method_call(self, builder: Builder, use: MethodUse, index: int, operands: list[Node], fact: Abstract) -> Node:
        case = use.cases[index]
        receiver = operands[0]
        want = self.m.type(case.receiver)
        if case.label is not None and Builder.type_of(receiver) != want:
            receiver = self._held(builder, receiver, case.label)
        return self._call(builder, self.m.instance(use.contexts[index]), self._recipe(builder, case.recipe, [receiver, *operands[1:]]), fact)

    def _held(self, builder: Builder, node: Node, label: Label) -> Node:
        """The fields of a value that this constructor made, as a record."""
        graph = self.m.label_graph(label)
        name = Label_(graph)
        items = [builder.apply(PRIMITIVES["closure_get"], node, Constant(name, Static(name)), builder.constant(i), type=Builder.type_of(p))
                 for i, p in enumerate(graph.parameters)]
        return items[0] if graph.flags["box"] == "value" else builder.record(graph.flags["box"], *items)

    def _gradient_operand(self, node: Apply) -> Node:
        head = node.inputs[0]
        return node.inputs[3] if isinstance(head, Constant) and head.value is CALL_WITH else node.inputs[1]

    def _splice(self, builder: Builder, use: Expansion, operands: list[Node]) -> Node:
        """Copies the expansion into this graph over the typed operands."""
        made: dict[int, Node] = {}
        for leaf, operand in zip(use.leaves, operands):
            made[leaf.id] = self._known(leaf) if isinstance(leaf, Constant) else self.fit(builder, self.get(operand), self.m.type(leaf.type))  # type: ignore[arg-type]
        return self._copied(self.graph, use.output, made)

    def _copied(self, graph: Graph, output: Node, made: dict[int, Node]) -> Node:
        """`output` and what it needs, as nodes of `graph` with final types."""
        if not isinstance(output, Apply):
            return made.get(output.id) or self._known(output)  # type: ignore[arg-type]
        for inner in schedule(output.graph, [output]):
            if inner.id in made:
                continue
            head = inner.inputs[0]
            primitive = head.value if isinstance(head, Constant) else None
            t = self.m.type(inner.type)  # type: ignore[arg-type]
            inputs = [head, *(made.get(x.id) or self._operand(primitive, i, x) for i, x in enumerate(inner.inputs[1:]))]
            if primitive is CAST and Builder.type_of(inputs[1]) == t:
                made[inner.id] = inputs[1]
                continue
            if primitive is PARTIAL:  # the constructor of a union says what it takes
                fields = [Builder.type_of(p) for p in inputs[1].value.parameters]  # type: ignore[attr-defined]
                inner_builder = Builder(graph, inner.provenance)
                inputs[2:] = [self.fit(inner_builder, x, want) for x, want in zip(inputs[2:], fields)]
                if not fields:
                    made[inner.id] = Constant(inputs[1].value, t, inner.name, inner.provenance)  # type: ignore[attr-defined]
                    continue
            if primitive is BRANCH:  # the arms say what they take
                taken = [Builder.type_of(p) for p in inputs[2].value.parameters]  # type: ignore[attr-defined]
                inner_builder = Builder(graph, inner.provenance)
                inputs[4:] = [self.fit(inner_builder, x, want) for x, want in zip(inputs[4:], taken)]
            made[inner.id] = Apply(graph, inputs, t, inner.name, inner.provenance)
        return made[output.id]

    def _operand(self, primitive: Any, i: int, x: Node) -> Node:
        """A constant of an expansion: constructors become graphs or their names, arms are copied."""
        if not isinstance(x, Constant):
            raise AssertionError(f"{x!r} is not part of the expansion")
        if isinstance(x.value, Label):
            graph = self.m.label_graph(x.value)
            if primitive is PARTIAL:
                return Constant(graph, Function(graph.function_class) if graph.function_class else self.m.type(FunctionSet((x.value,))))
            label = Label_(graph)
            return Constant(label, Static(label))
        if isinstance(x.value, Graph) and "expansion" in x.value.flags:
            return Constant(self._arm(x.value))
        return self._known(x)

    def _arm(self, source: Graph) -> Graph:
        """A copy of an arm that an expansion made."""
        arm = Graph(source.name, "branch", source.provenance)
        made: dict[int, Node] = {}
        for p in source.parameters:
            made[p.id] = arm.add_parameter(p.name, self.m.type(p.type), p.provenance)  # type: ignore[arg-type]
        arm.result = self.m.type(source.result)  # type: ignore[arg-type]
        arm.output = self.fit(Builder(arm, source.provenance), self._copied(arm, source.output, made), arm.result)
        return arm

    def _known(self, x: Constant) -> Constant:
        t = Builder.type_of(x)
        final = self.m.type(t)
        if isinstance(x.type, Static) and isinstance(x.value, Type):
            value = self.m.type(x.value)
            return Constant(value, Static(value), x.name, x.provenance)
        return x if final is t else Constant(x.value, final, x.name, x.provenance)

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
        if label.root().is_dispatched:
            return self._dispatched(builder, head, use, operands, count, names, fact)
        arguments = self._arranged(builder, label, operands, count, names)
        if is_call_of(head, PARTIAL) and len(use) == 1:
            assert isinstance(head, Apply)
            captured = head.inputs[2:]
            if "gradient" in label.graph.flags:
                return self._inline_derivative(builder, use[0], captured, arguments, fact)
            return self._call(builder, self.m.label_graph(label), [*captured, *arguments], fact)
        if isinstance(head, Constant) and isinstance(head.value, Graph):
            return self._call(builder, self.m.label_graph(label), arguments, fact)
        graph = self.m.label_graph(label)
        if names and "gradient" in label.graph.flags:
            raise error("M308", builder.provenance.span, message="keywords in a call of a derivative that is only known at run time",
                        hint="pass the arguments by position")
        fitted = [self.fit(builder, x, Builder.type_of(p)) for x, p in zip(arguments, graph.parameters[graph.captured:])]
        assert graph.result is not None
        return builder.call(head, *fitted, type=graph.result)

    def _dispatched(self, builder: Builder, head: Node, use: list[Context], operands: list[Node], count: int, names: tuple[str, ...],
                    fact: Abstract) -> Node:
        """A call of a member of a dispatched class: each with its own parameters."""
        def call(inner: Builder, i: int, values: list[Node]) -> Node:
            label = use[i].label
            assert label is not None
            if is_call_of(values[0], PARTIAL):
                captured = values[0].inputs[2:]  # type: ignore[attr-defined]
            else:
                name = Label_(self.m.label_graph(label))
                captured = [inner.apply(PRIMITIVES["closure_get"], values[0], Constant(name, Static(name)), inner.constant(k), type=Builder.type_of(p))
                            for k, p in enumerate(name.graph.parameters)]
            arguments = self._arranged(inner, label, values[1:], count, names)
            return self._call(inner, self.m.instance(use[i]), [*captured, *arguments], fact)

        labels = [context.label for context in use if context.label is not None]
        return self._cases(builder, labels, [head, *operands], call, self.m.type(fact.type))

    def callable(self, builder: Builder, f: Node, use: list[Context], operands: list[Node], names: tuple[str, ...], result: Type) -> Node:
        """A function of a dispatched class as one that takes just these operands: x… ↦ f(x…)."""
        graph = Graph(use[0].graph.name, "closure", builder.provenance)
        parameters: list[Node] = [graph.add_parameter(x.name, Builder.type_of(x)) for x in (f, *operands)]
        graph.captured, graph.result = 1, self.m.type(result)
        graph.function_class = FunctionClass([graph], graph.name)
        inner = Builder(graph, builder.provenance)
        made = self._dispatched(inner, parameters[0], use, parameters[1:], len(operands) - len(names), names, Abstract(result))
        graph.output = self.fit(inner, made, graph.result)
        t = Function(graph.function_class)
        return builder.apply(PARTIAL, Constant(graph, t), f, type=t)

    def _arranged(self, builder: Builder, label: Label, operands: list[Node], count: int, names: tuple[str, ...]) -> list[Node]:
        if "gradient" in label.graph.flags:
            return operands
        signature = label.graph.signature
        plain = signature is None or not (signature.variadic or signature.keywords or signature.keyword_only)
        if plain and not names and count == len(label.graph.parameters) - label.graph.captured:
            return operands
        return self._recipe(builder, arranged(label.graph, count, names), operands)

    @staticmethod
    def _recipe(builder: Builder, recipe: list[Any], operands: list[Node]) -> list[Node]:
        made: list[Node] = []
        for part in recipe:
            match part:
                case int():
                    made.append(operands[part])
                case tuple():
                    made.append(builder.tuple(*(operands[i] for i in part)))
                case dict():
                    made.append(builder.record(Structure("dict", tuple(part)), *(operands[i] for i in part.values())))
                case _:
                    made.append(part)
        return made

    # -- derivatives

    def _inline_derivative(self, builder: Builder, context: Context, captured: list[Node], arguments: list[Node], fact: Abstract) -> Node:
        """grad(f)(x…) where grad(f) is visible: the gradient_call itself."""
        inner = context.graph.output
        use = context.uses.get(inner.id)
        if context.graph.name not in derivatives.INLINE or not isinstance(use, derivatives.Use):
            return self._call(builder, self.m.instance(context), [*captured, *arguments], fact)
        assert isinstance(inner, Apply)
        return use.build(self, builder, inner, [captured[0], inner.inputs[2], *captured[1:], *arguments], self.m.type(context.facts[inner.id].type))


def _holder(have: Function, want: Function) -> Graph | None:
    """The constructor of a union that holds functions of this class."""
    if have.cls is want.cls:
        return None
    return next((m for m in want.cls.members if m.flags.get("box") == "value" and m.parameters[0].type == have), None)


def can_fit(have: Type, want: Type) -> bool:
    """Whether `fit` can make a value of type `want` of one of type `have`."""
    if have == want or have == NEVER:
        return True
    match have, want:
        case Static(value), Function(cls) if any(m.flags.get("library") is value for m in cls.members):
            return True
        case Function(), Function() if _holder(have, want) is not None:
            return True
        case _, Function(cls) if not isinstance(have, Function):
            kind: Any = "none" if have == NONE else have.structure if isinstance(have, Record) and have.structure.cls is not None else "value"
            types = [have] if kind == "value" else list(parts(have))
            return any(m.flags.get("box") == kind and all(can_fit(t, Builder.type_of(p)) for t, p in zip(types, m.parameters)) for m in cls.members)
        case Record(items, structure), List(item):
            return structure.kind == "list" and all(can_fit(t, item) for t in items)
        case List(item), List():
            return item == NEVER
        case Tuple(first), Tuple(second):
            same = not isinstance(have, Record) or not isinstance(want, Record) or have.structure == want.structure
            return same and len(first) == len(second) and all(can_fit(a, b) for a, b in zip(first, second))
        case Scalar(), Scalar():
            return True
        case _:
            return False


# -- records

def erased(t: Type | None) -> Any:
    """Records become tuples."""
    match t:
        case Record(items):
            return Tuple(tuple(map(erased, items)))
        case None:
            return None
        case _:
            return map_parts(t, erased)


def erase_records(root: Graph) -> None:
    """What is a record to the user is a tuple from here on."""
    from myia_notebook.gradient.classes import program_graphs
    for graph in program_graphs(root):
        graph.result = erased(graph.result)
        for p in graph.parameters:
            p.type = erased(p.type)
        for node in (*schedule(graph), Apply(graph, [graph.output], None)):
            node.type = erased(node.type)
            for x in node.inputs:
                if isinstance(x, Constant) and x.type is not None:
                    if isinstance(x.type, Static) and isinstance(x.value, Type):
                        x.value = erased(x.value)
                        x.type = Static(x.value)
                    else:
                        x.type = erased(x.type)


__all__ = ["erase_records", "erased", "monomorphize"]
