"""Callables made outside the program from functions: gradients and other derivatives, `functools.partial`, backpropagators.

    callable_graph(grad(f))          (x…) ↦ grad(f)(x…)
    callable_graph(partial(f, a))    (x…) ↦ f(a, x…)

On exit: nested form, parsed once per session.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from myia_notebook.errors import MyiaError, error
from myia_notebook.infer.values import type_of_value
from myia_notebook.ir.graph import Constant, Graph, Node, Signature
from myia_notebook.ir.types import Static
from myia_notebook.ops.table import operation_for
from myia_notebook.parse.resolve import ParseSession

_KINDS = inspect.Parameter


def callable_graph(value: Any, session: ParseSession) -> Graph:
    """The graph of anything that the public functions take: functions, methods, partials, derivatives, compiled functions."""
    from myia_notebook.api import Gradient
    from myia_notebook.parse.parser import parse_function
    if isinstance(value, Gradient):
        return _wrapped(value, session, value._signature, lambda graph, given: value._applied(graph, session, given))
    if isinstance(value, functools.partial):
        return _wrapped(value, session, _signature(value), lambda graph, given: _partial(graph, value, session, given))
    return parse_function(value, session)


def _signature(value: Any) -> inspect.Signature:
    try:
        return inspect.signature(value)
    except (TypeError, ValueError):
        raise error("M305", type=f"{type(value).__name__} {value!r:.40}", hint="give a Python function") from None


def _wrapped(value: Any, session: ParseSession, signature: inspect.Signature, body: Callable[[Graph, dict[str, Node]], Node]) -> Graph:
    """A graph with the parameters of `value` whose output is `body`."""
    key = ("callable", id(value))
    found = session.graphs.get(key)
    if found is not None:
        return found
    session.kept.append(value)  # keeps id(value) valid
    graph = session.graphs[key] = Graph(getattr(value, "__name__", "") or getattr(getattr(value, "func", None), "__name__", "partial"), "closure")
    parameters = signature.parameters.values()
    if any(p.kind in (_KINDS.VAR_POSITIONAL, _KINDS.VAR_KEYWORD) for p in parameters):
        raise error("M603", message=f"'{graph.name}' takes any number of arguments and was made outside the program", hint="make it where it is used")
    kinds = (_KINDS.POSITIONAL_ONLY, _KINDS.POSITIONAL_OR_KEYWORD, _KINDS.KEYWORD_ONLY)
    first, both, by_name = (tuple(p.name for p in parameters if p.kind == kind) for kind in kinds)
    defaults = tuple((p.name, value_node(graph, p.default, session)) for p in parameters if p.default is not _KINDS.empty)
    graph.signature = Signature(first, both, None, by_name, None, defaults)
    given: dict[str, Node] = {name: graph.add_parameter(name) for name in graph.signature.names}
    try:
        graph.output = body(graph, given)
    except BaseException:
        del session.graphs[key]
        raise
    return graph


def _partial(graph: Graph, value: functools.partial[Any], session: ParseSession, given: dict[str, Node]) -> Node:
    """f(a…, x…, name=b…): arguments of the partial are constants; its keywords are parameters with defaults, as Python says."""
    function = callable_graph(getattr(value.func, "__myia_function__", value.func), session)
    positional = [value_node(graph, a, session) for a in value.args]
    signature = _signature(value.func)
    bound = signature.bind_partial(*value.args).arguments
    rest = [p for p in signature.parameters.values() if p.name not in bound]
    positional += [given[p.name] for p in rest if p.kind is not _KINDS.KEYWORD_ONLY]
    return call_by_name(graph, Constant(function), positional, [(p.name, given[p.name]) for p in rest if p.kind is _KINDS.KEYWORD_ONLY])


def call_by_name(graph: Graph, head: Node, positional: list[Node], named: list[tuple[str, Node]]) -> Node:
    from myia_notebook.parse.expressions import CALL_WITH
    if not named:
        return graph.apply(head, *positional)
    kinds = ("",) * len(positional) + tuple(name for name, _ in named)
    return graph.apply(Constant(CALL_WITH), head, Constant(kinds, Static(kinds)), *positional, *(node for _, node in named))


def value_node(graph: Graph, value: Any, session: ParseSession) -> Node:
    """A Python value as a constant of the program."""
    from myia_notebook.api import is_function
    if is_function(value) or isinstance(value, functools.partial):
        return Constant(callable_graph(getattr(value, "__myia_function__", value), session))
    if isinstance(value, type) or operation_for(value) is not None or isinstance(value, str):
        return Constant(value)
    try:
        type_of_value(value)
    except MyiaError as problem:
        problem.message = f"an argument of a partial: {problem.message}"
        raise
    return Constant(value)


__all__ = ["call_by_name", "callable_graph", "value_node"]
