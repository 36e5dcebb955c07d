"""Elementary functions for array loops, without branches, so that LLVM computes several elements at once.

Each function is one internal LLVM function of a scalar, inlined into the loop. Arguments are reduced with fused multiply-adds, so a processor without
them uses libm. Errors stay under 2 units in the last place (tested against mpmath); NaN, infinities, zeros' signs and subnormals come out as in libm. sin and cos are
right up to `largest(name, dtype)`: a loop notes a greater argument and is run again with libm (see `emit.loops`).

Reductions and the kernels of log, sin and cos follow the classical ones of fdlibm; exp is Cody and Waite's, tanh and expm1 carry 2^k − 1 exactly.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from myia_notebook.emit.float_code import FloatCode, Term

_H = float.fromhex
_EXP = {64: (0.5000000000000001, 0.16666666666666674, 0.04166666666662347, 0.008333333333322408, 0.001388888891754024, 0.00019841269886003681,
             2.4801520789993224e-05, 2.7557242974138735e-06, 2.7620328497770435e-07, 2.5109819389840508e-08),
        32: (0.5, 0.16666576266288757, 0.04166637733578682, 0.008363294415175915, 0.0013940909411758184)}
_LN2 = {64: (_H("0x1.62e42fefa39efp-1"), _H("0x1.abc9e3b39803fp-56")), 32: (_H("0x1.62e43p-1"), -_H("0x1.05c61p-29"))}
_LOG2_E = {64: _H("0x1.71547652b82fep+0"), 32: _H("0x1.715476p+0")}
_EXP_RANGE = {64: (-746.0, 710.0), 32: (-104.0, 89.0)}
_EXPM1_LOW = {64: -40.0, 32: -20.0}
_TANH_HIGH = {64: 20.0, 32: 10.0}
_TINY = {64: 1e-17, 32: 1e-9}
_LOG = {64: (6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01, 1.818357216161805012e-01,
             1.531383769920937332e-01, 1.479819860511658591e-01),
        32: (0.66666662693, 0.40000972152, 0.28498786688, 0.24279078841)}
_LOG_LN2 = {64: (6.93147180369123816490e-01, 1.90821492927058770002e-10), 32: (6.9313812256e-01, 9.0580006145e-06)}  # k times the first is exact
_HALF_PI = {64: (_H("0x1.921fb54442d18p+0"), _H("0x1.1a62633145c07p-54"), _H("-0x1.f1976b7ed8fbcp-110")),
            32: (_H("0x1.921fb6p+0"), -_H("0x1.777a5cp-25"), -_H("0x1.ee59dap-50"))}
_TWO_OVER_PI = {64: _H("0x1.45f306dc9c883p-1"), 32: _H("0x1.45f306p-1")}
_SIN = {64: (-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06,
             -2.50507602534068634195e-08, 1.58969099521155010221e-10),
        32: (-0.1666666716337204, 0.008333331905305386, -0.00019840063760057092, 2.7246940135228215e-06)}
_COS = {64: (4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05, -2.75573143513906633035e-07,
             2.08757232129817482790e-09, -1.13596475577881948265e-11),
        32: (0.0416666679084301, -0.00138888880610466, 2.4800581741146743e-05, -2.7298457894175954e-07)}
_LARGEST = {64: 2.0 ** 45, 32: 1e5}


def largest(name: str, bits: int) -> float | None:
    """The greatest magnitude that the function reduces rightly; None where all are."""
    return _LARGEST[bits] if name in ("sin", "cos") else None


@functools.cache
def is_available() -> bool:
    """Whether the processor has fused multiply-adds."""
    import llvmlite.binding as llvm
    return bool(llvm.get_host_cpu_features().get("fma", False))


def vector_function(module: ir.Module, name: str, bits: int) -> ir.Function:
    """The function of that name in the module, written there at its first use."""
    full = f"myia_vector_{name}_{bits}"
    known = module.globals.get(full)
    if known is not None:
        return known
    t = ir.DoubleType() if bits == 64 else ir.FloatType()
    f = ir.Function(module, ir.FunctionType(t, [t]), full)
    f.linkage = "internal"
    f.attributes.add("alwaysinline")
    b = ir.IRBuilder(f.append_basic_block("entry"))
    code = FloatCode(b, bits)
    b.ret(KERNELS[name](code, code.term(Term(code, f.args[0], "f"))).value)
    return f


# -- exp and what is made of it

def _reduced(c: FloatCode, x: Term) -> tuple[Term, Term]:
    """(the bits of magic + k, r) with x = k ln 2 + r."""
    high, low = _LN2[c.bits]
    t = c.fma(x, _LOG2_E[c.bits], c.magic)
    k = t - c.magic
    return c.to_bits(t), c.fma(k, -low, c.fma(k, -high, x))


def _exp(c: FloatCode, x: Term) -> Term:
    biased, r = _reduced(c, c.clamp(x, *_EXP_RANGE[c.bits]))
    p = c.fma(r * r, c.polynomial(r, _EXP[c.bits]), r) + 1.0
    k = biased - c.magic_bits
    span = 4 * (c.bias + 1)
    half = ((k + span) >> 1) - span // 2  # 2^k in two factors: results may be subnormal, or overflow
    return (p * c.power_of_two(half + c.magic_bits)) * c.power_of_two(k - half + c.magic_bits)


def _minus_one(c: FloatCode, s: Term, r: Term, one: float) -> tuple[Term, Term]:
    """s·e^r − one as (high, low), where s is a power of two."""
    q = (r * r) * c.polynomial(r, _EXP[c.bits])
    a = s - one
    high = c.fma(s, r, a)
    low = c.select(c.abs(a) > c.abs(s * r), c.fma(s, r, a - high), c.fma(s, r, -high) + a)
    return high, c.fma(s, q, low)


def _expm1(c: FloatCode, x: Term) -> Term:
    biased, r = _reduced(c, c.clamp(x, _EXPM1_LOW[c.bits], _EXP_RANGE[c.bits][1]))
    high, low = _minus_one(c, c.power_of_two(biased, -1), r, 0.5)  # half of it: k may be one more than a float has
    y = high + low
    return c.select(c.abs(x) < _TINY[c.bits], x, y + y)


def _tanh(c: FloatCode, x: Term) -> Term:
    """t / (t + 2) with t = e^2|x| − 1, the quotient corrected once."""
    a = c.abs(x)
    a = c.select(a > _TANH_HIGH[c.bits], _TANH_HIGH[c.bits], a)
    biased, r = _reduced(c, a + a)
    high, low = _minus_one(c, c.power_of_two(biased), r, 1.0)
    t = high + low
    t_low = low - (t - high)
    d = t + 2.0
    d_low = t - (d - 2.0)
    inverse = 1.0 / d
    y = t * inverse
    y = c.fma(c.fma(-y, d, t) + (t_low - y * (d_low + t_low)), inverse, y)
    return c.intrinsic("copysign", c.select(c.abs(x) < _TINY[c.bits], c.abs(x), y), x)


# -- logarithms

def _split(c: FloatCode, x: Term, subnormal: bool) -> tuple[Term, Term]:
    """(k, m) with x = 2^k m, m between √½ and √2, for x > 0."""
    small = x < (2.0 ** (1 - c.bias))
    if subnormal:
        x = c.select(small, x * 2.0 ** (c.mantissa + 2), x)
    bits = c.to_bits(x)
    t = bits - c.bits_of(math.sqrt(0.5))
    k = (t + (1 << (c.bits - 2))) >> c.mantissa
    zero = 1 << (c.bits - 2 - c.mantissa)
    m = c.to_float(bits - ((k - zero) << c.mantissa))
    whole = 2.0 ** c.mantissa
    power = c.to_float(k | c.bits_of(whole)) - (whole + zero)
    return (c.select(small, power - (c.mantissa + 2.0), power) if subnormal else power), m


def _log_kernel(c: FloatCode, k: Term, f: Term, correction: Any) -> Term:
    """k ln 2 + log(1 + f) + correction."""
    high, low = _LOG_LN2[c.bits]
    s = f / (f + 2.0)
    z = s * s
    w = 0.5 * f * f
    tail = z * c.polynomial(z, _LOG[c.bits])
    return k * high - ((w - (s * (w + tail) + (k * low + correction))) - f)


def _log(c: FloatCode, x: Term) -> Term:
    k, m = _split(c, x, True)
    y = _log_kernel(c, k, m - 1.0, 0.0)
    y = c.select(x.is_equal(math.inf), x, y)
    return c.select(x.is_equal(0.0), -math.inf, c.select(x >= 0.0, y, math.nan))


def _log1p(c: FloatCode, x: Term) -> Term:
    u = x + 1.0
    k, m = _split(c, u, False)
    near = k.is_equal(0.0)
    lost = c.select(k > 0.0, 1.0 - (u - x), x - (u - 1.0)) / u
    y = _log_kernel(c, k, c.select(near, x, m - 1.0), c.select(near, 0.0, lost))
    y = c.select(x.is_equal(math.inf), x, c.select(x.is_equal(-1.0), -math.inf, y))
    y = c.select(c.abs(x) < _TINY[c.bits], x, y)
    return c.select(x >= -1.0, y, math.nan)


# -- sine and cosine

def _quarter_turns(c: FloatCode, x: Term) -> tuple[Term, Term, Term]:
    """(bits whose low ones count quarter turns, rest, rest's error)."""
    first, second, third = _HALF_PI[c.bits]
    t = c.fma(x, _TWO_OVER_PI[c.bits], c.magic)
    n = t - c.magic
    a = c.fma(n, -first, x)
    w = n * second
    w_low = c.fma(n, second, -w)
    r = a - w
    back = r - a
    return c.to_bits(t), r, ((a - (r - back)) - (w + back)) - c.fma(n, third, w_low)


def _sin_cos(c: FloatCode, x: Term) -> tuple[Term, Term, Term]:
    """(quarter turns, sine, cosine of the rest)."""
    turns, r, low = _quarter_turns(c, x)
    z = r * r
    v = z * r
    sine = r - ((z * (0.5 * low - v * c.polynomial(z, _SIN[c.bits][1:])) - low) - v * _SIN[c.bits][0])
    half = 0.5 * z
    w = 1.0 - half
    cosine = w + (((1.0 - w) - half) + (z * (z * c.polynomial(z, _COS[c.bits])) - r * low))
    return turns, sine, cosine


def _sin(c: FloatCode, x: Term) -> Term:
    turns, sine, cosine = _sin_cos(c, x)
    y = c.to_bits(c.select((turns & 1).differs(0), cosine, sine)) ^ ((turns & 2) << (c.bits - 2))
    return c.select(c.abs(x) < (1e-8 if c.bits == 64 else 1e-4), x, c.to_float(y))


def _cos(c: FloatCode, x: Term) -> Term:
    turns, sine, cosine = _sin_cos(c, x)
    return c.to_float(c.to_bits(c.select((turns & 1).differs(0), sine, cosine)) ^ (((turns + 1) & 2) << (c.bits - 2)))


KERNELS: dict[str, Callable[[FloatCode, Term], Term]] = {
    "exp": _exp, "expm1": _expm1, "tanh": _tanh, "log": _log, "log1p": _log1p, "sin": _sin, "cos": _cos}

__all__ = ["KERNELS", "is_available", "largest", "vector_function"]
