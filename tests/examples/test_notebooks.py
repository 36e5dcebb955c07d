"""Every example runs from top to bottom, in order and alone; what it asserts holds; it is stored without outputs.

In process, in an IPython shell of its own: `tests/browser` runs some in a real kernel and page.
"""
from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def cells(path: Path) -> list[dict]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def test_they_are_numbered_without_a_gap() -> None:
    assert [int(p.name[:2]) for p in NOTEBOOKS] == list(range(1, len(NOTEBOOKS) + 1))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_it_runs(path: Path) -> None:
    shell = InteractiveShell()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for cell in cells(path):
            if cell["cell_type"] == "code":
                result = shell.run_cell("".join(cell["source"]), store_history=True)
                assert result.success, f"{''.join(cell['source'])}\n{result.error_before_exec or result.error_in_exec}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_it_is_stored_clean_and_asks_something(path: Path) -> None:
    assert all(not c.get("outputs") and c.get("execution_count") is None for c in cells(path))
    text = "\n".join("".join(c["source"]) for c in cells(path))
    assert text.startswith("# ") and "## Exercises" in text and "assert" in text
