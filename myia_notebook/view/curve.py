"""The curve of a cell's last expression over one of its inputs, with its derivative.

`grad(f)(1.5, 4)` and `value_and_grad(f)(1.5, 4)` show f and f′; any other expression shows itself and its derivative. The expression becomes a function
of the program's inputs (its literals and notebook variables), whose value and gradient the interpreter computes at each point. Samples are taken from the
point outwards until the time is spent, so that a slow program still shows what is near. On exit: plain JSON, or None where there is no curve
(the value is no float, or the derivative does not exist).
"""
from __future__ import annotations

import ast
import copy
import math
import re
import time
from dataclasses import dataclass, field
from typing import Any

from myia_notebook.errors import MyiaError
from myia_notebook.ir.graph import Graph

POINTS = 81
SECONDS = 0.25
SAMPLE_SECONDS = 0.05


@dataclass(slots=True)
class Curve:
    """`function` takes the program's inputs; `body` is its text with `names` in their places; `labels` are what the inputs are called, `literals`
    their texts in the cell ('' for a notebook variable)."""

    function: Any
    body: str
    names: list[str]
    labels: list[str]
    literals: list[str]
    compiled: dict[int, Any] = field(default_factory=dict)

    def sample(self, index: int, values: list[Any], window: list[float] | None) -> dict[str, Any] | None:
        """Values and derivatives over input `index`, the others held; `window` is kept while the value is inside."""
        value = values[index]
        if not math.isfinite(value):
            return None
        low, high = window if window and len(window) == 2 and window[0] <= value <= window[1] else window_of(value)
        at = self._at(index, values, value)
        if at is None:
            return None
        places = [low + (high - low) * i / (POINTS - 1) for i in range(POINTS)]
        found: dict[int, tuple[float, float] | None] = {}
        end = time.perf_counter() + SECONDS
        for i in sorted(range(POINTS), key=lambda i: abs(places[i] - value)):
            if time.perf_counter() > end:
                break
            found[i] = self._at(index, values, places[i])
        pairs = [found.get(i) for i in range(POINTS)]
        return {"input": index, "text": self.text(index, values), "range": [low, high], "x": places, "f": [p and p[0] for p in pairs],
                "d": [p and p[1] for p in pairs], "at": [value, *at]}

    def text(self, index: int, values: list[Any]) -> str:
        """The function as the user would write it: input `index` by its name, the numbers of the others as they are now."""
        said = {}
        for i, (name, label, literal) in enumerate(zip(self.names, self.labels, self.literals)):
            is_named = i == index and label or not literal
            said[name] = label if is_named else repr(values[i]) if isinstance(values[i], (int, float)) else literal
        return re.sub("|".join(self.names), lambda m: said[m[0]], self.body)

    def _at(self, index: int, values: list[Any], x: float) -> tuple[float, float] | None:
        """(f, ∂f) at one place, or None where there is none."""
        from myia_notebook.view.live import OutOfTime, budget
        program = self._program(index, values)
        if program is None:
            return None
        graph, prepare, machine = program
        machine.record = budget(SAMPLE_SECONDS)
        try:
            pair = machine.run(graph, prepare([*values[:index], x, *values[index + 1:]]))
        except (MyiaError, OutOfTime):
            return None
        ok = isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(v, float) and math.isfinite(v) for v in pair)
        return (float(pair[0]), float(pair[1])) if ok else None

    def _program(self, index: int, values: list[Any]) -> Any:
        """The compiled value and gradient over one input; compiled once, None when it cannot be."""
        if index not in self.compiled:
            try:
                self.compiled[index] = compiled(self.function, index, values)
            except (MyiaError, RecursionError):
                self.compiled[index] = None
        return self.compiled[index]


