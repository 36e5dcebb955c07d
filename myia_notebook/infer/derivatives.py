"""Derivative operators in programs: what `grad(f)`, `jvp(f, …)` and the like mean to inference, and the typed nodes they become.

    grad(f, wrt), jacobian(f, wrt), custom_gradient(f)   a closure over f; its call becomes one node, typed without being expanded
    hessian(f, wrt)                                      the Jacobian, by forward mode, of the gradient
    jvp(f, (x…), (ẋ…))                                   tangent_call
    vjp(f, x…)                                           (f(x…), the closure ∇y ↦ gradient_call(f, x…, ∇y))
    stop_gradient(x)                                     itself

`operator` and `call` run in inference (coroutines of a context); each leaves a `Use`, whose `build` makes the typed node when graphs are
made. The types of gradients and tangents follow from those of arguments and results (`infer.gradients`).
"""
from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from myia_notebook.errors import MyiaError, error
from myia_notebook.gradient.options import GradientOptions, Path, Request, TangentOptions
from myia_notebook.infer.calls import arranged, gradient_template
from myia_notebook.infer.gradients import gradient_type, has_reals
from myia_notebook.infer.join import FunctionSet, Label, holds_functions, is_union, items_of
from myia_notebook.ir.graph import Apply, Constant, Graph, Node, is_call_of
from myia_notebook.ir.types import (
    FLOAT_DTYPES,
    NEVER,
    NONE,
    UNIT,
    Array,
    Function,
    List,
    Record,
    Scalar,
    Static,
    Tuple,
    Type,
    is_float,
    is_trivial,
    parts,
    sensitivity,
)
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.primitive import UNKNOWN, Abstract
from myia_notebook.ops.table import PRIMITIVES, operation_for
from myia_notebook.parse.expressions import CALL_WITH, describe

if TYPE_CHECKING:
    from myia_notebook.infer.engine import Context, Engine, Wait
    from myia_notebook.infer.monomorphize import _Body

GRADIENT_CALL, TANGENT_CALL, CUSTOM_CALL, JACOBIAN_CALL, STOP, MAKE_TUPLE, CAST = (
    PRIMITIVES[n] for n in ("gradient_call", "tangent_call", "custom_call", "jacobian_call", "stop_gradient", "make_tuple", "cast"))
CALLS = (GRADIENT_CALL, CUSTOM_CALL, JACOBIAN_CALL)
ON_FUNCTIONS = {"grad": "(f, wrt=0, has_aux=False)", "value_and_grad": "(f, wrt=0, has_aux=False)", "jacobian": "(f, wrt=0)",
                "hessian": "(f, wrt=0)", "custom_gradient": "(f)"}
INLINE = ("grad", "value_and_grad", "pullback", "jacobian", "custom_gradient")


# -- operators

def operator(engine: Engine, context: Context, node: Apply, kind: Any, operands: list[Abstract],
             names: tuple[str, ...] = ()) -> Generator[Wait, Abstract, Abstract]:
    """The call of a derivative operator."""
    name = kind.__name__
    if name in ON_FUNCTIONS:
        return _on_function(engine, context, node, name, operands, names)
    if names:
        raise error("M501", signature=f"{name}()", problem=f"got an unexpected keyword argument '{names[0]}'")
    if name == "stop_gradient":
        return _stop(context, node, operands)
    if name == "jvp":
        return (yield from _jvp(engine, context, node, operands))
    return (yield from _vjp(engine, context, node, operands))


def _on_function(engine: Engine, context: Context, node: Apply, name: str, operands: list[Abstract], names: tuple[str, ...]) -> Abstract:
    """grad(f, wrt): a closure over f, whatever the number of arguments that it will get."""
    parameters = [part.split("=")[0] for part in ON_FUNCTIONS[name].strip("()").split(", ")]
    positional = operands[:len(operands) - len(names)]
    by_name = dict(zip(names, operands[len(operands) - len(names):]))
    if not positional or len(positional) > len(parameters) or any(n not in parameters[len(positional):] for n in by_name):
        raise error("M501", signature=f"{name}{ON_FUNCTIONS[name]}", problem=f"got {len(operands)} arguments")
    given = {**dict(zip(parameters, positional)), **by_name}
    f = _require_function(name, given["f"])
    wrt = _static(given["wrt"], "wrt", "give an index, a name, a tuple of them, or '*'") if "wrt" in given else 0
    aux = _static(given["has_aux"], "has_aux", "give True or False") if "has_aux" in given else False
    label = engine.make_label(gradient_template(Request(name, wrt, bool(aux))), (f,))
    context.uses[node.id] = label
    return Abstract(FunctionSet((label,)))


