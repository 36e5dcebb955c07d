"""What the viewer does, on exported pages: no kernel, no network."""
from __future__ import annotations

import math
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import myia_notebook as myia
from myia_notebook.cell import run_cell
from myia_notebook.view.fallback import _engine

LOOP = "def power(x, n):\n    y = 1.0\n    while n > 0:\n        y = y * x\n        n = n - 1\n    return y\n\ngrad(power)(1.5, 4)"
LAYER = "def layer(w):\n    def f(x):\n        a = x * w\n        b = math.tanh(a)\n        y = b * x\n        return y\n    return f\n\ngrad(layer(0.5))(1.2)"
FAILURE = "def f(x):\n    y = x * 2.0\n    return y @ x\n\ngrad(f)(2.0)"


def export(source: str, folder: Path) -> str:
    result = run_cell(source, {"grad": myia.grad, "math": math})
    return "file://" + result.compilation.save_html(folder / "page.html")


def show(page: Any, source: str, folder: Path, stage: str = "") -> Any:
    """Opens an exported page at a stage; returns the viewer, with the focus."""
    page.goto(export(source, folder))
    viewer = page.locator(".my[data-ready='1']")
    viewer.wait_for(timeout=30_000)
    if stage:
        page.locator(f".my-stage[data-stage='{stage}']").click()
        page.locator(f".my[data-stage='{stage}']").wait_for()
    viewer.focus()
    return viewer


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_a_failure_shows_the_stages_before_it(page: Any, tmp_path: Path) -> None:
    viewer = show(page, FAILURE, tmp_path)
    assert page.locator(".my-stage b").all_inner_texts() == ["parsed", "typed"]
    expect(page.locator(".my-stage[data-error][aria-selected='true'] small")).to_have_text("M301")
    said = page.locator(".my-error").inner_text()
    assert "matmul does not take float" in said and "line 3: return y @ x" in said and "^^^^^" in said and "an array is expected" in said
    page.locator(".my-stage[data-stage='parsed']").click()
    page.locator(".my[data-drawn='parsed']").wait_for()
    assert page.locator(".my-svg g.node", has_text="y @ x").count() == 1 and page.locator(".my-error").count() == 0
    assert viewer.count() == 1 and page.errors == []


def test_the_run_goes_forward_then_backward(page: Any, tmp_path: Path) -> None:
    """Values appear as they are computed; what is not computed says so; iterations can be chosen; the end has the derivative."""
    show(page, LOOP, tmp_path, "run")
    press(page, "Home", "g")
    page.locator(".my[data-drawn='run'][data-step='0']").wait_for(timeout=20_000)
    waiting = page.locator(".my-svg g.node.wait")
    total = waiting.count()
    assert total > 20 and set(page.locator(".my-svg g.node.wait .second").all_text_contents()) == {"not yet"}
    press(page, "ArrowRight", "ArrowRight", "ArrowRight")
    page.wait_for_function("n => document.querySelectorAll('.my-svg g.node.wait').length < n", arg=total)
    press(page, "g", "ArrowLeft")
    page.locator(".my-grid").wait_for()
    expect(page.locator(".my-say b")).to_have_text("Compute y.")
    columns = page.locator(".my-loopcol")
    expect(columns).to_have_count(4)
    columns.nth(2).click()
    expect(columns.nth(2)).to_have_attribute("aria-current", "true")
    assert "iteration 3 of 4" in page.locator(".my-grid .q").first.text_content()
    expect(page.locator(".my-loopcol .my-notyet")).to_have_count(5)  # y of iteration 4, and every ∇y
    press(page, "End")
    expect(page.locator(".my-say b")).to_have_text("The result is 13.5.")
    assert page.locator(".my-loopcol .my-notyet").count() == 0 and page.errors == []


