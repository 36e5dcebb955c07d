"""What a program's machine-code entry says besides a result (`emit.call`); importable without LLVM."""
from __future__ import annotations

from typing import Any

MISS = object()
"""The arguments are of other types, or something that the program read has been rebound: the slow path is to be taken."""


class Failure:
    """Called with the status of a program that failed: raises the user's error. `program` is set once the code is there."""

    program: Any = None

    def __call__(self, status: int) -> None:
        self.program.fail(status)
