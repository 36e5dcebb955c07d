"""How the cases are run: source text to compiled functions, and comparison of results with their structure and type."""
from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

import myia_notebook as myia
from myia_notebook.cell import CellOptions, run_cell

BACKENDS = ("vm", "numba", "python")


def define(source: str, backend: str) -> dict[str, Any]:
    """The namespace after a cell with this source."""
    namespace: dict[str, Any] = {"np": np, "math": math, "grad": myia.grad, "value_and_grad": myia.value_and_grad}
    run_cell(source.strip("\n"), namespace, CellOptions(backend=backend, observe=False))
    return namespace


def same(found: Any, expected: Any, tolerance: float) -> bool:
    """Equal structure, equal kind of number, values to a relative tolerance."""
    match expected:
        case tuple() | list():
            return type(found) is type(expected) and len(found) == len(expected) and all(
                same(f, e, tolerance) for f, e in zip(found, expected))
        case dict():
            return isinstance(found, dict) and found.keys() == expected.keys() and all(same(found[k], expected[k], tolerance) for k in expected)
        case SimpleNamespace():
            return all(same(getattr(found, k), v, tolerance) for k, v in vars(expected).items())
        case np.ndarray():
            return isinstance(found, np.ndarray) and found.shape == expected.shape and found.dtype == expected.dtype and bool(
                np.allclose(found, expected, rtol=tolerance, atol=tolerance))
        case bool() | np.bool_():
            return isinstance(found, (bool, np.bool_)) and bool(found) == bool(expected)
        case int():
            return isinstance(found, (int, np.integer)) and not isinstance(found, bool) and found == expected
        case float():
            return isinstance(found, (float, np.floating)) and (math.isclose(found, expected, rel_tol=tolerance, abs_tol=tolerance) or (
                math.isnan(expected) and math.isnan(found)))
        case _:
            return found == expected
