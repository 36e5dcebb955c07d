"""docs/operations.md: every primitive with its meaning, its derivative rules as equations, its kinks, types, native form and reference.

The equations are not written down twice: a rule is run on operands named x, y, … and on ∇z (or ẋ, ẏ, …), and the expression that it makes is printed.
"""
from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from myia_notebook.emit.arrays import ArrayCode
from myia_notebook.errors import MyiaError
from myia_notebook.infer.values import type_of_value
from myia_notebook.ir.graph import ZERO, Apply, Constant, Graph, Node, Parameter
from myia_notebook.ir.types import Array, Scalar, Static, Type
from myia_notebook.ops.expression import Builder, Expr
from myia_notebook.ops.primitive import (
    Abstract,
    Checked,
    Elementwise,
    FromBackpropagator,
    Kernel,
    Linear,
    NotDifferentiable,
    Primitive,
    Reduction,
    Sample,
    Structural,
)
from myia_notebook.ops.table import OPERATIONS, PRIMITIVES
from tests.ops.gradcheck import FIGURES
from tests.ops.kinks import KINKS

_INFIX = {"add": (" + ", 1), "subtract": (" − ", 1), "multiply": ("·", 2), "strong_multiply": ("·", 2), "divide": "/", "strong_divide": "/", "power": "^",
          "equal": " = ", "not_equal": " ≠ ", "less": " < ", "less_equal": " ≤ ", "greater": " > ", "greater_equal": " ≥ ", "logical_and": " and ",
          "logical_or": " or ", "matmul": "@"}
_NUMBERS = {math.log(2.0): "ln 2", math.log(10.0): "ln 10", 2.0 / math.sqrt(math.pi): "2/√π"}
_DOTTED = {"x": "ẋ", "y": "ẏ", "u": "u̇", "v": "v̇"}
DTYPES = ("bool", "int32", "int64", "float32", "float64")


class Printer:
    """Expressions as text. `names`: of operands by id; `shapes`: texts for shapes."""

    def __init__(self, names: dict[int, str], shapes: dict[tuple[int, ...], str]) -> None:
        self.names, self.shapes = names, shapes

    def text(self, node: Node, level: int = 0) -> str:
        if node.id in self.names:
            return self.names[node.id]
        if isinstance(node, Constant):
            return self._constant(node.value)
        assert isinstance(node, Apply), node
        head = node.inputs[0]
        name = head.value.name if isinstance(head, Constant) else "?"
        operands = node.inputs[1:]
        if name == "cast":
            return self.text(operands[0], level)
        if name == "negative":
            return self._wrapped(f"−{self.text(operands[0], 3)}", 1, level)
        if name in _INFIX and len(operands) == 2:
            return self._infix(name, operands, level)
        if name == "where":
            return f"({self.text(operands[1])} where {self.text(operands[0])} else {self.text(operands[2])})"
        if name == "transpose" and isinstance(operands[1], Constant) and operands[1].value[-2:] == (len(operands[1].value) - 1, len(operands[1].value) - 2):
            return f"{self.text(operands[0], 3)}ᵀ"
        return f"{'√' if name == 'sqrt' else name}({', '.join(self.text(o) for o in operands)})"

    def _infix(self, name: str, operands: list[Node], level: int) -> str:
        found = _INFIX[name]
        symbol, own = found if isinstance(found, tuple) else (found, {"/": 2, "^": 3, "@": 2}.get(found, 0))
        left, right = self.text(operands[0], own), self.text(operands[1], own + (symbol not in (" + ", "·")))
        return self._wrapped(f"{left}{symbol}{right}", own, level)

    @staticmethod
    def _wrapped(text: str, own: int, level: int) -> str:
        return f"({text})" if own < level else text

    def _constant(self, value: Any) -> str:
        if value is ZERO:
            return "0"
        if isinstance(value, (float, np.floating)):
            return _NUMBERS.get(float(value)) or f"{float(value):g}"
        if isinstance(value, np.ndarray):
            return "eye" if value.ndim == 2 and np.array_equal(value, np.eye(*value.shape)) else "a mask" if value.ndim > 1 else str(value.tolist())
        return self.shapes.get(value, str(value)) if isinstance(value, tuple) else str(value)


