"""The viewer in real JupyterLab and Notebook 7, and as a standalone page."""
from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.browser.conftest import CELL, Server, run_all

SHOTS = Path(os.environ.get("MYIA_SHOTS", "test-results"))
STAGES = ["parsed", "typed", "adjoint", "optimized", "lowered", "code", "run"]


def shoot(page: Any, name: str) -> None:
    SHOTS.mkdir(exist_ok=True)
    page.screenshot(path=str(SHOTS / f"{name}.png"))


def ours(page: Any) -> list[str]:
    """Errors that come from the viewer or the extension (the hosts have some of their own)."""
    return [e for e in page.errors if "blob:" in e or "myia" in e]


def check_viewer(page: Any, name: str) -> None:
    """Stages, step player, marks, keys: what every host of the viewer must do."""
    viewer = page.locator(".my[data-ready='1']").first
    viewer.wait_for(timeout=60_000)
    assert page.locator(".my-stage b").all_inner_texts() == STAGES
    page.locator(".my-stage[data-stage='parsed']").click()
    page.locator(".my[data-drawn='parsed']").wait_for(timeout=20_000)
    assert page.locator(".my-svg .cluster").count() >= 4  # cell, power, while, body, done
    assert page.locator(".my-svg g.node", has_text="n > 0").count() >= 1
    shoot(page, f"{name}_parsed")
    page.locator(".my-stage[data-stage='adjoint']").click()
    page.locator(".my[data-stage='adjoint']").wait_for()
    viewer.focus()
    page.keyboard.press("Home")
    page.locator(".my[data-step='0']").wait_for()
    assert page.locator(".my-svg g.node.todo").count() > 0
    page.keyboard.press("ArrowRight")
    page.locator(".my[data-step='1']").wait_for()
    assert page.locator(".my-list li[data-now]").count() == 1
    page.keyboard.press("End")
    assert page.locator(".my-svg .my-nowband, .my-svg g.node.solid").count() > 0
    shoot(page, f"{name}_adjoint")
    page.locator(".my-stage[data-stage='optimized']").click()
    page.locator(".my[data-drawn='optimized']").wait_for(timeout=20_000)
    viewer.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.locator(".my[data-step='1']").wait_for()
    page.wait_for_function("() => document.querySelectorAll('.my-svg g.node.removed, .my-svg g.node.added').length > 0")
    assert "→" not in page.locator(".my-say b").first.inner_text()
    shoot(page, f"{name}_optimized")


def check_source_link(page: Any) -> None:
    """Hovering a node marks its range in the cell; pointing at the source lights its node."""
    page.locator(".my-stage[data-stage='parsed']").click()
    page.locator(".my[data-drawn='parsed']").wait_for(timeout=20_000)
    page.locator(".my-svg g.node[aria-label^='n > 0 = >']").first.hover()
    expect(page.locator(".cm-myia-lit").first).to_have_text("n > 0")
    page.mouse.move(5, 5)
    place = page.evaluate("""() => { const line = [...document.querySelectorAll('.cm-line')].find(x => x.textContent.includes('y = y * x'));
      const walk = document.createTreeWalker(line, NodeFilter.SHOW_TEXT); let seen = '', node;
      while ((node = walk.nextNode())) { const at = node.data.indexOf('*'); if (at >= 0) { const r = document.createRange(); r.setStart(node, at); r.setEnd(node, at + 1);
        const b = r.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; } seen += node.data; } }""")
    page.mouse.move(place[0] - 40, place[1])
    page.mouse.move(*place)
    expect(page.locator(".my-svg g.node.lit")).to_have_count(1)


def check_cursor(page: Any) -> None:
    """The cursor in the source, moved by the keyboard alone, lights up the nodes of its place."""
    page.locator(".my-stage[data-stage='parsed']").click()
    page.locator(".my[data-drawn='parsed']").wait_for(timeout=20_000)
    page.locator(".cm-line", has_text="y = y * x").first.click()
    page.mouse.move(5, 5)
    expect(page.locator(".my-svg g.node.lit")).to_have_count(0)
    for _ in range(2):
        page.keyboard.press("Home")
    for _ in range(14):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".my-svg g.node.lit")).to_have_attribute("aria-label", re.compile("^y = ×"))
    page.keyboard.press("ArrowDown")
    expect(page.locator(".my-svg g.node.lit")).to_have_attribute("aria-label", re.compile("^n = −|^n = -"))


