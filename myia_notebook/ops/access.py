"""Subscripts, attributes, methods and iteration, as operations."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.types import INT, INT_DTYPES, Array, NoneType, Scalar, Static, Tuple
from myia_notebook.ops.expression import Builder, Expr, apply
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.operators import Keywords, SliceValue, apply_index, convert, known, make, require_static, static_value, tuple_items


def _make_slice(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    parts: list[int | None] = []
    for x in arguments:
        value = require_static(x, "the bound of a slice")
        if value is not None and not isinstance(value, int):
            raise error("M301", operation="a slice", types=str(x.type), hint="bounds are ints")
        parts.append(value)
    if parts[2] == 0:
        raise error("M402", message="slice step cannot be zero")
    value = SliceValue(*parts)
    return known(builder, value, Static(value))


def _getitem(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """getitem(x, i, j, …): one argument for each part of the subscript."""
    x, *places = arguments
    if isinstance(x.type, Array):
        if len(places) == 1 and isinstance(places[0].type, Tuple):
            places = tuple_items(places[0])
        return _array_item(x, places)
    if isinstance(x.type, Tuple):
        if len(places) != 1:
            raise error("M301", operation="a tuple's item", types="several indices")
        return _tuple_item(x, places[0])
    raise error("M301", operation="a subscript", types=str(x.type))


def _tuple_item(x: Expr, place: Expr) -> Expr:
    items = tuple_items(x)
    where = static_value(place)
    if isinstance(where, SliceValue):
        return make(x.builder, items[slice(where.start, where.stop, where.step)])
    if not isinstance(place.type, Scalar) or place.type.dtype not in INT_DTYPES:
        raise error("M301", operation="a tuple's item", types=str(place.type), hint="the index is an int or a slice")
    if isinstance(where, int):
        if not -len(items) <= where < len(items):
            raise error("M403", index=where, axis="a tuple", size=len(items))
        return items[where]
    if not items:
        raise error("M403", index="", axis="a tuple", size=0)
    if any(item.type != items[0].type for item in items):
        raise error("M306", what="the index of a tuple with items of several types", hint=f"the items are {x.type}")
    return _choose(x.builder, place, items)


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
    """Basic indexing: ints, slices, None, `...`."""
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
        else:
            raise error("M301", operation="indexing an array", types=str(place.type), hint="use ints, slices with known bounds, None and `...`")
    spec.extend(("slice", 0, n, 1) for n in shape[axis:])
    return apply_index(x, tuple(spec), positions)


def _normalized(value: SliceValue, size: int) -> tuple[int, int, int]:
    return slice(value.start, value.stop, value.step).indices(size)


# -- attributes and methods

def _getattr(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x, name_node = arguments
    name = static_value(name_node)
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
    if name == "append":
        return "values never change in place: build a new tuple, `items = items + (x,)`"
    return ""


def _method(name: str) -> Any:
    """The operation that a method of arrays stands for: its first argument is the array."""
    from myia_notebook.ops.library import METHODS
    return METHODS.get(name)


def _call_method(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x, name_node, *rest = arguments
    name = static_value(name_node)
    operation = _method(name) if isinstance(x.type, (Array, Scalar)) else None
    if operation is not None and not (isinstance(x.type, Scalar) and x.type.weak):
        return operation.expand(builder, [x, *rest], keywords)
    raise error("M304", type=str(x.type), name=name, hint=_attribute_hint(x, name))


# -- iteration over what is not a range: the loop's graph calls itself with the rest

ARRAY_ITERATOR = "array iterator"


def _iter_start(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """A tuple is its own iterator; an array's is (marker, array, next position)."""
    x = arguments[0]
    if isinstance(x.type, Tuple):
        return x
    if isinstance(x.type, Array):
        return make(builder, [known(builder, ARRAY_ITERATOR), x, known(builder, 0)])
    raise error("M301", operation="a for loop", types=str(x.type), hint="loop over a range, a tuple or an array")


def _is_array_iterator(x: Expr) -> bool:
    return isinstance(x.type, Tuple) and bool(x.type.items) and x.type.items[0] == Static(ARRAY_ITERATOR)


def _iter_more(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x = arguments[0]
    if _is_array_iterator(x):
        _, array, position = tuple_items(x)
        assert isinstance(array.type, Array)
        return position < array.type.shape[0]
    assert isinstance(x.type, Tuple)
    return known(builder, bool(x.type.items))


def _iter_value(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x = arguments[0]
    if _is_array_iterator(x):
        _, array, position = tuple_items(x)
        return _array_item(array, [position])
    return tuple_items(x)[0]


def _iter_next(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x = arguments[0]
    if _is_array_iterator(x):
        marker, array, position = tuple_items(x)
        return make(builder, [marker, array, position + 1])
    return make(builder, tuple_items(x)[1:])


def _unpack(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """unpack(x, before, after): the items of x as a tuple; with after >= 0 there is a star between them. Refuses a wrong number."""
    x, before_node, after_node = arguments
    before, after = static_value(before_node), static_value(after_node)
    if isinstance(x.type, Tuple):
        items = tuple_items(x)
    elif isinstance(x.type, Array):
        items = [apply_index(x, ("int", *(("slice", 0, n, 1) for n in x.type.shape[1:])), [known(builder, i)]) for i in range(x.type.shape[0])]
    else:
        raise error("M308", message=f"cannot unpack {x.type}", hint="only tuples and arrays can be unpacked")
    wanted = before + max(after, 0)
    if len(items) < wanted or (after < 0 and len(items) != before):
        few = "not enough" if len(items) < wanted else "too many"
        raise error("M402", message=f"{few} values to unpack (expected {'at least ' if after >= 0 else ''}{wanted}, got {len(items)})")
    if after < 0:
        return make(builder, items)
    last = len(items) - after
    return make(builder, [*items[:before], make(builder, items[before:last]), *items[last:]])


def _as_int(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """A bound of a range."""
    x = arguments[0]
    if isinstance(x.type, Scalar) and x.type.dtype == "bool":
        return convert(x, INT)
    if not isinstance(x.type, Scalar) or x.type.dtype not in INT_DTYPES:
        raise error("M301", operation="range", types=str(x.type), hint="bounds are ints")
    return convert(x, INT)


NAMED: dict[str, Operation] = {
    "as_int": Operation("int", _as_int, "int"),
    "getitem": Operation("[ ]", _getitem, "[ ]"),
    "make_slice": Operation(":", _make_slice, ":"),
    "getattr_": Operation(".", _getattr, "."),
    "call_method": Operation(".", _call_method, "."),
    "iter_start": Operation("iterate", _iter_start, "iterate"),
    "iter_more": Operation("more", _iter_more, "more?"),
    "iter_value": Operation("next", _iter_value, "next"),
    "iter_next": Operation("rest", _iter_next, "rest"),
    "unpack": Operation("unpack", _unpack, "unpack"),
}

__all__ = ["NAMED"]
