"""Programs that have types only for known values: loops that are unrolled, sizes that are inputs. Values are plain Python's, gradients central
differences."""
from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from myia_notebook import MyiaError, compile_source, grad, myia

_R = np.random.RandomState(0)
_POSITIVE = (lambda m: m @ m.T + 3.0 * np.eye(4))(_R.randn(4, 4))

PROGRAMS = {
    "back substitution": ("""
def f(a, b):
    n = b.shape[0]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1:] @ x[i + 1:]) / a[i, i]
    return np.sum(x ** 2)
""", (np.triu(_POSITIVE), _R.randn(4))),
    "elimination": ("""
def f(a, b):
    a, b = a.copy(), b.copy()
    n = len(b)
    for k in range(n):
        for i in range(k + 1, n):
            m = a[i, k] / a[k, k]
            a[i, k:] -= m * a[k, k:]
            b[i] -= m * b[k]
    return np.prod(np.diag(a)) + b @ b
""", (_POSITIVE, _R.randn(4))),
    "Cholesky": ("""
def f(a):
    n = a.shape[0]
    L = np.zeros_like(a)
    for j in range(n):
        L[j, j] = np.sqrt(a[j, j] - np.sum(L[j, :j] ** 2))
        for i in range(j + 1, n):
            L[i, j] = (a[i, j] - np.dot(L[i, :j], L[j, :j])) / L[j, j]
    return np.sum(np.log(np.diag(L)))
""", (_POSITIVE,)),
    "batches, the last one shorter": ("""
def f(w, X):
    for start in range(0, X.shape[0], 3):
        batch = X[start:start + 3]
        w = w - 0.1 * np.mean(batch * (batch @ w)[:, None], axis=0)
    return np.sum(w ** 2)
""", (_R.randn(3), _R.randn(8, 3))),
    "an array that grows": ("""
def f(x):
    for _ in range(3):
        x = np.concatenate((x, x * 2))
    return np.sum(np.sin(x))
""", (np.array([0.5, 1.0]),)),
    "a tuple that grows": ("""
def f(x):
    t = ()
    for i in range(4):
        t = t + (x ** i,)
    return sum(t) + t[-1]
""", (0.5,)),
    "while": ("""
def f(x):
    i, s = 0, 0.0
    while i < len(x):
        s += np.sum(x[:i + 1]) ** 2
        i += 1
    return s
""", (_R.randn(3),)),
    "recursion": ("""
def go(x, i):
    if i == len(x):
        return 0.0
    return np.sum(x[i:]) ** 2 + go(x, i + 1)

def f(x):
    return go(x, 0)
""", (_R.randn(3),)),
    "a shape from the counter": ("""
def f(x):
    s = 0.0
    for i in range(1, 4):
        s += np.sum(np.ones(i) * x) * np.sum(np.reshape(np.arange(6.0) * x, (i, -1))[0])
    return s
""", (0.7,)),
    "items of several types": ("""
def f(x):
    t = (x, np.array([x, 2.0]), 3)
    s = 0.0
    for i in range(3):
        s += np.sum(t[i])
    return s
""", (0.7,)),
    "the number of points": ("""
def integral(g, a, b, n):
    t = np.linspace(a, b, n)
    y = g(t)
    return (b - a) / (n - 1) * (np.sum(y) - 0.5 * (y[0] + y[-1]))

def f(a, b, n):
    return integral(lambda t: np.sin(t) * a, 0.0, b, n)
""", (1.5, 2.0, 20)),
    "a shape": ("""
def f(x, shape):
    z = np.ones(shape) * x
    return np.sum(z) * z.shape[0]
""", (1.5, (2, 3))),
    "a bound beside a count": ("""
def f(x, n, k):
    s = 0.0
    for i in range(k):
        s = s * 0.5 + np.sum(x[:n]) ** 2
    return s
""", (_R.randn(6), 3, 4)),
    "an axis and a flag": ("""
def f(x, axis, keep):
    y = np.max(x, axis=axis, keepdims=keep)
    return np.sum(y ** 2) * y.ndim
""", (_R.randn(2, 3), 1, True)),
    "moving average": ("""
def f(x, w):
    return sum(np.mean(x[i:i + w]) ** 2 for i in range(len(x) - w + 1))
""", (_R.randn(6), 3)),
    "a recursion from an input": ("""
def f(x, i):
    if i == len(x):
        return 0.0
    return np.sum(x[i:]) ** 2 + f(x, i + 1)
""", (_R.randn(4), 1)),
    "windows": ("""
def f(x, k):
    t, h = 0.0, k.shape[0] // 2
    for i in range(h, len(x) - h):
        t += (x[i - h:i + h + 1] @ k) ** 2
    return t
""", (_R.randn(8), _R.randn(3))),
    "blocks": ("""
def f(x):
    n, t = 3, 0.0
    for b in range(x.shape[0] // n):
        low = b * n
        high = low + n
        t += np.sum(x[b * n:(b + 1) * n]) ** 2 + np.max(x[low:high])
    return t
""", (_R.randn(12),)),
    "convolution by windows": ("""
def f(image, k):
    height, width = k.shape
    out = np.zeros((image.shape[0] - height + 1, image.shape[1] - width + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.sum(image[i:i + height, j:j + width] * k)
    return np.sum(np.tanh(out))
""", (_R.randn(5, 6), _R.randn(2, 3))),
    "assignment to windows": ("""
def f(x, w):
    y = np.zeros(len(x) + 2)
    for i in range(len(x)):
        y[i:i + 3] += x[i] * w
    return np.sum(y ** 2)
""", (_R.randn(6), _R.randn(3))),
    "a window from the data": ("""
def f(x):
    i = np.argmax(x)
    return np.sum(x[i - 1:i + 2] ** 3)
""", (np.array([1.0, 2.0, 5.0, 3.0, 0.0]),)),
    "in a method": ("""
@dataclass(frozen=True)
class Prefixes:
    scale: float

    def total(self, x):
        s = 0.0
        for i in range(1, len(x)):
            s += self.scale * np.sum(x[:i])
        return s

def f(x, k):
    return Prefixes(k).total(x)
""", (_R.randn(4), 2.0)),
}