def check_diagnostics(page: Any) -> None:
    """What is not in the language is underlined while it is typed, before anything runs, and the line goes when it is mended."""
    page.locator(".cm-line", has_text="return y").first.click()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.type("del y")
    fault = page.locator(".cm-myia-fault")
    expect(fault).to_have_text("del y", timeout=10_000)
    assert "M102" in fault.get_attribute("title") and "build a new one" in fault.get_attribute("title")
    for _ in range(12):
        if page.locator(".cm-line", has_text="del y").count() == 0:
            break
        page.keyboard.press("Control+z")
    while page.locator(".cm-line").filter(has_text=re.compile("^(def power|    y = 1|    while|        [yn] =|    return|grad)")).count() < 7:
        page.keyboard.press("Control+Shift+z")
    expect(fault).to_have_count(0, timeout=10_000)
    page.keyboard.press("Escape")


def check_inputs(page: Any, name: str) -> None:
    """Moving an input runs the program again in the kernel: values, sensitivities, result, iterations and plot are those of the new number."""
    page.locator(".my-stage[data-stage='run']").click()
    page.locator(".my").focus()
    page.keyboard.press("i")
    page.locator(".my-inputs[data-alive]").wait_for(timeout=20_000)
    plot, result = page.locator(".my-plot"), page.locator(".my-outcome b")
    expect(plot).to_have_attribute("aria-label", re.compile(r"^power\(x, 4\) for x from 0 to 3\. At x = 1\.5 its value is 5\.063 and its derivative 13\.5\.$"))
    x, n = page.get_by_label("x", exact=True), page.get_by_label("n", exact=True)
    x.fill("2")
    x.press("Enter")
    expect(result).to_have_text("32.0")  # 4 x³
    expect(page.locator(".my-stage[data-stage='run'] small")).to_have_text("32.0")
    n.fill("6")
    n.press("Enter")
    expect(result).to_have_text("192.0")  # 6 x⁵
    expect(page.locator(".my-way li[data-changed]")).to_contain_text("6 iterations")
    expect(page.locator(".my-loopcol")).to_have_count(6)
    expect(plot).to_have_attribute("aria-label", re.compile(r"^power\(x, 6\) .* At x = 2 its value is 64 and its derivative 192\.$"))
    shoot(page, f"{name}_inputs")
    page.get_by_label("x, slider").press("ArrowRight")
    expect(x).to_have_value("2.01")  # the next two-hundredth of the axis
    expect(result).not_to_have_text("192.0")
    n.fill("2.5")
    n.press("Enter")
    expect(n).to_have_attribute("aria-invalid", "true")
    n.fill("4")
    n.press("Enter")
    x.fill("1.5")
    x.press("Enter")
    expect(result).to_have_text("13.5")
    page.locator(".my-stage[data-stage='adjoint']").click()
    expect(page.locator(".my-tab[aria-selected='true']")).to_have_text("Inputs")  # the pane stays while stages change
    page.locator(".my").focus()
    page.keyboard.press("i")


def check_presentation(page: Any, name: str) -> None:
    """The viewer covers the screen, with the source beside the graph; Escape or P brings the notebook back."""
    page.locator(".my-stage[data-stage='run']").click()
    page.locator(".my").focus()
    for key in ("Home", *["ArrowRight"] * 12, "p"):
        page.keyboard.press(key)
    page.locator(".my[data-present] .my-presented .my-source").wait_for()
    page.wait_for_timeout(400)
    box, size = page.locator(".my").bounding_box(), page.viewport_size
    assert box["x"] <= 1 and box["y"] <= 1 and box["width"] >= size["width"] - 2 and box["height"] >= size["height"] - 2
    shoot(page, f"{name}_present")
    page.keyboard.press("p")
    page.wait_for_function("() => !document.querySelector('.my[data-present]')")


