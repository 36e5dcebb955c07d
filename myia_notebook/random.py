"""Random numbers without hidden state: a *key* is a value, the same key gives the same numbers, and new keys are split off from it.

    key(seed) split(key, n) fold_in(key, i)                   keys, each an int64 array of shape (2,)
    bits uniform normal exponential integers bernoulli permutation choice

    k, sub = split(key(0))
    x = normal(sub, (3, 4))

The functions mean the same in compiled programs, on every backend, to the last bit. The generator is Philox4x64 with 10 rounds (Salmon, Moraes, Dror &
Shaw 2011, *Parallel random numbers: as easy as 1, 2, 3*), as NumPy has it: `uniform(key(s), n)` is `np.random.Generator(np.random.Philox(key=s)).random(n)`.
The highest word of its counter says what the numbers are for: 0 draws, 1 splitting, 2 folding in. With respect to `low`, `high`, `loc` and `scale`
the numbers are differentiable.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from myia_notebook.errors import error

DRAW, SPLIT, FOLD = range(3)
_STEP = 2.0 ** -53


def raw(k: Any, count: int, purpose: int = DRAW, start: int = 0) -> Any:
    """`count` words of 64 bits (unsigned) of the stream of a key."""
    words = np.asarray(k)
    if words.shape != (2,) or words.dtype != np.int64:
        raise error("M402", message=f"a random key is an int64 array of shape (2,), not {words.dtype} {words.shape}", hint="make one with key(seed)")
    counter = np.array([start, 0, 0, purpose], np.uint64)
    return np.random.Philox(key=words.view(np.uint64), counter=counter).random_raw(count)


def sized(shape: Any) -> tuple[int, ...]:
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


def bits_value(k: Any, shape: tuple[int, ...]) -> Any:
    return raw(k, math.prod(shape)).view(np.int64).reshape(shape)[()]


def uniform_value(k: Any, shape: tuple[int, ...]) -> Any:
    return ((raw(k, math.prod(shape)) >> np.uint64(11)) * _STEP).reshape(shape)[()]


def normal_value(k: Any, shape: tuple[int, ...]) -> Any:
    """Box and Muller's pairs, so that a longer draw begins with the shorter one."""
    count = math.prod(shape)
    u = uniform_value(k, ((count + 1) // 2, 2))
    radius, angle = np.sqrt(-2.0 * np.log1p(-u[:, 0])), 2.0 * math.pi * u[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)[:count].reshape(shape)[()]


def integers_value(k: Any, low: int, high: int, shape: tuple[int, ...]) -> Any:
    """low + bits mod (high − low): the bias is below (high − low)/2⁶⁴."""
    low, high = int(low), int(high)
    if low >= high:
        raise error("M702", message=f"random integers from {low} to below {high}: there are none")
    made = raw(k, math.prod(shape)) % np.uint64(high - low)
    return (made.view(np.int64) + np.int64(low)).reshape(shape)[()]


def split_value(k: Any, count: int) -> Any:
    return raw(k, 2 * count, SPLIT).view(np.int64).reshape(count, 2)


def fold_value(k: Any, i: Any) -> Any:
    return raw(k, 2, FOLD, int(i) % 2**64).view(np.int64)


# -- what users call (in compiled programs they stand for the same, see ops.library_random)

def key(seed: int) -> Any:
    """A key from an int."""
    return np.array([(int(seed) + 2**63) % 2**64 - 2**63, 0], np.int64)


def split(k: Any, count: int = 2) -> tuple[Any, ...]:
    """A tuple of new keys, independent of each other and of all that is drawn from k."""
    return tuple(split_value(k, count))


def fold_in(k: Any, i: int) -> Any:
    """A new key made of a key and an int: for the steps of a loop."""
    return fold_value(k, i)


def bits(k: Any, shape: Any = ()) -> Any:
    """64 random bits an element, as int64."""
    return bits_value(k, sized(shape))


def uniform(k: Any, shape: Any = (), low: Any = 0.0, high: Any = 1.0) -> Any:
    """low ≤ u < high, in steps of (high − low)·2⁻⁵³."""
    return low + (high - low) * uniform_value(k, sized(shape))


def normal(k: Any, shape: Any = (), loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The normal distribution of mean `loc` and standard deviation `scale`."""
    return loc + scale * normal_value(k, sized(shape))


def exponential(k: Any, shape: Any = (), scale: Any = 1.0) -> Any:
    """The exponential distribution of mean `scale`."""
    return scale * -np.log1p(-uniform_value(k, sized(shape)))


def bernoulli(k: Any, p: Any = 0.5, shape: Any = ()) -> Any:
    """True with probability p."""
    made = uniform_value(k, sized(shape)) < p
    return made if isinstance(made, np.ndarray) else bool(made)


def integers(k: Any, low: int, high: int, shape: Any = ()) -> Any:
    """Ints from low to below high."""
    return integers_value(k, low, high, sized(shape))


def permutation(k: Any, x: Any) -> Any:
    """0 … x − 1 in random order, or the array x with its first axis in random order."""
    n = x if isinstance(x, (int, np.integer)) else np.shape(x)[0]
    order = np.argsort(bits_value(k, (n,)), kind="stable")
    return order if isinstance(x, (int, np.integer)) else np.asarray(x)[order]


def choice(k: Any, x: Any, shape: Any = ()) -> Any:
    """Elements of 0 … x − 1, or of the first axis of the array x, each draw from all of them."""
    n = x if isinstance(x, (int, np.integer)) else np.shape(x)[0]
    places = integers_value(k, 0, n, sized(shape))
    return places if isinstance(x, (int, np.integer)) else np.asarray(x)[places]


__all__ = ["bernoulli", "bits", "choice", "exponential", "fold_in", "integers", "key", "normal", "permutation", "split", "uniform"]
