"""Python's operators and the builtins of the language, as operations: what they mean by the types of their operands."""
from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.graph import Constant
from myia_notebook.ir.types import BOOL, FLOAT, INT, LIST, NONE, Array, List, NoneType, Record, Scalar, Static, Structure, Tuple, Type
from myia_notebook.ops.expression import Builder, Expr, apply
from myia_notebook.ops.masked import count as count_selected
from myia_notebook.ops.masked import is_masked, under_mask
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.primitive import UNKNOWN
from myia_notebook.ops.records import dict_function, is_dict, merged_dicts

Keywords = dict[str, Expr]


def labels_of(x: Expr) -> Any:
    from myia_notebook.infer import unions
    return unions.labels_of(x)


def dispatch(x: Expr, operation: Any) -> Expr:
    from myia_notebook.infer import unions
    return unions.dispatch(x, operation)


def is_one_of(x: Expr, chosen: Any) -> Expr:
    from myia_notebook.infer import unions
    return unions.is_one_of(x, chosen)


def matching(labels: Any, classes: Any) -> Any:
    from myia_notebook.infer import unions
    return unions.matching(labels, classes)


def matches(t: Type, cls: Any) -> Any:
    from myia_notebook.infer import unions
    return unions.matches(t, cls)


def narrow(x: Expr, chosen: Any) -> Expr:
    from myia_notebook.infer import unions
    return unions.narrow(x, chosen)


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
            values = [static_value(Expr(x.builder, x.builder.item(x.node, i))) for i in range(len(items))]
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


def is_sequence(t: Type) -> bool:
    """Tuples, named tuples, lists of known length: what has a known number of items in order."""
    return isinstance(t, Tuple) and not (isinstance(t, Record) and t.structure.kind in ("dataclass", "dict", "text", "masked"))


def sequence_items(x: Expr, what: str) -> list[Expr]:
    """The items of a sequence of known length (the keys of a dict)."""
    if is_dict(x.type):
        return [known(x.builder, n, Static(n)) for n in x.type.structure.names]  # type: ignore[union-attr]
    if not is_sequence(x.type):
        raise error("M301", operation=what, types=str(x.type))
    return tuple_items(x)


def is_static_list(t: Type) -> bool:
    return isinstance(t, Record) and t.structure == LIST


def make_list(builder: Builder, items: list[Expr]) -> Expr:
    """A list of known length."""
    return builder.expr(builder.record(LIST, *(i.node for i in items)))


def run_time_list(x: Expr) -> Expr:
    """A list as one whose length is known only at run time."""
    if isinstance(x.type, List):
        return x
    from myia_notebook.infer.join import CannotJoin, widened
    builder = x.builder
    try:
        t = widened(x.type, builder.box)
    except CannotJoin:
        raise error("M301", operation="a list", types=str(x.type), hint="its items must have one type") from None
    if not isinstance(t, List):
        raise error("M301", operation="a list", types=str(x.type))
    items = tuple_items(x)
    if not items:
        return Expr(builder, builder.zero(t))
    return Expr(builder, builder.apply(_primitive("list_make"), *(fitted(i, t.item).node for i in items), type=t))


def fitted(x: Expr, t: Type) -> Expr:
    """x as a value of type t, where t is its join with something."""
    if x.type == t:
        return x
    builder = x.builder
    if isinstance(t, List) and is_static_list(x.type):
        return fitted(run_time_list(x), t)
    if isinstance(t, Record) and isinstance(x.type, Tuple):
        return builder.expr(builder.record(t.structure, *(fitted(i, u).node for i, u in zip(tuple_items(x), t.items))))
    if isinstance(t, Tuple) and isinstance(x.type, Tuple):
        return make(builder, [fitted(i, u) for i, u in zip(tuple_items(x), t.items)])
    if isinstance(t, Scalar):
        return convert(x, t)
    if isinstance(t, List):
        return builder.expr(builder.apply(_primitive("cast"), x.node, builder.constant(t, Static(t)), type=t))
    if hasattr(t, "labels"):
        return boxed(x, t)
    raise error("M302", first=x.type, second=t)


