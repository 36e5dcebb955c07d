"""Programs with function values: closures of different signatures in one variable, functions or None, functions called with different types.

Each is a function of one real number, compared with plain Python by `test_programs.py`."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from myia_notebook import grad


def different_defaults(x: float) -> float:
    def f(v, k=2.0):
        return v * k

    def g(v, k=3.0):
        return v * v + k
    h = f if x > 1.0 else g
    j = g if x > 1.0 else f
    return h(x) + 10.0 * j(x) + h(x, 5.0)


def different_arity(x: float) -> float:
    def f(v):
        return math.sin(v)

    def g(v, scale=2.0, shift=1.0):
        return v * scale + shift * v * v
    total = 0.0
    for h in (f, g):
        total = total + h(x)
    fs = [f, g]
    i = 0
    while i < 2:
        total = total * 1.5 + fs[i](x + i)
        i += 1
    return total


def variadic_or_not(x: float) -> float:
    def f(*args):
        return sum(args) * x

    def g(a, b):
        return a * b
    h = f if x > 1.0 else g
    j = g if x > 1.0 else f
    return h(x, 2.0) + j(x, 3.0) ** 2


def keywords_in_any_order(x: float) -> float:
    def f(a, b):
        return a - b

    def g(b, a):
        return a * b * b
    h = f if x > 1.0 else g
    j = g if x > 1.0 else f
    return h(a=x, b=2.0 * x) + 3.0 * j(a=x, b=2.0 * x)


def function_or_none(x: float) -> float:
    def apply(f, v):
        return v if f is None else f(v)

    def choose(i):
        if i == 0:
            return None
        if i == 1:
            return lambda v: v * x
        return math.sin
    total = 0.0
    i = 0
    while i < 3:
        total = total + apply(choose(i), x + i)
        i += 1
    return total


def optional_callback(x: float, callback: Callable[[float], float] | None = None) -> float:
    y = x * x
    if callback is not None:
        y = callback(y)
    return y


def callbacks(x: float) -> float:
    return optional_callback(x) + optional_callback(x, math.sin) * optional_callback(x, lambda y: y * x)


def truth_of_a_function(x: float) -> float:
    hook = None
    if x > 1.0:
        hook = lambda v: v * v * x  # noqa: E731
    return hook(x) if hook else x


class Layer(NamedTuple):
    weights: Any
    activation: Any


def activations_of_different_shapes(x: float) -> float:
    def relu(v):
        return np.maximum(v, 0.0)

    def net(layers, act, v):
        for w in layers:
            v = act(w @ v)
        return np.sum(v)
    layers = (np.ones((3, 2)) * x, np.full((4, 3), 0.5), np.ones((1, 4)) * x)
    return net(layers, relu, np.array([1.0, 2.0])) + net(layers, lambda v: v * v * x, np.array([1.0, 0.5]))


def chosen_activation(x: float) -> float:
    def relu(v):
        return np.maximum(v, 0.0)

    def soft(v):
        return np.log(1.0 + np.exp(v))
    act = relu if x > 2.0 else soft
    a = act(np.ones((3, 2)) * x)
    b = act(np.sum(a, axis=0))
    return act(np.sum(b)) + act(x)


def layers_with_activations(x: float) -> float:
    layers = [Layer(np.ones((3, 2)) * x, lambda v: np.tanh(v)), Layer(np.full((1, 3), 0.4), lambda v: v * x)]
    v = np.array([0.3, 0.2])
    for layer in layers:
        v = layer.activation(layer.weights @ v)
    return v[0]


def identity_on_everything(x: float) -> float:
    def identity(v):
        return v

    def twice(f, v):
        return f(f(v))
    h = identity if x > 1.0 else (lambda v: v)
    return h(x) * h((x, 2.0))[0] + np.sum(h(np.ones(3) * x)) + twice(h, x)


@dataclass(frozen=True)
class Scale:
    k: float

    def __call__(self, v):
        return self.k * v


def function_or_callable_record(x: float) -> float:
    f = Scale(3.0 * x) if x > 1.0 else math.sin
    g = math.sin if x > 1.0 else Scale(2.0)
    return f(x) + g(x) * x


@dataclass(frozen=True)
class Optimizer:
    step: float
    schedule: Any = None

    def rate(self, i):
        if self.schedule is None:
            return self.step
        return self.step * self.schedule(i)


def field_with_a_function_or_none(x: float) -> float:
    total = 0.0
    for opt in (Optimizer(0.1 * x), Optimizer(0.2, lambda i: x / (i + 1.0)), Optimizer(0.3, schedule=lambda i: x ** i)):
        for i in range(3):
            total += opt.rate(i) * x
    return total


def partial_and_lambda(x: float) -> float:
    def power(v, n, scale=1.0):
        return scale * v ** n
    square = functools.partial(power, n=2)
    cube = functools.partial(power, n=3, scale=0.5)
    h = square if x > 2.0 else cube
    j = cube if x > 2.0 else square
    return h(x) + j(x) * square(2.0 * x) + functools.reduce(lambda a, f: a + f(x), [square, cube], 0.0)


def gradients_of_chosen_functions(x: float) -> float:
    def f(v, k=2.0):
        return v ** 3 * k

    def g(v):
        return math.sin(v) * x
    h = f if x > 1.0 else g
    j = g if x > 1.0 else f
    return grad(h)(x) + grad(j)(x) * grad(lambda v: h(v) * j(v))(x)


def dictionary_of_functions(x: float) -> float:
    ops = {"add": lambda a, b: a + b, "neg": lambda a: -a, "mul": lambda a, b: a * b}
    return ops["add"](x, ops["neg"](ops["mul"](x, x)))


def dispatch_on_strings(x: float) -> float:
    def op(name):
        if name == "sin":
            return math.sin
        elif name == "square":
            return lambda v: v * v
        return lambda v, k=2.0: v * k
    total = 0.0
    for name in ("sin", "square", "other"):
        total += op(name)(x)
    return total


def church(x: float) -> float:
    def compose(f, g):
        return lambda *a: f(g(*a))

    def power(f, n):
        return (lambda v: v) if n == 0 else compose(f, power(f, n - 1))
    return power(lambda v: v * 0.5 + x, 4)(x)


def functions_of_functions(x: float) -> float:
    def curry(f):
        return lambda a: lambda b: f(a, b)

    def flip(f):
        return lambda a, b: f(b, a)
    sub = curry(lambda a, b: a - b * x)
    return sub(x)(2.0) + flip(lambda a, b: a ** 2 / b)(x, 3.0) + curry(flip(math.atan2))(x)(2.0)


def a_list_of_different_functions(x: float) -> float:
    fs = []
    for i in range(3):
        fs = fs + [lambda v, i=i: v * (i + 1.0)]
    fs = fs + [math.sin]
    fs = fs + [lambda v: v * v * x]
    return sum(f(x) for f in fs)


def returned_pairs_of_functions(x: float) -> float:
    def make(k):
        if k > 1.0:
            return (lambda v: v * k), (lambda u, v=1.0: u + v)
        return (lambda v, w=2.0: v + w * k), (lambda u: u * k)
    a, b = make(x)
    c, d = make(x - 1.0)
    return a(x) * c(x) + b(x) * d(x)


PROGRAMS = (
    different_defaults, different_arity, variadic_or_not, keywords_in_any_order, function_or_none, callbacks, truth_of_a_function,
    activations_of_different_shapes, chosen_activation, layers_with_activations, identity_on_everything, function_or_callable_record,
    field_with_a_function_or_none, partial_and_lambda, gradients_of_chosen_functions, dictionary_of_functions, dispatch_on_strings, church,
    functions_of_functions, a_list_of_different_functions, returned_pairs_of_functions)
