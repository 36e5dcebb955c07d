"""The J transform: reverse-mode differentiation of closed, typed graphs. Closures are the backpropagators; there is no tape.

    graph         ▶g(▶p…) = (▶y, partial(◀g, saved…))     ◀g(saved…, ∇y) = (∇p…)    saved: the ▶ nodes that ◀g uses
    primitive     ▶y = f(▶x…)                             ∇x_i += rule_i(▶x…, ▶y, ∇y)      inlined in ◀g
    known call    (▶y, ◀y) = ▶h(▶x…)                      r = ◀y(∇y);  ∇x_i += r[i]
    branch        (▶y, ◀y) = branch(c, ▶g1, ▶g2, ▶x…)     r = ◀y(∇y);  ∇x_i += r[i]
    closure       ▶partial(h, c…) = partial(▶h/k, ▶c…)    ∇c_i += env_get(∇closure, h, i)
    unknown call  (▶y, ◀y) = ▶f(▶x…)                      r = ◀y(∇y);  ∇f += r[0];  ∇x_i += r[i + 1]
    entry         ▶h/k(c…, x…) = (▶y, partial(◀h/k, b))    ◀h/k(b, ∇y) = (env_make[h](r[:k]), r[k:]…)  with r = b(∇y)

On entry: typed form (docs/architecture.md), no `gradient_call` in the graphs that are transformed. On exit: typed form; every node
was typed when it was made, nothing is inferred again. A sensitivity that is absent is not computed; integers, booleans and None
have none. The rules for `env_make`, `env_get` and `add_sensitivities` are linear, so the transform applies to its own output and
any order of derivative works.

References: Pearlmutter & Siskind, *Lambda the ultimate backpropagator*, TOPLAS 2008, section 4 (the transform with closures);
van Merriënboer et al. 2018, section 3.2. The function classes and the closed form are ours (docs/architecture.md, Gradient).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from myia_notebook.errors import error
from myia_notebook.gradient.activity import Activity
from myia_notebook.gradient.classes import Classes
from myia_notebook.gradient.events import Addition, GradientEvents, GradientRecord
from myia_notebook.gradient.sensitivity import accumulate, adapt, environment_get, environment_make, is_zero, nabla
from myia_notebook.ir.graph import UNDEFINED, Apply, Constant, Graph, Node, Parameter, callee_of, graph_constant, primitive_of, schedule
from myia_notebook.ir.types import Environment, Function, Tuple, is_trivial, sensitivity
from myia_notebook.ops.expression import Builder, Expr
from myia_notebook.ops.primitive import NotDifferentiable, Primitive, Structural
from myia_notebook.ops.table import PRIMITIVES

PARTIAL, BRANCH = PRIMITIVES["partial"], PRIMITIVES["branch"]
CLOSURE_GET, CUSTOM_CALL = PRIMITIVES["closure_get"], PRIMITIVES["custom_call"]


class Transform:
    """One application of J to a set of graphs. `forward(g)` declares ▶g and ◀g at once, typed by their signatures; `finish` fills them.

    `classes` gives the function classes of ▶ and ◀ graphs. `events` collects what the viewer replays (see `gradient.events`).
    """

    def __init__(self, classes: Classes, events: GradientEvents | None = None) -> None:
        self.classes = classes
        self.events = events
        self.activity: Activity | None = None
        classes.owner = self
        self._forward: dict[int, Graph] = {}
        self._backward: dict[int, Graph] = {}
        self._entries: dict[int, tuple[Graph, Graph]] = {}
        self._pending: list[tuple[Callable[[Graph], None], Graph]] = []

    # -- declarations: a graph's type is known before its body

    def forward(self, g: Graph) -> Graph:
        """▶g, with its parameters and result type; the body comes with `finish`."""
        if g.id not in self._forward:
            f = Graph(f"▶{g.name}", "forward", g.provenance.derive("▶", g.id), primal=g)
            b = Graph(f"◀{g.name}", "backpropagator", g.provenance.derive("◀", g.id), primal=g)
            self._forward[g.id], self._backward[g.id] = f, b
            for p in g.parameters:
                f.add_parameter(p.name, self.classes.forward_type(_typed(p)), p.provenance.derive("▶", p.id))
            assert g.result is not None, f"{g} has no result type"
            b.result = Tuple(tuple(sensitivity(_typed(p)) for p in g.parameters))
            f.result = Tuple((self.classes.forward_type(g.result), Function(self.classes.backpropagator_class(g))))
            self._pending.append((self._build, g))
        return self._forward[g.id]

    def backward(self, g: Graph) -> Graph:
        """◀g."""
        self.forward(g)
        return self._backward[g.id]

    def entries(self, g: Graph) -> tuple[Graph, Graph]:
        """(▶g/k, ◀g/k): how a *value* of g is differentiated; its captured values' sensitivities come as an environment."""
        if g.id not in self._entries:
            e = Graph(f"▶{g.name}", "forward", g.provenance.derive("▶", g.id), primal=g)
            b = Graph(f"◀{g.name}", "backpropagator", g.provenance.derive("◀", g.id), primal=g)
            self._entries[g.id] = (e, b)
            e.captured, b.captured = g.captured, 1
            self.forward(g)  # its result may still be on its way: a class whose members return closures of that class
            for p in g.parameters:
                e.add_parameter(p.name, self.classes.forward_type(_typed(p)), p.provenance.derive("▶", p.id))
            assert g.result is not None
            own, fwd, bwd = self.classes.of_value(g)
            e.function_class, b.function_class = fwd, bwd
            e.result = Tuple((self.classes.forward_type(g.result), Function(bwd)))
            b.add_parameter("b", Function(self.classes.backpropagator_class(g)))
            b.add_parameter("∇", sensitivity(g.result))
            b.result = Tuple((Environment(own), *(sensitivity(_typed(p)) for p in g.parameters[g.captured:])))
            self._pending.append((self._build_entry, g))
        return self._entries[g.id]

    def finish(self) -> None:
        """Builds every declared body; building declares more."""
        if self.activity is not None:
            self.activity.run()
        while self._pending:
            build, g = self._pending.pop(0)
            build(g)

    # -- bodies

    def _build_entry(self, g: Graph) -> None:
        e, b = self.entries(g)
        f = self.forward(g)
        eb, bb = Builder(e, e.provenance), Builder(b, b.provenance)
        assert f.result is not None and e.result is not None and isinstance(e.result, Tuple)
        called = eb.call(f, *e.parameters, type=f.result)
        closure = eb.apply(PARTIAL, Constant(b, e.result.items[1]), eb.item(called, 1), type=e.result.items[1])
        e.output = eb.apply(PRIMITIVES["make_tuple"], eb.item(called, 0), closure, type=e.result)
        back_type = self.backward(g).result
        assert back_type is not None and b.result is not None
        r = bb.call(b.parameters[0], b.parameters[1], type=back_type)
        captured = [bb.item(r, i) for i in range(g.captured)]
        environment = environment_make(bb, g, self.classes.of_value(g)[0], captured)
        rest = [bb.item(r, i) for i in range(g.captured, len(g.parameters))]
        b.output = bb.tuple(environment, *rest)

    def _build(self, g: Graph) -> None:
        _Body(self, g).build()


