"""`explain(f, *args)`: compile and run a program while keeping a snapshot of every stage.

A `Compilation` holds the value, the stages (`.stages["optimized"].text`, `.to_dict()`, `.svg()`), the events, the timings, and shows itself
in a notebook. When a stage fails, the stages before it are there, the failing one holds the error, and `.problem` the exception.
"""
from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from myia_notebook.carried import filename_of
from myia_notebook.errors import MyiaError, error
from myia_notebook.ir.graph import Graph
from myia_notebook.pipeline import Observer, Unit, compile_unit, prints
from myia_notebook.snapshot import ErrorView, Event, Snapshot, Trace


@dataclass(slots=True)
class Compilation:
    """What `explain` returns. `value` raises the program's error when it failed."""

    source: str
    stages: dict[str, Snapshot] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    problem: MyiaError | None = None
    _value: Any = None
    cell: str = ""
    live: Any = None  # a `view.live.Live`: how the program runs again on other numbers

    @property
    def value(self) -> Any:
        if self.problem is not None:
            raise self.problem
        return self._value

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of all stages in order."""
        return tuple(event for snapshot in self.stages.values() for event in snapshot.events)

    def payload(self, stage: str | None = None, height: int | None = None) -> dict[str, Any]:
        """What the viewer receives: JSON-ready."""
        options = {"stage": stage or "", "height": height or 0}
        return {"version": 1, "source": self.source, "cell": self.cell, "options": options,
                "live": self.live.describe() if self.live is not None else None, "stages": [snapshot.to_dict() for snapshot in self.stages.values()]}

    def display(self, static: bool = False, height: int | None = None, stage: str | None = None) -> Any:
        """An object that a notebook displays: the widget, or (`static`) the picture alone."""
        from myia_notebook.view.mimebundle import Display
        return Display(self, static=static, height=height, stage=stage)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self.display()._repr_mimebundle_(include, exclude)

    def save_html(self, path: Any) -> str:
        """Writes the whole step-through as one HTML file that needs no kernel and no network; returns its path."""
        from myia_notebook.view.export import save_html
        return save_html(path, self.payload())

    def report(self) -> str:
        """Plain text for a bug report: versions, each stage with its size and time, the error if there is one, the program, and the IR of each stage."""
        parts = [_versions(), self.table()]
        if self.problem is not None:
            parts.append(f"error\n{self.problem}")
        if self.cell or self.source:
            parts.append(f"program\n{(self.cell or self.source).rstrip()}")
        for name in ("parsed", "typed", "adjoint", "optimized", "lowered"):
            if name in self.stages and self.stages[name].error is None:
                parts.append(f"{name}\n{self.stages[name].text.rstrip()}")
        return "\n\n".join(parts) + "\n"

    def table(self) -> str:
        """Each stage with its size and its time."""
        lines = [f"{'stage':<11}{'nodes':>7}{'events':>8}{'ms':>9}"]
        for name, snapshot in self.stages.items():
            count = "" if snapshot.final is None else str(sum(node.kind == "apply" for node in snapshot.final.nodes))
            milliseconds = self.timings.get(name, snapshot.time)
            failed = f"  {snapshot.error.code} {snapshot.error.message}" if snapshot.error is not None else ""
            lines.append(f"{name:<11}{count:>7}{len(snapshot.events):>8}{milliseconds:>9.2f}{failed}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        from myia_notebook.view.fallback import compilation_text
        return compilation_text(self)


def _versions() -> str:
    """One line for each thing that the result depends on."""
    import platform
    from importlib import metadata

    import myia_notebook
    lines = [f"myia_notebook {myia_notebook.__version__}", f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"]
    for name in ("numpy", "numba", "llvmlite", "ipython", "anywidget"):
        try:
            lines.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            lines.append(f"{name} is not installed")
    return "\n".join(lines)


class SnapshotObserver(Observer):
    """Takes the snapshots. Ids of all stages come from one `Identity`."""

    def __init__(self, compilation: Compilation) -> None:
        from myia_notebook.view.graph_json import Identity
        self.compilation = compilation
        self.identity = Identity()

    def after(self, stage: str, unit: Unit, seconds: float) -> None:
        self.compilation.timings[stage] = seconds * 1000
        self.compilation.stages[stage] = self._snapshot(stage, unit, seconds)

    def failed(self, stage: str, unit: Unit, problem: MyiaError, seconds: float) -> None:
        source = self.compilation.source
        if problem.source is None:
            problem.source = source if problem.span is not None and problem.span.source.startswith("<myia") else None
        previous = next(reversed(self.compilation.stages.values()), None)
        view = error_view(problem)
        self.compilation.stages[stage] = Snapshot(stage, str(problem), source, None, previous.final if previous else None, error=view,
                                                  time=seconds * 1000)

    def _snapshot(self, stage: str, unit: Unit, seconds: float) -> Snapshot:
        from myia_notebook.view import stages
        return stages.snapshot_of(stage, unit, self.identity, self.compilation.stages, self.compilation.source, seconds * 1000)


def error_view(problem: MyiaError) -> ErrorView:
    span = problem.span
    place = None if span is None else (span.line, span.column, span.end_line, span.end_column)
    return ErrorView(problem.code, problem.kind, problem.message, place, problem.hint, problem.line_text())


def explain_program(program: Graph, values: list[Any], source: str, backend: str | None = None, check: bool = False,
                    observe: bool = True, session: Any = None) -> Compilation:
    """Compiles and runs a parsed program on `values`; never raises MyiaError (see `Compilation.problem`)."""
    from myia_notebook.api import DEFAULT_BACKEND, _converter, runtime
    from myia_notebook.infer.values import abstract_of_value
    compilation = Compilation(source)
    try:
        arguments = [abstract_of_value(value) for value in values]
        unit = Unit(program, arguments, backend or DEFAULT_BACKEND, observe, backend is None, session)
        if check:
            from myia_notebook.optimize.check import Checker
            unit.checker = Checker(values)
        observer = SnapshotObserver(compilation) if observe else Observer()
        compile_unit(unit, observer)
        assert unit.optimized is not None
        inputs = [runtime(v, p.type) for v, p in zip(values, unit.optimized.parameters)]  # type: ignore[arg-type]
        if check:
            check_unit(unit, inputs)
        start = time.perf_counter()
        assert unit.run is not None
        result = unit.run(*inputs)
        elapsed = (time.perf_counter() - start) * 1000
        convert = _converter(unit.result_type)
        compilation._value = result if convert is None else convert(result)
        if observe:
            _finish(compilation, unit, inputs, elapsed, observer.identity)  # type: ignore[attr-defined]
            _keep_live(compilation, unit, values, observer.identity)  # type: ignore[attr-defined]
    except MyiaError as problem:
        compilation.problem = problem
        if problem.source is None and problem.span is not None and problem.span.source.startswith("<myia"):
            problem.source = source
        if observe and all(snapshot.error is None for snapshot in compilation.stages.values()):
            last = next(reversed(compilation.stages.values()), None)
            compilation.stages["run"] = Snapshot("run", str(problem), source, None, last.final if last else None, error=error_view(problem))
    return compilation


def _finish(compilation: Compilation, unit: Unit, inputs: list[Any], elapsed: float, identity: Any) -> None:
    """Adds the values of the nodes on these inputs, and the 'run' stage."""
    from myia_notebook.view import stages
    from myia_notebook.view.trace import Recorder
    compilation.timings["run"] = elapsed
    values: dict[int, list[Any]] = {}
    trace: Trace | None = None
    for graph in (unit.adjoint, unit.optimized):
        if graph is not None:
            recorder = Recorder()
            recorder.run(graph, inputs)
            values |= recorder.values
            trace = trace or recorder.trace(identity)
    stages.add_values(compilation.stages, values, identity)
    compilation.stages["run"] = stages.run_snapshot(compilation.stages, compilation.source, compilation._value, elapsed, trace)


def _keep_live(compilation: Compilation, unit: Unit, values: list[Any], identity: Any) -> None:
    """Keeps the program for the viewer's live inputs, when it has some and prints nothing."""
    from myia_notebook.api import _converter, runtime
    from myia_notebook.view.live import Live, kind_of, remember
    optimized = unit.optimized
    assert optimized is not None
    if not any(map(kind_of, values)) or prints(optimized):
        return

    def prepare(given: list[Any]) -> list[Any]:
        return [runtime(v, p.type) for v, p in zip(given, optimized.parameters)]  # type: ignore[arg-type]

    graphs = tuple(g for g in (unit.adjoint, optimized) if g is not None)
    compilation.live = remember(Live(list(unit.parsed.parameters), list(values), graphs, identity, prepare, _converter(unit.result_type),
                                   tuple(unit.typed.flags.get("fixed", ())) if unit.typed is not None else ()))


