"""Random calls of what is not NumPy's or scipy's: `math`, the operators of Python, its builtins, `functools` and `itertools`, networks, random numbers,
methods and subscripts of arrays. Keys are the Python objects of the table of operations, or names for what only syntax reaches."""
from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from myia_notebook import nn, random
from tests.ops.draw import Call, Draw

Maker = Callable[[Draw], Call]
Range = tuple[float, float]
WIDE: Range = (-2.5, 2.5)


def _scalars(text: str, *ranges: Range) -> Maker:
    """A function of numbers; `ranges` say where it is smooth."""
    def make(draw: Draw) -> Call:
        if draw.smooth:
            return Call(text, tuple(float(draw.rng.uniform(*r)) for r in ranges))
        return Call(text, tuple(draw.pick(*(float(draw.rng.normal() * 3), float(draw.rng.uniform(*r)), 0.0, -0.0, 1.0, math.inf, math.nan, 2, -1, 0, True)) for r in ranges))
    return make


def _arrays(text: str, count: int, *dtypes: str, low: float | None = None, high: float = 3.0) -> Maker:
    """Arrays (or numbers) that broadcast with each other."""
    def make(draw: Draw) -> Call:
        shapes = draw.broadcastable(count)
        if low is not None and draw.smooth:
            return Call(text, tuple(draw.within(s, low, high) for s in shapes))
        return Call(text, tuple(draw.array(s, *dtypes) for s in shapes))
    return make


def _remainder(text: str) -> Maker:
    """Away from the jumps of the quotient."""
    plain = _arrays(text, 2)

    def make(draw: Draw) -> Call:
        if not draw.smooth:
            return plain(draw)
        shapes = draw.broadcastable(2)
        y = draw.within(shapes[1], 0.8, 2.5)
        return Call(text, (y * (np.trunc(draw.within(shapes[0], -3, 3)) + draw.rng.uniform(0.3, 0.7)), y))
    return make


def _shift(text: str) -> Maker:
    return lambda draw: Call(text, (draw.rng.integers(-9, 9, 3), draw.rng.integers(0, 6, 3)))


def _numbers(*texts: str, count: int = 3) -> Maker:
    """A builtin on numbers of one kind (those of two kinds join as floats), all of them different."""
    def make(draw: Draw) -> Call:
        values = draw.within((count,), *WIDE) if draw.smooth else draw.rng.normal(size=count) * 3
        kind = float if draw.smooth or draw.chance(0.7) else int
        numbers = [kind(v) for v in values]
        return Call(draw.pick(*texts), tuple(numbers))
    return make


def _of_shapes(text: str, *shapes: tuple[int, ...]) -> Maker:
    def make(draw: Draw) -> Call:
        dtype = "float64" if draw.smooth else draw.pick("float64", "float64", "float32")
        return Call(text, tuple(draw.within(s, *WIDE).astype(dtype) for s in shapes))
    return make


