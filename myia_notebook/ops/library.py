"""NumPy's and math's names, as operations over the primitives."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.infer.values import DTYPES
from myia_notebook.ir.types import BOOL, FLOAT, INT, INT_DTYPES, Array, Scalar, Tuple, Type, is_float
from myia_notebook.ops.expression import Builder, Expr, apply
from myia_notebook.ops.masked import is_masked, reduced, under_mask
from myia_notebook.ops.masked import mean as mean_selected
from myia_notebook.ops.operation import Expand, Operation
from myia_notebook.ops.operators import Keywords, convert, known, require_static, static_value, takes, truth_of, tuple_items
from myia_notebook.ops.primitive import UNKNOWN
from myia_notebook.ops.promotion import promote, scalar_of, with_shape


def as_array(x: Expr) -> Expr:
    """A tuple (or list display) of numbers becomes an array, as NumPy does; numbers and arrays stay."""
    if not isinstance(x.type, Tuple) or is_masked(x.type):
        return x
    leaves, shape = _flatten(x)
    if all(leaf.value is not UNKNOWN for leaf in leaves):
        value = np.array([leaf.value for leaf in leaves]).reshape(shape)
        return known(x.builder, value if leaves else value.astype(np.float64))
    ones = [apply("reshape", leaf, static=[(1,)]) for leaf in leaves]
    joined = _concatenate(x.builder, 0, ones)
    return apply("reshape", joined, static=[shape])


def _flatten(x: Expr) -> tuple[list[Expr], tuple[int, ...]]:
    if not isinstance(x.type, Tuple):
        if not isinstance(x.type, Scalar):
            raise error("M301", operation="np.array", types=str(x.type), hint="give nested tuples or lists of numbers")
        return [x], ()
    parts = [_flatten(item) for item in tuple_items(x)]
    shapes = {shape for _, shape in parts}
    if len(shapes) > 1:
        raise error("M402", message="the rows of this array have different lengths")
    return [leaf for leaves, _ in parts for leaf in leaves], (len(parts), *(next(iter(shapes)) if shapes else ()))


def _concatenate(builder: Builder, axis: int, parts: list[Expr]) -> Expr:
    from myia_notebook.ops.table import PRIMITIVES
    return builder.expr(builder.apply(PRIMITIVES["concatenate"], builder.constant(axis), *(p.node for p in parts)))


def shape_of(x: Expr) -> tuple[int, ...]:
    return x.type.shape if isinstance(x.type, Array) else ()


def strong(x: Expr) -> Expr:
    """NumPy's functions give NumPy's types: a Python number becomes a NumPy scalar of its dtype."""
    return convert(x, Scalar(x.type.dtype)) if isinstance(x.type, Scalar) and x.type.weak else x


def elementwise(name: str, primitive: str, count: int = 1) -> Expand:
    """np.sin and the like: NumPy's types in and out."""

    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        takes(name, arguments, keywords, count)
        operands = [as_array(a) for a in arguments]
        if any(is_masked(o.type) for o in operands):
            return under_mask(name, lambda *xs: strong(apply(primitive, *xs)), operands)
        for o in operands:
            if not isinstance(o.type, (Scalar, Array)):
                raise error("M301", operation=name, types=" and ".join(str(a.type) for a in operands))
        return strong(apply(primitive, *operands))
    return expand


def axes_of(x: Expr, axis: Expr | None, name: str) -> tuple[int, ...]:
    """The normalized axes of a reduction."""
    rank = len(shape_of(x))
    value = None if axis is None else require_static(axis, f"the axis of {name}")
    if value is None:
        return tuple(range(rank))
    axes = value if isinstance(value, tuple) else (value,)
    for a in axes:
        if not isinstance(a, int) or not -rank <= a < rank:
            raise error("M402", message=f"axis {a} is out of bounds for an array with {rank} axes")
    normal = tuple(sorted(a % rank for a in axes))
    if len(set(normal)) != len(normal):
        raise error("M402", message="duplicate value in 'axis'")
    return normal


