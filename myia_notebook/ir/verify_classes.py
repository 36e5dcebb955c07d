"""Function classes of a typed program: what holds for their members, checked over the whole program.

A member is *alive* when something makes a closure of it (it is reachable), or puts sensitivities into its environment (`env_make`). For every
class that a type names: each member says that the class is its own; living members agree on their parameters after the captured
ones and on their result; a graph is a member of the class of the value that it becomes; no member occurs twice. After the optimizer,
besides, no member is dead, except in classes that Python sees (parameters and results of the program): `dead_members`.
"""
from __future__ import annotations

from myia_notebook.ir.graph import Apply, Constant, Graph, Node, graph_constant, primitive_of, reachable, schedule
from myia_notebook.ir.types import Array, Environment, Function, FunctionClass, List, Scalar, Tuple, Type, parts
from myia_notebook.ops.environment import Label
from myia_notebook.ops.table import PRIMITIVES

PARTIAL, BRANCH, ENV_MAKE = PRIMITIVES["partial"], PRIMITIVES["branch"], PRIMITIVES["env_make"]


def classes_of(t: Type | None) -> list[FunctionClass]:
    """The classes that a type names, from left to right."""
    found: list[FunctionClass] = []
    stack = [t]
    while stack:
        match stack.pop():
            case Tuple() | List() as whole:
                stack.extend(reversed(parts(whole)))
            case Function(cls) | Environment(cls):
                found.append(cls)
            case _:
                pass
    return found


def classes_in_program(graphs: list[Graph], nodes: dict[int, list[Apply]]) -> list[FunctionClass]:
    """Every class that a type of the program names, also in what members capture, in order."""
    found: dict[int, FunctionClass] = {}
    work: list[FunctionClass] = []
    walked: dict[int, Type] = {}  # a type of many parts is shared by many nodes; comparing two by value would walk both

    def add(t: Type | None) -> None:
        if t is not None and not isinstance(t, (Scalar, Array)) and id(t) not in walked:
            walked[id(t)] = t
            for cls in classes_of(t):
                if id(cls) not in found:
                    found[id(cls)] = cls
                    work.append(cls)

    for g in graphs:
        add(g.result)
        for p in g.parameters:
            add(p.type)
        for node in nodes[g.id]:
            add(node.type)
    while work:
        for member in work.pop().members:
            for p in member.parameters[:member.captured]:
                add(p.type)
    return list(found.values())


def alive_in(graphs: list[Graph], nodes: dict[int, list[Apply]]) -> set[int]:
    """Ids of the graphs of which closures or environments are made."""
    alive = {g.id for g in graphs}
    for g in graphs:
        for node in nodes[g.id]:
            if primitive_of(node) is ENV_MAKE:
                label = node.inputs[1]
                assert isinstance(label, Constant) and isinstance(label.value, Label)
                alive.add(label.value.graph.id)
    return alive


def seen_by_python(root: Graph) -> set[int]:
    """Ids (in memory) of the classes of values that the program takes or returns, and of what those capture."""
    found: set[int] = set()
    stack = [*classes_of(root.result), *(c for p in root.parameters for c in classes_of(p.type))]
    while stack:
        cls = stack.pop()
        if id(cls) not in found:
            found.add(id(cls))
            stack += [c for m in cls.members for p in m.parameters[:m.captured] for c in classes_of(p.type)]
    return found


def verify_classes(root: Graph) -> list[str]:
    """Every way in which the classes of a typed program are not what they should be."""
    graphs = reachable(root)
    nodes = {g.id: schedule(g) for g in graphs}
    alive = alive_in(graphs, nodes)
    problems: list[str] = []
    for cls in classes_in_program(graphs, nodes):
        problems += _members(cls, alive)
    for g in graphs:
        for node in nodes[g.id]:
            problems += [f"@{g.name}: {text}" for text in _values(node)]
    return problems


def dead_members(root: Graph) -> list[str]:
    """Members of which no closure and no environment is made, in classes that Python does not see."""
    graphs = reachable(root)
    nodes = {g.id: schedule(g) for g in graphs}
    alive, outside = alive_in(graphs, nodes), seen_by_python(root)
    return [f"{cls}: nobody makes a closure of @{m.name}" for cls in classes_in_program(graphs, nodes) if id(cls) not in outside
            for m in cls.members if m.id not in alive]


def _members(cls: FunctionClass, alive: set[int]) -> list[str]:
    problems: list[str] = []
    if len({m.id for m in cls.members}) < len(cls.members):
        problems.append(f"{cls}: a member occurs twice")
    living = [m for m in cls.members if m.id in alive]
    for member in living:
        if member.function_class is not cls:
            problems.append(f"{cls}: @{member.name} is a member, but its own class is {member.function_class}")
        if _signature(member) != _signature(living[0]):
            problems.append(f"{cls}: @{member.name} and @{living[0].name} do not take the same arguments and give the same result")
    return problems


def _signature(g: Graph) -> tuple[object, ...]:
    if "box" in g.flags:
        return ()  # a constructor of a union is never called
    return (tuple(p.type for p in g.parameters[g.captured:]), g.result)


def _values(node: Apply) -> list[str]:
    """Graphs used as values in a node: members of the class that the value's type names."""
    primitive = primitive_of(node)
    problems: list[str] = []
    for i, x in enumerate(node.inputs):
        target = graph_constant(x)
        if target is None or i == 0 or (primitive is BRANCH and i in (2, 3)):
            continue
        t = node.type if primitive is PARTIAL and i == 1 else _type(x)
        if isinstance(t, Function) and not any(m is target for m in t.cls.members):
            problems.append(f"@{target.name} becomes a value of {t.cls}, of which it is no member")
    return problems


def _type(node: Node) -> Type | None:
    target = graph_constant(node)
    if node.type is None and target is not None and target.function_class is not None:
        return Function(target.function_class)
    return node.type
