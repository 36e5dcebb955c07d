"""The worklist: a program being rewritten, with its uses kept up to date.

A rule looks at one node and returns the node that takes its place. Every node whose surroundings changed is looked at again, so that
the work is linear in the number of rewrites. Dead nodes and dead graphs are dropped at once: "used once" is always true of now.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from myia_notebook.infer.recursion import components
from myia_notebook.ir.graph import Apply, Constant, Graph, Node, graph_constant, primitive_of
from myia_notebook.ops.expression import Builder
from myia_notebook.optimize.check import Checker
from myia_notebook.optimize.events import Recorder, Rewrite, form
from myia_notebook.optimize.pattern import Application, Pattern, can_match, operand_heads
from myia_notebook.optimize.program import Program

FUEL_PER_NODE, LEAST_FUEL = 40, 2000


@dataclass(frozen=True, slots=True)
class Rule:
    """A local rewrite. `heads`: names of the primitives it looks at ('call' for calls of graphs and values). `apply(rewriter, node)` gives
    the replacement or None. `location` is the file and line of its definition. A rule made of two patterns has them in `pattern` and `after`, and its
    condition in `where`; the worklist turns nodes away by the pattern before the rule is tried."""

    name: str
    family: str
    heads: tuple[str, ...]
    apply: Callable[[Rewriter, Apply], Node | None]
    why: str
    location: str
    statement: str = ""
    pattern: Application | None = None
    after: Pattern | None = None
    where: Callable[[dict[str, Node]], bool] | None = None


class Rewriter:
    """Rewrites the graphs of a program in place."""

    def __init__(self, program: Program, rules: tuple[Rule, ...], recorder: Recorder | None = None, checker: Checker | None = None,
                 pass_name: str = "") -> None:
        self.root, self.recorder, self.checker, self.pass_name = program.root, recorder, checker, pass_name
        self.by_head: dict[str, list[Rule]] = {}
        for rule in rules:
            for head in rule.heads:
                self.by_head.setdefault(head, []).append(rule)
        self.users: dict[int, dict[int, Apply]] = {}
        self.outputs: dict[int, dict[int, Graph]] = {}
        self.references: dict[int, int] = {}
        self.alive: dict[int, Apply] = {}
        self.sizes: dict[int, int] = {}
        self.work: deque[Apply] = deque()
        self.queued: set[int] = set()
        self.rewrites = 0
        self._added: list[Apply] = []
        self._changed: dict[int, Apply] = {}
        self._outputs: list[Graph] = []
        graphs = program.graphs
        component = components(graphs)
        self.recursive = {g.id for g in graphs if component[g.id] >= 0}
        self.references[self.root.id] = 1
        for graph in graphs:
            self._enter(graph, program.nodes(graph))
        self._added.clear()
        self.fuel = LEAST_FUEL + FUEL_PER_NODE * len(self.alive)

    # -- bookkeeping

    def _enter(self, graph: Graph, nodes: list[Apply]) -> None:
        self.sizes[graph.id] = len(nodes)
        for node in nodes:
            self.register(node)
        self._set_output(graph)

    def _set_output(self, graph: Graph) -> None:
        self.outputs.setdefault(graph.output.id, {})[graph.id] = graph
        target = graph_constant(graph.output)
        if target is not None:
            self.references[target.id] = self.references.get(target.id, 0) + 1

    def register(self, node: Apply) -> None:
        """A new node: it uses its inputs, and is to be looked at."""
        if node.id in self.alive:
            return
        self.alive[node.id] = node
        self._added.append(node)
        for x in node.inputs:
            self._use(x, node)
        self.push(node)

    def _use(self, x: Node, user: Apply) -> None:
        target = graph_constant(x)
        if target is not None:
            self.references[target.id] = self.references.get(target.id, 0) + 1
        elif not isinstance(x, Constant):
            self.users.setdefault(x.id, {})[user.id] = user

    def _unuse(self, x: Node, user: Apply) -> None:
        target = graph_constant(x)
        if target is not None:
            self._drop_reference(target)
        elif not isinstance(x, Constant) and x not in user.inputs:
            self.users.get(x.id, {}).pop(user.id, None)
            self._maybe_dead(x)

    def _drop_reference(self, target: Graph) -> None:
        self.references[target.id] -= 1
        if self.references[target.id] == 0:
            self.outputs.get(target.output.id, {}).pop(target.id, None)
            inner = graph_constant(target.output)
            if inner is not None:
                self._drop_reference(inner)
            else:
                self._maybe_dead(target.output)

    def _maybe_dead(self, node: Node) -> None:
        """Drops a node that nobody uses, and what only it used. Iterative."""
        stack = [node]
        while stack:
            x = stack.pop()
            if not isinstance(x, Apply) or x.id not in self.alive or self.users.get(x.id) or self.outputs.get(x.id):
                continue
            del self.alive[x.id]
            inputs, x_inputs = x.inputs, list(dict.fromkeys(x.inputs))
            for y in inputs:
                target = graph_constant(y)
                if target is not None:
                    self._drop_reference(target)
            for y in x_inputs:
                if not isinstance(y, Constant):
                    self.users.get(y.id, {}).pop(x.id, None)
                    stack.append(y)

    def push(self, node: Node) -> None:
        if isinstance(node, Apply) and node.id not in self.queued and node.id in self.alive:
            self.queued.add(node.id)
            self.work.append(node)

    def push_users(self, node: Node) -> None:
        for user in list(self.users.get(node.id, {}).values()):
            self.push(user)

    def is_used_once(self, graph: Graph) -> bool:
        return self.references.get(graph.id, 0) == 1

    def builder(self, node: Apply) -> Builder:
        """Makes nodes in the node's graph, with its provenance; they are registered."""
        return Builder(node.graph, node.provenance, self.register)

    # -- rewriting

    def set_inputs(self, node: Apply, inputs: list[Node]) -> None:
        old = node.inputs
        node.inputs = inputs
        for x in inputs:
            self._use(x, node)
        for x in old:
            self._unuse(x, node)
        self._changed[node.id] = node
        self.push(node)
        self.push_users(node)

    def replace(self, old: Apply, new: Node) -> None:
        """Every use of `old` reads `new`."""
        if isinstance(new, Apply) and not new.name and new.graph is old.graph:
            new.name = old.name
        for user in list(self.users.get(old.id, {}).values()):
            user.inputs = [new if x is old else x for x in user.inputs]
            self._use(new, user)
            for _ in range(user.inputs.count(new) - 1):
                if graph_constant(new) is not None:
                    self._use(new, user)
            self._changed[user.id] = user
            self.push(user)
            self.push_users(user)
        self.users.pop(old.id, None)
        for graph in list(self.outputs.get(old.id, {}).values()):
            graph.output = new
            self._set_output(graph)
            self._outputs.append(graph)
        self.outputs.pop(old.id, None)
        self.push(new)
        self._maybe_dead(old)

    def run(self) -> int:
        """Applies rules until none applies (or the fuel ends); returns the number of rewrites."""
        while self.work and self.fuel > 0:
            node = self.work.popleft()
            self.queued.discard(node.id)
            if node.id not in self.alive:
                continue
            found = operand_heads(node)
            for rule in self.by_head.get(self._head(node), ()):
                if (rule.pattern is None or can_match(rule.pattern, found)) and self._try(rule, node):
                    break
        return self.rewrites

    def _try(self, rule: Rule, node: Apply) -> bool:
        """Applies one rule; True when it rewrote something."""
        self._added.clear()
        self._changed.clear()
        self._outputs.clear()
        if self.checker is not None:
            self.checker.before(None, node)
        operands = list(node.inputs)
        new = rule.apply(self, node)
        if new is None:
            for made in self._added:
                self._maybe_dead(made)
            return False
        if new is not node:
            self.replace(node, new)
        self.rewrites += 1
        self.fuel -= 1
        if self.recorder is not None or self.checker is not None:
            self._record(rule, node, operands, new)
        if node.id in self.alive:
            self.push(node)
        return True

    @staticmethod
    def _head(node: Apply) -> str:
        primitive = primitive_of(node)
        return "call" if primitive is None else primitive.name

    def _record(self, rule: Rule, node: Apply, operands: list[Node], new: Node) -> None:
        added = [form(n) for n in self._added if n.id in self.alive]
        new_ids = {f.node.id for f in added}
        changed = [form(n) for n in self._changed.values() if n.id in self.alive and n.id not in new_ids]
        produced = tuple(f.node for f in added) or (new,)
        kept = {x.id for f in added for x in f.inputs} | {new.id}
        passed_over = [x for x in dict.fromkeys(operands) if isinstance(x, Apply) and x.id not in kept] if rule.name != "inline" else []
        rewrite = Rewrite(self.pass_name, rule.name, rule.family, rule.why, rule.location, node.graph, (node, *passed_over), produced, added, changed,
                          [node.id] if node.id not in self.alive else [], [(g, g.output) for g in self._outputs])
        if self.checker is not None:
            rewrite.checked = self.checker.after(rewrite, new) or None
        if self.recorder is not None:
            self.recorder.add(rewrite)


def location(function: Any) -> str:
    """file:line of a rule's definition, for the viewer."""
    code = function.__code__
    return f"{code.co_filename.rsplit('/', 1)[-1]}:{code.co_firstlineno}"
