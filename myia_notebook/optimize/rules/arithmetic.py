"""Arithmetic: folding, neutral elements, signs, powers, reassociation of constants.

The sides are patterns over x, y, z (any node) and a, b (constant numbers). A rewrite is rejected when the new node's type differs from
the old one's, so that `x * 1.0` on an int x stays the float that it is. No rule changes a result beyond reassociation of constants.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from myia_notebook.errors import MyiaError
from myia_notebook.ir.graph import ZERO, Apply, Constant, Node, primitive_of
from myia_notebook.ir.types import Scalar, is_float
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.logic import cast_value
from myia_notebook.ops.primitive import Elementwise
from myia_notebook.optimize.pattern import Application, Computed, Literal, Pattern, Variable, call, instantiate, match
from myia_notebook.optimize.rewriter import Rewriter, Rule

x, y, z = Variable("x"), Variable("y"), Variable("z")
a, b = Variable("a", True), Variable("b", True)
zero = Literal(ZERO)


def rule(name: str, before: Pattern, after: Pattern, why: str, where: Callable[[dict[str, Node]], bool] | None = None) -> Rule:
    """A rule from its two sides."""
    assert isinstance(before, Application)

    def apply(rewriter: Rewriter, node: Apply) -> Node | None:
        binding = match(before, node)
        if binding is None or (where is not None and not where(binding)):
            return None
        new = instantiate(after, binding, rewriter.builder(node), node.type)
        return new if Builder.type_of(new) == node.type and not _is_same(new, node) else None

    import sys
    frame = sys._getframe(1)
    place = f"{frame.f_code.co_filename.rsplit('/', 1)[-1]}:{frame.f_lineno}"
    return Rule(name, "arithmetic", (before.primitive.name,), apply, why, place, f"{before!r}  →  {after!r}", before, after, where)


def _is_same(new: Node, old: Apply) -> bool:
    """Whether a rewrite gave back what was there."""
    if not isinstance(new, Apply) or len(new.inputs) != len(old.inputs):
        return False
    return all(p is q or (isinstance(p, Constant) and isinstance(q, Constant) and p.value is q.value) for p, q in zip(new.inputs, old.inputs))


def _fold(rewriter: Rewriter, node: Apply) -> Node | None:
    """An elementwise primitive on scalar constants is computed now, in the very arithmetic of run time."""
    primitive = primitive_of(node)
    if primitive is None or not isinstance(node.type, Scalar) or not callable(primitive.implementation):
        return None
    values: list[Any] = []
    for operand in node.inputs[1:]:
        if not isinstance(operand, Constant):
            return None
        value = operand.value
        if value is ZERO and isinstance(operand.type, Scalar):
            from myia_notebook.vm import zero_value
            value = zero_value(operand.type)
        elif not isinstance(operand.type, Scalar) and primitive.name != "cast":
            return None
        values.append(value)
    try:
        return Constant(cast_value(primitive.implementation(*values), node.type), node.type, node.name, node.provenance)
    except (MyiaError, ArithmeticError, ValueError, AttributeError, TypeError):
        return None


def fold_rule(heads: tuple[str, ...]) -> Rule:
    return Rule("fold_constants", "arithmetic", heads, _fold, "An operation on constants is a constant.",
                f"arithmetic.py:{_fold.__code__.co_firstlineno}", "f(a, b)  →  [f(a, b)]")


def _nonzero(binding: dict[str, Node]) -> bool:
    node = binding["a"]
    return isinstance(node, Constant) and node.value != 0


def _is_float(name: str) -> Callable[[dict[str, Node]], bool]:
    return lambda binding: is_float(Builder.type_of(binding[name]))


def _same_signs(binding: dict[str, Node]) -> bool:
    """Terms that do not cancel: for an infinite x, ∞ − ∞ stays what it is."""
    return all(node.value > 0 for name, node in binding.items() if name in "ab") or (  # type: ignore[attr-defined]
        "b" in binding and all(binding[name].value < 0 for name in "ab"))  # type: ignore[attr-defined]


def _has_exact_inverse(binding: dict[str, Node]) -> bool:
    node = binding["a"]
    assert isinstance(node, Constant)
    return abs(math.frexp(node.value)[0]) == 0.5 and abs(math.frexp(node.value)[1]) < 100


def _heads() -> tuple[str, ...]:
    from myia_notebook.ops.table import PRIMITIVES
    return tuple(p.name for p in PRIMITIVES.values() if isinstance(p.emit, Elementwise))


strong = lambda d, p: call("strong_multiply", d, p)

ARITHMETIC: tuple[Rule, ...] = (
    fold_rule(_heads()),
    rule("multiply_by_one", x * 1, x, "1 is neutral for ×."),
    rule("divide_by_one", x / 1, x, "1 is neutral for /."),
    rule("add_zero", x + zero, x, "A sensitivity that is absent adds nothing."),
    rule("subtract_zero", x - zero, x, "Subtracting an absent sensitivity changes nothing."),
    rule("zero_minus", zero - x, -x, "0 − x is −x."),
    rule("negative_zero", call("negative", zero), zero, "The zero sensitivity has no sign."),
    rule("strong_zero", strong(zero, x), zero, "A zero sensitivity stays zero, whatever it meets."),
    rule("strong_zero_divide", call("strong_divide", zero, x), zero, "A zero sensitivity stays zero, whatever it meets."),
    rule("strong_one", strong(1, x), x, "The sensitivity 1 takes the factor as it is."),
    rule("strong_constant", strong(a, x), a * x, "A constant that is not zero is no masked zero.", _nonzero),
    rule("strong_by_one", strong(x, 1), x, "1 is neutral for ×."),
    rule("strong_divide_constant", call("strong_divide", a, x), a / x, "A constant that is not zero is no masked zero.", _nonzero),
    rule("double_negative", -(-x), x, "−(−x) is x."),  # noqa: B002
    rule("add_negative", x + (-y), x - y, "Adding −y subtracts y."),
    rule("subtract_negative", x - (-y), x + y, "Subtracting −y adds y."),
    rule("multiply_minus_one", x * (-1), -x, "x·(−1) is −x."),
    rule("negative_out_of_product", (-x) * y, -(x * y), "The sign is carried outside, where it can cancel."),
    rule("negative_out_of_strong", strong(-x, y), -strong(x, y), "The sign is carried outside, where it can cancel."),
    rule("negative_out_of_strong_factor", strong(x, -y), -strong(x, y), "The sign is carried outside, where it can cancel."),
    rule("negative_out_of_quotient", (-x) / y, -(x / y), "The sign is carried outside, where it can cancel."),
    rule("constants_in_product", a * (b * x), Computed(operator.mul, ("a", "b")) * x, "Constants are multiplied once, now."),
    rule("constant_first", x * a, a * x, "A constant factor is written first.", lambda m: not isinstance(m["x"], Constant)),
    rule("constant_out_of_product", x * (a * y), a * (x * y), "A constant factor is carried outside.", lambda m: not isinstance(m["x"], Constant)),
    rule("twice", x + x, 2.0 * x, "x + x is 2x.", _is_float("x")),
    rule("like_terms_one", x + a * x, Computed(lambda v: v + 1, ("a",)) * x, "Like terms are added.", _same_signs),
    rule("like_terms", a * x + b * x, Computed(operator.add, ("a", "b")) * x, "Like terms are added.", _same_signs),
    rule("power_of_two", x ** 2, x * x, "A square is one product."),
    rule("power_of_three", x ** 3, x * (x * x), "A cube is two products."),
    rule("power_of_four", x ** 4, (x * x) * (x * x), "A fourth power is the square of a square."),
    rule("power_of_minus_one", x ** -1, call("divide", 1.0, x), "x⁻¹ is 1/x.", _is_float("x")),
    rule("no_check_of_constant", call("python_divide", x, a), x / a, "The divisor is known and is not zero: nothing to check.", _nonzero),
    rule("divide_by_power_of_two", x / a, Computed(lambda v: 1.0 / v, ("a",)) * x, "A division by a power of two is a product, exactly.", _has_exact_inverse),
    rule("power_of_one", x ** 1, x, "x¹ is x."),
    rule("power_of_zero", x ** 0, Literal(1.0), "x⁰ is 1, also at 0.", _is_float("x")),
)


def _same_cast(rewriter: Rewriter, node: Apply) -> Node | None:
    source = node.inputs[1]
    if source.type == node.type:
        return source
    if isinstance(source, Constant) and source.value is ZERO:
        return Constant(ZERO, node.type, node.name, node.provenance)
    return None


ARITHMETIC += (Rule("cast_to_same", "arithmetic", ("cast",), _same_cast, "A conversion to the type that a value has does nothing.",
                    f"arithmetic.py:{_same_cast.__code__.co_firstlineno}", "cast(x, type of x)  →  x"),)
