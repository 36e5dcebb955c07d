"""NumPy's and math's names, as operations over the primitives."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.infer.values import DTYPES
from myia_notebook.ir.extent import Extent
from myia_notebook.ir.types import BOOL, FLOAT, FLOAT_DTYPES, INT, INT_DTYPES, Array, Scalar, Type
from myia_notebook.ops.arguments import (
    as_array,
    axes_of,
    bind,
    concatenated,
    constant_of,
    dtype_name,
    dtype_of,
    elementwise,
    floating,
    needed,
    numeric,
    of_dtype,
    one_axis,
    option,
    raveled,
    require_number,
    shape_of,
    spread,
    strong,
)
from myia_notebook.ops.expression import Builder, Expr, apply
from myia_notebook.ops.masked import is_masked, under_mask
from myia_notebook.ops.operation import Expand, Operation
from myia_notebook.ops.operators import Keywords, convert, known, make, require_static, sequence_items, static_value, takes
from myia_notebook.ops.promotion import promote, scalar_of

# -- products

def _outer(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.outer", arguments, keywords, 2)
    x, y = (raveled(as_array(a)) for a in arguments)
    return numeric("np.outer", "multiply", apply("reshape", x, static=[(shape_of(x)[0], 1)]), apply("reshape", y, static=[(1, shape_of(y)[0])]))


def _vdot(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.vdot", arguments, keywords, 2)
    return apply("matmul", *(raveled(as_array(a)) for a in arguments))


# -- shapes

def _shape_argument(given: list[Expr], what: str) -> tuple[int, ...]:
    """A tuple, or ints one by one."""
    values = require_static(given[0], what) if len(given) == 1 else tuple(require_static(g, what) for g in given)
    shape = tuple(values) if isinstance(values, (tuple, list)) else (values,)
    if not all(isinstance(n, (int, Extent)) and not isinstance(n, bool) for n in shape):
        raise error("M301", operation=what, types=repr(values), hint="sizes and axes are ints")
    return shape


def _sizes(given: list[Expr]) -> tuple[int, ...]:
    """The shape of an array to be made: no size is negative."""
    shape = _shape_argument(given, "the shape")
    if any(n < 0 for n in shape):
        raise error("M402", message=f"negative dimensions are not allowed: {shape}")
    return shape


def _reshape(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """np.reshape(x, shape) and x.reshape(*shape)"""
    if set(keywords) - {"shape"} or not arguments:
        bind("np.reshape", ("a", "shape"), arguments, keywords)
    x, *rest = [*arguments, *keywords.values()]
    if not rest:
        raise error("M501", signature="np.reshape()", problem="is missing 'shape'")
    shape = _shape_argument(rest, "the new shape")
    x = as_array(x)
    require_number("np.reshape", x)
    size = math.prod(shape_of(x))
    if shape.count(-1) == 1:
        others = -math.prod(shape)
        if others == 0 or size % others:
            raise error("M402", message=f"cannot reshape an array of shape {shape_of(x)} (size {size}) into {shape}")
        shape = tuple(size // others if n == -1 else n for n in shape)
    if any(n < 0 for n in shape):
        raise error("M402", message=f"cannot reshape an array of shape {shape_of(x)} into {shape}: only one size can be -1")
    return apply("reshape", strong(x), static=[shape])


def _transpose(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    if set(keywords) - {"axes"}:
        bind("np.transpose", ("a", "axes"), arguments, keywords)
    x, *rest = [*arguments, *keywords.values()]
    x = as_array(x)
    require_number("np.transpose", x)
    rank = len(shape_of(x))
    axes = tuple(reversed(range(rank)))
    if rest and static_value(rest[0]) is not None:
        axes = tuple(one_axis(x, a) for a in _shape_argument(rest, "the axes"))
    if sorted(axes) != list(range(rank)):
        raise error("M402", message=f"axes {axes} do not match an array with {rank} axes")
    return apply("transpose", x, static=[axes]) if rank > 1 else strong(x)


def _swap(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.swapaxes", ("a", "axis1", "axis2"), arguments, keywords)
    x = as_array(bound["a"])
    i, j = (one_axis(x, require_static(a, "an axis")) for a in needed("np.swapaxes", bound, "axis1", "axis2"))
    order = list(range(len(shape_of(x))))
    order[i], order[j] = order[j], order[i]
    return apply("transpose", x, static=[tuple(order)])


def _ravel(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.ravel", ("a",), arguments, keywords)
    x = as_array(bound["a"])
    require_number("np.ravel", x)
    return raveled(x)


def _expand_dims(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.expand_dims", ("a", "axis"), arguments, keywords)
    x = as_array(bound["a"])
    require_number("np.expand_dims", x)
    given = _shape_argument(needed("np.expand_dims", bound, "axis"), "the axis")
    new = sorted(one_axis(x, a, len(given)) for a in given)
    if len(set(new)) != len(new):
        raise error("M402", message="repeated axis")
    shape = list(shape_of(x))
    for axis in new:
        shape.insert(axis, 1)
    return apply("reshape", x, static=[tuple(shape)])


def _squeeze(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.squeeze", ("a", "axis"), arguments, keywords)
    x = as_array(bound["a"])
    require_number("np.squeeze", x)
    is_given = "axis" in bound and static_value(bound["axis"]) is not None
    axes = axes_of(x, bound["axis"], "np.squeeze") if is_given else tuple(i for i, n in enumerate(shape_of(x)) if n == 1)
    if any(shape_of(x)[i] != 1 for i in axes):
        raise error("M402", message="cannot squeeze an axis whose size is not 1")
    return apply("reshape", strong(x), static=[tuple(n for i, n in enumerate(shape_of(x)) if i not in axes)])


def _broadcast(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.broadcast_to", ("array", "shape"), arguments, keywords)
    shape = _sizes(needed("np.broadcast_to", bound, "shape"))
    return apply("broadcast_to", strong(as_array(bound["array"])), static=[shape])


def _join(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.concatenate", ("arrays", "axis", "dtype"), arguments, keywords)
    parts = [as_array(p) for p in sequence_items(bound["arrays"], "np.concatenate")]
    require_number("np.concatenate", *parts)
    axis = option(bound, "axis", 0)
    if axis is None:
        parts, axis = [raveled(p) for p in parts], 0
    if not all(map(shape_of, parts)):
        raise error("M402", message="arrays without axes cannot be concatenated", hint="use np.stack or np.array")
    made = concatenated(one_axis(parts[0], axis) if parts else 0, parts)
    return of_dtype(made, dtype_of(bound.get("dtype"), dtype_name(made)))


def _stack(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.stack", ("arrays", "axis", "dtype"), arguments, keywords)
    parts = [as_array(p) for p in sequence_items(bound["arrays"], "np.stack")]
    require_number("np.stack", *parts)
    if not parts or any(shape_of(p) != shape_of(parts[0]) for p in parts):
        raise error("M402", message="np.stack takes arrays of one shape, at least one")
    shape = shape_of(parts[0])
    axis = one_axis(parts[0], option(bound, "axis", 0), 1)
    made = concatenated(axis, [apply("reshape", strong(p), static=[(*shape[:axis], 1, *shape[axis:])]) for p in parts])
    return of_dtype(made, dtype_of(bound.get("dtype"), dtype_name(made)))


# -- making arrays

def _filled(name: str, value: float) -> Expand:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = bind(name, ("shape", "dtype"), arguments, keywords)
        shape = _sizes([bound["shape"]])
        return spread(constant_of(builder, value, dtype_of(bound.get("dtype"), "float64")), shape)
    return expand


def _filled_like(name: str, value: float) -> Expand:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = bind(name, ("a", "dtype", "shape"), arguments, keywords)
        x = as_array(bound["a"])
        require_number(name, x)
        shape = _sizes([bound["shape"]]) if "shape" in bound else shape_of(x)
        return spread(constant_of(builder, value, dtype_of(bound.get("dtype"), dtype_name(x))), shape)
    return expand


def _full(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.full", ("shape", "fill_value", "dtype"), arguments, keywords)
    shape = _sizes([bound["shape"]])
    value = strong(as_array(needed("np.full", bound, "fill_value")[0]))
    require_number("np.full", value)
    return spread(of_dtype(value, dtype_of(bound.get("dtype"), dtype_name(value))), shape)


def _full_like(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.full_like", ("a", "fill_value", "dtype", "shape"), arguments, keywords)
    x, value = as_array(bound["a"]), as_array(needed("np.full_like", bound, "fill_value")[0])
    require_number("np.full_like", x, value)
    shape = _sizes([bound["shape"]]) if "shape" in bound else shape_of(x)
    return spread(of_dtype(value, dtype_of(bound.get("dtype"), dtype_name(x))), shape)


def _constant(name: str, function: Any) -> Expand:
    """An array made of arguments known before running."""

    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        values = [require_static(a, f"an argument of {name}") for a in arguments]
        named = {k: require_static(v, f"an argument of {name}") for k, v in keywords.items()}
        try:
            made = function(*values, **named)
        except (TypeError, ValueError, ZeroDivisionError, OverflowError, MemoryError) as problem:
            raise error("M308", message=f"{name}: {problem}") from None
        for part in made if isinstance(made, tuple) else (made,):
            if part.dtype.name not in DTYPES:
                raise error("M305", type=f"the dtype {part.dtype.name}", hint=f"use one of {', '.join(DTYPES)}")
        return make(builder, [known(builder, m) for m in made]) if isinstance(made, tuple) else known(builder, made)
    return expand


def _linspace(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """start + i (stop − start) / (n − 1), the last one being stop itself; n must be known, the ends need not be."""
    bound = bind("np.linspace", ("start", "stop", "num", "endpoint", "dtype"), arguments, keywords)
    count = option(bound, "num", 50)
    if type(count) is not int or count < 0:
        raise error("M308", message=f"np.linspace: the number of points is an int that is not negative, got {count!r}")
    reaches = bool(option(bound, "endpoint", True))
    ends = [as_array(x) for x in needed("np.linspace", bound, "start", "stop")]
    require_number("np.linspace", *ends)
    start, stop = (floating(strong(x)) for x in ends)
    rank = max(len(shape_of(start)), len(shape_of(stop)))
    dtype = promote([scalar_of(start.type), scalar_of(stop.type)]).dtype
    steps = known(builder, np.arange(count, dtype=dtype).reshape(count, *(1,) * rank))
    points = start + steps * ((stop - start) / max(count - reaches, 1))
    if reaches and count > 1:
        points = apply("where", known(builder, (np.arange(count) == count - 1).reshape(count, *(1,) * rank)), stop, points)
    wanted = dtype_of(bound.get("dtype"), dtype)
    return of_dtype(apply("floor", points) if wanted in INT_DTYPES else points, wanted)


def _array(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.array", ("object", "dtype"), arguments, keywords)
    x = as_array(bound["object"])
    require_number("np.array", x)
    return of_dtype(strong(x), dtype_of(bound.get("dtype"), dtype_name(x)))


def _astype(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("astype", ("a", "dtype"), arguments, {k: v for k, v in keywords.items() if k != "copy"})
    return of_dtype(bound["a"], dtype_of(needed("astype", bound, "dtype")[0], "float64"))


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
    require_number("np.where", c, x, y)
    if isinstance(c.type, (Scalar, Array)) and c.type.dtype != "bool":
        c = apply("not_equal", c, 0)
    return strong(apply("where", c, x, y))


def _clip(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.clip", ("a", "a_min", "a_max"), arguments, {{"min": "a_min", "max": "a_max"}.get(k, k): v for k, v in keywords.items()})
    x = as_array(bound["a"])
    require_number("np.clip", x)
    if dtype_name(x) == "bool" and all(static_value(bound[n]) is None for n in ("a_min", "a_max") if n in bound):
        raise error("M301", operation="np.clip without bounds", types=str(x.type))
    for name, primitive in (("a_min", "maximum"), ("a_max", "minimum")):
        if name in bound and static_value(bound[name]) is not None:
            x = numeric("np.clip", primitive, x, as_array(bound[name]))
    return strong(x)


def _square(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.square", arguments, keywords, 1)
    x = as_array(arguments[0])
    if is_masked(x.type):
        return under_mask("np.square", lambda v: strong(v * v), [x])
    require_number("np.square", x)
    x = of_dtype(x, "int64") if dtype_name(x) == "bool" else x
    return strong(x * x)


def _reciprocal(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.reciprocal", arguments, keywords, 1)
    x = as_array(arguments[0])
    require_number("np.reciprocal", x)
    if dtype_name(x) not in FLOAT_DTYPES:
        raise error("M301", operation="np.reciprocal", types=str(x.type), hint="of ints it would be an int: write 1.0 / x")
    return strong(1.0 / x)


def _identity(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("copy", arguments, keywords, 1)
    return strong(as_array(arguments[0]))


def _shape_query(name: str) -> Expand:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        takes(f"np.{name}", arguments, keywords, 1)
        x = as_array(arguments[0])
        require_number(f"np.{name}", x)
        shape = shape_of(x)
        return known(builder, {"shape": shape, "ndim": len(shape), "size": math.prod(shape)}[name])
    return expand


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
        made = apply(primitive, *operands)
        return convert(apply("whole", made) if result == INT else made, result)
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
_MATH = {"exp": "math_exp", "expm1": "math_expm1", "sin": "math_sin", "cos": "math_cos", "tan": "math_tan", "sqrt": "math_sqrt", "log2": "math_log2", "log10": "math_log10",
         "log1p": "math_log1p", "asin": "math_asin", "acos": "math_acos", "atan": "arctan", "sinh": "math_sinh", "cosh": "math_cosh", "tanh": "tanh",
         "asinh": "arcsinh", "acosh": "math_acosh", "atanh": "math_atanh", "erf": "erf", "lgamma": "math_lgamma", "cbrt": "cbrt", "exp2": "math_exp2"}

LIBRARY: dict[Any, Operation] = {
    **{getattr(np, n): Operation(f"np.{n}", elementwise(f"np.{n}", n), n) for n in _ELEMENTWISE},
    **{getattr(np, n): Operation(f"np.{n}", elementwise(f"np.{n}", n, 2), n) for n in _ELEMENTWISE_2},
    **{getattr(math, n): Operation(f"math.{n}", mathematical(f"math.{n}", p), n) for n, p in _MATH.items() if hasattr(math, n)},
    math.log: Operation("math.log", _math_log, "log"), math.fabs: Operation("math.fabs", _math_fabs, "abs"),
    math.atan2: Operation("math.atan2", mathematical("math.atan2", "arctan2", 2), "atan2"),
    math.pow: Operation("math.pow", mathematical("math.pow", "python_power", 2), "^"),
    math.floor: Operation("math.floor", mathematical("math.floor", "floor", 1, INT), "floor"),
    math.ceil: Operation("math.ceil", mathematical("math.ceil", "ceil", 1, INT), "ceil"),
    math.trunc: Operation("math.trunc", mathematical("math.trunc", "trunc", 1, INT), "trunc"),
    math.isnan: Operation("math.isnan", mathematical("math.isnan", "isnan", 1, BOOL), "isnan"),
    math.isinf: Operation("math.isinf", mathematical("math.isinf", "isinf", 1, BOOL), "isinf"),
    math.isfinite: Operation("math.isfinite", mathematical("math.isfinite", "isfinite", 1, BOOL), "isfinite"),
    np.outer: Operation("np.outer", _outer, "⊗"), np.vdot: Operation("np.vdot", _vdot, "·"),
    np.reshape: Operation("np.reshape", _reshape, "reshape"), np.transpose: Operation("np.transpose", _transpose, "T"),
    np.swapaxes: Operation("np.swapaxes", _swap, "swapaxes"), np.ravel: Operation("np.ravel", _ravel, "ravel"),
    np.expand_dims: Operation("np.expand_dims", _expand_dims, "expand"), np.squeeze: Operation("np.squeeze", _squeeze, "squeeze"),
    np.broadcast_to: Operation("np.broadcast_to", _broadcast, "broadcast"), np.concatenate: Operation("np.concatenate", _join, "concatenate"),
    np.stack: Operation("np.stack", _stack, "stack"),
    np.zeros: Operation("np.zeros", _filled("np.zeros", 0.0), "zeros"), np.ones: Operation("np.ones", _filled("np.ones", 1.0), "ones"),
    np.full_like: Operation("np.full_like", _full_like, "full"), np.shape: Operation("np.shape", _shape_query("shape"), "shape"),
    np.ndim: Operation("np.ndim", _shape_query("ndim"), "ndim"), np.size: Operation("np.size", _shape_query("size"), "size"),
    np.copy: Operation("np.copy", _identity, "copy"), np.ascontiguousarray: Operation("np.ascontiguousarray", _array, "array"),
    np.empty: Operation("np.empty", _filled("np.empty", 0.0), "zeros"), np.empty_like: Operation("np.empty_like", _filled_like("np.empty_like", 0.0), "zeros"),
    np.zeros_like: Operation("np.zeros_like", _filled_like("np.zeros_like", 0.0), "zeros"),
    np.ones_like: Operation("np.ones_like", _filled_like("np.ones_like", 1.0), "ones"), np.full: Operation("np.full", _full, "full"),
    np.arange: Operation("np.arange", _constant("np.arange", np.arange), "arange"),
    np.linspace: Operation("np.linspace", _linspace, "linspace"),
    **{f: Operation(f"np.{f.__name__}", _constant(f"np.{f.__name__}", f), f.__name__) for f in (
        np.eye, np.identity, np.tri, np.logspace, np.geomspace, np.triu_indices, np.tril_indices, np.diag_indices, np.indices)},
    np.array: Operation("np.array", _array, "array"), np.asarray: Operation("np.asarray", _array, "array"),
    np.where: Operation("np.where", _where, "where"), np.clip: Operation("np.clip", _clip, "clip"), np.square: Operation("np.square", _square, "square"),
    np.reciprocal: Operation("np.reciprocal", _reciprocal, "1/"),
}

_METHODS = frozenset(("sum prod max min all any mean var std argmax argmin dot reshape transpose swapaxes ravel squeeze clip trace "
                      "cumsum cumprod repeat take diagonal round sort argsort").split())
_OWN_METHODS: dict[str, Operation] = {
    "flatten": LIBRARY[np.ravel], "astype": Operation("astype", _astype, "astype"), "item": Operation("item", _item, "item"),
    "copy": Operation("copy", _identity, "copy"),
}


def method(name: str) -> Operation | None:
    """The operation that a method of arrays stands for: its first argument is the array."""
    from myia_notebook.ops.table import OPERATIONS
    return OPERATIONS[getattr(np, name)] if name in _METHODS else _OWN_METHODS.get(name)


__all__ = ["LIBRARY", "method"]
