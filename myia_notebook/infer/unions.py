"""Unions: a value that is one of several things, `Leaf | Node`, `Point | None`.

A union is a set of *constructors*. A constructor is a graph that is never called, with a parameter for each field; a value of the union is
its closure over the fields, a test is `closure_is`, a field `closure_get`: the machinery of function classes, their recursion, their
sensitivities and their native form serve unions as they are. Types become unions where branches join (`join.join` calls `box`), and a
dataclass that holds another of its own class is one from the start, so that a list or tree of any depth has one finite type.
Reference: Reynolds 1972 (a closure is a record with a tag); here the other way round.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from myia_notebook.infer.join import FunctionSet, Label, is_function, is_union, walk
from myia_notebook.ir.graph import UNDEFINED, Constant, Graph
from myia_notebook.ir.types import BOOL, NEVER, NONE, Array, NoneType, Record, Scalar, Static, Structure, Tuple, Type
from myia_notebook.ops.expression import Builder, Expr
from myia_notebook.ops.primitive import Abstract

if TYPE_CHECKING:
    from myia_notebook.infer.engine import Engine

_constructors: dict[Any, Graph] = {}


def constructor_graph(kind: Any, names: tuple[str, ...]) -> Graph:
    """The constructor of a structure, of None ("none") or of any other value ("value")."""
    key = (kind, names)
    graph = _constructors.get(key)
    if graph is None:
        graph = _constructors[key] = Graph("None" if kind == "none" else str(kind), "closure")
        for name in names:
            graph.add_parameter(name)
        graph.captured = len(names)
        graph.output = Constant(UNDEFINED, NEVER)
        graph.flags["box"] = kind
    return graph


def box(engine: Engine, t: Type) -> FunctionSet:
    """t as a union of one constructor."""
    if isinstance(t, FunctionSet) and is_union(t):
        return t
    if t == NONE:
        graph, fields = constructor_graph("none", ()), ()
    elif isinstance(t, Record) and t.structure.kind in ("dataclass", "namedtuple"):
        graph, fields = constructor_graph(t.structure, t.structure.names), t.items
    else:
        graph, fields = constructor_graph("value", ("value",)), (t,)
    return FunctionSet((engine.make_label(graph, tuple(map(Abstract, fields))),))


_etas: dict[int, tuple[Any, Graph]] = {}


def library_function(value: Any) -> Graph:
    """x… ↦ value(x…), for a function of the library that is chosen at run time."""
    known = _etas.get(id(value))
    if known is None:
        graph = Graph(getattr(value, "__name__", "function"), "function")
        for i in range(_arity(value)):
            graph.add_parameter(f"x{i}" if i else "x")
        graph.output = graph.apply(Constant(value), *graph.parameters)
        graph.flags["library"] = value
        known = _etas[id(value)] = (value, graph)
    return known[1]


def _arity(value: Any) -> int:
    count = getattr(value, "nin", None)
    if isinstance(count, int):
        return count
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return 1
    required = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return max(len(required), 1)


class Boxes:
    """How values enter sets while one program is inferred (`join.Box`)."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __call__(self, t: Type) -> FunctionSet:
        return box(self.engine, t)

    def function(self, t: Type) -> FunctionSet:
        if isinstance(t, FunctionSet):
            return t
        assert isinstance(t, Static)
        return FunctionSet((self.engine.make_label(library_function(t.value), ()),))

    def union(self, labels: tuple[Label, ...]) -> FunctionSet:
        held = [label for label in labels if label.graph.flags["box"] == "value" and is_function(label.captured[0].type)]
        for other in held[1:]:
            self.engine.merge(held[0], other)
        return FunctionSet(tuple(label for label in labels if label not in held[1:]))


def payload(label: Label) -> Type:
    """The type of what a constructor holds."""
    kind = label.graph.flags["box"]
    if kind == "none":
        return NONE
    if kind == "value":
        return label.captured[0].type
    return Record(tuple(a.type for a in label.captured), kind)


def contains_structure(t: Type, structure: Structure) -> bool:
    """Whether a value of type t may hold a record of this structure."""
    for item in walk(t):
        match item:
            case Record(structure=found) if found == structure:
                return True
            case FunctionSet(labels) if any(label.graph.flags.get("box") == structure for label in labels):
                return True
    return False


# -- looking into a union

def labels_of(x: Expr) -> tuple[Label, ...] | None:
    """The constructors of a union; None when x is no union."""
    t = x.type
    return t.labels if isinstance(t, FunctionSet) and is_union(t) else None


