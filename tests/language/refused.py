"""Programs outside the language, by construct: (source that defines f(x), the code of the error). `f(2.0)` or its definition must be refused so."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import myia_notebook as myia
from myia_notebook import MyiaError
from myia_notebook.cell import CellOptions, run_cell

REFUSED: dict[str, tuple[str, str]] = {
    "setting an attribute": ("def f(p):\n    p.x = 3\n    return p", "M103"),
    "setting an item of a value of another function": ("A = np.ones(2)\ndef f(x):\n    A[0] = x\n    return x", "M103"),
    "setting an item where another variable is the same array": ("def f(x):\n    a = np.ones(2) * x\n    b = a\n    for i in range(2):\n        a[i] = x\n    return b[0]", "M103"),
    "del": ("def f(x):\n    y = x\n    del y\n    return x", "M102"),
    "global": ("def f(x):\n    global y\n    y = x\n    return x", "M102"),
    "nonlocal": ("def f(x):\n    y = 1\n    def g():\n        nonlocal y\n        y = x\n    return y", "M102"),
    "a method that changes a list": ("def f(x):\n    xs = []\n    xs.append(x)\n    return xs", "M103"),
    "a call whose value is not used": ("def g(x):\n    return x\ndef f(x):\n    g(x)\n    return x", "M104"),
    "an expression whose value is not used": ("def f(x):\n    x + 1\n    return x", "M104"),
    "try": ("def f(x):\n    try:\n        return x\n    except ValueError:\n        return 0.0", "M102"),
    "with": ("def f(x):\n    with open('a') as g:\n        return x", "M102"),
    "a class inside a function": ("def f(x):\n    class A: pass\n    return x", "M102"),
    "yield": ("def f(x):\n    yield x", "M102"),
    "async def": ("async def f(x):\n    return x", "M102"),
    "import inside a function": ("def f(x):\n    import math\n    return x", "M102"),
    "a set": ("def f(x):\n    return {x, 1.0}", "M102"),
    "a set comprehension": ("def f(x):\n    return {v for v in (x, 1.0)}", "M102"),
    "a generator on its own": ("def f(x):\n    g = (v for v in (x, 1.0))\n    return x", "M102"),
    "a complex number": ("def f(x):\n    return x * 1j", "M102"),
    "a function made in a comprehension over its target": ("def f(x):\n    fs = [lambda: i for i in range(3)]\n    return fs[0]()", "M203"),
    "a closure over a variable that is assigned again": ("def f(x):\n    fs = ()\n    for i in range(3):\n        fs = fs + (lambda: i,)\n    return fs[0]()", "M203"),
    "a name that is not defined": ("def f(x):\n    return y + x", "M201"),
    "a variable read before it is assigned": ("def f(x):\n    if x > 100:\n        y = 1\n    return y", "M202"),
    "operands of the wrong type": ("def f(x):\n    return x + (1, 2)", "M301"),
    "a value that may be None in arithmetic": ("def g(x):\n    if x > 0: return x\ndef f(x):\n    return g(x) + 1", "M301"),
    "branches of different types": ("def f(x):\n    if x > 0:\n        y = (1, 2)\n    else:\n        y = x\n    return y", "M302"),
    "calling a number": ("def f(x):\n    return x(1)", "M303"),
    "a field that does not exist": ("@dataclass(frozen=True)\nclass P:\n    alpha: float\ndef f(x):\n    return P(x).alpa", "M304"),
    "a function that is no operation": ("def f(x):\n    return np.fft.fft(x)", "M305"),
    "a dict key known only at run time": ("def f(x):\n    d = {x: 1}\n    return d", "M306"),
    "an item of a selection by a boolean mask": ("def f(x):\n    a = np.ones(3) * x\n    return a[a > 0][0]", "M301"),
    "shapes that do not fit": ("def f(x):\n    return np.ones((2, 3)) @ np.ones((2, 3)) * x", "M401"),
    "an index out of range": ("def f(x):\n    return (x, 1)[5]", "M403"),
    "a dict key that is not there": ("def f(x):\n    d = {'a': x}\n    return d['b']", "M404"),
    "the wrong number of arguments": ("def g(a, b): return a\ndef f(x):\n    return g(x)", "M501"),
    "recursion without an end": ("def f(x):\n    return f(x)", "M502"),
    "the gradient of an int": ("def f(x):\n    return grad(lambda v: v * 1.0)(3)", "M601"),
    "the gradient of a result that is no number": ("def f(x):\n    return grad(lambda v: v * np.ones(2))(x)", "M602"),
}


def problem_of(name: str) -> MyiaError | None:
    """The error that a program gives."""
    namespace: dict[str, Any] = {"np": np, "math": math, "dataclass": dataclass, "grad": myia.grad}
    try:
        run_cell(REFUSED[name][0], namespace, CellOptions(observe=False))
        namespace["f"](2.0)
    except MyiaError as problem:
        return problem
    return None
