"""The graph IR: functions are graphs, graphs are values.

    Graph     ::= name(Parameter...) -> output Node
    Node      ::= Constant(value) | Parameter(graph) | Apply(graph, [function, *arguments])
    value     ::= number | tuple | None | str | Primitive | Graph | Operation | ZERO | UNDEFINED

The function of an Apply is itself a node: `Constant(Primitive)`, `Constant(Graph)` (a known call) or any other node (an
unknown call). A graph's nodes are those that its output can reach; there is no statement list, so dead code does not exist.

*Nested form* (after parsing): a node of graph h may be an input of a node of graph g; then it is a free variable of g, and g
is nested in h. *Closed form* (after `infer.close`): no graph has free variables; the first `g.captured` parameters of g are
the values it captured, a function value is `partial(g, captured...)` or a plain `Constant(g)` when nothing is captured, and a
call of two known arms is `branch(condition, g1, g2, arguments...)`. Everything after closing works on closed graphs.

Nodes are mutable only inside the pass that makes or rewrites them; a stage never changes the graphs it was given (`clone`).
Reference for the form: van Merriënboer et al. 2018, section 4; for closing: Johnsson, *Lambda lifting*, 1985.
"""
from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from myia_notebook.ops.primitive import Primitive
from myia_notebook.provenance import UNKNOWN, Provenance

if TYPE_CHECKING:
    from myia_notebook.ir.types import FunctionClass, Type

_identities = itertools.count(1)

Kind = Literal["function", "loop", "branch", "closure", "forward", "backpropagator", "tangent", "program"]


class Sentinel:
    """A named singleton value."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __copy__(self) -> Sentinel:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Sentinel:
        return self


ZERO = Sentinel("zero")            # the zero of the constant's (sensitivity) type: 0.0, zeros of a shape, a tuple of zeros, the empty environment
UNDEFINED = Sentinel("undefined")  # the value of a variable on a path where it is not assigned, or of a slot nobody reads


def is_symbolic(value: Any) -> bool:
    """Whether a constant's value is ZERO or UNDEFINED (by identity: a value may be an array)."""
    return value is ZERO or value is UNDEFINED


