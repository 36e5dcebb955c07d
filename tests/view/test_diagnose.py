"""Diagnostics before a cell runs, and completion of the magic's options."""
from __future__ import annotations

from types import SimpleNamespace

import pytest

from myia_notebook.magic import complete_options
from myia_notebook.view import live
from myia_notebook.view.diagnose import diagnose

GOOD = "def f(x):\n    return x * x\n\ngrad(f)(2.0)\n"
TRY = "def f(x):\n    try:\n        return x\n    except ValueError:\n        return 0\n"
DEL = "def g(é):\n    é = 'é'; del é\n    return 1\n"


def test_a_good_cell_has_no_fault() -> None:
    assert diagnose(GOOD) == [] and diagnose("") == [] and diagnose("import os\nclass A:\n    pass\n") == []


def test_what_is_not_python() -> None:
    (fault,) = diagnose("def f(x:\n    return x\n")
    assert fault["code"] == "M101" and fault["span"][0] == 1


def test_one_fault_for_each_function_with_its_place() -> None:
    found = diagnose(TRY + "\n" + DEL)
    assert [(f["code"], f["span"][:2]) for f in found] == [("M102", [2, 4]), ("M102", [8, 13])]
    assert found[1]["span"] == [8, 13, 8, 18] and "new one" in found[1]["hint"]  # columns are characters, not bytes


def test_it_runs_nothing() -> None:
    assert diagnose("raise SystemExit\n1 / 0\n") == []


def test_the_kernel_answers_it() -> None:
    got = live.answer({"check": TRY, "number": 3})
    assert got["number"] == 3 and [f["code"] for f in got["faults"]] == ["M102"]


@pytest.mark.parametrize("line, symbol, wanted", [
    ("%%myia --st", "--st", ["--stage", "--static"]), ("%%myia --backend ", "", ["numba", "cuda", "vm", "python"]), ("%%myia --stage ad", "ad", ["adjoint"]),
    ("%%myia -s ty", "ty", ["typed"]), ("%myia --he", "--he", ["--height"])])
def test_options_of_the_magic_are_completed(line: str, symbol: str, wanted: list[str]) -> None:
    assert complete_options(None, SimpleNamespace(text_until_cursor=line, symbol=symbol)) == wanted


def test_the_shell_offers_them() -> None:
    from IPython.core.interactiveshell import InteractiveShell

    from myia_notebook.magic import load_ipython_extension
    shell = InteractiveShell()
    load_ipython_extension(shell)
    _, found = shell.complete("--st", "%%myia --st")
    assert "--stage" in found and "--static" in found
