"""Arrays of other libraries as arguments: what has `__array__` (pandas, PyTorch on the CPU, xarray) or DLPack becomes a NumPy array, at the top of an argument and inside tuples,
lists and dicts. What NumPy and the language know already is handed on as it is, the same object; so is what lies on another device, for a backend may know it.

The array shares the memory of the original where the library can; a program never writes to its arguments.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from myia_notebook.errors import error

CPU = 1
"""The device type of DLPack that NumPy can read."""
_CONTAINERS = (tuple, list, dict)
_KNOWN = (bool, int, float, complex, str, bytes, type(None), np.ndarray, np.generic)


def as_known(value: Any) -> Any:
    """The value with foreign arrays as NumPy arrays. Raises M305 with the library's own words if it refuses."""
    if type(value) in _CONTAINERS:
        return _rebuilt(value) if _holds_foreign(value) else value
    return _array(value, type(value)) if _is_foreign(value) else value


def _is_foreign(value: Any) -> bool:
    cls = type(value)
    if isinstance(value, _KNOWN) or isinstance(value, type) or hasattr(value, "__myia_function__"):
        return False
    return hasattr(cls, "__array__") or hasattr(cls, "__dlpack__")


def _holds_foreign(value: Any) -> bool:
    """Level by level, each container once, however often it occurs; data nested deeper than 64 hold no foreign array."""
    level, seen = [value], {id(value)}
    for _ in range(64):
        items = [x for v in level for x in (v.values() if type(v) is dict else v)]
        if any(map(_is_foreign, items)):
            return True
        level = []
        for x in items:
            if type(x) in _CONTAINERS and id(x) not in seen:
                seen.add(id(x))
                level.append(x)
        if not level:
            return False
    return False


def _rebuilt(value: Any) -> Any:
    return {k: as_known(v) for k, v in value.items()} if type(value) is dict else type(value)(map(as_known, value))


def _array(value: Any, cls: type) -> Any:
    try:
        if hasattr(cls, "__dlpack_device__") and int(value.__dlpack_device__()[0]) != CPU:
            return value
        array = np.asarray(value) if hasattr(cls, "__array__") else np.from_dlpack(value)
    except Exception as problem:
        raise error("M305", type=f"a value of class {cls.__name__}", hint=f"it does not become a NumPy array: {problem}") from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biufc":
        dtype = getattr(array, "dtype", type(array).__name__)
        raise error("M305", type=f"a value of class {cls.__name__}, as an array of {dtype},", hint="give numbers without gaps, for example series.to_numpy(float)")
    return array
