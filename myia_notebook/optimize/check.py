"""`--check` inside the optimizer: the program is evaluated before and after each rewrite, on the inputs of the cell.

`Checker(values)` runs the interpreter after each rewrite and stops at the first that changes the outcome: the value (floats to `TOLERANCE`
relative, and as much of the largest element absolute; all else exactly), its structure and dtypes, what was printed, or the error that
was raised. The tolerance is for reassociation, which is all that a rule may do to a float; each rewrite is compared with the one before
it, so that nothing adds up. A program whose gradients are not expanded yet (the optimizer also runs between levels) is expanded
for the evaluation only, once for each pass. So is every program after `seconds` of evaluating.
"""
from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from myia_notebook.errors import MyiaError, error
from myia_notebook.ir.graph import Apply, Constant, Graph, Node, primitive_of, reachable, schedule
from myia_notebook.ir.text import Printer
from myia_notebook.ir.verify import verify_typed
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.optimize.events import Rewrite

TOLERANCE = {"float64": 1e-9, "float32": 1e-4}
DERIVATIVES = tuple(PRIMITIVES[n] for n in ("gradient_call", "tangent_call"))


class Checker:
    """Evaluates a program while it is rewritten. `values`: the arguments as Python has them. `verify`: also whether the program is well formed
    after each rewrite (tests ask for it)."""

    def __init__(self, values: Sequence[Any], seconds: float = 60.0, verify: bool = False) -> None:
        self.values, self.seconds, self.verify = list(values), seconds, verify
        self.compared = 0
        self.spent = 0.0
        self.root: Graph | None = None
        self.outcome: tuple[Any, ...] = ()
        self.has_derivatives = False
        self._shown = ""

    def begin(self, root: Graph) -> None:
        """The program to be rewritten, in place."""
        self.root = root
        self.has_derivatives = any(primitive_of(node) in DERIVATIVES for g in reachable(root) for node in schedule(g))
        if self.verify and (problems := verify_typed(root)):
            raise error("M800", message=f"the optimizer was given a program that is not well formed: {problems[0]}")
        self.outcome = self._evaluate()

    @property
    def is_local(self) -> bool:
        """Whether each single rewrite is evaluated."""
        return not self.has_derivatives and self.spent <= self.seconds

    def before(self, rewrite: Rewrite | None, node: Node | None = None) -> None:
        """Remembers how the node that a rule will look at reads."""
        self._shown = expression(node) if node is not None else ""

    def after(self, rewrite: Rewrite, new: Node | None = None) -> bool:
        """Raises M800 when the outcome changed; False when the time for it is over."""
        if self.verify:
            assert self.root is not None
            problems = verify_typed(self.root)
            if problems:
                self._fail(rewrite, new, f"left a program that is not well formed: {problems[0]}")
        if new is not None and not self.is_local:
            return False
        found = self._evaluate()
        if not same_outcome(self.outcome, found):
            self._fail(rewrite, new, f"changed the result from {outcome_text(self.outcome)} to {outcome_text(found)}")
        self.outcome = found
        self.compared += 1
        return True

    def _fail(self, rewrite: Rewrite, new: Node | None, what: str) -> None:
        span = None
        if rewrite.matched:
            span = rewrite.matched[0].provenance.span
        shown = f"; it replaced {self._shown} by {expression(new)}" if new is not None else ""
        raise error("M800", span, message=f"the rewrite '{rewrite.rule}' ({rewrite.location}) {what}{shown}")

    def _evaluate(self) -> tuple[Any, ...]:
        from myia_notebook.api import runtime
        from myia_notebook.vm import run
        assert self.root is not None
        start = time.perf_counter()
        root, printed = self.root, io.StringIO()
        if self.has_derivatives:
            from myia_notebook.gradient.expand import expand_gradients
            root = expand_gradients(root)
        try:
            with contextlib.redirect_stdout(printed):
                inputs = [runtime(v, p.type) for v, p in zip(self.values, root.parameters)]  # type: ignore[arg-type]
                return "value", run(root, inputs), printed.getvalue()
        except MyiaError as problem:
            return "error", problem.code, printed.getvalue()
        finally:
            self.spent += time.perf_counter() - start


def same_outcome(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    if a[0] != b[0] or a[2] != b[2]:
        return False
    return a[1] == b[1] if a[0] == "error" else same_value(a[1], b[1])


def same_value(a: Any, b: Any) -> bool:
    """Equal structure, types and dtypes; floats to the tolerance (NaN is equal to NaN); functions are not compared."""
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, (np.ndarray, np.generic, float)) and np.asarray(a).dtype.kind == "f":
        if type(a) is not type(b) or np.asarray(a).dtype != np.asarray(b).dtype or np.shape(a) != np.shape(b):
            return False
        tolerance = TOLERANCE.get(np.asarray(a).dtype.name, 0.0)
        finite = np.abs(np.asarray(a))[np.isfinite(a)] if np.ndim(a) else np.abs(a)
        scale = float(np.max(finite, initial=0.0)) if np.ndim(a) else 1e-3
        return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True))
    if isinstance(a, (np.ndarray, np.generic)):
        return type(a) is type(b) and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, (bool, int, str, type(None))):
        return type(a) is type(b) and a == b
    return type(a) is type(b)


def outcome_text(outcome: tuple[Any, ...]) -> str:
    kind, what, printed = outcome
    shown = f"error {what}" if kind == "error" else repr(what)
    return f"{shown} (after printing {printed!r})" if printed else shown


def expression(node: Node | None, depth: int = 3) -> str:
    """A node as text: operations on named values, cut at a depth."""
    if isinstance(node, Constant):
        return Printer.constant_text(node)
    if not isinstance(node, Apply) or depth == 0:
        return repr(node)
    head, *operands = (expression(x, depth - 1) for x in node.inputs)
    return f"{head}({', '.join(operands)})"


__all__ = ["TOLERANCE", "Checker", "expression", "same_value"]
