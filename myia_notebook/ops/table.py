"""The tables of the language: every primitive by name, and what every Python name means.

`PRIMITIVES` is explicit: a family's tuple is added here. `OPERATIONS` maps Python objects
(`np.sum`, `operator.add`, `len`) to operations; `NAMED` holds those that only syntax can reach (subscripts, attributes, iteration).
What stands twice in a table is refused.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from myia_notebook.ops import closures, control, environment, gamma, gather, index, linalg, lists, logic, random, reduce, scalar, shape, tuples
from myia_notebook.ops.operation import Operation
from myia_notebook.ops.primitive import Primitive

_FAMILIES = (scalar.FAMILY, logic.FAMILY, tuples.FAMILY, control.FAMILY, environment.FAMILY, (closures.closure_is, closures.closure_get),
             reduce.FAMILY, shape.FAMILY, index.FAMILY, lists.FAMILY, gather.FAMILY, linalg.FAMILY, gamma.FAMILY, random.FAMILY)


def _table(entries: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    table: dict[Any, Any] = {}
    for key, entry in entries:
        if key in table:
            raise AssertionError(f"{key} stands twice in a table of the language")
        table[key] = entry
    return table


PRIMITIVES: dict[str, Primitive] = _table((primitive.name, primitive) for family in _FAMILIES for primitive in family)
make_tuple, tuple_getitem = tuples.make_tuple, tuples.tuple_getitem

from myia_notebook.ops.access import NAMED as _NAMED  # noqa: E402  (operations expand to the primitives above)
from myia_notebook.ops.functional import FUNCTIONAL  # noqa: E402
from myia_notebook.ops.iteration import ITERABLES  # noqa: E402
from myia_notebook.ops.library import LIBRARY  # noqa: E402
from myia_notebook.ops.library_linear import LINEAR  # noqa: E402
from myia_notebook.ops.library_more import MORE  # noqa: E402
from myia_notebook.ops.library_random import RANDOM  # noqa: E402
from myia_notebook.ops.library_reduce import REDUCTIONS  # noqa: E402
from myia_notebook.ops.library_shape import SHAPE  # noqa: E402
from myia_notebook.ops.library_special import SPECIAL  # noqa: E402
from myia_notebook.ops.messages import PRINT, RAISE  # noqa: E402
from myia_notebook.ops.operators import OPERATORS  # noqa: E402
from myia_notebook.ops.records import RECORDS, constructor_of  # noqa: E402

NAMED: dict[str, Operation] = {**_NAMED, "raise": RAISE}
_PARTS = ({print: PRINT}, OPERATORS, RECORDS, ITERABLES, FUNCTIONAL, LIBRARY, REDUCTIONS, SHAPE, LINEAR, SPECIAL, MORE, RANDOM)
OPERATIONS: dict[Any, Operation] = _table(item for part in _PARTS for item in part.items())


def operation_for(value: Any) -> Operation | None:
    """The operation that a Python object stands for, or None. A dataclass or NamedTuple class stands for its constructor."""
    try:
        found = OPERATIONS.get(value)
    except TypeError:  # unhashable
        return None
    return constructor_of(value) if found is None and isinstance(value, type) else found


__all__ = ["NAMED", "OPERATIONS", "PRIMITIVES", "make_tuple", "operation_for", "tuple_getitem"]
