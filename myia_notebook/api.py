"""What users call: `myia`, `grad`, `value_and_grad`, `compile_source`, `explain`.

A call finds or makes the *specialization* for its argument types: the program is parsed once, typed and compiled once per
signature. What the program read outside itself (globals, closure cells, helpers) is remembered with it, and checked at each call:
after a helper is redefined or a global rebound, the next call compiles anew and sees it.
"""
from __future__ import annotations

import functools
import inspect
import pickle
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from myia_notebook.boundary import ClosureValue, returned_value
from myia_notebook.carried import Source, by_value, is_importable, is_inside, merged, put_back, sources
from myia_notebook.emit.call_result import MISS
from myia_notebook.emit.vectorcall import Direct, direct, install
from myia_notebook.errors import MyiaError, MyiaWarning, error
from myia_notebook.foreign import as_known
from myia_notebook.infer import structures
from myia_notebook.infer.structures import has_parts, parts_of, structure_of
from myia_notebook.infer.values import type_of_value
from myia_notebook.ir.graph import Constant, Graph, Node
from myia_notebook.ir.types import LIST, Function, List, Record, Static, Type, parts
from myia_notebook.ops.primitive import Abstract
from myia_notebook.pipeline import BACKENDS, Unit, compile_unit
from myia_notebook.ranks import Ranks

DEFAULT_BACKEND = "numba"
MAX_SPECIALIZATIONS, MANY_SPECIALIZATIONS = 256, 64
_NUMBERS = frozenset((float, int, bool))


@dataclass(frozen=True, slots=True)
class Derivative:
    """What is asked of a function: its value (`kind` None), or what the operator `kind` ('grad', 'jacobian', …) makes of it."""

    kind: str | None = None
    wrt: Any = 0
    has_aux: bool = False


@dataclass(slots=True)
class Specialization:
    """A compiled program for one signature, and what it read while it was parsed."""

    unit: Unit
    session: Any
    run: Callable[..., Any]
    convert: Callable[[Any], Any] | None
    takes: list[Type]
    data: list[int]
    """The positions of the arguments that are inputs at run time; the others are functions, constants of the program."""
    fixed: tuple[int, ...]
    """The positions of the arguments for whose values alone this was compiled, such as sizes."""


def plain_function(f: Any) -> Any:
    """The Python function behind f (compiled functions, bound methods and partials included), or an error that names f's class."""
    inner = getattr(f, "__myia_function__", None)
    if inner is not None:
        return inner
    if isinstance(f, Gradient):
        return f
    if inspect.isfunction(f) or inspect.ismethod(f) or isinstance(f, (functools.partial, ClosureValue)):
        return f
    raise error("M305", type=f"{type(f).__name__} ({f!r:.60})", hint="give a Python function, a lambda, a method or a compiled function")


def is_function(value: Any) -> bool:
    return isinstance(value, (Gradient, functools.partial)) or hasattr(value, "__myia_function__") or inspect.isfunction(value) or inspect.ismethod(value)


def _contains_function(value: Any) -> bool:
    """Whether a value is or holds a function. Looks into what has parts, but not for ever: data that deep holds none."""
    stack = [value]
    for _ in range(4096):
        if not stack:
            return False
        item = stack.pop()
        if is_function(item):
            return True
        if has_parts(item):
            stack.extend(parts_of(item))
    return False


def data_positions(values: list[Any]) -> list[int]:
    """Which arguments are inputs of a program: those that hold no function."""
    return [i for i, v in enumerate(values) if not _contains_function(v)]


def input_types(values: list[Any]) -> list[Abstract]:
    """The types and values of a program's inputs (inference looks at values only where it must, see `infer.engine`). Raises MyiaError, with
    the position, for what has no type."""
    return [Abstract(_argument_type(values[i], i), values[i]) for i in data_positions(values)]


