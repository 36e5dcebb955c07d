"""Typed expressions: how rules and expansions are written, and how every transform makes typed nodes.

`Builder(graph)` makes Apply nodes typed by the primitive's own `infer`, so nothing is ever re-inferred. `Expr` wraps a node with
Python operators, so that a rule reads as its equation. An Expr whose `is_sensitivity` is set is linear data flowing backwards:
its products and quotients are the *strong* ones (0·∞ = 0, LANGUAGE.md "A branch not taken contributes nothing").

Operators build the unchecked, IEEE primitives (`divide`, never the raising Python division): derivatives never raise.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from myia_notebook.ir.graph import ZERO, Apply, Constant, Graph, Node
from myia_notebook.ir.types import UNIT, Record, Static, Structure, Tuple, Type
from myia_notebook.ops.primitive import UNKNOWN, Abstract, Primitive
from myia_notebook.provenance import UNKNOWN as NO_PROVENANCE
from myia_notebook.provenance import Provenance

if TYPE_CHECKING:
    from typing import Self


class Builder:
    """Makes typed nodes in `graph`. `provenance` is given to every node made; `on_new` (if set) sees each new Apply.

    `known` maps node ids to values that inference knows although the node is no constant (used while expanding operations).
    """

    def __init__(self, graph: Graph, provenance: Provenance = NO_PROVENANCE, on_new: Callable[[Apply], None] | None = None,
                 known: dict[int, Any] | None = None) -> None:
        self.graph, self.provenance, self.on_new = graph, provenance, on_new
        self.known: dict[int, Any] = {} if known is None else known
        self.box: Any = None  # how unions are formed, while expanding operations
        self.checks_windows = False  # whether a slice of known length may turn out at run time to lie outside the array

    def abstract(self, node: Node) -> Abstract:
        if isinstance(node, Constant):
            return Abstract(self.type_of(node), node.value)
        return Abstract(self.type_of(node), self.known.get(node.id, UNKNOWN))

    @staticmethod
    def type_of(node: Node) -> Type:
        if node.type is None:
            if not isinstance(node, Constant):
                raise AssertionError(f"untyped node {node!r}")
            from myia_notebook.infer.values import type_of_value
            node.type = type_of_value(node.value)
        return node.type

    def constant(self, value: Any, type: Type | None = None) -> Constant:
        node = Constant(value, type, provenance=self.provenance)
        self.type_of(node)
        return node

    def zero(self, type: Type) -> Constant:
        return Constant(ZERO, type, provenance=self.provenance)

    def apply(self, primitive: Primitive, *arguments: Node, type: Type | None = None, name: str = "") -> Node:
        """`primitive(*arguments)`, typed by the primitive's rule unless `type` is given. A result whose value is known becomes a
        constant only if the rule says so (`Abstract.value`)."""
        if type is None:
            assert callable(primitive.infer), f"{primitive} is structural: give its type"
            inferred = primitive.infer([self.abstract(argument) for argument in arguments])
            if isinstance(inferred, Abstract):
                if inferred.is_known:
                    return Constant(inferred.value, inferred.type, name, self.provenance)
                inferred = inferred.type
            type = inferred
        node = Apply(self.graph, [Constant(primitive, Static(primitive)), *arguments], type, name, self.provenance)
        if self.on_new is not None:
            self.on_new(node)
        return node

    def call(self, function: Graph | Node, *arguments: Node, type: Type, name: str = "") -> Apply:
        """A call of a known graph or of a function value. The caller says its type."""
        head = Constant(function) if isinstance(function, Graph) else function
        node = Apply(self.graph, [head, *arguments], type, name, self.provenance)
        if self.on_new is not None:
            self.on_new(node)
        return node

    def tuple(self, *items: Node, name: str = "") -> Node:
        """A tuple; of constants it is a constant (never of graphs or undefined values)."""
        from myia_notebook.ops.table import make_tuple
        types = Tuple(tuple(map(self.type_of, items)))
        if all(isinstance(i, Constant) and _is_plain(i.value) for i in items):
            values = [i.value for i in items if isinstance(i, Constant)]
            if not items:
                return Constant((), UNIT, name, self.provenance)
            if all(v is ZERO for v in values):
                return Constant(ZERO, types, name, self.provenance)
            if not any(v is ZERO for v in values):
                return Constant(tuple(values), types, name, self.provenance)
        return self.apply(make_tuple, *items, type=types, name=name)

    def record(self, structure: Structure, *items: Node) -> Node:
        """A record of these fields."""
        made = self.tuple(*items)
        t = Record(tuple(map(self.type_of, items)), structure)
        if isinstance(made, Constant):
            return Constant(made.value, t, "", self.provenance)
        made.type = t
        return made

    def branch(self, test: Expr, operands: tuple[Expr, ...], first: Callable[..., Expr], second: Callable[..., Expr]) -> Expr:
        """(first if test else second)(operands…): only one of them is computed. Used while expanding operations; the results are joined."""
        from myia_notebook.ops.table import PRIMITIVES
        arms: list[Graph] = []
        for function in (first, second):
            arm = Graph("case", "branch", self.provenance)
            inner = type(self)(arm, self.provenance)
            inner.box, inner.checks_windows = self.box, self.checks_windows
            parameters = [arm.add_parameter(o.node.name, o.type, o.node.provenance) for o in operands]
            made = function(*(Expr(inner, p) for p in parameters))
            arm.output = made.node
            arm.result = made.type
            arms.append(arm)
        t = self.join(arms[0].result, arms[1].result)
        for arm in arms:
            arm.result = t
            arm.flags["expansion"] = True
        node = self.apply(PRIMITIVES["branch"], test.node, Constant(arms[0], Static(arms[0])), Constant(arms[1], Static(arms[1])),
                          *(o.node for o in operands), type=t)
        return self.expr(node)

    def join(self, a: Any, b: Any) -> Type:
        """The join of two types (M302 when there is none)."""
        from myia_notebook.errors import error
        from myia_notebook.infer.join import CannotJoin, join
        try:
            return join(a, b, self.box)
        except CannotJoin:
            raise error("M302", first=a, second=b) from None

    def item(self, value: Node, index: int, name: str = "") -> Node:
        """`value[index]` of a tuple, read directly where the tuple is visible."""
        from myia_notebook.ops.table import make_tuple, tuple_getitem
        t = self.type_of(value)
        assert isinstance(t, Tuple), f"item of {t}"
        if isinstance(value, Constant):
            inner = value.value if value.value is ZERO or not isinstance(value.value, tuple) else value.value[index]
            return Constant(inner, t.items[index], name, self.provenance)
        if isinstance(value, Apply) and isinstance(value.inputs[0], Constant) and value.inputs[0].value is make_tuple:
            return value.inputs[1 + index]
        return self.apply(tuple_getitem, value, self.constant(index), type=t.items[index], name=name)

    def expr(self, node: Node, is_sensitivity: bool = False) -> Expr:
        return Expr(self, node, is_sensitivity)


def _is_plain(value: Any) -> bool:
    return not isinstance(value, (Graph, Primitive)) and not (value is not ZERO and type(value).__name__ in ("Sentinel", "ndarray", "Label"))


class Expr:
    """A node with operators. Python numbers mix in as weak constants. `primal_type` is set by the gradient transform where the node
    is a ▶ node: a rule sees the type of the primal (functions there are not yet their forward functions)."""

    __slots__ = ("builder", "node", "is_sensitivity", "primal_type")

    def __init__(self, builder: Builder, node: Node, is_sensitivity: bool = False, primal_type: Type | None = None) -> None:
        self.builder, self.node, self.is_sensitivity, self.primal_type = builder, node, is_sensitivity, primal_type

    @property
    def type(self) -> Type:
        return self.primal_type or Builder.type_of(self.node)

    @property
    def abstract(self) -> Abstract:
        return self.builder.abstract(self.node)

    @property
    def value(self) -> Any:
        """The value known before running, or UNKNOWN."""
        return self.abstract.value

    def lift(self, other: Any) -> Expr:
        return other if isinstance(other, Expr) else Expr(self.builder, self.builder.constant(other))

    def _new(self, primitive: Primitive, *operands: Expr, linear: bool) -> Self:
        node = self.builder.apply(primitive, *(o.node for o in operands))
        return type(self)(self.builder, node, linear)

    def __add__(self, other: Any) -> Expr:
        return _binary("add", self, self.lift(other))

    def __radd__(self, other: Any) -> Expr:
        return _binary("add", self.lift(other), self)

    def __sub__(self, other: Any) -> Expr:
        return _binary("subtract", self, self.lift(other))

    def __rsub__(self, other: Any) -> Expr:
        return _binary("subtract", self.lift(other), self)

    def __mul__(self, other: Any) -> Expr:
        return _multiply(self, self.lift(other))

    def __rmul__(self, other: Any) -> Expr:
        return _multiply(self.lift(other), self)

    def __truediv__(self, other: Any) -> Expr:
        return _binary("strong_divide" if self.is_sensitivity else "divide", self, self.lift(other))

    def __rtruediv__(self, other: Any) -> Expr:
        return _binary("divide", self.lift(other), self)

    def __pow__(self, other: Any) -> Expr:
        return _binary("power", self, self.lift(other))

    def __neg__(self) -> Expr:
        return apply("negative", self)

    def __lt__(self, other: Any) -> Expr:
        return _binary("less", self, self.lift(other))

    def __le__(self, other: Any) -> Expr:
        return _binary("less_equal", self, self.lift(other))

    def __gt__(self, other: Any) -> Expr:
        return _binary("greater", self, self.lift(other))

    def __ge__(self, other: Any) -> Expr:
        return _binary("greater_equal", self, self.lift(other))

    def equals(self, other: Any) -> Expr:
        return _binary("equal", self, self.lift(other))


def _binary(name: str, x: Expr, y: Expr) -> Expr:
    return apply(name, x, y)


def _multiply(x: Expr, y: Expr) -> Expr:
    """A product with a sensitivity is strong; the sensitivity goes first."""
    if x.is_sensitivity:
        return apply("strong_multiply", x, y)
    if y.is_sensitivity:
        return apply("strong_multiply", y, x)
    return apply("multiply", x, y)


def apply(name: str, *operands: Any, static: Sequence[Any] = ()) -> Expr:
    """The primitive `name` on expressions (numbers are lifted), followed by static arguments (shapes, axes, dtypes) as constants.
    The result is a sensitivity when an operand is."""
    from myia_notebook.ops.table import PRIMITIVES
    first = next(o for o in operands if isinstance(o, Expr))
    lifted = [first.lift(o) for o in operands]
    builder = first.builder
    arguments = [o.node for o in lifted] + [builder.constant(s, Static(s) if isinstance(s, str) else None) for s in static]
    node = builder.apply(PRIMITIVES[name], *arguments)
    return Expr(builder, node, any(o.is_sensitivity for o in lifted))
