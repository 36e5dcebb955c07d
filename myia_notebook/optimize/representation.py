"""Function values as data: closures of a class that does not contain itself become tuples, their environments tuples of fields.

    Function{l1, …, ln}     (tag, slot, …)   slots shared between members by type; no tag when n = 1
    Environment{l1, …, ln}  ((∇captured of l1), …)   zero is zeros, a sum is the sum of the fields

An unknown call becomes a branch over the tag, and ends in known calls that can be inlined. Classes that contain themselves stay: lowering
makes tapes and cells of them. So do classes that meet the outside (parameters and results of the program) or an unexpanded gradient.
Reference: Reynolds 1972 (defunctionalization); Danvy & Nielsen 2001.
"""
from __future__ import annotations

from typing import Any

from myia_notebook.ir.graph import UNDEFINED, ZERO, Apply, Constant, Graph, Node, callee_of, graph_constant, is_symbolic, primitive_of, reachable, schedule
from myia_notebook.ir.types import BOOL, INT, UNIT, Array, Environment, Function, FunctionClass, List, Scalar, Static, Tuple, Type, map_parts, parts, sensitivity
from myia_notebook.ops.environment import Label
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.optimize.program import Program

PARTIAL, BRANCH, MAKE_TUPLE, GETITEM, ENV_MAKE, ENV_GET = (PRIMITIVES[n] for n in (
    "partial", "branch", "make_tuple", "tuple_getitem", "env_make", "env_get"))
CLOSURE_IS, CLOSURE_GET, EQUAL = (PRIMITIVES[n] for n in ("closure_is", "closure_get", "equal"))
DERIVATIVES = tuple(PRIMITIVES[n] for n in ("gradient_call", "tangent_call", "custom_call"))


def classes_in(t: Type | None) -> list[FunctionClass]:
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


def represent_functions_as_data(program: Program) -> bool:
    """Rewrites in place; True when a class was represented."""
    chosen = _chosen(program)
    if not chosen:
        return False
    _Representation(program.root, chosen).run()
    return True


def _chosen(program: Program) -> list[FunctionClass]:
    """The classes that can be data."""
    root = program.root
    found: dict[int, FunctionClass] = {}
    walked: dict[int, Type] = {}  # a type of many parts is shared by many nodes

    def add(t: Type | None) -> None:
        if t is not None and not isinstance(t, (Scalar, Array)) and id(t) not in walked:
            walked[id(t)] = t
            found.update((id(c), c) for c in classes_in(t))

    refused: list[FunctionClass] = [*classes_in(root.result), *(c for p in root.parameters for c in classes_in(p.type))]
    for g in program.graphs:
        for t in (g.result, *(p.type for p in g.parameters)):
            add(t)
        for node in program.nodes(g):
            add(node.type)
            for x in node.inputs[1:]:
                target = graph_constant(x)
                if target is not None and target.function_class is not None and primitive_of(node) is not BRANCH:
                    found[id(target.function_class)] = target.function_class
            if primitive_of(node) in DERIVATIVES:
                for x in node.inputs[1:]:
                    refused += classes_in(_value_type(x))
                refused += classes_in(node.type)
    edges = {key: [c for m in cls.members for p in m.parameters[:m.captured] for c in classes_in(p.type)] for key, cls in found.items()}
    stay: set[int] = set()
    work = list(refused)
    while work:
        cls = work.pop()
        if id(cls) not in stay:
            stay.add(id(cls))
            work += edges.get(id(cls), [])
    return [cls for key, cls in found.items() if key not in stay and not _contains_itself(key, edges)]


def _contains_itself(key: int, edges: dict[int, list[FunctionClass]]) -> bool:
    seen: set[int] = set()
    stack = [id(c) for c in edges.get(key, ())]
    while stack:
        k = stack.pop()
        if k == key:
            return True
        if k not in seen:
            seen.add(k)
            stack += [id(c) for c in edges.get(k, ())]
    return False


def _value_type(node: Node) -> Type | None:
    target = graph_constant(node)
    if target is not None and target.function_class is not None:
        return Function(target.function_class)
    return node.type


