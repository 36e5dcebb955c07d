"""`map_elements`: programs and derivatives over the elements of arrays, against loops in Python and closed forms."""
from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from myia_notebook import MyiaError, grad, map_elements, myia
from tests.cases.running import define
from tests.cuda.programs import newton, tree

BACKENDS = ("numba", "vm", "python")


class Pair(NamedTuple):
    x: float
    k: int


@dataclass(frozen=True)
class Point:
    x: float
    y: float


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_loop_with_its_own_end_for_each_element(backend: str) -> None:
    a = np.linspace(0.1, 50.0, 60).reshape(3, 20)
    roots, steps = map_elements(newton, backend=backend)(a)
    assert np.allclose(roots, np.sqrt(a), rtol=1e-11) and roots.dtype == np.float64
    assert steps.dtype == np.int64 and np.array_equal(steps, [[newton(v)[1] for v in row] for row in a.tolist()])
    slopes = map_elements(grad(lambda v: newton(v)[0]), backend=backend)(a)
    assert np.allclose(slopes, 0.5 / np.sqrt(a), rtol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_recursion_and_closures(backend: str) -> None:
    x = np.random.default_rng(0).normal(size=40)
    assert np.allclose(map_elements(tree, backend=backend)(x), [tree(v) for v in x.tolist()], rtol=1e-13)
    h = 1e-6
    expected = [(tree(v + h) - tree(v - h)) / (2 * h) for v in x.tolist()]
    assert np.allclose(map_elements(grad(tree), backend=backend)(x), expected, atol=1e-8)


@pytest.mark.parametrize("backend", BACKENDS)
def test_records_broadcasting_and_structures(backend: str) -> None:
    f = map_elements(lambda p, k: Point(p.x * k, p.y - k), backend=backend)
    found = f(Point(np.arange(3.0), 2.0), np.arange(2.0)[:, None])
    assert isinstance(found, Point)
    assert np.array_equal(found.x, np.outer(np.arange(2.0), np.arange(3.0))) and np.array_equal(found.y, np.full((2, 3), 2.0) - np.arange(2.0)[:, None])
    g = map_elements(grad(lambda p: p.x ** p.k), backend=backend)(Pair(np.array([0.5, 2.0]), np.array([2, 3])))
    assert isinstance(g, Pair) and np.allclose(g.x, [1.0, 12.0])


def test_dtypes_and_layouts() -> None:
    double = map_elements(lambda x: x + x)
    for dtype, result in (("float64", "float64"), ("float32", "float32"), ("int64", "int64"), ("int32", "int32"), ("bool", "int64")):
        x = np.array([[1, 0, 1], [0, 1, 1]]).astype(dtype)
        for view in (x, x.T, x[:, ::-1], np.asfortranarray(x), x.astype(x.dtype.newbyteorder())):
            found = double(view)
            assert found.dtype == result and np.array_equal(found, 2 * view.astype(int))
    positive = map_elements(lambda x: x > 0.5)(np.array([0.2, 0.7]))
    assert positive.dtype == bool and positive.tolist() == [False, True]
    strided = np.arange(10.0)[::-3]
    assert np.array_equal(double(strided), 2 * strided)
    assert double(np.zeros((0, 3))).shape == (0, 3) and double(1.5) == 3.0 and type(double(1.5)) is float


def test_functions_and_numbers_are_for_every_element() -> None:
    def apply(f, x, n):
        for _ in range(n):
            x = f(x)
        return x

    found = map_elements(apply)(lambda v: v * v, np.array([1.0, 2.0]), np.array([[1], [3]]))
    assert np.array_equal(found, [[1.0, 4.0], [1.0, 256.0]])


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_first_failure_is_raised_with_its_element_and_line(backend: str) -> None:
    quotient = define("def f(x, y):\n    return x / y\n", backend)["f"]
    y = np.ones(5000)
    y[[317, 4000, 4999]] = 0.0
    with pytest.raises(ZeroDivisionError) as caught:
        map_elements(quotient, backend=backend)(1.0, y)
    assert caught.value.element == 317 and "at element 317" in str(caught.value) and caught.value.span.line == 2
    with pytest.raises(ZeroDivisionError) as caught:
        map_elements(quotient, backend=backend)(np.ones((4, 1)), y[300:400])
    assert caught.value.element == (0, 17)


def test_messages_of_one_thread_are_not_those_of_another() -> None:
    space = define("def f(i):\n    if i >= 0:\n        raise ValueError(f'it was {i}')\n    return i\n", "numba")
    f = map_elements(space["f"])
    for _ in range(5):
        with pytest.raises(ValueError, match="it was 0 "):
            f(np.arange(1000))


def test_what_prints_goes_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    space = define("def f(i):\n    print(i)\n    return i\n", "numba")
    map_elements(space["f"])(np.arange(200))
    assert capsys.readouterr().out.split() == [str(i) for i in range(200)]


def test_a_helper_redefined_is_seen() -> None:
    space = define("def h(x):\n    return x\n\ndef f(x):\n    return h(x)\n", "numba")
    f = map_elements(space["f"])
    x = np.array([1.0, 2.0])
    assert np.array_equal(f(x), x)
    space["h"] = myia(lambda x: x * 10.0)
    assert np.array_equal(f(x), 10 * x)


@pytest.mark.parametrize("call, code", [
    (lambda: map_elements(lambda x: np.ones(2) * x)(np.ones(3)), "M308"),
    (lambda: map_elements(lambda x, y: x + y)(np.ones(3), np.ones(4)), "M402"), (lambda: map_elements(lambda x: x)([1.0, 2.0]), "M305"),
    (lambda: map_elements(lambda x: x)(np.array([1j])), "M305"), (lambda: map_elements(lambda n: np.sum(np.zeros(n)))(np.arange(3)), "M306"),
    (lambda: map_elements(lambda x: x)(), "M501"), (lambda: map_elements(3), "M305")])
def test_what_cannot_be_mapped_is_refused(call, code: str) -> None:
    with pytest.raises(MyiaError) as caught:
        call()
    assert caught.value.code == code


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupt_stops_it() -> None:
    code = ("import signal, numpy as np, myia_notebook\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background job ignores it
            "space = myia_notebook.compile_source('def f(x):\\n    while x > 0.0:\\n        x = x + 1.0\\n    return x\\n')\n"
            "f = myia_notebook.map_elements(space['f'])\nf(np.zeros(3))\nprint('ready', flush=True)\n"
            "try:\n    f(np.ones(8))\nexcept KeyboardInterrupt:\n    print('stopped', float(f(np.zeros(3)).sum()))\n")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
            assert out == "stopped 0.0\n"
        finally:
            process.kill()
