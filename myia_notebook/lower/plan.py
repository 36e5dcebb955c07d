"""The plan of the machine that will run a program: what the emitters need to know, decided once.

One machine runs the whole program: every graph is a piece of code with an entry, a call pushes what is still needed on a stack of
our own and jumps, a return pops and jumps back, a tail call only jumps: loops are loops, and the user's recursion never uses the C stack.
The arms of a branch that are used nowhere else have no entry: they are placed where the branch is. Values are flat: a tuple is its
items, an array is a pointer (its shape is in its type), a closure is a pointer to a cell [tag, captured…], an environment a cell or 0.
Sums of environments of recursive classes become calls of graphs made here (`sum of …`), so that they too recurse on our own stack.

On entry: typed form without `gradient_call`. The input is untouched. Unsupported primitives are refused (M801) before anything runs.
References: Reynolds 1972 (defunctionalization); Danvy & Nielsen 2001.
"""
from __future__ import annotations

from dataclasses import dataclass, field

from myia_notebook.errors import error
from myia_notebook.ir.clone import clone
from myia_notebook.ir.graph import Apply, Constant, Graph, Node, graph_constant, is_call_of, primitive_of, reachable, schedule
from myia_notebook.ir.types import (
    BOOL,
    NEVER,
    Array,
    Environment,
    Function,
    FunctionClass,
    List,
    NoneType,
    Range,
    Scalar,
    Slice,
    Static,
    Tuple,
    Type,
    is_float,
    parts,
    sensitivity,
)
from myia_notebook.lower.accumulate import accumulate
from myia_notebook.lower.ownership import own
from myia_notebook.lower.primitives import ENV_IS, ENV_IS_ZERO, LIST_ADD, LOOK
from myia_notebook.lower.sharing import erase, unshare
from myia_notebook.lower.tapes import tapes
from myia_notebook.ops.environment import Label
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.primitive import Unsupported
from myia_notebook.ops.table import PRIMITIVES

BRANCH, ADD_SENSITIVITIES, ADD = PRIMITIVES["branch"], PRIMITIVES["add_sensitivities"], PRIMITIVES["add"]


DEEPEST = 48
"""Arms in arms that are placed in each other; those further inside are entries again (long chains of `elif`)."""


def words(t: Type) -> list[str]:
    """The machine words of a type: 'f' float64, 's' float32, 'i' int64, 'w' int32, 'b' bool, 'p' pointer."""
    match t:
        case Scalar(dtype):
            return [{"float64": "f", "float32": "s", "int64": "i", "int32": "w", "bool": "b"}[dtype]]
        case Array() | Function() | Environment() | List():
            return ["p"]
        case Tuple(items):
            return [w for item in items for w in words(item)]
        case NoneType() | Static() | Slice() | Range():
            return []
        case _ if t == NEVER:
            return []
        case _:
            raise error("M801", message=f"a value of type {t} has no native form", hint="use backend='vm'")


def array_words(t: Type) -> list[tuple[int, Array]]:
    """Where in the result's words arrays are."""
    found: list[tuple[int, Array]] = []
    place = 0
    stack: list[Type] = [t]
    while stack:
        item = stack.pop()
        match item:
            case Tuple(items):
                stack.extend(reversed(items))
            case Array():
                found.append((place, item))
                place += 1
            case _:
                place += len(words(item))
    return found


def needs_arena(t: Type | None) -> bool:
    """Whether a result lies in the machine's memory: lists, closures and unions do."""
    return isinstance(t, (List, Function)) or any(map(needs_arena, parts(t)))


@dataclass(slots=True)
class Plan:
    """`graphs` in program order; `entries`: ids of graphs that are jumped to; the others are placed where their branch is."""

    root: Graph
    graphs: list[Graph]
    entries: set[int]
    sums: dict[int, Graph] = field(default_factory=dict)

    def text(self) -> str:
        """A readable listing: pieces with their frames and jumps."""
        from myia_notebook.lower.listing import listing
        return listing(self)


def lower(root: Graph) -> Plan:
    """The plan for an optimized program."""
    root, _ = clone(root)
    tapes(root)
    own(root)
    unshare(root)
    erase(root)
    accumulate(root)
    sums = _expand_sums(root)
    graphs = reachable(root)
    for g in graphs:
        for node in schedule(g):
            primitive = primitive_of(node)
            if primitive is not None and isinstance(primitive.emit, Unsupported):
                raise error("M801", node.provenance.span, message=f"'{primitive.symbol}' has no native form: {primitive.emit.reason}",
                            hint="use backend='vm'")
            words(Builder.type_of(node))
    return Plan(root, graphs, _entries(root, graphs), sums)


def member_tags(plan: Plan) -> dict[int, int]:
    """A number for each graph that is a member of a class, unique in its class."""
    tags: dict[int, int] = {}
    for g in plan.graphs:
        for t in (*(p.type for p in g.parameters), *(n.type for n in schedule(g)), g.result):
            stack = [t]
            while stack:
                match stack.pop():
                    case Tuple() | List() as whole:
                        stack.extend(parts(whole))
                    case Function(cls) | Environment(cls):
                        for i, member in enumerate(cls.members):
                            tags.setdefault(member.id, i)
                    case _:
                        pass
    return tags


def last_uses(nodes: list[Apply], output: Node) -> dict[int, int]:
    """The position of the last node that uses each node; the output is used after all."""
    last: dict[int, int] = {}
    for i, node in enumerate(nodes):
        last.update((x.id, i) for x in node.inputs if not isinstance(x, Constant))
    if not isinstance(output, Constant):
        last[output.id] = len(nodes) + 1
    return last