def compiled(function: Any, index: int, values: list[Any]) -> Any:
    """(graph, prepare, machine) of the function's value and derivative."""
    from myia_notebook.api import Derivative, Gradient, data_positions, runtime
    from myia_notebook.pipeline import Observer, compile_unit
    from myia_notebook.vm import Machine
    unit, _ = Gradient(function, Derivative("value_and_grad", index), "vm")._unit(values)
    compile_unit(unit, Observer())
    optimized = unit.optimized
    assert optimized is not None
    places = data_positions(values)

    def prepare(given: list[Any]) -> list[Any]:
        return [runtime(given[i], p.type) for i, p in zip(places, optimized.parameters)]  # type: ignore[arg-type]
    return optimized, prepare, Machine()


def window_of(value: float) -> tuple[float, float]:
    """A window of round ends around a value: 1.5 gives (0, 3), 0.3 gives (−1, 2), 250 gives (0, 500)."""
    reach = max(abs(value), 1.0)
    unit = 10.0 ** math.floor(math.log10(reach))
    reach = math.ceil(reach / unit * 2) / 2 * unit
    center = round(value / unit * 2) / 2 * unit
    return (center - reach, center + reach)


# -- the expression as a function

class _Inputs(ast.NodeTransformer):
    """Puts names in the places of the program's inputs: literals by their place in the text, notebook variables by their name."""

    def __init__(self, program: Graph, names: list[str]) -> None:
        self.literals: dict[tuple[int, int, int, int], str] = {}
        self.variables: dict[str, str] = {}
        self.used: set[str] = set()
        for p, name in zip(program.parameters, names):
            span = p.provenance.span
            if span is not None:
                self.literals[span.line, span.column, span.end_line, span.end_column] = name
            self.variables[p.name] = name

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Name):
            return self._named(node, self.variables.get(node.id), node.id)
        if isinstance(node, (ast.Constant, ast.UnaryOp, ast.Tuple, ast.List)):
            place = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
            if place in self.literals:
                return self._named(node, self.literals[place], "")
        return super().visit(node)

    def _named(self, node: ast.expr, name: str | None, old: str) -> ast.expr:
        if name is None:
            return node
        self.used.add(name)
        return ast.copy_location(ast.Name(name, ast.Load()), node)


def curve_of(expression: ast.expr, namespace: dict[str, Any], program: Graph) -> Curve | None:
    """The curve of a cell's last expression; None when an input has no place of its own in it."""
    from myia_notebook.api import MyiaFunction
    from myia_notebook.cell import register_source
    if any(isinstance(n, (ast.Lambda, ast.comprehension, ast.NamedExpr)) for n in ast.walk(expression)) or not program.parameters:
        return None
    names = [f"input{i}_" for i in range(len(program.parameters))]
    place = _Inputs(program, names)
    body = ast.unparse(place.visit(copy.deepcopy(_primal(expression, namespace))))
    if place.used != set(names):
        return None
    source = f"def curve({', '.join(names)}):\n    return {body}\n"
    made: dict[str, Any] = {}
    exec(compile(source, register_source(source, "<myia curve>"), "exec", dont_inherit=True), namespace, made)
    literals = {(n.lineno, n.col_offset): ast.unparse(n) for n in ast.walk(expression) if isinstance(n, ast.expr) and not isinstance(n, ast.Name)}
    spans = [p.provenance.span for p in program.parameters]
    return Curve(MyiaFunction(made["curve"]), body, names, [p.name for p in program.parameters],
                 [literals.get((span.line, span.column), "") if span is not None else "" for span in spans])


def _primal(e: ast.expr, namespace: dict[str, Any]) -> ast.expr:
    """f(args) of grad(f)(args); else the expression itself."""
    import myia_notebook
    if isinstance(e, ast.Call) and isinstance(e.func, ast.Call) and isinstance(e.func.func, ast.Name) and len(e.func.args) == 1 and not e.func.keywords:
        if namespace.get(e.func.func.id) in (myia_notebook.grad, myia_notebook.value_and_grad):
            return ast.copy_location(ast.Call(e.func.args[0], e.args, e.keywords), e)
    return e


__all__ = ["Curve", "curve_of", "window_of"]
