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
_KNOWN = (bool, int, float, complex, str, bytes, type(None), np.ndarray, np.generic)


def as_known(value: Any) -> Any:
    """The value with foreign arrays as NumPy arrays. Raises M305 with the library's own words if it refuses."""
    cls = type(value)
    if isinstance(value, _KNOWN):
        return value
    if cls is tuple or cls is list or cls is dict:
        return _container(value, cls)
    if isinstance(value, type) or hasattr(value, "__myia_function__") or not (hasattr(cls, "__array__") or hasattr(cls, "__dlpack__")):
        return value
    return _array(value, cls)


def _container(value: Any, cls: type) -> Any:
    """Looks one level down at a time, by recursion only into containers of containers: data that deep holds no foreign array."""
    work, depth = [value], 0
    while work and depth < 64:
        work = [x for v in work for x in (v.values() if type(v) is dict else v) if type(x) in (tuple, list, dict) or not isinstance(x, _KNOWN)]
        if any(type(x) not in (tuple, list, dict) and as_known(x) is not x for x in work):
            return {k: as_known(v) for k, v in value.items()} if cls is dict else cls(map(as_known, value))
        work = [x for x in work if type(x) in (tuple, list, dict)]
        depth += 1
    return value


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