def _entries(root: Graph, graphs: list[Graph]) -> set[int]:
    """Graphs that need an entry: all but arms used once."""
    uses: dict[int, int] = {root.id: 1}
    arms: dict[int, int] = {}
    for g in graphs:
        for x in (g.output, *(x for n in schedule(g) for x in n.inputs)):
            target = graph_constant(x)
            if target is not None:
                uses[target.id] = uses.get(target.id, 0) + 1
        for node in schedule(g):
            if is_call_of(node, BRANCH):
                for x in node.inputs[2:4]:
                    target = graph_constant(x)
                    assert target is not None
                    arms[target.id] = arms.get(target.id, 0) + 1
    entries = {g.id for g in graphs if g is root or uses.get(g.id, 0) != 1 or arms.get(g.id, 0) != 1}
    depth: dict[int, int] = {}
    for g in graphs:  # a graph comes before its arms
        inside = 0 if g.id in entries else depth.get(g.id, 0)
        if inside > DEEPEST:
            entries.add(g.id)
            inside = 0
        for node in schedule(g):
            if is_call_of(node, BRANCH):
                depth.update((a.id, inside + 1) for x in node.inputs[2:4] if (a := graph_constant(x)) is not None)
    return entries


# -- sums of environments

def _expand_sums(root: Graph) -> dict[int, Graph]:
    """add_sensitivities on environments becomes the call of a graph per class; on tuples it becomes sums of items."""
    made: dict[int, Graph] = {}
    pending = list(reachable(root))
    while pending:
        g = pending.pop(0)
        for node in schedule(g):
            if is_call_of(node, ADD_SENSITIVITIES):
                before = len(made)
                builder = Builder(g, node.provenance)
                total = _sum(builder, node.inputs[1], node.inputs[2], Builder.type_of(node), made)
                node.inputs = list(total.inputs) if isinstance(total, Apply) else [Constant(PRIMITIVES["make_tuple"])]
                pending.extend(list(made.values())[before:])
    return made


def _sum(builder: Builder, x: object, y: object, t: Type, made: dict[int, Graph]) -> Apply | Constant:
    match t:
        case Environment(cls):
            return builder.call(_sum_graph(cls, made), x, y, type=t)  # type: ignore[arg-type]
        case Tuple(items):
            parts = [_sum(builder, builder.item(x, i), builder.item(y, i), item, made) for i, item in enumerate(items)]  # type: ignore[arg-type]
            return builder.apply(PRIMITIVES["make_tuple"], *parts, type=t)  # type: ignore[return-value]
        case List():
            return builder.apply(LIST_ADD, x, y, type=t)  # type: ignore[arg-type, return-value]
        case _ if is_float(t):
            return builder.apply(ADD, x, y, type=t)  # type: ignore[arg-type, return-value]
        case _:
            raise AssertionError(f"a sum of {t}")


def _sum_graph(cls: FunctionClass, made: dict[int, Graph]) -> Graph:
    """(a, b) ↦ b if a is 0, a if b is 0, else the environment of their label with the sums of its parts."""
    if id(cls) in made:
        return made[id(cls)]
    t = Environment(cls)
    graph = made[id(cls)] = Graph(f"sum of {cls.name}", "function")
    graph.result = t
    a = graph.add_parameter("a", t)
    graph.add_parameter("b", t)
    builder = Builder(graph)

    def arm(name: str) -> Graph:
        made_arm = Graph(name, "branch")
        made_arm.result = t
        made_arm.add_parameter("a", t)
        made_arm.add_parameter("b", t)
        return made_arm

    def test(g: Graph, primitive: str, x: object, *rest: object) -> Apply:
        return Builder(g).apply(LOOK[primitive], x, *rest, type=BOOL)  # type: ignore[arg-type, return-value]

    def choose(g: Graph, c: Apply, first: Graph, second: Graph) -> Apply:
        return Builder(g).apply(BRANCH, c, Constant(first), Constant(second), *g.parameters, type=t)  # type: ignore[return-value]

    first_zero, rest = arm("a is 0"), arm("otherwise")
    first_zero.output = first_zero.parameters[1]
    second_zero, both = arm("b is 0"), arm("otherwise")
    second_zero.output = second_zero.parameters[0]
    graph.output = choose(graph, test(graph, "env_is_zero", a), first_zero, rest)
    rest.output = choose(rest, test(rest, "env_is_zero", rest.parameters[1]), second_zero, both)
    current = both
    members = [m for m in cls.members]
    for i, member in enumerate(members):
        target = current
        if i < len(members) - 1:
            target, other = arm(member.name), arm("otherwise")
            label = Label(member)
            current.output = choose(current, test(current, "env_is", current.parameters[0], Constant(label, Static(label))), target, other)
            current = other
        target.output = _member_sum(target, member, t, made)
    assert builder.graph is graph
    return graph


def _member_sum(g: Graph, member: Graph, t: Type, made: dict[int, Graph]) -> Apply:
    builder = Builder(g)
    label = Label(member)
    head = Constant(label, Static(label))
    parts: list[Apply | Constant] = []
    for i, p in enumerate(member.parameters[:member.captured]):
        inner = sensitivity(Builder.type_of(p))
        pair = [builder.apply(PRIMITIVES["env_get"], e, head, builder.constant(i), type=inner) for e in g.parameters]
        parts.append(_sum(builder, pair[0], pair[1], inner, made) if _has_value(inner) else builder.zero(inner))
    return builder.apply(PRIMITIVES["env_make"], head, *parts, type=t)  # type: ignore[return-value]


def _has_value(t: Type) -> bool:
    from myia_notebook.ir.types import is_trivial
    return not is_trivial(t)


__all__ = ["ENV_IS", "ENV_IS_ZERO", "LIST_ADD", "Plan", "array_words", "lower", "needs_arena", "words"]
