"""Tests generated from the table of primitives: a new primitive gets its tests from its samples.

For each sample: the inferred type is the actual one, on the interpreter and natively; the gradient agrees with central differences of the
implementation at high step accuracy (Richardson), natively too; and the second derivative with differences of the gradient.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from myia_notebook.emit.cpu import compile_cpu
from myia_notebook.gradient.expand import expand_gradients
from myia_notebook.gradient.options import GradientOptions
from myia_notebook.infer.values import function_class_of, type_of_value
from myia_notebook.ir.graph import Constant, Graph
from myia_notebook.ir.types import FLOAT64, Array, Function, Scalar, Static, Tuple, Type, is_float, sensitivity
from myia_notebook.ir.verify import verify_typed
from myia_notebook.lower import lower
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.primitive import NotDifferentiable, Primitive, Sample
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.optimize import optimize
from myia_notebook.vm import run

SAMPLES = [(p, s, i) for p in PRIMITIVES.values() for i, s in enumerate(p.samples)]
IDS = [f"{p.name}-{i}" for p, _, i in SAMPLES]


def is_input(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def program(primitive: Primitive, sample: Sample) -> tuple[Graph, list[Any]]:
    """x… ↦ primitive(…): float samples are parameters, everything else constants."""
    graph = Graph(primitive.name)
    builder = Builder(graph)
    operands, inputs = [], []
    for value in sample.arguments:
        if is_input(value):
            operands.append(graph.add_parameter("x", type_of_value(value)))
            inputs.append(value)
        elif isinstance(value, Type):
            operands.append(Constant(value, Static(value)))
        else:
            operands.append(builder.constant(value))
    graph.output = builder.apply(primitive, *operands)
    graph.result = Builder.type_of(graph.output)
    return graph, inputs


def weighted_sum(graph: Graph) -> Graph:
    """x… ↦ the sum of the result's elements, each times a weight of its own: a scalar to differentiate."""
    scalar = Graph("sum", "function")
    builder = Builder(scalar)
    parameters = [scalar.add_parameter("x", p.type) for p in graph.parameters]
    out = builder.call(graph, *parameters, type=graph.result)
    t = graph.result
    if isinstance(t, Tuple):
        out, t = builder.item(out, 0), t.items[0]
    if isinstance(t, Array):
        weights = np.linspace(0.5, 1.5, int(np.prod(t.shape))).reshape(t.shape).astype(t.dtype)
        product = builder.apply(PRIMITIVES["multiply"], out, builder.constant(weights))
        out = builder.apply(PRIMITIVES["reduce_sum"], product, builder.constant(tuple(range(len(t.shape)))), builder.constant(False))
    scalar.output = out
    scalar.result = Builder.type_of(out)
    return scalar


def gradient(scalar: Graph, wrt: int) -> Graph:
    program_ = Graph("gradient", "program")
    builder = Builder(program_)
    parameters = [program_.add_parameter("x", p.type) for p in scalar.parameters]
    f = Constant(scalar, Function(function_class_of(scalar)))
    options = GradientOptions((wrt,), True, False)
    program_.output = builder.apply(PRIMITIVES["gradient_call"], f, Constant(options, Static(options)), *parameters,
                                    type=sensitivity(parameters[wrt].type))
    program_.result = Builder.type_of(program_.output)
    return expand_gradients(program_, optimize)


def differences(function: Any, inputs: list[Any], wrt: int) -> Any:
    """Central differences with Richardson extrapolation: error of order h⁴, h chosen for float64."""
    x = np.asarray(inputs[wrt], np.float64)
    result = np.zeros(x.shape)
    for place in np.ndindex(*x.shape):
        def at(h: float, place: tuple[int, ...] = place) -> float:
            shifted = [np.asarray(v, np.float64) if is_input(v) else v for v in inputs]
            moved = x.copy()
            moved[place] += h
            shifted[wrt] = moved
            return float(function(*[v[()] if isinstance(v, np.ndarray) and v.ndim == 0 else v for v in shifted]))
        h = 1e-3
        result[place] = (8 * (at(h / 2) - at(-h / 2)) - (at(h) - at(-h))) / (6 * h)
    return result


@pytest.mark.parametrize(("primitive", "sample", "number"), SAMPLES, ids=IDS)
def test_inferred_type_is_the_actual_one(primitive: Primitive, sample: Sample, number: int) -> None:
    graph, inputs = program(primitive, sample)
    assert verify_typed(graph) == []
    value = run(graph, inputs)
    assert type_of_value(value) == graph.result or (not inputs and type_of_value(value) == type_of_value(graph.output.value if isinstance(
        graph.output, Constant) else value))


