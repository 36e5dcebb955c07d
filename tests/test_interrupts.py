"""Ctrl-C and short memory: whatever runs ends, nothing is left behind, and the next call is right."""
from __future__ import annotations

import contextlib
import gc
import io
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from myia_notebook import MyiaRecursionError, compile_source, grad, myia
from myia_notebook.emit import jit, runtime
from myia_notebook.errors import MyiaMemoryError

pytestmark = pytest.mark.skipif(threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"), reason="signals reach the main thread only")


@pytest.fixture(autouse=True)
def nothing_left_over() -> None:
    """Python ignores an exception that arises in a finalizer, too: what other tests left is finalized before."""
    gc.collect()


@contextlib.contextmanager
def interrupt_after(seconds: float) -> Iterator[None]:
    """Ctrl-C from within. Call-backs of the garbage collector (hypothesis has one) rest meanwhile: Python ignores an exception that arises in one."""
    before, callbacks = signal.signal(signal.SIGALRM, signal.default_int_handler), gc.callbacks[:]
    gc.callbacks.clear()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.callbacks[:] = callbacks


def counts(x):
    while x > 0.0:
        x = x + 1.0
    return x


def waves(a):
    i = 0
    while i >= 0:
        a = np.tanh(a) * 1.5
        i = i + 1
    return a


def sorts(a):
    i = 0
    while i >= 0:
        a = np.sort(a)
        i = i + 1
    return a


def products(a):
    i = 0
    while i >= 0:
        a = a @ a / 300.0
        i = i + 1
    return a


def grows(x):
    xs = [x]
    while x > 0.0:
        xs = [x, *xs[:1000]]
        x = x + 1.0
    return xs


def prints(x):
    while x > 0.0:
        print(x)
        x = x + 1.0
    return x


def nested(n, x):
    return x if n == 0 else nested(n - 1, x * 1.1) + nested(n - 1, x * 0.9)


ENDLESS = [(counts, 1.0), (waves, np.ones(1_000_000)), (waves, np.ones(30)), (sorts, np.ones(3000)), (products, np.ones((300, 300))), (grows, 1.0), (prints, 1.0)]


@pytest.mark.parametrize("backend", ["numba", "vm"])
@pytest.mark.parametrize("function, argument", ENDLESS, ids=lambda v: getattr(v, "__name__", None))
def test_what_never_ends_is_interrupted(function, argument, backend: str, capfd: pytest.CaptureFixture[str]) -> None:
    f = myia(function, backend=backend)
    for seconds in (0.5, 0.05):
        with contextlib.redirect_stdout(io.StringIO()), pytest.raises(KeyboardInterrupt), interrupt_after(seconds):
            f(argument)
    assert "ignored" not in capfd.readouterr().err
    if function is counts:
        assert f(-2.0) == -2.0


def test_a_tree_recursion_and_its_gradient_are_interrupted() -> None:
    f, g = myia(nested), grad(nested, 1)
    assert f(3, 1.0) == pytest.approx(8.0)
    for call in (f, g):
        with pytest.raises(KeyboardInterrupt), interrupt_after(0.3):
            call(60, 1.0)
        assert call(3, 1.0) == pytest.approx(8.0)  # (1.1 + 0.9)³ x


def test_an_interrupt_before_a_callback_could_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """ctypes drops the exception of a callback: that is no success."""
    f = myia(lambda a: np.sort(a))
    assert f(np.array([2.0, 1.0])).tolist() == [1.0, 2.0]
    (known,) = f._cache.values()
    monkeypatch.setattr(known.unit.code._host, "calls", None)  # fails outside of what the callback guards
    monkeypatch.setattr("sys.unraisablehook", lambda unraisable: None)
    with pytest.raises(KeyboardInterrupt):
        f(np.array([2.0, 1.0]))


@pytest.fixture
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYIA_NOTEBOOK_CACHE", "off")
    monkeypatch.setattr(jit, "_recent", type(jit._recent)())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_at_any_time_of_the_first_call(no_cache: None) -> None:
    """Parsing, types, differentiation, optimization, LLVM: what was interrupted is done again."""
    interrupted = 0
    for i in range(40):
        source = f"def h(x, n):\n    y = {i}.5\n    while n > 0:\n        y = y * x + np.sin(y)\n        n = n - 1\n    return y\ndef f(x):\n    return grad(h)(x, 3)\n"
        f = compile_source(source, {"np": np})["f"]
        try:
            with interrupt_after(0.002 + 0.0025 * i):
                f(0.3)
        except KeyboardInterrupt:
            interrupted += 1
        y, d = i + 0.5, 0.0
        for _ in range(3):
            y, d = y * 0.3 + np.sin(y), y + 0.3 * d + np.cos(y) * d
        assert f(0.3) == pytest.approx(d, rel=1e-12)
    assert interrupted > 5


def test_a_long_compilation_is_left_at_once_and_found_again(no_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    compile_, go_on = jit._compile, threading.Event()

    def slow(text: str) -> bytes:
        go_on.wait(60)
        made.append(text)
        return compile_(text)

    monkeypatch.setattr(jit, "_compile", slow)
    f = myia(lambda x: x * 1.25 + 17.0)
    with pytest.raises(KeyboardInterrupt), interrupt_after(0.5):
        f(2.0)
    assert made == []
    go_on.set()
    assert f(2.0) == 19.5
    assert len(made) == 1


# -- memory

@pytest.fixture
def little_memory() -> Iterator[None]:
    before = runtime._limit.value
    runtime._limit.value = 40 << 20
    yield
    runtime._limit.value = before


def sinks(x):
    if x < 0.0:
        return 0.0
    return 1.0 + 2.0 * sinks(x + 1.0)


def hoards(a):
    i = 0
    while i < 1_000_000:
        b = a + 1.0
        a = np.sort(b)
        i = i + 1
    return a


def line_of(function, text: str) -> int:
    import inspect
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_endless_recursion_ends_with_the_line(little_memory: None) -> None:
    for f in (myia(sinks), grad(sinks)):
        with pytest.raises(MyiaRecursionError) as caught:
            f(1.0)
        assert isinstance(caught.value, RecursionError)
        assert caught.value.span is not None and caught.value.span.line == line_of(sinks, "1.0 + 2.0")
        assert f(-1.0) == 0.0


def test_too_many_values_end_with_the_line(little_memory: None) -> None:
    f = myia(hoards)
    with pytest.raises(MyiaMemoryError) as caught:
        f(np.ones(100_000))
    assert isinstance(caught.value, MemoryError)
    assert caught.value.span is not None and caught.value.span.line in (line_of(hoards, "a + 1.0"), line_of(hoards, "np.sort"))


def test_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYIA_MEMORY_LIMIT", "123456")
    assert runtime.memory_limit() == 123456
    for wrong in ("", "-5", "much"):
        monkeypatch.setenv("MYIA_MEMORY_LIMIT", wrong)
        assert runtime.memory_limit() > 1 << 24


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
def test_memory_is_given_back_on_every_way_out() -> None:
    divide, pick, order = myia(lambda x, y: x / y), myia(lambda xs, i: xs[i]), myia(lambda a: np.linalg.cholesky(a))
    deep, lists, counting = myia(nested), myia(lambda x: [x, x + 1.0, [x]]), myia(counts)
    arrays, bad = np.ones((40, 40)) + 40 * np.eye(40), -np.eye(40)

    def rounds(count: int) -> None:
        for _ in range(count):
            for _ in range(10):
                divide(1.0, 3.0)
                lists(2.0)
            order(arrays)
            deep(6, 1.0)
            for call in (lambda: divide(1.0, 0.0), lambda: pick([1.0, 2.0], 5), lambda: order(bad)):
                with contextlib.suppress(ZeroDivisionError, IndexError, np.linalg.LinAlgError, ValueError):
                    call()
                    raise AssertionError("no error")

    def interrupts(count: int) -> None:
        for _ in range(count):
            with pytest.raises(KeyboardInterrupt), interrupt_after(0.001):
                counting(1.0)

    rounds(500)
    interrupts(100)
    before = resident()
    rounds(4000)  # 10⁵ calls
    interrupts(1000)
    assert resident() - before < 4 << 20


def test_compilations_do_not_pile_up_in_waiting_threads(no_cache: None) -> None:
    before = threading.active_count()
    for i in range(5):
        assert myia(lambda x, c=float(i): x + c)(1.0) == 1.0 + i
    for _ in range(100):
        if threading.active_count() <= before:
            break
        time.sleep(0.02)
    assert threading.active_count() <= before and not jit._jobs
