"""NumPy's products of arrays and linear algebra: einsum and its relatives, matrices, norms, polynomials and convolution."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.types import Array, Scalar
from myia_notebook.ops.arguments import (
    as_array,
    axes_of,
    bind,
    common,
    concatenated,
    constant_of,
    dtype_name,
    flag,
    floating,
    needed,
    numeric,
    of_dtype,
    one_axis,
    option,
    require_number,
    reshaped,
    shape_of,
    spread,
    strong,
)
from myia_notebook.ops.expression import Builder, Expr, apply
from myia_notebook.ops.library_reduce import reduced_shape, root, total
from myia_notebook.ops.library_shape import cut, diagonal
from myia_notebook.ops.operation import Expand, Operation
from myia_notebook.ops.operators import Keywords, known, make, require_static, static_value, takes

# -- einsum

def _einsum(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """np.einsum(subscripts, operands…): repeated indices are diagonals, indices that are not in the output are summed over; pairs of operands
    become (batched) matrix products."""
    if set(keywords) - {"optimize"} or len(arguments) < 2:
        raise error("M501", signature="np.einsum(subscripts, *operands)", problem=f"got {len(arguments)} arguments")
    text = require_static(arguments[0], "the subscripts of einsum")
    operands = [strong(as_array(a)) for a in arguments[1:]]
    require_number("np.einsum", *operands)
    operands = common(operands)
    inputs, output = _subscripts(text, operands)
    return of_dtype(strong(einsum(inputs, output, operands)), dtype_name(operands[0]))


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
    bound = bind("np.tensordot", ("a", "b", "axes"), arguments, keywords)
    x, y = common([strong(as_array(v)) for v in needed("np.tensordot", bound, "a", "b")])
    axes = require_static(bound["axes"], "the axes of tensordot") if "axes" in bound else 2
    n, m = len(shape_of(x)), len(shape_of(y))
    if isinstance(axes, int):
        if axes > min(n, m) or axes < 0:
            raise error("M402", message=f"np.tensordot cannot sum over {axes} axes of {shape_of(x)} and {shape_of(y)}")
        first, second = list(range(n - axes, n)), list(range(axes))
    else:
        first, second = ([a] if isinstance(a, int) else list(a) for a in axes)
    if len(first) != len(second):
        raise error("M402", message="np.tensordot takes equally many axes of both arrays")
    first, second = [one_axis(x, i) for i in first], [one_axis(y, j) for j in second]
    letters = "abcdefghijklmnopqrstuvwxyz"
    left = list(letters[:n])
    right = list(letters[n:n + m])
    for i, j in zip(first, second):
        if shape_of(x)[i] != shape_of(y)[j]:
            raise error("M401", operation="np.tensordot", first=shape_of(x), second=shape_of(y), hint="the summed axes must have equal sizes")
        right[j] = left[i]
    output = [c for i, c in enumerate(left) if i not in first] + [c for j, c in enumerate(right) if j not in second]
    return of_dtype(strong(einsum(["".join(left), "".join(right)], "".join(output), [x, y])), dtype_name(x))


def _kron(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.kron", arguments, keywords, 2)
    x, y = (strong(as_array(a)) for a in arguments)
    require_number("np.kron", x, y)
    rank = max(len(shape_of(x)), len(shape_of(y)))
    a, b = (reshaped(z, (1,) * (rank - len(shape_of(z))) + shape_of(z)) for z in (x, y))
    wide = numeric("np.kron", "multiply", apply("reshape", a, static=[tuple(v for n in shape_of(a) for v in (n, 1))]),
                   apply("reshape", b, static=[tuple(v for n in shape_of(b) for v in (1, n))]))
    return apply("reshape", wide, static=[tuple(p * q for p, q in zip(shape_of(a), shape_of(b)))])


def _dot(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.dot", arguments, keywords, 2)
    x, y = (strong(as_array(a)) for a in arguments)
    if isinstance(x.type, Scalar) or isinstance(y.type, Scalar):
        return strong(numeric("a product", "multiply", x, y))
    n, m = len(shape_of(x)), len(shape_of(y))
    if n <= 2 and m <= 2:
        return apply("matmul", x, y)
    x, y = common([x, y])
    a, b = "abcdefghij"[:n], "klmnopqrst"[:m]
    at = max(m - 2, 0)
    b = b[:at] + a[-1] + b[at + 1:]
    return of_dtype(einsum([a, b], a[:-1] + b[:at] + b[at + 1:], [x, y]), dtype_name(x))


def _inner(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.inner", arguments, keywords, 2)
    x, y = (strong(as_array(a)) for a in arguments)
    if isinstance(x.type, Scalar) or isinstance(y.type, Scalar):
        return strong(numeric("a product", "multiply", x, y))
    a, b = "abcdefghij"[:len(shape_of(x))], "klmnopqrst"[:len(shape_of(y)) - 1]
    x, y = common([x, y])
    return of_dtype(strong(einsum([a, b + a[-1]], a[:-1] + b, [x, y])), dtype_name(x))


def _cross(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """Vectors along the last axis, component by component."""
    takes("np.cross", arguments, keywords, 2)
    x, y = common([as_array(a) for a in arguments])
    if shape_of(x)[-1:] != (3,) or shape_of(y)[-1:] != (3,):
        raise error("M402", message="np.cross takes vectors of three components, along the last axis")
    if dtype_name(x) == "bool":
        raise error("M301", operation="np.cross", types=str(x.type), hint="convert with .astype(int)")

    def part(v: Expr, i: int) -> Expr:
        return cut(v, len(shape_of(v)) - 1, i, i + 1)

    made = [part(x, i) * part(y, j) - part(x, j) * part(y, i) for i, j in ((1, 2), (2, 0), (0, 1))]
    return concatenated(len(shape_of(made[0])) - 1, made)


# -- matrices

def _matrix(name: str, x: Expr) -> Expr:
    x = as_array(x)
    require_number(name, x)
    return floating(x)


def _solve(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """x with a x = b: a vector b only if it has one axis, else matrices."""
    bound = bind("np.linalg.solve", ("a", "b"), arguments, keywords)
    a, b = common([_matrix("np.linalg.solve", v) for v in needed("np.linalg.solve", bound, "a", "b")])
    if len(shape_of(b)) == 1:
        made = apply("solve", a, reshaped(b, (*shape_of(b), 1)))
        return reshaped(made, shape_of(made)[:-1])
    return apply("solve", a, b)


def _of_matrix(name: str, primitive: str) -> Expand:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = bind(name, ("a",), arguments, keywords)
        return apply(primitive, _matrix(name, bound["a"]))
    return expand


def _slogdet(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    takes("np.linalg.slogdet", arguments, keywords, 1)
    x = _matrix("np.linalg.slogdet", arguments[0])
    return make(builder, [apply("detsign", x), apply("logabsdet", x)])


def _matrix_power(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.linalg.matrix_power", ("a", "n"), arguments, keywords)
    x, n = as_array(bound["a"]), option(bound, "n", None)
    shape = shape_of(x)
    if not isinstance(n, int) or len(shape) < 2 or shape[-1] != shape[-2]:
        raise error("M402", message=f"np.linalg.matrix_power takes square matrices and an int, not {x.type} and {n!r}")
    if n == 0:
        return spread(known(builder, np.eye(shape[-1], dtype=dtype_name(x))), shape)
    if n < 0:
        x, n = apply("inv", floating(x)), -n
    result: Expr | None = None
    while n:
        if n & 1:
            result = x if result is None else apply("matmul", result, x)
        n >>= 1
        x = apply("matmul", x, x) if n else x
    assert result is not None
    return result


# -- norms

def _norm(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """A vector norm along one axis (or of all elements), a matrix norm along two; 0 at 0 has slope 0."""
    bound = bind("np.linalg.norm", ("x", "ord", "axis", "keepdims"), arguments, keywords)
    x, order, keep = _matrix("np.linalg.norm", bound["x"]), option(bound, "ord", None), flag(bound, "keepdims")
    if not isinstance(x.type, Array):
        return apply("absolute", strong(x))
    has_axis = "axis" in bound and static_value(bound["axis"]) is not None
    axes = axes_of(x, bound.get("axis"), "np.linalg.norm")
    if order is None:
        if has_axis and len(axes) > 2:
            raise error("M402", message="np.linalg.norm takes one axis or two")
        return root(total("reduce_sum", x * x, axes, keep))
    if len(axes) == 1:
        return _vector_norm(x, order, axes, keep)
    if len(axes) == 2:
        given = require_static(bound["axis"], "the axis") if has_axis else (0, 1)
        return _matrix_norm(x, order, tuple(one_axis(x, a) for a in given), keep)
    raise error("M402", message=f"a norm of order {order!r} belongs to vectors and matrices", hint="give the axis")


def _vector_norm(x: Expr, order: Any, axes: tuple[int, ...], keep: bool) -> Expr:
    size = apply("absolute", x)
    if order in ("fro", "nuc") or isinstance(order, str):
        raise error("M402", message=f"invalid norm order {order!r} for vectors")
    if math.isinf(order):
        return total("reduce_max" if order > 0 else "reduce_min", size, axes, keep)
    if order == 0:
        return total("reduce_sum", of_dtype(apply("not_equal", x, 0), dtype_name(x)), axes, keep)
    if order == 1:
        return total("reduce_sum", size, axes, keep)
    if order == 2:
        return root(total("reduce_sum", x * x, axes, keep))
    powers = total("reduce_sum", size ** float(order), axes, keep)
    if order < 1:
        return powers ** (1.0 / order)
    one, zero = (constant_of(x.builder, v, dtype_name(x)) for v in (1, 0))
    is_zero = powers.equals(0)
    return apply("where", is_zero, zero, apply("where", is_zero, one, powers) ** (1.0 / order))


def _matrix_norm(x: Expr, order: Any, axes: tuple[int, ...], keep: bool) -> Expr:
    rows, columns = axes
    if order == "fro":
        return root(total("reduce_sum", x * x, tuple(sorted(axes)), keep))
    if order in (1, -1, math.inf, -math.inf):
        inner, outer = (rows, columns) if abs(order) == 1 else (columns, rows)
        sums = total("reduce_sum", apply("absolute", x), (inner,), True)
        made = total("reduce_max" if order > 0 else "reduce_min", sums, (outer,), True)
        return reshaped(made, reduced_shape(shape_of(x), axes, keep))
    raise error("M308", message=f"np.linalg.norm with ord={order!r} of a matrix", hint="use 'fro', 1, -1, np.inf or -np.inf")


# -- polynomials, sums along a line, convolution

def _polyval(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """By Horner's rule; the coefficients from the highest."""
    bound = bind("np.polyval", ("p", "x"), arguments, keywords)
    p, x = as_array(bound["p"]), strong(as_array(needed("np.polyval", bound, "x")[0]))
    if len(shape_of(p)) != 1:
        raise error("M402", message="np.polyval takes coefficients of one axis")
    p, x = common([p, x])
    result = spread(constant_of(builder, 0, dtype_name(x)), shape_of(x))
    for i in range(shape_of(p)[0]):
        result = result * x + reshaped(cut(p, 0, i, i + 1), ())
    return strong(result)


