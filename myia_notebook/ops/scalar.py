"""Arithmetic and mathematical functions: one line an operation, its derivative beside it.

In each rule x, y are the operands, z or `out` the result and d the sensitivity ∇z. `d * p` is the strong product (0·∞ = 0).
Derivatives: NIST Digital Library of Mathematical Functions, chapters 4 (elementary) and 7 (erf).
"""
from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from myia_notebook.ir.types import Array
from myia_notebook.ops.elementwise import POSITIVE_1, POSITIVE_2, UNIT_1, arithmetic, checked, function_of_one, function_of_two, number, on_values
from myia_notebook.ops.expression import Expr, apply
from myia_notebook.ops.primitive import Elementwise, FromBackpropagator, Kernel, NotDifferentiable, Primitive, Sample
from myia_notebook.ops.promotion import as_float

STEP = NotDifferentiable("a step function: its derivative is zero almost everywhere")
TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)


def fn(name: str, x: Any) -> Expr:
    return apply(name, x)


# -- arithmetic

add = function_of_two("add", np.add, lambda x, y, out, d: (d, d), "+", laws=("commutative", "associative", "linear"), python=operator.add)
subtract = function_of_two("subtract", np.subtract, lambda x, y, out, d: (d, -d), "−", laws=("linear",), python=operator.sub)
multiply = function_of_two("multiply", np.multiply, lambda x, y, out, d: (lambda: d * y, lambda: d * x), "×", laws=("commutative", "associative"),
                           python=operator.mul)                                             # ∇x = ∇z·y, ∇y = ∇z·x
divide = function_of_two("divide", np.divide, lambda x, y, out, d: (lambda: d / y, lambda: -(d * (out / y))), "/", samples=POSITIVE_2,
                         result=as_float, python=operator.truediv)                          # ∇x = ∇z/y, ∇y = −∇z·z/y
floor_divide = function_of_two("floor_divide", np.floor_divide, STEP, "//", samples=POSITIVE_2, python=operator.floordiv)
mod = function_of_two("mod", np.mod, lambda x, y, out, d: (d, lambda: -(d * fn("floor", x / y))), "mod", samples=POSITIVE_2,
                      python=operator.mod)                                                  # z = x − y·⌊x/y⌋
negative = function_of_one("negative", np.negative, lambda x, out, d: -d, symbol="−", reference="IEEE 754", result=number, python=operator.neg)


def _power_rule(x: Expr, y: Expr, out: Expr, d: Expr) -> tuple[Any, Any]:
    """∇x = ∇z·y·x^(y−1), right at x = 0; ∇y = ∇z·z·log x, and 0 where x = 0 (z·log x → 0 for y > 0)."""

    def base() -> Expr | None:
        if y.value == 0 and isinstance(y.value, (int, float)):
            return None
        if y.value == 1 and isinstance(y.value, (int, float)):
            return d
        if y.value == 2 and isinstance(y.value, (int, float)):
            return d * (2.0 * x)
        if isinstance(y.value, (int, float)):
            return d * (float(y.value) * x ** (y.value - 1))
        # x^(y−1) is infinite at x = 0 when y < 1; there y = 0 means the constant 1
        return d * apply("where", y.equals(0), 0.0, y * x ** (y - 1))

    def exponent() -> Expr:
        safe = apply("where", x.equals(0), 1.0, x)
        return d * (out * apply("log", safe))

    return base, exponent


def _real_power(x: Any, y: Any) -> Any:
    """Python's power without complex numbers, ints modulo 2^64 (so that a huge one takes no memory)."""
    if isinstance(x, int) and isinstance(y, int):
        if y < 0:
            raise ValueError("an int to a negative int power")
        return pow(int(x), int(y), 2**64)
    result = x**y
    if isinstance(result, complex):
        raise ValueError("a negative number to a fractional power is complex")
    return result


