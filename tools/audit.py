"""Compares every operation of the language with NumPy on random calls: `python tools/audit.py [-n COUNT] [--smooth] [--backend vm numba] [NAME …]`.

Prints each disagreement once for each kind, with a call that shows it, and what is refused although NumPy takes it.
"""
from __future__ import annotations

import argparse
import collections
import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import numpy as np  # noqa: E402

from tests.ops.audit import check_value  # noqa: E402
from tests.ops.catalog import makers  # noqa: E402
from tests.ops.draw import Draw  # noqa: E402
from tests.ops.gradcheck import check_derivatives  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("-n", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--smooth", action="store_true", help="derivatives instead of values")
    parser.add_argument("--backend", nargs="+", default=["vm"])
    options = parser.parse_args()
    table = {k: v for k, v in makers().items() if not options.names or k in options.names or k.split(".")[-1] in options.names}
    kinds: collections.Counter[str] = collections.Counter()
    for name, (_f, maker) in table.items():
        seen: dict[str, int] = collections.Counter()
        for i in range(options.n):
            draw = Draw([options.seed, i, zlib.crc32(name.encode())], options.smooth)
            call = maker(draw)
            problems = [check_derivatives(call, tuple(options.backend), np.random.default_rng(i))] if options.smooth else [
                check_value(call, b) for b in options.backend]
            for problem in problems:
                kind = " ".join(problem.split()[:3])
                kinds[kind.split()[0] if kind else "same"] += 1
                if problem and not seen[kind]:
                    arguments = ", ".join(f"{np.asarray(a).dtype}{list(np.shape(a))}" if isinstance(a, np.ndarray) else repr(a) for a in call.arguments)
                    print(f"{name}: {call.text}   [{arguments}]\n    {' '.join(problem.split())[:200]}", flush=True)
                seen[kind] += bool(problem)
    print(dict(kinds))


if __name__ == "__main__":
    main()
