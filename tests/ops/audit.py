"""What a call of the catalog must satisfy: NumPy's value, dtype and shape, or a refusal of ours where NumPy refuses. Derivatives are in `gradcheck`."""
from __future__ import annotations

import functools
import itertools
import linecache
import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from myia_notebook import MyiaError, grad, jvp, myia, nn, random
from tests.ops.catalog_more import added, assigned
from tests.ops.draw import Call

try:
    from scipy import special
except ImportError:
    special = None
_numbers = itertools.count()
NAMESPACE = {"np": np, "special": special, "math": math, "operator": operator, "functools": functools, "itertools": itertools, "nn": nn, "random": random,
             "grad": grad, "jvp": jvp, "assigned": assigned, "added": added}
WIDER = {"float16": "float64", "int8": "int64", "uint64": "int64"}  # what NumPy makes of booleans alone; the language has four dtypes of numbers


def program(text: str, count: int, **names: Any) -> Callable[..., Any]:
    """A function of x0, x1, … with this body."""
    name = f"<audit {next(_numbers)}>"
    source = f"def program({', '.join(f'x{i}' for i in range(count))}):\n    {text}\n"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {**NAMESPACE, **names}
    exec(compile(source, name, "exec"), namespace)
    return namespace["program"]


def check_value(call: Call, backend: str) -> str:
    """'' when it is as NumPy; 'refused …' for an error of ours where NumPy has a value; else what is wrong."""
    f = program(f"return {call.text}", len(call.arguments))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected: Any = f(*call.arguments)
            failed = None
        except Exception as problem:
            failed = problem
        try:
            found = myia(f, backend=backend)(*call.arguments)
        except MyiaError as problem:
            if problem.code.startswith("M80"):
                return f"broken: {problem.code} {problem.message}"
            return "" if failed is not None else f"refused {problem.code} {problem.message.splitlines()[0]}"
        except Exception as problem:
            return f"broken: {type(problem).__name__} {problem}"
    if failed is not None:
        return f"gives {found!r:.60} where NumPy says {type(failed).__name__}: {failed}"
    return difference(found, expected, "special." in call.text)


def difference(found: Any, expected: Any, is_loose: bool = False) -> str:
    if isinstance(expected, (tuple, list)) and not np.isscalar(expected):
        if not isinstance(found, (tuple, list)) or len(found) != len(expected):
            return f"structure {type(found).__name__}, NumPy {type(expected).__name__}"
        return next((d for d in map(difference, found, expected) if d), "")
    if np.shape(found) != np.shape(expected):
        return f"shape {np.shape(found)}, NumPy {np.shape(expected)}"
    a, b = np.asarray(found), np.asarray(expected)
    b = b.astype(WIDER.get(b.dtype.name, b.dtype.newbyteorder("=")))
    if a.dtype != b.dtype and not (is_loose and a.dtype.kind == b.dtype.kind == "f"):
        return f"dtype {a.dtype}, NumPy {b.dtype}"
    if isinstance(expected, np.ndarray) and not isinstance(found, np.ndarray) and b.ndim:
        return f"kind {type(found).__name__}"
    tolerance = 2e-5 if np.float32 in (a.dtype, b.dtype) else 1e-11
    with np.errstate(all="ignore"):
        if not np.allclose(a, b, rtol=1e-2 if np.asarray(expected).dtype == np.float16 else tolerance, atol=tolerance, equal_nan=True):
            return f"value {a!r}, NumPy {b!r}"
    return ""
