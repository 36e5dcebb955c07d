"""Python's operators and the builtins of the language, as operations: what they mean by the types of their operands."""
from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.types import BOOL, FLOAT, INT, NONE, Array, Function, NoneType, Scalar, Static, Tuple, Type
from myia_notebook.ops.expression import Builder, Expr, apply
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.primitive import UNKNOWN

Keywords = dict[str, Expr]


@dataclass(frozen=True, slots=True)
class SliceValue:
    """`start:stop:step` with values known when the program is compiled."""

    start: int | None
    stop: int | None
    step: int | None

    def __repr__(self) -> str:
        return f"{'' if self.start is None else self.start}:{'' if self.stop is None else self.stop}"


def takes(name: str, arguments: list[Expr], keywords: Keywords, low: int, high: int | None = None) -> None:
    """Refuses a wrong number of arguments, and keywords that are left."""
    high = low if high is None else high
    if not low <= len(arguments) <= high:
        wanted = str(low) if low == high else f"{low} to {high}"
        raise error("M501", signature=f"{name}()", problem=f"takes {wanted} argument{'s' if wanted != '1' else ''}, got {len(arguments)}")
    if keywords:
        raise error("M501", signature=f"{name}()", problem=f"got an unexpected keyword argument '{next(iter(keywords))}'")


def known(builder: Builder, value: Any, type: Type | None = None) -> Expr:
    """A constant whose value is known."""
    return builder.expr(builder.constant(value, type))


def is_weak_scalar(x: Expr) -> bool:
    return isinstance(x.type, Scalar) and (x.type.weak or x.type.dtype == "bool")


def static_value(x: Expr) -> Any:
    """The value of x known before running, through its type where that holds it; else UNKNOWN."""
    match x.type:
        case Static(value):
            return value
        case NoneType():
            return None
        case Tuple(items) if x.value is UNKNOWN:
            values = [item.value if isinstance(item, Static) else None if item == NONE else UNKNOWN for item in items]
            return UNKNOWN if any(v is UNKNOWN for v in values) else tuple(values)
        case _:
            return x.value


def require_static(x: Expr, what: str) -> Any:
    value = static_value(x)
    if value is UNKNOWN:
        raise error("M306", what=what, hint="use a literal, a shape, or a global constant")
    return value


def tuple_items(x: Expr) -> list[Expr]:
    assert isinstance(x.type, Tuple)
    return [Expr(x.builder, x.builder.item(x.node, i)) for i in range(len(x.type.items))]


def make(builder: Builder, items: list[Expr]) -> Expr:
    return builder.expr(builder.tuple(*(i.node for i in items)))


# -- arithmetic

