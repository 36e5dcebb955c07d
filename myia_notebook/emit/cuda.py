"""Kernels on the device: compiled by numba-cuda, launched, and their failures raised as the user's errors.

A kernel's text (`emit.kernel_text`) is executed with its names bound to libdevice; under NUMBA_ENABLE_CUDASIM=1 they are bound to the interpreter's functions,
and Numba's simulator runs the same text as Python. PTX needs no device and no driver (`ptx`). Without a device, a call is one error (M801).

When a thread fails, the smallest element that failed is computed again on the interpreter, which raises with the user's line and message: programs are
pure. When the columns of words are full, they are made larger and the kernel runs again.
"""
from __future__ import annotations

import functools
import math
import operator
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from myia_notebook.emit.kernel_scalar import LIBDEVICE
from myia_notebook.emit.kernel_text import KernelText, kernel_text
from myia_notebook.errors import MyiaError, error
from myia_notebook.ir.graph import Graph
from myia_notebook.ir.types import Scalar, Static, Tuple, Type
from myia_notebook.lower.plan import Plan, words
from myia_notebook.vm import run as run_interpreted

BLOCK, MOST_THREADS, SIMULATED_BLOCK = 128, 1 << 16, 8
ROWS, MOST_BYTES = 64, 4 << 30
"""Words in a thread's column to begin with, and the bytes that all columns may take."""
TARGETS = ((8, 0), (9, 0))
"""Compute capabilities for which PTX is shown."""
INSTALL = "pip install 'myia_notebook[cuda]', on a machine with an NVIDIA GPU and its driver"


@functools.cache
def numba_cuda() -> Any:
    """Numba's CUDA module. Raises M801 where there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from numba import cuda
            cuda.jit  # noqa: B018 — the module is a redirection, which fails late
        return cuda
    except (ImportError, AttributeError) as problem:
        raise error("M801", message=f"Numba has no CUDA target here ({problem})", hint=INSTALL) from None


def is_simulated() -> bool:
    from numba import config
    return bool(config.ENABLE_CUDASIM)


def require_device() -> Any:
    """Numba's CUDA module, where it can run kernels; else M801 in one line."""
    cuda = numba_cuda()
    if not is_simulated() and not cuda.is_available():
        raise error("M801", message="backend='cuda': no CUDA device was found", hint=INSTALL)
    return cuda


def _names() -> dict[str, Any]:
    """What the names in a kernel's text mean."""
    cuda = numba_cuda()
    names: dict[str, Any] = {"cuda": cuda, "inf": math.inf, "nan": math.nan, **{d: getattr(np, d) for d in ("float64", "float32", "int64", "int32")}}
    functions = LIBDEVICE | {"fmod": "fmod", "copysign": "copysign"}
    if is_simulated():
        from myia_notebook.emit.python_runtime import NAMES
        for name in functions:
            names[name] = names[f"{name}_f"] = _quiet(NAMES.get(name) or getattr(np, name))
        names["divide"] = _quiet(NAMES["divide"])
        return names
    from numba.cuda import libdevice
    for name, own in functions.items():
        names[name], names[f"{name}_f"] = getattr(libdevice, own), getattr(libdevice, own + "f")
    return {**names, "divide": operator.truediv}


def _quiet(function: Any) -> Any:
    def call(*values: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*values)
    return call