def _vander(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """The powers of x as columns, from the highest."""
    bound = bind("np.vander", ("x", "N", "increasing"), arguments, keywords)
    x = as_array(bound["x"])
    if len(shape_of(x)) != 1:
        raise error("M402", message="np.vander takes an array of one axis")
    n = option(bound, "N", None)
    x = of_dtype(x, "float64" if dtype_name(x).startswith("float") else "int64")
    column = reshaped(x, (*shape_of(x), 1))
    powers = [spread(constant_of(builder, 1, dtype_name(x)), shape_of(column))]
    for _ in range((shape_of(x)[0] if n is None else n) - 1):
        powers.append(powers[-1] * column)
    powers = powers[:shape_of(x)[0] if n is None else n]
    if not powers:
        return spread(constant_of(builder, 1, dtype_name(x)), (*shape_of(x), 0))
    return concatenated(1, powers if flag(bound, "increasing") else powers[::-1])


def _trapezoid(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("np.trapezoid", ("y", "x", "dx", "axis"), arguments, keywords)
    y = floating(as_array(bound["y"]))
    axis = one_axis(y, option(bound, "axis", -1))
    n = shape_of(y)[axis]
    pairs = cut(y, axis, min(1, n), n) + cut(y, axis, 0, max(n - 1, 0))
    if "x" in bound and static_value(bound["x"]) is not None:
        x = as_array(bound["x"])
        if len(shape_of(x)) == 1:
            step = cut(x, 0, min(1, n), n) - cut(x, 0, 0, max(n - 1, 0))
            step = reshaped(step, tuple(shape_of(step)[0] if i == axis else 1 for i in range(len(shape_of(y)))))
        else:
            step = cut(x, axis, min(1, n), n) - cut(x, axis, 0, max(n - 1, 0))
    else:
        step = bound.get("dx", known(builder, 1.0))
    return total("reduce_sum", pairs * step / 2.0, (axis,))


def _convolved(name: str, default: str, is_correlation: bool) -> Expand:
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = bind(name, ("a", "v", "mode"), arguments, keywords)
        a, v = common([as_array(x) for x in needed(name, bound, "a", "v")])
        if len(shape_of(a)) != 1 or len(shape_of(v)) != 1 or 0 in shape_of(a) + shape_of(v):
            raise error("M402", message=f"{name} takes arrays of one axis that are not empty")
        mode = option(bound, "mode", default)
        v = cut(v, 0, shape_of(v)[0] - 1, -1, -1) if is_correlation else v
        full = _convolution(a, v)
        n, m = shape_of(a)[0], shape_of(v)[0]
        low, high = min(n, m), max(n, m)
        if mode == "full":
            return full
        if mode == "valid":
            return cut(full, 0, low - 1, high)
        if mode == "same":
            start = (low - 1) // 2 if not is_correlation or n >= m else low // 2
            return cut(full, 0, start, start + high)
        raise error("M402", message=f"{name}: mode must be 'full', 'same' or 'valid', not {mode!r}")
    return expand


def _convolution(a: Expr, v: Expr) -> Expr:
    """All products aᵢ vⱼ, added up where i + j is the same: infinities meet no padding."""
    n, m = shape_of(a)[0], shape_of(v)[0]
    products = reshaped(a, (n, 1), always=True) * reshaped(v, (1, m), always=True)
    return apply("put_add", products, known(a.builder, np.arange(n)[:, None] + np.arange(m)), static=[(n + m - 1,), 0])


LINEAR: dict[Any, Operation] = {
    f: Operation(f"{'np.linalg' if f.__module__ == 'numpy.linalg' else 'np'}.{name}", expand, name) for f, name, expand in (
        (np.einsum, "einsum", _einsum), (np.tensordot, "tensordot", _tensordot), (np.kron, "kron", _kron), (np.dot, "dot", _dot),
        (np.inner, "inner", _inner), (np.cross, "cross", _cross), (np.linalg.solve, "solve", _solve),
        (np.linalg.inv, "inv", _of_matrix("np.linalg.inv", "inv")), (np.linalg.det, "det", _of_matrix("np.linalg.det", "det")),
        (np.linalg.slogdet, "slogdet", _slogdet), (np.linalg.cholesky, "cholesky", _of_matrix("np.linalg.cholesky", "cholesky")),
        (np.linalg.matrix_power, "matrix_power", _matrix_power), (np.linalg.norm, "norm", _norm), (np.polyval, "polyval", _polyval),
        (np.vander, "vander", _vander), (np.trapezoid, "trapezoid", _trapezoid),
        (np.convolve, "convolve", _convolved("np.convolve", "full", False)), (np.correlate, "correlate", _convolved("np.correlate", "valid", True)))}

__all__ = ["LINEAR", "einsum"]
