"""Extents that are known only at run time: the n of an array of n rows, and what programs compute from it before running.

An `Extent` stands in a shape, or for a known int, where a program is compiled for a rank. It is a polynomial with integer coefficients over
*symbols* (extents of the inputs, each 2 or more) and *quotients* (a polynomial floor-divided by a positive int), in a canonical form: equal
polynomials are equal objects. A polynomial without symbols is a plain int, so a shape holds an `Extent` only where it must.

Whatever the compiler asks of an extent is answered and remembered: `n == m` is answered False and noted in `Shapes.guards`, so that the
program serves just those shapes for which every answer holds. `n == n` and `n > 1` need no guard. An extent has no number: `range(n)`, `float(n)` and
NumPy raise `NoNumber`, and the program is then compiled for each shape as before.

    n·m − 2   is   Extent(terms=(((0, 1), 1), ((), -2)))     symbols go by their number
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

LEAST = 2
"""The smallest value of a symbol: an extent of 0 or 1 broadcasts or ends loops, and is a number."""


class NoNumber(TypeError):
    """The number of an extent was needed before running."""


@dataclass(frozen=True, slots=True)
class Quotient:
    """terms // divisor"""

    terms: tuple[Any, ...]
    divisor: int


@dataclass(frozen=True, slots=True)
class Guard:
    """What was answered of a polynomial: whether it is zero (`test` 'zero') or above zero ('positive')."""

    extent: Extent
    test: str
    answer: bool

    def holds(self, values: Sequence[int]) -> bool:
        value = self.extent.at(values)
        return (value == 0 if self.test == "zero" else value > 0) is self.answer


@dataclass(slots=True, eq=False)
class Shapes:
    """The symbols of one program. `hints` are the extents of the call it is compiled for: an order that nothing decides is answered as it is there."""

    hints: list[int] = field(default_factory=list)
    guards: dict[Guard, None] = field(default_factory=dict)
    is_emitting: bool = False

    def symbol(self, hint: int) -> Extent:
        self.hints.append(hint)
        return Extent(self, (((len(self.hints) - 1,), 1),))

    @contextmanager
    def emitting(self) -> Iterator[None]:
        """In here answers only choose between programs of the same value, and need no guard."""
        self.is_emitting = True
        try:
            yield
        finally:
            self.is_emitting = False

    def admits(self, values: Sequence[int]) -> bool:
        """Whether the program serves inputs with these extents."""
        return all(v >= LEAST for v in values) and all(guard.holds(values) for guard in self.guards)

    def ask(self, extent: Extent, test: str, answer: bool) -> bool:
        if not self.is_emitting:
            self.guards[Guard(extent, test, answer)] = None
        return answer


