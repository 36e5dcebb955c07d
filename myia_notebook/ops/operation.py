"""An operation: what a user's name (`np.sum`, `len`, `+`, `x.T`) means, by the types of its arguments.

The parser writes `Constant(Operation)` where the program calls such a name. Inference, which knows the types, *expands* it:
`expand(builder, arguments, keywords)` returns the typed expression of primitives it stands for, and monomorphization splices that
in. So the typed graph holds primitives only, and an operation costs one entry in the table.

`expand` raises `errors.error(...)` without a span (the engine adds the call's), checks the number of its arguments with the texts
that Python uses, and may look at `Expr.value` for what is known before running (axes, shapes, dtypes, tuple lengths).
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from myia_notebook.ops.expression import Builder, Expr

Expand = Callable[["Builder", "list[Expr]", "dict[str, Expr]"], "Expr"]


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """`name` is what the user wrote (`np.sum`); `symbol` what the picture writes; `infix` whether between its operands."""

    name: str
    expand: Expand
    symbol: str = ""
    infix: bool = False

    def __repr__(self) -> str:
        return self.name
