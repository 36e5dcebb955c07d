"""The pages: every internal link leads somewhere, and what is generated names every public function."""
from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import myia_notebook

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

PAGES = [*sorted((ROOT / "docs").glob("*.md")), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "NOTICE.md"))]


def broken(page: Path) -> list[str]:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = [link for link in re.findall(r"(?<!\\)\]\(([^)\s]+)\)", text) if not re.match(r"[a-z]+:", link)]
    return [link for link in links if not (page.parent / link.split("#")[0]).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_internal_links_resolve(page: Path) -> None:
    assert broken(page) == []


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("[b](b.md) [here](a.md#x) [out](https://example.org) `[code](no.md)`", encoding="utf-8")
    assert broken(page) == ["b.md"]


def test_the_api_page_has_every_function() -> None:
    import docs_site
    page = docs_site.api()
    for name in ("grad", "value_and_grad", "jvp", "vjp", "jacobian", "hessian", "custom_gradient", "stop_gradient", "myia", "explain"):
        assert f"## {name}\n" in page and (getattr(myia_notebook, name).__doc__ or "").strip().splitlines()[0] in page


def test_the_notebooks_of_the_lesson_plans_exist() -> None:
    guide = (ROOT / "docs" / "teachers-guide.md").read_text(encoding="utf-8")
    numbers = {n for row in re.findall(r"^\| \d+ [^|]*\|([^|]*)\|", guide, re.MULTILINE) for n in re.findall(r"\d\d", row)}
    assert len(numbers) >= 16 and all(list((ROOT / "examples").glob(f"{n}_*.ipynb")) for n in numbers)