power = function_of_two("power", np.power, _power_rule, "^", samples=POSITIVE_2 + (Sample((-2.0, 3), (0,)), Sample((np.array([0.0, -1.5]), 2), (0,))),
                        python=_real_power)


def _strong_multiply(d: Any, p: Any) -> Any:
    product = np.multiply(d, p)
    return np.where(np.equal(d, 0), np.zeros_like(product), product)


def _strong_divide(d: Any, p: Any) -> Any:
    quotient = np.divide(d, p)
    return np.where(np.equal(d, 0), np.zeros_like(quotient), quotient)


def _strong_tangent(arguments: list[Expr], out: Expr, tangents: list[Any]) -> Expr | None:
    """(d·p)˙ = ḋ·p + d·ṗ and (d/p)˙ = ḋ/p − z·ṗ/p, where d, itself a masked zero, keeps d·ṗ and z·ṗ zero whatever ṗ is."""
    d, p = arguments
    d_dot, p_dot = tangents
    first = None if d_dot is None else d_dot * p
    second = None if p_dot is None else apply("strong_multiply", d, p_dot)
    return first if second is None else second if first is None else first + second


def _strong_quotient_tangent(arguments: list[Expr], out: Expr, tangents: list[Any]) -> Expr | None:
    d, p = arguments
    d_dot, p_dot = tangents
    first = None if d_dot is None else d_dot / p
    second = None if p_dot is None else apply("strong_divide", apply("strong_multiply", out, p_dot), p)
    return first if second is None else -second if first is None else first - second


strong_multiply = function_of_two(
    "strong_multiply", _strong_multiply, lambda x, p, out, d: (lambda: d * p, lambda: d * x), "·", laws=("strong",),
    python=lambda d, p: 0.0 * d if d == 0 and not math.isnan(d) else d * p, reference="docs/architecture.md, strong zeros",
    tangent=_strong_tangent)
strong_divide = function_of_two(
    "strong_divide", _strong_divide, lambda x, p, out, d: (lambda: d / p, lambda: -(d * (out / p))), "/", laws=("strong",), samples=POSITIVE_2,
    result=as_float, python=lambda d, p: 0.0 * d if d == 0 else d / p, reference="docs/architecture.md, strong zeros",
    tangent=_strong_quotient_tangent)

# -- functions of one variable

absolute = function_of_one("absolute", np.absolute, lambda x, out, d: d * fn("sign", x), symbol="abs", result=number, python=abs)   # 0 at 0
sign = function_of_one("sign", np.sign, STEP, result=number)
sqrt = function_of_one("sqrt", np.sqrt, lambda x, out, d: d / (2.0 * out), POSITIVE_1, "√", python=math.sqrt)
cbrt = function_of_one("cbrt", np.cbrt, lambda x, out, d: d / (3.0 * (out * out)), POSITIVE_1)
exp = function_of_one("exp", np.exp, lambda x, out, d: d * out, python=math.exp)
exp2 = function_of_one("exp2", np.exp2, lambda x, out, d: d * (out * math.log(2.0)))
expm1 = function_of_one("expm1", np.expm1, lambda x, out, d: d * (out + 1.0), python=math.expm1)
log = function_of_one("log", np.log, lambda x, out, d: d / x, POSITIVE_1, python=math.log)
log2 = function_of_one("log2", np.log2, lambda x, out, d: d / (x * math.log(2.0)), POSITIVE_1, python=math.log2)
log10 = function_of_one("log10", np.log10, lambda x, out, d: d / (x * math.log(10.0)), POSITIVE_1, python=math.log10)
log1p = function_of_one("log1p", np.log1p, lambda x, out, d: d / (1.0 + x), POSITIVE_1, python=math.log1p)
sin = function_of_one("sin", np.sin, lambda x, out, d: d * fn("cos", x), python=math.sin)
cos = function_of_one("cos", np.cos, lambda x, out, d: -(d * fn("sin", x)), python=math.cos)
tan = function_of_one("tan", np.tan, lambda x, out, d: d * (1.0 + out * out), python=math.tan)
arcsin = function_of_one("arcsin", np.arcsin, lambda x, out, d: d / fn("sqrt", 1.0 - x * x), UNIT_1, python=math.asin)
arccos = function_of_one("arccos", np.arccos, lambda x, out, d: -(d / fn("sqrt", 1.0 - x * x)), UNIT_1, python=math.acos)
arctan = function_of_one("arctan", np.arctan, lambda x, out, d: d / (1.0 + x * x), python=math.atan)
sinh = function_of_one("sinh", np.sinh, lambda x, out, d: d * fn("cosh", x), python=math.sinh)
cosh = function_of_one("cosh", np.cosh, lambda x, out, d: d * fn("sinh", x), python=math.cosh)
tanh = function_of_one("tanh", np.tanh, lambda x, out, d: d * (1.0 - out * out), python=math.tanh)
arcsinh = function_of_one("arcsinh", np.arcsinh, lambda x, out, d: d / fn("sqrt", x * x + 1.0), python=math.asinh)
arccosh = function_of_one("arccosh", np.arccosh, lambda x, out, d: d / fn("sqrt", x * x - 1.0),
                          (Sample((1.7,), (0,)), Sample((np.array([1.5, 2.5]),), (0,))), python=math.acosh)
