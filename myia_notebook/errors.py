"""The catalog of errors: every refusal is one message with a stable code, the user's line with a caret, the types, a hint.

`CATALOG` has one `ErrorKind` per code; `error(code, span, **values)` makes the exception from its template. Exceptions are
`MyiaError` and also the built-in kind that Python itself would raise (`MyiaTypeError` is a `TypeError`), so `except TypeError` works.
The texts are snapshot-tested; `docs/errors.md` has a page for each code.

Codes: M1xx syntax, M2xx names, M3xx types, M4xx shapes, M5xx calls, M6xx gradients, M7xx run time, M8xx the tool itself.
"""
from __future__ import annotations

import linecache
from dataclasses import dataclass
from typing import Any

from myia_notebook.provenance import Span


class MyiaError(Exception):
    """Base of all errors. `str(e)` is the whole message; `code`, `span`, `hint` are its parts; `source` the user's text if known."""

    code: str
    kind: str
    message: str
    span: Span | None
    hint: str

    def __init__(self, message: str, code: str = "M800", span: Span | None = None, hint: str = "", kind: str = "internal",
                 source: str | None = None) -> None:
        super().__init__(message)
        self.message, self.code, self.span, self.hint, self.kind, self.source = message, code, span, hint, kind, source
        self.notes: list[tuple[str, Span | None]] = []

    def line_text(self) -> str:
        """The user's line, or '' when the source is not known."""
        if self.span is None:
            return ""
        if self.source is not None:
            lines = self.source.splitlines()
            return lines[self.span.line - 1] if 0 < self.span.line <= len(lines) else ""
        return linecache.getline(self.span.source, self.span.line).rstrip("\n")

    def __str__(self) -> str:
        parts = [f"[{self.code}] {self.message}"]
        if self.span is not None:
            parts += _excerpt(self.span, self.line_text())
        for text, span in self.notes:
            parts.append(f"  {text}")
            if span is not None:
                parts += _excerpt(span, MyiaError("", span=span, source=self.source).line_text())
        if self.hint:
            parts.append(f"  hint: {self.hint}")
        return "\n".join(parts)


    def _render_traceback_(self) -> list[str]:
        """IPython shows the message alone, without frames of the compiler."""
        return [f"{type(self).__name__}: {self}"]


class MyiaWarning(UserWarning):
    """What the user should know of a program that works."""


def _excerpt(span: Span, line: str) -> list[str]:
    """`  line 3:   return x + nowhere` and the carets under the range."""
    if not line:
        return [f"  line {span.line}"]
    stripped = line.lstrip()
    shift = len(line) - len(stripped)
    head = f"  line {span.line}: "
    end = span.end_column if span.end_line == span.line else len(line)
    start = max(span.column - shift, 0)
    width = max(end - shift - start, 1)
    return [head + stripped, " " * (len(head) + start) + "^" * width]


class MyiaSyntaxError(MyiaError, SyntaxError):
    def __str__(self) -> str:  # SyntaxError has its own __str__
        return MyiaError.__str__(self)


class MyiaNameError(MyiaError, NameError):
    pass


class MyiaUnboundLocalError(MyiaError, UnboundLocalError):
    pass


class MyiaTypeError(MyiaError, TypeError):
    pass


class MyiaShapeError(MyiaError, ValueError):
    pass


class MyiaValueError(MyiaError, ValueError):
    pass


class MyiaAttributeError(MyiaError, AttributeError):
    pass


class MyiaIndexError(MyiaError, IndexError):
    pass


class MyiaKeyError(MyiaError, KeyError):
    def __str__(self) -> str:  # KeyError shows the repr of its argument
        return MyiaError.__str__(self)


class MyiaZeroDivisionError(MyiaError, ZeroDivisionError):
    pass


class MyiaOverflowError(MyiaError, OverflowError):
    pass


class MyiaAssertionError(MyiaError, AssertionError):
    pass


class MyiaRuntimeError(MyiaError, RuntimeError):
    pass


class MyiaRecursionError(MyiaError, RecursionError):
    pass


class MyiaMemoryError(MyiaError, MemoryError):
    pass


class MyiaInternalError(MyiaError):
    """A fault of the compiler itself; asks for a report."""


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """`template` and `hint` are `str.format` templates over the keywords given to `error`."""

    code: str
    name: str
    exception: type[MyiaError]
    template: str
    hint: str = ""


