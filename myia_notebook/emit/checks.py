"""Python's exceptions on Python numbers, in LLVM."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir

from myia_notebook.emit.scalar import I32, I64
from myia_notebook.ops.primitive import Checked
from myia_notebook.provenance import Span

if TYPE_CHECKING:
    from myia_notebook.emit.llvm import Machine


def narrowed(m: Machine, value: Any, dtype: str, result: str, operation: str, span: Span | None) -> tuple[Any, str]:
    """A Python int that meets an int32 becomes one: fails when it does not fit."""
    if dtype != "int64" or result != "int32" or operation == "cast":
        return value, dtype
    narrow = m.b.trunc(value, I32)
    m.check(m.b.icmp_signed("==", m.b.sext(narrow, I64), value), "M708", "a Python int is too large for int32", span)
    return narrow, "int32"


def check_exponent(m: Machine, operation: str, dtype: str, pairs: list[tuple[Any, str]], span: Span | None) -> None:
    """An int to a negative int power is no int: NumPy refuses it too."""
    if operation == "power" and dtype in ("int32", "int64"):
        y = m.ops.convert(m.b, *pairs[1], dtype)
        m.check(m.b.icmp_signed(">=", y, ir.Constant(y.type, 0)), "M702", "integers to negative integer powers are not allowed", span)


def check_finite(m: Machine, result: Any, pairs: list[tuple[Any, str]], dtype: str, code: str, message: str, span: Span | None) -> None:
    """Python's OverflowError: an infinite result of finite operands."""
    b = m.b
    good = b.not_(m.ops._classify(b, "isinf", result, dtype))
    for pair in pairs:
        good = b.or_(good, b.not_(m.ops._classify(b, "isfinite", m.ops.convert(b, *pair, dtype), dtype)))
    m.check(good, code, message, span)


def check_operands(m: Machine, emit: Checked, pairs: list[tuple[Any, str]], dtype: str, span: Span | None) -> None:
    """Python's exceptions on Python numbers."""
    b = m.b
    if emit.check == "finite_result":
        return
    if emit.check == "power":
        check_power(m, emit, pairs, dtype, span)
        return
    which = 1 if emit.check == "second_nonzero" else 0
    v = m.ops.convert(b, *pairs[which], dtype)
    zero = ir.Constant(v.type, 0.0 if dtype in ("float64", "float32") else 0)
    if dtype not in ("float64", "float32"):
        m.check(b.icmp_signed("!=", v, zero), emit.code, emit.message, span)
        return
    one = ir.Constant(v.type, 1.0)
    size = m.ops._call(b, "llvm.fabs", v.type, [v])
    condition = {"second_nonzero": lambda: b.fcmp_unordered("!=", v, zero), "nonnegative": lambda: b.fcmp_unordered(">=", v, zero),
                 "positive": lambda: b.fcmp_unordered(">", v, zero), "unit_interval": lambda: b.fcmp_unordered("<=", size, one),
                 "at_least_one": lambda: b.fcmp_unordered(">=", v, one), "open_unit": lambda: b.fcmp_unordered("<", size, one),
                 "above_minus_one": lambda: b.fcmp_unordered(">", v, ir.Constant(v.type, -1.0)),
                 "not_infinite": lambda: b.fcmp_unordered("!=", size, ir.Constant(v.type, float("inf"))),
                 "fits_int": lambda: b.fcmp_ordered("<", size, ir.Constant(v.type, 2.0**63)),
                 "not_pole": lambda: b.or_(b.fcmp_unordered(">", v, zero), b.fcmp_unordered("!=", v, m.ops._call(b, "llvm.floor", v.type, [v])))}[emit.check]()
    m.check(condition, emit.code, emit.message, span)


def check_power(m: Machine, emit: Checked, pairs: list[tuple[Any, str]], dtype: str, span: Span | None) -> None:
    b = m.b
    x, y = (m.ops.convert(b, *p, dtype) for p in pairs)
    if dtype not in ("float64", "float32"):
        m.check(b.icmp_signed(">=", y, ir.Constant(y.type, 0)), "M702",
                   "an int to a negative int power known only at run time: write float(x) ** n", span)
        return
    zero = ir.Constant(x.type, 0.0)
    whole = b.fcmp_unordered("==", y, m.ops._call(b, "llvm.floor", y.type, [y]))
    endless = b.fcmp_ordered("==", x, ir.Constant(x.type, float("-inf")))
    m.check(b.or_(b.or_(b.fcmp_unordered(">=", x, zero), whole), endless), "M702", "a negative number to a fractional power is complex", span)
    infinite = b.fcmp_ordered("==", y, ir.Constant(y.type, float("-inf")))
    whole_or_far = b.or_(b.fcmp_unordered(">=", y, zero), infinite)
    m.check(b.or_(b.fcmp_unordered("!=", x, zero), whole_or_far), "M701", "0.0 cannot be raised to a negative power", span)
