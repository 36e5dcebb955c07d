"""What the user wrote is computed as written, also beside its derivative: programs that live by rounding."""
import pytest

from myia_notebook import jvp, myia, value_and_grad


def absorbed(x):  # type: ignore[no-untyped-def]
    return (x + 1e16) - 1e16


def compensated(x):  # type: ignore[no-untyped-def]
    total, lost = 0.0, 0.0
    for i in range(10):
        y = x * 0.1 + 1e8 * (i % 2) - lost
        t = total + y
        lost = (t - total) - y
        total = t
    return total


def two_sum(a):  # type: ignore[no-untyped-def]
    b = a * 1e-17
    s = 1.0 + b
    back = s - 1.0
    return s + ((1.0 - (s - back)) + (b - back)) * 1e17


@pytest.mark.parametrize("backend", ["vm", "numba"])
@pytest.mark.parametrize("f", [absorbed, compensated, two_sum])
def test_rounding_is_kept(f, backend: str) -> None:  # type: ignore[no-untyped-def]
    expected = f(0.3)
    assert myia(f, backend=backend)(0.3) == expected
    assert value_and_grad(f, backend=backend)(0.3)[0] == expected
    assert jvp(f, (0.3,), (1.0,), backend=backend)[0] == expected
