"""einsum and its relatives, linear algebra, stable elementwise functions, scipy.special's names: compositions of primitives."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.types import FLOAT_DTYPES, Array, Scalar
from myia_notebook.ops.expression import Builder, Expr, apply
from myia_notebook.ops.library import _bind, as_array, axes_of, elementwise, shape_of, strong
from myia_notebook.ops.library_shape import diagonal, reshaped
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.operators import Keywords, convert, known, make, require_static, takes

# -- einsum

def _einsum(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """np.einsum(subscripts, operands…): repeated indices are diagonals, indices that are not in the output are summed over; pairs of operands
    become (batched) matrix products."""
    keywords.pop("optimize", None)
    if keywords or len(arguments) < 2:
        raise error("M501", signature="np.einsum(subscripts, *operands)", problem=f"got {len(arguments)} arguments")
    text = require_static(arguments[0], "the subscripts of einsum")
    operands = [as_array(a) for a in arguments[1:]]
    inputs, output = _subscripts(text, operands)
    return strong(einsum(inputs, output, operands))


def _subscripts(text: str, operands: list[Expr]) -> tuple[list[str], str]:
    """One letter an axis for each operand and the output; an ellipsis becomes capital letters of its own."""
    text = text.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(operands):
        raise error("M501", signature=f"np.einsum({text!r}, …)", problem=f"takes {len(parts)} operands, got {len(operands)}")
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in text]
    widest = max((len(shape_of(x)) - len(p.replace("...", "")) for p, x in zip(parts, operands) if "..." in p), default=0)
    dots = "".join(free[:widest])
    made: list[str] = []
    for p, x in zip(parts, operands):
        if "..." in p:
            count = len(shape_of(x)) - len(p.replace("...", ""))
            p = p.replace("...", dots[widest - count:])
        if len(p) != len(shape_of(x)):
            raise error("M402", message=f"the subscripts '{p}' name {len(p)} axes, the operand has {len(shape_of(x))}")
        made.append(p)
    if arrow:
        output = right.replace("...", dots)
    else:
        letters = "".join(made)
        output = dots + "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in dots))
    return made, output


def einsum(inputs: list[str], output: str, operands: list[Expr]) -> Expr:
    sizes: dict[str, int] = {}
    for letters, x in zip(inputs, operands):
        for c, n in zip(letters, shape_of(x)):
            if sizes.get(c, 1) not in (1, n) and n != 1:
                raise error("M401", operation=f"einsum, axis '{c}'", first=sizes[c], second=n, hint="axes with one letter must have one size")
            sizes[c] = max(sizes.get(c, 1), n) if n != 0 else 0
    unknown = [c for c in output if c not in sizes]
    if unknown:
        raise error("M402", message=f"the output names '{unknown[0]}', which no operand has")
    rest = [_single(letters, x, sizes) for letters, x in zip(inputs, operands)]
    while len(rest) > 1:
        (a, x), (b, y), *others = rest
        wanted = set(output).union(*(letters for letters, _ in others))
        rest = [_pair(a, x, b, y, wanted, sizes), *others]
    letters, x = rest[0]
    letters, x = _summed(letters, x, set(output))
    order = tuple(letters.index(c) for c in output)
    return apply("transpose", x, static=[order]) if len(order) > 1 and order != tuple(range(len(order))) else x


def _single(letters: str, x: Expr, sizes: dict[str, int]) -> tuple[str, Expr]:
    """An operand with every letter once, and with full sizes."""
    while len(set(letters)) < len(letters):
        c = next(c for c in letters if letters.count(c) > 1)
        i = letters.index(c)
        j = letters.index(c, i + 1)
        x = diagonal(x, 0, i, j)
        letters = "".join(d for k, d in enumerate(letters) if k not in (i, j)) + c
    shape = tuple(sizes[c] for c in letters)
    return letters, x if shape_of(x) == shape or not shape else apply("broadcast_to", x, static=[shape])


def _summed(letters: str, x: Expr, keep: set[str]) -> tuple[str, Expr]:
    axes = tuple(i for i, c in enumerate(letters) if c not in keep)
    if not axes:
        return letters, x
    return "".join(c for c in letters if c in keep), apply("reduce_sum", x, static=[axes, False])


def _pair(a: str, x: Expr, b: str, y: Expr, wanted: set[str], sizes: dict[str, int]) -> tuple[str, Expr]:
    """The product of two operands, summed over what neither the output nor a later operand needs."""
    a, x = _summed(a, x, wanted | set(b))
    b, y = _summed(b, y, wanted | set(a))
    batch = [c for c in a if c in b and c in wanted]
    inner = [c for c in a if c in b and c not in wanted]
    left, right = [c for c in a if c not in b], [c for c in b if c not in a]
    letters = "".join([*batch, *left, *right])
    shape = tuple(sizes[c] for c in letters)

    def arranged(own: str, z: Expr, *groups: list[str]) -> Expr:
        order = tuple(own.index(c) for group in groups for c in group)
        if len(order) > 1 and order != tuple(range(len(order))):
            z = apply("transpose", z, static=[order])
        return z

    def size(group: list[str]) -> int:
        return math.prod(sizes[c] for c in group)

    lead = (size(batch),) if batch else ()
    p = apply("reshape", arranged(a, x, batch, left, inner), static=[(*lead, size(left), size(inner))])
    q = apply("reshape", arranged(b, y, batch, inner, right), static=[(*lead, size(inner), size(right))])
    return letters, apply("reshape", apply("matmul", p, q), static=[shape])


def _tensordot(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.tensordot", ("a", "b", "axes"), arguments, keywords)
    x, y = as_array(bound["a"]), as_array(bound["b"])
    axes = require_static(bound["axes"], "the axes of tensordot") if "axes" in bound else 2
    n, m = len(shape_of(x)), len(shape_of(y))
    if isinstance(axes, int):
        first, second = list(range(n - axes, n)), list(range(axes))
    else:
        first, second = ([a] if isinstance(a, int) else list(a) for a in axes)
    first, second = [i % n for i in first], [j % m for j in second]
    letters = "abcdefghijklmnopqrstuvwxyz"
    left = list(letters[:n])
    right = list(letters[n:n + m])
    for i, j in zip(first, second):
        if shape_of(x)[i] != shape_of(y)[j]:
            raise error("M401", operation="np.tensordot", first=shape_of(x), second=shape_of(y), hint="the summed axes must have equal sizes")
        right[j] = left[i]
    output = [c for i, c in enumerate(left) if i not in first] + [c for j, c in enumerate(right) if j not in second]
    return strong(einsum(["".join(left), "".join(right)], "".join(output), [x, y]))


def _kron(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.kron", arguments, keywords, 2)
    x, y = (as_array(a) for a in arguments)
    rank = max(len(shape_of(x)), len(shape_of(y)))
    a, b = (reshaped(z, (1,) * (rank - len(shape_of(z))) + shape_of(z)) for z in (x, y))
    wide = apply("reshape", a, static=[tuple(v for n in shape_of(a) for v in (n, 1))]) * apply("reshape", b, static=[tuple(v for n in shape_of(b) for v in (1, n))])
    return apply("reshape", wide, static=[tuple(p * q for p, q in zip(shape_of(a), shape_of(b)))])


def _dot(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.dot", arguments, keywords, 2)
    x, y = map(as_array, arguments)
    if isinstance(x.type, Scalar) or isinstance(y.type, Scalar):
        return strong(apply("multiply", x, y))
    n, m = len(shape_of(x)), len(shape_of(y))
    if n <= 2 and m <= 2:
        return apply("matmul", x, y)
    a, b = "abcdefghij"[:n], "klmnopqrst"[:m]
    at = max(m - 2, 0)
    b = b[:at] + a[-1] + b[at + 1:]
    return einsum([a, b], a[:-1] + b[:at] + b[at + 1:], [x, y])


def _inner(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.inner", arguments, keywords, 2)
    x, y = map(as_array, arguments)
    if isinstance(x.type, Scalar) or isinstance(y.type, Scalar):
        return strong(apply("multiply", x, y))
    a, b = "abcdefghij"[:len(shape_of(x))], "klmnopqrst"[:len(shape_of(y)) - 1]
    return strong(einsum([a, b + a[-1]], a[:-1] + b, [x, y]))


def _cross(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.cross", arguments, keywords, 2)
    x, y = map(as_array, arguments)
    if shape_of(x)[-1:] != (3,) or shape_of(y)[-1:] != (3,):
        raise error("M402", message="np.cross takes vectors of three components")
    levi = np.zeros((3, 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        levi[i, j, k], levi[i, k, j] = 1.0, -1.0
    a, b = "abcd"[:len(shape_of(x)) - 1], "abcd"[:len(shape_of(y)) - 1]
    return einsum(["ijk", a + "j", b + "k"], max(a, b, key=len) + "i", [known(builder, levi.astype(x.type.dtype)), x, y])  # type: ignore[union-attr]


# -- linear algebra

def _real(x: Expr) -> Expr:
    x = as_array(x)
    if isinstance(x.type, Array) and x.type.dtype not in FLOAT_DTYPES:
        return convert(x, Array("float64", x.type.shape))
    return x


def _solve(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.linalg.solve", arguments, keywords, 2)
    return apply("matmul", apply("inv", _real(arguments[0])), _real(arguments[1]))


def _primitive(name: str, primitive: str) -> Any:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        takes(name, arguments, keywords, 1)
        return apply(primitive, _real(arguments[0]))
    return expand


def _slogdet(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.linalg.slogdet", arguments, keywords, 1)
    x = _real(arguments[0])
    return make(builder, [apply("detsign", x), apply("logabsdet", x)])


def _matrix_power(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.linalg.matrix_power", arguments, keywords, 2)
    x, n = _real(arguments[0]), require_static(arguments[1], "the power")
    if n < 0:
        x, n = apply("inv", x), -n
    result: Expr | None = None
    while n:
        if n & 1:
            result = x if result is None else apply("matmul", result, x)
        x, n = apply("matmul", x, x), n >> 1
    return known(builder, np.eye(shape_of(x)[-1])) if result is None else result


# -- stable elementwise functions

def _two(name: str, function: Any) -> Any:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        takes(name, arguments, keywords, 2)
        return strong(function(*map(as_array, arguments)))
    return expand


def _one(name: str, function: Any) -> Any:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        takes(name, arguments, keywords, 1)
        x = as_array(arguments[0])
        if not isinstance(x.type, (Array, Scalar)):
            raise error("M301", operation=name, types=str(x.type))
        return strong(function(x))
    return expand


def _fmax(x: Expr, y: Expr) -> Expr:
    return apply("where", apply("isnan", x), y, apply("where", apply("isnan", y), x, apply("maximum", x, y)))


def _fmin(x: Expr, y: Expr) -> Expr:
    return apply("where", apply("isnan", x), y, apply("where", apply("isnan", y), x, apply("minimum", x, y)))


def _logaddexp(x: Expr, y: Expr) -> Expr:
    """max + log(1 + e^−|x−y|), with the gradient's own form: the weights are e^(x−z) and e^(y−z)."""
    top = apply("maximum", x, y)
    safe = apply("where", apply("isinf", top), 0.0, top)
    return safe + apply("log", apply("exp", x - safe) + apply("exp", y - safe))


