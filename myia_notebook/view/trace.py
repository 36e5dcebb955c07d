"""The run as the viewer replays it: every value in the order in which the reference interpreter computed it, call by call.

The forward sweep comes first, then the backward sweep, and a loop is one call of its graph for each iteration. A backpropagator belongs to
the call of ▶ that made it: that is how iteration 3 of the backward sweep is paired with iteration 3 of the forward sweep.
"""
from __future__ import annotations

from typing import Any

from myia_notebook.errors import MyiaError
from myia_notebook.ir.graph import Graph, Node
from myia_notebook.snapshot import Trace
from myia_notebook.view.graph_json import Identity
from myia_notebook.view.labels import value_text
from myia_notebook.vm import Closure, Machine

RECORD_LIMIT = 20_000
TRACE_LIMIT = 4_000


class _Enough(Exception):
    """The recorder has seen enough."""


class Recorder:
    """Runs one graph and keeps what it computed: `values` by node id (all of them, in order), and the first `TRACE_LIMIT` as a trace."""

    def __init__(self) -> None:
        self.values: dict[int, list[Any]] = {}
        self.rows: list[tuple[int, int, str]] = []
        self.graphs: list[int] = []
        self.forwards: list[int] = []
        self.seen = 0
        self._makers: dict[int, tuple[int, Closure]] = {}  # by the identity of the closure, which is kept alive here
        self._machine = Machine(self._record)

    def run(self, graph: Graph, inputs: list[Any]) -> None:
        """Never raises: a failure of the program ends the recording."""
        self._root = graph
        try:
            self._machine.run(graph, inputs)
        except (_Enough, MyiaError):
            pass

    def _record(self, node: Node, value: Any, activation: int) -> None:
        self.seen += 1
        if self.seen > RECORD_LIMIT:
            raise _Enough
        self.values.setdefault(node.id, []).append(value)
        while len(self.graphs) < activation:
            called = self._machine.called
            self.graphs.append((called.graph if called is not None else self._root).id)
            self.forwards.append(self._makers[id(called)][0] if id(called) in self._makers else 0)
        for made in value if isinstance(value, tuple) else (value,):
            if isinstance(made, Closure):
                self._makers.setdefault(id(made), (activation, made))
        if len(self.rows) < TRACE_LIMIT:
            self.rows.append((node.id, activation, value_text(value)))

    def trace(self, identity: Identity) -> Trace:
        calls = max((call for _, call, _ in self.rows), default=0)
        return Trace(tuple(identity.number(node) for node, _, _ in self.rows), tuple(call for _, call, _ in self.rows),
                     tuple(text for _, _, text in self.rows), tuple(map(identity.number, self.graphs[:calls])), tuple(self.forwards[:calls]),
                     self.seen > len(self.rows))
