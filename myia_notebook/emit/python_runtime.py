"""The names that generated Python text uses (`emit.python_source`): NumPy's and `math`'s, and the primitives that have no operator.

An environment is ZERO or maps the function whose captured values it is the sensitivity of to its parts.
"""
from __future__ import annotations

import builtins
import functools
import math
from typing import Any

import numpy as np

from myia_notebook.ir.graph import ZERO
from myia_notebook.ir.types import Array, Scalar, Tuple, Type
from myia_notebook.ops.environment import EnvironmentValue
from myia_notebook.ops.logic import cast_value
from myia_notebook.ops.messages import Form, written
from myia_notebook.ops.primitive import Structural
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.vm import zero_value


def wrap(n: int) -> int:
    """An int brought into 64 bits."""
    return n if -(2**63) <= n < 2**63 else (n + 2**63) % 2**64 - 2**63


def env_make(function: Any, *items: Any) -> EnvironmentValue:
    return EnvironmentValue({function: items})


def env_get(environment: Any, function: Any, index: int, zero: Any) -> Any:
    part = None if environment is ZERO else environment.parts.get(function)
    return zero if part is None else part[index]


def closure_is(closure: Any, function: Any) -> bool:
    """Whether a closure was made of a function."""
    return getattr(closure, "func", closure) is function


def cast(value: Any, t: Type) -> Any:
    """The primitive; what was never assigned (None where a number belongs) becomes a zero that nobody reads."""
    if isinstance(t, Tuple) and value is not None:
        return tuple(cast(v, item) for v, item in zip(value, t.items))
    return zero_value(t) if value is None and isinstance(t, (Scalar, Array, Tuple)) else cast_value(value, t)


def _written(form: Form, *values: Any) -> str:
    return written(form, values)


NAMES: dict[str, Any] = {
    **{name: p.implementation for name, p in PRIMITIVES.items() if not isinstance(p.implementation, Structural)},
    "np": np, "math": math, "partial": functools.partial, "array": np.array, "zeros": np.zeros, "inf": math.inf, "nan": math.nan, "ZERO": ZERO,
    **{d: getattr(np, d) for d in ("float64", "float32", "int64", "int32")}, "bool_": np.bool_,
    "wrap": wrap, "cast": cast, "env_make": env_make, "env_get": env_get, "closure_is": closure_is, "written": _written}
RESERVED: frozenset[str] = frozenset(NAMES) | frozenset(vars(builtins))

__all__ = ["NAMES", "RESERVED"]
