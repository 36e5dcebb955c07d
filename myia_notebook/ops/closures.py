"""Primitives that look into a closure: which member of its class it is, and a value that it captured.

The gradient transform writes them where it must take ▶ of a function that is only known at run time (`gradient.expand`), and the
optimizer's data representation of function classes turns them into reads of a tag and of slots.
"""
from __future__ import annotations

from typing import Any

from myia_notebook.ops.primitive import NotDifferentiable, Primitive, Structural

_BY_TRANSFORM = Structural("the gradient transform makes it, typed, and differentiates it: ∇f = env_make[label](0, …, ∇, …, 0)")


def _is(closure: Any, label: Any) -> bool:
    return closure.graph is label.graph


def _get(closure: Any, label: Any, index: int) -> Any:
    return closure.captured[index]


closure_is = Primitive(
    name="closure_is", infer=_BY_TRANSFORM, implementation=_is, backpropagator=NotDifferentiable("a test"),
    tangent=NotDifferentiable("a test"), emit=Structural("a comparison of tags"), symbol="is", infix=False,
    laws=frozenset(), samples=(), reference="Reynolds 1972, section 6 (a closure as a record with a tag)")
closure_get = Primitive(
    name="closure_get", infer=_BY_TRANSFORM, implementation=_get, backpropagator=_BY_TRANSFORM, tangent=_BY_TRANSFORM,
    emit=Structural("a read of a slot"), symbol="captured", infix=False, laws=frozenset(), samples=(),
    reference="Reynolds 1972, section 6")
