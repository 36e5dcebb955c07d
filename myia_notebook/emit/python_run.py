"""The backend that executes the generated Python text: slow, and a third opinion beside the interpreter and machine code.

On entry: an optimized program. Run-time values of the interpreter come in and go out; closures are `partial`s inside. Errors carry the user's line, found by
the line of the text. The text recurses as Python does, so it runs in a thread with a large stack; an interrupt stops the wait, not the text.
"""
from __future__ import annotations

import functools
import itertools
import linecache
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from myia_notebook.emit.python_runtime import NAMES
from myia_notebook.emit.python_source import PythonText, python_source
from myia_notebook.errors import error
from myia_notebook.ir.graph import Apply, Graph, Node, primitive_of
from myia_notebook.ir.types import Function, Type, parts
from myia_notebook.ops.control import exception_of
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.vm import Closure, located

STACK, DEPTH = 512 << 20, 10**6
_numbers = itertools.count(1)
_lock = threading.Lock()


class TextProgram:
    """A program as text that was executed: call it with run-time values."""

    def __init__(self, root: Graph) -> None:
        self.text: PythonText = python_source(root)
        self.name = f"<myia text {next(_numbers)}>"
        whole = "\n".join(self.text.lines) + "\n"
        linecache.cache[self.name] = (len(whole), None, whole.splitlines(keepends=True), self.name)
        self.space: dict[str, Any] = {**NAMES, **self.text.constants}
        exec(compile(whole, self.name, "exec"), self.space)
        self.functions = {g: self.space[name] for g, name in self.text.functions.items() if name in self.space}
        self.graphs = {f: g for g, f in self.functions.items()}
        self.members = _members(root)
        self.main = self.functions[root.id]

    def __call__(self, *arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return self._outside(self.main(*map(self._inside, arguments)))

    def _inside(self, value: Any) -> Any:
        """A run-time value as the text takes it: closures as partials."""
        match value:
            case tuple():
                return tuple(map(self._inside, value))
            case list():
                return list(map(self._inside, value))
            case Closure(graph, captured):
                self.members.setdefault(graph.id, graph)
                return functools.partial(self._function(graph), *map(self._inside, captured))
            case _:
                return value

    def _function(self, graph: Graph) -> Any:
        """The function of a graph; of a constructor that the text does not name, something that stands for it."""
        if graph.id not in self.functions:
            self.functions[graph.id] = made = lambda *fields: fields
            self.graphs[made] = graph.id
        return self.functions[graph.id]

    def _outside(self, value: Any) -> Any:
        match value:
            case tuple():
                return tuple(map(self._outside, value))
            case list():
                return list(map(self._outside, value))
            case np.ndarray():
                return np.array(value)  # never a view of what came in
            case np.bool_():
                return bool(value)
            case functools.partial():
                return Closure(self.members[self.graphs[value.func]], tuple(map(self._outside, value.args)))
            case _:
                return Closure(self.members[self.graphs[value]]) if callable(value) and value in self.graphs else value

    def located(self, problem: BaseException) -> BaseException:
        """The user's error of one that the text raised."""
        node = self._node(problem)
        span = node.provenance.span if node is not None else None
        if isinstance(problem, RecursionError):
            return error("M706", span, message="Python's stack is full")
        if not isinstance(problem, Exception):
            return problem
        if node is not None and primitive_of(node) is PRIMITIVES["raise_"]:
            assert isinstance(node, Apply)
            problem = exception_of(node.inputs[1].value, str(problem.args[0]) if problem.args else "")  # type: ignore[attr-defined]
        return located(problem, span, node)

    def _node(self, problem: BaseException) -> Node | None:
        """The node of the innermost line of the text in the traceback."""
        found = None
        trace = problem.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.name:
                found = self.text.nodes[trace.tb_lineno - 1]
            trace = trace.tb_next
        return found


def _members(root: Graph) -> dict[int, Graph]:
    """The graphs that can be closures, by id."""
    from myia_notebook.ir.graph import reachable, schedule
    found: dict[int, Graph] = {}
    seen: set[int] = set()
    for g in reachable(root):
        found[g.id] = g
        stack: list[Type | None] = [g.result, *(p.type for p in g.parameters), *(n.type for n in schedule(g))]
        while stack:
            t = stack.pop()
            if isinstance(t, Function) and id(t.cls) not in seen:
                seen.add(id(t.cls))
                for member in t.cls.members:
                    found.setdefault(member.id, member)
                    stack += [p.type for p in member.parameters]
            stack += parts(t)
    return found


def compile_python(root: Graph) -> Callable[..., Any]:
    """The program as a function of run-time values."""
    program = TextProgram(root)

    def run(*arguments: Any) -> Any:
        return deep(program, arguments)

    run.program = program  # type: ignore[attr-defined]
    return run


def deep(program: TextProgram, arguments: Sequence[Any]) -> Any:
    """program(*arguments) in a thread with a large stack. Raises the user's errors."""
    result: list[Any] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            result.append(program(*arguments))
        except BaseException as problem:
            failed.append(program.located(problem))

    with _lock:
        size, limit = threading.stack_size(STACK), sys.getrecursionlimit()
        try:
            thread = threading.Thread(target=work, daemon=True)
            sys.setrecursionlimit(max(limit, DEPTH))
            thread.start()
        finally:
            threading.stack_size(size)
        thread.join()
        sys.setrecursionlimit(limit)
    if failed:
        raise failed[0] from None
    return result[0]


__all__ = ["TextProgram", "compile_python"]
