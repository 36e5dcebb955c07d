"""Primitives that only lowering makes: tests of environments, sums of lists, and sums into memory.

`accumulate(a, d, spec, i…)` is a + scatter(d), written into a: whoever makes one knows that nobody else reads a. `fresh_zeros()` is an array of one's own, `copied(a)` too.
"""
from __future__ import annotations

from myia_notebook.ops.primitive import NotDifferentiable, Primitive, Structural


def _made(name: str) -> Primitive:
    why = Structural("made by lowering only")
    return Primitive(name, why, why, NotDifferentiable("a test"), NotDifferentiable("a test"), why, name, False, frozenset(), (), "lower.primitives")


ENV_IS_ZERO, ENV_IS, LIST_ADD, ACCUMULATE, FRESH_ZEROS, COPIED = map(_made, ("env_is_zero", "env_is", "list_add", "accumulate", "fresh_zeros", "copied"))
LOOK = {"env_is_zero": ENV_IS_ZERO, "env_is": ENV_IS}
