"""Installs the wheel of dist/ into a fresh environment of every Python named and runs a first gradient there, natively and on the interpreter.

    python tools/check_wheel.py [PYTHON...]

Without names: each of python3.11, python3.12 and python3.13 that is on the PATH or among pyenv's versions. The run happens in an empty folder, so that nothing but
the wheel can be imported. Prints a line a Python; fails if there is none or one fails.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DIST = Path(__file__).parent.parent / "dist"
VERSIONS = ("3.11", "3.12", "3.13")
PROGRAM = """
import sys, time
start = time.perf_counter()
import myia_notebook
assert "numba" not in sys.modules and "IPython" not in sys.modules
imported = time.perf_counter() - start
from myia_notebook import myia, grad, explain

def power(x, n):
    y = 1.0
    while n > 0:
        y = y * x
        n = n - 1
    return y

for backend in ("numba", "vm"):
    assert grad(myia(power), backend=backend)(1.5, 4) == 13.5, backend
    assert grad(grad(myia(power)), backend=backend)(1.5, 4) == 27.0, backend
explain(grad(myia(power)), 1.5, 4).save_html("power.html")
assert len(open("power.html", encoding="utf-8").read()) > 100_000
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
shell.run_line_magic("load_ext", "myia_notebook")
assert shell.run_cell("%%myia --quiet\\ndef f(x):\\n    return x ** 3\\n\\ngrad(f)(2.0)\\n").success
from importlib.metadata import files, version
assert any(str(f).endswith("myia_notebook/py.typed") for f in files("myia_notebook"))
assert any("labextensions/myia-notebook/package.json" in str(f) for f in files("myia_notebook"))
import numpy, numba
print(f"myia_notebook {version('myia_notebook')} on Python {sys.version.split()[0]}, NumPy {numpy.__version__}, Numba {numba.__version__}: "
      f"first gradient right; import took {imported * 1e3:.0f} ms")
"""


def interpreters() -> list[str]:
    found = []
    for version in VERSIONS:
        pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
        path = shutil.which(f"python{version}") if not pyenv else str(pyenv[-1])
        if path:
            found.append(path)
    return found


def check(python: str, wheel: Path) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder) / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "PYENV"))}
        program = Path(folder) / "first_gradient.py"
        program.write_text(PROGRAM, encoding="utf-8")
        for command in ([python, "-m", "venv", str(Path(folder) / "venv")], [str(inside), "-m", "pip", "install", "-q", str(wheel)], [str(inside), str(program)]):
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
            if done.returncode:
                print(f"{python}: failed\n{done.stdout}{done.stderr}")
                return False
        print(done.stdout.strip().splitlines()[-1], flush=True)
        return True


def main() -> int:
    wheels = sorted(DIST.glob("*.whl"))
    pythons = sys.argv[1:] or interpreters()
    if not wheels or not pythons:
        print("no wheel in dist/ (make dist)" if not wheels else f"none of Python {', '.join(VERSIONS)} found")
        return 1
    return 0 if all([check(python, wheels[-1]) for python in pythons]) else 1


if __name__ == "__main__":
    sys.exit(main())
