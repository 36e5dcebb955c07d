"""Iteration: what a loop or a comprehension runs over, as operations on an *iterator*, which the loop's graph hands to itself.

    iter_start(x)    the iterator of x
    iter_more(it)    whether there is another value
    iter_value(it)   that value
    iter_next(it)    the iterator after it

A tuple (and whatever else has a known length) is its own iterator, and gets shorter: such a loop is unrolled. The others are tuples that
begin with a marker: an array or list with a position, a range with its bounds, several side by side (`zip`, `enumerate`), one backwards.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from myia_notebook.errors import error
from myia_notebook.ir.types import INT, NEVER, Array, List, Scalar, Static, Tuple, Type
from myia_notebook.ops.expression import Builder, Expr, apply
from myia_notebook.ops.operation import Expand, Operation
from myia_notebook.ops.operators import (
    Keywords,
    apply_index,
    both,
    convert,
    is_sequence,
    is_static_list,
    known,
    make,
    make_list,
    sequence_items,
    static_value,
    tuple_items,
)
from myia_notebook.ops.records import is_dict

UNROLLED = 64


@dataclass(frozen=True, slots=True)
class Marker:
    """The first item of an iterator that is no plain tuple."""

    name: str

    def __repr__(self) -> str:
        return self.name


ARRAY, LIST_, RANGE_, ZIP, REVERSED = (Marker(n) for n in ("array iterator", "list iterator", "range", "zip", "reversed"))


def marker_of(t: Type) -> Marker | None:
    if isinstance(t, Tuple) and t.items and isinstance(t.items[0], Static) and isinstance(t.items[0].value, Marker):
        return t.items[0].value
    return None


def _marked(builder: Builder, marker: Marker, *items: Expr) -> Expr:
    return make(builder, [known(builder, marker, Static(marker)), *items])


def position_in(x: Expr, i: Expr) -> Expr:
    """xs[i] of a list of run-time length, without a check."""
    return apply("list_get", x, i)


def start_of(x: Expr) -> Expr:
    builder = x.builder
    marker = marker_of(x.type)
    if marker is ZIP:
        return _marked(builder, ZIP, *(start_of(i) for i in tuple_items(x)[1:]))
    if marker is REVERSED:
        inner = tuple_items(x)[1]
        return _marked(builder, REVERSED, inner, length(inner))
    if marker is not None:
        return x
    if is_sequence(x.type) or is_dict(x.type):
        return make(builder, sequence_items(x, "a for loop"))
    if isinstance(x.type, Array):
        return _marked(builder, ARRAY, x, known(builder, 0))
    if isinstance(x.type, List):
        return _marked(builder, LIST_, x, known(builder, 0))
    raise error("M301", operation="a for loop", types=str(x.type), hint="loop over a range, a tuple, a list or an array")


def length(x: Expr) -> Expr:
    if isinstance(x.type, Array):
        return known(x.builder, x.type.shape[0])
    if isinstance(x.type, List):
        return apply("list_length", x)
    return known(x.builder, len(sequence_items(x, "this loop")))


def more_of(x: Expr) -> Expr:
    builder = x.builder
    marker = marker_of(x.type)
    if marker is None:
        assert isinstance(x.type, Tuple)
        return known(builder, bool(x.type.items))
    _, *rest = tuple_items(x)
    if marker is ZIP:
        result = known(builder, bool(rest))
        for item in rest:
            result = both(result, more_of(item))
        return result
    if marker is RANGE_:
        current, stop, step = rest
        if isinstance(step.value, int):
            return current < stop if step.value > 0 else current > stop
        up = both(step > 0, current < stop)
        down = both(step < 0, current > stop)
        return apply("logical_or", up, down)
    if marker is REVERSED:
        return rest[1] > 0
    return rest[1] < length(rest[0])


def value_of(x: Expr) -> Expr:
    builder = x.builder
    marker = marker_of(x.type)
    if marker is None:
        return tuple_items(x)[0]
    _, *rest = tuple_items(x)
    if marker is ZIP:
        return make(builder, [value_of(i) for i in rest])
    if marker is RANGE_:
        return rest[0]
    return at(rest[0], rest[1] - 1 if marker is REVERSED else rest[1])


def at(x: Expr, i: Expr) -> Expr:
    """The item of an array or list at a position that is in range."""
    if isinstance(x.type, List):
        return position_in(x, i)
    if isinstance(x.type, Array):
        return apply_index(x, ("int", *(("slice", 0, n, 1) for n in x.type.shape[1:])), [i])
    from myia_notebook.ops.access import tuple_item
    return tuple_item(x, i)


def next_of(x: Expr) -> Expr:
    builder = x.builder
    marker = marker_of(x.type)
    if marker is None:
        return make(builder, tuple_items(x)[1:])
    _, *rest = tuple_items(x)
    if marker is ZIP:
        return _marked(builder, ZIP, *(next_of(i) for i in rest))
    if marker is RANGE_:
        return _marked(builder, RANGE_, rest[0] + rest[2], rest[1], rest[2])
    return _marked(builder, marker, rest[0], rest[1] - 1 if marker is REVERSED else rest[1] + 1)


# -- what loops run over

def is_static(x: Expr) -> bool:
    """Whether the number of values is known before running."""
    marker = marker_of(x.type)
    if marker is None:
        return is_sequence(x.type) or is_dict(x.type)
    if marker is RANGE_:
        return known_range(x) is not None
    return marker is ZIP and all(is_static(i) for i in tuple_items(x)[1:])


def known_range(x: Expr) -> range | None:
    values = [i.value for i in tuple_items(x)[1:]]
    if all(isinstance(v, int) for v in values):
        found = range(*values)
        return found if len(found) <= UNROLLED else None
    return None


def _range(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """range(stop), range(start, stop, step)"""
    if not 1 <= len(arguments) <= 3 or keywords:
        raise error("M501", signature="range()", problem=f"takes 1 to 3 arguments, got {len(arguments) + len(keywords)}")
    bounds = [as_int(a) for a in arguments]
    start = bounds[0] if len(bounds) > 1 else known(builder, 0)
    stop = bounds[0] if len(bounds) == 1 else bounds[1]
    step = bounds[2] if len(bounds) == 3 else known(builder, 1)
    if step.value == 0:
        raise error("M702", message="range() arg 3 must not be zero")
    return _marked(builder, RANGE_, start, stop, step)


def _last_of_range(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """The last value of a range, where it is known before running (an empty one has none that matters)."""
    values = [x.value for x in arguments]
    if not all(type(v) is int for v in values) or not values[2]:
        return arguments[1]
    return known(builder, next(iter(reversed(range(*values))), values[0]))


def as_int(x: Expr) -> Expr:
    """A bound of a range."""
    if isinstance(x.type, Scalar) and x.type.dtype in ("bool", "int32", "int64"):
        return convert(x, INT)
    raise error("M301", operation="range", types=str(x.type), hint="bounds are ints")


def _zip(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    strict = keywords.pop("strict", None)
    if strict is not None and strict.value is not False and any(not is_static(a) for a in arguments):
        raise error("M308", message="zip(..., strict=True) of what has no known length", hint="compare the lengths first")
    if all(marker_of(a.type) is None and (is_sequence(a.type) or is_dict(a.type)) for a in arguments):
        columns = [sequence_items(a, "zip") for a in arguments]
        if strict is not None and strict.value and len({len(c) for c in columns}) > 1:
            raise error("M402", message="zip() arguments have several lengths")
        return make(builder, [make(builder, list(row)) for row in zip(*columns)])
    return _marked(builder, ZIP, *arguments)


def _enumerate(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    start = keywords.pop("start", None) or (arguments[1] if len(arguments) == 2 else None)
    if not 1 <= len(arguments) <= 2 or keywords:
        raise error("M501", signature="enumerate()", problem=f"takes 1 or 2 arguments, got {len(arguments)}")
    x = arguments[0]
    first = known(builder, 0) if start is None else as_int(start)
    if marker_of(x.type) is None and (is_sequence(x.type) or is_dict(x.type)) and isinstance(first.value, int):
        return make(builder, [make(builder, [known(builder, i), item]) for i, item in enumerate(sequence_items(x, "enumerate"), first.value)])
    counter = _marked(builder, RANGE_, first, known(builder, 2**62), known(builder, 1))
    return _marked(builder, ZIP, counter, x)


def _reversed(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x = arguments[0]
    if marker_of(x.type) is RANGE_:
        _, start, stop, step = tuple_items(x)
        if step.value in (1, -1):
            return _marked(builder, RANGE_, stop - step, start - step, -step)
        raise error("M308", message="reversed(range(...)) with a step", hint="count down with range(start, stop, -step)")
    if is_sequence(x.type):
        items = sequence_items(x, "reversed")[::-1]
        return make_list(builder, items) if is_static_list(x.type) else make(builder, items)
    if isinstance(x.type, (Array, List)):
        return _marked(builder, REVERSED, x)
    raise error("M301", operation="reversed", types=str(x.type))


# -- comprehensions

def _unrolled(x: Expr) -> Expr:
    """The iterator of a comprehension: unrolled where the number of values is known."""
    builder = x.builder
    marker = marker_of(x.type)
    if marker is RANGE_ and (values := known_range(x)) is not None:
        return known(builder, tuple(values))
    if marker is ZIP and is_static(x):
        columns = [tuple_items(_unrolled(i)) for i in tuple_items(x)[1:]]
        return make(builder, [make(builder, list(row)) for row in zip(*columns)])
    if isinstance(x.type, Array) and isinstance(x.type.shape[0], int) and x.type.shape[0] <= UNROLLED:
        return make(builder, [at(x, known(builder, i)) for i in range(x.type.shape[0])])
    return start_of(x)


def _collect_empty(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """The empty result, given the iterator: of known length where that is unrolled and every value is kept."""
    iterator, keeps_all = arguments
    if marker_of(iterator.type) is None and keeps_all.value is True:
        return make_list(builder, [])
    return Expr(builder, builder.zero(List(NEVER)))


def _collect_add(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """A result with one more value."""
    xs, x = arguments
    if is_static_list(xs.type):
        return make_list(builder, [*tuple_items(xs), x])
    from myia_notebook.ops.operators import list_sum
    return list_sum(xs, make_list(builder, [x]))


def _unpack(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """unpack(x, before, after): the items of x as a tuple; with after >= 0 there is a star between them. Refuses a wrong number."""
    x, before_node, after_node = arguments
    before, after = static_value(before_node), static_value(after_node)
    wanted = before + max(after, 0)
    if isinstance(x.type, List):
        return _unpack_list(x, before, after)
    if marker_of(x.type) is not None and is_static(x):
        items = tuple_items(_unrolled(x))
    elif is_sequence(x.type) or is_dict(x.type):
        items = sequence_items(x, "unpacking")
    elif isinstance(x.type, Array):
        items = [apply_index(x, ("int", *(("slice", 0, n, 1) for n in x.type.shape[1:])), [known(builder, i)]) for i in range(x.type.shape[0])]
    else:
        raise error("M308", message=f"cannot unpack {x.type}", hint="only tuples, lists and arrays can be unpacked")
    if len(items) < wanted or (after < 0 and len(items) != before):
        few = "not enough" if len(items) < wanted else "too many"
        raise error("M402", message=f"{few} values to unpack (expected {'at least ' if after >= 0 else ''}{wanted}, got {len(items)})")
    if after < 0:
        return make(builder, items)
    last = len(items) - after
    return make(builder, [*items[:before], make_list(builder, items[before:last]), *items[last:]])


def _unpack_list(x: Expr, before: int, after: int) -> Expr:
    """The items of a list of run-time length, which is checked."""
    from myia_notebook.ops.table import PRIMITIVES
    builder = x.builder
    n = apply("list_length", x)
    wanted = before + max(after, 0)
    message = f"the wrong number of values to unpack (expected {'at least ' if after >= 0 else ''}{wanted})"
    checked = Expr(builder, builder.apply(PRIMITIVES["check_length"], x.node, n.node, builder.constant(wanted), builder.constant(after >= 0),
                                          builder.constant(message), type=x.type))
    first = [position_in(checked, known(builder, i)) for i in range(before)]
    if after < 0:
        return make(builder, first)
    middle = apply("list_slice", checked, before, 1, n - wanted)
    last = [position_in(checked, n - after + i) for i in range(after)]
    return make(builder, [*first, middle, *last])


def _of_one(function: Callable[[Expr], Expr]) -> Expand:
    """A function of one value, as syntax calls it."""

    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        return function(arguments[0])
    return expand


ITERATION: dict[str, Operation] = {
    "last_of_range": Operation("last", _last_of_range, "last"),
    "as_int": Operation("int", _of_one(as_int), "int"),
    "iter_start": Operation("iterate", _of_one(start_of), "iterate"),
    "iter_more": Operation("more", _of_one(more_of), "more?"),
    "iter_value": Operation("next", _of_one(value_of), "next"),
    "iter_next": Operation("rest", _of_one(next_of), "rest"),
    "unpack": Operation("unpack", _unpack, "unpack"),
    "collect_start": Operation("iterate", _of_one(_unrolled), "iterate"),
    "collect_empty": Operation("[]", _collect_empty, "[]"),
    "collect_add": Operation("collect", _collect_add, "collect"),
}
ITERABLES: dict[Any, Operation] = {
    range: Operation("range", _range, "range"), zip: Operation("zip", _zip, "zip"), enumerate: Operation("enumerate", _enumerate, "enumerate"),
    reversed: Operation("reversed", _reversed, "reversed"),
}

__all__ = ["ITERABLES", "ITERATION"]