def check_unit(unit: Unit, inputs: list[Any]) -> None:
    """`--check`: every stage is well formed, and gives the same value on the interpreter (M800 names the first that does not; inside the optimizer
    the rewrite, see `optimize.check`); and every derivative that the program takes agrees with central differences (M604)."""
    from myia_notebook.gradient.check import check_derivatives
    from myia_notebook.ir.verify import verify_typed
    from myia_notebook.optimize.check import same_value
    from myia_notebook.vm import run
    expected: Any = None
    for name, graph in (("typed", unit.typed), ("adjoint", unit.adjoint), ("optimized", unit.optimized)):
        assert graph is not None
        problems = verify_typed(graph)
        if problems:
            raise error("M800", message=f"stage '{name}' is not well formed: {problems[0]}")
        if name != "typed":
            value = run(graph, inputs)
            if expected is not None and not same_value(expected, value):
                raise error("M800", message=f"stage '{name}' gives {value!r}, the stage before it {expected!r}")
            expected = value
    assert unit.typed is not None
    check_derivatives(unit.typed, inputs)


def explain(f: Any, *args: Any, backend: str | None = None, check: bool = False) -> Compilation:
    """Compile and run `f(*args)`, keeping a snapshot of every stage.

    f: a Python function, a compiled function, or a derivative (`grad(g)`, `jacobian(g)`, …). Errors of the program do not raise here: the stages
    reached are in the result, and `.value` raises. `check` verifies that every stage is well formed and gives the same value, and compares
    every derivative with central differences.
    """
    import linecache

    from myia_notebook.api import Caller, MyiaFunction, data_positions
    caller = f if isinstance(f, Caller) else MyiaFunction(f)
    code = getattr(caller._function, "__code__", None)
    source = "".join(linecache.getlines(filename_of(code))) if code is not None else ""
    values = caller._bind(args, {})
    try:
        unit, session = caller._unit(values)
    except MyiaError as problem:
        view = Snapshot("parsed", str(problem), source, error=error_view(problem))
        return Compilation(source, {"parsed": view}, problem=problem)
    inputs = [values[i] for i in data_positions(values)]
    return explain_program(unit.parsed, inputs, source, backend or caller._backend, check, session=session)


def parsed_compilation(text: str, functions: list[Any]) -> Compilation:
    """The parsed graphs of a cell that calls nothing."""
    from myia_notebook.parse.parser import ParseSession, parse_function
    from myia_notebook.view import stages
    from myia_notebook.view.graph_json import Identity
    compilation = Compilation(text)
    session = ParseSession()
    start = time.perf_counter()
    try:
        graphs = [parse_function(function.__myia_function__, session) for function in functions]
    except MyiaError as problem:
        compilation.problem = problem
        compilation.stages["parsed"] = Snapshot("parsed", str(problem), text, error=error_view(problem))
        return compilation
    seconds = time.perf_counter() - start
    compilation.stages["parsed"] = stages.parsed_snapshot(graphs, Identity(), text, seconds * 1000)
    return compilation


__all__ = ["Compilation", "explain", "explain_program", "parsed_compilation"]
