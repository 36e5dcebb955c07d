"""Where two values meet: the join of their types.

Equal types join to themselves; `never` joins with everything; a bool, int and float promote as arithmetic would; a weak number gives way
to a strong one; functions join to the set of both. Everything else is an error that shows both types (M302), raised by the caller, who
knows the two lines.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from myia_notebook.ir.graph import Graph
from myia_notebook.ir.types import FLOAT_DTYPES, NEVER, Scalar, Tuple, Type
from myia_notebook.ops.primitive import UNKNOWN, Abstract
from myia_notebook.ops.promotion import promote


class Label:
    """A closure as inference sees it: a closed graph and what is known of its captured values. Compares by identity."""

    __slots__ = ("graph", "captured", "number", "contexts", "parent", "signature")

    def __init__(self, graph: Graph, captured: tuple[Abstract, ...], number: int) -> None:
        self.graph, self.captured, self.number = graph, captured, number
        self.contexts: dict[tuple[Type, ...], Any] = {}
        self.parent: Label = self
        self.signature: tuple[Type, ...] | None = None

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
        return "function " + " | ".join(dict.fromkeys(label.graph.name for label in self.labels))


class CannotJoin(Exception):
    """The two types have no join."""


def join(a: Type, b: Type) -> Type:
    """The least type that holds both. Raises CannotJoin."""
    if a == b or b == NEVER:
        return a
    if a == NEVER:
        return b
    match a, b:
        case FunctionSet(first), FunctionSet(second):
            return FunctionSet(tuple(sorted({*first, *second}, key=lambda label: label.number)))
        case Tuple(first), Tuple(second) if len(first) == len(second):
            return Tuple(tuple(join(x, y) for x, y in zip(first, second)))
        case Scalar(), Scalar():
            return _join_numbers(a, b)
        case _:
            raise CannotJoin


def _join_numbers(a: Scalar, b: Scalar) -> Scalar:
    """Promotion; int with float gives float."""
    if a.dtype == b.dtype:
        return Scalar(a.dtype)
    result = promote([a, b])
    floats = [s for s in (a, b) if s.dtype in FLOAT_DTYPES]
    return result if not floats or result.dtype in FLOAT_DTYPES else floats[0]


def join_abstract(a: Abstract, b: Abstract) -> Abstract:
    """Joins types; a value stays known where both agree."""
    t = join(a.type, b.type)
    if a.type == NEVER:
        return b
    if b.type == NEVER:
        return a
    if a.is_known and b.is_known and type(a.value) is type(b.value) and a.type == b.type and is_trackable(a.type) and a.value == b.value:
        return Abstract(t, a.value)
    return Abstract(t, UNKNOWN)


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
