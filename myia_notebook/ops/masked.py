"""x[mask]: the elements of an array where a boolean array holds. How many there are is known only at run time, so the value stays what it was made of, a
record of x and the mask, and what is done with it is done under the mask:

    elementwise operations      on x, under the same mask (the other operand a number, or another selection by that very mask)
    sum prod mean min max any all, count, len, size      over the elements that the mask keeps
    returned to Python          the array that NumPy gives

Anything that needs the positions of the selected elements (an index, a loop, a shape) is refused with what to write instead.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from myia_notebook.errors import error
from myia_notebook.ir.types import Array, Record, Scalar, Structure, Type
from myia_notebook.ops.expression import Builder, Expr, apply

MASKED = Structure("masked")
_REDUCTIONS: dict[str, Any] = {"reduce_sum": 0, "reduce_prod": 1, "reduce_any": False, "reduce_all": True, "reduce_max": -math.inf, "reduce_min": math.inf}


def is_masked(t: Type) -> bool:
    return isinstance(t, Record) and t.structure == MASKED


def parts_of(x: Expr) -> tuple[Expr, Expr]:
    """(x, the mask)"""
    return tuple(Expr(x.builder, x.builder.item(x.node, i)) for i in range(2))  # type: ignore[return-value]


def selected(x: Expr, mask: Expr) -> Expr:
    """x[mask]"""
    return x.builder.expr(x.builder.record(MASKED, x.node, mask.node))


def under_mask(name: str, function: Callable[..., Expr], operands: list[Expr]) -> Expr:
    """An elementwise function on selections."""
    values: list[Expr] = []
    mask: Expr | None = None
    for o in operands:
        if not is_masked(o.type):
            if isinstance(o.type, Array):
                raise _refused(f"{name} of a selection and an array")
            values.append(o)
            continue
        value, own = parts_of(o)
        if mask is not None and own.node is not mask.node and not _is_same(own, mask):
            value = _checked_same(value, own, mask, name)
        mask = own if mask is None else mask
        values.append(value)
    assert mask is not None
    made = function(*values)
    wide = made if isinstance(made.type, Array) else apply("broadcast_to", made, static=[mask.type.shape])  # type: ignore[union-attr]
    return selected(wide, mask)


def _is_same(a: Expr, b: Expr) -> bool:
    """Whether two masks are the same node, through the records that hold them."""
    def source(x: Expr) -> Any:
        node: Any = x.node
        inputs = getattr(node, "inputs", None)
        return (id(inputs[1]), inputs[2].value) if inputs and len(inputs) == 3 and hasattr(inputs[2], "value") else id(node)
    return source(a) == source(b)


def _checked_same(x: Expr, own: Expr, mask: Expr, name: str) -> Expr:
    """x, after a run-time check that two masks agree (`x[x > 0] * y[x > 0]` computes its mask twice)."""
    from myia_notebook.ops.operators import convert
    from myia_notebook.ops.table import PRIMITIVES
    if own.type != mask.type:
        raise _refused(f"{name} of selections by masks of several shapes")
    assert isinstance(own.type, Array)
    differ = convert(apply("not_equal", own, mask), Array("int64", own.type.shape))
    n = convert(apply("reduce_sum", differ, static=[tuple(range(len(own.type.shape))), False]), Scalar("int64", weak=True))
    builder = x.builder
    return builder.expr(builder.apply(PRIMITIVES["check_length"], x.node, n.node, builder.constant(0), builder.constant(False),
                                      builder.constant("selections by two masks that differ cannot be combined"), type=x.type))


def _refused(what: str) -> Exception:
    return error("M308", message=f"{what}: its shape would be known only at run time", hint="use np.where(mask, x, 0.0), which keeps the shape")


def filled(x: Expr, value: Any) -> Expr:
    """The array with `value` where the mask does not hold."""
    array, mask = parts_of(x)
    extra = len(array.type.shape) - len(mask.type.shape)  # type: ignore[union-attr]
    if extra:
        mask = apply("reshape", mask, static=[(*mask.type.shape, *(1,) * extra)])  # type: ignore[union-attr]
    if array.type.dtype == "bool":  # type: ignore[union-attr]
        other = array.builder.expr(array.builder.constant(bool(value)))
    elif math.isinf(value) and not array.type.dtype.startswith("float"):  # type: ignore[union-attr]
        other = array.builder.expr(array.builder.constant(-(2**31) if value < 0 else 2**31 - 1))
    else:
        other = array.builder.expr(array.builder.constant(type(value)(value)))
    made = apply("where", mask, array, other)
    from myia_notebook.ops.operators import convert
    return convert(made, array.type)


def count(x: Expr) -> Expr:
    """How many elements (rows, when the mask has fewer axes) are selected."""
    from myia_notebook.ops.operators import convert
    _, mask = parts_of(x)
    assert isinstance(mask.type, Array)
    return convert(apply("reduce_sum", convert(mask, Array("int64", mask.type.shape)), static=[tuple(range(len(mask.type.shape))), False]),
                   Scalar("int64", weak=True))


def reduced(primitive: str, x: Expr, name: str) -> Expr:
    """A reduction of all selected elements."""
    array, mask = parts_of(x)
    assert isinstance(array.type, Array) and isinstance(mask.type, Array)
    if primitive not in _REDUCTIONS:
        raise _refused(f"{name} of a selection")
    if primitive in ("reduce_max", "reduce_min"):
        x = _nonempty(x, name)
    return apply(primitive, filled(x, _REDUCTIONS[primitive]), static=[tuple(range(len(array.type.shape))), False])


def _nonempty(x: Expr, name: str) -> Expr:
    from myia_notebook.ops.table import PRIMITIVES
    array, mask = parts_of(x)
    builder: Builder = x.builder
    message = f"zero-size array to reduction operation {name.removeprefix('np.')}imum which has no identity"
    checked = builder.apply(PRIMITIVES["check_length"], array.node, count(x).node, builder.constant(1), builder.constant(True), builder.constant(message),
                            type=array.type)
    return selected(builder.expr(checked), mask)


def mean(x: Expr) -> Expr:
    array, mask = parts_of(x)
    rows = math.prod(array.type.shape[len(mask.type.shape):])  # type: ignore[union-attr]
    return apply("divide", reduced("reduce_sum", x, "np.mean"), apply("multiply", count(x), float(rows)))


__all__ = ["MASKED", "count", "filled", "is_masked", "mean", "reduced", "selected", "under_mask"]
