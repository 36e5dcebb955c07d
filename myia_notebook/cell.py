"""What a `%%myia` cell does, without IPython.

All statements but a final expression run as Python does; functions that they define are parsed at once (so that an error is seen
where it is made) and land in the namespace as compiled functions. A final expression is compiled as a program and run. A failure
keeps everything defined before it, and the stages reached.
"""
from __future__ import annotations
import __future__

import ast
import itertools
import linecache
from dataclasses import dataclass
from typing import Any

from myia_notebook.errors import MyiaError, error
from myia_notebook.parse.source import with_room
from myia_notebook.provenance import Span

_counter = itertools.count(1)


@dataclass(frozen=True, slots=True)
class CellOptions:
    """`observe` takes snapshots for the viewer; `check` verifies stages and compares gradients with differences."""

    backend: str | None = None
    check: bool = False
    observe: bool = True


@dataclass(slots=True)
class CellResult:
    """`value` of the final expression; `compilation` (when observed); `problem` if the program failed; `is_hidden` by a final `;`."""

    value: Any = None
    compilation: Any = None
    problem: MyiaError | None = None
    is_hidden: bool = False


def register_source(text: str, name: str) -> str:
    """Makes `text` known to linecache under a unique file name, which is returned."""
    filename = f"{name[:-1] if name.endswith('>') else name} #{next(_counter)}{'>' if name.endswith('>') else ''}"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    return filename


def parse_cell(text: str, filename: str) -> ast.Module:
    try:
        return with_room(lambda: ast.parse(text, filename))
    except SyntaxError as problem:
        line, column = problem.lineno or 1, max((problem.offset or 1) - 1, 0)
        span = Span(line, column, problem.end_lineno or line, max((problem.end_offset or 0) - 1, column + 1), filename)
        raise error("M101", span, text, message=problem.msg) from None
    except (RecursionError, MemoryError):
        raise error("M101", message="the cell is nested too deeply for Python's own parser") from None
    except ValueError as problem:
        raise error("M101", message=str(problem)) from None


def run_cell(text: str, namespace: dict[str, Any], options: CellOptions | None = None, name: str = "<myia cell>") -> CellResult:
    """Runs a cell in `namespace`. Raises MyiaError for errors before the final expression; errors of the compiled program are in the
    result (`problem`), beside the stages reached."""
    options = options or CellOptions()
    filename = register_source(text, name)
    module = parse_cell(text, filename)
    body = list(module.body)
    final = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    defined: list[Any] = []
    flags = 0
    for statement in body:
        flags |= _future_flags(statement)
        _run_statement(statement, text, namespace, filename, options, defined, flags)
    if final is None:
        return _parsed_only(text, defined, options)
    result = _run_program(final.value, text, namespace, filename, options)
    result.is_hidden = text.rstrip().endswith(";")
    return result


def _future_flags(statement: ast.stmt) -> int:
    """What `from __future__ import …` switches on for the statements after it, which are compiled one by one."""
    if not isinstance(statement, ast.ImportFrom) or statement.module != "__future__":
        return 0
    return sum({getattr(__future__, n.name).compiler_flag for n in statement.names if n.name in __future__.all_feature_names})


def _run_statement(statement: ast.stmt, text: str, namespace: dict[str, Any], filename: str, options: CellOptions, defined: list[Any],
                   flags: int = 0) -> None:
    """Runs one statement as Python; a function that it defines becomes a compiled one."""
    from myia_notebook.api import Gradient, MyiaFunction, is_function
    from myia_notebook.parse.subset import SourceText
    source = SourceText(text, filename)
    if isinstance(statement, ast.AsyncFunctionDef):
        raise source.fault("M102", statement, construct="'async def'", instead="write 'def'")
    try:
        code = with_room(lambda: compile(ast.Module([statement], []), filename, "exec", flags, dont_inherit=True))
    except SyntaxError as problem:
        raise source.fault("M101", statement, message=problem.msg) from None
    except (RecursionError, MemoryError):
        raise source.fault("M101", statement, message="the statement is nested too deeply for Python's own compiler") from None
    exec(code, namespace)
    if isinstance(statement, ast.FunctionDef) and is_function(made := namespace.get(statement.name)):
        if isinstance(made, Gradient):  # @custom_gradient
            made._backend = made._backend or options.backend
            plain = MyiaFunction(made._function, options.backend)
            defined.append(plain)
            check_function(plain)
            return
        if not isinstance(made, MyiaFunction):
            made = MyiaFunction(made, options.backend)
        defined.append(made)
        namespace[statement.name] = made
        check_function(made)


def check_function(function: Any) -> None:
    """Refuses what is not in the language where the function is defined. Names that are not defined yet may come later."""
    from myia_notebook.parse.subset import check_source
    check_source(function.__myia_function__)


def _parsed_only(text: str, defined: list[Any], options: CellOptions) -> CellResult:
    if not defined or not options.observe:
        return CellResult()
    from myia_notebook.compilation import parsed_compilation
    return CellResult(compilation=parsed_compilation(text, defined))


def _run_program(expression: ast.expr, text: str, namespace: dict[str, Any], filename: str, options: CellOptions) -> CellResult:
    from myia_notebook.compilation import explain_program
    from myia_notebook.parse.parser import ParseSession, parse_expression
    session = ParseSession()
    program, values = parse_expression(expression, namespace, session, filename, text)
    compilation = explain_program(program, values, text, backend=options.backend, check=options.check, observe=options.observe, session=session)
    if compilation.live is not None:
        from myia_notebook.view.curve import curve_of
        compilation.live.curve = curve_of(expression, namespace, program)
    return CellResult(compilation.value if compilation.problem is None else None, compilation, compilation.problem)


def explain_expression(text: str, namespace: dict[str, Any], options: CellOptions | None = None, name: str = "<myia>") -> CellResult:
    """One expression as a program, as the last line of a cell would be."""
    filename = register_source(text, name)
    module = parse_cell(text, filename)
    if len(module.body) != 1 or not isinstance(module.body[0], ast.Expr):
        raise error("M101", message="%myia takes one expression", source=text)
    return _run_program(module.body[0].value, text, namespace, filename, options or CellOptions())


def compile_source(text: str, namespace: dict[str, Any] | None = None) -> dict[str, Any]:
    """What `%%myia` does with a cell, without IPython: returns the namespace with the cell's functions compiled.

    The value of a final expression is bound to `_`. Raises MyiaError.
    """
    import myia_notebook
    if namespace is None:
        namespace = {}
    for helper in ("grad", "value_and_grad", *myia_notebook.DERIVATIVES):
        namespace.setdefault(helper, getattr(myia_notebook, helper))
    result = run_cell(text, namespace, CellOptions(observe=False), "<myia source>")
    if result.problem is not None:
        raise result.problem
    if result.compilation is not None:
        namespace["_"] = result.value
    return namespace
