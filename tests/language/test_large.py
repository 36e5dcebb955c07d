"""Larger programs against plain Python, closed forms and differences."""
from __future__ import annotations

import math

import numpy as np
import pytest

from myia_notebook import grad, myia
from tests.language import large

BACKENDS = ("vm", "numba")


def slope(f, x: float, h: float = 1e-4) -> float:
    def d(h: float) -> float:
        return (f(x + h) - f(x - h)) / (2 * h)
    return (4 * d(h / 2) - d(h)) / 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_ode_with_an_event(backend: str) -> None:
    f = myia(large.fall, backend=backend)
    assert math.isclose(f(10.0, 0.02), large.fall(10.0, 0.02), rel_tol=1e-12)
    assert math.isclose(f(10.0, 0.0), 2 * 10.0 / 9.81, rel_tol=1e-8)
    assert math.isclose(grad(large.fall, backend=backend)(10.0, 0.0), 2 / 9.81, rel_tol=1e-6)
    # with drag k: up for atan(v √(k/g)) / √(kg), down for acosh(e^(kH)) / √(kg); the derivative by mpmath
    assert math.isclose(f(10.0, 0.02), 1.94507123341300754, rel_tol=1e-7)
    assert math.isclose(grad(large.fall, 1, backend=backend)(10.0, 0.02), -4.23195149227080819, rel_tol=5e-4)
    assert math.isclose(grad(large.fall, 1, backend=backend)(10.0, 0.02), slope(lambda k: large.fall(10.0, k), 0.02, 1e-5), rel_tol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_viterbi(backend: str) -> None:
    rng = np.random.default_rng(3)
    emission, transition = rng.normal(size=(6, 3)), rng.normal(size=(3, 3))
    score, path = myia(large.viterbi, backend=backend)(emission, transition)
    expected, best = large.viterbi(emission, transition)
    assert math.isclose(score, expected) and path == best

    def loss(e, t):  # type: ignore[no-untyped-def]
        return large.viterbi(e, t)[0]

    g = grad(loss, backend=backend)(emission, transition)
    chosen = np.zeros_like(emission)
    chosen[np.arange(6), [int(s) for s in best]] = 1.0
    np.testing.assert_array_equal(g, chosen)


@pytest.mark.parametrize("backend", BACKENDS)
def test_cky(backend: str) -> None:
    lexicon = [[0.1, 0.6, 0.2], [0.3, 0.2, 0.5], [0.2, 0.2, 0.3]]
    rules = [large.Rule(0, 1, 2, 0.4), large.Rule(1, 1, 0, 0.3), large.Rule(2, 2, 1, 0.2), large.Rule(0, 0, 0, 0.5)]
    words = [0, 1, 2, 0]
    expected = large.cky(words, lexicon, rules, 1.2)
    assert math.isclose(myia(large.cky, backend=backend)(words, lexicon, rules, 1.2), expected)
    # every parse of n words uses n - 1 rules: d log Z / d log scale = n - 1
    assert math.isclose(grad(large.cky, 3, backend=backend)(words, lexicon, rules, 1.2), 3 / 1.2, rel_tol=1e-12)
    g = grad(large.cky, 2, backend=backend)(words, lexicon, rules, 1.2)
    assert [type(r) for r in g] == [large.Rule] * 4
    assert math.isclose(sum(r.score * d.score for r, d in zip(rules, g)), 3.0, rel_tol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_heap(backend: str) -> None:
    xs = [3.0, -1.0, 2.5, 7.0, 0.5, 4.0]
    assert myia(large.heap_sort, backend=backend)(xs) == sorted(xs)
    assert grad(large.weighted_ranks, backend=backend)(xs) == [float(sorted(xs).index(x)) for x in xs]


@pytest.mark.parametrize("backend", BACKENDS)
def test_red_black_tree(backend: str) -> None:
    xs = [float(v) * 0.5 for v in (8, 3, 10, 1, 6, 14, 4, 7, 13, 0, 2, 5)]
    assert math.isclose(myia(large.balanced, backend=backend)(xs), large.balanced(xs))
    for i, d in enumerate(grad(large.balanced, backend=backend)(xs)):
        assert math.isclose(d, slope(lambda v, i=i: large.balanced([*xs[:i], v, *xs[i + 1:]]), xs[i]), abs_tol=1e-8)


@pytest.mark.parametrize("backend", BACKENDS)
def test_interpreter(backend: str) -> None:
    rng = np.random.default_rng(5)
    net = large.Net([rng.normal(size=4) for _ in range(3)], [rng.normal(size=4) for _ in range(3)])
    for x in (0.7, -1.3):
        assert math.isclose(myia(large.interpret, backend=backend)(large.PROGRAM, x, net), large.interpret(large.PROGRAM, x, net), rel_tol=1e-12)
        assert math.isclose(grad(large.interpret, 1, backend=backend)(large.PROGRAM, x, net), slope(lambda v: large.interpret(large.PROGRAM, v, net), x), rel_tol=1e-7)
    g = grad(large.interpret, 2, backend=backend)(large.PROGRAM, 0.7, net)
    assert isinstance(g, large.Net)
    for i, (w, d) in enumerate(zip(net.weights, g.weights)):
        for j in range(4):
            def shifted(v: float, i: int = i, j: int = j) -> float:
                moved = [m.copy() for m in net.weights]
                moved[i][j] = v
                return large.interpret(large.PROGRAM, 0.7, net._replace(weights=moved))
            assert math.isclose(d[j], slope(shifted, w[j]), rel_tol=1e-6, abs_tol=1e-9)
