"""Subscripts, attributes, methods and iteration, as operations."""
from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.extent import Extent
from myia_notebook.ir.graph import UNDEFINED, Constant
from myia_notebook.ir.types import BOOL, INT, INT_DTYPES, NEVER, NONE, Array, List, NoneType, Record, Scalar, Static, Tuple
from myia_notebook.ops.expression import Builder, Expr, apply
from myia_notebook.ops.index import result_shape
from myia_notebook.ops.iteration import ITERATION, Marker, marker_of
from myia_notebook.ops.masked import count, is_masked, selected
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.operators import (
    Keywords,
    SliceValue,
    apply_index,
    convert,
    equal_items,
    fitted,
    is_sequence,
    is_static_list,
    known,
    labels_of,
    list_sum,
    make,
    make_list,
    narrowed,
    require_static,
    run_time_list,
    static_value,
    truth_of,
    tuple_items,
)
from myia_notebook.ops.primitive import UNKNOWN
from myia_notebook.ops.promotion import shape_of
from myia_notebook.ops.records import dict_display, dict_method, field, is_dict, make_record, make_text, record_method, with_item

SLICE = Marker("slice")


@dataclass(frozen=True, slots=True)
class Window:
    """A slice whose length is known and whose start is not. `extremes`: all that its start can be lies between them, when that is known."""

    length: int
    extremes: tuple[int, ...] | None


