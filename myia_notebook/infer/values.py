"""What is known before running: the type of a Python value, and values as abstract values.

`type_of_value` is the boundary between run-time values and types: arguments of compiled functions, constants of the source and
globals all come through it. A value of a class that the language does not know is an error that names it (M305).
"""
from __future__ import annotations

from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.extent import Extent
from myia_notebook.ir.graph import UNDEFINED, Graph, Sentinel
from myia_notebook.ir.types import BOOL, FLOAT, INT, NEVER, NONE, RANGE, Array, Function, FunctionClass, Scalar, Static, Type
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.primitive import UNKNOWN, Abstract, Primitive

DTYPES = ("bool", "int32", "int64", "float32", "float64")
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1


def function_class_of(graph: Graph) -> FunctionClass:
    """The class of a closed graph used as a value; a graph that nothing else meets has a class of its own."""
    if graph.function_class is None:
        graph.function_class = FunctionClass([graph], graph.name)
    return graph.function_class


def type_of_value(value: Any) -> Type:
    """The type of a Python value. int and float are weak, NumPy scalars are not; 0-d arrays are scalars; tuples nest."""
    match value:
        case bool():
            return BOOL
        case int():
            if not _INT_MIN <= value <= _INT_MAX:
                raise error("M708", message=f"the integer {value} does not fit in 64 bits")
            return INT
        case Extent():
            return INT
        case np.bool_():
            return BOOL
        case np.generic():
            return _dtype_scalar(value.dtype)
        case float():
            return FLOAT
        case None:
            return NONE
        case tuple() | list() | dict():
            from myia_notebook.infer.structures import describe
            if type(value) not in (tuple, list, dict) and not hasattr(value, "_fields"):
                raise error("M305", type=f"a value of class {type(value).__name__}", hint="use a plain tuple, list or dict")
            return describe(value)
        case range():
            return RANGE
        case np.ndarray() if type(value) is np.ndarray:
            return _array(value)
        case Graph():
            return Function(function_class_of(value))
        case Sentinel():
            if value is UNDEFINED:
                return NEVER
            raise AssertionError("a symbolic zero needs an explicit type")
        case str() | Primitive() | Operation() | type() | np.dtype():
            return Static(value)
        case _:
            if value is Ellipsis or _is_operation(value):
                return Static(value)
            from myia_notebook.infer.structures import describe, structure_of_class
            if structure_of_class(type(value)) is not None:
                return describe(value)
            name = type(value).__name__
            raise error("M305", type=f"a value of class {name}", hint="use numbers, NumPy arrays, tuples, None and functions")


def _is_operation(value: Any) -> bool:
    from myia_notebook.ops.table import operation_for
    return callable(value) and operation_for(value) is not None


def _dtype_scalar(dtype: np.dtype[Any]) -> Scalar:
    if dtype.name not in DTYPES or not dtype.isnative:
        raise error("M305", type=f"the dtype {dtype}", hint=f"convert it to one of {', '.join(DTYPES)}")
    return BOOL if dtype.name == "bool" else Scalar(dtype.name)


def _array(value: np.ndarray[Any, Any]) -> Type:
    scalar = _dtype_scalar(value.dtype.newbyteorder("=") if value.dtype.kind in "bif" else value.dtype)
    return Array(scalar.dtype, value.shape) if value.ndim else scalar


def abstract_of_value(value: Any) -> Abstract:
    return Abstract(type_of_value(value), value)


__all__ = ["DTYPES", "UNKNOWN", "Abstract", "abstract_of_value", "function_class_of", "type_of_value"]
