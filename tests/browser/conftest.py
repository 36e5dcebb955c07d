"""Real JupyterLab and Notebook 7 servers in temporary folders, and Chromium driven by Playwright. Nothing outside this machine is reached."""
from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync "
         "--disable-dev-shm-usage").split()
CELL = "%%myia\ndef power(x, n):\n    y = 1.0\n    while n > 0:\n        y = y * x\n        n = n - 1\n    return y\n\ngrad(power)(1.5, 4)"
READY = """() => { const p = window.jupyterapp?.shell?.currentWidget; const s = p?.sessionContext;
  return !!(s && s.isReady && s.session?.kernel?.connectionStatus === 'connected' && s.session.kernel.status === 'idle' && p.content?.widgets?.length); }"""


def notebook() -> Any:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("%load_ext myia_notebook", id="a"), nbformat.v4.new_code_cell(CELL, id="b")])
    made.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return made


class Server:
    """One Jupyter application."""

    def __init__(self, application: str, folder: Path) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        nbformat.write(notebook(), self.root / "demo.ipynb")
        settings = folder / "settings" / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True)
        (settings / "notification.jupyterlab-settings").write_text('{"fetchNews":"false","checkForUpdates":false}')
        names = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_RUNTIME_DIR": "run", "IPYTHONDIR": "ipython", "JUPYTERLAB_SETTINGS_DIR": "settings",
                 "JUPYTERLAB_WORKSPACES_DIR": "workspaces", "JUPYTER_DATA_DIR": "data"}
        environment = dict(os.environ, **{k: str(folder / v) for k, v in names.items()}, PYTHONPATH=str(ROOT), JUPYTER_PREFER_ENV_PATH="0")
        extension = folder / "data" / "labextensions" / "myia-notebook"
        extension.parent.mkdir(parents=True)
        shutil.copytree(ROOT / "myia_notebook" / "labextension", extension)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.token = secrets.token_hex(8)
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / "server.log"
        command = [sys.executable, "-m", application, "--no-browser", "--allow-root", f"--port={port}", "--ServerApp.ip=127.0.0.1",
                   f"--IdentityProvider.token={self.token}", f"--ServerApp.root_dir={self.root}", "--LabApp.expose_app_in_browser=True",
                   "--JupyterNotebookApp.expose_app_in_browser=True"]
        self.process = subprocess.Popen(command, env=environment, stdout=self.log.open("w"), stderr=subprocess.STDOUT)
        self._wait()

    def _wait(self) -> None:
        for _ in range(300):
            if self.process.poll() is not None:
                raise RuntimeError(self.log.read_text()[-3000:])
            try:
                urllib.request.urlopen(f"{self.url}/api?token={self.token}", timeout=2)
                return
            except OSError:
                time.sleep(0.2)
        raise RuntimeError("the server did not start: " + self.log.read_text()[-3000:])

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server("jupyterlab", tmp_path_factory.mktemp("lab"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def notebook7(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server("notebook", tmp_path_factory.mktemp("notebook7"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield made
        made.close()


def open_page(browser: Any, **options: Any) -> Any:
    """A page whose requests to other machines are refused and listed in `page.refused`; errors, with their stacks, are in `page.errors`, and
    what the content security policy stopped in `page.stopped`."""
    context = browser.new_context(**{"viewport": {"width": 1400, "height": 1000}, **options})
    made = context.new_page()
    made.errors, made.refused, made.stopped = [], [], []
    made.on("pageerror", lambda problem: made.errors.append(f"{problem} {problem.stack}"))
    made.on("console", lambda said: made.stopped.append(said.text) if "Content Security Policy" in said.text else None)

    def only_here(route: Any) -> None:
        url = route.request.url
        host = url.split("/")[2].split(":")[0] if "://" in url and not url.startswith(("blob:", "data:", "file:")) else ""
        if host in ("127.0.0.1", "localhost", ""):
            route.continue_()
        else:
            made.refused.append(url)
            route.abort()

    made.route("**/*", only_here)
    return made


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    made = open_page(browser)
    yield made
    made.context.close()


@pytest.fixture
def page_with(browser: Any) -> Iterator[Any]:
    """Makes pages with options of Playwright's contexts: `color_scheme`, `reduced_motion`, `viewport`."""
    made: list[Any] = []

    def make(**options: Any) -> Any:
        made.append(open_page(browser, **options))
        return made[-1]

    yield make
    for one in made:
        one.context.close()


def run_all(page: Any) -> None:
    page.wait_for_function(READY, timeout=90_000)
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
