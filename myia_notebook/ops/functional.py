"""Builtins and functions of `functools`, `itertools` and `operator` that take functions or keywords, written in the language itself.

As in `ops.composites`, inference calls these as it would the user's functions. `ANYWHERE` are those that are nothing else;
`WITH_KEYWORDS` stand for a builtin where it is called with one of the keywords named."""
from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

from myia_notebook.errors import error
from myia_notebook.ir.types import List, Record, Tuple, Type, parts
from myia_notebook.ops.iteration import marker_of
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.primitive import Abstract


def _reduce(function, xs, *initial):  # type: ignore[no-untyped-def]
    if len(initial) > 0:
        total = initial[0]
        for x in xs:
            total = function(total, x)
        return total
    items = list(xs)
    if len(items) == 0:
        raise TypeError("reduce() of empty iterable with no initial value")
    total = items[0]
    for x in items[1:]:
        total = function(total, x)
    return total


def _merged(left, right, reverse):  # type: ignore[no-untyped-def]
    """Two sorted lists of (key, value) as one; of equal keys those of `left` come first."""
    out = [p for p in left if False]
    i = 0
    j = 0
    while i < len(left) and j < len(right):
        if (left[i][0] < right[j][0]) if reverse else (right[j][0] < left[i][0]):
            out = out + [right[j]]
            j = j + 1
        else:
            out = out + [left[i]]
            i = i + 1
    return out + left[i:] + right[j:]


