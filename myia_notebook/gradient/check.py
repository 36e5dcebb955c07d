"""`--check`: derivatives against central differences, on the program's own inputs.

Every `gradient_call` and `tangent_call` of the typed program is wrapped in a `probe`, which, when the interpreter runs the program, remembers the
function, the arguments and the result. Then the function alone is run at neighboring points:

    D(h) = (f(x + h) − f(x − h)) / 2h,   (4 D(h/2) − D(h)) / 3   with an error of order h⁴ (Richardson)

At a kink (the slopes from both sides differ) any value between the slopes is a subgradient and accepted. A point where f raises or is not
finite is left out, and so is a function with `stop_gradient` in it, whose gradient is another on purpose. Raises M604 at the user's line
with the argument and element that differ. Calls of functions with a `custom_gradient` are wrapped too, and compared first: a backpropagator that
disagrees with its own function is named, and not only the gradient that it spoils.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from myia_notebook.errors import MyiaError, error
from myia_notebook.gradient.classes import program_graphs
from myia_notebook.gradient.options import GradientOptions, TangentOptions
from myia_notebook.ir.clone import clone
from myia_notebook.ir.graph import Apply, Constant, Graph, is_call_of, schedule
from myia_notebook.ir.types import Static
from myia_notebook.ops.primitive import Primitive, Structural
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.provenance import Span

ELEMENTS, RECORDS = 64, 16
_PROBE = Structural("made and run by --check only")


@dataclass(slots=True, eq=False)
class Site:
    """One derivative of the program and what it was asked at run time."""

    options: GradientOptions | TangentOptions
    span: Span | None
    is_open: bool = True
    records: list[tuple[Any, Any, tuple[Any, ...]]] = field(default_factory=list)


def _record(value: Any, site: Site, function: Any, *arguments: Any) -> Any:
    if site.is_open and len(site.records) < RECORDS and getattr(function, "graph", None) is not None and function.graph.kind not in ("forward", "tangent"):
        site.records.append((value, function, arguments))
    return value


probe = Primitive("probe", lambda arguments: arguments[0].type, _record, lambda *operands: (operands[-1], *(None for _ in operands[2:-1])),
                  lambda arguments, out, tangents: tangents[0], _PROBE, "probe", False, frozenset({"control"}), (), "gradient/check.py")


def check_derivatives(typed: Graph, inputs: list[Any]) -> int:
    """Compares every derivative that this run computes; returns how many numbers were compared. Raises M604."""
    from myia_notebook.gradient.expand import expand_gradients
    from myia_notebook.vm import run
    root, _ = clone(typed)
    graphs = program_graphs(root)
    sites = [site for graph in graphs for site in _probed(graph)]
    if not sites:
        return 0
    customs = [site for graph in graphs for site in _custom_probes(graph)]
    run(expand_gradients(root), inputs)
    for custom in customs:
        _check_custom(custom)
    for site in sites:
        site.is_open = False
    return sum(_Comparison(site, *record).run() for site in sites for record in site.records)


def _probed(graph: Graph) -> list[Site]:
    from myia_notebook.gradient.expand import runs_of
    sites: list[Site] = []
    for node in schedule(graph):
        if not (is_call_of(node, PRIMITIVES["gradient_call"]) or is_call_of(node, PRIMITIVES["tangent_call"])):
            continue
        if any(is_call_of(inner, PRIMITIVES["stop_gradient"]) for g in runs_of(node) for inner in schedule(g)):
            continue
        site = Site(node.inputs[2].value, node.provenance.span)  # type: ignore[attr-defined]
        _wrap(graph, node, [Constant(probe, Static(probe)), node, Constant(site, Static(site)), node.inputs[1], *node.inputs[3:]])
        sites.append(site)
    return sites


def _wrap(graph: Graph, node: Apply, inputs: list[Any]) -> None:
    """Puts a node with these inputs in the place of another."""
    made = Apply(graph, [], node.type, node.name, node.provenance)
    for user in schedule(graph):
        user.inputs[:] = [made if x is node else x for x in user.inputs]
    if graph.output is node:
        graph.output = made
    made.inputs = inputs


# -- values as vectors of real numbers

def _is_real(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def _parts(value: Any) -> tuple[Any, ...]:
    if isinstance(value, (tuple, list)):
        return tuple(value)
    return value.captured if hasattr(value, "captured") else ()


def _moved(value: Any, dot: Any, h: float) -> Any:
    """value + h·dot over the real parts of a structure; a dot that is not there is zero."""
    if _is_real(value):
        if not _is_real(dot) and not isinstance(dot, (int, np.integer)):
            return value
        made = value + h * np.asarray(dot, np.float64)
        return made.astype(value.dtype) if isinstance(value, np.ndarray) else type(value)(made)
    inner = _parts(value)
    if not inner or not _parts(dot):
        return value
    made = [_moved(v, d, h) for v, d in zip(inner, _parts(dot))] + list(inner[len(_parts(dot)):])
    if hasattr(value, "captured"):
        return type(value)(value.graph, tuple(made))
    return type(value)(made)


def _units(value: Any, label: str = "") -> list[tuple[str, Any, Any]]:
    """(place, unit vector, how to read that element) for the real elements of a structure, at most ELEMENTS of each array."""
    if isinstance(value, np.ndarray) and _is_real(value):
        places = list(np.ndindex(*value.shape))
        chosen = places if len(places) <= ELEMENTS else [places[i] for i in np.linspace(0, len(places) - 1, ELEMENTS).astype(int)]
        return [(f"{label}[{', '.join(map(str, p))}]", _one_at(value, p), lambda g, p=p: g[p]) for p in chosen]
    if _is_real(value):
        return [(label, 1.0, lambda g: g)]
    found: list[tuple[str, Any, Any]] = []
    inner = _parts(value)
    for i, part in enumerate(inner):
        for place, unit, read in _units(part, f"{label}[{i}]"):
            vector = tuple(unit if k == i else () for k in range(len(inner)))
            found.append((place, vector, lambda g, i=i, read=read: read(_parts(g)[i])))
    return found


def _one_at(value: Any, place: tuple[int, ...]) -> Any:
    unit = np.zeros(value.shape)
    unit[place] = 1.0
    return unit


def _paired(a: Any, b: Any) -> float:
    """Σ of products of corresponding real parts."""
    if _is_real(a) and _is_real(b):
        return float(np.sum(np.asarray(a, np.float64) * np.asarray(b, np.float64)))
    return sum(_paired(x, y) for x, y in zip(_parts(a), _parts(b)))


def _flat(value: Any) -> list[float]:
    if _is_real(value):
        return [float(v) for v in np.ravel(value)]
    return [v for part in _parts(value) for v in _flat(part)]


def _is_single(value: Any) -> bool:
    """Whether float32 is in it."""
    return getattr(value, "dtype", None) == np.float32 or any(map(_is_single, _parts(value)))


# -- comparing

@dataclass(frozen=True, slots=True)
class _Closed:
    """A graph over captured values, as the interpreter's closures are."""

    graph: Graph
    captured: tuple[Any, ...]


