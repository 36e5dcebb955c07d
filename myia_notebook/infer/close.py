"""Closes graphs: nested form to closed form, by lambda lifting and closure conversion.

    f(x) = (… ? if : else)()          f(x)    = branch(…, if, else, x)
      if() = x * x              ->    if(x)   = x * x
      else() = -x                     else(x) = -x

A known call passes the callee's free variables before its arguments; a function value becomes `partial(g, captured…)`; the two arms of a
conditional that are used nowhere else take the union of their variables, so that the conditional is a known call too. On exit no
graph has free variables; ids, names and provenance are kept. Reference: Johnsson 1985 (lambda lifting).
"""
from __future__ import annotations

from myia_notebook.infer.effects import anchor
from myia_notebook.ir.graph import Apply, Constant, Graph, Node, Parameter, callee_of, graph_constant, is_call_of, reachable
from myia_notebook.ops.table import PRIMITIVES

SWITCH, BRANCH, PARTIAL = PRIMITIVES["switch"], PRIMITIVES["branch"], PRIMITIVES["partial"]


def owned_nodes(graphs: list[Graph]) -> dict[int, list[Apply]]:
    """The Apply nodes of each graph (by id) that anything in the program needs, each after its operands of the same graph. In nested
    form a node may be needed by inner graphs only, so this walks the whole program."""
    owned: dict[int, list[Apply]] = {g.id: [] for g in graphs}
    seen: set[int] = set()
    for g in graphs:
        stack: list[tuple[Node, bool]] = [(g.output, False)]
        while stack:
            node, ready = stack.pop()
            if not isinstance(node, Apply):
                continue
            if ready:
                owned[node.graph.id].append(node)
            elif node.id not in seen:
                seen.add(node.id)
                stack.append((node, True))
                stack.extend((x, False) for x in reversed(node.inputs))
    return owned


def free_variables(graphs: list[Graph], owned: dict[int, list[Apply]]) -> dict[int, list[Node]]:
    """For each graph (by id) the nodes of other graphs that it, or a graph that it uses, needs: in order of first use."""
    direct: dict[int, dict[int, Node]] = {}
    users: dict[int, list[Graph]] = {g.id: [] for g in graphs}
    for g in graphs:
        found: dict[int, Node] = {}
        for node in [*(x for n in owned[g.id] for x in n.inputs), g.output]:
            target = graph_constant(node)
            if target is not None:
                users[target.id].append(g)
            elif not isinstance(node, Constant) and node.graph is not g:  # type: ignore[attr-defined]
                found[node.id] = node
        direct[g.id] = found
    work = list(graphs)
    while work:
        g = work.pop(0)
        for user in users[g.id]:
            mine = direct[user.id]
            new = [n for n in direct[g.id].values() if n.graph is not user and n.id not in mine]  # type: ignore[attr-defined]
            if new:
                mine.update((n.id, n) for n in new)
                work.append(user)
    return {g.id: list(direct[g.id].values()) for g in graphs}


def close(root: Graph) -> Graph:
    """The closed program. The input is untouched, but for effects, which are tied to results once (`infer.effects`)."""
    anchor(root)
    return _Closer(root).run()


