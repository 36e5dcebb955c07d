"""Scalar operations in LLVM: the one vocabulary of `Elementwise(operation)`, for scalars and for the elements of arrays."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from myia_notebook.emit.vector_math import KERNELS, is_available, largest, vector_function
from myia_notebook.errors import error

F64, F32, I64, I32, I1 = ir.DoubleType(), ir.FloatType(), ir.IntType(64), ir.IntType(32), ir.IntType(1)
LLVM_TYPES: dict[str, Any] = {"float64": F64, "float32": F32, "int64": I64, "int32": I32, "bool": I1}
FLOATS = ("float64", "float32")
Value = Any

_LIBM = {"cbrt": "cbrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "sin": "sin",
         "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
         "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "erf": "erf", "erfc": "erfc", "lgamma": "lgamma", "gamma": "tgamma", "arctan2": "atan2", "hypot": "hypot", "power": "pow"}
_INTRINSIC = {"sqrt": "llvm.sqrt", "floor": "llvm.floor", "ceil": "llvm.ceil", "trunc": "llvm.trunc", "rint": "llvm.rint", "absolute": "llvm.fabs"}
_COMPARE = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!="}


class ScalarOps:
    """Emits scalar operations into a module with the current IRBuilder."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module
        self.symbols: set[str] = set()
        self.vector = False  # inside a loop over elements: functions of `vector_math`
        self.beyond: Callable[[ir.IRBuilder], Any] | None = None  # where such a loop notes an argument that those cannot reduce

    def external(self, name: str, result: Any, arguments: list[Any]) -> ir.Function:
        known = self.module.globals.get(name)
        if known is None:
            known = ir.Function(self.module, ir.FunctionType(result, arguments), name)
            if not name.startswith("llvm."):
                self.symbols.add(name)
        return known

    # -- conversion

    def convert(self, b: ir.IRBuilder, v: Value, source: str, target: str) -> Value:
        """A value of one dtype as another; floats truncate to integers."""
        if source == target:
            return v
        to = LLVM_TYPES[target]
        if target == "bool":
            if source in FLOATS:
                return b.fcmp_unordered("!=", v, ir.Constant(LLVM_TYPES[source], 0.0))
            return b.icmp_signed("!=", v, ir.Constant(LLVM_TYPES[source], 0))
        if source == "bool":
            return b.uitofp(v, to) if target in FLOATS else b.zext(v, to)
        if source in FLOATS:
            if target in FLOATS:
                return b.fpext(v, to) if target == "float64" else b.fptrunc(v, to)
            return self._truncated(b, v, to)
        if target in FLOATS:
            return b.sitofp(v, to)
        return b.sext(v, to) if target == "int64" else b.trunc(v, to)

    def _truncated(self, b: ir.IRBuilder, v: Value, to: Any) -> Value:
        """A float as an integer, toward zero; outside the range (where LLVM's own instruction is undefined) the smallest, as NumPy on x86."""
        bound = 2.0 ** (to.width - 1)
        fits = b.and_(b.fcmp_ordered(">=", v, ir.Constant(v.type, -bound)), b.fcmp_ordered("<", v, ir.Constant(v.type, bound)))
        safe = b.select(fits, v, ir.Constant(v.type, 0.0))
        return b.select(fits, b.fptosi(safe, to), ir.Constant(to, -(1 << (to.width - 1))))

    # -- operations

    def apply(self, b: ir.IRBuilder, operation: str, dtype: str, operands: list[tuple[Value, str]], common: str) -> Value:
        """`operation` on (value, dtype) pairs; `dtype` is the result's, `common` the operands' promoted dtype."""
        if operation == "cast":
            return self.convert(b, *operands[0], dtype)
        if operation == "where":
            (c, ct), (x, xt), (y, yt) = operands
            return b.select(self.convert(b, c, ct, "bool"), self.convert(b, x, xt, dtype), self.convert(b, y, yt, dtype))
        if operation in ("logical_and", "logical_or", "logical_not"):
            return self._logic(b, operation, [self.convert(b, v, t, "bool") for v, t in operands])
        if operation in _COMPARE:
            wide = "int64" if common == "int32" and any(t == "int64" for _, t in operands) else common  # a weak int need not fit in an int32
            x, y = (self.convert(b, v, t, wide) for v, t in operands)
            return self._compare(b, _COMPARE[operation], x, y, wide)
        if operation in ("isnan", "isinf", "isfinite"):
            return self._classify(b, operation, self.convert(b, *operands[0], common if common in FLOATS else "float64"), common)
        values = [self.convert(b, v, t, dtype) for v, t in operands]
        return self._arithmetic(b, operation, dtype, values)

    def _logic(self, b: ir.IRBuilder, operation: str, v: list[Value]) -> Value:
        if operation == "logical_not":
            return b.not_(v[0])
        return b.and_(*v) if operation == "logical_and" else b.or_(*v)

    def _compare(self, b: ir.IRBuilder, op: str, x: Value, y: Value, dtype: str) -> Value:
        if dtype in FLOATS:
            return b.fcmp_unordered(op, x, y) if op == "!=" else b.fcmp_ordered(op, x, y)
        return b.icmp_unsigned(op, x, y) if dtype == "bool" else b.icmp_signed(op, x, y)

    def _classify(self, b: ir.IRBuilder, operation: str, x: Value, dtype: str) -> Value:
        t = x.type
        if operation == "isnan":
            return b.fcmp_unordered("uno", x, x)
        infinite = ir.Constant(t, float("inf"))
        size = self._call(b, "llvm.fabs", t, [x])
        return b.fcmp_ordered("==" if operation == "isinf" else "<", size, infinite)

    def _call(self, b: ir.IRBuilder, name: str, t: Any, arguments: list[Value]) -> Value:
        if name.startswith("llvm."):
            full = f"{name}.{'f64' if t == F64 else 'f32'}"
        else:
            full = name if t == F64 else name + "f"
        return b.call(self.external(full, t, [t] * len(arguments)), arguments)

    def _vector_call(self, b: ir.IRBuilder, name: str, x: Value) -> Value:
        """A function of `vector_math`; an argument beyond its reach is noted in the loop's variable."""
        bits = 64 if x.type == F64 else 32
        bound = largest(name, bits)
        if bound is not None and self.beyond is not None:
            note = self.beyond(b)
            far = b.fcmp_ordered(">", self._call(b, "llvm.fabs", x.type, [x]), ir.Constant(x.type, bound))
            b.store(b.or_(b.load(note), far), note)
        return b.call(vector_function(self.module, name, bits), [x])

    def _arithmetic(self, b: ir.IRBuilder, operation: str, dtype: str, v: list[Value]) -> Value:
        if dtype in FLOATS:
            return self._floating(b, operation, v)
        return self._integer(b, operation, v)

    def _floating(self, b: ir.IRBuilder, operation: str, v: list[Value]) -> Value:
        t = v[0].type
        zero = ir.Constant(t, 0.0)
        simple: dict[str, Callable[..., Value]] = {"add": b.fadd, "subtract": b.fsub, "multiply": b.fmul, "divide": b.fdiv, "negative": b.fneg}
        if operation in simple:
            return simple[operation](*v)
        if operation in ("strong_multiply", "strong_divide"):
            plain = b.fmul(*v) if operation == "strong_multiply" else b.fdiv(*v)
            return b.select(b.fcmp_ordered("==", v[0], zero), zero, plain)
        if operation in _INTRINSIC:
            return self._call(b, _INTRINSIC[operation], t, v)
        if operation in KERNELS and self.vector and is_available():
            return self._vector_call(b, operation, v[0])
        if operation in _LIBM:
            return self._call(b, _LIBM[operation], t, v)
        if operation in ("maximum", "minimum"):
            chosen = b.select(b.fcmp_ordered(">" if operation == "maximum" else "<", v[0], v[1]), v[0], v[1])
            return b.select(b.fcmp_unordered("uno", v[0], v[0]), v[0], b.select(b.fcmp_unordered("uno", v[1], v[1]), v[1], chosen))
        if operation == "sign":
            one, minus = ir.Constant(t, 1.0), ir.Constant(t, -1.0)
            signed = b.select(b.fcmp_ordered(">", v[0], zero), one, b.select(b.fcmp_ordered("<", v[0], zero), minus, v[0]))
            return b.select(b.fcmp_ordered("==", v[0], zero), zero, signed)
        if operation in ("floor_divide", "mod"):
            return self._float_division(b, v)[operation == "mod"]
        raise _no_form(operation, "floats")

    def _float_division(self, b: ir.IRBuilder, v: list[Value]) -> tuple[Value, Value]:
        """Python's // and % of floats: the remainder has the sign of the divisor, a zero too; by zero NumPy's x/0 and NaN."""
        x, y = v
        t = x.type
        zero, one, half = (ir.Constant(t, c) for c in (0.0, 1.0, 0.5))
        r = self._call(b, "fmod", t, v)
        plain = b.fdiv(x, y)
        exact = b.fcmp_ordered("==", r, zero)
        wrong = b.and_(b.not_(exact), b.xor(b.fcmp_ordered("<", r, zero), b.fcmp_ordered("<", y, zero)))
        quotient = b.fdiv(b.fsub(x, r), y)
        quotient = b.select(wrong, b.fsub(quotient, one), quotient)
        down = self._call(b, "llvm.floor", t, [quotient])
        down = b.select(b.fcmp_ordered(">", b.fsub(quotient, down), half), b.fadd(down, one), down)
        down = b.select(b.fcmp_ordered("==", quotient, zero), self._call(b, "llvm.copysign", t, [zero, plain]), down)
        floor = b.select(b.fcmp_ordered("==", y, zero), plain, down)
        remainder = b.select(exact, self._call(b, "llvm.copysign", t, [zero, y]), b.select(wrong, b.fadd(r, y), r))
        return floor, remainder

    def _integer(self, b: ir.IRBuilder, operation: str, v: list[Value]) -> Value:
        t = v[0].type
        zero = ir.Constant(t, 0)
        if t == I1:
            table: dict[str, Callable[..., Value]] = {"add": b.or_, "multiply": b.and_, "bitwise_and": b.and_, "bitwise_or": b.or_, "bitwise_xor": b.xor, "maximum": b.or_,
                    "minimum": b.and_, "invert": b.not_}
            if operation not in table:
                raise _no_form(operation, "booleans")
            return table[operation](*v)
        simple: dict[str, Callable[..., Value]] = {
            "add": b.add, "subtract": b.sub, "multiply": b.mul, "negative": b.neg, "bitwise_and": b.and_, "bitwise_or": b.or_, "bitwise_xor": b.xor,
            "invert": b.not_}
        if operation in simple:
            return simple[operation](*v)
        if operation == "absolute":
            return b.select(b.icmp_signed("<", v[0], zero), b.neg(v[0]), v[0])
        if operation == "sign":
            one, minus = ir.Constant(t, 1), ir.Constant(t, -1)
            return b.select(b.icmp_signed(">", v[0], zero), one, b.select(b.icmp_signed("<", v[0], zero), minus, zero))
        if operation in ("maximum", "minimum"):
            return b.select(b.icmp_signed(">" if operation == "maximum" else "<", v[0], v[1]), v[0], v[1])
        if operation in ("floor_divide", "mod"):
            return self._int_division(b, operation, v)
        if operation in ("left_shift", "right_shift"):
            return self._shift(b, operation, v)
        if operation == "power":
            return self._int_power(b, v)
        raise _no_form(operation, "integers")

    def _shift(self, b: ir.IRBuilder, operation: str, v: list[Value]) -> Value:
        """By the width or more (a negative number too) all bits go, as in NumPy; LLVM leaves that undefined."""
        t = v[0].type
        fits = b.icmp_unsigned("<", v[1], ir.Constant(t, t.width))
        if operation == "left_shift":
            return b.select(fits, b.shl(v[0], b.select(fits, v[1], ir.Constant(t, 0))), ir.Constant(t, 0))
        return b.ashr(v[0], b.select(fits, v[1], ir.Constant(t, t.width - 1)))

    def _int_division(self, b: ir.IRBuilder, operation: str, v: list[Value]) -> Value:
        """Python's // and %; by zero NumPy's 0 (Python's own exception is checked before), and no trap on the smallest int by −1."""
        t = v[0].type
        zero, one = ir.Constant(t, 0), ir.Constant(t, 1)
        by_zero = b.icmp_signed("==", v[1], zero)
        minus = b.icmp_signed("==", v[1], ir.Constant(t, -1))
        divisor = b.select(b.or_(by_zero, minus), one, v[1])
        quotient, remainder = b.sdiv(v[0], divisor), b.srem(v[0], divisor)
        wrong = b.and_(b.icmp_signed("!=", remainder, zero), b.icmp_signed("<", b.xor(remainder, divisor), zero))
        if operation == "floor_divide":
            floor = b.select(wrong, b.sub(quotient, one), quotient)
            return b.select(by_zero, zero, b.select(minus, b.neg(v[0]), floor))
        result = b.select(wrong, b.add(remainder, divisor), remainder)
        return b.select(b.or_(by_zero, minus), zero, result)

    def _int_power(self, b: ir.IRBuilder, v: list[Value]) -> Value:
        """By repeated squaring, in a function of its own."""
        name = f"myia_int_power_{v[0].type.width}"
        f = self.module.globals.get(name)
        if f is None:
            t = v[0].type
            f = ir.Function(self.module, ir.FunctionType(t, [t, t]), name)
            f.linkage = "internal"
            entry, head, body, done = (f.append_basic_block(n) for n in ("entry", "head", "body", "done"))
            c = ir.IRBuilder(entry)
            c.branch(head)
            c.position_at_end(head)
            result, base, n = c.phi(t), c.phi(t), c.phi(t)
            c.cbranch(c.icmp_signed(">", n, ir.Constant(t, 0)), body, done)
            c.position_at_end(body)
            odd = c.icmp_signed("==", c.and_(n, ir.Constant(t, 1)), ir.Constant(t, 1))
            next_result = c.select(odd, c.mul(result, base), result)
            next_base, next_n = c.mul(base, base), c.ashr(n, ir.Constant(t, 1))
            c.branch(head)
            for phi, first, again in ((result, ir.Constant(t, 1), next_result), (base, f.args[0], next_base), (n, f.args[1], next_n)):
                phi.add_incoming(first, entry)
                phi.add_incoming(again, body)
            c.position_at_end(done)
            c.ret(result)
        return b.call(f, v)


def _no_form(operation: str, kind: str) -> Exception:
    return error("M801", message=f"'{operation}' of {kind} has no native form", hint="use backend='vm'")
