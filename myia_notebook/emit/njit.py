"""Compiled functions inside `@njit` code: Numba sees one as a dispatcher of its own, whose body calls our machine code.

    Caller._numba_type_  →  dispatcher(caller)        asked for by Numba when it meets the function; nothing here is imported before that
    types of the call    →  text of a body            `_body`: leaves of the arguments into words, the program, words into the result
    shapes               →  a program                 arrays: Numba knows no shapes, so the body looks for the program of these shapes in a chain of
                                                      records [next, address, shapes…, shapes of results…], and asks for one (`Site.resolve`) when there is none

Numbers are Python's (a float64 is a `float`, an int64 an `int`), arrays those of the language, tuples and named tuples nest. Values are not known, so what
must be known when a program is compiled is refused (M306). Programs are `free` ones: they need no GIL, so `nogil=True` and `prange` work. What the
function read outside itself is frozen when the `@njit` code is compiled, as Numba's own globals are. Errors: the exception is made here, kept for the
thread, and raised by `Raised`, the class that the body raises.
"""
from __future__ import annotations

import ctypes
import functools
import inspect
import itertools
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.typing.typeof import typeof
from numba.extending import intrinsic, overload

from myia_notebook.emit.cpu import NativeFunction, compile_free
from myia_notebook.errors import MyiaError, error
from myia_notebook.infer.values import DTYPES
from myia_notebook.ir.types import Array, NoneType, Record, Scalar, Tuple, Type
from myia_notebook.lower.plan import array_words, needs_arena, words
from myia_notebook.ops.primitive import Abstract

PROBES = (2, 3, 1, 4)
"""Lengths of the axes with which the type of a result is tried when nothing is known of the shapes."""
_never = ctypes.c_int64(0)
_programs: dict[int, NativeFunction] = {}
"""By address: kept as long as the process lives, for compiled `@njit` code holds the address."""
_kept = threading.local()
_sites: list[Any] = []
_numbers = itertools.count(1)


class Raised(Exception):  # noqa: N818 — never seen: making one raises the error that was kept
    """What the bodies raise."""

    def __new__(cls) -> Raised:
        problem = _kept.problem
        _kept.problem = None
        raise problem from None


@ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)
def keep_failure(address: int, status: int) -> None:
    """Makes the exception of a program's status, for `Raised`."""
    try:
        _programs[address].fail(status)
    except BaseException as problem:
        _kept.problem = problem


# -- types of both sides

@dataclass(frozen=True, slots=True)
class Leaf:
    """One word of the arguments: the expression in the body, and the rank of the array there (0: a number)."""

    text: str
    rank: int = 0


@dataclass(slots=True)
class Arguments:
    """The arguments of a call as the body sees them: how to make an example value of each, and the leaves."""

    makers: list[Any] = field(default_factory=list)
    leaves: list[Leaf] = field(default_factory=list)

    def add(self, t: Any, text: str) -> None:
        self.makers.append(self._maker(t, text))

    def _maker(self, t: Any, text: str) -> Any:
        """shapes ↦ an example value of the type; adds the leaves."""
        t = types.unliteral(t)
        match t:
            case types.Boolean():
                self.leaves.append(Leaf(text))
                return lambda shapes: True
            case types.Integer() if t.bitwidth < 64 or t.signed:
                is_int32 = t == types.int32
                self.leaves.append(Leaf(f"np.int32({text})" if is_int32 else f"np.int64({text})"))
                return lambda shapes: np.int32(1) if is_int32 else 1
            case types.Float():
                self.leaves.append(Leaf(text))
                return lambda shapes: 1.0 if t == types.float64 else np.float32(1)
            case types.Array() if str(t.dtype) in DTYPES:
                return self._array(t, text)
            case types.BaseTuple():
                inner = [self._maker(item, f"{text}[{i}]") for i, item in enumerate(t.types)]
                made = getattr(t, "instance_class", None)
                return lambda shapes: made(*(m(shapes) for m in inner)) if made else tuple(m(shapes) for m in inner)
            case types.NoneType():
                return lambda shapes: None
            case types.Dispatcher():
                function = getattr(t.dispatcher, "__myia_caller__", t.dispatcher.py_func)
                return lambda shapes: function
            case _:
                raise error("M305", type=f"Numba's type {t}", hint="from @njit code give numbers, arrays, tuples and functions")

    def _array(self, t: Any, text: str) -> Any:
        dtype = str(t.dtype)
        self.leaves.append(Leaf(f"{text}[()]" if t.ndim == 0 else f"np.ascontiguousarray({text})", t.ndim))
        if t.ndim == 0:
            return lambda shapes: np.dtype(dtype).type(1)
        return lambda shapes: np.broadcast_to(np.zeros((), dtype), next(shapes))

    @property
    def ranks(self) -> list[int]:
        """Of the arrays among the leaves."""
        return [leaf.rank for leaf in self.leaves if leaf.rank]

    def values(self, shapes: Iterator[tuple[int, ...]]) -> list[Any]:
        return [maker(shapes) for maker in self.makers]


