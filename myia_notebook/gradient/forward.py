"""Forward mode on closed, typed graphs: ▷g computes beside every value its tangent.

    graph         ▷g(▷p…, ṗ…) = (▷y, ẏ)
    primitive     ▷y = f(▷x…);  ẏ = Σ_i ∂f/∂x_i ẋ_i          by the primitive's `tangent` field
    known call    (▷y, ẏ) = ▷h(▷x…, ẋ…)
    branch        (▷y, ẏ) = branch(c, ▷g1, ▷g2, ▷x…, ẋ…)
    closure       ▷partial(h, c…) = partial(▷h/k, ▷c…)       its tangent: env_make[h](ċ…)
    unknown call  (▷y, ẏ) = ▷f(ḟ, ▷x…, ẋ…)
    entry         ▷h/k(▷c…, ḟ, ▷x…, ẋ…) = ▷h(▷c…, ▷x…, ċ…, ẋ…)  with ċ_i = env_get(ḟ, h, i)
    custom        ẏ = the transpose of its backpropagator, by the reverse mode of a linear function

The tangent of a value of type t has type `sensitivity(t)`: a closure's is the environment of the tangents of what it captured, so
that what holds of environments in reverse mode holds here, and the modes nest in any order. A tangent that is zero before running is
the constant ZERO and costs nothing; where all are, the primal graph itself is called. Every derivative has graphs and parameters of its own for
its tangents, so that two perturbations are never confused (Siskind & Pearlmutter 2005).

On entry: typed form without derivative calls. On exit: typed form; every node typed when made. Reference: Pearlmutter & Siskind 2008, §3;
the environments as tangents of closures are ours.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from myia_notebook.errors import error
from myia_notebook.gradient.classes import DerivedTypes
from myia_notebook.gradient.options import GradientOptions
from myia_notebook.gradient.sensitivity import accumulate, environment_get, environment_make, is_zero
from myia_notebook.infer.values import function_class_of
from myia_notebook.ir.graph import UNDEFINED, Apply, Constant, Graph, Node, callee_of, graph_constant, primitive_of, schedule
from myia_notebook.ir.types import NEVER, Array, Environment, Function, FunctionClass, Static, Tuple, Type, is_trivial, sensitivity
from myia_notebook.ops.environment import Label
from myia_notebook.ops.expression import Builder, Expr
from myia_notebook.ops.primitive import FromBackpropagator, Linear, NotDifferentiable, Primitive, Structural
from myia_notebook.ops.table import PRIMITIVES

PARTIAL, BRANCH, SWITCH, SEQUENCE, CAST, MAKE_TUPLE, GETITEM, CLOSURE_IS, CLOSURE_GET, GRADIENT_CALL, CUSTOM_CALL = (
    PRIMITIVES[n] for n in ("partial", "branch", "switch", "sequence", "cast", "make_tuple", "tuple_getitem", "closure_is", "closure_get",
                            "gradient_call", "custom_call"))


class ForwardClasses(DerivedTypes):
    """Types of ▷ values: a class of functions becomes the class of its members' entries."""

    def __init__(self, owner: Forward) -> None:
        super().__init__()
        self.owner = owner
        self._classes: dict[int, tuple[FunctionClass, FunctionClass]] = {}

    def forward(self, cls: FunctionClass) -> FunctionClass:
        known = self._classes.get(id(cls))
        if known is None:
            known = self._classes[id(cls)] = (cls, FunctionClass([], f"▷{cls.name}"))
            for member in cls.members:
                known[1].members.append(self.owner.entries(member)[0])
        return known[1]


