"""The CUDA backend without a device: kernels on the simulator, PTX, refusals, the code stage. Nothing here has run on a GPU."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import myia_notebook as myia
from myia_notebook import MyiaError, grad, map_elements
from myia_notebook.api import MyiaFunction
from myia_notebook.emit.cuda import TARGETS, Kernel, numba_cuda
from myia_notebook.emit.kernel_text import KernelText, kernel_text
from myia_notebook.pipeline import compile_unit
from tests.cuda.programs import SCALARS, newton, root

ROOT = Path(__file__).parent.parent.parent


def _has_numba_cuda() -> bool:
    try:
        numba_cuda()
    except MyiaError:
        return False
    return True


needs_numba_cuda = pytest.mark.skipif(not _has_numba_cuda(), reason="Numba has no CUDA target here: pip install numba-cuda")


def _has_device() -> bool:
    return _has_numba_cuda() and numba_cuda().is_available()


def text_of(f: Any, *args: Any) -> KernelText:
    caller = f if isinstance(f, myia.api.Caller) else MyiaFunction(f)
    unit, _ = caller._unit(list(args))
    compile_unit(unit, until="lowered")
    return kernel_text(unit.lowered)


@needs_numba_cuda
def test_on_the_simulator() -> None:
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "tests/cuda/test_simulator.py"], cwd=ROOT, env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@needs_numba_cuda
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("f", [*SCALARS, *map(grad, SCALARS)], ids=lambda f: repr(f).split(" at ")[0].strip("<>"))
def test_ptx_is_made_without_a_driver(f: Any, target: tuple[int, int]) -> None:
    ptx = Kernel.of(text_of(f, 1.5)).ptx(target)
    if ptx is None:
        pytest.skip("NVVM is not installed: pip install 'numba-cuda[cu13]'")
    assert f".target sm_{target[0]}{target[1]}" in ptx and ".entry" in ptx


@pytest.mark.skipif(_has_device(), reason="there is a device")
def test_without_a_device_it_is_one_line() -> None:
    for call in (lambda: map_elements(newton, backend="cuda")(np.ones(3)), lambda: myia.myia(root, backend="cuda")(2.0), lambda: grad(root, backend="cuda")(2.0)):
        with pytest.raises(MyiaError) as caught:
            call()
        assert caught.value.code == "M801" and "CUDA" in caught.value.message and "\n" not in caught.value.message and "myia_notebook[cuda]" in caught.value.hint


REFUSED = [
    ("print", "def f(x):\n    y = x\n    print(y)\n    return y\n", (1.0,), 3),
    ("list", "def f(x):\n    ys = [x * k for k in range(int(x))]\n    return sum(ys)\n", (3.0,), 2),
    ("array", "def f(x):\n    return x * np.ones(3)\n", (1.0,), 2),
    ("random", "from myia_notebook.random import key, uniform\ndef f(x):\n    return x + uniform(key(3), ())\n", (1.0,), 3),
    ("polygamma", "def f(x):\n    return math.lgamma(x)\nf = grad(f)\n", (1.5,), 2),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda c: c[0])
def test_what_has_no_cuda_form_is_refused_by_name_and_line(case: Any) -> None:
    import math
    name, source, args, line = case
    space: dict[str, Any] = {"np": np, "math": math, "grad": grad}
    import linecache
    file = f"<cuda {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), space)
    f = space["f"]
    with pytest.raises(MyiaError) as caught:
        (grad(f._function, backend="cuda") if isinstance(f, myia.api.Gradient) else myia.myia(f, backend="cuda"))(*args)
    assert caught.value.code == "M801" and "no CUDA form" in caught.value.message and caught.value.span.line == line


def test_the_code_stage_shows_the_kernel() -> None:
    compilation = myia.explain(newton, 2.0, backend="cuda")
    listings = compilation.stages["code"].code
    kernel = listings[0]
    assert "a thread for each element" in kernel.title and any("def newton_kernel(" in t for t in kernel.lines)
    line = next(i for i, t in enumerate(kernel.lines) if "abs(" in t)
    assert kernel.origin[line] > 0
    if _has_numba_cuda() and len(listings) == 3:
        assert listings[1].language == "ptx" and any(".target sm_80" in t for t in listings[1].lines)
    assert isinstance(compilation.problem, MyiaError) or compilation.value[0] == pytest.approx(2**0.5)


def test_a_kernel_has_the_users_names_and_no_recursion() -> None:
    from tests.cuda.programs import tree
    text = text_of(tree, 1.0)
    whole = "\n".join(text.lines)
    assert text.uses_memory and "sin(" in whole and "xs[element * xs_step]" in whole and whole.count("def ") == 1
    assert not text_of(newton, 1.0).uses_memory