def _require_function(name: str, f: Abstract) -> Abstract:
    if isinstance(f.type, Static) and operation_for(f.type.value) is not None:
        raise error("M603", message=f"{'the gradient of ' if 'grad' in name else ''}'{f.type}' itself", hint=f"write a function: {name}(lambda x: {f.type}(x))")
    if not isinstance(f.type, FunctionSet) or is_union(f.type):
        raise error("M603", message=f"{name} takes a function, got {f.type}")
    return f


def _static(a: Abstract, what: str, hint: str) -> Any:
    value = a.value if a.is_known else a.type.value if isinstance(a.type, Static) else UNKNOWN
    if value is UNKNOWN and isinstance(a.type, Tuple):
        value = tuple(t.value if isinstance(t, Static) else UNKNOWN for t in a.type.items)
    if value is UNKNOWN or (isinstance(value, tuple) and UNKNOWN in value):
        raise error("M306", what=what, hint=hint)
    return value


# -- what a call of f receives

def by_name(engine: Engine, label: Label, names: tuple[str, ...]) -> Label:
    """The closure of a derivative, as one that takes its last arguments by these names."""
    if not names:
        return label
    request: Request = label.graph.flags["gradient"]
    return engine.make_label(gradient_template(replace(request, names=names), len(label.captured)), label.captured)


def _recipe(f: FunctionSet, count: int, names: tuple[str, ...] = ()) -> list[Any]:
    """How the operands of a call of f become its parameters (`calls.arranged`)."""
    label = f.labels[0]
    if "gradient" in label.graph.flags:
        return list(range(count))
    return arranged(label.graph, count - len(names), names)


def _apply(engine: Engine, context: Context, node: Apply, f: Abstract, arguments: list[Abstract],
           names: tuple[str, ...]) -> Generator[Wait, Abstract, Abstract]:
    """The call of f, the last arguments by name."""
    if not names or not isinstance(f.type, FunctionSet):
        return (yield from engine._call_value(context, node, f, arguments))
    from myia_notebook.infer.engine import Wait
    callees = engine.callees(f.type, arguments, names)
    context.uses[node.id] = callees
    return (yield Wait(callees, len(callees) > 1, node))


def _part_type(recipe: list[Any], path: Path, operands: list[Abstract]) -> Type:
    from myia_notebook.infer.engine import recipe_type
    at, item = path if isinstance(path, tuple) else (path, None)
    t = recipe_type(recipe[at], operands)
    return t if item is None else parts(t)[item]


def _named(label: Label) -> Graph:
    """The user's function behind grad(grad(f)): the one with names."""
    while "gradient" in label.graph.flags and isinstance(label.captured[0].type, FunctionSet):
        label = label.captured[0].type.labels[0]
    return label.graph


def _paths(recipe: list[Any], given_only: bool) -> list[Path]:
    """What an index counts: the parameters, and in place of `*args` the arguments that it takes."""
    found: list[Path] = []
    for at, part in enumerate(recipe):
        if isinstance(part, tuple):
            found.extend((at, k) for k in range(len(part)))
        elif not isinstance(part, dict) and not (given_only and not isinstance(part, int)):
            found.append(at)
    return found


def resolve_wrt(asked: Request, f: FunctionSet, recipe: list[Any]) -> tuple[Path, ...]:
    """`wrt` as parameters: an index of an argument, a name of a parameter, a tuple of them, "*"."""
    wrt, graph = asked.wrt, _named(f.labels[0])
    names = [p.name for p in graph.parameters[graph.captured:]]
    if "gradient" in f.labels[0].graph.flags:  # its parameters are the arguments, those with names last
        names = [*names[:len(recipe) - len(asked.names)], *asked.names]
    if isinstance(wrt, str) and wrt == "*":
        return tuple(_paths(recipe, True))
    paths = _paths(recipe, False)
    found: list[Path] = []
    for item in wrt if isinstance(wrt, tuple) else (wrt,):
        if isinstance(item, str):
            if item not in names:
                raise error("M603", message=f"{describe(graph)} has no parameter '{item}' to differentiate", hint=f"its parameters are {', '.join(names)}")
            found.append(names.index(item))
        elif isinstance(item, int) and not isinstance(item, bool) and -len(paths) <= item < len(paths):
            found.append(paths[item])
        else:
            raise error("M603", message=f"wrt={item!r} names no argument of {describe(graph)}", hint=f"it has {len(paths)} arguments")
    return tuple(found)


