"""Expressions to nodes. Each method returns the node of one expression in the environment's graph."""
from __future__ import annotations

import ast
import operator
import types
from typing import Any

from myia_notebook.ir.graph import Constant, Graph, Node, Signature
from myia_notebook.ir.types import UNIT
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.table import NAMED, OPERATIONS, PRIMITIVES, operation_for
from myia_notebook.parse.resolve import MISSING, Instance, ParseSession, is_constant, is_python_function, suggestion, unwrap
from myia_notebook.parse.scope import Binding, Environment, Function
from myia_notebook.parse.subset import SourceText
from myia_notebook.provenance import Provenance

SWITCH, MAKE_TUPLE, RAISE = PRIMITIVES["switch"], PRIMITIVES["make_tuple"], PRIMITIVES["raise_"]
BINARY: dict[type[ast.operator], Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift}
UNARY: dict[type[ast.unaryop], Any] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_, ast.Invert: operator.invert}
COMPARE: dict[type[ast.cmpop], Any] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.In: operator.contains, ast.NotIn: operator.contains}
GRADIENTS = ("grad", "value_and_grad")


class Expressions:
    """Translates expressions of one text. Statements (`parser.Parser`) build on it."""

    def __init__(self, session: ParseSession, source: SourceText) -> None:
        self.session, self.source = session, source

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
        return env.graph.apply(chosen, provenance=self.provenance(node))

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
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                return self._tuple(e, elts, env, f)
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
        return self._outer(name, e, f)

    def _outer(self, name: str, e: ast.AST, f: Function) -> Node:
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
                    return self.value(value, name, e)
            function = function.outer_function
        value = self.session.read_global(f.globals, name)
        if value is MISSING:
            known = [*f.locals, *f.globals, *dir(__builtins__)]
            raise self.source.fault("M201", e, name=name, suggestion=suggestion(name, [k for k in known if isinstance(k, str) and not k.startswith("_")]))
        return self.value(value, name, e)

    def value(self, value: Any, name: str, e: ast.AST) -> Node:
        """A value from outside the program."""
        from myia_notebook.api import Gradient
        inner = unwrap(value)
        if isinstance(value, Gradient):
            return self._gradient_object(value, name, e)
        if is_python_function(inner) and operation_for(inner) is None and not self._is_gradient(inner):
            return Constant(self.function_graph(inner), provenance=self.provenance(e), name="")
        if isinstance(value, types.ModuleType):
            raise self.source.fault("M308", e, message=f"the module '{name}' is no value", hint=f"read an attribute of it, as in {name}.sin")
        if self._is_gradient(inner) or is_constant(value):
            return Constant(value, provenance=self.provenance(e))
        kind = f"the function '{name}'" if callable(value) else f"'{name}', a value of class {type(value).__name__},"
        raise self.source.fault("M305", e, type=kind, hint="it is not among the operations of the language" if callable(value) else
                                "use numbers, NumPy arrays, tuples, None and functions")

    def _gradient_object(self, value: Any, name: str, e: ast.AST) -> Node:
        raise self.source.fault("M603", e, message=f"'{name}' is a gradient made outside the program", hint="write grad(f)(x) where it is used")

    @staticmethod
    def _is_gradient(value: Any) -> bool:
        return getattr(value, "__module__", "") == "myia_notebook.api" and getattr(value, "__name__", "") in GRADIENTS

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
        bad.output = bad.apply(RAISE, Constant("UnboundLocalError"), Constant(name), provenance=self.provenance(e))
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
        short.output = node
        inner = env.enter(long_)
        long_.output = self._boolean(e, is_and, rest, inner, f)
        return self.choose(env, test, *((long_, short) if is_and else (short, long_)), e)

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
        first.output = self.expression(body, env.enter(first), f)
        second.output = self.expression(orelse, env.enter(second), f)
        return self.choose(env, condition, first, second, e)

    # -- data

    def _tuple(self, e: ast.expr, elements: list[ast.expr], env: Environment, f: Function) -> Node:
        if isinstance(e, ast.List):
            raise self.source.fault("M102", e, construct="a list", instead="use a tuple, (…), or np.array([…]); lists are not built yet")
        return self.tuple_of(e, elements, env, f)

    def tuple_of(self, e: ast.expr, elements: list[ast.expr], env: Environment, f: Function) -> Node:
        """A display as a tuple; starred parts are joined in."""
        parts: list[Node] = []
        run: list[Node] = []
        for element in elements:
            if isinstance(element, ast.Starred):
                parts.append(self._plain_tuple(e, run, env))
                unpacked = self.expression(element.value, env, f)
                parts.append(self.operation(env, tuple, element, unpacked))
                run = []
            else:
                run.append(self.expression(element, env, f))
        if not parts:
            return self._plain_tuple(e, run, env)
        if run:
            parts.append(self._plain_tuple(e, run, env))
        node = parts[0]
        for part in parts[1:]:
            node = self.operation(env, operator.add, e, node, part)
        return node

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
            return self.operation(env, NAMED["make_slice"], e, *bounds)
        return self.expression(e, env, f)

    def _attribute(self, e: ast.Attribute, env: Environment, f: Function) -> Node:
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
        node = self.value(value, name, e)
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
        if value is MISSING or isinstance(value, type) or callable(unwrap(value)) and not isinstance(value, types.ModuleType) and not hasattr(type(value), "__dict__"):
            return False
        if isinstance(value, types.ModuleType):
            return True
        return not is_constant(value) and not is_python_function(unwrap(value)) and not Expressions._is_gradient(unwrap(value)) and not callable(value)

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
        head = self.expression(e.func, env, f)
        return self._apply(e, head, [], env, f)

    def _apply(self, e: ast.Call, head: Node, first: list[Node], env: Environment, f: Function) -> Node:
        takes_lists = isinstance(head, Constant) and operation_for(head.value) is not None and self._makes_arrays(head.value)
        positional = list(first)
        for argument in e.args:
            if isinstance(argument, ast.Starred):
                return self._star_call(e, head, first, env, f)
            positional.append(self.array_display(argument, env, f) if takes_lists else self.expression(argument, env, f))
        named: dict[str, Node] = {}
        for keyword in e.keywords:
            if keyword.arg is None:
                raise self.source.fault("M102", keyword.value, construct="'**' in a call", instead="name the arguments; dicts are not built yet")
            named[keyword.arg] = self.expression(keyword.value, env, f)
        if isinstance(head, Constant) and isinstance(head.value, Graph) and head.value.signature is not None:
            positional = self.arrange(head.value, positional, named, e, env)
            named = {}
        if named:
            names = tuple(named)
            return env.graph.apply(Constant(CALL_WITH), head, Constant((len(positional), names)), *positional, *named.values(),
                                   provenance=self.provenance(e))
        return env.graph.apply(head, *positional, provenance=self.provenance(e))

    @staticmethod
    def _makes_arrays(value: Any) -> bool:
        return getattr(value, "__name__", "") in ("array", "asarray", "stack", "concatenate", "vstack", "hstack")

    def _star_call(self, e: ast.Call, head: Node, first: list[Node], env: Environment, f: Function) -> Node:
        if e.keywords:
            raise self.source.fault("M102", e, construct="'*' together with keywords in a call", instead="pass the arguments by position")
        arguments = self.tuple_of(e, e.args, env, f)
        if first:
            arguments = self.operation(env, operator.add, e, self._plain_tuple(e, first, env), arguments)
        return env.graph.apply(Constant(CALL_STAR), head, arguments, provenance=self.provenance(e))

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
        for name, node in named.items():
            if name in bound:
                raise self.bad_call(graph, f"got several values for '{name}'", e)
            if name not in (*signature.positional, *signature.keyword_only):
                raise self.bad_call(graph, f"got an unexpected keyword argument '{name}'", e)
            bound[name] = node
        result: list[Node] = []
        for name in signature.names:
            if name == signature.variadic:
                result.append(self._plain_tuple(e, extra, env))
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
        return Constant(graph, provenance=self.provenance(e))

    def closure_graph(self, e: ast.FunctionDef | ast.Lambda, name: str, env: Environment, f: Function) -> Graph:
        raise AssertionError("given by Parser")

    def signature(self, args: ast.arguments, env: Environment, f: Function) -> Signature:
        """The signature of a nested function: defaults are nodes evaluated now."""
        if args.kwarg is not None:
            raise self.source.fault("M102", args.kwarg, construct="'**' parameters", instead="name the parameters; dicts are not built yet")
        positional = [a.arg for a in args.args]
        both = [a.arg for a in args.posonlyargs] + positional
        pairs: list[tuple[str, Node]] = []
        for name, default in zip(both[len(both) - len(args.defaults):], args.defaults):
            pairs.append((name, self.expression(default, env, f)))
        for parameter, default in zip(args.kwonlyargs, args.kw_defaults):
            if default is not None:
                pairs.append((parameter.arg, self.expression(default, env, f)))
        return Signature(tuple(a.arg for a in args.posonlyargs), tuple(positional), args.vararg.arg if args.vararg else None,
                         tuple(a.arg for a in args.kwonlyargs), None, tuple(pairs))


def _engine(name: str) -> Operation:
    def expand(builder: Any, arguments: Any, keywords: Any) -> Any:
        raise AssertionError(f"{name} is expanded by inference")
    return Operation(name, expand, name)


CALL_WITH, CALL_STAR = _engine("call with keywords"), _engine("call with *")


def describe(graph: Graph) -> str:
    """`f(x, n=3, *rest)`"""
    signature = graph.signature
    if signature is None:
        return f"{graph.name}({', '.join(p.name for p in graph.parameters[graph.captured:])})"
    defaults = dict(signature.defaults)
    names = [n + ("=…" if n in defaults else "") for n in (*signature.positional_only, *signature.positional)]
    names += [f"*{signature.variadic}"] if signature.variadic else (["*"] if signature.keyword_only else [])
    names += [n + ("=…" if n in defaults else "") for n in signature.keyword_only]
    return f"{graph.name}({', '.join(names)})"


__all__ = ["CALL_STAR", "CALL_WITH", "Expressions", "describe"]
