"""How many items a slice has whose ends are known only at run time: x[i : i + k] has k of them, x[i*b : (i + 1)*b] has b.

The ends are read as polynomials with integer coefficients over the nodes that are no sum or product. Where what varies cancels in
stop − start, the rest is the length, which inference may know. Where the start depends on counters of `for … in range(…)`, being linear in
each, its extremes are at the ends of the ranges: if these are known, so is whether the slice always lies inside the array.
"""
from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from myia_notebook.ir.graph import Apply, Constant, Node
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.table import OPERATIONS, operation_for

MAX_TERMS, MAX_DEPTH, MAX_COUNTERS = 16, 8, 3
_ADD, _SUB, _MUL, _NEG = (OPERATIONS[f] for f in (operator.add, operator.sub, operator.mul, operator.neg))

Terms = dict[tuple[Any, ...], int]
"""A polynomial: products of atoms (sorted) → coefficients. No coefficient is zero."""
Make = Callable[..., Node]
"""Makes the node of an operation on nodes."""


class TooLarge(Exception):
    """More terms than anybody writes in a slice."""


@dataclass(slots=True)
class Polynomials:
    """Reads nodes as polynomials; `atoms` are the nodes that stand for their variables."""

    atoms: dict[Any, Node] = field(default_factory=dict)

    def read(self, node: Node, depth: int = MAX_DEPTH) -> Terms:
        if isinstance(node, Constant) and type(node.value) is int:
            return {(): node.value} if node.value else {}
        if isinstance(node, Apply) and isinstance(node.inputs[0], Constant) and depth:
            inputs = node.inputs[1:]
            match node.inputs[0].value:
                case op if op is _ADD or op is _SUB:
                    return _sum(self.read(inputs[0], depth - 1), self.read(inputs[1], depth - 1), 1 if op is _ADD else -1)
                case op if op is _MUL:
                    return _product(self.read(inputs[0], depth - 1), self.read(inputs[1], depth - 1))
                case op if op is _NEG:
                    return _sum({}, self.read(inputs[0], depth - 1), -1)
        key = _key(node, depth)
        self.atoms.setdefault(key, node)
        return {(key,): 1}

    def write(self, terms: Terms, make: Make, instead: dict[Any, Node]) -> Node:
        """The node of a polynomial, with other nodes `instead` of some atoms."""
        total: Node | None = None
        for keys, coefficient in terms.items():
            term: Node = Constant(coefficient)
            for key in keys:
                atom = instead.get(key) or self.atoms[key]
                term = atom if isinstance(term, Constant) and term.value == 1 else make(_MUL, term, atom)
            total = term if total is None else make(_ADD, total, term)
        return Constant(0) if total is None else total


def _key(node: Node, depth: int) -> Any:
    """Equal for nodes that compute the same from the same: `k.shape[0]` written twice."""
    if isinstance(node, Constant):
        return ("constant", type(node.value).__name__, node.value) if type(node.value) in (int, str, type(None)) else ("node", node.id)
    if isinstance(node, Apply) and depth and isinstance(node.inputs[0], Constant):
        head = node.inputs[0].value
        operation = head if isinstance(head, Operation) else OPERATIONS.get(head) if isinstance(head, type) else operation_for(head)
        if isinstance(operation, Operation):
            return ("apply", operation.name, *(_key(x, depth - 1) for x in node.inputs[1:]))
    return ("node", node.id)


def _sum(a: Terms, b: Terms, sign: int) -> Terms:
    made = dict(a)
    for keys, coefficient in b.items():
        made[keys] = made.get(keys, 0) + sign * coefficient
    return _checked({keys: c for keys, c in made.items() if c})


def _product(a: Terms, b: Terms) -> Terms:
    made: Terms = {}
    for (left, c), (right, d) in product(a.items(), b.items()):
        keys = tuple(sorted((*left, *right), key=repr))
        made[keys] = made.get(keys, 0) + c * d
    return _checked({keys: c for keys, c in made.items() if c})


def _checked(terms: Terms) -> Terms:
    if len(terms) > MAX_TERMS:
        raise TooLarge
    return terms


def window(start: Node, stop: Node, counters: dict[int, tuple[Node, Node]], make: Make) -> list[Node]:
    """[the length of start:stop, its start where the counters begin and end, in all combinations]; empty when what varies does not cancel.
    `counters`: the first and last value of each loop counter, by node id."""
    polynomials = Polynomials()
    try:
        first = polynomials.read(start)
        length = _sum(polynomials.read(stop), first, -1)
    except TooLarge:
        return []
    varying = [keys for keys in first if keys]
    if not varying or any(keys in length for keys in varying):
        return []
    used = [(key, counters[atom.id]) for key, atom in polynomials.atoms.items() if atom.id in counters and any(key in keys for keys in varying)]
    corners = product(*(ends for _, ends in used)) if 0 < len(used) <= MAX_COUNTERS else ()
    ends = [polynomials.write(first, make, {key: end for (key, _), end in zip(used, corner)}) for corner in corners]
    return [polynomials.write(length, make, {}), *ends]


__all__ = ["window"]
