"""Compiled functions in other processes: a pickle carries the source that a worker has not, and shards of a gradient add up to the whole."""
from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from myia_notebook import grad
from myia_notebook.cell import CellOptions, run_cell

ROOT = Path(__file__).parents[2]
CELL = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Model:
    weight: float
    offset: float

    def predict(self, x):
        return scale * self.weight * x + self.offset

def residual(model, x, y):
    return model.predict(x) - y

def loss(model, x, y):
    return np.sum(residual(model, x, y) ** 2)

def countdown(n, x):
    return x if n == 0 else x * countdown(n - 1, x)
"""
SCRIPT = f"""
import sys
import numpy as np
from myia_notebook import grad
from myia_notebook.cell import CellOptions, run_cell
scale = 2.0
run_cell({CELL!r}, globals(), CellOptions(observe=False))
"""


def in_another_process(expression: str, data: bytes) -> str:
    """The value of an expression of `given`, unpickled where none of this exists."""
    program = f"import sys, pickle, numpy as np\ngiven = pickle.loads(sys.stdin.buffer.read())\nprint(repr({expression}))"
    done = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def pickled(expression: str, dumps: str = "pickle.dumps") -> bytes:
    """An expression over the cell's names, pickled by a process whose `__main__` ran the cell."""
    program = SCRIPT + f"\nimport pickle\nimport cloudpickle\nsys.stdout.buffer.write({dumps}({expression}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_a_function_of_main_is_rebuilt_with_all_it_needs() -> None:
    pytest.importorskip("cloudpickle")
    data = pickled("(grad(loss), Model(1.5, 0.25))", "cloudpickle.dumps")
    x, y = np.arange(4.0), np.ones(4)
    residual = 2.0 * 1.5 * x + 0.25 - y
    got = in_another_process("(lambda g: [float(g.weight), float(g.offset)])(given[0](given[1], np.arange(4.0), np.ones(4)))", data)
    assert got == repr([float(np.sum(2 * residual * 2.0 * x)), float(np.sum(2 * residual))])


def test_a_recursive_function_and_higher_orders() -> None:
    pytest.importorskip("cloudpickle")
    assert in_another_process("(given[0](3, 2.0), given[1](3, 2.0))", pickled("(countdown, grad(grad(countdown, 1), 1))")) == repr((16.0, 12 * 2.0 ** 2))


def test_without_cloudpickle_a_named_function_goes_by_its_name() -> None:
    program = SCRIPT + "\nsys.modules['cloudpickle'] = None\nimport pickle\nprint(pickle.loads(pickle.dumps(loss)) is loss)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True).stdout.strip() == "True"


def test_a_name_that_stands_for_another_text_here() -> None:
    import linecache
    import types

    from myia_notebook.carried import filename_of, put_back
    text = "def f(x):\n    return x * 7.0\n"
    name = "<shared name>"
    linecache.cache[name] = (4, None, ["pass\n"], name)
    code = next(c for c in compile(text, "<dynamic-code>", "exec").co_consts if isinstance(c, types.CodeType))
    f = types.FunctionType(code, {"__builtins__": __builtins__}, "f")
    put_back([(f, name, text)])
    assert filename_of(code).startswith(name + "#")
    assert grad(f)(2.0) == 7.0
    assert linecache.getlines(name) == ["pass\n"]


def shards(x: np.ndarray, count: int) -> list[np.ndarray]:
    return np.array_split(x, count)


@pytest.fixture(scope="module")
def problem():
    namespace = {"np": np, "scale": 2.0, "__name__": "__main__"}
    run_cell(CELL, namespace, CellOptions(observe=False))
    random = np.random.default_rng(0)
    x = random.normal(size=30)
    return namespace["loss"], namespace["Model"](0.5, 0.1), x, 3.0 * x + 1.0


def whole(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    residual = 2.0 * 0.5 * x + 0.1 - y
    return float(np.sum(2 * residual * 2.0 * x)), float(np.sum(2 * residual))


def test_joblib_adds_up_to_the_whole(problem) -> None:
    joblib = pytest.importorskip("joblib")
    loss, model, x, y = problem
    parts = joblib.Parallel(2)(joblib.delayed(grad(loss))(model, a, b) for a, b in zip(shards(x, 3), shards(y, 3)))
    np.testing.assert_allclose((sum(p.weight for p in parts), sum(p.offset for p in parts)), whole(x, y), rtol=1e-12)


def test_dask_adds_up_to_the_whole(problem) -> None:
    distributed = pytest.importorskip("distributed")
    loss, model, x, y = problem
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
        parts = client.gather(client.map(grad(loss), [model] * 3, shards(x, 3), shards(y, 3)))
    np.testing.assert_allclose((sum(p.weight for p in parts), sum(p.offset for p in parts)), whole(x, y), rtol=1e-12)


def test_a_plain_pickle_of_what_is_imported_stays_by_reference() -> None:
    from tests.test_calls import scaled
    again = pickle.loads(pickle.dumps(grad(scaled)))
    assert again._function is scaled
