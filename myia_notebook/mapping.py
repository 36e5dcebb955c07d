"""`map_elements(f)`: a program whose data are numbers, tuples and records, over the elements of arrays, in parallel over the cores.

    map_elements(f)(x, y) [i, j]  =  f(x[i, j], y[i, j])           x and y broadcast together, as NumPy's do

Loops, recursion, closures and unions inside f are what they are elsewhere, so are derivatives: `map_elements(grad(f))(x)`. An argument may be a tuple or
record of arrays. The elements of a float64 array are Python's floats, those of an int64 array ints, those of a float32 or int32 array stay so. A result that is
a tuple or record gives one of arrays. The code needs no GIL; each core takes pieces until none is left, so unequal elements do not matter.
"""
from __future__ import annotations

import functools
import itertools
import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from ctypes import c_int64
from dataclasses import dataclass
from typing import Any

import numpy as np

from myia_notebook.api import Caller, MyiaFunction, _contains_function, _key, is_function
from myia_notebook.errors import MyiaError, error
from myia_notebook.infer.structures import has_parts, parts_of, rebuild, structure_of
from myia_notebook.infer.values import DTYPES, type_of_value
from myia_notebook.ir.types import NoneType, Record, Scalar, Static, Tuple, Type, parts
from myia_notebook.lower.plan import words
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.primitive import Abstract
from myia_notebook.pipeline import INTERPRETED, Unit, compile_unit, prints
from myia_notebook.vm import run

PIECES = 8
"""Pieces for each core: enough that none waits long for another, few enough that taking one costs nothing."""
_EXAMPLES: dict[str, Any] = {"float64": 1.0, "int64": 1, "bool": True, "float32": np.float32(1), "int32": np.int32(1)}
_STORED = {"f": "float64", "s": "float32", "i": "int64", "w": "int32", "b": "bool"}


@dataclass(frozen=True, slots=True)
class Mapped:
    """A program for one signature of elements. `run` is machine code (a `MappedProgram`), a kernel, or a function of one element's values; `over` takes it over
    all elements."""

    unit: Unit
    session: Any
    run: Any
    kinds: tuple[str, ...]
    """The words of the result."""
    over: Callable[..., None]
    serial: bool = False
    """Whether elements go one after the other, in order: the program prints."""


class MappedFunction:
    """What `map_elements` returns. Thread-safe; compiled once for each signature of the elements."""

    def __init__(self, function: Any, backend: str | None = None) -> None:
        self._caller: Caller = function if isinstance(function, Caller) else MyiaFunction(function, backend)
        self._backend = backend or self._caller._backend
        self._cache: dict[Any, Mapped] = {}
        functools.update_wrapper(self, self._caller, updated=())

    def __repr__(self) -> str:
        return f"<{self._caller!r} over elements>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves: list[np.ndarray[Any, Any]] = []
        examples = [_example(v, leaves, i) for i, v in enumerate(self._caller._bind(args, kwargs))]
        try:
            shape = np.broadcast_shapes(*(leaf.shape for leaf in leaves))
        except ValueError:
            raise error("M402", message=f"map_elements: the shapes {', '.join(str(x.shape) for x in leaves)} do not broadcast together") from None
        mapped = self._mapped(examples)
        outputs = [np.empty(shape, _STORED[kind]) for kind in mapped.kinds]
        if math.prod(shape):
            mapped.over(mapped, leaves, outputs, shape)
        assert mapped.unit.result_type is not None
        return _assembled(mapped.unit.result_type, iter(outputs))

    def _mapped(self, examples: list[Any]) -> Mapped:
        key = tuple(map(_key, examples))
        found = self._cache.get(key)
        if found is None or found.session.is_stale():
            found = self._cache[key] = self._compile(examples)
        return found

    def _compile(self, examples: list[Any]) -> Mapped:
        unit, session = self._caller._unit(examples)
        unit.arguments = [Abstract(a.type) for a in unit.arguments]  # what an element is, is not known
        unit.backend, unit.may_interpret = self._backend or "numba", False
        interpreted = unit.backend in INTERPRETED
        compile_unit(unit, until="code" if interpreted else "lowered")
        assert unit.optimized is not None and unit.result_type is not None
        if not _is_of_numbers(unit.result_type):
            raise error("M308", message=f"map_elements: each element gives {unit.result_type}", hint="return numbers, and tuples and records of numbers")
        kinds = tuple(words(unit.optimized.result))  # type: ignore[arg-type]
        if interpreted:
            return Mapped(unit, session, unit.run, kinds, _interpreted)
        if unit.backend == "cuda":
            from myia_notebook.emit.cuda import Kernel, require_device
            from myia_notebook.emit.kernel_text import kernel_text
            text = kernel_text(unit.lowered)
            require_device()
            return Mapped(unit, session, Kernel.of(text), kinds, _on_device)
        from myia_notebook.emit.mapped import MappedProgram
        return Mapped(unit, session, MappedProgram(unit.lowered), kinds, _compiled, prints(unit.optimized))


