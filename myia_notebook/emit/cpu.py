"""Native code for the CPU: LLVM assembly to machine code, and the call from Python.

`compile_cpu(plan)` gives a `NativeFunction`: call it with run-time values. Arguments are packed into words, arrays are passed by address
(copied only when they are not contiguous), results are written into buffers that Python owns. The machine runs with the GIL held and
polls for signals, so Ctrl-C stops it; every exit frees its memory. Errors come back by number and are raised with the user's line.
"""
from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from myia_notebook.emit.call import DIRECT, NAME, CallCode, is_supported, python_function
from myia_notebook.emit.jit import load
from myia_notebook.emit.memory import Writer, bits, number, read
from myia_notebook.errors import MyiaError, error
from myia_notebook.gradient.classes import contains_function
from myia_notebook.ir.extent import Shapes
from myia_notebook.ir.extent import number as number_of
from myia_notebook.ir.ranks import closed, places_of
from myia_notebook.ir.types import BOOL, FLOAT, INT, UNIT, Array, Function, List, NoneType, Scalar, Static, Tuple, Type
from myia_notebook.lower.plan import Plan, array_words, needs_arena, words
from myia_notebook.ops.control import exception_of
from myia_notebook.ops.expression import Builder
from myia_notebook.vm import located


def compile_cpu(plan: Plan, session: Any = None, shapes: Shapes | None = None) -> NativeFunction:
    """Machine code for a plan. `session` says what the program read outside itself: with it, the call is emitted too (`emit.call`). Raises M801 for
    what has no native form."""
    machine = _machine(plan, shapes=shapes)
    parameters = [Builder.type_of(p) for p in plan.root.parameters]
    call = None
    if plan.root.result is not None and is_supported(parameters, plan.root.result, session, shapes):
        call = CallCode(machine, parameters, plan.root.result, session, shapes)
        call.build()
        call.build_direct()
        machine.keep.append(call.keep)
    function = _finished(machine)
    engine = function.engine
    if call is not None:
        call.failure.program = function
        function.fast = python_function(engine.get_function_address(NAME), machine.keep)
        function.direct = engine.get_function_address(DIRECT)
    return function


def compile_free(plan: Plan, wrap: Callable[[Any], None] | None = None) -> NativeFunction:
    """Machine code that runs in any thread, without the GIL: called by its `address`, see `emit.llvm.Machine`. `wrap` adds functions to the module around it."""
    machine = _machine(plan, free=True)
    if wrap is not None:
        wrap(machine)
    return _finished(machine)


def _machine(plan: Plan, free: bool = False, shapes: Shapes | None = None) -> Any:
    """The program as LLVM, not yet compiled."""
    from myia_notebook.emit.llvm import Machine
    for t in (plan.root.result, *(p.type for p in plan.root.parameters)):
        if t is not None and contains_function(t, unions=False):
            raise error("M801", message="functions cross the boundary only on the interpreter", hint="use backend='vm'")
    machine = Machine(plan, free, shapes)
    machine.build()
    return machine


def _finished(machine: Any) -> NativeFunction:
    text = machine.text()
    engine = load(text, machine.ops.symbols, list(machine.links))
    return NativeFunction(machine.plan, machine, engine, text)


