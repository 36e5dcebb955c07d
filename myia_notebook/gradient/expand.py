"""Expands `gradient_call` and `tangent_call` nodes, innermost first.

    gradient_call(f, options, x…)     -->  (y, ◀) = ▶f(▶x…);  r = ◀(1);  the items of r that `options.wrt` names
    tangent_call(f, options, x…, ẋ…)  -->  (y, ẏ) = ▷f(0, ▷x…, ẋ…)

On entry: typed form. On exit: the same program without them; `custom_call` is a plain call, `stop_gradient` is gone.
 A round expands the calls whose function, and everything
that function can run, contains none; then the program is optimized (by `between`) before the next round, so that J always sees
optimized graphs and derivatives of derivatives stay small. A closure that is only known at run time is lifted by a case over its
function class, made of ordinary nodes (`_Lift`), never by a hidden relabeling.
"""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from myia_notebook.errors import error
from myia_notebook.gradient.activity import Activity, captured_by
from myia_notebook.gradient.classes import Classes, contains_function, program_graphs
from myia_notebook.gradient.events import GradientEvents
from myia_notebook.gradient.forward import Forward, has_tangent
from myia_notebook.gradient.options import GradientOptions, TangentOptions
from myia_notebook.gradient.restore import Restore
from myia_notebook.gradient.transform import Transform
from myia_notebook.ir.clone import clone
from myia_notebook.ir.graph import Apply, Constant, Graph, Node, graph_constant, is_call_of, primitive_of, reachable, schedule
from myia_notebook.ir.types import BOOL, Environment, Function, FunctionClass, List, Scalar, Static, Tuple, Type, parts, sensitivity
from myia_notebook.ops.environment import Label
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.table import PRIMITIVES

GRADIENT_CALL, PARTIAL, BRANCH = PRIMITIVES["gradient_call"], PRIMITIVES["partial"], PRIMITIVES["branch"]
TANGENT_CALL, CUSTOM_CALL, STOP = PRIMITIVES["tangent_call"], PRIMITIVES["custom_call"], PRIMITIVES["stop_gradient"]
MAKE_TUPLE, CAST = PRIMITIVES["make_tuple"], PRIMITIVES["cast"]
PRINT, SEQUENCE = PRIMITIVES["print_"], PRIMITIVES["sequence"]
CLOSURE_IS, CLOSURE_GET = PRIMITIVES["closure_is"], PRIMITIVES["closure_get"]


def expand_gradients(root: Graph, between: Callable[[Graph], Graph] | None = None, events: GradientEvents | None = None) -> Graph:
    """The program with every gradient expanded. `between` optimizes it between levels and must return typed form."""
    root, _ = clone(root)
    while True:
        ready = _ready_calls(root)
        if not ready:
            _erase(root)
            return root
        if events is not None and events.graphs:
            events.level += 1
        transform, forward, restore = Transform(Classes(program_graphs(root)), events), Forward(), Restore()
        transform.activity = Activity(program_graphs(root))
        lifts = _Lift(transform), _Lift(forward)
        for graph, node in ready:
            if is_call_of(node, TANGENT_CALL):
                _expand_tangent(graph, node, forward, lifts[1], restore)
            else:
                _expand(graph, node, transform, lifts[0], restore)
        forward.finish()
        transform.finish()
        if between is not None and _has_calls(root):
            root = between(root)


def _is_derivative(node: Node) -> bool:
    return is_call_of(node, GRADIENT_CALL) or is_call_of(node, TANGENT_CALL)


def _erase(root: Graph) -> None:
    """What only derivatives looked at: `custom_call` becomes the call of its function, `stop_gradient(x)` x."""
    for graph in program_graphs(root):
        for node in schedule(graph):
            if is_call_of(node, CUSTOM_CALL):
                node.inputs[:] = [node.inputs[1], *node.inputs[3:]]
            elif is_call_of(node, STOP):
                _replace(graph, node, node.inputs[1])


def _has_calls(root: Graph) -> bool:
    return any(_is_derivative(node) for graph in reachable(root) for node in schedule(graph))


def _ready_calls(root: Graph) -> list[tuple[Graph, Apply]]:
    """The calls whose function contains no gradient itself; empty when there are none at all."""
    calls = [(graph, node) for graph in program_graphs(root) for node in schedule(graph) if _is_derivative(node)]
    if not calls:
        return []
    having = {graph.id for graph, _ in calls}
    ready = [(graph, node) for graph, node in calls if not any(g.id in having for g in runs_of(node))]
    if not ready:
        span = calls[0][1].provenance.span
        raise error("M603", span, message="this gradient is taken inside the very function that it differentiates",
                    hint="an order of derivative that is only known at run time cannot be compiled; a function that is passed as a value has one type")
    return ready


