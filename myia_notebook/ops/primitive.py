"""One primitive, one place: the record that says everything about an operation.

Engines, emitters and the viewer read these fields and never test an operation's name. A field that has nothing to say holds an
explicit sentinel with the reason, e.g. `NotDifferentiable("step function")`.

Rules are written in the language of `ops.expression.Expr`: Python operators and the functions of `ops.expression` on typed
expressions, so that a rule reads as its equation:

    backpropagator=lambda x, y, out, d: (d * y, d * x)            # ∇x = ∇z·y, ∇y = ∇z·x

`d` is a sensitivity: its products and quotients are *strong* (0·∞ = 0), so that a masked element never poisons a gradient.
For elementwise primitives on arrays the transform itself sums a contribution over broadcast axes and casts it to the operand's
dtype, so rules are written as for scalars. An entry of the returned tuple is an Expr, None (absent: no contribution), or a
function without arguments that makes the Expr when it is needed.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from myia_notebook.ir.types import Type


class _Unknown:
    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()


@dataclass(frozen=True, slots=True)
class Abstract:
    """What inference knows of a node: its type, and its value when that is known before running (else `UNKNOWN`). Of a tuple of which
    only some items are known, `items` says what is known of each."""

    type: Type
    value: Any = UNKNOWN
    items: tuple[Abstract, ...] = ()

    @property
    def is_known(self) -> bool:
        return self.value is not UNKNOWN


@dataclass(frozen=True, slots=True)
class NotDifferentiable:
    """The result has no derivative (a comparison, an integer) or a zero one almost everywhere (`floor`). `is_missing`: it has one that
    is not built, so that differentiating is refused."""

    reason: str
    is_missing: bool = False


@dataclass(frozen=True, slots=True)
class Linear:
    """The tangent of the primitive is the primitive itself on the tangents of the arguments at `positions` (all when empty);
    the other arguments are passed as they are."""

    positions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FromBackpropagator:
    """The map from tangents to tangent is elementwise, hence its own transpose: the tangent is the sum over the arguments of
    the backpropagator's entry, with the argument's tangent in place of the sensitivity."""


@dataclass(frozen=True, slots=True)
class Structural:
    """Handled by the engines themselves: `partial`, `branch`, `gradient_call` and the like. `why` says by which."""

    why: str


@dataclass(frozen=True, slots=True)
class Elementwise:
    """Lowered to one operation per element, with NumPy's broadcasting. `operation` names the scalar operation of the register
    IR (`lower.machine`), which acts on scalars as on array elements."""

    operation: str


@dataclass(frozen=True, slots=True)
class Checked:
    """Like `Elementwise(operation)` on scalars, after a test that raises error `code` with `message` when it fails. `check` names the
    test: 'second_nonzero', 'nonnegative', 'positive', 'unit_interval', 'at_least_one', 'open_unit', 'above_minus_one',
    'finite_result', 'power', 'not_infinite', 'not_pole' (with 'finite_result'), 'fits_int'."""

    operation: str
    check: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Reduction:
    """Lowered to a loop that combines elements with `operation` ('add', 'multiply', 'maximum', 'minimum', 'and', 'or') over the axes
    given by the second argument (a tuple constant); the third says whether reduced axes are kept."""

    operation: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """Lowered by a routine of the emitter called `name` (matrix products, transposition, gather, ...)."""

    name: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    """No native lowering: a program that uses it is refused on that backend, naming the operation and `reason`."""

    reason: str


@dataclass(frozen=True, slots=True)
class Sample:
    """Arguments from which tests are generated. `differentiable` names the argument positions to differentiate."""

    arguments: tuple[Any, ...]
    differentiable: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Primitive:
    """See the module. Compares by identity.

    infer(arguments: list[Abstract]) -> Type | Abstract. Raises `errors.error(code, ...)` without a span; the engine adds it.
    implementation(*values) -> value: NumPy/Python meaning on run-time values (the VM calls it).
    tangent: Linear | FromBackpropagator | NotDifferentiable | Structural | function(arguments, out, tangents) -> Expr, where a tangent
    that is zero is None; the forward transform broadcasts and casts what the function returns.
    laws: names of algebraic laws that generic rules use ('commutative', 'associative', 'elementwise', 'may_fail', 'effect', ...).
    symbol: what the picture writes ('×', 'tanh'); `infix` says whether between the operands.
    """

    name: str
    infer: Callable[[list[Abstract]], Type | Abstract] | Structural
    implementation: Callable[..., Any] | Structural
    backpropagator: Callable[..., tuple[Any, ...]] | NotDifferentiable | Structural
    tangent: Callable[..., Any] | Linear | FromBackpropagator | NotDifferentiable | Structural
    emit: Elementwise | Checked | Reduction | Kernel | Structural | Unsupported
    symbol: str
    infix: bool
    laws: frozenset[str]
    samples: tuple[Sample, ...]
    reference: str

    def __repr__(self) -> str:
        return self.name
