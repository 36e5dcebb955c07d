"""Jacobians as loops of directional derivatives, in typed form.

    forwards    for i: J[i] = tangent_call(f, x, e_i)          as many steps as x has elements; J is (n, *out), then transposed
    backwards   for i: J[i] = gradient_call(f, x, ∇y = e_i)    as many steps as y has elements; J is (m, *in)

The shape of a block is that of the output followed by that of the input. Outputs and inputs may be structures: the result then has the output's
structure, with the input's structure in place of each leaf. Forwards where the inputs have no more elements than the output, or the output is a
structure; backwards otherwise.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from myia_notebook.errors import error
from myia_notebook.gradient.options import GradientOptions, Path, TangentOptions
from myia_notebook.ir.graph import Constant, Graph, Node, graph_constant, is_call_of
from myia_notebook.ir.types import INT, Array, Function, Scalar, Static, Tuple, Type, is_float, map_parts, sensitivity
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.promotion import with_shape
from myia_notebook.ops.table import PRIMITIVES

GRADIENT_CALL, TANGENT_CALL, PARTIAL, BRANCH, INDEX_ADD, WHERE, EQUAL, ADD, LESS, CAST, MAKE_TUPLE = (
    PRIMITIVES[n] for n in ("gradient_call", "tangent_call", "partial", "branch", "index_add", "where", "equal", "add", "less", "cast", "make_tuple"))


def shape_of(t: Type) -> tuple[int, ...]:
    return t.shape if isinstance(t, Array) else ()


def size_of(t: Type) -> int:
    return math.prod(shape_of(t))


def leaves(t: Type, what: str = "") -> list[Type]:
    """The real numbers and arrays in a structure, from left to right. Raises M603 for a leaf that is none."""
    match t:
        case Tuple(items):
            return [leaf for item in items for leaf in leaves(item, what)]
        case _ if is_float(t):
            return [t]
        case _:
            raise error("M603", message=f"the Jacobian of a function whose {what or 'data'} holds a value of type {t}",
                        hint="inputs and outputs of a Jacobian are floats, arrays of floats, and structures of them")


def block_type(out: Type, inner: Type) -> Type:
    assert isinstance(out, (Scalar, Array))
    shape = (*shape_of(out), *shape_of(inner))
    weak = isinstance(out, Scalar) and out.weak and not shape
    return with_shape(Scalar(out.dtype, weak), shape)


def jacobian_type(out: Type, inner: Type) -> Type:
    """The type of the Jacobian of a result of type `out` with respect to an argument of type `inner`."""
    leaves(out, "result")
    leaves(inner, "argument")
    return _mapped(out, lambda o: _mapped(inner, lambda i: block_type(o, i)))


def _mapped(t: Type, function: Callable[[Type], Type]) -> Type:
    return map_parts(t, lambda part: _mapped(part, function)) if isinstance(t, Tuple) else function(t)


class Jacobian:
    """The Jacobian of f at the arguments, as nodes of the builder's graph."""

    def __init__(self, builder: Builder, f: Node, arguments: list[Node], result: Type) -> None:
        self.b, self.arguments, self.result = builder, arguments, result
        self.outs = leaves(result, "result")
        self.f, self.parts = _taken_apart(f)
        self.provenance = builder.provenance

    def build(self, wrt: tuple[Path, ...], is_single: bool, is_forward: bool) -> Node:
        inputs = [leaf for path in wrt for leaf in leaves(self._type(path), "argument")]
        forwards = is_forward or isinstance(self.result, Tuple) or sum(map(size_of, inputs)) <= size_of(self.result)
        blocks = self._forwards(wrt) if forwards else self._backwards(wrt)
        inner = [self._type(path) for path in wrt]
        rows = [iter(blocks[k::len(self.outs)]) if forwards else iter(blocks) for k in range(len(self.outs))]
        order = iter(range(len(self.outs)))

        def column(t: Type, row: Any) -> Node:
            return self.b.tuple(*(column(item, row) for item in t.items)) if isinstance(t, Tuple) else next(row)

        def whole(t: Type) -> Node:
            if isinstance(t, Tuple):
                return self.b.tuple(*map(whole, t.items))
            row = rows[next(order)]
            made = [column(item, row) for item in inner]
            return made[0] if is_single else self.b.tuple(*made)

        return whole(self.result)

    def _type(self, path: Path) -> Type:
        at, item = path if isinstance(path, tuple) else (path, None)
        t = Builder.type_of(self.arguments[at])
        if item is None:
            return t
        assert isinstance(t, Tuple)
        return t.items[item]

    # -- forwards

    def _forwards(self, wrt: tuple[Path, ...]) -> list[Node]:
        """For each leaf of the inputs in turn, the blocks of all outputs."""
        blocks: list[Node] = []
        for path in wrt:
            for number, leaf in enumerate(leaves(self._type(path))):
                def row(b: Builder, f: Node, arguments: list[Node], i: Node | None, path: Path = path, number: int = number, leaf: Type = leaf) -> list[Node]:
                    return self._along(b, f, arguments, path, number, one_hot(b, leaf, i))

                for out, made in zip(self.outs, self._loop(leaf, [sensitivity(o) for o in self.outs], row)):
                    blocks.append(self._turned(made, out, leaf))
        return blocks

    def _along(self, b: Builder, f: Node, arguments: list[Node], path: Path, number: int, tangent: Node) -> list[Node]:
        """The tangents of the outputs along one leaf of one argument."""
        at, item = path if isinstance(path, tuple) else (path, None)
        t = Builder.type_of(arguments[at])
        count = 0

        def placed(t: Type, inside: bool, position: int | None) -> Node:
            nonlocal count
            if isinstance(t, Tuple):
                return b.tuple(*(placed(x, inside or k == item, None) for k, x in enumerate(t.items)))
            if not inside or not is_float(t):
                return b.zero(sensitivity(t))
            count += 1
            return tangent if count - 1 == number else b.zero(sensitivity(t))

        dot = placed(t, item is None, item)
        options = TangentOptions(len(arguments), (at,))
        made = b.apply(TANGENT_CALL, f, Constant(options, Static(options)), *arguments, dot, type=Tuple((self.result, self.result)))
        return _flat(b, b.item(made, 1))

    def _turned(self, made: Node, out: Type, leaf: Type) -> Node:
        """(n, *out) to (*out, *in)."""
        if not shape_of(leaf):
            return self._typed(made, block_type(out, leaf))
        rank = len(shape_of(out))
        if rank:
            made = self.b.apply(PRIMITIVES["transpose"], made, self.b.constant((*range(1, rank + 1), 0)))
        return self._reshaped(made, block_type(out, leaf))

    def _reshaped(self, made: Node, t: Type) -> Node:
        if shape_of(Builder.type_of(made)) != shape_of(t):
            made = self.b.apply(PRIMITIVES["reshape"], made, self.b.constant(shape_of(t)))
        return self._typed(made, t)

    def _typed(self, made: Node, t: Type) -> Node:
        return made if Builder.type_of(made) == t else self.b.apply(CAST, made, Constant(t, Static(t)), type=t)

    # -- backwards

    def _backwards(self, wrt: tuple[Path, ...]) -> list[Node]:
        """The blocks of the one output for each leaf of the inputs."""
        types = [sensitivity(self._type(path)) for path in wrt]
        inner = [leaf for t in types for leaf in leaves(t)]
        options = GradientOptions(wrt, False, False, has_seed=True)

        def row(b: Builder, f: Node, arguments: list[Node], i: Node | None) -> list[Node]:
            seed = one_hot(b, sensitivity(self.result), i)
            made = b.apply(GRADIENT_CALL, f, Constant(options, Static(options)), *arguments, seed, type=Tuple(tuple(types)))
            return _flat(b, made)

        made = self._loop(self.result, inner, row)
        return [self._reshaped(m, block_type(self.result, leaf)) for m, leaf in zip(made, inner)]

    # -- the loop

    def _loop(self, over: Type, rows: list[Type], row: Callable[[Builder, Node, list[Node], Node | None], list[Node]]) -> list[Node]:
        """The values of `row` for each element of `over`, stacked; for a scalar just its values."""
        if not shape_of(over):
            return row(self.b, self.f(self.b, self.parts), self.arguments, None)
        n = size_of(over)
        stacked: list[Type] = [with_shape(Scalar(t.dtype), (n, *shape_of(t))) for t in rows]  # type: ignore[attr-defined]
        if n == 0:
            return [self.b.zero(t) for t in stacked]
        result = Tuple(tuple(stacked))
        free = [*self.parts, *self.arguments]
        loop, body, done = Graph("jacobian", "loop", self.provenance), Graph("row", "branch", self.provenance), Graph("done", "branch", self.provenance)
        for g in (loop, body, done):
            g.result = result
            for x in free:
                g.add_parameter(x.name, Builder.type_of(x))
            g.add_parameter("i", INT)
            for t in stacked:
                g.add_parameter("", t)
        k = len(free)
        outer = Builder(loop, self.provenance)
        test = outer.apply(LESS, loop.parameters[k], outer.constant(n, INT))
        loop.output = outer.apply(BRANCH, test, Constant(body), Constant(done), *loop.parameters, type=result)
        done.output = Builder(done, self.provenance).apply(MAKE_TUPLE, *done.parameters[k + 1:], type=result)
        b = Builder(body, self.provenance)
        i = body.parameters[k]
        made = row(b, self.f(b, list(body.parameters[:len(self.parts)])), list(body.parameters[len(self.parts):k]), i)
        filled: list[Node] = []
        for buffer, value in zip(body.parameters[k + 1:], made):
            spec = ("int", *(("slice", 0, m, 1) for m in shape_of(Builder.type_of(value))))
            filled.append(b.apply(INDEX_ADD, buffer, value, b.constant(spec), i))
        body.output = b.call(loop, *body.parameters[:k], b.apply(ADD, i, b.constant(1, INT)), *filled, type=result)
        whole = self.b.call(loop, *free, self.b.constant(0, INT), *(self.b.zero(t) for t in stacked), type=result)
        return [self.b.item(whole, j) for j in range(len(stacked))]