def test_keyboard_alone(page: Any, tmp_path: Path) -> None:
    """From the top of the page, without the mouse: stages, steps, play, the graph's nodes, search, filter, help."""
    page.goto(export(LAYER, tmp_path))
    page.locator(".my[data-ready='1']").wait_for(timeout=30_000)
    press(page, "Tab")
    assert page.evaluate("() => document.activeElement.classList.contains('my')")
    press(page, "3", "Home")
    page.locator(".my[data-stage='adjoint'][data-step='0']").wait_for()
    press(page, "ArrowRight", "j", "k")
    page.locator(".my[data-step='1']").wait_for()
    press(page, " ")
    page.locator(".my[data-step='2']").wait_for(timeout=5000)
    press(page, " ")
    press(page, "]")
    page.locator(".my[data-drawn='optimized']").wait_for(timeout=20_000)
    press(page, "Home", "ArrowRight", "d")
    expect(page.locator(".my-choice[aria-pressed='true']")).to_have_text("After")
    press(page, "f")
    page.keyboard.type("inline")
    press(page, "Enter")
    now = int(page.locator(".my").get_attribute("data-step"))
    assert now > 1 and "inline" in page.locator(".my-say b").inner_text()
    press(page, "Escape", "1")
    page.locator(".my[data-drawn='parsed']").wait_for(timeout=20_000)
    page.locator(".my-graph").focus()
    press(page, "Enter")
    first = page.evaluate("() => document.activeElement.getAttribute('aria-label')")
    press(page, "ArrowDown")
    second = page.evaluate("() => document.activeElement.getAttribute('aria-label')")
    assert first and second and first != second
    press(page, "Escape")
    assert page.evaluate("() => document.activeElement.classList.contains('my-graph')")
    press(page, "/")
    page.keyboard.type("tanh")
    expect(page.locator(".my-hits")).to_have_text(re.compile(r"1 of \d"))
    press(page, "Escape", "?")
    expect(page.locator(".my-help")).to_be_visible()
    press(page, "Escape")
    assert page.locator(".my-help").count() == 0
    assert page.evaluate("() => document.activeElement.classList.contains('my')")
    assert page.errors == []


def test_focus_stays_in_the_viewer(page: Any, tmp_path: Path) -> None:
    """After a click on any control, the keys still work."""
    show(page, LAYER, tmp_path, "adjoint")
    for control in (".my-stage[data-stage='optimized']", ".my-choice >> nth=0", ".my-tab >> nth=1", ".my-stage[data-stage='run']", ".my-choice >> nth=1"):
        page.locator(control).click()
        page.wait_for_timeout(150)
        assert page.evaluate("() => document.querySelector('.my').contains(document.activeElement)"), control
    press(page, "Home")
    page.locator(".my[data-step='0']").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_themes_are_legible(page_with: Any, tmp_path: Path, scheme: str) -> None:
    """Every text of the graph and of the chrome stands out from its ground by 4.5:1 or more."""
    page = page_with(color_scheme=scheme)
    show(page, LAYER, tmp_path, "adjoint")
    assert (page.locator(".my").get_attribute("data-dark") is not None) == (scheme == "dark")
    least = page.evaluate("""() => {
      const rgb = s => (s.match(/[\\d.]+/g) || []).map(Number);
      const lum = c => { const f = c.slice(0, 3).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
        return .2126 * f[0] + .7152 * f[1] + .0722 * f[2]; };
      const ratio = (a, b) => { const [x, y] = [lum(rgb(a)), lum(rgb(b))].sort((p, q) => q - p); return (x + .05) / (y + .05); };
      let least = [99, ''];
      const see = (e, ink, ground) => { const r = ratio(ink, ground); if (r < least[0]) least = [r, e.textContent]; };
      for (const g of document.querySelectorAll('.my-grid g.node')) {
        const ground = getComputedStyle(g.querySelector('.shape')).fill;
        if (ground === 'none') continue;
        for (const t of g.querySelectorAll('text')) if (t.textContent) see(t, getComputedStyle(t).fill, ground);
      }
      const chrome = getComputedStyle(document.querySelector('.my-rail')).backgroundColor;
      for (const e of document.querySelectorAll('.my-stage b, .my-stage small, .my-legend span')) see(e, getComputedStyle(e).color, chrome);
      return least; }""")
    assert least[0] >= 4.5, least


def test_the_theme_is_followed(page: Any, tmp_path: Path) -> None:
    """JupyterLab says its theme on the body; a change is seen at once."""
    show(page, LAYER, tmp_path)
    assert page.locator(".my[data-dark]").count() == 0
    page.evaluate("() => { document.body.dataset.jpThemeLight = 'false'; }")
    page.locator(".my[data-dark]").wait_for()
    page.evaluate("() => { document.body.dataset.jpThemeLight = 'true'; }")
    page.wait_for_function("() => !document.querySelector('.my[data-dark]')")


