"""A short run of the audit (`tools/audit.py` is the long one): every name of the table on random calls against NumPy and Python. A new name of the table gets
these tests by itself, or fails here. Its derivatives are in `test_gradcheck`."""
from __future__ import annotations

import zlib

import numpy as np
import pytest

from tests.ops.audit import check_value
from tests.ops.catalog import makers
from tests.ops.draw import Draw

pytest.importorskip("scipy.special")
MAKERS = makers()  # raises for a name without calls
REFUSED = {  # what NumPy takes and we do not, by design
    "np.reciprocal": "M301",    # of ints it gives ints, 0 but for ±1
    "np.average": "M701",       # nothing to average, but nothing asked for either
    "np.around": "M301", "np.round": "M301",  # of booleans: 16-bit floats
    "subscripts": "M308",       # integer arrays with slices between them
}


def calls(name: str, count: int, smooth: bool = False):  # type: ignore[no-untyped-def]
    return (MAKERS[name][1](Draw([1, i, zlib.crc32(name.encode())], smooth)) for i in range(count))


@pytest.mark.parametrize("name", MAKERS)
def test_value_is_numpys(name: str) -> None:
    for call in calls(name, 8):
        problem = check_value(call, "vm")
        assert not problem or (name in REFUSED and problem.startswith(f"refused {REFUSED[name]}")), (call, problem)


@pytest.mark.parametrize("name", MAKERS)
def test_native_value_is_numpys(name: str) -> None:
    call = next(calls(name, 1))
    problem = check_value(call, "numba")
    assert not problem or (name in REFUSED and problem.startswith(f"refused {REFUSED[name]}")), (call, problem)


def test_the_audit_sees_mistakes() -> None:
    """A wrong dtype, shape, value, structure, and a derivative that is not that of the function."""
    from tests.ops.audit import difference
    x = np.array([1.0, 2.0])
    assert difference(x.astype(np.float32), x) and difference(x[None], x) and difference(x + 1e-6, x) and difference((x,), (x, x))
    assert not difference(x, x) and not difference(np.array([np.nan]), np.array([np.nan]))
