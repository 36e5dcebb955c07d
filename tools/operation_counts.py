"""Operations of derivatives: those that the optimizer leaves against derivatives written by hand, as a table for `docs/optimizer.md`.

    python tools/operation_counts.py            prints the table
    python tools/operation_counts.py --write    puts it into docs/optimizer.md

Counted are the operations on floats that the interpreter executes (elementwise, reductions, products of matrices; an operation on an array
counts once), for the gradient that the compiler makes and for the one written by hand, both optimized. *Traffic* counts what is not
arithmetic and stays in the graphs of the gradient: environments, closures, tuples.
"""
from __future__ import annotations

import pathlib
import re
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import myia_notebook as myia  # noqa: E402
from myia_notebook.api import runtime  # noqa: E402
from myia_notebook.ir.graph import Graph, count_nodes, primitive_of, reachable, schedule  # noqa: E402
from myia_notebook.ir.types import is_float  # noqa: E402
from myia_notebook.ops.primitive import Checked, Elementwise, Kernel, Reduction  # noqa: E402
from myia_notebook.vm import run  # noqa: E402
from tests.optimize.handwritten import PROGRAMS, Program  # noqa: E402
from tests.optimize.running import optimized  # noqa: E402

TRAFFIC = ("env_make", "env_get", "add_sensitivities", "partial", "make_tuple", "tuple_getitem")
MOVES = ("reshape", "transpose", "broadcast_to", "cast")


def executed(root: Graph, arguments: tuple[Any, ...]) -> int:
    """Arithmetic operations of a run."""
    count = 0

    def record(node: Any, value: Any, activation: int) -> None:
        nonlocal count
        primitive = primitive_of(node)
        if primitive is not None and isinstance(primitive.emit, (Elementwise, Checked, Reduction, Kernel)):
            count += primitive.name not in MOVES and is_float(node.type)

    run(root, [runtime(v, p.type) for v, p in zip(arguments, root.parameters)], record)  # type: ignore[arg-type]
    return count


def traffic(root: Graph) -> dict[str, int]:
    """What is not arithmetic, by name; the tuple that the program returns is not counted."""
    found: dict[str, int] = {}
    for g in reachable(root):
        for node in schedule(g):
            primitive = primitive_of(node)
            if primitive is not None and primitive.name in TRAFFIC and node is not root.output:
                found[primitive.name] = found.get(primitive.name, 0) + 1
    return found


def row(program: Program) -> tuple[str, int, int, int, int, dict[str, int]]:
    """(name, operations of f, of the derivative by hand, of ours, nodes of ours, traffic)"""
    arguments = program.arguments()
    ours = program.derivative or myia.grad(program.f, program.wrt, backend="vm")
    graphs = [optimized(f, arguments, check=False, observed=False).optimized for f in (program.f, program.by_hand, ours)]
    counts = [executed(g, arguments) for g in graphs]  # type: ignore[arg-type]
    return program.name, counts[0], counts[1], counts[2], count_nodes(graphs[2]), traffic(graphs[2])  # type: ignore[arg-type]


def table() -> str:
    lines = ["| program | f | gradient by hand | gradient made | ratio | traffic left |", "|---|---|---|---|---|---|"]
    for program in PROGRAMS:
        name, primal, hand, ours, _, left = row(program)
        shown = ", ".join(f"{k} {n}" for k, n in left.items()) or "none"
        lines.append(f"| {name} | {primal} | {hand} | {ours} | {ours / hand:.2f} | {shown} |")
    return "\n".join(lines)


def main() -> None:
    text = table()
    print(text)
    if "--write" in sys.argv:
        page = ROOT / "docs" / "optimizer.md"
        old = page.read_text()
        new = re.sub(r"(<!-- operation counts -->\n).*?(<!-- end -->)", lambda m: m[1] + text + "\n" + m[2], old, flags=re.S)
        page.write_text(new)


if __name__ == "__main__":
    main()