def test_reduced_motion(page_with: Any, tmp_path: Path) -> None:
    page = page_with(reduced_motion="reduce")
    show(page, LOOP, tmp_path, "parsed")
    page.locator(".my[data-drawn='parsed']").wait_for(timeout=20_000)
    before = page.locator(".my-svg .cluster").count()
    page.locator(".my-svg .fold").last.click()
    page.wait_for_function("n => document.querySelectorAll('.my-svg .cluster').length < n", arg=before)
    assert page.evaluate("() => document.getAnimations().length") == 0
    moving = page_with(reduced_motion="no-preference")
    show(moving, LOOP, tmp_path, "parsed")
    moving.locator(".my[data-drawn='parsed']").wait_for(timeout=20_000)
    moving.evaluate("""() => { window.moved = 0; const animate = Element.prototype.animate;
        Element.prototype.animate = function (...a) { window.moved++; return animate.apply(this, a); }; }""")
    moving.locator(".my-svg .fold").last.click()
    moving.wait_for_function("() => window.moved > 0")


def test_offline_under_a_strict_policy(page_with: Any, tmp_path: Path) -> None:
    """The page's own policy: no inline script but the viewer's, nothing fetched; with the network off every stage still draws."""
    page = page_with(offline=True)
    show(page, LAYER, tmp_path)
    policy = page.locator("meta[http-equiv='Content-Security-Policy']").get_attribute("content")
    assert "default-src 'none'" in policy and "unsafe-eval'" not in policy.replace("wasm-unsafe-eval'", "") and "script-src 'sha256-" in policy
    for stage in ("parsed", "typed", "optimized", "lowered", "code", "run"):
        page.locator(f".my-stage[data-stage='{stage}']").click()
        page.locator(f".my[data-stage='{stage}']").wait_for()
    page.locator(".my-grid").wait_for(timeout=20_000)
    assert page.stopped == [] and page.refused == [] and page.errors == []
    page.evaluate("() => { const s = document.createElement('script'); s.textContent = 'window.broken = 1'; document.body.append(s); }")
    assert page.evaluate("() => window.broken") is None and page.stopped


def test_two_stages_side_by_side(page: Any, tmp_path: Path) -> None:
    show(page, LAYER, tmp_path, "adjoint")
    press(page, "c")
    page.locator(".my[data-compare][data-other='typed']").wait_for(timeout=20_000)
    page.wait_for_function("() => document.querySelectorAll('.my-graphs > .my-graph g.node[data-id]').length > 5")
    node = page.locator(".my-otherpane g.node[aria-label^='y = ']").first
    node.hover()
    expect(page.locator(".my-graphs > .my-graph g.node.lit").first).to_be_attached()
    node.click()
    expect(page.locator(".my-ties path").first).to_be_attached()
    place = page.locator(".my-graphs > .my-graph").bounding_box()
    tied = [one.bounding_box() for one in page.locator(".my-graphs > .my-graph g.node.lit").all()]
    assert any(place["x"] < t["x"] < place["x"] + place["width"] and place["y"] < t["y"] < place["y"] + place["height"] for t in tied)  # brought into view
    page.locator(".my-other").select_option("parsed")
    page.locator(".my[data-other='parsed']").wait_for(timeout=20_000)
    page.locator(".my").focus()
    press(page, "c")
    page.wait_for_function("() => !document.querySelector('.my-otherpane')")
    assert page.errors == []


def test_search_filter_map_and_direction(page: Any, tmp_path: Path) -> None:
    show(page, LOOP, tmp_path, "optimized")
    page.locator(".my[data-drawn='optimized']").wait_for(timeout=20_000)
    press(page, "o")
    page.wait_for_function("() => document.querySelectorAll('.my-svg .cluster').length === 1")
    press(page, "/")
    page.keyboard.type("multiply")
    expect(page.locator(".my-svg g.node.lit").first).to_be_attached()  # its function was opened
    press(page, "Escape", "f")
    page.keyboard.type("get of")
    expect(page.locator(".my-count")).to_have_text(re.compile(r"^\d+ of \d+$"))
    assert all("get of make" in row for row in page.locator(".my-list li:not(.my-head)").all_inner_texts())
    press(page, "Escape", "t")
    page.locator(".my[data-direction='LR']").wait_for()
    shown = page.locator(".my-graphs .my-map").first.is_visible()
    page.locator(".my").focus()
    press(page, "m")
    assert page.locator(".my-graphs .my-map").first.is_visible() != shown
    assert page.errors == []