def runs_of(node: Apply) -> list[Graph]:
    """Every graph that the function of a gradient_call, or a function among its arguments, can run."""
    seen: set[int] = set()
    order: list[Graph] = []
    types: list[Type] = [Builder.type_of(x) for i, x in enumerate(node.arguments) if i != 1]
    classes: set[int] = set()
    while types:
        match types.pop():
            case Tuple() | List() as whole:
                types.extend(parts(whole))
            case Function(cls) if id(cls) not in classes:
                classes.add(id(cls))
                for member in cls.members:
                    for g in program_graphs(member):
                        if g.id not in seen:
                            seen.add(g.id)
                            order.append(g)
            case _:
                pass
    return order


def _one(t: Type) -> Constant:
    assert isinstance(t, Scalar)
    return Constant(1.0 if t.weak else np.dtype(t.dtype).type(1), t)


def _seed(builder: Builder, t: Type, options: GradientOptions) -> Node:
    """1, or (1, 0) where the function returns more than its value."""
    if not options.has_aux:
        return _one(t)
    assert isinstance(t, Tuple)
    return builder.tuple(_one(t.items[0]), builder.zero(sensitivity(t.items[1])))


def _function(node: Node) -> tuple[Graph | None, list[Node]]:
    """The graph of a function that is visible, and what it captured."""
    known = graph_constant(node)
    if known is None and isinstance(node, Apply) and is_call_of(node, PARTIAL):
        return graph_constant(node.inputs[1]), node.inputs[2:]
    return known, []


def _expand(graph: Graph, node: Apply, transform: Transform, lift: _Lift, restore: Restore) -> None:
    builder = Builder(graph, node.provenance)
    function, options_node, arguments = node.inputs[1], node.inputs[2], node.inputs[3:]
    assert isinstance(options_node, Constant)
    options: GradientOptions = options_node.value
    seed = arguments.pop() if options.has_seed else None
    cls = _class(function)
    lifted = [lift.value(builder, x) for x in arguments]
    known, captured = _function(function)
    if known is not None:
        forward = transform.forward(known)
        assert forward.result is not None
        pair = builder.call(forward, *(lift.value(builder, c) for c in captured), *lifted, type=forward.result)
        back_type, first = transform.backward(known).result, known.captured
    else:
        result = cls.members[0].result
        assert result is not None
        pair_type = Tuple((transform.classes.forward_type(result), Function(transform.classes.backward(cls))))
        pair = builder.call(lift.value(builder, function), *lifted, type=pair_type)
        back_type = Tuple((Environment(cls), *(sensitivity(Builder.type_of(x)) for x in arguments)))
        first = 1
    _activate(transform, known, cls, options)
    value = builder.item(pair, 0)
    assert back_type is not None
    back = builder.call(builder.item(pair, 1), seed or _seed(builder, Builder.type_of(value), options), type=back_type)
    items: list[Node] = []
    for path, want in zip(options.wrt, _wanted(node, options)):
        at, item = path if isinstance(path, tuple) else (path, None)
        sens, primal = builder.item(back, first + at), arguments[at]
        if item is not None:
            sens, primal = builder.item(sens, item), builder.item(primal, item)
        items.append(restore.value(builder, sens, primal, want))
    result_node = items[0] if options.is_single else builder.tuple(*items)
    if options.with_value:
        result_node = builder.tuple(value, result_node)
    elif options.has_aux:
        result_node = builder.tuple(result_node, builder.item(value, 1))
    if Builder.type_of(result_node) != Builder.type_of(node):
        t = Builder.type_of(node)
        result_node = builder.apply(CAST, result_node, Constant(t, Static(t)), type=t)
    if has_effects(node) and not options.with_value:
        result_node = builder.apply(SEQUENCE, value, result_node, type=Builder.type_of(result_node))
    _replace(graph, node, result_node)


def _activate(transform: Transform, known: Graph | None, cls: FunctionClass, options: GradientOptions) -> None:
    """The parameters that this derivative is taken with respect to; a union among them with all its fields."""
    assert transform.activity is not None
    for g in [known] if known is not None else cls.members:
        for path in options.wrt:
            p = g.parameters[g.captured + (path[0] if isinstance(path, tuple) else path)]
            transform.activity.start([p, *captured_by(p.type)])


def _expand_tangent(graph: Graph, node: Apply, forward: Forward, lift: _Lift, restore: Restore) -> None:
    builder = Builder(graph, node.provenance)
    function, options_node = node.inputs[1], node.inputs[2]
    assert isinstance(options_node, Constant)
    options: TangentOptions = options_node.value
    arguments, given = node.inputs[3:3 + options.count], dict(zip(options.active, node.inputs[3 + options.count:]))
    values = [lift.value(builder, x) for x in arguments]
    known, captured = _function(function)
    tangents = [given.get(i) or builder.zero(sensitivity(Builder.type_of(x))) for i, x in enumerate(arguments)]
    if known is not None:
        zeros: list[Node] = [builder.zero(sensitivity(Builder.type_of(p))) for p in known.parameters[:known.captured]]
        pair = forward.call(builder, known, [*(lift.value(builder, c) for c in captured), *values], [*zeros, *tangents])
    else:
        cls = _class(function)
        member = cls.members[0]
        assert member.result is not None
        kept = [d for p, d in zip(member.parameters[member.captured:], tangents) if has_tangent(Builder.type_of(p))]
        pair = builder.call(lift.value(builder, function), builder.zero(Environment(cls)), *values, *kept, type=forward.result_type(member.result))
    value, tangent = builder.item(pair, 0), builder.item(pair, 1)
    t = Builder.type_of(node)
    assert isinstance(t, Tuple)
    tangent = restore.value(builder, tangent, value, t.items[1])
    if has_effects(node):
        tangent = builder.apply(SEQUENCE, value, tangent, type=Builder.type_of(tangent))
    _replace(graph, node, builder.apply(MAKE_TUPLE, value, tangent, type=t))


