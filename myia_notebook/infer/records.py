"""Classes of the user in inference: what a method, a property or an operator of a dataclass or NamedTuple calls.

`method_call` looks at an operation and its operands; when the receiver is a record (or a union of records) whose class defines it, the
answer says which functions to call, one for each constructor that the receiver may be. The functions are parsed and closed when they are
first met, in the session of the program, so that a redefined class is seen.
"""
from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from myia_notebook.infer.join import FunctionSet, Label, is_callable, is_union, join
from myia_notebook.infer.recursion import components
from myia_notebook.infer.structures import Data, Options, Ref
from myia_notebook.infer.unions import constructor_graph, payload
from myia_notebook.ir.graph import Constant, Graph, reachable
from myia_notebook.ir.types import List, Record, Scalar, Static, Structure, Tuple, Type, map_parts, parts
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.primitive import Abstract

if TYPE_CHECKING:
    from myia_notebook.infer.engine import Context, Engine

CALL_VALUE = "__call__"


@dataclass(slots=True)
class Case:
    """One constructor that the receiver may be (`label` None: a plain record), and the method's graph for it."""

    label: Label | None
    receiver: Type
    graph: Graph
    recipe: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class MethodUse:
    """`order`: operands that the method takes, the receiver first. `positions`: where they are among the node's inputs (−1: its head)."""

    cases: list[Case]
    order: list[int]
    positions: list[Any] = field(default_factory=list)
    contexts: list[Context] = field(default_factory=list)