def map_elements(f: Any, *, backend: str | None = None) -> MappedFunction:
    """A function of arrays that applies f to their elements, in parallel over the cores.

    f: a Python function, a compiled function or a derivative, of numbers, tuples and records, giving such. Arrays broadcast together; numbers and
    functions are the same for every element. Raises what f raises at the first element that fails, in order; the message and the attribute `element`
    say which. M308 when an element's result is no number, tuple or record of numbers; M402 when shapes do not broadcast.
    """
    return MappedFunction(f, backend)


# -- arguments and results

def _example(value: Any, leaves: list[np.ndarray[Any, Any]], position: int) -> Any:
    """The value that f gets, with an example in the place of each element; adds the arrays and numbers to the leaves."""
    if is_function(value) or value is None or isinstance(value, str):
        return value
    if isinstance(value, np.ndarray) and value.ndim:
        if value.dtype.name not in DTYPES:
            raise error("M305", type=f"argument {position}: an array of {value.dtype}", hint=f"convert it to one of {', '.join(DTYPES)}")
        leaves.append(value)
        return _EXAMPLES[value.dtype.name]
    if has_parts(value):
        if isinstance(value, list) or _contains_function(value):
            raise error("M305", type=f"argument {position}: a {type(value).__name__} for each element", hint="give arrays, numbers, and tuples and records of them")
        return rebuild(structure_of(value), [_example(p, leaves, position) for p in parts_of(value)])
    value = value[()] if isinstance(value, np.ndarray) else value
    t = type_of_value(value)
    if not isinstance(t, Scalar):
        raise error("M305", type=f"argument {position}: a value of type {t}", hint="give arrays, numbers, and tuples and records of them")
    leaves.append(np.asarray(value, t.dtype))
    return value


def _is_of_numbers(t: Type) -> bool:
    return isinstance(t, (Scalar, NoneType, Static)) or (isinstance(t, Tuple) and all(map(_is_of_numbers, parts(t))))


def _assembled(t: Type, arrays: Iterator[np.ndarray[Any, Any]]) -> Any:
    """The result: its arrays in its structure. Where nothing was an array, numbers."""
    match t:
        case Scalar(_, weak):
            array = next(arrays)
            return array if array.ndim else array.item() if weak else array[()]
        case Tuple(items):
            return rebuild(t.structure if isinstance(t, Record) else None, [_assembled(item, arrays) for item in items])
        case Static(value):
            return value
        case _:
            return None


# -- running

def _table(leaves: list[np.ndarray[Any, Any]], outputs: list[np.ndarray[Any, Any]], shape: tuple[int, ...], alive: list[Any]) -> np.ndarray[Any, Any]:
    """[address, step] of each leaf and output. A leaf that only broadcasts is copied; a number, or a row of one axis, is read where it lies."""
    rows: list[tuple[int, int]] = []
    for leaf in leaves:
        if leaf.size == 1:
            leaf = np.array(leaf, dtype=leaf.dtype.newbyteorder("="))
            rows.append((leaf.ctypes.data, 0))
        else:
            leaf = np.broadcast_to(leaf, shape)
            if not (len(shape) == 1 or leaf.flags.c_contiguous) or not leaf.dtype.isnative or not leaf.flags.aligned:
                leaf = np.ascontiguousarray(leaf, leaf.dtype.newbyteorder("="))
            rows.append((leaf.ctypes.data, leaf.strides[0] if len(shape) == 1 else leaf.itemsize))
        alive.append(leaf)
    rows += [(out.ctypes.data, out.itemsize) for out in outputs]
    return np.array(rows, np.int64).reshape(-1)


