"""What is asked of a `gradient_call`."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GradientOptions:
    """`wrt`: positions of the arguments to differentiate; `is_single`: the result is that one gradient, not a tuple;
    `with_value`: the result is (value, gradient)."""

    wrt: tuple[int, ...]
    is_single: bool
    with_value: bool

    def __repr__(self) -> str:
        wrt = str(self.wrt[0]) if self.is_single else str(self.wrt)
        return f"wrt={wrt}{', with value' if self.with_value else ''}"
