"""What a pickle of a compiled function carries, so that a worker in another process can build it again.

The programs are made from source, and a worker has neither the notebook's cells nor its `__main__`. So the state of a compiled function goes with
the text of each function it can reach that the worker cannot import; where it arrives the texts are put back, and `filename_of` finds them. A function of `__main__` goes by
value, by cloudpickle if that is there (joblib and dask bring it); else by its name.
"""
from __future__ import annotations

import functools
import hashlib
import inspect
import linecache
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

Source = tuple[Any, str, str]
"""A function, the name of its file, the text of that file."""
_inside = threading.local()
_places: dict[tuple[Any, ...], str] = {}


def is_importable(function: Any) -> bool:
    """Whether another process finds the function by its module and name."""
    module = getattr(function, "__module__", None)
    if module == "__main__" or module not in sys.modules:
        return False
    found: Any = sys.modules[module]
    for name in getattr(function, "__qualname__", "<locals>").split("."):
        found = getattr(found, name, None)
    return found is function


def sources(function: Any) -> list[Source]:
    """Those of the functions that this one can reach and that cannot be imported. Each once; nothing is evaluated."""
    found: list[Source] = []
    seen: set[int] = set()
    work = [function]
    imported = {getattr(m, "__file__", None) for name, m in list(sys.modules.items()) if name != "__main__"}
    while work:
        item = work.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, functools.partial):
            work += [item.func, *item.args, *item.keywords.values()]
        elif inspect.ismethod(item):
            work += [item.__func__, type(item.__self__)]
        elif isinstance(item, type) and not is_importable(item):
            work += [getattr(v, "__func__", getattr(v, "fget", v)) for v in vars(item).values()]
        elif isinstance(item, types.FunctionType) and not is_importable(item):
            filename = filename_of(item.__code__)
            text = "".join(linecache.getlines(filename))
            if text and filename not in imported:
                found.append((item, filename, text))
                _places[_place(item.__code__)] = filename  # a result that comes back gives its class methods anew, without their file
            work += _reached(item)
    return found


def merged(before: list[Source], now: list[Source]) -> list[Source]:
    """What came with a function, and what it reaches here: its globals are only those that it names."""
    known = {_place(f.__code__) for f, _, _ in now}
    return [*now, *(s for s in before if _place(s[0].__code__) not in known)]


def _reached(function: types.FunctionType) -> Iterator[Any]:
    """Functions and classes in the globals, cells and defaults that a function names. Compiled ones carry their own."""
    values = [function.__globals__.get(name) for name in _names(function.__code__)]
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # not assigned yet
            continue
    values += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    classes = [v for v in function.__globals__.values() if isinstance(v, type)]  # an argument may be of one that the function does not name
    return (v for v in [*values, *classes] if isinstance(v, (types.FunctionType, types.MethodType, type, functools.partial)))


def _names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names


def put_back(carried: list[Source]) -> None:
    """Makes the texts known here, for `filename_of`. A name that stands for another text here gets a suffix."""
    for function, filename, text in carried:
        here = "".join(linecache.getlines(filename))
        if here != text:
            filename = filename if not here else f"{filename}#{hashlib.sha256(text.encode()).hexdigest()[:12]}"
            linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        if function.__code__.co_filename != filename:
            _places[_place(function.__code__)] = filename


def _place(code: types.CodeType) -> tuple[Any, ...]:
    """What stays of a code object in whatever pickle it travels: an argument brings its class, with methods of its own, later than the function."""
    return code.co_qualname, code.co_firstlineno, code.co_code, code.co_names


def filename_of(code: types.CodeType) -> str:
    """The name under which linecache knows the text of a function: its own, unless the function was carried here and its name means nothing."""
    return code.co_filename if linecache.getlines(code.co_filename) else _places.get(_place(code), code.co_filename)


def by_value(value: Any) -> bytes | None:
    """The pickle of something that cannot go by name, or None where there is no cloudpickle or one such pickle is being made just now."""
    if getattr(_inside, "active", False):
        return None
    try:
        import cloudpickle
    except ImportError:
        return None
    _inside.active = True
    try:
        return cloudpickle.dumps(value)
    finally:
        _inside.active = False


def is_inside() -> bool:
    return getattr(_inside, "active", False)
