"""The functions of `myia_notebook.random`, as compositions of primitives."""
from __future__ import annotations

from typing import Any

from myia_notebook import random
from myia_notebook.errors import error
from myia_notebook.ir.types import INT, INT_DTYPES, Array, Scalar
from myia_notebook.ops.arguments import Bound, as_array, bind, concatenated, needed, of_dtype, option, reshaped, shape_of
from myia_notebook.ops.expression import Builder, Expr, apply
from myia_notebook.ops.operation import Expand, Operation
from myia_notebook.ops.operators import Keywords, convert, known, make, static_value
from myia_notebook.ops.primitive import UNKNOWN
from myia_notebook.ops.random import require_key


def _key_of(name: str, bound: Bound) -> Expr:
    k = as_array(bound["k"])
    require_key(k.type)
    return k


def _shape(bound: Bound) -> tuple[int, ...]:
    shape = random.sized(option(bound, "shape", ()))
    if not all(isinstance(n, int) and n >= 0 for n in shape):
        raise error("M402", message=f"a shape is made of ints that are not negative, not {shape}")
    return shape


def _seeded(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    seed = bind("key", ("seed",), arguments, keywords)["seed"]
    if not isinstance(seed.type, Scalar) or seed.type.dtype not in INT_DTYPES:
        raise error("M301", operation="key", types=str(seed.type), hint="a seed is an int")
    word = reshaped(convert(seed, Scalar("int64")), (1,))
    return concatenated(0, [word, known(builder, random.key(0)[1:])])


def _split(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("split", ("k", "count"), arguments, keywords)
    k, count = _key_of("split", bound), option(bound, "count", 2)
    if not isinstance(count, int) or count < 0:
        raise error("M402", message=f"the number of keys is an int that is not negative, not {count!r}")
    keys = apply("random_split", k, static=[count])
    return make(builder, [apply("reshape", apply("index", keys, static=[(("slice", i, i + 1, 1), ("slice", 0, 2, 1))]), static=[(2,)]) for i in range(count)])


def _fold_in(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("fold_in", ("k", "i"), arguments, keywords)
    return apply("random_fold", _key_of("fold_in", bound), needed("fold_in", bound, "i")[0])


def _drawn(name: str, primitive: str, *parameters: str) -> Expand:
    """A draw of standard numbers, then moved and scaled: `low` and `high`, or `loc` and `scale`."""
    def expand(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
        bound = bind(name, ("k", "shape", *parameters), arguments, keywords)
        made = apply(primitive, _key_of(name, bound), static=[_shape(bound)])
        first, second = (as_array(bound[p]) if p in bound else None for p in parameters) if parameters else (None, None)
        if name == "uniform":
            if first is None and second is None:
                return made
            low, high = known(builder, 0.0) if first is None else first, known(builder, 1.0) if second is None else second
            return low + (high - low) * made
        made = made if second is None else second * made
        return made if first is None else first + made
    return expand


def _exponential(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("exponential", ("k", "shape", "scale"), arguments, keywords)
    made = -apply("log1p", -apply("random_uniform", _key_of("exponential", bound), static=[_shape(bound)]))
    return as_array(bound["scale"]) * made if "scale" in bound else made


def _bernoulli(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("bernoulli", ("k", "p", "shape"), arguments, keywords)
    u = apply("random_uniform", _key_of("bernoulli", bound), static=[_shape(bound)])
    return u < (as_array(bound["p"]) if "p" in bound else 0.5)


def _integers(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("integers", ("k", "low", "high", "shape"), arguments, keywords)
    low, high = needed("integers", bound, "low", "high")
    return apply("random_integers", _key_of("integers", bound), low, high, static=[_shape(bound)])


def _size(name: str, x: Expr) -> int:
    """How many there are to choose from."""
    if isinstance(x.type, Array):
        return shape_of(x)[0]
    n = static_value(x)
    if n is UNKNOWN or not isinstance(n, int) or n < 0:
        raise error("M306", what=f"the size of {name}", hint="it is a shape: use a literal, len(x) or x.shape[0]")
    return n


def _permutation(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("permutation", ("k", "x"), arguments, keywords)
    x = as_array(needed("permutation", bound, "x")[0])
    order = apply("argsort", apply("random_bits", _key_of("permutation", bound), static=[(_size("permutation", x),)]), static=[0])
    return apply("take", x, order, static=[0]) if isinstance(x.type, Array) else order


def _choice(builder: Builder, arguments: list[Expr], keywords: Keywords) -> Expr:
    bound = bind("choice", ("k", "x", "shape"), arguments, keywords)
    x, shape = as_array(needed("choice", bound, "x")[0]), _shape(bound)
    k = _key_of("choice", bound)
    if not isinstance(x.type, Array):
        return apply("random_integers", k, known(builder, 0), convert(x, INT), static=[shape])
    places = apply("random_integers", k, known(builder, 0), known(builder, _size("choice", x)), static=[shape or (1,)])
    made = apply("take", x, of_dtype(places, "int64"), static=[0])
    return made if shape else reshaped(made, shape_of(x)[1:])


RANDOM: dict[Any, Operation] = {
    f: Operation(f"random.{f.__name__}", expand, f.__name__) for f, expand in (
        (random.key, _seeded), (random.split, _split), (random.fold_in, _fold_in), (random.bits, _drawn("bits", "random_bits")),
        (random.uniform, _drawn("uniform", "random_uniform", "low", "high")), (random.normal, _drawn("normal", "random_normal", "loc", "scale")),
        (random.exponential, _exponential), (random.bernoulli, _bernoulli), (random.integers, _integers), (random.permutation, _permutation),
        (random.choice, _choice))}

__all__ = ["RANDOM"]
