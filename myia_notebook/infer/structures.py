"""Values with parts, from outside: dataclasses, named tuples, dicts, lists, tuples; what type they have, and how they look at run time.

At run time a record is a plain tuple of its fields, a list is a Python list, and a value of a union is a `vm.Closure` of the
constructor. A class whose values hold values of the same class (a linked list, a tree) is typed by a grammar, `Data`: one entry for each
such class, so that the type does not grow with the value. Everything here walks with its own stack: a value may be very deep.
"""
from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.types import LIST, NEVER, Array, Function, List, NoneType, Record, Scalar, Static, Structure, Tuple, Type


@dataclass(frozen=True, slots=True)
class Ref(Type):
    """A class that the grammar of a `Data` describes."""

    structure: Structure

    def __str__(self) -> str:
        return str(self.structure)


@dataclass(frozen=True, slots=True)
class Options(Type):
    """One of several types."""

    options: tuple[Type, ...]

    def __str__(self) -> str:
        return " | ".join(map(str, self.options))


@dataclass(frozen=True, slots=True)
class Data(Type):
    """The type of a value with recursive classes. `grammar`: the fields' types of each such class, in order of names."""

    root: Type
    grammar: tuple[tuple[Structure, tuple[Type, ...]], ...]

    def __str__(self) -> str:
        return str(self.root)


def structure_of_class(cls: Any) -> Structure | None:
    """The structure of a dataclass or NamedTuple class."""
    if not isinstance(cls, type):
        return None
    if dataclasses.is_dataclass(cls):
        return Structure("dataclass", tuple(f.name for f in dataclasses.fields(cls)), cls)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return Structure("namedtuple", tuple(cls._fields), cls)
    return None


def structure_of(value: Any) -> Structure | None:
    """The structure of a value with parts; None when it has none (a plain tuple has none either)."""
    cls = type(value)
    if cls is list:
        return LIST
    if cls is dict:
        if not all(isinstance(k, str) for k in value):
            raise error("M305", type="a dict whose keys are not all strings", hint="dicts have string keys")
        return Structure("dict", tuple(value))
    if cls is tuple:
        return None
    return structure_of_class(cls)


def has_parts(value: Any) -> bool:
    """Whether a value is a tuple, list, dict, dataclass or named tuple."""
    return type(value) in (tuple, list, dict) or structure_of_class(type(value)) is not None


def parts_of(value: Any) -> list[Any]:
    """The values that a value with parts holds, in the order of its structure."""
    cls = type(value)
    if cls is dict:
        return list(value.values())
    if cls in (list, tuple) or isinstance(value, tuple):
        return list(value)
    return [getattr(value, f.name) for f in dataclasses.fields(cls)]


def rebuild(structure: Structure | None, items: list[Any]) -> Any:
    """The user's value of a structure."""
    if structure is None:
        return tuple(items)
    match structure.kind:
        case "list":
            return list(items)
        case "dict":
            return dict(zip(structure.names, items))
        case "namedtuple":
            return structure.cls(*items)
        case "masked":
            return np.asarray(items[0])[np.asarray(items[1])]
        case "text":
            return "".join(map(str, items))
        case _:
            return _dataclass(structure, items)


def _dataclass(structure: Structure, items: list[Any]) -> Any:
    made = object.__new__(structure.cls)
    for name, item in zip(structure.names, items):
        object.__setattr__(made, name, item)
    return made


# -- types of values

def describe(value: Any) -> Type:
    """The type of a value with parts. Raises M305 for what the language does not know."""
    from myia_notebook.infer.values import type_of_value
    order = _postorder(value)
    recursive = _recursive(order)
    grammar: dict[Structure, list[Type]] = {}
    types: dict[int, Type] = {}
    for item, structure, children in order:
        if children is None:
            types[id(item)] = type_of_value(item)
            continue
        inner = [types[id(c)] for c in children]
        if structure in recursive:
            assert structure is not None
            known = grammar.setdefault(structure, inner)
            if known is not inner:
                grammar[structure] = [_merged(a, b) for a, b in zip(known, inner)]
            types[id(item)] = Ref(structure)
        elif structure is None:
            types[id(item)] = Tuple(tuple(inner))
        elif structure == LIST:
            types[id(item)] = list_type(inner)
        else:
            types[id(item)] = Record(tuple(inner), structure)
    root = types[id(value)]
    if not grammar:
        return root
    ordered = sorted(grammar.items(), key=lambda pair: (pair[0].cls.__module__, pair[0].cls.__qualname__) if pair[0].cls else ("", str(pair[0])))
    return Data(root, tuple((s, tuple(fields)) for s, fields in ordered))


def list_type(items: list[Type]) -> Type:
    """Of run-time length when the items are numbers, tuples of numbers or the like of one type; with arrays in it, of known length."""
    if not items:
        return List(NEVER)
    first = items[0]
    if all(t == first for t in items) and not _holds_arrays(first):
        return List(first)
    if all(isinstance(t, Scalar) for t in items):
        from myia_notebook.infer.join import join
        total = first
        for t in items[1:]:
            total = join(total, t)
        return List(total)
    if any(isinstance(t, (Ref, Options)) for t in items):
        total = first
        for t in items[1:]:
            total = _merged(total, t)
        return List(total)
    return Record(tuple(items), LIST)


def _holds_arrays(t: Type) -> bool:
    from myia_notebook.ir.types import parts
    return isinstance(t, (Array, Function)) or any(map(_holds_arrays, parts(t)))


def _merged(a: Type, b: Type) -> Type:
    if a == b:
        return a
    if isinstance(a, List) and isinstance(b, List):
        if NEVER in (a.item, b.item):
            return b if a.item == NEVER else a
        return List(_merged(a.item, b.item))
    options = {*(a.options if isinstance(a, Options) else (a,)), *(b.options if isinstance(b, Options) else (b,))}
    return Options(tuple(sorted(options, key=str)))


