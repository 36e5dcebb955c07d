"""Function values that leave a compiled program.

A closure returned to Python becomes a `ClosureValue` inside a `MyiaFunction`: callable, differentiable, and usable in other programs, where
it stands for a graph that calls the closure's own graph with the captured values as constants.
"""
from __future__ import annotations

import inspect
from typing import Any

from myia_notebook.infer.structures import rebuild
from myia_notebook.ir.graph import Constant, Graph
from myia_notebook.ir.types import LIST, Function, List, Record, Tuple, Type


class ClosureValue:
    """A closed graph as it was before typing (`source`) and the values that it captured."""

    def __init__(self, source: Graph, captured: tuple[Any, ...]) -> None:
        self.source, self.captured = source, captured
        self.__name__ = source.name
        self.__doc__ = f"The function '{source.name}', returned by a compiled program."
        self.__signature__ = _signature(source)
        self._graph: Graph | None = None

    def __call__(self, *args: Any) -> Any:
        raise TypeError("call the compiled function around it")

    def graph(self) -> Graph:
        """x… ↦ source(captured…, x…), in nested form."""
        if self._graph is None:
            graph = self._graph = Graph(self.source.name, "closure", self.source.provenance)
            graph.signature = self.source.signature
            parameters = [graph.add_parameter(p.name, provenance=p.provenance) for p in self.source.parameters[self.source.captured:]]
            graph.output = graph.apply(self.source, *(_operand(v) for v in self.captured), *parameters, provenance=self.source.provenance)
        return self._graph


def _operand(value: Any) -> Constant:
    inner = getattr(value, "__myia_function__", value)
    return Constant(inner.graph()) if isinstance(inner, ClosureValue) else Constant(value)


def _signature(source: Graph) -> inspect.Signature:
    """Names as the user wrote them; defaults that are constants."""
    kinds = inspect.Parameter
    signature = source.signature
    if signature is None:
        names = [p.name or f"x{i}" for i, p in enumerate(source.parameters[source.captured:])]
        return inspect.Signature([kinds(n, kinds.POSITIONAL_OR_KEYWORD) for n in names])
    defaults = {n: d.value for n, d in signature.defaults if isinstance(d, Constant)}
    parameters: list[inspect.Parameter] = []
    for names, kind in ((signature.positional_only, kinds.POSITIONAL_ONLY), (signature.positional, kinds.POSITIONAL_OR_KEYWORD),
                        ((signature.variadic,) if signature.variadic else (), kinds.VAR_POSITIONAL), (signature.keyword_only, kinds.KEYWORD_ONLY)):
        parameters += [kinds(n, kind, default=defaults.get(n, kinds.empty)) for n in names]
    return inspect.Signature(parameters)


def returned_value(value: Any, type: Type) -> Any:
    """A run-time result as the user's value: records, lists and values of unions as what they were, closures as compiled functions.
    Walks with its own stack: a result may be very deep."""
    results: list[Any] = []
    work: list[tuple[str, Any, Any]] = [("value", value, type)]
    while work:
        action, x, t = work.pop()
        if action == "made":
            structure, count = t
            items = results[len(results) - count:] if count else []
            del results[len(results) - count:]
            results.append(items[0] if structure == "value" else None if structure == "none" else rebuild(structure, items))
            continue
        match t:
            case Tuple(items):
                work.append(("made", None, (t.structure if isinstance(t, Record) else None, len(items))))
                work.extend(("value", v, item) for v, item in reversed(list(zip(x, items))))
            case List(item):
                work.append(("made", None, (LIST, len(x))))
                work.extend(("value", v, item) for v in reversed(x))
            case Function() if x.graph.flags.get("box", "function") != "function":
                fields = x.graph.flags["fields"]
                work.append(("made", None, (x.graph.flags["box"], len(fields))))
                work.extend(("value", v, item) for v, item in reversed(list(zip(x.captured, fields))))
            case Function():
                results.append(_function(x))
            case _:
                results.append(x)
    return results[0]


def _function(value: Any) -> Any:
    from myia_notebook.api import MyiaFunction
    graph: Graph = value.graph
    types = [p.type for p in graph.parameters[:graph.captured]]
    captured = tuple(v if t is None else returned_value(v, t) for v, t in zip(value.captured, types))
    source: Graph = graph.flags["source"]
    if "request" in source.flags:
        from myia_notebook.derivatives import returned_derivative
        return returned_derivative(source.flags["request"], captured)
    return MyiaFunction(ClosureValue(source, captured))
