"""Patterns: how a rewrite rule states its two sides.

`x * 1` on pattern variables is a pattern; matching it binds `x` to a node; instantiating a right-hand side with the binding makes typed
nodes through the ops' own `infer`. Commutative primitives match in both orders. A variable that occurs twice matches one value only.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from myia_notebook.ir.graph import ZERO, Apply, Constant, Node, primitive_of
from myia_notebook.ir.types import Type
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.primitive import Primitive
from myia_notebook.ops.table import PRIMITIVES

Binding = dict[str, Node]


class Pattern:
    """Base: Python's operators build applications."""

    def __add__(self, other: Any) -> Pattern:
        return call("add", self, other)

    def __radd__(self, other: Any) -> Pattern:
        return call("add", other, self)

    def __sub__(self, other: Any) -> Pattern:
        return call("subtract", self, other)

    def __rsub__(self, other: Any) -> Pattern:
        return call("subtract", other, self)

    def __mul__(self, other: Any) -> Pattern:
        return call("multiply", self, other)

    def __rmul__(self, other: Any) -> Pattern:
        return call("multiply", other, self)

    def __truediv__(self, other: Any) -> Pattern:
        return call("divide", self, other)

    def __rtruediv__(self, other: Any) -> Pattern:
        return call("divide", other, self)

    def __pow__(self, other: Any) -> Pattern:
        return call("power", self, other)

    def __neg__(self) -> Pattern:
        return call("negative", self)


@dataclass(frozen=True, slots=True, eq=False)
class Variable(Pattern):
    """Matches any node; with `constant`, only constants that are numbers."""

    name: str
    constant: bool = False

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Pattern):
    """Matches a constant equal to `value` (ZERO matches only the symbolic zero)."""

    value: Any

    def __repr__(self) -> str:
        return "0" if self.value is ZERO else repr(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Application(Pattern):
    """`heads`: for each operand the primitive that it must be a call of, `Constant` for a constant, None for anything."""

    primitive: Primitive
    operands: tuple[Pattern, ...]
    heads: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        if self.primitive.infix and len(self.operands) == 2:
            return f"({self.operands[0]!r} {self.primitive.symbol} {self.operands[1]!r})"
        return f"{self.primitive.name}({', '.join(map(repr, self.operands))})"


@dataclass(frozen=True, slots=True, eq=False)
class Computed(Pattern):
    """Right-hand sides only: a constant computed from the matched constants."""

    function: Callable[..., Any]
    of: tuple[str, ...]

    def __repr__(self) -> str:
        return f"[{' , '.join(self.of)}]"


def lift(value: Any) -> Pattern:
    return value if isinstance(value, Pattern) else Literal(value)


def call(name: str, *operands: Any) -> Application:
    lifted = tuple(map(lift, operands))
    return Application(PRIMITIVES[name], lifted, tuple(map(_head, lifted)))


def _head(pattern: Pattern) -> Any:
    match pattern:
        case Application(primitive):
            return primitive
        case Literal() | Variable(constant=True):
            return Constant
        case _:
            return None


def match(pattern: Pattern, node: Node, binding: Binding | None = None) -> Binding | None:
    """The binding under which `pattern` is `node`, or None."""
    return next(_matches(pattern, node, binding or {}), None)


def operand_heads(node: Apply) -> list[Any]:
    """What the operands of a node are, as `Application.heads` says it."""
    return [Constant if x.__class__ is Constant else primitive_of(x) for x in node.inputs[1:]]


def can_match(pattern: Application, found: list[Any]) -> bool:
    """A quick look at `operand_heads`: most rules do not apply, and most are turned away here."""
    wanted = pattern.heads
    if len(found) != len(wanted):
        return False
    if all(w is None or w is f for w, f in zip(wanted, found)):
        return True
    return "commutative" in pattern.primitive.laws and all(w is None or w is f for w, f in zip(wanted, reversed(found)))


def _matches(pattern: Pattern, node: Node, binding: Binding) -> Iterator[Binding]:
    match pattern:
        case Variable(name, constant):
            if constant and not is_number(node):
                return
            bound = binding.get(name)
            if bound is None:
                yield {**binding, name: node}
            elif bound is node or (isinstance(bound, Constant) and isinstance(node, Constant) and same_constant(bound, node)):
                yield binding
        case Literal(value):
            if isinstance(node, Constant) and (node.value is value if value is ZERO else is_number(node) and node.value == value):
                yield binding
        case Application(primitive, operands):
            if primitive_of(node) is not primitive:
                return
            assert isinstance(node, Apply)
            yield from _match_all(operands, node.inputs[1:], binding)
            if "commutative" in primitive.laws and len(operands) == 2:
                yield from _match_all(operands, node.inputs[:0:-1], binding)
        case _:
            raise AssertionError(f"{pattern!r} cannot be matched")


def _match_all(patterns: tuple[Pattern, ...], nodes: list[Node], binding: Binding) -> Iterator[Binding]:
    if len(patterns) != len(nodes):
        return
    if not patterns:
        yield binding
        return
    for found in _matches(patterns[0], nodes[0], binding):
        yield from _match_all(patterns[1:], nodes[1:], found)


def is_number(node: Node) -> bool:
    return isinstance(node, Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)


def same_constant(a: Constant, b: Constant) -> bool:
    return a.type == b.type and type(a.value) is type(b.value) and repr(a.value) == repr(b.value)


def instantiate(pattern: Pattern, binding: Binding, builder: Builder, type: Type | None = None) -> Node:
    """The nodes of a right-hand side; `type` is that of the node it replaces (a zero needs it)."""
    match pattern:
        case Variable(name):
            return binding[name]
        case Literal(value):
            return builder.constant(value, type if value is ZERO else None)
        case Computed(function, of):
            return builder.constant(function(*(binding[n].value for n in of)))  # type: ignore[attr-defined]
        case Application(primitive, operands):
            return builder.apply(primitive, *(instantiate(o, binding, builder) for o in operands))
        case _:
            raise AssertionError(pattern)
