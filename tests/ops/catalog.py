"""Random calls of everything that the table of the language names: the text of an expression in x0, x1, … and values for those.

Functions with a signature that NumPy itself tells (ufuncs; reductions, which have `axis` and `keepdims`) get their calls from it, so a new entry of the
table is audited by itself; the others stand in `MAKERS` and in `catalog_more`, and a name that is nowhere fails `test_catalog.test_every_name_has_calls`.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from myia_notebook.ops.table import OPERATIONS
from tests.ops.catalog_more import MORE, NO_CALLS, SYNTAX
from tests.ops.draw import Call, Draw

DOMAINS: dict[str, tuple[float, float]] = {  # where ufuncs are smooth
    "sqrt": (0.2, 3), "cbrt": (0.2, 3), "log": (0.2, 3), "log2": (0.2, 3), "log10": (0.2, 3), "log1p": (-0.8, 3), "arcsin": (-0.9, 0.9), "arccos": (-0.9, 0.9),
    "arctanh": (-0.9, 0.9), "arccosh": (1.2, 3), "power": (0.2, 2.5), "float_power": (0.2, 2.5), "xlogy": (0.2, 3), "logit": (0.1, 0.9), "gammaln": (0.2, 4),
    "digamma": (0.2, 4), "psi": (0.2, 4), "gamma": (0.3, 4), "entr": (0.1, 3), "xlog1py": (0.1, 3), "rel_entr": (0.2, 3), "kl_div": (0.2, 3)}
Maker = Callable[[Draw], Call]


def text_of(value: Any) -> str:
    return repr(value)


def keywords(draw: Draw, **options: Any) -> str:
    """Some of these keywords."""
    return "".join(f", {k}={text_of(v)}" for k, v in options.items() if draw.chance(0.5))


# -- what signatures tell

def ufunc(name: str, count: int, allowed: tuple[str, ...] = ()) -> Maker:
    short = name.split(".")[-1]
    domain = DOMAINS.get(short)

    def make(draw: Draw) -> Call:
        shapes = draw.broadcastable(count)
        if draw.smooth and short in ("mod", "remainder", "fmod", "floor_divide"):
            y = draw.within(shapes[1], 0.8, 2.5)
            arguments = (y * (np.trunc(draw.within(shapes[0], -3, 3)) + draw.rng.uniform(0.3, 0.7)), y)
        elif draw.smooth and domain is not None:
            arguments = tuple(draw.within(s, *domain) for s in shapes)
        else:
            arguments = tuple(draw.array(s, *allowed) for s in shapes)
        return Call(f"{name}({', '.join(f'x{i}' for i in range(count))})", arguments)
    return make


def reduction(name: str, has_keepdims: bool) -> Maker:
    method = name.removeprefix("np.")

    def make(draw: Draw) -> Call:
        x = draw.array(draw.shape(0 if not draw.chance(0.9) else 1))
        if name.startswith("special.") and np.size(x) == 0:
            x = draw.within((2, 3), -2, 2)
        options: dict[str, Any] = {"axis": draw.axes(np.ndim(x))}
        if has_keepdims:
            options["keepdims"] = draw.chance(0.5)
        if name in ("np.var", "np.std"):
            options["ddof"] = 0 if draw.smooth else draw.pick(0, 1)
        if method in METHODS and isinstance(x, np.ndarray) and x.ndim and draw.chance(0.3):
            return Call(f"x0.{method}({keywords(draw, **options).removeprefix(', ')})", (x,))
        return Call(f"{name}(x0{keywords(draw, **options)})", (x,))
    return make


METHODS = frozenset("sum prod max min all any mean var std argmax argmin cumsum cumprod".split())


def _one_axis(name: str) -> Maker:
    """argmax and the like: one axis or None."""
    def make(draw: Draw) -> Call:
        x = draw.array(draw.shape(1))
        options: dict[str, Any] = {"axis": draw.pick(None, draw.axis(np.ndim(x)))}
        return Call(f"{name}(x0{keywords(draw, **options)})", (x,))
    return make


# -- the others

def _unary(template: str, low: int = 0, high: int = 4, *dtypes: str, **options: Callable[[Draw, int], Any]) -> Maker:
    """A call on one array; options are drawn from its rank."""
    def make(draw: Draw) -> Call:
        x = draw.array(draw.shape(low, high), *dtypes)
        values = {k: text_of(option(draw, np.ndim(x))) for k, option in options.items()}
        return Call(template.format(**values), (x,))
    return make


def _same_shape(template: str, count: int, low: int = 1, high: int = 3, **options: Callable[[Draw, int], Any]) -> Maker:
    def make(draw: Draw) -> Call:
        shape = draw.shape(low, high)
        values = {k: text_of(option(draw, len(shape))) for k, option in options.items()}
        return Call(template.format(**values), tuple(draw.array(shape) for _ in range(count)))
    return make


def _axis(draw: Draw, rank: int) -> int:
    return draw.axis(rank)


def _new_axis(draw: Draw, rank: int) -> int:
    return draw.axis(rank + 1)


def _axis_or_none(draw: Draw, rank: int) -> int | None:
    return draw.pick(None, draw.axis(rank)) if rank else None


def _axes(draw: Draw, rank: int) -> Any:
    return draw.axes(rank)


def _small(low: int, high: int) -> Callable[[Draw, int], int]:
    return lambda draw, rank: int(draw.rng.integers(low, high))


def _permutation(draw: Draw, rank: int) -> tuple[int, ...]:
    return tuple(int(a - rank if draw.chance(0.3) else a) for a in draw.rng.permutation(rank))


def _flag(draw: Draw, rank: int) -> bool:
    return draw.chance(0.5)


def _reshape(draw: Draw) -> Call:
    x = draw.array(draw.shape(0, 4))
    sizes = [int(np.size(x))]
    while len(sizes) < 3 and draw.chance(0.5) and sizes[-1] > 1:
        factor = next(f for f in (2, 3, sizes[-1]) if sizes[-1] % f == 0)
        sizes[-1:] = [factor, sizes[-1] // factor]
    if draw.chance(0.5):
        sizes[int(draw.rng.integers(len(sizes)))] = -1
    if not draw.smooth and draw.chance(0.1):
        sizes.append(3)
    if isinstance(x, np.ndarray) and x.ndim and draw.chance(0.4):
        return Call(f"x0.reshape({', '.join(map(str, sizes))})", (x,))
    return Call(f"np.reshape(x0, {draw.pick(tuple(sizes), sizes[0] if len(sizes) == 1 else tuple(sizes))!r})", (x,))


def _clip(draw: Draw) -> Call:
    x = draw.array(draw.shape(0, 3))
    low, high = draw.pick(None, -1, -0.7, 0), draw.pick(None, 2, 1.3, 5)
    return Call(draw.pick(f"np.clip(x0, {low}, {high})", f"np.clip(x0, a_max={high}, a_min={low})", f"np.clip(x0, min={low}, max={high})"), (x,))


def _where(draw: Draw) -> Call:
    c, a, b = draw.broadcastable(3)
    test = draw.rng.random(c) < 0.5 if c or draw.smooth else bool(draw.chance(0.5))
    return Call("np.where(x0, x1, x2)", (test, draw.array(a), draw.array(b)))


def _joined(name: str) -> Maker:
    def make(draw: Draw) -> Call:
        rank = int(draw.rng.integers(1, 4))
        shape = tuple(draw.size() for _ in range(rank))
        axis = draw.axis(rank)
        shapes = [tuple(draw.size() if i == axis % rank else n for i, n in enumerate(shape)) for _ in range(2)]
        values = tuple(draw.array(s) for s in shapes)
        option = f", axis={axis}" if axis % rank != 0 or draw.chance(0.5) else ""
        return Call(f"{name}({draw.pick('(x0, x1)', '[x0, x1]')}{option})", values)
    return make


def _stacked(name: str) -> Maker:
    def make(draw: Draw) -> Call:
        shape = draw.shape(0, 3)
        return Call(f"{name}({draw.pick('(x0, x1, x0)', '[x0, x1, x0]')})", (draw.array(shape), draw.array(shape)))
    return make


def _filled(name: str) -> Maker:
    def make(draw: Draw) -> Call:
        shape = draw.pick(draw.shape(0, 3), 3)
        dtype = draw.pick("", ", dtype=np.float64") if draw.smooth else draw.pick("", ", dtype=np.float32", ", np.int64", ", dtype=int", ", dtype=bool", ", 'float32'")
        return Call(f"{name}({shape!r}{dtype}) + x0", (draw.array(()),))
    return make


def _text(*texts: str, dtypes: tuple[str, ...] = (), shape: tuple[int, ...] = (2, 3)) -> Maker:
    """Calls of fixed form on one array."""
    return lambda draw: Call(draw.pick(*texts), (draw.array(shape, *dtypes),))


def _pair(text: str, first: Callable[[Draw], tuple[int, ...]], second: Callable[[Draw, tuple[int, ...]], tuple[int, ...]], *dtypes: str) -> Maker:
    def make(draw: Draw) -> Call:
        a = first(draw)
        return Call(text, (draw.array(a, *dtypes), draw.array(second(draw, a), *dtypes)))
    return make


def _matmul(text: str) -> Maker:
    def make(draw: Draw) -> Call:
        n, m, k = draw.size(), draw.size(), draw.size()
        a, b = draw.pick(((n,), (n,)), ((n,), (n, m)), ((m, n), (n,)), ((m, n), (n, k)), ((2, m, n), (n, k)), ((m, n), (3, n, k)), ((2, m, n), (2, n, k)), ((2, 1, m, n), (3, n, k)))
        return Call(text, (draw.array(a), draw.array(b)))
    return make


def _square(text: str, definite: bool = False, batched: bool = True, extra: Callable[[Draw, int], Any] | None = None) -> Maker:
    def make(draw: Draw) -> Call:
        n = int(draw.rng.integers(1, 5))
        lead = draw.pick((), (), (2,)) if batched else ()
        a = draw.rng.normal(size=(*lead, n, n)) + 2.5 * np.eye(n)
        if definite:
            a = a @ np.swapaxes(a, -1, -2)
        a = a.astype(draw.dtype("float64", "float32"))
        if extra is None:
            return Call(text, (a,))
        value = extra(draw, n)
        return Call(text.format(k=text_of(value)), (a,)) if not isinstance(value, np.ndarray) else Call(text, (a, value))
    return make


def _take(draw: Draw) -> Call:
    x = draw.array(draw.shape(1, 3))
    axis = draw.pick(None, draw.axis(np.ndim(x)))
    n = np.size(x) if axis is None else x.shape[axis]
    i = draw.rng.integers(-n, n, draw.shape(0, 2)) if n else np.zeros(0, np.int64)
    i = i if np.ndim(i) else int(i)
    if draw.chance(0.3) and isinstance(x, np.ndarray):
        return Call(f"x0.take(x1, axis={axis})", (x, i))
    return Call(f"np.take(x0, x1{'' if axis is None else f', axis={axis}'})", (x, i))


def _take_along(draw: Draw) -> Call:
    shape = draw.shape(1, 3)
    axis = draw.axis(len(shape))
    n = shape[axis]
    wanted = tuple(3 if i == axis % len(shape) else m for i, m in enumerate(shape))
    i = draw.rng.integers(-n, n, wanted) if n else np.zeros(shape, np.int64)
    return Call(f"np.take_along_axis(x0, x1, axis={axis})", (draw.array(shape), i))


def _einsum(draw: Draw) -> Call:
    sizes = {c: draw.size() for c in "ijkl"}
    text = draw.pick("ij,jk->ik", "ij,jk", "ij->", "ii->i", "ii", "iij,jk->ik", "ij,ij->", "i,j->ji", "...i,i->...", "ij...,jk->ik...", "ijk,jil->kl", "ij->ji", "i,ij,j->")
    values = []
    for part in text.split("->")[0].split(","):
        lead = [sizes[c] for c in part.split("...")[0]]
        dots = [2] if "..." in part else []
        values.append(draw.array((*lead, *dots, *(sizes[c] for c in part.split("...")[1])) if dots else tuple(lead)))
    return Call(f"np.einsum({text!r}, {', '.join(f'x{i}' for i in range(len(values)))})", tuple(values))


def _tensordot(draw: Draw) -> Call:
    a = draw.shape(2, 3)
    count = int(draw.rng.integers(0, 3))
    b = (*a[len(a) - count:], *draw.shape(0, 2))
    if draw.chance(0.5):
        return Call(f"np.tensordot(x0, x1, axes={count})", (draw.array(a), draw.array(b)))
    left = [i - len(a) if draw.chance(0.3) else i for i in range(len(a) - count, len(a))]
    return Call(f"np.tensordot(x0, x1, axes=({left}, {list(range(count))}))", (draw.array(a), draw.array(b)))


def _pad(draw: Draw) -> Call:
    x = draw.array(tuple(int(draw.rng.integers(3, 5)) for _ in range(int(draw.rng.integers(1, 4)))))
    width = draw.pick(1, (2, 1), tuple((int(a), int(b)) for a, b in draw.rng.integers(0, 3, (np.ndim(x), 2))))
    mode = draw.pick("", "", ", mode='edge'", ", mode='reflect'", ", 'wrap'", ", mode='symmetric'", ", constant_values=2")
    return Call(f"np.pad(x0, {width!r}{mode})", (x,))


def _split(name: str) -> Maker:
    def make(draw: Draw) -> Call:
        shape = draw.shape(1, 3)
        axis = draw.axis(len(shape))
        sections = draw.pick(1, shape[axis] or 1, 2, [1, 2], (1, -1))
        return Call(f"{name}(x0, {sections!r}, axis={axis})", (draw.array(shape),))
    return make


def _roll(draw: Draw) -> Call:
    x = draw.array(draw.shape(1, 3))
    rank = np.ndim(x)
    axis = draw.pick(None, draw.axis(rank), tuple(range(rank)))
    shift = tuple(int(v) for v in draw.rng.integers(-5, 6, rank)) if isinstance(axis, tuple) else int(draw.rng.integers(-7, 8))
    return Call(f"np.roll(x0, {shift!r}{'' if axis is None else f', axis={axis}'})", (x,))


def _repeat(draw: Draw) -> Call:
    x = draw.array(draw.shape(1, 3))
    axis = draw.pick(None, draw.axis(np.ndim(x)))
    n = np.size(x) if axis is None else np.shape(x)[axis]
    count = draw.pick(0, 1, 2, tuple(int(v) for v in draw.rng.integers(0, 3, n)), [2] * n)
    return Call(f"np.repeat(x0, {count!r}, axis={axis})", (x,))


def _moveaxis(draw: Draw) -> Call:
    x = draw.array(draw.shape(1, 4))
    rank = np.ndim(x)
    if draw.chance(0.5):
        return Call(f"np.moveaxis(x0, {draw.axis(rank)}, {draw.axis(rank)})", (x,))
    k = int(draw.rng.integers(1, rank + 1))
    return Call(f"np.moveaxis(x0, {_permutation(draw, rank)[:k]}, {_permutation(draw, rank)[:k]})", (x,))


def _interp(draw: Draw) -> Call:
    n = int(draw.rng.integers(1, 5))
    return Call("np.interp(x0, x1, x2)", (draw.array(draw.shape(0, 2), "float64", "int64"), np.sort(draw.rng.normal(size=n)), draw.rng.normal(size=n)))


def _searchsorted(draw: Draw) -> Call:
    return Call(f"np.searchsorted(x0, x1{draw.pick('', ', side=' + repr('right'), ', ' + repr('left'))})",
                (np.sort(draw.array((5,), "float64", "int64")), draw.array(draw.shape(0, 2), "float64", "int64")))


def _average(draw: Draw) -> Call:
    shape = draw.shape(1, 3)
    axis = draw.axis(len(shape))
    if draw.chance(0.4):
        return Call(f"np.average(x0, axis={draw.axes(len(shape))})", (draw.array(shape),))
    w = np.abs(draw.rng.normal(size=draw.pick(shape, (shape[axis],)))) + 0.5
    return Call(f"np.average(x0, axis={axis}, weights=x1)", (draw.array(shape), w))


def _broadcast_to(draw: Draw) -> Call:
    shape = draw.shape(0, 3)
    x = draw.array(tuple(1 if draw.chance(0.4) else n for n in shape))
    return Call(f"np.broadcast_to(x0, {(*draw.shape(0, 1), *shape)!r})", (x,))


def _percentile(name: str, scale: float) -> Maker:
    def make(draw: Draw) -> Call:
        x = draw.within(tuple(int(n) for n in draw.rng.integers(1, 5, int(draw.rng.integers(1, 4)))), -3, 3).astype(draw.dtype("float64", "float32", "int64"))
        many = [[0.25 * scale, 0.9 * scale]] if x.dtype != np.float32 else []  # NumPy rounds those of float32 twice
        q = draw.pick(0.0, 0.3 * scale, 0.5 * scale, scale, *many)
        return Call(f"{name}(x0, {q!r}, axis={draw.axes(np.ndim(x))}, method={('linear' if isinstance(q, list) else draw.pick('linear', 'lower', 'higher', 'midpoint'))!r}, keepdims={draw.chance(0.5)})", (x,))
    return make


def _lines(name: str, *options: str) -> Maker:
    """Of one or two sets of rows."""
    def make(draw: Draw) -> Call:
        n = int(draw.rng.integers(3, 6))
        values = tuple(draw.within((*lead, n), -2, 2) for lead in (draw.pick((), (2,), (3,)), draw.pick((), (2,)))[:draw.pick(1, 2)])
        return Call(f"{name}({', '.join(f'x{i}' for i in range(len(values)))}{draw.pick('', *options)})", values)
    return make


def _norm(draw: Draw) -> Call:
    rank = int(draw.rng.integers(1, 4))
    x = draw.array(tuple(int(draw.rng.integers(1, 4)) for _ in range(rank)), "float64", "float32", "int64")
    axis = draw.pick(None, draw.axis(rank), *([(0, rank - 1), (-1, 0)] if rank > 1 else []))
    count = rank if axis is None else len(axis) if isinstance(axis, tuple) else 1
    order = draw.pick("None", *{1: ("1", "2", "np.inf", "3", "0", "1.5"), 2: ("'fro'", "1", "-1", "np.inf")}.get(count, ("None",)))
    return Call(f"np.linalg.norm(x0, {order}, axis={axis}, keepdims={draw.chance(0.5)})", (x,))


def _trapezoid(draw: Draw) -> Call:
    y = draw.array(draw.shape(1, 3), "float64", "int64")
    axis = draw.axis(np.ndim(y))
    if draw.chance(0.5):
        return Call(f"np.trapezoid(y=x0, x=x1, axis={axis})", (y, np.cumsum(np.abs(draw.rng.normal(size=np.shape(y)[axis])))))
    return Call(f"np.trapezoid(x0, dx=0.5, axis={axis})", (y,))


def _convolve(name: str) -> Maker:
    return lambda draw: Call(f"{name}(x0, x1, {draw.pick('full', 'same', 'valid')!r})", (draw.array(draw.shape(1, 1), "float64", "float32", "int64"),
                                                                                         draw.array(draw.shape(1, 1), "float64", "float32", "int64")))


def _matrix_diagonal(draw: Draw, rank: int) -> int:
    return int(draw.rng.integers(-2, 3))


def _number(draw: Draw, rank: int) -> Any:
    return draw.pick(-1, 0, 1, 2)


def _kron(draw: Draw, a: tuple[int, ...]) -> tuple[int, ...]:
    return draw.shape(0, 3)


MAKERS: dict[Any, Maker] = {
    np.matmul: _matmul("x0 @ x1"), np.dot: lambda d: _matmul("np.dot(x0, x1)")(d) if d.chance(0.7) else Call(
        "np.dot(x0, x1)", (d.array((2, 3)), d.array(()))),
    np.argmax: _one_axis("np.argmax"), np.argmin: _one_axis("np.argmin"), np.cumsum: _one_axis("np.cumsum"), np.cumprod: _one_axis("np.cumprod"),
    np.outer: _pair("np.outer(x0, x1)", lambda d: d.shape(0, 2), lambda d, a: d.shape(0, 2)),
    np.vdot: _pair("np.vdot(x0, x1)", lambda d: d.shape(1, 3), lambda d, a: a),
    np.inner: _pair("np.inner(x0, x1)", lambda d: d.shape(1, 3), lambda d, a: (*d.shape(0, 2), a[-1])),
    np.kron: _pair("np.kron(x0, x1)", lambda d: d.shape(0, 3), _kron),
    np.cross: _pair("np.cross(x0, x1)", lambda d: d.pick((3,), (2, 3)), lambda d, a: d.pick((3,), (2, 3), (4, 1, 3)), "float64", "float32", "int64", "int32"),
    np.tensordot: _tensordot, np.einsum: _einsum,
    np.reshape: _reshape, np.transpose: _unary("np.transpose(x0, {p})", 1, 4, p=_permutation), np.ravel: _unary("np.ravel(x0)"),
    np.swapaxes: _unary("np.swapaxes(x0, {i}, {j})", 1, 4, i=_axis, j=_axis), np.expand_dims: _unary("np.expand_dims(x0, {a})", 0, 3, a=_new_axis),
    np.squeeze: _unary("np.squeeze(np.expand_dims(x0, {a}))", 0, 3, a=_new_axis), np.broadcast_to: _broadcast_to,
    np.concatenate: _joined("np.concatenate"), np.stack: _same_shape("np.stack((x0, x1), axis={a})", 2, 0, a=_new_axis),
    np.append: _same_shape("np.append(x0, x1, axis={a})", 2, a=_axis_or_none),
    np.hstack: _stacked("np.hstack"), np.vstack: _stacked("np.vstack"), np.dstack: _stacked("np.dstack"), np.column_stack: _stacked("np.column_stack"),
    np.zeros: _filled("np.zeros"), np.ones: _filled("np.ones"), np.full: _unary("np.full((2, 3), x0, dtype={d})", 0, 0, d=lambda d, r: None if d.smooth else d.pick(None, "float32", "int64", "bool")),
    np.zeros_like: _unary("np.zeros_like(x0)"), np.ones_like: _unary("np.ones_like(x0)"), np.full_like: _unary("np.full_like(x0, {v})", v=_number),
    np.arange: _text("np.arange(3) * x0", "np.arange(1, 2.5, 0.5) + x0[0, 0]", "np.arange(5, 2, -1) * x0", "np.arange(3.0) + x0", "np.arange(3, dtype=np.int32) + x0"),
    np.linspace: _text("np.linspace(0, 1, 3) * x0", "np.linspace(-1.0, 2.0, num=3, endpoint=False) + x0"),
    np.eye: _text("np.eye(3) * x0[0]", "np.eye(2, 3) + x0", "np.eye(2, 3, 1) + x0", "np.eye(2, 3, k=-1, dtype=int) + x0"),
    np.array: _text("np.array([x0[0, 0], x0[1, 1]])", "np.array([[1, 2.5], [3, 4]]) + x0[0, 0]", "np.array(x0)", "np.array([x0, x0])"),
    np.asarray: _text("np.asarray([x0[0, 0], 1])", "np.asarray(x0)", "np.asarray(x0, float)", dtypes=("int64", "int32", "bool", "float64")),
    np.where: _where, np.clip: _clip,
    np.flip: _unary("np.flip(x0, {a})", 1, 3, a=_axes), np.fliplr: _unary("np.fliplr(x0)", 2, 3), np.flipud: _unary("np.flipud(x0)", 1, 3), np.roll: _roll,
    np.tile: _unary("np.tile(x0, {r})", 0, 2, r=lambda d, r: d.pick(2, (2, 1), (1, 2, 3), ())), np.repeat: _repeat, np.pad: _pad,
    np.split: _split("np.split"), np.array_split: _split("np.array_split"), np.moveaxis: _moveaxis,
    np.atleast_1d: _unary("np.atleast_1d(x0)"), np.atleast_2d: _unary("np.atleast_2d(x0)"),
    np.diff: _unary("np.diff(x0, n={n}, axis={a})", 1, 3, n=_small(0, 3), a=_axis),
    np.tril: _unary("np.tril(x0, {k})", 1, 3, k=_small(-2, 3)), np.triu: _unary("np.triu(x0, k={k})", 1, 3, k=_small(-2, 3)),
    np.diag: _unary("np.diag(x0, {k})", 1, 2, k=_small(-2, 3)), np.diagonal: _unary("np.diagonal(x0, {k}, {i}, {j})", 2, 4, k=_small(-2, 3), i=lambda d, r: 0, j=lambda d, r: d.pick(1, -1)),
    np.trace: _unary("np.trace(x0, {k})", 2, 3, k=_small(-2, 3)),
    np.meshgrid: _pair("np.meshgrid(x0, x1)", lambda d: d.shape(1, 1), lambda d, a: d.shape(1, 1)),
    np.broadcast_arrays: _pair("np.broadcast_arrays(x0, x1)", lambda d: d.shape(0, 3), lambda d, a: tuple(1 if d.chance(0.4) else n for n in a)),
    np.take: _take, np.take_along_axis: _take_along,
    np.sort: _unary("np.sort(x0, axis={a})", 1, 3, a=_axis_or_none), np.argsort: _unary("np.argsort(x0, axis={a}, kind='stable')", 1, 3, a=_axis_or_none),
    np.average: _average, np.shape: _unary("np.shape(x0)"), np.ndim: _unary("np.ndim(x0)"), np.size: _unary("np.size(x0)"),
    np.rot90: _unary("np.rot90(x0, {k})", 2, 3, k=_small(-3, 5)), np.searchsorted: _searchsorted, np.interp: _interp,
    np.nan_to_num: lambda d: Call(f"np.nan_to_num(x0{keywords(d, nan=2.0, posinf=9.0)})", (d.array(d.shape(0, 3)),)),
    np.round: _unary("np.round(x0, {n})", n=lambda d, r: 0 if d.smooth else d.pick(0, 1, 2)), np.around: _unary("np.around(x0, {n})", n=lambda d, r: 0 if d.smooth else d.pick(-1, 0, 1)),
    np.linalg.solve: lambda d: Call("np.linalg.solve(x0, x1)", ((d.rng.normal(size=(3, 3)) + 2 * np.eye(3)).astype(t := d.dtype("float64", "float32")), d.array(d.pick((3,), (3, 2), (2, 3, 1)), t))),
    np.linalg.inv: _square("np.linalg.inv(x0)"), np.linalg.det: _square("np.linalg.det(x0)"), np.linalg.slogdet: _square("np.linalg.slogdet(x0)"),
    np.linalg.cholesky: _square("np.linalg.cholesky(x0 @ np.swapaxes(x0, -1, -2))"), np.linalg.matrix_power: _square("np.linalg.matrix_power(x0, {k})", extra=_small(-2, 4)),
    np.sinc: _unary("np.sinc(x0)"),
    np.linalg.norm: _norm, np.percentile: _percentile("np.percentile", 100.0), np.quantile: _percentile("np.quantile", 1.0),
    np.cov: _lines("np.cov", ", ddof=0", ", bias=True"), np.corrcoef: _lines("np.corrcoef"),
    np.polyval: _pair("np.polyval(x0, x1)", lambda d: (int(d.rng.integers(1, 5)),), lambda d, a: d.shape(0, 2), "float64", "float32", "int64"),
    np.vander: _unary("np.vander(x0, {n}, increasing={k})", 1, 1, "float64", "float32", "int64", "int32", n=lambda d, r: d.pick(None, 0, 1, 3), k=_flag),
    np.trapezoid: _trapezoid, np.convolve: _convolve("np.convolve"), np.correlate: _convolve("np.correlate"),
    np.copy: _unary("np.copy(x0)"), np.ascontiguousarray: _unary("np.ascontiguousarray(x0)", 1), np.empty: _text("np.shape(np.empty((2, 3)))", "np.empty(4).shape"),
    np.empty_like: _unary("np.shape(np.empty_like(x0, dtype=float))"), np.identity: _text("np.identity(3) + x0[0]"), np.tri: _text("np.tri(2, 3) * x0", "np.tri(2, 3, -1, dtype=int) + x0"),
    np.logspace: _text("np.logspace(0, 2, 3) + x0"), np.geomspace: _text("np.geomspace(1, 8, 3) * x0"),
    np.triu_indices: _text("x0[np.triu_indices(2)]", "x0[np.triu_indices(2, 1, 3)]"), np.tril_indices: _text("x0[np.tril_indices(2)]", "x0[np.tril_indices(2, -1)]"),
    np.diag_indices: _text("x0[np.diag_indices(2)]"), np.indices: _text("np.indices((2, 3))[0] + x0"),
}
MAKERS |= {
    np.isclose: _pair("np.isclose(x0, x1, equal_nan=True)", lambda d: d.shape(0, 3), lambda d, a: a),
    np.allclose: _same_shape("np.allclose(x0, x0 + 1e-9, rtol={r})", 1, 0, r=lambda d, r: d.pick(1e-5, 1e-12)),
    np.array_equal: _pair("np.array_equal(x0, x1)", lambda d: d.shape(0, 1), lambda d, a: d.shape(0, 1)),
    np.gradient: lambda d: Call(d.pick("np.gradient(x0)", "np.gradient(x0, 0.5)", "np.gradient(x0, axis=-1)"),
                                (d.array(tuple(int(n) for n in d.rng.integers(2, 5, int(d.rng.integers(1, 3)))), "float64", "float32"),)),
    np.matrix_transpose: _unary("np.matrix_transpose(x0)", 2, 4), np.unstack: _unary("np.unstack(x0, axis={a})", 1, 3, a=_axis),
    np.matvec: _pair("np.matvec(x0, x1)", lambda d: d.shape(2, 3), lambda d, a: d.pick((a[-1],), (*a[:-2], a[-1]))),
    np.vecdot: _pair("np.vecdot(x0, x1)", lambda d: d.shape(1, 3), lambda d, a: d.pick(a, (a[-1],))),
    np.linalg.multi_dot: lambda d: Call("np.linalg.multi_dot([x0, x1, x0.T])", (d.within((2, 3), -2, 2), d.within((3, 3), -2, 2))),
    np.linalg.cross: _pair("np.linalg.cross(x0, x1)", lambda d: (2, 3), lambda d, a: a, "float64", "float32", "int64"),
    np.linalg.tensordot: _pair("np.linalg.tensordot(x0, x1, axes=1)", lambda d: d.shape(1, 2), lambda d, a: (a[-1], 2)),
    np.isposinf: ufunc("np.isposinf", 1), np.isneginf: ufunc("np.isneginf", 1), np.fix: ufunc("np.fix", 1), np.real: _unary("np.real(x0)", 1),
}
LINEAR = frozenset((np.matmul, np.dot, np.inner, np.outer, np.vdot, np.tensordot, np.einsum, np.trace, np.kron, np.cross, np.matvec, np.vecdot))


def makers() -> dict[str, tuple[Any, Maker]]:
    """By name: the Python function (None for syntax) and a maker of calls, for everything that the table names and for networks."""
    found: dict[str, tuple[Any, Maker]] = {}
    for f, operation in OPERATIONS.items():
        if f in MORE or operation.name in NO_CALLS:
            continue
        found[expression_of(f, operation.name)] = (f, maker_of(f))
    return found | {f"{f.__module__.removeprefix('myia_notebook.').lstrip('_')}.{f.__name__}": (f, m) for f, m in MORE.items()} | {n: (None, m) for n, m in SYNTAX.items()}


def family_of(name: str, f: Any) -> str:
    """A room of the library."""
    module = name.split(".")[0]
    if module == "np":
        if isinstance(f, np.ufunc) and f.signature is None:
            return "NumPy, elementwise"
        if name.startswith("np.linalg.") or f in LINEAR:
            return "NumPy, linear algebra"
        parameters = {} if isinstance(f, (np.ufunc, type)) or f in (np.array, np.arange) else inspect.signature(f).parameters
        return "NumPy, reductions" if "axis" in parameters and "keepdims" in parameters else "NumPy, shapes and the rest"
    return {"special": "scipy.special", "math": "math", "nn": "networks", "random": "random numbers"}.get(module, "Python: operators, builtins, subscripts, methods")


def expression_of(f: Any, name: str) -> str:
    """How a program names it."""
    for prefix, module in (("np.", np), ("np.linalg.", np.linalg)):
        short = name.rsplit(".", 1)[-1]
        if getattr(module, short, None) is f:
            return prefix + short
    return name


def maker_of(f: Any) -> Maker:
    if f in MAKERS:
        return MAKERS[f]
    name = getattr(f, "__name__", "")
    if name == "polygamma":
        return lambda draw: Call(f"special.polygamma({draw.pick(0, 1, 2, 5)}, x0)", (draw.within(draw.shape(0, 2), 0.2, 6.0),))
    if isinstance(f, np.ufunc):
        module = "np." if getattr(np, name, None) is f else "special."
        return ufunc(module + name, f.nin)
    if isinstance(f, type) or not (getattr(f, "__module__", "") or "").startswith(("numpy", "scipy")):
        raise LookupError(f"{f} has no calls: give it a maker in tests/ops/catalog_more.py")
    parameters = inspect.signature(f).parameters
    if "axis" in parameters and "keepdims" in parameters:
        return reduction(("np." if f.__module__ == "numpy" else "special.") + name, True)
    if "axis" in parameters and list(parameters)[0] in ("a", "x"):
        return reduction(("np." if f.__module__ == "numpy" else "special.") + name, False)
    if [p.default for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD] == [inspect.Parameter.empty]:
        return ufunc("special." + name, 1)
    raise LookupError(f"{name} has no calls: give it a maker in tests/ops/catalog.py")