def _plain(source: str) -> Callable[..., Any]:
    """The function f of a program, as Python has it."""
    filename = f"<unrolled {len(linecache.cache)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    space: dict[str, Any] = {"np": np, "dataclass": dataclass, "__name__": __name__}
    exec(compile(source, filename, "exec"), space)
    return space["f"]  # type: ignore[no-any-return]


def _difference(f, args, i, h=1e-6):
    x = np.asarray(args[i])
    made = np.zeros(x.shape)
    for k in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[k] = h
        up, down = (f(*args[:i], (x + s)[()] if x.ndim else float(x + s), *args[i + 1:]) for s in (step, -step))
        made[k] = (up - down) / (2 * h)
    return made


@pytest.mark.parametrize("backend", ["vm", "numba"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_steps_that_need_the_counter(name: str, backend: str) -> None:
    source, args = PROGRAMS[name]
    f = _plain(source)
    compiled = myia(f, backend=backend)
    assert np.isclose(compiled(*args), f(*args), rtol=1e-13)
    for i in (i for i, a in enumerate(args) if isinstance(a, (float, np.ndarray))):
        assert np.allclose(grad(compiled, i)(*args), _difference(f, args, i), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("step", "code"), [("t = t + (x,)", "M307"), ("x = x - np.sum(np.ones(i))", "M306")])
def test_a_loop_that_no_value_ends_is_refused(step: str, code: str) -> None:
    f = compile_source(f"import numpy as np\ndef f(x):\n    t, i = (), 0\n    while x > 1.0:\n        {step}\n        x, i = x * 0.5, i + 1\n    return x\n")["f"]
    with pytest.raises(MyiaError) as found:
        f(8.0)
    assert found.value.code == code and found.value.span is not None


def test_one_compilation_for_each_size() -> None:
    space = compile_source("import numpy as np\ndef f(x, n):\n    return np.sum(np.linspace(0.0, x, n))\ngrad(f)(2.0, 11)")
    assert np.isclose(space["_"], 5.5)
    f = space["f"]
    for n in (3, 4, 3, 5, 4):
        assert np.isclose(f(2.0, n), n) and np.isclose(grad(f)(2.0, n), n / 2)
    assert len(f._cache) == 3


def test_linspace() -> None:
    def f(a, b):  # type: ignore[no-untyped-def]
        return (np.linspace(a, b, 5), np.linspace(a, b, 4, endpoint=False), np.linspace(b, 3, 1), np.linspace(0, b)[7], np.linspace(a, b, 0),
                np.linspace(np.array([1.0, a]), b, 3))
    for got, wanted in zip(myia(f)(1.5, -2.5), f(1.5, -2.5)):
        assert np.allclose(got, wanted, rtol=1e-15) and np.shape(got) == np.shape(wanted)
    assert np.allclose(grad(lambda a, b: np.linspace(a, b, 5)[1] ** 2, "*")(1.5, 2.5), (2 * 1.75 * 0.75, 2 * 1.75 * 0.25))


@pytest.mark.parametrize("backend", ["vm", "numba"])
def test_a_window_that_is_not_inside(backend: str) -> None:
    """Python would give fewer items: an error, never a wrong value."""
    f = myia(lambda x, y: np.sum(x[np.argmax(y) - 2:np.argmax(y) + 1]), backend=backend)
    x = np.arange(4.0) + 1.0
    assert f(x, x) == 9.0 and f(x, np.array([0.0, 0.0, 1.0, 0.0])) == 6.0
    for y in (x[::-1], np.array([0.0, 1.0, 0.0, 0.0])):
        with pytest.raises(IndexError, match="3 items") as found:
            f(x, y.copy())
        assert isinstance(found.value, MyiaError) and str(found.value).count("M703") == 1


def test_a_long_loop_over_windows_is_not_unrolled() -> None:
    f = compile_source("import numpy as np\ndef f(x):\n    t = 0.0\n    for i in range(len(x) - 2):\n        t += np.prod(x[i:i + 3])\n    return t\n")["f"]
    x = np.linspace(0.5, 1.5, 5000)
    assert np.isclose(f(x), np.sum(x[:-2] * x[1:-1] * x[2:]))
    expected = np.zeros(5000)
    for k in range(3):
        expected[k:4998 + k] += np.prod([x[j:4998 + j] for j in range(3) if j != k], axis=0)
    assert np.allclose(grad(f)(x), expected)
