"""`python -m myia_notebook show`: stages from the shell."""
from __future__ import annotations

import pathlib

import pytest

from myia_notebook.ir.text import parse_program
from myia_notebook.shell import main
from myia_notebook.vm import run

SOURCE = "import math\n\n\ndef f(x, n):\n    return math.sin(x) ** 2 * n\n\n\ndef g(x):\n    return x + 'a'\n"


@pytest.fixture
def file(tmp_path: pathlib.Path) -> str:
    path = tmp_path / "programs.py"
    path.write_text(SOURCE)
    return str(path)


def test_a_stage_is_printed_and_reads_back(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", f"{file}:f", "--args", "0.7", "3", "--grad", "--stage", "optimized", "--check"]) == 0
    program = parse_program(capsys.readouterr().out)
    import math
    assert run(program, (0.7, 3)) == pytest.approx(3 * math.sin(1.4))


@pytest.mark.parametrize("stage", ["parsed", "typed", "adjoint", "lowered", "code", "run", "events", "report"])
def test_every_stage_has_text(file: str, stage: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", f"{file}:f", "--args", "0.7", "3", "--grad", "--stage", stage]) == 0
    assert len(capsys.readouterr().out.strip()) > 3


def test_all_graphs_without_a_stage(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", f"{file}:f", "--args", "0.7", "3"]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line.startswith("==")] == ["== parsed", "== typed", "== adjoint", "== optimized"]


def test_refused_programs_and_wrong_calls(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", f"{file}:g", "--args", "1.0", "--stage", "typed"]) == 1
    assert "M3" in capsys.readouterr().err
    for wrong in (f"{file}:nothing", "nowhere.py:f", file):
        assert main(["show", wrong, "--args", "1.0"]) == 2
        assert "Traceback" not in capsys.readouterr().err
    assert main(["show", f"{file}:f", "--args", "1.0 +", "2"]) == 2


def test_a_report_holds_what_a_bug_report_needs() -> None:
    import numpy

    from myia_notebook import explain

    def f(x):  # type: ignore[no-untyped-def]
        return x * x

    report = explain(f, 2.0).report()
    assert f"numpy {numpy.__version__}" in report and "Python 3." in report and "llvmlite" in report
    assert "optimized\n@f(x: float) -> float:\n  %1 : float = multiply(x, x)\n  return %1" in report
    assert len([line for line in report.splitlines() if line.startswith(("parsed ", "typed ", "optimized ", "code ", "run "))]) == 5

    def g(x):  # type: ignore[no-untyped-def]
        return x + "a"

    assert "error\n[M3" in explain(g, 2.0).report()


def test_the_table_of_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    out = capsys.readouterr().out
    assert "get_of_make" in out and "common subexpressions" in out
