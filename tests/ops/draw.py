"""A source of random arrays, shapes and axes, in every layout and with every special value; or smooth ones, to differentiate at."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

DTYPES = ("float64", "float32", "int64", "int32", "bool")
SPECIAL = (0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 0.5)


@dataclass(frozen=True, slots=True)
class Call:
    """`text` is an expression in x0, x1, …, which stand for the arguments."""

    text: str
    arguments: tuple[Any, ...]


class Draw:
    """A source of random calls. `smooth` draws float64 only, away from what is special."""

    def __init__(self, seed: Any, smooth: bool = False) -> None:
        self.rng = np.random.default_rng(seed)
        self.smooth = smooth

    def pick(self, *options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def size(self) -> int:
        return int(self.rng.integers(1, 5)) if self.smooth or self.chance(0.95) else 0

    def shape(self, low: int = 0, high: int = 4) -> tuple[int, ...]:
        return tuple(self.size() for _ in range(int(self.rng.integers(low, high + 1))))

    def dtype(self, *allowed: str) -> str:
        allowed = allowed or DTYPES
        return "float64" if self.smooth else str(self.pick(*allowed))

    def axis(self, rank: int) -> int:
        return int(self.rng.integers(-rank, rank))

    def axes(self, rank: int) -> Any:
        kind = self.pick("none", "int", "int", "tuple") if rank else "none"
        if kind == "int":
            return self.axis(rank)
        if kind == "none":
            return None
        chosen = self.rng.permutation(rank)[:int(self.rng.integers(1, rank + 1))]
        return tuple(int(a - rank if self.chance(0.3) else a) for a in chosen)

    def array(self, shape: tuple[int, ...], *dtypes: str) -> Any:
        """An array (for rank 0: a NumPy scalar, a Python number or an array without axes) in one of the layouts that NumPy knows."""
        if self.smooth:
            return self.within(shape, -2.5, 2.5)
        dtype = self.dtype(*dtypes)
        if not shape:
            return self._scalar(dtype)
        values = self._values(shape, dtype)
        return self._layout(values)

    def within(self, shape: tuple[int, ...], low: float, high: float) -> Any:
        """Floats in a range, all of them different and none near a multiple of a half: where steps and ties are far."""
        n = int(np.prod(shape))
        values = low + (high - low) * (self.rng.permutation(n) + self.rng.uniform(0.2, 0.8, n)) / max(n, 1)
        values = np.where(np.abs(2 * values - np.rint(2 * values)) < 0.04, values + 0.023 * (1 if high > 0 else -1), values).reshape(shape)
        return values if shape else float(values)

    def _scalar(self, dtype: str) -> Any:
        value = self._values((), dtype)
        return self.pick(lambda: value[()], lambda: value.item(), lambda: value)()

    def _values(self, shape: tuple[int, ...], dtype: str) -> Any:
        if dtype == "bool":
            return np.asarray(self.rng.random(shape) < 0.5)
        if dtype.startswith("int"):
            return self.rng.integers(-6, 9, shape).astype(dtype) if shape else np.asarray(self.rng.integers(-6, 9), dtype)
        values = np.asarray(self.rng.normal(size=shape) * 3.0, dtype)
        if values.size and self.chance(0.3):
            values = np.where(self.rng.random(shape) < 0.3, self.rng.choice(SPECIAL, shape), values).astype(dtype)
        return np.asarray(values)

    def _layout(self, x: Any) -> Any:
        kind = self.pick("plain", "plain", "plain", "fortran", "reversed", "strided", "read-only", "swapped", "big-endian")
        if kind == "fortran":
            return np.asfortranarray(x)
        if kind == "reversed":
            return np.ascontiguousarray(x[..., ::-1])[..., ::-1]
        if kind == "strided":
            return np.repeat(x, 2, axis=-1)[..., ::2]
        if kind == "swapped" and x.ndim > 1:
            return np.ascontiguousarray(x.swapaxes(0, -1)).swapaxes(0, -1)
        if kind == "big-endian":
            return x.astype(x.dtype.newbyteorder(">"))
        if kind == "read-only":
            x = x.copy()
            x.flags.writeable = False
        return x

    def broadcastable(self, count: int) -> list[tuple[int, ...]]:
        """Shapes that broadcast with each other (now and then some that do not)."""
        whole = self.shape(0, 3)
        made = []
        for _ in range(count):
            part = whole[int(self.rng.integers(0, len(whole) + 1)):] if self.chance(0.4) else whole
            made.append(tuple(1 if self.chance(0.2) else n for n in part))
        if not self.smooth and self.chance(0.05):
            made[-1] = (*made[-1], 7)
        return made
