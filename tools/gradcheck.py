"""Checks the derivatives of the whole library on many random calls and writes the worst errors of each family to tests/ops/gradcheck.json, from which
docs/operations.md takes them: `python tools/gradcheck.py [-n COUNT] [--seed SEED] [--backend vm numba]`."""
from __future__ import annotations

import argparse
import json
import sys
import zlib
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import numpy as np  # noqa: E402

from tests.ops.catalog import family_of, makers  # noqa: E402
from tests.ops.draw import Draw  # noqa: E402
from tests.ops.gradcheck import FIGURES, measured  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--backend", nargs="+", default=["vm"])
    options = parser.parse_args()
    families: dict[str, dict[str, Any]] = {}
    discrete, faults = [], 0
    for name, (f, maker) in makers().items():
        calls = [maker(Draw([options.seed, i, zlib.crc32(name.encode())], True)) for i in range(options.n)]
        found = [(call, m) for i, call in enumerate(calls) for m in measured(call, tuple(options.backend), np.random.default_rng(i))]
        if not found:
            discrete.append(name)
            continue
        row = families.setdefault(family_of(name, f), {"operations": 0, "first": 0.0, "second": 0.0, "derivatives": 0})
        row["operations"] += 1
        row["derivatives"] += len(found)
        for call, m in found:
            if m.fault:
                faults += 1
                print(f"{name}: {call.text}\n    {m.fault}", flush=True)
            order = "first" if m.order == 1 else "second"
            row[order] = max(row[order], m.error if np.isfinite(m.error) else 1.0)
    if faults:
        sys.exit(f"{faults} faults; nothing is written")
    for row in families.values():
        row["first"], row["second"] = (float(f"{row[order]:.0e}") for order in ("first", "second"))
    FIGURES.write_text(json.dumps({"families": dict(sorted(families.items())), "discrete": sorted(discrete)}, indent=1) + "\n")
    print(*(f"{k}: {v}" for k, v in sorted(families.items())), sep="\n")


if __name__ == "__main__":
    main()
