"""NumPy 2 promotion and broadcasting on types: the typing rules that elementwise primitives share.

Python's own int and float are weak: they take the dtype of the strong operand of the same or a higher kind. `result_type` agrees
with `np.result_type` on every combination (tested). Reference: NEP 50.
"""
from __future__ import annotations

from collections.abc import Sequence

from myia_notebook.errors import error
from myia_notebook.ir.types import BOOL, FLOAT_DTYPES, INT_DTYPES, Array, Scalar, Type

_RANK = {"bool": 0, "int32": 1, "int64": 2, "float32": 3, "float64": 4}


def is_number(t: Type) -> bool:
    return isinstance(t, (Scalar, Array))


def shape_of(t: Type) -> tuple[int, ...]:
    return t.shape if isinstance(t, Array) else ()


def with_shape(scalar: Scalar, shape: tuple[int, ...]) -> Type:
    return Array(scalar.dtype, shape) if shape else scalar


def scalar_of(t: Type) -> Scalar:
    """The element type, as NumPy sees it (arrays are strong)."""
    assert isinstance(t, (Scalar, Array))
    return t if isinstance(t, Scalar) else (BOOL if t.dtype == "bool" else Scalar(t.dtype))


def _kind(dtype: str) -> int:
    return 0 if dtype == "bool" else 1 if dtype in INT_DTYPES else 2


def promote(scalars: Sequence[Scalar]) -> Scalar:
    """The common scalar type. Two weak scalars give a weak one; a weak scalar gives way to a strong one of its kind or above."""
    strong = [s for s in scalars if not s.weak and s.dtype != "bool"]
    weak = [s for s in scalars if s.weak]
    if not strong:
        if not weak:
            return BOOL
        return max(weak, key=lambda s: _kind(s.dtype))
    dtype = _strong(strong)
    top = max((_kind(s.dtype) for s in weak), default=0)
    if top > _kind(dtype):
        return Scalar("float64")
    return Scalar(dtype)


def _strong(scalars: Sequence[Scalar]) -> str:
    dtypes = {s.dtype for s in scalars}
    if "float64" in dtypes or ("float32" in dtypes and dtypes & {"int32", "int64"}):
        return "float64"
    return max((s.dtype for s in scalars), key=_RANK.__getitem__)


def as_float(s: Scalar) -> Scalar:
    """The floating type of a mathematical function's result: float32 stays, everything else is float64 (weak stays weak)."""
    if s.dtype in FLOAT_DTYPES:
        return s
    return Scalar("float64", weak=s.weak or s.dtype == "bool")


def broadcast(operation: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The broadcast shape, or an error with both shapes (M401)."""
    result: tuple[int, ...] = ()
    for shape in shapes:
        rank = max(len(result), len(shape))
        a, b = (1,) * (rank - len(result)) + result, (1,) * (rank - len(shape)) + shape
        merged: list[int] = []
        for m, n in zip(a, b):
            if m != n and m != 1 and n != 1:
                raise error("M401", operation=_written(operation), first=result, second=shape, hint="dimensions must be equal, or one of them 1")
            merged.append(n if m == 1 else m)
        result = tuple(merged)
    return result


def require_numbers(operation: str, types: Sequence[Type]) -> None:
    if not all(map(is_number, types)):
        raise error("M301", operation=f"'{operation}'", types=" and ".join(map(str, types)))
_SYMBOLS = {"add": "'+'", "subtract": "'-'", "multiply": "'*'", "divide": "'/'", "power": "'**'", "mod": "'%'", "floor_divide": "'//'", "less": "'<'",
            "less_equal": "'<='", "greater": "'>'", "greater_equal": "'>='", "equal": "'=='", "not_equal": "'!='"}


def _written(operation: str) -> str:
    """A primitive as the user writes it."""
    return _SYMBOLS.get(operation, operation)