@dataclass(slots=True, eq=False)
class _CustomSite:
    """A call of a function with a `custom_gradient`: p(x…), whose backpropagator is q(x…, ∇y); and the operands of its runs."""

    value: Graph
    back: Graph
    span: Span | None
    records: list[tuple[Any, tuple[Any, ...]]] = field(default_factory=list)


def _record_custom(value: Any, site: _CustomSite, *operands: Any) -> Any:
    if len(site.records) < RECORDS:
        site.records.append((value, operands))
    return value


custom_probe = Primitive("custom_probe", lambda arguments: arguments[0].type, _record_custom, lambda *operands: (operands[-1], *(None for _ in operands[1:-2])),
                         lambda arguments, out, tangents: tangents[0], _PROBE, "probe", False, frozenset({"control"}), (),
                         "gradient/check.py")


def _check_custom(site: _CustomSite) -> None:
    """Raises M604 where the backpropagator differs from differences of its own function."""
    from myia_notebook.vm import run
    count = len(site.back.result.items)  # type: ignore[union-attr]
    options = GradientOptions(tuple(range(count)), False, False, has_seed=True)
    records, site.records = site.records, []
    for value, operands in records:
        seed = _weights(value)
        captured = len(operands) - count
        found = run(site.back, [*operands, seed])
        made = _Comparison(Site(options, site.span), found, _Closed(site.value, operands[:captured]), (*operands[captured:], seed))
        made.subject = f"the custom gradient of '{site.value.name}'"
        made.run()


def _custom_probes(graph: Graph) -> list[_CustomSite]:
    sites: list[_CustomSite] = []
    for node in schedule(graph):
        if is_call_of(node, PRIMITIVES["custom_call"]):
            value, back = node.inputs[1].value, node.inputs[2].value  # type: ignore[attr-defined]
            spans = (x.provenance.span for x in (node, value, *(inner for g in program_graphs(value) for inner in (g, *schedule(g)))))
            site = _CustomSite(value, back, next((span for span in spans if span is not None), None))
            _wrap(graph, node, [Constant(custom_probe, Static(custom_probe)), node, Constant(site, Static(site)), *node.inputs[3:]])
            sites.append(site)
    return sites


