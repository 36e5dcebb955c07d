"""Comprehensions: loops that collect. `[e for x in xs if c]` is a graph that calls itself with the rest of xs and what was collected; where
the number of values is known, inference unrolls it and the result has a known length. Targets live in the comprehension only."""
from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from myia_notebook.ir.graph import Constant, Graph, Node
from myia_notebook.ops.table import NAMED
from myia_notebook.parse.expressions import note_call
from myia_notebook.parse.scope import Environment, Function

if TYPE_CHECKING:
    from myia_notebook.parse.parser import Parser


class Comprehension:
    """One list or dict comprehension."""

    def __init__(self, parser: Parser, e: Any, f: Function) -> None:
        self.p, self.e, self.f = parser, e, f

    def build(self, env: Environment) -> Node:
        p = self.p
        is_dict = isinstance(self.e, ast.DictComp)
        first = self._iterator(0, env)
        keeps_all = len(self.e.generators) == 1 and not self.e.generators[0].ifs
        if is_dict:
            empty = p.operation(env, NAMED["dict_display"], self.e, Constant(()))
        else:
            empty = p.operation(env, NAMED["collect_empty"], self.e, first, Constant(keeps_all))
        return self._loop(0, first, empty, env)

    def _kept(self, make: Callable[[], Node], env: Environment) -> Node:
        """A value that is collected: no function in it may be made here over a target, of which it would see the last value (M203)."""
        own = sorted({name for g in self.e.generators for name in _names(g.target)})
        closures, around = self.f.captured_by_closures, self.f.targets
        before = {name: len(closures.get(name, ())) for name in own}
        self.f.targets = (*around, *own)
        value = make()
        self.f.targets = around
        for name in own:
            new = closures.get(name, [])[before[name]:]
            if new:
                value = self.p.watch_graphs(value, env, name, new, self.e)
                del closures[name][before[name]:]
        return value

    def _iterator(self, level: int, env: Environment) -> Node:
        generator = self.e.generators[level]
        return self.p.operation(env, NAMED["collect_start"], generator.iter, self.p.expression(generator.iter, env, self.f))

    def _loop(self, level: int, iterator: Node, collected: Node, env: Environment) -> Node:
        """What has been collected after this generator's values."""
        p, e = self.p, self.e
        generator = e.generators[level]
        graph = Graph("for", "loop", p.provenance(generator.target))
        graph.flags["unroll"] = True
        it = graph.add_parameter("", provenance=p.provenance(generator.iter))
        so_far = graph.add_parameter("", provenance=p.provenance(e))
        head = env.enter(graph)
        more = p.operation(head, NAMED["iter_more"], generator.iter, it)
        body, done = p.arm("body", e), p.arm("done", e)
        done.output = so_far
        inner = head.enter(body)
        for name in _names(generator.target):
            inner.pop(name, None)
        p.bind(generator.target, p.operation(inner, NAMED["iter_value"], generator.target, it), inner, self.f)
        new = self._filtered(level, 0, so_far, inner)
        rest = p.operation(inner, NAMED["iter_next"], generator.iter, it)
        body.output = body.apply(Constant(graph), rest, new, provenance=p.provenance(e))
        graph.output = p.choose(head, more, body, done, e)
        return note_call(env.graph.apply(Constant(graph), iterator, collected, provenance=p.provenance(e)))

    def _filtered(self, level: int, at: int, so_far: Node, env: Environment) -> Node:
        """What has been collected with this value, if the conditions from `at` on hold."""
        p = self.p
        generator = self.e.generators[level]
        if at == len(generator.ifs):
            return self._collected(level, so_far, env)
        condition = generator.ifs[at]
        test = p._test(condition, env, self.f)
        keep, skip = p.arm("if", condition), p.arm("else", condition)
        inner = env.enter(keep)
        p.assume(condition, True, inner, self.f)
        keep.output = self._filtered(level, at + 1, so_far, inner)
        skip.output = so_far
        return p.choose(env, test, keep, skip, condition)

    def _collected(self, level: int, so_far: Node, env: Environment) -> Node:
        p, e = self.p, self.e
        if level + 1 < len(e.generators):
            return self._loop(level + 1, self._iterator(level + 1, env), so_far, env)
        if isinstance(e, ast.DictComp):
            kinds = ("**", "")
            key = p.expression(e.key, env, self.f)
            value = self._kept(lambda: p.expression(e.value, env, self.f), env)
            return p.operation(env, NAMED["dict_display"], e, Constant(kinds), so_far, key, value)
        return p.operation(env, NAMED["collect_add"], e, so_far, self._kept(lambda: p.expression(e.elt, env, self.f), env))


def _names(target: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
