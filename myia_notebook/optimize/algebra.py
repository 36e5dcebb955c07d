"""Sums and products of one type, rebuilt where that takes fewer operations: like terms added, common factors taken out.

    s·s·t·(−1) − s·(t·s)   →   −2·(s·s·t)              x·y + x·z   →   x·(y + z)

A maximal tree of +, −, × and constants is read as a sum of terms `coefficient · product of powers of atoms`; whatever else is an atom, also a
sum inside a product: nothing is multiplied out. The sum is built again by Horner's rule, taking out the factor that most terms share, and
products in one order, so that equal ones meet. The graph keeps the new form only if it has fewer operations than the old. Sums that the user
wrote are atoms: they are computed as written, to the last bit (`(x + 1e16) - 1e16` rounds, and compensated sums rely on it). Derivatives of
derivatives shrink to about half.
Reference: Ceberio & Kreinovich 2004, Greedy algorithms for optimizing multivariate Horner schemes.
"""
from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from myia_notebook.ir.graph import Apply, Constant, Graph, Node, primitive_of
from myia_notebook.ir.types import FLOAT, Scalar, Static, Type, is_float
from myia_notebook.ops.primitive import Primitive
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.optimize.pattern import is_number
from myia_notebook.optimize.program import Program
from myia_notebook.provenance import Provenance

ADD, SUBTRACT, MULTIPLY, NEGATIVE = (PRIMITIVES[n] for n in ("add", "subtract", "multiply", "negative"))
MOST_TERMS, MOST_FACTORS, MOST_SHARED = 48, 12, 4

Factors = tuple[tuple[int, int], ...]  # (place of the atom, exponent), places rising
Term = tuple[float, Factors]


def collect_terms(program: Program) -> bool:
    """Rewrites in place; True when a graph became smaller."""
    changed = False
    for graph in program.graphs:
        nodes = program.nodes(graph)
        if sum(primitive_of(n) in (ADD, SUBTRACT, MULTIPLY, NEGATIVE) for n in nodes) > 2:
            changed |= _Collector(graph, nodes).run()
    return changed


@dataclass(slots=True)
class _Form:
    """How an arithmetic node is read: its operands (node, sign), and whether each is read through."""

    is_sum: bool
    operands: list[tuple[Node, int]]
    is_open: list[bool] = field(default_factory=list)
    size: int = 1


