"""Larger programs, as people write them: an adaptive ODE solver with an event, a Viterbi and a CKY parser, a heap and a red-black tree, an interpreter of a
small expression language with a neural network in it. Plain Python runs them too, which is what the tests compare with."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

# ---- Dormand-Prince 5(4) with step control, stopped by an event (the first time the height is negative)


class State(NamedTuple):
    height: float
    speed: float


@dataclass(frozen=True)
class Step:
    state: State
    error: float


def add_scaled(s, terms):
    height = s.height
    speed = s.speed
    for k, d in terms:
        height = height + k * d.height
        speed = speed + k * d.speed
    return State(height, speed)


def rk45_step(f, t, s, h):
    k1 = f(t, s)
    k2 = f(t + h / 5, add_scaled(s, [(h / 5, k1)]))
    k3 = f(t + 3 * h / 10, add_scaled(s, [(3 * h / 40, k1), (9 * h / 40, k2)]))
    k4 = f(t + 4 * h / 5, add_scaled(s, [(44 * h / 45, k1), (-56 * h / 15, k2), (32 * h / 9, k3)]))
    k5 = f(t + 8 * h / 9, add_scaled(s, [(19372 * h / 6561, k1), (-25360 * h / 2187, k2), (64448 * h / 6561, k3), (-212 * h / 729, k4)]))
    k6 = f(t + h, add_scaled(s, [(9017 * h / 3168, k1), (-355 * h / 33, k2), (46732 * h / 5247, k3), (49 * h / 176, k4), (-5103 * h / 18656, k5)]))
    new = add_scaled(s, [(35 * h / 384, k1), (500 * h / 1113, k3), (125 * h / 192, k4), (-2187 * h / 6784, k5), (11 * h / 84, k6)])
    k7 = f(t + h, new)
    other = add_scaled(s, [(5179 * h / 57600, k1), (7571 * h / 16695, k3), (393 * h / 640, k4), (-92097 * h / 339200, k5), (187 * h / 2100, k6), (h / 40, k7)])
    return Step(new, math.sqrt((new.height - other.height) ** 2 + (new.speed - other.speed) ** 2 + 1e-30))


def fall(v0, drag):
    """The time at which a body thrown up with speed v0 comes down, with quadratic drag."""
    def f(t, s):
        return State(s.speed, -9.81 - drag * s.speed * abs(s.speed))

    t = 0.0
    h = 0.05
    s = State(0.0, v0)
    steps = 0
    while True:
        step = rk45_step(f, t, s, h)
        if step.error > 1e-7 and h > 1e-6:
            h = h * max(0.2, 0.9 * (1e-7 / step.error) ** 0.2)
            continue
        if step.state.height < 0.0 and t > 0.0:
            break
        t = t + h
        s = step.state
        h = min(h * min(3.0, 0.9 * (1e-7 / step.error) ** 0.2), 0.2)
        steps += 1
        assert steps < 10_000, f"no landing after {steps} steps, t = {t:.3f}"
    low, high = 0.0, h
    for _ in range(60):
        middle = 0.5 * (low + high)
        if rk45_step(f, t, s, middle).state.height < 0.0:
            high = middle
        else:
            low = middle
    # one Newton step from the bracket, which carries the derivative
    last = rk45_step(f, t, s, low).state
    return t + low - last.height / last.speed


# ---- dynamic programs


def viterbi(emission, transition):
    """The score of the best path and the path. emission: (time, states); transition: (states, states)."""
    steps, count = emission.shape
    best = emission[0]
    back = []
    for t in range(1, steps):
        scores = np.reshape(best, (count, 1)) + transition
        back = back + [np.argmax(scores, axis=0)]
        best = np.max(scores, axis=0) + emission[t]
    state = np.argmax(best)
    path = [state]
    for pointers in reversed(back):
        state = pointers[state]
        path = [state] + path
    return np.max(best), path


@dataclass(frozen=True)
class Rule:
    parent: int
    left: int
    right: int
    score: float


def cky(words, lexicon, rules, scale):
    """The log of the sum over all parses of products of rule scores, by the inside algorithm; lists of run-time length for the chart."""
    n = len(words)
    symbols = 3

    def at(chart, i, j, a):
        return chart[(i * (n + 1) + j) * symbols + a]

    chart = [0.0] * ((n + 1) * (n + 1) * symbols)
    for i in range(n):
        for a in range(symbols):
            chart[(i * (n + 1) + i + 1) * symbols + a] = lexicon[words[i]][a]
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j = i + width
            for r in rules:
                total = 0.0
                for k in range(i + 1, j):
                    total = total + r.score * scale * at(chart, i, k, r.left) * at(chart, k, j, r.right)
                place = (i * (n + 1) + j) * symbols + r.parent
                chart[place] = chart[place] + total
    return math.log(at(chart, 0, n, 0))


# ---- data structures


@dataclass(frozen=True)
class Heap:
    """A leftist heap: rank, smallest value, two heaps below."""

    rank: int
    value: float
    left: Any
    right: Any


def rank(h):
    return 0 if h is None else h.rank


def merge(a, b):
    if a is None:
        return b
    if b is None:
        return a
    if b.value < a.value:
        return merge(b, a)
    rest = merge(a.right, b)
    if rank(a.left) >= rank(rest):
        return Heap(rank(rest) + 1, a.value, a.left, rest)
    return Heap(rank(a.left) + 1, a.value, rest, a.left)


def heap_sort(xs):
    heap = None
    for x in xs:
        heap = merge(heap, Heap(1, x, None, None))
    out = []
    while heap is not None:
        out = out + [heap.value]
        heap = merge(heap.left, heap.right)
    return out


def weighted_ranks(xs):
    """The sum of i · (i-th smallest): its gradient is the rank of each."""
    total = 0.0
    for i, x in enumerate(heap_sort(xs)):
        total += i * x
    return total


@dataclass(frozen=True)
class Tree:
    """A red-black tree (Okasaki 1999): color, left, key, right."""

    red: bool
    left: Any
    key: float
    right: Any


def balance(red, left, key, right):
    if not red:
        match left:
            case Tree(True, Tree(True, a, x, b), y, c):
                return Tree(True, Tree(False, a, x, b), y, Tree(False, c, key, right))
            case Tree(True, a, x, Tree(True, b, y, c)):
                return Tree(True, Tree(False, a, x, b), y, Tree(False, c, key, right))
        match right:
            case Tree(True, Tree(True, b, y, c), z, d):
                return Tree(True, Tree(False, left, key, b), y, Tree(False, c, z, d))
            case Tree(True, b, y, Tree(True, c, z, d)):
                return Tree(True, Tree(False, left, key, b), y, Tree(False, c, z, d))
    return Tree(red, left, key, right)


def insert(tree, key):
    def walk(t):
        if t is None:
            return Tree(True, None, key, None)
        if key < t.key:
            return balance(t.red, walk(t.left), t.key, t.right)
        if key > t.key:
            return balance(t.red, t.left, t.key, walk(t.right))
        return t

    grown = walk(tree)
    return Tree(False, grown.left, grown.key, grown.right)


def depth_sum(t, depth):
    """The sum of depth · key over the tree."""
    if t is None:
        return 0.0
    return depth * t.key + depth_sum(t.left, depth + 1) + depth_sum(t.right, depth + 1)


def height(t):
    return 0 if t is None else 1 + max(height(t.left), height(t.right))


def balanced(xs):
    tree = None
    for x in xs:
        tree = insert(tree, x)
    return depth_sum(tree, 1) * 0.1 + height(tree)


# ---- an interpreter


@dataclass(frozen=True)
class Number:
    value: float


@dataclass(frozen=True)
class Variable:
    index: int


@dataclass(frozen=True)
class Binary:
    operator: int
    left: Any
    right: Any


@dataclass(frozen=True)
class Call:
    """A layer of the network, applied to a scalar."""

    layer: int
    argument: Any


@dataclass(frozen=True)
class Let:
    value: Any
    body: Any


@dataclass(frozen=True)
class If:
    test: Any
    then: Any
    otherwise: Any


class Net(NamedTuple):
    weights: Any
    biases: Any


def layer_of(net, i, v):
    hidden = np.tanh(net.weights[i] * v + net.biases[i])
    return np.sum(hidden) / len(hidden)


def lookup(environment, index):
    while index > 0:
        environment = environment[1:]
        index = index - 1
    return environment[0]


def evaluate(e, environment, net):
    match e:
        case Number(value):
            return value
        case Variable(index):
            return lookup(environment, index)
        case Binary(0, left, right):
            return evaluate(left, environment, net) + evaluate(right, environment, net)
        case Binary(1, left, right):
            return evaluate(left, environment, net) * evaluate(right, environment, net)
        case Binary(_, left, right):
            return evaluate(left, environment, net) - evaluate(right, environment, net)
        case Call(layer, argument):
            return float(layer_of(net, layer, evaluate(argument, environment, net)))
        case Let(value, body):
            return evaluate(body, [evaluate(value, environment, net)] + environment, net)
        case If(test, then, otherwise):
            if evaluate(test, environment, net) > 0.0:
                return evaluate(then, environment, net)
            return evaluate(otherwise, environment, net)


PROGRAM = Let(Call(0, Variable(0)), If(Binary(2, Variable(0), Number(0.1)), Binary(1, Call(1, Variable(0)), Binary(0, Variable(1), Variable(0))),
                                       Binary(0, Number(3.0), Call(2, Variable(1)))))


def interpret(program, x, net):
    return evaluate(program, [x], net)
