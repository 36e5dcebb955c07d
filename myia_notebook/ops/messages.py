"""Text at run time: what `print`, `raise` and `assert` say. A message is a constant *form*, which tells how each value is written, and the
values. The primitives that take one hand both to Python when the program gets there.

    print_(form, value…)          prints, in program order (see infer.effects); its value is None
    raise_(kind, form, value…)    raises the built-in exception `kind`; never returns
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from myia_notebook.errors import error
from myia_notebook.ir.types import TEXT, List, NoneType, Record, Static, Structure, Tuple, Type
from myia_notebook.ops.expression import Builder, Expr
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.primitive import UNKNOWN

Keywords = dict[str, Expr]


@dataclass(frozen=True, slots=True)
class Shape:
    """How a run-time value looks to the user: a number ('plain'), or the structure of a record or tuple with its parts."""

    kind: Any = "plain"
    parts: tuple[Shape, ...] = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """A value in a message: its shape, and how it is converted ('r', 's', 'a', '') and formatted."""

    shape: Shape
    conversion: str = ""
    format: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """The pieces of a message in order: constant texts, and `Piece`s that take the next value."""

    pieces: tuple[str | Piece, ...]

    def __repr__(self) -> str:
        return "".join(p if isinstance(p, str) else "{…}" for p in self.pieces)


def shape_of_type(t: Type) -> Shape:
    match t:
        case Record(items, structure):
            return Shape(structure, tuple(map(shape_of_type, items)))
        case Tuple(items):
            return Shape("tuple", tuple(map(shape_of_type, items)))
        case List(item):
            return Shape("list", (shape_of_type(item),))
        case _ if hasattr(t, "labels"):
            return Shape("union")
        case _:
            return Shape()


def shown(value: Any, shape: Shape) -> Any:
    """The user's value, as it is printed."""
    from myia_notebook.infer.structures import rebuild
    if isinstance(shape.kind, Structure):
        return rebuild(shape.kind, [shown(v, s) for v, s in zip(value, shape.parts)])
    if shape.kind == "tuple":
        return tuple(shown(v, s) for v, s in zip(value, shape.parts))
    if shape.kind == "list":
        return [shown(v, shape.parts[0]) for v in value]
    if shape.kind == "union":
        from myia_notebook.boundary import returned_value
        from myia_notebook.ir.types import Function
        return returned_value(value, Function(value.graph.function_class))
    return value


def written(form: Form, values: Any) -> str:
    """The text of a message."""
    rest = iter(values)
    texts: list[str] = []
    for piece in form.pieces:
        if isinstance(piece, str):
            texts.append(piece)
            continue
        value = shown(next(rest), piece.shape)
        if piece.conversion:
            value = {"r": repr, "s": str, "a": ascii}[piece.conversion](value)
        texts.append(format(value, piece.format))
    return "".join(texts)


def form_of(parts: list[Expr], between: str = " ") -> tuple[Form, list[Expr]]:
    """The form and the run-time values of a message made of these parts."""
    from myia_notebook.ops.operators import static_value, tuple_items
    pieces: list[str | Piece] = []
    values: list[Expr] = []
    for i, part in enumerate(parts):
        if i:
            pieces.append(between)
        known = static_value(part)
        if isinstance(part.type, Record) and part.type.structure == TEXT:
            for item in tuple_items(part):
                if isinstance(item.type, Static):
                    pieces.append(item.type.value)
                    continue
                kind, value = tuple_items(item)
                conversion, form = static_value(kind)
                pieces.append(Piece(shape_of_type(value.type), conversion, form))
                values.append(value)
        elif isinstance(part.type, (Static, NoneType)) or (known is not UNKNOWN and isinstance(known, (bool, int, float, str))):
            pieces.append(str(known))
        else:
            pieces.append(Piece(shape_of_type(part.type)))
            values.append(part)
    for value in values:
        if _holds_functions(value.type):
            raise error("M301", operation="a message", types=str(value.type), hint="functions have no text here")
    return Form(tuple(pieces)), values


def _holds_functions(t: Type) -> bool:
    from myia_notebook.infer.join import is_union
    from myia_notebook.ir.types import parts
    return (hasattr(t, "labels") and not is_union(t)) or any(map(_holds_functions, parts(t)))


def _print(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    from myia_notebook.ops.operators import require_static
    from myia_notebook.ops.table import PRIMITIVES
    options = {k: require_static(v, f"the '{k}' of print") for k, v in keywords.items()}
    if set(options) - {"sep", "end", "flush"}:
        raise error("M501", signature="print()", problem=f"does not take '{next(iter(set(options) - {'sep', 'end', 'flush'}))}' here")
    separator, end = options.get("sep"), options.get("end")
    form, values = form_of(arguments, " " if separator is None else separator)
    form = Form((*form.pieces, "\n" if end is None else end))
    return builder.expr(builder.apply(PRIMITIVES["print_"], builder.constant(form, Static(form)), *(v.node for v in values)))


def _raise(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    """raise(kind, part, …)"""
    from myia_notebook.ops.operators import static_value
    from myia_notebook.ops.table import PRIMITIVES
    kind = static_value(arguments[0])
    form, values = form_of(arguments[1:])
    return builder.expr(builder.apply(PRIMITIVES["raise_"], builder.constant(kind, Static(kind)), builder.constant(form, Static(form)),
                                      *(v.node for v in values)))


PRINT = Operation("print", _print, "print")
RAISE = Operation("raise", _raise, "raise")

__all__ = ["PRINT", "RAISE", "Form", "Piece", "Shape", "form_of", "written"]
