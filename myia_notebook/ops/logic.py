"""Comparisons, logic, bits and conversions."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.graph import UNDEFINED
from myia_notebook.ir.types import NEVER, Array, List, Scalar, Tuple, Type, is_float
from myia_notebook.ops.elementwise import arithmetic, on_values, predicate, test_of_two, value_of
from myia_notebook.ops.expression import Expr
from myia_notebook.ops.primitive import Abstract, Elementwise, Linear, NotDifferentiable, Primitive, Sample
from myia_notebook.ops.promotion import require_numbers

DISCRETE = NotDifferentiable("the result is discrete")

less = test_of_two("less", np.less, "<", operator.lt)
less_equal = test_of_two("less_equal", np.less_equal, "≤", operator.le)
greater = test_of_two("greater", np.greater, ">", operator.gt)
greater_equal = test_of_two("greater_equal", np.greater_equal, "≥", operator.ge)
equal = test_of_two("equal", np.equal, "=", operator.eq, ("commutative",))
not_equal = test_of_two("not_equal", np.not_equal, "≠", operator.ne, ("commutative",))


def _logic(name: str, count: int, function: Any, symbol: str, python: Any) -> Primitive:
    samples = (Sample((True,) * count), Sample((np.array([True, False]), True)[:count]))
    return Primitive(name, predicate(name, count), on_values(function, boolean=True, python=python), DISCRETE, DISCRETE, Elementwise(name), symbol,
                     count == 2, frozenset({"elementwise"}), samples, "NumPy")


logical_and = _logic("logical_and", 2, np.logical_and, "and", lambda a, b: bool(a) and bool(b))
logical_or = _logic("logical_or", 2, np.logical_or, "or", lambda a, b: bool(a) or bool(b))
logical_not = _logic("logical_not", 1, np.logical_not, "not", lambda a: not a)


def _test_of_one(name: str, function: Any) -> Primitive:
    return Primitive(name, predicate(name, 1), on_values(function, boolean=True), DISCRETE, DISCRETE, Elementwise(name), name, False,
                     frozenset({"elementwise"}), (Sample((0.5,)), Sample((np.array([1.0, np.nan, np.inf]),))), "IEEE 754 §5.7")


isnan, isinf, isfinite = _test_of_one("isnan", np.isnan), _test_of_one("isinf", np.isinf), _test_of_one("isfinite", np.isfinite)


def _bits(name: str, function: Any, symbol: str, python: Any, count: int = 2) -> Primitive:
    def infer(arguments: list[Abstract]) -> Type:
        if any(is_float(a.type) for a in arguments):
            raise error("M301", operation=f"'{symbol}'", types=" and ".join(str(a.type) for a in arguments), hint="bits belong to integers")
        return arithmetic(name, count)(arguments)

    return Primitive(name, infer, on_values(function, python=python), DISCRETE, DISCRETE, Elementwise(name), symbol, count == 2,
                     frozenset({"elementwise"}), (Sample((6, 3)[:count]), Sample((np.array([5, 9]), 3)[:count])), "NumPy")


bitwise_and = _bits("bitwise_and", np.bitwise_and, "&", operator.and_)
bitwise_or = _bits("bitwise_or", np.bitwise_or, "|", operator.or_)
bitwise_xor = _bits("bitwise_xor", np.bitwise_xor, "^", operator.xor)
left_shift = _bits("left_shift", np.left_shift, "<<", operator.lshift)
right_shift = _bits("right_shift", np.right_shift, ">>", operator.rshift)
invert = _bits("invert", np.invert, "~", operator.invert, 1)


# -- conversion

def _cast_infer(arguments: list[Abstract]) -> Type:
    source, target = arguments[0].type, arguments[1].value
    assert isinstance(target, Type), "cast takes a static type"
    if source == NEVER or type(source) is type(target) and isinstance(source, (Tuple, List)):
        return target
    require_numbers("cast", [source])
    if isinstance(source, Array) != isinstance(target, Array) or (isinstance(source, Array) and source.shape != target.shape):  # type: ignore[union-attr]
        raise error("M301", operation="a conversion", types=f"{source} to {target}")
    return target


def cast_value(value: Any, target: Type) -> Any:
    """The value converted to a type: floats to integers truncate, as in Python and NumPy. What was never assigned stays so."""
    if value is UNDEFINED:
        return value
    if isinstance(target, Tuple):
        return tuple(cast_value(v, t) for v, t in zip(value, target.items))
    if isinstance(target, Scalar):
        if target.dtype == "int64" and isinstance(value, (float, np.floating)):
            return _to_int(value, target)
        return value_of(value, target)
    if isinstance(target, Array):
        return np.asarray(value).astype(target.dtype)
    return value


def _to_int(value: Any, target: Scalar) -> Any:
    if value != value or value in (float("inf"), float("-inf")):
        raise error("M702", message=f"cannot convert float {'NaN' if value != value else 'infinity'} to an integer")
    return value_of(int(value), target)


def _cast_rule(x: Expr, target: Expr, out: Expr, d: Expr) -> tuple[Any, Any]:
    """Linear between floats; the transform casts the contribution to the operand's type."""
    return d, None


cast = Primitive("cast", _cast_infer, cast_value, _cast_rule, Linear((0,)), Elementwise("cast"), "as", False, frozenset({"cast"}),
                 (Sample((3, Scalar("float64", True))), Sample((np.array([1.5, 2.5]), Array("float32", (2,))), (0,))), "NumPy astype")

FAMILY: tuple[Primitive, ...] = (less, less_equal, greater, greater_equal, equal, not_equal, logical_and, logical_or, logical_not, isnan, isinf,
                                 isfinite, bitwise_and, bitwise_or, bitwise_xor, left_shift, right_shift, invert, cast)

__all__ = ["FAMILY", "cast_value"]