class Forward:
    """One application of ▷ to a set of graphs. `tangent(g)` declares ▷g, typed by its signature; `finish` fills the bodies."""

    def __init__(self) -> None:
        self.classes = ForwardClasses(self)
        self._tangents: dict[int, Graph] = {}
        self._entries: dict[int, Graph] = {}
        self._pending: list[tuple[Callable[[Graph], None], Graph]] = []

    def tangent(self, g: Graph) -> Graph:
        """▷g: the parameters of g, then the tangents of those that have one."""
        made = self._tangents.get(g.id)
        if made is None:
            made = self._tangents[g.id] = Graph(f"▷{g.name}", "tangent", g.provenance.derive("▷", g.id), primal=g)
            for p in g.parameters:
                made.add_parameter(p.name, self.classes.forward_type(_typed(p)), p.provenance.derive("▷", p.id))
            for p in having_tangents(g.parameters):
                made.add_parameter(_dotted(p), sensitivity(_typed(p)), p.provenance.derive("▷", p.id))
            assert g.result is not None, f"{g} has no result type"
            made.result = self.result_type(g.result)
            self._pending.append((self._build, g))
        return made

    def result_type(self, t: Type) -> Tuple:
        return Tuple((self.classes.forward_type(t), sensitivity(t)))

    def entries(self, g: Graph) -> tuple[Graph]:
        """(▷g/k,): the graph of a *value* of g."""
        entry = self._entries.get(g.id)
        if entry is None:
            entry = self._entries[g.id] = Graph(f"▷{g.name}", "tangent", g.provenance.derive("▷", g.id), primal=g)
            entry.captured = g.captured
            own = function_class_of(g)
            captured, rest = g.parameters[:g.captured], g.parameters[g.captured:]
            for p in captured:
                entry.add_parameter(p.name, self.classes.forward_type(_typed(p)), p.provenance.derive("▷", p.id))
            entry.add_parameter("", Environment(own))
            for p in rest:
                entry.add_parameter(p.name, self.classes.forward_type(_typed(p)), p.provenance.derive("▷", p.id))
            for p in having_tangents(rest):
                entry.add_parameter(_dotted(p), sensitivity(_typed(p)), p.provenance.derive("▷", p.id))
            assert g.result is not None
            entry.function_class = self.classes.forward(own)
            entry.result = self.result_type(g.result)
            self._pending.append((self._build_entry, g))
        return (entry,)

    def finish(self) -> None:
        """Builds every declared body; building declares more."""
        while self._pending:
            build, g = self._pending.pop(0)
            build(g)

    def call(self, builder: Builder, target: Graph, values: list[Node], tangents: list[Node]) -> Node:
        """▷target on the values and (all) tangents of its parameters."""
        kept = [d for p, d in zip(target.parameters, tangents) if has_tangent(_typed(p))]
        callee = self.tangent(target)
        assert callee.result is not None
        return builder.call(callee, *values, *kept, type=callee.result)

    def _build_entry(self, g: Graph) -> None:
        (entry,) = self.entries(g)
        builder = Builder(entry, entry.provenance)
        k, n = g.captured, len(g.parameters)
        environment = entry.parameters[k]
        values = [*entry.parameters[:k], *entry.parameters[k + 1:n + 1]]
        rest = iter(entry.parameters[n + 1:])
        tangents: list[Node] = []
        for i, p in enumerate(g.parameters):
            if not has_tangent(_typed(p)):
                tangents.append(builder.zero(sensitivity(_typed(p))))
            elif i < k:
                tangents.append(environment_get(builder, environment, g, function_class_of(g), i))
            else:
                tangents.append(next(rest))
        entry.output = self.call(builder, g, list(values), tangents)

    def _build(self, g: Graph) -> None:
        _Body(self, g).build()


