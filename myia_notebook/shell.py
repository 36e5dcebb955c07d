"""Stages from the shell, as text.

    python -m myia_notebook show FILE.py:function --args 1.3 10 --stage optimized --grad
    python -m myia_notebook rules                       the table of the optimizer's rules

`show` loads the file as a module, compiles the function for these arguments (Python expressions, in which `np` and `math` are there) and prints the
stage: `parsed`, `typed`, `adjoint`, `optimized`, `lowered`, `code` (LLVM), `run` (the value), or `events` (each rewrite of the optimizer), or
`report` (versions, sizes, timings and IR, for a bug report). Without `--stage` it prints all that are graphs. `--grad` differentiates first, by the
argument `--wrt`; given twice, twice. `--check` evaluates at every rewrite. The exit status is 1 when the program is refused.
"""
from __future__ import annotations

import argparse
import importlib.util
import math
import pathlib
import sys
from typing import Any

STAGES = ("parsed", "typed", "adjoint", "optimized", "lowered", "code", "run", "events", "report")


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    return _rules() if options.command == "rules" else _show(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m myia_notebook", description="Stages of a program, as text.")
    commands = parser.add_subparsers(dest="command", required=True)
    show = commands.add_parser("show", help="print stages of a function")
    show.add_argument("function", metavar="FILE.py:function")
    show.add_argument("--args", nargs="*", default=[], metavar="EXPRESSION", help="the arguments")
    show.add_argument("--stage", choices=STAGES, help="which stage (default: all graphs)")
    show.add_argument("--grad", action="count", default=0, help="differentiate; twice for the second derivative")
    show.add_argument("--wrt", type=int, default=0, help="the argument to differentiate (default 0)")
    show.add_argument("--check", action="store_true", help="evaluate before and after every rewrite")
    commands.add_parser("rules", help="print the rules of the optimizer")
    return parser


def _show(options: argparse.Namespace) -> int:
    from myia_notebook.api import grad
    from myia_notebook.compilation import explain
    try:
        function = load(options.function)
        values = [_value(text) for text in options.args]
    except (OSError, ValueError, AttributeError, SyntaxError, NameError, TypeError) as problem:
        print(f"{options.function}: {problem}", file=sys.stderr)
        return 2
    for _ in range(options.grad):
        function = grad(function, options.wrt)
    compilation = explain(function, *values, check=options.check)
    if options.stage == "report":
        print(compilation.report())
    elif options.stage == "events":
        for event in compilation.stages["optimized"].events if "optimized" in compilation.stages else ():
            print(f"{event.index:5} {event.pass_name:22} {event.title:28} {event.location:22} {event.reason}")
    else:
        for name in [options.stage] if options.stage else [n for n in ("parsed", "typed", "adjoint", "optimized") if n in compilation.stages]:
            if options.stage is None:
                print(f"== {name}")
            print(stage_text(compilation, name))
            if options.stage is None:
                print()
    if compilation.problem is not None:
        print(compilation.problem, file=sys.stderr)
        return 1
    return 0


def stage_text(compilation: Any, stage: str) -> str:
    """The text of a stage, or why it is not there."""
    snapshot = compilation.stages.get(stage)
    if snapshot is None:
        return f"(the program did not reach '{stage}')"
    listing = next((c for c in snapshot.code if c.language == "llvm"), None) if stage == "code" else None
    return snapshot.text if listing is None else "\n".join(listing.lines)


def load(place: str) -> Any:
    """The function named by FILE.py:function."""
    path, _, name = place.rpartition(":")
    if not path or not pathlib.Path(path).is_file():
        raise ValueError("give an existing file and a function, as in FILE.py:function")
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise ValueError("this file is not Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)
    spec.loader.exec_module(module)
    return getattr(module, name)


def _value(text: str) -> Any:
    import numpy as np
    return eval(text, {"np": np, "math": math})  # the user's own argument, as in any Python shell


def _rules() -> int:
    print(rules_table())
    return 0


def rules_table() -> str:
    """Rules and passes with their statement, their reason and where they are defined."""
    from myia_notebook.optimize.driver import PASSES
    from myia_notebook.optimize.rewriter import location
    from myia_notebook.optimize.rules import RULES
    lines = ["| family | rule | before → after | why | defined in |", "|---|---|---|---|---|"]
    for rule in sorted(RULES, key=lambda r: r.family):
        lines.append(f"| {rule.family} | {rule.name} | `{rule.statement}` | {rule.why} | {rule.location.split(':')[0]} |")
    for step in PASSES:
        lines.append(f"| {step.family} | *{step.name}* | whole program | {step.why} | {location(step.run).split(':')[0]} |")
    return "\n".join(lines)
