"""Expressions to nodes. Each method returns the node of one expression in the environment's graph."""
from __future__ import annotations

import ast
import enum
import math
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from myia_notebook.gradient.options import is_operator
from myia_notebook.infer.structures import has_parts, parts_of, structure_of
from myia_notebook.ir.graph import Apply, Constant, Graph, Node, Signature
from myia_notebook.ir.types import LIST, UNIT, Static, Structure
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.records import constructor_of
from myia_notebook.ops.table import NAMED, OPERATIONS, PRIMITIVES, operation_for
from myia_notebook.parse.names import assigned
from myia_notebook.parse.resolve import MISSING, Instance, ParseSession, is_constant, is_plain, is_python_function, suggestion, unwrap
from myia_notebook.parse.scope import Binding, Environment, Function
from myia_notebook.parse.subset import SourceText
from myia_notebook.parse.windows import window
from myia_notebook.provenance import Provenance

SWITCH, MAKE_TUPLE = PRIMITIVES["switch"], PRIMITIVES["make_tuple"]
BINARY: dict[type[ast.operator], Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift}
UNARY: dict[type[ast.unaryop], Any] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_, ast.Invert: operator.invert}
COMPARE: dict[type[ast.cmpop], Any] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.In: operator.contains, ast.NotIn: operator.contains}