arctanh = function_of_one("arctanh", np.arctanh, lambda x, out, d: d / (1.0 - x * x), UNIT_1, python=math.atanh)


def _by_math(function: Any, at_pole: float) -> Any:
    """A function of `math` on arrays; a pole, where `math` raises, gives `at_pole`, what is beyond the range infinity."""
    def one(x: float) -> float:
        if x == 0 and function is math.gamma:
            return math.copysign(math.inf, x)
        try:
            return float(function(x))
        except OverflowError:
            return math.inf
        except ValueError:
            return at_pole

    def elementwise(x: Any) -> Any:
        v = np.asarray(x)
        return np.vectorize(one, otypes=[np.float64])(v).astype(v.dtype if v.dtype.kind == "f" else np.float64)[()]
    return elementwise


erf = function_of_one("erf", _by_math(math.erf, math.nan), lambda x, out, d: d * (TWO_OVER_ROOT_PI * fn("exp", -(x * x))), python=math.erf, reference="DLMF §7.2")
erfc = function_of_one("erfc", _by_math(math.erfc, math.nan), lambda x, out, d: -(d * (TWO_OVER_ROOT_PI * fn("exp", -(x * x)))), python=math.erfc,
                       reference="DLMF §7.2")
lgamma = function_of_one("lgamma", _by_math(math.lgamma, math.inf), lambda x, out, d: d * apply("polygamma", x, static=[0]), POSITIVE_1, "log |Γ|",
                         "DLMF §5.2", python=math.lgamma)                                   # ∇x = ∇z·ψ(x)
gamma = function_of_one("gamma", _by_math(math.gamma, math.nan), lambda x, out, d: d * (out * apply("polygamma", x, static=[0])), POSITIVE_1, "Γ", "DLMF §5.2",
                        python=math.gamma)                                                  # ∇x = ∇z·z·ψ(x)
floor = function_of_one("floor", np.floor, STEP)
ceil = function_of_one("ceil", np.ceil, STEP)
trunc = function_of_one("trunc", np.trunc, STEP)
rint = function_of_one("rint", np.rint, STEP)

# -- functions of two variables


def _extreme(chosen: str) -> Any:
    """Ties share the sensitivity equally: the subgradient in the middle."""

    def rule(x: Expr, y: Expr, out: Expr, d: Expr) -> tuple[Any, Any]:
        def part(a: Expr, b: Expr) -> Expr:
            wins = apply(chosen, a, b)
            return d * apply("where", wins, 1.0, apply("where", a.equals(b), 0.5, 0.0))

        return lambda: part(x, y), lambda: part(y, x)

    return rule