def _add(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x, y = arguments
    if isinstance(x.type, Tuple) and isinstance(y.type, Tuple):
        return make(builder, tuple_items(x) + tuple_items(y))
    return _numbers("+", "add", x, y)


def _numbers(symbol: str, name: str, *operands: Expr) -> Expr:
    for o in operands:
        if not isinstance(o.type, (Scalar, Array)):
            raise error("M301", operation=f"'{symbol}'", types=" and ".join(str(o.type) for o in operands))
    return apply(name, *operands)


def _operator(symbol: str, name: str, python_name: str | None = None) -> Any:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        python = python_name is not None and all(map(is_weak_scalar, arguments))
        return _numbers(symbol, python_name if python and python_name else name, *arguments)
    return expand


def _power(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x, y = arguments
    exponent = y.value
    if isinstance(exponent, int) and is_weak_scalar(x):
        if exponent < 0:
            return _numbers("**", "python_power", _to_float(x), y)
        return _numbers("**", "power", x, y)
    return _operator("**", "power", "python_power")(builder, arguments, keywords)


def _to_float(x: Expr) -> Expr:
    return convert(x, FLOAT)


def convert(x: Expr, t: Type) -> Expr:
    """cast(x, t), or x itself when it has that type. A known Python number is converted at once."""
    if x.type == t:
        return x
    builder = x.builder
    if isinstance(x.value, (int, float)) and isinstance(t, Scalar) and not (isinstance(x.value, float) and t.dtype.startswith("int")):
        from myia_notebook.ops.logic import cast_value
        return known(builder, cast_value(x.value, t), t)
    from myia_notebook.ops.table import PRIMITIVES
    return builder.expr(builder.apply(PRIMITIVES["cast"], x.node, builder.constant(t, Static(t)), type=t), x.is_sensitivity)


def _unary(symbol: str, name: str) -> Any:
    return lambda builder, arguments, keywords: _numbers(symbol, name, *arguments)


def _positive(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x = arguments[0]
    return convert(x, INT) if x.type == BOOL else x


# -- comparison and truth

def truth_of(x: Expr) -> Expr:
    """`bool(x)` as Python sees it."""
    builder = x.builder
    match x.type:
        case Scalar(dtype="bool"):
            return x
        case Scalar():
            return apply("not_equal", x, 0)
        case Tuple(items):
            return known(builder, bool(items))
        case NoneType():
            return known(builder, False)
        case Static(value):
            return known(builder, bool(value))
        case Function():
            return known(builder, True)
        case Array() if math.prod(x.type.shape) == 1:
            return truth_of(apply("reshape", x, static=[()]))
        case _:
            raise error("M308", message=f"the truth of {x.type} is ambiguous", hint="use np.any(...) or np.all(...)")


def _equal_items(x: Expr, y: Expr) -> Expr:
    """x == y for any two values: numbers by value, tuples item by item, others by what their types say."""
    builder = x.builder
    if isinstance(x.type, (Scalar, Array)) and isinstance(y.type, (Scalar, Array)):
        return apply("equal", x, y)
    if isinstance(x.type, Tuple) and isinstance(y.type, Tuple):
        if len(x.type.items) != len(y.type.items):
            return known(builder, False)
        result = known(builder, True)
        for a, b in zip(tuple_items(x), tuple_items(y)):
            result = both(result, truth_of(_equal_items(a, b)))
        return result
    if isinstance(x.type, Function) or isinstance(y.type, Function):
        raise error("M301", operation="'=='", types=f"{x.type} and {y.type}", hint="functions cannot be compared")
    a, b = static_value(x), static_value(y)
    return known(builder, a is not UNKNOWN and b is not UNKNOWN and type(a) is type(b) and a == b)


def both(x: Expr, y: Expr) -> Expr:
    if x.value is True:
        return y
    if y.value is True or x.value is False:
        return x
    return y if y.value is False else apply("logical_and", x, y)


def negated(x: Expr) -> Expr:
    return known(x.builder, not x.value) if isinstance(x.value, bool) else apply("logical_not", x)


def _is(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x, y = arguments
    if x.type == NONE or y.type == NONE:
        return known(builder, x.type == y.type)
    if x.type == BOOL and y.type == BOOL:
        return apply("equal", x, y)
    a, b = static_value(x), static_value(y)
    if isinstance(x.type, Static) and isinstance(y.type, Static):
        return known(builder, a is b or (isinstance(a, str) and a == b))
    raise error("M301", operation="'is'", types=f"{x.type} and {y.type}", hint="compare numbers with ==")


def _contains(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """contains(container, item)"""
    container, item = arguments
    if not isinstance(container.type, Tuple):
        raise error("M301", operation="'in'", types=str(container.type), hint="'in' works on tuples")
    result = known(builder, False)
    for candidate in tuple_items(container):
        equal = truth_of(_equal_items(candidate, item))
        result = negated(both(negated(result), negated(equal)))
    return result


# -- builtins

def _len(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("len", arguments, keywords, 1)
    match arguments[0].type:
        case Tuple(items):
            return known(builder, len(items))
        case Array(shape=shape):
            return known(builder, shape[0])
        case Static(value) if isinstance(value, str):
            return known(builder, len(value))
        case other:
            raise error("M301", operation="len", types=str(other))


def _number_type(name: str, t: Scalar) -> Any:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        takes(name, arguments, keywords, 0, 1)
        if not arguments:
            return known(builder, {"bool": False, "int64": 0}.get(t.dtype, 0.0), t)
        x = arguments[0]
        if t == BOOL:
            return truth_of(x)
        if isinstance(x.type, Array) and math.prod(x.type.shape) == 1 and t.weak:
            x = apply("reshape", x, static=[()])
        if isinstance(x.type, Array) and not t.weak:
            return convert(x, Array(t.dtype, x.type.shape))
        if not isinstance(x.type, Scalar):
            raise error("M301", operation=name, types=str(x.type))
        return convert(x, t)
    return expand


def _fold(name: str, primitive: str) -> Any:
    """min and max: of several arguments, or of the items of one tuple or array."""

    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        takes(name, arguments, keywords, 1, 255)
        if len(arguments) == 1 and isinstance(arguments[0].type, Array) and len(arguments[0].type.shape) == 1:
            return apply("reduce_max" if name == "max" else "reduce_min", arguments[0], static=[(0,), False])
        items = tuple_items(arguments[0]) if len(arguments) == 1 and isinstance(arguments[0].type, Tuple) else arguments
        if not items or len(items) == 1 and items is arguments:
            raise error("M301", operation=name, types=str(arguments[0].type), hint="give several numbers, or a tuple that is not empty")
        result = items[0]
        for item in items[1:]:
            if isinstance(result.type, Array) or isinstance(item.type, Array):
                raise error("M301", operation=name, types=f"{result.type} and {item.type}", hint=f"use np.{name}imum")
            result = _numbers(name, primitive, result, item)
        return result
    return expand


def _sum(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("sum", arguments, keywords, 1, 2)
    x = arguments[0]
    if isinstance(x.type, Array):
        total = apply("reduce_sum", x, static=[(0,), False])
        return total if len(arguments) == 1 else _add(builder, [arguments[1], total], {})
    if not isinstance(x.type, Tuple):
        raise error("M301", operation="sum", types=str(x.type))
    items = tuple_items(x)
    if len(arguments) == 1 and items and items[0].type != BOOL:
        total, rest = items[0], items[1:]
    else:
        total, rest = (arguments[1] if len(arguments) == 2 else known(builder, 0)), items
    for item in rest:
        total = _add(builder, [total, item], {})
    return total


def _abs(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("abs", arguments, keywords, 1)
    return _numbers("abs", "absolute", arguments[0])


def _round(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("round", arguments, keywords, 1)
    return convert(apply("rint", arguments[0]), INT) if arguments[0].type != INT else arguments[0]


def class_matches(t: Type, cls: Any) -> bool:
    """isinstance of a value of type t."""
    match t:
        case Scalar(dtype, weak):
            python = bool if dtype == "bool" else (int if dtype == "int64" else float) if weak else np.dtype(dtype).type
            return issubclass(python, cls)
        case Array():
            return issubclass(np.ndarray, cls)
        case Tuple():
            return issubclass(tuple, cls)
        case NoneType():
            return issubclass(type(None), cls)
        case Static(value):
            return isinstance(value, cls)
        case _:
            return cls is object


def _isinstance(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("isinstance", arguments, keywords, 2)
    classes = require_static(arguments[1], "the class of isinstance")
    classes = classes if isinstance(classes, tuple) else (classes,)
    if not all(isinstance(c, type) for c in classes):
        raise error("M301", operation="isinstance", types=str(arguments[1].type), hint="give a class or a tuple of classes")
    return known(builder, any(class_matches(arguments[0].type, c) for c in classes))


def _tuple(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("tuple", arguments, keywords, 0, 1)
    return make(builder, items_of(arguments[0])) if arguments else make(builder, [])


def items_of(x: Expr, limit: int = 64) -> list[Expr]:
    """The items of a tuple, or of a short array along its first axis."""
    if isinstance(x.type, Tuple):
        return tuple_items(x)
    if isinstance(x.type, Array) and x.type.shape[0] <= limit:
        return [apply_index(x, ("int",), [known(x.builder, i)]) for i in range(x.type.shape[0])]
    raise error("M301", operation="this loop", types=str(x.type), hint="loop over range(len(x)) and index")


def apply_index(x: Expr, spec: tuple[Any, ...], positions: list[Expr]) -> Expr:
    from myia_notebook.ops.table import PRIMITIVES
    builder = x.builder
    return builder.expr(builder.apply(PRIMITIVES["index"], x.node, builder.constant(spec), *(p.node for p in positions)))


def _zip(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    columns = [items_of(a) for a in arguments]
    return make(builder, [make(builder, list(row)) for row in zip(*columns)])


def _enumerate(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    start = keywords.pop("start", None) or (arguments[1] if len(arguments) == 2 else None)
    takes("enumerate", arguments, keywords, 1, 2)
    first = 0 if start is None else require_static(start, "the start of enumerate")
    return make(builder, [make(builder, [known(builder, i), item]) for i, item in enumerate(items_of(arguments[0]), first)])


def _reversed(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("reversed", arguments, keywords, 1)
    return make(builder, items_of(arguments[0])[::-1])


def _compare(symbol: str, name: str) -> Any:
    return lambda builder, arguments, keywords: _numbers(symbol, name, *arguments)


OPERATORS: dict[Any, Operation] = {
    operator.add: Operation("+", _add, "+", True),
    operator.sub: Operation("-", _operator("-", "subtract"), "−", True),
    operator.mul: Operation("*", _operator("*", "multiply"), "×", True),
    operator.truediv: Operation("/", _operator("/", "divide", "python_divide"), "/", True),
    operator.floordiv: Operation("//", _operator("//", "floor_divide", "python_floor_divide"), "//", True),
    operator.mod: Operation("%", _operator("%", "mod", "python_mod"), "mod", True),
    operator.pow: Operation("**", _power, "^", True),
    operator.matmul: Operation("@", _operator("@", "matmul"), "@", True),
    operator.neg: Operation("-", _unary("-", "negative"), "−", False),
    operator.pos: Operation("+", _positive, "+", False),
    operator.invert: Operation("~", _unary("~", "invert"), "~", False),
    operator.and_: Operation("&", _operator("&", "bitwise_and"), "&", True),
    operator.or_: Operation("|", _operator("|", "bitwise_or"), "|", True),
    operator.xor: Operation("^", _operator("^", "bitwise_xor"), "xor", True),
    operator.lshift: Operation("<<", _operator("<<", "left_shift"), "<<", True),
    operator.rshift: Operation(">>", _operator(">>", "right_shift"), ">>", True),
    operator.lt: Operation("<", _compare("<", "less"), "<", True),
    operator.le: Operation("<=", _compare("<=", "less_equal"), "≤", True),
    operator.gt: Operation(">", _compare(">", "greater"), ">", True),
    operator.ge: Operation(">=", _compare(">=", "greater_equal"), "≥", True),
    operator.eq: Operation("==", lambda b, a, k: _equal_items(*a), "=", True),
    operator.ne: Operation("!=", lambda b, a, k: _not_equal(*a), "≠", True),
    operator.not_: Operation("not", lambda b, a, k: negated(truth_of(a[0])), "not", False),
    operator.truth: Operation("bool", lambda b, a, k: truth_of(a[0]), "bool", False),
    operator.is_: Operation("is", _is, "is", True),
    operator.is_not: Operation("is not", lambda b, a, k: negated(_is(b, a, k)), "is not", True),
    operator.contains: Operation("in", _contains, "in", True),
    len: Operation("len", _len, "len"), abs: Operation("abs", _abs, "abs"), round: Operation("round", _round, "round"),
    min: Operation("min", _fold("min", "minimum"), "min"), max: Operation("max", _fold("max", "maximum"), "max"),
    sum: Operation("sum", _sum, "sum"), isinstance: Operation("isinstance", _isinstance, "isinstance"), tuple: Operation("tuple", _tuple, "tuple"),
    zip: Operation("zip", _zip, "zip"), enumerate: Operation("enumerate", _enumerate, "enumerate"),
    reversed: Operation("reversed", _reversed, "reversed"), pow: Operation("pow", _power, "^", True),
    float: Operation("float", _number_type("float", FLOAT), "float"), int: Operation("int", _number_type("int", INT), "int"),
    bool: Operation("bool", _number_type("bool", BOOL), "bool"),
    np.float64: Operation("np.float64", _number_type("np.float64", Scalar("float64")), "float64"),
    np.float32: Operation("np.float32", _number_type("np.float32", Scalar("float32")), "float32"),
    np.int64: Operation("np.int64", _number_type("np.int64", Scalar("int64")), "int64"),
    np.int32: Operation("np.int32", _number_type("np.int32", Scalar("int32")), "int32"),
    np.bool_: Operation("np.bool_", _number_type("np.bool_", BOOL), "bool"),
}


def _not_equal(x: Expr, y: Expr) -> Expr:
    if isinstance(x.type, (Scalar, Array)) and isinstance(y.type, (Scalar, Array)):
        return apply("not_equal", x, y)
    return negated(truth_of(_equal_items(x, y)))
