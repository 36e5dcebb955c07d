"""Strong products become plain where the sensitivity cannot be a masked zero.

A strong product keeps 0·∞ = 0 for a sensitivity that a mask (a `where`, a branch, an absent part) made zero. Where no mask can reach,
the plain product is the same number, and algebra may use it. This is a data flow over the whole program: masked zeros come from `where`,
`switch`, and zero constants; they flow through arithmetic, calls, closures (over their classes) and results.
"""
from __future__ import annotations

from myia_notebook.ir.graph import UNDEFINED, ZERO, Apply, Constant, Graph, Node, callee_of, graph_constant, primitive_of
from myia_notebook.ir.types import Function
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.optimize.program import Program

STRONG = {PRIMITIVES["strong_multiply"]: PRIMITIVES["multiply"], PRIMITIVES["strong_divide"]: PRIMITIVES["divide"]}
BRANCH, PARTIAL = PRIMITIVES["branch"], PRIMITIVES["partial"]
OPAQUE = {PRIMITIVES[n] for n in ("env_get", "env_make", "closure_get", "gradient_call", "tangent_call", "custom_call")}


def relax_strong_products(program: Program) -> bool:
    """Replaces strong products in place; True when some were."""
    strong = [n for g in program.graphs for n in program.nodes(g) if primitive_of(n) in STRONG]
    if not strong:
        return False
    masked = _masked(program)
    changed = False
    for node in strong:
        if not _is_masked(node.inputs[1], masked):
            node.inputs[0] = Constant(STRONG[primitive_of(node)], node.inputs[0].type)  # type: ignore[index]
            changed = True
    return changed


def _is_masked(node: Node, masked: set[int]) -> bool:
    if isinstance(node, Constant):
        return node.value is ZERO or node.value is UNDEFINED or (isinstance(node.value, (int, float)) and node.value == 0)
    return node.id in masked


def _masked(program: Program) -> set[int]:
    """Ids of nodes that may hold a masked zero: the least fixpoint."""
    masked: set[int] = set()
    changed = True

    def mark(node: Node) -> bool:
        if isinstance(node, Constant) or node.id in masked:
            return False
        masked.add(node.id)
        return True

    def flow(target: Graph, arguments: list[Node], first: int) -> bool:
        grown = False
        for p, x in zip(target.parameters[target.captured if first < 0 else first:], arguments):
            if _is_masked(x, masked):
                grown |= mark(p)
        return grown

    while changed:
        changed = False
        for g in program.graphs:
            for node in program.nodes(g):
                targets, arguments, first = _flows(node)
                for target in targets:
                    changed |= flow(target, arguments, first)
                if node.id not in masked and _gives_mask(node, targets, masked):
                    changed |= mark(node)
    return masked


def _flows(node: Apply) -> tuple[list[Graph], list[Node], int]:
    """(graphs that receive arguments, the arguments, the first parameter that they go to; −1: the one after the captured)"""
    target = callee_of(node)
    if target is not None:
        return [target], node.inputs[1:], 0
    primitive = primitive_of(node)
    if primitive is BRANCH:
        return [g for x in node.inputs[2:4] if (g := graph_constant(x)) is not None], node.inputs[4:], 0
    if primitive is PARTIAL:
        closure = graph_constant(node.inputs[1])
        return ([closure] if closure is not None else []), node.inputs[2:], 0
    if primitive is None:
        t = node.inputs[0].type
        members = t.cls.members if isinstance(t, Function) else []
        return members, node.inputs[1:], -1
    return [], [], 0


def _gives_mask(node: Apply, targets: list[Graph], masked: set[int]) -> bool:
    primitive = primitive_of(node)
    if primitive is None or primitive is BRANCH:
        return any(_is_masked(t.output, masked) for t in targets) or not targets
    if "masking" in primitive.laws or primitive in OPAQUE:
        return True
    return any(_is_masked(x, masked) for x in node.inputs[1:])