class _Body:
    """Builds ▷g for one graph."""

    def __init__(self, forward: Forward, g: Graph) -> None:
        self.t, self.g, self.f = forward, g, forward.tangent(g)
        n = len(g.parameters)
        self.values: dict[int, Node] = dict(zip((p.id for p in g.parameters), self.f.parameters))
        self.tangents: dict[int, Node] = dict(zip((p.id for p in having_tangents(g.parameters)), self.f.parameters[n:]))

    def build(self) -> None:
        for node in schedule(self.g):
            builder = Builder(self.f, node.provenance.derive("▷", node.id))
            value, tangent = self._node(builder, node)
            if not value.name and not isinstance(value, Constant):
                value.name = node.name
            if isinstance(tangent, Apply) and tangent.graph is self.f and not tangent.name and node.name:
                tangent.name = _dotted(node)
            self.values[node.id] = value
            if not is_zero(tangent):
                self.tangents[node.id] = tangent
        builder = Builder(self.f, self.f.provenance)
        assert self.f.result is not None and isinstance(self.f.result, Tuple)
        value, tangent = self._value(self.g.output), self._tangent(self.g.output)
        if _typed(tangent) != self.f.result.items[1]:  # the output never exists, or is the undefined constant
            tangent = builder.zero(self.f.result.items[1])
        self.f.output = builder.apply(MAKE_TUPLE, value, tangent, type=self.f.result)

    # -- operands

    def _value(self, node: Node) -> Node:
        """▷node."""
        if isinstance(node, Constant):
            if node.value is UNDEFINED:
                return Constant(UNDEFINED, self.t.classes.forward_type(_typed(node)), node.name, node.provenance)
            target = graph_constant(node)
            if target is None or (target.function_class is not None and self.t.classes.is_data(target.function_class)):
                return node
            cls = self.t.classes.forward(function_class_of(target))
            return Constant(self.t.entries(target)[0], Function(cls), node.name, node.provenance)
        return self.values[node.id]

    def _tangent(self, node: Node) -> Node:
        found = self.tangents.get(node.id)
        return Builder(self.f).zero(sensitivity(_typed(node))) if found is None else found

    def _is_constant(self, nodes: list[Node], result: Type) -> bool:
        """Whether a call of the primal graph says it all: no operand has a tangent, and ▷ changes no type."""
        same = self.t.classes.forward_type
        return all(is_zero(self._tangent(x)) and same(_typed(x)) == _typed(x) for x in nodes) and same(result) == result

    # -- nodes

    def _node(self, builder: Builder, node: Apply) -> tuple[Node, Node]:
        primitive = primitive_of(node)
        if primitive is None:
            return self._call(builder, node)
        if primitive is BRANCH:
            return self._branch(builder, node)
        if primitive is CUSTOM_CALL:
            return self._custom(builder, node)
        if primitive is PARTIAL:
            return self._partial(builder, node)
        if isinstance(primitive.tangent, Structural) and primitive is not CLOSURE_GET:
            raise error("M800" if primitive.name == "gradient_call" else "M603", node.provenance.span,
                        message=f"'{primitive.name}' cannot be differentiated here", hint=primitive.tangent.why)
        result = self.t.classes.forward_type(_typed(node))
        value = builder.apply(primitive, *(self._operand(primitive, x) for x in node.arguments), type=result)
        t = sensitivity(_typed(node))
        if is_trivial(t):
            return value, builder.zero(t)
        return value, self._primitive(Builder(self.f, node.provenance.derive("tangent", node.id)), node, primitive, value, t)

    def _operand(self, primitive: Primitive, operand: Node) -> Node:
        """The primitives that look into a closure name its graph: there ▷f has ▷'s label."""
        if primitive in (CLOSURE_IS, CLOSURE_GET) and isinstance(operand, Constant) and isinstance(operand.value, Label):
            graph = operand.value.graph
            if not self.t.classes.is_data(function_class_of(graph)):
                return Constant(Label(self.t.entries(graph)[0]), operand.type, operand.name, operand.provenance)
            return operand
        return self._value(operand)

    def _partial(self, builder: Builder, node: Apply) -> tuple[Node, Node]:
        target = graph_constant(node.inputs[1])
        cls = _class(node)
        assert target is not None
        captured = node.inputs[2:]
        tangent = environment_make(builder, target, cls, [self._tangent(c) for c in captured])
        result = self.t.classes.forward_type(_typed(node))
        head = node.inputs[1] if self.t.classes.is_data(cls) else Constant(self.t.entries(target)[0], result)
        return builder.apply(PARTIAL, head, *map(self._value, captured), type=result), tangent

    def _branch(self, builder: Builder, node: Apply) -> tuple[Node, Node]:
        operands = node.inputs[4:]
        if self._is_constant(operands, _typed(node)):
            value = builder.apply(BRANCH, self._value(node.inputs[1]), *node.inputs[2:4], *map(self._value, operands), type=_typed(node))
            return value, builder.zero(sensitivity(_typed(node)))
        first, second = (self.t.tangent(_arm(x)) for x in node.inputs[2:4])
        assert first.result is not None and first.result == second.result, f"{first} and {second} differ"
        tangents = [self._tangent(x) for x, p in zip(operands, _arm(node.inputs[2]).parameters) if has_tangent(_typed(p))]
        pair = builder.apply(BRANCH, self._value(node.inputs[1]), Constant(first), Constant(second), *map(self._value, operands), *tangents,
                             type=first.result)
        return builder.item(pair, 0), builder.item(pair, 1)

    def _call(self, builder: Builder, node: Apply) -> tuple[Node, Node]:
        target = callee_of(node)
        arguments = node.arguments
        if target is not None:
            if self._is_constant(arguments, _typed(node)):
                return builder.call(target, *map(self._value, arguments), type=_typed(node)), builder.zero(sensitivity(_typed(node)))
            pair = self.t.call(builder, target, list(map(self._value, arguments)), list(map(self._tangent, arguments)))
        else:
            parameters = _class(node.function).members[0]
            tangents = [self._tangent(x) for x, p in zip(arguments, parameters.parameters[parameters.captured:]) if has_tangent(_typed(p))]
            pair = builder.call(self._value(node.function), self._tangent(node.function), *map(self._value, arguments), *tangents,
                                type=self.t.result_type(_typed(node)))
        return builder.item(pair, 0), builder.item(pair, 1)

    def _custom(self, builder: Builder, node: Apply) -> tuple[Node, Node]:
        """∇y ↦ q(x…, ∇y) is linear; ẏ is its transpose on ẋ: the backpropagator of q with respect to ∇y."""
        backward = graph_constant(node.inputs[2])
        assert backward is not None and backward.result is not None
        operands = node.inputs[3:]
        values = list(map(self._value, operands))
        value = builder.apply(CUSTOM_CALL, node.inputs[1], node.inputs[2], *values, type=_typed(node))
        t = sensitivity(_typed(node))
        tangents = [self._tangent(x) for x in operands]
        if all(map(is_zero, tangents)):
            return value, builder.zero(t)
        options = GradientOptions((len(operands),), True, False, has_seed=True)
        captured = len(operands) - len(backward.result.items)  # type: ignore[attr-defined]
        seed = builder.tuple(*(self._fit(builder, d, want) for d, want in zip(tangents[captured:], backward.result.items)))  # type: ignore[attr-defined]
        function = Constant(backward, Function(function_class_of(backward)))
        tangent = builder.apply(GRADIENT_CALL, function, Constant(options, Static(options)), *values, builder.zero(t), seed, type=t)
        return value, tangent

    # -- tangents of primitives

    def _primitive(self, builder: Builder, node: Apply, primitive: Primitive, value: Node, t: Type) -> Node:
        arguments = node.arguments
        tangents = [self._tangent(x) for x in arguments]
        if all(map(is_zero, tangents)):
            return builder.zero(t)
        match primitive:
            case _ if primitive is MAKE_TUPLE:
                return builder.tuple(*tangents)
            case _ if primitive is GETITEM:
                return builder.item(tangents[0], arguments[1].value)  # type: ignore[attr-defined]
            case _ if primitive is SWITCH:
                return builder.apply(SWITCH, self._value(arguments[0]), tangents[1], tangents[2], type=t)
            case _ if primitive is SEQUENCE:
                return tangents[1]
            case _ if primitive is CAST:
                return self._fit(builder, tangents[0], t)
            case _ if primitive is CLOSURE_GET:
                label, index = arguments[1], arguments[2]
                return environment_get(builder, tangents[0], label.value.graph, _class(arguments[0]), index.value)  # type: ignore[attr-defined]
        rule = primitive.tangent
        if isinstance(rule, NotDifferentiable):
            if rule.is_missing:
                raise error("M603", node.provenance.span, message=f"the derivative of '{primitive.name}' is not built", hint=rule.reason)
            return builder.zero(t)
        if isinstance(rule, Linear):
            return self._linear(builder, primitive, rule, arguments, tangents, t)
        values = [Expr(builder, self._operand(primitive, x), False, _typed(x)) for x in arguments]
        out = Expr(builder, value, False, _typed(node))
        if isinstance(rule, FromBackpropagator):
            return self._from_backpropagator(builder, primitive, values, out, tangents, t)
        assert callable(rule)
        made: Any = rule(values, out, [None if is_zero(d) or is_trivial(_typed(d)) else Expr(builder, d, True) for d in tangents])
        return builder.zero(t) if made is None else self._fit(builder, made.node, t)

    def _linear(self, builder: Builder, primitive: Primitive, rule: Linear, arguments: list[Node], tangents: list[Node], t: Type) -> Node:
        """The primitive itself, on tangents where the operands have them."""
        operands = [tangents[i] if (i in rule.positions if rule.positions else has_tangent(_typed(x))) else self._operand(primitive, x)
                    for i, x in enumerate(arguments)]
        if callable(primitive.infer) and not any(isinstance(_typed(x), Environment) for x in operands):
            return self._fit(builder, builder.apply(primitive, *operands), t)
        return builder.apply(primitive, *operands, type=t)

    def _from_backpropagator(self, builder: Builder, primitive: Primitive, values: list[Expr], out: Expr, tangents: list[Node], t: Type) -> Node:
        """Σ over the operands of the backpropagator's entry, with the operand's tangent in place of the sensitivity."""
        assert callable(primitive.backpropagator)
        total: Node | None = None
        for i, d in enumerate(tangents):
            if is_trivial(_typed(d)) or is_zero(d):
                continue
            entry = primitive.backpropagator(*values, out, Expr(builder, d, True))[i]
            made = entry() if callable(entry) else entry
            if made is None:
                continue
            part = self._fit(builder, made.node, t)
            total = part if total is None else accumulate(builder, total, part)
        return builder.zero(t) if total is None else total

    def _fit(self, builder: Builder, node: Node, t: Type) -> Node:
        return fit_tangent(builder, node, t)


