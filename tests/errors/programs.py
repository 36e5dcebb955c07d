"""Programs with mistakes, at least one for each code of the catalog that a program can cause: (what it is, the cell, the call)."""
from __future__ import annotations

from typing import NamedTuple


class Mistake(NamedTuple):
    code: str
    title: str
    source: str
    call: str = "f(2.0)"


MISTAKES = (
    Mistake("M101", "unbalanced brackets", "def f(x):\n    return (x + 1"),
    Mistake("M102", "try", "def f(x):\n    try:\n        return 1 / x\n    except ZeroDivisionError:\n        return 0.0"),
    Mistake("M102", "a class in a function", "def f(x):\n    class A:\n        pass\n    return x"),
    Mistake("M103", "append", "def f(x):\n    xs = [x]\n    xs.append(2 * x)\n    return sum(xs)"),
    Mistake("M103", "an attribute is set", "def f(p):\n    p.x = 3\n    return p"),
    Mistake("M104", "a value that nobody uses", "def f(x):\n    x + 1\n    return x"),
    Mistake("M201", "a misspelled name", "def f(x):\n    total = x * 2\n    return totl + 1"),
    Mistake("M202", "assigned in one branch only", "def f(x):\n    if x > 100:\n        y = 1.0\n    return y * x"),
    Mistake("M203", "closures over a loop variable", "def f(x):\n    fs = ()\n    for i in range(3):\n        fs = fs + (lambda: i * x,)\n    return fs[0]()"),
    Mistake("M301", "a number and a tuple", "def f(x):\n    pair = (1.0, 2.0)\n    return x + pair"),
    Mistake("M301", "a value that may be None", "def half(x):\n    if x > 0:\n        return x / 2\n\ndef f(x):\n    return half(x) + 1"),
    Mistake("M302", "branches of different types", "def f(x):\n    if x > 0:\n        y = (x, x)\n    else:\n        y = x\n    return y"),
    Mistake("M302", "returns of different types", "def f(x):\n    if x > 0:\n        return np.ones(3) * x\n    return (x, 1)"),
    Mistake("M303", "a number is called", "def f(x):\n    k = x * 2\n    return k(x)"),
    Mistake("M304", "a misspelled field", "@dataclass(frozen=True)\nclass Point:\n    alpha: float\n\ndef f(x):\n    p = Point(x)\n    return p.alpa"),
    Mistake("M305", "a value of an unknown class", "def f(x):\n    return x", "f({1, 2})"),
    Mistake("M306", "the key of a dict", "def f(x):\n    d = {x: 1.0}\n    return d"),
    Mistake("M307", "a type that grows", "def grow(t, n):\n    return t if n < 0 else grow((t, t), n - 1)\n\ndef f(x):\n    return grow(x, int(x))"),
    Mistake("M308", "truth of an array", "def f(x):\n    a = np.ones(3) * x\n    if a > 1:\n        return x\n    return -x"),
    Mistake("M401", "a matrix product", "def f(x):\n    a = np.ones((2, 3))\n    b = np.ones((2, 3)) * x\n    return np.sum(a @ b)"),
    Mistake("M401", "a sum of arrays", "def f(x):\n    weights = np.ones(3)\n    inputs = np.ones(4) * x\n    return weights + inputs"),
    Mistake("M402", "a reshape", "def f(x):\n    return np.reshape(np.ones(6) * x, (4, 2))"),
    Mistake("M403", "an index of a tuple", "def f(x):\n    t = (x, 1.0)\n    return t[5]"),
    Mistake("M404", "a key that is not there", "def f(x):\n    d = {'rate': x, 'steps': 3}\n    return d['rat']"),
    Mistake("M501", "too few arguments", "def line(a, b, x=1.0):\n    return a * x + b\n\ndef f(x):\n    return line(x)"),
    Mistake("M501", "a keyword that is not there", "def line(a, b, x=1.0):\n    return a * x + b\n\ndef f(x):\n    return line(x, 1.0, y=2.0)"),
    Mistake("M501", "a call from Python", "def f(x, y):\n    return x * y", "f(1.0, 2.0, 3.0)"),
    Mistake("M502", "no end", "def f(x):\n    return f(x + 1)"),
    Mistake("M601", "with respect to an int", "def f(x):\n    return grad(lambda v: v * 1.0)(3)"),
    Mistake("M602", "a result that is an array", "def f(x):\n    return grad(lambda v: v * np.ones(2))(x)"),
    Mistake("M603", "a name that is no parameter", "def g(a, b):\n    return a * b\n\ndef f(x):\n    return grad(g, 'c')(x, x)"),
    Mistake("M605", "a tangent of another shape", "def f(x):\n    return jvp(lambda v: v * v, (x,), (np.ones(3),))"),
    Mistake("M701", "division by zero", "def f(x):\n    y = x - 2.0\n    return 1.0 / y"),
    Mistake("M702", "the logarithm of a negative number", "def f(x):\n    return math.log(-x)"),
    Mistake("M703", "an index at run time", "def f(x):\n    xs = [x, 1.0]\n    i = int(x) + 3\n    return xs[i]"),
    Mistake("M704", "an assertion", "def f(x):\n    assert x > 5, f'x is {x}'\n    return x"),
    Mistake("M705", "raise", "def f(x):\n    if x > 1:\n        raise RuntimeError('no convergence')\n    return x"),
    Mistake("M708", "the exponential of a large number", "def f(x):\n    return math.exp(1000 * x)"),
    Mistake("M801", "a backend that does not exist", "def f(x):\n    return x", "myia(f, backend='gpu')"),
)
