"""`make fuzz MINUTES=n`: random programs against Python and differences until the time is over. Prints every failure with its seed."""
from __future__ import annotations

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from tests.fuzz.generator import program  # noqa: E402
from tests.fuzz.judge import judge  # noqa: E402


def main() -> int:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    end, ran, failed = time.time() + 60 * minutes, 0, 0
    while time.time() < end:
        try:
            problem = judge(program(seed))
        except Exception as exception:
            problem = f"{type(exception).__name__}: {exception}"
        if problem is not None:
            failed += 1
            print(f"seed {seed}: {problem}\n{program(seed)}", flush=True)
        ran, seed = ran + 1, seed + 1
    print(f"{ran} programs, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