def boxed(x: Expr, t: Type) -> Expr:
    """x as a value of a union."""
    from myia_notebook.infer.join import FunctionSet, is_union
    builder = x.builder
    if isinstance(x.type, Static) and not is_union(t):
        label = next(label for label in t.labels if label.graph.flags.get("library") is x.type.value)  # type: ignore[attr-defined]
        return builder.expr(builder.apply(_primitive("partial"), Constant(label, Static(label)), type=t))
    if isinstance(x.type, FunctionSet):
        return builder.expr(builder.apply(_primitive("cast"), x.node, builder.constant(t, Static(t)), type=t))
    union = builder.box(x.type)
    label = union.labels[0]
    items = [] if x.type == NONE else tuple_items(x) if isinstance(x.type, Record) and x.type.structure.cls is not None else [x]
    fields = [fitted(i, a.type).node for i, a in zip(items, label.captured)]
    return builder.expr(builder.apply(_primitive("partial"), Constant(label, Static(label)), *fields, type=t))


def _primitive(name: str) -> Any:
    from myia_notebook.ops.table import PRIMITIVES
    return PRIMITIVES[name]


def make(builder: Builder, items: list[Expr]) -> Expr:
    return builder.expr(builder.tuple(*(i.node for i in items)))


# -- arithmetic