def test_saving_svg_png_and_dot(page: Any, tmp_path: Path) -> None:
    show(page, LAYER, tmp_path, "adjoint")
    saved: dict[str, bytes] = {}
    for form in ("SVG", "PNG", "PDF", "DOT", "Animation"):
        press(page, "s")
        with page.expect_download() as download:
            page.locator(".my-savemenu .my-tab", has_text=form).click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        saved[form] = path.read_bytes()
        assert path.name.startswith("adjoint-animation" if form == "Animation" else "adjoint-step-")
    root = ET.fromstring(saved["SVG"].decode())
    assert root.tag.endswith("svg") and b"var(" not in saved["SVG"] and "0.6445" in saved["SVG"].decode()
    assert saved["PNG"][:8] == b"\x89PNG\r\n\x1a\n" and len(saved["PNG"]) > 4000
    pdf = saved["PDF"]
    start = int(pdf.split(b"startxref\n")[1].split(b"\n")[0])
    assert pdf[:8] == b"%PDF-1.4" and pdf[start:start + 4] == b"xref" and b"\xff\xd8\xff" in pdf and pdf.rstrip().endswith(b"%%EOF")
    offsets = [int(line.split()[0]) for line in pdf[start:].split(b"\n")[3:8]]
    assert [pdf[at:at + 7] for at in offsets] == [f"{i} 0 obj".encode() for i in range(1, 6)]
    movie = ET.fromstring(saved["Animation"].decode())
    groups, steps = [g for g in movie if g.tag.endswith("}g")], page.locator(".my-pos").inner_text().split(" of ")[1]
    assert len(groups) == int(steps) + 1 and [g.get("visibility") for g in groups] == ["hidden"] * int(steps) + ["visible"]
    assert "0.6445" in "".join(groups[-1].itertext()) and any("∇b += ∇y · x" in (t.text or "") for g in groups for t in g) and b"var(" not in saved["Animation"]
    text = saved["DOT"].decode()
    assert text.startswith('digraph "adjoint"') and "0.6445" in text
    engine = _engine()
    assert engine is None or subprocess.run([engine, "-Tsvg"], input=text.encode(), capture_output=True).stdout.count(b"<svg") == 1
    assert page.errors == [] and page.stopped == []


def test_the_properties_of_a_node(page: Any, tmp_path: Path) -> None:
    """Type, value, sensitivity, source, the step that made it; a link goes to the next node, Backspace back."""
    show(page, LAYER, tmp_path, "adjoint")
    press(page, "g")
    page.locator(".my[data-drawn='adjoint']").wait_for(timeout=20_000)
    page.locator(".my-svg g.node.r-forward[aria-label^='▶b = tanh'], .my-svg g.node.r-forward[aria-label^='b = tanh']").first.click()
    read = lambda: dict(zip(page.locator(".my-props dt").all_inner_texts(), page.locator(".my-props dd").all_inner_texts()))  # noqa: E731
    said = read()
    assert said["name"] == "b" and said["type"] == "float" and said["value"] == "0.5370" and said["line"] == "4" and said["source"].startswith("math.tanh(a)")
    assert said["sensitivity ∇"] == "1.2" and said["takes"] == "a" and said["made by"].startswith("Compute b. step ")
    page.locator(".my-props .my-link", has_text=re.compile("^a$")).first.click()
    expect(page.locator(".my-props dd").first).to_have_text("a")
    page.locator(".my").focus()
    press(page, "Backspace")
    expect(page.locator(".my-props dd").first).to_have_text("b")
    page.locator(".my-props .my-link", has_text="Compute b.").click()
    expect(page.locator(".my-say b")).to_have_text("Compute b.")
    assert page.errors == []


AXE = Path(__file__).parents[2] / "labextension" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.mark.skipif(not AXE.exists(), reason="the front end's packages are not installed")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(page_with: Any, tmp_path: Path, scheme: str) -> None:
    """Every stage, with the pane of inputs, the help and the save menu open."""
    page = page_with(color_scheme=scheme)
    show(page, LOOP, tmp_path)
    page.evaluate(AXE.read_text())
    found: list[Any] = []
    for stage in ("parsed", "adjoint", "optimized", "code", "run"):
        page.locator(f".my-stage[data-stage='{stage}']").click()
        page.locator(f".my[data-stage='{stage}']").wait_for()
        page.locator(".my").focus()
        for key in ("", "i", "?", "s"):
            press(page, *key)
            problems = page.evaluate("() => axe.run(document.querySelector('.my'))")["violations"]
            found += [(stage, key, p["id"], p["nodes"][0]["html"][:120]) for p in problems if p["impact"] in ("serious", "critical")]
            press(page, *(key if key in ("?", "s") else ""))
        press(page, "i")
    assert found == []


