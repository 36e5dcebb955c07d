"""The pipeline, read aloud: parse, type, differentiate, optimize, lower, emit.

`STAGES` is the whole compiler in order. Each stage reads what earlier ones left in the `Unit` and adds its own product; none touches
its input. `compile_unit` runs them, telling an `Observer` before and after each, also when one fails: what the viewer shows is
taken there (`explain.py`), so that compiling without a viewer pays nothing for it.
"""
from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from myia_notebook.errors import MyiaError, error
from myia_notebook.gradient.events import GradientEvents
from myia_notebook.ir.extent import Shapes
from myia_notebook.ir.graph import Graph, primitive_of, reachable, schedule
from myia_notebook.ir.types import Type
from myia_notebook.ops.primitive import Abstract

BACKENDS = ("numba", "cuda", "vm", "python")
INTERPRETED = ("vm", "python")
"""Those that run the optimized graph itself: nothing is lowered."""
"""Machine code, the GPU, the interpreter, and the generated Python text, executed (for comparison)."""


@dataclass(slots=True)
class Unit:
    """One program on its way through the stages. `parsed` is nested form; `arguments` say what is known of its inputs.

    `may_interpret`: the user chose no backend, so that what has no native form runs on the interpreter. `observed` asks the stages to keep their
    events; `checker` evaluates the program at every rewrite; `shapes` are the extents that the argument types leave open. The products are None until their stage has run.
    """

    parsed: Graph
    arguments: list[Abstract]
    backend: str = "numba"
    observed: bool = False
    may_interpret: bool = False
    session: Any = None
    checker: Any = None
    shapes: Shapes | None = None
    closed: Graph | None = None
    typed: Graph | None = None
    adjoint: Graph | None = None
    optimized: Graph | None = None
    lowered: Any = None
    code: Any = None
    run: Callable[..., Any] | None = None
    result_type: Type | None = None
    inference_events: list[Any] = field(default_factory=list)
    gradient_events: GradientEvents | None = None
    optimizer_recorder: Any = None


class Observer:
    """Told about each stage; the base class ignores it all."""

    def after(self, stage: str, unit: Unit, seconds: float) -> None:
        """The stage's product is in `unit`."""

    def failed(self, stage: str, unit: Unit, problem: MyiaError, seconds: float) -> None:
        """The stage raised; earlier products are there."""


def parse(unit: Unit) -> None:
    """Nested form comes from the parser when the unit is made; closing it is the first step of typing."""


def type_(unit: Unit) -> None:
    """Nested to closed form; closed form to one typed graph per signature."""
    from myia_notebook.infer.close import close
    from myia_notebook.infer.engine import infer
    unit.closed = close(unit.parsed)
    unit.typed = infer(unit.closed, unit.arguments, unit.inference_events if unit.observed else None, unit.session)
    unit.result_type = unit.typed.flags["result"]


def differentiate(unit: Unit) -> None:
    """Every `gradient_call` becomes a call of ▶f and of its backpropagator."""
    from myia_notebook.gradient.expand import expand_gradients
    assert unit.typed is not None
    if unit.observed:
        unit.gradient_events = GradientEvents()

    def between(root: Graph) -> Graph:
        from myia_notebook.optimize import optimize
        return optimize(root, None, unit.checker)

    unit.adjoint = expand_gradients(unit.typed, between, unit.gradient_events)


def optimize_(unit: Unit) -> None:
    """Rewrites to a smaller, faster program of the same value."""
    from myia_notebook.optimize import Recorder, optimize
    assert unit.adjoint is not None
    if unit.observed:
        unit.optimizer_recorder = Recorder()
    unit.optimized = optimize(unit.adjoint, unit.optimizer_recorder, unit.checker)


def lower_(unit: Unit) -> None:
    """Graphs to the plan of a machine. A program that returns functions runs on the interpreter, which holds closures as values."""
    from myia_notebook.gradient.classes import contains_function
    if unit.result_type is not None and contains_function(unit.result_type, unions=False):
        unit.backend = "vm"
    if unit.backend in INTERPRETED:
        return
    from myia_notebook.lower import lower
    assert unit.optimized is not None
    if unit.shapes is not None and prints(unit.optimized):
        raise error("M801", message="a program that prints is compiled for each shape")
    try:
        with _emitting(unit):
            unit.lowered = lower(unit.optimized)
    except MyiaError as problem:
        _interpret(unit, problem)


def _emitting(unit: Unit) -> Any:
    return nullcontext() if unit.shapes is None else unit.shapes.emitting()


def prints(root: Graph) -> bool:
    """Whether a program prints: one that does must not run again unasked."""
    return any(p.name == "print_" for g in reachable(root) for n in schedule(g) if (p := primitive_of(n)) is not None)


def _interpret(unit: Unit, problem: MyiaError) -> None:
    """Falls back to the interpreter for what has no native form, unless the user asked for native code."""
    if problem.code != "M801" or not unit.may_interpret or unit.shapes is not None:
        raise problem
    unit.backend = "vm"


def emit(unit: Unit) -> None:
    """Register IR to native code, or the interpreter on the optimized graph."""
    assert unit.optimized is not None
    if unit.backend == "python":
        from myia_notebook.emit.python_run import compile_python
        unit.run = compile_python(unit.optimized)
        return
    if unit.backend == "cuda":
        from myia_notebook.emit.cuda import CudaProgram
        unit.code = unit.run = CudaProgram(unit.lowered, unit.optimized)
        return
    if unit.backend != "vm":
        from myia_notebook.emit.cpu import compile_cpu
        try:
            with _emitting(unit):
                unit.code = unit.run = compile_cpu(unit.lowered, unit.session, unit.shapes)
            return
        except MyiaError as problem:
            _interpret(unit, problem)
    from myia_notebook.vm import Machine
    machine, graph = Machine(), unit.optimized
    unit.run = lambda *arguments: machine.run(graph, arguments)


STAGES: tuple[tuple[str, Callable[[Unit], None]], ...] = (
    ("parsed", parse),
    ("typed", type_),
    ("adjoint", differentiate),
    ("optimized", optimize_),
    ("lowered", lower_),
    ("code", emit),
)


def compile_unit(unit: Unit, observer: Observer | None = None, until: str = "code") -> Unit:
    """Runs every stage, up to and with the one named `until`. Raises MyiaError; anything else that a stage raises is an internal error (M800) that names the stage."""
    observer = observer or Observer()
    for name, stage in STAGES:
        start = time.perf_counter()
        try:
            stage(unit)
        except MyiaError as problem:
            observer.failed(name, unit, problem, time.perf_counter() - start)
            raise
        except (KeyboardInterrupt, MemoryError):
            raise
        except Exception as problem:
            internal = error("M800", message=f"{type(problem).__name__} in stage '{name}': {problem}")
            observer.failed(name, unit, internal, time.perf_counter() - start)
            raise internal from problem
        observer.after(name, unit, time.perf_counter() - start)
        if name == until:
            break
    return unit
