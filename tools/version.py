"""The version: `myia_notebook.__version__` is where it is said; other files that must name it are made to agree.

    python tools/version.py            fails, naming the file, if one says another version
    python tools/version.py 0.2.0      writes it everywhere
"""
from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = (Path("myia_notebook/__init__.py"), r'^__version__ = "([^"]+)"$')
COPIES = (
    (Path("labextension/package.json"), r'^  "version": "([^"]+)",$'),
    (Path("CITATION.cff"), r"^version: (\S+)$"),
)


def read(root: Path, place: tuple[Path, str]) -> str:
    path, pattern = place
    found = re.search(pattern, (root / path).read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{path}: no version there")
    return found[1]


def write(root: Path, version: str) -> None:
    for path, pattern in (SOURCE, *COPIES):
        text = (root / path).read_text(encoding="utf-8")
        found = re.search(pattern, text, re.MULTILINE)
        if found is None:
            raise SystemExit(f"{path}: no version there")
        (root / path).write_text(text[:found.start(1)] + version + text[found.end(1):], encoding="utf-8")


def disagreements(root: Path) -> list[str]:
    version = read(root, SOURCE)
    return [f"{place[0]} says {said}, {SOURCE[0]} says {version}" for place in COPIES if (said := read(root, place)) != version]


def main() -> int:
    if len(sys.argv) > 1:
        write(ROOT, sys.argv[1])
    problems = disagreements(ROOT)
    print("\n".join(problems) or read(ROOT, SOURCE))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