def _logaddexp2(x: Expr, y: Expr) -> Expr:
    ln2 = math.log(2.0)
    return _logaddexp(x * ln2, y * ln2) / ln2


def softplus(x: Expr) -> Expr:
    """log(1 + e^x) = max(x, 0) + log1p(e^−|x|)"""
    return apply("where", x > 0, x + apply("log1p", apply("exp", -x)), apply("log1p", apply("exp", x)))


def expit(x: Expr) -> Expr:
    """1/(1 + e^−x) as ½(1 + tanh(x/2)): finite for all x, with finite derivatives"""
    return (apply("tanh", x * 0.5) + 1.0) * 0.5


def _over_axis(name: str, function: Any) -> Any:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = _bind(name, ("a", "axis", "keepdims"), arguments, keywords)
        x = as_array(bound["a"])
        keep = "keepdims" in bound and bool(require_static(bound["keepdims"], "keepdims"))
        if not isinstance(x.type, Array):
            raise error("M301", operation=name, types=str(x.type))
        return function(x, axes_of(x, bound.get("axis"), name), keep)
    return expand


def _shift(x: Expr, axes: tuple[int, ...]) -> Expr:
    top = apply("reduce_max", x, static=[axes, True])
    return apply("where", apply("isfinite", top), top, 0.0)


