"""Lists and unions between Python and the machine: how a run-time value is laid out in words, and read back.

A list is the address of [length, block], a block [capacity, used, items…]; a value of a union is the address of [tag, fields…] (0 words are
never shared with the machine's own memory: what Python lays out here, Python owns and the machine only reads). Both directions walk with
their own stack.
"""
from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from myia_notebook.ir.types import Array, Function, List, NoneType, Scalar, Static, Tuple, Type
from myia_notebook.lower.plan import words

_DOUBLE, _SINGLE = struct.Struct("d"), struct.Struct("f")
_INT = struct.Struct("q")


def bits(value: Any, kind: str) -> int:
    """A number as the (signed) 64 bits of a word."""
    if kind == "f":
        return _INT.unpack(_DOUBLE.pack(value))[0]
    if kind == "s":
        return int(np.float32(value).view(np.uint32))
    if kind == "w":
        return int(value) & 0xFFFFFFFF
    return int(value)


class Writer:
    """Lays out values; `keep` holds the memory while the machine runs."""

    def __init__(self) -> None:
        self.keep: list[Any] = []
        self.known: dict[int, int] = {}

    def block(self, ints: list[int]) -> int:
        made = (ctypes.c_int64 * len(ints))(*ints)
        self.keep.append(made)
        return ctypes.addressof(made)

    def words(self, value: Any, t: Type) -> list[int]:
        """The words of a value."""
        results: list[list[int]] = []
        work: list[tuple[str, Any, Any]] = [("value", value, t)]
        while work:
            action, x, u = work.pop()
            if action == "tuple":
                made = _joined(results, u)
                results.append(made)
                continue
            if action == "list":
                count, w = u
                flat = _joined(results, count)
                address = self.block([count, count, *flat])
                results.append([self.block([count, address])])
                continue
            if action == "cell":
                flat = _joined(results, u)
                tag = next(i for i, m in enumerate(x.graph.function_class.members) if m is x.graph)
                address = self.known[id(x)] = self.block([tag, *flat])
                self.keep.append(x)
                results.append([address])
                continue
            match u:
                case Tuple(items):
                    work.append(("tuple", None, len(items)))
                    work.extend(("value", c, i) for c, i in reversed(list(zip(x, items))))
                case List(item) if item in (Scalar("float64", True), Scalar("float64")) and x:
                    results.append([self.floats(x)])
                case List(item):
                    if not x:
                        results.append([0])
                        continue
                    work.append(("list", None, (len(x), len(words(item)))))
                    work.extend(("value", c, item) for c in reversed(x))
                case Function():
                    if id(x) in self.known:
                        results.append([self.known[id(x)]])
                        continue
                    fields = [p.type for p in x.graph.parameters[:x.graph.captured]]
                    work.append(("cell", x, len(fields)))
                    work.extend(("value", c, i) for c, i in reversed(list(zip(x.captured, fields))))
                case Array():
                    array = np.ascontiguousarray(x)
                    self.keep.append(array)
                    results.append([array.ctypes.data])
                case _:
                    kinds = words(u)
                    results.append([bits(x, kinds[0])] if kinds else [])
        return results[0]

    def floats(self, values: list[float]) -> int:
        count = len(values)
        items = np.empty(count + 2, np.int64)
        items[:2] = count
        items[2:] = np.array(values, np.float64).view(np.int64)
        self.keep.append(items)
        return self.block([count, items.ctypes.data])


def _joined(results: list[list[int]], count: int) -> list[int]:
    if not count:
        return []
    made = [w for part in results[len(results) - count:] for w in part]
    del results[len(results) - count:]
    return made


def read_words(address: int, count: int) -> list[int]:
    return list((ctypes.c_int64 * count).from_address(address)) if count else []


def number(t: Scalar) -> Callable[[int], Any]:
    """How a word becomes a number of type t."""
    match t.dtype:
        case "float64" if t.weak:
            return lambda word: _DOUBLE.unpack(_INT.pack(word))[0]
        case "float64":
            return lambda word: np.float64(_DOUBLE.unpack(_INT.pack(word))[0])
        case "float32":
            return lambda word: np.uint32(word & 0xFFFFFFFF).view(np.float32)
        case "bool":
            return lambda word: bool(word & 1)
        case "int32":
            return lambda word: np.uint32(word & 0xFFFFFFFF).view(np.int32)
        case _:
            return int if t.weak else np.int64


def read(flat: list[int], t: Type) -> Any:
    """The run-time value with these words."""
    results: list[Any] = []
    work: list[tuple[str, Any, Any]] = [("value", flat, t)]
    while work:
        action, x, u = work.pop()
        if action == "made":
            count = u
            items = results[len(results) - count:] if count else []
            del results[len(results) - count:]
            if x == "tuple":
                results.append(tuple(items))
            elif x == "list":
                results.append(items)
            else:
                from myia_notebook.vm import Closure
                results.append(Closure(x, tuple(items)))
            continue
        match u:
            case Tuple(items):
                work.append(("made", "tuple", len(items)))
                _push(work, x, list(items))
            case List(item):
                count = read_words(x[0], 1)[0] if x[0] else 0
                if isinstance(item, Scalar) and count:
                    block = read_words(x[0], 2)[1]
                    results.append(list(map(number(item), read_words(block + 16, count))))
                    continue
                work.append(("made", "list", count))
                if count:
                    block = read_words(x[0], 2)[1]
                    w = len(words(item))
                    all_words = read_words(block + 16, count * w)
                    work.extend(("value", all_words[i * w:(i + 1) * w], item) for i in reversed(range(count)))
            case Function(cls):
                member = cls.members[read_words(x[0], 1)[0]]
                fields: list[Any] = [p.type for p in member.parameters[:member.captured]]
                size = sum(len(words(f)) for f in fields)
                work.append(("made", member, len(fields)))
                _push(work, read_words(x[0] + 8, size), fields)
            case Array(dtype, shape):
                size = int(np.prod(shape)) * np.dtype(dtype).itemsize
                raw = (ctypes.c_char * size).from_address(x[0]) if size else b""
                results.append(np.frombuffer(raw, dtype).reshape(shape).copy())
            case Scalar():
                results.append(number(u)(x[0]))
            case Static(value):
                results.append(value)
            case NoneType():
                results.append(None)
            case _:
                results.append(None)
    return results[0]


def _push(work: list[tuple[str, Any, Any]], flat: list[int], types: list[Any]) -> None:
    at = 0
    pieces: list[tuple[str, Any, Any]] = []
    for t in types:
        w = len(words(t))
        pieces.append(("value", flat[at:at + w], t))
        at += w
    work.extend(reversed(pieces))


__all__ = ["Writer", "bits", "number", "read"]
