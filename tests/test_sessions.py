"""Sessions: what a call sees after something that it read was defined anew, and where functions may come from."""
from __future__ import annotations

import importlib
import linecache
import sys
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import myia_notebook as m
from myia_notebook import grad, myia
from myia_notebook.cell import CellOptions, run_cell


def cell(source: str, namespace: dict[str, Any]) -> None:
    run_cell(source, namespace, CellOptions(observe=False))


def python(source: str, namespace: dict[str, Any], name: str) -> None:
    """A cell of plain Python, as IPython runs it: its source is in `linecache`."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), namespace)


@pytest.fixture
def namespace() -> dict[str, Any]:
    return {"np": np, "grad": m.grad, "__name__": "__main__"}


def test_a_helper_is_redefined(namespace: dict[str, Any]) -> None:
    cell("def h(x):\n    return x * 2", namespace)
    cell("def f(x):\n    return h(x) + 1", namespace)
    assert namespace["f"](3.0) == 7.0
    cell("def h(x):\n    return x * x", namespace)
    assert namespace["f"](3.0) == 10.0 and grad(namespace["f"])(3.0) == 6.0
    cell("def h(x):\n    return x * 2", namespace)
    assert namespace["f"](3.0) == 7.0 and grad(namespace["f"])(3.0) == 2.0


def test_a_helper_of_a_helper_is_redefined_as_plain_python(namespace: dict[str, Any]) -> None:
    python("def k(x):\n    return x + 1\ndef h(x):\n    return k(x) * 2", namespace, "<cell 1>")
    cell("def f(x):\n    return h(x)", namespace)
    assert namespace["f"](3.0) == 8.0
    python("def k(x):\n    return x - 1", namespace, "<cell 2>")
    assert namespace["f"](3.0) == 4.0


@pytest.mark.parametrize(("before", "after", "expected"), [
    ("c = 2.0", "c = 3.0", (6.0, 9.0)), ("c = 2.0", "c = 3", (6.0, 9.0)), ("c = np.float32(2)", "c = 2.5", (6.0, 7.5)),
    ("c = [1.0, 2.0][1]", "c = np.sum(np.ones(4))", (6.0, 12.0))])
def test_a_global_is_rebound(namespace: dict[str, Any], before: str, after: str, expected: tuple[float, float]) -> None:
    python(before, namespace, "<cell a>")
    cell("def f(x):\n    return x * c", namespace)
    assert namespace["f"](3.0) == expected[0]
    python(after, namespace, "<cell b>")
    assert namespace["f"](3.0) == expected[1]


def test_a_global_array_is_changed_in_place(namespace: dict[str, Any]) -> None:
    namespace["w"] = np.array([1.0, 2.0])
    cell("def f(x):\n    return np.sum(w * x)", namespace)
    assert namespace["f"](2.0) == 6.0
    namespace["w"][0] = 5.0
    assert namespace["f"](2.0) == 14.0 and grad(namespace["f"])(2.0) == 7.0


def test_a_global_list_and_dict_are_changed_in_place(namespace: dict[str, Any]) -> None:
    namespace |= {"ws": [1.0, 2.0], "d": {"k": 3.0}}
    cell("def f(x):\n    return sum(ws) * x + d['k']", namespace)
    assert namespace["f"](2.0) == 9.0
    namespace["ws"].append(4.0)
    assert namespace["f"](2.0) == 17.0
    namespace["d"]["k"] = 0.0
    assert namespace["f"](2.0) == 14.0


def test_a_mutable_default_is_changed() -> None:
    def f(x, w=[1.0, 2.0]):  # noqa: B006
        return sum(w) * x
    g = myia(f)
    assert g(2.0) == 6.0
    f.__defaults__[0].append(3.0)  # type: ignore[index]
    assert g(2.0) == 12.0
    f.__defaults__ = ([10.0],)
    assert g(2.0) == 20.0


def test_a_default_of_a_helper_is_changed() -> None:
    def h(x, k=2.0):
        return x * k

    def f(x):
        return h(x)
    g = myia(f)
    assert g(3.0) == 6.0
    h.__defaults__ = (5.0,)
    assert g(3.0) == 15.0


def test_a_closure_cell_is_changed() -> None:
    k = 2.0

    def f(x):
        return x * k

    def change(v):
        nonlocal k
        k = v
    g, dg = myia(f), grad(f)
    assert g(3.0) == 6.0 and dg(3.0) == 2.0
    change(4.0)
    assert g(3.0) == 12.0 and dg(3.0) == 4.0


def test_an_old_closure_lives_on(namespace: dict[str, Any]) -> None:
    cell("def make(k):\n    def f(x):\n        return x * k\n    return f", namespace)
    old = namespace["make"](2.0)
    assert old(3.0) == 6.0
    cell("def make(k):\n    def f(x):\n        return x + k\n    return f", namespace)
    new = namespace["make"](2.0)
    assert (old(3.0), new(3.0), grad(old)(3.0), grad(new)(3.0)) == (6.0, 5.0, 2.0, 1.0)


def test_functions_of_one_name_and_line_are_told_apart() -> None:
    def make(k):
        return myia(lambda x: x * k)
    first, second = make(2.0), make(3.0)
    assert (first(2.0), second(2.0), first(2.0)) == (4.0, 6.0, 4.0)


def test_a_cell_that_is_run_again_compiles_nothing_new_for_old_values(namespace: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    import myia_notebook.api as api
    cell("def f(x):\n    return x * 2", namespace)
    f = namespace["f"]
    f(1.0)
    monkeypatch.setattr(api, "compile_unit", lambda unit: pytest.fail("compiled again"))
    namespace["unrelated"] = 3
    assert f(2.0) == 4.0


def test_exec_and_source_in_linecache(namespace: dict[str, Any]) -> None:
    python("def f(x):\n    return np.sin(x)\ng = lambda x: f(x) * 2", namespace, "<exec 7>")
    assert myia(namespace["g"])(1.0) == 2 * np.sin(1.0)


def test_exec_without_source_is_an_error_that_says_so() -> None:
    namespace: dict[str, Any] = {}
    exec("def f(x):\n    return x", namespace)
    with pytest.raises(m.MyiaError) as caught:
        myia(namespace["f"])(1.0)
    assert caught.value.code == "M802" and "source" in str(caught.value)


def test_a_module_and_its_reload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "session_module.py"
    path.write_text("K = 2.0\ndef helper(x):\n    return x * K\ndef f(x):\n    return helper(x) + 1\n")
    module = importlib.import_module("session_module")

    def use(x):
        return module.f(x)
    g = myia(use)
    assert g(3.0) == 7.0
    path.write_text("K = 2.0\nEXTRA = 0.5\ndef helper(x):\n    return x * K * K + EXTRA\ndef f(x):\n    return helper(x) + 1\n")
    linecache.clearcache()
    importlib.invalidate_caches()
    sys.modules.pop("session_module")
    renewed = importlib.import_module("session_module")
    module.__dict__.update(renewed.__dict__)  # what autoreload does with the old module
    assert g(3.0) == 13.5
    renewed.K = 3.0
    assert g(3.0) == use(3.0) == 28.5
    sys.modules.pop("session_module")


def test_a_method_is_redefined(namespace: dict[str, Any]) -> None:
    python("from dataclasses import dataclass\n@dataclass(frozen=True)\nclass P:\n    v: float\n    def get(self):\n        return self.v * 2", namespace, "<class 1>")
    cell("def f(x):\n    return P(x).get()", namespace)
    assert namespace["f"](3.0) == 6.0
    python("def get(self):\n    return self.v * 5", namespace, "<class 2>")
    namespace["P"].get = namespace["get"]
    assert namespace["f"](3.0) == 15.0
    python("from dataclasses import dataclass\n@dataclass(frozen=True)\nclass P:\n    v: float\n    def get(self):\n        return self.v + 1", namespace, "<class 3>")
    assert namespace["f"](3.0) == 4.0


def test_threads_make_first_calls_at_once() -> None:
    def f(x, y):
        return np.sum(np.sin(x) * y)
    g, dg = myia(f), grad(f)
    results: list[tuple[int, float, float]] = []
    problems: list[BaseException] = []
    start = threading.Barrier(6)

    def work(i: int) -> None:
        try:
            start.wait()
            x = np.full(1 + i % 3, 0.5)
            results.append((i, float(g(x, 2.0)), float(dg(x, 2.0)[0])))
        except BaseException as problem:
            problems.append(problem)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not problems
    for i, value, slope in results:
        assert np.isclose(value, (1 + i % 3) * np.sin(0.5) * 2) and np.isclose(slope, np.cos(0.5) * 2)


def test_a_global_function_becomes_another_kind_of_thing(namespace: dict[str, Any]) -> None:
    namespace["h"] = np.sin
    cell("def f(x):\n    return h(x)", namespace)
    assert namespace["f"](1.0) == np.sin(1.0)
    namespace["h"] = np.cos
    assert namespace["f"](1.0) == np.cos(1.0)
    python("h = lambda x: x * 3", namespace, "<lambda cell>")
    assert namespace["f"](1.0) == 3.0


def test_a_name_defined_later(namespace: dict[str, Any]) -> None:
    cell("def f(x):\n    return later(x) + 1", namespace)
    with pytest.raises(NameError):
        namespace["f"](1.0)
    cell("def later(x):\n    return x * 10", namespace)
    assert namespace["f"](1.0) == 11.0


def test_modules_attribute_rebound() -> None:
    settings = types.ModuleType("settings")
    settings.rate = 2.0  # type: ignore[attr-defined]

    def f(x):
        return x * settings.rate
    g = myia(f)
    assert g(3.0) == 6.0
    settings.rate = 4.0  # type: ignore[attr-defined]
    assert g(3.0) == 12.0


def test_many_signatures_give_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    import myia_notebook.api as api
    monkeypatch.setattr(api, "MANY_SPECIALIZATIONS", 3)
    monkeypatch.setattr(api, "MAX_SPECIALIZATIONS", 4)

    def total(x):
        return np.sum(x)
    g = myia(total, backend="vm")  # one program for each shape
    with pytest.warns(m.MyiaWarning, match="'total' was compiled for 3 different signatures"):
        for n in range(1, 8):
            assert g(np.ones(n)) == n
    assert len(g._cache) <= 4 and g(np.ones(1)) == 1
