"""Records as operations: constructors of dataclasses and named tuples, fields, dicts with string keys, texts."""
from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from myia_notebook.errors import error
from myia_notebook.ir.graph import Constant
from myia_notebook.ir.types import TEXT, Record, Static, Structure, Tuple, Type
from myia_notebook.ops.expression import Builder, Expr
from myia_notebook.ops.operation import Operation

Keywords = dict[str, Expr]
_MISSING = object()


@functools.lru_cache(maxsize=1024)
def constructor_of(cls: type) -> Operation | None:
    """The operation that makes a value of a dataclass or NamedTuple class; None for other classes."""
    from myia_notebook.infer.structures import structure_of_class
    structure = structure_of_class(cls)
    if structure is None:
        return None
    return Operation(cls.__name__, functools.partial(_construct, structure), cls.__name__)


def _construct(structure: Structure, builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    name = structure.cls.__name__
    order, keyword_only, defaults = _fields(structure)
    if len(arguments) > len(order):
        raise error("M501", signature=_signature(structure), problem=f"takes {len(order)} arguments, got {len(arguments)}")
    bound = dict(zip(order, arguments))
    for key, value in keywords.items():
        if key not in (*order, *keyword_only):
            raise error("M501", signature=_signature(structure), problem=f"got an unexpected keyword argument '{key}'")
        if key in bound:
            raise error("M501", signature=_signature(structure), problem=f"got several values for '{key}'")
        bound[key] = value
    items: list[Expr] = []
    for field in structure.names:
        if field in bound:
            items.append(bound[field])
        elif field in defaults:
            items.append(literal(builder, defaults[field]))
        else:
            raise error("M501", signature=_signature(structure), problem=f"is missing the argument '{field}'")
    if hasattr(structure.cls, "__post_init__"):
        raise error("M308", message=f"'{name}' has a __post_init__", hint="check the values in a function that makes it")
    return made_record(builder, structure, items)


def made_record(builder: Builder, structure: Structure, items: list[Expr]) -> Expr:
    """A record; one that holds another of its own class is a value of a union from the start."""
    from myia_notebook.infer.unions import contains_structure
    if structure.kind in ("dataclass", "namedtuple") and builder.box is not None and any(contains_structure(i.type, structure) for i in items):
        from myia_notebook.ops.table import PRIMITIVES
        union = builder.box(Record(tuple(i.type for i in items), structure))
        label = union.labels[0]
        return builder.expr(builder.apply(PRIMITIVES["partial"], Constant(label, Static(label)), *(i.node for i in items), type=union))
    return builder.expr(builder.record(structure, *(i.node for i in items)))


def _signature(structure: Structure) -> str:
    _, _, defaults = _fields(structure)
    return f"{structure.cls.__name__}({', '.join(n + ('=…' if n in defaults else '') for n in structure.names)})"


@functools.lru_cache(maxsize=1024)
def _fields(structure: Structure) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, Any]]:
    """(positional fields, keyword-only fields, defaults)"""
    cls = structure.cls
    if structure.kind == "namedtuple":
        return structure.names, (), dict(cls._field_defaults)
    order: list[str] = []
    keyword_only: list[str] = []
    defaults: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        if not field.init:
            raise error("M308", message=f"the field '{field.name}' of {cls.__name__} is not set by its constructor", hint="make it a property")
        (keyword_only if field.kw_only else order).append(field.name)
        if field.default is not dataclasses.MISSING:
            defaults[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            defaults[field.name] = field.default_factory()
    return tuple(order), tuple(keyword_only), defaults


def literal(builder: Builder, value: Any) -> Expr:
    """A value from outside, made again in the program."""
    from myia_notebook.infer.structures import has_parts, parts_of, structure_of
    from myia_notebook.ops.operators import known
    if not has_parts(value):
        return known(builder, value)
    items = [literal(builder, v) for v in parts_of(value)]
    structure = structure_of(value)
    if structure is None:
        return builder.expr(builder.tuple(*(i.node for i in items)))
    return made_record(builder, structure, items)


def make_record(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """make_record(structure, item, …)"""
    from myia_notebook.ops.operators import static_value
    structure = static_value(arguments[0])
    return made_record(builder, structure, arguments[1:])


def is_dict(t: Type) -> bool:
    return isinstance(t, Record) and t.structure.kind == "dict"


def field(x: Expr, name: str) -> Expr | None:
    """A field by name; None when there is none."""
    from myia_notebook.infer.unions import dispatch, labels_of, payload
    t = x.type
    if isinstance(t, Record) and t.structure.kind in ("dataclass", "namedtuple") and name in t.structure.names:
        return Expr(x.builder, x.builder.item(x.node, t.structure.names.index(name)))
    labels = labels_of(x)
    if labels is None:
        return None
    for label in labels:
        held = payload(label)
        if not (isinstance(held, Record) and name in held.structure.names):
            return None

    def read(y: Expr) -> Expr:
        found = field(y, name)
        assert found is not None
        return found

    return dispatch(x, read)


def merged_dicts(builder: Builder, parts: list[tuple[str | None, Expr]]) -> Expr:
    """A dict display: (key, value) or (None, dict to unpack); later keys win, first places stay."""
    items: dict[str, Expr] = {}
    for key, value in parts:
        if key is not None:
            items[key] = value
            continue
        t = value.type
        if not is_dict(t):
            raise error("M301", operation="'**' in a dict", types=str(t), hint="only dicts can be unpacked there")
        assert isinstance(t, Record)
        for i, name in enumerate(t.structure.names):
            items[name] = Expr(builder, builder.item(value.node, i))
    return builder.expr(builder.record(Structure("dict", tuple(items)), *(v.node for v in items.values())))


def dict_display(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """dict_display(keys, value, …): `keys` holds None where the value is a dict to unpack, and is None where the key is an operand."""
    from myia_notebook.ops.operators import require_static, static_value
    kinds = static_value(arguments[0])
    rest = list(arguments[1:])
    parts: list[tuple[str | None, Expr]] = []
    for kind in kinds:
        if kind == "**":
            parts.append((None, rest.pop(0)))
        else:
            key = require_static(rest.pop(0), "the key of a dict")
            if not isinstance(key, str):
                raise error("M301", operation="a dict", types=f"the key {key!r}", hint="keys are strings")
            parts.append((key, rest.pop(0)))
    return merged_dicts(builder, parts)


def dict_function(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """dict(d, a=1) and dict(pairs)"""
    from myia_notebook.ops.operators import require_static, sequence_items
    parts: list[tuple[str | None, Expr]] = []
    if len(arguments) > 1:
        raise error("M501", signature="dict()", problem=f"takes at most 1 argument, got {len(arguments)}")
    for x in arguments:
        if is_dict(x.type):
            parts.append((None, x))
            continue
        for pair in sequence_items(x, "dict"):
            key, value = sequence_items(pair, "dict")
            parts.append((require_static(key, "the key of a dict"), value))
    parts.extend((k, v) for k, v in keywords.items())
    return merged_dicts(builder, parts)


def dict_method(x: Expr, name: str, arguments: list[Expr]) -> Expr | None:
    """d.keys(), d.values(), d.items(), d.get(key, default)."""
    from myia_notebook.ops.operators import known, make, require_static
    t = x.type
    assert isinstance(t, Record)
    builder = x.builder
    values = [Expr(builder, builder.item(x.node, i)) for i in range(len(t.items))]
    keys = [known(builder, n, Static(n)) for n in t.structure.names]
    match name:
        case "keys" if not arguments:
            return make(builder, keys)
        case "values" if not arguments:
            return make(builder, values)
        case "items" if not arguments:
            return make(builder, [make(builder, [k, v]) for k, v in zip(keys, values)])
        case "copy" if not arguments:
            return x
        case "get" if 1 <= len(arguments) <= 2:
            key = require_static(arguments[0], "the key of a dict")
            if key in t.structure.names:
                return values[t.structure.names.index(key)]
            return arguments[1] if len(arguments) == 2 else known(builder, None)
        case _:
            return None


def make_text(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """An f-string: known when its parts are, else a record of the parts, for messages."""
    from myia_notebook.ops.operators import known, static_value
    from myia_notebook.ops.primitive import UNKNOWN
    kinds, *parts = arguments
    pieces: list[Expr] = []
    for kind, part in zip(static_value(kinds), parts):
        value = static_value(part)
        if value is not UNKNOWN:
            text = str(value) if kind is None else formatted(value, kind)
            pieces.append(known(builder, text, Static(text)))
        else:
            pieces.append(builder.expr(builder.tuple(known(builder, kind, Static(kind)).node, part.node)))
    if all(isinstance(p.type, Static) for p in pieces):
        text = "".join(p.type.value for p in pieces)  # type: ignore[union-attr]
        return known(builder, text, Static(text))
    return builder.expr(builder.record(TEXT, *(p.node for p in pieces)))


def formatted(value: Any, kind: tuple[str, str]) -> str:
    """A value as an f-string writes it: conversion ('r', 's', 'a' or none) and format."""
    conversion, form = kind
    if conversion:
        value = {"r": repr, "s": str, "a": ascii}[conversion](value)
    return format(value, form)


# -- records made of records

def _over_records(what: str, x: Expr, operation: Callable[[Expr, Record], Expr], kinds: tuple[str, ...] = ("dataclass", "namedtuple")) -> Expr:
    """`operation` on a record, or on each record that a union may hold."""
    from myia_notebook.infer.unions import dispatch, labels_of
    if labels_of(x) is not None:
        return dispatch(x, lambda y: _over_records(what, y, operation, kinds))
    if not isinstance(x.type, Record) or x.type.structure.kind not in kinds:
        raise error("M301", operation=what, types=str(x.type), hint=f"it takes a {' or '.join(kinds)}".replace("dataclass", "dataclass's value"))
    return operation(x, x.type)


def replaced(what: str, x: Expr, changes: Keywords) -> Expr:
    """A record with some fields changed."""
    def change(y: Expr, t: Record) -> Expr:
        names = t.structure.names
        for name in changes:
            if name not in names:
                raise error("M501", signature=f"{what}({', '.join(names)})", problem=f"got an unexpected field '{name}'")
        items = [changes[n] if n in changes else Expr(y.builder, y.builder.item(y.node, i)) for i, n in enumerate(names)]
        return made_record(y.builder, t.structure, items)
    return _over_records(what, x, change)


def as_plain(what: str, x: Expr, into: Callable[[Expr, tuple[str, ...], list[Expr]], Expr], kinds: tuple[str, ...], is_deep: bool) -> Expr:
    """A record as a dict or tuple of its fields; `is_deep`: the records in it too."""
    from myia_notebook.ops.operators import make, make_list

    def inner(y: Expr) -> Expr:
        t = y.type
        if not isinstance(t, Tuple) or not is_deep:
            return y
        items = [inner(Expr(y.builder, y.builder.item(y.node, i))) for i in range(len(t.items))]
        if isinstance(t, Record) and t.structure.kind == "dataclass":
            return into(y, t.structure.names, items)
        if isinstance(t, Record):
            return make_list(y.builder, items) if t.structure.kind == "list" else made_record(y.builder, t.structure, items)
        return make(y.builder, items)

    def fields(y: Expr, t: Record) -> Expr:
        return into(y, t.structure.names, [inner(Expr(y.builder, y.builder.item(y.node, i))) for i in range(len(t.items))])
    return _over_records(what, x, fields, kinds)


def _as_dict(x: Expr, names: tuple[str, ...], items: list[Expr]) -> Expr:
    return x.builder.expr(x.builder.record(Structure("dict", names), *(i.node for i in items)))


def _as_tuple(x: Expr, names: tuple[str, ...], items: list[Expr]) -> Expr:
    return x.builder.expr(x.builder.tuple(*(i.node for i in items)))


def record_method(x: Expr, name: Any, arguments: list[Expr], keywords: Keywords) -> Expr | None:
    """The methods that Python gives to every named tuple."""
    from myia_notebook.infer.unions import labels_of, payload
    held = [payload(label) for label in labels_of(x) or ()] or [x.type]
    if arguments or not all(isinstance(t, Record) and t.structure.kind == "namedtuple" for t in held):
        return None
    if name == "_replace":
        return replaced("_replace", x, keywords)
    return as_plain("_asdict", x, _as_dict, ("namedtuple",), False) if name == "_asdict" and not keywords else None


def _replace(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    if len(arguments) != 1:
        raise error("M501", signature="replace(obj, /, **changes)", problem=f"takes 1 argument by position, got {len(arguments)}")
    return replaced("replace", arguments[0], keywords)


def _plain(what: str, into: Callable[[Expr, tuple[str, ...], list[Expr]], Expr]) -> Any:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        if len(arguments) != 1 or keywords:
            raise error("M501", signature=f"{what}(obj)", problem=f"takes 1 argument, got {len(arguments) + len(keywords)}")
        return as_plain(what, arguments[0], into, ("dataclass",), True)
    return Operation(what, expand, what)


RECORDS: dict[Any, Operation] = {dataclasses.replace: Operation("replace", _replace, "replace"), dataclasses.asdict: _plain("asdict", _as_dict),
                                 dataclasses.astuple: _plain("astuple", _as_tuple)}


def with_item(x: Expr, key: Any, value: Expr) -> Expr:
    """A dict with one key set."""
    t = x.type
    assert isinstance(t, Record)
    return merged_dicts(x.builder, [(None, x), (key, value)])


__all__ = ["RECORDS", "constructor_of", "dict_display", "dict_function", "dict_method", "field", "formatted", "is_dict", "literal", "made_record", "make_record", "make_text", "record_method",
           "with_item"]
