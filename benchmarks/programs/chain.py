"""Straight-line programs of 10, 100 and 1000 operations."""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from benchmarks.case import Case
from myia_notebook import compile_source, grad


def source(operations: int) -> str:
    lines = [f"    v = math.{'sin' if i % 2 == 0 else 'tanh'}(v) * x" for i in range(operations // 2)]
    return "\n".join(["def chain(x):", "    v = x", *lines, "    return v"]) + "\n"


def by_hand(operations: int) -> Any:
    """Forwards and backwards, one variable for each value: what a compiler of derivatives would write."""
    import numba
    forward, backward = ["def gradient(x):", "    v0 = x"], ["    d, dx = 1.0, 0.0"]
    for i in range(operations // 2):
        forward.append(f"    s{i} = math.{'sin' if i % 2 == 0 else 'tanh'}(v{i})")
        forward.append(f"    c{i} = " + (f"math.cos(v{i})" if i % 2 == 0 else f"1 - s{i} * s{i}"))
        forward.append(f"    v{i + 1} = s{i} * x")
    for i in reversed(range(operations // 2)):
        backward += [f"    dx += d * s{i}", f"    d *= x * c{i}"]
    space: dict[str, Any] = {"math": math}
    exec("\n".join([*forward, *backward, "    return d + dx"]), space)
    return numba.njit(space["gradient"])


def jax_(operations: int) -> Any:
    import jax
    from jax import numpy as jnp

    def chain(x: Any) -> Any:
        v = x
        for i in range(operations // 2):
            v = (jnp.sin(v) if i % 2 == 0 else jnp.tanh(v)) * x
        return v

    g = jax.jit(jax.grad(chain))
    return lambda: jax.block_until_ready(g(1.3))


def torch_(operations: int) -> Any:
    import torch

    def run() -> Any:
        x = torch.tensor(1.3, dtype=torch.float64, requires_grad=True)
        v = x
        for i in range(operations // 2):
            v = (torch.sin(v) if i % 2 == 0 else torch.tanh(v)) * x
        return torch.autograd.grad(v, x)

    return run


def cases() -> Iterator[Case]:
    for n in (10, 100, 1000):
        space: dict[str, Any] = {"math": math}
        exec(source(n), space)
        ours = compile_source(source(n), {"math": math})["chain"]
        yield Case(f"chain of {n} operations", grad(ours), (1.3,), space["chain"], ours, hand=by_hand(n), target="1.15 hand", rtol=1e-5,
                   peers={"JAX": lambda n=n: jax_(n), "torch": lambda n=n: torch_(n)})
