"""Where two values meet: the join of their types.

Equal types join to themselves; `never` joins with everything; a bool, int and float promote as arithmetic would; a weak number gives way
to a strong one; functions join to the set of both; lists of several lengths to a list of run-time length. Two dataclasses, or None and
anything, form a union: a set of *constructors*, which are labels like those of closures (a value of a union is a constructor with its
captured fields, so that everything that works on closures works on unions). Everything else is an error that shows both types
(M302), raised by the caller, who knows the two lines.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from myia_notebook.ir.graph import Graph
from myia_notebook.ir.types import FLOAT_DTYPES, LIST, NEVER, NONE, List, Record, Scalar, Static, Structure, Tuple, Type, parts
from myia_notebook.ops.primitive import UNKNOWN, Abstract
from myia_notebook.ops.promotion import promote


class Label:
    """A closure as inference sees it: a closed graph and what is known of its captured values. Compares by identity."""

    __slots__ = ("graph", "captured", "number", "contexts", "parent", "signature", "origin", "is_dispatched", "is_merged")

    def __init__(self, graph: Graph, captured: tuple[Abstract, ...], number: int) -> None:
        self.graph, self.captured, self.number = graph, captured, number
        self.contexts: dict[tuple[Type, ...], Any] = {}
        self.parent: Label = self
        self.signature: tuple[Type, ...] | None = None
        self.is_dispatched = False  # of a root: see infer.classes
        self.is_merged = False  # a constructor for which another stands
        self.origin: int | None = None  # the constructor that this one's values are gradients of

    def root(self) -> Label:
        label = self
        while label.parent is not label:
            label.parent = label.parent.parent
            label = label.parent
        return label

    def __repr__(self) -> str:
        return f"<{self.graph.name} {self.number}>"


@dataclass(frozen=True, slots=True)
class FunctionSet(Type):
    """A function value that may be one of several closures, ordered by number."""

    labels: tuple[Label, ...]

    def __str__(self) -> str:
        if is_union(self):
            return " | ".join(dict.fromkeys(_constructor_text(label) for label in self.labels))
        return "function " + " | ".join(dict.fromkeys(label.graph.name for label in self.labels))


def _constructor_text(label: Label) -> str:
    return str(label.captured[0].type) if label.graph.flags["box"] == "value" else label.graph.name


@dataclass(frozen=True, slots=True)
class Known(Type):
    """An argument in the signature of a closure whose value all calls agree on. Only signatures hold this."""

    type: Type
    value: Any

    def __str__(self) -> str:
        return str(self.type)


def as_fact(t: Type) -> Abstract:
    """What is known of an argument with this place in a signature."""
    return Abstract(t.type, t.value) if isinstance(t, Known) else Abstract(t)


class CannotJoin(Exception):
    """The two types have no join."""


class Box(Protocol):
    """Makes values of a type members of a set (`infer.unions.Boxes`)."""

    def __call__(self, t: Type) -> FunctionSet:
        """The constructor of a union for t."""
        ...

    def function(self, t: Type) -> FunctionSet:
        """A function of the library (`math.sin`) as a closure; a set of functions is one already."""
        ...

    def union(self, labels: tuple[Label, ...]) -> FunctionSet:
        """The union of these constructors; one of them holds all functions."""
        ...


def join(a: Type, b: Type, box: Box | None = None) -> Type:
    """The least type that holds both; unions are formed with `box`. Raises CannotJoin."""
    if a == b or b == NEVER:
        return a
    if a == NEVER:
        return b
    match a, b:
        case FunctionSet(first), FunctionSet(second) if is_union(a) == is_union(b):
            labels = tuple(sorted({*first, *second}, key=lambda label: label.number))
            return box.union(labels) if box is not None and is_union(a) else FunctionSet(labels)
        case Record(first, Structure("list")), Record(second, Structure("list")) if len(first) != len(second):
            return join(widened(a, box), widened(b, box), box)
        case List(), Record(structure=Structure("list")):
            return join(a, widened(b, box), box)
        case Record(structure=Structure("list")), List():
            return join(widened(a, box), b, box)
        case List(first), List(second) if NEVER in (first, second):
            return b if first == NEVER else a
        case List(first), List(second):
            joined = join(first, second, box)
            is_same_form = isinstance(first, FunctionSet) and isinstance(second, FunctionSet)  # sets that meet are one class
            if not isinstance(joined, FunctionSet) or not (is_same_form or joined in (first, second)):
                raise CannotJoin
            return List(joined)
        case Record(first, one), Record(second, other) if one == other and len(first) == len(second):
            return Record(tuple(join(x, y, box) for x, y in zip(first, second)), one)
        case Tuple(first), Tuple(second) if len(first) == len(second) and not isinstance(a, Record) and not isinstance(b, Record):
            return Tuple(tuple(join(x, y, box) for x, y in zip(first, second)))
        case Scalar(), Scalar():
            return _join_numbers(a, b)
        case _ if box is not None and is_callable(a) and is_callable(b):
            return join(box.function(a), box.function(b), box)
        case _ if box is not None and (_forms_unions(a) or _forms_unions(b)):
            return join(box(a), box(b), box)
        case _:
            raise CannotJoin


def is_callable(t: Type) -> bool:
    """A set of functions, or a function of the library."""
    from myia_notebook.ops.table import operation_for
    if isinstance(t, Static):
        return callable(t.value) and not isinstance(t.value, type) and operation_for(t.value) is not None
    return is_function(t)


def is_union(t: Type) -> bool:
    """Whether t is a union (a set of constructors) rather than a set of functions."""
    return isinstance(t, FunctionSet) and "box" in t.labels[0].graph.flags


def is_function(t: Type) -> bool:
    return isinstance(t, FunctionSet) and not is_union(t)


def walk(*types: Type, into_closures: bool = True) -> Iterator[Type]:
    """All that values of these types may hold, in preorder: the types, their parts, and what constructors (and closures) capture. Each label is
    looked into once, so that recursive types end."""
    seen: set[int] = set()
    stack = list(reversed(types))
    while stack:
        t = stack.pop()
        yield t
        if isinstance(t, FunctionSet) and (into_closures or is_union(t)):
            for label in t.labels:
                if label.number not in seen:
                    seen.add(label.number)
                    stack.extend(a.type for a in reversed(label.captured))
        stack.extend(reversed(parts(t)))


def holds_functions(*types: Type) -> bool:
    """Whether values of these types may hold functions (constructors of unions are none)."""
    return any(map(is_function, walk(*types)))


def _forms_unions(t: Type) -> bool:
    return t == NONE or is_union(t) or (isinstance(t, Record) and t.structure.kind == "dataclass")


def widened(t: Type, box: Box | None = None) -> Type:
    """A list of known length as one of run-time length. Raises CannotJoin when its items have no common type."""
    if not (isinstance(t, Record) and t.structure == LIST):
        return t
    item: Type = NEVER
    for x in t.items:
        item = join(item, widened(x, box), box)
    return List(item)


def _join_numbers(a: Scalar, b: Scalar) -> Scalar:
    """Promotion; int with float gives float."""
    if a.dtype == b.dtype:
        return Scalar(a.dtype)
    result = promote([a, b])
    floats = [s for s in (a, b) if s.dtype in FLOAT_DTYPES]
    return result if not floats or result.dtype in FLOAT_DTYPES else floats[0]


def join_abstract(a: Abstract, b: Abstract, box: Box | None = None) -> Abstract:
    """Joins types; a value stays known where both agree."""
    t = join(a.type, b.type, box)
    if a.type == NEVER:
        return b
    if b.type == NEVER:
        return a
    if a.is_known and b.is_known and type(a.value) is type(b.value) and a.type == b.type and is_trackable(a.type) and a.value == b.value:
        return Abstract(t, a.value)
    if isinstance(t, Tuple) and (a.items or b.items):
        pairs = zip(t.items, items_of(a), items_of(b))  # an item that does not exist in one arm is a variable without a value there
        return partly_known(t, [Abstract(u) if NEVER in (x.type, y.type) else join_abstract(x, y, box) for u, x, y in pairs])
    return Abstract(t, UNKNOWN)


def items_of(a: Abstract) -> tuple[Abstract, ...]:
    """What is known of each item of a tuple."""
    assert isinstance(a.type, Tuple)
    if a.items:
        return a.items
    if a.is_known and isinstance(a.value, tuple):
        return tuple(Abstract(t, v if is_trackable(t) else UNKNOWN) for t, v in zip(a.type.items, a.value))
    return tuple(map(Abstract, a.type.items))


def partly_known(t: Tuple, items: list[Abstract]) -> Abstract:
    """A tuple of the type t, its items being known so far."""
    return Abstract(t, UNKNOWN, tuple(items)) if any(i.items or i.is_known and is_trackable(i.type) for i in items) else Abstract(t)


def is_trackable(t: Type) -> bool:
    """Types whose values inference tracks: ints, bools, None, static values, tuples of them."""
    from myia_notebook.ir.types import NoneType, Static
    match t:
        case Scalar(dtype, weak):
            return dtype == "bool" or (weak and dtype == "int64")
        case Tuple(items):
            return all(map(is_trackable, items))
        case NoneType() | Static():
            return True
        case _:
            return False