def _bind(name: str, parameters: tuple[str, ...], arguments: list[Expr], keywords: Keywords) -> dict[str, Expr]:
    """Positional and keyword arguments by name."""
    if len(arguments) > len(parameters):
        raise error("M501", signature=f"{name}()", problem=f"takes {len(parameters)} arguments, got {len(arguments)}")
    bound = dict(zip(parameters, arguments))
    for key, value in keywords.items():
        if key not in parameters:
            raise error("M501", signature=f"{name}()", problem=f"got an unexpected keyword argument '{key}'")
        if key in bound:
            raise error("M501", signature=f"{name}()", problem=f"got several values for '{key}'")
        bound[key] = value
    if parameters and parameters[0] not in bound:
        raise error("M501", signature=f"{name}()", problem=f"is missing '{parameters[0]}'")
    return bound


def reduction(name: str, primitive: str) -> Expand:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = _bind(name, ("a", "axis", "keepdims"), arguments, keywords)
        x = as_array(bound["a"])
        keep = "keepdims" in bound and bool(require_static(bound["keepdims"], "keepdims"))
        return _reduce(name, primitive, x, bound.get("axis"), keep)
    return expand


def _reduce(name: str, primitive: str, x: Expr, axis: Expr | None, keep: bool) -> Expr:
    if is_masked(x.type) and axis is None and not keep:
        return reduced(primitive, x, name)
    if isinstance(x.type, Scalar):
        return truth_of(x) if primitive in ("reduce_all", "reduce_any") else strong(x)
    if not isinstance(x.type, Array):
        raise error("M301", operation=name, types=str(x.type))
    return apply(primitive, x, static=[axes_of(x, axis, name), keep])


def _count(x: Expr, axes: tuple[int, ...]) -> float:
    return float(math.prod(shape_of(x)[i] for i in axes))


