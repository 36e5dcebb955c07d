"""The reference interpreter: runs the closed graph of any stage, node by node, with primitives' own implementations.

It is the oracle that other backends are tested against, the recorder of the values that the viewer shows, and the backend where
Numba does not exist. On entry the graph is closed, typed, and free of `gradient_call`. The user's recursion uses an explicit
stack: depth is bounded by memory only, tail calls reuse the frame. Errors carry the user's span (M7xx).
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from myia_notebook.errors import MyiaError, error, with_span
from myia_notebook.ir.graph import UNDEFINED, ZERO, Apply, Constant, Graph, Node, schedule
from myia_notebook.ir.types import Array, Environment, List, Scalar, Tuple, Type
from myia_notebook.ops.primitive import Primitive, Structural
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.provenance import Span

Record = Callable[[Node, Any, int], None]


@dataclass(frozen=True, slots=True)
class Closure:
    """A function value: a closed graph and the values of its captured parameters."""

    graph: Graph
    captured: tuple[Any, ...] = ()


def zero_value(t: Type) -> Any:
    """The run-time zero of a sensitivity type."""
    match t:
        case Scalar(dtype, weak):
            return 0.0 if weak else np.dtype(dtype).type(0)
        case Array(dtype, shape):
            return np.zeros(shape, dtype)
        case Tuple(items):
            return tuple(zero_value(item) for item in items)
        case List():
            return []
        case Environment():
            return ZERO
        case _:
            raise AssertionError(f"no zero of type {t}")


_CALL, _PRIMITIVE, _BRANCH, _PARTIAL, _SWITCH = range(5)
_RAISES = {ZeroDivisionError: "M701", IndexError: "M703", OverflowError: "M708", FloatingPointError: "M702", ValueError: "M702",
           MemoryError: "M707"}


@dataclass(slots=True)
class _Code:
    """A graph compiled to slots: parameters first, then constants, then one slot for each Apply in order."""

    size: int
    constants: list[tuple[int, Any]]
    steps: list[tuple[int, int, Any, tuple[int, ...], Apply]]
    output: int


def _compile(graph: Graph) -> _Code:
    slots: dict[int, int] = {p.id: i for i, p in enumerate(graph.parameters)}
    constants: list[tuple[int, Any]] = []

    def slot(node: Node) -> int:
        place = slots.get(node.id)
        if place is None:
            if not isinstance(node, Constant):
                raise AssertionError(f"{graph}: {node!r} is used before it is computed, or belongs to another graph")
            place = slots[node.id] = len(slots)
            constants.append((place, _constant(node)))
        return place

    steps: list[tuple[int, int, Any, tuple[int, ...], Apply]] = []
    for node in schedule(graph):
        head = node.inputs[0]
        function = head.value if isinstance(head, Constant) else None
        if isinstance(function, Primitive):
            kind, what = _kind(function, node)
            operands = tuple(map(slot, node.inputs[1:]))
        else:
            kind, what = _CALL, None
            operands = tuple(map(slot, node.inputs))
        place = slots[node.id] = len(slots)
        steps.append((kind, place, what, operands, node))
    return _Code(len(slots) + 1, constants, steps, slot(graph.output))


def _kind(primitive: Primitive, node: Apply) -> tuple[int, Any]:
    special = {"branch": _BRANCH, "partial": _PARTIAL, "switch": _SWITCH}
    if primitive.name in special and primitive is PRIMITIVES[primitive.name]:
        return special[primitive.name], None
    if "needs_type" in primitive.laws and callable(primitive.implementation):
        return _PRIMITIVE, functools.partial(primitive.implementation, node.type)
    if isinstance(primitive.implementation, Structural):
        raise error("M800", message=f"the interpreter cannot run '{primitive.name}': {primitive.implementation.why}")
    return _PRIMITIVE, primitive.implementation


def _constant(node: Constant) -> Any:
    value = node.value
    if isinstance(value, Graph):
        return Closure(value)
    if value is ZERO:
        assert node.type is not None
        return zero_value(node.type)
    return value


class Machine:
    """Runs graphs. `record(node, value, activation)` is called for every Apply and parameter when given. `codes` are kept, so that
    running the same graph again compiles nothing; a graph that was changed needs a new Machine."""

    def __init__(self, record: Record | None = None) -> None:
        self.codes: dict[int, _Code] = {}
        self.record = record
        self.called: Closure | None = None  # the function value of the call that began last

    def run(self, graph: Graph, arguments: Sequence[Any]) -> Any:
        """The value of `graph(*arguments)`. Raises MyiaError with the user's span."""
        try:
            with np.errstate(all="ignore"):
                return self._loop(graph, list(arguments))
        except MemoryError as problem:
            if isinstance(problem, MyiaError):
                raise
            raise error("M707", message=str(problem) or "the stack of the interpreter") from None

    def _enter(self, graph: Graph, arguments: list[Any]) -> tuple[_Code, list[Any]]:
        code = self.codes.get(graph.id)
        if code is None:
            code = self.codes[graph.id] = _compile(graph)
        if len(arguments) != len(graph.parameters):
            raise error("M800", message=f"{graph.name} takes {len(graph.parameters)} values, got {len(arguments)}")
        frame = arguments + [None] * (code.size - len(arguments))
        for place, value in code.constants:
            frame[place] = value
        if self.record is not None:
            self._activation += 1
            for parameter, value in zip(graph.parameters, arguments):
                self.record(parameter, value, self._activation)
        return code, frame

    def _loop(self, graph: Graph, arguments: list[Any]) -> Any:
        self._activation = 0
        stack: list[tuple[_Code, list[Any], int, int, int]] = []
        code, frame = self._enter(graph, arguments)
        activation, pc = self._activation, 0
        record = self.record
        while True:
            if pc == len(code.steps):
                value = frame[code.output]
                if not stack:
                    return value
                code, frame, pc, place, activation = stack.pop()
                if record is not None:
                    record(code.steps[pc - 1][4], value, activation)
                frame[place] = value
                continue
            kind, place, what, operands, node = code.steps[pc]
            pc += 1
            if kind == _PRIMITIVE:
                try:
                    value = what(*[frame[i] for i in operands])
                except Exception as problem:
                    if not any(frame[i] is UNDEFINED for i in operands):
                        raise located(problem, node.provenance.span, node.inputs[0]) from None
                    value = UNDEFINED  # computed beside what is chosen: nobody reads it
            elif kind == _SWITCH:
                value = frame[operands[1]] if frame[operands[0]] else frame[operands[2]]
            elif kind == _PARTIAL:
                inner = frame[operands[0]]
                value = Closure(inner.graph, inner.captured + tuple([frame[i] for i in operands[1:]]))
            else:
                if kind == _BRANCH:
                    closure = frame[operands[1]] if frame[operands[0]] else frame[operands[2]]
                    values = [frame[i] for i in operands[3:]]
                else:
                    closure = frame[operands[0]]
                    values = [frame[i] for i in operands[1:]]
                if closure.__class__ is not Closure:
                    raise error("M800", node.provenance.span, message=f"a call of {closure!r}")
                if record is not None or code.output != place or pc != len(code.steps):
                    stack.append((code, frame, pc, place, activation))
                self.called = closure
                code, frame = self._enter(closure.graph, [*closure.captured, *values])
                activation, pc = self._activation, 0
                continue
            frame[place] = value
            if record is not None:
                record(node, value, activation)


def located(problem: Exception, span: Span | None, what: Any = "") -> Exception:
    """The user's error: a MyiaError with the span, of the kind that Python raises."""
    if isinstance(problem, MyiaError):
        return with_span(problem, span)
    for kind, code in _RAISES.items():
        if isinstance(problem, kind):  # the C library's own words, (34, 'Numerical result out of range'), are as math says them
            return error(code, span, message="math range error" if kind is OverflowError and len(problem.args) == 2 else str(problem))
    return error("M800", span, message=f"{type(problem).__name__} in {what!r}: {problem}")


def run(graph: Graph, arguments: Sequence[Any], record: Record | None = None) -> Any:
    """`graph(*arguments)` on the reference interpreter."""
    return Machine(record).run(graph, arguments)


__all__ = ["Closure", "Machine", "run", "zero_value"]
