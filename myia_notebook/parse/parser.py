"""Python functions and expressions to nested graphs.

    def f(x):                        f(x) = (x > 0 ? if : else)()
        if x > 0:                      if() = x * x            (x is a free variable of both arms)
            return x * x               else() = -x
        return -x

Control flow without early exits joins by value: the arms of an `if` return the variables they assign, a loop is a tail-recursive graph
that returns its variables. Where an arm returns, breaks or continues, what follows becomes part of the arm that falls through. Only
variables that are live afterwards are joined. On entry: the syntax was accepted by `subset`. On exit: nested form
(docs/architecture.md). A captured variable that is assigned again means what Python shows: functions known at that point are translated
anew with the new value, and where such a function may live on unseen, inference refuses it by that name (M203).
"""
from __future__ import annotations

import ast
import functools
import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from myia_notebook.boundary import ClosureValue
from myia_notebook.errors import error
from myia_notebook.infer.structures import has_parts
from myia_notebook.infer.values import type_of_value
from myia_notebook.ir.graph import UNDEFINED, Apply, Constant, Graph, Node, Signature
from myia_notebook.ir.types import Static
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.table import NAMED, PRIMITIVES
from myia_notebook.parse.comprehensions import Comprehension
from myia_notebook.parse.expressions import BINARY, Expressions, note_call
from myia_notebook.parse.names import Liveness, assigned, captures, leaves, local_names, parameters, reads, subscripted, targets
from myia_notebook.parse.patterns import Cases
from myia_notebook.parse.resolve import Instance, ParseSession, is_constant, is_python_function, unwrap
from myia_notebook.parse.scope import Binding, Environment, Function
from myia_notebook.parse.source import function_ast
from myia_notebook.parse.subset import SourceText, check

TUPLE_GETITEM = PRIMITIVES["tuple_getitem"]
EXITS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
DEPTH = 200_000


def _engine_only(builder: Any, arguments: Any, keywords: Any) -> Any:
    raise AssertionError("expanded by inference")


REBOUND = Operation("rebound", _engine_only, "")
"""rebound(value, (graph, name, line)): the value, refused when a closure of `graph` lives in it (M203)."""


@dataclass(frozen=True, slots=True)
class Exits:
    """What the output of a graph is when control leaves a block: at its end, by return, break or continue."""

    fall: Callable[[Environment], Node]
    returned: Callable[[Node, Environment], Node]
    broke: Callable[[Environment], Node] | None = None
    continued: Callable[[Environment], Node] | None = None


@dataclass(frozen=True, slots=True)
class Rebound:
    """A captured variable that is assigned again."""

    graph: Graph
    name: str
    line: int


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Python code may recurse deeply (frames are on the heap); the user's nesting must not hit the default limit."""
    old = sys.getrecursionlimit()
    sys.setrecursionlimit(max(old, DEPTH))
    try:
        yield
    except RecursionError:
        raise error("M101", message="the program is nested too deeply") from None
    finally:
        sys.setrecursionlimit(old)


def falls_through(statements: list[ast.stmt]) -> bool:
    """Whether control can reach the end of the block."""
    for s in statements:
        if isinstance(s, EXITS):
            return False
        if isinstance(s, ast.If) and s.orelse and not falls_through(s.body) and not falls_through(s.orelse):
            return False
    return True


