"""Function classes of derived graphs.

▶ maps a class S to the class of its members' entries (`forward`), and there is one class for the closures that those return
(`backward`). A known call of g returns a closure of ◀g; the two arms of a branch return closures that meet, so their ◀ graphs
share a class: `Classes` joins arms over the whole program before anything is made (equality-based classes, docs/architecture.md).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from myia_notebook.infer.values import function_class_of
from myia_notebook.ir.graph import Constant, Graph, Node, graph_constant, primitive_of, reachable, schedule
from myia_notebook.ir.types import Function, FunctionClass, List, Static, Tuple, Type, map_parts, parts
from myia_notebook.ops.environment import Label
from myia_notebook.ops.primitive import Primitive
from myia_notebook.ops.table import PRIMITIVES

if TYPE_CHECKING:
    from myia_notebook.gradient.transform import Transform

BRANCH, CLOSURE_IS, CLOSURE_GET = PRIMITIVES["branch"], PRIMITIVES["closure_is"], PRIMITIVES["closure_get"]


class DerivedTypes:
    """Types of derived values: a class of functions becomes the class that `forward` gives; data stay as they are."""

    def __init__(self) -> None:
        self._types: dict[Type, Type] = {}
        self._data: dict[int, tuple[FunctionClass, bool]] = {}

    def forward(self, cls: FunctionClass) -> FunctionClass:
        raise AssertionError("given by each kind")

    def forward_type(self, t: Type) -> Type:
        """▶t or ▷t: functions become their forward functions; everything else stays."""
        match t:
            case Function(cls):
                return t if self.is_data(cls) else Function(self.forward(cls))
            case Tuple() | List():
                known = self._types.get(t)
                if known is None:
                    known = self._types[t] = map_parts(t, self.forward_type)
                return known
            case _:
                return t

    def is_data(self, cls: FunctionClass) -> bool:
        """Whether the class is a union without functions in it: its values are the same in a derivative."""
        known = self._data.get(id(cls))
        if known is None:
            known = self._data[id(cls)] = (cls, is_union_class(cls) and not contains_function(Function(cls), unions=False))
        return known[1]


class Classes(DerivedTypes):
    """The classes for one `Transform` of a program."""

    owner: Transform

    def __init__(self, program: list[Graph]) -> None:
        super().__init__()
        self._parent: dict[int, int] = {}
        self._graphs: dict[int, Graph] = {}
        for graph in program:
            for node in schedule(graph):
                if primitive_of(node) is BRANCH:
                    first, second = graph_constant(node.inputs[2]), graph_constant(node.inputs[3])
                    assert first is not None and second is not None
                    self._join(first, second)
        self._members: dict[int, list[Graph]] = {}
        for key in self._graphs:
            self._members.setdefault(self._find(key), []).append(self._graphs[key])
        self._backpropagators: dict[int, FunctionClass] = {}
        self._derived: dict[int, tuple[FunctionClass, FunctionClass, FunctionClass]] = {}

    def _find(self, key: int) -> int:
        while (up := self._parent.get(key, key)) != key:
            self._parent[key] = self._parent.get(up, up)
            key = up
        return key

    def _join(self, first: Graph, second: Graph) -> None:
        for g in (first, second):
            self._graphs.setdefault(g.id, g)
            self._parent.setdefault(g.id, g.id)
        self._parent[self._find(first.id)] = self._find(second.id)

    def backpropagator_class(self, g: Graph) -> FunctionClass:
        """The class of the closure that ▶g returns beside its value."""
        key = self._find(g.id)
        cls = self._backpropagators.get(key)
        if cls is None:
            cls = self._backpropagators[key] = FunctionClass([], f"◀{g.name}")
            for member in self._members.get(key, [g]):
                b = self.owner.backward(member)
                b.function_class = cls
                cls.members.append(b)
        return cls

    def of_value(self, g: Graph) -> tuple[FunctionClass, FunctionClass, FunctionClass]:
        """(the class of g as a value, that of ▶g/k, that of the closures it returns)."""
        return self._derive(function_class_of(g))

    def _derive(self, cls: FunctionClass) -> tuple[FunctionClass, FunctionClass, FunctionClass]:
        known = self._derived.get(id(cls))
        if known is None:
            known = self._derived[id(cls)] = (cls, FunctionClass([], f"▶{cls.name}"), FunctionClass([], f"◀{cls.name}"))
            for member in cls.members:
                entry, back = self.owner.entries(member)
                known[1].members.append(entry)
                known[2].members.append(back)
        return known

    def forward(self, cls: FunctionClass) -> FunctionClass:
        return self._derive(cls)[1]

    def backward(self, cls: FunctionClass) -> FunctionClass:
        return self._derive(cls)[2]

    def forward_operand(self, primitive: Primitive, operand: Node, value: Callable[[Node], Node]) -> Node:
        """An operand of a primitive in ▶g. The primitives that look into a closure name its graph: there ▶f has ▶'s label."""
        if (primitive is CLOSURE_IS or primitive is CLOSURE_GET) and isinstance(operand, Constant) and isinstance(operand.value, Label):
            cls = operand.value.graph.function_class
            if cls is not None and self.is_data(cls):
                return operand
            return Constant(Label(self.owner.entries(operand.value.graph)[0]), operand.type, operand.name, operand.provenance)
        if isinstance(operand, Constant) and isinstance(operand.value, Type):
            t = self.forward_type(operand.value)
            return operand if t is operand.value else Constant(t, Static(t), operand.name, operand.provenance)
        return value(operand)


def contains_function(t: Type, unions: bool = True) -> bool:
    """Whether a value of type t holds functions (or, with `unions`, values of unions)."""
    seen: set[int] = set()
    stack = [t]
    while stack:
        u = stack.pop()
        if isinstance(u, Function):
            if unions or not is_union_class(u.cls):
                return True
            if id(u.cls) not in seen:
                seen.add(id(u.cls))
                stack.extend(p.type for m in u.cls.members for p in m.parameters if p.type is not None)
        stack.extend(parts(u))
    return False


def is_union_class(cls: FunctionClass) -> bool:
    """Whether the members are constructors of a union."""
    return bool(cls.members) and all("box" in m.flags for m in cls.members)


def program_graphs(root: Graph) -> list[Graph]:
    """Everything a program can run: what is reachable by constants, and the members of classes of values that flow in."""
    order = reachable(root)
    seen = {g.id for g in order}
    queue = list(order)
    while queue:
        graph = queue.pop(0)
        types: list[Type] = [p.type for p in graph.parameters if p.type is not None]
        types += [node.type for node in schedule(graph) if node.type is not None]
        while types:
            match types.pop():
                case Tuple() | List() as whole:
                    types.extend(parts(whole))
                case Function(cls):
                    for member in cls.members:
                        if member.id not in seen:
                            found = [g for g in reachable(member) if g.id not in seen]
                            seen.update(g.id for g in found)
                            order.extend(found)
                            queue.extend(found)
                case _:
                    pass
    return order