class _Collector:
    """One graph in its new form, beside the old one until `_adopt`."""

    def __init__(self, graph: Graph, nodes: list[Apply]) -> None:
        self.graph, self.nodes = graph, nodes
        self.uses = Counter(x.id for n in nodes for x in n.inputs)
        self.uses[graph.output.id] += 1
        self.forms: dict[int, _Form] = {}
        self.wanted: set[int] = {graph.output.id}
        self.new: dict[int, Node] = {}
        self.copies: dict[int, Apply] = {}
        self.atoms: list[Node] = []
        self.places: dict[int, int] = {}
        self.made: dict[tuple[object, ...], Apply] = {}
        self.provenance: Provenance = graph.provenance

    def run(self) -> bool:
        for node in self.nodes:
            self._read(node)
        for node in self.nodes:
            if node.id not in self.forms:
                self._copy(node)
            elif node.id in self.wanted:
                self.provenance = node.provenance
                made = self._sum(self._terms(node), _type(node))
                if isinstance(made, Apply) and not made.name:
                    made.name = node.name
                self.new[node.id] = made
        output = self.new.get(self.graph.output.id, self.graph.output)
        if self._size(output) >= len(self.nodes):
            return False
        self._adopt(output)
        return True

    # -- reading

    def _read(self, node: Apply) -> None:
        """Decides how a node is read and which operands are read through; the others are needed as values."""
        form = _form(node)
        if form is None:
            self.wanted.update(x.id for x in node.inputs)
            return
        self.forms[node.id] = form
        for x, _ in form.operands:
            inner = self.forms.get(x.id)
            if form.is_sum:
                is_open = is_number(x) or inner is not None and (not inner.is_sum or self.uses[x.id] == 1)
                limit = MOST_TERMS
            else:
                is_open = is_number(x) or inner is not None and not inner.is_sum and (self.uses[x.id] == 1 or inner.size <= MOST_SHARED)
                limit = MOST_FACTORS
            size = inner.size if inner is not None and inner.is_sum == form.is_sum else 1
            if is_open and form.size + size > limit:
                is_open = False
            form.size += size if is_open else 1
            form.is_open.append(is_open)
            if not is_open:
                self.wanted.add(x.id)

    def _terms(self, node: Apply) -> dict[Factors, float]:
        """The terms of a tree, like ones added."""
        found: dict[Factors, float] = {}
        stack: list[tuple[Node, int, bool]] = [(node, 1, True)]
        while stack:
            x, sign, is_open = stack.pop()
            form = self.forms.get(x.id) if is_open else None
            if form is not None and form.is_sum:
                stack.extend((y, sign * s, o) for (y, s), o in reversed(list(zip(form.operands, form.is_open))))
                continue
            coefficient, factors = self._product(x, is_open)
            found[factors] = found.get(factors, 0.0) + sign * coefficient
        if found.get((), 1.0) == 0.0 and len(found) > 1:
            del found[()]
        return found  # a term that cancels stays, as 0·x: x may be infinite

    def _product(self, node: Node, is_open: bool) -> Term:
        coefficient = 1.0
        powers: dict[int, int] = {}
        stack = [(node, is_open)]
        while stack:
            x, is_open = stack.pop()
            form = self.forms.get(x.id) if is_open else None
            if is_open and is_number(x):
                coefficient *= float(x.value)  # type: ignore[attr-defined]
            elif form is not None and not form.is_sum:
                for (y, sign), o in zip(form.operands, form.is_open):
                    coefficient *= sign
                    stack.append((y, o))
            else:
                place = self._place(x)
                powers[place] = powers.get(place, 0) + 1
        return coefficient, tuple(sorted(powers.items()))

    def _place(self, node: Node) -> int:
        """The place of an atom in the order of first use."""
        value = self.new.get(node.id, node)
        if value.id not in self.places:
            self.places[value.id] = len(self.atoms)
            self.atoms.append(value)
        return self.places[value.id]

    # -- building

    def _sum(self, terms: dict[Factors, float], t: Type) -> Node:
        sign, node = self._horner([(c, f) for f, c in terms.items()], t)
        return node if sign > 0 else self._make(NEGATIVE, t, node)

    def _horner(self, terms: list[Term], t: Type) -> tuple[int, Node]:
        """(sign, node): the sum of some terms is sign · node."""
        if len(terms) == 1:
            return self._term(terms[0], t)
        counts = Counter(place for _, factors in terms for place, _ in factors)
        place, count = max(counts.items(), key=lambda item: (item[1], -item[0]), default=(0, 0))
        if count >= 2:
            power = min(dict(f)[place] for _, f in terms if place in dict(f))
            inside = [(c, _without(f, place, power)) for c, f in terms if place in dict(f)]
            rest = [(c, f) for c, f in terms if place not in dict(f)]
            sign, inner = self._horner(inside, t)
            parts = [(sign, self._times(self._power(place, power, t), inner, t))]
            return self._add([*parts, *([self._horner(rest, t)] if rest else [])], t)
        sizes = Counter(abs(c) for c, f in terms if f)
        shared = next((c for c, n in sizes.items() if n >= 2 and c not in (0.0, 1.0) and math.isfinite(c)), None)
        if shared is not None:
            inside = [(c / shared, f) for c, f in terms if f and abs(c) == shared]
            rest = [(c, f) for c, f in terms if not f or abs(c) != shared]
            sign, inner = self._horner(inside, t)
            parts = [(sign, self._times(_number(shared), inner, t))]
            return self._add([*parts, *([self._horner(rest, t)] if rest else [])], t)
        return self._add([self._term(term, t) for term in terms], t)

    def _add(self, parts: list[tuple[int, Node]], t: Type) -> tuple[int, Node]:
        sign, total = next((p for p in parts if p[0] > 0), parts[0])
        rest = list(parts)
        rest.remove((sign, total))
        for s, x in rest:
            total = self._make(ADD if s == sign else SUBTRACT, t, total, x)
        return sign, total

    def _term(self, term: Term, t: Type) -> tuple[int, Node]:
        coefficient, factors = term
        sign = -1 if coefficient < 0 and factors else 1
        size = abs(coefficient) if factors else coefficient
        node: Node | None = None
        for place, power in factors:
            x = self._power(place, power, t)
            node = x if node is None else self._times(node, x, t)
        if node is None:
            return 1, _number(size)
        return sign, node if size == 1.0 else self._times(_number(size), node, t)

    def _power(self, place: int, power: int, t: Type) -> Node:
        x = self.atoms[place]
        if power == 1:
            return x
        half = self._power(place, power // 2, t)
        square = self._times(half, half, t)
        return square if power % 2 == 0 else self._times(square, x, t)

    def _times(self, x: Node, y: Node, t: Type) -> Node:
        return self._make(MULTIPLY, t, x, y)

    def _make(self, primitive: Primitive, t: Type, *operands: Node) -> Node:
        key = (primitive.name, *(x.id if not isinstance(x, Constant) else repr(x.value) for x in operands))
        known = self.made.get(key)
        if known is None:
            known = self.made[key] = Apply(self.graph, [Constant(primitive, Static(primitive)), *operands], t, "", self.provenance)
        return known

    # -- the new form

    def _copy(self, node: Apply) -> None:
        inputs = [self.new.get(x.id, x) for x in node.inputs]
        if any(x is not y for x, y in zip(inputs, node.inputs)):
            copy = Apply(self.graph, inputs, node.type, node.name, node.provenance)
            self.copies[copy.id] = node
            self.new[node.id] = copy

    def _size(self, output: Node) -> int:
        seen: set[int] = set()
        stack = [output]
        while stack:
            node = stack.pop()
            if isinstance(node, Apply) and node.id not in seen:
                seen.add(node.id)
                stack.extend(node.inputs)
        return len(seen)

    def _adopt(self, output: Node) -> None:
        """The copies' inputs go to the nodes that they stand for, which keep their identity."""
        for made in self.made.values():
            made.inputs = [self.copies.get(x.id, x) for x in made.inputs]
        for key, old in self.copies.items():
            copy = self.new[old.id]
            assert isinstance(copy, Apply) and copy.id == key
            old.inputs = [self.copies.get(x.id, x) for x in copy.inputs]
        self.graph.output = self.copies.get(output.id, output)


def _type(node: Apply) -> Type:
    assert node.type is not None
    return node.type


def _form(node: Apply) -> _Form | None:
    """A sum or product of floats of one type, and of Python numbers; None for anything else."""
    primitive, operands = primitive_of(node), node.inputs[1:]
    if primitive not in (ADD, SUBTRACT, MULTIPLY, NEGATIVE) or node.type is None or not is_float(node.type):
        return None
    if primitive in (ADD, SUBTRACT) and node.provenance.is_written:
        return None
    if all(is_number(x) for x in operands) or not all(x.type == node.type or (is_number(x) and isinstance(x.type, Scalar)) for x in operands):
        return None
    if primitive is NEGATIVE:
        return _Form(False, [(operands[0], -1)])
    signs = (1, -1 if primitive is SUBTRACT else 1)
    return _Form(primitive is not MULTIPLY, list(zip(operands, signs)))


def _without(factors: Factors, place: int, power: int) -> Factors:
    return tuple((p, n - power if p == place else n) for p, n in factors if p != place or n > power)


def _number(value: float) -> Constant:
    return Constant(value, FLOAT)
