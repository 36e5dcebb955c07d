"""Binding the arguments of a call to a graph's parameters, and the closures that `grad` makes."""
from __future__ import annotations

from typing import Any

from myia_notebook.errors import error
from myia_notebook.gradient.options import Request
from myia_notebook.ir.graph import Constant, Graph, Node
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


def gradient_template(request: Request, captured: int = 1) -> Graph:
    """The graph of `grad(f, wrt)` and the like as a closure over f (and, for a pullback, the arguments). It has no body:
    `template_instance` makes one for a number of arguments."""
    key = (request, captured)
    if key not in _templates:
        graph = Graph(request.kind, "closure")
        graph.captured = captured
        for i in range(captured):
            graph.add_parameter("f" if i == 0 else "")
        graph.output = Constant(None)
        graph.flags["gradient"] = graph.flags["request"] = request
        _templates[key] = graph
    return _templates[key]


_HEADS = {"jacobian": "jacobian_call", "custom_gradient": "custom_call"}


def template_instance(template: Graph, count: int, invariants: dict[int, Any]) -> Graph:
    """(f, x1, …, xn) ↦ gradient_call(f, request, x1, …, xn). A Hessian is the Jacobian, forwards, of the gradient."""
    key = (template.id, count)
    if key not in _instances:
        graph = Graph(template.name, "closure")
        graph.captured = template.captured
        f, *arguments = [graph.add_parameter(p.name) for p in template.parameters] + [graph.add_parameter("") for _ in range(count)]
        request: Request = template.flags["gradient"]
        function: Node = f
        if request.kind == "hessian":
            from myia_notebook.api import grad
            function = graph.apply(grad, f, Constant(request.wrt))
            request = Request("jacobian", request.wrt, is_forward=True, names=request.names)
        head = PRIMITIVES[_HEADS.get(request.kind, "gradient_call")]
        graph.output = graph.apply(head, function, Constant(request, Static(request)), *arguments)
        graph.flags["request"] = template.flags["request"]
        _instances[key] = graph
    invariants.setdefault(_instances[key].id, None)
    return _instances[key]
