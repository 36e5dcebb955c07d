"""Tuples: making one and reading an item. Sensitivities of tuples are tuples of sensitivities."""
from __future__ import annotations

from typing import Any

from myia_notebook.errors import error
from myia_notebook.ir.types import Tuple, Type, sensitivity
from myia_notebook.ops.expression import Expr
from myia_notebook.ops.primitive import Abstract, Linear, Primitive, Sample, Structural

_AS_DATA = Structural("tuples are flattened to registers")


def _make_infer(arguments: list[Abstract]) -> Type | Abstract:
    t = Tuple(tuple(a.type for a in arguments))
    if arguments and all(a.is_known for a in arguments):
        return Abstract(t)
    return t


def _make_rule(*operands: Expr) -> tuple[Any, ...]:
    """∇x_i = ∇z[i]"""
    *items, _, d = operands
    return tuple((lambda i=i: Expr(d.builder, d.builder.item(d.node, i), True)) for i in range(len(items)))


make_tuple = Primitive("make_tuple", _make_infer, lambda *items: items, _make_rule, Linear(), _AS_DATA, "( )", False, frozenset({"tuple"}),
                       (Sample((1.0, 2), (0,)),), "docs/architecture.md")


def _get_infer(arguments: list[Abstract]) -> Type:
    of, index = arguments
    if not isinstance(of.type, Tuple):
        raise error("M301", operation="a tuple's item", types=str(of.type))
    if not isinstance(index.value, int) or not 0 <= index.value < len(of.type.items):
        raise error("M403", index=index.value, axis="a tuple", size=len(of.type.items))
    return of.type.items[index.value]


def _get_rule(x: Expr, index: Expr, out: Expr, d: Expr) -> tuple[Any, Any]:
    """∇x = (0, …, ∇z, …, 0)"""

    def whole() -> Expr:
        t = sensitivity(x.type)
        assert isinstance(t, Tuple)
        builder = d.builder
        return Expr(builder, builder.tuple(*(d.node if i == index.value else builder.zero(item) for i, item in enumerate(t.items))), True)

    return whole, None


tuple_getitem = Primitive("tuple_getitem", _get_infer, lambda value, index: value[index], _get_rule, Linear((0,)), _AS_DATA, "[ ]", False,
                          frozenset({"tuple"}), (Sample(((1.0, 2.0), 1)),), "docs/architecture.md")

FAMILY: tuple[Primitive, ...] = (make_tuple, tuple_getitem)
