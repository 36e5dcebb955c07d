"""`make docs`: the pages of docs/ as a static site in build/site, with an API reference from docstrings and a gallery of live viewers.

Works on a copy in build/pages, so that nothing generated lies among the sources. The gallery's pages are `save_html` of real compilations: they need no kernel and no network.
"""
from __future__ import annotations

import inspect
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import myia_notebook
from myia_notebook import explain, grad

ROOT = Path(__file__).parent.parent
PAGES, SITE = ROOT / "build" / "pages", ROOT / "build" / "site"
ORDER = ("index", "glossary", "gallery", "api")


def power(x: float, n: int) -> float:
    y = 1.0
    while n > 0:
        y = y * x
        n = n - 1
    return y


def countdown(x: float, n: int) -> float:
    return x if n == 0 else math.sin(x) * countdown(x, n - 1)


def neuron(w: np.ndarray, x: np.ndarray) -> float:
    return np.sum(np.tanh(w @ x) ** 2)


GALLERY = (("A loop, differentiated", power, (1.5, 4)), ("A recursion", countdown, (0.7, 3)), ("Arrays: a layer", neuron, (np.array([[0.1, 0.2], [0.3, -0.4]]), np.array([1.0, 2.0]))))


def gallery() -> str:
    """Writes one viewer a program and gives the page that shows them."""
    (PAGES / "viewers").mkdir()
    parts = ["# Gallery\n\nEach picture is the whole viewer: press space to play a stage, the arrows to step, `?` for the keys.\n"]
    for title, f, inputs in GALLERY:
        explain(grad(f), *inputs).save_html(PAGES / "viewers" / f"{f.__name__}.html")
        parts.append(f"## {title}\n\n```python\n{inspect.getsource(f)}```\n\n<iframe src=\"../viewers/{f.__name__}.html\" title=\"{title}\" loading=\"lazy\" "
                     "style=\"width:100%;height:640px;border:1px solid #bbb\"></iframe>\n")
    return "\n".join(parts)


def api() -> str:
    """The public names with their signatures and docstrings, as they are."""
    parts = ["# The Python interface\n\nEverything of `myia_notebook.__all__`. Errors are in [errors.md](errors.md).\n"]
    for name in sorted(myia_notebook.__all__, key=str.lower):
        value = getattr(myia_notebook, name)
        if inspect.isclass(value) and issubclass(value, (Exception, Warning)):
            continue
        parts.append(f"## {name}\n\n```python\n{name}{inspect.signature(value)}\n```\n\n{inspect.getdoc(value) or ''}\n")
    return "\n".join(parts)


def front_page() -> str:
    """The README, with its links as seen from here; what lies outside docs/ is named without a link."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    return re.sub(r"\[([^]]+)\]\((?!https?:)([^)]*)\)", lambda m: m[0] if (ROOT / "docs" / m[2].split("#")[0]).exists() else f"`{m[1]}`", text)


def main() -> int:
    shutil.rmtree(ROOT / "build" / "pages", ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES)
    for name, text in (("index", front_page()), ("api", api()), ("gallery", gallery())):
        (PAGES / f"{name}.md").write_text(text, encoding="utf-8")
    names = [*ORDER, *sorted(p.stem for p in (ROOT / "docs").glob("*.md") if p.stem not in ORDER)]
    nav = "".join(f"  - {name}.md\n" for name in names)
    (PAGES.parent / "mkdocs.yml").write_text(f"site_name: myia_notebook\ndocs_dir: pages\nsite_dir: site\nplugins: []\ntheme:\n  name: readthedocs\nnav:\n{nav}", encoding="utf-8")
    return subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(PAGES.parent / "mkdocs.yml")], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
