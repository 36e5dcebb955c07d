"""Sensitivities of arrays that a recursion reads item by item: one array that all add to, instead of one for each call.

    ◀leaf(i, ∇) = scatter(∇, i)                             ◀leaf(i, ∇, a) = accumulate(a, ∇, i)
    ◀node(k1, k2, ∇) = k1(∇) + k2(∇)                -->     ◀node(k1, k2, ∇, a) = k2(∇, k1(∇, a))
    k(1.0)                                                  k(1.0, fresh_zeros)

An item of the result of a function class is accumulated when in every member it is such a sum: of zeros, of scattered values, and of the same item of calls in the class, each used
once. Then the array is handed from one call to the next and nobody else sees it before all have added to it: a backward pass over a tree of n leaves costs O(n), not O(n²).

On entry: a typed program of which the caller owns every graph. On exit: the same value up to the order of sums; `accumulate` is there (`lower.primitives`).
Reference: accumulation monad, linear-time reverse mode: Krawiec et al. 2022, section 5.
"""
from __future__ import annotations

from dataclasses import dataclass

from myia_notebook.ir.graph import ZERO, Apply, Constant, Graph, Node, callee_of, graph_constant, is_call_of, reachable, schedule
from myia_notebook.ir.types import Array, Function, FunctionClass, Static, Tuple, Type
from myia_notebook.lower.primitives import ACCUMULATE, FRESH_ZEROS
from myia_notebook.lower.recursion import GETITEM, MAKE_TUPLE
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.table import PRIMITIVES

SUMS, SCATTER = (PRIMITIVES["add"], PRIMITIVES["add_sensitivities"]), PRIMITIVES["scatter"]


def accumulate(root: Graph) -> int:
    """Rewrites what can be; gives the number of items rewritten."""
    graphs = reachable(root)
    count = 0
    for cls in _classes(graphs):
        alive = {g.id for g in graphs}
        members = [m for m in cls.members if m.id in alive]
        if not members or not isinstance(members[0].result, Tuple) or any(graph_constant(x) in members for g in graphs for x in _heads_of_branches(g)):
            continue
        for i, t in enumerate(members[0].result.items):
            if isinstance(t, Array):
                site = _Item(cls, members, i, t)
                chains = [site.terms(m) for m in members]
                if all(c is not None for c in chains) and any(site.is_call(x) for c in chains if c is not None for x in c):
                    site.rewrite(graphs, chains)  # type: ignore[arg-type]
                    count += 1
    return count


def _classes(graphs: list[Graph]) -> list[FunctionClass]:
    """The classes of functions that are called without being known, in program order."""
    found: dict[int, FunctionClass] = {}
    for g in graphs:
        for node in schedule(g):
            if graph_constant(node.inputs[0]) is None and isinstance(node.inputs[0].type, Function):
                found.setdefault(id(node.inputs[0].type.cls), node.inputs[0].type.cls)
    return list(found.values())


def _heads_of_branches(g: Graph) -> list[Node]:
    return [x for node in schedule(g) if is_call_of(node, PRIMITIVES["branch"]) for x in node.inputs[2:4]]


@dataclass(frozen=True, slots=True)
class _Item:
    """Item `i` of the results of a class."""

    cls: FunctionClass
    members: list[Graph]
    i: int
    type: Type

    def is_site(self, node: Node) -> bool:
        """Whether a node calls a member."""
        if not isinstance(node, Apply):
            return False
        target = callee_of(node)
        if target is not None:
            return any(target is m for m in self.members)
        head = node.inputs[0].type
        return isinstance(head, Function) and head.cls is self.cls

    def is_call(self, x: Node) -> bool:
        """Whether a term is this item of a call of the class."""
        return is_call_of(x, GETITEM) and self.is_site(x.inputs[1]) and x.inputs[2].value == self.i  # type: ignore[attr-defined]

    def terms(self, g: Graph) -> list[Node] | None:
        """The terms of the item as a sum, or None when it is none of this kind."""
        if not is_call_of(g.output, MAKE_TUPLE):
            return None
        uses: dict[int, int] = {}
        places: dict[int, int] = {}
        for node in schedule(g):
            places[node.id] = len(places)
            for x in node.inputs:
                uses[x.id] = uses.get(x.id, 0) + 1
        found: list[Node] = []
        stack: list[Node] = [g.output.inputs[1 + self.i]]  # type: ignore[attr-defined]
        while stack:
            x = stack.pop()
            if isinstance(x, Constant):
                if x.value is not ZERO:
                    return None
                continue
            if uses[x.id] != 1:
                return None
            if any(is_call_of(x, p) for p in SUMS) and all(Builder.type_of(y) == self.type for y in x.inputs[1:]):  # type: ignore[attr-defined]
                stack += reversed(x.inputs[1:])  # type: ignore[attr-defined]
            elif is_call_of(x, SCATTER) or (self.is_call(x) and self._items_of(g, x.inputs[1]) == 1):  # type: ignore[attr-defined]
                found.append(x)
            else:
                return None
        return sorted(found, key=lambda x: places[x.id])  # no term needs a later one

    def _items_of(self, g: Graph, call: Node) -> int:
        """How often this item of a call is taken."""
        return sum(is_call_of(n, GETITEM) and n.inputs[1] is call and n.inputs[2].value == self.i for n in schedule(g))  # type: ignore[attr-defined]

    def rewrite(self, graphs: list[Graph], chains: list[list[Node]]) -> None:
        threaded: set[int] = set()
        for g, chain in zip(self.members, chains):
            builder = Builder(g, g.provenance)
            sum_: Node = g.add_parameter("a", self.type)
            for x in chain:
                assert isinstance(x, Apply)
                if self.is_call(x):
                    call = x.inputs[1]
                    assert isinstance(call, Apply)
                    call.inputs.append(sum_)
                    threaded.add(call.id)
                    sum_ = x
                else:
                    sum_ = Builder(g, x.provenance).apply(ACCUMULATE, sum_, x.inputs[1], *x.inputs[3:], type=self.type)
            assert isinstance(g.output, Apply)
            g.output = builder.apply(MAKE_TUPLE, *g.output.inputs[1:1 + self.i], sum_, *g.output.inputs[2 + self.i:], type=g.output.type)
        for g in graphs:
            for node in schedule(g):
                if node.id not in threaded and self.is_site(node):
                    node.inputs.append(Builder(g, node.provenance).apply(FRESH_ZEROS, Constant(self.type, Static(self.type)), type=self.type))


__all__ = ["accumulate"]
