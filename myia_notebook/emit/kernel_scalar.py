"""Scalar operations as typed Python text, for kernels: what `emit.scalar` is in LLVM.

The text means the same to Numba's CUDA compiler and to its simulator, which runs it as Python: every variable has one dtype, and what differs between the two (functions
at the edge of their domain, division by zero) is the call of a name, bound to libdevice on the one and to the interpreter's function on the other (`emit.cuda`).
An operation that has no form here is refused (M801) with its symbol and line.
"""
from __future__ import annotations

import math
from typing import Any, Protocol

from myia_notebook.errors import error
from myia_notebook.ir.graph import UNDEFINED, Apply, Node
from myia_notebook.ir.types import Array, Scalar, Static
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.primitive import Checked, Primitive
from myia_notebook.ops.promotion import promote, scalar_of

FLOATS = ("float64", "float32")
LIBDEVICE = {"cbrt": "cbrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos",
             "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh",
             "arccosh": "acosh", "arctanh": "atanh", "erf": "erf", "erfc": "erfc", "lgamma": "lgamma", "gamma": "tgamma", "arctan2": "atan2", "hypot": "hypot",
             "power": "pow", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint"}
"""The functions of one or two floats, by the name of their libdevice function."""
_COMPARE = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!="}
_PLAIN = {"add": "+", "subtract": "-", "multiply": "*"}
_BITS = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_BOOL = {"add": "or", "multiply": "and", "bitwise_and": "and", "bitwise_or": "or", "maximum": "or", "minimum": "and", "bitwise_xor": "!="}
_CHECKS = {"second_nonzero": "{v} == {zero}", "nonnegative": "{v} < {zero}", "positive": "{v} <= {zero}", "unit_interval": "abs({v}) > {one}",
           "at_least_one": "{v} < {one}", "open_unit": "abs({v}) >= {one}", "above_minus_one": "{v} <= -{one}", "not_infinite": "abs({v}) == inf",
           "fits_int": "not (abs({v}) < 9.223372036854775807e18)"}
"""When each check fails; NaN passes all but the last, as in Python."""


class KernelWriter(Protocol):
    """Who writes the kernel around the operations."""

    def operand(self, node: Node) -> list[str]: ...
    def named(self, text: str, hint: str, kind: str = "f") -> str: ...
    def copy(self, text: str, hint: str, kind: str) -> str: ...
    def fail_if(self, condition: str) -> None: ...
    def line(self, text: str) -> None: ...


def literal(value: Any, dtype: str) -> str:
    """A constant of a dtype."""
    if value is UNDEFINED:
        value = 0
    if dtype == "bool":
        return str(bool(value))
    if dtype in FLOATS:
        number = float(value)
        text = "nan" if number != number else ("inf" if number > 0 else "-inf") if math.isinf(number) else repr(number)
        return text if dtype == "float64" else f"float32({text})"
    return f"int32({int(value)})" if dtype == "int32" else str(int(value)) if value != -(2**63) else "int64(-9223372036854775807 - 1)"


def converted(text: str, source: str, target: str) -> str:
    """A value of one dtype as another; floats truncate, and what is out of range becomes the smallest."""
    if source == target:
        return text
    if target == "bool":
        return f"({text} != {literal(0, source)})"
    if source in FLOATS and target not in FLOATS:
        bound = 2.0 ** (63 if target == "int64" else 31)
        return f"({target}({text}) if -{bound!r} <= {text} < {bound!r} else {literal(-int(bound), target)})"
    return f"{target}({text})"


def scalar(w: KernelWriter, node: Apply, primitive: Primitive, operation: str, t: Scalar) -> str:
    """The text of one scalar operation; its checks are written before it."""
    inputs = [x for x in node.inputs[1:] if not isinstance(x.type, Static)]
    pairs: list[tuple[str, str]] = []
    types: list[Scalar] = []
    for x in inputs:
        xt = Builder.type_of(x)
        own = w.operand(x)
        if own and isinstance(xt, (Scalar, Array)):
            types.append(scalar_of(xt))
            pairs.append((own[0], types[-1].dtype))
        else:  # never assigned
            pairs.append((literal(0, t.dtype), t.dtype))
    common = promote(types).dtype
    if t.dtype == "int32" and operation != "cast":
        for text, dtype in pairs:
            if dtype == "int64":
                w.fail_if(f"int64(int32({text})) != {text}")
    if isinstance(primitive.emit, Checked):
        _check(w, primitive.emit, pairs, t.dtype)
    elif operation == "power" and t.dtype not in FLOATS:
        w.fail_if(f"{converted(*pairs[1], t.dtype)} < 0")
    text = applied(w, node, operation, t.dtype, pairs, common)
    if isinstance(primitive.emit, Checked) and t.dtype in FLOATS and primitive.emit.check in ("finite_result", "power", "not_pole"):
        text = w.named(text, "t")
        finite = " and ".join(f"abs({converted(*p, t.dtype)}) < inf" for p in pairs)
        w.fail_if(f"abs({text}) == inf and {finite}")
    return text


def _check(w: KernelWriter, emit: Checked, pairs: list[tuple[str, str]], dtype: str) -> None:
    if emit.check == "finite_result":
        return
    if emit.check == "power":
        x, y = (w.named(converted(*p, dtype), "t") for p in pairs)
        if dtype not in FLOATS:
            w.fail_if(f"{y} < 0")
            return
        floor = function("floor", dtype)
        w.fail_if(f"{x} < 0.0 and {floor}({y}) != {y} and {x} != -inf")
        w.fail_if(f"{x} == 0.0 and {y} < 0.0 and {y} != -inf")
        return
    v = w.named(converted(*pairs[1 if emit.check == "second_nonzero" else 0], dtype), "t")
    if emit.check == "not_pole":
        w.fail_if(f"{v} <= 0.0 and {v} == {function('floor', dtype)}({v})")
        return
    condition = _CHECKS[emit.check] if dtype in FLOATS else "{v} == {zero}"
    w.fail_if(condition.format(v=v, zero=literal(0, dtype), one=literal(1, dtype)))


def function(name: str, dtype: str) -> str:
    """The name of a function of floats in the text."""
    return name if dtype == "float64" else f"{name}_f"


def applied(w: KernelWriter, node: Apply, operation: str, dtype: str, pairs: list[tuple[str, str]], common: str) -> str:
    """`operation` on (text, dtype) pairs; `dtype` is the result's, `common` the operands' promoted dtype."""
    if operation == "cast":
        source = w.named(pairs[0][0], "t") if pairs[0][1] in FLOATS and dtype not in FLOATS else pairs[0][0]
        return converted(source, pairs[0][1], dtype)
    if operation == "where":
        c, x, y = converted(*pairs[0], "bool"), *(converted(*p, dtype) for p in pairs[1:])
        return f"({x} if {c} else {y})"
    if operation in ("logical_and", "logical_or", "logical_not"):
        v = [converted(*p, "bool") for p in pairs]
        return f"(not {v[0]})" if operation == "logical_not" else f"({v[0]} {operation[8:]} {v[1]})"
    if operation in _COMPARE:
        wide = "int64" if common == "int32" and any(t == "int64" for _, t in pairs) else common
        return f"({converted(*pairs[0], wide)} {_COMPARE[operation]} {converted(*pairs[1], wide)})"
    if operation in ("isnan", "isinf", "isfinite"):
        v = converted(*pairs[0], common if common in FLOATS else "float64")
        return {"isnan": f"({v} != {v})", "isinf": f"(abs({v}) == inf)", "isfinite": f"(abs({v}) < inf)"}[operation]
    v = [converted(*p, dtype) for p in pairs]
    made = _floating(w, operation, v, dtype) if dtype in FLOATS else _boolean(operation, v) if dtype == "bool" else _integer(w, operation, v, dtype)
    if made is None:
        raise error("M801", node.provenance.span, message=f"'{operation}' of {dtype} numbers has no CUDA form", hint="use backend='numba'")
    return made


def _floating(w: KernelWriter, operation: str, v: list[str], dtype: str) -> str | None:
    zero = literal(0.0, dtype)
    if operation in _PLAIN:
        return f"{v[0]} {_PLAIN[operation]} {v[1]}"
    match operation:
        case "negative":
            return f"-{v[0]}"
        case "absolute":
            return f"abs({v[0]})"
        case "divide":
            return f"divide({v[0]}, {v[1]})"
        case "strong_multiply":
            return f"({zero} if {v[0]} == {zero} else {v[0]} * {v[1]})"
        case "strong_divide":
            return f"({zero} if {v[0]} == {zero} else divide({v[0]}, {v[1]}))"
        case "maximum" | "minimum":
            sign = ">" if operation == "maximum" else "<"
            return f"({v[0]} if {v[0]} {sign} {v[1]} or {v[0]} != {v[0]} else {v[1]})"
        case "sign":
            return f"({literal(1, dtype)} if {v[0]} > {zero} else {literal(-1, dtype)} if {v[0]} < {zero} else {zero} if {v[0]} == {zero} else {v[0]})"
        case "floor_divide" | "mod":
            return _float_division(w, v, dtype)[operation == "mod"]
        case _ if operation in LIBDEVICE:
            return f"{function(operation, dtype)}({', '.join(v)})"
        case _:
            return None


def _float_division(w: KernelWriter, v: list[str], dtype: str) -> tuple[str, str]:
    """Python's // and %: the remainder has the sign of the divisor, a zero too; by zero NumPy's x/0 and NaN."""
    zero, one, half = (literal(c, dtype) for c in (0.0, 1.0, 0.5))
    fmod, copysign, floor = (function(n, dtype) for n in ("fmod", "copysign", "floor"))
    x, y = (w.named(text, "t") for text in v)
    r = w.named(f"{fmod}({x}, {y})", "r")
    plain = w.named(f"divide({x}, {y})", "q")
    wrong = w.named(f"({r} != {zero} and ({r} < {zero}) != ({y} < {zero}))", "t")
    quotient = w.named(f"divide({x} - {r}, {y}) - ({one} if {wrong} else {zero})", "q")
    down = w.named(f"{floor}({quotient})", "q")
    down = w.named(f"({down} + {one} if {quotient} - {down} > {half} else {down})", "q")
    down = f"({copysign}({zero}, {plain}) if {quotient} == {zero} else {down})"
    remainder = f"({copysign}({zero}, {y}) if {r} == {zero} else {r} + {y} if {wrong} else {r})"
    return f"({plain} if {y} == {zero} else {down})", remainder


def _boolean(operation: str, v: list[str]) -> str | None:
    if operation == "invert":
        return f"(not {v[0]})"
    return f"({v[0]} {_BOOL[operation]} {v[1]})" if operation in _BOOL else None


def _integer(w: KernelWriter, operation: str, v: list[str], dtype: str) -> str | None:
    """The results of `+` and its like are brought back to the dtype, which Numba widens."""
    bits = 63 if dtype == "int64" else 31

    def typed(text: str) -> str:
        return f"int32({text})" if dtype == "int32" else text

    if operation in _PLAIN or operation in _BITS:
        return typed(f"{v[0]} {(_PLAIN | _BITS)[operation]} {v[1]}") if dtype == "int32" else f"({v[0]} {(_PLAIN | _BITS)[operation]} {v[1]})"
    match operation:
        case "negative":
            return typed(f"-{v[0]}")
        case "invert":
            return typed(f"~{v[0]}")
        case "absolute":
            return typed(f"abs({v[0]})")
        case "maximum" | "minimum":
            return f"({v[0]} if {v[0]} {'>' if operation == 'maximum' else '<'} {v[1]} else {v[1]})"
        case "sign":
            return typed(f"(1 if {v[0]} > 0 else -1 if {v[0]} < 0 else 0)")
        case "floor_divide" | "mod":
            sign = "//" if operation == "floor_divide" else "%"
            return typed(f"({v[0]} {sign} {v[1]} if {v[1]} != 0 else 0)")
        case "left_shift":
            return typed(f"({v[0]} << {v[1]} if 0 <= {v[1]} <= {bits} else 0)")
        case "right_shift":
            return typed(f"({v[0]} >> ({v[1]} if 0 <= {v[1]} <= {bits} else {bits}))")
        case "power":
            return typed(_int_power(w, v))
        case _:
            return None


def _int_power(w: KernelWriter, v: list[str]) -> str:
    """By repeated squaring."""
    base, n, product = (w.copy(f"int64({text})", hint, "i") for text, hint in ((v[0], "base"), (v[1], "n"), ("1", "product")))
    w.line(f"while {n} > 0:")
    w.line(f"    if {n} & 1 == 1:")
    w.line(f"        {product} = {product} * {base}")
    w.line(f"    {base} = {base} * {base}")
    w.line(f"    {n} = {n} >> 1")
    return product


__all__ = ["LIBDEVICE", "literal", "scalar"]
