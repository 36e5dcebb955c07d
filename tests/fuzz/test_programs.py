"""A few random programs in every run (`make fuzz MINUTES=n` for more); and those that were wrong once."""
from __future__ import annotations

import pytest

from tests.fuzz.generator import program
from tests.fuzz.judge import judge

ONCE_WRONG: tuple[int, ...] = (1046,)


@pytest.mark.parametrize("seed", [*range(12), *ONCE_WRONG])
def test_random_program(seed: int) -> None:
    source = program(seed)
    assert judge(source) is None, source
