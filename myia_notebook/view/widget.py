"""The widget. A notebook holds the JavaScript once: every viewer is a small loader that takes it from one shared `Bundle` model."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from myia_notebook.view.live import answer

STATIC = Path(__file__).parent.parent / "static"

_LOADER = """
const cache = (globalThis.__myiaNotebook ??= new Map());
async function load(model) {
  const id = model.get("bundle").replace("IPY_MODEL_", "");
  if (!cache.has(id)) cache.set(id, (async () => {
    const bundle = await model.widget_manager.get_model(id);
    const url = URL.createObjectURL(new Blob([bundle.get("code")], { type: "text/javascript" }));
    return (await import(url)).default;
  })());
  return cache.get(id);
}
export default { async render(context) { return (await load(context.model)).render(context); } };
"""


class Bundle(anywidget.AnyWidget):
    """The viewer's code, once for each kernel."""

    _esm = "export default { render() {} };"
    code = traitlets.Unicode().tag(sync=True)


class Viewer(anywidget.AnyWidget):
    """Shows one compilation: `payload` is JSON text (see `snapshot`). The front end asks for other inputs, see `live`."""

    _esm = _LOADER
    payload = traitlets.Unicode().tag(sync=True)
    bundle = traitlets.Unicode().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.on_msg(lambda _, message, buffers: self.send(answer(message)))


_shared: list[Bundle] = []


def viewer(payload: str) -> Any:
    """A viewer of this payload, or None when the front end was not built."""
    code = STATIC / "widget.js"
    if not code.exists():
        return None
    if not _shared:
        _shared.append(Bundle(code=code.read_text(encoding="utf-8")))
    return Viewer(payload=payload, bundle=f"IPY_MODEL_{_shared[0].model_id}")
