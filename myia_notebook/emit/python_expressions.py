"""One node of a typed program as a Python expression.

Python's own operators and NumPy's functions where they mean what the primitive means for these types; else the call of a function of `python_runtime`, under
the primitive's name. So the text reads like a program and is one:

    IEEE on Python numbers        divide(x, y), exp(x), power(x, y)      never raise
    Python's on Python numbers    x / y, math.exp(x), x ** 2             raise what Python raises
    NumPy numbers and arrays      x / y, exp(x), x ** y                  NumPy's own
    ints of 64 bits               wrap(x * y); a sum with a small constant is left plain: a counter does not get there

A constant without a short text gets a name (`Names.constant`).
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from myia_notebook.ir.graph import UNDEFINED, ZERO, Apply, Constant, Graph, Node, primitive_of
from myia_notebook.ir.types import BOOL, FLOAT, INT, NEVER, Array, Environment, List, Scalar, Tuple, Type, is_float
from myia_notebook.ops.environment import Label
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.messages import Form
from myia_notebook.ops.primitive import Checked, Elementwise, Primitive

_ARITHMETIC = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "mod": "%", "power": "**"}
_COMPARISONS = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!="}
_BITS = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_REDUCTIONS = {"reduce_sum": "np.sum", "reduce_prod": "np.prod", "reduce_max": "np.max", "reduce_min": "np.min", "reduce_all": "np.all", "reduce_any": "np.any"}
SMALL, SHORT = 1 << 31, 12


class Names:
    """The names of a program: its graphs, and the constants that have no short text."""

    def __init__(self, graphs: dict[int, str], fresh: Callable[[str], str]) -> None:
        self.graphs, self.fresh = graphs, fresh
        self.constants: dict[str, Any] = {}

    def constant(self, value: Any, hint: str = "constant") -> str:
        for name, known in self.constants.items():
            if known is value or (isinstance(value, Type) and known == value):
                return name
        name = self.fresh(hint)
        self.constants[name] = value
        return name

    def literal(self, value: Any, t: Type | None) -> str:
        """The text of a constant."""
        if isinstance(value, Graph):
            return self.graphs[value.id]
        if value is ZERO or value is UNDEFINED:
            return self.zero(t)
        if isinstance(value, Label):
            return self.graphs[value.graph.id]
        match value:
            case bool() | np.bool_():
                return str(bool(value))
            case np.generic():
                return f"{value.dtype.name}({_number(value.item())})"
            case int() | float():
                return _number(value)
            case str() | None:
                return repr(value)
            case tuple():
                items = t.items if isinstance(t, Tuple) else [None] * len(value)
                return _tuple([self.literal(v, item) for v, item in zip(value, items)])
            case list():
                item = t.item if isinstance(t, List) else None
                return f"[{', '.join(self.literal(v, item) for v in value)}]" if len(value) <= SHORT else self.constant(value)
            case np.ndarray() if 0 < value.size <= SHORT and value.dtype.name in ("float64", "int64", "bool"):
                return f"array({_nested(value.tolist())})"
            case Type():
                return self.constant(value, "type")
            case _:
                return self.constant(value)

    def zero(self, t: Type | None) -> str:
        match t:
            case Scalar(dtype, weak):
                return ("False" if dtype == "bool" else "0.0" if dtype == "float64" else "0") if weak or dtype == "bool" else f"{dtype}({'0.0' if 'f' in dtype else '0'})"
            case Array(dtype, shape):
                return f"zeros({_tuple(map(str, shape))}{'' if dtype == 'float64' else ', ' + dtype})"
            case Tuple(items):
                return _tuple(map(self.zero, items))
            case List():
                return "[]"
            case Environment():
                return "ZERO"
            case _:
                return "None"


def _number(value: Any) -> str:
    return repr(value)  # inf and nan are names of the runtime


def _nested(value: Any) -> str:
    return f"[{', '.join(map(_nested, value))}]" if isinstance(value, list) else repr(value)


def _tuple(items: Any) -> str:
    made = list(items)
    return f"({', '.join(made)}{',' if len(made) == 1 else ''})"


def expression(node: Apply, x: list[str], names: Names) -> str:
    """The text of a node whose primitive has a value; `x` are the texts of its arguments."""
    primitive = primitive_of(node)
    assert primitive is not None
    types = [Builder.type_of(i) for i in node.inputs[1:]]
    t = Builder.type_of(node)
    special = _SPECIAL.get(primitive.name)
    if special is not None:
        made = special(node, x, types, names)
        if made is not None:
            return made
    if isinstance(primitive.emit, (Elementwise, Checked)):
        made = _elementwise(primitive, node, x, types, t)
        if made is not None:
            return made
    if "needs_type" in primitive.laws:
        x = [names.constant(t, "type"), *x]
    return f"{primitive.name}({', '.join(x)})"


def _is_python(t: Type) -> bool:
    return isinstance(t, Scalar) and (t.weak or t == BOOL)


def _elementwise(primitive: Primitive, node: Apply, x: list[str], types: list[Type], t: Type) -> str | None:
    """Operators and `math`; None: the function of that name."""
    name = primitive.name
    is_weak = all(map(_is_python, types))
    if name in _COMPARISONS:
        text = f"{x[0]} {_COMPARISONS[name]} {x[1]}"
        return text if is_weak or isinstance(t, Array) else f"bool({text})"
    if isinstance(primitive.emit, Checked):
        return _checked(name, node, x, t)
    if name in ("logical_and", "logical_or", "logical_not") and t == BOOL and all(s == BOOL for s in types):
        return f"not {x[0]}" if name == "logical_not" else f"{x[0]} {name[8:]} {x[1]}"
    if name in _BITS and (is_weak or isinstance(t, Array) or not t == BOOL):
        return f"{x[0]} {_BITS[name]} {x[1]}"
    if name == "negative":
        return f"wrap(-{x[0]})" if t == INT else f"-{x[0]}"
    if name not in _ARITHMETIC or (name in ("divide", "floor_divide", "mod", "power") and is_weak):
        return None
    text = f"{x[0]} {_ARITHMETIC[name]} {x[1]}"
    return text if t != INT or _is_small_step(name, node) else f"wrap({text})"


def _is_small_step(name: str, node: Apply) -> bool:
    return name in ("add", "subtract") and any(isinstance(i, Constant) and isinstance(i.value, int) and abs(i.value) < SMALL for i in node.inputs[1:])


def _checked(name: str, node: Apply, x: list[str], t: Type) -> str | None:
    last = node.inputs[-1]
    constant = last.value if isinstance(last, Constant) else None
    if name == "python_divide":
        return f"{x[0]} / {x[1]}"
    if name in ("python_floor_divide", "python_mod"):
        text = f"{x[0]} {'//' if name == 'python_floor_divide' else '%'} {x[1]}"
        return text if t != INT or name == "python_mod" or (isinstance(constant, int) and constant > 0) else f"wrap({text})"
    if name == "python_power":
        return f"{x[0]} ** {x[1]}" if t == FLOAT and type(constant) is int else None
    own = {"math_mod": "fmod"}.get(name, name.removeprefix("math_"))
    return f"math.{own}({', '.join(x)})" if name.startswith("math_") and primitive_of(node).implementation is getattr(math, own, None) else None  # type: ignore[union-attr]


# -- primitives with a text of their own

def _cast(node: Apply, x: list[str], types: list[Type], names: Names) -> str | None:
    source, t = types[0], Builder.type_of(node)
    if source == NEVER:
        return names.zero(t)
    if isinstance(source, Array) and isinstance(t, Array):
        return f"{x[0]}.astype({t.dtype})"
    if not isinstance(source, Scalar) or not isinstance(t, Scalar):
        return None
    if t == FLOAT or t == BOOL:
        return f"{'float' if t == FLOAT else 'bool'}({x[0]})"
    if t == INT and "int" in source.dtype or source == BOOL:
        return f"int({x[0]})" if t == INT else f"{t.dtype}({x[0]})"
    return f"{t.dtype}({x[0]})" if "float" in t.dtype else None


def _reduced(node: Apply, x: list[str], types: list[Type], names: Names) -> str | None:
    axes, keeps = (i.value for i in node.inputs[2:4])  # type: ignore[attr-defined]
    of, t = types[0], Builder.type_of(node)
    assert isinstance(of, Array)
    axis = "" if len(axes) == len(of.shape) else f", axis={axes[0] if len(axes) == 1 else axes}"
    text = f"{_REDUCTIONS[primitive_of(node).name]}({x[0]}{axis}{', keepdims=True' if keeps else ''})"  # type: ignore[union-attr]
    return f"bool({text})" if t == BOOL else text


def _index(node: Apply, x: list[str], types: list[Type], names: Names) -> str | None:
    """x[i, 0:3, None]"""
    spec = node.inputs[2].value  # type: ignore[attr-defined]
    positions = iter(x[2:])
    parts: list[str] = []
    for entry in spec:
        if entry is None:
            parts.append("None")
        elif entry == "int":
            parts.append(next(positions))
        elif entry[0] == "window":
            return None
        else:
            _, start, stop, step = entry
            parts.append(f"{start}:{'' if stop < 0 else stop}" + (f":{step}" if step != 1 else ""))
    text = f"{x[0]}[{', '.join(parts)}]" if parts else x[0]
    return f"bool({text})" if Builder.type_of(node) == BOOL else text


def _add_sensitivities(node: Apply, x: list[str], types: list[Type], names: Names) -> str | None:
    return f"{x[0]} + {x[1]}" if is_float(Builder.type_of(node)) else None


def _env_get(node: Apply, x: list[str], types: list[Type], names: Names) -> str:
    return f"env_get({x[0]}, {x[1]}, {x[2]}, {names.zero(Builder.type_of(node))})"


def _matmul(node: Apply, x: list[str], types: list[Type], names: Names) -> str:
    return f"{x[0]} @ {x[1]}"


_SPECIAL: dict[str, Callable[[Apply, list[str], list[Type], Names], str | None]] = {
    "make_tuple": lambda n, x, t, names: _tuple(x), "tuple_getitem": lambda n, x, t, names: f"{x[0]}[{x[1]}]",
    "switch": lambda n, x, t, names: f"{x[1]} if {x[0]} else {x[2]}", "partial": lambda n, x, t, names: f"partial({', '.join(x)})",
    "branch": lambda n, x, t, names: f"({x[1]} if {x[0]} else {x[2]})({', '.join(x[3:])})",
    "closure_get": lambda n, x, t, names: f"{x[0]}.args[{x[2]}]", "env_get": _env_get, "add_sensitivities": _add_sensitivities,
    "cast": _cast, **dict.fromkeys(_REDUCTIONS, _reduced), "index": _index, "matmul": _matmul,
    "list_make": lambda n, x, t, names: f"[{', '.join(x)}]", "list_length": lambda n, x, t, names: f"len({x[0]})",
    "list_get": lambda n, x, t, names: f"{x[0]}[{x[1]}]", "list_append": lambda n, x, t, names: f"[*{x[0]}, {x[1]}]",
    "list_concat": lambda n, x, t, names: f"[*{x[0]}, *{x[1]}]"}


def message(form: Any, values: list[str], names: Names) -> str:
    """The text of a message: an f-string where its values are numbers."""
    if not isinstance(form, Form):
        return repr(str(form))
    if any(not isinstance(p, str) and p.shape.kind != "plain" for p in form.pieces):
        return f"written({', '.join([names.constant(form, 'form'), *values])})"
    rest = iter(values)
    parts: list[str] = []
    for piece in form.pieces:
        if isinstance(piece, str):
            parts.append(repr(piece + '"')[1:-2].replace("\\'", "'").replace('"', '\\"').replace("{", "{{").replace("}", "}}"))
        else:
            parts.append(f"{{{next(rest)}{'!' + piece.conversion if piece.conversion else ''}{':' + piece.format if piece.format else ''}}}")
    return f"{'f' if values else ''}\"{''.join(parts)}\"" if values else repr("".join(form.pieces))  # type: ignore[arg-type]


def operand(node: Node, names: Names, local: dict[int, str], like: Type | None = None) -> str:
    """The text of an argument. What was never assigned reads as a zero, which nobody looks at."""
    if not isinstance(node, Constant):
        return local[node.id]
    t = Builder.type_of(node)
    return names.literal(node.value, like if node.value is UNDEFINED and like is not None and not isinstance(t, Scalar) else t)


__all__ = ["Names", "expression", "message", "operand"]