def _require_reals(t: Type, graph: Graph, path: Path) -> None:
    if has_reals(t):
        return
    at = path[0] if isinstance(path, tuple) else path
    names = [p.name for p in graph.parameters[graph.captured:]]
    name = f" ('{names[at]}')" if at < len(names) and names[at] else ""
    raise error("M601", what=f"argument {at}{name}", type=t, hint="use a float: 2.0 in place of 2" if isinstance(t, Scalar) else
                "integers, booleans and functions have no gradient")


def _is_real(t: Type) -> bool:
    return isinstance(t, Scalar) and t.dtype in FLOAT_DTYPES


def _check_data(what: str, t: Type) -> None:
    if holds_functions(t):
        raise error("M603", message=f"{what} holds functions: {t}", hint="return numbers, arrays and structures of them")


# -- calls of the closures

def call(engine: Engine, context: Context, node: Apply, operands: list[Abstract]) -> Generator[Wait, Abstract, Abstract]:
    """gradient_call, jacobian_call or custom_call, as a template wrote it."""
    f, request, *arguments = operands
    asked: Request = request.value
    if asked.kind == "custom_gradient":
        return (yield from _custom(engine, context, node, asked, f, arguments))
    if asked.kind == "jacobian":
        return (yield from _jacobian(engine, context, node, asked, f, arguments))
    return (yield from _gradient(engine, context, node, asked, f, arguments))


def _gradient(engine: Engine, context: Context, node: Apply, asked: Request, f: Abstract, arguments: list[Abstract]) -> Generator[Wait, Abstract, Abstract]:
    """The function must return a real scalar, or data that the given sensitivity fits; the arguments asked for must hold real numbers."""
    assert isinstance(f.type, FunctionSet)
    seed = arguments.pop() if asked.kind == "pullback" else None
    result = yield from _apply(engine, context, node, f, arguments, asked.names)
    recipe = _recipe(f.type, len(arguments), asked.names)
    wrt = resolve_wrt(asked, f.type, recipe)
    wanted = [_part_type(recipe, path, arguments) for path in wrt]
    if seed is None:
        for t, path in zip(wanted, wrt):
            _require_reals(t, _named(f.type.labels[0]), path)
    problem = _result_problem(asked, result.type)
    if problem is not None:
        return engine.later(context, node, problem)
    types = [gradient_type(engine, t) for t in wanted]
    if seed is not None and result.type != NEVER:
        try:
            _check_data("the result of a function that is differentiated", result.type)
            check_tangent("the sensitivity", seed.type, result.type)
        except MyiaError as found:
            return engine.later(context, node, found)
    is_single = not isinstance(asked.wrt, tuple) and asked.wrt != "*"
    target = _target(engine, context, node, f.type, recipe, asked.names, result.type)
    if target.calls:
        wrt = tuple(_operand_of(recipe, path) for path in wrt)
    options = GradientOptions(wrt, is_single, asked.kind == "value_and_grad", asked.has_aux, seed is not None)
    gradient = types[0] if is_single else Tuple(tuple(types))
    context.uses[node.id] = GradientUse(options, target, result.type == NEVER)
    if options.with_value:
        return Abstract(Tuple((result.type, gradient)))
    if asked.has_aux and isinstance(result.type, Tuple):
        return Abstract(Tuple((gradient, result.type.items[1])))
    return Abstract(gradient)


def _result_problem(asked: Request, t: Type) -> Any:
    if t == NEVER or asked.kind == "pullback":
        return None
    if not asked.has_aux:
        return None if _is_real(t) else error("M602", type=t)
    if not isinstance(t, Tuple) or isinstance(t, Record) or len(t.items) != 2 or not _is_real(t.items[0]):
        return error("M603", message=f"has_aux=True: the function returns {t}, not a pair of a real number and something more")
    return error("M603", message=f"has_aux=True: the second result holds functions: {t.items[1]}") if holds_functions(t.items[1]) else None