def result_type(t: Type) -> Any:
    """The Numba type of a result."""
    match t:
        case Scalar(dtype):
            return types.boolean if dtype == "bool" else getattr(types, dtype)
        case Array(dtype, shape):
            return types.Array(types.boolean if dtype == "bool" else getattr(types, dtype), len(shape), "C")
        case NoneType():
            return types.none
        case Record(items, structure) if structure.kind == "namedtuple":
            return types.BaseTuple.from_types(tuple(map(result_type, items)), structure.cls)
        case Tuple(items) if not isinstance(t, Record):
            return types.BaseTuple.from_types(tuple(map(result_type, items)))
        case _:
            raise error("M801", message=f"a result of type {t} does not come back to @njit code", hint="return numbers, arrays, tuples or named tuples of them")


# -- programs

@dataclass(slots=True)
class Site:
    """The calls of one function with arguments of certain Numba types."""

    caller: Any
    arguments: Arguments
    result: Any = None
    head: Any = field(default_factory=lambda: ctypes.c_int64(0))
    records: list[Any] = field(default_factory=list)
    lock: Any = field(default_factory=threading.RLock)

    def compile(self, shapes: list[tuple[int, ...]]) -> tuple[NativeFunction, Type]:
        """The program for arrays of these shapes, and the type of its result as the user sees it."""
        from myia_notebook.pipeline import compile_unit
        if self.caller._backend not in (None, "numba"):
            raise error("M801", message=f"a function with backend='{self.caller._backend}' cannot be called from @njit code", hint="leave the backend out")
        unit, _ = self.caller._unit(self.arguments.values(iter(shapes)))
        unit.arguments = [Abstract(a.type) for a in unit.arguments]
        unit.backend, unit.may_interpret = "numba", False
        compile_unit(unit, until="lowered")
        if unit.backend == "vm" or needs_arena(unit.lowered.root.result):
            raise error("M801", message=f"a result of type {unit.result_type} does not come back to @njit code", hint="return numbers, arrays and tuples of them")
        assert unit.result_type is not None
        made = result_type(unit.result_type)
        if self.result is not None and made != self.result:
            raise error("M801", message=f"for these shapes the result is {made}, and the @njit code was compiled for {self.result}",
                        hint="let the type of the result not depend on shapes")
        program = compile_free(unit.lowered)
        _programs[program.address] = program
        self.result = made
        return program, unit.result_type

    def probe(self) -> tuple[NativeFunction, Type]:
        """A program whose result's type is that of every call: for shapes that the function was called with before, else for small ones."""
        ranks = self.arguments.ranks
        problem: MyiaError | None = None
        for shapes in [*self._known(), *([(n,) * rank for rank in ranks] for n in PROBES)]:
            try:
                return self.compile(shapes)
            except MyiaError as found:
                if not found.code.startswith("M4") or not ranks:
                    raise
                problem = problem or found
        assert problem is not None
        raise error("M801", message=f"the result's type cannot be told without the arrays' shapes ({problem.message})",
                    hint="call the function once from Python, with arrays as it will get them, before the @njit code is compiled") from None

    def _known(self) -> Iterator[list[tuple[int, ...]]]:
        """Shapes of earlier calls that fit."""
        for known in list(self.caller._cache.values()):
            arrays = [t for p in known.takes for t in _arrays(p)]
            if [len(t.shape) for t in arrays] == self.arguments.ranks:
                yield [t.shape for t in arrays]

    def resolve(self, *lengths: int) -> int:
        """The address of the record for these lengths, one after the other; 0 when there is no such program: then the problem is kept."""
        try:
            with self.lock:
                shapes, rest = [], list(lengths)
                for rank in self.arguments.ranks:
                    shapes.append(tuple(rest[:rank]))
                    del rest[:rank]
                for record in self.records:  # made by another thread meanwhile
                    if tuple(record[2:2 + len(lengths)]) == lengths:
                        return record.ctypes.data
                program, result = self.compile(shapes)
                out = [n for t in _arrays(result) for n in t.shape]
                record = np.array([self.head.value, program.address, *lengths, *out], np.int64)
                self.records.append(record)
                self.head.value = record.ctypes.data
                return record.ctypes.data
        except BaseException as problem:
            _kept.problem = problem
            return 0


