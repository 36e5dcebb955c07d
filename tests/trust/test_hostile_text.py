"""Cells that no one writes on purpose: nested, long, misnamed. Each has its value or one clear error; none ends the process or leaks Python's."""
from __future__ import annotations

import ast
import sys

import pytest

from myia_notebook import MyiaError, compile_source

DEEP = {
    "parentheses": "(" * 10_000 + "x" + ")" * 10_000, "minus": "-" * 10_000 + "x", "calls": "abs(" * 10_000 + "x" + ")" * 10_000, "sums": "x+" * 10_000 + "x",
    "attributes": "x" + ".T" * 10_000, "items": "x" + "[0]" * 10_000, "lambdas": "(lambda: " * 500 + "x" + ")()" * 500,
}


@pytest.mark.parametrize("what", DEEP)
def test_nested_too_deeply(what: str) -> None:
    before = sys.getrecursionlimit()
    with pytest.raises(MyiaError) as caught:
        compile_source(f"def f(x):\n    return {DEEP[what]}\n\nf(1.0)\n")
    assert caught.value.code == "M101" and len(str(caught.value)) < 200_000
    assert sys.getrecursionlimit() == before
    assert compile_source("def f(x):\n    return x + 1.0\n")["f"](1.0) == 2.0


def test_nested_as_deeply_as_python_allows() -> None:
    f = compile_source("def f(x):\n" + "".join("    " * (i + 1) + f"if x > {i}.0:\n" for i in range(90)) + "    " * 91 + "return x\n    return 0.0\n")["f"]
    assert (f(90.5), f(89.0)) == (90.5, 0.0)


def test_long_cells() -> None:
    assert compile_source("def f(x):\n    return x\n#" + "a" * 10_000_000)["f"](1.0) == 1.0
    assert compile_source("def f(x):\n    s = '" + "a" * 10_000_000 + "'\n    return x + len(s)\n")["f"](1.0) == 10_000_001.0


@pytest.mark.parametrize("name", ["sum", "abs", "x̂", "π", "ñandú", "__class__", "__name__", "_", "self", "print", "grad", "lambda_", "𝐱", "ａ", "Θ"])
def test_names(name: str) -> None:
    """Any identifier is a name like another, as a parameter and as a variable."""
    f = compile_source(f"def f({name}):\n    k = {name} * 2.0\n    {name} = k + {name}\n    return {name}\n")["f"]
    assert f(1.5) == 4.5


def test_names_that_look_alike_are_two() -> None:
    f = compile_source("def f(a, а):\n    return a - а * 2.0\n")["f"]  # the second is Cyrillic
    assert f(5.0, 1.0) == 3.0


@pytest.mark.parametrize("text", ["def f(x:\n  return", "def f(x):\nreturn x", "1 +", "'abc", "f(x) = 3", "def f(x):\n    return x\x00", "\ud800", "def f(x):\n\treturn x\n        return x",
                                  "return 3", "for", "(", "def 1f(): pass", "x = = 2"])
def test_text_that_is_no_python(text: str) -> None:
    with pytest.raises(SyntaxError) as caught:
        compile_source(text)
    assert isinstance(caught.value, MyiaError) and caught.value.code == "M101"


STATEMENTS = ["async def g(): pass", "class C: pass", "del x", "with x: pass", "try:\n        pass\n    finally:\n        pass", "import os", "from os import path", "global q", "nonlocal q",
              "yield x", "await x", "x = yield", "for i in x: yield i", "async for i in x: pass", "async with x: pass", "raise", "x @= yield", "y = {1, 2}",
              "y = [z async for z in x]", "y = x if await x else 2", "type T = int", "exec('1')", "eval('1')", "y = __import__('os')", "y = open('f')", "y = globals()", "y = 1j", "y = b'a'",
              "y = (yield from x)"]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_is_not_in_the_language_is_refused(statement: str) -> None:
    """Never Python's error, never a value."""
    text = f"def f(x):\n    {statement}\n    return x\n\nf(1.0)\n"
    with pytest.raises(MyiaError) as caught:
        compile_source(text)
    assert caught.value.code[0] == "M" and not caught.value.code.startswith("M80")


def test_every_kind_of_node_is_known() -> None:
    """Each kind of syntax of this Python is accepted or refused by name; a new Python's are refused."""
    from myia_notebook.parse.subset import ACCEPTED, REFUSED
    outside = (ast.mod, ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop, ast.type_ignore)
    for kind in vars(ast).values():
        if isinstance(kind, type) and issubclass(kind, (ast.stmt, ast.expr, ast.pattern)) and kind.__subclasses__() == [] and not issubclass(kind, outside):
            if kind.__module__ == "ast" and kind.__name__ in ("Num", "Str", "Bytes", "NameConstant", "Ellipsis", "Index", "ExtSlice"):
                continue
            assert kind in REFUSED or issubclass(kind, ACCEPTED), kind


def test_many_branches_are_no_explosion() -> None:
    """1 800 branches are 5 400 graphs; a type that grows without end is still found at once."""
    n = 1800  # slow to no purpose beyond this
    source = "def f(x):\n    if x > 1e9:\n        y = 0.0\n" + "".join(f"    elif x > {n - i}:\n        y = x * {i}.0\n" for i in range(n)) + "    else:\n        y = x\n    return y\n"
    f = compile_source(source)["f"]
    assert (f(0.5), f(n + 0.5)) == (0.5, 0.0)
    with pytest.raises(MyiaError) as caught:
        compile_source("def g(x):\n    return g((x, x))\n\ng(1.0)\n")
    assert caught.value.code == "M307"