def _jacobian(engine: Engine, context: Context, node: Apply, asked: Request, f: Abstract, arguments: list[Abstract]) -> Generator[Wait, Abstract, Abstract]:
    from myia_notebook.gradient.jacobian import jacobian_type
    assert isinstance(f.type, FunctionSet)
    result = yield from _apply(engine, context, node, f, arguments, asked.names)
    if result.type == NEVER:
        return Abstract(NEVER)
    recipe = _recipe(f.type, len(arguments), asked.names)
    wrt = resolve_wrt(asked, f.type, recipe)
    types: list[Type] = []
    for path in wrt:
        t = _part_type(recipe, path, arguments)
        _require_reals(t, _named(f.type.labels[0]), path)
        types.append(t)
    is_single = not isinstance(asked.wrt, tuple) and asked.wrt != "*"
    inner = types[0] if is_single else Tuple(tuple(types))
    try:
        made = jacobian_type(result.type, inner)
    except MyiaError as found:
        return engine.later(context, node, found)
    target = _target(engine, context, node, f.type, recipe, asked.names, result.type)
    if target.calls:
        wrt = tuple(_operand_of(recipe, path) for path in wrt)
    context.uses[node.id] = JacobianUse(wrt, is_single, asked.is_forward, target)
    return Abstract(made)


def _custom(engine: Engine, context: Context, node: Apply, asked: Request, f: Abstract, arguments: list[Abstract]) -> Generator[Wait, Abstract, Abstract]:
    """f(x…) gives (y, backpropagator); the backpropagator, called with ∇y, gives (∇x…), or ∇x alone where there is one argument."""
    assert isinstance(f.type, FunctionSet)
    pair = yield from _apply(engine, context, node, f, arguments, asked.names)
    if pair.type == NEVER:
        return Abstract(NEVER)
    t = pair.type
    if not isinstance(t, Tuple) or len(t.items) != 2 or not isinstance(t.items[1], FunctionSet):
        raise error("M603", message=f"a function with a custom gradient returns (value, backpropagator), not {t}",
                    hint="return y, lambda dy: (…,): one sensitivity for each argument")
    if len(f.type.labels) != 1:
        raise error("M603", message="custom_gradient of a function that is chosen at run time", hint="apply it to each function")
    label = f.type.labels[0]
    captured = label.graph.parameters[:label.graph.captured]
    for p, a in zip(captured, label.captured):
        if has_reals(a.type) or holds_functions(a.type):
            raise error("M603", message=f"the function with a custom gradient uses '{p.name}' of the function around it",
                        hint="its own backpropagator knows nothing of that variable: make it an argument")
    _check_data("the value of a function with a custom gradient", t.items[0])
    for a in arguments:
        _check_data("an argument of a function with a custom gradient", a.type)
    recipe = _recipe(f.type, len(arguments), asked.names)
    target = _target(engine, context, node, f.type, recipe, asked.names, t)
    inner = Apply(node.graph, [Constant(None), Constant(None)], None, "", node.provenance)
    back = yield from engine._call_value(context, inner, Abstract(t.items[1]), [Abstract(_sensitivity(t.items[0]))])
    types = [a.type for a in arguments] if target.calls else [_part_type(recipe, i, arguments) for i in range(len(recipe))]
    is_alone = False
    if back.type != NEVER:
        is_alone = len(types) == 1 and not (isinstance(back.type, Tuple) and len(back.type.items) == 1)
        given = (back.type,) if is_alone else parts(back.type)
        if len(given) != len(types):
            raise error("M603", message=f"this backpropagator gives {back.type}, but the function has {len(types)} arguments",
                        hint="return a tuple with one sensitivity for each argument")
        for i, (have, primal) in enumerate(zip(given, types)):
            check_tangent(f"the sensitivity of argument {i}", have, primal, is_exact=False)
    context.uses[node.id] = CustomUse(label, target, is_alone)
    return Abstract(t.items[0])


def _sensitivity(t: Type) -> Type:
    """The sensitivity of data, with records as tuples."""
    return sensitivity(t)


# -- jvp, vjp, stop_gradient

def _stop(context: Context, node: Apply, operands: list[Abstract]) -> Abstract:
    if len(operands) != 1:
        raise error("M501", signature="stop_gradient(x)", problem=f"got {len(operands)} arguments")
    if holds_functions(operands[0].type):
        raise error("M603", message="stop_gradient of a function", hint="stop the gradient of the numbers that it uses")
    context.uses[node.id] = StopUse()
    return operands[0]


