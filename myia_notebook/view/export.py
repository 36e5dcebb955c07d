"""A compilation as one HTML file: the whole step-through, without kernel and without network. Its content security policy lets nothing but the
viewer's own script run (by its hash), and nothing be fetched."""
from __future__ import annotations

import base64
import hashlib
import html
import json
from pathlib import Path
from typing import Any

from myia_notebook.errors import error
from myia_notebook.view.widget import STATIC

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-{digest}' 'wasm-unsafe-eval'; worker-src blob:;
style-src 'unsafe-inline'; connect-src blob: data:; img-src data:">
<title>{title}</title><style>body{{margin:12px;background:Canvas;color-scheme:light dark}}</style></head>
<body><div id="myia-viewer"></div><script type="application/json" id="myia-payload">{payload}</script><script>{script}</script></body></html>
"""


def save_html(path: Any, payload: dict[str, Any], title: str = "myia_notebook") -> str:
    """Writes the page; returns its path. Program text cannot leave its JSON: `<` is written as an escape."""
    code = STATIC / "standalone.js"
    if not code.exists():
        raise error("M801", message="the viewer's code was not built", hint="install the package with pip, or run `make front`")
    data = json.dumps(payload, ensure_ascii=False).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    script = code.read_text(encoding="utf-8").replace("</script", "<\\/script")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    target = Path(path)
    target.write_text(_PAGE.format(title=html.escape(title), payload=data, script=script, digest=digest), encoding="utf-8")
    return str(target)
