"""`make demo`: opens the first example in JupyterLab. Without a display it executes the notebook, writes the step-through as a standalone
page, and prints where both are."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
NOTEBOOK = ROOT / "examples" / "01_first_gradient.ipynb"
OUT = ROOT / "demo"


def has_display() -> bool:
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def execute() -> None:
    import nbformat
    from nbclient import NotebookClient

    import myia_notebook
    OUT.mkdir(exist_ok=True)
    notebook = nbformat.read(NOTEBOOK, 4)
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(OUT)}}).execute()
    executed = OUT / NOTEBOOK.name
    nbformat.write(notebook, executed)
    source = next(c.source for c in notebook.cells if c.cell_type == "code" and c.source.startswith("%%myia"))
    page = OUT / "first_gradient.html"
    from myia_notebook.cell import run_cell
    namespace = {"grad": myia_notebook.grad}
    result = run_cell(source.split("\n", 1)[1], namespace)
    result.compilation.save_html(page)
    print(f"No display: the notebook was executed.\n  notebook with outputs: {executed}\n  step-through, open it in a browser: {page}")


def main() -> None:
    if has_display() and not os.environ.get("CI"):
        subprocess.run([sys.executable, "-m", "jupyterlab", str(NOTEBOOK)], check=False)
    else:
        execute()


if __name__ == "__main__":
    main()
