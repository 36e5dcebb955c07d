"""Finds the syntax tree of a Python function: from cells, files, `exec` (when linecache knows the text) and interactive sessions."""
from __future__ import annotations

import ast
import linecache
import sys
import threading
import types
from collections.abc import Callable
from typing import Any, TypeVar

from myia_notebook.carried import filename_of
from myia_notebook.errors import error
from myia_notebook.parse.subset import SourceText

_trees: dict[str, tuple[str, ast.Module, SourceText]] = {}


T = TypeVar("T")
_room = threading.Lock()


def with_room(parse: Callable[[], T]) -> T:
    """`parse()`, Python's own parser or compiler. Where it finds the text nested too deeply, it gets more room, within what the C stack bears. The recursion
    limit is one for the whole process, and CPython gives up (SystemError) when it changes under a parser: so it is changed by one thread at a time, and
    only when needed; whoever was disturbed by it starts again."""
    for _ in range(8):
        try:
            return parse()
        except SystemError:
            continue
        except RecursionError:
            break
    with _room:
        old = sys.getrecursionlimit()
        sys.setrecursionlimit(max(old, 6000))
        try:
            return parse()
        finally:
            sys.setrecursionlimit(old)


def module_ast(filename: str) -> tuple[ast.Module, SourceText]:
    """The tree of a whole text, kept until the text changes."""
    text = "".join(linecache.getlines(filename))
    if not text:
        raise error("M802", message=f"the source of {filename} cannot be found", hint="define the function in a cell or a file")
    known = _trees.get(filename)
    if known is None or known[0] != text:
        try:
            known = _trees[filename] = (text, with_room(lambda: ast.parse(text)), SourceText(text, filename))
        except SyntaxError:
            raise error("M802", message=f"the source of {filename} changed since the function was defined", hint="define it again") from None
        except (RecursionError, MemoryError):
            raise error("M101", message="the source is nested too deeply for Python's own parser") from None
    return known[1], known[2]


def function_ast(function: Any) -> tuple[ast.FunctionDef | ast.Lambda, SourceText]:
    """The `def` or `lambda` of a Python function."""
    code: types.CodeType = function.__code__
    tree, source = module_ast(filename_of(code))
    found = [node for node in ast.walk(tree) if _matches(node, code)]
    if len(found) > 1:
        found = [node for node in found if _contains_code(node, code)] or found
    if not found:
        raise error("M802", message=f"the source of '{code.co_name}' cannot be found in {code.co_filename}", hint="define it again")
    node = found[0]
    assert isinstance(node, (ast.FunctionDef, ast.Lambda))
    return node, source


def _matches(node: ast.AST, code: types.CodeType) -> bool:
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        return node.name == code.co_name and first == code.co_firstlineno
    if isinstance(node, ast.Lambda):
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno and names == list(
            code.co_varnames[:code.co_argcount + code.co_kwonlyargcount])
    return False


def _contains_code(node: ast.AST, code: types.CodeType) -> bool:
    """Whether the code's instructions lie in the node: tells lambdas of one line apart."""
    assert isinstance(node, (ast.Lambda, ast.FunctionDef))
    body = node.body if isinstance(node, ast.Lambda) else node.body[-1]
    for line, end_line, column, end_column in code.co_positions():
        if line is not None and column is not None and end_column is not None and end_column > column and (line, column) >= (
                body.lineno, body.col_offset) and (end_line, end_column) == (body.end_lineno, body.end_col_offset):
            return True
    return False
