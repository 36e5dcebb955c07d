"""Environments: sensitivities of closures, as a sum over the closure's possible graphs of the sensitivities of what they captured.

    env_make(label, s…)          the environment whose only part is that of `label`
    env_get(e, label, i)         the sensitivity of captured value i of `label` (zero when e has no such part)
    add_sensitivities(a, b)      a + b on any sensitivity type that is not a number or array

All three are linear, and their rules are written with each other, so that reverse over reverse works through closures.
Run-time form: ZERO, or a dict from the label's graph id to the tuple of its parts.
"""
from __future__ import annotations

from typing import Any

from myia_notebook.ir.graph import UNDEFINED, ZERO, Graph
from myia_notebook.ir.types import Environment, Type, sensitivity
from myia_notebook.ops.expression import Builder, Expr
from myia_notebook.ops.primitive import Abstract, Linear, Primitive, Structural

_BY_TRANSFORM = Structural("the gradient transform makes it with its type")
_AS_DATA = Structural("environments become records of their parts")


class Label:
    """Names a graph without being a reference to it: dead code stays dead."""

    __slots__ = ("graph",)

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def __repr__(self) -> str:
        return f"#{self.graph.name}"


class EnvironmentValue:
    """A run-time environment with one part for each label met so far."""

    __slots__ = ("parts",)

    def __init__(self, parts: dict[int, tuple[Any, ...]]) -> None:
        self.parts = parts

    def __repr__(self) -> str:
        return f"env{self.parts}"


def fields(label: Label) -> tuple[Type, ...]:
    """The sensitivity types of what a label's graph captured."""
    return tuple(sensitivity(Builder.type_of(p)) for p in label.graph.parameters[:label.graph.captured])


def _make(label: Label, *items: Any) -> EnvironmentValue:
    return EnvironmentValue({label.graph.id: items})


def _get(environment: Any, label: Label, index: int) -> Any:
    if environment is not ZERO:
        part = environment.parts.get(label.graph.id)
        if part is not None:
            return part[index]
    from myia_notebook.vm import zero_value
    return zero_value(fields(label)[index])


def add_values(a: Any, b: Any) -> Any:
    """a + b on run-time sensitivities. Long chains of environments (a loop of closures) are walked with an explicit stack."""
    results: list[Any] = []
    work: list[tuple[str, Any, Any]] = [("add", a, b)]
    while work:
        action, x, y = work.pop()
        if action == "tuple":
            results[-x:] = [tuple(results[-x:])] if x else [()]
        elif action == "environment":
            keys, sizes, rest = x
            parts = dict(rest)
            flat = results[len(results) - sum(sizes):]
            del results[len(results) - sum(sizes):]
            position = 0
            for key, size in zip(keys, sizes):
                parts[key] = tuple(flat[position:position + size])
                position += size
            results.append(EnvironmentValue(parts))
        elif x is UNDEFINED or y is UNDEFINED:  # beside what is chosen: nobody reads it
            results.append(UNDEFINED)
        elif x is ZERO or y is ZERO:
            results.append(y if x is ZERO else x)
        elif isinstance(x, tuple):
            work.append(("tuple", len(x), None))
            work.extend(("add", p, q) for p, q in reversed(list(zip(x, y))))
            if not x:
                work.pop()
                results.append(())
        elif isinstance(x, list):
            both = [add_values(p, q) for p, q in zip(x, y)]
            results.append([*both, *(x if len(x) > len(y) else y)[len(both):]])
        elif isinstance(x, EnvironmentValue):
            keys = [k for k in x.parts if k in y.parts]
            rest = {**x.parts, **{k: v for k, v in y.parts.items() if k not in x.parts}}
            work.append(("environment", (keys, [len(x.parts[k]) for k in keys], rest), None))
            pairs = [("add", p, q) for k in keys for p, q in zip(x.parts[k], y.parts[k])]
            work.extend(reversed(pairs))
        else:
            results.append(x + y)
    return results[0]


def _environment(d: Expr) -> Environment:
    assert isinstance(d.type, Environment)
    return d.type


def _make_rule(label: Expr, *rest: Expr) -> tuple[Any, ...]:
    """∇s_i = env_get(∇e, label, i)"""
    from myia_notebook.gradient.sensitivity import environment_get
    *items, _, d = rest
    graph = label.value.graph
    return (None, *((lambda i=i: environment_get(d.builder, d.node, graph, _environment(d).cls, i)) for i in range(len(items))))


def _get_rule(e: Expr, label: Expr, index: Expr, out: Expr, d: Expr) -> tuple[Any, ...]:
    """∇e = env_make(label, 0, …, ∇s, …, 0)"""
    from myia_notebook.gradient.sensitivity import environment_make

    def whole() -> Any:
        items = [d.node if i == index.value else d.builder.zero(t) for i, t in enumerate(fields(label.value))]
        return environment_make(d.builder, label.value.graph, _environment(e).cls, items)

    return whole, None, None


def _add_infer(arguments: list[Abstract]) -> Type:
    return arguments[0].type


env_make = Primitive("env_make", _BY_TRANSFORM, _make, _make_rule, Linear(), _AS_DATA, "env", False, frozenset({"environment"}), (),
                     "Pearlmutter & Siskind 2008, §4")
env_get = Primitive("env_get", _BY_TRANSFORM, _get, _get_rule, Linear((0,)), _AS_DATA, "of", False, frozenset({"environment"}), (),
                    "Pearlmutter & Siskind 2008, §4")
add_sensitivities = Primitive("add_sensitivities", _add_infer, add_values, lambda a, b, out, d: (d, d), Linear(), _AS_DATA, "+", True,
                              frozenset({"commutative", "associative", "environment"}), (), "van Merriënboer et al. 2018, §3.2")

FAMILY: tuple[Primitive, ...] = (env_make, env_get, add_sensitivities)

__all__ = ["FAMILY", "EnvironmentValue", "Label", "add_sensitivities", "add_values", "env_get", "env_make", "fields"]