def _weights(value: Any) -> Any:
    """A sensitivity that tells the elements of a result apart."""
    if _is_real(value):
        made = np.linspace(1.0, 1.5, np.size(value)).reshape(np.shape(value))
        return made.astype(value.dtype) if isinstance(value, np.ndarray) else type(value)(made)
    inner = _parts(value)
    return type(value)(map(_weights, inner)) if inner and not hasattr(value, "captured") else ()


class _Comparison:
    def __init__(self, site: Site, value: Any, function: Any, arguments: tuple[Any, ...]) -> None:
        self.site, self.value, self.function, self.arguments = site, value, function, arguments
        self.subject = ""

    def call(self, arguments: list[Any]) -> Any:
        from myia_notebook.vm import run
        return run(self.function.graph, [*self.function.captured, *arguments])

    def run(self) -> int:
        return self._gradient(self.site.options) if isinstance(self.site.options, GradientOptions) else self._tangent(self.site.options)

    def _gradient(self, options: GradientOptions) -> int:
        arguments = list(self.arguments)
        seed = arguments.pop() if options.has_seed else None
        found = self.value[1] if options.with_value else self.value[0] if options.has_aux else self.value
        gradients = (found,) if options.is_single else found
        count = 0
        for path, gradient in zip(options.wrt, gradients):
            at, item = path if isinstance(path, tuple) else (path, None)
            primal = arguments[at] if item is None else arguments[at][item]
            for place, unit, read in _units(primal):
                def objective(h: float, at: int = at, item: int | None = item, unit: Any = unit) -> float:
                    moved = list(arguments)
                    moved[at] = _moved(arguments[at], unit if item is None else tuple(unit if k == item else () for k in range(len(arguments[at]))), h)
                    result = self.call(moved)
                    return float(result[0] if options.has_aux else result) if seed is None else _paired(seed, result)

                self._compare(f"{self.subject or 'the gradient'} with respect to argument {at}{self._name(at)}{place}", float(read(gradient)), objective, _size(primal),
                              _is_single(arguments))
                count += 1
        return count

    def _tangent(self, options: TangentOptions) -> int:
        arguments = list(self.arguments[:options.count])
        dots = dict(zip(options.active, self.arguments[options.count:]))
        found = _flat(self.value[1])
        for k, expected in enumerate(found[:ELEMENTS]):
            def objective(h: float, k: int = k) -> float:
                return _flat(self.call([_moved(x, dots.get(i, ()), h) for i, x in enumerate(arguments)]))[k]

            where = f" (element {k} of the result)" if len(found) > 1 else ""
            self._compare(f"the derivative along the tangents{where}", expected, objective, 1.0, _is_single(arguments))
        return min(len(found), ELEMENTS)

    def _name(self, at: int) -> str:
        parameters = self.function.graph.parameters[self.function.graph.captured:]
        return f" ('{parameters[at].name}')" if at < len(parameters) and parameters[at].name else ""

    def _compare(self, what: str, found: float, objective: Callable[[float], float], size: float, single: bool) -> None:
        h = (2e-2 if single else 1e-3) * size
        try:
            middle, values = objective(0.0), {s: objective(s * h) for s in (1.0, -1.0, 0.5, -0.5)}
        except MyiaError:
            return
        if not all(map(math.isfinite, (middle, *values.values()))):
            return
        first, second = ((values[s] - values[-s]) / (2 * s * h) for s in (1.0, 0.5))
        expected = (4 * second - first) / 3
        noise = (1e-6 if single else 1e-14) * max(map(abs, values.values())) / h
        margin = (1e-2 if single else 1e-6) * max(abs(found), abs(expected)) + 10 * noise + 2 * abs(second - first) + 1e-9
        if abs(found - expected) <= margin:
            return
        tiny = (1e-2 if single else 1e-6) * size
        slopes = sorted(((objective(tiny) - middle) / tiny, (middle - objective(-tiny)) / tiny))
        if slopes[1] - slopes[0] > margin and slopes[0] - margin <= found <= slopes[1] + margin:
            return
        raise error("M604", self.site.span, message=f"{what} is {found:.9g}, but differences of the function give {expected:.9g}",
                    hint="is a backpropagator that custom_gradient was given wrong?")


def _size(value: Any) -> float:
    """The scale of steps: that of the largest number."""
    numbers = [abs(v) for v in _flat(value) if math.isfinite(v)]
    return min(max(max(numbers, default=1.0), 1e-2), 1e3)


__all__ = ["check_derivatives"]
