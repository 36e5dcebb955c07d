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


class Array:
    """Has `__array__` and nothing else."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return self.values


class Exchanged:
    """Has DLPack and nothing else, as tensors of other libraries may."""

    def __init__(self, values: np.ndarray, device: int = 1) -> None:
        self.values, self.device = values, device

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)


def squares(x):
    return np.sum(x * x)


@pytest.mark.parametrize("wrap", [Array, Exchanged])
def test_foreign_arrays_are_arguments(wrap) -> None:
    x = np.array([1.0, -2.0, 0.5])
    f = myia.myia(squares)
    for _ in range(2):
        assert f(wrap(x)) == 5.25
        np.testing.assert_array_equal(myia.grad(f)(wrap(x)), 2.0 * x)
    value, gradient = myia.value_and_grad(myia.myia(lambda p, y: np.sum((p["w"] * p["parts"][0] - y) ** 2)))({"w": 2.0, "parts": (wrap(x),)}, wrap(3.0 * x))
    assert value == 5.25 and gradient["w"] == -2.0 * 5.25
    np.testing.assert_array_equal(gradient["parts"][0], 2.0 * (2.0 * x - 3.0 * x) * 2.0)
    assert myia.explain(myia.grad(f), wrap(x)).value.tolist() == (2.0 * x).tolist()


def test_pandas_columns_are_arrays() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 7.0], "name": ["a", "b", "c"]}, index=[5, 6, 7])
    loss = myia.myia(lambda p, x, y: np.mean((p[0] * x + p[1] - y) ** 2))
    slope, offset = myia.grad(loss)((1.0, 0.5), table["x"], table.y)
    difference = 1.0 * table.x + 0.5 - table.y
    assert math.isclose(slope, np.mean(2 * difference * table.x)) and math.isclose(offset, np.mean(2 * difference))
    table["square"] = myia.myia(lambda x: x * x)(table["x"])
    assert table["square"].tolist() == [1.0, 4.0, 9.0]
    assert myia.myia(squares)(table[["x", "y"]]) == 14.0 + 69.0
    with pytest.raises(myia.MyiaTypeError, match=r"M305.* Series") as refused:
        myia.myia(squares)(table["name"])
    assert "to_numpy" in str(refused.value)


def test_what_does_not_become_an_array_is_refused_in_its_own_words() -> None:
    class Attached(Array):
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("detach it first")
    with pytest.raises(myia.MyiaTypeError, match="detach it first"):
        myia.myia(squares)(Attached(np.ones(2)))
    with pytest.raises(myia.MyiaTypeError, match="M305"):
        myia.myia(squares)(Exchanged(np.ones(2), device=2))


def test_a_foreign_array_is_not_changed() -> None:
    x = np.array([3.0, 4.0])

    def written(a):
        a[0] = 0.0
        return np.sum(a)
    assert myia.myia(written)(Array(x)) == 4.0 and x.tolist() == [3.0, 4.0]


def test_steps_of_an_optimizer_over_a_tree_of_parameters() -> None:
    """As optax and the like are written: updates have the structure of the parameters, and so have the gradients."""
    def tree_map(f, *trees):
        first = trees[0]
        if isinstance(first, dict):
            return {k: tree_map(f, *(t[k] for t in trees)) for k in first}
        return tuple(tree_map(f, *ts) for ts in zip(*trees)) if isinstance(first, tuple) else f(*trees)

    loss = myia.myia(lambda p: np.sum((p["layer"][0] - 3.0) ** 2) + (p["scale"] + 1.0) ** 2)
    parameters = {"layer": (np.zeros(2), np.ones(3)), "scale": 0.5}
    momentum = tree_map(lambda p: 0.0 * p, parameters)
    for _ in range(200):
        momentum = tree_map(lambda m, g: 0.8 * m - 0.05 * g, momentum, myia.grad(loss)(parameters))
        parameters = tree_map(lambda p, m: p + m, parameters, momentum)
    np.testing.assert_allclose(parameters["layer"][0], 3.0, atol=1e-6)
    np.testing.assert_array_equal(parameters["layer"][1], np.ones(3))
    assert math.isclose(parameters["scale"], -1.0, abs_tol=1e-6)


def test_a_timed_cell(capsys) -> None:
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "myia_notebook")
    shell.run_cell("%%myia --quiet\ndef cube_of(x):\n    return x ** 3\n")
    assert shell.run_cell("%%time\nvalue = grad(cube_of)(2.0)").success and shell.user_ns["value"] == 12.0
    assert "Wall time" in capsys.readouterr().out
