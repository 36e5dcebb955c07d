"""The whole text of every error, as the user reads it, against `texts.txt`. `python -m tests.errors.test_texts` writes that file anew."""
from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import myia_notebook as m
from myia_notebook.cell import CellOptions, run_cell
from myia_notebook.errors import CATALOG
from tests.errors.programs import MISTAKES, Mistake

TEXTS = Path(__file__).with_name("texts.txt")
NOT_BY_A_PROGRAM = {"M604": "a check of custom gradients", "M706": "memory for the stack", "M707": "memory", "M800": "a fault of the compiler", "M802": "no source"}


def text_of(mistake: Mistake) -> str:
    """What is printed: the cell, then the error."""
    namespace: dict[str, Any] = {"np": np, "math": math, "dataclass": dataclass, "grad": m.grad, "jvp": m.jvp, "myia": m.myia}
    try:
        run_cell(mistake.source, namespace, CellOptions(observe=False))
        eval(mistake.call, namespace)
    except m.MyiaError as problem:
        shown = f"{type(problem).__name__}: {problem}"
    else:
        shown = "no error"
    return f"## {mistake.code} {mistake.title}\n\n{mistake.source}\n\n>>> {mistake.call}\n{shown}\n"


def known() -> dict[str, str]:
    sections = TEXTS.read_text(encoding="utf-8").split("## ")[1:]
    return {section.splitlines()[0]: "## " + section.rstrip("\n") + "\n" for section in sections}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda x: f"{x.code} {x.title}")
def test_text(mistake: Mistake) -> None:
    assert text_of(mistake) == known()[f"{mistake.code} {mistake.title}"]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda x: f"{x.code} {x.title}")
def test_code_and_names(mistake: Mistake) -> None:
    text = text_of(mistake).rpartition(">>> ")[2]
    assert f"[{mistake.code}]" in text
    assert not any(word in text for word in ("Traceback", "getitem", "python_", "reduce_", "Sentinel", "UNDEFINED"))


def test_every_code_has_a_text_and_a_page() -> None:
    pages = (Path(__file__).parents[2] / "docs" / "errors.md").read_text(encoding="utf-8")
    assert {x.code for x in MISTAKES} | NOT_BY_A_PROGRAM.keys() == CATALOG.keys()
    assert all(f"## {code} " in pages for code in CATALOG)


if __name__ == "__main__":
    TEXTS.write_text("\n".join(map(text_of, MISTAKES)), encoding="utf-8")
