"""Pictures without a browser: the static SVG of a stage, and text. Nothing here raises: a picture that cannot be drawn is text."""
from __future__ import annotations

import html
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from myia_notebook.snapshot import Snapshot

if TYPE_CHECKING:
    from myia_notebook.compilation import Compilation


def _engine() -> str | None:
    """A Graphviz command line that can run here: that of the graphviz-pure wheel, else the system's."""
    own = Path(sys.executable).parent / "graphviz-pure"
    return str(own) if own.exists() else shutil.which("graphviz-pure") or shutil.which("dot")


def stage_svg(snapshot: Snapshot) -> str:
    """The picture of a stage as SVG: its graph, or its text where there is none or no layout engine works."""
    state = snapshot.final or snapshot.initial
    if state is not None and snapshot.error is None:
        try:
            return _drawn(state)
        except Exception:
            pass
    return text_svg(snapshot.text or (snapshot.error.message if snapshot.error else ""))


def _drawn(state: Any) -> str:
    from myia_notebook.view.dot import to_dot
    source = to_dot(state)
    engine = _engine()
    if engine is None:
        raise FileNotFoundError("no Graphviz")
    import graphviz.backend.dot_command as command
    before = command.DOT_BINARY
    command.DOT_BINARY = type(before)(engine)
    try:
        drawn = source.pipe(format="svg", encoding="utf-8", quiet=True)
    finally:
        command.DOT_BINARY = before
    return drawn[drawn.index("<svg"):]


def text_svg(text: str) -> str:
    """Text as an SVG picture."""
    lines = text.splitlines()[:200] or [""]
    width = 16 + 7.3 * max(map(len, lines))
    rows = "".join(f'<text x="8" y="{20 + 16 * i}" xml:space="preserve">{html.escape(line)}</text>' for i, line in enumerate(lines))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{16 * len(lines) + 16}" font-family="monospace" font-size="12">'
            f'<rect width="100%" height="100%" fill="#fff"/>{rows}</svg>')


def compilation_text(compilation: Compilation) -> str:
    """What a terminal shows: the stages, the last graph as text, the error if there is one."""
    parts = [compilation.table()]
    last = compilation.stages.get("optimized") or next(reversed(compilation.stages.values()), None)
    if last is not None and last.error is None:
        parts.append(f"\n{last.stage}:\n{last.text}")
    if compilation.problem is not None:
        parts.append(str(compilation.problem))
    return "\n".join(parts)
