"""NumPy's functions that rearrange, join, cut and order arrays, as compositions of primitives. Shapes, axes and counts are known before running."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.types import FLOAT_DTYPES, Array, Scalar, Static
from myia_notebook.ops.arguments import (
    as_array,
    axes_of,
    bind,
    concatenated,
    constant_of,
    dtype_name,
    needed,
    of_dtype,
    one_axis,
    option,
    raveled,
    reshaped,
    shape_of,
    spread,
    strong,
)
from myia_notebook.ops.expression import Builder, Expr, apply
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.operators import Keywords, known, make, make_list, require_static, sequence_items, takes
from myia_notebook.ops.promotion import broadcast


def cut(x: Expr, axis: int, start: int, stop: int, step: int = 1) -> Expr:
    """x[…, start:stop:step, …] along an axis, with normalized bounds."""
    spec = tuple(("slice", start, stop, step) if i == axis else ("slice", 0, n, 1) for i, n in enumerate(shape_of(x)))
    return apply("index", x, static=[spec])


def at_least(x: Expr, rank: int) -> Expr:
    shape = shape_of(x)
    if len(shape) >= rank:
        return strong(x)
    return apply("reshape", x, static=[(1,) * (rank - len(shape)) + shape])


def _flip(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.flip", ("m", "axis"), arguments, keywords)
    x = as_array(bound["m"])
    for axis in axes_of(x, bound.get("axis"), "np.flip"):
        n = shape_of(x)[axis]
        x = cut(x, axis, n - 1, -1, -1) if n else x
    return x


def _flip_axis(name: str, axis: int) -> Any:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        takes(name, arguments, keywords, 1)
        x = as_array(arguments[0])
        if len(shape_of(x)) <= axis:
            raise error("M402", message=f"{name} takes arrays of {axis + 1} or more axes")
        return cut(x, axis, shape_of(x)[axis] - 1, -1, -1)
    return expand


def _roll(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.roll", ("a", "shift", "axis"), arguments, keywords)
    x = as_array(bound["a"])
    shift, axis = require_static(bound["shift"], "the shift"), option(bound, "axis", None)
    if axis is None:
        return reshaped(_rolled(raveled(x), shift, 0), shape_of(x))
    for s, a in zip(shift if isinstance(shift, tuple) else (shift,), axis if isinstance(axis, tuple) else (axis,)):
        x = _rolled(x, s, one_axis(x, a))
    return x


def _rolled(x: Expr, shift: int, axis: int) -> Expr:
    n = shape_of(x)[axis]
    k = shift % n if n else 0
    return x if k == 0 else concatenated(axis, [cut(x, axis, n - k, n), cut(x, axis, 0, n - k)])


def _tile(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.tile", ("A", "reps"), arguments, keywords)
    x, reps = as_array(bound["A"]), require_static(bound["reps"], "the repetitions")
    reps = reps if isinstance(reps, tuple) else (reps,)
    rank = max(len(reps), len(shape_of(x)))
    reps = (1,) * (rank - len(reps)) + reps
    x = at_least(x, rank)
    pairs = [(r, n) for r, n in zip(reps, shape_of(x))]
    wide = apply("broadcast_to", apply("reshape", x, static=[tuple(v for _, n in pairs for v in (1, n))]), static=[tuple(v for pair in pairs for v in pair)])
    return apply("reshape", wide, static=[tuple(r * n for r, n in pairs)])


def _repeat(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.repeat", ("a", "repeats", "axis"), arguments, keywords)
    x, count, axis = as_array(bound["a"]), require_static(bound["repeats"], "the repetitions"), option(bound, "axis", None)
    if axis is None:
        x, axis = raveled(x), 0
    axis = one_axis(x, axis)
    n = shape_of(x)[axis]
    counts = [count] * n if isinstance(count, int) else [int(c) for c in count]
    counts = counts * n if len(counts) == 1 else counts
    if len(counts) != n or min(counts, default=0) < 0:
        raise error("M402", message=f"np.repeat: {len(counts)} repetitions for an axis of size {n}" if len(counts) != n else "repetitions cannot be negative")
    positions = np.repeat(np.arange(n), counts)
    return taken(x, known(builder, positions), axis)


def taken(x: Expr, i: Expr, axis: int) -> Expr:
    return apply("take", x, i, static=[axis])


def _pad(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.pad", ("array", "pad_width", "mode", "constant_values"), arguments, keywords)
    x, width, mode = as_array(bound["array"]), require_static(bound["pad_width"], "the width"), option(bound, "mode", "constant")
    try:
        pairs = np.broadcast_to(np.asarray(width), (len(shape_of(x)), 2)).tolist()
    except ValueError:
        raise error("M402", message=f"the width {width} does not fit an array with {len(shape_of(x))} axes") from None
    if min((n for pair in pairs for n in pair), default=0) < 0:
        raise error("M402", message="a width cannot be negative")
    shape = shape_of(x)
    if mode == "constant":
        spec = tuple(("slice", a, a + n, 1) for (a, _), n in zip(pairs, shape))
        wide = tuple(a + n + b for (a, b), n in zip(pairs, shape))
        padded = apply("scatter", x, static=[wide, spec])
        if "constant_values" not in bound:
            return padded
        inside = np.zeros(wide, bool)
        inside[tuple(slice(a, a + n) for (a, _), n in zip(pairs, shape))] = True
        value = of_dtype(bound["constant_values"], dtype_name(x))
        return apply("where", known(builder, inside), padded, value)
    if mode not in ("edge", "wrap", "reflect", "symmetric"):
        raise error("M308", message=f"np.pad with mode {mode!r}", hint="use constant, edge, wrap, reflect or symmetric")
    for axis, (a, b) in enumerate(pairs):
        x = taken(x, known(builder, np.pad(np.arange(shape[axis]), (a, b), mode)), axis)
    return x


def _split(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.split", ("ary", "indices_or_sections", "axis"), arguments, keywords)
    return make_list(builder, _pieces(as_array(bound["ary"]), require_static(bound["indices_or_sections"], "the sections"), option(bound, "axis", 0), True))


def _array_split(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.array_split", ("ary", "indices_or_sections", "axis"), arguments, keywords)
    return make_list(builder, _pieces(as_array(bound["ary"]), require_static(bound["indices_or_sections"], "the sections"), option(bound, "axis", 0), False))


def _pieces(x: Expr, sections: Any, axis: int, is_equal: bool) -> list[Expr]:
    axis = one_axis(x, axis)
    n = shape_of(x)[axis]
    if isinstance(sections, int):
        if sections < 1:
            raise error("M402", message="the number of sections must be 1 or more")
        if is_equal and n % sections:
            raise error("M402", message=f"an axis of size {n} cannot be split into {sections} equal parts")
        each, extra = divmod(n, sections)
        bounds = [0]
        for i in range(sections):
            bounds.append(bounds[-1] + each + (i < extra))
    else:
        bounds = [0, *(slice(None, s).indices(n)[1] for s in sections), n]
    return [cut(x, axis, a, max(a, b)) for a, b in zip(bounds, bounds[1:])]


def _stacked(name: str, rank: int, axis: int) -> Any:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = bind(name, ("tup",), arguments, keywords)
        parts = [as_array(p) for p in sequence_items(bound["tup"], name)]
        if name == "np.column_stack":
            parts = [apply("reshape", at_least(p, 1), static=[(math.prod(shape_of(p)), 1)]) if len(shape_of(p)) < 2 else p for p in parts]
        elif name == "np.dstack":
            parts = [reshaped(p, _to_three(shape_of(at_least(p, 1)))) if len(shape_of(p)) < 3 else p for p in parts]
        else:
            parts = [at_least(p, rank) for p in parts]
        return concatenated(0 if name == "np.hstack" and len(shape_of(parts[0])) == 1 else axis, parts)
    return expand


def _to_three(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (1, shape[0], 1) if len(shape) == 1 else (*shape, 1)


def _moveaxis(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.moveaxis", ("a", "source", "destination"), arguments, keywords)
    x = as_array(bound["a"])
    source, target = (require_static(bound[n], "the axes") for n in ("source", "destination"))
    sources = [one_axis(x, s) for s in (source if isinstance(source, tuple) else (source,))]
    targets = [one_axis(x, t) for t in (target if isinstance(target, tuple) else (target,))]
    order = [i for i in range(len(shape_of(x))) if i not in sources]
    for t, s in sorted(zip(targets, sources)):
        order.insert(t, s)
    return apply("transpose", x, static=[tuple(order)])


def _at_least(rank: int) -> Any:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        takes(f"np.atleast_{rank}d", arguments, keywords, 1)
        return at_least(as_array(arguments[0]), rank)
    return expand


def _append(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.append", ("arr", "values", "axis"), arguments, keywords)
    x, v, axis = as_array(bound["arr"]), as_array(bound["values"]), option(bound, "axis", None)
    if axis is None:
        return concatenated(0, [raveled(x), raveled(v)])
    return concatenated(one_axis(x, axis), [x, v])


def _diff(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.diff", ("a", "n", "axis"), arguments, keywords)
    x, times, axis = as_array(bound["a"]), option(bound, "n", 1), option(bound, "axis", -1)
    axis = one_axis(x, axis)
    if times < 0:
        raise error("M402", message=f"order must be non-negative but got {times}")
    for _ in range(times):
        n = shape_of(x)[axis]
        high, low = cut(x, axis, min(1, n), n), cut(x, axis, 0, max(n - 1, 0))
        x = apply("not_equal", high, low) if dtype_name(x) == "bool" else high - low
    return x


def _triangle(name: str, lower: bool) -> Any:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = bind(name, ("m", "k"), arguments, keywords)
        x, k = as_array(bound["m"]), option(bound, "k", 0)
        if not isinstance(x.type, Array):
            raise error("M301", operation=name, types=str(x.type), hint="an array is expected")
        if len(shape_of(x)) == 1:
            x = spread(x, shape_of(x) * 2)
        shape = shape_of(x)
        keep = np.tri(*shape[-2:], k if lower else k - 1, dtype=bool)
        keep = keep if lower else ~keep
        return apply("where", known(builder, np.broadcast_to(keep, shape).copy()), x, constant_of(builder, 0, dtype_name(x)))
    return expand


def _diag(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.diag", ("v", "k"), arguments, keywords)
    x, k = as_array(bound["v"]), option(bound, "k", 0)
    if len(shape_of(x)) not in (1, 2):
        raise error("M402", message="np.diag takes arrays of one or two axes")
    if len(shape_of(x)) == 2:
        return diagonal(x, k, 0, 1)
    n = shape_of(x)[0]
    size = n + abs(k)
    places = np.arange(n) * size + np.arange(n) + (k if k >= 0 else -k * size)
    return reshaped(apply("put_add", x, known(builder, places), static=[(size * size,), 0]), (size, size))


def diagonal(x: Expr, offset: int, first: int, second: int) -> Expr:
    """The diagonal along two axes, as the last axis."""
    rank = len(shape_of(x))
    first, second = one_axis(x, first), one_axis(x, second)
    if first == second:
        raise error("M402", message="the two axes of a diagonal must differ")
    rest = [i for i in range(rank) if i not in (first, second)]
    moved = apply("transpose", x, static=[(*rest, first, second)])
    *lead, n, m = shape_of(moved)
    places = np.array([i * m + i + offset for i in range(n) if 0 <= i + offset < m], np.int64)
    return taken(reshaped(moved, (*lead, n * m)), known(x.builder, places), len(lead))


def _diagonal(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.diagonal", ("a", "offset", "axis1", "axis2"), arguments, keywords)
    return diagonal(as_array(bound["a"]), option(bound, "offset", 0), option(bound, "axis1", 0), option(bound, "axis2", 1))


def _trace(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.trace", ("a", "offset", "axis1", "axis2"), arguments, keywords)
    x = as_array(bound["a"])
    if len(shape_of(x)) < 2:
        raise error("M301", operation="np.trace", types=str(x.type))
    d = diagonal(x, option(bound, "offset", 0), option(bound, "axis1", 0), option(bound, "axis2", 1))
    return apply("reduce_sum", d, static=[(len(shape_of(d)) - 1,), False])


def _meshgrid(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.meshgrid", ("indexing",), [], keywords) if keywords else {}
    indexing = option(bound, "indexing", "xy")
    parts = [raveled(as_array(a)) for a in arguments]
    sizes = [shape_of(p)[0] for p in parts]
    order = list(range(len(parts)))
    if indexing == "xy" and len(parts) > 1:
        order[0], order[1] = 1, 0
    shape = tuple(sizes[o] for o in order)
    made = [apply("broadcast_to", apply("reshape", p, static=[tuple(n if order[j] == i else 1 for j, n in enumerate(shape))]), static=[shape])
            for i, p in enumerate(parts)]
    return make_list(builder, made)


def _broadcast_arrays(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    parts = [as_array(a) for a in arguments]
    shape = broadcast("np.broadcast_arrays", [shape_of(p) for p in parts])
    return make(builder, [apply("broadcast_to", p, static=[shape]) if shape else strong(p) for p in parts])


def _take(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.take", ("a", "indices", "axis"), arguments, keywords)
    x, i, axis = as_array(bound["a"]), as_array(bound["indices"]), option(bound, "axis", None)
    if axis is None:
        x, axis = raveled(x), 0
    axis = one_axis(x, axis)
    if isinstance(i.type, Scalar):
        spec = tuple("int" if k == axis else ("slice", 0, n, 1) for k, n in enumerate(shape_of(x)))
        from myia_notebook.ops.operators import apply_index
        return apply_index(x, spec, [i])
    return taken(x, i, axis)


def taken_along(x: Expr, i: Expr, axis: int) -> Expr:
    """x at positions i along an axis, the other axes in step."""
    if len(shape_of(i)) != len(shape_of(x)):
        raise error("M402", message="the positions and the array must have equally many axes")
    both = broadcast("np.take_along_axis", [tuple(1 if k == axis else n for k, n in enumerate(shape_of(v))) for v in (x, i)])
    x, i = (spread(v, tuple(shape_of(v)[axis] if k == axis else n for k, n in enumerate(both))) for v in (x, i))
    shape = shape_of(i)
    strides = np.cumprod([1, *shape_of(x)[:0:-1]])[::-1]
    base = sum((np.arange(n).reshape([-1 if j == k else 1 for j in range(len(shape))]) * int(s)
                for k, (n, s) in enumerate(zip(shape, strides)) if k != axis), np.zeros([1] * len(shape), np.int64))
    position = apply("wrap_index", i, static=[shape_of(x)[axis]])
    return taken(raveled(x), position * int(strides[axis]) + known(x.builder, np.broadcast_to(base, shape).astype(np.int64)), 0)


def _take_along_axis(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.take_along_axis", ("arr", "indices", "axis"), arguments, keywords)
    x = as_array(bound["arr"])
    return taken_along(x, as_array(bound["indices"]), one_axis(x, require_static(bound["axis"], "the axis")))


def _sorted_positions(name: str, parameters: tuple[str, ...], arguments: list[Expr], keywords: Keywords) -> tuple[Expr, Expr, int]:
    bound = bind(name, parameters, arguments, {k: v for k, v in keywords.items() if k != "kind"})
    x, axis = as_array(bound["a"]), option(bound, "axis", -1)
    if axis is None:
        x, axis = raveled(x), 0
    axis = one_axis(x, axis)
    return x, apply("argsort", x, static=[axis]), axis


def _sort(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    return taken_along(*_sorted_positions("np.sort", ("a", "axis"), arguments, keywords))


def _argsort(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    return _sorted_positions("np.argsort", ("a", "axis"), arguments, keywords)[1]


def _rot90(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.rot90", ("m", "k"), arguments, keywords)
    x = as_array(bound["m"])
    if len(shape_of(x)) < 2:
        raise error("M402", message="np.rot90 takes arrays of two or more axes")
    for _ in range(option(bound, "k", 1) % 4):
        x = apply("transpose", cut(x, 1, shape_of(x)[1] - 1, -1, -1), static=[(1, 0, *range(2, len(shape_of(x))))])
    return x


def _searchsorted(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """How many elements of a sorted array lie before each value. NaN comes after all numbers."""
    bound = bind("np.searchsorted", ("a", "v", "side"), arguments, keywords)
    x, v = as_array(bound["a"]), as_array(needed("np.searchsorted", bound, "v")[0])
    if len(shape_of(x)) != 1:
        raise error("M402", message="np.searchsorted takes a sorted array of one axis")
    shape = shape_of(v)
    wide = apply("reshape", v, static=[(*shape, 1)])
    is_right = option(bound, "side", "left") == "right"
    before = x <= wide if is_right else x < wide
    if dtype_name(v) in FLOAT_DTYPES:
        last = apply("isnan", wide)
        before = apply("logical_or", before, last if is_right else apply("logical_and", last, apply("logical_not", apply("isnan", x))))
    return apply("reduce_sum", of_dtype(before, "int64"), static=[(len(shape),), False])


def _interp(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """Piecewise linear, constant beyond the ends."""
    bound = bind("np.interp", ("x", "xp", "fp"), arguments, keywords)
    x, xp, fp = (as_array(bound[n]) for n in ("x", "xp", "fp"))
    x = strong(x)
    if len(shape_of(xp)) != 1 or shape_of(xp) != shape_of(fp) or shape_of(xp) == (0,):
        raise error("M402", message=f"np.interp takes points and values of one axis and one size, not {shape_of(xp)} and {shape_of(fp)}")
    x, xp, fp = (of_dtype(v, "float64") for v in (x, xp, fp))
    n = shape_of(xp)[0]
    if n == 1:
        xp, fp, n = concatenated(0, [xp, xp + 1.0]), concatenated(0, [fp, fp]), 2
    i = apply("minimum", apply("maximum", _searchsorted(builder, [xp, x, known(builder, "right", Static("right"))], {}) - 1, 0), n - 2)
    if not shape_of(x):
        i = apply("reshape", i, static=[(1,)])
        x = apply("reshape", x, static=[(1,)])
        return apply("reshape", _between(x, xp, fp, i, n), static=[()])
    return _between(x, xp, fp, i, n)


def _between(x: Expr, xp: Expr, fp: Expr, i: Expr, n: int) -> Expr:
    x0, x1, y0, y1 = taken(xp, i, 0), taken(xp, i + 1, 0), taken(fp, i, 0), taken(fp, i + 1, 0)
    line = y0 + (y1 - y0) / (x1 - x0) * (x - x0)
    first, last = (taken(fp, known(x.builder, np.array([k])), 0) for k in (0, n - 1))
    return apply("where", x < cut(xp, 0, 0, 1), first, apply("where", x > cut(xp, 0, n - 1, n), last, line))


SHAPE: dict[Any, Operation] = {
    f: Operation(f"np.{name}", expand, name) for f, name, expand in (
        (np.flip, "flip", _flip), (np.fliplr, "fliplr", _flip_axis("np.fliplr", 1)), (np.flipud, "flipud", _flip_axis("np.flipud", 0)), (np.roll, "roll", _roll), (np.tile, "tile", _tile),
        (np.repeat, "repeat", _repeat), (np.pad, "pad", _pad), (np.split, "split", _split), (np.array_split, "array_split", _array_split),
        (np.hstack, "hstack", _stacked("np.hstack", 1, 1)), (np.vstack, "vstack", _stacked("np.vstack", 2, 0)),
        (np.column_stack, "column_stack", _stacked("np.column_stack", 2, 1)), (np.dstack, "dstack", _stacked("np.dstack", 3, 2)),
        (np.moveaxis, "moveaxis", _moveaxis), (np.atleast_1d, "atleast_1d", _at_least(1)), (np.atleast_2d, "atleast_2d", _at_least(2)),
        (np.append, "append", _append), (np.diff, "diff", _diff), (np.tril, "tril", _triangle("np.tril", True)), (np.triu, "triu", _triangle("np.triu", False)),
        (np.diag, "diag", _diag), (np.diagonal, "diagonal", _diagonal), (np.trace, "trace", _trace), (np.meshgrid, "meshgrid", _meshgrid),
        (np.broadcast_arrays, "broadcast_arrays", _broadcast_arrays), (np.take, "take", _take), (np.take_along_axis, "take_along_axis", _take_along_axis),
        (np.sort, "sort", _sort), (np.argsort, "argsort", _argsort), (np.rot90, "rot90", _rot90),
        (np.searchsorted, "searchsorted", _searchsorted), (np.interp, "interp", _interp))}

__all__ = ["SHAPE", "cut", "diagonal", "reshaped", "taken", "taken_along"]