def _compiled(mapped: Mapped, leaves: list[np.ndarray[Any, Any]], outputs: list[np.ndarray[Any, Any]], shape: tuple[int, ...]) -> None:
    alive: list[Any] = []
    table = _table(leaves, outputs, shape, alive)
    count = math.prod(shape)
    cores = 1 if mapped.serial else _cores()
    size = count if mapped.serial else max(1, -(-count // (cores * PIECES)))
    failures: list[tuple[int, BaseException]] = []
    flag, pieces = c_int64(0), itertools.count()

    def work() -> None:
        while True:
            start = next(pieces) * size
            if start >= min((i for i, _ in failures), default=count):
                return
            status, index = mapped.run.run(start, min(start + size, count), table, flag)
            if status < 0:
                return
            if status:
                try:
                    mapped.run.native.fail(status)  # here, for what it tells is kept for this thread
                except BaseException as problem:
                    failures.append((index, problem))

    running: list[Future[None]] = []
    try:
        for _ in range(min(cores, -(-count // size))):
            running.append(_pool().submit(work))
        for future in running:
            future.result()
    except BaseException:
        flag.value = 1
        for future in running:
            future.exception()
        raise
    if failures:
        index, problem = min(failures, key=lambda f: f[0])
        raise _at(problem, index, shape) from None


def _on_device(mapped: Mapped, leaves: list[np.ndarray[Any, Any]], outputs: list[np.ndarray[Any, Any]], shape: tuple[int, ...]) -> None:
    """By a kernel. The element that failed first is computed again on the interpreter, for the error."""
    failed = mapped.run.run(leaves, outputs, shape)
    if failed is None:
        return
    place = np.unravel_index(failed, shape) if shape else ()
    numbers = iter([np.broadcast_to(leaf, shape)[place] for leaf in leaves])
    assert mapped.unit.optimized is not None
    try:
        run(mapped.unit.optimized, [_element(Builder.type_of(p), numbers) for p in mapped.unit.optimized.parameters])
    except MyiaError as problem:
        raise _at(problem, failed, shape) from None
    raise error("M801", message=f"the device failed at element {failed}, where the interpreter has a value", hint="please report this program")


def _interpreted(mapped: Mapped, leaves: list[np.ndarray[Any, Any]], outputs: list[np.ndarray[Any, Any]], shape: tuple[int, ...]) -> None:
    wide = [np.broadcast_to(leaf, shape) for leaf in leaves]
    assert mapped.unit.optimized is not None
    takes = [Builder.type_of(p) for p in mapped.unit.optimized.parameters]
    for index, place in enumerate(np.ndindex(*shape)):
        numbers = iter([leaf[place] for leaf in wide])
        try:
            value = mapped.run(*(_element(t, numbers) for t in takes))
        except MyiaError as problem:
            raise _at(problem, index, shape) from None
        for out, number in zip(outputs, _numbers(value)):
            out[place] = number


def _element(t: Type, numbers: Iterator[Any]) -> Any:
    """The run-time value of one element."""
    match t:
        case Scalar(_, weak):
            number = next(numbers)
            return number.item() if weak or t.dtype == "bool" else number
        case Tuple(items):
            return tuple(_element(item, numbers) for item in items)
        case Static(value):
            return value
        case _:
            return None


def _numbers(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for item in value:
            yield from _numbers(item)
    elif value is not None and not isinstance(value, str):
        yield value


def _at(problem: BaseException, index: int, shape: tuple[int, ...]) -> BaseException:
    """The problem, with the element where it arose."""
    if isinstance(problem, MyiaError) and shape:
        place = tuple(int(i) for i in np.unravel_index(index, shape))
        problem.element = place[0] if len(place) == 1 else place  # type: ignore[attr-defined]
        problem.message += f" (at element {problem.element})"  # type: ignore[attr-defined]
    return problem


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


@functools.cache
def _pool() -> ThreadPoolExecutor:
    """The threads, made at the first call; a process that was forked makes its own."""
    return ThreadPoolExecutor(_cores(), thread_name_prefix="myia")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)

__all__ = ["MappedFunction", "map_elements"]
