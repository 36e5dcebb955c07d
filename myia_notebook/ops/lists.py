"""Lists of run-time length: immutable, of items of one type.

    list_make(x…)  list_length(xs)  list_get(xs, i)  list_append(xs, x)  list_concat(xs, ys)  list_slice(xs, start, step, count)

A position is checked and made nonnegative by `list_index(i, n)` before it is used. The sensitivity of a list is a list in which whatever lies
beyond the end is zero, so that an absent sensitivity is the empty list. On those, all linear:

    list_read(d, i)                    d[i], or zero beyond the end
    list_put(d, i)                     zeros, with d at position i
    list_part(d, start, step, count)   d[start], d[start + step], …
    list_spread(d, start, step)        the adjoint of list_part: zeros, with the items of d at start, start + step, …
    list_pad(d, n)                     d, filled with zeros to length n
"""
from __future__ import annotations

from typing import Any

from myia_notebook.errors import error
from myia_notebook.ir.types import INT, NEVER, List, Type
from myia_notebook.ops.expression import Expr, apply
from myia_notebook.ops.primitive import Kernel, Linear, NotDifferentiable, Primitive

_DISCRETE = NotDifferentiable("a length or position is an integer")
_REFERENCE = "docs/architecture.md, lists"


def _item(t: Type) -> Type:
    if not isinstance(t, List):
        raise error("M301", operation="a list", types=str(t))
    return t.item


def _primitive(name: str, infer: Any, implementation: Any, rule: Any, tangent: Any, symbol: str, *laws: str) -> Primitive:
    return Primitive(name, infer, implementation, rule, tangent, Kernel(name), symbol, False, frozenset({"list", *laws}), (), _REFERENCE)


def _zero(t: Type) -> Any:
    from myia_notebook.vm import zero_value
    return zero_value(_item(t))


def _filled(t: Type, count: int) -> list[Any]:
    return [_zero(t) for _ in range(count)]


# -- lists

def _make_rule(*operands: Expr) -> tuple[Any, ...]:
    *items, _, d = operands
    return tuple((lambda i=i: apply("list_read", d, i)) for i in range(len(items)))


def _joined(name: str, arguments: list[Expr], tangents: list[Any], out: Expr) -> Expr:
    """Tangents of lists put together: the first is filled up to its length, so that what follows lands where it belongs."""
    from myia_notebook.ir.types import sensitivity
    first, second = (Expr(out.builder, out.builder.zero(sensitivity(x.type)), True) if t is None else t for x, t in zip(arguments, tangents))
    if arguments[0].type != List(NEVER):
        first = apply("list_pad", first, apply("list_length", arguments[0]))
    return Expr(out.builder, out.builder.apply(_table()[name], first.node, second.node, type=sensitivity(out.type)), True)


def _table() -> Any:
    from myia_notebook.ops.table import PRIMITIVES
    return PRIMITIVES


list_make = _primitive("list_make", lambda a: List(a[0].type if a else NEVER), lambda *items: list(items), _make_rule, Linear(), "list")
list_length = _primitive("list_length", lambda a: INT, len, _DISCRETE, _DISCRETE, "len")


def _index(i: int, n: int) -> int:
    if not -n <= i < n:
        raise error("M703", message="list index out of range")
    return int(i) + n if i < 0 else int(i)


list_index = _primitive("list_index", lambda a: INT, _index, _DISCRETE, _DISCRETE, "position", "may_fail")
list_get = _primitive("list_get", lambda a: _item(a[0].type), lambda xs, i: xs[i],
                      lambda xs, i, out, d: (lambda: apply("list_put", d, i), None),
                      lambda arguments, out, tangents: apply("list_read", tangents[0], arguments[1]), "[ ]")
list_append = _primitive("list_append", lambda a: a[0].type if a[0].type != List(NEVER) else List(a[1].type), lambda xs, x: [*xs, x],
                         lambda xs, x, out, d: (lambda: apply("list_part", d, 0, 1, apply("list_length", xs)),
                                                lambda: apply("list_read", d, apply("list_length", xs))),
                         lambda arguments, out, tangents: _joined("list_append", arguments, tangents, out), "append")
list_concat = _primitive("list_concat", lambda a: a[1].type if a[0].type == List(NEVER) else a[0].type, lambda xs, ys: [*xs, *ys],
                         lambda xs, ys, out, d: (lambda: apply("list_part", d, 0, 1, apply("list_length", xs)),
                                                 lambda: apply("list_part", d, apply("list_length", xs), 1, apply("list_length", ys))),
                         lambda arguments, out, tangents: _joined("list_concat", arguments, tangents, out), "++")


def _slice(xs: list[Any], start: int, step: int, count: int) -> list[Any]:
    return [xs[start + k * step] for k in range(count)]


list_slice = _primitive("list_slice", lambda a: a[0].type, _slice,
                        lambda xs, start, step, count, out, d: (lambda: apply("list_spread", d, start, step), None, None, None),
                        lambda arguments, out, tangents: apply("list_part", tangents[0], *arguments[1:]), "[:]")

# -- sensitivities of lists

list_read = _primitive("list_read", lambda a: _item(a[0].type), lambda t, d, i: d[i] if i < len(d) else _zero(List(t)),
                       lambda x, i, out, d: (lambda: apply("list_put", d, i), None), Linear((0,)), "[ ]", "needs_type")
list_put = _primitive("list_put", lambda a: List(a[0].type), lambda t, d, i: [*_filled(t, i), d],
                      lambda x, i, out, d: (lambda: apply("list_read", d, i), None), Linear((0,)), "at", "needs_type")


def _part(t: Type, d: list[Any], start: int, step: int, count: int) -> list[Any]:
    return [d[start + k * step] if start + k * step < len(d) else _zero(t) for k in range(count)] if d else []


def _spread(t: Type, d: list[Any], start: int, step: int) -> list[Any]:
    if not d:
        return []
    last = start + (len(d) - 1) * step
    result = _filled(t, max(start, last) + 1)
    for k, item in enumerate(d):
        result[start + k * step] = item
    return result


list_part = _primitive("list_part", lambda a: a[0].type, _part, lambda x, start, step, count, out, d: (lambda: apply("list_spread", d, start, step),
                                                                                                       None, None, None), Linear((0,)), "[:]", "needs_type")
list_spread = _primitive("list_spread", lambda a: a[0].type, _spread,
                         lambda x, start, step, out, d: (lambda: apply("list_part", d, start, step, apply("list_length", x)), None, None),
                         Linear((0,)), "spread", "needs_type")
list_pad = _primitive("list_pad", lambda a: a[0].type, lambda t, d, n: [*d, *_filled(t, n - len(d))], lambda x, n, out, d: (d, None), Linear((0,)),
                      "pad", "needs_type")

FAMILY: tuple[Primitive, ...] = (list_make, list_length, list_index, list_get, list_append, list_concat, list_slice, list_read, list_put, list_part,
                                 list_spread, list_pad)

__all__ = ["FAMILY"]
