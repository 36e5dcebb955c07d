"""Basic indexing and its adjoint.

    index(x, spec, i…)            a value (never a view that can change)
    scatter(d, shape, spec, i…)   zeros of `shape` with d added at that place: the adjoint of index
    index_add(x, d, spec, i…)     x + scatter(d, shape of x, spec, i…), which backends do in place where x dies

`spec` is a constant tuple, one entry an axis of the result or of x: `None` makes a new axis, `("slice", start, stop, step)` with normalized
ints (stop may be −1 for a negative step that reaches the beginning), `"int"` takes the next of i…: a run-time or constant int, negative
counted from the end, IndexError when it is out of range; `("window", n)` takes the next of i… as the start of n items in a row, IndexError when
they are not all there. Axes not named are kept whole by the operation that makes the spec.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.ir.types import Array, Type
from myia_notebook.ops.expression import Expr
from myia_notebook.ops.primitive import Abstract, Kernel, Linear, NotDifferentiable, Primitive, Sample
from myia_notebook.ops.promotion import scalar_of, shape_of, with_shape

_X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


def slice_length(start: int, stop: int, step: int) -> int:
    return max(0, (stop - start + step - (1 if step > 0 else -1)) // step)


def result_shape(shape: tuple[int, ...], spec: tuple[Any, ...]) -> tuple[int, ...]:
    result: list[int] = []
    axis = 0
    for entry in spec:
        if entry is None:
            result.append(1)
            continue
        if entry != "int":
            result.append(entry[1] if entry[0] == "window" else slice_length(*entry[1:]))
        axis += 1
    return (*result, *shape[axis:])


def python_index(shape: tuple[int, ...], spec: tuple[Any, ...], positions: tuple[Any, ...]) -> tuple[Any, ...]:
    """The spec as an index that NumPy takes, of an array of this shape. Raises MyiaIndexError for a window that is not inside."""
    rest, sizes = iter(positions), iter(shape)
    made: list[Any] = []
    for entry in spec:
        if entry is None:
            made.append(None)
            continue
        size = next(sizes)
        if entry == "int":
            made.append(int(next(rest)))
        elif entry[0] == "window":
            made.append(_window(int(next(rest)), entry[1], size))
        else:
            _, start, stop, step = entry
            made.append(slice(start, None if stop < 0 else stop, step))
    return tuple(made)


def _window(start: int, length: int, size: int) -> slice:
    begin = start + size if start < 0 else start
    if not 0 <= begin <= size - length or (length and start < 0 <= start + length):
        raise error("M703", message=window_message(length, size))
    return slice(begin, begin + length)


def window_message(length: int, size: int) -> str:
    return f"a slice of {length} items does not lie inside an axis of size {size}"


def _check_known(shape: tuple[int, ...], spec: tuple[Any, ...], positions: list[Abstract]) -> None:
    axis = 0
    rest = list(positions)
    for entry in spec:
        if entry is None:
            continue
        if entry[0] == "window":
            rest.pop(0)
        elif entry == "int":
            position = rest.pop(0)
            if position.is_known and not -shape[axis] <= position.value < shape[axis]:
                raise error("M403", index=position.value, axis=f"axis {axis}", size=shape[axis])
        axis += 1


def _index_infer(arguments: list[Abstract]) -> Type:
    x, spec, *positions = arguments
    if not isinstance(x.type, Array):
        raise error("M301", operation="indexing", types=str(x.type))
    _check_known(x.type.shape, spec.value, positions)
    return with_shape(scalar_of(x.type), result_shape(x.type.shape, spec.value))


def _index_value(x: Any, spec: tuple[Any, ...], *positions: Any) -> Any:
    index = python_index(x.shape, spec, positions)
    try:
        found = x[index]
    except IndexError as problem:
        raise error("M703", message=str(problem)) from None
    if isinstance(found, np.ndarray):
        return np.array(found)
    return bool(found) if isinstance(found, np.bool_) else found


def _index_rule(x: Expr, spec: Expr, *rest: Expr) -> tuple[Any, ...]:
    *positions, _, d = rest
    return (lambda: _with_spec("scatter", d, [shape_of(x.type), spec.value], positions), None, *(None for _ in positions))


def _with_spec(name: str, d: Expr, static: list[Any], positions: list[Expr]) -> Expr:
    """A primitive whose static arguments stand before the run-time positions."""
    from myia_notebook.ops.table import PRIMITIVES
    builder = d.builder
    arguments = [d.node, *(builder.constant(s) for s in static), *(p.node for p in positions)]
    return Expr(builder, builder.apply(PRIMITIVES[name], *arguments), d.is_sensitivity)


index = Primitive("index", _index_infer, _index_value, _index_rule, Linear((0,)), Kernel("index"), "[ ]", False, frozenset({"index", "may_fail"}),
                  (Sample((_X, ("int", ("slice", 0, 3, 2)), 1), (0,)), Sample((_X, (None, ("slice", 0, 2, 1), "int"), -1), (0,)),
                   Sample((_X, ("int", ("window", 2)), 1, 1), (0,)), Sample((_X, (("window", 1), ("window", 2)), -2, 0), (0,)),
                   Sample((_X, ("int", "int"), 0, 2), (0,))), "NumPy, basic indexing")


def _scatter_infer(arguments: list[Abstract]) -> Type:
    d, shape, *_ = arguments
    return Array(scalar_of(d.type).dtype, shape.value)


def _scatter_value(d: Any, shape: tuple[int, ...], spec: tuple[Any, ...], *positions: Any) -> Any:
    result = np.zeros(shape, np.asarray(d).dtype)
    result[python_index(shape, spec, positions)] += d
    return result


def _scatter_rule(d0: Expr, shape: Expr, spec: Expr, *rest: Expr) -> tuple[Any, ...]:
    *positions, _, d = rest
    return (lambda: _with_spec("index", d, [spec.value], positions), None, None, *(None for _ in positions))


scatter = Primitive("scatter", _scatter_infer, _scatter_value, _scatter_rule, Linear((0,)), Kernel("scatter"), "scatter", False, frozenset({"index"}),
                    (Sample((np.array([1.0, 2.0]), (2, 3), ("int", ("slice", 0, 3, 2)), 1), (0,)),
                     Sample((np.array([1.0, 2.0]), (2, 3), ("int", ("window", 2)), 1, 1), (0,))), "the adjoint of index")


def _index_add_infer(arguments: list[Abstract]) -> Type:
    return arguments[0].type


def _index_add_value(x: Any, d: Any, spec: tuple[Any, ...], *positions: Any) -> Any:
    result = np.array(x)
    result[python_index(x.shape, spec, positions)] += d
    return result


def _index_add_rule(x: Expr, d0: Expr, spec: Expr, *rest: Expr) -> tuple[Any, ...]:
    *positions, _, d = rest
    return (d, lambda: _with_spec("index", d, [spec.value], positions), None, *(None for _ in positions))


index_add = Primitive("index_add", _index_add_infer, _index_add_value, _index_add_rule, Linear((0, 1)), Kernel("index_add"), "add at", False,
                      frozenset({"index"}), (Sample((_X, 2.0, ("int", "int"), 0, 1), (0, 1)),
                                             Sample((_X, np.array([1.0, 2.0]), (("window", 2), "int"), 0, 1), (0, 1))), "docs/operations.md")


def _index_set_value(x: Any, v: Any, spec: tuple[Any, ...], *positions: Any) -> Any:
    result = np.array(x)
    index = python_index(x.shape, spec, positions)
    try:
        result[index] = v
    except IndexError as problem:
        raise error("M703", message=str(problem)) from None
    return result


def _index_set_infer(arguments: list[Abstract]) -> Type:
    x, v, spec, *positions = arguments
    assert isinstance(x.type, Array)
    _check_known(x.type.shape, spec.value, positions)
    return x.type


def _index_set_rule(x: Expr, v: Expr, spec: Expr, *rest: Expr) -> tuple[Any, ...]:
    """∇x: ∇z with zeros there; ∇v: ∇z there."""
    *positions, _, d = rest

    def kept() -> Expr:
        from myia_notebook.ops.table import PRIMITIVES
        builder = d.builder
        zero = builder.zero(v.type)
        return Expr(builder, builder.apply(PRIMITIVES["index_set"], d.node, zero, spec.node, *(p.node for p in positions)), True)

    return (kept, lambda: _with_spec("index", d, [spec.value], positions), None, *(None for _ in positions))


index_set = Primitive("index_set", _index_set_infer, _index_set_value, _index_set_rule, Linear((0, 1)), Kernel("index_set"), "set", False,
                      frozenset({"index", "may_fail"}), (Sample((_X, 2.0, ("int", "int"), 0, 1), (0, 1)),
                                                         Sample((_X, np.array([1.0, 2.0]), (("slice", 0, 2, 1), "int"), -1), (0, 1)),
                                                         Sample((_X, np.array([1.0, 2.0]), ("int", ("window", 2)), 0, 1), (0, 1))),
                      "NumPy, assignment to a basic index")


def _check_length_value(xs: Any, n: int, wanted: int, or_more: bool, message: str) -> Any:
    if n < wanted or (n != wanted and not or_more):
        raise error("M702", message=message)
    return xs


def _check_index_infer(arguments: list[Abstract]) -> Type:
    position, size = arguments
    if position.is_known and not -size.value <= position.value < size.value:
        raise error("M403", index=position.value, axis="a tuple", size=size.value)
    return position.type


def _check_index_value(position: Any, size: int) -> Any:
    if not -size <= position < size:
        raise error("M703", message=f"tuple index {position} is out of range for {size} items")
    return type(position)(position + size if position < 0 else position)


_DISCRETE = NotDifferentiable("a position is an integer")
check_index = Primitive("check_index", _check_index_infer, _check_index_value, _DISCRETE, _DISCRETE, Kernel("check_index"), "index", False,
                        frozenset({"may_fail"}), (Sample((-1, 3)), Sample((2, 3))), "Python, sequence indexing")

check_length = Primitive("check_length", lambda a: a[0].type, _check_length_value, lambda xs, n, wanted, more, message, out, d: (d, None, None, None, None),
                         Linear((0,)), Kernel("check_length"), "check", False, frozenset({"may_fail", "list"}), (), "Python, unpacking")

FAMILY: tuple[Primitive, ...] = (index, scatter, index_add, index_set, check_index, check_length)

__all__ = ["FAMILY", "python_index", "result_shape", "slice_length", "window_message"]
