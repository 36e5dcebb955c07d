"""Live inputs: a shown program runs again on other numbers, and its curve is sampled.

On entry a compilation has run once; a `Live` keeps its graphs, which hold for all inputs of the same types, so that nothing is compiled again.
Only the reference interpreter runs here, within a budget of time: a number for which a loop never ends must not stop the kernel. On exit an answer is
plain JSON: the values of the nodes, the trace, the result, the curve. The messages are `{"token", "values", "input", "range"}`; `{"check": text}`
asks for the faults of a cell that has not run.
"""
from __future__ import annotations

import itertools
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from myia_notebook.errors import MyiaError
from myia_notebook.ir.graph import Graph, Node
from myia_notebook.snapshot import to_json
from myia_notebook.view.curve import Curve
from myia_notebook.view.diagnose import diagnose
from myia_notebook.view.graph_json import Identity, span_of
from myia_notebook.view.labels import value_text
from myia_notebook.view.trace import Recorder
from myia_notebook.vm import Machine

REMEMBERED = 40
SECONDS = 1.0

_session = secrets.token_hex(4)
_counter = itertools.count(1)
_known: OrderedDict[str, Live] = OrderedDict()


class OutOfTime(Exception):
    """The program ran longer than the budget."""


def budget(seconds: float) -> Callable[[Node, Any, int], None]:
    """A recorder that only watches the clock."""
    end = time.perf_counter() + seconds
    counter = itertools.count(1)

    def record(node: Node, value: Any, activation: int) -> None:
        if next(counter) % 256 == 0 and time.perf_counter() > end:
            raise OutOfTime
    return record


@dataclass(slots=True)
class Live:
    """A program that can run again. `graphs` are its adjoint and optimized forms, `convert` makes a result the user's value."""

    parameters: list[Node]
    values: list[Any]
    graphs: tuple[Graph, ...]
    identity: Identity
    prepare: Callable[[list[Any]], list[Any]]
    convert: Callable[[Any], Any] | None
    fixed: tuple[int, ...] = ()
    curve: Curve | None = None
    token: str = ""
    _described: dict[str, Any] | None = None

    def kind(self, index: int) -> str:
        """Which control an input gets; none when the program was compiled for its very value."""
        return "" if index in self.fixed else kind_of(self.values[index])

    def inputs(self) -> list[dict[str, Any]]:
        """The inputs as the viewer shows them; those of kind '' cannot be moved."""
        return [{"name": p.name, "kind": self.kind(i), "value": v if self.kind(i) else value_text(v), "span": span_of(p)}
                for i, (p, v) in enumerate(zip(self.parameters, self.values))]

    def describe(self) -> dict[str, Any]:
        """The part of the payload: the inputs, and the curve over the first that has one."""
        if self._described is None:
            first = next((i for i in range(len(self.values)) if self.kind(i) == "float"), None)
            curve = None if first is None else self.sampled(first, self.values, None)
            self._described = {"token": self.token, "inputs": self.inputs(), "curve": curve}
        return self._described

    def sampled(self, index: int, values: list[Any], window: list[float] | None) -> dict[str, Any] | None:
        return None if self.curve is None else self.curve.sample(index, values, window)

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Runs on `message["values"]`. What cannot be run is said in `error`."""
        given = message["values"] if isinstance(message.get("values"), list) and len(message["values"]) == len(self.values) else self.values
        values = [_number(self.kind(i), old, new) for i, (old, new) in enumerate(zip(self.values, given))]
        made: dict[str, Any] = {"values": {}, "trace": None, "result": "", "error": "", "curve": None}
        inputs = self.prepare(values)
        seen: dict[int, list[Any]] = {}
        for graph in self.graphs:
            recorder = Recorder()
            recorder.run(graph, inputs)
            seen |= recorder.values
            made["trace"] = made["trace"] or to_json(recorder.trace(self.identity))
        made["values"] = {str(self.identity.number(key)): value_text(found[-1]) for key, found in seen.items()}
        try:
            result = Machine(budget(SECONDS)).run(self.graphs[-1], inputs)
            made["result"] = value_text(result if self.convert is None else self.convert(result))
        except MyiaError as problem:
            made["error"] = f"{problem.code} {problem.message}"
        except OutOfTime:
            made["error"] = f"still running after {SECONDS:g} s"
        index = message.get("input")
        if isinstance(index, int) and 0 <= index < len(values) and self.kind(index) == "float":
            made["curve"] = self.sampled(index, values, message.get("range"))
        return made


def _number(kind: str, old: Any, new: Any) -> Any:
    """A number from the page, of the type that the program was compiled for."""
    if kind == "bool":
        return bool(new)
    if not kind or isinstance(new, bool) or not isinstance(new, (int, float)) or not abs(new) < 2**62:
        return old
    return int(new) if kind == "int" else float(new)


def kind_of(value: Any) -> str:
    """Which control an input gets: Python's own numbers only."""
    return {bool: "bool", int: "int", float: "float"}.get(type(value), "")


def remember(live: Live) -> Live:
    """Gives the program its token. The oldest are forgotten."""
    live.token = f"{_session}-{next(_counter)}"
    _known[live.token] = live
    if len(_known) > REMEMBERED:
        _known.popitem(last=False)
    return live


def answer(message: Any) -> dict[str, Any]:
    """The answer to a message of the page; `known` is False when this kernel does not hold the program."""
    if isinstance(message, dict) and isinstance(message.get("check"), str):
        return {"number": message.get("number"), "known": True, "faults": diagnose(message["check"])}
    live = _known.get(str(message.get("token"))) if isinstance(message, dict) else None
    number = message.get("number") if isinstance(message, dict) else None
    if live is None:
        return {"number": number, "known": False}
    if message.get("values") is None:
        return {"number": number, "known": True}
    return {"number": number, "known": True, **live.answer(message)}


def serve() -> None:
    """Answers the extension of JupyterLab and Notebook 7 over a comm of the kernel; does nothing where there are no comms."""
    try:
        from comm import get_comm_manager
    except ImportError:
        return

    def opened(comm: Any, message: Any) -> None:
        comm.on_msg(lambda m: comm.send(answer(m["content"]["data"])))

    get_comm_manager().register_target("myia_notebook", opened)


__all__ = ["Live", "answer", "budget", "kind_of", "remember", "serve"]