def logsumexp(x: Expr, axes: tuple[int, ...], keep: bool) -> Expr:
    """m + log ∑ e^(x−m): the shift has no part in the derivative, which is softmax to any order."""
    shift = _shift(x, axes)
    total = apply("log", apply("reduce_sum", apply("exp", x - shift), static=[axes, True])) + shift
    shape = tuple(1 if i in axes else n for i, n in enumerate(shape_of(x)) if keep or i not in axes)
    return total if shape_of(total) == shape else apply("reshape", total, static=[shape])


def softmax(x: Expr, axes: tuple[int, ...], keep: bool = False) -> Expr:
    e = apply("exp", x - _shift(x, axes))
    return e / apply("reduce_sum", e, static=[axes, True])


def log_softmax(x: Expr, axes: tuple[int, ...], keep: bool = False) -> Expr:
    return x - logsumexp(x, axes, True)


def _nan_to_num(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.nan_to_num", ("x", "copy", "nan", "posinf", "neginf"), arguments, keywords)
    x = as_array(bound["x"])
    dtype = x.type.dtype  # type: ignore[union-attr]
    if dtype not in FLOAT_DTYPES:
        return strong(x)
    info = np.finfo(dtype)
    values = [require_static(bound[n], n) if n in bound else d for n, d in (("nan", 0.0), ("posinf", float(info.max)), ("neginf", float(info.min)))]
    values = [d if v is None else v for v, d in zip(values, (0.0, float(info.max), float(info.min)))]
    infinite = apply("where", x > 0, float(values[1]), float(values[2]))
    return strong(apply("where", apply("isnan", x), float(values[0]), apply("where", apply("isinf", x), infinite, x)))


def _xlogy(x: Expr, y: Expr) -> Expr:
    return apply("where", x.equals(0), 0.0, x * apply("log", apply("where", x.equals(0), 1.0, y)))


def _sinc(x: Expr) -> Expr:
    p = x * math.pi
    safe = apply("where", p.equals(0), 1.0, p)
    return apply("where", p.equals(0), 1.0 - p * p / 6.0, apply("sin", safe) / safe)


def _round(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = _bind("np.round", ("a", "decimals"), arguments, keywords)
    x, n = as_array(bound["a"]), require_static(bound["decimals"], "the decimals") if "decimals" in bound else 0
    if x.type.dtype not in FLOAT_DTYPES:  # type: ignore[union-attr]
        return strong(x)
    scale = 10.0 ** n
    return strong(apply("rint", x) if n == 0 else apply("rint", x * scale) / scale)


def _heaviside(x: Expr, y: Expr) -> Expr:
    return apply("where", x.equals(0), y, apply("where", x > 0, 1.0, 0.0))


def _copysign(x: Expr, y: Expr) -> Expr:
    size = apply("absolute", x)
    return apply("where", apply("less", y, 0.0), -size, size)


def _fmod(x: Expr, y: Expr) -> Expr:
    return x - apply("trunc", x / y) * y


def _math_two(name: str, function: Any) -> Any:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        from myia_notebook.ir.types import FLOAT
        takes(name, arguments, keywords, 2)
        return convert(function(*(convert(a, FLOAT) for a in arguments)), FLOAT)
    return expand


def _math_one(name: str, function: Any) -> Any:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        from myia_notebook.ir.types import FLOAT
        takes(name, arguments, keywords, 1)
        return convert(function(convert(arguments[0], FLOAT)), FLOAT)
    return expand


def _gamma(x: Expr) -> Expr:
    return apply("exp", apply("lgamma", x))


MATH: dict[Any, Operation] = {
    f: Operation(f"np.{name}", expand, name) for f, name, expand in (
        (np.einsum, "einsum", _einsum), (np.tensordot, "tensordot", _tensordot), (np.kron, "kron", _kron), (np.dot, "dot", _dot), (np.inner, "inner", _inner),
        (np.cross, "cross", _cross), (np.linalg.solve, "solve", _solve), (np.linalg.inv, "inv", _primitive("np.linalg.inv", "inv")),
        (np.linalg.det, "det", _primitive("np.linalg.det", "det")), (np.linalg.slogdet, "slogdet", _slogdet),
        (np.linalg.cholesky, "cholesky", _primitive("np.linalg.cholesky", "cholesky")), (np.linalg.matrix_power, "matrix_power", _matrix_power),
        (np.fmax, "fmax", _two("np.fmax", _fmax)), (np.fmin, "fmin", _two("np.fmin", _fmin)), (np.logaddexp, "logaddexp", _two("np.logaddexp", _logaddexp)),
        (np.logaddexp2, "logaddexp2", _two("np.logaddexp2", _logaddexp2)), (np.nan_to_num, "nan_to_num", _nan_to_num),
        (np.sinc, "sinc", _one("np.sinc", _sinc)), (np.round, "round", _round), (np.around, "around", _round),
        (np.heaviside, "heaviside", _two("np.heaviside", _heaviside)), (np.copysign, "copysign", _two("np.copysign", _copysign)),
        (np.fmod, "fmod", _two("np.fmod", _fmod)), (np.degrees, "degrees", _one("np.degrees", lambda x: x * (180.0 / math.pi))),
        (np.radians, "radians", _one("np.radians", lambda x: x * (math.pi / 180.0))), (np.rad2deg, "rad2deg", _one("np.rad2deg", lambda x: x * (180.0 / math.pi))),
        (np.deg2rad, "deg2rad", _one("np.deg2rad", lambda x: x * (math.pi / 180.0))), (np.positive, "positive", _one("np.positive", lambda x: x)),
        (np.fabs, "fabs", elementwise("np.fabs", "absolute")), (np.float_power, "float_power", elementwise("np.float_power", "power", 2)))}
MATH |= {
    math.degrees: Operation("math.degrees", _math_one("math.degrees", lambda x: x * (180.0 / math.pi)), "degrees"),
    math.radians: Operation("math.radians", _math_one("math.radians", lambda x: x * (math.pi / 180.0)), "radians"),
    math.copysign: Operation("math.copysign", _math_two("math.copysign", _copysign), "copysign"),
    math.fmod: Operation("math.fmod", _math_two("math.fmod", _fmod), "fmod"),
    math.gamma: Operation("math.gamma", _math_one("math.gamma", _gamma), "Γ"),
    math.erfc: Operation("math.erfc", _math_one("math.erfc", lambda x: 1.0 - apply("erf", x)), "erfc"),
}


def _special() -> dict[Any, Operation]:
    """scipy.special's functions by their names, where scipy is installed."""
    try:
        from scipy import special
    except ImportError:
        return {}
    named = {
        "logsumexp": _over_axis("logsumexp", logsumexp), "softmax": _over_axis("softmax", softmax), "log_softmax": _over_axis("log_softmax", log_softmax),
        "expit": _one("expit", expit), "erf": elementwise("erf", "erf"), "erfc": _one("erfc", lambda x: 1.0 - apply("erf", x)),
        "gammaln": elementwise("gammaln", "lgamma"), "xlogy": _two("xlogy", _xlogy), "log_expit": _one("log_expit", lambda x: -softplus(-x)),
        "softplus": _one("softplus", softplus), "exp2": elementwise("exp2", "exp2"), "expm1": elementwise("expm1", "expm1"),
        "log1p": elementwise("log1p", "log1p"), "logit": _one("logit", lambda x: apply("log", x) - apply("log1p", -x))}
    return {getattr(special, n): Operation(f"special.{n}", expand, n) for n, expand in named.items() if hasattr(special, n)}


MATH |= _special()

__all__ = ["MATH", "einsum", "expit", "log_softmax", "logsumexp", "softmax", "softplus"]