class Caller(Direct):
    """Calls `derivative` of a function on Python values. The base of compiled functions and of gradients; thread-safe."""

    def __init__(self, function: Any, derivative: Derivative, backend: str | None = None) -> None:
        if backend is not None and backend not in BACKENDS:
            raise error("M801", message=f"there is no backend '{backend}'", hint=f"use one of {', '.join(BACKENDS)}")
        self._function = plain_function(function)
        self._derivative = derivative
        self._backend = backend
        self._compiled_nothing()
        self._known_signature: tuple[tuple[Any, Any], inspect.Signature] | None = None
        functools.update_wrapper(self, getattr(self._function, "__func__", self._function), updated=())
        self._steps: tuple[Derivative, ...] = (derivative,) if derivative.kind is not None else ()
        self._derivatives: dict[tuple[str, str | None], Gradient] = {}
        """The derivatives that were asked for: `grad(f)(x)` in a loop compiles once."""
        self._carried: list[Source] = []
        """What came with this function from another process: it may go on to a third, as a scheduler hands it to its workers."""

    def _compiled_nothing(self) -> None:
        """Sets what belongs to this process, as before the first call; `_OWN` names it."""
        self._cache: dict[Any, Specialization] = {}
        self._fixed: dict[Any, tuple[int, ...]] = {}
        self._ranks = Ranks()
        self._served: dict[Any, Specialization] = {}
        self._lock = threading.RLock()
        self._native: Callable[..., Any] | None = None
        """The machine-code entry of the last specialization, tried first."""
        self._entered: list[Any] = []
        """The programs that were called directly: kept, for another thread may be inside one."""
        self._dispatcher: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        native = self._native
        if native is not None and not kwargs:
            result = native(*args)
            if result is not MISS:
                return result
        return self._call_slowly(*args, **kwargs)

    def _call_slowly(self, /, *args: Any, **kwargs: Any) -> Any:
        """The call when machine code cannot answer it at once: finds or makes the specialization."""
        values = self._bind(args, kwargs)
        try:
            specialization = self._specialize(values)
            self._remember(specialization)
            result = self._answer(specialization, values)
        except (RecursionError, MemoryError) as problem:
            if isinstance(problem, MyiaError):
                raise
            if isinstance(problem, MemoryError):
                raise error("M707", message=str(problem) or "the values of this program") from None
            raise error("M305", type="a value, or a program, nested this deeply", hint="nest tuples and lists less deeply") from None
        return result if specialization.convert is None else specialization.convert(result)

    def _answer(self, specialization: Specialization, values: list[Any]) -> Any:
        """Runs the program. When one for a rank fails, the program for this very shape says what is wrong."""
        try:
            return specialization.run(*(runtime(values[i], t) for i, t in zip(specialization.data, specialization.takes)))
        except Exception:
            if specialization.unit.shapes is None:
                raise
        own = self._specialize(values, may_share=False)
        return own.run(*(runtime(values[i], t) for i, t in zip(own.data, own.takes)))

    def __reduce__(self) -> Any:
        """Pickles hold the function and what is asked of it, with the source that a worker has not; what was compiled is compiled again. A decorated
        function of a module goes by its name. See `carried`."""
        name = self._global_name()
        if name and self.__module__ != "__main__":
            return name
        if not (isinstance(self._function, (ClosureValue, Caller)) or is_importable(getattr(self._function, "__func__", self._function))):
            data = by_value(self)
            if data is not None:
                return pickle.loads, (data,)
            if name and not is_inside():
                return name
        return _blank, (type(self),), {**self._asked(), "_carried": merged(self._carried, sources(self._function))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        put_back(self._carried)

    def __copy__(self) -> Any:
        """A function of a module, or of the notebook, is its own copy, as functions are in Python."""
        return self if self._global_name() else _restored(type(self), self._asked())

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    def _global_name(self) -> str:
        name = getattr(self, "__qualname__", "")
        return name if name and getattr(sys.modules.get(getattr(self, "__module__", "")), name, None) is self else ""

    def _asked(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in _OWN}

    def _remember(self, specialization: Specialization) -> None:
        """The next call tries the machine-code entry of this specialization first (`emit.call`)."""
        program = specialization.unit.code
        fast = getattr(program, "fast", None) if specialization.convert is None and not specialization.fixed else None
        if fast is not None and len(specialization.takes) == self._plain_count:
            self._native = fast
            if not any(p is program for p in self._entered):
                self._entered.append(program)
            install(self, program.direct)

    @property
    def _numba_type_(self) -> Any:
        """What this function is in `@njit` code: Numba asks for it when it meets the function there (`emit.njit`)."""
        from myia_notebook.emit.njit import dispatcher
        return dispatcher(self)._numba_type_

    @functools.cached_property
    def _plain_count(self) -> int:
        """The number of parameters when all are positional; else −1."""
        kinds = [p.kind for p in self._signature.parameters.values()]
        plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return len(kinds) if all(k in plain for k in kinds) else -1

    @property
    def _signature(self) -> inspect.Signature:
        """Looked up again when the defaults of the function are replaced."""
        defaults = getattr(self._function, "__defaults__", None), getattr(self._function, "__kwdefaults__", None)
        known = self._known_signature
        if known is None or known[0][0] is not defaults[0] or known[0][1] is not defaults[1]:
            known = self._known_signature = (defaults, inspect.signature(self._function))
        return known[1]

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """One value for each parameter, in order; defaults filled in."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as problem:
            name = getattr(self._function, "__name__", "the function")
            raise error("M501", signature=f"{name}{self._signature}", problem=f"— {problem}") from None
        bound.apply_defaults()
        return [as_known(value) for value in bound.arguments.values()]

    def _specialize(self, values: list[Any], may_share: bool = True) -> Specialization:
        types = tuple(_key(v) for v in values)
        key = self._with_values(types, values)
        found = self._cache.get(key)
        if found is not None and not found.session.is_stale():
            return found
        found = self._served.get(key) if may_share else None
        if found is not None and not found.session.is_stale():
            return found
        with self._lock:
            found = self._cache.get(key)
            if may_share and (found is None or found.session.is_stale()):
                shared = self._shared(types, values)
                if shared is not None:
                    if len(self._served) >= MAX_SPECIALIZATIONS:
                        self._served.clear()
                    self._served[key] = shared
                    return shared
            if found is None or found.session.is_stale():
                self._bound()
                found = self._compile(values)
                self._fixed[types] = found.fixed
                self._cache[self._with_values(types, values)] = found
        return found

    def _with_values(self, types: tuple[Any, ...], values: list[Any]) -> Any:
        """The key of a specialization: the types, and the values of the inputs that are fixed."""
        fixed = self._fixed.get(types)
        return (types, tuple(values[i] for i in fixed)) if fixed else types

    def _bound(self) -> None:
        """Keeps the number of specializations small: the oldest go, and the user hears of it in time."""
        if len(self._cache) == MANY_SPECIALIZATIONS:
            name = getattr(self._function, "__name__", "this function")
            warnings.warn(f"'{name}' was compiled for {MANY_SPECIALIZATIONS} different signatures of its arguments: each shape of an array, and each "
                          "function that is passed, is one. Pad arrays to a few shapes, or pass lists, whose length is no part of their type.", MyiaWarning, stacklevel=6)
        while len(self._cache) >= MAX_SPECIALIZATIONS:
            self._cache.pop(next(iter(self._cache)))

    def _shared(self, types: tuple[Any, ...], values: list[Any]) -> Specialization | None:
        """The program for the ranks of these arguments, when there is one (`ranks`)."""
        data = data_positions(values)
        others = tuple(types[i] for i in range(len(values)) if i not in data)
        if (self._backend or DEFAULT_BACKEND) != "numba" or types in self._fixed and self._fixed[types] or any(isinstance(o, tuple) for o in others):
            return None
        given = [a.type for a in input_types(values)]
        pattern = self._ranks.pattern(given, (tuple(data), others))
        if pattern is None:
            return None
        return self._ranks.find(pattern, given) or self._ranks.make(pattern, given, lambda: self._unit(values),
                                                                    lambda unit, session: self._finished(unit, session, values))

    def _compile(self, values: list[Any]) -> Specialization:
        unit, session = self._unit(values)
        compile_unit(unit)
        return self._finished(unit, session, values)

    def _finished(self, unit: Unit, session: Any, values: list[Any]) -> Specialization:
        assert unit.run is not None and unit.optimized is not None
        takes: list[Type] = [p.type for p in unit.optimized.parameters]  # type: ignore[misc]
        assert unit.typed is not None
        data = data_positions(values)
        fixed = tuple(data[i] for i in unit.typed.flags["fixed"])
        return Specialization(unit, session, unit.run, _converter(unit.result_type), takes, data, fixed)

    def _unit(self, values: list[Any]) -> tuple[Unit, Any]:
        return make_unit(self._function, values, Derivative(), self._backend, self._steps)


_OWN = frozenset(("_cache", "_fixed", "_ranks", "_served", "_lock", "_native", "_entered", "_plain_count", "_dispatcher"))


def _blank(cls: Any) -> Any:
    """A caller that is not filled yet: what refers to itself is made in two steps."""
    return _restored(cls, {})


def _restored(cls: Any, state: dict[str, Any]) -> Any:
    made = cls.__new__(cls)
    made.__dict__.update(state)
    made._compiled_nothing()
    return made


class MyiaFunction(Caller):
    """A compiled function. Call it like the Python function it was made from; `f.__myia_function__` is that function."""

    def __init__(self, function: Any, backend: str | None = None) -> None:
        super().__init__(function, Derivative(), backend)

    @property
    def __myia_function__(self) -> Any:
        return self._function

    def __repr__(self) -> str:
        return f"<myia function {getattr(self._function, '__name__', '?')}{self._signature}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        return MyiaFunction(self._function.__get__(instance, owner), self._backend)


class Gradient(Caller):
    """`grad(f, wrt)` and the other derivatives of a function, as a callable. `_steps` are the operators, the innermost first."""

    _is_chain = True

    def __init__(self, function: Any, derivative: Derivative, backend: str | None = None) -> None:
        inner = function if isinstance(function, Gradient) and function._is_chain else None
        super().__init__(function if inner is None else inner._function, derivative, backend or getattr(function, "_backend", None))
        if inner is not None:
            self._steps = (*inner._steps, derivative)

    def __repr__(self) -> str:
        return f"<{self._derivative.kind} of {getattr(self._function, '__name__', '?')}, wrt={self._derivative.wrt!r}>"

    def _applied(self, graph: Graph, session: Any, given: dict[str, Node]) -> Node:
        """The call of this derivative in a program."""
        from myia_notebook.parse.derived import call_by_name
        kinds = {p.name: p.kind for p in self._signature.parameters.values()}
        by_name = [(n, x) for n, x in given.items() if kinds[n] is inspect.Parameter.KEYWORD_ONLY]
        positional = [x for n, x in given.items() if kinds[n] is not inspect.Parameter.KEYWORD_ONLY]
        return call_by_name(graph, self._head(graph, session), positional, by_name)

    def _head(self, graph: Graph, session: Any) -> Node:
        from myia_notebook.parse.derived import callable_graph
        head: Node = Constant(callable_graph(self._function, session))
        for step in self._steps:
            head = _derive(graph, head, step)
        return head


direct(MyiaFunction)
direct(Gradient)


def myia(function: Any = None, *, backend: str | None = None) -> Any:
    """Compile a function: `@myia`, `@myia(backend="vm")` or `myia(f)`. Returns a `MyiaFunction`; nothing is compiled before the first call."""
    if function is None:
        return lambda f: MyiaFunction(f, backend)
    return MyiaFunction(function, backend)


class CheckedGradient(Gradient):
    """A derivative that is compared with differences at every call: see `gradient.check`. For finding mistakes; it is slow."""

    _is_chain = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from myia_notebook.compilation import explain
        return explain(Gradient(self._function, self._derivative, self._backend), *self._bind(args, kwargs), check=True).value


def derivative_of(f: Any, derivative: Derivative, backend: str | None, check: bool) -> Gradient:
    """The derivative as a callable. One of a compiled function or of a derivative is made once and kept by it."""
    if check:
        return CheckedGradient(f, derivative, backend)
    if type(f) is not MyiaFunction and type(f) is not Gradient:
        return Gradient(f, derivative, backend)
    key = (repr(derivative), backend or f._backend)  # the text, for wrt may be anything: 1, True and 1.0 differ
    kept = f._derivatives.get(key)
    return kept if kept is not None else f._derivatives.setdefault(key, Gradient(f, derivative, backend))


def grad(f: Any, wrt: Any = 0, has_aux: bool = False, *, backend: str | None = None, check: bool = False) -> Gradient:
    """The gradient of a real-valued function.

    `wrt`: the argument(s) to differentiate: an index, a name, a tuple of them, or "*" for all. The result has the structure of
    that argument (a tuple of such for several). float32 in gives float32 out; an argument that is not used has zeros. With `has_aux` the
    function returns (value, more) and the result is (gradient, more). Raises MyiaTypeError when the result is no real scalar (M602: use `vjp`
    or `jacobian`) or an argument is not real (M601). Works on Python functions, compiled functions, closures, lambdas, bound methods, partials
    and other derivatives, and inside compiled programs, to any order. With `check` every call is compared with differences of the function, and so
    is every `custom_gradient` in it; M604 names the argument, the element and the operation that differ.
    """
    return derivative_of(f, Derivative("grad", wrt, has_aux), backend, check)


def value_and_grad(f: Any, wrt: Any = 0, has_aux: bool = False, *, backend: str | None = None, check: bool = False) -> Gradient:
    """Like `grad`, but the result is the pair (value, gradient), computed together; with `has_aux` ((value, more), gradient)."""
    return derivative_of(f, Derivative("value_and_grad", wrt, has_aux), backend, check)


def make_unit(function: Any, values: list[Any], derivative: Derivative, backend: str | None,
              inner: tuple[Derivative, ...] = ()) -> tuple[Unit, Any]:
    """The program `derivative(... inner(function))(values)` in nested form, and the session that parsed it.

    Function arguments become constants of the program; all other values are its inputs.
    """
    from myia_notebook.parse.derived import callable_graph
    from myia_notebook.parse.resolve import ParseSession
    session = ParseSession()
    target = callable_graph(function, session)
    steps = [d for d in (*inner, derivative) if d.kind is not None]
    arguments = input_types(values)
    if not steps and len(arguments) == len(values) and not target.captured:
        return Unit(target, arguments, backend or DEFAULT_BACKEND, may_interpret=backend is None, session=session), session
    program = Graph(target.name, "program", target.provenance)
    operands = [_input(program, session, value, name) for value, name in zip(values, _names(target, len(values)))]
    head: Any = target
    for step in steps:
        head = _derive(program, head, step)
    program.output = _called(program, head, operands, function)
    return Unit(program, arguments, backend or DEFAULT_BACKEND, may_interpret=backend is None, session=session), session


def _called(program: Graph, head: Node, operands: list[Any], function: Any) -> Node:
    """The call of `head` with one operand for each parameter of the Python function."""
    from myia_notebook.ir.graph import as_node
    from myia_notebook.parse.expressions import CALL_WITH
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parameters = inspect.signature(function).parameters.values()
    kinds = tuple(p.name if p.kind is inspect.Parameter.KEYWORD_ONLY else marks.get(p.kind, "") for p in parameters)
    if not any(kinds):
        return program.apply(head, *operands, provenance=program.provenance)
    return program.apply(Constant(CALL_WITH), head, Constant(kinds, Static(kinds)), *map(as_node, operands), provenance=program.provenance)


def _names(target: Graph, count: int) -> list[str]:
    names = [p.name for p in target.parameters]
    return names[:count] + [""] * (count - len(names))


def _input(program: Graph, session: Any, value: Any, name: str) -> Node | Graph:
    """A program input: a parameter, or the constant graph of a function argument."""
    from myia_notebook.ops.table import NAMED, make_tuple
    from myia_notebook.parse.derived import callable_graph
    if is_function(value):
        return Constant(callable_graph(plain_function(value), session))
    if _contains_function(value):
        items = [_input(program, session, item, "") for item in parts_of(value)]
        structure = structure_of(value)
        if structure is None:
            return program.apply(make_tuple, *items)
        if structure == LIST:
            return program.apply(Constant(NAMED["make_list"]), *items)
        return program.apply(Constant(NAMED["make_record"]), Constant(structure, Static(structure)), *items)
    return program.add_parameter(name)


def _derive(program: Graph, head: Any, step: Derivative) -> Node:
    from myia_notebook import derivatives
    operator = {"grad": grad, "value_and_grad": value_and_grad}.get(step.kind or "") or getattr(derivatives, step.kind or "")
    extra = [] if step.kind == "custom_gradient" else [step.wrt, *([True] if step.has_aux else [])]
    return program.apply(Constant(operator), head, *extra, provenance=program.provenance)


def _key(value: Any) -> Any:
    """The part of a specialization's key for one argument: its type; for functions, the function itself."""
    if type(value) in _NUMBERS:
        return type(value)
    if _contains_function(value):
        return (structure_of(value), *map(_key, parts_of(value))) if has_parts(value) else plain_function(value)
    return type_of_value(value)


def _argument_type(value: Any, position: int) -> Type:
    try:
        return type_of_value(value)
    except MyiaError as problem:
        problem.message = f"argument {position}: {problem.message}"
        raise


def runtime(value: Any, t: Type) -> Any:
    """A value as the backends take it: 0-d arrays become scalars, byte-swapped arrays native, records tuples."""
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return value[()]
        return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))
    return structures.runtime(value, t) if has_parts(value) or isinstance(t, Function) else value


def _needs_conversion(t: Type) -> bool:
    return isinstance(t, (Function, Record, List)) or any(map(_needs_conversion, parts(t)))


def _converter(result: Type | None) -> Callable[[Any], Any] | None:
    """How a run-time result becomes the user's value; None when it already is."""
    if result is None or not _needs_conversion(result):
        return None
    return functools.partial(returned_value, type=result)