class _Closer:
    def __init__(self, root: Graph) -> None:
        self.root = root
        self.graphs = reachable(root)
        self.owned = owned_nodes(self.graphs)
        self.free = free_variables(self.graphs, self.owned)
        self.arms: dict[int, tuple[Graph, Graph]] = {}
        self._first_arms: set[int] = set()
        self._find_arms()
        self.copies = {g.id: self._declare(g) for g in self.graphs}
        self.nodes: dict[int, dict[int, Node]] = {g.id: {} for g in self.graphs}

    def _find_arms(self) -> None:
        """Conditionals `switch(c, g1, g2)()` whose arms are used once."""
        uses: dict[int, int] = {}
        for g in self.graphs:
            for node in [*(x for n in self.owned[g.id] for x in n.inputs), g.output]:
                target = graph_constant(node)
                if target is not None:
                    uses[target.id] = uses.get(target.id, 0) + 1
        for g in self.graphs:
            for node in self.owned[g.id]:
                chosen = node.inputs[0]
                if isinstance(chosen, Apply) and is_call_of(chosen, SWITCH):
                    first, second = graph_constant(chosen.inputs[2]), graph_constant(chosen.inputs[3])
                    if first is not None and second is not None and first is not second and uses[first.id] == uses[second.id] == 1:
                        self.arms[node.id] = (first, second)
                        self._first_arms.add(first.id)
                        union = list({n.id: n for n in (*self.free[first.id], *self.free[second.id])}.values())
                        self.free[first.id] = self.free[second.id] = union

    def _declare(self, g: Graph) -> Graph:
        copy = Graph(g.name, g.kind, g.provenance)
        copy.id, copy.signature, copy.flags = g.id, g.signature, dict(g.flags)
        return copy

    def run(self) -> Graph:
        in_arms = {arm.id for pair in self.arms.values() for arm in pair}
        for g in self.graphs:
            copy, nodes = self.copies[g.id], self.nodes[g.id]
            copy.captured = g.captured + (0 if g.id in in_arms else len(self.free[g.id]))
            for variable in self.free[g.id]:
                nodes[variable.id] = copy.add_parameter(variable.name, provenance=variable.provenance)
            for p in g.parameters:
                new = Parameter(copy, p.name, None, p.provenance)
                new.id = p.id
                nodes[p.id] = new
                copy.parameters.append(new)
        for g in self.graphs:
            self._body(g)
        return self.copies[self.root.id]

    def _body(self, g: Graph) -> None:
        copy, nodes = self.copies[g.id], self.nodes[g.id]

        def get(node: Node) -> Node:
            target = graph_constant(node)
            if target is not None:
                captured = self.free[target.id]
                if not captured:
                    return Constant(self.copies[target.id], None, node.name, node.provenance)
                return copy.apply(PARTIAL, self.copies[target.id], *(nodes[v.id] for v in captured), name=node.name, provenance=node.provenance)
            return node if isinstance(node, Constant) else nodes[node.id]

        for node in self._order(g):
            if is_call_of(node, SWITCH) and self._is_arm_switch(node):
                continue
            target = callee_of(node)
            if node.id in self.arms:
                chosen = node.inputs[0]
                assert isinstance(chosen, Apply)
                first, second = self.arms[node.id]
                inputs = [Constant(BRANCH), get(chosen.inputs[1]), Constant(self.copies[first.id]), Constant(self.copies[second.id]),
                          *(nodes[v.id] for v in self.free[first.id]), *map(get, node.inputs[1:])]
            elif target is not None:
                inputs = [Constant(self.copies[target.id]), *(nodes[v.id] for v in self.free[target.id]), *map(get, node.inputs[1:])]
            else:
                inputs = list(map(get, node.inputs))
            new = Apply(copy, inputs, None, node.name, node.provenance)
            new.id = node.id
            nodes[node.id] = new
        copy.output = get(g.output)

    def _order(self, g: Graph) -> list[Apply]:
        """The nodes of g in an order where what a graph constant captures comes before it is used."""
        order: list[Apply] = []
        seen: set[int] = set()
        stack: list[tuple[Node, bool]] = [(node, False) for node in (g.output, *reversed(self.owned[g.id]))]
        while stack:
            node, ready = stack.pop()
            target = graph_constant(node)
            if target is not None:
                stack.extend((v, False) for v in reversed(self.free[target.id]))
            if not isinstance(node, Apply) or node.graph is not g:
                continue
            if ready:
                order.append(node)
            elif node.id not in seen:
                seen.add(node.id)
                stack.append((node, True))
                stack.extend((x, False) for x in reversed(node.inputs))
        return order

    def _is_arm_switch(self, node: Apply) -> bool:
        first = graph_constant(node.inputs[2])
        return first is not None and first.id in self._first_arms
