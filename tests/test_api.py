"""The public functions: what `myia`, `grad` and `explain` take, and what they see when something outside changes."""
from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import pytest

import myia_notebook as myia


def square(x: float) -> float:
    return x * x


class Model:
    """An object with parameters and methods."""

    def __init__(self, w: Any) -> None:
        self.w = w

    def inner(self, x: Any) -> Any:
        return self.w * x

    def loss(self, x: Any) -> Any:
        return math.sin(self.inner(x)) * x


MODEL = Model(0.5)


def through_an_object(x: float) -> float:
    return MODEL.w * x * x


@pytest.mark.parametrize("backend", ["vm", "numba"])
def test_grad_takes_every_kind_of_function(backend: str) -> None:
    def closure(k: float) -> Any:
        return lambda x: k * x * x

    model = Model(2.0)
    assert myia.grad(square, backend=backend)(3.0) == 6.0
    assert myia.grad(myia.myia(square), backend=backend)(3.0) == 6.0
    assert myia.grad(lambda x: x * x * x, backend=backend)(2.0) == 12.0
    assert myia.grad(closure(5.0), backend=backend)(3.0) == 30.0
    assert math.isclose(myia.grad(model.loss, backend=backend)(0.3), math.sin(0.6) + 0.6 * math.cos(0.6), rel_tol=1e-14)
    value, gradient = myia.value_and_grad(square, backend=backend)(3.0)
    assert (value, gradient) == (9.0, 6.0)


def test_objects_are_read_anew() -> None:
    model = Model(2.0)
    slope = myia.grad(model.inner)
    assert slope(1.0) == 2.0
    model.w = 7.0
    assert slope(1.0) == 7.0
    f = myia.myia(through_an_object)
    assert f(2.0) == 2.0
    MODEL.w = 1.0
    assert f(2.0) == 4.0
    MODEL.w = 0.5


def test_wrt() -> None:
    def f(x: float, n: int, y: float) -> float:
        return x ** n * y
    assert myia.grad(f, 2)(2.0, 3, 5.0) == 8.0
    assert myia.grad(f, "y")(2.0, 3, 5.0) == 8.0
    assert myia.grad(f, (0, "y"))(2.0, 3, 5.0) == (60.0, 8.0)
    with pytest.raises(TypeError, match="argument 1"):
        myia.grad(f, 1)(2.0, 3, 5.0)
    with pytest.raises(TypeError, match="no parameter 'q'"):
        myia.grad(f, "q")(2.0, 3, 5.0)
    with pytest.raises(TypeError, match="M602"):
        myia.grad(lambda x: (x, x))(1.0)


def test_results_keep_their_types() -> None:
    double = myia.myia(lambda x: x + x)
    assert type(double(2)) is int and type(double(2.0)) is float
    assert type(double(np.float32(2))) is np.float32 and type(double(np.float64(2))) is np.float64
    assert double(np.ones(3, np.float32)).dtype == np.float32
    assert double((1, 2.0)) == (1, 2.0, 1, 2.0)
    total = myia.grad(lambda a: np.sum(a * a))
    assert total(np.ones(3, np.float32)).dtype == np.float32


def test_strided_and_read_only_arrays() -> None:
    a = np.arange(24.0).reshape(4, 6)
    view = a.T[::2, ::-1]
    view.flags.writeable = False
    f = myia.myia(lambda x: np.sum(x * x, axis=0))
    np.testing.assert_allclose(f(view), np.sum(view * view, axis=0))
    np.testing.assert_allclose(myia.grad(lambda x: np.sum(x * x))(view), 2 * view)


def test_functions_are_arguments_and_results() -> None:
    twice = myia.myia(lambda f, x: f(f(x)))
    assert twice(square, 3.0) == 81.0
    assert twice(lambda v: v + 1, 3) == 5

    def adder(k: float) -> Any:
        def add(x: float) -> float:
            return x * k + k
        return add

    made = myia.myia(adder)(4.0)
    assert made(2.0) == 12.0
    assert myia.grad(made)(2.0) == 4.0
    assert myia.grad(lambda x: made(x) * x)(2.0) == 20.0


def test_a_rebound_global_or_default_is_seen() -> None:
    space: dict[str, Any] = {}
    myia.compile_source("K = 2.0\ndef f(x, n=3):\n    return K * x + n\n", space)
    assert space["f"](1.0) == 5.0
    space["K"] = 10.0
    assert space["f"](1.0) == 13.0


def test_threads_may_make_the_first_call() -> None:
    f = myia.grad(lambda x: math.sin(x) * x)
    results: list[float] = []
    threads = [threading.Thread(target=lambda: results.append(f(0.5))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [results[0]] * 8 and math.isclose(results[0], math.sin(0.5) + 0.5 * math.cos(0.5))


def test_explain_and_check() -> None:
    made = myia.explain(myia.grad(square), 3.0, check=True)
    assert made.value == 6.0
    assert list(made.timings)[:4] == ["parsed", "typed", "adjoint", "optimized"]
    assert made.stages["typed"].to_dict()["stage"] == "typed"
    assert made.stages["adjoint"].svg().startswith("<svg")
    failing = myia.explain(lambda x: x @ x, 2.0)
    with pytest.raises(TypeError):
        failing.value
    assert "typed" in failing.stages


def test_an_unknown_backend_is_one_line() -> None:
    with pytest.raises(myia.MyiaError, match="no backend 'gpu'"):
        myia.myia(square, backend="gpu")
    with pytest.raises(myia.MyiaError, match="CUDA"):
        myia.myia(square, backend="cuda")(1.0)


def test_importing_the_package_is_light() -> None:
    import subprocess
    import sys
    code = "import sys, myia_notebook; print('numba' in sys.modules, 'IPython' in sys.modules, 'llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == ["False"] * 3


def test_deterministic() -> None:
    """The same source gives the same text of every stage in every process."""
    import subprocess
    import sys
    code = ("import myia_notebook as m\nfrom myia_notebook.cell import run_cell\n"
            "c = run_cell('def f(x, n):\\n    y = x\\n    for i in range(n):\\n        y = y * x if y > 1.0 else y + x\\n    return y\\n\\ngrad(f)(1.5, 4)\\n', {'grad': m.grad}).compilation\n"
            "print([c.stages[s].text for s in ('parsed', 'typed', 'adjoint', 'optimized', 'lowered')])")
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed, "PATH": ""}).stdout for seed in ("1", "2")]
    assert runs[0] == runs[1] and len(runs[0]) > 1000


def test_every_error_has_a_page() -> None:
    import pathlib

    from myia_notebook.errors import CATALOG
    text = (pathlib.Path(__file__).parent.parent / "docs" / "errors.md").read_text()
    for code, kind in CATALOG.items():
        assert f"## {code} ({kind.name})" in text, code
