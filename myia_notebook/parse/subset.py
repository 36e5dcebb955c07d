"""What of Python is in the language: `check(tree, source)` refuses the rest before anything is translated.

Each refused construct has one entry: what it is called and what to write instead. A node kind that is in neither table is refused
too, so that a construct of a future Python is never silently dropped.
"""
from __future__ import annotations

import ast
from typing import Any

from myia_notebook.errors import MyiaError, error
from myia_notebook.provenance import Span

REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Try: ("'try'", "test the condition with 'if' before the operation"),
    ast.With: ("'with'", ""),
    ast.AsyncWith: ("'async with'", ""), ast.AsyncFor: ("'async for'", ""), ast.AsyncFunctionDef: ("'async def'", ""),
    ast.Await: ("'await'", ""), ast.Yield: ("'yield'", "return a tuple of the values"), ast.YieldFrom: ("'yield from'", "return a tuple of the values"),
    ast.Import: ("'import' inside a function", "import at the top of the notebook"),
    ast.ImportFrom: ("'import' inside a function", "import at the top of the notebook"),
    ast.ClassDef: ("a class inside a function", "define it at the top of the cell"),
    ast.Global: ("'global'", "pass the value in and return the new one"), ast.Nonlocal: ("'nonlocal'", "pass the value in and return the new one"),
    ast.Delete: ("'del'", "values never change: build a new one"),
    ast.Set: ("a set", "use a tuple"), ast.SetComp: ("a set comprehension", "use a tuple"),
    **({ast.TryStar: ("'try'", "")} if hasattr(ast, "TryStar") else {}),
}
ACCEPTED: tuple[type[ast.AST], ...] = (
    ast.Module, ast.FunctionDef, ast.Lambda, ast.arguments, ast.arg, ast.Return, ast.Pass, ast.Expr, ast.If, ast.IfExp, ast.While, ast.For, ast.Break,
    ast.Continue, ast.Assert, ast.Raise, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr, ast.Name, ast.Constant, ast.Tuple, ast.List,
    ast.Starred, ast.Subscript, ast.Slice, ast.Attribute, ast.Call, ast.keyword, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.expr_context,
    ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.Dict, ast.ListComp, ast.DictComp, ast.GeneratorExp, ast.comprehension, ast.JoinedStr,
    ast.FormattedValue, ast.Match, ast.match_case, ast.pattern)


class SourceText:
    """A text with its name; turns `ast` positions (UTF-8 columns) into spans in characters."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        self.lines = text.split("\n")
        self._ascii = text.isascii()

    def column(self, line: int, offset: int) -> int:
        if self._ascii or not 0 < line <= len(self.lines):
            return offset
        return len(self.lines[line - 1].encode()[:offset].decode(errors="ignore"))

    def span(self, node: ast.AST) -> Span:
        line, end_line = getattr(node, "lineno", 1), getattr(node, "end_lineno", None) or getattr(node, "lineno", 1)
        start = self.column(line, getattr(node, "col_offset", 0))
        end = self.column(end_line, getattr(node, "end_col_offset", None) or start + 1)
        return Span(line, start, end_line, end, self.name)

    def fault(self, code: str, node: ast.AST, **values: Any) -> MyiaError:
        return error(code, self.span(node), self.text if self.name.startswith("<") else None, **values)


def check(root: ast.AST, source: SourceText) -> None:
    """Refuses what is not in the language, at its first occurrence in source order. Iterative."""
    stack: list[ast.AST] = [root]
    while stack:
        node = stack.pop()
        refused = REFUSED.get(type(node))
        if refused is not None:
            raise source.fault("M102", node, construct=refused[0], instead=refused[1])
        if not isinstance(node, ACCEPTED):
            raise source.fault("M102", node, construct=f"'{type(node).__name__}'", instead="")
        _check_node(node, source)
        children = [child for child in ast.iter_child_nodes(node) if not _is_annotation(node, child)]
        stack.extend(reversed(children))


def _is_annotation(parent: ast.AST, child: ast.AST) -> bool:
    """Annotations are not evaluated and may be anything."""
    match parent:
        case ast.arg() | ast.AnnAssign():
            return child is parent.annotation
        case ast.FunctionDef():
            return child is parent.returns
        case _:
            return False


def _check_node(node: ast.AST, source: SourceText) -> None:
    match node:
        case ast.Attribute(ctx=ast.Store() | ast.Del()):
            raise source.fault("M103", node, construct="setting an attribute", instead="build a new value")
        case ast.Subscript(ctx=ast.Store(), value=value) if not isinstance(value, ast.Name):
            raise source.fault("M103", node, construct="setting an item of this", instead="give the array a name of its own: `a = …; a[i] = v`")
        case ast.comprehension(is_async=1):
            raise source.fault("M102", node.target, construct="'async for'", instead="")
        case ast.Expr(value=value) if not isinstance(value, ast.Constant) and not _is_print(value):
            raise _useless(value, source)
        case ast.Constant(value=complex()):
            raise source.fault("M102", node, construct="a complex number", instead="")
        case ast.Constant(value=bytes()):
            raise source.fault("M102", node, construct="a bytes literal", instead="")
        case _:
            pass


def _is_print(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "print"


def _useless(value: ast.expr, source: SourceText) -> MyiaError:
    """An expression statement has no effect here: what the user most likely meant."""
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and value.func.attr in ("append", "extend", "insert", "pop", "remove", "sort", "update", "add"):
            return source.fault("M103", value, construct=f"'.{value.func.attr}(...)'",
                                instead="values never change in place: build a new list, `items = items + [x]`")
    if isinstance(value, (ast.Yield, ast.YieldFrom, ast.Await)):
        return source.fault("M102", value, construct=REFUSED[type(value)][0], instead=REFUSED[type(value)][1])
    what = "a call whose value is not used" if isinstance(value, ast.Call) else "an expression whose value is not used"
    return source.fault("M104", value, construct=what, instead="assign it to a name or return it")


def check_source(function: Any) -> None:
    """Refuses a Python function whose syntax is outside the language."""
    from myia_notebook.parse.source import function_ast
    tree, source = function_ast(function)
    check(tree, source)