def fit_tangent(builder: Builder, node: Node, t: Type) -> Node:
    """A tangent of exactly type t: broadcast and cast; zero where the source has none."""
    have = _typed(node)
    if have == t:
        return node
    if is_zero(node) or is_trivial(t) or is_trivial(have) or have == NEVER:
        return builder.zero(t)
    if isinstance(have, Tuple) and isinstance(t, Tuple):
        return builder.tuple(*(fit_tangent(builder, builder.item(node, i), want) for i, want in enumerate(t.items)))
    if isinstance(t, Array) and getattr(have, "shape", ()) != t.shape:
        node = builder.apply(PRIMITIVES["broadcast_to"], node, builder.constant(t.shape))
    return node if _typed(node) == t else builder.apply(CAST, node, Constant(t, Static(t)), type=t)


def has_tangent(t: Type) -> bool:
    return not is_trivial(sensitivity(t))


def having_tangents(nodes: list[Any]) -> list[Any]:
    return [x for x in nodes if has_tangent(_typed(x))]


def _dotted(node: Node) -> str:
    """The name of a tangent: the variable with a dot."""
    return f"{node.name}\u0307" if node.name else ""


def _typed(node: Node) -> Any:
    return Builder.type_of(node)


def _class(node: Node) -> FunctionClass:
    t = _typed(node)
    assert isinstance(t, Function), f"{node!r} of type {t} is no function"
    return t.cls


def _arm(node: Node) -> Graph:
    target = graph_constant(node)
    assert target is not None, "an arm of a branch is a graph"
    return target


__all__ = ["Forward", "fit_tangent", "has_tangent", "having_tangents"]