@dataclass(frozen=True, slots=True)
class Signature:
    """How a Python function takes its arguments. Names are in the order of the graph's own parameters (captured ones excluded):
    positional-only, positional-or-keyword, `*args` (if any), keyword-only, `**kwargs` (if any). `defaults` maps a
    parameter's name to the node, in an enclosing graph, that holds the default evaluated when the function was defined."""

    positional_only: tuple[str, ...] = ()
    positional: tuple[str, ...] = ()
    variadic: str | None = None
    keyword_only: tuple[str, ...] = ()
    keywords: str | None = None
    defaults: tuple[tuple[str, Node], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        extra = (self.variadic,) if self.variadic else ()
        last = (self.keywords,) if self.keywords else ()
        return (*self.positional_only, *self.positional, *extra, *self.keyword_only, *last)


class Graph:
    """A function. `kind` says how it came about; `primal` is the graph that a ▶, ◀ or ▷ graph was made from.

    `result` is the declared type of the output (set by monomorphization and by every transform that makes a graph): it lets
    a caller be typed before the body exists. `function_class` is set when the graph is used as a function value.
    """

    __slots__ = ("name", "parameters", "output", "captured", "result", "function_class", "kind", "primal", "signature",
                 "provenance", "id", "flags", "__weakref__")

    def __init__(self, name: str, kind: Kind = "function", provenance: Provenance = UNKNOWN, primal: Graph | None = None) -> None:
        self.name = name
        self.parameters: list[Parameter] = []
        self.output: Node = _UNSET
        self.captured = 0
        self.result: Type | None = None
        self.function_class: FunctionClass | None = None
        self.kind: Kind = kind
        self.primal = primal
        self.signature: Signature | None = None
        self.provenance = provenance
        self.id = next(_identities)
        self.flags: dict[str, Any] = {}

    def add_parameter(self, name: str = "", type: Type | None = None, provenance: Provenance = UNKNOWN) -> Parameter:
        parameter = Parameter(self, name, type, provenance)
        self.parameters.append(parameter)
        return parameter

    def apply(self, function: Any, *arguments: Any, type: Type | None = None, name: str = "",
              provenance: Provenance = UNKNOWN) -> Apply:
        """A new Apply in this graph. Arguments that are no nodes become constants."""
        return Apply(self, [as_node(function), *map(as_node, arguments)], type, name, provenance)

    def __repr__(self) -> str:
        return f"@{self.name}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        return self


class Node:
    """Base of the three kinds of nodes. `name` is the user's variable, or '' (pictures then show source text, never an id)."""

    __slots__ = ("type", "name", "provenance", "id")

    type: Type | None
    name: str
    provenance: Provenance
    id: int

    def __init__(self, type: Type | None, name: str, provenance: Provenance) -> None:
        self.type, self.name, self.provenance = type, name, provenance
        self.id = next(_identities)


class Constant(Node):
    """A value. Belongs to no graph; sharing one Constant between uses is allowed but never required."""

    __slots__ = ("value",)

    def __init__(self, value: Any, type: Type | None = None, name: str = "", provenance: Provenance = UNKNOWN) -> None:
        super().__init__(type, name, provenance)
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


class Parameter(Node):
    __slots__ = ("graph",)

    def __init__(self, graph: Graph, name: str = "", type: Type | None = None, provenance: Provenance = UNKNOWN) -> None:
        super().__init__(type, name, provenance)
        self.graph = graph

    def __repr__(self) -> str:
        return f"%{self.name or self.id}"


class Apply(Node):
    """A call. `inputs[0]` is the function, the rest are the arguments."""

    __slots__ = ("graph", "inputs")

    def __init__(self, graph: Graph, inputs: list[Node], type: Type | None = None, name: str = "",
                 provenance: Provenance = UNKNOWN) -> None:
        super().__init__(type, name, provenance)
        self.graph, self.inputs = graph, inputs

    @property
    def function(self) -> Node:
        return self.inputs[0]

    @property
    def arguments(self) -> list[Node]:
        return self.inputs[1:]

    def __repr__(self) -> str:
        return f"%{self.name or self.id}"


_UNSET = Constant(None, None, "unset")


def as_node(value: Any) -> Node:
    return value if isinstance(value, Node) else Constant(value)


def primitive_of(node: Node) -> Primitive | None:
    """The primitive that an Apply calls, or None."""
    if node.__class__ is Apply:
        function = node.inputs[0]  # type: ignore[attr-defined]
        if function.__class__ is Constant and function.value.__class__ is Primitive:
            return function.value  # type: ignore[no-any-return]
    return None


def is_call_of(node: Node, primitive: Primitive) -> bool:
    if node.__class__ is not Apply:
        return False
    function = node.inputs[0]  # type: ignore[attr-defined]
    return function.__class__ is Constant and function.value is primitive


def callee_of(node: Node) -> Graph | None:
    """The graph of a known call, or None."""
    return graph_constant(node.inputs[0]) if node.__class__ is Apply else None  # type: ignore[attr-defined]


def graph_constant(node: Node) -> Graph | None:
    if node.__class__ is Constant and node.value.__class__ is Graph:  # type: ignore[attr-defined]
        return node.value  # type: ignore[attr-defined,no-any-return]
    return None


def schedule(graph: Graph, extra: Iterable[Node] = ()) -> list[Apply]:
    """The Apply nodes of `graph` that its output (and `extra`) need, each after what it needs. Iterative and deterministic:
    operands from left to right. Free variables (nodes of other graphs) are not entered."""
    seen: set[int] = set()
    order: list[Apply] = []
    stack: list[Any] = [*reversed(list(extra)), graph.output]
    while stack:
        node = stack.pop()
        if node is None:  # all that the node below needs is in order
            order.append(stack.pop())
        elif node.__class__ is Apply and node.graph is graph and node.id not in seen:
            seen.add(node.id)
            stack += (node, None)
            for operand in reversed(node.inputs):
                if operand.__class__ is Apply:
                    stack.append(operand)
    return order


def references(graph: Graph) -> Iterator[Graph]:
    """The graphs that appear as constants in `graph`, in order of first use, repeated when used again."""
    if (target := graph_constant(graph.output)) is not None:
        yield target
    for node in schedule(graph):
        for operand in node.inputs:
            if (target := graph_constant(operand)) is not None:
                yield target


def reachable(root: Graph) -> list[Graph]:
    """`root` and every graph it can run, in a deterministic order (first use, depth first). In nested form, graphs that own
    free variables are included. Function classes are not followed: a member that can run is a constant somewhere."""
    seen: set[int] = {root.id}
    order: list[Graph] = []
    stack = [root]
    while stack:
        graph = stack.pop()
        order.append(graph)
        found: list[Graph] = []
        visited: set[int] = set()
        nodes: list[Node] = [graph.output]
        while nodes:
            node = nodes.pop()
            kind = node.__class__
            if kind is Constant:
                if node.value.__class__ is Graph:  # type: ignore[attr-defined]
                    found.append(node.value)  # type: ignore[attr-defined]
                continue
            if node.graph is not graph:  # type: ignore[attr-defined]
                found.append(node.graph)  # type: ignore[attr-defined]
            if kind is Apply and node.id not in visited:
                visited.add(node.id)
                nodes.extend(node.inputs[::-1])  # type: ignore[attr-defined]
        for target in reversed(found):
            if target.id not in seen:
                seen.add(target.id)
                stack.append(target)
    return order


def count_nodes(root: Graph) -> int:
    """Apply nodes of all reachable graphs."""
    return sum(len(schedule(graph)) for graph in reachable(root))
