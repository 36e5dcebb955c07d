"""Operations written in the language itself: what builtins do on lists of run-time length. Inference calls these functions, as it would the
user's, when an operand is such a list (`COMPOSITES`); they are differentiated, shown and compiled like any other function."""
from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

from myia_notebook.ir.types import LIST, Array, List, Record, Scalar, Tuple, Type, parts
from myia_notebook.ops.primitive import Abstract


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
    out = [x for x in xs if False]
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
    out = [x for x in xs if False]
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
    for i, x in enumerate(xs):
        if x == item:
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
    return isinstance(t, List) or (isinstance(t, Record) and t.structure == LIST)


def _loops(operands: list[Abstract]) -> bool:
    return _is_iterated(operands[0].type)


def _loops_alone(operands: list[Abstract]) -> bool:
    return len(operands) == 1 and _loops(operands)


def _loops_not_a_list(operands: list[Abstract]) -> bool:
    return _loops_alone(operands) and not isinstance(operands[0].type, List)


def _compares(operands: list[Abstract]) -> bool:
    types = [o.type for o in operands]
    return all(map(_is_list, types)) and any(isinstance(t, List) for t in types)


def _repeats(operands: list[Abstract]) -> bool:
    """A list of run-time length, or one repeated a number of times known only at run time."""
    xs, n = operands if _is_list(operands[0].type) else operands[::-1]
    return _is_list(xs.type) and isinstance(n.type, Scalar) and (isinstance(xs.type, List) or not n.is_known) and bool(parts(xs.type))


def _sorts(operands: list[Abstract]) -> bool:
    t = operands[0].type
    return len(operands) == 1 and (isinstance(t, List) or (isinstance(t, Tuple) and len(t.items) > 0 and not _is_iterated(t)))


@functools.cache
def composites() -> dict[int, tuple[Callable[..., Any], Callable[[list[Abstract]], bool]]]:
    """By id of an operation: the function, and whether it applies to these operands."""
    from myia_notebook.ops.table import OPERATIONS
    found: dict[Any, tuple[Any, Any]] = {
        sum: (_sum, _loops), any: (_any, _loops_alone), all: (_all, _loops_alone), min: (_min, _loops_alone), max: (_max, _loops_alone),
        list: (_list, _loops_not_a_list), operator.contains: (_contains, _loops), operator.mul: (_repeat, _repeats), operator.eq: (_equal, _compares),
        operator.ne: (_unequal, _compares), sorted: (_sorted, _sorts), math.prod: (_prod, _loops)}
    return {id(OPERATIONS[k]): entry for k, entry in found.items()}


METHODS: dict[str, Callable[..., Any]] = {"index": _index, "count": _count}

__all__ = ["METHODS", "composites"]
