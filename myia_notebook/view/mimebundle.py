"""What a notebook gets to show: the viewer's data (JupyterLab and Notebook 7 draw it from the output, also without a kernel), the widget for
other front ends, a static picture that survives without either, and plain text."""
from __future__ import annotations

import base64
import html
import json
from typing import TYPE_CHECKING, Any

from myia_notebook.view.fallback import compilation_text, stage_svg

if TYPE_CHECKING:
    from myia_notebook.compilation import Compilation


MIME = "application/vnd.myia-notebook.v1+json"


class Display:
    """Displays a compilation: as the widget, or (`static`) as a picture alone."""

    def __init__(self, compilation: Compilation, static: bool = False, height: int | None = None, stage: str | None = None) -> None:
        self.compilation, self.static, self.height, self.stage = compilation, static, height, stage

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": compilation_text(self.compilation), "text/html": self.picture()}
        if not self.static:
            bundle[MIME] = self.compilation.payload(self.stage, self.height)
            widget = self._widget()
            if widget is not None:
                inner = widget._repr_mimebundle_()
                data = inner[0] if isinstance(inner, tuple) else inner
                bundle.update({k: v for k, v in (data or {}).items() if k.startswith("application/")})
        return bundle

    def __repr__(self) -> str:
        return compilation_text(self.compilation)

    def picture(self) -> str:
        """The static picture as an <img>: SVG in a data URL, which untrusted notebooks and GitHub-like viewers keep."""
        stages = self.compilation.stages
        wanted = self.stage if self.stage in stages else "adjoint" if "adjoint" in stages else next(reversed(stages), None)
        if wanted is None:
            return ""
        svg = stage_svg(stages[wanted])
        encoded = base64.b64encode(svg.encode()).decode()
        problem = f"<pre>{html.escape(str(self.compilation.problem))}</pre>" if self.compilation.problem is not None else ""
        return f'<div><p><b>{html.escape(wanted)}</b></p><img alt="the {html.escape(wanted)} graph" style="max-width:100%" src="data:image/svg+xml;base64,{encoded}"/>{problem}</div>'

    def _widget(self) -> Any:
        try:
            from myia_notebook.view.widget import viewer
        except ImportError:
            return None
        return viewer(json.dumps(self.compilation.payload(self.stage, self.height), ensure_ascii=False))
