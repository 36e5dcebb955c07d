"""Arithmetic on LLVM values written as Python expressions: what `emit.vector_math` is spelled in.

A `Term` is a float, an integer of the same width, or a condition; operators append instructions to the builder. Nothing branches, so that LLVM's
loop vectorizer takes what is written; no fast-math flag is set, since rounding by a magic number and compensated sums must stay as written.
"""
from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A value and the code it belongs to; `kind` is f (float), i (integer) or b (condition)."""

    code: FloatCode
    value: Any
    kind: str

    def __add__(self, y: Any) -> Term:
        return self.code.binary("add", self, y)

    def __radd__(self, y: Any) -> Term:
        return self.code.binary("add", y, self)

    def __sub__(self, y: Any) -> Term:
        return self.code.binary("sub", self, y)

    def __rsub__(self, y: Any) -> Term:
        return self.code.binary("sub", y, self)

    def __mul__(self, y: Any) -> Term:
        return self.code.binary("mul", self, y)

    def __rmul__(self, y: Any) -> Term:
        return self.code.binary("mul", y, self)

    def __truediv__(self, y: Any) -> Term:
        return self.code.binary("div", self, y)

    def __rtruediv__(self, y: Any) -> Term:
        return self.code.binary("div", y, self)

    def __and__(self, y: Any) -> Term:
        return self.code.binary("and_", self, y)

    def __or__(self, y: Any) -> Term:
        return self.code.binary("or_", self, y)

    def __xor__(self, y: Any) -> Term:
        return self.code.binary("xor", self, y)

    def __lshift__(self, y: Any) -> Term:
        return self.code.binary("shl", self, y)

    def __rshift__(self, y: Any) -> Term:
        return self.code.binary("lshr", self, y)

    def __neg__(self) -> Term:
        return Term(self.code, self.code.b.fneg(self.value), "f")

    def __invert__(self) -> Term:
        return Term(self.code, self.code.b.not_(self.value), "b")

    def __lt__(self, y: Any) -> Term:
        return self.code.compare("<", self, y)

    def __gt__(self, y: Any) -> Term:
        return self.code.compare(">", self, y)

    def __ge__(self, y: Any) -> Term:
        return self.code.compare(">=", self, y)

    def is_equal(self, y: Any) -> Term:
        return self.code.compare("==", self, y)

    def differs(self, y: Any) -> Term:
        """Also where one is NaN."""
        return self.code.compare("!=", self, y)


class FloatCode:
    """Emits at a builder for floats of 64 or 32 bits."""

    def __init__(self, b: ir.IRBuilder, bits: int) -> None:
        self.b, self.bits = b, bits
        self.float = ir.DoubleType() if bits == 64 else ir.FloatType()
        self.int = ir.IntType(bits)
        self.mantissa, self.bias = (52, 1023) if bits == 64 else (23, 127)
        self.magic = 1.5 * 2.0 ** self.mantissa  # added to a small float, it leaves its nearest integer in the low bits
        self.magic_bits = self.bits_of(self.magic)

    def bits_of(self, value: float) -> int:
        return int(struct.unpack("<q", struct.pack("<d", value))[0] if self.bits == 64 else struct.unpack("<i", struct.pack("<f", value))[0])

    def term(self, x: Any, kind: str = "f") -> Term:
        """A number as a term of that kind; a term as it is."""
        if isinstance(x, Term):
            return x
        if kind == "i":
            x &= (1 << self.bits) - 1
            return Term(self, ir.Constant(self.int, x - (1 << self.bits) if x >> (self.bits - 1) else x), "i")
        rounded = struct.unpack("<f", struct.pack("<f", x))[0] if self.bits == 32 else x
        return Term(self, ir.Constant(self.float, float(rounded)), "f")

    def binary(self, name: str, x: Any, y: Any) -> Term:
        kind = (x if isinstance(x, Term) else y).kind
        x, y = self.term(x, kind), self.term(y, kind)
        return Term(self, getattr(self.b, "f" + name if kind == "f" else name)(x.value, y.value), kind)

    def compare(self, name: str, x: Term, y: Any) -> Term:
        y = self.term(y, x.kind)
        if x.kind == "i":
            return Term(self, self.b.icmp_signed(name, x.value, y.value), "b")
        return Term(self, (self.b.fcmp_unordered if name == "!=" else self.b.fcmp_ordered)(name, x.value, y.value), "b")

    def select(self, condition: Term, x: Any, y: Any) -> Term:
        kind = x.kind if isinstance(x, Term) else y.kind if isinstance(y, Term) else "f"
        return Term(self, self.b.select(condition.value, self.term(x, kind).value, self.term(y, kind).value), kind)

    def intrinsic(self, name: str, *arguments: Any) -> Term:
        full = f"llvm.{name}.f{self.bits}"
        f = self.b.module.globals.get(full)
        if f is None:
            f = ir.Function(self.b.module, ir.FunctionType(self.float, [self.float] * len(arguments)), full)
        return Term(self, self.b.call(f, [self.term(x).value for x in arguments]), "f")

    def fma(self, x: Any, y: Any, z: Any) -> Term:
        return self.intrinsic("fma", x, y, z)

    def abs(self, x: Term) -> Term:
        return self.intrinsic("fabs", x)

    def to_bits(self, x: Term) -> Term:
        return Term(self, self.b.bitcast(x.value, self.int), "i")

    def to_float(self, x: Term) -> Term:
        return Term(self, self.b.bitcast(x.value, self.float), "f")

    def clamp(self, x: Term, low: float, high: float) -> Term:
        """NaN stays."""
        x = self.select(x > high, high, x)
        return self.select(x < low, low, x)

    def polynomial(self, x: Term, coefficients: Sequence[float]) -> Term:
        """From the lowest power, in pairs (Estrin's scheme): short chains of dependence."""
        level = [self.term(c) for c in coefficients]
        power = x
        while len(level) > 1:
            level = [self.fma(level[i + 1], power, level[i]) if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]
            if len(level) > 1:
                power = power * power
        return level[0]

    def power_of_two(self, biased: Term, offset: int = 0) -> Term:
        """2^(k + offset) for k given as the bits of magic + k; in the range of normal numbers."""
        return self.to_float((biased + (self.bias + offset - self.magic_bits)) << self.mantissa)


__all__ = ["FloatCode", "Term"]
