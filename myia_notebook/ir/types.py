"""Types of the IR. Every node of a typed graph has exactly one; they are frozen, hashable and compare by structure.

    Scalar(dtype, weak)      bool int64 int32 float64 float32; weak: a Python `int`/`float`, which does not promote an array
    Array(dtype, shape)      rank >= 1; the shape is fully known
    Tuple(items)             also the empty tuple, `UNIT`
    Record(items, structure) a tuple with names: a dataclass, a NamedTuple, a dict, a list of known length. Only while inferring: a
                             typed graph has plain tuples in its place
    List(item)               a list whose length is known only at run time
    NoneType()               the type of `None`
    Static(value)            a compile-time value that never exists at run time: str, dtype, operation, `...`
    Slice(start, stop, step) of types; its values are known when a program is compiled
    Range(weak int)          of `range(...)`: at run time the tuple (start, stop, step)
    Function(cls)            a closure of the function class `cls`
    Environment(cls)         the sensitivity of a `Function(cls)`: a sum over the class's members of sensitivities of captured values
    Never()                  of an expression that does not return (`raise`); joins with everything

Function classes are nominal and equality based (DESIGN.md, Gradient): all closures that can meet in one variable belong to one
`FunctionClass`, whose members are closed graphs with equal signatures after their captured parameters. Recursion goes through
the class object, so that a type is always finite and hashing it never loops.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from myia_notebook.ir.graph import Graph

BOOL_DTYPE, INT_DTYPES, FLOAT_DTYPES = "bool", ("int32", "int64"), ("float32", "float64")


class Type:
    """Base of all types."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Scalar(Type):
    """A number. `weak` marks Python's own `int` and `float` (NumPy 2 promotion); `bool` is never weak."""

    dtype: str
    weak: bool = False

    def __str__(self) -> str:
        return {"int64": "int", "float64": "float"}.get(self.dtype, self.dtype) if self.weak else self.dtype


@dataclass(frozen=True, slots=True)
class Array(Type):
    """An array of rank >= 1 (a NumPy 0-d array is a `Scalar`). In a program compiled for a rank an extent may be an `ir.extent.Extent`."""

    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class Tuple(Type):
    items: tuple[Type, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))}{',' if len(self.items) == 1 else ''})"


@dataclass(frozen=True, slots=True)
class Structure:
    """What a record is to the user. `kind`: 'dataclass', 'namedtuple' (then `cls` is the class), 'dict', 'list', 'text' (an f-string)."""

    kind: str
    names: tuple[str, ...] = ()
    cls: Any = None

    def __str__(self) -> str:
        return self.kind if self.cls is None else self.cls.__name__


LIST, TEXT = Structure("list"), Structure("text")


@dataclass(frozen=True, slots=True)
class Record(Tuple):
    """The items are the fields in order. A list of known length and a text have no names."""

    structure: Structure = LIST

    def __str__(self) -> str:
        match self.structure:
            case Structure("list"):
                return f"[{', '.join(map(str, self.items))}]"
            case Structure("text"):
                return "str"
            case Structure("masked"):
                return f"{self.items[0]} where {self.items[1]}"
            case Structure("dict", names):
                return "{" + ", ".join(f"{n!r}: {t}" for n, t in zip(names, self.items)) + "}"
            case Structure(names=names):
                return f"{self.structure}({', '.join(f'{n}: {t}' for n, t in zip(names, self.items))})"


@dataclass(frozen=True, slots=True)
class List(Type):
    """Immutable in a program; as a sensitivity, items beyond the end are zero."""

    item: Type

    def __str__(self) -> str:
        return "[]" if isinstance(self.item, Never) else f"[{self.item}…]"


@dataclass(frozen=True, slots=True)
class NoneType(Type):
    def __str__(self) -> str:
        return "None"


@dataclass(frozen=True, slots=True)
class Static(Type):
    value: Any

    def __str__(self) -> str:
        return repr(self.value) if isinstance(self.value, str) else getattr(self.value, "__name__", repr(self.value))


@dataclass(frozen=True, slots=True)
class Slice(Type):
    start: Type
    stop: Type
    step: Type

    def __str__(self) -> str:
        return "slice"


