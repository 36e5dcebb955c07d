"""Programs that serve every shape of a rank.

The first shape of some arguments gets a program of its own. When a second one comes, with the same dtypes and ranks, a program with open
extents is tried (`ir.extent`); it must serve both. Where there is none the function is compiled for each shape. Extents of 0 and 1 are part of
the pattern, for they broadcast. A shared program that fails is not believed: the program for that very shape runs, and says what is wrong.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from myia_notebook.errors import MyiaError, error
from myia_notebook.ir.extent import LEAST, Shapes
from myia_notebook.ir.ranks import extents_of, opened, pattern_of, values_of
from myia_notebook.ir.types import Type
from myia_notebook.ops.primitive import Abstract
from myia_notebook.pipeline import Observer, Unit, compile_unit

MAX_TRIES = 6


@dataclass(slots=True)
class Shared:
    """A program with open extents: its types, and what it may assume of them."""

    specialization: Any
    types: list[Type]
    shapes: Shapes


@dataclass(slots=True)
class Pattern:
    """Arguments of the same dtypes and ranks: their programs, and the extents that none of those served."""

    programs: list[Shared] = field(default_factory=list)
    seen: list[tuple[int, ...]] = field(default_factory=list)
    tries: int = 0


class _Serves(Observer):
    """Stops a compilation as soon as its guards exclude a shape that was seen."""

    def __init__(self, wanted: list[list[int]]) -> None:
        self.wanted = wanted

    def after(self, stage: str, unit: Unit, seconds: float) -> None:
        if unit.shapes is not None and not all(map(unit.shapes.admits, self.wanted)):
            raise error("M801", message="the program depends on the shape")


class Ranks:
    """The shared programs of one function."""

    def __init__(self) -> None:
        self.patterns: dict[Any, Pattern] = {}

    def pattern(self, given: list[Type], functions: tuple[Any, ...]) -> Pattern | None:
        if not any(n >= LEAST for n in extents_of(given)):
            return None
        return self.patterns.setdefault((pattern_of(given), functions), Pattern())

    def find(self, pattern: Pattern, given: list[Type]) -> Any:
        """A program that serves these arguments. What read something since rebound is dropped."""
        for shared in list(pattern.programs):
            if shared.specialization.session.is_stale():
                pattern.programs.remove(shared)
                pattern.tries = 0
                continue
            values = values_of(shared.types, given)
            if values is not None and shared.shapes.admits(values):
                return shared.specialization
        return None

    def make(self, pattern: Pattern, given: list[Type], parse: Callable[[], tuple[Unit, Any]], finish: Callable[[Unit, Any], Any]) -> Any:
        """A new shared program, when this is the second shape that needs one; else None."""
        extents = extents_of(given)
        if extents in pattern.seen:
            return None
        before, pattern.seen = pattern.seen[-1:], [*pattern.seen[-1:], extents]
        if not before:
            return None
        for may_close in (False, True):
            if pattern.tries >= MAX_TRIES:
                return None
            pattern.tries += 1
            made = _compiled(given, [*before, extents], may_close, parse)
            if made is not None:
                specialization = finish(made[0], made[1])
                pattern.programs.append(Shared(specialization, made[2], made[3]))
                pattern.seen = []
                return specialization
        return None


def _compiled(given: list[Type], seen: list[tuple[int, ...]], may_close: bool, parse: Callable[[], tuple[Unit, Any]]) -> Any:
    types, shapes = opened(given, seen, may_close)
    first: dict[int, int] = {}
    for at, n in enumerate(extents_of(types)):
        if not isinstance(n, int):
            first.setdefault(n.terms[0][0][0], at)  # type: ignore[attr-defined]
    if not first:
        return None
    wanted = [[column[first[i]] for i in range(len(first))] for column in seen]
    unit, session = parse()
    unit.arguments, unit.shapes = [Abstract(t) for t in types], shapes
    try:
        compile_unit(unit, _Serves(wanted))
    except MyiaError:
        return None
    if unit.backend == "vm" or unit.typed is None or unit.typed.flags["fixed"]:
        return None
    return unit, session, types, shapes


__all__ = ["Ranks"]
