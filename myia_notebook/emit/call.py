"""The call from Python, in machine code: C functions in CPython's own calling conventions (METH_FASTCALL, vectorcall) around the program.

    check that nothing the program read has been rebound     pointers in dicts, cells and functions, compared
    check the arguments: exact classes, dtypes, shapes       a mismatch returns MISS, and the slow path in Python takes over
    unpack, run the program, make the result                 an error calls `Failure`, which raises the user's error

Only for arguments and results that are numbers, arrays and tuples of them. The layout of float and array objects is that of CPython's and
NumPy's public headers (`PyFloatObject`, `PyArrayObject_fields`); everything else goes through their C API.
"""
from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

import numpy as np
from llvmlite import ir

from myia_notebook.emit.call_result import MISS, Failure
from myia_notebook.emit.scalar import F32, F64, I32, I64
from myia_notebook.ir.extent import LEAST, Extent, Shapes, emit_extent
from myia_notebook.ir.types import Array, NoneType, Scalar, Tuple, Type
from myia_notebook.lower.plan import words

NAME, DIRECT = "myia_call", "myia_vectorcall"
SLOW = "_call_slowly"
"""The method of a `Direct` object (`emit.vectorcall`) that takes over when machine code cannot."""
_METH_FASTCALL = 0x0080
_VALUE = 16  # where the value of a float, a NumPy scalar and a cell, and the data pointer of an array lie
_RANK, _DIMENSIONS, _DESCRIPTOR, _FLAGS = 24, 32, 56, 64
_PYARRAY_TYPE, _PYARRAY_NEW = 2, 93  # places in NumPy's table of functions, part of its ABI
_CONTIGUOUS_ALIGNED = 0x0001 | 0x0100


