"""Random numbers as primitives: pure functions of a key (`myia_notebook.random` has the generator and its reference).

    random_bits(key, shape) random_uniform(key, shape) random_normal(key, shape)
    random_integers(key, low, high, shape)
    random_split(key, n)        n keys, int64[n, 2]
    random_fold(key, i)         a key made of a key and an int

NumPy computes them on every backend, so that a stream is one stream. Nothing is differentiated through a key.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from myia_notebook import random
from myia_notebook.errors import error
from myia_notebook.ir.types import INT_DTYPES, Array, Scalar, Type
from myia_notebook.ops.primitive import Abstract, Kernel, NotDifferentiable, Primitive, Sample
from myia_notebook.ops.promotion import with_shape

KEY = Array("int64", (2,))
_K = np.array([5, 0])
_DISCRETE = NotDifferentiable("a key has no derivative")


def require_key(t: Type) -> None:
    if t != KEY:
        raise error("M301", operation="a random function", types=str(t), hint="its first argument is a key: key(seed), or one that split gave")


def _require_int(t: Type) -> None:
    if not isinstance(t, Scalar) or t.dtype not in INT_DTYPES:
        raise error("M301", operation="a random function", types=str(t), hint="an int is expected")


def _infer(result: Callable[[list[Any]], Type], ints: int = 0) -> Callable[[list[Abstract]], Type]:
    def infer(arguments: list[Abstract]) -> Type:
        require_key(arguments[0].type)
        for a in arguments[1:1 + ints]:
            _require_int(a.type)
        return result([a.value for a in arguments])
    return infer


def _primitive(name: str, result: Callable[[list[Any]], Type], value: Callable[..., Any], symbol: str, sample: tuple[Any, ...], ints: int = 0,
               laws: tuple[str, ...] = ()) -> Primitive:
    return Primitive(name, _infer(result, ints), value, _DISCRETE, _DISCRETE, Kernel(name), symbol, False, frozenset(laws),
                     (Sample((_K, *sample)),), "Salmon et al. 2011 (Philox4x64-10)")


def _of(dtype: str) -> Callable[[list[Any]], Type]:
    return lambda values: with_shape(Scalar(dtype), values[-1])


random_bits = _primitive("random_bits", _of("int64"), random.bits_value, "bits", ((3,),))
random_uniform = _primitive("random_uniform", _of("float64"), random.uniform_value, "uniform", ((2, 2),))
random_normal = _primitive("random_normal", _of("float64"), random.normal_value, "normal", ((3,),))
random_integers = _primitive("random_integers", _of("int64"), random.integers_value, "integers", (2, 9, (4,)), 2, ("may_fail",))
random_split = _primitive("random_split", lambda values: Array("int64", (values[1], 2)), random.split_value, "split", (3,))
random_fold = _primitive("random_fold", lambda values: KEY, random.fold_value, "fold in", (7,), 1)

FAMILY: tuple[Primitive, ...] = (random_bits, random_uniform, random_normal, random_integers, random_split, random_fold)

__all__ = ["FAMILY", "KEY", "require_key"]