class Extent:
    """See the module. `terms`: ((atoms…), coefficient) pairs in a fixed order; an atom is a symbol's number or a `Quotient`."""

    __slots__ = ("shapes", "terms")

    def __init__(self, shapes: Shapes, terms: tuple[Any, ...]) -> None:
        self.shapes, self.terms = shapes, terms

    # -- values

    def at(self, values: Sequence[int]) -> int:
        """The number, given those of the symbols."""
        return sum(c * math.prod(_atom_at(a, values) for a in atoms) for atoms, c in self.terms)

    @property
    def hint(self) -> int:
        return self.at(self.shapes.hints)

    def _no_number(self) -> NoReturn:
        raise NoNumber(f"the extent {self!r} is known only at run time")

    def __index__(self) -> int:
        self._no_number()

    def __float__(self) -> float:
        self._no_number()

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        self._no_number()

    def __array_ufunc__(self, *arguments: Any, **options: Any) -> Any:
        self._no_number()

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __repr__(self) -> str:
        """One text for each polynomial."""
        return _text(self.terms)

    # -- arithmetic

    def __add__(self, other: Any) -> Any:
        terms = _terms(other)
        return NotImplemented if terms is None else self._made((*self.terms, *terms))

    __radd__ = __add__

    def __neg__(self) -> Any:
        return self._made(tuple((atoms, -c) for atoms, c in self.terms))

    def __pos__(self) -> Any:
        return self

    def __sub__(self, other: Any) -> Any:
        terms = _terms(other)
        return NotImplemented if terms is None else self._made((*self.terms, *((atoms, -c) for atoms, c in terms)))

    def __rsub__(self, other: Any) -> Any:
        terms = _terms(other)
        return NotImplemented if terms is None else self._made((*terms, *((atoms, -c) for atoms, c in self.terms)))

    def __mul__(self, other: Any) -> Any:
        terms = _terms(other)
        if terms is None:
            return NotImplemented
        return self._made(tuple((tuple(sorted((*p, *q), key=_order)), c * d) for p, c in self.terms for q, d in terms))

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        """Exact by an extent of one term; by a positive int always."""
        if isinstance(other, Extent):
            if len(other.terms) == 1:
                exact = _exact(self.terms, *other.terms[0])
                if exact is not None:
                    return self._made(exact)
            self._no_number()
        if type(other) is not int:
            return NotImplemented
        if other < 0:
            return -self // -other
        if other == 0:
            raise ZeroDivisionError("division by zero")
        whole = tuple((atoms, c // other) for atoms, c in self.terms if c % other == 0)
        rest = tuple((atoms, c) for atoms, c in self.terms if c % other)
        if not rest:
            return self._made(whole)
        if all(not atoms for atoms, _ in rest):
            return self._made((*whole, ((), rest[0][1] // other)))
        return self._made((*whole, ((Quotient(rest, other),), 1)))

    def __rfloordiv__(self, other: Any) -> Any:
        if type(other) is int and 0 <= other < (low(self) or 0):
            return 0
        self._no_number()

    def __mod__(self, other: Any) -> Any:
        return self - other * (self // other)

    def __rmod__(self, other: Any) -> Any:
        return other - self * self.__rfloordiv__(other)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def _made(self, terms: tuple[Any, ...]) -> Any:
        """The canonical form of a sum of terms: an int where no symbol is left."""
        total: dict[Any, int] = {}
        for atoms, c in terms:
            total[atoms] = total.get(atoms, 0) + c
        kept = tuple(sorted(((a, c) for a, c in total.items() if c), key=lambda term: (-len(term[0]), _order(term[0]))))
        if all(not atoms for atoms, _ in kept):
            return kept[0][1] if kept else 0
        return Extent(self.shapes, kept)

    # -- questions

    def __hash__(self) -> int:
        return hash(self.terms)

    def __eq__(self, other: Any) -> bool:
        if _terms(other) is None:
            return False
        return self is other or _is_zero(self - other)

    def __lt__(self, other: Any) -> bool:
        return NotImplemented if _terms(other) is None else _is_positive(other - self)

    def __gt__(self, other: Any) -> bool:
        return NotImplemented if _terms(other) is None else _is_positive(self - other)

    def __le__(self, other: Any) -> bool:
        return NotImplemented if _terms(other) is None else not _is_positive(self - other)

    def __ge__(self, other: Any) -> bool:
        return NotImplemented if _terms(other) is None else not _is_positive(other - self)

    def __bool__(self) -> bool:
        return not _is_zero(self)


def _is_zero(x: Any) -> bool:
    if not isinstance(x, Extent):
        return bool(x == 0)
    least, most = low(x), high(x)
    if (least is not None and least > 0) or (most is not None and most < 0) or (len(x.terms) == 1 and not any(isinstance(a, Quotient) for a in x.terms[0][0])):
        return False
    is_divided = any(isinstance(a, Quotient) for atoms, _ in x.terms for a in atoms)
    return x.shapes.ask(x, "zero", is_divided and x.hint == 0 and not x.shapes.is_emitting)  # different symbols differ, but 2·(n // 2) is n or it is not


def _is_positive(x: Any) -> bool:
    if not isinstance(x, Extent):
        return bool(x > 0)
    least, most = low(x), high(x)
    if least is not None and least > 0:
        return True
    if most is not None and most <= 0:
        return False
    return x.shapes.ask(x, "positive", x.hint > 0)


def low(x: Any) -> int | None:
    """The least value that an extent can have; None where nothing bounds it."""
    return _bound(x.terms) if isinstance(x, Extent) else x


def high(x: Any) -> int | None:
    if not isinstance(x, Extent):
        return int(x)
    below = _bound(tuple((atoms, -c) for atoms, c in x.terms))
    return None if below is None else -below


def _bound(terms: tuple[Any, ...]) -> int | None:
    """The sum of the terms' least values. A term that can be arbitrarily low, or whose sign is unknown, makes it None."""
    total = 0
    for atoms, c in terms:
        if not atoms:
            total += c
            continue
        least = [_atom_bound(a) for a in atoms]
        if c < 0 or any(v is None or v < 0 for v in least):
            return None
        total += c * math.prod(v for v in least if v is not None)
    return total


def _atom_bound(atom: Any) -> int | None:
    if not isinstance(atom, Quotient):
        return LEAST
    inner = _bound(atom.terms)
    return None if inner is None else inner // atom.divisor


def _atom_at(atom: Any, values: Sequence[int]) -> int:
    if isinstance(atom, Quotient):
        return int(sum(c * math.prod(_atom_at(a, values) for a in atoms) for atoms, c in atom.terms) // atom.divisor)
    return values[atom]


def _terms(x: Any) -> tuple[Any, ...] | None:
    if isinstance(x, Extent):
        return x.terms
    return (((), x),) if type(x) is int else None


def _exact(terms: tuple[Any, ...], by: tuple[Any, ...], coefficient: int) -> tuple[Any, ...] | None:
    """The terms divided by one term, or None where it does not divide each."""
    made: list[Any] = []
    for atoms, c in terms:
        rest = list(atoms)
        for a in by:
            if a not in rest:
                return None
            rest.remove(a)
        if c % coefficient:
            return None
        made.append((tuple(rest), c // coefficient))
    return tuple(made)


def _order(x: Any) -> str:
    return repr(x)


def _text(terms: tuple[Any, ...]) -> str:
    written = ["·".join([*([] if c == 1 and atoms else [str(c)]), *map(_atom_text, atoms)]) for atoms, c in terms]
    return f"({' + '.join(written)})" if len(written) > 1 else written[0]


def _atom_text(atom: Any) -> str:
    return f"({_text(atom.terms)} // {atom.divisor})" if isinstance(atom, Quotient) else f"n{atom}"


def likely(x: Any) -> int:
    """A number for choices between programs of the same value: the extent of the call that is compiled for."""
    return x.hint if isinstance(x, Extent) else x


def number(x: Any, values: Sequence[int]) -> Any:
    """x with every extent in it (also inside tuples) as its number."""
    if isinstance(x, Extent):
        return x.at(values)
    return tuple(number(i, values) for i in x) if type(x) is tuple else x


def emit_extent(x: Extent, symbol: Callable[[int], Any], int_: Callable[[int], Any], b: Any) -> Any:
    """The extent in LLVM, by the builder b."""
    def total(terms: tuple[Any, ...]) -> Any:
        made: Any = None
        for atoms, c in terms:
            factor = int_(c)
            for i, a in enumerate(atoms):
                value = _floor(total(a.terms), a.divisor, int_, b) if isinstance(a, Quotient) else symbol(a)
                factor = value if i == 0 and c == 1 else b.mul(factor, value)
            made = factor if made is None else b.add(made, factor)
        return made
    return total(x.terms)


def _floor(value: Any, divisor: int, int_: Callable[[int], Any], b: Any) -> Any:
    quotient = b.sdiv(value, int_(divisor))
    is_below = b.icmp_signed("<", b.srem(value, int_(divisor)), int_(0))
    return b.select(is_below, b.sub(quotient, int_(1)), quotient)


__all__ = ["LEAST", "Extent", "Guard", "NoNumber", "Quotient", "Shapes", "emit_extent", "likely", "low", "number"]
