"""Variables while a function is translated: on-the-fly SSA.

An `Environment` maps the names of one function, at one point of its control flow, to bindings. A binding is the node that holds the
value, and whether the variable is surely bound there: `True`, or a node that says so at run time. Reference: Braun et al., *Simple and
efficient construction of static single assignment form*, 2013 (our joins are parameters of graphs, made where control flow meets).
"""
from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from myia_notebook.ir.graph import Graph, Node


@dataclass(frozen=True, slots=True)
class Binding:
    """`closure` is the definition when the name is bound to a function made in this very function, for late binding."""

    node: Node
    bound: Node | bool = True
    closure: ast.FunctionDef | ast.Lambda | None = None


class Environment(dict[str, Binding]):
    """Bindings at one point. `graph` is where nodes are made."""

    __slots__ = ("graph", "given")

    def __init__(self, graph: Graph, bindings: dict[str, Binding] | None = None) -> None:
        super().__init__(bindings or {})
        self.graph = graph
        self.given: list[Node] = []  # values narrowed here by a test: where one cannot exist, this place is never reached

    def enter(self, graph: Graph) -> Environment:
        """The same variables, in another graph."""
        return Environment(graph, self)


@dataclass(slots=True)
class Function:
    """What is known of the function being translated. `outer` is the environment in which it is defined (None at the top level);
    `locals` are the names it binds; `targets` those of the comprehensions around the expression being translated."""

    name: str
    locals: frozenset[str]
    outer: Environment | None
    outer_function: Function | None
    globals: dict[str, Any]
    cells: dict[str, Any]
    captured_by_closures: dict[str, list[Graph]]
    span_line: int = 0
    targets: tuple[str, ...] = ()
