"""Forward mode of every primitive, generated from its samples: equal to reverse mode along random directions, on the interpreter and natively;
second derivatives by forward over reverse, reverse over forward and forward over forward, against differences."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from myia_notebook.emit.cpu import compile_cpu
from myia_notebook.gradient.expand import expand_gradients
from myia_notebook.gradient.options import GradientOptions, TangentOptions
from myia_notebook.infer.values import function_class_of, type_of_value
from myia_notebook.ir.graph import Constant, Graph
from myia_notebook.ir.types import Function, Static, Tuple, sensitivity
from myia_notebook.ir.verify import verify_typed
from myia_notebook.lower import lower
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.primitive import NotDifferentiable, Primitive, Sample
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.optimize import optimize
from myia_notebook.vm import run
from tests.ops.test_primitives import DIFFERENTIABLE, is_input, program, weighted_sum

IDS = [f"{p.name}-{i}" for p, _, i in DIFFERENTIABLE]


def function(graph: Graph) -> Constant:
    return Constant(graph, Function(function_class_of(graph)))


def directional(graph: Graph, active: tuple[int, ...]) -> Graph:
    """(x…, ẋ of the active ones…) ↦ the derivative of a graph's value along ẋ."""
    made = Graph("directional", "function")
    b = Builder(made)
    xs = [made.add_parameter("x", p.type) for p in graph.parameters]
    dots = [made.add_parameter("dx", graph.parameters[i].type) for i in active]
    options = TangentOptions(len(xs), active)
    t = Tuple((graph.result, sensitivity(graph.result)))  # type: ignore[arg-type]
    pair = b.apply(PRIMITIVES["tangent_call"], function(graph), Constant(options, Static(options)), *xs, *dots, type=t)
    made.output, made.result = b.item(pair, 1), t.items[1]
    return made


def gradient(graph: Graph, wrt: tuple[int, ...]) -> Graph:
    """x… ↦ the gradients of a scalar graph."""
    made = Graph("gradient", "function")
    b = Builder(made)
    xs = [made.add_parameter("x", p.type) for p in graph.parameters]
    options = GradientOptions(wrt, False, False)
    made.result = Tuple(tuple(sensitivity(xs[i].type) for i in wrt))  # type: ignore[arg-type]
    made.output = b.apply(PRIMITIVES["gradient_call"], function(graph), Constant(options, Static(options)), *xs, type=made.result)
    return made


def native(expanded: Graph) -> Any:
    return compile_cpu(lower(optimize(expanded)))


def direction(value: Any, seed: int) -> Any:
    made = np.random.default_rng(seed).uniform(0.5, 1.5, np.shape(value))
    if isinstance(value, np.ndarray):
        return made.astype(value.dtype)
    return type(value)(made)


def paired(gradients: Any, dots: list[Any]) -> float:
    return sum(float(np.sum(np.asarray(g, np.float64) * np.asarray(d, np.float64))) for g, d in zip(gradients, dots))


def setting(primitive: Primitive, sample: Sample) -> tuple[Graph, list[Any], tuple[int, ...], list[Any], bool]:
    graph, inputs = program(primitive, sample)
    positions = [i for i, v in enumerate(sample.arguments) if is_input(v)]
    active = tuple(positions.index(i) for i in sample.differentiable)
    dots = [direction(inputs[i], 7 + i) for i in active]
    single = "float32" in "".join(str(t) for t in (graph.result, *(p.type for p in graph.parameters)))
    return weighted_sum(graph), inputs, active, dots, single


@pytest.mark.parametrize(("primitive", "sample", "number"), DIFFERENTIABLE, ids=IDS)
def test_forward_is_reverse(primitive: Primitive, sample: Sample, number: int) -> None:
    scalar, inputs, active, dots, single = setting(primitive, sample)
    tolerance = 2e-5 if single else 1e-12
    forward = expand_gradients(directional(scalar, active))
    assert verify_typed(forward) == []
    found = run(forward, [*inputs, *dots])
    assert type_of_value(found) == scalar.result
    gradients = run(expand_gradients(gradient(scalar, active)), inputs)
    np.testing.assert_allclose(float(found), paired(gradients, dots), rtol=tolerance, atol=tolerance)
    if number < 2:
        np.testing.assert_allclose(float(native(forward)(*inputs, *dots)), float(found), rtol=tolerance, atol=tolerance)


SECOND = [(p, s, i) for p, s, i in DIFFERENTIABLE if not any(getattr(v, "dtype", None) == np.float32 for v in s.arguments)]


@pytest.mark.parametrize(("primitive", "sample", "number"), SECOND, ids=[f"{p.name}-{i}" for p, _, i in SECOND])
def test_second_derivatives_in_every_order_of_modes(primitive: Primitive, sample: Sample, number: int) -> None:
    """v·H·w by ▷▶, ▶▷ and ▷▷, and by a difference of gradients."""
    scalar, inputs, active, v, _ = setting(primitive, sample)
    w = [direction(inputs[i], 70 + i) for i in active]
    along = directional(scalar, active)
    forward_over_reverse = run(expand_gradients(directional(gradient(scalar, active), active), optimize), [*inputs, *v])
    value = paired(forward_over_reverse, w)
    reverse_over_forward = run(expand_gradients(gradient(along, active), optimize), [*inputs, *w])
    forward_over_forward = run(expand_gradients(directional(along, active), optimize), [*inputs, *w, *v])
    scale = 1e-10 * max(1.0, abs(value))
    assert abs(paired(reverse_over_forward, v) - value) <= scale
    assert abs(float(forward_over_forward) - value) <= scale
    reverse = expand_gradients(gradient(scalar, active))

    def at(h: float) -> float:
        moved = list(inputs)
        for i, dot in zip(active, v):
            moved[i] = type(inputs[i])(inputs[i] + h * dot) if not isinstance(inputs[i], np.ndarray) else inputs[i] + h * dot
        return paired(run(reverse, moved), w)

    h = 1e-3
    difference = (8 * (at(h / 2) - at(-h / 2)) - (at(h) - at(-h))) / (6 * h)
    np.testing.assert_allclose(value, difference, rtol=1e-7, atol=1e-7)


def test_what_has_no_derivative_has_no_tangent() -> None:
    """Primitives say the same in both modes: a rule for one is a rule for the other."""
    for primitive in PRIMITIVES.values():
        assert isinstance(primitive.backpropagator, NotDifferentiable) == isinstance(primitive.tangent, NotDifferentiable), primitive