def _binary_names() -> dict[str, tuple[str, str]]:
    reflected = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
    names = {n: (f"__{n}__", f"__r{n}__") for n in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")}
    return names | {n: (f"__{n}__", f"__{r}__") for n, r in reflected.items()}


def _tables() -> tuple[dict[int, tuple[str, str]], dict[int, str]]:
    """(dunder names of binary operations, of operations on one value), by id of the operation."""
    import operator

    from myia_notebook.ops.table import NAMED, OPERATIONS
    python = {"and": operator.and_, "or": operator.or_}
    binary = {id(OPERATIONS[python.get(n) or getattr(operator, n)]): pair for n, pair in _binary_names().items()}
    unary = {id(OPERATIONS[operator.neg]): "__neg__", id(OPERATIONS[operator.pos]): "__pos__", id(OPERATIONS[operator.invert]): "__invert__",
             id(OPERATIONS[abs]): "__abs__", id(OPERATIONS[len]): "__len__", id(NAMED["getitem"]): "__getitem__",
             id(OPERATIONS[operator.contains]): "__contains__", id(OPERATIONS[operator.truth]): "__bool__", id(OPERATIONS[bool]): "__bool__",
             id(OPERATIONS[float]): "__float__", id(OPERATIONS[int]): "__int__"}
    return binary, unary


_cache: list[Any] = []


def method_call(engine: Engine, value: Any, operands: list[Abstract], names: tuple[str, ...] = ()) -> MethodUse | None:
    """The user's functions that an operation calls; None when the operation is the language's own."""
    if not operands:
        return None
    composite = None if value == CALL_VALUE else _composite(engine, value, operands, names)
    if composite is not None:
        return composite
    if not any(_is_object(a.type) for a in operands[:2]):
        return None
    from myia_notebook.ops.table import NAMED, operation_for
    if not _cache:
        _cache.extend(_tables())
    binary, unary = _cache
    key = id(value if isinstance(value, Operation) else operation_for(value))
    rest = list(range(1, len(operands)))
    if value == CALL_VALUE:
        return _find(engine, operands[0].type, "__call__", [0, *rest], names=names)
    if value is NAMED["call_method"]:
        return _find(engine, operands[0].type, operands[1].type.value, [0, *rest[1:]])  # type: ignore[union-attr]
    if value is NAMED["getattr_"]:
        return _find(engine, operands[0].type, operands[1].type.value, [0], is_property=True)  # type: ignore[union-attr]
    if key in unary:
        found = _find(engine, operands[0].type, unary[key], [0, *rest])
        return found or (_find(engine, operands[0].type, "__len__", [0]) if unary[key] == "__bool__" else None)
    if key in binary and len(operands) == 2:
        direct, reflected = binary[key]
        return _find(engine, operands[0].type, direct, [0, 1]) or _find(engine, operands[1].type, reflected, [1, 0])
    return None


def _composite(engine: Engine, value: Any, operands: list[Abstract], names: tuple[str, ...]) -> MethodUse | None:
    """A builtin on a list of run-time length, or one that takes functions: the function in the language that does it."""
    from myia_notebook.ops.composites import METHODS, composites
    from myia_notebook.ops.functional import function_for
    from myia_notebook.ops.table import NAMED, OPERATIONS, operation_for
    order = list(range(len(operands)))
    if value is NAMED["call_method"]:
        name = operands[1].type.value  # type: ignore[union-attr]
        if not (name in METHODS and (isinstance(operands[0].type, List) or name == "index" and _is_plain_sequence(operands[0].type))):
            return None
        function, order = METHODS[name], [0, *order[2:]]
    else:
        operation = value if isinstance(value, Operation) else operation_for(value)
        special = function_for(operation, operands, names)
        if special is not None:
            return MethodUse([Case(None, operands[0].type, method_graph(engine, special))], order)
        entry = composites().get(id(operation))
        if entry is None or not (entry[1](operands) or operation is OPERATIONS[sum] and any(map(_is_object, parts(operands[0].type)))):
            return None
        function = entry[0]
        if function.__name__ == "_repeat" and isinstance(operands[0].type, Scalar):
            order = [1, 0]
    return MethodUse([Case(None, operands[order[0]].type, method_graph(engine, function))], order)


def _is_object(t: Type) -> bool:
    return (isinstance(t, Record) and t.structure.cls is not None) or (isinstance(t, FunctionSet) and is_union(t))


def _is_plain_sequence(t: Type) -> bool:
    from myia_notebook.ops.iteration import marker_of
    return isinstance(t, Tuple) and marker_of(t) is None and not (isinstance(t, Record) and t.structure.kind in ("dataclass", "dict", "text", "masked"))


def _find(engine: Engine, t: Type, name: str, order: list[int], is_property: bool = False, names: tuple[str, ...] = ()) -> MethodUse | None:
    if not _is_object(t):
        return None
    cases: list[Case] = []
    if isinstance(t, Record):
        function = _lookup(engine, t.structure.cls, name, is_property)
        if function is None:
            return None
        cases.append(Case(None, t, method_graph(engine, function)))
    else:
        assert isinstance(t, FunctionSet)
        for label in t.labels:
            held = payload(label)
            if name == "__call__" and is_callable(held):
                graph = application(len(order) - 1, names)
                engine.invariants.setdefault(graph.id, None)
                cases.append(Case(label, held, graph))
                continue
            function = _lookup(engine, held.structure.cls, name, is_property) if isinstance(held, Record) and held.structure.cls is not None else None
            if function is None:
                return None
            receiver = FunctionSet((label,)) if isinstance(held, Record) and held.structure.kind == "dataclass" else held
            cases.append(Case(label, receiver, method_graph(engine, function)))
    return MethodUse(cases, order)


def _lookup(engine: Engine, cls: type, name: str, is_property: bool) -> Any:
    """The Python function that a class has under a name; None when there is none, or Python made it itself."""
    if not isinstance(name, str):
        return None
    found = inspect.getattr_static(cls, name, None)
    if isinstance(found, property) is not is_property:
        return None
    function = found.fget if isinstance(found, property) else getattr(found, "__myia_function__", found)
    if not inspect.isfunction(function) or function.__code__.co_filename == "<string>" or function.__module__ in ("collections", "typing"):
        return None
    if engine.session is not None:
        engine.session.read_method(cls, name)
    return function


_applications: dict[tuple[int, tuple[str, ...]], Graph] = {}


def application(count: int, names: tuple[str, ...]) -> Graph:
    """(f, x…) ↦ f(x…), the last arguments by name: how a function is called that a union holds."""
    key = (count, names)
    graph = _applications.get(key)
    if graph is None:
        from myia_notebook.parse.expressions import CALL_WITH
        graph = _applications[key] = Graph("call", "function")
        f, *operands = [graph.add_parameter(name) for name in ("f", *[""] * count)]
        kinds = ("",) * (count - len(names)) + names
        graph.output = graph.apply(Constant(CALL_WITH), f, Constant(kinds, Static(kinds)), *operands) if names else graph.apply(f, *operands)
        graph.flags["application"] = True
    return graph


def method_graph(engine: Engine, function: Any) -> Graph:
    """The closed graph of a function met while inferring."""
    known = engine.methods.get(id(function))
    if known is None:
        from myia_notebook.infer.close import close
        from myia_notebook.ops.functional import UNROLLED
        from myia_notebook.parse.parser import ParseSession, parse_function
        if engine.session is None:
            engine.session = ParseSession()
        known = engine.methods[id(function)] = close(parse_function(function, engine.session))
        if function in UNROLLED:
            _unroll_recursion(known)
        engine.add_cycles(known)
    return known


def _unroll_recursion(graph: Graph) -> None:
    """Its functions that call themselves get a context for each known value; its loops do not."""
    graphs = reachable(graph)
    component = components(graphs)
    recursive = {component[g.id] for g in graphs if g.kind == "function"} - {-1}
    for g in graphs:
        if component[g.id] in recursive:
            g.flags["unroll"] = True


def intern(engine: Engine, t: Type) -> Type:
    """The type of a value from outside as inference uses it: recursive classes become unions of constructors."""
    if not isinstance(t, Data):
        return t
    labels: dict[Structure, Label] = {}
    for structure, _ in t.grammar:
        label = labels[structure] = Label(constructor_graph(structure, structure.names), (), len(engine.label_list))
        engine.label_list.append(label)

    def convert(u: Type) -> Type:
        match u:
            case Ref(structure):
                return FunctionSet((labels[structure],))
            case Options(options):
                total = convert(options[0])
                for other in options[1:]:
                    total = join(total, convert(other), engine.box)
                return total
            case _:
                return map_parts(u, convert)

    for structure, fields in t.grammar:
        label = labels[structure]
        label.captured = tuple(Abstract(convert(u)) for u in fields)
        engine.labels[label.graph.id, label.captured] = label
    return convert(t.root)


__all__ = ["Case", "MethodUse", "intern", "method_call", "method_graph"]