def _jvp(engine: Engine, context: Context, node: Apply, operands: list[Abstract]) -> Generator[Wait, Abstract, Abstract]:
    if len(operands) != 3:
        raise error("M501", signature="jvp(f, primals, tangents)", problem=f"got {len(operands)} arguments")
    f = _require_function("jvp", operands[0])
    primals, tangents = (_items("jvp", what, a) for what, a in zip(("primals", "tangents"), operands[1:]))
    if len(primals) != len(tangents):
        raise error("M605", what="the tuple of tangents", first=operands[2].type, second=f"{len(primals)} primals", hint="give one tangent for each primal")
    assert isinstance(f.type, FunctionSet)
    result = yield from engine._call_value(context, node, f, primals)
    target = _target(engine, context, node, f.type, _recipe(f.type, len(primals)), (), result.type)
    trusted = bool(context.graph.flags.get("checked tangents"))
    zeros = _known_zeros(node, len(tangents))
    try:
        for i, (have, primal) in enumerate(zip(tangents, primals)):
            if not (zeros[i] and not has_reals(primal.type)):
                check_tangent(f"the tangent of argument {i}", have.type, primal.type, trusted)
    except MyiaError as found:
        return engine.later(context, node, found)
    if result.type == NEVER:
        context.uses[node.id] = JvpUse(target, True)
        return Abstract(NEVER)
    _check_data("the result of a function that is differentiated", result.type)
    context.uses[node.id] = JvpUse(target, False)
    return Abstract(Tuple((result.type, gradient_type(engine, result.type))))


def _items(name: str, what: str, a: Abstract) -> list[Abstract]:
    t = a.type
    if not isinstance(t, Tuple) or (isinstance(t, Record) and t.structure.kind != "list"):
        raise error("M603", message=f"{name} takes {what} as a tuple, got {t}", hint=f"with one argument, write {name}(f, (x,), (dx,))")
    return list(items_of(a))


def _known_zeros(node: Apply, count: int) -> list[bool]:
    """Which of the tangents are written as 0, False or None."""
    given = node.inputs[-1]
    if isinstance(given, Constant) and isinstance(given.value, tuple):
        return [not isinstance(v, tuple) and (v is None or v == 0) for v in given.value]
    if is_call_of(given, MAKE_TUPLE):
        assert isinstance(given, Apply)
        return [isinstance(x, Constant) and type(x.value) in (int, float, bool, type(None)) and not x.value for x in given.inputs[1:]]
    return [False] * count


def _vjp(engine: Engine, context: Context, node: Apply, operands: list[Abstract]) -> Generator[Wait, Abstract, Abstract]:
    if len(operands) < 2:
        raise error("M501", signature="vjp(f, *primals)", problem=f"got {len(operands)} arguments")
    f = _require_function("vjp", operands[0])
    primals = operands[1:]
    assert isinstance(f.type, FunctionSet)
    result = yield from engine._call_value(context, node, f, primals)
    calls = context.uses.get(node.id)
    target = _target(engine, context, node, f.type, _recipe(f.type, len(primals)), (), result.type)
    if result.type != NEVER:
        _check_data("the result of a function that is differentiated", result.type)
    label = engine.make_label(gradient_template(Request("pullback", "*"), 1 + len(primals)), (f, *primals))
    context.uses[node.id] = VjpUse(label, calls, target)
    return Abstract(Tuple((result.type, FunctionSet((label,)))))


# -- tangents and sensitivities that the user gives

