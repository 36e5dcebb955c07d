"""Dead members: graphs of a function class of which no closure and no environment is made any more leave it.

Then a call of the class need not think of them, and a class with one member is a known function. What still asks for a dead member has its
answer: its part of an environment is zero, a closure is not it, and what it captured is read by nobody. Classes of values that Python gives or
takes keep their members.
"""
from __future__ import annotations

from myia_notebook.ir.graph import UNDEFINED, ZERO, Apply, Constant, primitive_of
from myia_notebook.ir.types import BOOL
from myia_notebook.ir.verify_classes import alive_in, classes_in_program, seen_by_python
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.optimize.program import Program

ENV_GET, CLOSURE_IS, CLOSURE_GET, SWITCH = (PRIMITIVES[n] for n in ("env_get", "closure_is", "closure_get", "switch"))


def drop_dead_members(program: Program) -> bool:
    """Removes them in place; True when there were some."""
    nodes = {g.id: program.nodes(g) for g in program.graphs}
    classes = classes_in_program(program.graphs, nodes)
    if not classes:
        return False
    alive, outside = alive_in(program.graphs, nodes), seen_by_python(program.root)
    dead: set[int] = set()
    for cls in classes:
        if id(cls) in outside:
            continue
        for member in cls.members:
            if member.id not in alive:
                dead.add(member.id)
                member.function_class = None
        cls.members[:] = [m for m in cls.members if m.id in alive]
    for g in program.graphs if dead else ():
        for node in nodes[g.id]:
            _answer(node, dead)
    return bool(dead)


def _answer(node: Apply, dead: set[int]) -> None:
    primitive = primitive_of(node)
    if primitive not in (ENV_GET, CLOSURE_IS, CLOSURE_GET) or node.inputs[2].value.graph.id not in dead:  # type: ignore[attr-defined]
        return
    value = Constant(ZERO, node.type) if primitive is ENV_GET else Constant(False, BOOL) if primitive is CLOSURE_IS else Constant(UNDEFINED, node.type)
    node.inputs = [Constant(SWITCH), Constant(True, BOOL), value, value]
