"""Control: the primitives that engines know by name, and effects.

    switch(c, x, y)               x if c else y, both computed (parsed form: of two graphs)
    branch(c, g1, g2, args…)      (g1 if c else g2)(args…): only one runs
    partial(g, captured…)         the closure of g over its captured values
    gradient_call(f, options, x…) the gradient of f at x; expanded by the gradient stage
    tangent_call(f, options, x…, ẋ…)  (y, ẏ), by forward mode; expanded by the gradient stage
    custom_call(p, q, x…)         p(x…), whose backpropagator is ∇y ↦ q(x…, ∇y); a plain call after the gradient stage
    stop_gradient(x)              x, a constant to every derivative; x itself after the gradient stage
    raise_(kind, form, value, …)  raises the built-in exception `kind`; never returns (see ops.messages)
    sequence(effect, value)       value, after the effect (see infer.effects)
    print_(form, value, …)        prints at run time, in program order
"""
from __future__ import annotations

import builtins
from typing import Any

from myia_notebook.errors import CATALOG, MyiaError, error
from myia_notebook.ir.types import NEVER, NONE, Type
from myia_notebook.ops.expression import Expr
from myia_notebook.ops.primitive import Abstract, Linear, NotDifferentiable, Primitive, Structural

_NO_VALUE = NotDifferentiable("it has no numeric result")


def _structural(name: str, why: str, symbol: str) -> Primitive:
    reason = Structural(why)
    return Primitive(name, reason, reason, reason, reason, reason, symbol, False, frozenset({"control"}), (), "docs/architecture.md")


branch = _structural("branch", "the branch rule of each engine", "if")
partial = _structural("partial", "the closure rule of each engine", "closure")
gradient_call = _structural("gradient_call", "expanded by the gradient stage", "∇")
tangent_call = _structural("tangent_call", "expanded by the gradient stage", "▷")
custom_call = _structural("custom_call", "the gradient stage makes a plain call of it", "custom")
jacobian_call = _structural("jacobian_call", "inference makes loops of it", "J")
_CONSTANT = NotDifferentiable("it is a constant to every derivative")
stop_gradient = Primitive("stop_gradient", Structural("the type of x"), lambda x: x, _CONSTANT, _CONSTANT,
                          Structural("the gradient stage removes it"), "stop", False, frozenset({"control"}), (), "docs/architecture.md")


def _switch_infer(arguments: list[Abstract]) -> Type:
    return arguments[1].type


def _switch_rule(c: Expr, x: Expr, y: Expr, out: Expr, d: Expr) -> tuple[Any, ...]:
    """The side that is not taken gets zero."""
    builder = d.builder

    def side(taken: bool) -> Expr:
        zero = builder.zero(d.type)
        pair = (d.node, zero) if taken else (zero, d.node)
        return Expr(builder, builder.apply(switch, c.node, *pair, type=d.type), True)

    return None, lambda: side(True), lambda: side(False)


switch = Primitive("switch", _switch_infer, lambda c, x, y: x if c else y, _switch_rule, Linear((1, 2)), Structural("a select"), "if", False,
                   frozenset({"control", "masking"}), (), "docs/architecture.md")
sequence = Primitive("sequence", lambda arguments: arguments[-1].type, lambda token, value: value, lambda token, value, out, d: (None, d),
                     Linear((1,)), Structural("an order of effects"), "then", False, frozenset({"control"}), (), "docs/architecture.md")


def exception_of(kind: str, message: str) -> MyiaError:
    """The MyiaError that is also the built-in exception `kind`."""
    for entry in CATALOG.values():
        if entry.code.startswith("M7") or entry.code in ("M202",):
            built_in = getattr(builtins, kind, None)
            if built_in is not None and built_in in entry.exception.__mro__ and entry.template == "{message}":
                return error(entry.code, message=message)
    base = getattr(builtins, kind, Exception)
    if kind == "UnboundLocalError":
        return error("M202", name=message)
    made = type(f"Myia{kind}", (MyiaError, base), {"__str__": MyiaError.__str__})
    return made(message, "M705", kind="run-time")


def _raise(kind: str, form: Any, *values: Any) -> Any:
    from myia_notebook.ops.messages import written
    raise exception_of(kind, written(form, values))


raise_ = Primitive("raise_", lambda arguments: NEVER, _raise, _NO_VALUE, _NO_VALUE, Structural("an error exit"), "raise", False,
                   frozenset({"effect", "may_fail"}), (), "docs/architecture.md, order of effects")


def _print(form: Any, *values: Any) -> None:
    from myia_notebook.ops.messages import written
    print(written(form, values), end="")


print_ = Primitive("print_", lambda arguments: NONE, _print, _NO_VALUE, _NO_VALUE, Structural("a call back to Python's print"), "print", False,
                   frozenset({"effect"}), (), "docs/architecture.md, order of effects")

FAMILY: tuple[Primitive, ...] = (branch, partial, gradient_call, tangent_call, custom_call, jacobian_call, stop_gradient, switch, sequence, raise_, print_)

__all__ = ["FAMILY", "exception_of"]