@dataclass(frozen=True, slots=True)
class Range(Type):
    def __str__(self) -> str:
        return "range"


@dataclass(frozen=True, slots=True)
class Never(Type):
    def __str__(self) -> str:
        return "never"


class FunctionClass:
    """All closures that can meet in one variable. Compares by identity; `members` are closed graphs in a fixed order.

    Every member g has `g.function_class` set to this object. The parameters after the captured ones, and the result, have
    equal types over all members.
    """

    __slots__ = ("members", "name", "derived")

    def __init__(self, members: list[Graph] | None = None, name: str = "") -> None:
        self.members: list[Graph] = members or []
        self.name = name
        self.derived: dict[str, FunctionClass] = {}  # classes made from this one by a transform: "forward", "backward", "tangent"

    def __repr__(self) -> str:
        return f"class {self.name or '|'.join(g.name for g in self.members)}"


@dataclass(frozen=True, slots=True)
class Function(Type):
    cls: FunctionClass

    def __str__(self) -> str:
        return "function " + " | ".join(dict.fromkeys(g.name for g in self.cls.members))


@dataclass(frozen=True, slots=True)
class Environment(Type):
    cls: FunctionClass

    def __str__(self) -> str:
        return "environment of " + " | ".join(dict.fromkeys(g.name for g in self.cls.members))


BOOL = Scalar("bool")
INT = Scalar("int64", weak=True)
FLOAT = Scalar("float64", weak=True)
FLOAT64, FLOAT32, INT64, INT32 = Scalar("float64"), Scalar("float32"), Scalar("int64"), Scalar("int32")
UNIT = Tuple(())
NONE = NoneType()
NEVER = Never()
RANGE = Range()


def parts(t: Type | None) -> tuple[Type, ...]:
    """The types that a value of type t directly consists of (tuples and lists)."""
    match t:
        case Tuple(items):
            return items
        case List(item):
            return (item,)
        case _:
            return ()


def map_parts(t: Type, function: Callable[[Type], Type]) -> Type:
    """t with each direct part replaced; t itself when nothing changes."""
    match t:
        case Record(items, structure):
            mapped = tuple(map(function, items))
            return t if all(a is b for a, b in zip(mapped, items)) else Record(mapped, structure)
        case Tuple(items):
            mapped = tuple(map(function, items))
            return t if all(a is b for a, b in zip(mapped, items)) else Tuple(mapped)
        case List(item):
            new = function(item)
            return t if new is item else List(new)
        case _:
            return t


def is_float(t: Type) -> bool:
    """Whether t is a scalar or array of a floating dtype: the only leaves with a sensitivity."""
    return isinstance(t, (Scalar, Array)) and t.dtype in FLOAT_DTYPES


def sensitivity(t: Type) -> Type:
    """∇t. Idempotent: ∇∇t = ∇t. Integers, booleans, None, strings, ranges have the empty tuple, `UNIT`."""
    match t:
        case Scalar() | Array():
            return t if is_float(t) else UNIT
        case Tuple(items):
            return Tuple(tuple(sensitivity(item) for item in items))
        case List(item):
            return List(sensitivity(item))
        case Function(cls):
            return Environment(cls)
        case Environment():
            return t
        case _:
            return UNIT


def is_trivial(t: Type) -> bool:
    """Whether a *sensitivity* type has one value only, so that there is nothing to propagate."""
    match t:
        case Tuple(items):
            return all(is_trivial(item) for item in items)
        case List(item):
            return is_trivial(item)
        case Scalar() | Array():
            return not is_float(t)
        case Environment():
            return False
        case _:
            return True


__all__ = ["BOOL", "BOOL_DTYPE", "FLOAT", "FLOAT32", "FLOAT64", "FLOAT_DTYPES", "INT", "INT32", "INT64", "INT_DTYPES", "NEVER",
           "LIST", "NONE", "RANGE", "TEXT", "UNIT", "Array", "Environment", "Function", "FunctionClass", "List", "Never", "NoneType", "Range", "Record",
           "Scalar", "Slice", "Static", "Structure", "Tuple", "Type", "is_float", "is_trivial", "map_parts", "parts", "sensitivity"]
