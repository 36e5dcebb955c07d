"""How a node is called and drawn: its name, its source text, its symbol, its role. Never an internal number."""
from __future__ import annotations

from typing import Any

import numpy as np

from myia_notebook.ir.graph import UNDEFINED, ZERO, Apply, Constant, Graph, Node, Parameter, callee_of, primitive_of
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.primitive import Primitive
from myia_notebook.snapshot import Role
from myia_notebook.view.equation import number

CUT = 14
MARKS = ("▶", "◀", "∇", "▷")


def cut(text: str, length: int = CUT) -> str:
    """One line, at most `length` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


class Source:
    """The user's text, for labels: `slice(node)` is the text of a node's span."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")

    def slice(self, node: Node) -> str:
        span = node.provenance.span
        if span is None or not 0 < span.line <= len(self.lines):
            return ""
        if span.line == span.end_line:
            return self.lines[span.line - 1][span.column:span.end_column]
        first = self.lines[span.line - 1][span.column:]
        return first.rstrip(":") + " …"


def plain_name(node: Node) -> str:
    """The variable without its mark."""
    return node.name.lstrip("".join(MARKS))


def role_of(node: Node, graph: Graph | None) -> Role:
    """What part a node plays in the mathematics."""
    if isinstance(node, Constant):
        return "constant"
    how = node.provenance.how
    if node.name.startswith("∇") or how == "∇":
        return "sensitivity"
    if graph is not None and graph.kind == "backpropagator":
        return "free" if isinstance(node, Parameter) else "sensitivity"
    if graph is not None and graph.kind == "forward":
        primitive = primitive_of(node)
        return "backpropagator" if primitive is not None and primitive.name == "partial" else "forward"
    primitive = primitive_of(node)
    if primitive is not None and primitive.name in ("branch", "switch"):
        return "control"
    return "primal"


def label_of(node: Apply, source: Source) -> str:
    """What to write on a node without a name: structure by its form, everything else by the user's text."""
    primitive = primitive_of(node)
    target = callee_of(node)
    if primitive is not None:
        match primitive.name:
            case "make_tuple":
                return "( , )"
            case "tuple_getitem" | "env_get":
                index = node.inputs[-1]
                return f"[{index.value}]" if isinstance(index, Constant) else "[ ]"
            case "partial":
                head = node.inputs[1]
                return head.value.name if isinstance(head, Constant) and isinstance(head.value, Graph) else "closure"
            case "env_make":
                return "environment"
            case _:
                pass
    if target is not None and target.kind == "loop":
        return target.name
    if primitive is not None and primitive.name == "branch":
        return "if"
    if node.provenance.how != "source":
        if target is not None:
            return target.name
        if primitive is None:
            return "call ◀" if node.type is not None and "▶" not in node.provenance.how else "call"
    return cut(source.slice(node)) or (primitive.symbol if primitive is not None else "call")


def operation_of(node: Apply) -> tuple[str, str]:
    """(name, symbol) of what an Apply does."""
    head = node.inputs[0]
    target = callee_of(node)
    if target is not None:
        return target.name, target.name
    primitive = primitive_of(node)
    if primitive is not None:
        return primitive.name, primitive.symbol
    if isinstance(head, Constant):
        if isinstance(head.value, Operation):
            return head.value.name, head.value.symbol or head.value.name
        name = getattr(head.value, "__name__", str(head.value))
        return name, name
    return "call", plain_name(head) or "call"


def constant_text(node: Constant) -> str:
    """A constant as the picture writes it."""
    value = node.value
    if value is ZERO:
        return "0"
    if value is UNDEFINED:
        return "unset"
    if isinstance(value, (Graph, Primitive, Operation)):
        return value.name
    if type(value).__name__ == "Label":
        return value.graph.name
    if isinstance(value, np.ndarray):
        return f"array {value.shape}"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float)):
        return number(value)
    return cut(getattr(value, "__name__", None) or repr(value))


def value_text(value: Any, depth: int = 0) -> str:
    """A run-time value in a few characters."""
    if value is ZERO:
        return "0"
    if value is UNDEFINED:
        return "unset"
    if isinstance(value, np.ndarray):
        if value.size <= 3:
            return "[" + " ".join(number(v.item()) for v in value.ravel()) + "]"
        return f"array {'×'.join(map(str, value.shape))}"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float)):
        return number(value)
    if isinstance(value, tuple):
        if depth > 1 or len(value) > 4:
            return f"({len(value)} items)"
        return "(" + ", ".join(value_text(v, depth + 1) for v in value) + ")"
    if hasattr(value, "graph"):
        return f"closure {value.graph.name}"
    if value is None:
        return "None"
    return cut(str(value)) if isinstance(value, str) else type(value).__name__
