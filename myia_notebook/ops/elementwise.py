"""How elementwise primitives are made: one constructor per shape of typing rule, so that a family is a table of one-line entries.

Every primitive acts on scalars and on arrays with NumPy's broadcasting. Run-time values keep their types: an all-weak call gives
Python numbers, strong scalars give NumPy scalars, arrays give arrays.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.types import BOOL, FLOAT, Scalar, Type
from myia_notebook.ops.primitive import Abstract, Checked, Elementwise, FromBackpropagator, NotDifferentiable, Primitive, Sample
from myia_notebook.ops.promotion import as_float, broadcast, promote, require_numbers, scalar_of, shape_of, with_shape

Infer = Callable[[list[Abstract]], Type]


def arity_error(name: str, wanted: int, got: int) -> Exception:
    return error("M501", signature=name, problem=f"takes {wanted} argument{'s' if wanted != 1 else ''}, got {got}")


def _types(name: str, count: int, arguments: list[Abstract]) -> list[Type]:
    if len(arguments) != count:
        raise arity_error(name, count, len(arguments))
    types = [a.type for a in arguments]
    require_numbers(name, types)
    return types


def arithmetic(name: str, count: int, result: Callable[[Scalar], Scalar] = lambda s: s) -> Infer:
    """Operands are promoted together; `result` maps the promoted scalar to the result's."""

    def infer(arguments: list[Abstract]) -> Type:
        types = _types(name, count, arguments)
        shape = broadcast(name, [shape_of(t) for t in types])
        return with_shape(result(promote([scalar_of(t) for t in types])), shape)

    return infer


def predicate(name: str, count: int) -> Infer:
    """Operands are promoted together; the result is boolean."""
    return arithmetic(name, count, lambda s: BOOL)


def number(s: Scalar) -> Scalar:
    """Arithmetic on booleans is on ints, as in Python (NumPy refuses `-` on booleans and keeps others boolean)."""
    return Scalar("int64", weak=True) if s.dtype == "bool" else s


def value_of(result: Any, t: Type) -> Any:
    """A NumPy result as a run-time value of the type: weak scalars become Python's."""
    if isinstance(t, Scalar):
        if t.dtype == "bool":
            return bool(result)
        if t.weak:
            return float(result) if t == FLOAT else int(result)
        return np.dtype(t.dtype).type(result)
    return result


def is_python_number(value: Any) -> bool:
    return type(value) in (float, int, bool)


def on_values(function: Callable[..., Any], boolean: bool = False, python: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A NumPy function on run-time values. Python numbers in give Python numbers out; for those `python` is tried first (it is
    quicker), and where it raises, NumPy's IEEE result stands."""

    def implementation(*values: Any) -> Any:
        if all(map(is_python_number, values)):
            if python is not None:
                try:
                    return _wrapped(python(*values))
                except (ArithmeticError, ValueError):
                    pass
            result = function(*values)
            return result.item() if isinstance(result, (np.generic, np.ndarray)) else result
        result = function(*values)
        if isinstance(result, np.ndarray) and result.ndim == 0:
            result = result[()]
        return bool(result) if boolean and isinstance(result, np.bool_) else result

    implementation.__name__ = getattr(function, "__name__", "function")
    return implementation


def _wrapped(value: Any) -> Any:
    """A Python integer brought into 64 bits, as NumPy wraps it."""
    if type(value) is int and not -(2**63) <= value < 2**63:
        return (value + 2**63) % 2**64 - 2**63
    return value


NUMBERS_1 = (Sample((0.7,), (0,)), Sample((np.float64(-1.3),), (0,)), Sample((np.array([0.5, -0.25, 2.0]),), (0,)),
             Sample((np.array([[0.3], [1.2]], np.float32),), (0,)))
POSITIVE_1 = (Sample((0.7,), (0,)), Sample((np.array([0.5, 1.25, 2.0]),), (0,)))
UNIT_1 = (Sample((0.3,), (0,)), Sample((np.array([0.5, -0.25, 0.9]),), (0,)))
NUMBERS_2 = (Sample((0.7, -1.3), (0, 1)), Sample((np.array([[0.5], [-0.25]]), np.array([1.0, 2.0, 4.0])), (0, 1)),
             Sample((np.array([1.5, 2.5], np.float32), 2.0), (0, 1)))
POSITIVE_2 = (Sample((0.7, 1.3), (0, 1)), Sample((np.array([[0.5], [1.25]]), np.array([1.0, 2.0, 4.0])), (0, 1)))


def function_of_one(name: str, function: Callable[..., Any], rule: Callable[..., Any] | NotDifferentiable, samples: tuple[Sample, ...] = NUMBERS_1,
                    symbol: str = "", reference: str = "DLMF §4", result: Callable[[Scalar], Scalar] = as_float,
                    python: Callable[..., Any] | None = None) -> Primitive:
    """A mathematical function of one variable; integers become floats. `rule(x, out, d)` is ∇x."""
    backpropagator: Any = rule if isinstance(rule, NotDifferentiable) else (lambda x, out, d: (rule(x, out, d),))
    tangent: Any = rule if isinstance(rule, NotDifferentiable) else FromBackpropagator()
    return Primitive(name, arithmetic(name, 1, result), on_values(function, python=python), backpropagator, tangent, Elementwise(name), symbol or name,
                     False, frozenset({"elementwise"}), samples, reference)


def function_of_two(name: str, function: Callable[..., Any], rule: Callable[..., Any] | NotDifferentiable, symbol: str, infix: bool = True,
                    laws: tuple[str, ...] = (), samples: tuple[Sample, ...] = NUMBERS_2, reference: str = "IEEE 754",
                    result: Callable[[Scalar], Scalar] = number, python: Callable[..., Any] | None = None,
                    tangent: Callable[..., Any] | None = None) -> Primitive:
    """A function of two variables. `rule(x, y, out, d)` is (∇x, ∇y)."""
    tangent_: Any = tangent or (rule if isinstance(rule, NotDifferentiable) else FromBackpropagator())
    return Primitive(name, arithmetic(name, 2, result), on_values(function, python=python), rule, tangent_, Elementwise(name), symbol, infix,
                     frozenset({"elementwise", *laws}), samples, reference)


def test_of_two(name: str, function: Callable[..., Any], symbol: str, python: Callable[..., Any], laws: tuple[str, ...] = ()) -> Primitive:
    """A comparison: boolean, without derivative."""
    reason = NotDifferentiable("a comparison is a step")
    return Primitive(name, predicate(name, 2), on_values(function, boolean=True, python=python), reason, reason, Elementwise(name), symbol, True,
                     frozenset({"elementwise", *laws}), (Sample((0.5, 0.7)), Sample((2, 2)), Sample((np.array([1.0, 2.0]), 1.5))), "IEEE 754 §5.11")


def checked(base: Primitive, name: str, implementation: Callable[..., Any], check: str, code: str, message: str) -> Primitive:
    """`base` with Python's exceptions on Python scalars: same mathematics, same rules, same picture."""
    samples = tuple(s for s in base.samples if all(map(is_python_number, s.arguments)))
    return Primitive(name, base.infer, implementation, base.backpropagator, base.tangent, Checked(base.name, check, code, message), base.symbol,
                     base.infix, base.laws | {"may_fail"}, samples, base.reference)
