"""The magics in a real IPython shell."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from myia_notebook.magic import split_line

CELL = "def f(x):\n    return x * x\n\nf(3.0)\n"


@pytest.fixture
def shell() -> Iterator[Any]:
    made = InteractiveShell()
    made.run_line_magic("load_ext", "myia_notebook")
    yield made


def test_the_cell_defines_compiled_functions_and_gives_its_value(shell: Any) -> None:
    assert shell.run_cell_magic("myia", "-q", CELL) == 9.0
    assert shell.user_ns["f"](4.0) == 16.0
    assert shell.run_cell("grad(f)(4.0)").result == 8.0


def test_a_semicolon_hides_and_out_binds(shell: Any) -> None:
    assert shell.run_cell_magic("myia", "-o c", CELL.rstrip() + ";\n") is None
    assert shell.user_ns["c"].value == 9.0
    assert "optimized" in shell.user_ns["c"].stages


def test_a_bad_option_is_one_line_and_runs_nothing(shell: Any) -> None:
    with pytest.raises(UsageError) as caught:
        shell.run_cell_magic("myia", "--stage nothing", "ran = True\n")
    assert "\n" not in str(caught.value) and "ran" not in shell.user_ns


def test_comments_quotes_and_braces_on_the_line() -> None:
    assert split_line("--stage typed  # --stage parsed") == ["--stage", "typed"]
    assert split_line('--out "two words"') == ["--out", "two words"]
    assert split_line("--out a#b") == ["--out", "a#b"]


def test_the_text_of_a_cell_is_never_expanded(shell: Any) -> None:
    shell.user_ns["name"] = "broken"
    assert shell.run_cell_magic("myia", "-q", "def f(x):\n    '{name} $name'\n    return x\n\nf(2.0)\n") == 2.0


def test_line_magic(shell: Any) -> None:
    shell.run_cell_magic("myia", "-q", CELL)
    assert shell.run_line_magic("myia", "-q f(5.0)") == 25.0


def test_an_error_shows_the_message_alone(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    result = shell.run_cell("%%myia\ndef f(x):\n    return x + nowhere\n\nf(1.0)\n")
    assert isinstance(result.error_in_exec, NameError)
    printed = capsys.readouterr().out
    assert "nowhere" in printed and "line 2" in printed and "engine.py" not in printed and "Traceback" not in printed


def test_definitions_survive_a_failing_last_line(shell: Any) -> None:
    shell.run_cell("%%myia -q\ndef good(x):\n    return x + 1.0\n\ngood(nowhere)\n")
    assert shell.user_ns["good"](1.0) == 2.0


def test_redefinition_reaches_earlier_functions(shell: Any) -> None:
    shell.run_cell_magic("myia", "-q", "def helper(x):\n    return x + 1.0\n\ndef outer(x):\n    return helper(x) * 2.0\n\nouter(1.0)\n")
    shell.run_cell_magic("myia", "-q", "def helper(x):\n    return x * 10.0\n\nhelper(1.0)\n")
    assert shell.user_ns["outer"](1.0) == 20.0
