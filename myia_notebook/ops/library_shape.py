"""NumPy's functions that rearrange, join, cut and order arrays, as compositions of primitives. Shapes, axes and counts are known before running."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.types import BOOL, Array, Scalar, Static
from myia_notebook.ops.expression import Builder, Expr, apply
from myia_notebook.ops.library import _bind, _concatenate, _ravel_one, as_array, axes_of, dtype_of, reduction, shape_of, strong
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.operators import Keywords, convert, known, make, make_list, require_static, sequence_items, takes

Bound = dict[str, Expr]


def _static(bound: Bound, name: str, default: Any) -> Any:
    return require_static(bound[name], f"'{name}'") if name in bound else default


def _axis(x: Expr, axis: Any, extra: int = 0) -> int:
    rank = len(shape_of(x)) + extra
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise error("M402", message=f"axis {axis} is out of bounds for an array with {rank} axes")
    return axis % rank


def cut(x: Expr, axis: int, start: int, stop: int, step: int = 1) -> Expr:
    """x[…, start:stop:step, …] along an axis, with normalized bounds."""
    spec = tuple(("slice", start, stop, step) if i == axis else ("slice", 0, n, 1) for i, n in enumerate(shape_of(x)))
    return apply("index", x, static=[spec])


def reshaped(x: Expr, shape: tuple[int, ...]) -> Expr:
    return x if shape_of(x) == shape else apply("reshape", x, static=[shape])


def at_least(x: Expr, rank: int) -> Expr:
    shape = shape_of(x)
    if len(shape) >= rank:
        return strong(x)
    return apply("reshape", x, static=[(1,) * (rank - len(shape)) + shape])


def _flip(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.flip", ("m", "axis"), arguments, keywords)
    x = as_array(bound["m"])
    for axis in axes_of(x, bound.get("axis"), "np.flip"):
        n = shape_of(x)[axis]
        x = cut(x, axis, n - 1, -1, -1) if n else x
    return x


def _flip_axis(axis: int) -> Any:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        takes("np.fliplr", arguments, keywords, 1)
        x = as_array(arguments[0])
        return cut(x, axis, shape_of(x)[axis] - 1, -1, -1)
    return expand


def _roll(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.roll", ("a", "shift", "axis"), arguments, keywords)
    x = as_array(bound["a"])
    shift, axis = require_static(bound["shift"], "the shift"), _static(bound, "axis", None)
    if axis is None:
        return reshaped(_rolled(_ravel_one(x), shift, 0), shape_of(x))
    for s, a in zip(shift if isinstance(shift, tuple) else (shift,), axis if isinstance(axis, tuple) else (axis,)):
        x = _rolled(x, s, _axis(x, a))
    return x


def _rolled(x: Expr, shift: int, axis: int) -> Expr:
    n = shape_of(x)[axis]
    k = shift % n if n else 0
    return x if k == 0 else _concatenate(x.builder, axis, [cut(x, axis, n - k, n), cut(x, axis, 0, n - k)])


def _tile(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.tile", ("A", "reps"), arguments, keywords)
    x, reps = as_array(bound["A"]), require_static(bound["reps"], "the repetitions")
    reps = reps if isinstance(reps, tuple) else (reps,)
    rank = max(len(reps), len(shape_of(x)))
    reps = (1,) * (rank - len(reps)) + reps
    x = at_least(x, rank)
    pairs = [(r, n) for r, n in zip(reps, shape_of(x))]
    wide = apply("broadcast_to", apply("reshape", x, static=[tuple(v for _, n in pairs for v in (1, n))]), static=[tuple(v for pair in pairs for v in pair)])
    return apply("reshape", wide, static=[tuple(r * n for r, n in pairs)])


def _repeat(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.repeat", ("a", "repeats", "axis"), arguments, keywords)
    x, count, axis = as_array(bound["a"]), require_static(bound["repeats"], "the repetitions"), _static(bound, "axis", None)
    if axis is None:
        x, axis = _ravel_one(x), 0
    axis = _axis(x, axis)
    n = shape_of(x)[axis]
    counts = [count] * n if isinstance(count, int) else list(count)
    positions = np.repeat(np.arange(n), counts)
    return taken(x, known(builder, positions), axis)


def taken(x: Expr, i: Expr, axis: int) -> Expr:
    return apply("take", x, i, static=[axis])


def _pad(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.pad", ("array", "pad_width", "mode", "constant_values"), arguments, keywords)
    x, width, mode = as_array(bound["array"]), require_static(bound["pad_width"], "the width"), _static(bound, "mode", "constant")
    pairs = np.broadcast_to(np.asarray(width), (len(shape_of(x)), 2)).tolist()
    shape = shape_of(x)
    if mode == "constant":
        spec = tuple(("slice", a, a + n, 1) for (a, _), n in zip(pairs, shape))
        wide = tuple(a + n + b for (a, b), n in zip(pairs, shape))
        padded = apply("scatter", x, static=[wide, spec])
        if "constant_values" not in bound:
            return padded
        inside = np.zeros(wide, bool)
        inside[tuple(slice(a, a + n) for (a, _), n in zip(pairs, shape))] = True
        value = convert(bound["constant_values"], Scalar(x.type.dtype))  # type: ignore[union-attr]
        return apply("where", known(builder, inside), padded, value)
    if mode not in ("edge", "wrap", "reflect", "symmetric"):
        raise error("M308", message=f"np.pad with mode {mode!r}", hint="use constant, edge, wrap, reflect or symmetric")
    for axis, (a, b) in enumerate(pairs):
        x = taken(x, known(builder, np.pad(np.arange(shape[axis]), (a, b), mode)), axis)
    return x


def _split(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.split", ("ary", "indices_or_sections", "axis"), arguments, keywords)
    return make_list(builder, _pieces(as_array(bound["ary"]), require_static(bound["indices_or_sections"], "the sections"), _static(bound, "axis", 0), True))


def _array_split(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.array_split", ("ary", "indices_or_sections", "axis"), arguments, keywords)
    return make_list(builder, _pieces(as_array(bound["ary"]), require_static(bound["indices_or_sections"], "the sections"), _static(bound, "axis", 0), False))


def _pieces(x: Expr, sections: Any, axis: int, is_equal: bool) -> list[Expr]:
    axis = _axis(x, axis)
    n = shape_of(x)[axis]
    if isinstance(sections, int):
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
        bound = _bind(name, ("tup",), arguments, keywords)
        parts = [as_array(p) for p in sequence_items(bound["tup"], name)]
        if name == "np.column_stack":
            parts = [apply("reshape", at_least(p, 1), static=[(math.prod(shape_of(p)), 1)]) if len(shape_of(p)) < 2 else p for p in parts]
        elif name == "np.dstack":
            parts = [reshaped(p, _to_three(shape_of(at_least(p, 1)))) if len(shape_of(p)) < 3 else p for p in parts]
        else:
            parts = [at_least(p, rank) for p in parts]
        return _concatenate(builder, 0 if name == "np.hstack" and len(shape_of(parts[0])) == 1 else axis, parts)
    return expand


def _to_three(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (1, shape[0], 1) if len(shape) == 1 else (*shape, 1)


def _moveaxis(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.moveaxis", ("a", "source", "destination"), arguments, keywords)
    x = as_array(bound["a"])
    source, target = (require_static(bound[n], "the axes") for n in ("source", "destination"))
    sources = [_axis(x, s) for s in (source if isinstance(source, tuple) else (source,))]
    targets = [_axis(x, t) for t in (target if isinstance(target, tuple) else (target,))]
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
    bound = _bind("np.append", ("arr", "values", "axis"), arguments, keywords)
    x, v, axis = as_array(bound["arr"]), as_array(bound["values"]), _static(bound, "axis", None)
    if axis is None:
        return _concatenate(builder, 0, [_ravel_one(x), _ravel_one(v)])
    return _concatenate(builder, _axis(x, axis), [x, v])


def _diff(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.diff", ("a", "n", "axis"), arguments, keywords)
    x, times, axis = as_array(bound["a"]), _static(bound, "n", 1), _static(bound, "axis", -1)
    axis = _axis(x, axis)
    for _ in range(times):
        n = shape_of(x)[axis]
        x = cut(x, axis, 1, n) - cut(x, axis, 0, n - 1)
    return x


def _triangle(name: str, lower: bool) -> Any:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = _bind(name, ("m", "k"), arguments, keywords)
        x, k = as_array(bound["m"]), _static(bound, "k", 0)
        shape = shape_of(x)
        keep = np.tril(np.ones(shape[-2:], bool), k) if lower else np.triu(np.ones(shape[-2:], bool), k)
        return apply("where", known(builder, np.broadcast_to(keep, shape).copy()), x, known(builder, np.dtype(x.type.dtype).type(0)))  # type: ignore[union-attr]
    return expand


def _diag(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.diag", ("v", "k"), arguments, keywords)
    x, k = as_array(bound["v"]), _static(bound, "k", 0)
    if len(shape_of(x)) == 2:
        return diagonal(x, k, 0, 1)
    n = shape_of(x)[0]
    size = n + abs(k)
    places = np.arange(n) * size + np.arange(n) + (k if k >= 0 else -k * size)
    return reshaped(apply("put_add", x, known(builder, places), static=[(size * size,), 0]), (size, size))


def diagonal(x: Expr, offset: int, first: int, second: int) -> Expr:
    """The diagonal along two axes, as the last axis."""
    rank = len(shape_of(x))
    first, second = first % rank, second % rank
    rest = [i for i in range(rank) if i not in (first, second)]
    moved = apply("transpose", x, static=[(*rest, first, second)])
    *lead, n, m = shape_of(moved)
    places = np.array([i * m + i + offset for i in range(n) if 0 <= i + offset < m], np.int64)
    return taken(reshaped(moved, (*lead, n * m)), known(x.builder, places), len(lead))


def _diagonal(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.diagonal", ("a", "offset", "axis1", "axis2"), arguments, keywords)
    return diagonal(as_array(bound["a"]), _static(bound, "offset", 0), _static(bound, "axis1", 0), _static(bound, "axis2", 1))


def _trace(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.trace", ("a", "offset", "axis1", "axis2"), arguments, keywords)
    x = as_array(bound["a"])
    if len(shape_of(x)) < 2:
        raise error("M301", operation="np.trace", types=str(x.type))
    d = diagonal(x, _static(bound, "offset", 0), _static(bound, "axis1", 0), _static(bound, "axis2", 1))
    return apply("reduce_sum", d, static=[(len(shape_of(d)) - 1,), False])


def _meshgrid(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    indexing = require_static(keywords.pop("indexing"), "the indexing") if "indexing" in keywords else "xy"
    parts = [_ravel_one(as_array(a)) for a in arguments]
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
    shape = np.broadcast_shapes(*map(shape_of, parts))
    return make(builder, [apply("broadcast_to", p, static=[shape]) if shape else strong(p) for p in parts])


def _take(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.take", ("a", "indices", "axis"), arguments, keywords)
    x, i, axis = as_array(bound["a"]), as_array(bound["indices"]), _static(bound, "axis", None)
    if axis is None:
        x, axis = _ravel_one(x), 0
    axis = _axis(x, axis)
    if isinstance(i.type, Scalar):
        spec = tuple("int" if k == axis else ("slice", 0, n, 1) for k, n in enumerate(shape_of(x)))
        from myia_notebook.ops.operators import apply_index
        return apply_index(x, spec, [i])
    return taken(x, i, axis)


def taken_along(x: Expr, i: Expr, axis: int) -> Expr:
    """x at positions i along an axis, the other axes in step."""
    shape = shape_of(i)
    if len(shape) != len(shape_of(x)):
        raise error("M402", message="the positions and the array must have equally many axes")
    strides = np.cumprod([1, *shape_of(x)[:0:-1]])[::-1]
    base = sum((np.arange(n).reshape([-1 if j == k else 1 for j in range(len(shape))]) * int(s)
                for k, (n, s) in enumerate(zip(shape, strides)) if k != axis), np.zeros([1] * len(shape), np.int64))
    position = apply("wrap_index", i, static=[shape_of(x)[axis]])
    return taken(_ravel_one(x), position * int(strides[axis]) + known(x.builder, np.broadcast_to(base, shape).astype(np.int64)), 0)


def _take_along_axis(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.take_along_axis", ("arr", "indices", "axis"), arguments, keywords)
    x = as_array(bound["arr"])
    return taken_along(x, as_array(bound["indices"]), _axis(x, require_static(bound["axis"], "the axis")))


def _sorted_positions(name: str, parameters: tuple[str, ...], arguments: list[Expr], keywords: Keywords) -> tuple[Expr, Expr, int]:
    bound = _bind(name, parameters, arguments, {k: v for k, v in keywords.items() if k != "kind"})
    x, axis = as_array(bound["a"]), _static(bound, "axis", -1)
    if axis is None:
        x, axis = _ravel_one(x), 0
    axis = _axis(x, axis)
    return x, apply("argsort", x, static=[axis]), axis


def _sort(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    return taken_along(*_sorted_positions("np.sort", ("a", "axis"), arguments, keywords))


def _argsort(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    return _sorted_positions("np.argsort", ("a", "axis"), arguments, keywords)[1]


def _median(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.median", ("a", "axis"), arguments, keywords)
    x, axis = as_array(bound["a"]), _static(bound, "axis", None)
    if axis is None:
        x, axis = _ravel_one(x), 0
    axis = _axis(x, axis)
    ordered = taken_along(x, apply("argsort", x, static=[axis]), axis)
    n = shape_of(x)[axis]
    middle = cut(ordered, axis, (n - 1) // 2, n // 2 + 1)
    return apply("reduce_sum", middle, static=[(axis,), False]) / float(n // 2 - (n - 1) // 2 + 1)


def _cumsum(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x, axis = _scanned("np.cumsum", arguments, keywords)
    if x.type.dtype in ("bool", "int32"):  # type: ignore[union-attr]
        x = convert(x, Array("int64", shape_of(x)))
    return apply("cumulate", x, static=[axis, False])


def _scanned(name: str, arguments: list[Expr], keywords: Keywords) -> tuple[Expr, int]:
    bound = _bind(name, ("a", "axis"), arguments, keywords)
    x, axis = as_array(bound["a"]), _static(bound, "axis", None)
    if axis is None:
        x, axis = _ravel_one(x), 0
    return x, _axis(x, axis)


def _cumprod(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """By doubling: after step k each element holds the product of the last 2^k; zeros need no special care at any order of derivative."""
    x, axis = _scanned("np.cumprod", arguments, keywords)
    n, reach = shape_of(x)[axis], 1
    while reach < n:
        x = _concatenate(builder, axis, [cut(x, axis, 0, reach), cut(x, axis, reach, n) * cut(x, axis, 0, n - reach)])
        reach *= 2
    return x


def _prod(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """Floats pairwise, in halves: right at zeros to any order of derivative."""
    bound = _bind("np.prod", ("a", "axis", "keepdims"), arguments, keywords)
    x = as_array(bound["a"])
    if not isinstance(x.type, Array) or not x.type.dtype.startswith("float"):
        return reduction("np.prod", "reduce_prod")(builder, arguments, keywords)
    axes = axes_of(x, bound.get("axis"), "np.prod")
    keep = bool(_static(bound, "keepdims", False))
    shape = shape_of(x)
    rest = [i for i in range(len(shape)) if i not in axes]
    moved = apply("transpose", x, static=[(*rest, *axes)]) if len(shape) > 1 else x
    lead = tuple(shape[i] for i in rest)
    flat = reshaped(moved, (*lead, math.prod(shape[i] for i in axes)))
    axis = len(lead)
    while (n := shape_of(flat)[axis]) > 1:
        half = n // 2
        low = cut(flat, axis, 0, half) * cut(flat, axis, half, 2 * half)
        flat = low if n % 2 == 0 else _concatenate(builder, axis, [low, cut(flat, axis, 2 * half, n)])
    if shape_of(flat)[axis] == 0:
        ones = known(builder, np.dtype(x.type.dtype).type(1))
        return apply("broadcast_to", ones, static=[_result_shape(shape, axes, keep)]) if _result_shape(shape, axes, keep) else ones
    return apply("reshape", flat, static=[_result_shape(shape, axes, keep)])


def _result_shape(shape: tuple[int, ...], axes: tuple[int, ...], keep: bool) -> tuple[int, ...]:
    return tuple(1 if i in axes else n for i, n in enumerate(shape) if keep or i not in axes)


def _count_nonzero(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.count_nonzero", ("a", "axis"), arguments, keywords)
    x = as_array(bound["a"])
    hits = convert(apply("not_equal", x, 0), Array("int64", shape_of(x)))
    return apply("reduce_sum", hits, static=[axes_of(x, bound.get("axis"), "np.count_nonzero"), False])


def _ptp(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    return reduction("np.ptp", "reduce_max")(builder, arguments, dict(keywords)) - reduction("np.ptp", "reduce_min")(builder, arguments, dict(keywords))


def _average(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.average", ("a", "axis", "weights"), arguments, keywords)
    x = as_array(bound["a"])
    axes = axes_of(x, bound.get("axis"), "np.average")
    if "weights" not in bound:
        return apply("reduce_sum", x, static=[axes, False]) / float(math.prod(shape_of(x)[i] for i in axes))
    w = as_array(bound["weights"])
    if shape_of(w) != shape_of(x):
        w = apply("broadcast_to", reshaped(w, tuple(n if i in axes else 1 for i, n in enumerate(shape_of(x)))), static=[shape_of(x)])
    return apply("reduce_sum", x * w, static=[axes, False]) / apply("reduce_sum", w, static=[axes, False])


def _shape_query(name: str) -> Any:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        takes(f"np.{name}", arguments, keywords, 1)
        shape = shape_of(as_array(arguments[0]))
        return known(builder, {"shape": shape, "ndim": len(shape), "size": math.prod(shape)}[name])
    return expand


def _full_like(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.full_like", ("a", "fill_value", "dtype"), arguments, keywords)
    x = as_array(bound["a"])
    dtype = dtype_of(bound.get("dtype"), x.type.dtype)  # type: ignore[union-attr]
    value = convert(bound["fill_value"], BOOL if dtype == "bool" else Scalar(dtype))
    return apply("broadcast_to", value, static=[shape_of(x)]) if shape_of(x) else value


def _rot90(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.rot90", ("m", "k"), arguments, keywords)
    x = as_array(bound["m"])
    for _ in range(_static(bound, "k", 1) % 4):
        x = apply("transpose", cut(x, 1, shape_of(x)[1] - 1, -1, -1), static=[(1, 0, *range(2, len(shape_of(x))))])
    return x


def _searchsorted(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """How many elements of a sorted array lie before each value."""
    bound = _bind("np.searchsorted", ("a", "v", "side"), arguments, keywords)
    x, v = as_array(bound["a"]), as_array(bound["v"])
    shape = shape_of(v)
    wide = apply("reshape", v, static=[(*shape, 1)])
    before = x <= wide if _static(bound, "side", "left") == "right" else x < wide
    count = convert(before, Array("int64", shape_of(before)))
    return apply("reduce_sum", count, static=[(len(shape),), False])


def _interp(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """Piecewise linear, constant beyond the ends."""
    bound = _bind("np.interp", ("x", "xp", "fp"), arguments, keywords)
    x, xp, fp = (as_array(bound[n]) for n in ("x", "xp", "fp"))
    x = strong(x)
    n = shape_of(xp)[0]
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
        (np.flip, "flip", _flip), (np.fliplr, "fliplr", _flip_axis(1)), (np.flipud, "flipud", _flip_axis(0)), (np.roll, "roll", _roll), (np.tile, "tile", _tile),
        (np.repeat, "repeat", _repeat), (np.pad, "pad", _pad), (np.split, "split", _split), (np.array_split, "array_split", _array_split),
        (np.hstack, "hstack", _stacked("np.hstack", 1, 1)), (np.vstack, "vstack", _stacked("np.vstack", 2, 0)),
        (np.column_stack, "column_stack", _stacked("np.column_stack", 2, 1)), (np.dstack, "dstack", _stacked("np.dstack", 3, 2)),
        (np.moveaxis, "moveaxis", _moveaxis), (np.atleast_1d, "atleast_1d", _at_least(1)), (np.atleast_2d, "atleast_2d", _at_least(2)),
        (np.append, "append", _append), (np.diff, "diff", _diff), (np.tril, "tril", _triangle("np.tril", True)), (np.triu, "triu", _triangle("np.triu", False)),
        (np.diag, "diag", _diag), (np.diagonal, "diagonal", _diagonal), (np.trace, "trace", _trace), (np.meshgrid, "meshgrid", _meshgrid),
        (np.broadcast_arrays, "broadcast_arrays", _broadcast_arrays), (np.take, "take", _take), (np.take_along_axis, "take_along_axis", _take_along_axis),
        (np.sort, "sort", _sort), (np.argsort, "argsort", _argsort), (np.median, "median", _median), (np.cumsum, "cumsum", _cumsum),
        (np.cumprod, "cumprod", _cumprod), (np.prod, "prod", _prod), (np.count_nonzero, "count_nonzero", _count_nonzero), (np.ptp, "ptp", _ptp),
        (np.average, "average", _average), (np.shape, "shape", _shape_query("shape")), (np.ndim, "ndim", _shape_query("ndim")),
        (np.size, "size", _shape_query("size")), (np.full_like, "full_like", _full_like), (np.rot90, "rot90", _rot90),
        (np.searchsorted, "searchsorted", _searchsorted), (np.interp, "interp", _interp))}

__all__ = ["SHAPE", "cut", "diagonal", "reshaped", "taken", "taken_along"]
