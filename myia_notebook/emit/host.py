"""Primitives that a native program leaves to NumPy: it calls back with the addresses of the operands; what they say is computed there.

Used for what is rare or needs a library (sorting, factorizations). An exception in the call is kept and raised with the user's line when
the program has ended.
"""
from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from myia_notebook.emit.memory import number
from myia_notebook.ir.types import Array, Type


@dataclass(frozen=True, slots=True)
class HostCall:
    """`operands`: a type for each run-time operand (one word each), or `Known(value)`."""

    function: Callable[..., Any]
    operands: tuple[Any, ...]
    result: Type


@dataclass(frozen=True, slots=True)
class Known:
    value: Any


class Last(threading.local):
    """What the last call-back of a thread left behind, until the program has ended: its problem, or a text."""

    def __init__(self) -> None:
        self.problem: BaseException | None = None
        self.text: str | None = None

    def taken(self) -> BaseException:
        """The problem; where ctypes answered before the call-back began, it was an interrupt."""
        problem, self.problem = self.problem, None
        return KeyboardInterrupt() if problem is None else problem


class HostCalls:
    """The calls of one program. `address` is that of the C function which makes them: (number, address of
    [0, operands' words…], result). The 0 becomes 1 when the result is there: what ctypes itself answers when a call is interrupted before it begins is not to be relied on."""

    def __init__(self) -> None:
        self.calls: list[HostCall] = []
        self.last = Last()
        self._callback = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(self._call)
        self.address: int = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def add(self, call: HostCall) -> int:
        self.calls.append(call)
        return len(self.calls) - 1

    def _call(self, index: int, address: int, result: int) -> None:
        call = self.calls[index]
        try:
            values: list[Any] = []
            at = address + 8
            for operand in call.operands:
                if isinstance(operand, Known):
                    values.append(operand.value)
                    continue
                word = ctypes.c_int64.from_address(at).value
                values.append(view(word, operand) if isinstance(operand, Array) else number(operand)(word))
                at += 8
            with np.errstate(all="ignore"):
                made = call.function(*values)
            _store(made, result, call.result)
            ctypes.c_int64.from_address(address).value = 1
        except BaseException as problem:  # kept, and raised when the program has ended
            self.last.problem = problem

    def taken(self) -> BaseException:
        return self.last.taken()


def view(address: int, t: Array) -> np.ndarray[Any, Any]:
    """An array in the machine's memory, without a copy; read-only."""
    size = int(np.prod(t.shape)) * np.dtype(t.dtype).itemsize
    if not size:
        return np.zeros(t.shape, t.dtype)
    array = np.frombuffer((ctypes.c_char * size).from_address(address), t.dtype).reshape(t.shape)
    array.flags.writeable = False
    return array


def _store(value: Any, address: int, t: Type) -> None:
    dtype = t.dtype  # type: ignore[attr-defined]
    data = np.ascontiguousarray(value, dtype)
    if data.size:
        ctypes.memmove(address, data.ctypes.data, data.nbytes)


__all__ = ["HostCall", "HostCalls", "Known"]