def _is_input(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


class Rules:
    """The rules of a primitive run on a sample."""

    def __init__(self, primitive: Primitive, sample: Sample) -> None:
        self.primitive, self.builder = primitive, Builder(Graph("rule"))
        self.names: dict[int, str] = {}
        shapes: dict[tuple[int, ...], str] = {}
        letters = iter("xyuvwst")
        self.operands: list[Expr] = []
        self.inputs: list[int] = []
        for i, value in enumerate(sample.arguments):
            if _is_input(value):
                node: Node = self._named(next(letters), type_of_value(value))
                self.inputs.append(i)
                if isinstance(node.type, Array):
                    shapes.setdefault(node.type.shape, f"shape of {self.names[node.id]}")
            elif isinstance(value, Type):
                node = Constant(value, Static(value))
            elif isinstance(value, np.ndarray):
                node = self._named("i" if value.dtype.kind == "i" else "c", type_of_value(value))
            else:
                node = self.builder.constant(value)
            self.operands.append(self.builder.expr(node))
        made = self.builder.apply(primitive, *(o.node for o in self.operands))
        self.out = self.builder.expr(self._named("z", Builder.type_of(made)))
        if isinstance(self.out.type, Array):
            shapes.setdefault(self.out.type.shape, "shape of z")
        self.printer = Printer(self.names, shapes)

    def _named(self, name: str, t: Type) -> Parameter:
        node = self.builder.graph.add_parameter(name, t)
        self.names[node.id] = name
        return node

    def _entry(self, i: int, d: Expr) -> str | None:
        entry = self.primitive.backpropagator(*self.operands, self.out, d)[i]  # type: ignore[operator]
        made = entry() if callable(entry) else entry
        return None if made is None else self.printer.text(made.node)

    def reverse(self) -> str:
        parts = []
        for i in self.inputs:
            d = self.builder.expr(self._named("∇z", self.out.type), True)
            text = self._entry(i, d)
            parts.append(f"∇{self.names[self.operands[i].node.id]} = {text or '0'}")
        return "; ".join(parts)

    def forward(self) -> str:
        rule = self.primitive.tangent
        dots: list[Expr | None] = [self.builder.expr(self._named(_DOTTED[self.names[o.node.id]], o.type), True) if i in self.inputs else None
                                   for i, o in enumerate(self.operands)]
        if isinstance(rule, Linear):
            chosen = rule.positions or tuple(self.inputs)
            shown = [self.printer.text((dots[i] if i in chosen and dots[i] is not None else o).node) for i, o in enumerate(self.operands)]  # type: ignore[union-attr]
            return f"ż = {self.primitive.name}({', '.join(shown)})"
        if isinstance(rule, FromBackpropagator):
            terms = []
            for i in self.inputs:
                d = dots[i]
                assert d is not None
                text = self._entry(i, Expr(self.builder, self._fitted(d), True))
                terms += [] if text is None else [text]
            return f"ż = {' + '.join(terms).replace('+ −', '− ') or '0'}"
        return f"ż = {self.printer.text(rule(self.operands, self.out, dots).node)}"  # type: ignore[operator]

    def _fitted(self, d: Expr) -> Node:
        """A tangent of the result's shape, under its own name."""
        return d.node if d.type == self.out.type else self._named(self.names[d.node.id], self.out.type)


def rules_of(p: Primitive) -> tuple[str, str]:
    """(reverse, forward) as equations, or why there are none."""
    if isinstance(p.backpropagator, NotDifferentiable):
        return f"0: {p.backpropagator.reason}", "0"
    if isinstance(p.backpropagator, Structural):
        return p.backpropagator.why, p.tangent.why if isinstance(p.tangent, Structural) else "the same"
    sample = next((s for s in p.samples if any(map(_is_input, s.arguments))), None)
    if sample is None:
        text = (p.backpropagator.__doc__ or "").split("\n")[0].rstrip(".") or "each part gets its part of ∇z"
        return text, "itself, on tangents" if isinstance(p.tangent, Linear) else "as in reverse"
    rules = Rules(p, sample)
    return rules.reverse(), rules.forward()


def meaning(p: Primitive) -> str:
    count = len(p.samples[0].arguments) if p.samples else 0
    if p.infix and count == 2:
        return f"x {p.symbol} y"
    if not count:
        return p.symbol
    run_time = sum(_is_input(a) or isinstance(a, np.ndarray) for a in p.samples[0].arguments)
    symbol = p.symbol.replace("]", "\\]")  # "](x)" would be a link
    return f"{symbol}({', '.join('xyuvwst'[:run_time or (count if 'elementwise' in p.laws else 1)])})"


def types(p: Primitive) -> str:
    """Which dtypes the first operand may have, and the result's."""
    if not p.samples or not callable(p.infer):
        return "any"
    found: dict[str, list[str]] = {}
    arguments = next((s.arguments for s in p.samples if isinstance(s.arguments[0], np.ndarray)), p.samples[0].arguments)
    for dtype in DTYPES:
        given = [np.ones(a.shape, dtype) if isinstance(a, np.ndarray) and (i == 0 or a.dtype.kind == "f") else np.dtype(dtype).type(1) if isinstance(a, float)
                 else a for i, a in enumerate(arguments)]
        try:
            abstracts = [Abstract(Static(a) if isinstance(a, Type) else type_of_value(a), a) for a in given]
            made = p.infer(abstracts)
        except (MyiaError, AssertionError, AttributeError, TypeError, KeyError):
            continue
        t = made.type if isinstance(made, Abstract) else made
        found.setdefault(t.dtype if isinstance(t, (Scalar, Array)) else str(t), []).append(dtype)
    same = [d for d, sources in found.items() if d in sources]
    if len(same) == sum(map(len, found.values())):
        return "of x: " + " ".join(same)
    return "; ".join(f"{' '.join(sources)} → {d}" for d, sources in found.items())


def native(p: Primitive) -> str:
    match p.emit:
        case Elementwise(operation):
            return f"one `{operation}` an element"
        case Checked(operation, check):
            return f"`{operation}` after the test {check.replace('_', ' ')}"
        case Reduction(operation):
            return f"a loop of `{operation}`"
        case Kernel(name) if hasattr(ArrayCode, f"_{name}") or "list" in p.laws:
            return "a kernel of its own"
        case Kernel():
            return "NumPy, called back"
        case other:
            return getattr(other, "why", getattr(other, "reason", ""))


def kinks_of(name: str) -> str:
    return "; ".join(dict.fromkeys(k.says for k in KINKS if k.operation == name))


def operations() -> str:
    """The text of docs/operations.md."""
    lines = ["# Operations", "", "Written by `tools/tables.py` from the tables in `myia_notebook/ops`: the equations are what the rules make of named operands. "
             "z is the result, ∇z its sensitivity,", "ẋ a tangent. A product or quotient with a sensitivity or tangent is *strong*: where that is 0, it is 0, whatever the "
             "other factor is.", "A rule is written as for scalars: over axes that were broadcast it is summed, and it has the operand's dtype. Every primitive runs on both",
             "backends; the last but one column says how natively. What is said under *kink* is tested by `tests/ops/test_kinks.py`.", "", "## Primitives", "",
             "| name | z | reverse | forward | kink | types | native form | reference |", "|---|---|---|---|---|---|---|---|"]
    for name, p in sorted(PRIMITIVES.items()):
        reverse, forward = rules_of(p)
        cells = [f"`{name}`", meaning(p), reverse, forward, kinks_of(name), types(p), native(p), p.reference]
        lines.append("| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |")
    lines += ["", "## Kinks of the library", "", "| name | convention |", "|---|---|"]
    lines += [f"| `{n}` | {kinks_of(n)} |" for n in dict.fromkeys(k.operation for k in KINKS) if n not in PRIMITIVES]
    lines += checked()
    lines += ["", "## Names", "", "Python's, NumPy's, math's and scipy's functions that stand for primitives or for compositions of them:", ""]
    groups: dict[str, list[str]] = {}
    for python, operation in OPERATIONS.items():
        groups.setdefault(_module(python, operation.name), []).append(operation.name)
    lines += [f"* **{module}**: {', '.join(f'`{n}`' for n in sorted(set(names)))}" for module, names in sorted(groups.items())]
    return "\n".join([*lines, ""])


def checked() -> list[str]:
    """How good the derivatives are: the figures that tools/gradcheck.py measured."""
    families = json.loads(FIGURES.read_text())["families"]
    lines = ["", "## How good the derivatives are", "", "Every operation is differentiated on random arguments by both modes, and twice by every nesting of them, and compared with differences",
             "of order 8 in 80-bit floats (special functions by mpmath), whose own error is measured and at least ten times below the bound. Errors are relative,",
             "without a floor. The tests assert 1e-8 for first and 1e-6 for second derivatives; the worst that `tools/gradcheck.py` met:", "",
             "| family | operations | derivatives compared | worst first | worst second |", "|---|---|---|---|---|"]
    rows = [*families.items(), ("**all**", {"operations": sum(r["operations"] for r in families.values()), "derivatives": sum(r["derivatives"] for r in families.values()),
                                            "first": max(r["first"] for r in families.values()), "second": max(r["second"] for r in families.values())})]
    return lines + [f"| {name} | {r['operations']} | {r['derivatives']} | {r['first']:.0e} | {r['second']:.0e} |" for name, r in rows]


def _module(python: Any, name: str) -> str:
    module = getattr(python, "__module__", None) or type(python).__module__
    if "scipy" in module or name.startswith("special"):
        return "scipy.special"
    return module if module.startswith("myia") else "operator" if module == "_operator" else module.split(".")[0]


__all__ = ["operations", "rules_of"]