class Parser(Expressions):
    """Translates the functions of one text."""

    tuple_getitem = TUPLE_GETITEM

    def __init__(self, session: ParseSession, source: SourceText, definitions: dict[tuple[str, int, str], ast.FunctionDef] | None = None) -> None:
        super().__init__(session, source)
        self.live = Liveness()
        self._forward: dict[tuple[int, str], Graph] = {}
        self._definitions = definitions or {}

    # -- functions

    def function_graph(self, function: Any) -> Graph:
        return parse_function(function, self.session)

    def fill(self, graph: Graph, node: ast.FunctionDef | ast.Lambda, f: Function) -> None:
        """Parameters and body of a graph whose signature is set."""
        assert graph.signature is not None
        env = Environment(graph)
        if "self" in graph.flags:
            name, instance = graph.flags.pop("self")
            env[name] = Binding(Constant(instance) if isinstance(instance, type) else Constant(Instance(instance)))
        spans = {a.arg: a for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        for name in graph.signature.names:
            env[name] = Binding(graph.add_parameter(name, provenance=self.provenance(spans[name])))
        if isinstance(node, ast.Lambda):
            graph.output = self.expression(node.body, env, f)
            return
        self.live.block(node.body, frozenset(), frozenset(), frozenset())
        none = Constant(None, provenance=self.provenance(node))
        exits = Exits(lambda e: none, lambda value, e: value)
        graph.output = self.block(node.body, env, f, exits)

    def closure_graph(self, e: ast.FunctionDef | ast.Lambda, name: str, env: Environment, f: Function, signature: Signature | None = None,
                      graph: Graph | None = None) -> Graph:
        """The graph of a nested function, translated with the variables as they are now."""
        if graph is None:
            graph = Graph(name, "closure" if name == "lambda" else "function", self.provenance(e))
        graph.signature = signature or self.signature(e.args, env, f)
        own = frozenset(parameters(e.args)) | frozenset(local_names([e.body] if isinstance(e, ast.Lambda) else list(e.body)))
        inner_env = env.enter(env.graph)
        if isinstance(e, ast.FunctionDef):
            inner_env[name] = Binding(Constant(graph, provenance=self.provenance(e)))
        inner = Function(name, own, inner_env, f, f.globals, {}, {}, e.lineno)
        for captured in captures(e):
            if (captured in f.locals or captured in f.targets) and captured != name:
                f.captured_by_closures.setdefault(captured, []).append(graph)
        self.fill(graph, e, inner)
        return graph

    def _outer(self, name: str, e: ast.AST, f: Function, env: Environment) -> Node:
        """Also finds functions defined later in the enclosing function (mutual recursion of nested functions)."""
        outer = f.outer_function
        if outer is not None and f.outer is not None and name in outer.locals and name not in f.outer:
            found = self._forward_function(name, outer)
            if found is not None:
                return Constant(found, provenance=self.provenance(e))
        return super()._outer(name, e, f, env)

    def _forward_function(self, name: str, outer: Function) -> Graph | None:
        definition = self._definitions.get((outer.name, outer.span_line, name))
        if definition is None:
            return None
        key = (id(outer), name)
        if key not in self._forward:
            graph = Graph(name, "function", self.provenance(definition))
            args = definition.args
            graph.signature = Signature(tuple(a.arg for a in args.posonlyargs), tuple(a.arg for a in args.args), args.vararg.arg if args.vararg else None,
                                        tuple(a.arg for a in args.kwonlyargs), args.kwarg.arg if args.kwarg else None)
            self._forward[key] = graph
        return self._forward[key]

    # -- binding

    def set(self, env: Environment, name: str, binding: Binding, f: Function, e: ast.AST) -> None:
        """Binds a name. Functions that captured its old value are translated anew where they are known, else watched (`REBOUND`)."""
        closures = f.captured_by_closures.get(name, ())
        env[name] = binding
        for path in [key for key in env if key.startswith(name + ".")]:  # what was known of its fields
            del env[path]
        if not closures:
            return
        for other, known in list(env.items()):
            if known.closure is not None and other != name and name in captures(known.closure):
                old = known.node
                assert isinstance(old, Constant)
                graph = self.closure_graph(known.closure, other, env, f, old.value.flags.get("full", old.value).signature)
                env[other] = Binding(Constant(self.with_defaults(graph), provenance=old.provenance), True, known.closure)

    def watch(self, value: Node, env: Environment, name_of: str, f: Function, rebound: list[str], e: ast.AST) -> Node:
        """`value` of variable `name_of`, refused if a closure over one of the `rebound` names lives in it."""
        for name in rebound:
            value = self.watch_graphs(value, env, name, f.captured_by_closures.get(name, []), e)
        return value

    def watch_graphs(self, value: Node, env: Environment, name: str, graphs: list[Graph], e: ast.AST) -> Node:
        for graph in graphs:
            line = graph.provenance.span.line if graph.provenance.span else 0
            mark = Rebound(graph, name, line)
            value = env.graph.apply(Constant(REBOUND), value, Constant(mark, Static(mark)), name=value.name, provenance=self.provenance(e))
        return value

    def bind(self, target: ast.expr, value: Node, env: Environment, f: Function) -> None:
        match target:
            case ast.Name(id=name):
                if isinstance(value, Apply) and not value.name and value.graph is env.graph:
                    value.name = name
                elif isinstance(value, Constant) and not isinstance(value.value, Graph) and not value.name:
                    value = Constant(value.value, value.type, name, value.provenance)
                self._watch_live(name, env, f, target)
                self.set(env, name, Binding(value), f, target)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                self._unpack(target, elts, value, env, f)
            case ast.Starred(value=inner):
                self.bind(inner, value, env, f)
            case ast.Subscript(value=ast.Name() as base, slice=index):
                self._set_item(target, base, index, value, env, f)
            case _:
                raise self.source.fault("M103", target, construct="this assignment", instead="assign to a name")

    def _set_item(self, target: ast.expr, base: ast.Name, index: ast.expr, value: Node, env: Environment, f: Function) -> None:
        """a[i] = v: the name is bound to a changed copy. Only a variable of this very function: the caller's value never changes."""
        if base.id not in f.locals:
            raise self.source.fault("M103", target, construct=f"setting an item of '{base.id}', which is not a variable of this function",
                                    instead="pass it in, and return the new value")
        old = self.read(base.id, base, env, f)
        parts = index.elts if isinstance(index, ast.Tuple) and index.elts else [index]
        new = self.operation(env, NAMED["setitem"], target, old, value, *(self._index(p, env, f) for p in parts))
        same = [name for name, known in env.items() if known.node is env[base.id].node and "." not in name]
        for name in same or [base.id]:  # other variables of this function that are the same value change with it, as in Python
            self.bind(ast.copy_location(ast.Name(name, ast.Store()), base), new, env, f)

    def check_aliases(self, statements: list[ast.stmt], env: Environment, s: ast.stmt) -> None:
        """Where an item is set in a branch or loop, no other variable that is used later may be the same value."""
        live = self.live.after.get(id(s), frozenset()) | frozenset(reads(list(statements)))
        for name in subscripted(statements):
            known = env.get(name)
            for other, binding in env.items():
                if known is not None and other != name and binding.node is known.node and other in live and not isinstance(known.node, Constant):
                    raise self.source.fault("M103", s, construct=f"'{other}' is the same value as '{name}', of which an item is set here: it",
                                            instead=f"copy it: {other} = {name}.copy()")

    def _watch_live(self, name: str, env: Environment, f: Function, e: ast.AST) -> None:
        """Before `name` is assigned again: other live variables must not hold closures over the old value."""
        if name not in env or not f.captured_by_closures.get(name):
            return
        for other, known in list(env.items()):
            if other != name and known.closure is None and not isinstance(known.node, Constant) and known.bound is True:
                env[other] = replace(known, node=self.watch(known.node, env, other, f, [name], e))

    def _unpack(self, target: ast.expr, elements: list[ast.expr], value: Node, env: Environment, f: Function) -> None:
        star = next((i for i, x in enumerate(elements) if isinstance(x, ast.Starred)), -1)
        before = len(elements) if star < 0 else star
        after = -1 if star < 0 else len(elements) - star - 1
        if isinstance(value, Apply) and value.inputs[0] is not None and isinstance(value.inputs[0], Constant) and value.inputs[
                0].value is PRIMITIVES["make_tuple"] and star < 0 and len(value.inputs) - 1 == before:
            for element, item in zip(elements, value.inputs[1:]):
                self.bind(element, item, env, f)
            return
        items = self.operation(env, NAMED["unpack"], target, value, Constant(before), Constant(after))
        for i, element in enumerate(elements):
            self.bind(element, env.graph.apply(TUPLE_GETITEM, items, i, provenance=self.provenance(element)), env, f)

    # -- statements

    def block(self, statements: list[ast.stmt], env: Environment, f: Function, exits: Exits) -> Node:
        """The output of `env.graph` when it runs these statements and then leaves by `exits`."""
        for position, s in enumerate(statements):
            rest = statements[position + 1:]
            match s:
                case ast.Return(value=value):
                    node = Constant(None, provenance=self.provenance(s)) if value is None else self.expression(value, env, f)
                    return exits.returned(node, env)
                case ast.Break():
                    assert exits.broke is not None
                    return exits.broke(env)
                case ast.Continue():
                    assert exits.continued is not None
                    return exits.continued(env)
                case ast.Raise():
                    return self._raise(s, env, f)
                case ast.If():
                    if leaves([*s.body, *s.orelse], EXITS):
                        return self._if_with_exits(s, rest, env, f, exits)
                    self._if(s, env, f)
                case ast.Assert():
                    return self._assert(s, rest, env, f, exits)
                case ast.Match():
                    self.check_aliases([x for case in s.cases for x in case.body], env, s)
                    names = [n for n in assigned([s]) if n in self.live.after.get(id(s), frozenset())]
                    fall = self._after(s, names, rest, env, f, exits)
                    return Cases(self, s, f, replace(exits, fall=fall)).build(env)
                case ast.While() | ast.For():
                    output = self._loop(s, rest, env, f, exits)
                    if output is not None:
                        return output
                case _:
                    self._simple(s, env, f)
        return exits.fall(env)

    def _simple(self, s: ast.stmt, env: Environment, f: Function) -> None:
        match s:
            case ast.Assign(targets=all_targets, value=value):
                node = self.expression(value, env, f)
                for target in all_targets:
                    self.bind(target, node, env, f)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.bind(target, self.expression(value, env, f), env, f)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                old = self.read(name, target, env, f)
                self.bind(target, self.operation(env, BINARY[type(op)], s, old, self.expression(value, env, f)), env, f)
            case ast.AugAssign(target=ast.Subscript(value=base, slice=index) as target, op=op, value=value):
                old = self._subscript(target, base, index, env, f)
                self.bind(target, self.operation(env, BINARY[type(op)], s, old, self.expression(value, env, f)), env, f)
            case ast.FunctionDef():
                self._definition(s, env, f)
            case ast.Expr(value=ast.Call() as call):
                self.expression(call, env, f)  # print: `subset` refused other calls
            case _:
                pass  # pass, docstrings: `subset` refused the rest

    def _definition(self, s: ast.FunctionDef, env: Environment, f: Function) -> None:
        decorators = [self.expression(d, env, f) for d in s.decorator_list]
        graph = self.closure_graph(s, s.name, env, f, graph=self._forward.pop((id(f), s.name), None))
        node: Node = Constant(self.with_defaults(graph), provenance=self.provenance(s))
        for decorator in reversed(decorators):
            node = env.graph.apply(decorator, node, provenance=self.provenance(s))
        self.set(env, s.name, Binding(node, True, None if decorators else s), f, s)

    def _raise(self, s: ast.Raise, env: Environment, f: Function) -> Node:
        """raise E("...") of a built-in exception class."""
        call = s.exc
        name = call.func if isinstance(call, ast.Call) else call
        if not isinstance(name, ast.Name) or s.cause is not None:
            raise self.source.fault("M102", s, construct="this 'raise'", instead='raise a built-in exception: raise ValueError("...")')
        value = self.session.read_global(f.globals, name.id)
        if not (isinstance(value, type) and issubclass(value, Exception) and value.__module__ == "builtins"):
            raise self.source.fault("M102", s, construct=f"raising {name.id}", instead="use a built-in exception class")
        arguments = [self.expression(a, env, f) for a in call.args] if isinstance(call, ast.Call) else []
        return self.operation(env, NAMED["raise"], s, Constant(name.id), *arguments)

    def _assert(self, s: ast.Assert, rest: list[ast.stmt], env: Environment, f: Function, exits: Exits) -> Node:
        test = self.operation(env, operator.truth, s.test, self.expression(s.test, env, f))
        good, bad = self.arm("asserted", s), self.arm("failed", s)
        message = [] if s.msg is None else [self.expression(s.msg, env.enter(bad), f)]
        bad.output = bad.apply(Constant(NAMED["raise"]), Constant("AssertionError"), *message, provenance=self.provenance(s))
        inner = env.enter(good)
        self.assume(s.test, True, inner, f)
        good.output = self.block(rest, inner, f, exits)
        return self.choose(env, test, good, bad, s)

    # -- if

    def _test(self, e: ast.expr, env: Environment, f: Function) -> Node:
        return self.operation(env, operator.truth, e, self.expression(e, env, f))

    def _if(self, s: ast.If, env: Environment, f: Function) -> None:
        """Join by value: the arms return what they assign, as far as it is live."""
        self.check_aliases([*s.body, *s.orelse], env, s)
        test = self._test(s.test, env, f)
        arms = (self.arm("if", s), self.arm("else", s))
        ends: list[Environment] = []

        def fall(end: Environment) -> Node:
            ends.append(end)
            return Constant(None)

        exits = Exits(fall, lambda value, e: value)
        arm_envs: list[Environment] = []
        for arm, statements, outcome in zip(arms, (s.body, s.orelse), (True, False)):
            inner = env.enter(arm)
            self.assume(s.test, outcome, inner, f)
            arm.output = self.block(statements, inner, f, exits)
            arm_envs.append(inner)
        is_plain = all(end.graph is arm for end, arm in zip(ends, arms)) and len(ends) == 2
        live = self.live.after.get(id(s), frozenset())
        names = [n for n in assigned([*s.body, *s.orelse]) if n in live]
        changed = [n for n in names if not all(_same(ends[0].get(n), e.get(n)) for e in ends[1:])]
        for name in names:
            if name not in changed and name in ends[0] and is_plain:
                env[name] = ends[0][name]
        if not is_plain:  # an assertion or a match ends an arm in a graph of its own
            changed = names
        elif not changed and not any("calls" in arm.flags for arm in arms):
            return
        flagged = {n for n in changed if any(e.get(n) is None or e[n].bound is not True for e in ends)}
        for end in ends:
            made = self.pack(end, changed, flagged, s)
            end.graph.output = made
        for arm_env in arm_envs:
            arm_env.graph.output = self.reached(arm_env.graph.output, arm_env, s)
        result = self.choose(env, test, arms[0], arms[1], s)
        self.unpack_variables(result, changed, flagged, env, f, s)

    def pack(self, env: Environment, names: list[str], flagged: set[str], e: ast.AST) -> Node:
        """The values of variables (and whether they are bound) as one value."""
        values: list[Node] = []
        for name in names:
            binding = env.get(name, Binding(Constant(UNDEFINED), False))
            values.append(binding.node)
            if name in flagged:
                values.append(binding.bound if isinstance(binding.bound, Node) else Constant(binding.bound))
        if not values:
            return Constant(None)
        return values[0] if len(values) == 1 else env.graph.apply(PRIMITIVES["make_tuple"], *values, provenance=self.provenance(e))

    def unpack_variables(self, result: Node, names: list[str], flagged: set[str], env: Environment, f: Function, e: ast.AST) -> None:
        """Binds what `pack` made."""
        single = len(names) == 1 and not flagged
        index = 0
        for name in names:
            node = result if single else env.graph.apply(TUPLE_GETITEM, result, index, name=name, provenance=self.provenance(e))
            if single and isinstance(node, Apply) and not node.name:
                node.name = name
            index += 1
            bound: Node | bool = True
            if name in flagged:
                bound = env.graph.apply(TUPLE_GETITEM, result, index, provenance=self.provenance(e))
                index += 1
            self._watch_live(name, env, f, e)
            self.set(env, name, Binding(node, bound), f, e)

    def _if_with_exits(self, s: ast.If, rest: list[ast.stmt], env: Environment, f: Function, exits: Exits) -> Node:
        """What follows the `if` belongs to the arm that falls through; when both do, to a graph that both call."""
        self.check_aliases([*s.body, *s.orelse], env, s)
        test = self._test(s.test, env, f)
        arms = (self.arm("if", s), self.arm("else", s))
        both = falls_through(s.body) and falls_through(s.orelse)
        if both:
            names = [n for n in assigned([*s.body, *s.orelse]) if n in self.live.after.get(id(s), frozenset())]
            fall = self._after(s, names, rest, env, f, exits)
        else:
            fall = lambda end: self.block(rest, end, f, exits)
        inner = replace(exits, fall=fall)
        for arm, statements, outcome in zip(arms, (s.body, s.orelse), (True, False)):
            arm_env = env.enter(arm)
            self.assume(s.test, outcome, arm_env, f)
            arm.output = self.reached(self.block(statements, arm_env, f, inner), arm_env, s)
        return self.choose(env, test, arms[0], arms[1], s)

    def _after(self, s: ast.stmt, names: list[str], rest: list[ast.stmt], env: Environment, f: Function, exits: Exits) -> Callable[[Environment], Node]:
        """A graph that runs `rest`, with the variables that may have changed as parameters; returns how to call it."""
        after = Graph("after", "branch", self.provenance(s))
        flagged = {n for n in names if n not in env or env[n].bound is not True}
        inner = env.enter(after)
        for name in names:
            node = after.add_parameter(name, provenance=self.provenance(s))
            bound: Node | bool = after.add_parameter("", provenance=self.provenance(s)) if name in flagged else True
            self.set(inner, name, Binding(node, bound), f, s)
        after.output = self.block(rest, inner, f, exits)
        return lambda end: end.graph.apply(Constant(after), *self.values(end, names, flagged), provenance=self.provenance(s))

    @staticmethod
    def values(env: Environment, names: list[str], flagged: set[str]) -> list[Node]:
        found: list[Node] = []
        for name in names:
            binding = env.get(name, Binding(Constant(UNDEFINED), False))
            found.append(binding.node)
            if name in flagged:
                found.append(binding.bound if isinstance(binding.bound, Node) else Constant(binding.bound))
        return found

    # -- loops

    def _loop(self, s: ast.While | ast.For, rest: list[ast.stmt], env: Environment, f: Function, exits: Exits) -> Node | None:
        """A tail-recursive graph. None when the loop joined by value and the block goes on; else the output of the graph."""
        self.check_aliases([*s.body, *s.orelse], env, s)
        return _Loop(self, s, rest, env, f, exits).build()


    # -- comprehensions

    def comprehension(self, e: Any, env: Environment, f: Function) -> Node:
        return Comprehension(self, e, f).build(env)



def _same(a: Binding | None, b: Binding | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.node is b.node and a.bound is b.bound


class _Loop:
    """One `while` or `for`."""

    def __init__(self, parser: Parser, s: ast.While | ast.For, rest: list[ast.stmt], env: Environment, f: Function, exits: Exits) -> None:
        self.p, self.s, self.rest, self.env, self.f, self.exits = parser, s, rest, env, f, exits
        self.by_value = not leaves([*s.body, *s.orelse], (ast.Return,)) and not leaves(s.orelse, (ast.Break, ast.Continue, ast.Raise))
        head = parser.live.head.get(id(s), frozenset())
        after = parser.live.after.get(id(s), frozenset())
        bound = assigned([s] if isinstance(s, ast.While) else [s.target, *s.body, *s.orelse])
        self.assigned = bound
        in_body = set(assigned([*s.body]) + (targets(s.target) if isinstance(s, ast.For) else []))
        self.carried = [n for n in bound if n in head and n in in_body]
        self.results = [n for n in bound if n in after]
        self.flagged = {n for n in bound if n not in env or env[n].bound is not True}
        self.graph = Graph("while" if isinstance(s, ast.While) else "for", "loop", parser.provenance(s))

    def build(self) -> Node | None:
        p, s = self.p, self.s
        start, self.test, self.take, self.advance = self._iteration()
        self.hidden = [self.graph.add_parameter(name, provenance=p.provenance(s)) for name, _ in start]
        head = self.env.enter(self.graph)
        for name in self.carried:
            node = self.graph.add_parameter(name, provenance=p.provenance(s))
            bound: Node | bool = self.graph.add_parameter("", provenance=p.provenance(s)) if name in self.flagged else True
            p.set(head, name, Binding(node, bound), self.f, s)
        test = self.test(head)
        body, done = Graph("body", "branch", p.provenance(s)), Graph("done", "branch", p.provenance(s))
        leave = self._leave()
        again = lambda end: self._again(end)
        broke = leave
        inner = Exits(again, self.exits.returned, broke, again)
        body_env, done_env = head.enter(body), head.enter(done)
        if isinstance(s, ast.While):
            p.assume(s.test, True, body_env, self.f)
            p.assume(s.test, False, done_env, self.f)
        self.take(body_env)
        body.output = p.reached(p.block(s.body, body_env, self.f, inner), body_env, s)
        done.output = p.reached(p.block(s.orelse, done_env, self.f, replace(self.exits, fall=leave)), done_env, s)
        self.graph.output = p.choose(head, test, body, done, s)
        initial = [node for _, node in start] + p.values(self.env, self.carried, self.flagged)
        result = note_call(self.env.graph.apply(Constant(self.graph), *initial, provenance=p.provenance(s)))
        if not self.by_value:
            return result
        if self.results:
            p.unpack_variables(result, self.results, self.flagged & set(self.results), self.env, self.f, s)
        return None

    def _leave(self) -> Callable[[Environment], Node]:
        """How the loop is left by its test or by break."""
        if self.by_value:
            if not self.results:
                return lambda end: Constant(None)
            return lambda end: self.p.pack(end, self.results, self.flagged & set(self.results), self.s)
        if leaves(self.s.body, (ast.Break,)):
            return self.p._after(self.s, self.results, self.rest, self.env, self.f, self.exits)
        return lambda end: self.p.block(self.rest, end, self.f, self.exits)

    def _again(self, end: Environment) -> Node:
        """The next iteration."""
        rebound = [n for n in self.assigned if self.f.captured_by_closures.get(n)]
        values = self.p.values(end, self.carried, self.flagged)
        if rebound:
            names = [n for name in self.carried for n in ([name, ""] if name in self.flagged else [name])]
            values = [v if not n or isinstance(v, Constant) else self.p.watch(v, end, n, self.f, rebound, self.s) for n, v in zip(names, values)]
        return end.graph.apply(Constant(self.graph), *self.advance(end), *values, provenance=self.p.provenance(self.s))

    def _iteration(self) -> tuple[list[tuple[str, Node]], Callable[[Environment], Node], Callable[[Environment], None],
                                  Callable[[Environment], list[Node]]]:
        """(hidden loop variables with their first values, the test, taking the next value, the next hidden values)"""
        p, s, f = self.p, self.s, self.f
        if isinstance(s, ast.While):
            return [], (lambda head: p._test(s.test, head, f)), (lambda body: None), (lambda end: [])
        if self._is_range(s.iter):
            assert isinstance(s.iter, ast.Call)
            return self._range(s, s.iter)
        iterable = p.expression(s.iter, self.env, f)
        first = p.operation(self.env, NAMED["iter_start"], s.iter, iterable)
        return ([("", first)], lambda head: p.operation(head, NAMED["iter_more"], s.iter, self.hidden[0]),
                lambda body: p.bind(s.target, p.operation(body, NAMED["iter_value"], s.target, self.hidden[0]), body, f),
                lambda end: [p.operation(end, NAMED["iter_next"], s.iter, self.hidden[0])])

    def _is_range(self, e: ast.expr) -> bool:
        return (isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "range" and not e.keywords
                and not self.p._is_local("range", self.env, self.f) and self.p._peek_global("range", self.f) is range)

    def _range(self, s: ast.For, call: ast.Call) -> Any:
        """`for i in range(start, stop, step)`: an integer counter; the range is evaluated once."""
        p, f = self.p, self.f
        if not 1 <= len(call.args) <= 3 or any(isinstance(a, ast.Starred) for a in call.args):
            raise p.source.fault("M501", call, signature="range()", problem=f"takes 1 to 3 arguments, got {len(call.args)}")
        nodes = [p.operation(self.env, NAMED["as_int"], a, p.expression(a, self.env, f)) for a in call.args]
        start = nodes[0] if len(nodes) > 1 else Constant(0, provenance=p.provenance(call))
        stop = nodes[0] if len(nodes) == 1 else nodes[1]
        step = nodes[2] if len(nodes) == 3 else Constant(1)
        literal = self._literal(call.args[2]) if len(nodes) == 3 else 1
        if literal == 0:
            raise p.source.fault("M702", call, message="range() arg 3 must not be zero")
        if literal is None:
            step = self._nonzero(step, call)

        def test(head: Environment) -> Node:
            i = self.hidden[0]
            if literal is not None:
                return p.operation(head, operator.lt if literal > 0 else operator.gt, call, i, stop)
            up = p.operation(head, np.logical_and, call, p.operation(head, operator.gt, call, step, Constant(0)), p.operation(head, operator.lt, call, i, stop))
            down = p.operation(head, np.logical_and, call, p.operation(head, operator.lt, call, step, Constant(0)),
                               p.operation(head, operator.gt, call, i, stop))
            return p.operation(head, np.logical_or, call, up, down)

        def take(body: Environment) -> None:
            p.counters[self.hidden[0].id] = (start, p.operation(self.env, NAMED["last_of_range"], call, start, stop, step))
            p.bind(s.target, self.hidden[0], body, f)

        name = s.target.id if isinstance(s.target, ast.Name) else ""
        return ([(name, start)], test, take,
                lambda end: [p.operation(end, operator.add, call, self.hidden[0], step)])

    @staticmethod
    def _literal(e: ast.expr) -> int | None:
        try:
            value = ast.literal_eval(e)
        except ValueError:
            return None
        return value if isinstance(value, int) else None

    def _nonzero(self, step: Node, call: ast.Call) -> Node:
        good, bad = self.p.arm("step", call), self.p.arm("zero step", call)
        good.output = step
        bad.output = bad.apply(Constant(NAMED["raise"]), Constant("ValueError"), Constant("range() arg 3 must not be zero"), provenance=self.p.provenance(call))
        zero = self.p.operation(self.env, operator.ne, call, step, Constant(0))
        return self.p.choose(self.env, zero, good, bad, call)


def _definitions(root: ast.AST) -> dict[tuple[str, int, str], ast.FunctionDef]:
    """Functions defined exactly once directly inside a function: (function, its line, name) -> definition."""
    found: dict[tuple[str, int, str], ast.FunctionDef] = {}
    for outer in ast.walk(root):
        if isinstance(outer, ast.FunctionDef):
            names = [s.name for s in outer.body if isinstance(s, ast.FunctionDef)]
            for s in outer.body:
                if isinstance(s, ast.FunctionDef) and names.count(s.name) == 1 and not s.decorator_list:
                    found[outer.name, outer.lineno, s.name] = s
    return found


def parse_function(function: Any, session: ParseSession) -> Graph:
    """The graph of a Python function, parsed once per session. Raises MyiaError at the user's line."""
    function = unwrap(function)
    if isinstance(function, ClosureValue):
        return function.graph()
    if isinstance(function, functools.partial):
        from myia_notebook.parse.derived import callable_graph
        return callable_graph(function, session)
    method_of = getattr(function, "__self__", None) if hasattr(function, "__func__") else None
    plain = getattr(function, "__func__", function)
    if not is_python_function(plain) or not hasattr(plain, "__code__"):
        raise error("M305", type=f"{type(function).__name__} {function!r:.40}", hint="give a Python function")
    key = (plain, id(method_of)) if method_of is not None else plain
    if key in session.graphs:
        return session.graphs[key]
    node, source = function_ast(plain)
    check(node, source)
    graph = session.graphs[key] = Graph(_graph_name(plain), provenance=_span(source, node))
    session.read_function(plain)
    parser = Parser(session, source, _definitions(node))
    own = frozenset(parameters(node.args)) | frozenset(local_names([node.body] if isinstance(node, ast.Lambda) else list(node.body)))
    cells = dict(zip(plain.__code__.co_freevars, plain.__closure__ or ()))
    f = Function(graph.name, own, None, None, plain.__globals__, cells, {}, node.lineno)
    graph.signature = _outer_signature(plain, node, source)
    if method_of is not None:
        first, *rest = graph.signature.positional_only + graph.signature.positional
        graph.flags["self"] = (first, method_of)
        graph.signature = replace(graph.signature, positional_only=(), positional=tuple(rest))
    try:
        with deep_recursion():
            parser.fill(graph, node, f)
    except BaseException:
        del session.graphs[key]
        raise
    return graph


def _graph_name(function: Any) -> str:
    return "lambda" if function.__name__ == "<lambda>" else function.__name__


def _span(source: SourceText, node: ast.AST) -> Any:
    from myia_notebook.provenance import Provenance
    return Provenance(source.span(node))


def _outer_signature(function: Any, node: ast.FunctionDef | ast.Lambda, source: SourceText) -> Signature:
    """The signature of a top-level function; its defaults are values by now."""
    args = node.args
    both = [a.arg for a in (*args.posonlyargs, *args.args)]
    values = function.__defaults__ or ()
    pairs = list(zip(both[len(both) - len(values):], values)) + list((function.__kwdefaults__ or {}).items())
    defaults = tuple((name, Constant(value)) for name, value in pairs if is_constant(value))
    return Signature(tuple(a.arg for a in args.posonlyargs), tuple(a.arg for a in args.args), args.vararg.arg if args.vararg else None,
                     tuple(a.arg for a in args.kwonlyargs), args.kwarg.arg if args.kwarg else None, defaults)


class ProgramParser(Parser):
    """The final expression of a cell: literals that are arguments of the user's functions, and notebook variables, are inputs."""

    def __init__(self, session: ParseSession, source: SourceText, program: Graph) -> None:
        super().__init__(session, source)
        self.program = program
        self.inputs: list[Any] = []
        self._names: dict[str, Node] = {}
        self._literals: dict[int, str] = {}

    def input(self, value: Any, name: str, e: ast.AST) -> Node:
        self.inputs.append(value)
        return self.program.add_parameter(name, provenance=self.provenance(e))

    def value(self, value: Any, name: str, e: ast.AST, env: Environment) -> Node:
        if (isinstance(value, (bool, int, float, np.ndarray, np.generic)) or has_parts(value)) and is_constant(value):
            if name not in self._names:
                self._names[name] = self.input(value, name, e)
            return self._names[name]
        return super().value(value, name, e, env)

    def _apply(self, e: ast.Call, head: Node, first: list[Node], env: Environment, f: Function) -> Node:
        graph = self._callee(head)
        if graph is None or any(isinstance(a, ast.Starred) for a in e.args):
            return super()._apply(e, head, first, env, f)
        names = [] if graph.signature is None else [*graph.signature.positional_only, *graph.signature.positional]
        arguments = {id(a): (a, names[i] if i < len(names) else "") for i, a in enumerate(e.args)}
        arguments |= {id(k.value): (k.value, k.arg or "") for k in e.keywords}
        self._literals |= {key: name for key, (a, name) in arguments.items() if self._is_literal(a)}
        return super()._apply(e, head, first, env, f)

    def expression(self, e: ast.expr, env: Environment, f: Function) -> Node:
        name = self._literals.get(id(e))
        if name is not None and env.graph is self.program:
            return self.input(ast.literal_eval(e), name, e)
        return super().expression(e, env, f)

    @staticmethod
    def _is_literal(e: ast.expr) -> bool:
        try:
            type_of_value(ast.literal_eval(e))
        except Exception:
            return False
        return not isinstance(ast.literal_eval(e), (str, type(None)))

    @staticmethod
    def _callee(head: Node) -> Graph | None:
        """The user's function behind a call: f, or f of grad(f)(…) nested to any depth."""
        while isinstance(head, Apply) and isinstance(head.inputs[0], Constant) and Expressions._is_gradient(head.inputs[0].value):
            head = head.inputs[1]
        return head.value if isinstance(head, Constant) and isinstance(head.value, Graph) else None


def parse_expression(expression: ast.expr, namespace: dict[str, Any], session: ParseSession, filename: str, text: str) -> tuple[Graph, list[Any]]:
    """An expression as a program, and the values of its inputs (one per parameter)."""
    source = SourceText(text, filename)
    check(expression, source)
    program = Graph("cell", "program", _span(source, expression))
    parser = ProgramParser(session, source, program)
    f = Function("cell", frozenset(), None, None, namespace, {}, {})
    with deep_recursion():
        program.output = parser.expression(expression, Environment(program), f)
    return program, parser.inputs


__all__ = ["REBOUND", "ParseSession", "Parser", "Rebound", "parse_expression", "parse_function"]
