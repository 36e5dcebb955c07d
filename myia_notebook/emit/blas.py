"""The matrix product of the BLAS library that NumPy brings, by pointer."""
from __future__ import annotations

import ctypes
import functools
from pathlib import Path

import numpy as np


@functools.cache
def blas() -> dict[str, int]:
    """Addresses of cblas gemm with 64-bit sizes in the library that NumPy brings, by dtype; empty where it is not found."""
    for path in sorted(Path(np.__file__).parent.parent.glob("numpy.libs/*openblas*")):
        library = ctypes.CDLL(str(path))
        found = {}
        for dtype, letter in (("float64", "d"), ("float32", "s")):
            for name in (f"scipy_cblas_{letter}gemm64_", f"cblas_{letter}gemm64_"):
                if hasattr(library, name):
                    found[dtype] = ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        if len(found) == 2:
            return found
    return {}
