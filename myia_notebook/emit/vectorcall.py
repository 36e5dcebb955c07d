"""A base class whose instances can be called straight into machine code: CPython's vectorcall protocol (PEP 590).

An instance of `Direct` has one field more than an object, the address of a C function; 0 means that it is called as usual, by its `__call__`. `direct(cls)` lets a
subclass use it, `install(instance, address)` sets it. The class is made with the stable C API (`PyType_FromSpec`); that a subclass written in Python may use the
field is a flag of its type object, whose place is looked up and checked first. Where any of this is not as expected, `Direct` is a plain class and `install` says no.
"""
from __future__ import annotations

import ctypes
import sys
from typing import Any

_FLAGS = 168
"""Where `tp_flags` lies in a type object (64-bit CPython 3.8 and later); checked against `__flags__` before it is relied on."""
_DEFAULT, _BASETYPE, _HAVE_VECTORCALL = 0, 1 << 10, 1 << 11
_TP_CALL, _TP_MEMBERS = 50, 72
_PY_SSIZE, _READONLY = 19, 1
_FIELD = object.__basicsize__
_keep: list[Any] = []


class _Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("value", ctypes.c_void_p)]


class _Member(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("offset", ctypes.c_ssize_t), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


class _Spec(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("size", ctypes.c_int), ("item", ctypes.c_int), ("flags", ctypes.c_uint), ("slots", ctypes.POINTER(_Slot))]


def _flags_of(cls: type) -> ctypes.c_ulong:
    return ctypes.c_ulong.from_address(id(cls) + _FLAGS)


def _is_expected() -> bool:
    """Whether this is an interpreter whose type objects we know."""
    return (sys.implementation.name == "cpython" and ctypes.sizeof(ctypes.c_void_p) == ctypes.sizeof(ctypes.c_ulong) == 8 and _FIELD == 16
            and not hasattr(sys, "gettotalrefcount") and all(_flags_of(c).value == c.__flags__ for c in (int, type, dict, ctypes.Structure)))


def _made() -> type:
    """The base class."""
    if not _is_expected():
        return type("Direct", (), {"__slots__": ()})
    call = ctypes.cast(ctypes.pythonapi.PyVectorcall_Call, ctypes.c_void_p).value
    members = (_Member * 2)(_Member(b"__vectorcalloffset__", _PY_SSIZE, _FIELD, _READONLY, None))
    slots = (_Slot * 3)(_Slot(_TP_CALL, call), _Slot(_TP_MEMBERS, ctypes.addressof(members)), _Slot(0, None))
    spec = _Spec(b"myia_notebook.emit.vectorcall.Direct", _FIELD + 8, 0, _DEFAULT | _BASETYPE | _HAVE_VECTORCALL, slots)
    _keep.extend((members, slots, spec))
    new = ctypes.pythonapi.PyType_FromSpec
    new.restype, new.argtypes = ctypes.py_object, [ctypes.POINTER(_Spec)]
    return new(ctypes.byref(spec))


Direct: Any = _made()


def direct(cls: type) -> type:
    """Lets the instances of a subclass of `Direct` be called through their field."""
    if _is_expected():
        _flags_of(cls).value |= _HAVE_VECTORCALL
    return cls


def install(instance: Any, address: int) -> bool:
    """From now on a call of the instance is a call of the C function at `address`; 0: as usual. The caller keeps that function alive."""
    if not type(instance).__flags__ & _HAVE_VECTORCALL:
        return False
    ctypes.c_void_p.from_address(id(instance) + _FIELD).value = address
    return True
