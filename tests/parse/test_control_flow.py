"""Every control flow means what plain Python shows: each program runs as Python and compiled, on both backends."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import myia_notebook as myia
from myia_notebook.cell import CellOptions, run_cell
from tests.cases.running import same

SOURCES = {
    "while else": ("def f(n):\n    while n > 3:\n        n = n - 1\n        if n == 5:\n            break\n    else:\n        n = n + 100\n    return n\n", [(10,), (4,), (2,)]),
    "for else": ("def f(n):\n    s = 0\n    for i in range(n):\n        if i == 4:\n            break\n        s = s + i\n    else:\n        s = -s\n    return s\n", [(3,), (10,), (0,)]),
    "nested breaks": ("def f(n):\n    s = 0\n    for i in range(n):\n        for j in range(i):\n            if j == 3:\n                break\n            if i % 2 == 0:\n                continue\n"
                      "            s = s + i * j\n        else:\n            s = s + 1000\n    return s\n", [(0,), (4,), (9,)]),
    "return inside two loops": ("def f(n):\n    for i in range(n):\n        for j in range(n):\n            if i * j == 6:\n                return i + 10 * j\n    return -1\n", [(2,), (4,), (7,)]),
    "loop variable after the loop": ("def f(n):\n    i = 7\n    for i in range(n):\n        pass\n    return i\n", [(0,), (3,)]),
    "negative step": ("def f(n):\n    s = 0\n    for i in range(n, -n, -2):\n        s = s * 3 + i\n    return s\n", [(0,), (5,)]),
    "run-time step": ("def f(n, k):\n    s = 0\n    for i in range(0, n, k):\n        s = s * 3 + i\n    return s\n", [(5, 2), (-5, -2), (5, -1)]),
    "body rebinds the loop variable": ("def f(n):\n    s = 0\n    for i in range(n):\n        i = i * 10\n        s = s + i\n    return s, i\n", [(4,)]),
    "assigned in one arm": ("def f(x):\n    y = 1.0\n    if x > 0.0:\n        y = x\n        z = 2.0 * y\n    else:\n        z = y\n    return y + z\n", [(3.0,), (-3.0,)]),
    "partial exits": ("def f(x):\n    if x > 0:\n        if x > 10:\n            return 1\n        y = 2\n    else:\n        if x < -10:\n            return 3\n        y = 4\n    return y * 10 + x\n",
                      [(20,), (5,), (-5,), (-20,)]),
    "short circuit values": ("def f(a, b):\n    return a and b, a or b, not a, (a and b) or 7\n", [(0, 3), (2, 0), (2, 3)]),
    "chained comparison": ("def f(a, b, c):\n    return a < b <= c, a < b > c, 1 < a != b\n", [(1, 2, 2), (3, 2, 1)]),
    "walrus and star": ("def f(t):\n    a, *rest, b = t\n    if (n := len(rest)) > 1:\n        return a + b + n\n    return n\n", [((1, 2, 3, 4),), ((1, 2),)]),
    "defaults, keywords, star parameters": ("def g(a, /, b=2, *rest, c=10):\n    return a + 10 * b + 100 * len(rest) + 1000 * c\n\ndef f(x):\n    return g(x), g(x, 3), g(x, 3, 4, 5), g(x, c=1, b=7)\n", [(1,)]),
    "a helper defined later": ("def f(x):\n    return later(x) + 1\n\ndef later(x):\n    return 2 * x\n", [(3,)]),
    "nested mutual recursion": ("def f(n):\n    def even(k):\n        return True if k == 0 else odd(k - 1)\n    def odd(k):\n        return False if k == 0 else even(k - 1)\n    return even(n)\n", [(7,), (8,)]),
    "captured and rebound": ("def f(x):\n    def g():\n        return x\n    a = g()\n    x = x + 1\n    return 10 * a + g()\n", [(3,)]),
    "for over tuples": ("def f(t):\n    s = 0.0\n    for x, y in t:\n        if x > y:\n            continue\n        s = s + x * y\n    return s\n", [(((1.0, 2.0), (3.0, 2.0), (4.0, 5.0)),)]),
    "early return from a loop over a tuple": ("def f(t, k):\n    for x in t:\n        if x > k:\n            return x\n    return 0\n", [((1, 5, 9), 3), ((1, 5, 9), 10)]),
    "while True": ("def f(n):\n    k = 0\n    while True:\n        k = k + n\n        if k > 20:\n            break\n    return k\n", [(3,)]),
    "raise": ("def f(x):\n    if x < 0:\n        raise ValueError('negative')\n    return x\n", [(2,)]),
}


@pytest.mark.parametrize("backend", ["vm", "numba"])
@pytest.mark.parametrize("name", SOURCES)
def test_as_python(name: str, backend: str) -> None:
    source, calls = SOURCES[name]
    plain: dict[str, Any] = {"math": math, "np": np}
    exec(source, plain)
    space: dict[str, Any] = {"math": math, "np": np}
    run_cell(source, space, CellOptions(backend=backend, observe=False))
    for arguments in calls:
        assert same(space["f"](*arguments), plain["f"](*arguments), 1e-14), arguments


REFUSED = {
    "try": "def f(x):\n    try:\n        return x\n    except ValueError:\n        return 0\n",
    "with": "def f(x):\n    with x:\n        return 1\n",
    "yield": "def f(x):\n    yield x\n",
    "import": "def f(x):\n    import os\n    return x\n",
    "global": "def f(x):\n    global y\n    y = x\n    return x\n",
    "del": "def f(x):\n    y = x\n    del y\n    return x\n",
    "class": "def f(x):\n    class A:\n        pass\n    return x\n",
    "set": "def f(x):\n    return {x}\n",
    "append": "def f(x):\n    t = ()\n    t.append(x)\n    return t\n",
    "attribute": "def f(x):\n    x.y = 1\n    return x\n",
    "async": "async def g(x):\n    return x\n\ndef f(x):\n    async def h():\n        return 1\n    return x\n",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_outside_is_refused_with_line_and_caret(name: str) -> None:
    with pytest.raises(myia.MyiaSyntaxError) as caught:
        run_cell(REFUSED[name], {}, CellOptions(observe=False))
    text = str(caught.value)
    assert caught.value.code in ("M102", "M103") and "line " in text and "^" in text


def test_late_binding_that_cannot_be_seen_is_refused_by_name() -> None:
    source = "def f(x):\n    fs = ()\n    for k in range(3):\n        fs = fs + (lambda t: t * k,)\n    total = 0.0\n    for g in fs:\n        total = total + g(x)\n    return total\n"
    space: dict[str, Any] = {}
    run_cell(source, space, CellOptions(backend="vm", observe=False))
    with pytest.raises(myia.MyiaError) as caught:
        space["f"](1.5)
    assert caught.value.code == "M203" and "'k'" in str(caught.value)


@pytest.mark.parametrize(("source", "arguments", "code", "line"), [
    ("def f(x):\n    y = x + 1.0\n    return y + nowhere\n", (1.0,), "M201", 3),
    ("def f(x):\n    if x > 0.0:\n        return x\n    return (x, x)\n", (1.0,), "M302", 2),
    ("def g(a, b):\n    return a\n\ndef f(x):\n    return g(x)\n", (1.0,), "M501", 5),
    ("def f(x):\n    return x(1)\n", (1.0,), "M303", 2),
    ("def f(x):\n    return np.ones((2, 3)) @ np.ones((2, 3))\n", (1.0,), "M401", 2),
    ("def r(x):\n    return r(x - 1)\n\ndef f(x):\n    return r(x)\n", (1,), "M502", 0),
    ("def f(x, n):\n    for i in range(n):\n        x = x + 1.0\n    return x * i\n", (1.0, 0), "M202", 4),
    ("def f(x):\n    return 1 // x\n", (0,), "M701", 2),
    ("def f(x):\n    return math.sqrt(x)\n", (-1.0,), "M702", 2),
    ("def f(v, i):\n    return v[i]\n", (np.ones(3), 5), "M703", 2),
])
@pytest.mark.parametrize("backend", ["vm", "numba"])
def test_errors_name_code_and_line(source: str, arguments: tuple[Any, ...], code: str, line: int, backend: str) -> None:
    space: dict[str, Any] = {"np": np, "math": math}
    run_cell(source, space, CellOptions(backend=backend, observe=False))
    with pytest.raises(myia.MyiaError) as caught:
        space["f"](*arguments)
    assert caught.value.code == code, caught.value
    assert line == 0 or (caught.value.span is not None and caught.value.span.line == line), caught.value


# -- generated programs

NAMES = ("a", "b", "c")


@st.composite
def blocks(draw: Any, depth: int, loop: bool) -> list[str]:
    """Statements over the variables a, b, c; loops are bounded by their own counters."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["assign", "assign", "augment", "if", "for", "while", "exit"] if depth else ["assign", "augment"]))
        x, y, z = (draw(st.sampled_from(NAMES)) for _ in range(3))
        if kind == "assign":
            lines.append(f"{x} = {y} {draw(st.sampled_from(['+', '-', '*']))} {draw(st.sampled_from([z, '2', '3']))}")
        elif kind == "augment":
            lines.append(f"{x} += {draw(st.integers(-3, 3))}")
        elif kind == "if":
            lines.append(f"if {x} % 3 {draw(st.sampled_from(['<', '==', '>']))} {draw(st.integers(0, 2))}:")
            lines += ["    " + s for s in draw(blocks(depth - 1, loop))]
            if draw(st.booleans()):
                lines.append("else:")
                lines += ["    " + s for s in draw(blocks(depth - 1, loop))]
        elif kind == "for":
            lines.append(f"for i{depth} in range({draw(st.integers(0, 4))}):")
            lines += ["    " + s for s in draw(blocks(depth - 1, True))]
            if draw(st.booleans()):
                lines.append("else:")
                lines += ["    " + s for s in draw(blocks(depth - 1, loop))]
        elif kind == "while":
            lines += [f"k{depth} = {draw(st.integers(0, 4))}", f"while k{depth} > 0:", f"    k{depth} = k{depth} - 1"]
            lines += ["    " + s for s in draw(blocks(depth - 1, True))]
        elif loop:
            lines.append(draw(st.sampled_from(["break", "continue", f"return {x} * 7"])))
            break
        else:
            lines.append(f"return {x} + 1")
            break
    return lines


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(blocks(3, False), st.tuples(*[st.integers(-4, 4)] * 3))
def test_generated_control_flow(body: list[str], arguments: tuple[int, int, int]) -> None:
    source = "def f(a, b, c):\n" + "\n".join("    " + s for s in body) + "\n    return a, b, c\n"
    if "return" in "".join(body):
        source = source.replace("return a, b, c\n", "return a * 100 + b * 10 + c\n")
    plain: dict[str, Any] = {}
    exec(source, plain)
    expected = plain["f"](*arguments)
    if any(abs(v) >= 2**62 for v in (expected if isinstance(expected, tuple) else (expected,))):
        return
    for backend in ("vm", "numba"):
        space: dict[str, Any] = {}
        run_cell(source, space, CellOptions(backend=backend, observe=False))
        assert same(space["f"](*arguments), expected, 0), (source, arguments)


def test_deep_source_does_not_hit_the_recursion_limit() -> None:
    chain = "def f(x):\n    return " + " + ".join(["x"] * 3000) + "\n"
    ladder = "def f(x):\n" + "".join(f"    {'el' if i else ''}if x == {i}:\n        return {i}.0\n" for i in range(300)) + "    return -1.0\n"
    long = "def f(x):\n" + "    x = x + 1.0\n" * 3000 + "    return x\n"
    for source, argument, expected in ((chain, 1.0, 3000.0), (ladder, 299.0, 299.0), (long, 0.0, 3000.0)):
        space: dict[str, Any] = {}
        run_cell(source, space, CellOptions(backend="vm", observe=False))
        assert space["f"](argument) == expected

