"""What is published: the files agree on the version, the packages are complete, what is bundled is named. `make dist` and `make dist-check` build and try the wheel itself."""
from __future__ import annotations

import ast
import configparser
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from setuptools import find_packages

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import clean_notebooks  # noqa: E402
import version  # noqa: E402


@pytest.fixture(scope="module")
def setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def test_every_folder_with_modules_is_a_package() -> None:
    """One without `__init__.py` imports in a checkout and is missing in the wheel."""
    folders = {".".join(p.parent.relative_to(ROOT).parts) for p in (ROOT / "myia_notebook").rglob("*.py") if "labextension" not in p.parts}
    assert folders == set(find_packages(str(ROOT), include=["myia_notebook*"]))


def test_the_version_is_the_same_everywhere() -> None:
    assert version.disagreements(ROOT) == []


def test_a_version_is_written_everywhere(tmp_path: Path) -> None:
    for path, _ in (version.SOURCE, *version.COPIES):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes((ROOT / path).read_bytes())
    (tmp_path / "CITATION.cff").write_text("title: x\nversion: 9.9.9\n", encoding="utf-8")
    assert version.disagreements(tmp_path) == [f"CITATION.cff says 9.9.9, myia_notebook/__init__.py says {version.read(ROOT, version.SOURCE)}"]
    version.write(tmp_path, "1.2.3")
    assert version.disagreements(tmp_path) == [] and version.read(tmp_path, version.SOURCE) == "1.2.3"
    assert json.loads((tmp_path / "labextension/package.json").read_text(encoding="utf-8"))["version"] == "1.2.3"


def test_extras_and_types_are_declared(setup: configparser.ConfigParser) -> None:
    assert {"test", "docs", "demo"} <= set(setup["options.extras_require"])
    assert "py.typed" in setup["options.package_data"]["myia_notebook"] and (ROOT / "myia_notebook/py.typed").exists()


def imported_packages(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def test_what_is_imported_is_required(setup: configparser.ConfigParser) -> None:
    """Directly, or by one that is (llvmlite by numba, traitlets by ipywidgets); the optional ones are guarded where they are imported."""
    required = {re.split(r"[<>=]", line)[0].replace("-", "_") for line in setup["options"]["install_requires"].split()}
    through_others = {"llvmlite", "traitlets", "comm"}
    optional = {"scipy", "cupy", "torch", "cloudpickle"}
    imported = set().union(*map(imported_packages, (ROOT / "myia_notebook").rglob("*.py")))
    third_party = {name for name in imported if name not in sys.stdlib_module_names and name != "myia_notebook"}
    assert {name.lower() for name in third_party} - required - through_others - optional == set()


def test_what_the_front_end_bundles_is_named() -> None:
    notice = (ROOT / "NOTICE.md").read_text(encoding="utf-8")
    names: set[str] = set()
    for path in (ROOT / "labextension/src").glob("*.ts"):
        names |= {name for name in re.findall(r"""^(?:import|export)\b[^\n]*?from ['"]([^.'"][^'"]*)['"]""", path.read_text(encoding="utf-8"), re.MULTILINE)}
    assert "@hpcc-js/wasm-graphviz" in names and all(name in notice for name in names)
    pinned = json.loads((ROOT / "labextension/package.json").read_text(encoding="utf-8"))["devDependencies"]["@hpcc-js/wasm-graphviz"]
    assert f"| {pinned} |" in notice


def test_outputs_are_taken_out_of_notebooks(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "source": ["1 + 1"], "outputs": [{"output_type": "stream"}], "execution_count": 3, "metadata": {}}
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": [cell], "metadata": {"widgets": {}}, "nbformat": 4, "nbformat_minor": 5}), encoding="utf-8")
    assert clean_notebooks.clean(path) and not clean_notebooks.clean(path)
    cleaned = json.loads(path.read_text(encoding="utf-8"))
    assert cleaned["cells"][0]["outputs"] == [] and cleaned["cells"][0]["execution_count"] is None and cleaned["metadata"] == {}


def test_the_package_is_imported_without_numba_and_ipython() -> None:
    program = "import sys, myia_notebook; print([m for m in ('numba', 'llvmlite', 'IPython', 'numpy', 'graphviz') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip() == "[]"
