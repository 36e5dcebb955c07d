"""Classes of closures while types are inferred: which labels are one class, and which classes are *dispatched*.

All closures that can meet in one variable are one class (a union-find over labels). Most classes have one signature, the join of all
their calls: their members are graphs that a call of an unknown function can enter. Where there is no such signature, because members
take other parameters, have other defaults, or are called with types that do not join (an activation on layers of several shapes), the
class is dispatched: its values are tags with the captured values, as those of a union, and every call is a case over the members that
may be there, each called with its own parameters. Reference: Reynolds 1972 (defunctionalization), here per class and only where needed.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from myia_notebook.infer.join import CannotJoin, FunctionSet, Label, as_fact, join
from myia_notebook.ir.graph import Constant
from myia_notebook.ir.types import List, Tuple, Type, parts

if TYPE_CHECKING:
    from myia_notebook.infer.engine import Engine

Signature = tuple[Type, ...]


def joined_signature(first: Signature, second: Signature, box: Any = None) -> Signature:
    """One signature for a class of closures. Raises CannotJoin when there is none."""
    if len(first) != len(second):
        raise CannotJoin
    return tuple(a if a == b else join(as_fact(a).type, as_fact(b).type, box) for a, b in zip(first, second))


def unite(engine: Engine, labels: tuple[Label, ...]) -> Label:
    """Makes these labels one class; its root."""
    first = labels[0].root()
    for label in labels[1:]:
        other = label.root()
        if other is first:
            continue
        low, high = sorted((first, other), key=lambda x: x.number)
        high.parent = low
        if low.is_dispatched != high.is_dispatched:
            low.is_dispatched = True
            _forget(engine, low)
        elif high.signature is not None and low.signature is not None:
            try:
                low.signature = joined_signature(low.signature, high.signature, engine.box)
            except CannotJoin:
                dispatch(engine, low)
        elif high.signature is not None:
            low.signature = high.signature
        first = low
    return first


def see(engine: Engine, t: Type) -> None:
    """Labels that occur in one function type are one class."""
    stack = [t]
    while stack:
        match stack.pop():
            case Tuple() | List() as whole:
                stack.extend(parts(whole))
            case FunctionSet(labels):
                unite(engine, labels)
            case _:
                pass


def dispatch(engine: Engine, root: Label) -> None:
    """From now on the members of this class are called each with its own parameters; who called them looks again."""
    if not root.is_dispatched:
        root.is_dispatched = True
        _forget(engine, root)


def _forget(engine: Engine, root: Label) -> None:
    root.signature = None
    engine.has_grown = True
    for label in engine.label_list:
        if label.root() is root:
            for context in label.contexts.values():
                context.declared = None


def same_recipe(first: list[Any], second: list[Any]) -> bool:
    """Whether two functions take their parameters from the operands of a call in the same way, with equal defaults."""
    return len(first) == len(second) and all(_same_part(a, b) for a, b in zip(first, second))


def _same_part(a: Any, b: Any) -> bool:
    if isinstance(a, Constant) and isinstance(b, Constant):
        plain = (int, float, bool, str, type(None))
        return a.value is b.value or (type(a.value) is type(b.value) and isinstance(a.value, plain) and repr(a.value) == repr(b.value))
    return not isinstance(a, Constant) and not isinstance(b, Constant) and type(a) is type(b) and a == b


__all__ = ["dispatch", "joined_signature", "same_recipe", "see", "unite"]