def _merge_sort(pairs, reverse):  # type: ignore[no-untyped-def]
    n = len(pairs)
    if n < 2:
        return pairs
    return _merged(_merge_sort(pairs[: n // 2], reverse), _merge_sort(pairs[n // 2:], reverse), reverse)


def _sorted(xs, *, key=None, reverse=False):  # type: ignore[no-untyped-def]
    pairs = [(x, x) if key is None else (key(x), x) for x in xs]
    return [p[1] for p in _merge_sort(pairs, reverse)]


def _min(first, *rest, key=None):  # type: ignore[no-untyped-def]
    xs = (first, *rest) if len(rest) > 0 else list(first)
    if len(xs) == 0:
        raise ValueError("min() iterable argument is empty")
    best = xs[0]
    least = best if key is None else key(best)
    for x in xs[1:]:
        value = x if key is None else key(x)
        if value < least:
            best, least = x, value
    return best


def _max(first, *rest, key=None):  # type: ignore[no-untyped-def]
    xs = (first, *rest) if len(rest) > 0 else list(first)
    if len(xs) == 0:
        raise ValueError("max() iterable argument is empty")
    best = xs[0]
    most = best if key is None else key(best)
    for x in xs[1:]:
        value = x if key is None else key(x)
        if value > most:
            best, most = x, value
    return best


def _min_or(xs, *, default, key=None):  # type: ignore[no-untyped-def]
    items = list(xs)
    return default if len(items) == 0 else _min(items, key=key)


def _max_or(xs, *, default, key=None):  # type: ignore[no-untyped-def]
    items = list(xs)
    return default if len(items) == 0 else _max(items, key=key)


def _less(xs, ys):  # type: ignore[no-untyped-def]
    """Lexicographic order of sequences."""
    for x, y in zip(xs, ys):
        if x != y:
            return x < y
    return len(xs) < len(ys)


def _greater(xs, ys):  # type: ignore[no-untyped-def]
    return _less(ys, xs)


def _not_greater(xs, ys):  # type: ignore[no-untyped-def]
    return not _less(ys, xs)


def _not_less(xs, ys):  # type: ignore[no-untyped-def]
    return not _less(xs, ys)


def _partial(function, /, *args, **kwargs):  # type: ignore[no-untyped-def]
    return lambda *more, **named: function(*args, *more, **{**kwargs, **named})


def _sum(xs, /, start=0):  # type: ignore[no-untyped-def]
    total = start
    for x in xs:
        total = total + x
    return total


def _power_modulo(base, exp, mod):  # type: ignore[no-untyped-def]
    if exp < 0:
        raise ValueError("a negative exponent with a modulus")
    result = 1 % mod
    square = base % mod
    while exp > 0:
        if exp % 2 == 1:
            result = result * square % mod
        square = square * square % mod
        exp = exp // 2
    return result


def _itemgetter(*keys):  # type: ignore[no-untyped-def]
    if len(keys) == 1:
        return lambda x: x[keys[0]]
    return lambda x: tuple(x[k] for k in keys)


def _attrgetter(name):  # type: ignore[no-untyped-def]
    return lambda x: getattr(x, name)


def _chain(*lists):  # type: ignore[no-untyped-def]
    return [x for xs in lists for x in xs]


def _pairwise(xs):  # type: ignore[no-untyped-def]
    items = list(xs)
    return [(a, b) for a, b in zip(items, items[1:])]


def _accumulate(xs, function=None, *, initial=None):  # type: ignore[no-untyped-def]
    items = list(xs) if initial is None else [initial, *xs]
    out = items[:1]
    for x in items[1:]:
        out = out + [out[-1] + x if function is None else function(out[-1], x)]
    return out


def _product(*lists, repeat=1):  # type: ignore[no-untyped-def]
    return _extended_by([()], lists * repeat)


def _extended_by(tuples, lists):  # type: ignore[no-untyped-def]
    if len(lists) == 0:
        return tuples
    return _extended_by([(*t, x) for t in tuples for x in lists[0]], lists[1:])


def _combinations(xs, r):  # type: ignore[no-untyped-def]
    return [t for t, _ in _chosen(list(xs), [((), 0)], r)]


def _chosen(items, tuples, r):  # type: ignore[no-untyped-def]
    """Each tuple with one of the items from its position on, r times."""
    if r == 0:
        return tuples
    return _chosen(items, [((*t, items[i]), i + 1) for t, k in tuples for i in range(k, len(items))], r - 1)


def _starmap(function, xs):  # type: ignore[no-untyped-def]
    return [function(*x) for x in xs]


ANYWHERE: dict[Any, Callable[..., Any]] = {
    functools.reduce: _reduce, functools.partial: _partial, operator.itemgetter: _itemgetter, operator.attrgetter: _attrgetter, itertools.chain: _chain,
    itertools.pairwise: _pairwise, itertools.accumulate: _accumulate, itertools.product: _product, itertools.combinations: _combinations,
    itertools.starmap: _starmap}

UNROLLED = frozenset((_product, _combinations))  # how deep they recurse is known, and each depth has types of its own

WITH_KEYWORDS: dict[Any, tuple[tuple[str, Callable[..., Any]], ...]] = {
    sorted: (("key", _sorted), ("reverse", _sorted)), sum: (("start", _sum),),
    min: (("default", _min_or), ("key", _min)), max: (("default", _max_or), ("key", _max))}


ORDER: dict[Any, Callable[..., Any]] = {operator.lt: _less, operator.gt: _greater, operator.le: _not_greater, operator.ge: _not_less}


def _composite(name: str) -> Operation:
    def expand(builder: Any, arguments: Any, keywords: Any) -> Any:
        raise error("M501", signature=f"{name}()", problem="takes at least one argument")
    return Operation(name, expand, name)


FUNCTIONAL: dict[Any, Operation] = {f: _composite(f.__name__) for f in ANYWHERE}


@functools.cache
def _tables() -> dict[str, Any]:
    """By id of an operation."""
    from myia_notebook.ops.table import OPERATIONS
    tables = {"anywhere": ANYWHERE, "keywords": WITH_KEYWORDS, "order": ORDER, "extremes": {min: _min, max: _max}}
    return {name: {id(OPERATIONS[k]): f for k, f in table.items()} for name, table in tables.items()} | {"power": id(OPERATIONS[pow])}


def function_for(operation: Operation | None, operands: list[Abstract], names: tuple[str, ...]) -> Callable[..., Any] | None:
    """The function that this call of an operation means, the last operands by name; None when the operation does it itself."""
    tables, key = _tables(), id(operation)
    types = [a.type for a in operands]
    if key in tables["anywhere"]:
        return tables["anywhere"][key]  # type: ignore[no-any-return]
    if key == tables["power"] and len(types) == 3:
        return _power_modulo
    if key in tables["order"] and all(map(is_ordered, types)):
        return tables["order"][key]  # type: ignore[no-any-return]
    if key in tables["extremes"] and not names and any(map(_has_no_number, types if len(types) > 1 else parts(types[0]))):
        return tables["extremes"][key]  # type: ignore[no-any-return]
    return next((function for name, function in tables["keywords"].get(key, ()) if name in names), None)


def is_ordered(t: Type) -> bool:
    """Sequences that compare item by item: tuples, named tuples without an order of their own, lists."""
    if not isinstance(t, Record):
        return isinstance(t, (Tuple, List)) and marker_of(t) is None
    return t.structure.kind == "list" or (t.structure.kind == "namedtuple" and t.structure.cls.__lt__ is tuple.__lt__)


def _has_no_number(t: Type) -> bool:
    return is_ordered(t) or isinstance(t, Record) and t.structure.kind == "dataclass"


__all__ = ["FUNCTIONAL", "UNROLLED", "function_for", "is_ordered"]