maximum = function_of_two("maximum", np.maximum, _extreme("greater"), "max", False, ("commutative", "associative"), reference="NumPy")
minimum = function_of_two("minimum", np.minimum, _extreme("less"), "min", False, ("commutative", "associative"), reference="NumPy")


def _angle_rule(y: Expr, x: Expr, out: Expr, d: Expr) -> tuple[Any, Any]:
    """∇y = ∇z·x/(x² + y²), ∇x = −∇z·y/(x² + y²); 0 at the origin."""
    def square() -> Expr:
        s = x * x + y * y
        return apply("where", s.equals(0), 1.0, s)

    return lambda: d * (x / square()), lambda: -(d * (y / square()))


arctan2 = function_of_two("arctan2", np.arctan2, _angle_rule, "arctan2", False, result=as_float, python=math.atan2)


def _hypot_rule(x: Expr, y: Expr, out: Expr, d: Expr) -> tuple[Any, Any]:
    """∇x = ∇z·x/z, ∇y = ∇z·y/z; 0, a subgradient, at the origin."""
    safe = apply("where", out.equals(0), 1.0, out)
    return lambda: d * (x / safe), lambda: d * (y / safe)


hypot = function_of_two("hypot", np.hypot, _hypot_rule, "hypot", False, ("commutative",),
                        result=as_float, python=math.hypot)


def _where_rule(c: Expr, x: Expr, y: Expr, out: Expr, d: Expr) -> tuple[Any, ...]:
    """A side that is not taken gets an exact zero, which strong products keep zero."""
    return None, lambda: apply("where", c, d, 0.0), lambda: apply("where", c, 0.0, d)


def _where_infer(arguments: list[Any]) -> Any:
    from myia_notebook.ops.promotion import broadcast, require_numbers, shape_of
    types = [a.type for a in arguments]
    require_numbers("where", types)
    result = arithmetic("where", 2)(arguments[1:])
    shape = broadcast("where", [shape_of(t) for t in types])
    if isinstance(result, Array):
        return Array(result.dtype, shape)
    return Array(result.dtype, shape) if shape else result


where = Primitive("where", _where_infer, on_values(np.where), _where_rule, FromBackpropagator(), Elementwise("where"), "where", False,
                  frozenset({"elementwise", "masking"}), (Sample((np.array([True, False, True]), np.array([1.0, 2.0, 3.0]), 0.5), (1, 2)),
                                                          Sample((True, 1.5, 2.5), (1, 2))), "NumPy")

# -- Python's meaning on Python scalars


def _python_mod(x: Any, y: Any) -> Any:
    return x % y


def _python_power(x: Any, y: Any) -> Any:
    """Python's `**` on int and float; a negative base with a fractional exponent would be complex."""
    if type(y) is float and x < 0 and math.isfinite(x) and math.isfinite(y) and y != math.floor(y):
        raise ValueError("a negative number to a fractional power is complex")
    if isinstance(x, int) and isinstance(y, int):
        if y < 0:
            raise ValueError("an int to a negative int power known only at run time: write float(x) ** n")
        return (pow(int(x), int(y), 2**64) + 2**63) % 2**64 - 2**63
    return x**y


def _wrap(function: Any) -> Any:
    """Python's function, integers brought into 64 bits."""

    def implementation(*values: Any) -> Any:
        result = function(*values)
        return (result + 2**63) % 2**64 - 2**63 if type(result) is int else result

    return implementation


