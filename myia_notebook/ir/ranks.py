"""Types with open extents: which extents of the arguments are one symbol, and the same types with numbers put in.

Arrays in arguments, in tuples and in records are opened. Lists, unions and closures keep their shapes: all items of a list have one.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from myia_notebook.ir.extent import LEAST, Extent, Shapes, number
from myia_notebook.ir.types import Array, List, Tuple, Type, map_parts


@dataclass(frozen=True, slots=True)
class Place:
    """An extent of an argument: the argument, the items that lead to the array, the axis."""

    path: tuple[int, ...]
    axis: int

    def read(self, arguments: Sequence[Any]) -> int:
        value: Any = arguments
        for i in self.path:
            value = value[i]
        return int(value.shape[self.axis])


def arrays_in(types: Sequence[Type], path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Array]]:
    for i, t in enumerate(types):
        if isinstance(t, Array):
            yield (*path, i), t
        elif isinstance(t, Tuple):
            yield from arrays_in(t.items, (*path, i))


def extents_of(types: Sequence[Type]) -> tuple[int, ...]:
    """All extents of the arrays in arguments, in order."""
    return tuple(n for _, t in arrays_in(types) for n in t.shape)


def pattern_of(types: Sequence[Type]) -> tuple[Type, ...]:
    """The types without the extents that a symbol may stand for: arguments of one pattern may share a program."""
    return tuple(_mapped(t, lambda n: -1 if n >= LEAST else n) for t in types)


def opened(types: Sequence[Type], seen: Sequence[tuple[int, ...]], may_close: bool) -> tuple[list[Type], Shapes]:
    """The types with symbols for their extents. Extents that were equal in every one of `seen` (the last is that of these types) are one
    symbol. `may_close` keeps those as numbers that never changed."""
    shapes = Shapes()
    symbols: dict[tuple[int, ...], Any] = {}
    columns = iter(list(zip(*seen)))

    def one(n: int) -> Any:
        column = next(columns)
        if n < LEAST or (may_close and len(set(column)) == 1):
            return n
        if column not in symbols:
            symbols[column] = shapes.symbol(n)
        return symbols[column]

    return [_mapped(t, one) for t in types], shapes


def _mapped(t: Type, function: Any) -> Type:
    if isinstance(t, Array):
        return Array(t.dtype, tuple(map(function, t.shape)))
    return map_parts(t, lambda item: _mapped(item, function)) if isinstance(t, Tuple) else t


def closed(t: Type, values: Sequence[int]) -> Type:
    """The type with the numbers of its extents."""
    if isinstance(t, Array):
        return Array(t.dtype, number(t.shape, values))
    return map_parts(t, lambda item: closed(item, values)) if isinstance(t, (Tuple, List)) else t


def places_of(shapes: Shapes | None, types: Sequence[Type]) -> list[Place]:
    """For each symbol an extent that it stands for."""
    found: dict[int, Place] = {}
    for path, t in arrays_in(types) if shapes is not None else ():
        for axis, n in enumerate(t.shape):
            if isinstance(n, Extent):
                found.setdefault(n.terms[0][0][0], Place(path, axis))
    return [found[i] for i in range(len(found))]


def values_of(types: Sequence[Type], given: Sequence[Type]) -> list[int] | None:
    """The numbers of the symbols in `types` under which these are the `given` types, of the same pattern; None where there are none."""
    found: dict[int, int] = {}
    for n, value in zip(extents_of(types), extents_of(given)):
        if not isinstance(n, Extent):
            if n != value:
                return None
        elif found.setdefault(n.terms[0][0][0], value) != value:
            return None
    return [found[i] for i in range(len(found))]


__all__ = ["Place", "arrays_in", "closed", "extents_of", "opened", "pattern_of", "places_of", "values_of"]