@dataclass(slots=True)
class Kernel:
    """One kernel. `function` is what Numba compiles."""

    text: KernelText
    function: Any
    compiled: Any = None

    @staticmethod
    def of(text: KernelText) -> Kernel:
        space = _names()
        exec(compile("\n".join(text.lines), f"<myia kernel {text.name}>", "exec"), space)
        return Kernel(text, space[text.name])

    def signature(self) -> tuple[Any, ...]:
        """The Numba types of the parameters."""
        from numba import types

        def array(dtype: str) -> Any:
            return (types.boolean if dtype == "bool" else getattr(types, dtype))[::1]

        takes = (t for dtype in self.text.takes for t in (array(dtype), types.int64))
        return (types.int64, *takes, *map(array, self.text.gives), types.int64[::1], types.int64[:, ::1], types.float64[:, ::1])

    def ptx(self, target: tuple[int, int]) -> str | None:
        """The PTX for a compute capability, compiled without a driver; None where NVVM is not installed."""
        if is_simulated():
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return numba_cuda().compile_ptx(self.function, self.signature(), cc=target)[0]
            except Exception as problem:
                if "nvvm" in type(problem).__name__.lower() or "nvvm" in str(problem).lower() or isinstance(problem, (ImportError, OSError, RuntimeError)):
                    return None
                raise

    def launch_shape(self, count: int) -> tuple[int, int]:
        """(blocks, threads of each) for so many elements. Threads take several elements each when there are very many."""
        block = SIMULATED_BLOCK if is_simulated() else BLOCK
        return min(-(-count // block), MOST_THREADS // block if not is_simulated() else 1) or 1, block

    def run(self, leaves: list[np.ndarray[Any, Any]], outputs: list[np.ndarray[Any, Any]], shape: tuple[int, ...]) -> int | None:
        """Computes the outputs of all elements. Gives the first element that failed, if one did. Raises M707 when memory is short."""
        cuda = require_device()
        count = math.prod(shape)
        given: list[Any] = []
        for leaf in leaves:
            one = leaf.size == 1
            flat = np.ascontiguousarray(leaf if one else np.broadcast_to(leaf, shape), leaf.dtype.newbyteorder("=")).reshape(-1)
            given += [cuda.to_device(flat), 0 if one else 1]
        made = [cuda.device_array(count, out.dtype) for out in outputs]
        blocks, threads = self.launch_shape(count)
        if self.compiled is None:
            self.compiled = cuda.jit(self.function)
        rows = ROWS if self.text.uses_memory else 1
        while True:
            if rows * blocks * threads * 16 > MOST_BYTES:
                raise error("M707", message=f"the frames and cells of {blocks * threads} threads do not fit in {MOST_BYTES >> 30} GiB", hint="map fewer elements at a time")
            columns = [cuda.device_array((rows, blocks * threads), dtype) for dtype in (np.int64, np.float64)]
            failed = cuda.to_device(np.array([2**63 - 1, 0], np.int64))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.compiled[blocks, threads](count, *given, *made, failed, *columns)
            first, is_full = failed.copy_to_host().tolist()
            if not is_full:
                break
            rows *= 4
        if first < count:
            return int(first)
        for out, array in zip(outputs, made):
            out[...] = array.copy_to_host().reshape(shape)
        return None


class CudaProgram:
    """A compiled program of numbers: one kernel, run for one element when it is called. Raises M801 at the call where there is no device."""

    def __init__(self, plan: Plan, optimized: Graph) -> None:
        self.text = kernel_text(plan)
        self.optimized = optimized
        self._kernel: Kernel | None = None
        self.kinds = words(plan.root.result)  # type: ignore[arg-type]

    @property
    def kernel(self) -> Kernel:
        if self._kernel is None:
            self._kernel = Kernel.of(self.text)
        return self._kernel

    def __call__(self, *arguments: Any) -> Any:
        require_device()
        leaves = [np.asarray(v, dtype) for v, dtype in zip(numbers_of(arguments), self.text.takes)]
        outputs = [np.empty((), dtype) for dtype in self.text.gives]
        if self.kernel.run(leaves, outputs, ()) is not None:
            run_interpreted(self.optimized, arguments)
            raise error("M801", message="the device failed where the interpreter has a value", hint="please report this program")
        return value_of(self.optimized.result, iter(outputs))  # type: ignore[arg-type]

    def listings(self) -> list[tuple[str, str, tuple[str, ...], tuple[int, ...]]]:
        """(language, title, lines, the user's lines) of the kernel and of its PTX, which is compiled here if NVVM is installed."""
        title = f"kernel {self.text.name}: a thread for each element, blocks of {BLOCK}"
        found = [("python", title, self.text.lines, self.text.origins)]
        try:
            ptx = self.kernel.ptx(TARGETS[0])
        except MyiaError:
            return found
        if ptx is not None:
            found.append(("ptx", f"PTX for sm_{TARGETS[0][0]}{TARGETS[0][1]}", tuple(ptx.splitlines()), ()))
        return found


def numbers_of(value: Any) -> list[Any]:
    """The numbers of a run-time value, in order."""
    if isinstance(value, tuple):
        return [n for item in value for n in numbers_of(item)]
    return [] if value is None or isinstance(value, str) else [value]


def value_of(t: Type, outputs: Iterator[np.ndarray[Any, Any]]) -> Any:
    """The run-time value of a type from its numbers."""
    match t:
        case Scalar(dtype, weak):
            number = next(outputs)[()]
            return number.item() if weak or dtype == "bool" else number
        case Tuple(items):
            return tuple(value_of(item, outputs) for item in items)
        case Static(value):
            return value
        case _:
            return None


__all__ = ["CudaProgram", "TARGETS", "Kernel", "is_simulated", "numba_cuda", "require_device"]
