"""Writes the payloads that the front end's unit tests read: what Python really sends, for a few programs."""
from __future__ import annotations

import json
import math
from pathlib import Path

import myia_notebook as myia
from myia_notebook.cell import run_cell
from myia_notebook.view import live

OUT = Path(__file__).parent.parent / "labextension" / "tests" / "payloads"
CELLS = {
    "loop": "def power(x, n):\n    y = 1.0\n    while n > 0:\n        y = y * x\n        n = n - 1\n    return y\n\ngrad(power)(1.5, 4)\n",
    "closure": "def layer(w):\n    def f(x):\n        a = x * w\n        b = math.tanh(a)\n        y = b * x\n        return y\n    return f\n\n"
               "grad(layer(0.5))(1.2)\n",
    "failure": "def f(x):\n    return x @ x\n\nf(2.0)\n",
    "plain": "def fact(n):\n    if n < 2:\n        return 1\n    return n * fact(n - 1)\n\nfact(5)\n",
    "hostile": 'def f(x):\n    """</script><img src=x onerror="window.broken=1">"""\n    return x * x\n\ngrad(f)(2.0)\n',
}


def write(folder: Path = OUT) -> list[Path]:
    """One JSON file for each program; returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, source in CELLS.items():
        payload = run_cell(source, {"grad": myia.grad, "math": math}).compilation.payload()
        path = folder / f"{name}.json"
        path.write_text(json.dumps(payload, ensure_ascii=False), encoding="utf-8")
        made.append(path)
        if name == "loop":  # what another run of it answers
            again = live.answer({"token": payload["live"]["token"], "values": [2.0, 6], "input": 0, "number": 1})
            (folder / "loop_answer.json").write_text(json.dumps(again, ensure_ascii=False), encoding="utf-8")
    return made


if __name__ == "__main__":
    for path in write():
        print(path)