def check_tangent(what: str, have: Type, primal: Type, trusted: bool = False, is_exact: bool = True) -> None:
    """Refuses a tangent (or sensitivity) that does not have the structure and shape of what it belongs to. `trusted`: what belongs to an
    integer is known to be zero. Without `is_exact` a scalar may stand for an array (it is broadcast), and what belongs to an integer is ignored."""
    if NEVER in (have, primal):
        return
    match primal:
        case Scalar() | Array() if is_float(primal):
            fits = isinstance(have, (Scalar, Array)) and have.dtype != "bool"
            if fits and _shape(have) != _shape(primal):
                fits = not is_exact and isinstance(have, Scalar)
            if not fits:
                raise error("M605", what=what, first=have, second=primal, hint="it must have the same shape")
        case Tuple(items):
            if have == UNIT and not has_reals(primal):
                return
            given = parts(have) if isinstance(have, Tuple) else ()
            if isinstance(have, List) and isinstance(primal, Record) and primal.structure.kind == "list":
                given = parts(have) * len(items)
            if len(given) != len(items) or (isinstance(primal, Record) and isinstance(have, Record) and primal.structure != have.structure):
                raise error("M605", what=what, first=have, second=primal, hint="it must have the same structure")
            for i, (h, p) in enumerate(zip(given, items)):
                check_tangent(f"item {i} of {what}", h, p, trusted, is_exact)
        case List(item):
            if not isinstance(have, List) and not (isinstance(have, Record) and have.structure.kind == "list"):
                raise error("M605", what=what, first=have, second=primal, hint="it must have the same structure")
            for h in parts(have):
                check_tangent(f"an item of {what}", h, item, trusted, is_exact)
        case FunctionSet() if has_reals(primal):
            raise error("M603", message=f"{what} belongs to a union, {primal}", hint="tangents of unions cannot be given yet")
        case _:
            if is_exact and not trusted and have not in (UNIT, NONE):
                raise error("M605", what=what, first=have, second=primal, hint="what is no real number has no tangent: give None")


def _shape(t: Type) -> tuple[int, ...]:
    return t.shape if isinstance(t, Array) else ()


def embed(builder: Builder, node: Node, want: Type) -> Node:
    """A tangent or sensitivity that the user gave, as one of exactly the type `want`."""
    from myia_notebook.ops.operators import convert
    have = Builder.type_of(node)
    if have == want:
        return node
    if is_trivial(want):
        return builder.zero(want)
    match want:
        case Tuple(items) if isinstance(have, List):
            read = [builder.apply(PRIMITIVES["list_read"], node, builder.constant(i)) for i in range(len(items))]
            return builder.tuple(*(embed(builder, x, t) for x, t in zip(read, items)))
        case Tuple(items):
            return builder.tuple(*(embed(builder, builder.item(node, i), t) for i, t in enumerate(items)))
        case List(item):
            if isinstance(have, Tuple):
                made = [embed(builder, builder.item(node, i), item) for i in range(len(have.items))]
                return builder.apply(PRIMITIVES["list_make"], *made, type=want) if made else builder.zero(want)
            raise error("M603", builder.provenance.span, message=f"a list of {have} cannot be a tangent of type {want}")
        case Array(shape=shape) if isinstance(have, Scalar):
            node = builder.apply(PRIMITIVES["broadcast_to"], node, builder.constant(shape))
            return embed(builder, node, want)
        case _:
            if have == NEVER:
                return builder.zero(want)
            return convert(builder.expr(node), want).node


# -- typed nodes

@dataclass(slots=True)
class Use:
    """What inference left of a derivative; `build` makes the typed node over the operands."""

    def build(self, body: _Body, builder: Builder, node: Apply, operands: list[Node], t: Type) -> Node:
        raise AssertionError("given by each kind")


def operands_of(body: _Body, builder: Builder, node: Apply) -> list[Node]:
    head = node.inputs[0]
    if isinstance(head, Constant) and head.value is CALL_WITH:
        return body._call_operands(builder, node)[0]
    return [body.get(x) for x in node.inputs[1:]]


def _member(f: Node) -> Graph:
    t = Builder.type_of(f)
    assert isinstance(t, Function)
    return t.cls.members[0]


@dataclass(frozen=True, slots=True)
class Target:
    """The function that is differentiated: how its parameters follow from the operands. `calls`: the contexts of its call when it belongs
    to a dispatched class (then it is wrapped as a function of the operands), with their names and the type of the result."""

    recipe: list[Any]
    named: Label | None
    calls: list[Context]
    names: tuple[str, ...]
    result: Type

    def build(self, body: _Body, builder: Builder, f: Node, operands: list[Node]) -> tuple[Node, list[Node]]:
        """The function and its arguments."""
        if self.calls:
            return body.callable(builder, f, self.calls, operands, self.names, self.result), operands
        f = _taking_names(body, builder, f, self.named)
        graph = _member(f)
        made = body._recipe(builder, self.recipe, operands)
        return f, [body.fit(builder, x, Builder.type_of(p)) for x, p in zip(made, graph.parameters[graph.captured:])]


