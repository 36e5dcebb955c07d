"""Among other packages: SciPy's optimizers, objects with `__array__`, `%timeit`; what a notebook's user does in a loop."""
from __future__ import annotations

import math

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import myia_notebook as myia
from myia_notebook.cell import CellOptions, run_cell


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "SLSQP"])
def test_scipy_minimizes(method: str) -> None:
    minimize = pytest.importorskip("scipy.optimize").minimize
    found = minimize(myia.value_and_grad(myia.myia(rosenbrock)), np.array([-1.0, 1.5, 0.5]), jac=True,
                     method=method, options={"maxiter": 2000})
    assert np.allclose(found.x, 1.0, atol=1e-3), found


def test_scipy_uses_the_hessian() -> None:
    minimize = pytest.importorskip("scipy.optimize").minimize
    f = myia.myia(rosenbrock)
    found = minimize(f, np.array([-1.0, 1.5]), jac=myia.grad(f), hess=myia.hessian(f), method="trust-exact")
    assert np.allclose(found.x, 1.0, atol=1e-6)


def test_a_derivative_of_a_compiled_function_is_made_once() -> None:
    f = myia.myia(rosenbrock)
    assert myia.grad(f) is myia.grad(f) and myia.grad(myia.grad(f)) is myia.grad(myia.grad(f))
    different = [myia.grad(f), myia.grad(f, True), myia.grad(f, (0,)), myia.value_and_grad(f), myia.grad(f, backend="vm"), myia.grad(f, check=True)]
    assert len(set(map(id, different))) == len(different)
    assert myia.grad(myia.myia(rosenbrock)) is not myia.grad(f)


def test_a_kept_derivative_sees_that_a_global_changed() -> None:
    namespace = {"grad": myia.grad, "factor": 2.0}
    run_cell("def f(x):\n    return factor * x\n", namespace, CellOptions(observe=False))
    assert myia.grad(namespace["f"])(1.0) == 2.0
    namespace["factor"] = 5.0
    assert myia.grad(namespace["f"])(1.0) == 5.0


def test_future_annotations_hold_for_the_whole_cell() -> None:
    namespace: dict = {"math": math}
    run_cell("""from __future__ import annotations
from dataclasses import dataclass

@dataclass(frozen=True)
class Tree:
    value: float
    rest: Tree | None

def total(t):
    return t.value if t.rest is None else t.value * total(t.rest)
""", namespace, CellOptions(observe=False))
    Tree = namespace["Tree"]
    assert Tree.__annotations__["rest"] == "Tree | None"
    assert namespace["total"](Tree(2.0, Tree(3.0, None))) == 6.0


def test_timeit_and_time() -> None:
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "myia_notebook")
    shell.user_ns["f"] = myia.myia(lambda x: x * x)
    result = shell.run_line_magic("timeit", "-o -q -n 10 -r 2 grad(f)(3.0)")
    assert result.best < 0.05