def _postorder(value: Any) -> list[tuple[Any, Structure | None, list[Any] | None]]:
    """(value, its structure, its parts or None for a leaf), parts first; each object once."""
    order: list[tuple[Any, Structure | None, list[Any] | None]] = []
    done: set[int] = set()
    open_: set[int] = set()
    keep: list[Any] = []  # ids stay valid while we look
    stack: list[tuple[Any, bool, list[Any] | None]] = [(value, False, None)]
    while stack:
        item, ready, children = stack.pop()
        if ready:
            open_.discard(id(item))
            if id(item) not in done:
                done.add(id(item))
                order.append((item, structure_of(item), children))
        elif id(item) in done:
            continue
        elif not has_parts(item):
            done.add(id(item))
            keep.append(item)
            order.append((item, None, None))
        else:
            if id(item) in open_:
                raise error("M305", type="a value that contains itself", hint="values are finite")
            open_.add(id(item))
            children = parts_of(item)
            keep.append(children)
            stack.append((item, True, children))
            stack.extend((c, False, None) for c in reversed(children))
    return order


def _recursive(order: list[tuple[Any, Structure | None, list[Any] | None]]) -> set[Structure]:
    """The dataclasses of which a value holds another."""
    bits: dict[Structure, int] = {}
    below: dict[int, int] = {}
    found: set[Structure] = set()
    for item, structure, children in order:
        if not children:
            below[id(item)] = 0
            if structure is not None and structure.kind == "dataclass":
                below[id(item)] = 1 << bits.setdefault(structure, len(bits))
            continue
        mask = 0
        for c in children:
            mask |= below[id(c)]
        if structure is not None and structure.kind in ("dataclass", "namedtuple"):
            bit = 1 << bits.setdefault(structure, len(bits))
            if mask & bit:
                found.add(structure)
            mask |= bit
        below[id(item)] = mask
    return found


# -- values at run time

def runtime(value: Any, t: Type) -> Any:
    """A user's value as the interpreter holds it, as a value of type t (of a typed graph; functions are constructors)."""
    if not _needs_work(t):
        return value
    from myia_notebook.vm import Closure
    results: list[Any] = []
    work: list[tuple[str, Any, Any]] = [("value", value, t)]
    while work:
        action, x, u = work.pop()
        if action == "tuple":
            made = results[len(results) - u:] if u else []
            del results[len(results) - u:]
            results.append(tuple(made) if x is None else made if x == "list" else Closure(x, tuple(made)))
            continue
        match u:
            case Tuple(items):
                children = parts_of(x)
                work.append(("tuple", None, len(items)))
                work.extend(("value", c, i) for c, i in reversed(list(zip(children, items))))
            case List(item):
                work.append(("tuple", "list", len(x)))
                work.extend(("value", c, item) for c in reversed(x))
            case Function(cls):
                member = member_for(cls, x)
                fields = member.flags["fields"]
                children = [x] if member.flags["box"] == "value" else parts_of(x) if fields else []
                work.append(("tuple", member, len(fields)))
                work.extend(("value", c, i) for c, i in reversed(list(zip(children, [p.type for p in member.parameters]))))
            case Scalar():
                results.append(number(x, u))
            case Array():
                results.append(x if not isinstance(x, np.ndarray) or x.dtype.isnative else x.astype(x.dtype.newbyteorder("=")))
            case _:
                results.append(x)
    return results[0]


def _needs_work(t: Type) -> bool:
    return isinstance(t, (Tuple, List, Function))


def number(x: Any, t: Scalar) -> Any:
    """A number as one of type t."""
    if t.dtype == "bool":
        return bool(x)
    if t.weak:
        return int(x) if t.dtype == "int64" else float(x)
    x = x[()] if isinstance(x, np.ndarray) else x
    return np.dtype(t.dtype).type(x)


def member_for(cls: Any, value: Any) -> Any:
    """The constructor of a union that holds this value."""
    if value is None:
        wanted: Any = "none"
    else:
        structure = structure_of(value)
        wanted = structure if structure is not None and structure.kind in ("dataclass", "namedtuple") else "value"
    found = [m for m in cls.members if m.flags.get("box") == wanted]
    if not found:
        raise error("M800", message=f"no constructor for {value!r:.40}")
    if len(found) == 1:
        return found[0]
    children = [value] if wanted == "value" else parts_of(value)
    exact = [m for m in found if all(accepts(p.type, c) for p, c in zip(m.parameters, children))]
    return exact[0] if exact else found[0]


def accepts(t: Any, value: Any) -> bool:
    """Whether a value is of type t, as far as a look at it tells."""
    match t:
        case Scalar(dtype, weak):
            if weak or dtype == "bool":
                return type(value) is {"bool": bool, "int64": int, "float64": float}[dtype]
            return isinstance(value, (np.generic, np.ndarray)) and np.asarray(value).dtype.name == dtype
        case Array(dtype, shape):
            return isinstance(value, np.ndarray) and value.dtype.name == dtype and value.shape == shape
        case NoneType():
            return value is None
        case Static(constant):
            return value is constant or value == constant
        case Tuple(items):
            return has_parts(value) and len(parts_of(value)) == len(items) and all(accepts(i, c) for i, c in zip(items, parts_of(value)))
        case List():
            return type(value) is list
        case _:
            return True


__all__ = ["Data", "Options", "Ref", "accepts", "describe", "has_parts", "member_for", "number", "parts_of", "rebuild", "runtime", "structure_of",
           "structure_of_class"]