def _arrays(t: Type) -> list[Array]:
    return [array for _, array in array_words(t)]


# -- the body of a call

@intrinsic
def load_word(typingctx: Any, address: Any) -> Any:
    """The 8 bytes at an address."""
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(builder.inttoptr(args[0], ir.IntType(64).as_pointer()))
    return types.int64(types.int64), code


@functools.cache
def caller_of(kinds: str) -> Any:
    """run(program, leaves, outputs): calls a program whose result has these words ('p': an array, the next of `outputs`); gives (status, the numbers)."""
    numbers = {"f": types.float64, "s": types.float32, "i": types.int64, "w": types.int32, "b": types.boolean}
    result = types.Tuple((types.int64, *(numbers[k] for k in kinds if k != "p")))
    word = ir.IntType(64)

    @intrinsic
    def run(typingctx: Any, program: Any, leaves: Any, outputs: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            given = cgutils.alloca_once(builder, ir.ArrayType(word, len(leaves.types) + 1))
            results = cgutils.alloca_once(builder, ir.ArrayType(word, len(kinds) + 1))

            def at(area: Any, i: int, t: Any = word) -> Any:
                return builder.bitcast(cgutils.gep_inbounds(builder, area, 0, i), t.as_pointer())

            def data(t: Any, value: Any) -> Any:
                return builder.ptrtoint(context.make_array(t)(context, builder, value).data, word)

            for i, t in enumerate(leaves.types):
                value = builder.extract_value(args[1], i)
                if isinstance(t, types.Array):
                    value = data(t, value)
                elif t == types.boolean:
                    value = builder.zext(value, word)
                builder.store(value, at(given, i, value.type))
            builder.store(ir.Constant(word, ctypes.addressof(_never)), at(given, len(leaves.types)))
            arrays = iter(range(len(outputs.types)))
            for i in (i for i, kind in enumerate(kinds) if kind == "p"):
                which = next(arrays)
                builder.store(data(outputs.types[which], builder.extract_value(args[2], which)), at(results, i))
            function = builder.inttoptr(args[0], ir.FunctionType(word, [word.as_pointer()] * 2).as_pointer())
            made = [builder.call(function, [at(given, 0), at(results, 0)])]
            for i, kind in enumerate(kinds):
                if kind == "b":
                    made.append(builder.trunc(builder.load(at(results, i)), ir.IntType(1)))
                elif kind != "p":
                    made.append(builder.load(at(results, i, context.get_value_type(numbers[kind]))))
            return context.make_tuple(builder, signature.return_type, made)

        return result(program, leaves, outputs), code

    return run


def _built(t: Type, numbers: Iterator[str], arrays: Iterator[str], classes: dict[str, Any]) -> str:
    """The expression of a result."""
    match t:
        case Scalar():
            return next(numbers)
        case Array():
            return next(arrays)
        case Tuple(items):
            inner = "".join(_built(item, numbers, arrays, classes) + ", " for item in items)
            if not isinstance(t, Record):
                return f"({inner})"
            name = f"made{len(classes)}"
            classes[name] = t.structure.cls
            return f"{name}({inner})"
        case _:
            return "None"


def body(caller: Any, names: list[str], argument_types: tuple[Any, ...]) -> Any:
    """The Python function that Numba compiles for a call with these types."""
    arguments = Arguments()
    space: dict[str, Any] = {"np": np, "load": load_word, "keep": keep_failure, "Raised": Raised}
    for i, (name, t) in enumerate(zip(names, argument_types)):
        if isinstance(t, types.Omitted):
            space[f"default{i}"] = t.value
            arguments.add(typeof(t.value), f"default{i}")
        else:
            arguments.add(t, name)
    site = Site(caller, arguments)
    _sites.append(site)
    program, result = site.probe()
    lines = [f"def body({', '.join(names)}):"]
    lines += [f"    a{i} = {leaf.text}" for i, leaf in enumerate(arguments.leaves)]
    arrays = _arrays(result)
    if arguments.ranks:
        lines += _look_up(site, space)
        sizes: Iterator[str] = (f"load(record + {8 * k})" for k in itertools.count(2 + sum(arguments.ranks)))
    else:
        lines += [f"    program = {program.address}"]
        sizes = (str(n) for t in arrays for n in t.shape)
    for i, t in enumerate(arrays):
        space[f"dtype{i}"] = np.dtype(t.dtype)
        lines.append(f"    o{i} = np.empty(({''.join(next(sizes) + ', ' for _ in t.shape)}), dtype{i})")
    outputs = "".join(f"o{i}, " for i in range(len(arrays)))
    leaves = "".join(f"a{i}, " for i in range(len(arguments.leaves)))
    space["run"] = caller_of("".join(words(result)))
    lines += [f"    found = run(program, ({leaves}), ({outputs}))", "    if found[0] != 0:", "        keep(program, found[0])", "        raise Raised"]
    made = _built(result, (f"found[{i}]" for i in itertools.count(1)), (f"o{i}" for i in itertools.count()), space)
    lines.append(f"    return {made}")
    exec(compile("\n".join(lines), f"<call of {getattr(caller, '__name__', 'f')}>", "exec"), space)
    return space["body"]


def _look_up(site: Site, space: dict[str, Any]) -> list[str]:
    """Statements that find the record of the arrays' shapes."""
    lengths = [f"a{i}.shape[{k}]" for i, leaf in enumerate(site.arguments.leaves) for k in range(leaf.rank)]
    space["resolve"] = ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_int64,) * len(lengths))(site.resolve)
    space["head"] = ctypes.addressof(site.head)
    differs = " or ".join(f"load(record + {8 * (2 + k)}) != {n}" for k, n in enumerate(lengths))
    return ["    record = load(head)", f"    while record != 0 and ({differs}):", "        record = load(record)", "    if record == 0:",
            f"        record = resolve({', '.join(lengths)})", "        if record == 0:", "            raise Raised", "    program = load(record + 8)"]


def dispatcher(caller: Any) -> Any:
    """The Numba dispatcher that stands for a compiled function; made once for each."""
    if caller._dispatcher is None:
        parameters = list(caller._signature.parameters.values())
        kinds = inspect.Parameter
        if any(p.kind not in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD) for p in parameters):
            raise error("M801", message="a function with *args, **kwargs or keyword-only parameters cannot be called from @njit code", hint="give it plain parameters")
        names = [p.name for p in parameters]
        given = ", ".join(names)
        space: dict[str, Any] = {"_body": lambda *argument_types: body(caller, names, argument_types)}
        text = (f"def _entry({given}): raise NotImplementedError\ndef _typing({given}): return _body({given})\n"
                f"def _call({given}): return _entry({given})\n")
        exec(text, space)
        call = space["_call"]
        call.__defaults__ = tuple(p.default for p in parameters if p.default is not kinds.empty) or None
        call.__name__ = call.__qualname__ = getattr(caller, "__name__", "f")
        overload(space["_entry"])(space["_typing"])
        made = njit(call)
        made.__myia_caller__ = caller
        caller._dispatcher = made
    return caller._dispatcher


__all__ = ["dispatcher"]