def test_jupyterlab(lab: Server, page: Any) -> None:
    page.goto(f"{lab.url}/lab/tree/demo.ipynb?token={lab.token}&reset")
    page.locator(".jp-NotebookPanel .jp-CodeCell").first.wait_for(timeout=60_000)
    page.locator("[data-myia-notebook]").wait_for(state="attached", timeout=30_000)
    run_all(page)
    check_viewer(page, "lab")
    check_source_link(page)
    check_cursor(page)
    shoot(page, "lab_source")
    check_inputs(page, "lab")
    check_diagnostics(page)
    page.evaluate("() => window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })")
    page.locator(".my[data-dark]").wait_for(timeout=20_000)
    page.wait_for_function("() => !document.querySelector('#jupyterlab-splash')", timeout=20_000)
    shoot(page, "lab_dark")
    page.evaluate("() => window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Light' })")
    page.locator(".my:not([data-dark])").wait_for(timeout=20_000)
    check_presentation(page, "lab")
    assert page.locator(".jp-OutputArea-executeResult").last.inner_text().strip().endswith("13.5")
    assert not ours(page), page.errors
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_timeout(1500)
    saved = (lab.root / "demo.ipynb").read_text()
    assert "image/svg+xml;base64" in saved  # the static picture stays in the file, for viewers without JavaScript
    (lab.root / "saved.ipynb").write_text(saved)


def test_a_saved_notebook_shows_the_viewer_without_being_run(lab: Server, page: Any) -> None:
    """Reopened in a fresh session, nothing run: the outputs still show every stage, and the steps work."""
    page.goto(f"{lab.url}/lab/tree/saved.ipynb?token={lab.token}&reset")
    page.locator(".jp-NotebookPanel .jp-CodeCell").first.wait_for(timeout=60_000)
    check_viewer(page, "saved")
    page.keyboard.press("i")
    expect(page.locator(".my-inputnote")).to_be_visible()  # this session's kernel does not hold the program: the inputs are read, not moved
    assert page.get_by_label("x", exact=True).is_disabled() and page.locator(".my-plot .curve").count() == 2
    assert not ours(page), page.errors


def test_notebook_7(notebook7: Server, page: Any) -> None:
    page.goto(f"{notebook7.url}/notebooks/demo.ipynb?token={notebook7.token}")
    page.locator(".jp-CodeCell").first.wait_for(timeout=60_000)
    page.locator("[data-myia-notebook]").wait_for(state="attached", timeout=30_000)
    run_all(page)
    check_viewer(page, "notebook7")
    check_source_link(page)
    check_cursor(page)
    check_inputs(page, "notebook7")
    assert not ours(page), page.errors


def test_standalone_page_offline(page: Any, tmp_path: Path) -> None:
    """The exported page shows the whole step-through with no kernel and no network; program text stays text."""
    import myia_notebook
    from myia_notebook.cell import run_cell
    result = run_cell(CELL.split("\n", 1)[1], {"grad": myia_notebook.grad})
    path = result.compilation.save_html(tmp_path / "page.html")
    page.goto(f"file://{path}")
    check_viewer(page, "standalone")
    assert page.refused == [] and page.errors == []


def test_hostile_text_stays_text(page: Any, tmp_path: Path) -> None:
    import myia_notebook
    from myia_notebook.cell import run_cell
    source = 'def f(x):\n    """</script><script>window.broken = 1</script><img src=x onerror="window.broken=1">"""\n    return x * x\n\ngrad(f)(2.0)\n'
    result = run_cell(source, {"grad": myia_notebook.grad})
    path = result.compilation.save_html(tmp_path / "hostile.html", )
    page.goto(f"file://{path}")
    page.locator(".my[data-ready='1']").wait_for(timeout=20_000)
    page.locator(".my-tab", has_text="Source").click()
    assert page.evaluate("() => window.broken") is None
    assert "</script><script>" in page.locator(".my-source").first.inner_text()