class NativeFunction:
    """A compiled program."""

    def __init__(self, plan: Plan, machine: Any, engine: Any, text: str) -> None:
        self.errors = machine.errors
        self.engine, self.address = engine, engine.get_function_address("myia_program")
        self.fast: Any = None
        self.direct = 0
        self.llvm_text = text
        self._messages, self._host = machine.messages, machine.host
        self._keep = (engine, machine.keep)
        self._program = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(self.address)
        self.parameters = [Builder.type_of(p) for p in plan.root.parameters]
        self.result: Type = plan.root.result or UNIT
        self.argument_words = sum(len(words(t)) for t in self.parameters)
        self.result_words = len(words(self.result))
        self._keeps_arena = needs_arena(self.result)
        self._free = ctypes.PYFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(engine.get_function_address("myia_free_arena"))
        self._pack = [_packer(t) for t in self.parameters]
        self._unpack = _unpacker(self.result)
        self._places = places_of(machine.shapes, self.parameters)
        self._arrays = array_words(self.result)
        self._is_plain = self.argument_words == len(self.parameters) and all(t in (FLOAT, INT, BOOL) for t in self.parameters) and not self._arrays
        self._layout = struct.Struct("".join("d" if t == FLOAT else "q" for t in self.parameters)) if self._is_plain else None

    def __call__(self, *arguments: Any) -> Any:
        if self._layout is not None:
            return self._call_plain(arguments)
        buffer: list[int | float] = []
        alive: list[Any] = []
        for pack, value in zip(self._pack, arguments):
            pack(value, buffer, alive)
        extents = [place.read(arguments) for place in self._places]
        buffer.extend(extents)
        packed = (_Word * (len(buffer) + 1))()
        for i, word in enumerate(buffer):
            if type(word) is float:
                packed[i].f = word
            else:
                packed[i].i = word  # type: ignore[assignment]
        results = (_Word * (self.result_words + 1))()
        if self._keeps_arena:
            return self._call_keeping(packed, results, extents)
        outputs: dict[int, np.ndarray[Any, Any]] = {}
        for place, t in self._arrays:
            array = np.empty(number_of(t.shape, extents), t.dtype)
            outputs[place] = array
            results[place].i = array.ctypes.data
        status = self._program(ctypes.addressof(packed), ctypes.addressof(results))
        if status:
            self.fail(status)
        value, _ = self._unpack(results, 0, outputs)
        return value

    def _call_keeping(self, packed: Any, results: Any, extents: Sequence[int] = ()) -> Any:
        """A result that lies in the machine's memory: read there, then freed."""
        for place, _ in self._arrays:
            results[place].i = 0
        try:
            status = self._program(ctypes.addressof(packed), ctypes.addressof(results))
            if status:
                self.fail(status)
            return read([results[i].i for i in range(self.result_words)], closed(self.result, extents) if extents else self.result)
        finally:  # 0, which is nothing to free, when the program failed
            self._free(results[self.result_words].i, 0)

    def _call_plain(self, arguments: tuple[Any, ...]) -> Any:
        """Python numbers in: one pack, no lists."""
        assert self._layout is not None
        try:
            packed = self._layout.pack(*arguments)
        except struct.error:
            if any(isinstance(a, np.bool_) or (isinstance(a, np.ndarray) and a.dtype == bool) for a in arguments):  # no int by themselves
                return self._call_plain(tuple(bool(a) if isinstance(a, (np.bool_, np.ndarray)) and a.dtype == bool else a for a in arguments))
            raise error("M708", message="an integer does not fit in 64 bits") from None
        results = (_Word * (self.result_words + 1))()
        if self._keeps_arena:
            return self._call_keeping((ctypes.c_char * len(packed)).from_buffer_copy(packed), results)
        status = self._program(packed, ctypes.addressof(results))
        if status:
            self.fail(status)
        return self._unpack(results, 0, {})[0]

    def fail(self, status: int) -> None:
        """Raises the error of a status."""
        if status < 0:
            raise KeyboardInterrupt
        exit_ = self.errors[status - 1]
        if exit_.code == "host":
            found = self._host.taken()
            raise located(found, exit_.span) if isinstance(found, Exception) else found
        if exit_.code == "message":
            raise self._messages.problem()
        message = self._messages.taken() or exit_.message
        problem: MyiaError = exception_of(exit_.kind, message) if exit_.kind else error(exit_.code, message=exit_.message)
        problem.span = exit_.span
        raise problem


class _Word(ctypes.Union):
    _fields_ = [("i", ctypes.c_int64), ("f", ctypes.c_double)]


def _packer(t: Type) -> Callable[[Any, list[int | float], list[Any]], None]:
    """How a value of a type becomes words."""
    match t:
        case Scalar(dtype="float64"):
            return lambda v, out, alive: out.append(float(v))
        case Scalar(dtype="float32"):
            return lambda v, out, alive: out.append(bits(v, "s"))
        case Scalar():
            return lambda v, out, alive: out.append(int(v))
        case Array():
            return _pack_array
        case List() | Function():
            return lambda v, out, alive: _pack_memory(v, t, out, alive)
        case Tuple(items):
            inner = [_packer(item) for item in items]

            def pack(v: Any, out: list[int | float], alive: list[Any]) -> None:
                for one, item in zip(inner, v):
                    one(item, out, alive)
            return pack
        case _:
            return lambda v, out, alive: None


def _pack_memory(value: Any, t: Type, out: list[int | float], alive: list[Any]) -> None:
    writer = Writer()
    out.extend(writer.words(value, t))
    alive.append(writer)


def _pack_array(value: Any, out: list[int | float], alive: list[Any]) -> None:
    array = np.ascontiguousarray(value)
    alive.append(array)
    out.append(array.ctypes.data)


def _unpacker(t: Type) -> Callable[[Any, int, dict[int, Any]], tuple[Any, int]]:
    """How words become a value: gives it and the next place."""
    match t:
        case Scalar():
            convert = number(t)
            return lambda words_, at, outputs: (convert(words_[at].i), at + 1)
        case Array():
            return lambda words_, at, outputs: (outputs[at], at + 1)
        case Tuple(items):
            inner = [_unpacker(item) for item in items]

            def unpack(words_: Any, at: int, outputs: dict[int, Any]) -> tuple[Any, int]:
                made: list[Any] = []
                for one in inner:
                    value, at = one(words_, at, outputs)
                    made.append(value)
                return tuple(made), at
            return unpack
        case NoneType():
            return lambda words_, at, outputs: (None, at)
        case Static(value):
            return lambda words_, at, outputs: (value, at)
        case _:
            return lambda words_, at, outputs: (None, at)