def _make_slice(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """start:stop:step, known before running, or a tuple of run-time bounds. The parser may add the length and the extremes of the start, in
    terms of what may be known (`parse.windows`)."""
    arguments, more = arguments[:3], arguments[3:]
    parts: list[int | None] = []
    for x in arguments:
        value = static_value(x)
        if value is not UNKNOWN and value is not None and (not isinstance(value, (int, Extent)) or isinstance(value, bool)):
            raise error("M301", operation="a slice", types=str(x.type), hint="bounds are ints")
        if value is UNKNOWN and not (isinstance(x.type, Scalar) and x.type.dtype in INT_DTYPES):
            raise error("M301", operation="a slice", types=str(x.type), hint="bounds are ints")
        parts.append(value)
    if parts[2] == 0:
        raise error("M402", message="slice step cannot be zero")
    if UNKNOWN in parts:
        size = more[0].value if more else UNKNOWN
        extremes = [x.value for x in more[1:]]
        window = Window(size, tuple(extremes) if extremes and all(type(v) is int for v in extremes) else None) if type(size) is int else None
        return make(builder, [known(builder, SLICE, Static(SLICE)), *arguments, known(builder, window, Static(window))])
    value = SliceValue(*parts)
    return known(builder, value, Static(value))


def _getitem(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """getitem(x, i, j, …): one argument for each part of the subscript."""
    x, *places = arguments
    if isinstance(x.type, Array):
        if len(places) == 1 and is_sequence(places[0].type) and marker_of(places[0].type) is None and not is_static_list(places[0].type):
            places = tuple_items(places[0])
        return _array_item(x, places)
    if len(places) != 1 and (isinstance(x.type, (Tuple, List))):
        raise error("M301", operation="an item", types=f"{x.type} with several indices")
    if is_dict(x.type):
        return _dict_item(x, places[0])
    if isinstance(x.type, List):
        return _list_item(x, places[0])
    if is_sequence(x.type):
        return tuple_item(x, places[0])
    if isinstance(x.type, Static) and isinstance(x.type.value, str):
        where = require_static(places[0], "the index of a text")
        found = x.type.value[slice(where.start, where.stop, where.step) if isinstance(where, SliceValue) else where]
        return known(builder, found, Static(found))
    raise error("M301", operation="a subscript", types=str(x.type), hint=_optional_hint(x))


def _optional_hint(x: Expr) -> str:
    return "tell the cases apart first, with isinstance or 'is None'" if labels_of(x) is not None else ""


def _dict_item(x: Expr, place: Expr) -> Expr:
    key = require_static(place, "the key of a dict")
    names = x.type.structure.names  # type: ignore[union-attr]
    if key not in names:
        raise error("M404", key=key, keys=", ".join(map(repr, names)))
    return Expr(x.builder, x.builder.item(x.node, names.index(key)))


def _list_item(x: Expr, place: Expr) -> Expr:
    """An item or a slice of a list of run-time length."""
    n = apply("list_length", x)
    where = static_value(place)
    if isinstance(where, SliceValue) or marker_of(place.type) is SLICE:
        return _list_slice(x, n, where, place)
    if not isinstance(place.type, Scalar) or place.type.dtype not in INT_DTYPES:
        raise error("M301", operation="a list's item", types=str(place.type), hint="the index is an int or a slice")
    return apply("list_get", x, apply("list_index", place, n))


def _list_slice(x: Expr, n: Expr, where: Any, place: Expr) -> Expr:
    builder = x.builder
    if isinstance(where, SliceValue):
        start, stop, step = (None if v is None else known(builder, v) for v in (where.start, where.stop, where.step))
    else:
        start, stop, step = (None if p.type == NONE else convert(p, INT) for p in tuple_items(place)[1:4])
    size = 1 if step is None else step.value
    if not isinstance(size, int):
        raise error("M306", what="the step of a slice of a list", hint="write the step as a number")
    low, high = (known(builder, 0), n) if size > 0 else (known(builder, -1), n - 1)

    def bound(v: Expr | None, default: Expr) -> Expr:
        if v is None:
            return default
        shifted = apply("add", v, choose_int(v < 0, n, known(builder, 0)))
        return apply("minimum", apply("maximum", shifted, low), high)

    first, last = bound(start, low if size > 0 else high), bound(stop, high if size > 0 else low)
    span = last - first if size > 0 else first - last
    count = apply("maximum", apply("floor_divide", span + (abs(size) - 1), abs(size)), 0)
    return apply("list_slice", x, first, size, count)


def choose_int(test: Expr, x: Expr, y: Expr) -> Expr:
    from myia_notebook.ops.table import PRIMITIVES
    builder = x.builder
    return builder.expr(builder.apply(PRIMITIVES["switch"], test.node, x.node, y.node, type=INT))


def tuple_item(x: Expr, place: Expr) -> Expr:
    items = tuple_items(x)
    where = static_value(place)
    remake = make_list if is_static_list(x.type) else make
    if isinstance(where, SliceValue):
        return remake(x.builder, items[slice(where.start, where.stop, where.step)])
    if marker_of(place.type) is SLICE:
        if is_static_list(x.type):
            return _list_item(run_time_list(x), place)
        raise error("M306", what="the bound of a slice of a tuple", hint="its length would be known only at run time: use a list")
    if not isinstance(place.type, Scalar) or place.type.dtype not in INT_DTYPES:
        raise error("M301", operation="a tuple's item", types=str(place.type), hint="the index is an int or a slice")
    what = "a list" if is_static_list(x.type) else "a tuple"
    if isinstance(where, int):
        if not -len(items) <= where < len(items):
            raise error("M403", index=where, axis=what, size=len(items))
        return items[where]
    if not items:
        raise error("M403", index="", axis=what, size=0)
    if is_static_list(x.type) and len(items) > 8:
        return _list_item(run_time_list(x), place)
    t = items[0].type
    for item in items[1:]:
        t = x.builder.join(t, item.type)
    return _choose(x.builder, place, [fitted(item, t) for item in items])


def _choose(builder: Builder, place: Expr, items: list[Expr]) -> Expr:
    """The item at a run-time place, by a chain of selects."""
    from myia_notebook.ops.table import PRIMITIVES
    position = Expr(builder, builder.apply(PRIMITIVES["check_index"], place.node, builder.constant(len(items))))
    result = items[-1].node
    for i in reversed(range(len(items) - 1)):
        test = position.equals(i)
        result = builder.apply(PRIMITIVES["switch"], test.node, items[i].node, result, type=items[0].type)
    return Expr(builder, result)


def _array_item(x: Expr, places: list[Expr]) -> Expr:
    if any(isinstance(p.type, Array) or is_static_list(p.type) for p in places):
        return _advanced_item(x, [as_index(p) for p in places])
    spec, positions = basic_index(x, places)
    return apply_index(x, spec, positions)


def as_index(p: Expr) -> Expr:
    """A list of positions as an array."""
    from myia_notebook.ops.arguments import as_array
    return as_array(p) if is_static_list(p.type) else p


def _advanced_item(x: Expr, places: list[Expr]) -> Expr:
    """Indexing by integer arrays: those stand side by side (ints count as arrays of rank 0), the other axes are indexed as usual."""
    assert isinstance(x.type, Array)
    mask = places[0]
    if len(places) == 1 and isinstance(mask.type, Array) and mask.type.dtype == "bool":
        if mask.type.shape != x.type.shape[:len(mask.type.shape)]:
            raise error("M402", message=f"the mask has shape {mask.type.shape}, the array {x.type.shape}")
        return selected(x, mask)
    if any(isinstance(p.type, Array) and p.type.dtype == "bool" for p in places):
        raise error("M308", message="indexing by a boolean array: the result's shape would be known only at run time",
                    hint="use np.where(mask, x, 0.0), or np.sum(x * mask)")
    used = sum(1 for p in places if not isinstance(p.type, NoneType) and static_value(p) is not Ellipsis)
    whole = SliceValue(None, None, None)
    wanted = len(x.type.shape) - used
    expanded: list[Expr] = []
    for p in places:
        expanded.extend([known(x.builder, whole, Static(whole))] * wanted if static_value(p) is Ellipsis else [p])
    advanced = [i for i, p in enumerate(expanded) if isinstance(p.type, (Array, Scalar)) and static_value(p) is not Ellipsis]
    if advanced != list(range(advanced[0], advanced[-1] + 1)):
        raise error("M308", message="integer arrays with slices between them as indices", hint="index in two steps: x[i][:, j]")
    basic = [known(x.builder, whole, Static(whole)) if i in advanced else p for i, p in enumerate(expanded)]
    spec, _ = basic_index(x, basic)
    sliced = apply_index(x, spec, [])
    axis = sum(1 for p in basic[:advanced[0]])
    shape = shape_of(sliced.type)
    sizes = shape[axis:axis + len(advanced)]
    linear: Expr | None = None
    for i, n in zip(advanced, sizes):
        p = expanded[i]
        if not isinstance(p.type, (Array, Scalar)) or p.type.dtype not in INT_DTYPES:
            raise error("M301", operation="indexing an array", types=str(p.type), hint="positions are ints")
        here = apply("wrap_index", p, static=[n])
        linear = here if linear is None else linear * n + here
    assert linear is not None and isinstance(linear.type, Array)
    merged = apply("reshape", sliced, static=[(*shape[:axis], math.prod(sizes), *shape[axis + len(advanced):])]) if len(advanced) > 1 else sliced
    return apply("take", merged, linear, static=[axis])


def basic_index(x: Expr, places: list[Expr]) -> tuple[tuple[Any, ...], list[Expr]]:
    """Basic indexing: ints, slices, None, `...`; (spec, run-time positions)."""
    assert isinstance(x.type, Array)
    shape = x.type.shape
    used = sum(1 for p in places if not isinstance(p.type, NoneType) and static_value(p) is not Ellipsis)
    if used > len(shape):
        raise error("M402", message=f"too many indices: the array has {len(shape)} axes, but {used} were indexed")
    spec: list[Any] = []
    positions: list[Expr] = []
    axis = 0
    for place in places:
        value = static_value(place)
        if value is Ellipsis:
            for n in shape[axis:axis + len(shape) - used]:
                spec.append(("slice", 0, n, 1))
            axis += len(shape) - used
        elif isinstance(place.type, NoneType):
            spec.append(None)
        elif isinstance(value, SliceValue):
            spec.append(("slice", *_normalized(value, shape[axis])))
            axis += 1
        elif isinstance(place.type, Scalar) and place.type.dtype in INT_DTYPES:
            spec.append("int")
            positions.append(place)
            axis += 1
        elif marker_of(place.type) is SLICE:
            parts = tuple_items(place)
            spec.append(_window_entry(x.builder, parts[4].value, shape[axis]))
            positions.append(parts[1])
            axis += 1
        else:
            raise error("M301", operation="indexing an array", types=str(place.type), hint="use ints, slices with known bounds, None and `...`")
    spec.extend(("slice", 0, n, 1) for n in shape[axis:])
    return tuple(spec), positions


def _window_entry(builder: Builder, window: Window | None, size: int) -> tuple[Any, ...]:
    """The entry of a spec for a slice that starts at a run-time position: its length must be known."""
    if window is not None:
        n = max(window.length, 0)
        if n <= size and (window.extremes is None and builder.checks_windows or window.extremes is not None and all(0 <= a <= size - n for a in window.extremes)):
            return ("window", n)
    raise error("M306", what="the bounds of a slice of an array", hint="they may come from shapes, from inputs, and from counters of loops of known length")


def _normalized(value: SliceValue, size: int) -> tuple[int, int, int]:
    """`slice(…).indices(size)`, also where extents have no number yet."""
    parts = (value.start, value.stop, value.step)
    if not any(isinstance(v, Extent) for v in (size, *parts)):
        return slice(*parts).indices(size)
    step = 1 if value.step is None else value.step
    least, most = (0, size) if step > 0 else (-1, size - 1)

    def bound(v: int | None, default: int) -> int:
        if v is None:
            return default
        return max(v + size, least) if v < 0 else min(v, most)

    return bound(value.start, least if step > 0 else most), bound(value.stop, most if step > 0 else least), step


# -- attributes and methods

def _getattr(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x, name_node = arguments
    name = static_value(name_node)
    found = field(x, name)
    if found is not None:
        return found
    if is_masked(x.type) and name == "size":
        return count(x)
    if isinstance(x.type, (Scalar, Array)) and not (isinstance(x.type, Scalar) and x.type.weak):
        shape = x.type.shape if isinstance(x.type, Array) else ()
        match name:
            case "shape":
                return known(builder, shape)
            case "ndim":
                return known(builder, len(shape))
            case "size":
                return known(builder, math.prod(shape))
            case "dtype":
                dtype = np.dtype(x.type.dtype)
                return known(builder, dtype, Static(dtype))
            case "T":
                return apply("transpose", x, static=[tuple(reversed(range(len(shape))))]) if len(shape) > 1 else x
            case "real":
                return x
            case _:
                pass
    raise error("M304", type=str(x.type), name=name, hint=_attribute_hint(x, name))


def _attribute_hint(x: Expr, name: Any) -> str:
    if isinstance(x.type, Array):
        return "arrays have shape, ndim, size, dtype, T and the methods of LANGUAGE"
    if name in ("append", "extend", "insert", "pop"):
        return "values never change in place: build a new list, `items = items + [x]`"
    if isinstance(x.type, Record) and x.type.structure.kind in ("dataclass", "namedtuple"):
        return suggestion_among(name, x.type.structure.names)
    return _optional_hint(x)


def suggestion_among(name: str, names: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(name, names, 1)
    return f"did you mean '{close[0]}'?" if close else f"its fields are {', '.join(names)}"


def _call_method(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x, name_node, *rest = arguments
    name = static_value(name_node)
    if is_dict(x.type):
        found = dict_method(x, name, rest)
        if found is not None:
            return found
    made = record_method(x, name, rest, keywords)
    if made is not None:
        return made
    if name in ("index", "count") and is_sequence(x.type) and len(rest) == 1:
        return _search(x, name, rest[0])
    from myia_notebook.ops.library import method
    operation = method(name) if isinstance(x.type, (Array, Scalar)) or is_masked(x.type) else None
    if operation is not None and not (isinstance(x.type, Scalar) and x.type.weak):
        return operation.expand(builder, [x, *rest], keywords)
    raise error("M304", type=str(x.type), name=name, hint=_attribute_hint(x, name))


def _search(x: Expr, name: str, item: Expr) -> Expr:
    """xs.count(item) of a sequence of known length."""
    if name == "index":
        raise error("M304", type=str(x.type), name=name, hint="loop over the items")
    total = known(x.builder, 0)
    for candidate in tuple_items(x):
        total = total + convert(truth_of(equal_items(candidate, item)), INT)
    return total


def _has_keys(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """Whether a mapping pattern with these keys may match."""
    x, *keys = arguments
    names = x.type.structure.names if is_dict(x.type) else None  # type: ignore[union-attr]
    return known(builder, names is not None and all(require_static(k, "the key of a pattern") in names for k in keys))


def _given_other(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """given_other(x, value): value, where x is no sequence; a sequence never gets there."""
    x, value = arguments
    return Expr(builder, Constant(UNDEFINED, NEVER)) if isinstance(x.type, List) or is_sequence(x.type) else value


def _is_sequence_of(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """Whether a sequence pattern may match: of this length, or of at least this length."""
    x, wanted, or_more = arguments
    if isinstance(x.type, List):
        n = apply("list_length", x)
        return n >= wanted.value if or_more.value else n.equals(wanted.value)
    if isinstance(x.type, Array):
        size = x.type.shape[0]
    elif is_sequence(x.type):
        size = len(x.type.items)  # type: ignore[union-attr]
    else:
        return known(builder, False)
    return known(builder, size >= wanted.value if or_more.value else size == wanted.value)


# -- setting an item: the array, list or dict with that item changed

def _setitem(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """setitem(x, value, i, j, …)"""
    x, value, *places = arguments
    if is_dict(x.type):
        key = require_static(places[0], "the key of a dict")
        if len(places) != 1 or not isinstance(key, str):
            raise error("M301", operation="a dict's item", types=str(places[0].type), hint="keys are strings")
        return with_item(x, key, value)
    if isinstance(x.type, List) or is_static_list(x.type):
        return _set_list_item(x, value, places)
    if isinstance(x.type, Array):
        return _set_array_item(x, value, places)
    raise error("M301", operation="setting an item", types=str(x.type), hint="tuples and numbers never change: build a new value")


def _set_list_item(x: Expr, value: Expr, places: list[Expr]) -> Expr:
    builder = x.builder
    if len(places) != 1 or not isinstance(places[0].type, Scalar):
        raise error("M301", operation="setting an item of a list", types="a slice or several indices", hint="build the list with + and slices")
    i = places[0]
    if is_static_list(x.type) and isinstance(i.value, int):
        items = tuple_items(x)
        if not -len(items) <= i.value < len(items):
            raise error("M403", index=i.value, axis="a list", size=len(items))
        items[i.value] = value
        return make_list(builder, items)
    xs = run_time_list(x)
    n = apply("list_length", xs)
    position = apply("list_index", i, n)
    before = apply("list_slice", xs, 0, 1, position)
    after = apply("list_slice", xs, position + 1, 1, n - position - 1)
    return list_sum(list_sum(before, make_list(builder, [value])), after)


def _set_array_item(x: Expr, value: Expr, places: list[Expr]) -> Expr:
    """x with the elements at a basic index replaced: x · (not there) + value there."""
    if len(places) == 1 and is_sequence(places[0].type):
        places = tuple_items(places[0])
    assert isinstance(x.type, Array)
    if len(places) == 1 and isinstance(places[0].type, Array) and places[0].type.dtype == "bool":
        return strong_like(apply("where", _mask_like(places[0], x), value, x), x)
    spec, positions = basic_index(x, places)
    shape = result_shape(x.type.shape, spec)
    if not isinstance(value.type, (Scalar, Array)):
        raise error("M301", operation="setting an item of an array", types=str(value.type))
    value = convert(value, Array(x.type.dtype, value.type.shape) if isinstance(value.type, Array) else Scalar(x.type.dtype) if x.type.dtype != "bool" else BOOL)
    if shape_of(value.type) != shape:
        value = apply("broadcast_to", value, static=[shape]) if shape else apply("reshape", value, static=[()])
    from myia_notebook.ops.table import PRIMITIVES
    builder = x.builder
    return builder.expr(builder.apply(PRIMITIVES["index_set"], x.node, value.node, builder.constant(spec), *(p.node for p in positions)))


def _mask_like(mask: Expr, x: Expr) -> Expr:
    """A boolean array over the first axes of x, as one that broadcasts with x."""
    assert isinstance(mask.type, Array) and isinstance(x.type, Array)
    if mask.type.shape != x.type.shape[:len(mask.type.shape)]:
        raise error("M402", message=f"the mask has shape {mask.type.shape}, the array {x.type.shape}")
    extra = len(x.type.shape) - len(mask.type.shape)
    return apply("reshape", mask, static=[(*mask.type.shape, *(1,) * extra)]) if extra else mask


def strong_like(x: Expr, like: Expr) -> Expr:
    return convert(x, like.type) if x.type != like.type else x


NAMED: dict[str, Operation] = {
    "getitem": Operation("[ ]", _getitem, "[ ]"),
    "make_slice": Operation(":", _make_slice, ":"),
    "getattr_": Operation(".", _getattr, "."),
    "call_method": Operation(".", _call_method, "."),
    "setitem": Operation("[ ]=", _setitem, "[ ]="),
    "is_sequence_of": Operation("matches", _is_sequence_of, "matches"),
    "make_text": Operation("text", make_text, "text"),
    "has_keys": Operation("matches", _has_keys, "matches"),
    "given_other": Operation("given", _given_other, "given"),
    "given": Operation("given", lambda builder, arguments, keywords: arguments[1], "given"),
    "narrow": Operation("is", narrowed, "is"),
    "make_record": Operation("record", make_record, "record"),
    "make_list": Operation("[ ]", lambda builder, arguments, keywords: make_list(builder, arguments), "[ ]"),
    "dict_display": Operation("{ }", dict_display, "{ }"),
    **ITERATION,
}

__all__ = ["NAMED"]