def _mean(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.mean", ("a", "axis", "keepdims"), arguments, keywords)
    x = as_array(bound["a"])
    keep = "keepdims" in bound and bool(require_static(bound["keepdims"], "keepdims"))
    if is_masked(x.type) and "axis" not in bound and not keep:
        return mean_selected(x)
    if isinstance(x.type, Scalar):
        return strong(x / 1.0)
    return _reduce("np.mean", "reduce_sum", x, bound.get("axis"), keep) / _count(x, axes_of(x, bound.get("axis"), "np.mean"))


def _variance(root: bool) -> Expand:
    name = "np.std" if root else "np.var"

    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = _bind(name, ("a", "axis", "keepdims", "ddof"), arguments, keywords)
        x = as_array(bound["a"])
        axes = axes_of(x, bound.get("axis"), name)
        keep = "keepdims" in bound and bool(require_static(bound["keepdims"], "keepdims"))
        ddof = require_static(bound["ddof"], "ddof") if "ddof" in bound else 0
        mean = apply("reduce_sum", x, static=[axes, True]) / _count(x, axes)
        centered = x - mean
        result = apply("reduce_sum", centered * centered, static=[axes, keep]) / (_count(x, axes) - ddof)
        return apply("sqrt", result) if root else result
    return expand


def _arg(name: str, primitive: str) -> Expand:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = _bind(name, ("a", "axis"), arguments, keywords)
        x = as_array(bound["a"])
        if not isinstance(x.type, Array):
            raise error("M301", operation=name, types=str(x.type))
        if "axis" not in bound:
            return apply(primitive, apply("reshape", x, static=[(math.prod(x.type.shape),)]), static=[0])
        return apply(primitive, x, static=[axes_of(x, bound["axis"], name)[0]])
    return expand


# -- products

def _outer(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.outer", arguments, keywords, 2)
    x, y = (_ravel_one(as_array(a)) for a in arguments)
    return apply("reshape", x, static=[(shape_of(x)[0], 1)]) * apply("reshape", y, static=[(1, shape_of(y)[0])])


def _ravel_one(x: Expr) -> Expr:
    return apply("reshape", x, static=[(math.prod(shape_of(x)),)])


def _vdot(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.vdot", arguments, keywords, 2)
    return apply("matmul", *(_ravel_one(as_array(a)) for a in arguments))


def _norm(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.linalg.norm", ("x", "axis"), arguments, keywords)
    x = as_array(bound["x"])
    return apply("sqrt", apply("reduce_sum", x * x, static=[axes_of(x, bound.get("axis"), "np.linalg.norm"), False]))


# -- shapes

def _reshape(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x, *rest = arguments
    wanted = require_static(rest[0], "the new shape") if len(rest) == 1 else tuple(require_static(r, "the new shape") for r in rest)
    shape = wanted if isinstance(wanted, tuple) else (wanted,)
    x = as_array(x)
    size = math.prod(shape_of(x))
    if shape.count(-1) == 1:
        others = -math.prod(shape)
        if others == 0 or size % others:
            raise error("M402", message=f"cannot reshape an array of shape {shape_of(x)} (size {size}) into {shape}")
        shape = tuple(size // others if n == -1 else n for n in shape)
    return apply("reshape", x, static=[shape])


def _transpose(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x, *rest = arguments
    x = as_array(x)
    rank = len(shape_of(x))
    axes = tuple(reversed(range(rank)))
    if rest or "axes" in keywords:
        given = [keywords["axes"]] if "axes" in keywords else rest
        value = require_static(given[0], "the axes") if len(given) == 1 else tuple(require_static(g, "the axes") for g in given)
        axes = tuple(range(rank))[::-1] if value is None else tuple(a % rank for a in value)
    if sorted(axes) != list(range(rank)):
        raise error("M402", message=f"axes {axes} do not match an array with {rank} axes")
    return apply("transpose", x, static=[axes]) if rank > 1 else x


def _swap(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.swapaxes", arguments, keywords, 3)
    x = as_array(arguments[0])
    rank = len(shape_of(x))
    i, j = (require_static(a, "an axis") % rank for a in arguments[1:])
    order = list(range(rank))
    order[i], order[j] = order[j], order[i]
    return apply("transpose", x, static=[tuple(order)])


def _ravel(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.ravel", arguments, keywords, 1)
    return _ravel_one(as_array(arguments[0]))


def _expand_dims(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.expand_dims", ("a", "axis"), arguments, keywords)
    x = as_array(bound["a"])
    rank = len(shape_of(x)) + 1
    axis = require_static(bound["axis"], "the axis") % rank
    return apply("reshape", x, static=[(*shape_of(x)[:axis], 1, *shape_of(x)[axis:])])


def _squeeze(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.squeeze", ("a", "axis"), arguments, keywords)
    x = as_array(bound["a"])
    axes = axes_of(x, bound["axis"], "np.squeeze") if "axis" in bound else tuple(i for i, n in enumerate(shape_of(x)) if n == 1)
    if any(shape_of(x)[i] != 1 for i in axes):
        raise error("M402", message="cannot squeeze an axis whose size is not 1")
    return apply("reshape", x, static=[tuple(n for i, n in enumerate(shape_of(x)) if i not in axes)])


def _broadcast(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.broadcast_to", arguments, keywords, 2)
    return apply("broadcast_to", as_array(arguments[0]), static=[require_static(arguments[1], "the shape")])


def _join(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.concatenate", ("arrays", "axis"), arguments, keywords)
    parts = [as_array(p) for p in tuple_items(bound["arrays"])]
    axis = require_static(bound["axis"], "the axis") if "axis" in bound else 0
    return _concatenate(builder, axis % max(len(shape_of(parts[0])), 1), parts)


def _stack(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.stack", ("arrays", "axis"), arguments, keywords)
    parts = [as_array(p) for p in tuple_items(bound["arrays"])]
    axis = (require_static(bound["axis"], "the axis") if "axis" in bound else 0) % (len(shape_of(parts[0])) + 1)
    return _concatenate(builder, axis, [apply("reshape", p, static=[(*shape_of(p)[:axis], 1, *shape_of(p)[axis:])]) for p in parts])


# -- making arrays

def dtype_of(x: Expr | None, default: str) -> str:
    if x is None:
        return default
    value = require_static(x, "the dtype")
    name = {float: "float64", int: "int64", bool: "bool"}.get(value) or np.dtype(value).name
    if name not in DTYPES:
        raise error("M305", type=f"the dtype {name}", hint=f"use one of {', '.join(DTYPES)}")
    return name


def _filled(name: str, value: float) -> Expand:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = _bind(name, ("shape", "dtype"), arguments, keywords)
        shape = require_static(bound["shape"], "the shape")
        scalar = np.dtype(dtype_of(bound.get("dtype"), "float64")).type(value)
        return apply("broadcast_to", known(builder, scalar), static=[shape if isinstance(shape, tuple) else (shape,)])
    return expand


def _filled_like(name: str, value: float) -> Expand:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = _bind(name, ("a", "dtype"), arguments, keywords)
        x = as_array(bound["a"])
        assert isinstance(x.type, (Array, Scalar))
        scalar = known(builder, np.dtype(dtype_of(bound.get("dtype"), x.type.dtype)).type(value))
        return apply("broadcast_to", scalar, static=[shape_of(x)]) if shape_of(x) else scalar
    return expand


def _full(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.full", ("shape", "fill_value", "dtype"), arguments, keywords)
    shape, value = require_static(bound["shape"], "the shape"), strong(bound["fill_value"])
    if "dtype" in bound:
        value = convert(value, Scalar(dtype_of(bound["dtype"], "float64")))
    return apply("broadcast_to", value, static=[shape if isinstance(shape, tuple) else (shape,)])


def _constant(name: str, function: Any) -> Expand:
    """An array made of arguments known before running."""

    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        values = [require_static(a, f"an argument of {name}") for a in arguments]
        named = {k: require_static(v, f"an argument of {name}") for k, v in keywords.items()}
        try:
            return known(builder, function(*values, **named))
        except (TypeError, ValueError) as problem:
            raise error("M308", message=f"{name}: {problem}") from None
    return expand


def _linspace(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """start + i (stop − start) / (n − 1), the last one being stop itself; n must be known, the ends need not be."""
    bound = _bind("np.linspace", ("start", "stop", "num", "endpoint"), arguments, keywords)
    count = require_static(bound["num"], "the number of points of np.linspace") if "num" in bound else 50
    if type(count) is not int or count < 0:
        raise error("M308", message=f"np.linspace: the number of points is an int that is not negative, got {count!r}")
    reaches = "endpoint" not in bound or bool(require_static(bound["endpoint"], "endpoint"))
    start, stop = (x if is_float(x.type) else convert(x, with_shape(Scalar("float64"), shape_of(x))) for x in (strong(bound["start"]), strong(bound["stop"])))
    rank = max(len(shape_of(start)), len(shape_of(stop)))
    steps = known(builder, np.arange(count, dtype=np.float64).reshape(count, *(1,) * rank))
    dtype = promote([scalar_of(start.type), scalar_of(stop.type)]).dtype
    points = start + convert(steps, Array(dtype, (count, *(1,) * rank))) * ((stop - start) / max(count - reaches, 1))
    if reaches and count > 1:
        points = apply("where", known(builder, (np.arange(count) == count - 1).reshape(count, *(1,) * rank)), stop, points)
    return points


def _array(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.array", ("object", "dtype"), arguments, keywords)
    x = as_array(bound["object"])
    return _astype(builder, [x, bound["dtype"]], {}) if "dtype" in bound else strong(x)


def _astype(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("astype", arguments, keywords, 2)
    x = arguments[0]
    dtype = dtype_of(arguments[1], "float64")
    return convert(x, Array(dtype, shape_of(x)) if shape_of(x) else (BOOL if dtype == "bool" else Scalar(dtype)))


def _item(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("item", arguments, keywords, 1)
    x = arguments[0]
    if math.prod(shape_of(x)) != 1:
        raise error("M402", message=f"only an array of size 1 can become a Python number, not {x.type}")
    x = apply("reshape", x, static=[()]) if shape_of(x) else x
    dtype = x.type.dtype  # type: ignore[union-attr]
    return convert(x, BOOL if dtype == "bool" else INT if dtype in INT_DTYPES else FLOAT)


def _where(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.where", arguments, keywords, 3)
    c, x, y = map(as_array, arguments)
    if isinstance(c.type, (Scalar, Array)) and c.type.dtype != "bool":
        c = apply("not_equal", c, 0)
    return strong(apply("where", c, x, y))


def _clip(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.clip", ("a", "a_min", "a_max"), arguments, keywords)
    x = as_array(bound["a"])
    for name, primitive in (("a_min", "maximum"), ("a_max", "minimum")):
        if name in bound and static_value(bound[name]) is not None:
            x = apply(primitive, x, bound[name])
    return strong(x)


def _square(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.square", arguments, keywords, 1)
    return strong(as_array(arguments[0]) * as_array(arguments[0]))


def _reciprocal(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.reciprocal", arguments, keywords, 1)
    return strong(1.0 / as_array(arguments[0]))


def _identity(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    return as_array(arguments[0])


# -- math: Python floats in and out, Python's exceptions

def mathematical(name: str, primitive: str, count: int = 1, result: Type = FLOAT) -> Expand:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        takes(name, arguments, keywords, count)
        operands: list[Expr] = []
        for a in arguments:
            if isinstance(a.type, Array) and math.prod(a.type.shape) == 1:
                a = apply("reshape", a, static=[()])
            if not isinstance(a.type, Scalar):
                raise error("M301", operation=name, types=str(a.type), hint=f"use np.{name.split('.')[1]} on arrays")
            operands.append(convert(a, FLOAT))
        return convert(apply(primitive, *operands), result)
    return expand


def _math_log(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("math.log", arguments, keywords, 1, 2)
    logs = [mathematical("math.log", "math_log")(builder, [a], {}) for a in arguments]
    return logs[0] if len(logs) == 1 else apply("python_divide", *logs)


def _math_fabs(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    return mathematical("math.fabs", "absolute")(builder, arguments, keywords)


_ELEMENTWISE = ("negative absolute sign sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh "
                "arccosh arctanh floor ceil trunc rint isnan isinf isfinite logical_not invert").split()
_ELEMENTWISE_2 = ("add subtract multiply divide floor_divide mod power arctan2 hypot maximum minimum less less_equal greater greater_equal equal "
                  "not_equal logical_and logical_or bitwise_and bitwise_or bitwise_xor left_shift right_shift matmul").split()
_MATH = {"exp": "math_exp", "expm1": "expm1", "sin": "sin", "cos": "cos", "tan": "tan", "sqrt": "math_sqrt", "log2": "math_log2", "log10": "math_log10",
         "log1p": "math_log1p", "asin": "math_asin", "acos": "math_acos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
         "asinh": "arcsinh", "acosh": "math_acosh", "atanh": "math_atanh", "erf": "erf", "lgamma": "lgamma", "cbrt": "cbrt", "exp2": "exp2"}

LIBRARY: dict[Any, Operation] = {
    **{getattr(np, n): Operation(f"np.{n}", elementwise(f"np.{n}", n), n) for n in _ELEMENTWISE},
    **{getattr(np, n): Operation(f"np.{n}", elementwise(f"np.{n}", n, 2), n) for n in _ELEMENTWISE_2},
    **{getattr(math, n): Operation(f"math.{n}", mathematical(f"math.{n}", p), n) for n, p in _MATH.items() if hasattr(math, n)},
    math.log: Operation("math.log", _math_log, "log"), math.fabs: Operation("math.fabs", _math_fabs, "abs"),
    math.atan2: Operation("math.atan2", mathematical("math.atan2", "arctan2", 2), "atan2"),
    math.hypot: Operation("math.hypot", mathematical("math.hypot", "hypot", 2), "hypot"),
    math.pow: Operation("math.pow", mathematical("math.pow", "python_power", 2), "^"),
    math.floor: Operation("math.floor", mathematical("math.floor", "floor", 1, INT), "floor"),
    math.ceil: Operation("math.ceil", mathematical("math.ceil", "ceil", 1, INT), "ceil"),
    math.trunc: Operation("math.trunc", mathematical("math.trunc", "trunc", 1, INT), "trunc"),
    math.isnan: Operation("math.isnan", mathematical("math.isnan", "isnan", 1, BOOL), "isnan"),
    math.isinf: Operation("math.isinf", mathematical("math.isinf", "isinf", 1, BOOL), "isinf"),
    math.isfinite: Operation("math.isfinite", mathematical("math.isfinite", "isfinite", 1, BOOL), "isfinite"),
    np.sum: Operation("np.sum", reduction("np.sum", "reduce_sum"), "sum"),
    np.max: Operation("np.max", reduction("np.max", "reduce_max"), "max"), np.min: Operation("np.min", reduction("np.min", "reduce_min"), "min"),
    np.all: Operation("np.all", reduction("np.all", "reduce_all"), "all"), np.any: Operation("np.any", reduction("np.any", "reduce_any"), "any"),
    np.mean: Operation("np.mean", _mean, "mean"), np.var: Operation("np.var", _variance(False), "var"), np.std: Operation("np.std", _variance(True), "std"),
    np.argmax: Operation("np.argmax", _arg("np.argmax", "argmax"), "argmax"), np.argmin: Operation("np.argmin", _arg("np.argmin", "argmin"), "argmin"),
    np.outer: Operation("np.outer", _outer, "⊗"), np.vdot: Operation("np.vdot", _vdot, "·"),
    np.linalg.norm: Operation("np.linalg.norm", _norm, "norm"),
    np.reshape: Operation("np.reshape", _reshape, "reshape"), np.transpose: Operation("np.transpose", _transpose, "T"),
    np.swapaxes: Operation("np.swapaxes", _swap, "swapaxes"), np.ravel: Operation("np.ravel", _ravel, "ravel"),
    np.expand_dims: Operation("np.expand_dims", _expand_dims, "expand"), np.squeeze: Operation("np.squeeze", _squeeze, "squeeze"),
    np.broadcast_to: Operation("np.broadcast_to", _broadcast, "broadcast"), np.concatenate: Operation("np.concatenate", _join, "concatenate"),
    np.stack: Operation("np.stack", _stack, "stack"),
    np.zeros: Operation("np.zeros", _filled("np.zeros", 0.0), "zeros"), np.ones: Operation("np.ones", _filled("np.ones", 1.0), "ones"),
    np.zeros_like: Operation("np.zeros_like", _filled_like("np.zeros_like", 0.0), "zeros"),
    np.ones_like: Operation("np.ones_like", _filled_like("np.ones_like", 1.0), "ones"), np.full: Operation("np.full", _full, "full"),
    np.arange: Operation("np.arange", _constant("np.arange", np.arange), "arange"),
    np.linspace: Operation("np.linspace", _linspace, "linspace"),
    np.eye: Operation("np.eye", _constant("np.eye", np.eye), "eye"),
    np.array: Operation("np.array", _array, "array"), np.asarray: Operation("np.asarray", _array, "array"),
    np.where: Operation("np.where", _where, "where"), np.clip: Operation("np.clip", _clip, "clip"), np.square: Operation("np.square", _square, "square"),
    np.reciprocal: Operation("np.reciprocal", _reciprocal, "1/"),
}

_METHODS = frozenset(("sum prod max min all any mean var std argmax argmin dot reshape transpose swapaxes ravel squeeze clip trace "
                      "cumsum cumprod repeat take diagonal round sort argsort ptp").split())
_OWN_METHODS: dict[str, Operation] = {
    "flatten": LIBRARY[np.ravel], "astype": Operation("astype", _astype, "astype"), "item": Operation("item", _item, "item"),
    "copy": Operation("copy", _identity, "copy"),
}


def method(name: str) -> Operation | None:
    """The operation that a method of arrays stands for: its first argument is the array."""
    from myia_notebook.ops.table import OPERATIONS
    return OPERATIONS[getattr(np, name)] if name in _METHODS else _OWN_METHODS.get(name)


__all__ = ["LIBRARY", "method"]
