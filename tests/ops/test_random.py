"""Random numbers: the generator against published vectors, against NumPy's Generator and against Philox written down here; the same stream in Python, on
the interpreter and natively; distributions against their moments; keys as values; reparametrized gradients."""
from __future__ import annotations

import math

import numpy as np
import pytest

from myia_notebook import MyiaError, grad, myia, random
from myia_notebook.random import bernoulli, choice, exponential, fold_in, integers, key, normal, permutation, split, uniform

BACKENDS = ("vm", "numba")
WORD = 2**64 - 1


def philox(counter: list[int], k: list[int]) -> list[int]:
    """Philox4x64-10, from the paper."""
    c0, c1, c2, c3 = counter
    k0, k1 = k
    for _ in range(10):
        p0, p1 = 0xD2E7470EE14C6C93 * c0, 0xCA5A826395121157 * c2
        c0, c1, c2, c3 = (p1 >> 64) ^ c1 ^ k0, p1 & WORD, (p0 >> 64) ^ c3 ^ k1, p0 & WORD
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) & WORD, (k1 + 0xBB67AE8584CAA73B) & WORD
    return [c0, c1, c2, c3]


def test_published_vectors() -> None:
    """Random123's kat_vectors, philox4x64 10."""
    assert philox([0] * 4, [0] * 2) == [0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B]
    assert philox([WORD] * 4, [WORD] * 2) == [0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0]


def test_the_stream_is_philox() -> None:
    for seed in (0, 7, -3, 2**63 - 1):
        expected = [w for i in (1, 2, 3) for w in philox([i, 0, 0, 0], [seed & WORD, 0])]
        assert [int(v) & WORD for v in random.bits(key(seed), 12)] == expected
    assert [int(v) & WORD for v in fold_in(key(3), 9)] == philox([10, 0, 0, 2], [3, 0])[:2]
    assert [int(v) & WORD for k in split(key(3)) for v in k] == philox([1, 0, 0, 1], [3, 0])


def test_uniform_is_numpys() -> None:
    assert np.array_equal(uniform(key(5), (3, 4)), np.random.Generator(np.random.Philox(key=5)).random((3, 4)))


DRAWS = {
    "key": lambda s: key(s), "split": lambda s: split(key(s), 3), "fold": lambda s: fold_in(key(s), 4), "bits": lambda s: random.bits(key(s), (2, 2)),
    "uniform": lambda s: uniform(key(s), (5,), -1.0, 3.0), "uniform scalar": lambda s: uniform(key(s)), "normal": lambda s: normal(key(s), (2, 3), 1.0, 2.0),
    "exponential": lambda s: exponential(key(s), 3, 2.0), "bernoulli": lambda s: bernoulli(key(s), 0.3, (6,)), "bernoulli one": lambda s: bernoulli(key(s)),
    "integers": lambda s: integers(key(s), -3, 5, (7,)), "integer": lambda s: integers(key(s), 0, s), "permutation": lambda s: permutation(key(s), 6),
    "shuffled": lambda s: permutation(key(s), np.arange(8).reshape(4, 2) * 1.5), "choice": lambda s: choice(key(s), np.array([1.5, 2.5, 4.0]), (4,)),
    "choice one": lambda s: choice(key(s), np.eye(3)), "choice of ints": lambda s: choice(key(s), 9, 5),
    "chain": lambda s: [normal(k, (2,)) for k in split(fold_in(key(s), 1))],
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", DRAWS)
def test_one_stream(name: str, backend: str) -> None:
    f = DRAWS[name]
    compiled = myia(f, backend=backend)
    for seed in (3, 11):
        expected, found = f(seed), compiled(seed)
        for a, b in zip(found, expected, strict=True) if isinstance(expected, (tuple, list)) else [(found, expected)]:
            assert np.asarray(a).dtype == np.asarray(b).dtype and np.shape(a) == np.shape(b)
            np.testing.assert_allclose(a, b, rtol=0 if name != "exponential" else 1e-15)


def test_moments() -> None:
    """Means and variances within five standard errors; no two elements correlated; every value of a range hit evenly."""
    n = 200_000
    u, z, e = uniform(key(1), n), normal(key(2), n), exponential(key(3), n)
    for sample, mean, variance, fourth in ((u, 0.5, 1 / 12, 1 / 80), (z, 0.0, 1.0, 3.0), (e, 1.0, 1.0, 9.0)):
        assert abs(sample.mean() - mean) < 5 * math.sqrt(variance / n)
        assert abs(sample.var() - variance) < 5 * math.sqrt((fourth - variance**2) / n)
        assert abs(np.corrcoef(sample[:-1], sample[1:])[0, 1]) < 5 / math.sqrt(n)
    assert 0 <= u.min() and u.max() < 1
    counts = np.bincount(integers(key(4), 0, 10, n), minlength=10)
    assert np.sum((counts - n / 10) ** 2 / (n / 10)) < 40          # χ² with 9 degrees of freedom
    assert abs(bernoulli(key(5), 0.25, n).mean() - 0.25) < 5 * math.sqrt(0.25 * 0.75 / n)
    assert sorted(permutation(key(6), 100).tolist()) == list(range(100))
    a, b = (normal(k, n) for k in split(key(7)))
    assert abs(np.mean(a * b)) < 5 / math.sqrt(n)


def test_a_longer_draw_begins_with_the_shorter() -> None:
    for f in (uniform, normal, random.bits):
        assert np.array_equal(f(key(1), 5), f(key(1), 8)[:5])


def walk(seed: int, drift: float) -> float:
    """A loop that carries a key."""
    k, x = key(seed), 0.0
    for i in range(20):
        k, sub = split(k)
        x = x + drift + 0.1 * normal(sub) * (1.0 + drift * uniform(fold_in(k, i)))
    return x


@pytest.mark.parametrize("backend", BACKENDS)
def test_keys_go_through_loops_and_gradients(backend: str) -> None:
    assert myia(walk, backend=backend)(5, 0.2) == pytest.approx(walk(5, 0.2), rel=1e-14)
    slope = (walk(5, 0.3) - walk(5, 0.1)) / 0.2          # linear in the drift
    assert grad(walk, 1, backend=backend)(5, 0.2) == pytest.approx(slope, rel=1e-12)
    z = normal(key(1), 4)
    found = grad(lambda m, s: np.sum(normal(key(1), 4, m, s) ** 2), (0, 1), backend=backend)(0.5, 2.0)
    assert found == pytest.approx((np.sum(2 * (0.5 + 2 * z)), np.sum(2 * (0.5 + 2 * z) * z)), rel=1e-13)


REFUSED = {
    "no key": (lambda x: uniform(x, 3), (2,), "key"),
    "a float for a seed": (lambda x: key(x), (1.5,), "seed is an int"),
    "an empty range": (lambda n: integers(key(1), n, n), (3,), "there are none"),
    "an unknown keyword": (lambda n: normal(key(n), size=3), (3,), "size"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    f, args, text = REFUSED[name]
    for backend in BACKENDS:
        with pytest.raises(MyiaError, match=text):
            myia(f, backend=backend)(*args)
