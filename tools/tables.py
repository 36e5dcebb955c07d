"""Writes docs/language.md and docs/operations.md from the tables they describe. Run it after changing a row or an operation."""
from __future__ import annotations

import math
import pathlib
import sys
from typing import Any

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from myia_notebook import MyiaError, grad, myia  # noqa: E402
from tests.language.refused import REFUSED  # noqa: E402
from tests.language.rows import ROWS, Row  # noqa: E402
from tests.language.test_rows import differences  # noqa: E402
from tools.operation_table import operations  # noqa: E402


def _cell(check: Any) -> str:
    try:
        return "yes" if check() else "WRONG"
    except MyiaError as problem:
        return problem.code


def _row(row: Row) -> str:
    f, x = row.program, row.at
    first, second = differences(lambda v: float(f(v)), x)
    cells: list[str] = []
    for backend in ("vm", "numba"):
        cells.append(_cell(lambda backend=backend: math.isclose(myia(f, backend=backend)(x), f(x), rel_tol=1e-12)))
        cells.append(_cell(lambda backend=backend: math.isclose(grad(f, backend=backend)(x), first, rel_tol=1e-6, abs_tol=1e-7)))
        cells.append(_cell(lambda backend=backend: math.isclose(grad(grad(f, backend=backend))(x), second, rel_tol=3e-4, abs_tol=3e-4)))
    return f"| {row.construct.replace('|', chr(92) + '|')} | `{f.__name__}` | {' | '.join(cells)} |"


RANDOM_NUMBERS = """## Random numbers

`from myia_notebook.random import key, split, normal, ...`: functions without hidden state, the same in Python and in a cell, to the last bit on every backend.
A *key* is a value (an int64 array of two words); a key always gives the same numbers, so split off a new one for each use.

```python
k, sub = split(key(0))          # split(k, n) gives n keys; fold_in(k, i) one for step i of a loop
x = normal(sub, (3, 4))         # also uniform exponential integers bernoulli permutation choice bits
```

Shapes are known before running. The numbers are differentiated with respect to `low`, `high`, `loc` and `scale` (reparametrized), never through a key.
"""


FUNCTIONS = """
## Functions that meet in one variable

A variable may hold one of several functions: closures, functions of the library, derivatives, `functools.partial`, callable records. Each call must be one that
every function that may be there accepts; they may differ in their parameters, defaults and `*args`, each filling in its own. The types of two calls may
differ (an activation on layers of several shapes, an identity of a number and of a tuple): each call is typed for itself. A variable may hold a function or
`None`; `is None`, `is not None` and the truth of the variable tell them apart.
"""


def language() -> str:
    lines = ["# The language, row by row", "",
             "Written by `tools/tables.py` from `tests/language/rows.py`: each row is a program that uses the construct, compared with plain Python (value) and",
             "with differences (first and second derivative).", ""]
    for group in dict.fromkeys(row.group for row in ROWS):
        lines += [f"## {group.capitalize()}", "", "| construct | program | vm | d | d² | numba | d | d² |", "|---|---|---|---|---|---|---|---|"]
        lines += [_row(row) for row in ROWS if row.group == group]
        lines.append("")
    lines += ["## What is refused", "", "| construct | error | says |", "|---|---|---|"]
    for name, (_, code) in REFUSED.items():
        lines.append(f"| {name} | {code} | {_message(name)} |")
    lines += ["", *FUNCTIONS.strip().split("\n"), "", *RANDOM_NUMBERS.strip().split("\n"), "", "## Where the meaning differs from Python's", "",
              "* `a[i] = v` makes a changed copy and binds `a` to it; other variables of the same function that are the same value change with it, the caller's",
              "  array does not. Where that cannot be told (an alias inside a branch or loop), the program is refused (M103).",
              "* `bool` and `np.bool_` are one type: `True + True` is 2 in any case, and `~b` is refused (write `not b`). Arrays of booleans do as in NumPy: `+` is or, "
              "`*` is and, `-` is refused;", "  where NumPy gives 8-bit ints and 16-bit floats for booleans, there are 64-bit ones.",
              "* ints have 64 bits and wrap. `/` of ints is float.",
              "* A list argument whose items are numbers of several types is a list of their common type.",
              "* `map`, `filter`, and generators inside `sum` and the like give lists.",
              "* What nobody reads is not computed: an unused `1 / x` does not raise. `print`, `assert` and `raise` are kept.",
              "* `x[mask]` with a boolean array is a selection: elementwise operations, reductions, `len` and returning it work; what needs its shape or its",
              "  positions is refused, since they are known only at run time.", ""]
    return "\n".join(lines)


def _message(name: str) -> str:
    from tests.language.refused import problem_of
    problem = problem_of(name)
    return "" if problem is None else problem.message.replace("|", "\\|")


if __name__ == "__main__":
    (ROOT / "docs" / "language.md").write_text(language())
    (ROOT / "docs" / "operations.md").write_text(operations())