def has_effects(node: Apply) -> bool:
    """Whether the function of a derivative call may print or raise on its own: then its value is computed even where nobody reads it."""
    return any(primitive is not None and "effect" in primitive.laws for g in runs_of(node) for primitive in map(primitive_of, schedule(g)))


def _wanted(node: Apply, options: GradientOptions) -> tuple[Type, ...]:
    """The types of the gradients that a gradient_call gives."""
    t = Builder.type_of(node)
    if options.with_value or options.has_aux:
        assert isinstance(t, Tuple)
        t = t.items[1 if options.with_value else 0]
    if options.is_single:
        return (t,)
    assert isinstance(t, Tuple)
    return t.items


def _class(function: Node) -> FunctionClass:
    t = Builder.type_of(function)
    assert isinstance(t, Function)
    return t.cls


def _replace(graph: Graph, old: Node, new: Node) -> None:
    """Every use of `old` in its graph reads `new`."""
    if not new.name and isinstance(new, Apply):
        new.name = old.name
    for node in schedule(graph):
        node.inputs[:] = [new if x is old else x for x in node.inputs]
    if graph.output is old:
        graph.output = new


class _Lift:
    """▶ (or ▷) of a run-time value: functions inside become their forward functions."""

    def __init__(self, transform: Transform | Forward) -> None:
        self.transform = transform
        self.mark = "▷" if isinstance(transform, Forward) else "▶"
        self.cases: dict[int, Graph] = {}

    def value(self, builder: Builder, node: Node) -> Node:
        t = Builder.type_of(node)
        if not contains_function(t, unions=False):
            return node
        if isinstance(t, Tuple):
            items = [self.value(builder, builder.item(node, i)) for i in range(len(t.items))]
            return builder.apply(MAKE_TUPLE, *items, type=self.transform.classes.forward_type(t))
        target = graph_constant(node)
        result = self.transform.classes.forward_type(t)
        if target is not None:
            return Constant(self.transform.entries(target)[0], result)
        if isinstance(node, Apply) and is_call_of(node, PARTIAL):
            label = graph_constant(node.inputs[1])
            assert label is not None
            captured = [self.value(builder, x) for x in node.inputs[2:]]
            return builder.apply(PARTIAL, Constant(self.transform.entries(label)[0], result), *captured, type=result)
        assert isinstance(t, Function)
        return builder.call(self._case(t.cls), node, type=result)

    def _case(self, cls: FunctionClass) -> Graph:
        """f ↦ case f of l_i(c…) → partial(▶l_i/k, ▶c…)"""
        if id(cls) not in self.cases:
            case = self.cases[id(cls)] = Graph(f"{self.mark}{cls.name}", "forward")
            case.result = self.transform.classes.forward_type(Function(cls))
            f = case.add_parameter("f", Function(cls))
            case.output = self._choose(case, f, cls, 0)
        return self.cases[id(cls)]

    def _choose(self, graph: Graph, f: Node, cls: FunctionClass, index: int) -> Node:
        builder = Builder(graph)
        member = cls.members[index]
        if index == len(cls.members) - 1:
            return self._rebuild(builder, f, member)
        label = Label(member)
        test = builder.apply(CLOSURE_IS, f, Constant(label, Static(label)), type=BOOL)
        arms: list[Graph] = []
        for name in (member.name, "otherwise"):
            arm = Graph(name, "branch")
            arm.result = graph.result
            arm.add_parameter("f", Function(cls))
            arms.append(arm)
        arms[0].output = self._rebuild(Builder(arms[0]), arms[0].parameters[0], member)
        arms[1].output = self._choose(arms[1], arms[1].parameters[0], cls, index + 1)
        assert graph.result is not None
        return builder.apply(BRANCH, test, Constant(arms[0]), Constant(arms[1]), f, type=graph.result)

    def _rebuild(self, builder: Builder, f: Node, member: Graph) -> Node:
        label = Label(member)
        entry = self.transform.entries(member)[0]
        result = self.transform.classes.forward_type(Builder.type_of(f))
        captured: list[Node] = []
        for i, p in enumerate(member.parameters[:member.captured]):
            item = builder.apply(CLOSURE_GET, f, Constant(label, Static(label)), builder.constant(i), type=Builder.type_of(p))
            captured.append(self.value(builder, item))
        head = Constant(entry, result)
        return builder.apply(PARTIAL, head, *captured, type=result) if captured else head
