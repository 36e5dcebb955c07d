"""What is outside the language is refused with its code, at the user's line, with a caret under the place; never a traceback of ours."""
from __future__ import annotations

import pytest

from myia_notebook.errors import CATALOG
from tests.language.refused import REFUSED, problem_of


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    source, code = REFUSED[name]
    problem = problem_of(name)
    assert problem is not None and problem.code == code, problem
    assert isinstance(problem, CATALOG[code].exception)
    assert problem.span is not None and 1 <= problem.span.line <= source.count("\n") + 1
    text = str(problem)
    assert f"line {problem.span.line}: {source.splitlines()[problem.span.line - 1].strip()}" in text and "^" in text
    assert "Traceback" not in text
