"""Python's recursion limit as it is in a fresh process: other tests may have had it raised."""
from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def usual_limit() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)
