"""Newton's square root, left when it is exact enough (W2)."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.case import Case
from myia_notebook import grad, myia


def root(x: float) -> float:
    v = x
    while abs(v * v - x) > 1e-12:
        v = 0.5 * (v + x / v)
    return v


def by_hand() -> tuple[Any, Any]:
    import numba

    @numba.njit
    def gradient(x: float) -> float:
        kept, n, v = np.empty(64), 0, x
        while abs(v * v - x) > 1e-12:
            kept[n] = v
            n += 1
            v = 0.5 * (v + x / v)
        d_x, d_v = 0.0, 1.0
        for i in range(n - 1, -1, -1):
            v = kept[i]
            d_x += d_v * 0.5 / v
            d_v *= 0.5 * (1 - x / (v * v))
        return d_x + d_v

    return gradient, numba.njit(root)


def torch_() -> Any:
    import torch

    def run() -> Any:
        x = torch.tensor(2.7, dtype=torch.float64, requires_grad=True)
        return torch.autograd.grad(root(x), x)  # type: ignore[arg-type]

    return run


def cases() -> Iterator[Case]:
    hand, hand_primal = by_hand()
    yield Case("Newton's square root", grad(root), (2.7,), root, myia(root), hand=hand, hand_primal=hand_primal, expected=0.5 / np.sqrt(2.7), target="1.15 hand",
               peers={"torch": torch_})
