"""Environments and closures seen as data: what was put in comes out again."""
from __future__ import annotations

from typing import Any

from myia_notebook.ir.graph import ZERO, Apply, Constant, Node, graph_constant, is_call_of
from myia_notebook.ir.types import BOOL, Environment, is_float
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.optimize.rewriter import Rewriter, Rule, location

ENV_MAKE, ENV_GET, ADD_SENSITIVITIES, ADD = (PRIMITIVES[n] for n in ("env_make", "env_get", "add_sensitivities", "add"))
PARTIAL, SWITCH = PRIMITIVES["partial"], PRIMITIVES["switch"]


def _rule(name: str, heads: tuple[str, ...], function: Any, why: str, statement: str) -> Rule:
    return Rule(name, "environment", heads, function, why, location(function), statement)


def _label(node: Node) -> Any:
    assert isinstance(node, Constant)
    return node.value.graph


def _get_of_make(r: Rewriter, node: Apply) -> Node | None:
    source, label, index = node.inputs[1:4]
    assert isinstance(index, Constant)
    if isinstance(source, Constant) and source.value is ZERO:
        return Constant(ZERO, node.type, node.name, node.provenance)
    if not (isinstance(source, Apply) and is_call_of(source, ENV_MAKE)):
        return None
    if _label(source.inputs[1]) is _label(label):
        return source.inputs[2 + index.value]
    return Constant(ZERO, node.type, node.name, node.provenance)


def _get_of_sum(r: Rewriter, node: Apply) -> Node | None:
    source = node.inputs[1]
    if not (isinstance(source, Apply) and is_call_of(source, ADD_SENSITIVITIES)):
        return None
    builder = r.builder(node)
    parts = [builder.apply(ENV_GET, x, *node.inputs[2:], type=node.type) for x in source.inputs[1:]]
    return builder.apply(ADD if is_float(Builder.type_of(node)) else ADD_SENSITIVITIES, *parts, type=node.type)


def _get_of_switch(r: Rewriter, node: Apply) -> Node | None:
    source = node.inputs[1]
    if not (isinstance(source, Apply) and is_call_of(source, SWITCH)):
        return None
    builder = r.builder(node)
    parts = [builder.apply(ENV_GET, x, *node.inputs[2:], type=node.type) for x in source.inputs[2:]]
    return builder.apply(SWITCH, source.inputs[1], *parts, type=node.type)


def _sum_of_makes(r: Rewriter, node: Apply) -> Node | None:
    first, second = node.inputs[1:3]
    if not isinstance(node.type, Environment):
        return None
    if not (isinstance(first, Apply) and isinstance(second, Apply) and is_call_of(first, ENV_MAKE) and is_call_of(second, ENV_MAKE)):
        return None
    if _label(first.inputs[1]) is not _label(second.inputs[1]):
        return None
    builder = r.builder(node)
    items: list[Node] = []
    for p, q in zip(first.inputs[2:], second.inputs[2:]):
        t = Builder.type_of(p)
        items.append(builder.apply(ADD if is_float(t) else ADD_SENSITIVITIES, p, q, type=t))
    return builder.apply(ENV_MAKE, first.inputs[1], *items, type=node.type)


def _make_of_zeros(r: Rewriter, node: Apply) -> Node | None:
    if all(isinstance(x, Constant) and x.value is ZERO for x in node.inputs[2:]):
        return Constant(ZERO, node.type, node.name, node.provenance)
    return None


def _closure_is(r: Rewriter, node: Apply) -> Node | None:
    graph = _made_of(node.inputs[1])
    return None if graph is None else Constant(graph is _label(node.inputs[2]), BOOL, node.name, node.provenance)


def _closure_get(r: Rewriter, node: Apply) -> Node | None:
    source, _, index = node.inputs[1:4]
    assert isinstance(index, Constant)
    if isinstance(source, Apply) and is_call_of(source, PARTIAL):
        return source.inputs[2 + index.value]
    return None


def _made_of(node: Node) -> Any:
    if isinstance(node, Apply) and is_call_of(node, PARTIAL):
        return graph_constant(node.inputs[1])
    return graph_constant(node)


ENVIRONMENT: tuple[Rule, ...] = (
    _rule("env_get_of_make", ("env_get",), _get_of_make, "The sensitivity of a captured value is the one that was put there.", "env(f, s).f  →  s"),
    _rule("env_get_of_sum", ("env_get",), _get_of_sum, "A part of a sum is the sum of the parts.", "(e + g).f  →  e.f + g.f"),
    _rule("env_get_of_switch", ("env_get",), _get_of_switch, "A part of a choice is the choice of the parts.", "(c ? e : g).f  →  c ? e.f : g.f"),
    _rule("sum_of_environments", ("add_sensitivities",), _sum_of_makes, "Environments of one function add part by part.", "env(f, s) + env(f, t)  →  env(f, s + t)"),
    _rule("env_make_of_zeros", ("env_make",), _make_of_zeros, "An environment of zeros is the zero environment.", "env(f, 0)  →  0"),
    _rule("closure_is_known", ("closure_is",), _closure_is, "The closure is made right here.", "partial(f, x) is f  →  True"),
    _rule("closure_get_known", ("closure_get",), _closure_get, "The captured value is at hand.", "partial(f, x).x  →  x"),
)