def test_presentation_shows_the_source(page: Any, tmp_path: Path) -> None:
    show(page, LOOP, tmp_path, "run")
    press(page, "Home", "ArrowRight", "ArrowRight", "p")
    page.locator(".my[data-present]").wait_for()
    expect(page.locator(".my-presented .my-source")).to_be_visible()
    assert page.locator(".my-presented [data-lit]").count() >= 1
    size = page.evaluate("() => parseFloat(getComputedStyle(document.querySelector('.my-stage b')).fontSize)")
    assert size >= 18
    press(page, "p")
    page.wait_for_function("() => !document.querySelector('.my[data-present]')")


@pytest.mark.parametrize("width", [420, 700, 1000, 1500])
def test_nothing_is_cut_at_any_width(page_with: Any, tmp_path: Path, width: int) -> None:
    """No control leaves the viewer's frame, and no two of the top row overlap."""
    page = page_with(viewport={"width": width, "height": 800})
    show(page, LOOP, tmp_path)
    problems = page.evaluate("""() => {
      const frame = document.querySelector('.my').getBoundingClientRect(), found = [];
      const seen = [...document.querySelectorAll('.my-rail button, .my-rail input, .my-rail select, .my-player button')].filter(e => e.offsetParent);
      const boxes = seen.map(e => e.getBoundingClientRect());
      const said = i => seen[i].getAttribute('aria-label') || seen[i].textContent;
      boxes.forEach((b, i) => { if (b.left < frame.left || b.right > frame.right + 0.5) found.push(['outside', said(i)]); });
      const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
      boxes.forEach((a, i) => boxes.forEach((b, j) => { if (i < j && meet(a, b)) found.push(['overlap', said(i), said(j)]); }));
      return found; }""")
    assert problems == []


def test_predict_mode_covers_values_until_they_are_clicked(page: Any, tmp_path: Path) -> None:
    """H covers types, values and sensitivities and ends the list at the present step; a click on a node uncovers that node alone."""
    show(page, LAYER, tmp_path, "adjoint")
    steps = page.locator(".my-list li:not(.my-head)").count()
    press(page, "h")
    page.locator(".my[data-predict]").wait_for()
    nodes = page.locator(".my-grid g.node .second")
    expect(nodes.first).to_have_text("?")
    assert set(nodes.all_text_contents()) <= {"?", ""} | {t for t in nodes.all_text_contents() if t.startswith("keeps")}
    assert "0.6445" not in page.locator(".my-graphs").text_content() and "0.6445" not in page.locator(".my-band").text_content()
    sensitivity = page.locator(".my-grid g.node.r-sensitivity").filter(has=page.locator(".name", has_text=re.compile("^b$")))
    sensitivity.click()
    expect(sensitivity.locator(".second")).to_have_text("1.2")  # ∇b = ∇y · x
    assert page.locator(".my-grid g.node .second", has_text="?").count() > 5
    press(page, "Home", "ArrowRight")
    expect(page.locator(".my-list li:not(.my-head):visible")).to_have_count(1)
    press(page, "h")
    expect(page.locator(".my-list li:not(.my-head):visible")).to_have_count(steps)
    assert page.errors == []


def test_source_lights_its_lines_of_generated_code(page: Any, tmp_path: Path) -> None:
    show(page, LAYER, tmp_path, "code")
    lit = page.locator(".my-code div[data-lit]")
    expect(lit).to_have_count(0)
    tell = """at => { const cell = document.querySelector('#myia-viewer'); cell.classList.add('jp-Cell');
      document.dispatchEvent(new CustomEvent('myia:source', { detail: { cell, ...at } })); }"""  # as the extension tells it
    page.evaluate(tell, {"line": 4, "column": 12})
    expect(lit.first).to_contain_text("tanh")
    assert set(lit.evaluate_all("rows => rows.map(r => r.dataset.origin)")) == {"4"}
    page.evaluate(tell, {})
    expect(lit).to_have_count(0)
    assert page.errors == []


def test_what_the_backward_pass_saved_is_marked(page: Any, tmp_path: Path) -> None:
    """In the whole graph an orange dot is on the values that some ◀ uses: of y = tanh(x w) x, those are b, x and w."""
    show(page, LAYER, tmp_path, "adjoint")
    press(page, "g")
    page.locator(".my[data-drawn='adjoint']").wait_for(timeout=20_000)
    kept = page.locator(".my-graphs g.node.kept")
    expect(kept).to_have_count(3)
    assert sorted(label.split(" ")[0] for label in kept.evaluate_all("nodes => nodes.map(n => n.getAttribute('aria-label'))")) == ["b", "w", "x"]
    expect(kept.first.locator(".keptmark")).to_be_visible()
    assert page.locator(".my-graphs g.node:not(.kept) .keptmark >> visible=true").count() == 0 and page.errors == []
