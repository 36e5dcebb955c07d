"""What the library's functions share: their arguments by name, arrays from displays, axes, dtypes, and arithmetic on booleans."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.infer.values import DTYPES
from myia_notebook.ir.types import BOOL, FLOAT_DTYPES, Array, List, Scalar, Tuple
from myia_notebook.ops.expression import Builder, Expr, apply
from myia_notebook.ops.masked import is_masked, under_mask
from myia_notebook.ops.operation import Expand
from myia_notebook.ops.operators import Keywords, convert, known, require_static, static_value, takes, tuple_items
from myia_notebook.ops.primitive import UNKNOWN
from myia_notebook.ops.promotion import as_float, promote, scalar_of

Bound = dict[str, Expr]
_REASONS = {"out": "values never change in place", "where": "write np.where(mask, x, neutral) inside", "order": "arrays have no memory order here",
            "casting": "write .astype(...)", "initial": "combine the result with the value", "overwrite_input": "values never change in place"}


def bind(name: str, parameters: tuple[str, ...], arguments: list[Expr], keywords: Keywords) -> Bound:
    """Positional and keyword arguments by name."""
    if len(arguments) > len(parameters):
        raise error("M501", signature=f"{name}()", problem=f"takes {len(parameters)} argument{'s' if len(parameters) != 1 else ''} here, got {len(arguments)}")
    bound = dict(zip(parameters, arguments))
    for key, value in keywords.items():
        if key not in parameters:
            reason = f": {_REASONS[key]}" if key in _REASONS else ""
            raise error("M501", signature=f"{name}()", problem=f"got an unexpected keyword argument '{key}'{reason}")
        if key in bound:
            raise error("M501", signature=f"{name}()", problem=f"got several values for '{key}'")
        bound[key] = value
    if parameters and parameters[0] not in bound:
        raise error("M501", signature=f"{name}()", problem=f"is missing '{parameters[0]}'")
    return bound


def needed(name: str, bound: Bound, *parameters: str) -> list[Expr]:
    """Arguments without a default."""
    for p in parameters:
        if p not in bound:
            raise error("M501", signature=f"{name}()", problem=f"is missing '{p}'")
    return [bound[p] for p in parameters]


def option(bound: Bound, name: str, default: Any) -> Any:
    """An argument that must be known before running."""
    return require_static(bound[name], f"'{name}'") if name in bound else default


def flag(bound: Bound, name: str) -> bool:
    return bool(option(bound, name, False))


# -- arrays

def as_array(x: Expr) -> Expr:
    """A tuple (or list display) of numbers and arrays becomes an array, as NumPy does; numbers and arrays stay."""
    if isinstance(x.type, List):
        raise error("M301", operation="an array function", types=str(x.type), hint="the length of a list is known only at run time: loop over it")
    if not isinstance(x.type, Tuple) or is_masked(x.type):
        return x
    leaves, shape = _flatten(x)
    if all(leaf.value is not UNKNOWN for leaf in leaves):
        values = [leaf.value for leaf in leaves]
        value = np.array(values).reshape(shape) if leaves else np.zeros(shape)
        if value.dtype.name not in DTYPES:
            raise error("M305", type=f"an array of {value.dtype.name}", hint=f"use numbers that fit in {', '.join(DTYPES)}")
        return known(x.builder, value)
    ones = [reshaped(leaf, (1, *shape_of(leaf)), always=True) for leaf in leaves]
    return reshaped(concatenated(0, ones), shape)


def _flatten(x: Expr) -> tuple[list[Expr], tuple[int, ...]]:
    if not isinstance(x.type, Tuple):
        if not isinstance(x.type, (Scalar, Array)):
            raise error("M301", operation="np.array", types=str(x.type), hint="give nested tuples or lists of numbers")
        return [x], shape_of(x)
    parts = [_flatten(item) for item in tuple_items(x)]
    shapes = {shape: None for _, shape in parts}
    if len(shapes) > 1:
        raise error("M402", message="the rows of this array have different lengths")
    return [leaf for leaves, _ in parts for leaf in leaves], (len(parts), *(next(iter(shapes)) if shapes else ()))


def concatenated(axis: int, parts: list[Expr]) -> Expr:
    """The parts joined along an axis, each as one of the common dtype."""
    from myia_notebook.ops.table import PRIMITIVES
    if not parts:
        raise error("M402", message="need at least one array to concatenate")
    builder = parts[0].builder
    scalar = promote([scalar_of(p.type) for p in parts])
    parts = [convert(p, Array(scalar.dtype, shape_of(p))) if isinstance(p.type, Array) else p for p in parts]
    return builder.expr(builder.apply(PRIMITIVES["concatenate"], builder.constant(axis), *(p.node for p in parts)))


def reshaped(x: Expr, shape: tuple[int, ...], always: bool = False) -> Expr:
    return x if shape_of(x) == shape and not always else apply("reshape", x, static=[shape])


def raveled(x: Expr) -> Expr:
    return apply("reshape", x, static=[(math.prod(shape_of(x)),)])


def spread(x: Expr, shape: tuple[int, ...]) -> Expr:
    return x if shape_of(x) == shape else apply("broadcast_to", x, static=[shape])


def shape_of(x: Expr) -> tuple[int, ...]:
    return x.type.shape if isinstance(x.type, Array) else ()


def dtype_name(x: Expr) -> str:
    assert isinstance(x.type, (Scalar, Array))
    return x.type.dtype


def of_dtype(x: Expr, dtype: str) -> Expr:
    """The number or array with this dtype."""
    if isinstance(x.type, Array):
        return convert(x, Array(dtype, x.type.shape))
    return convert(x, BOOL if dtype == "bool" else Scalar(dtype))


def floating(x: Expr) -> Expr:
    """Integers and booleans as float64."""
    return x if dtype_name(x) in FLOAT_DTYPES else of_dtype(x, "float64")


def constant_of(builder: Builder, value: Any, dtype: str) -> Expr:
    return known(builder, np.dtype(dtype).type(value))


def strong(x: Expr) -> Expr:
    """NumPy's functions give NumPy's types: a Python number becomes a NumPy scalar of its dtype."""
    return convert(x, Scalar(x.type.dtype)) if isinstance(x.type, Scalar) and x.type.weak else x


def require_number(name: str, *operands: Expr) -> None:
    if not all(isinstance(o.type, (Scalar, Array)) for o in operands):
        raise error("M301", operation=name, types=" and ".join(str(o.type) for o in operands))


# -- axes and dtypes

def one_axis(x: Expr, axis: Any, extra: int = 0) -> int:
    """A normalized axis; `extra` counts axes that the result has more."""
    rank = len(shape_of(x)) + extra
    if not isinstance(axis, int) or isinstance(axis, bool) or not -rank <= axis < rank:
        raise error("M402", message=f"axis {axis} is out of bounds for an array with {rank} axes")
    return axis % rank


def axes_of(x: Expr, axis: Expr | None, name: str) -> tuple[int, ...]:
    """The normalized axes of a reduction."""
    value = None if axis is None else require_static(axis, f"the axis of {name}")
    if value is None:
        return tuple(range(len(shape_of(x))))
    axes = tuple(sorted(one_axis(x, a) for a in (value if isinstance(value, (tuple, list)) else (value,))))
    if len(set(axes)) != len(axes):
        raise error("M402", message="duplicate value in 'axis'")
    return axes


def dtype_of(x: Expr | None, default: str) -> str:
    if x is None or static_value(x) is None:
        return default
    value = require_static(x, "the dtype")
    try:
        name = {float: "float64", int: "int64", bool: "bool"}.get(value) or np.dtype(value).name
    except TypeError:
        raise error("M305", type=f"the dtype {value!r}", hint=f"use one of {', '.join(DTYPES)}") from None
    if name not in DTYPES:
        raise error("M305", type=f"the dtype {name}", hint=f"use one of {', '.join(DTYPES)}")
    return name


# -- elementwise functions, and what they make of booleans

_BOOLEAN = {"add": "logical_or", "maximum": "logical_or", "multiply": "logical_and", "minimum": "logical_and", "invert": "logical_not"}
_KEEPS = ("absolute", "floor", "ceil", "trunc")
_REFUSED = {"subtract": "use ^ (or np.logical_xor)", "negative": "use ~ (or np.logical_not)", "sign": "convert with .astype(int)"}


def on_booleans(name: str, primitive: str, operands: list[Expr]) -> Expr:
    """A primitive where every operand is boolean, as NumPy has it: + is or, × is and, − is refused; other arithmetic is on 64-bit numbers
    (NumPy's own are of 8 and 16 bits)."""
    if primitive in _REFUSED:
        raise error("M301", operation=name, types=" and ".join(str(o.type) for o in operands), hint=_REFUSED[primitive])
    if primitive in _KEEPS:
        return operands[0]
    if primitive in _BOOLEAN:
        return apply(_BOOLEAN[primitive], *operands)
    from myia_notebook.ops.table import PRIMITIVES
    infer: Any = PRIMITIVES[primitive].infer
    t = infer([o.abstract for o in operands])
    if t.dtype == "bool" and primitive not in ("left_shift", "right_shift"):
        return apply(primitive, *operands)
    return apply(primitive, *(of_dtype(o, "float64" if t.dtype in FLOAT_DTYPES else "int64") for o in operands))


def numeric(name: str, primitive: str, *operands: Expr) -> Expr:
    """A primitive on numbers, arrays and booleans."""
    if primitive in ("floor", "ceil", "trunc") and dtype_name(operands[0]) not in FLOAT_DTYPES:
        return operands[0]
    if operands and all(dtype_name(o) == "bool" for o in operands):
        return on_booleans(name, primitive, list(operands))
    return apply(primitive, *operands)


def elementwise(name: str, primitive: str, count: int = 1) -> Expand:
    """np.sin and the like: NumPy's types in and out."""

    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        if keywords:
            bind(name, ("x",) * count, arguments, keywords)
        takes(name, arguments, keywords, count)
        operands = [as_array(a) for a in arguments]
        if any(is_masked(o.type) for o in operands):
            return under_mask(name, lambda *xs: strong(numeric(name, primitive, *xs)), operands)
        require_number(name, *operands)
        return strong(numeric(name, primitive, *operands))
    return expand


def composed(name: str, function: Any, count: int = 1, is_float: bool = False, refuses_bool: bool = False) -> Expand:
    """An elementwise function made of others. Its operands are brought to their common dtype first (`is_float`: the floating one), as NumPy does."""

    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        if keywords:
            bind(name, ("x",) * count, arguments, keywords)
        takes(name, arguments, keywords, count)
        operands = [as_array(a) for a in arguments]
        if any(is_masked(o.type) for o in operands):
            return under_mask(name, lambda *xs: strong(function(*common(xs, is_float))), operands)
        require_number(name, *operands)
        if refuses_bool and all(dtype_name(o) == "bool" for o in operands):
            raise error("M301", operation=name, types=str(operands[0].type), hint="convert with .astype(int)")
        return strong(function(*common(operands, is_float)))
    return expand


def common(operands: Any, is_float: bool = False) -> list[Expr]:
    """Operands of one dtype."""
    scalar = promote([scalar_of(o.type) for o in operands])
    if is_float:
        scalar = as_float(scalar)
    return [of_dtype(o, scalar.dtype) for o in operands]


__all__ = ["Bound", "as_array", "axes_of", "bind", "common", "composed", "concatenated", "constant_of", "dtype_name", "dtype_of", "elementwise", "flag",
           "floating", "needed", "numeric", "of_dtype", "on_booleans", "one_axis", "option", "raveled", "require_number", "reshaped", "shape_of", "spread",
           "strong"]