@pytest.mark.parametrize(("primitive", "sample", "number"), SAMPLES, ids=IDS)
def test_native_agrees_with_the_interpreter(primitive: Primitive, sample: Sample, number: int) -> None:
    graph, inputs = program(primitive, sample)
    native = compile_cpu(lower(graph))(*inputs)
    expected = run(graph, inputs)
    assert type_of_value(native) == graph.result
    for a, b in zip(native if isinstance(native, tuple) else (native,), expected if isinstance(expected, tuple) else (expected,)):
        np.testing.assert_allclose(a, b, rtol=1e-6 if "float32" in str(graph.result) else 1e-13, equal_nan=True)


DIFFERENTIABLE = [(p, s, i) for p, s, i in SAMPLES if s.differentiable and not isinstance(p.backpropagator, NotDifferentiable)]


@pytest.mark.parametrize(("primitive", "sample", "number"), DIFFERENTIABLE, ids=[f"{p.name}-{i}" for p, _, i in DIFFERENTIABLE])
def test_gradient_and_second_derivative(primitive: Primitive, sample: Sample, number: int) -> None:
    graph, inputs = program(primitive, sample)
    scalar = weighted_sum(graph)
    positions = [i for i, v in enumerate(sample.arguments) if is_input(v)]
    single = any(getattr(v, "dtype", None) == np.float32 for v in inputs)
    for wanted in sample.differentiable:
        wrt = positions.index(wanted)
        first = gradient(scalar, wrt)
        assert verify_typed(first) == []
        found = run(first, inputs)
        expected = differences(_wide(primitive, sample, scalar), inputs, wrt)
        np.testing.assert_allclose(np.asarray(found, np.float64), expected, rtol=2e-4 if single else 2e-9, atol=1e-4 if single else 1e-9)
        assert type_of_value(found) == sensitivity(scalar.parameters[wrt].type)
        native = compile_cpu(lower(optimize(first)))(*inputs)
        np.testing.assert_allclose(native, found, rtol=1e-5 if single else 1e-12, atol=1e-12)
        if not single:
            _second(first, inputs, wrt)


def _second(first: Graph, inputs: list[Any], wrt: int) -> None:
    summed = weighted_sum(first)
    second = gradient(summed, wrt)
    assert verify_typed(second) == []
    found = run(second, inputs)
    expected = differences(lambda *v: run(summed, [_like(a, b) for a, b in zip(v, inputs)]), inputs, wrt)
    np.testing.assert_allclose(np.asarray(found, np.float64), expected, rtol=1e-7, atol=1e-7)


def _like(value: Any, original: Any) -> Any:
    return float(value) if isinstance(original, float) and not isinstance(original, np.floating) else value


def _wide(primitive: Primitive, sample: Sample, scalar: Graph) -> Any:
    """The scalar function in float64, whatever the sample's dtype, by the implementation (NumPy), without any rule."""
    t = program(primitive, sample)[0].result

    def function(*inputs: Any) -> float:
        values = iter(inputs)
        arguments = [next(values) if is_input(v) else v for v in sample.arguments]
        if primitive.name in ("cast",):
            return float(np.sum(np.asarray(arguments[0]) * _weights(t)))
        out = primitive.implementation(*arguments)
        out = out[0] if isinstance(out, tuple) else out
        return float(np.sum(np.asarray(out, np.float64) * _weights(t)))

    return function


def _weights(t: Any) -> Any:
    if isinstance(t, Tuple):
        t = t.items[0]
    return np.linspace(0.5, 1.5, int(np.prod(t.shape))).reshape(t.shape) if isinstance(t, Array) else 1.0


def test_the_table_is_complete() -> None:
    """Every primitive says everything: no field is None, and a computing primitive has samples."""
    for primitive in PRIMITIVES.values():
        assert all(getattr(primitive, f) is not None for f in ("infer", "implementation", "backpropagator", "tangent", "emit")), primitive
        assert primitive.samples or callable(primitive.infer) is False or primitive.name in ("switch", "sequence", "raise_", "print_", "add_sensitivities") or "list" in primitive.laws, primitive


@pytest.mark.parametrize("a", ["bool", "int64", "int32", "float32", "float64", "python int", "python float"])
@pytest.mark.parametrize("b", ["bool", "int64", "int32", "float32", "float64", "python int", "python float"])
def test_promotion_is_numpys(a: str, b: str) -> None:
    from myia_notebook.ops.promotion import promote
    scalars = {"python int": Scalar("int64", True), "python float": Scalar("float64", True), "bool": Scalar("bool")}
    numbers = {"python int": 1, "python float": 1.0, "bool": np.True_}
    x, y = (scalars.get(n) or Scalar(n) for n in (a, b))
    u, v = (numbers[n] if n in numbers else np.dtype(n).type(1) for n in (a, b))
    result = promote([x, y])
    if a.startswith("python") and b.startswith("python"):
        assert result.weak and result.dtype == ("float64" if "python float" in (a, b) else "int64")
    elif "bool" in (a, b) and (a.startswith("python") or b.startswith("python")):
        assert result.weak  # True + 1 is Python's
    else:
        assert np.result_type(u, v).name == result.dtype


def test_float64_is_used() -> None:
    assert is_float(FLOAT64)