def _target(engine: Engine, context: Context, node: Apply, f: FunctionSet, recipe: list[Any], names: tuple[str, ...], result: Type) -> Target:
    if f.labels[0].root().is_dispatched:
        used = context.uses[node.id]
        assert isinstance(used, list)
        count = max((i for part in recipe for i in _operands_in(part)), default=-1) + 1
        return Target(list(range(count)), None, list(used), names, result)
    return Target(recipe, _renamed(engine, f, names), [], names, result)


def _operands_in(part: Any) -> tuple[int, ...]:
    match part:
        case int():
            return (part,)
        case tuple():
            return part
        case dict():
            return tuple(part.values())
        case _:
            return ()


def _operand_of(recipe: list[Any], path: Path) -> Path:
    """The operand that became this parameter."""
    at, item = path if isinstance(path, tuple) else (path, 0)
    operands = _operands_in(recipe[at])
    if not operands:
        raise error("M603", message="the gradient with respect to a default of a function that is chosen at run time", hint="pass that argument")
    return operands[item]


def _renamed(engine: Engine, f: FunctionSet, names: tuple[str, ...]) -> Label | None:
    """The closure that a derivative with named arguments is: see `by_name`."""
    if not names or "gradient" not in f.labels[0].graph.flags:
        return None
    return by_name(engine, f.labels[0], names)


def _taking_names(body: _Body, builder: Builder, f: Node, named: Label | None) -> Node:
    if named is None:
        return f
    if not is_call_of(f, PRIMITIVES["partial"]):
        raise error("M308", builder.provenance.span, message="keywords in a call of a derivative that is only known at run time",
                    hint="pass the arguments by position")
    return body._closure(builder, named, f.inputs[2:], Abstract(FunctionSet((named,))))  # type: ignore[attr-defined]


def _never(body: _Body, builder: Builder, f: Node, arguments: list[Node], t: Type) -> Node:
    """The call of a function that never returns, as a value of type t."""
    made = builder.call(f, *arguments, type=NEVER)
    return builder.apply(CAST, made, Constant(t, Static(t)), type=t) if t != NEVER else made


@dataclass(slots=True)
class GradientUse(Use):
    options: GradientOptions
    target: Target
    is_never: bool

    def build(self, body: _Body, builder: Builder, node: Apply, operands: list[Node], t: Type) -> Node:
        f, _, *given = operands
        seed = given.pop() if self.options.has_seed else None
        f, arguments = self.target.build(body, builder, f, given)
        result = _member(f).result
        if self.is_never or result == NEVER:
            return _never(body, builder, f, arguments, t)
        assert result is not None
        if seed is not None:
            arguments.append(embed(builder, seed, sensitivity(result)))
        return builder.apply(GRADIENT_CALL, f, Constant(self.options, Static(self.options)), *arguments, type=t)


@dataclass(slots=True)
class JacobianUse(Use):
    wrt: tuple[Path, ...]
    is_single: bool
    is_forward: bool
    target: Target

    def build(self, body: _Body, builder: Builder, node: Apply, operands: list[Node], t: Type) -> Node:
        from myia_notebook.gradient.jacobian import Jacobian
        f, _, *given = operands
        f, arguments = self.target.build(body, builder, f, given)
        result = _member(f).result
        assert result is not None
        return Jacobian(builder, f, arguments, result).build(self.wrt, self.is_single, self.is_forward)


