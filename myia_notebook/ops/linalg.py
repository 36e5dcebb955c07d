"""Linear algebra on square matrices: solve, inv, det, log |det|, cholesky. A singular matrix is a ValueError with the user's line.

Rules: Giles 2008, *Collected matrix derivative results for forward and reverse mode algorithmic differentiation*; for the Cholesky factor Murray
2016, *Differentiation of the Cholesky decomposition*, equation 8.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.types import Array, Type
from myia_notebook.ops.expression import Expr, apply
from myia_notebook.ops.primitive import Abstract, Kernel, NotDifferentiable, Primitive, Sample
from myia_notebook.ops.promotion import as_float, broadcast, scalar_of, shape_of, with_shape
from myia_notebook.ops.shape import swapped

_A = np.array([[2.0, 0.5, -0.25], [0.25, 1.5, 0.5], [-0.5, 0.75, 3.0]])
_S = _A @ _A.T
_B = np.array([[1.0, 2.0], [-0.5, 0.25], [0.75, -1.0]])


def _square(name: str, t: Type) -> tuple[str, tuple[int, ...]]:
    shape = shape_of(t)
    if not isinstance(t, Array) or len(shape) < 2 or shape[-1] != shape[-2]:
        raise error("M402", message=f"{name} takes square matrices, not an array of shape {shape}")
    return as_float(scalar_of(t)).dtype, shape


def _checked(function: Any) -> Any:
    def implementation(*values: Any) -> Any:
        try:
            return function(*values)
        except np.linalg.LinAlgError as problem:
            raise error("M702", message=str(problem)) from None
    return implementation


def _inv_infer(arguments: list[Abstract]) -> Type:
    dtype, shape = _square("np.linalg.inv", arguments[0].type)
    return Array(dtype, shape)


def _det_infer(arguments: list[Abstract]) -> Type:
    dtype, shape = _square("np.linalg.det", arguments[0].type)
    return with_shape(scalar_of(Array(dtype, (1,))), shape[:-2])


def _columns(v: Expr, like: Expr) -> Expr:
    """A scalar for each matrix as one that multiplies all its elements."""
    shape = shape_of(like.type)
    return apply("reshape", v, static=[(*shape[:-2], 1, 1)]) if len(shape) > 2 else v


inv = Primitive("inv", _inv_infer, _checked(np.linalg.inv),
                lambda a, out, d: (lambda: -apply("matmul", swapped(out), apply("matmul", d, swapped(out))),),
                lambda arguments, out, tangents: -apply("matmul", out, apply("matmul", tangents[0], out)), Kernel("inv"), "inverse", False,
                frozenset({"may_fail"}), (Sample((_A,), (0,)),), "Giles 2008, §2.2.3")
det = Primitive("det", _det_infer, _checked(np.linalg.det),
                lambda a, out, d: (lambda: _columns(d * out, a) * swapped(apply("inv", a)),),
                lambda arguments, out, tangents: out * _trace(apply("matmul", apply("inv", arguments[0]), tangents[0])), Kernel("det"), "det", False, frozenset(),
                (Sample((_A,), (0,)),), "Giles 2008, §2.2.4")
logabsdet = Primitive("logabsdet", _det_infer, _checked(lambda a: np.linalg.slogdet(a)[1]),
                      lambda a, out, d: (lambda: _columns(d, a) * swapped(apply("inv", a)),),
                      lambda arguments, out, tangents: _trace(apply("matmul", apply("inv", arguments[0]), tangents[0])), Kernel("logabsdet"), "log |det|", False,
                      frozenset(), (Sample((_A,), (0,)),), "Giles 2008, §2.2.4")
_SIGN = NotDifferentiable("a sign is constant almost everywhere")
detsign = Primitive("detsign", _det_infer, _checked(lambda a: np.linalg.slogdet(a)[0]), _SIGN, _SIGN, Kernel("detsign"), "sign det", False, frozenset(),
                    (Sample((_A,),),), "NumPy, slogdet")


def _trace(m: Expr) -> Expr:
    shape = shape_of(m.type)
    eye = m.builder.expr(m.builder.constant(np.eye(shape[-1], dtype=m.type.dtype)))  # type: ignore[union-attr]
    return apply("reduce_sum", m * eye, static=[(len(shape) - 2, len(shape) - 1), False])


def _cholesky_value(a: Any) -> Any:
    return np.linalg.cholesky(a)


def _half_lower(m: Expr) -> Expr:
    """Φ(m): the lower triangle with the diagonal halved."""
    n = shape_of(m.type)[-1]
    mask = np.tril(np.ones((n, n))) - 0.5 * np.eye(n)
    return m * m.builder.expr(m.builder.constant(mask.astype(m.type.dtype)))  # type: ignore[union-attr]


def _cholesky_rule(a: Expr, out: Expr, d: Expr) -> tuple[Any]:
    """∇A = ½ L⁻ᵀ (P + Pᵀ) L⁻¹ with P = Φ(Lᵀ ∇L)"""

    def rule() -> Expr:
        p = _half_lower(apply("matmul", swapped(out), d))
        inverse = apply("inv", out)
        return apply("matmul", swapped(inverse), apply("matmul", p + swapped(p), inverse)) * 0.5

    return (rule,)


def _cholesky_tangent(arguments: list[Expr], out: Expr, tangents: list[Expr]) -> Expr:
    inverse = apply("inv", out)
    return apply("matmul", out, _half_lower(apply("matmul", inverse, apply("matmul", tangents[0], swapped(inverse)))))


cholesky = Primitive("cholesky", _inv_infer, _checked(_cholesky_value), _cholesky_rule, _cholesky_tangent, Kernel("cholesky"), "cholesky", False,
                     frozenset({"may_fail"}), (Sample((_S,)),), "Murray 2016, equation 8")


def _solve_infer(arguments: list[Abstract]) -> Type:
    dtype, shape = _square("np.linalg.solve", arguments[0].type)
    b = arguments[1].type
    rows = shape_of(b)
    if not isinstance(b, Array) or len(rows) < 2 or rows[-2] != shape[-1]:
        raise error("M401", operation="np.linalg.solve", first=shape, second=rows, hint="the matrix and the right side must have equally many rows")
    return Array(dtype, (*broadcast("np.linalg.solve", [shape[:-2], rows[:-2]]), *rows[-2:]))


def _solve_rule(a: Expr, b: Expr, out: Expr, d: Expr) -> tuple[Any, Any]:
    """∇b = A⁻ᵀ ∇x, ∇A = −∇b xᵀ; axes that were broadcast are summed."""
    def right() -> Expr:
        return apply("solve", swapped(a), d)

    def fit(v: Expr, like: Expr) -> Expr:
        return v if shape_of(v.type) == shape_of(like.type) else apply("sum_to", v, static=[shape_of(like.type)])

    return lambda: fit(-apply("matmul", right(), swapped(out)), a), lambda: fit(right(), b)


def _solve_tangent(arguments: list[Expr], out: Expr, tangents: list[Any]) -> Expr:
    """ẋ = A⁻¹ (ḃ − Ȧ x)"""
    a_dot, b_dot = tangents
    rest = None if a_dot is None else -apply("matmul", a_dot, out)
    if b_dot is not None:
        rest = b_dot if rest is None else rest + b_dot
    assert rest is not None
    return apply("solve", arguments[0], rest)


solve = Primitive("solve", _solve_infer, _checked(np.linalg.solve), _solve_rule, _solve_tangent, Kernel("solve"), "solve", False, frozenset({"may_fail"}),
                  (Sample((_A, _B), (0, 1)), Sample((np.stack([_A, _S]), _B), (0, 1))), "Giles 2008, §2.3.1")

FAMILY: tuple[Primitive, ...] = (solve, inv, det, logabsdet, detsign, cholesky)

__all__ = ["FAMILY"]
