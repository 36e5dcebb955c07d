"""Threads, processes, event loops: first calls and calls at once, the same answers everywhere."""
from __future__ import annotations

import asyncio
import multiprocessing
import threading
from typing import Any

import numpy as np
import pytest

from myia_notebook import compile_source, grad, myia


def power(x, n):  # type: ignore[no-untyped-def]
    y = 1.0
    while n > 0:
        y = y * x
        n = n - 1
    return y


def total(x):  # type: ignore[no-untyped-def]
    return np.sum(np.sin(x) * x)


def test_sixteen_threads_call_first_and_again() -> None:
    f, g, h = myia(power), grad(power), grad(total)
    start, wrong = threading.Barrier(16), []

    def work(k: int) -> None:
        start.wait()
        for i in range(200):
            x, n = 1.0 + k / 16, i % 5 + 1
            a = np.linspace(0.0, 1.0, k % 3 + 2)
            if abs(f(x, n) - x**n) > 1e-9 or abs(g(x, n) - n * x ** (n - 1)) > 1e-9 or not np.allclose(h(a), np.cos(a) * a + np.sin(a)):
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_sixteen_threads_run_cells() -> None:
    wrong: list[Any] = []

    def work(k: int) -> None:
        found = compile_source(f"def f(x):\n    return x * {k}.0 + x\n\ngrad(f)(2.0)\n")
        if found["_"] != k + 1.0:
            wrong.append((k, found["_"]))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def _child(queue: Any) -> None:
    queue.put((grad(power)(1.5, 4), myia(total)(np.ones(3))))


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python 3.12 warns of any fork beside threads
def test_child_processes(method: str) -> None:
    assert grad(power)(1.5, 4) == 13.5
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,))
    child.start()
    slope, value = queue.get(timeout=120)
    child.join(30)
    assert slope == 13.5 and abs(value - 3 * np.sin(1.0)) < 1e-12


def test_inside_an_event_loop() -> None:
    async def one(k: int) -> Any:
        await asyncio.sleep(0)
        return grad(power)(1.0 + k, 2)

    async def main() -> Any:
        return await asyncio.gather(*(one(k) for k in range(8)), asyncio.to_thread(grad(power), 3.0, 2))

    assert asyncio.run(main()) == [2.0 + 2 * k for k in range(8)] + [6.0]