@dataclass(slots=True)
class CustomUse(Use):
    label: Label
    target: Target
    is_alone: bool

    def build(self, body: _Body, builder: Builder, node: Apply, operands: list[Node], t: Type) -> Node:
        """custom_call(p, q, c…, x…) with p(c…, x…) = f(x…)[0] and q(c…, x…, ∇y) = f(x…)[1](∇y)."""
        from myia_notebook.ops.environment import Label as Name
        f, _, *given = operands
        f, arguments = self.target.build(body, builder, f, given)
        graph = _member(f)
        name = Name(graph)
        captured = [builder.apply(PRIMITIVES["closure_get"], f, Constant(name, Static(name)), builder.constant(i), type=Builder.type_of(p))
                    for i, p in enumerate(graph.parameters[:graph.captured])]
        pair_type = graph.result
        assert isinstance(pair_type, Tuple)
        value, back = Graph(graph.name, "function", graph.provenance), Graph(f"◀{graph.name}", "backpropagator", graph.provenance)
        pairs: list[Node] = []
        for made in (value, back):
            inner = Builder(made, graph.provenance)
            parameters = [made.add_parameter(p.name, Builder.type_of(p), p.provenance) for p in graph.parameters]
            pairs.append(inner.call(graph, *parameters, type=pair_type))
        value.result = pair_type.items[0]
        value.output = Builder(value, graph.provenance).item(pairs[0], 0)
        seed = back.add_parameter("∇", sensitivity(pair_type.items[0]))
        inner = Builder(back, graph.provenance)
        head = inner.item(pairs[1], 1)
        member = _member(head)
        assert member.result is not None
        fitted = body.fit(inner, seed, Builder.type_of(member.parameters[member.captured]))
        r = inner.call(head, fitted, type=member.result)
        wanted = [sensitivity(Builder.type_of(p)) for p in graph.parameters[graph.captured:]]
        back.result = Tuple(tuple(wanted))
        if member.result == NEVER:
            back.output = inner.apply(CAST, r, Constant(back.result, Static(back.result)), type=back.result)
        else:
            given_ = [r] if self.is_alone else [inner.item(r, i) for i in range(len(wanted))]
            back.output = inner.tuple(*(embed(inner, x, want) for x, want in zip(given_, wanted)))
        return builder.apply(CUSTOM_CALL, Constant(value), Constant(back), *captured, *arguments, type=value.result)


@dataclass(slots=True)
class StopUse(Use):
    def build(self, body: _Body, builder: Builder, node: Apply, operands: list[Node], t: Type) -> Node:
        return builder.apply(STOP, operands[0], type=Builder.type_of(operands[0]))


@dataclass(slots=True)
class JvpUse(Use):
    target: Target
    is_never: bool

    def build(self, body: _Body, builder: Builder, node: Apply, operands: list[Node], t: Type) -> Node:
        f, primals, tangents = operands
        count = len(parts(Builder.type_of(primals)))
        given = [builder.item(primals, i) for i in range(count)]
        f, arguments = self.target.build(body, builder, f, given)
        result = _member(f).result
        if self.is_never or result == NEVER:
            return _never(body, builder, f, arguments, t)
        active: list[int] = []
        dots: list[Node] = []
        for i, (part, x) in enumerate(zip(self.target.recipe, arguments)):
            want = sensitivity(Builder.type_of(x))
            if is_trivial(want) or not isinstance(part, (int, tuple, dict)):
                continue
            if isinstance(part, int) and _is_function(x):
                continue
            active.append(i)
            if isinstance(part, int):
                dots.append(embed(builder, builder.item(tangents, part), want))
            else:
                positions = part if isinstance(part, tuple) else tuple(part.values())
                dots.append(embed(builder, builder.tuple(*(builder.item(tangents, k) for k in positions)), want))
        options = TangentOptions(len(arguments), tuple(active))
        return builder.apply(TANGENT_CALL, f, Constant(options, Static(options)), *arguments, *dots, type=t)


def _is_function(x: Node) -> bool:
    from myia_notebook.gradient.classes import contains_function
    return contains_function(Builder.type_of(x))


@dataclass(slots=True)
class VjpUse(Use):
    """The value comes out of the forward pass ▶f that the backpropagator starts from: where both are in one program, the two calls of ▶f are
    equal nodes and become one, so that f runs once however often the backpropagator is called."""

    label: Label
    calls: Any
    target: Target

    def build(self, body: _Body, builder: Builder, node: Apply, operands: list[Node], t: Type) -> Node:
        from myia_notebook.gradient.classes import contains_function
        f, *primals = operands
        assert isinstance(t, Tuple)
        called, arguments = self.target.build(body, builder, f, primals)
        result = None if t.items[0] == NEVER else _member(called).result
        if result is None or result == NEVER or contains_function(result):
            value = body._unknown_call(builder, f, self.calls, primals, len(primals), (), Abstract(t.items[0]))
        else:
            options = GradientOptions((), False, True, has_seed=True)
            arguments = [*arguments, builder.zero(sensitivity(result))]
            pair = builder.apply(GRADIENT_CALL, called, Constant(options, Static(options)), *arguments, type=Tuple((result, UNIT)))
            value = body.fit(builder, builder.item(pair, 0), t.items[0])
        back = body._closure(builder, self.label, operands, Abstract(FunctionSet((self.label,))))
        return builder.tuple(value, back)


__all__ = ["CALLS", "INLINE", "Use", "by_name", "call", "check_tangent", "embed", "operands_of", "operator", "resolve_wrt"]
