"""Takes outputs and execution counts out of notebooks: those named, or all examples. Fails if one had any, as a pre-commit hook should."""
from __future__ import annotations

import json
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def clean(path: Path) -> bool:
    """Whether the notebook had something to take out."""
    before = path.read_text(encoding="utf-8")
    notebook = json.loads(before)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
    notebook["metadata"].pop("widgets", None)
    after = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    if json.loads(after) == json.loads(before):
        return False
    path.write_text(after, encoding="utf-8")
    return True


def main() -> int:
    changed = [str(path) for path in map(Path, sys.argv[1:] or sorted(EXAMPLES.glob("*.ipynb"))) if clean(path)]
    for path in changed:
        print(f"{path}: outputs taken out")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
