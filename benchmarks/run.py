"""Our derivatives beside the same by hand in Numba, and beside JAX and PyTorch where they are installed: one process for each program, every result verified before it is timed.

    python benchmarks/run.py [--peers] [--write] [--core N] [program…]        make bench

`--write` puts the table between the markers of docs/performance.md, `--peers` times JAX and PyTorch too. In a process everybody is called in turn, round after round, and the
minimum counts; one core, one thread.
"""
from __future__ import annotations

import argparse
import datetime
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DOCUMENT = HERE.parent / "docs" / "performance.md"
PROGRAMS = ("call", "loops", "tolerance", "orders", "hessians", "chain", "recursion", "trees", "nested", "network", "lstm", "mixture", "bundle", "letters", "elementwise")
MODULES = {"JAX": "jax", "torch": "torch"}
ROUNDS, SHARE = 40, 0.02


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("programs", nargs="*")
    for flag in ("--peers", "--write", "--one"):
        options.add_argument(flag, action="store_true")
    options.add_argument("--core", type=int, default=0)
    given = options.parse_args()
    if given.one:
        print(json.dumps(measure(given.programs[0], given.peers)))
        return
    rows: list[dict[str, Any]] = []
    for name in given.programs or PROGRAMS:
        found = run_alone(name, given.peers, given.core)
        rows += found
        for row in found:
            print(line(row), flush=True)
    if given.write:
        write("gradients", [*HEAD, *map(line, rows), "", signature(given.peers)])


def run_alone(name: str, peers: bool, core: int) -> list[dict[str, Any]]:
    """The rows of a program, measured in a fresh process on one core."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")]), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / "run.py"), "--one", name, *(["--peers"] if peers else [])]
    pin = (lambda: os.sched_setaffinity(0, {core})) if hasattr(os, "sched_setaffinity") else None
    done = subprocess.run(command, env=environment, preexec_fn=pin, capture_output=True, text=True, timeout=600)
    if done.returncode:
        return [{"name": name, "error": done.stderr.strip().splitlines()[-1]}]
    return json.loads(done.stdout.splitlines()[-1])


# -- in the process of one program

def measure(name: str, peers: bool) -> list[dict[str, Any]]:
    from benchmarks.case import verify
    sys.setrecursionlimit(20_000)
    if peers and importlib.util.find_spec("jax"):
        import jax
        jax.config.update("jax_enable_x64", True)
    if peers and importlib.util.find_spec("torch"):
        import torch
        torch.set_num_threads(1)
    rows = []
    for case in importlib.import_module(f"benchmarks.programs.{name}").cases():
        start = time.perf_counter()
        result = case.ours(*case.arguments)
        row: dict[str, Any] = {"name": case.name, "target": case.target, "first": time.perf_counter() - start, "deviation": verify(case, result)}
        if not row["deviation"] < case.rtol:
            rows.append({"name": case.name, "error": f"wrong by {row['deviation']:.1e}"})
            continue
        row |= {"times": timed(contenders(case, result, peers))}
        rows.append(row)
    return rows


def contenders(case: Any, result: Any, peers: bool) -> dict[str, Callable[[], Any]]:
    """Who is called: ours, and those whose result agrees with it."""
    import numpy as np

    from benchmarks.case import flat
    wanted = flat(result)
    found = {"ours": lambda: case.ours(*case.arguments)}
    if case.primal is not None:
        case.primal(*case.arguments)
        found["primal"] = lambda: case.primal(*case.arguments)
    if case.hand is not None:
        np.testing.assert_allclose(flat(case.hand(*case.arguments)), wanted, rtol=max(1e3 * case.rtol, 1e-6), atol=1e-4 * float(np.max(np.abs(wanted))))
        found["hand"] = lambda: case.hand(*case.arguments)
    for name, make in case.peers.items() if peers else ():
        if importlib.util.find_spec(MODULES[name]):
            call = make()
            call()
            found[name] = call
    return found


def timed(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Seconds of the fastest call of each: in turn, round after round, a share of a second each time."""
    best = {}
    for name, call in calls.items():
        start = time.perf_counter()
        call()
        best[name] = time.perf_counter() - start
    for _ in range(ROUNDS if sum(best.values()) < 0.5 else 3):
        for name, call in calls.items():
            end = time.perf_counter() + SHARE
            while True:
                start = time.perf_counter()
                call()
                stop = time.perf_counter()
                best[name] = min(best[name], stop - start)
                if stop > end:
                    break
    return best


# -- the document

HEAD = ["| gradient of | ours | by hand | ours / hand | ours / primal | JAX | PyTorch | to reach |", "|---|---|---|---|---|---|---|---|"]


def duration(seconds: float) -> str:
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (float("inf"), 1.0, "s")):
        if seconds < limit:
            value = seconds * factor
            return f"{value:.2f} {unit}" if value < 10 else f"{value:.1f} {unit}" if value < 100 else f"{value:.0f} {unit}"
    raise AssertionError


def line(row: dict[str, Any]) -> str:
    if "error" in row:
        return f"| {row['name']} | {row['error']} | | | | | | |"
    t = row["times"]
    ratio = lambda other: f"{t['ours'] / t[other]:.2f}" if other in t else ""
    peer = lambda name: f"{duration(t[name])} ({t['ours'] / t[name]:.2f})" if name in t else ""
    return (f"| {row['name']} | {duration(t['ours'])} | {duration(t['hand']) if 'hand' in t else ''} | {ratio('hand')} | {ratio('primal')} | {peer('JAX')} | {peer('torch')} "
            f"| {row['target']} |")


def signature(peers: bool) -> str:
    """On what, with what and when it was measured."""
    from importlib.metadata import PackageNotFoundError, version
    versions = []
    for name in ("numba", "numpy", *(("jax", "torch") if peers else ())):
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    model = next((x.split(":")[1].strip() for x in Path("/proc/cpuinfo").read_text().splitlines() if x.startswith("model name")), "") if Path("/proc/cpuinfo").exists() else ""
    return f"{datetime.date.today()}, {model}, one core of {os.cpu_count()}; {', '.join(versions)}. In parentheses ours / theirs."


def write(name: str, lines: list[str], document: Path = DOCUMENT) -> None:
    """Replaces what stands between `<!-- name -->` and `<!-- end of name -->`."""
    text = document.read_text()
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, rest = text.split(start, 1)
    document.write_text(before + start + "\n" + "\n".join(lines) + "\n" + end + rest.split(end, 1)[1])


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    main()
