"""Events as JSON: each says what differs from what came before, and can be read back in full."""
from __future__ import annotations

import json
from typing import Any

import pytest

from myia_notebook import explain
from myia_notebook.snapshot import Snapshot, to_json
from tests.golden.programs import PROGRAMS, Golden
from tests.optimize.running import derivative

TEXTS = ("kind", "title", "reason", "family", "location")


def expanded(data: dict[str, Any]) -> list[dict[str, Any]]:
    """What `labextension/src/deltas.ts` does."""
    known = {n["id"]: n for n in data["initial"]["nodes"]}
    rules: dict[str, dict[str, Any]] = {}
    last_pass = ""
    found = []

    def view(n: dict[str, Any]) -> dict[str, Any]:
        own = {k: v for k, v in n.items() if k != "like"}
        base = {**known[n["like"]], "value": ""} if "like" in n else known.get(n["id"], {})
        known[n["id"]] = {**base, **own}
        return known[n["id"]]

    for position, event in enumerate(data.get("events", [])):
        full = {**rules.get(event["rule"], {}), "pass_name": last_pass, "index": position, **event}
        rules[event["rule"]] = {k: full.get(k, "") for k in TEXTS}
        last_pass = full["pass_name"]
        for name in ("added", "changed"):
            full[name] = [view(n) for n in event.get(name, [])]
        full.setdefault("focus", event.get("matched", []))
        full.setdefault("produced", [n["id"] for n in full["added"] if n["kind"] == "apply"])
        found.append(full)
    return found


def plain(event: dict[str, Any]) -> dict[str, Any]:
    """Without defaults, and without the values of nodes that were there: the viewer keeps those."""
    shown = {k: v for k, v in event.items() if v not in ("", [], None, 0)}
    for name in ("added", "changed"):
        if name in shown:
            shown[name] = [{k: v for k, v in n.items() if v not in ("", [], None) and (k != "value" or n["kind"] == "constant")} for n in shown[name]]
    return shown


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.folder != "printed"], ids=lambda p: p.folder)
def test_events_read_back(program: Golden) -> None:
    snapshot: Snapshot = explain(derivative(program.f, program.order, program.wrt), *program.arguments).stages["optimized"]
    data = json.loads(json.dumps(snapshot.to_dict()))
    whole = json.loads(json.dumps([to_json(e) for e in snapshot.events]))
    assert [plain(e) for e in expanded(data)] == [plain(e) for e in whole]
    assert len(json.dumps(data.get("events", []))) < 0.7 * len(json.dumps(whole)) or len(whole) < 40


def test_ten_thousand_events_are_under_five_megabytes() -> None:
    """The events of second derivatives: at most 500 bytes each."""
    count = size = 0
    for program in PROGRAMS:
        if program.folder in ("tanh_sin", "power", "factorial", "record", "absolute"):
            events = explain(derivative(program.f, 2), *program.arguments).stages["optimized"].to_dict()["events"]
            count, size = count + len(events), size + len(json.dumps(events, separators=(",", ":"), ensure_ascii=False).encode())
    assert count > 150 and size / count <= 500, (count, size / count)
