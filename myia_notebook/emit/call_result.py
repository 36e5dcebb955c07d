"""What a program's machine-code entry says besides a result (`emit.call`); importable without LLVM."""
from __future__ import annotations

MISS = object()
"""The arguments are of other types, or something that the program read has been rebound: the slow path is to be taken."""


class Status(Exception):
    """The program ended with this status: an error of the user's."""
