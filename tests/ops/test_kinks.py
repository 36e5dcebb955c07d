"""Derivatives at kinks are what the table says, in both modes and on both backends, and float32 stays float32 there."""
from __future__ import annotations

import numpy as np
import pytest

from myia_notebook import grad, jvp
from tests.ops.kinks import KINKS, Kink

IDS = [f"{k.operation}-{i}" for i, k in enumerate(KINKS)]


@pytest.mark.parametrize("backend", ("vm", "numba"))
@pytest.mark.parametrize("kink", KINKS, ids=IDS)
def test_the_table_is_true(kink: Kink, backend: str) -> None:
    found = grad(kink.f, "*", backend=backend)(*kink.at)
    for have, want in zip(found if isinstance(found, tuple) else (found,), kink.gradient, strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-15)
    for i, want in enumerate(kink.gradient):
        for place in np.ndindex(np.shape(want)):
            unit = np.zeros(np.shape(want))
            unit[place] = 1.0
            tangents = tuple((unit if np.shape(unit) else 1.0) if j == i else np.zeros(np.shape(x)) if np.shape(x) else 0.0 for j, x in enumerate(kink.at))
            np.testing.assert_allclose(jvp(kink.f, kink.at, tangents, backend=backend)[1], np.asarray(want)[place], rtol=1e-15)


@pytest.mark.parametrize("kink", [k for k in KINKS if k.operation != "polygamma"], ids=[i for i, k in zip(IDS, KINKS) if k.operation != "polygamma"])
def test_single_precision_stays(kink: Kink) -> None:
    at = tuple(x.astype(np.float32) if isinstance(x, np.ndarray) else np.float32(x) for x in kink.at)
    found = grad(kink.f, "*", backend="vm")(*at)
    for have, want in zip(found if isinstance(found, tuple) else (found,), kink.gradient, strict=True):
        assert np.asarray(have).dtype == np.float32
        np.testing.assert_allclose(have, want, rtol=1e-6)
