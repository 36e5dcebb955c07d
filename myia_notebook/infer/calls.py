"""Binding the arguments of a call to a graph's parameters, and the closures that `grad` makes."""
from __future__ import annotations

from typing import Any

from myia_notebook.errors import error
from myia_notebook.gradient.options import GradientOptions
from myia_notebook.ir.graph import Constant, Graph
from myia_notebook.ir.types import Static
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.parse.expressions import describe

_templates: dict[Any, Graph] = {}
_instances: dict[Any, Graph] = {}


def arranged(graph: Graph, count: int, names: tuple[str, ...]) -> list[Any]:
    """Where each parameter of a closure gets its value: an operand's position, a tuple of positions (for *args), a dict of them (for
    **kwargs), or a Constant default. The first `count` operands are positional, then those of `names`."""
    signature = graph.signature
    if signature is None:
        wanted = len(graph.parameters) - graph.captured
        if names or count != wanted:
            raise error("M501", signature=describe(graph), problem=f"takes {wanted} arguments, got {count + len(names)}")
        return list(range(count))
    positional = [*signature.positional_only, *signature.positional]
    bound: dict[str, Any] = dict(zip(positional, range(count)))
    if count > len(positional) and signature.variadic is None:
        raise error("M501", signature=describe(graph), problem=f"takes {len(positional)} arguments, got {count}")
    more: dict[str, int] = {}
    for i, name in enumerate(names):
        if name not in (*signature.positional, *signature.keyword_only):
            if signature.keywords is None:
                raise error("M501", signature=describe(graph), problem=f"got an unexpected keyword argument '{name}'")
            more[name] = count + i
            continue
        if name in bound:
            raise error("M501", signature=describe(graph), problem=f"got several values for '{name}'")
        bound[name] = count + i
    defaults = dict(signature.defaults)
    recipe: list[Any] = []
    for name in signature.names:
        if name == signature.variadic:
            recipe.append(tuple(range(len(positional), count)))
        elif name == signature.keywords:
            recipe.append(more)
        elif name in bound:
            recipe.append(bound[name])
        elif isinstance(defaults.get(name), Constant):
            recipe.append(defaults[name])
        else:
            raise error("M501", signature=describe(graph), problem=f"is missing the argument '{name}'")
    return recipe


def gradient_template(kind: str, wrt: Any) -> Graph:
    """The graph of `grad(f, wrt)` as a closure over f. It has no body: `template_instance` makes one for a number of arguments."""
    key = (kind, wrt)
    if key not in _templates:
        graph = Graph(kind, "closure")
        graph.captured = 1
        graph.add_parameter("f")
        graph.output = Constant(None)
        graph.flags["gradient"] = key
        _templates[key] = graph
    return _templates[key]


def template_instance(template: Graph, count: int, invariants: dict[int, Any]) -> Graph:
    """(f, x1, …, xn) ↦ gradient_call(f, request, x1, …, xn)"""
    key = (template.id, count)
    if key not in _instances:
        graph = Graph(template.name, "closure")
        graph.captured = 1
        f = graph.add_parameter("f")
        arguments = [graph.add_parameter("") for _ in range(count)]
        request = template.flags["gradient"]
        graph.output = graph.apply(PRIMITIVES["gradient_call"], f, Constant(request, Static(request)), *arguments)
        graph.flags["gradient instance"] = True
        _instances[key] = graph
    invariants.setdefault(_instances[key].id, None)
    return _instances[key]


def resolve_wrt(kind: str, wrt: Any, graph: Graph, count: int) -> GradientOptions:
    """`wrt` as positions: an index, a name of a parameter, a tuple of them, "*"."""
    names = [p.name for p in graph.parameters[graph.captured:]]
    if wrt == "*":
        return GradientOptions(tuple(range(count)), False, kind == "value_and_grad")
    items = wrt if isinstance(wrt, tuple) else (wrt,)
    positions: list[int] = []
    for item in items:
        if isinstance(item, str):
            if item not in names:
                raise error("M603", message=f"{describe(graph)} has no parameter '{item}' to differentiate", hint=f"its parameters are {', '.join(names)}")
            positions.append(names.index(item))
        elif isinstance(item, int) and not isinstance(item, bool) and -count <= item < count:
            positions.append(item % count)
        else:
            raise error("M603", message=f"wrt={item!r} names no argument of {describe(graph)}", hint=f"it has {count} arguments")
    return GradientOptions(tuple(positions), not isinstance(wrt, tuple), kind == "value_and_grad")