class Expressions:
    """Translates expressions of one text. Statements (`parser.Parser`) build on it."""

    def __init__(self, session: ParseSession, source: SourceText) -> None:
        self.session, self.source = session, source
        self.counters: dict[int, tuple[Node, Node]] = {}
        """The first and the last value of each counter of a loop over a range, by the node's id."""

    # -- helpers

    def provenance(self, node: ast.AST) -> Provenance:
        return Provenance(self.source.span(node))

    def constant(self, value: Any, node: ast.AST) -> Constant:
        return Constant(value, provenance=self.provenance(node))

    def operation(self, env: Environment, what: Any, node: ast.AST, *arguments: Node) -> Node:
        """An operation (by Python object or Operation) applied to nodes."""
        head = what if isinstance(what, Operation) else OPERATIONS[what]
        return env.graph.apply(Constant(head), *arguments, provenance=self.provenance(node))

    def choose(self, env: Environment, test: Node, first: Graph, second: Graph, node: ast.AST) -> Node:
        """(first if test else second)()"""
        chosen = env.graph.apply(SWITCH, test, Constant(first), Constant(second), provenance=self.provenance(node))
        return note_call(env.graph.apply(chosen, provenance=self.provenance(node)))

    def arm(self, name: str, node: ast.AST) -> Graph:
        return Graph(name, "branch", self.provenance(node))

    # -- dispatch

    def expression(self, e: ast.expr, env: Environment, f: Function) -> Node:
        match e:
            case ast.Constant(value=value):
                return self.constant(value, e)
            case ast.Name(id=name):
                return self.read(name, e, env, f)
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(e, left, op, right, env, f)
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(e, op, operand, env, f)
            case ast.BoolOp(op=op, values=values):
                return self._boolean(e, isinstance(op, ast.And), values, env, f)
            case ast.Compare():
                return self._compare(e, env, f)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._conditional(e, test, body, orelse, env, f)
            case ast.Tuple(elts=elts):
                return self.tuple_of(e, elts, env, f)
            case ast.List(elts=elts):
                return self._list(e, elts, env, f)
            case ast.Dict():
                return self._dict(e, env, f)
            case ast.ListComp() | ast.DictComp():
                return self.comprehension(e, env, f)
            case ast.GeneratorExp():
                raise self.source.fault("M102", e, construct="a generator on its own", instead="use it inside sum, any, all, min, max, tuple or list, or write a list")
            case ast.JoinedStr():
                return self._text(e, env, f)
            case ast.Subscript(value=value, slice=index):
                return self._subscript(e, value, index, env, f)
            case ast.Attribute():
                return self._attribute(e, env, f)
            case ast.Call():
                return self._call(e, env, f)
            case ast.Lambda():
                return self._lambda(e, env, f)
            case ast.NamedExpr(target=target, value=value):
                node = self.expression(value, env, f)
                self.bind(target, node, env, f)
                return self.read(target.id, target, env, f)
            case _:
                raise self.source.fault("M102", e, construct=f"'{type(e).__name__}' here", instead="")

    # -- names

    def read(self, name: str, e: ast.AST, env: Environment, f: Function) -> Node:
        """A variable: local, of an enclosing function, a closure cell, a global or a builtin."""
        binding = env.get(name)
        if binding is not None:
            return self._checked(name, binding, e, env)
        if name in f.locals:
            raise self.source.fault("M202", e, name=name)
        return self._outer(name, e, f, env)

    def _outer(self, name: str, e: ast.AST, f: Function, env: Environment) -> Node:
        function: Function | None = f
        while function is not None:
            if function.outer is not None and function.outer_function is not None:
                binding = function.outer.get(name)
                if binding is not None:
                    if binding.bound is not True:
                        raise self.source.fault("M202", e, name=name)
                    return binding.node
                if name in function.outer_function.locals:
                    raise self.source.fault("M202", e, name=name)
            elif name in function.cells:
                value = self.session.read_cell(function.cells[name])
                if value is not MISSING:
                    return self.value(value, name, e, env)
            function = function.outer_function
        value = self.session.read_global(f.globals, name)
        if value is MISSING:
            known = [*f.locals, *f.globals, *dir(__builtins__)]
            raise self.source.fault("M201", e, name=name, suggestion=suggestion(name, [k for k in known if isinstance(k, str) and not k.startswith("_")]))
        return self.value(value, name, e, env)

    def value(self, value: Any, name: str, e: ast.AST, env: Environment) -> Node:
        """A value from outside the program."""
        from myia_notebook.api import Gradient
        inner = unwrap(value)
        if isinstance(inner, Gradient):
            return self._gradient_object(inner, name, e)
        if is_python_function(inner) and operation_for(inner) is None and not self._is_gradient(inner):
            return Constant(self.function_graph(inner), provenance=self.provenance(e), name="")
        if isinstance(value, types.ModuleType):
            raise self.source.fault("M308", e, message=f"the module '{name}' is no value", hint=f"read an attribute of it, as in {name}.sin")
        if has_parts(value) and not (type(value) is tuple and is_plain(value)):
            return self._outside(value, name, e, env)
        if self._is_gradient(inner) or is_constant(value):
            return Constant(value, provenance=self.provenance(e))
        kind = f"the function '{name}'" if callable(value) else f"'{name}', a value of class {type(value).__name__},"
        raise self.source.fault("M305", e, type=kind, hint="it is not among the operations of the language" if callable(value) else
                                "use numbers, NumPy arrays, tuples, None and functions")

    def _outside(self, value: Any, name: str, e: ast.AST, env: Environment) -> Node:
        """A value with parts from outside the program, made again in it; remembered, so that a changed list is seen."""
        self.session.read_contents(value)
        items = [self.value(item, name, e, env) for item in parts_of(value)]
        structure = structure_of(value)
        if structure is None:
            return env.graph.apply(MAKE_TUPLE, *items, provenance=self.provenance(e)) if items else Constant((), UNIT)
        if structure == LIST:
            return self.operation(env, NAMED["make_list"], e, *items)
        return self.operation(env, NAMED["make_record"], e, Constant(structure, Static(structure)), *items)

    def _gradient_object(self, value: Any, name: str, e: ast.AST) -> Node:
        from myia_notebook.parse.derived import callable_graph
        return Constant(callable_graph(value, self.session), provenance=self.provenance(e))

    @staticmethod
    def _is_gradient(value: Any) -> bool:
        return is_operator(value)

    def function_graph(self, function: Any) -> Graph:
        raise AssertionError("given by Parser")

    def _checked(self, name: str, binding: Binding, e: ast.AST, env: Environment) -> Node:
        """The value of a variable that may be unbound: a conditional that raises at run time, as Python does."""
        if binding.bound is True:
            return binding.node
        if binding.bound is False:
            raise self.source.fault("M202", e, name=name)
        good, bad = self.arm("bound", e), self.arm("unbound", e)
        good.output = binding.node
        bad.output = bad.apply(Constant(NAMED["raise"]), Constant("UnboundLocalError"), Constant(name), provenance=self.provenance(e))
        node = self.choose(env, binding.bound, good, bad, e)
        node.name = name
        env[name] = Binding(node)
        return node

    def bind(self, target: ast.expr, value: Node, env: Environment, f: Function) -> None:
        raise AssertionError("given by Parser")

    # -- operators

    def _binary(self, e: ast.expr, left: ast.expr, op: ast.operator, right: ast.expr, env: Environment, f: Function) -> Node:
        """Long chains (a + b + c + …) are walked, not recursed into."""
        chain: list[tuple[ast.expr, ast.operator, ast.expr]] = [(e, op, right)]
        while isinstance(left, ast.BinOp):
            chain.append((left, left.op, left.right))
            left = left.left
        node = self.expression(left, env, f)
        for whole, operator_, operand in reversed(chain):
            node = self.operation(env, BINARY[type(operator_)], whole, node, self.expression(operand, env, f))
        return node

    def _unary(self, e: ast.expr, op: ast.unaryop, operand: ast.expr, env: Environment, f: Function) -> Node:
        if isinstance(op, ast.USub) and isinstance(operand, ast.Constant) and type(operand.value) in (int, float):
            return self.constant(-operand.value, e)
        return self.operation(env, UNARY[type(op)], e, self.expression(operand, env, f))

    def _boolean(self, e: ast.expr, is_and: bool, values: list[ast.expr], env: Environment, f: Function) -> Node:
        """`a and b` is b if a else a; each operand is computed once, and only if it is reached."""
        first, *rest = values
        node = self.expression(first, env, f)
        if not rest:
            return node
        test = self.operation(env, operator.truth, first, node)
        short, long_ = self.arm("short", e), self.arm("and" if is_and else "or", e)
        inner = env.enter(long_)
        self.assume(first, is_and, inner, f)
        names = [n for n in assigned(list(rest)) if n in f.locals]
        found = self._boolean(e, is_and, rest, inner, f)
        if not names:
            short.output, long_.output = node, found
            return self.choose(env, test, *((long_, short) if is_and else (short, long_)), e)
        outer = env.enter(short)
        flagged = {n for n in names if any(x.get(n) is None or x[n].bound is not True for x in (inner, outer))}
        for arm_env, value in ((inner, found), (outer, node)):
            arm_env[RESULT] = Binding(value)
            arm_env.graph.output = self.pack(arm_env, [RESULT, *names], flagged, e)
            del arm_env[RESULT]
        result = self.choose(env, test, *((long_, short) if is_and else (short, long_)), e)
        self.unpack_variables(result, [RESULT, *names], flagged, env, f, e)
        return env.pop(RESULT).node

    # -- what a test says of a value

    def assume(self, test: ast.expr, outcome: bool, env: Environment, f: Function) -> None:
        """In `env`, where `test` came out as `outcome`: `isinstance(x, C)` and `x is None` narrow x (a variable, or fields of one)."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.assume(operand, not outcome, env, f)
            case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) is outcome:
                for value in values:
                    self.assume(value, outcome, env, f)
            case ast.Call(func=ast.Name(id="isinstance"), args=[subject, classes], keywords=[]):
                if path_of(subject) is not None and self._peek_global("isinstance", f) is isinstance:
                    self.narrow(subject, self.expression(classes, env, f), outcome, env, f)
            case ast.Compare(left=subject, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]):
                if path_of(subject) is not None:
                    self.narrow(subject, Constant(None), outcome is isinstance(op, ast.Is), env, f)
            case ast.Name() if path_of(test) is not None and outcome and test.id in env:
                self.narrow(test, Constant(None), False, env, f, True)
            case ast.NamedExpr(target=target):
                self.assume(target, outcome, env, f)
            case _:
                pass

    def narrow(self, subject: ast.expr, what: Node, positive: bool, env: Environment, f: Function, is_truth: bool = False) -> None:
        path = path_of(subject)
        assert path is not None
        node = self.expression(subject, env, f)
        if isinstance(node, Constant):
            return
        made = self.operation(env, NAMED["narrow"], subject, node, what, Constant(positive))
        made.name = node.name
        env[path] = Binding(made)
        if not is_truth:
            env.given.append(made)

    def reached(self, output: Node, env: Environment, e: ast.AST) -> Node:
        """The output of an arm, which is never reached where a value narrowed by its test cannot exist."""
        for narrowed in env.given:
            output = self.operation(env, NAMED["given"], e, narrowed, output)
        return output

    def _compare(self, e: ast.Compare, env: Environment, f: Function) -> Node:
        """a < b < c is a < b and b < c, with b computed once."""
        return self._compare_from(e, self.expression(e.left, env, f), 0, env, f)

    def _compare_from(self, e: ast.Compare, left: Node, at: int, env: Environment, f: Function) -> Node:
        op, right_expression = e.ops[at], e.comparators[at]
        right = self.expression(right_expression, env, f)
        operands = (right, left) if isinstance(op, (ast.In, ast.NotIn)) else (left, right)
        node = self.operation(env, COMPARE[type(op)], e, *operands)
        if isinstance(op, ast.NotIn):
            node = self.operation(env, operator.not_, e, node)
        if at == len(e.ops) - 1:
            return node
        test = self.operation(env, operator.truth, e, node)
        more, short = self.arm("and", e), self.arm("short", e)
        short.output = node
        more.output = self._compare_from(e, right, at + 1, env.enter(more), f)
        return self.choose(env, test, more, short, e)

    def _conditional(self, e: ast.expr, test: ast.expr, body: ast.expr, orelse: ast.expr, env: Environment, f: Function) -> Node:
        condition = self.operation(env, operator.truth, test, self.expression(test, env, f))
        first, second = self.arm("if", body), self.arm("else", orelse)
        for arm, value, outcome in ((first, body, True), (second, orelse, False)):
            inner = env.enter(arm)
            self.assume(test, outcome, inner, f)
            arm.output = self.reached(self.expression(value, inner, f), inner, e)
        return self.choose(env, condition, first, second, e)

    # -- data

    def _list(self, e: ast.expr, elements: list[ast.expr], env: Environment, f: Function) -> Node:
        """A list display; starred parts are joined in."""
        return self._display(e, elements, list, lambda items: self.operation(env, NAMED["make_list"], e, *items), env, f)

    def _display(self, e: ast.expr, elements: list[ast.expr], kind: type, make: Callable[[list[Node]], Node], env: Environment, f: Function) -> Node:
        """A list or tuple display: runs of items become sequences by `make`, and are joined with the starred ones, converted to `kind`."""
        parts: list[Node] = []
        run: list[Node] = []
        for element in elements:
            if isinstance(element, ast.Starred):
                if run:
                    parts.append(make(run))
                parts.append(self.operation(env, kind, element, self.expression(element.value, env, f)))
                run = []
            else:
                run.append(self.expression(element, env, f))
        if run or not parts:
            parts.append(make(run))
        node = parts[0]
        for part in parts[1:]:
            node = self.operation(env, operator.add, e, node, part)
        return node

    def _dict(self, e: ast.Dict, env: Environment, f: Function) -> Node:
        kinds: list[str] = []
        operands: list[Node] = []
        for key, value in zip(e.keys, e.values):
            kinds.append("**" if key is None else "")
            if key is not None:
                operands.append(self.expression(key, env, f))
            operands.append(self.expression(value, env, f))
        return self.operation(env, NAMED["dict_display"], e, Constant(tuple(kinds), Static(tuple(kinds))), *operands)

    def _text(self, e: ast.JoinedStr, env: Environment, f: Function) -> Node:
        """An f-string: its parts, with how they are written."""
        parts: list[Node] = []
        kinds: list[tuple[str, str] | None] = []
        for part in e.values:
            if isinstance(part, ast.FormattedValue):
                form = ""
                if part.format_spec is not None:
                    texts = [v.value for v in part.format_spec.values if isinstance(v, ast.Constant)]  # type: ignore[attr-defined]
                    if len(texts) != len(part.format_spec.values):  # type: ignore[attr-defined]
                        raise self.source.fault("M102", part, construct="a format that depends on a value", instead="write the width as a number")
                    form = "".join(map(str, texts))
                kinds.append((chr(part.conversion) if part.conversion > 0 else "", form))
                parts.append(self.expression(part.value, env, f))
            else:
                kinds.append(None)
                parts.append(self.expression(part, env, f))
        return self.operation(env, NAMED["make_text"], e, Constant(tuple(kinds), Static(tuple(kinds))), *parts)

    def comprehension(self, e: Any, env: Environment, f: Function) -> Node:
        raise AssertionError("given by Parser")

    def pack(self, env: Environment, names: list[str], flagged: set[str], e: ast.AST) -> Node:
        raise AssertionError("given by Parser")

    def unpack_variables(self, result: Node, names: list[str], flagged: set[str], env: Environment, f: Function, e: ast.AST) -> None:
        raise AssertionError("given by Parser")

    def tuple_of(self, e: ast.expr, elements: list[ast.expr], env: Environment, f: Function) -> Node:
        """A display as a tuple; starred parts are joined in."""
        return self._display(e, elements, tuple, lambda items: self._plain_tuple(e, items, env), env, f)

    def _plain_tuple(self, e: ast.AST, items: list[Node], env: Environment) -> Node:
        if not items:
            return Constant((), UNIT, provenance=self.provenance(e))
        if all(isinstance(i, Constant) and type(i.value) in (int, float, bool, type(None), tuple) for i in items):
            return self.constant(tuple(i.value for i in items if isinstance(i, Constant)), e)
        return env.graph.apply(MAKE_TUPLE, *items, provenance=self.provenance(e))

    def array_display(self, e: ast.expr, env: Environment, f: Function) -> Node:
        """A list display inside np.array([...]) and the like."""
        if isinstance(e, ast.List):
            if any(isinstance(x, ast.Starred) for x in e.elts):
                return self.tuple_of(e, e.elts, env, f)
            return self._plain_tuple(e, [self.array_display(x, env, f) for x in e.elts], env)
        return self.expression(e, env, f)

    def _subscript(self, e: ast.expr, value: ast.expr, index: ast.expr, env: Environment, f: Function) -> Node:
        node = self.expression(value, env, f)
        parts = index.elts if isinstance(index, ast.Tuple) and index.elts else [index]
        return self.operation(env, NAMED["getitem"], e, node, *(self._index(p, env, f) for p in parts))

    def _index(self, e: ast.expr, env: Environment, f: Function) -> Node:
        if isinstance(e, ast.Slice):
            bounds = [Constant(None) if b is None else self.expression(b, env, f) for b in (e.lower, e.upper, e.step)]
            more: list[Node] = []
            if e.lower is not None and e.upper is not None and e.step is None:
                more = window(bounds[0], bounds[1], self.counters, lambda what, *operands: self.operation(env, what, e, *operands))
            return self.operation(env, NAMED["make_slice"], e, *bounds, *more)
        return self.expression(e, env, f)

    def _attribute(self, e: ast.Attribute, env: Environment, f: Function) -> Node:
        path = path_of(e)
        if path in env:
            return env[path].node
        found = self._module_attribute(e, env, f)
        if found is not None:
            return found
        node = self.expression(e.value, env, f)
        return self.operation(env, NAMED["getattr_"], e, node, Constant(e.attr))

    def _module_attribute(self, e: ast.Attribute, env: Environment, f: Function) -> Node | None:
        """`np.linalg.norm`, `self.weight`: folded when it begins at a module or at an object of the user's."""
        path: list[str] = []
        root: ast.expr = e
        while isinstance(root, ast.Attribute):
            path.append(root.attr)
            root = root.value
        if not isinstance(root, ast.Name):
            return None
        value = self._object(root.id, env, f)
        if value is MISSING:
            return None
        name = root.id
        while path and self._is_object(value):
            part = path.pop()
            name = f"{name}.{part}"
            found = self.session.read_attribute(value, part)
            if found is MISSING:
                kind = f"the module '{name.rsplit('.', 1)[0]}'" if isinstance(value, types.ModuleType) else f"'{name.rsplit('.', 1)[0]}'"
                raise self.source.fault("M304", e, type=kind, name=part, hint=suggestion(part, dir(value)))
            value = found
        node = self.value(value, name, e, env)
        for part in reversed(path):
            node = self.operation(env, NAMED["getattr_"], e, node, Constant(part))
        return node

    def _object(self, name: str, env: Environment, f: Function) -> Any:
        """The module or object that a name stands for; MISSING when it is a value of the program."""
        binding = env.get(name)
        function: Function | None = f
        while binding is None and function is not None and function.outer is not None:
            binding = function.outer.get(name)
            function = function.outer_function
        if binding is not None:
            node = binding.node
            return node.value.object if isinstance(node, Constant) and isinstance(node.value, Instance) else MISSING
        if self._is_local(name, env, f):
            return MISSING
        value = self._peek_global(name, f)
        return value if self._is_object(value) else MISSING

    @staticmethod
    def _is_object(value: Any) -> bool:
        """Whether a value is a holder of attributes rather than a value of the language."""
        if isinstance(value, type):
            return value.__module__ != "builtins" and constructor_of(value) is not None or isinstance(value, enum.EnumMeta)
        if value is MISSING or callable(unwrap(value)) and not isinstance(value, types.ModuleType) and not hasattr(type(value), "__dict__"):
            return False
        if isinstance(value, types.ModuleType):
            return True
        return not has_parts(value) and not is_constant(value) and not is_python_function(unwrap(value)) and not Expressions._is_gradient(unwrap(value)) and not callable(value)

    @staticmethod
    def _is_local(name: str, env: Environment, f: Function) -> bool:
        if name in env or name in f.locals:
            return True
        function: Function | None = f
        while function is not None:
            if function.outer is not None and name in function.outer:
                return True
            function = function.outer_function
        return False

    def _peek_global(self, name: str, f: Function) -> Any:
        function: Function | None = f
        while function is not None:
            if name in function.cells:
                return self.session.read_cell(function.cells[name])
            function = function.outer_function
        return self.session.read_global(f.globals, name)

    # -- calls

    def _folds(self, e: ast.Attribute, env: Environment, f: Function) -> bool:
        """Whether the whole attribute is a value outside the program (a library function, a method of the user's object)."""
        root: ast.expr = e
        path: list[str] = []
        while isinstance(root, ast.Attribute):
            path.append(root.attr)
            root = root.value
        if not isinstance(root, ast.Name):
            return False
        value = self._object(root.id, env, f)
        while path and value is not MISSING and self._is_object(value):
            value = self.session.read_attribute(value, path.pop())
        return not path and root.id is not None and (value is not MISSING or self._object(root.id, env, f) is not MISSING)

    def _call(self, e: ast.Call, env: Environment, f: Function) -> Node:
        if isinstance(e.func, ast.Attribute) and not self._folds(e.func, env, f):
            receiver = self.expression(e.func.value, env, f)
            return self._apply(e, Constant(NAMED["call_method"]), [receiver, Constant(e.func.attr)], env, f)
        if isinstance(e.func, ast.Name) and e.func.id in ("map", "filter") and not self._is_local(e.func.id, env, f):
            if self._peek_global(e.func.id, f) in (map, filter) and len(e.args) >= 2 and not e.keywords:
                return self.expression(self._mapped(e, e.func.id), env, f)
        head = self.expression(e.func, env, f)
        return self._apply(e, head, [], env, f)

    @staticmethod
    def _mapped(e: ast.Call, name: str) -> ast.ListComp:
        """map(f, xs, …) as [f(x, …) for x, … in zip(xs, …)], filter(f, xs) as [x for x in xs if f(x)]."""
        names = [f"item {i}" for i in range(len(e.args) - 1)]
        loads: list[ast.expr] = [ast.Name(n, ast.Load()) for n in names]
        stores: list[ast.expr] = [ast.Name(n, ast.Store()) for n in names]
        target = stores[0] if len(names) == 1 else ast.Tuple(stores, ast.Store())
        source = e.args[1] if len(names) == 1 else ast.Call(ast.Name("zip", ast.Load()), e.args[1:], [])
        call = ast.Call(e.args[0], list(loads), [])
        if name == "filter":
            made = ast.ListComp(loads[0], [ast.comprehension(target, source, [call], 0)])
        else:
            made = ast.ListComp(call, [ast.comprehension(target, source, [], 0)])
        for node in ast.walk(made):
            if not hasattr(node, "lineno"):
                ast.copy_location(node, e)
        return made

    def _apply(self, e: ast.Call, head: Node, first: list[Node], env: Environment, f: Function) -> Node:
        takes_lists = isinstance(head, Constant) and operation_for(head.value) is not None and self._makes_arrays(head.value)
        positional = list(first)
        kinds = [""] * len(first)
        for argument in e.args:
            if isinstance(argument, ast.Starred):
                kinds.append("*")
                positional.append(self.expression(argument.value, env, f))
                continue
            kinds.append("")
            if isinstance(argument, ast.GeneratorExp):
                positional.append(self._generator(e, head, argument, env, f))
            else:
                positional.append(self.array_display(argument, env, f) if takes_lists else self.expression(argument, env, f))
        named: dict[str, Node] = {}
        spread = "*" in kinds
        for keyword in e.keywords:
            node = self.expression(keyword.value, env, f)
            if keyword.arg is None:
                spread = True
                kinds.append("**")
                positional.append(node)
            elif keyword.arg in named:
                raise self.source.fault("M101", keyword.value, message=f"keyword argument repeated: {keyword.arg}")
            else:
                named[keyword.arg] = node
        if isinstance(head, Constant) and isinstance(head.value, Graph) and "full" in head.value.flags:
            head = Constant(head.value.flags["full"], provenance=head.provenance)
        if not spread and isinstance(head, Constant) and isinstance(head.value, Graph) and head.value.signature is not None:
            positional = self.arrange(head.value, positional, named, e, env)
            named = {}
        if named or spread:
            layout = (*kinds, *named)
            return note_call(env.graph.apply(Constant(CALL_WITH), head, Constant(layout, Static(layout)), *positional, *named.values(),
                                             provenance=self.provenance(e)))
        return note_call(env.graph.apply(head, *positional, provenance=self.provenance(e)))

    def _generator(self, e: ast.Call, head: Node, argument: ast.GeneratorExp, env: Environment, f: Function) -> Node:
        """A generator as the only argument of what takes all its values: a list."""
        value = head.value if isinstance(head, Constant) else None
        if len(e.args) > 2 or value not in (sum, any, all, tuple, list, min, max, dict, sorted, np.array, np.sum, math.fsum, math.prod):
            raise self.source.fault("M102", argument, construct="a generator here", instead="write a list: [… for … in …]")
        return self.comprehension(ast.copy_location(ast.ListComp(argument.elt, argument.generators), argument), env, f)

    @staticmethod
    def _makes_arrays(value: Any) -> bool:
        return getattr(value, "__name__", "") in ("array", "asarray", "stack", "concatenate", "vstack", "hstack")

    def arrange(self, graph: Graph, positional: list[Node], named: dict[str, Node], e: ast.AST, env: Environment) -> list[Node]:
        """The arguments of a call of a known graph in the order of its parameters, defaults filled in."""
        signature = graph.signature
        assert signature is not None
        names = [*signature.positional_only, *signature.positional]
        defaults = dict(signature.defaults)
        bound: dict[str, Node] = dict(zip(names, positional))
        extra = positional[len(names):]
        if extra and signature.variadic is None:
            raise self.bad_call(graph, f"takes {len(names)} argument{'s' if len(names) != 1 else ''}, got {len(positional)}", e)
        more: dict[str, Node] = {}
        for name, node in named.items():
            if name in bound:
                raise self.bad_call(graph, f"got several values for '{name}'", e)
            if name not in (*signature.positional, *signature.keyword_only):
                if signature.keywords is None:
                    raise self.bad_call(graph, f"got an unexpected keyword argument '{name}'", e)
                more[name] = node
                continue
            bound[name] = node
        result: list[Node] = []
        for name in signature.names:
            if name == signature.variadic:
                result.append(self._plain_tuple(e, extra, env))
            elif name == signature.keywords:
                structure = Structure("dict", tuple(more))
                result.append(self.operation(env, NAMED["make_record"], e, Constant(structure, Static(structure)), *more.values()))
            elif name in bound:
                result.append(bound[name])
            elif name in defaults:
                result.append(defaults[name])
            else:
                raise self.bad_call(graph, f"is missing the argument '{name}'", e)
        return result

    def bad_call(self, graph: Graph, problem: str, e: ast.AST) -> Exception:
        return self.source.fault("M501", e, signature=describe(graph), problem=problem)

    # -- functions

    def _lambda(self, e: ast.Lambda, env: Environment, f: Function) -> Node:
        graph = self.closure_graph(e, "lambda", env, f)
        return Constant(self.with_defaults(graph), provenance=self.provenance(e))

    @staticmethod
    def with_defaults(graph: Graph) -> Graph:
        """A function whose defaults are values of this program, as a value: a function of the other parameters that captures them. Calls
        by name still see all parameters (`flags["full"]`)."""
        signature = graph.signature
        assert signature is not None
        computed = {name: node for name, node in signature.defaults if not isinstance(node, Constant) or isinstance(node.value, Graph)}
        if not computed:
            return graph
        value = Graph(graph.name, graph.kind, graph.provenance)

        def left(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(n for n in names if n not in computed)

        value.signature = Signature(left(signature.positional_only), left(signature.positional), signature.variadic, left(signature.keyword_only),
                                    signature.keywords, tuple((n, d) for n, d in signature.defaults if n not in computed))
        own: dict[str, Node] = {n: value.add_parameter(n, provenance=graph.provenance) for n in value.signature.names}
        value.output = value.apply(graph, *(own.get(n) or computed[n] for n in signature.names), provenance=graph.provenance)
        value.flags["full"] = graph
        return value

    def closure_graph(self, e: ast.FunctionDef | ast.Lambda, name: str, env: Environment, f: Function) -> Graph:
        raise AssertionError("given by Parser")

    def signature(self, args: ast.arguments, env: Environment, f: Function) -> Signature:
        """The signature of a nested function: defaults are nodes evaluated now."""
        positional = [a.arg for a in args.args]
        both = [a.arg for a in args.posonlyargs] + positional
        pairs: list[tuple[str, Node]] = []
        for name, default in zip(both[len(both) - len(args.defaults):], args.defaults):
            pairs.append((name, self.expression(default, env, f)))
        for parameter, default in zip(args.kwonlyargs, args.kw_defaults):
            if default is not None:
                pairs.append((parameter.arg, self.expression(default, env, f)))
        return Signature(tuple(a.arg for a in args.posonlyargs), tuple(positional), args.vararg.arg if args.vararg else None,
                         tuple(a.arg for a in args.kwonlyargs), args.kwarg.arg if args.kwarg else None, tuple(pairs))


def _engine(name: str) -> Operation:
    def expand(builder: Any, arguments: Any, keywords: Any) -> Any:
        raise AssertionError(f"{name} is expanded by inference")
    return Operation(name, expand, name)


CALL_WITH = _engine("call with keywords")
"""call_with(f, layout, operands…): `layout` says of each operand whether it is positional ('') or a keyword, or spread ('*', '**')."""
RESULT = "result of this expression"


def note_call(node: Apply) -> Apply:
    """Remembers a call in program order: it may print (`infer.effects`)."""
    node.graph.flags.setdefault("calls", []).append(node)
    return node


def path_of(e: ast.expr) -> str | None:
    """`x` or `x.left.value` as a text; None for any other expression."""
    parts: list[str] = []
    while isinstance(e, ast.Attribute):
        parts.append(e.attr)
        e = e.value
    return ".".join([e.id, *reversed(parts)]) if isinstance(e, ast.Name) else None


def describe(graph: Graph) -> str:
    """`f(x, n=3, *rest)`"""
    signature = graph.signature
    if signature is None:
        return f"{graph.name}({', '.join(p.name for p in graph.parameters[graph.captured:])})"
    defaults = dict(signature.defaults)
    names = [n + ("=…" if n in defaults else "") for n in (*signature.positional_only, *signature.positional)]
    names += [f"*{signature.variadic}"] if signature.variadic else (["*"] if signature.keyword_only else [])
    names += [n + ("=…" if n in defaults else "") for n in signature.keyword_only]
    names += [f"**{signature.keywords}"] if signature.keywords else []
    return f"{graph.name}({', '.join(names)})"


__all__ = ["CALL_WITH", "Expressions", "describe", "path_of"]