class _Representation:
    def __init__(self, root: Graph, chosen: list[FunctionClass]) -> None:
        self.root = root
        self.chosen = {id(cls): cls for cls in chosen}
        self.layouts: dict[int, tuple[Tuple, dict[int, list[int]]]] = {}
        self.types: dict[Type, Type] = {}
        self.new: set[int] = set()
        self.alive: set[int] = set()
        self.fields = {(m.id, i): p.type for cls in chosen for m in cls.members for i, p in enumerate(m.parameters[:m.captured])}

    # -- types

    def type(self, t: Type | None) -> Any:
        """The representation of a type."""
        match t:
            case Tuple() | List():
                known = self.types.get(t)
                if known is None:
                    known = self.types[t] = map_parts(t, self.type)
                return known
            case Function(cls) if id(cls) in self.chosen:
                return self.layout(cls)[0]
            case Environment(cls) if id(cls) in self.chosen:
                return Tuple(tuple(Tuple(tuple(self.type(sensitivity(t)) for t in self.captured(m))) for m in cls.members))
            case _:
                return t

    def captured(self, member: Graph) -> list[Type]:
        return [self.fields[member.id, i] for i in range(member.captured)]  # type: ignore[misc]

    def layout(self, cls: FunctionClass) -> tuple[Tuple, dict[int, list[int]]]:
        """(the tuple type, for each member the places of its captured values)"""
        known = self.layouts.get(id(cls))
        if known is None:
            slots: list[Type] = []
            places: dict[int, list[int]] = {}
            for member in cls.members:
                used: set[int] = set()
                mine: list[int] = []
                for t in self.captured(member):
                    wanted = self.type(t)
                    place = next((i for i, s in enumerate(slots) if s == wanted and i not in used), len(slots))
                    if place == len(slots):
                        slots.append(wanted)
                    used.add(place)
                    mine.append(place)
                places[member.id] = mine
            tag: tuple[Type, ...] = () if len(cls.members) == 1 else (BOOL,) if len(cls.members) == 2 else (INT,)
            known = self.layouts[id(cls)] = (Tuple((*tag, *slots)), {k: [p + len(tag) for p in v] for k, v in places.items()})
        return known

    # -- the program

    def run(self) -> None:
        graphs = {g.id: g for g in reachable(self.root)}
        self.alive = set(graphs)
        for cls in self.chosen.values():
            for member in cls.members:
                graphs.setdefault(member.id, member)
        for label in [x.value.graph for g in list(graphs.values()) for n in schedule(g) for x in n.inputs[1:]
                      if isinstance(x, Constant) and isinstance(x.value, Label)]:
            graphs.setdefault(label.id, label)  # a member that only an environment names: what it captures has the new types too
        for g in graphs.values():
            nodes = schedule(g)
            for node in nodes:
                self.node(g, node)
            g.output = self.value(Builder(g, g.output.provenance), g.output)
        for g in graphs.values():
            for p in g.parameters:
                p.type = self.type(p.type)
            g.result = self.type(g.result)
            for node in schedule(g):
                if node.id not in self.new:
                    node.type = self.type(node.type)
        for cls in self.chosen.values():
            for member in cls.members:
                if member.function_class is cls:
                    member.function_class = None
                    member.captured = 0

    def make(self, builder: Builder, items: list[Node], t: Tuple) -> Node:
        node = builder.apply(MAKE_TUPLE, *items, type=t) if items else Constant((), UNIT)
        self.new.add(node.id)
        return node

    def item(self, builder: Builder, node: Node, i: int, t: Type) -> Node:
        made = builder.apply(GETITEM, node, builder.constant(i), type=t)
        self.new.add(made.id)
        return made

    def value(self, builder: Builder, node: Node) -> Node:
        """An operand: graphs as values and zeros of represented types."""
        target = graph_constant(node)
        if target is not None:
            cls = target.function_class
            return self.closure(builder, cls, target, []) if cls is not None and id(cls) in self.chosen else node
        if isinstance(node, Constant) and isinstance(node.value, Type):
            t = self.type(node.value)
            return node if t is node.value else Constant(t, Static(t), node.name, node.provenance)
        if isinstance(node, Constant) and is_symbolic(node.value):
            return Constant(node.value, self.type(node.type), node.name, node.provenance)
        return node

    def closure(self, builder: Builder, cls: FunctionClass, member: Graph, captured: list[Node]) -> Node:
        t, places = self.layout(cls)
        items: list[Node | None] = [None] * len(t.items)
        if len(cls.members) > 1:
            items[0] = self.tag(cls, member)
        for place, x in zip(places[member.id], captured):
            items[place] = x
        return self.make(builder, [x if x is not None else Constant(UNDEFINED, t.items[i]) for i, x in enumerate(items)], t)

    @staticmethod
    def tag(cls: FunctionClass, member: Graph) -> Constant:
        index = next(i for i, m in enumerate(cls.members) if m is member)
        return Constant(index == 0, BOOL) if len(cls.members) == 2 else Constant(index, INT)

    def node(self, g: Graph, node: Apply) -> None:
        builder = Builder(g, node.provenance)
        primitive = primitive_of(node)
        first = 4 if primitive is BRANCH else 2 if primitive is PARTIAL else 1
        node.inputs[first:] = [self.value(builder, x) for x in node.inputs[first:]]
        if primitive is PARTIAL:
            self._partial(builder, node)
        elif primitive is ENV_MAKE:
            self._env_make(builder, node)
        elif primitive is ENV_GET:
            self._env_get(builder, node)
        elif primitive is CLOSURE_IS or primitive is CLOSURE_GET:
            self._look(builder, node, primitive is CLOSURE_IS)
        elif primitive is None and callee_of(node) is None:
            self._unknown_call(builder, node)

    def _become(self, node: Apply, made: Node) -> None:
        """`node` does what `made` does."""
        if isinstance(made, Apply):
            node.inputs = list(made.inputs)
        else:
            node.inputs = [Constant(MAKE_TUPLE)]

    def _partial(self, builder: Builder, node: Apply) -> None:
        target = graph_constant(node.inputs[1])
        assert target is not None and isinstance(node.type, Function)
        if id(node.type.cls) in self.chosen:
            self._become(node, self.closure(builder, node.type.cls, target, node.inputs[2:]))

    def _env_make(self, builder: Builder, node: Apply) -> None:
        assert isinstance(node.type, Environment)
        cls = node.type.cls
        if id(cls) not in self.chosen:
            return
        t = self.type(node.type)
        label = node.inputs[1].value.graph  # type: ignore[attr-defined]
        parts = [self.make(builder, node.inputs[2:], inner) if m is label else Constant(ZERO, inner) for m, inner in zip(cls.members, t.items)]
        self._become(node, self.make(builder, parts, t))

    def _env_get(self, builder: Builder, node: Apply) -> None:
        label = node.inputs[2].value.graph  # type: ignore[attr-defined]
        cls = label.function_class
        if cls is None or id(cls) not in self.chosen:
            return
        t = self.type(Environment(cls))
        index = next(i for i, m in enumerate(cls.members) if m is label)
        part = self.item(builder, node.inputs[1], index, t.items[index])
        node.inputs = [Constant(GETITEM), part, node.inputs[3]]

    def _look(self, builder: Builder, node: Apply, is_test: bool) -> None:
        label = node.inputs[2].value.graph  # type: ignore[attr-defined]
        cls = label.function_class
        if cls is None or id(cls) not in self.chosen:
            return
        t, places = self.layout(cls)
        if not is_test:
            node.inputs = [Constant(GETITEM), node.inputs[1], builder.constant(places[label.id][node.inputs[3].value])]  # type: ignore[attr-defined]
        elif len(cls.members) == 1:
            node.inputs = [Constant(PRIMITIVES["switch"]), Constant(True, BOOL), Constant(True, BOOL), Constant(True, BOOL)]
        else:
            tag = self.item(builder, node.inputs[1], 0, t.items[0])
            node.inputs = [Constant(EQUAL), tag, self.tag(cls, label)]

    def _unknown_call(self, builder: Builder, node: Apply) -> None:
        head = node.inputs[0]
        cls = head.type.cls if isinstance(head.type, Function) else None
        if cls is None or id(cls) not in self.chosen:
            return
        t, places = self.layout(cls)
        items = [self.item(builder, head, i, inner) for i, inner in enumerate(t.items)]
        arguments = node.inputs[1:]
        living = [m for m in cls.members if m.id in self.alive]  # nobody makes a closure of the others: they are never called
        if not living:
            never = Constant(UNDEFINED, self.type(node.type))
            node.inputs = [Constant(PRIMITIVES["switch"]), Constant(True, BOOL), never, never]
            return
        if len(living) == 1:
            node.inputs = [Constant(living[0]), *(items[p] for p in places[living[0].id]), *arguments]
            return
        types = [*t.items, *(self.type(p.type) for p in living[0].parameters[living[0].captured:])]
        node.inputs = self._dispatch(builder, cls, living, items, arguments, types)

    def _dispatch(self, builder: Builder, cls: FunctionClass, living: list[Graph], items: list[Node], arguments: list[Node], types: list[Type]) -> list[Node]:
        """The inputs of a branch between the first of these members and the others."""
        first, *others = living
        test: Node = items[0]
        if len(cls.members) > 2:
            test = builder.apply(EQUAL, items[0], Constant(next(i for i, m in enumerate(cls.members) if m is first), INT), type=BOOL)
            self.new.add(test.id)
        arms = [Graph(first.name, "branch"), Graph("otherwise" if len(others) > 1 else others[0].name, "branch")]
        places = self.layout(cls)[1]
        for arm, member in zip(arms, (first, others[0])):
            arm.result = self.type(first.result)
            parameters = [arm.add_parameter("", t) for t in types]
            own, rest = parameters[:len(items)], parameters[len(items):]
            inner = Builder(arm)
            if arm is arms[1] and len(others) > 1:
                inputs = self._dispatch(inner, cls, others, list(own), list(rest), types)
                output = Apply(arm, inputs, arm.result)
            else:
                output = inner.call(member, *(own[p] for p in places[member.id]), *rest, type=arm.result)  # type: ignore[arg-type]
            self.new.add(output.id)
            arm.output = output
        return [Constant(BRANCH), test, Constant(arms[0]), Constant(arms[1]), *items, *arguments]
