"""Diagnostics of a cell that has not run: what is not Python, and what of Python is not in the language, each with its place.

Nothing is executed and nothing is typed, so that this is fast enough to follow the typing. One fault for each function, the first in source order.
"""
from __future__ import annotations

import ast
from typing import Any

from myia_notebook.cell import parse_cell
from myia_notebook.compilation import error_view
from myia_notebook.errors import MyiaError
from myia_notebook.parse.subset import SourceText, check
from myia_notebook.snapshot import to_json

NAME = "<myia cell>"


def diagnose(text: str) -> list[dict[str, Any]]:
    """The faults of a cell as JSON: code, message, span, hint."""
    try:
        module = parse_cell(text, NAME)
    except MyiaError as problem:
        return [_fault(problem)]
    source, found = SourceText(text, NAME), []
    for i, statement in enumerate(module.body):
        is_last = i == len(module.body) - 1 and isinstance(statement, ast.Expr)
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and not is_last:
            continue
        try:
            check(statement.value if isinstance(statement, ast.Expr) else statement, source)
        except MyiaError as problem:
            found.append(_fault(problem))
    return found


def _fault(problem: MyiaError) -> dict[str, Any]:
    return to_json(error_view(problem))


__all__ = ["diagnose"]