def _add(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x, y = arguments
    if is_masked(x.type) or is_masked(y.type):
        return _numbers("+", "add", x, y)
    if is_static_list(x.type) and is_static_list(y.type):
        return make_list(builder, tuple_items(x) + tuple_items(y))
    if isinstance(x.type, List) or isinstance(y.type, List):
        return list_sum(x, y)
    if is_sequence(x.type) and is_sequence(y.type) and not is_static_list(x.type) and not is_static_list(y.type):
        return make(builder, tuple_items(x) + tuple_items(y))
    if isinstance(x.type, Static) and isinstance(y.type, Static) and isinstance(x.type.value, str) and isinstance(y.type.value, str):
        return known(builder, x.type.value + y.type.value, Static(x.type.value + y.type.value))
    return _numbers("+", "add", x, y)


def list_sum(x: Expr, y: Expr) -> Expr:
    """xs + ys of lists, one of them of run-time length."""
    from myia_notebook.infer.join import is_callable
    builder = x.builder
    if not all(isinstance(o.type, List) or is_static_list(o.type) for o in (x, y)):
        raise error("M301", operation="'+'", types=f"{x.type} and {y.type}", hint="only lists can be added to a list")
    if is_static_list(y.type) and len(y.type.items) == 1 and isinstance(x.type, List):  # type: ignore[union-attr]
        item = tuple_items(y)[0]
        is_library = _is_function(x.type.item) and is_callable(item.type) and builder.box is not None  # `fs + [math.sin]`
        t = _list_join(builder, x.type, List(builder.box.function(item.type) if is_library else item.type))  # type: ignore[union-attr]
        assert isinstance(t, List)
        return Expr(builder, builder.apply(_primitive("list_append"), fitted(x, t).node, fitted(item, t.item).node, type=t))
    t = _list_join(builder, run_time_list(x).type, run_time_list(y).type)
    return Expr(builder, builder.apply(_primitive("list_concat"), fitted(x, t).node, fitted(y, t).node, type=t))


def _list_join(builder: Builder, a: Type, b: Type) -> Type:
    from myia_notebook.infer.join import CannotJoin, join
    try:
        return join(a, b, builder.box)
    except CannotJoin:
        raise error("M301", operation="'+'", types=f"{a} and {b}", hint="the items of a list have one type") from None


def _multiply(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """Numbers, and sequences repeated a known number of times."""
    x, y = arguments
    if is_sequence(y.type):
        x, y = y, x
    if is_sequence(x.type) and isinstance(y.type, Scalar) and y.type.dtype in ("int64", "bool"):
        count = require_static(y, "how often a tuple is repeated") if not is_static_list(x.type) else y.value
        if isinstance(count, int):
            items = tuple_items(x) * count
            return make_list(builder, items) if is_static_list(x.type) else make(builder, items)
    return _numbers("*", "multiply", *arguments)


def _numbers(symbol: str, name: str, *operands: Expr) -> Expr:
    if any(is_masked(o.type) for o in operands):
        return under_mask(f"'{symbol}'", lambda *xs: _numbers(symbol, name, *xs), list(operands))
    for o in operands:
        if not isinstance(o.type, (Scalar, Array)):
            hint = "tell the cases apart first, with isinstance or 'is None'" if any(labels_of(p) is not None for p in operands) else ""
            raise error("M301", operation=f"'{symbol}'", types=" and ".join(str(p.type) for p in operands), hint=hint)
    if any(isinstance(o.type, Array) for o in operands) and all(o.type.dtype == "bool" for o in operands):  # type: ignore[union-attr]
        from myia_notebook.ops.arguments import on_booleans
        return on_booleans(f"'{symbol}'", name, list(operands))
    if name == "invert" and operands[0].type == BOOL:
        raise error("M301", operation="'~'", types="bool", hint="write `not x` (of Python's bool ~ gives an int, of NumPy's its negation)")
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


def _negative(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """−x; of a number that is known, the number (so that `-np.inf` may be an option)."""
    value = arguments[0].value
    if type(value) is float or (type(value) is int and value != 0 and abs(value) < 2**63):
        return known(builder, -value)
    return _numbers("-", "negative", *arguments)


def _positive(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    x = arguments[0]
    return convert(x, INT) if x.type == BOOL else x


# -- comparison and truth

def _is_function(t: Type) -> bool:
    from myia_notebook.infer.join import is_function
    return is_function(t)


def truth_of(x: Expr) -> Expr:
    """`bool(x)` as Python sees it."""
    builder = x.builder
    match x.type:
        case Scalar(dtype="bool"):
            return x
        case Scalar():
            return apply("not_equal", x, 0)
        case Record(structure=Structure("dataclass")):
            return known(builder, True)
        case Tuple(items):
            return known(builder, bool(items))
        case List():
            return apply("not_equal", apply("list_length", x), 0)
        case NoneType():
            return known(builder, False)
        case Static(value):
            return known(builder, bool(value))
        case _ if labels_of(x) is not None:
            return dispatch(x, truth_of)
        case _ if _is_function(x.type):
            return known(builder, True)
        case Array() if math.prod(x.type.shape) == 1:
            return truth_of(apply("reshape", x, static=[()]))
        case _:
            raise error("M308", message=f"the truth of {x.type} is ambiguous", hint="use np.any(...) or np.all(...)")


def equal_items(x: Expr, y: Expr) -> Expr:
    """x == y for any two values: numbers by value, tuples item by item, others by what their types say."""
    builder = x.builder
    if isinstance(x.type, (Scalar, Array)) and isinstance(y.type, (Scalar, Array)):
        return apply("equal", x, y)
    if labels_of(x) is not None or labels_of(y) is not None:
        return _equal_to_none(x, y)
    if isinstance(x.type, Tuple) and isinstance(y.type, Tuple):
        if len(x.type.items) != len(y.type.items) or _kind(x.type) != _kind(y.type):
            return known(builder, False)
        result = known(builder, True)
        for a, b in zip(tuple_items(x), tuple_items(y)):
            result = both(result, truth_of(equal_items(a, b)))
        return result
    if _is_function(x.type) or _is_function(y.type):
        raise error("M301", operation="'=='", types=f"{x.type} and {y.type}", hint="functions cannot be compared")
    a, b = static_value(x), static_value(y)
    if isinstance(a, np.dtype) or isinstance(b, np.dtype):
        return known(builder, _same_dtype(a, b))
    return known(builder, a is not UNKNOWN and b is not UNKNOWN and type(a) is type(b) and a == b)


def _same_dtype(a: Any, b: Any) -> bool:
    """x.dtype == np.float64, "float64" or float."""
    try:
        return np.dtype(a) == np.dtype(b)
    except TypeError:
        return False


def _kind(t: Type) -> Any:
    """What two sequences must share to be equal: named tuples equal tuples."""
    if not isinstance(t, Record) or t.structure.kind == "namedtuple":
        return "tuple"
    return t.structure


def _equal_to_none(x: Expr, y: Expr) -> Expr:
    if y.type == NONE or x.type == NONE:
        return _is(x.builder, [x, y], {})
    raise error("M301", operation="'=='", types=f"{x.type} and {y.type}", hint="tell the cases apart first, with isinstance or 'is None'")


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
    for one, other in ((x, y), (y, x)):
        labels = labels_of(one)
        if labels is not None and other.type == NONE:
            return is_one_of(one, [label for label in labels if label.graph.flags["box"] == "none"])
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
    if isinstance(container.type, Static) and isinstance(container.type.value, str):
        return known(builder, require_static(item, "a text") in container.type.value)
    if is_dict(container.type):
        key = require_static(item, "the key of a dict")
        return known(builder, key in container.type.structure.names)  # type: ignore[union-attr]
    if not is_sequence(container.type):
        raise error("M301", operation="'in'", types=str(container.type), hint="'in' works on tuples, lists and the keys of dicts")
    result = known(builder, False)
    for candidate in tuple_items(container):
        equal = truth_of(equal_items(candidate, item))
        result = negated(both(negated(result), negated(equal)))
    return result


# -- builtins

def _len(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("len", arguments, keywords, 1)
    match arguments[0].type:
        case _ if is_masked(arguments[0].type):
            return count_selected(arguments[0])
        case Record(structure=Structure("dataclass" | "text")) as other:
            raise error("M301", operation="len", types=str(other))
        case Tuple(items):
            return known(builder, len(items))
        case List():
            return apply("list_length", arguments[0])
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
        return convert(apply("whole", x) if t.dtype.startswith("int") and x.type.dtype.startswith("float") else x, t)
    return expand


def _fold(name: str, primitive: str) -> Any:
    """min and max: of several arguments, or of the items of one tuple or array."""

    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        takes(name, arguments, keywords, 1, 255)
        if len(arguments) == 1 and isinstance(arguments[0].type, Array) and len(arguments[0].type.shape) == 1:
            return apply("reduce_max" if name == "max" else "reduce_min", arguments[0], static=[(0,), False])
        items = tuple_items(arguments[0]) if len(arguments) == 1 and is_sequence(arguments[0].type) else arguments
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
    items = sequence_items(x, "sum")
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
    """round(x) is an int; round(x, n) is Python's on Python's numbers and NumPy's on NumPy's."""
    digits = {k: v for k, v in keywords.items() if k != "ndigits"}
    arguments = [*arguments, *(v for k, v in keywords.items() if k == "ndigits")]
    takes("round", arguments, digits, 1, 2)
    x = arguments[0]
    n = require_static(arguments[1], "the number of digits of round") if len(arguments) == 2 else None
    if n is not None:
        if not isinstance(x.type, Scalar) or isinstance(n, bool) or not isinstance(n, int):
            raise error("M301", operation="round", types=f"{x.type} and {n!r}", hint="round takes a number and an int; of arrays, write np.round(x, n)")
        if is_weak_scalar(x):
            return apply("python_round", convert(x, INT) if x.type.dtype == "bool" else x, static=[n])
        from myia_notebook.ops.table import OPERATIONS
        return OPERATIONS[np.round].expand(builder, [x, known(builder, n)], {})
    return convert(apply("whole", apply("rint", arguments[0])), INT) if arguments[0].type != INT else arguments[0]


def _isinstance(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("isinstance", arguments, keywords, 2)
    x = arguments[0]
    classes = classes_of(arguments[1])
    labels = labels_of(x)
    if labels is not None:
        return is_one_of(x, matching(labels, classes))
    return known(builder, any(matches(x.type, c) for c in classes))


def classes_of(x: Expr) -> tuple[Any, ...]:
    """The second argument of isinstance."""
    found = require_static(x, "the class of isinstance")
    classes = getattr(found, "__args__", None) or (found if isinstance(found, tuple) else (found,))
    if not all(isinstance(c, type) for c in classes):
        raise error("M301", operation="isinstance", types=str(x.type), hint="give a class or a tuple of classes")
    return tuple(classes)


def narrowed(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """narrow(x, classes or None, positive): x where it is known to be (or not to be) one of these classes."""
    x, what, positive = arguments
    labels = labels_of(x)
    if labels is None:
        return x
    if what.type == NONE:
        chosen = [label for label in labels if label.graph.flags["box"] == "none"]
    else:
        chosen = matching(labels, classes_of(what))
    if not positive.value:
        chosen = [label for label in labels if label not in chosen]
    return narrow(x, chosen)


def _tuple(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("tuple", arguments, keywords, 0, 1)
    if arguments and isinstance(arguments[0].type, List):
        raise error("M308", message="a tuple of run-time length", hint="keep the list: a tuple's length is part of its type")
    return make(builder, items_of(arguments[0])) if arguments else make(builder, [])


def _list(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("list", arguments, keywords, 0, 1)
    if not arguments:
        return make_list(builder, [])
    return arguments[0] if isinstance(arguments[0].type, List) else make_list(builder, items_of(arguments[0]))


def _getattr_function(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """getattr(x, "name") and getattr(x, "name", default)"""
    from myia_notebook.ops.table import NAMED
    takes("getattr", arguments, keywords, 2, 3)
    if len(arguments) == 3 and not _has_attribute(arguments[0], require_static(arguments[1], "the name of an attribute")):
        return arguments[2]
    return NAMED["getattr_"].expand(builder, arguments[:2], {})


def _has_attribute(x: Expr, name: str) -> bool:
    if isinstance(x.type, Record):
        return name in x.type.structure.names or hasattr(x.type.structure.cls or dict, name)
    return isinstance(x.type, Array) and name in ("shape", "ndim", "size", "dtype", "T", "real")


def _hasattr(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("hasattr", arguments, keywords, 2)
    return known(builder, _has_attribute(arguments[0], require_static(arguments[1], "the name of an attribute")))


def _any_all(name: str) -> Any:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        takes(name, arguments, keywords, 1)
        x = arguments[0]
        if isinstance(x.type, Array) and len(x.type.shape) == 1:
            return apply(f"reduce_{name}", x, static=[(0,), False])
        result = known(builder, name == "all")
        for item in sequence_items(x, name):
            test = truth_of(item)
            result = both(result, test) if name == "all" else negated(both(negated(result), negated(test)))
        return result
    return expand


def _sorted(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("sorted", arguments, keywords, 1)
    return run_time_list(arguments[0]) if is_static_list(arguments[0].type) else make_list(builder, sequence_items(arguments[0], "sorted"))


def _product(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    start = keywords.pop("start", None)
    takes("math.prod", arguments, keywords, 1)
    x = arguments[0]
    if isinstance(x.type, Array):
        return apply("reduce_prod", x, static=[(0,), False])
    total = start if start is not None else known(builder, 1)
    for item in sequence_items(x, "math.prod"):
        total = _numbers("*", "multiply", total, item)
    return total


def _divmod(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("divmod", arguments, keywords, 2)
    return make(builder, [_operator("//", "floor_divide", "python_floor_divide")(builder, arguments, {}),
                          _operator("%", "mod", "python_mod")(builder, arguments, {})])


def items_of(x: Expr, limit: int = 64) -> list[Expr]:
    """The items of a tuple, or of a short array along its first axis."""
    if is_sequence(x.type) or is_dict(x.type):
        return sequence_items(x, "this loop")
    if isinstance(x.type, Array) and x.type.shape[0] <= limit:
        return [apply_index(x, ("int",), [known(x.builder, i)]) for i in range(x.type.shape[0])]
    raise error("M301", operation="this loop", types=str(x.type), hint="loop over range(len(x)) and index")


def apply_index(x: Expr, spec: tuple[Any, ...], positions: list[Expr]) -> Expr:
    from myia_notebook.ops.table import PRIMITIVES
    builder = x.builder
    return builder.expr(builder.apply(PRIMITIVES["index"], x.node, builder.constant(spec), *(p.node for p in positions)))


def _or(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """Bits; of two dicts, their union."""
    if all(is_dict(x.type) for x in arguments):
        return merged_dicts(builder, [(None, x) for x in arguments])
    return _operator("|", "bitwise_or")(builder, arguments, keywords)


def _compare(symbol: str, name: str) -> Any:
    return lambda builder, arguments, keywords: _numbers(symbol, name, *arguments)


OPERATORS: dict[Any, Operation] = {
    operator.add: Operation("+", _add, "+", True),
    operator.sub: Operation("-", _operator("-", "subtract"), "−", True),
    operator.mul: Operation("*", _multiply, "×", True),
    operator.truediv: Operation("/", _operator("/", "divide", "python_divide"), "/", True),
    operator.floordiv: Operation("//", _operator("//", "floor_divide", "python_floor_divide"), "//", True),
    operator.mod: Operation("%", _operator("%", "mod", "python_mod"), "mod", True),
    operator.pow: Operation("**", _power, "^", True),
    operator.matmul: Operation("@", _operator("@", "matmul"), "@", True),
    operator.neg: Operation("-", _negative, "−", False),
    operator.pos: Operation("+", _positive, "+", False),
    operator.invert: Operation("~", _unary("~", "invert"), "~", False),
    operator.and_: Operation("&", _operator("&", "bitwise_and"), "&", True),
    operator.or_: Operation("|", _or, "|", True),
    operator.xor: Operation("^", _operator("^", "bitwise_xor"), "xor", True),
    operator.lshift: Operation("<<", _operator("<<", "left_shift"), "<<", True),
    operator.rshift: Operation(">>", _operator(">>", "right_shift"), ">>", True),
    operator.lt: Operation("<", _compare("<", "less"), "<", True),
    operator.le: Operation("<=", _compare("<=", "less_equal"), "≤", True),
    operator.gt: Operation(">", _compare(">", "greater"), ">", True),
    operator.ge: Operation(">=", _compare(">=", "greater_equal"), "≥", True),
    operator.eq: Operation("==", lambda b, a, k: equal_items(*a), "=", True),
    operator.ne: Operation("!=", lambda b, a, k: _not_equal(*a), "≠", True),
    operator.not_: Operation("not", lambda b, a, k: negated(truth_of(a[0])), "not", False),
    operator.truth: Operation("bool", lambda b, a, k: truth_of(a[0]), "bool", False),
    operator.is_: Operation("is", _is, "is", True),
    operator.is_not: Operation("is not", lambda b, a, k: negated(_is(b, a, k)), "is not", True),
    operator.contains: Operation("in", _contains, "in", True),
    len: Operation("len", _len, "len"), abs: Operation("abs", _abs, "abs"), round: Operation("round", _round, "round"),
    min: Operation("min", _fold("min", "minimum"), "min"), max: Operation("max", _fold("max", "maximum"), "max"),
    sum: Operation("sum", _sum, "sum"), isinstance: Operation("isinstance", _isinstance, "isinstance"), tuple: Operation("tuple", _tuple, "tuple"),
    pow: Operation("pow", _power, "^", True),
    float: Operation("float", _number_type("float", FLOAT), "float"), int: Operation("int", _number_type("int", INT), "int"),
    bool: Operation("bool", _number_type("bool", BOOL), "bool"),
    list: Operation("list", _list, "list"), dict: Operation("dict", dict_function, "dict"), getattr: Operation("getattr", _getattr_function, "."),
    hasattr: Operation("hasattr", _hasattr, "hasattr"), any: Operation("any", _any_all("any"), "any"), all: Operation("all", _any_all("all"), "all"),
    divmod: Operation("divmod", _divmod, "divmod"), sorted: Operation("sorted", _sorted, "sorted"), math.prod: Operation("math.prod", _product, "prod"),
    np.float64: Operation("np.float64", _number_type("np.float64", Scalar("float64")), "float64"),
    np.float32: Operation("np.float32", _number_type("np.float32", Scalar("float32")), "float32"),
    np.int64: Operation("np.int64", _number_type("np.int64", Scalar("int64")), "int64"),
    np.int32: Operation("np.int32", _number_type("np.int32", Scalar("int32")), "int32"),
    np.bool_: Operation("np.bool_", _number_type("np.bool_", BOOL), "bool"),
}


def _not_equal(x: Expr, y: Expr) -> Expr:
    if isinstance(x.type, (Scalar, Array)) and isinstance(y.type, (Scalar, Array)):
        return apply("not_equal", x, y)
    return negated(truth_of(equal_items(x, y)))