def _conv(draw: Draw) -> Call:
    groups = draw.pick(1, 2)
    options = f"stride={draw.pick(1, 2, (1, 2))}, padding={draw.pick(0, 1, (1, 0))}, dilation={draw.pick(1, (2, 1))}, groups={groups}"
    return _of_shapes(f"nn.conv2d(x0, x1, x2, {options})", (2, 2, 5, 4), (2, 2 // groups, 2, 2), (2,))(draw)


def _conv_transpose(draw: Draw) -> Call:
    return _of_shapes(f"nn.conv_transpose2d(x0, x1, x2, stride={draw.pick(1, 2, (2, 1))}, padding={draw.pick(0, 1)})", (1, 2, 3, 2), (2, 3, 2, 2), (3,))(draw)


def _labels(text: str) -> Maker:
    return lambda draw: Call(text, (draw.within((4, 3), *WIDE), draw.rng.integers(0, 3, 4)))


def _along(name: str) -> Maker:
    return lambda draw: Call(f"{name}(x0, axis={draw.pick(0, 1, -1)})", (draw.within((3, 4), *WIDE),))


def _subscript(draw: Draw) -> Call:
    """Basic and advanced subscripts, in range and out of it."""
    x = draw.array((4, 3, 2))
    i = draw.rng.integers(-4, 4, draw.shape(1, 2))
    mask = draw.rng.random((4, 3)) < 0.5
    text, more = draw.pick(
        ("x0[1]", ()), ("x0[-1, 2]", ()), ("x0[..., 0]", ()), ("x0[::-1]", ()), ("x0[1:3, None, ::2]", ()), ("x0[3:0:-2, 1:]", ()), ("x0[:, -2]", ()), ("x0[5:]", ()),
        ("x0[x1]", (i,)), ("x0[x1, 1]", (i,)), ("x0[x1, :, 0]", (i,)), ("x0[:, x1 % 3]", (i,)), ("x0[x1, x1 % 3]", (i,)), ("x0[x1, None]", (i,)), ("x0[2, x1 % 3, ..., 1]", (i,)),
        ("np.sum(x0[x1])", (mask,)), ("x0[x1][0]", (2,)), ("x0[x1, 1, 1]", (-3,)), ("x0[x1]", (draw.pick(0, 3, -4, *(() if draw.smooth else (4, -5))),)))
    return Call(text, (x, *more))


def _assigned(draw: Draw) -> Call:
    """What an assignment to a subscript makes: as a function, for a call is an expression."""
    return Call(draw.pick("assigned(x0, x1)", "added(x0, x1)"), (draw.within((4, 3), *WIDE), draw.within((3,), *WIDE)))


def _method(*texts: str) -> Maker:
    return lambda draw: Call(draw.pick(*texts), (draw.array((2, 3)),))


MATH: dict[Any, tuple[Range, ...]] = {
    math.acos: ((-0.9, 0.9),), math.acosh: ((1.2, 3),), math.asin: ((-0.9, 0.9),), math.asinh: (WIDE,), math.atan: (WIDE,), math.atan2: ((0.3, 2), WIDE),
    math.atanh: ((-0.9, 0.9),), math.cbrt: ((0.2, 3),), math.ceil: (WIDE,), math.copysign: ((0.3, 2), (0.3, 2)), math.cos: (WIDE,), math.cosh: (WIDE,),
    math.degrees: (WIDE,), math.erf: (WIDE,), math.erfc: (WIDE,), math.exp: (WIDE,), math.exp2: (WIDE,), math.expm1: (WIDE,), math.fabs: ((0.3, 2),),
    math.floor: (WIDE,), math.fmod: ((2.1, 2.9), (0.8, 0.95)), math.gamma: ((0.3, 4),), math.hypot: (WIDE, WIDE), math.isclose: (WIDE, WIDE), math.isfinite: (WIDE,),
    math.isinf: (WIDE,), math.isnan: (WIDE,), math.lgamma: ((0.3, 4),), math.log: ((0.3, 4),), math.log10: ((0.3, 4),), math.log1p: ((-0.8, 3),),
    math.log2: ((0.3, 4),), math.pow: ((0.3, 2), WIDE), math.radians: (WIDE,), math.sin: (WIDE,), math.sinh: (WIDE,), math.sqrt: ((0.3, 4),), math.tan: ((-1.2, 1.2),),
    math.tanh: (WIDE,), math.trunc: (WIDE,)}
MORE: dict[Any, Maker] = {
    f: _scalars(f"math.{f.__name__}({', '.join(f'x{i}' for i in range(len(ranges)))})", *ranges) for f, ranges in MATH.items()} | {
    math.dist: _scalars("math.dist((x0, x1), (x1, 0.5))", WIDE, WIDE), math.prod: _scalars("math.prod([x0, x1, 0.5])", WIDE, WIDE)}
MORE |= {
    operator.add: _arrays("x0 + x1", 2), operator.sub: _arrays("x0 - x1", 2), operator.mul: _arrays("x0 * x1", 2), operator.truediv: _arrays("x0 / x1", 2, low=0.4),
    operator.floordiv: _remainder("x0 // x1"), operator.mod: _remainder("x0 % x1"), operator.pow: _arrays("x0 ** x1", 2, low=0.4, high=2.0),
    operator.matmul: lambda d: Call("x0 @ x1", (d.array((2, 3)), d.array((3, 2)))), operator.neg: _arrays("-x0", 1, "float64", "float32", "int64", "int32"),
    operator.pos: _arrays("+x0", 1, "float64", "float32", "int64", "int32"), operator.invert: _arrays("~x0", 1, "int64", "int32"),
    operator.and_: _arrays("x0 & x1", 2, "int64", "int32", "bool"), operator.or_: _arrays("x0 | x1", 2, "int64", "int32", "bool"), operator.xor: _arrays("x0 ^ x1", 2, "int64", "int32", "bool"),
    operator.lshift: _shift("x0 << x1"), operator.rshift: _shift("x0 >> x1"), operator.lt: _arrays("x0 < x1", 2), operator.le: _arrays("x0 <= x1", 2), operator.gt: _arrays("x0 > x1", 2),
    operator.ge: _arrays("x0 >= x1", 2), operator.eq: _arrays("x0 == x1", 2), operator.ne: _arrays("x0 != x1", 2), operator.not_: _numbers("not x0", count=1),
    operator.truth: _numbers("bool(x0)", count=1), operator.contains: _numbers("x0 in (x1, 2, x0)", "x0 in (x1, 5)", count=2), operator.is_: _numbers("x0 is None", count=1),
    operator.is_not: _numbers("x0 is not None", count=1), operator.itemgetter: _numbers("operator.itemgetter(1)((x0, x1, x2))", "operator.itemgetter(0, -1)([x0, x1, x2])"),
    abs: _arrays("abs(x0)", 1, "float64", "float32", "int64", "int32"), divmod: _remainder("divmod(x0, x1)"), pow: _arrays("pow(x0, x1)", 2, low=0.4, high=2.0),
    max: _numbers("max(x0, x1, x2)", "max([x0, x1, x2])", "max(x0, x1, key=lambda v: -v)"), min: _numbers("min(x0, x1, x2)", "min([x0, x1], default=x2)"),
    sum: _numbers("sum([x0, x1, x2])", "sum((x0, x1), x2)", "sum(v * v for v in [x0, x1])"), round: _numbers("round(x0)", "round(x0, 1)", count=1),
    float: _numbers("float(x0)", count=1), int: _numbers("int(x0)", count=1), bool: _numbers("bool(x0)", count=1), len: _numbers("len([x0, x1])", "len((x0,))"),
    any: _numbers("any([x0 > 0, x1 > 0])", "any(v > 1 for v in (x0, x1, x2))"), all: _numbers("all([x0 > 0, x1 > 0])"), sorted: _numbers("sorted([x0, x1, x2])", "sorted((x0, x1, x2), reverse=True)"),
    reversed: _numbers("list(reversed([x0, x1, x2]))"), enumerate: _numbers("sum(i * v for i, v in enumerate([x0, x1, x2]))"), zip: _numbers("sum(a * b for a, b in zip([x0, x1], [x1, x2]))"),
    range: _numbers("sum(x0 * i for i in range(1, 6, 2))", "sum(x0 * i for i in range(5, 0, -2))"), list: _numbers("list((x0, x1))"), tuple: _numbers("tuple([x0, x1])"),
    dict: _numbers("dict(a=x0, b=x1)['b']", "(dict(a=x0) | {'c': x2})['c']"), functools.reduce: _numbers("functools.reduce(lambda a, b: a * b, [x0, x1, x2])", "functools.reduce(lambda a, b: a - b, (x0, x1), x2)"),
    functools.partial: _numbers("functools.partial(lambda a, b, c: a * b - c, x0, c=x1)(x2)"),
    itertools.accumulate: _numbers("list(itertools.accumulate([x0, x1, x2]))", "list(itertools.accumulate([x0, x1, x2], lambda a, b: a * b))"), itertools.chain: _numbers("list(itertools.chain([x0], (x1, x2)))"),
    itertools.combinations: _numbers("sum(a * b for a, b in itertools.combinations([x0, x1, x2], 2))"), itertools.pairwise: _numbers("sum(a * b for a, b in itertools.pairwise([x0, x1, x2]))"),
    itertools.product: _numbers("sum(a * b for a, b in itertools.product([x0, x1], (x1, x2)))"), itertools.starmap: _numbers("sum(itertools.starmap(lambda a, b: a * b, [(x0, x1), (x1, x2)]))"),
}
MORE |= {
    nn.relu: _arrays("nn.relu(x0)", 1, "float64", "float32"), nn.sigmoid: _arrays("nn.sigmoid(x0)", 1, "float64", "float32"), nn.softplus: _arrays("nn.softplus(x0)", 1, "float64", "float32"),
    nn.gelu: _arrays("nn.gelu(x0)", 1, "float64", "float32"), nn.softmax: _along("nn.softmax"), nn.log_softmax: _along("nn.log_softmax"), nn.cross_entropy: _labels("nn.cross_entropy(x0, x1)"),
    nn.mse: _of_shapes("nn.mse(x0, x1)", (3, 2), (3, 2)), nn.linear: _of_shapes("nn.linear(x0, x1, x2)", (4, 3), (2, 3), (2,)), nn.layer_norm: _of_shapes("nn.layer_norm(x0, x1, x2)", (3, 4), (4,), (4,)),
    nn.embedding: _labels("nn.embedding(x0, x1)"), nn.conv2d: _conv, nn.conv_transpose2d: _conv_transpose,
    nn.lstm_cell: _of_shapes("nn.lstm_cell(x0, (x1, x2), x3, x4, x5, x6)", (2, 3), (2, 2), (2, 2), (8, 3), (8, 2), (8,), (8,)),
    nn.max_pool2d: _of_shapes("nn.max_pool2d(x0, 2, stride=1)", (1, 2, 4, 3)), nn.avg_pool2d: _of_shapes("nn.avg_pool2d(x0, (2, 1))", (1, 2, 4, 3)),
    random.normal: _scalars("random.normal(random.key(7), (3,), x0, x1)", WIDE, (0.5, 2)), random.uniform: _scalars("random.uniform(random.key(7), 2, x0, x1)", (0.1, 0.4), (1, 2)),
    random.exponential: _scalars("random.exponential(random.key(3), (), x0)", (0.5, 2)),
    random.permutation: lambda d: Call("random.permutation(random.key(5), x0)", (d.array((4, 2)),)), random.choice: lambda d: Call("random.choice(random.key(5), x0, (3,))", (d.array((4, 2)),)),
}
SYNTAX: dict[str, Maker] = {
    "subscripts": _subscript, "assigned subscripts": _assigned,
    "methods": _method("x0.T @ x0", "x0.flatten()", "x0.ravel()", "x0.transpose()", "x0.transpose(1, 0)", "x0.swapaxes(0, 1)", "x0.squeeze()", "x0.dot(x0.T)", "x0.clip(-1, 1)", "x0.copy()",
                       "x0.sum()", "x0.mean(axis=1)", "x0.repeat(2, axis=1)", "x0.astype(float)", "x0.reshape(-1)", "x0.cumsum()", "x0.trace()", "x0.diagonal()", "x0.argmax()", "x0.round()")}


def assigned(x: Any, v: Any) -> Any:
    a = x * 1.0
    a[1] = v * v
    a[::2, 1] = v[:2] * a[1, 0]
    return a


def added(x: Any, v: Any) -> Any:
    a = x * 1.0
    a[1] += v * a[0]
    a[-1, 0] *= v[1]
    return a


NO_CALLS = {  # operations without calls of their own here, and why
    "print": "no value", "isinstance": "of types", "getattr": "of records", "hasattr": "of records", "attrgetter": "of records", "asdict": "of records", "astuple": "of records", "replace": "of records",
    "random.key": "an int", "random.bits": "ints, in test_random", "random.bernoulli": "a step, in test_random", "random.fold_in": "ints", "random.integers": "ints", "random.split": "ints",
    "np.bool_": "a cast", "np.float32": "a cast", "np.float64": "a cast", "np.int32": "a cast", "np.int64": "a cast"}
