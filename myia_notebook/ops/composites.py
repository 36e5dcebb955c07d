"""Operations written in the language itself: what builtins do on lists of run-time length. Inference calls these functions, as it would the
user's, when an operand is such a list (`COMPOSITES`); they are differentiated, shown and compiled like any other function."""
from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

from myia_notebook.ir.types import Array, List, Record, Structure, Tuple, Type


def _sum(xs, start=0):  # type: ignore[no-untyped-def]
    total = start
    for x in xs:
        total = total + x
    return total


def _prod(xs, start=1):  # type: ignore[no-untyped-def]
    total = start
    for x in xs:
        total = total * x
    return total


def _any(xs):  # type: ignore[no-untyped-def]
    for x in xs:
        if x:
            return True
    return False


def _all(xs):  # type: ignore[no-untyped-def]
    for x in xs:
        if not x:
            return False
    return True


def _min(xs):  # type: ignore[no-untyped-def]
    if len(xs) == 0:
        raise ValueError("min() arg is an empty sequence")
    best = xs[0]
    for i in range(1, len(xs)):
        if xs[i] < best:
            best = xs[i]
    return best


def _max(xs):  # type: ignore[no-untyped-def]
    if len(xs) == 0:
        raise ValueError("max() arg is an empty sequence")
    best = xs[0]
    for i in range(1, len(xs)):
        if xs[i] > best:
            best = xs[i]
    return best


def _list(xs):  # type: ignore[no-untyped-def]
    return [x for x in xs]


def _contains(xs, item):  # type: ignore[no-untyped-def]
    for x in xs:
        if x == item:
            return True
    return False


def _repeat(xs, n):  # type: ignore[no-untyped-def]
    out = xs[:0]
    for _ in range(n):
        out = out + xs
    return out


def _equal(xs, ys):  # type: ignore[no-untyped-def]
    if len(xs) != len(ys):
        return False
    for i in range(len(xs)):
        if xs[i] != ys[i]:
            return False
    return True


def _unequal(xs, ys):  # type: ignore[no-untyped-def]
    return not _equal(xs, ys)


def _sorted(xs):  # type: ignore[no-untyped-def]
    """Merge sort, stable."""
    n = len(xs)
    if n < 2:
        return xs
    left = _sorted(xs[: n // 2])
    right = _sorted(xs[n // 2:])
    out = xs[:0]
    i = 0
    j = 0
    while i < len(left) and j < len(right):
        if right[j] < left[i]:
            out = out + [right[j]]
            j = j + 1
        else:
            out = out + [left[i]]
            i = i + 1
    return out + left[i:] + right[j:]


def _index(xs, item):  # type: ignore[no-untyped-def]
    for i in range(len(xs)):
        if xs[i] == item:
            return i
    raise ValueError("the item is not in the list")


def _count(xs, item):  # type: ignore[no-untyped-def]
    total = 0
    for x in xs:
        if x == item:
            total = total + 1
    return total


def _is_iterated(t: Type) -> bool:
    """What these loop over: lists of run-time length, ranges and the like, arrays of several axes."""
    from myia_notebook.ops.iteration import marker_of
    return isinstance(t, List) or marker_of(t) is not None or (isinstance(t, Array) and len(t.shape) > 1)


def _is_list(t: Type) -> bool:
    return isinstance(t, List)


def _either_list(types: list[Type]) -> bool:
    def is_static(t: Type) -> bool:
        return isinstance(t, Record) and t.structure == Structure("list")
    return len(types) == 2 and any(map(_is_list, types)) and all(_is_list(t) or is_static(t) for t in types)


def _counted(types: list[Type]) -> bool:
    return any(map(_is_list, types))


@functools.cache
def composites() -> dict[int, tuple[Callable[..., Any], Callable[[list[Type]], bool], list[int] | None]]:
    """By id of an operation: (the function, whether it applies, the order of its operands)."""
    from myia_notebook.ops.table import OPERATIONS

    def first(types: list[Type]) -> bool:
        return bool(types) and _is_iterated(types[0])

    def sortable(types: list[Type]) -> bool:
        return len(types) == 1 and (_is_list(types[0]) or (isinstance(types[0], Tuple) and len(types[0].items) > 0))

    found: dict[Any, Any] = {sum: (_sum, first), any: (_any, first), all: (_all, first), min: (_min, lambda t: len(t) == 1 and first(t)),
                             max: (_max, lambda t: len(t) == 1 and first(t)), list: (_list, lambda t: first(t) and not _is_list(t[0])),
                             operator.contains: (_contains, first), operator.mul: (_repeat, _counted), operator.eq: (_equal, _either_list),
                             operator.ne: (_unequal, _either_list), sorted: (_sorted, sortable), math.prod: (_prod, first)}
    return {id(OPERATIONS[k]): (f, applies, None) for k, (f, applies) in found.items()}


METHODS: dict[str, Callable[..., Any]] = {"index": _index, "count": _count}

__all__ = ["METHODS", "composites"]