def _label_constant(label: Label) -> Constant:
    return Constant(label, Static(label))


def is_one_of(x: Expr, chosen: list[Label]) -> Expr:
    """Whether x was made by one of these constructors, at run time or before."""
    from myia_notebook.ops.operators import known
    from myia_notebook.ops.table import PRIMITIVES
    all_labels = labels_of(x)
    assert all_labels is not None
    if not chosen or len(chosen) == len(all_labels):
        return known(x.builder, bool(chosen))
    result: Expr | None = None
    for label in chosen:
        test = x.builder.expr(x.builder.apply(PRIMITIVES["closure_is"], x.node, _label_constant(label), type=BOOL))
        if result is None:
            result = test
        else:
            result = x.builder.expr(x.builder.apply(PRIMITIVES["logical_or"], result.node, test.node))
    assert result is not None
    return result


def content(x: Expr, label: Label) -> Expr:
    """What x holds, given that `label` made it."""
    from myia_notebook.ops.operators import known
    builder = x.builder
    t = payload(label)
    if t == NONE:
        return known(builder, None)
    if label.graph.flags["box"] == "value":
        return builder.expr(_field(builder, x, label, 0))
    assert isinstance(t, Record)
    return builder.expr(builder.record(t.structure, *(_field(builder, x, label, i) for i in range(len(t.items)))))


def _field(builder: Builder, x: Expr, label: Label, index: int) -> Any:
    from myia_notebook.ops.table import PRIMITIVES
    return builder.apply(PRIMITIVES["closure_get"], x.node, _label_constant(label), builder.constant(index), type=label.captured[index].type,
                         name=label.graph.parameters[index].name)


def narrow(x: Expr, chosen: list[Label]) -> Expr:
    """x, known to be made by one of these. A single constructor of something other than a dataclass gives what it holds."""
    from myia_notebook.ops.table import PRIMITIVES
    builder = x.builder
    if not chosen:
        return builder.expr(Constant(UNDEFINED, NEVER))
    if len(chosen) == 1:
        kind = chosen[0].graph.flags["box"]
        if not (isinstance(kind, Structure) and kind.kind == "dataclass"):
            return content(x, chosen[0])
    t = FunctionSet(tuple(chosen))
    return x if t == x.type else builder.expr(builder.apply(PRIMITIVES["cast"], x.node, Constant(t, Static(t)), type=t))


def dispatch(x: Expr, operation: Callable[[Expr], Expr]) -> Expr:
    """`operation` on what x holds, whichever constructor made it: a branch for each, joined."""
    labels = labels_of(x)
    assert labels is not None
    return _dispatch(x, list(labels), operation)


def _dispatch(x: Expr, labels: list[Label], operation: Callable[[Expr], Expr]) -> Expr:
    if len(labels) == 1:
        return operation(content(x, labels[0]))
    test = is_one_of(x, labels[:1])
    return x.builder.branch(test, (x,), lambda y: operation(content(y, labels[0])), lambda y: _dispatch(y, labels[1:], operation))


# -- classes

def matches(t: Type, cls: Any) -> bool | None:
    """isinstance of a value of type t; None for a union that is only sometimes one."""
    import numpy as np
    if isinstance(t, FunctionSet) and is_union(t):
        found = {matches(payload(label), cls) for label in t.labels}
        return found.pop() if len(found) == 1 else None
    match t:
        case Scalar(dtype, weak):
            python = bool if dtype == "bool" else (int if dtype == "int64" else float) if weak else np.dtype(dtype).type
            return issubclass(python, cls)
        case Array():
            return issubclass(np.ndarray, cls)
        case Record(structure=Structure("dict")):
            return issubclass(dict, cls)
        case Record(structure=Structure("list")):
            return issubclass(list, cls)
        case Record(structure=Structure("text")):
            return issubclass(str, cls)
        case Record(structure=structure):
            return issubclass(structure.cls, cls)
        case Tuple():
            return issubclass(tuple, cls)
        case NoneType():
            return issubclass(type(None), cls)
        case Static(value):
            return isinstance(value, cls)
        case _:
            from myia_notebook.ir.types import List
            return issubclass(list, cls) if isinstance(t, List) else cls is object


def matching(labels: tuple[Label, ...], classes: tuple[Any, ...]) -> list[Label]:
    """The constructors whose values are instances of one of the classes."""
    return [label for label in labels if any(matches(payload(label), c) for c in classes)]


__all__ = ["Boxes", "box", "constructor_graph", "contains_structure", "content", "dispatch", "is_one_of", "labels_of", "matches", "matching", "narrow", "payload"]