class _MethodDef(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


def is_supported(parameters: list[Type], result: Type, session: Any, shapes: Shapes | None = None) -> bool:
    """Whether a program can be called this way."""
    if shapes is not None and not array_maker():
        return False
    return (session is not None and session.is_simple() and all(isinstance(t, (Scalar, Array)) for t in parameters) and _makes(result))


def _makes(t: Type) -> bool:
    if isinstance(t, Tuple):
        return all(map(_makes, t.items))
    return isinstance(t, (Scalar, Array, NoneType))


class CallCode:
    """Emits the function into the module of a machine."""

    def __init__(self, machine: Any, parameters: list[Type], result: Type, session: Any, shapes: Shapes | None = None) -> None:
        self.shapes = shapes
        self.symbols: dict[int, Any] = {}
        self.m, self.parameters, self.result, self.session = machine, parameters, result, session
        self.function = ir.Function(machine.module, ir.FunctionType(I64, [I64, I64, I64]), NAME)
        self.b = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.miss = self.function.append_basic_block("miss")
        self.keep: list[Any] = []
        self.failure = Failure()

    # -- small pieces

    def int(self, value: int) -> Any:
        if isinstance(value, Extent):
            return emit_extent(value, self.symbols.__getitem__, self.int, self.b)
        return ir.Constant(I64, value)

    def object(self, value: Any) -> Any:
        """The address of a Python object, kept alive."""
        self.keep.append(value)
        return self.m.outside(id(value), self.b)

    def load(self, address: Any, offset: int, t: Any = I64) -> Any:
        return self.b.load(self.b.inttoptr(self.b.add(address, self.int(offset)), t.as_pointer()))

    def call(self, name: str, result: Any, *arguments: Any) -> Any:
        function = self.m.ops.external(name, result, [a.type for a in arguments])
        return self.b.call(function, list(arguments))

    def require(self, condition: Any) -> None:
        good = self.function.append_basic_block("ok")
        self.b.cbranch(condition, good, self.miss).set_weights([1000, 1])
        self.b.position_at_end(good)

    def same(self, x: Any, y: Any) -> None:
        self.require(self.b.icmp_unsigned("==", x, y))

    # -- the function

    def build(self) -> None:
        b = self.b
        _, arguments, count = self.function.args
        argument_words = sum(len(words(t)) for t in self.parameters)
        result_words = len(words(self.result))
        given = b.alloca(ir.ArrayType(I64, argument_words + 1 + (len(self.shapes.hints) if self.shapes is not None else 0)))
        results = b.alloca(ir.ArrayType(I64, result_words + 1))
        self.same(count, self.int(len(self.parameters)))
        self._nothing_rebound()
        base = b.ptrtoint(given, I64)
        for i, t in enumerate(self.parameters):
            self._argument(self.load(arguments, 8 * i), t, b.add(base, self.int(8 * i)))
        self._extents(base, argument_words)
        made = b.ptrtoint(results, I64)
        arrays = self._new_arrays(made)
        program = self.m.function
        status = b.call(program, [b.bitcast(given, I64.as_pointer()), b.bitcast(results, I64.as_pointer())])
        good, failed = self.function.append_basic_block("done"), self.function.append_basic_block("failed")
        b.cbranch(b.icmp_unsigned("==", status, self.int(0)), good, failed).set_weights([1000, 1])
        b.position_at_end(failed)
        for array in arrays.values():
            self.call("Py_DecRef", ir.VoidType(), array)
        interrupted, wrong = self.function.append_basic_block("interrupted"), self.function.append_basic_block("wrong")
        b.cbranch(b.icmp_signed("<", status, self.int(0)), interrupted, wrong)
        b.position_at_end(interrupted)
        b.ret(self.int(0))
        b.position_at_end(wrong)
        if self.shapes is not None:  # the program for this very shape says what is wrong
            b.branch(self.miss)
            wrong = self.function.append_basic_block("unused")
            b.position_at_end(wrong)
        number = self.call("PyLong_FromLongLong", I64, status)
        nothing = self.call("PyObject_CallOneArg", I64, self.object(self.failure), number)
        self.call("Py_DecRef", ir.VoidType(), number)
        b.ret(nothing)
        b.position_at_end(good)
        value, _ = self._made(self.result, made, 0, arrays)
        b.ret(value)
        b.position_at_end(self.miss)
        miss = self.object(MISS)
        self.call("Py_IncRef", ir.VoidType(), miss)
        b.ret(miss)

    def build_direct(self) -> None:
        """The same for calls of the object itself: vectorcall(callable, arguments, count, names). What machine code cannot do, its method `SLOW` does."""
        inner = self.function
        self.function = ir.Function(self.m.module, ir.FunctionType(I64, [I64, I64, I64, I64]), DIRECT)
        callable_, arguments, count, names = self.function.args
        self.b = b = ir.IRBuilder(self.function.append_basic_block("entry"))
        positional, missed, slow, answered = (self.function.append_basic_block(n) for n in ("positional", "missed", "slow", "answered"))
        count = b.and_(count, self.int((1 << 63) - 1))  # the topmost bit says that arguments[-1] is free
        b.cbranch(b.icmp_unsigned("==", names, self.int(0)), positional, slow)
        b.position_at_end(positional)
        result = b.call(inner, [callable_, arguments, count])
        miss = self.object(MISS)
        b.cbranch(b.icmp_unsigned("==", result, miss), missed, answered).set_weights([1, 1000])
        b.position_at_end(missed)
        self.call("Py_DecRef", ir.VoidType(), miss)
        b.branch(slow)
        b.position_at_end(answered)
        b.ret(result)
        b.position_at_end(slow)
        method = self.call("PyObject_GetAttr", I64, callable_, self.object(sys.intern(SLOW)))
        value = self.call("PyObject_Vectorcall", I64, method, arguments, count, names)
        self.call("Py_DecRef", ir.VoidType(), method)
        b.ret(value)

    def _nothing_rebound(self) -> None:
        for namespace, name, value in self.session.names():
            self.keep.append(name)
            self.same(self.call("PyDict_GetItemWithError", I64, self.object(namespace), self.object(name)), self._expected(value))
        for cell, value in self.session.cells():
            self.same(self.load(self.object(cell), _VALUE), self._expected(value))
        for cls, name, value in self.session.methods():
            self.keep.append(name)
            self.same(self.call("_PyType_Lookup", I64, self.object(cls), self.object(name)), self._expected(value))
        for function, code, defaults in self.session.functions():
            self.same(self.call("PyFunction_GetCode", I64, self.object(function)), self.object(code))
            self.same(self.call("PyFunction_GetDefaults", I64, self.object(function)), self.int(0) if defaults is None else self.object(defaults))

    def _expected(self, value: Any) -> Any:
        return self.int(0) if self.session.is_missing(value) else self.object(value)

    def _argument(self, x: Any, t: Type, target: Any) -> None:
        """Checks one argument and stores its word."""
        b = self.b
        cls = self.load(x, 8)
        if isinstance(t, Array):
            self._array_argument(x, cls, t, target)
            return
        assert isinstance(t, Scalar)
        if t.dtype == "bool":
            true, false = self.object(True), self.object(False)
            self.require(b.or_(b.icmp_unsigned("==", x, true), b.icmp_unsigned("==", x, false)))
            value = b.zext(b.icmp_unsigned("==", x, true), I64)
        elif t.weak and t.dtype == "float64":
            self.same(cls, self.object(float))
            value = self.load(x, _VALUE)
        elif t.weak:
            self.same(cls, self.object(int))
            overflow = b.alloca(I32)
            value = self.call("PyLong_AsLongLongAndOverflow", I64, x, b.ptrtoint(overflow, I64))
            self.require(b.icmp_unsigned("==", b.load(overflow), ir.Constant(I32, 0)))
        else:
            self.same(cls, self.object(np.dtype(t.dtype).type))
            size = np.dtype(t.dtype).itemsize
            value = self.load(x, _VALUE) if size == 8 else b.zext(self.load(x, _VALUE, I32), I64)
        b.store(value, b.inttoptr(target, I64.as_pointer()))

    def _array_argument(self, x: Any, cls: Any, t: Array, target: Any) -> None:
        b = self.b
        self.same(cls, self.object(np.ndarray))
        self.require(b.icmp_unsigned("==", self.load(x, _RANK, I32), ir.Constant(I32, len(t.shape))))
        self.same(self.load(x, _DESCRIPTOR), self.object(np.dtype(t.dtype)))
        flags = b.and_(self.load(x, _FLAGS, I32), ir.Constant(I32, _CONTIGUOUS_ALIGNED))
        self.require(b.icmp_unsigned("==", flags, ir.Constant(I32, _CONTIGUOUS_ALIGNED)))
        dimensions = self.load(x, _DIMENSIONS)
        for i, n in enumerate(t.shape):
            self._extent(self.load(dimensions, 8 * i), n)
        b.store(self.load(x, _VALUE), b.inttoptr(target, I64.as_pointer()))

    def _extent(self, found: Any, n: Any) -> None:
        """Checks one extent of an argument; a symbol takes the first that it meets."""
        if isinstance(n, Extent):
            symbol = n.terms[0][0][0]
            if symbol not in self.symbols:
                self.symbols[symbol] = found
                self.require(self.b.icmp_signed(">=", found, self.int(LEAST)))
                return
        self.same(found, self.int(n))

    def _extents(self, base: Any, first: int) -> None:
        """Checks the guards, and hands the symbols over after the arguments."""
        if self.shapes is None:
            return
        b = self.b
        for guard in self.shapes.guards:
            value = self.int(guard.extent)
            test = b.icmp_signed("==" if guard.test == "zero" else ">", value, self.int(0))
            self.require(test if guard.answer else b.not_(test))
        for symbol, value in self.symbols.items():
            b.store(value, b.inttoptr(b.add(base, self.int(8 * (first + symbol))), I64.as_pointer()))

    def _dimensions(self, shape: tuple[Any, ...]) -> Any:
        """The address of a shape, as C wants it."""
        if not any(isinstance(n, Extent) for n in shape):
            kept = (ctypes.c_ssize_t * max(len(shape), 1))(*shape)
            self.keep.append(kept)
            return self.m.outside(ctypes.addressof(kept), self.b)
        area = self.b.ptrtoint(self.b.alloca(ir.ArrayType(I64, len(shape))), I64)
        for i, n in enumerate(shape):
            self.b.store(self.int(n), self.b.inttoptr(self.b.add(area, self.int(8 * i)), I64.as_pointer()))
        return area

    def _new_arrays(self, made: Any) -> dict[int, Any]:
        """A fresh array for each one in the result; the program writes into it."""
        from myia_notebook.lower.plan import array_words
        found: dict[int, Any] = {}
        for place, t in array_words(self.result):
            array = self._new_array(t)
            made_it, no_memory = self.function.append_basic_block("made"), self.function.append_basic_block("no_memory")
            self.b.cbranch(self.b.icmp_unsigned("==", array, self.int(0)), no_memory, made_it).set_weights([1, 1000])
            self.b.position_at_end(no_memory)
            self.b.ret(self.int(0))
            self.b.position_at_end(made_it)
            self.b.store(self.load(array, _VALUE), self.b.inttoptr(self.b.add(made, self.int(8 * place)), I64.as_pointer()))
            found[place] = array
        return found

    def _new_array(self, t: Array) -> Any:
        new = array_maker()
        if not new:
            return self.call("PyObject_CallObject", I64, self.object(np.empty), self.object((t.shape, np.dtype(t.dtype))))
        signature = ir.FunctionType(I64, [I64, I32, I64, I32, I64, I64, I32, I32, I64])
        zero, none = self.int(0), ir.Constant(I32, 0)
        return self.b.call(self.b.inttoptr(self.m.outside(new, self.b), signature.as_pointer()),
                           [self.object(np.ndarray), ir.Constant(I32, len(t.shape)), self._dimensions(t.shape),
                            ir.Constant(I32, np.dtype(t.dtype).num), zero, zero, none, none, zero])

    def _made(self, t: Type, made: Any, at: int, arrays: dict[int, Any]) -> tuple[Any, int]:
        """The Python object of a result (a new reference), and the next word."""
        b = self.b
        match t:
            case Array():
                return arrays[at], at + 1
            case Tuple(items):
                whole = self.call("PyTuple_New", I64, self.int(len(items)))
                for i, item in enumerate(items):
                    value, at = self._made(item, made, at, arrays)
                    self.call("PyTuple_SetItem", I32, whole, self.int(i), value)
                return whole, at
            case Scalar(dtype, weak):
                if dtype == "bool":
                    bit = b.icmp_unsigned("!=", b.and_(self.load(made, 8 * at), self.int(1)), self.int(0))
                    value = b.select(bit, self.object(True), self.object(False))
                    self.call("Py_IncRef", ir.VoidType(), value)
                    return value, at + 1
                value = self._number(made, at, dtype)
                if not weak:
                    strong = self.call("PyObject_CallOneArg", I64, self.object(np.dtype(dtype).type), value)
                    self.call("Py_DecRef", ir.VoidType(), value)
                    value = strong
                return value, at + 1
            case _:
                none = self.object(None)
                self.call("Py_IncRef", ir.VoidType(), none)
                return none, at

    def _number(self, made: Any, at: int, dtype: str) -> Any:
        b = self.b
        if dtype == "float64":
            return self.call("PyFloat_FromDouble", I64, self.load(made, 8 * at, F64))
        if dtype == "float32":
            return self.call("PyFloat_FromDouble", I64, b.fpext(self.load(made, 8 * at, F32), F64))
        if dtype == "int32":
            return self.call("PyLong_FromLongLong", I64, b.sext(self.load(made, 8 * at, I32), I64))
        return self.call("PyLong_FromLongLong", I64, self.load(made, 8 * at))


@functools.cache
def array_maker() -> int:
    """The address of NumPy's `PyArray_New`, tried once; 0 where it is not what we think."""
    try:
        from numpy._core import _multiarray_umath as core
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        table = pointer(core._ARRAY_API, None)  # type: ignore[attr-defined]
        address = ctypes.c_void_p.from_address(table + 8 * _PYARRAY_NEW).value or 0
        if ctypes.c_void_p.from_address(table + 8 * _PYARRAY_TYPE).value != id(np.ndarray):
            return 0
        make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
                                 ctypes.c_int, ctypes.c_int, ctypes.c_void_p)(address)
        shape = (ctypes.c_ssize_t * 2)(3, 5)
        made = make(np.ndarray, 2, ctypes.addressof(shape), np.dtype(np.float32).num, None, None, 0, 0, None)
        return address if made.shape == (3, 5) and made.dtype == np.float32 and made.flags.c_contiguous else 0
    except (ImportError, AttributeError):
        return 0


def python_function(address: int, keep: list[Any]) -> Any:
    """The Python callable around the emitted function."""
    definition = _MethodDef(b"myia_program", address, _METH_FASTCALL, None)
    keep.append(definition)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return new(ctypes.addressof(definition), None, None)


__all__ = ["DIRECT", "NAME", "CallCode", "is_supported", "python_function"]
