"""Writes the golden files again: the stages of the programs of tests/golden/programs.py, as text. Look at `git diff tests/golden` afterwards."""
from __future__ import annotations

import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.golden.programs import PROGRAMS  # noqa: E402
from tests.golden.test_golden import HERE, texts  # noqa: E402


def main() -> None:
    for folder in HERE.iterdir():
        if folder.is_dir() and not folder.name.startswith("_"):
            shutil.rmtree(folder)
    for program in PROGRAMS:
        folder = HERE / program.folder
        folder.mkdir()
        for name, text in texts(program).items():
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
