"""The type of a gradient as the user sees it: the structure of the argument, with zeros where a part is no real number.

float → itself; int, bool, None, str → themselves (with the value zero, False, the same); tuples, records and lists part by part; a union →
the union of its constructors with fields of gradient types; a function → the empty tuple.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from myia_notebook.infer.join import FunctionSet, Label, holds_functions, is_union, walk
from myia_notebook.ir.types import UNIT, Type, is_float, map_parts
from myia_notebook.ops.primitive import Abstract

if TYPE_CHECKING:
    from myia_notebook.infer.engine import Engine


def gradient_type(engine: Engine, t: Type) -> Type:
    """The type of the gradient with respect to an argument of type t."""
    if isinstance(t, FunctionSet):
        if not is_union(t):
            return UNIT
        return FunctionSet(tuple(sorted({_gradient_label(engine, label) for label in t.labels}, key=lambda label: label.number)))
    return map_parts(t, lambda part: gradient_type(engine, part))


def _gradient_label(engine: Engine, label: Label) -> Label:
    known = engine.gradient_labels.get(label.number)
    if known is not None:
        return known
    if not holds_functions(*(a.type for a in label.captured)):
        engine.gradient_labels[label.number] = label
        return label
    made = engine.gradient_labels[label.number] = Label(label.graph, (), len(engine.label_list))
    engine.label_list.append(made)
    made.origin = label.number
    made.captured = tuple(Abstract(gradient_type(engine, a.type)) for a in label.captured)
    return made


def has_reals(t: Type) -> bool:
    """Whether a value of type t holds real numbers."""
    return any(map(is_float, walk(t, into_closures=False)))


__all__ = ["gradient_type", "has_reals"]