def one_hot(b: Builder, t: Type, i: Node | None) -> Node:
    """1 at position i (in order of elements) of a zero of type t; 1 for a scalar."""
    assert isinstance(t, (Scalar, Array))
    scalar = np.dtype(t.dtype).type
    if isinstance(t, Scalar):
        return b.constant(1.0 if t.weak else scalar(1), t)
    assert i is not None
    hit = b.apply(EQUAL, b.constant(np.arange(size_of(t))), i)
    flat = b.apply(WHERE, hit, b.constant(scalar(1)), b.constant(scalar(0)))
    return flat if t.shape == (size_of(t),) else b.apply(PRIMITIVES["reshape"], flat, b.constant(t.shape))


def _flat(b: Builder, node: Node) -> list[Node]:
    t = Builder.type_of(node)
    return [leaf for i in range(len(t.items)) for leaf in _flat(b, b.item(node, i))] if isinstance(t, Tuple) else [node]


def _taken_apart(f: Node) -> tuple[Callable[[Builder, list[Node]], Node], list[Node]]:
    """How to make f again in another graph, from these nodes."""
    t = Builder.type_of(f)
    assert isinstance(t, Function)
    if graph_constant(f) is not None:
        return (lambda b, given: Constant(f.value, t)), []  # type: ignore[attr-defined]
    if is_call_of(f, PARTIAL):
        head, captured = f.inputs[1], f.inputs[2:]  # type: ignore[attr-defined]
        return (lambda b, given: b.apply(PARTIAL, Constant(head.value, t), *given, type=t)), captured
    return (lambda b, given: given[0]), [f]


__all__ = ["Jacobian", "jacobian_type", "leaves"]
