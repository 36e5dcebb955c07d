"""`match`: each case tests the subject, binds names, tests its guard; on failure the next case is tried. What follows the statement is a
graph that every case calls. A pattern is translated to nested conditionals, so that a class pattern narrows what its parts see."""
from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from myia_notebook.ir.graph import Constant, Graph, Node
from myia_notebook.ops.table import NAMED
from myia_notebook.parse.scope import Binding, Environment, Function

if TYPE_CHECKING:
    from myia_notebook.parse.parser import Exits, Parser

Then = Callable[..., Node]


class Cases:
    """One `match` statement."""

    def __init__(self, parser: Parser, s: ast.Match, f: Function, exits: Exits) -> None:
        self.p, self.s, self.f, self.exits = parser, s, f, exits

    def build(self, env: Environment) -> Node:
        subject = self.p.expression(self.s.subject, env, self.f)
        name = self.s.subject.id if isinstance(self.s.subject, ast.Name) else None
        return self._case(0, subject, name, env)

    def _case(self, index: int, subject: Node, name: str | None, env: Environment) -> Node:
        """The output of env.graph from case `index` on."""
        if index == len(self.s.cases):
            output = self.p.operation(env, NAMED["given"], self.s, subject, self.exits.fall(env))
            return self.p.operation(env, NAMED["given_other"], self.s, subject, output) if self._covers_sequences() else output
        case = self.s.cases[index]
        failed: list[Graph] = []

        def fail(at: Environment, rest: Node | None = None) -> Node:
            """Tries the next case with what the subject can still be: a graph of its own, made once."""
            if not failed:
                graph = self.p.arm("next case", case.pattern)
                failed.append(graph)
                graph.output = self._case(index + 1, graph.add_parameter(name or "", provenance=self.p.provenance(case.pattern)), name, env.enter(graph))
            return at.graph.apply(Constant(failed[0]), subject if rest is None else rest, provenance=self.p.provenance(case.pattern))

        def body(at: Environment) -> Node:
            if case.guard is None:
                return self.p.block(case.body, at, self.f, self.exits)
            test = self.p._test(case.guard, at, self.f)

            def inside(e: Environment) -> Node:
                self.p.assume(case.guard, True, e, self.f)  # type: ignore[arg-type]
                return self.p.block(case.body, e, self.f, self.exits)

            return self._choose(test, at, inside, fail, case.guard)

        def matched(at: Environment, value: Node) -> Node:
            if name is not None:
                at[name] = Binding(value)
            return body(at)

        return self._pattern(case.pattern, subject, env, matched, fail)

    def _covers_sequences(self) -> bool:
        """Whether the cases match a sequence of any length: [], [x], [x, *rest]."""
        exact: set[int] = set()
        least: list[int] = []
        for case in self.s.cases:
            pattern = case.pattern
            if case.guard is None and isinstance(pattern, ast.MatchSequence) and all(map(_always_matches, pattern.patterns)):
                starred = any(isinstance(q, ast.MatchStar) for q in pattern.patterns)
                if starred:
                    least.append(len(pattern.patterns) - 1)
                else:
                    exact.add(len(pattern.patterns))
        return bool(least) and all(n in exact for n in range(min(least)))

    def _choose(self, test: Node, env: Environment, then: Then, otherwise: Then, e: ast.AST) -> Node:
        first, second = self.p.arm("case", e), self.p.arm("else", e)
        first.output = then(env.enter(first))
        second.output = otherwise(env.enter(second))
        return self.p.choose(env, test, first, second, e)

    def _pattern(self, pattern: ast.pattern, subject: Node, env: Environment, then: Callable[[Environment, Node], Node], fail: Then) -> Node:
        """The output of env.graph: `then` where the pattern matches (with the subject, narrowed), `fail` where it does not."""
        p, f = self.p, self.f
        match pattern:
            case ast.MatchAs(pattern=None, name=None):
                return then(env, subject)
            case ast.MatchAs(pattern=None, name=str(name)):
                p.bind(ast.copy_location(ast.Name(name, ast.Store()), pattern), subject, env, f)
                return then(env, subject)
            case ast.MatchAs(pattern=inner, name=name) if inner is not None:
                def named(at: Environment, value: Node) -> Node:
                    if name is not None:
                        p.bind(ast.copy_location(ast.Name(name, ast.Store()), pattern), value, at, f)
                    return then(at, value)
                return self._pattern(inner, subject, env, named, fail)
            case ast.MatchValue(value=value):
                test = p.operation(env, operator.truth, pattern, p.operation(env, operator.eq, pattern, subject, p.expression(value, env, f)))
                return self._choose(test, env, lambda at: then(at, subject), fail, pattern)
            case ast.MatchSingleton(value=value):
                test = p.operation(env, operator.is_, pattern, subject, Constant(value))
                return self._choose(test, env, lambda at: then(at, self._narrowed(at, subject, Constant(None), pattern) if value is None else subject),
                                    lambda at: fail(at, self._narrowed(at, subject, Constant(None), pattern, False)) if value is None else fail(at), pattern)
            case ast.MatchOr(patterns=patterns):
                return self._either(patterns, subject, env, then, fail)
            case ast.MatchClass():
                return self._class(pattern, subject, env, then, fail)
            case ast.MatchSequence(patterns=patterns):
                return self._sequence(pattern, patterns, subject, env, then, fail)
            case ast.MatchMapping():
                return self._mapping(pattern, subject, env, then, fail)
            case _:
                raise p.source.fault("M102", pattern, construct=f"the pattern '{type(pattern).__name__}'", instead="")

    def _narrowed(self, env: Environment, subject: Node, what: Node, e: ast.AST, positive: bool = True) -> Node:
        return self.p.operation(env, NAMED["narrow"], e, subject, what, Constant(positive))

    def _either(self, patterns: list[ast.pattern], subject: Node, env: Environment, then: Callable[[Environment, Node], Node], fail: Then) -> Node:
        """p1 | p2 | …: each alternative goes to the same place when it binds nothing."""
        names = [x for q in patterns for x in ast.walk(q) if isinstance(x, (ast.MatchAs, ast.MatchStar)) and x.name is not None]
        if names:  # the body is translated for each alternative
            first, *rest = patterns
            following: Then = (lambda at, left=None: self._either(rest, left or subject, at, then, fail)) if rest else fail
            return self._pattern(first, subject, env, then, following)
        made: list[Graph] = []

        def shared(at: Environment, value: Node) -> Node:
            if not made:
                graph = self.p.arm("case", patterns[0])
                made.append(graph)
                graph.output = then(env.enter(graph), subject)
            return at.graph.apply(Constant(made[0]), provenance=self.p.provenance(patterns[0]))

        def attempt(index: int, at: Environment, left: Node) -> Node:
            following: Then = (lambda e, rest=None: attempt(index + 1, e, rest or left)) if index + 1 < len(patterns) else fail
            return self._pattern(patterns[index], left, at, shared, following)

        return attempt(0, env, subject)

    def _class(self, pattern: ast.MatchClass, subject: Node, env: Environment, then: Callable[[Environment, Node], Node], fail: Then) -> Node:
        p, f = self.p, self.f
        cls = p.expression(pattern.cls, env, f)
        value = cls.value if isinstance(cls, Constant) else None
        if not isinstance(value, type):
            raise p.source.fault("M102", pattern, construct="this class pattern", instead="name a class that is defined outside the function")
        fields = self._fields(pattern, value)
        test = p.operation(env, isinstance, pattern, subject, cls)

        def inside(at: Environment) -> Node:
            narrowed = self._narrowed(at, subject, cls, pattern)
            return self._parts(fields, narrowed, at, lambda e: then(e, narrowed), fail)

        return self._choose(test, env, inside, lambda at: fail(at, self._narrowed(at, subject, cls, pattern, False)), pattern)

    def _fields(self, pattern: ast.MatchClass, cls: Any) -> list[tuple[str | None, ast.pattern]]:
        """(field, pattern) for each part; None: the value itself (`float(x)`)."""
        found: list[tuple[str | None, ast.pattern]] = []
        names = getattr(cls, "__match_args__", None)
        if pattern.patterns and names is None:
            if cls not in (bool, int, float, str, tuple, list, dict) or len(pattern.patterns) > 1:
                raise self.p.source.fault("M501", pattern, signature=f"{cls.__name__}()", problem="has no positional parts to match")
            return [(None, pattern.patterns[0])]
        if len(pattern.patterns) > len(names or ()):
            raise self.p.source.fault("M501", pattern, signature=f"{cls.__name__}()",
                                      problem=f"has {len(names or ())} positional parts, the pattern {len(pattern.patterns)}")
        found.extend(zip(names or (), pattern.patterns))
        found.extend(zip(pattern.kwd_attrs, pattern.kwd_patterns))
        return found

    def _parts(self, fields: list[tuple[str | None, ast.pattern]], value: Node, env: Environment, then: Then, fail: Then) -> Node:
        if not fields:
            return then(env)
        (name, pattern), *rest = fields
        part = value if name is None else self.p.operation(env, NAMED["getattr_"], pattern, value, Constant(name))
        return self._pattern(pattern, part, env, lambda at, _: self._parts(rest, value, at, then, fail), lambda at, left=None: fail(at))

    def _sequence(self, pattern: ast.MatchSequence, patterns: list[ast.pattern], subject: Node, env: Environment,
                  then: Callable[[Environment, Node], Node], fail: Then) -> Node:
        p = self.p
        star = next((i for i, q in enumerate(patterns) if isinstance(q, ast.MatchStar)), -1)
        before = len(patterns) if star < 0 else star
        after = -1 if star < 0 else len(patterns) - star - 1
        test = p.operation(env, NAMED["is_sequence_of"], pattern, subject, Constant(before + max(after, 0)), Constant(star >= 0))

        def inside(at: Environment) -> Node:
            items = p.operation(at, NAMED["unpack"], pattern, subject, Constant(before), Constant(after))
            return each(0, items, at)

        def each(index: int, items: Node, at: Environment) -> Node:
            if index == len(patterns):
                return then(at, subject)
            q = patterns[index]
            item = at.graph.apply(p.tuple_getitem, items, index, provenance=p.provenance(q))
            if isinstance(q, ast.MatchStar):
                if q.name is not None:
                    p.bind(ast.copy_location(ast.Name(q.name, ast.Store()), q), item, at, self.f)
                return each(index + 1, items, at)
            return self._pattern(q, item, at, lambda e, _: each(index + 1, items, e), lambda e, left=None: fail(e))

        return self._choose(test, env, inside, fail, pattern)

    def _mapping(self, pattern: ast.MatchMapping, subject: Node, env: Environment, then: Callable[[Environment, Node], Node], fail: Then) -> Node:
        p = self.p
        if pattern.rest is not None:
            raise p.source.fault("M102", pattern, construct="'**' in a pattern", instead="name the keys")
        keys = [p.expression(k, env, self.f) for k in pattern.keys]
        test = p.operation(env, NAMED["has_keys"], pattern, subject, *keys)

        def each(index: int, at: Environment) -> Node:
            if index == len(keys):
                return then(at, subject)
            item = p.operation(at, NAMED["getitem"], pattern, subject, keys[index])
            return self._pattern(pattern.patterns[index], item, at, lambda e, _: each(index + 1, e), lambda e, left=None: fail(e))

        return self._choose(test, env, lambda at: each(0, at), fail, pattern)


def _always_matches(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchStar) or (isinstance(pattern, ast.MatchAs) and pattern.pattern is None)
