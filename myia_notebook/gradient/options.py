"""What is asked of a derivative: the operators' names, a user's request, and the options of the nodes that inference makes of it."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

OPERATORS = ("grad", "value_and_grad", "jacobian", "hessian", "jvp", "vjp", "custom_gradient", "stop_gradient")
_MODULES = ("myia_notebook.api", "myia_notebook.derivatives")


def is_operator(value: Any) -> bool:
    """Whether a Python value is one of the derivative operators."""
    return getattr(value, "__module__", "") in _MODULES and getattr(value, "__name__", "") in OPERATORS


@dataclass(frozen=True, slots=True)
class Request:
    """A derivative as the user asked for it. `kind`: an operator's name, or 'pullback' (the backpropagator that `vjp` gives).
    `is_forward`: a Jacobian in forward mode, whatever the sizes. `names`: of the last arguments, where they are given by name."""

    kind: str
    wrt: Any = 0
    has_aux: bool = False
    is_forward: bool = False
    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{self.kind} wrt={self.wrt!r}"


Path = int | tuple[int, int]
"""A parameter of the function, or an item of the tuple that a parameter `*args` is."""


@dataclass(frozen=True, slots=True)
class GradientOptions:
    """Of a `gradient_call`. `wrt`: the parameters to differentiate; `is_single`: the result is that one gradient, not a tuple;
    `with_value`: the result is (value, gradient); `has_aux`: the function returns (value, more) and the result is (gradient, more);
    `has_seed`: the last argument is the sensitivity of the result, which may then be any data."""

    wrt: tuple[Path, ...]
    is_single: bool
    with_value: bool
    has_aux: bool = False
    has_seed: bool = False

    def __repr__(self) -> str:
        wrt = str(self.wrt[0]) if self.is_single else str(self.wrt)
        extra = [text for flag, text in ((self.with_value, "with value"), (self.has_aux, "with more"), (self.has_seed, "from a sensitivity")) if flag]
        return ", ".join([f"wrt={wrt}", *extra])


@dataclass(frozen=True, slots=True)
class TangentOptions:
    """Of a `tangent_call`: the function takes `count` arguments; those at `active` have tangents, which follow the arguments."""

    count: int
    active: tuple[int, ...]

    def __repr__(self) -> str:
        return f"along {self.active}"
