"""Times the viewer in Chromium on graphs of 50 to 3000 nodes: the first picture, a step, a frame of panning and of zooming.

`python benchmarks/viewer.py` prints the table of docs/viewer-performance.md. The graphs are made up: functions of 30 nodes in a tree of calls, with 40
rewrites; "open" is the same with every function open, "one function" is a single function with all nodes.
"""
from __future__ import annotations

import random
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from myia_notebook.view.export import save_html

SIZES = (50, 200, 1000, 3000)
FLAGS = ("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync "
         "--disable-dev-shm-usage").split()
FRAMES = """async kind => {
  const pane = document.querySelector('.my-graph'), r = pane.getBoundingClientRect(), times = [];
  let last = await new Promise(requestAnimationFrame);
  for (let i = 0; i < 60; i++) {
    const x = r.x + 200 + (i % 30) * 6, y = r.y + 150 + (i % 30) * 3;
    if (kind === 'zoom') pane.dispatchEvent(new WheelEvent('wheel', { ctrlKey: true, deltaY: i % 2 ? 40 : -40, clientX: x, clientY: y, cancelable: true }));
    else {
      if (i === 0) pane.dispatchEvent(new PointerEvent('pointerdown', { button: 0, buttons: 1, clientX: x, clientY: y }));
      pane.dispatchEvent(new PointerEvent('pointermove', { buttons: 1, clientX: x, clientY: y }));
    }
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
  }
  pane.dispatchEvent(new PointerEvent('pointerup', {}));
  return times; }"""
STEP = """async () => {
  const root = document.querySelector('.my'), want = String(Number(root.dataset.step) - 1), start = performance.now();
  root.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft', bubbles: true }));
  while (root.dataset.step !== want) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  await new Promise(f => setTimeout(f));
  return performance.now() - start; }"""
READY = """() => { if (!document.querySelector(".my[data-ready='1']")) return 0; window.__first ??= performance.now(); return window.__first; }"""


def state(count: int, per: int) -> dict[str, Any]:
    """A program of `count` nodes in functions of `per` nodes, each called by one before it."""
    made = random.Random(1)
    nodes: list[dict[str, Any]] = []
    graphs: list[dict[str, Any]] = []
    functions = max(1, count // per)
    for g in range(functions):
        first = len(nodes) + 1
        size = per if g < functions - 1 else count - per * (functions - 1)
        for i in range(size):
            inputs = [] if i == 0 else [first + i - 1] if i < 3 else [first + made.randrange(max(0, i - 6), i), first + i - 1]
            calls = [100_000 + c for c in (2 * g + 1, 2 * g + 2) if c < functions] if i == size // 2 else []
            nodes.append({"id": first + i, "graph": 100_000 + g, "kind": "parameter" if i == 0 else "apply",
                          "role": "primal", "name": f"v{i}", "op": "add", "symbol": "+",
                          "inputs": inputs, "callees": calls, "type": "float", "value": f"{made.random():.4f}", "span": [1 + g, 0, 1 + g, 8]})
        graphs.append({"id": 100_000 + g, "name": f"f{g}", "kind": "function", "parameters": [first], "output": first + size - 1})
    return {"root": 100_000, "graphs": graphs, "nodes": nodes}


def payload(count: int, per: int) -> dict[str, Any]:
    """An optimized stage whose 40 rewrites each add one node in place of one input."""
    initial, events = state(count, per), []
    nodes = {n["id"]: n for n in initial["nodes"]}
    for k in range(40):
        target = dict(nodes[5 + k % 20])
        new = {**target, "id": 200_000 + k, "name": f"w{k}", "inputs": target["inputs"]}
        changed = {**target, "inputs": [new["id"]]}
        events.append({"index": k, "kind": "rewrite", "title": "made up", "rule": "made_up", "pass_name": "round 1",
                       "added": [new], "changed": [changed], "focus": [target["id"]], "produced": [new["id"]]})
        nodes[target["id"]] = changed
        nodes[new["id"]] = new
    final = {**initial, "nodes": list(nodes.values())}
    source = "\n".join(f"line {i}" for i in range(1 + count // per))
    return {"version": 1, "source": source, "cell": "", "options": {"stage": "optimized", "height": 700},
            "stages": [{"stage": "optimized", "text": "", "source": source, "initial": initial, "final": final, "events": events, "time": 1.0}]}


def measure(browser: Any, folder: Path, count: int, per: int, is_open: bool) -> tuple[int, float, float, float, float, float]:
    """(boxes drawn, first picture, step, median pan frame, worst pan frame, median zoom frame), in milliseconds."""
    path = save_html(folder / f"{count}_{per}.html", payload(count, per))
    page = browser.new_page(viewport={"width": 1400, "height": 800})
    page.goto(f"file://{path}")
    page.wait_for_function(READY, timeout=60_000)
    first = page.evaluate("() => window.__first")
    if is_open:
        drawn = page.locator(".my-svg > .node").count()
        start = page.evaluate("() => performance.now()")
        page.locator(".my").focus()
        page.keyboard.press("o")
        page.wait_for_function("n => document.querySelectorAll('.my-graph > .my-svg > .node').length > n", arg=drawn, timeout=120_000)
        first = page.evaluate("() => performance.now()") - start
    page.wait_for_timeout(400)
    boxes = page.locator(".my-graph > .my-svg > .node").count()
    pan = page.evaluate(FRAMES, "pan")
    zoom = page.evaluate(FRAMES, "zoom")
    steps = [page.evaluate(STEP) for _ in range(6 if count < 3000 or not is_open else 3)]
    page.close()
    return boxes, first, statistics.median(steps), statistics.median(pan), max(pan), statistics.median(zoom)


def main() -> None:
    from playwright.sync_api import sync_playwright
    rows = ["| nodes | shown as | boxes drawn | first picture | step | pan frame | worst | zoom frame |", "|---|---|---|---|---|---|---|---|"]
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), headless=True, args=FLAGS)
        for count in (SIZES if len(sys.argv) < 2 else map(int, sys.argv[1:])):
            for name, per, is_open in (("as it opens", 30, False), ("every function open", 30, True), ("one function", count, False)):
                if is_open and count < 100:
                    continue
                boxes, *times = measure(browser, Path(folder), count, per, is_open)
                rows.append(f"| {count} | {name} | {boxes} | " + " | ".join(f"{t:.0f} ms" for t in times) + " |")
                print(rows[-1], flush=True)
        browser.close()
    print("\n".join(rows))


if __name__ == "__main__":
    main()
