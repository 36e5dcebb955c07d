"""From a global name to a value of the language, and the memory of what was read.

A `ParseSession` parses every function once and records each global, closure cell and helper that it read, so that `is_stale` can tell
when one of them was rebound. Modules are folded by attribute (`np.sin`); Python functions become graphs; numbers, arrays and tuples
are constants; everything that the language does not know is refused by its name.
"""
from __future__ import annotations

import builtins
import difflib
import functools
import inspect
import sys
import types
from collections.abc import Collection
from typing import Any

import numpy as np

from myia_notebook.boundary import ClosureValue
from myia_notebook.errors import MyiaError
from myia_notebook.infer.structures import parts_of
from myia_notebook.infer.values import type_of_value
from myia_notebook.ir.graph import Graph
from myia_notebook.ops.table import operation_for

MISSING = object()
_SETTLED = frozenset((*sys.stdlib_module_names, "numpy", "scipy", "myia_notebook"))
"""Modules that nobody rebinds names of."""


class ParseSession:
    """One program being parsed: graphs by Python function, and everything read from outside."""

    def __init__(self) -> None:
        self.graphs: dict[Any, Graph] = {}
        self.pending: list[tuple[Any, Graph]] = []
        self.kept: list[Any] = []
        self._reads: dict[tuple[int, str], tuple[dict[str, Any], str, Any]] = {}
        self._cells: dict[int, tuple[types.CellType, Any]] = {}
        self._codes: dict[int, tuple[Any, Any, Any]] = {}
        self._contents: list[tuple[Any, list[Any]]] = []
        self._attributes: list[tuple[Any, str, Any]] = []
        self._methods: dict[tuple[int, str], tuple[type, str, Any]] = {}

    def read_attribute(self, owner: Any, name: str) -> Any:
        """An attribute of an object outside the program, remembered; MISSING when there is none."""
        value = getattr(owner, name, MISSING)
        if isinstance(owner, types.ModuleType):
            if owner.__name__.partition(".")[0] not in _SETTLED and name in vars(owner):
                self.read_global(vars(owner), name)
        elif not inspect.ismethod(value):
            self._attributes.append((owner, name, value))
        return value

    def read_method(self, cls: type, name: str) -> None:
        """What a class defines under a name, remembered."""
        self._methods.setdefault((id(cls), name), (cls, name, inspect.getattr_static(cls, name, MISSING)))

    def methods(self) -> Collection[tuple[type, str, Any]]:
        """(class, name, what it defines) of each method that was looked up."""
        return self._methods.values()

    def read_global(self, namespace: dict[str, Any], name: str) -> Any:
        """The value of a global or builtin name, remembered; MISSING when there is none."""
        value = namespace.get(name, MISSING)
        self._reads.setdefault((id(namespace), name), (namespace, name, value))
        return vars(builtins).get(name, MISSING) if value is MISSING else value

    def read_cell(self, cell: types.CellType) -> Any:
        try:
            value = cell.cell_contents
        except ValueError:
            value = MISSING
        self._cells.setdefault(id(cell), (cell, value))
        return value

    def read_function(self, function: Any) -> None:
        self._codes.setdefault(id(function), (function, function.__code__, function.__defaults__))

    def read_contents(self, value: Any) -> None:
        """A value with parts from outside: remembered with its parts as they are."""
        self._contents.append((value, parts_of(value)))

    def is_simple(self) -> bool:
        """Whether staleness can be told by comparing pointers in plain dicts, cells and functions."""
        return not self._contents and not self._attributes and all(type(namespace) is dict for namespace, _, _ in self.names())

    def names(self) -> Collection[tuple[dict[str, Any], str, Any]]:
        """(namespace, name, value) of each name that was read, once."""
        return self._reads.values()

    def cells(self) -> Collection[tuple[types.CellType, Any]]:
        return self._cells.values()

    def functions(self) -> Collection[tuple[Any, Any, Any]]:
        """(function, code, defaults) of each function that was parsed."""
        return self._codes.values()

    @staticmethod
    def is_missing(value: Any) -> bool:
        return value is MISSING

    def is_stale(self) -> bool:
        """Whether something that was read has been rebound or changed since."""
        for value, items in self._contents:
            now = parts_of(value)
            if len(now) != len(items) or any(a is not b for a, b in zip(now, items)):
                return True
        for namespace, name, value in self.names():
            if namespace.get(name, MISSING) is not value:
                return True
        for cell, value in self.cells():
            try:
                if cell.cell_contents is not value:
                    return True
            except ValueError:
                if value is not MISSING:
                    return True
        if any(inspect.getattr_static(cls, name, MISSING) is not value for cls, name, value in self.methods()):
            return True
        if any(getattr(owner, name, MISSING) is not value for owner, name, value in self._attributes):
            return True
        return any(f.__code__ is not code or f.__defaults__ is not defaults for f, code, defaults in self.functions())


class Instance:
    """`self` of a bound method, while its body is translated: only its attributes can be read."""

    __slots__ = ("object",)

    def __init__(self, object_: Any) -> None:
        self.object = object_


def unwrap(value: Any) -> Any:
    """The Python function behind a compiled one."""
    return getattr(value, "__myia_function__", value)


def is_python_function(value: Any) -> bool:
    return inspect.isfunction(value) or inspect.ismethod(value) or isinstance(value, (functools.partial, ClosureValue))


def is_constant(value: Any) -> bool:
    """Whether a value may stand in a program as a constant."""
    if isinstance(value, type):
        return True
    if operation_for(value) is not None or isinstance(value, (np.dtype, str)):
        return True
    try:
        type_of_value(value)
    except MyiaError:
        return False
    return True


def is_plain(value: tuple[Any, ...]) -> bool:
    """Whether a tuple holds numbers, arrays and such tuples only."""
    return all(is_plain(v) if type(v) is tuple else isinstance(v, (bool, int, float, np.ndarray, np.generic, type(None))) for v in value)


def suggestion(name: str, known: list[str]) -> str:
    """`did you mean ...?`, or ''."""
    close = difflib.get_close_matches(name, known, 1)
    return f"did you mean '{close[0]}'?" if close else ""