_KINDS = (
    # syntax
    ErrorKind("M101", "syntax", MyiaSyntaxError, "{message}"),
    ErrorKind("M102", "syntax", MyiaSyntaxError, "{construct} is not in the language", "{instead}"),
    ErrorKind("M103", "purity", MyiaSyntaxError, "{construct} would change a value in place", "{instead}"),
    ErrorKind("M104", "purity", MyiaSyntaxError, "{construct} has no effect here", "{instead}"),
    # names
    ErrorKind("M201", "name", MyiaNameError, "the name '{name}' is not defined", "{suggestion}"),
    ErrorKind("M202", "name", MyiaUnboundLocalError, "the variable '{name}' is read before it is assigned on this path"),
    ErrorKind("M203", "name", MyiaNameError, "the function made on line {line} uses '{name}', which is assigned again while that function lives on",
              "Python would show the new value there: pass it as a parameter, or bind it with a default, `lambda …, {name}={name}: …`"),
    # types
    ErrorKind("M301", "type", MyiaTypeError, "{operation} does not take {types}", "{hint}"),
    ErrorKind("M302", "type", MyiaTypeError, "the two branches give different types: {first} and {second}"),
    ErrorKind("M303", "type", MyiaTypeError, "a value of type {type} cannot be called"),
    ErrorKind("M304", "attribute", MyiaAttributeError, "{type} has no attribute '{name}'", "{hint}"),
    ErrorKind("M305", "type", MyiaTypeError, "{type} is not supported as an argument", "{hint}"),
    ErrorKind("M306", "type", MyiaTypeError, "{what} must be known when the program is compiled", "{hint}"),
    ErrorKind("M307", "type", MyiaTypeError, "the types of '{name}' grow without bound: {types}"),
    ErrorKind("M308", "type", MyiaTypeError, "{message}", "{hint}"),
    # shapes
    ErrorKind("M401", "shape", MyiaShapeError, "{operation}: the shapes {first} and {second} do not fit", "{hint}"),
    ErrorKind("M402", "shape", MyiaShapeError, "{message}", "{hint}"),
    ErrorKind("M403", "index", MyiaIndexError, "index {index} is out of bounds for {axis} of size {size}"),
    ErrorKind("M404", "key", MyiaKeyError, "there is no key {key!r}", "the keys are {keys}"),
    # calls
    ErrorKind("M501", "nargs", MyiaTypeError, "{signature} {problem}"),
    ErrorKind("M502", "recursion", MyiaRecursionError, "{name} never returns: no path ends the recursion"),
    # gradients
    ErrorKind("M601", "gradient", MyiaTypeError, "cannot differentiate with respect to {what} of type {type}", "{hint}"),
    ErrorKind("M602", "gradient", MyiaTypeError, "the function returns {type}, not a real number", "use vjp or jacobian for results that are not a scalar"),
    ErrorKind("M603", "gradient", MyiaTypeError, "{message}", "{hint}"),
    ErrorKind("M604", "gradient-check", MyiaValueError, "{message}", "{hint}"),
    ErrorKind("M605", "gradient", MyiaTypeError, "{what} is {first}, which does not fit {second}", "{hint}"),
    # run time
    ErrorKind("M701", "zero-division", MyiaZeroDivisionError, "{message}"),
    ErrorKind("M702", "value", MyiaValueError, "{message}"),
    ErrorKind("M703", "index", MyiaIndexError, "{message}"),
    ErrorKind("M704", "assertion", MyiaAssertionError, "{message}"),
    ErrorKind("M705", "run-time", MyiaRuntimeError, "{message}"),
    ErrorKind("M706", "recursion", MyiaRecursionError, "the recursion is too deep: {message}"),
    ErrorKind("M707", "memory", MyiaMemoryError, "not enough memory: {message}"),
    ErrorKind("M708", "overflow", MyiaOverflowError, "{message}"),
    # the tool
    ErrorKind("M800", "internal", MyiaInternalError, "internal error: {message}", "please report this program; the stages reached before are still shown"),
    ErrorKind("M801", "backend", MyiaRuntimeError, "{message}", "{hint}"),
    ErrorKind("M802", "source", MyiaValueError, "{message}", "{hint}"),
)
CATALOG: dict[str, ErrorKind] = {kind.code: kind for kind in _KINDS}


class _Blank(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return ""


def error(code: str, span: Span | None = None, source: str | None = None, **values: Any) -> MyiaError:
    """The exception for `code`; `values` fill the template and the hint (missing ones are empty). Raise what it returns."""
    kind = CATALOG[code]
    fields = _Blank(values)
    return kind.exception(kind.template.format_map(fields), code, span, kind.hint.format_map(fields), kind.name, source)


def with_span(exception: MyiaError, span: Span | None) -> MyiaError:
    """Gives the exception a span when it has none yet."""
    if exception.span is None:
        exception.span = span
    return exception


__all__ = [name for name in dir() if name.startswith("Myia")] + ["CATALOG", "ErrorKind", "error", "with_span"]
