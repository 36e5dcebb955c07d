"""The whole family of derivatives beside `grad`: `jacobian`, `hessian`, `jvp`, `vjp`, `custom_gradient`, `stop_gradient`.

They are called from Python on any function that the language takes (closures, methods, partials, compiled functions, other derivatives), and
mean the same inside compiled functions, where they nest in any order. `jvp` and `vjp` keep the compiled programs of the last functions
that they were given.
"""
from __future__ import annotations

import functools
import inspect
import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from myia_notebook.api import (
    _NUMBERS,
    DEFAULT_BACKEND,
    Caller,
    Derivative,
    Gradient,
    MyiaFunction,
    _input,
    derivative_of,
    input_types,
    is_function,
    plain_function,
)
from myia_notebook.errors import error
from myia_notebook.gradient.options import Request
from myia_notebook.infer.structures import has_parts, parts_of
from myia_notebook.ir.graph import Constant, Graph, Node
from myia_notebook.pipeline import Unit

REMEMBERED = 64


def jacobian(f: Any, wrt: Any = 0, *, backend: str | None = None, check: bool = False) -> Gradient:
    """The Jacobian of a function of floats, arrays and structures of them.

    The shape of the result is that of the output followed by that of the argument; a structured output or argument gives that structure
    of blocks; several `wrt` give a tuple. Computed forwards or backwards, whichever takes fewer passes.
    """
    return derivative_of(f, Derivative("jacobian", wrt), backend, check)


def hessian(f: Any, wrt: Any = 0, *, backend: str | None = None, check: bool = False) -> Gradient:
    """The second derivatives of a real-valued function, by forward mode over reverse mode: shape of the argument twice."""
    return derivative_of(f, Derivative("hessian", wrt), backend, check)


class CustomGradient(Gradient):
    """A function with its own backpropagator. Calling it gives the value."""


def custom_gradient(f: Any, *, backend: str | None = None) -> CustomGradient:
    """A decorator: f(x…) returns (value, backpropagator), both written in the language. The decorated function returns the value, and its
    gradient is what the backpropagator, called with the sensitivity of the value, returns: a tuple of one sensitivity for each argument
    (for one argument also the sensitivity alone). The backpropagator must be linear in the sensitivity; forward mode transposes it."""
    return CustomGradient(f, Derivative("custom_gradient"), backend)


def stop_gradient(x: Any) -> Any:
    """x, which every derivative takes for a constant."""
    return x


# -- programs around a function that take more than its arguments

class _Program(Caller):
    """Calls a program built over the graph of a function. Its values are what `_body` makes operands of."""

    def __init__(self, function: Any, backend: str | None) -> None:
        super().__init__(function, Derivative(), backend or getattr(function, "_backend", None))

    def __call__(self, *args: Any) -> Any:
        if all(type(a) in _NUMBERS for a in args):
            found = self._cache.get(tuple(map(type, args)))
            if found is not None and not found.session.is_stale():
                result = found.run(*args)
                return result if found.convert is None else found.convert(result)
        return super().__call__(*args)

    @functools.cached_property
    def _plain_count(self) -> int:
        return -1

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        return list(args)

    def _unit(self, values: list[Any]) -> tuple[Unit, Any]:
        from myia_notebook.parse.derived import callable_graph
        from myia_notebook.parse.resolve import ParseSession
        session = ParseSession()
        target = callable_graph(self._function, session)
        program = Graph(target.name, "program", target.provenance)
        names = [p.name for p in target.parameters] + [""] * len(values)
        operands = [_input(program, session, value, name) for value, name in zip(values, names)]
        program.output = self._body(program, Constant(target), operands)
        program.flags["checked tangents"] = True
        return Unit(program, input_types(values), self._backend or DEFAULT_BACKEND, may_interpret=self._backend is None, session=session), session

    def _body(self, program: Graph, f: Node, operands: list[Any]) -> Node:
        raise AssertionError("given by each kind")


class _Jvp(_Program):
    """(x…, ẋ…) ↦ (f(x…), the derivative along ẋ…)"""

    def _body(self, program: Graph, f: Node, operands: list[Any]) -> Node:
        from myia_notebook.ops.table import make_tuple
        n = len(operands) // 2
        span = program.provenance
        return program.apply(Constant(jvp), f, program.apply(make_tuple, *operands[:n]), program.apply(make_tuple, *operands[n:]), provenance=span)


class _Pullback(_Program):
    """(x…, ∇y) ↦ (∇x…)"""

    def _body(self, program: Graph, f: Node, operands: list[Any]) -> Node:
        from myia_notebook.ops.table import tuple_getitem
        *primals, seed = operands
        pair = program.apply(Constant(vjp), f, *primals, provenance=program.provenance)
        return program.apply(program.apply(tuple_getitem, pair, 1), seed, provenance=program.provenance)


_programs: OrderedDict[Any, _Program] = OrderedDict()
_lock = threading.Lock()


def _program(kind: type[_Program], f: Any, backend: str | None) -> _Program:
    """The program of this kind for f, remembered."""
    function = plain_function(f)
    key = (kind, function, backend or getattr(f, "_backend", None))
    with _lock:
        found = _programs.get(key)
        if found is None:
            found = _programs[key] = kind(f, backend)
            if len(_programs) > REMEMBERED:
                _programs.popitem(last=False)
        _programs.move_to_end(key)
    return found