class _Body:
    """Builds ▶g and ◀g for one graph."""

    def __init__(self, transform: Transform, g: Graph) -> None:
        self.t, self.g = transform, g
        self.f, self.b = transform.forward(g), transform.backward(g)
        self.values: dict[int, Node] = {p.id: q for p, q in zip(g.parameters, self.f.parameters)}
        self.backs: dict[int, Node] = {}
        self.sums: dict[int, Node] = {}
        self.uses: dict[int, list[Addition]] = {}
        self.records: list[GradientRecord] = []

    def build(self) -> None:
        nodes = schedule(self.g)
        for node in nodes:
            self._forward_node(node)
        assert self.g.result is not None
        seed = Parameter(self.b, "∇" + (self.g.output.name or ""), sensitivity(self.g.result),
                         self.g.output.provenance.derive("∇", self.g.output.id))
        self._log("seed", self.g.output, sensitivity_node=seed)
        if not isinstance(self.g.output, Constant) and not is_trivial(sensitivity(self.g.result)):
            self.sums[self.g.output.id] = seed
        for node in reversed(nodes):
            d = self.sums.get(node.id)
            if d is not None:
                self._backward_node(node, d)
        bb = Builder(self.b, self.b.provenance)
        outputs = [self.sums.get(p.id) or bb.zero(sensitivity(_typed(p))) for p in self.g.parameters]
        self.b.output = bb.tuple(*outputs)
        self._log("return", None)
        self._close(seed)
        if self.t.events is not None:
            self.t.events.add_graph(self.g, self.f, self.b, self.records, self.uses)

    # -- ▶

    def _value(self, node: Node) -> Node:
        """▶node."""
        if isinstance(node, Constant):
            if node.value is UNDEFINED:
                return Constant(UNDEFINED, self.t.classes.forward_type(_typed(node)), node.name, node.provenance)
            target = graph_constant(node)
            if target is None or (target.function_class is not None and self.t.classes.is_data(target.function_class)):
                return node
            entry, _ = self.t.entries(target)
            return Constant(entry, Function(self.t.classes.of_value(target)[1]), node.name, node.provenance)
        return self.values[node.id]

    def _forward_node(self, node: Apply) -> None:
        builder = Builder(self.f, node.provenance.derive("▶", node.id))
        primitive = primitive_of(node)
        result = self.t.classes.forward_type(_typed(node))
        arguments = node.arguments
        if primitive is PARTIAL:
            value = self._forward_partial(builder, node, result)
        elif primitive is BRANCH:
            value = self._forward_branch(builder, node)
        elif primitive is CUSTOM_CALL:
            value = builder.apply(CUSTOM_CALL, *node.inputs[1:3], *map(self._value, node.inputs[3:]), type=result)
        elif primitive is not None:
            if primitive.name in ("gradient_call", "tangent_call"):
                raise error("M800", node.provenance.span, message="an inner gradient is transformed before it is expanded")
            value = builder.apply(primitive, *(self.t.classes.forward_operand(primitive, x, self._value) for x in arguments), type=result)
        else:
            value = self._forward_call(builder, node, result)
        if not value.name and not isinstance(value, Constant):
            value.name = node.name
        self.values[node.id] = value
        self._log("forward", node, forward=value)

    def _forward_partial(self, builder: Builder, node: Apply, result: Any) -> Node:
        target = graph_constant(node.inputs[1])
        assert target is not None
        if self.t.classes.is_data(_function_type(node).cls):
            return builder.apply(PARTIAL, node.inputs[1], *map(self._value, node.inputs[2:]), type=result)
        entry, _ = self.t.entries(target)
        return builder.apply(PARTIAL, Constant(entry, result), *map(self._value, node.inputs[2:]), type=result)

    def _forward_branch(self, builder: Builder, node: Apply) -> Node:
        first, second = (self.t.forward(_arm(x)) for x in node.inputs[2:4])
        assert first.result is not None and first.result == second.result, f"{first} and {second} differ"
        pair = builder.apply(BRANCH, self._value(node.inputs[1]), Constant(first), Constant(second),
                             *map(self._value, node.inputs[4:]), type=first.result)
        return self._unpack(builder, node, pair)

    def _forward_call(self, builder: Builder, node: Apply, result: Any) -> Node:
        target = callee_of(node)
        if target is not None:
            f = self.t.forward(target)
            assert f.result is not None
            pair = builder.call(f, *map(self._value, node.arguments), type=f.result)
        else:
            cls = _function_type(node.function).cls
            pair_type = Tuple((result, Function(self.t.classes.backward(cls))))
            pair = builder.call(self._value(node.function), *map(self._value, node.arguments), type=pair_type)
        return self._unpack(builder, node, pair)

    def _unpack(self, builder: Builder, node: Apply, pair: Node) -> Node:
        self.backs[node.id] = builder.item(pair, 1)
        return builder.item(pair, 0)

    # -- ◀

    def _backward_node(self, node: Apply, d: Node) -> None:
        if is_zero(d):
            return
        builder = Builder(self.b, node.provenance.derive("◀", node.id))
        primitive = primitive_of(node)
        additions: list[Addition] = []
        if primitive is PARTIAL:
            target = graph_constant(node.inputs[1])
            assert target is not None
            cls = _function_type(node).cls
            for i, x in enumerate(node.inputs[2:]):
                self._add(builder, x, lambda i=i: environment_get(builder, d, target, cls, i), additions)
        elif primitive is CLOSURE_GET:
            self._add(builder, node.inputs[1], lambda: self._closure_environment(builder, node, d), additions)
        elif primitive is CUSTOM_CALL:
            self._backward_custom(builder, node, d, additions)
        elif primitive is None or primitive is BRANCH:
            self._backward_call(builder, node, primitive, d, additions)
        else:
            self._backward_primitive(builder, node, primitive, d, additions)
        self._log("backward", node, sensitivity_node=d, additions=additions)

    def _closure_environment(self, builder: Builder, node: Apply, d: Node) -> Node:
        """∇f for node = closure_get(f, label, i): the environment of `label` with d at i and zeros beside it."""
        label, index = node.inputs[2], node.inputs[3]
        assert isinstance(label, Constant) and isinstance(index, Constant)
        member: Graph = label.value.graph
        items = [builder.zero(sensitivity(_typed(p))) for p in member.parameters[:member.captured]]
        items[index.value] = d
        return environment_make(builder, member, _function_type(node.inputs[1]).cls, items)

    def _backward_call(self, builder: Builder, node: Apply, primitive: Primitive | None, d: Node, additions: list[Addition]) -> None:
        target = _arm(node.inputs[2]) if primitive is BRANCH else callee_of(node)
        operands: list[Node]
        if target is not None:
            result = self.t.backward(target).result
            operands = node.inputs[4:] if primitive is BRANCH else node.arguments
        else:
            operands = node.inputs
            result = Tuple((sensitivity(_typed(node.function)), *(sensitivity(_typed(x)) for x in node.arguments)))
        if all(isinstance(x, Constant) or is_trivial(sensitivity(_typed(x))) or not self._is_active(x) for x in operands):
            return
        assert result is not None
        r = builder.call(self.backs[node.id], d, type=result)
        for i, x in enumerate(operands):
            self._add(builder, x, lambda i=i: builder.item(r, i), additions)

    def _backward_custom(self, builder: Builder, node: Apply, d: Node, additions: list[Addition]) -> None:
        """r = q(▶x…, ∇y);  ∇x_i += r[i]: the user's own backpropagator."""
        backward = _arm(node.inputs[2])
        operands = node.inputs[3:]
        assert isinstance(backward.result, Tuple)
        captured = len(operands) - len(backward.result.items)
        r = builder.call(backward, *map(self._value, operands), d, type=backward.result)
        for i, x in enumerate(operands[captured:]):
            self._add(builder, x, lambda i=i: builder.item(r, i), additions)

    def _backward_primitive(self, builder: Builder, node: Apply, primitive: Primitive, d: Node, additions: list[Addition]) -> None:
        rule = primitive.backpropagator
        if isinstance(rule, NotDifferentiable):
            if rule.is_missing:
                raise error("M603", node.provenance.span, message=f"the derivative of '{primitive.name}' is not built", hint=rule.reason)
            return
        if isinstance(rule, Structural):
            raise error("M603", node.provenance.span, message=f"'{primitive.name}' cannot be differentiated here", hint=rule.why)
        arguments = [Expr(builder, self.t.classes.forward_operand(primitive, x, self._value), False, _typed(x)) for x in node.arguments]
        entries = rule(*arguments, builder.expr(self.values[node.id]), builder.expr(d, is_sensitivity=True))
        for x, entry in zip(node.arguments, entries):
            if entry is not None:
                self._add(builder, x, lambda entry=entry: entry() if callable(entry) else entry, additions)

    def _is_active(self, node: Node) -> bool:
        return self.t.activity is None or self.t.activity.is_active(node)

    def _add(self, builder: Builder, target: Node, make: Callable[[], Any], additions: list[Addition]) -> None:
        """∇target += make()."""
        if isinstance(target, Constant) or not self._is_active(target):
            return
        nabla_type = sensitivity(_typed(target))
        if is_trivial(nabla_type):
            return
        made = make()
        node = made.node if isinstance(made, Expr) else made
        if node is None or is_zero(node):
            return
        node = adapt(builder, node, nabla_type)
        before = self.sums.get(target.id)
        total = node if before is None else accumulate(builder, before, node)
        nabla(total, target)
        self.sums[target.id] = total
        addition = Addition(target, node, total)
        additions.append(addition)
        self.uses.setdefault(target.id, []).append(addition)

    # -- closing ◀g over what it uses of ▶g

    def _close(self, seed: Parameter) -> None:
        saved: dict[int, Parameter] = {}
        originals: list[Node] = []

        def own(node: Node) -> Node:
            if isinstance(node, Constant) or getattr(node, "graph", None) is self.b:
                return node
            if node.id not in saved:
                saved[node.id] = Parameter(self.b, node.name, node.type, node.provenance.derive("kept", node.id))
                originals.append(node)
            return saved[node.id]

        for node in schedule(self.b):
            node.inputs[:] = [own(x) for x in node.inputs]
        self.b.output = own(self.b.output)
        self.b.parameters = [*saved.values(), seed]
        self.b.captured = len(saved)
        cls = self.t.classes.backpropagator_class(self.g)
        self.b.function_class = cls
        builder = Builder(self.f, self.f.provenance)
        head = Constant(self.b, Function(cls))
        closure = builder.apply(PARTIAL, head, *originals, type=Function(cls)) if originals else head
        assert self.f.result is not None
        self.f.output = builder.apply(PRIMITIVES["make_tuple"], self._value(self.g.output), closure, type=self.f.result)

    def _log(self, phase: str, primal: Node | None, forward: Node | None = None, sensitivity_node: Node | None = None,
             additions: list[Addition] | None = None) -> None:
        if self.t.events is not None:
            self.records.append(GradientRecord(phase, self.g, primal, forward, sensitivity_node, additions or []))


def _typed(node: Node) -> Any:
    return Builder.type_of(node)


def _function_type(node: Node) -> Function:
    t = _typed(node)
    assert isinstance(t, Function), f"{node!r} of type {t} is no function"
    return t


def _arm(node: Node) -> Graph:
    target = graph_constant(node)
    assert target is not None, "an arm of a branch is a graph"
    return target