python_divide = checked(divide, "python_divide", operator.truediv, "second_nonzero", "M701", "division by zero")
python_floor_divide = checked(floor_divide, "python_floor_divide", _wrap(operator.floordiv), "second_nonzero", "M701", "division by zero")
python_mod = checked(mod, "python_mod", _wrap(_python_mod), "second_nonzero", "M701", "modulo by zero")
python_power = checked(power, "python_power", _python_power, "power", "M702", "this power is not a real number")
math_sqrt = checked(sqrt, "math_sqrt", math.sqrt, "nonnegative", "M702", "math domain error")
math_log = checked(log, "math_log", math.log, "positive", "M702", "math domain error")
math_log2 = checked(log2, "math_log2", math.log2, "positive", "M702", "math domain error")
math_log10 = checked(log10, "math_log10", math.log10, "positive", "M702", "math domain error")
math_log1p = checked(log1p, "math_log1p", math.log1p, "above_minus_one", "M702", "math domain error")
math_asin = checked(arcsin, "math_asin", math.asin, "unit_interval", "M702", "math domain error")
math_acos = checked(arccos, "math_acos", math.acos, "unit_interval", "M702", "math domain error")
math_acosh = checked(arccosh, "math_acosh", math.acosh, "at_least_one", "M702", "math domain error")
math_atanh = checked(arctanh, "math_atanh", math.atanh, "open_unit", "M702", "math domain error")
math_exp = checked(exp, "math_exp", math.exp, "finite_result", "M708", "math range error")
math_exp2 = checked(exp2, "math_exp2", lambda x: math.pow(2.0, x), "finite_result", "M708", "math range error")
math_expm1 = checked(expm1, "math_expm1", math.expm1, "finite_result", "M708", "math range error")
math_sinh = checked(sinh, "math_sinh", math.sinh, "finite_result", "M708", "math range error")
math_cosh = checked(cosh, "math_cosh", math.cosh, "finite_result", "M708", "math range error")
math_sin = checked(sin, "math_sin", math.sin, "not_infinite", "M702", "math domain error")
math_cos = checked(cos, "math_cos", math.cos, "not_infinite", "M702", "math domain error")
math_tan = checked(tan, "math_tan", math.tan, "not_infinite", "M702", "math domain error")
math_gamma = checked(gamma, "math_gamma", math.gamma, "not_pole", "M702", "math domain error")
math_lgamma = checked(lgamma, "math_lgamma", math.lgamma, "not_pole", "M702", "math domain error")
math_mod = checked(mod, "math_mod", math.fmod, "second_nonzero", "M702", "math domain error")    # of numbers that are not negative


def _integral(x: Any) -> Any:
    if not abs(x) < 2**63:
        raise ValueError("cannot convert NaN, infinity or a float beyond 64 bits to an integer")
    return type(x)(math.trunc(x))


whole = checked(trunc, "whole", _integral, "fits_int", "M702", "cannot convert NaN, infinity or a float beyond 64 bits to an integer")



def _python_round(x: Any, n: int) -> Any:
    """Correctly rounded in decimal, half to even, as Python's `round` is; `n` is known before running."""
    return _wrap(round)(int(x), n) if isinstance(x, (int, np.integer)) else round(float(x), n)


python_round = Primitive("python_round", lambda arguments: arithmetic("python_round", 1, number)(arguments[:1]), _python_round, STEP, STEP, Kernel("python_round"), "round", False,
                         frozenset(), (Sample((2.675, 2)), Sample((-1250.0, -2)), Sample((1350, -2))), "Python, round")

FAMILY: tuple[Primitive, ...] = (
    add, subtract, multiply, divide, floor_divide, mod, negative, power, strong_multiply, strong_divide, absolute, sign, sqrt, cbrt, exp, exp2,
    expm1, log, log2, log10, log1p, sin, cos, tan, arcsin, arccos, arctan, sinh, cosh, tanh, arcsinh, arccosh, arctanh, erf, erfc, lgamma, gamma, floor, ceil,
    trunc, rint, maximum, minimum, arctan2, hypot, where, python_divide, python_floor_divide, python_mod, python_power, math_sqrt, math_log,
    math_log2, math_log10, math_log1p, math_asin, math_acos, math_acosh, math_atanh, math_exp, math_exp2, math_expm1, math_sinh, math_cosh, math_sin,
    math_cos, math_tan, math_gamma, math_lgamma, math_mod, whole, python_round)