def jvp(f: Any, primals: Any, tangents: Any, *, backend: str | None = None) -> tuple[Any, Any]:
    """(f(*primals), its derivative along the tangents), by forward mode.

    `tangents`: one for each primal, of its structure and shape. What is no real number has the tangent None (or 0).
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise error("M603", message="jvp takes primals and tangents as tuples", hint="with one argument, write jvp(f, (x,), (dx,))")
    if len(primals) != len(tangents):
        raise error("M605", what="the tuple of tangents", first=f"{len(tangents)} tangents", second=f"{len(primals)} primals",
                    hint="give one tangent for each primal")
    for i, (x, dx) in enumerate(zip(primals, tangents)):
        if type(x) is not float:
            _check_discrete(f"the tangent of argument {i}", x, dx)
    dots = [None if type(x) is not float and is_function(x) else dx for x, dx in zip(primals, tangents)]
    return _program(_Jvp, f, backend)(*primals, *dots)


def _check_discrete(what: str, primal: Any, tangent: Any) -> None:
    """What belongs to an int, a bool, a string or a function must be zero: nothing else has a meaning."""
    if isinstance(primal, (float, np.floating)) or (isinstance(primal, np.ndarray) and primal.dtype.kind == "f"):
        return
    if has_parts(primal):
        if has_parts(tangent):
            _check_lengths(what, primal, tangent)
            for x, dx in zip(parts_of(primal), parts_of(tangent)):
                _check_discrete(what, x, dx)
        return
    is_zero = tangent is None or (isinstance(tangent, tuple) and not tangent) or (isinstance(tangent, str) and tangent == primal) or (
        isinstance(tangent, (int, float, np.generic, np.ndarray)) and not np.any(tangent))
    if not is_zero:
        raise error("M605", what=what, first=f"the value {tangent!r:.40}", second=type(primal).__name__,
                    hint="what is no real number has no tangent: give None")


def _check_lengths(what: str, value: Any, given: Any) -> None:
    """A list stands for a list of its length."""
    if not has_parts(value) or not has_parts(given):
        return
    if len(parts_of(value)) != len(parts_of(given)):
        raise error("M605", what=what, first=f"a structure of {len(parts_of(given))}", second=f"one of {len(parts_of(value))}",
                    hint="it must have the same structure")
    for x, dx in zip(parts_of(value), parts_of(given)):
        _check_lengths(what, x, dx)


class Backpropagator(Gradient):
    """What `vjp` returns: sensitivity of the result ↦ tuple of sensitivities, one for each argument. Usable in programs too."""

    _is_chain = False

    def __init__(self, f: Any, primals: tuple[Any, ...], backend: str | None, value: Any = None) -> None:
        super().__init__(f, Derivative("vjp"), backend)
        self._primals, self._value = primals, value
        self._pullback = _program(_Pullback, f, backend)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        (seed,) = args if len(args) == 1 and not kwargs else self._bind(args, kwargs)
        if type(seed) is not float:
            _check_lengths("the sensitivity", self._value, seed)
        return self._pullback(*self._primals, seed)

    def __repr__(self) -> str:
        return f"<backpropagator of {getattr(self._function, '__name__', '?')}>"

    @functools.cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.Signature([inspect.Parameter("d", inspect.Parameter.POSITIONAL_OR_KEYWORD)])

    def _unit(self, values: list[Any]) -> tuple[Unit, Any]:
        return self._pullback._unit([*self._primals, *values])

    def _applied(self, graph: Graph, session: Any, given: dict[str, Node]) -> Node:
        from myia_notebook.parse.derived import callable_graph, value_node
        function = Constant(callable_graph(self._pullback._function, session))
        return self._pullback._body(graph, function, [*(value_node(graph, x, session) for x in self._primals), given["d"]])


def vjp(f: Any, *primals: Any, backend: str | None = None) -> tuple[Any, Backpropagator]:
    """(f(*primals), the backpropagator): called with the sensitivity of the result, it gives the tuple of the sensitivities of the primals.

    The backpropagator computes f again when it is called: it keeps the primals only.
    """
    caller = f if isinstance(f, Gradient) else _value(f, backend)
    kept = tuple(x.copy() if isinstance(x, np.ndarray) else x for x in primals)
    value = caller(*primals)
    return value, Backpropagator(f, kept, backend, value)


def returned_derivative(request: Request, captured: tuple[Any, ...]) -> Gradient:
    """The closure of a derivative that a compiled program returned."""
    f, *primals = captured
    if request.names:
        raise error("M308", message="a derivative that takes arguments by name, as the result of a compiled function")
    if request.kind == "pullback":
        return Backpropagator(f, tuple(primals), None)
    if request.kind == "custom_gradient":
        return CustomGradient(f, Derivative("custom_gradient"))
    return Gradient(f, Derivative(request.kind, request.wrt, request.has_aux))


@functools.lru_cache(REMEMBERED)
def _compiled_value(function: Any, backend: str | None) -> MyiaFunction:
    return MyiaFunction(function, backend)


def _value(f: Any, backend: str | None) -> MyiaFunction:
    return _compiled_value(plain_function(f), backend or getattr(f, "_backend", None))


__all__ = ["Backpropagator", "CustomGradient", "custom_gradient", "hessian", "jacobian", "jvp", "stop_gradient", "vjp"]
