"""How the optimizer's tests run programs: a function and its arguments through the pipeline as far as the optimizer, watched and checked."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import myia_notebook as myia
from myia_notebook.api import Caller, MyiaFunction, data_positions
from myia_notebook.ir.verify import verify_typed
from myia_notebook.ir.verify_classes import dead_members
from myia_notebook.optimize import Recorder
from myia_notebook.optimize.check import Checker
from myia_notebook.pipeline import STAGES, Unit


def derivative(f: Any, order: int, wrt: Any = 0) -> Any:
    """f, grad(f), grad(grad(f)), … as the interpreter runs them."""
    for _ in range(order):
        f = myia.grad(f, wrt, backend="vm")
    return f


def optimized(f: Any, arguments: tuple[Any, ...], check: bool = True, observed: bool = True, seconds: float = 60.0) -> Unit:
    """The unit after the stage 'optimized'. With `check`, the program is evaluated and verified after every rewrite."""
    caller = f if isinstance(f, Caller) else MyiaFunction(f)
    values = caller._bind(arguments, {})
    unit, _ = caller._unit(values)
    unit.backend, unit.observed = "vm", observed
    if check:
        unit.checker = Checker([values[i] for i in data_positions(values)], seconds, verify=True)
    for name, stage in STAGES:
        stage(unit)
        if name == "optimized":
            break
    return unit


def assert_well_formed(unit: Unit) -> None:
    assert unit.adjoint is not None and unit.optimized is not None
    assert verify_typed(unit.adjoint) == []
    assert verify_typed(unit.optimized) == []
    assert dead_members(unit.optimized) == []


def fired(unit: Unit) -> Iterator[str]:
    """The rules and passes that changed something, in order."""
    recorder: Recorder = unit.optimizer_recorder
    for rewrite in recorder.rewrites:
        if rewrite.has_delta:
            yield rewrite.rule
