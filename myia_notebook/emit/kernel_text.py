"""A program of numbers as the text of a kernel: the machine of `lower.plan`, one thread for each element.

    state 0                       the root, for one element
    a state for each entry        a graph that is jumped to; its parameters are variables
    a state for each return       what follows a call, and the join of a branch whose arms call

A thread has two columns of words in memory, `I` for integers and `F` for floats: frames grow from the bottom, cells (closures, environments, tapes) from the top. A
call pushes the variables that are still needed and the number of the state that follows it. Nothing recurses on the device. A thread that fails leaves the number
of its element in `failed[0]`, the smallest of all; one whose columns are full sets `failed[1]`.

On entry: a plan whose types are numbers, tuples, closures and environments. Arrays, lists and `print` are refused (M801), by symbol and line, before
anything is compiled. The text is Python in the subset that Numba compiles for CUDA and that its simulator runs.
"""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from myia_notebook.emit.kernel_scalar import LIBDEVICE, literal, scalar
from myia_notebook.emit.python_source import _free, _identifier
from myia_notebook.errors import error
from myia_notebook.ir.graph import UNDEFINED, ZERO, Apply, Constant, Graph, Node, callee_of, graph_constant, primitive_of, schedule
from myia_notebook.ir.types import Array, Function, List, Scalar, Tuple, Type, parts, sensitivity
from myia_notebook.lower.plan import BRANCH, Plan, last_uses, member_tags, words
from myia_notebook.lower.primitives import ENV_IS, ENV_IS_ZERO
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.primitive import Checked, Elementwise, Primitive
from myia_notebook.ops.table import PRIMITIVES

RETURN = "return"
_WORD = re.compile(r"\w+")
DTYPES = {"f": "float64", "s": "float32", "i": "int64", "w": "int32", "b": "bool", "p": "int64"}
PARTIAL, MAKE_TUPLE, GETITEM, SWITCH, SEQUENCE, ENV_MAKE, ENV_GET, CLOSURE_IS, CLOSURE_GET, CAST, RAISE, PRINT = (PRIMITIVES[n] for n in (
    "partial", "make_tuple", "tuple_getitem", "switch", "sequence", "env_make", "env_get", "closure_is", "closure_get", "cast", "raise_", "print_"))
_RESERVED = frozenset((*LIBDEVICE, *(f"{n}_f" for n in LIBDEVICE), "fmod", "fmod_f", "copysign", "copysign_f", "divide", "inf", "nan", "int64", "int32", "float64", "float32",
                       "cuda", "abs", "range", "min", "I", "F", "failed", "count", "element", "thread", "threads", "state", "bad", "si", "sf", "ci", "cf", "room"))


@dataclass(slots=True)
class _Scope:
    """A graph being written: the texts of its nodes' words, and where in it we are."""

    graph: Graph
    last_use: dict[int, int]
    values: dict[int, list[str]] = field(default_factory=dict)
    position: int = 0


@dataclass(slots=True)
class _State:
    """A piece of code that is jumped to."""

    title: str
    lines: list[tuple[int, str, Node | None]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class KernelText:
    """The text of a kernel `name`. `takes` and `gives` are the dtypes of its arrays; `uses_memory`: whether it needs columns of words."""

    name: str
    lines: tuple[str, ...]
    origins: tuple[int, ...]
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    uses_memory: bool
    title: str = ""


def refuse_arrays(plan: Plan) -> None:
    """M801 for the first node whose type is no number, tuple, closure or environment; and for what prints."""
    for g in plan.graphs:
        for node in (*g.parameters, *schedule(g)):
            primitive = primitive_of(node)
            if primitive is PRINT:
                raise error("M801", node.provenance.span, message="'print' has no CUDA form", hint="use backend='numba'")
            if primitive is not None and "list" in primitive.laws or _holds_arrays(Builder.type_of(node)):
                symbol = f"'{primitive.symbol}'" if primitive is not None else f"'{node.name}'"
                raise error("M801", node.provenance.span, message=f"{symbol} of type {node.type} has no CUDA form: a kernel's data are numbers, tuples and records",
                            hint="use backend='numba'")


def _holds_arrays(t: Type) -> bool:
    return isinstance(t, (Array, List)) or any(map(_holds_arrays, parts(t)))


class KernelWriter:
    """Writes one program."""

    def __init__(self, plan: Plan) -> None:
        refuse_arrays(plan)
        self.plan = plan
        self.taken = set(_RESERVED)
        self.kinds: dict[str, str] = {}
        self.states: list[_State] = []
        self.entries: dict[int, tuple[int, list[str]]] = {}
        self.pending: list[Graph] = []
        self.results: dict[tuple[str, ...], list[str]] = {}
        self.scopes: list[_Scope] = []
        self.out: list[tuple[int, str, Node | None]] = []
        self.depth = 0
        self.node: Node | None = None
        self.uses_memory = False
        self.tags = member_tags(plan)

    # -- small pieces

    def line(self, text: str) -> None:
        self.out.append((self.depth, text, self.node))

    def fresh(self, hint: str, kind: str) -> str:
        made = _free(_identifier(hint) if hint else "t", self.taken)
        self.taken.add(made)
        self.kinds[made] = kind
        return made

    def named(self, text: str, hint: str, kind: str = "f") -> str:
        """A text as a name or number that may be read often."""
        return text if text in self.kinds or _is_constant(text) else self.copy(text, hint, kind)

    def copy(self, text: str, hint: str, kind: str) -> str:
        name = self.fresh(hint, kind)
        self.line(f"{name} = {text}")
        return name

    def fail_if(self, condition: str) -> None:
        self.line(f"if {condition}:")
        self.line("    bad = 1")
        self.line("    break")

    def state(self, title: str) -> int:
        self.states.append(_State(title))
        return len(self.states) - 1

    def go(self, number: int) -> None:
        self.line(f"state = {number}")
        self.line("continue")

    def at(self, number: int) -> None:
        """From here on the code of a state is written."""
        self.out, self.depth = self.states[number].lines, 0

    # -- memory

    def _read(self, address: str, place: int, kind: str) -> str:
        """A word of a cell: integers from word 2 of its column on, floats from where word 1 says."""
        if kind in "fs":
            text = f"F[I[{address} + 1, thread] + {place}, thread]"
            return text if kind == "f" else f"float32({text})"
        return _typed(f"I[{address} + {2 + place}, thread]", kind)

    def _cell(self, tag: int, values: list[tuple[str, str]]) -> str:
        self.uses_memory = True
        integers = [(v, k) for v, k in values if k not in "fs"]
        floats = [v for v, k in values if k in "fs"]
        self.line(f"ci -= {2 + len(integers)}")
        if floats:
            self.line(f"cf -= {len(floats)}")
        self._room()
        self.line(f"I[ci, thread] = {tag}")
        self.line("I[ci + 1, thread] = cf")
        for i, (v, k) in enumerate(integers):
            self.line(f"I[ci + {2 + i}, thread] = {_stored(v, k)}")
        for i, v in enumerate(floats):
            self.line(f"F[cf + {i}, thread] = {v}")
        return self.copy("ci", "cell", "p")

    def _room(self) -> None:
        self.line("if ci <= si or cf <= sf:")
        self.line("    bad = 2")
        self.line("    break")

    def _push(self, names: list[str], number: int) -> None:
        self.uses_memory = True
        integers, floats = [n for n in names if self.kinds[n] not in "fs"], [n for n in names if self.kinds[n] in "fs"]
        self.line(f"if ci <= si + {len(integers) + 1} or cf <= sf + {len(floats)}:")
        self.line("    bad = 2")
        self.line("    break")
        for i, n in enumerate(integers):
            self.line(f"I[si + {i}, thread] = {_stored(n, self.kinds[n])}")
        for i, n in enumerate(floats):
            self.line(f"F[sf + {i}, thread] = {n}")
        self.line(f"I[si + {len(integers)}, thread] = {number}")
        self.line(f"si += {len(integers) + 1}")
        if floats:
            self.line(f"sf += {len(floats)}")

    def _pop(self, names: list[str]) -> None:
        integers, floats = [n for n in names if self.kinds[n] not in "fs"], [n for n in names if self.kinds[n] in "fs"]
        self.line(f"si -= {len(integers) + 1}")
        if floats:
            self.line(f"sf -= {len(floats)}")
        for i, n in enumerate(integers):
            self.line(f"{n} = {_typed(f'I[si + {i}, thread]', self.kinds[n])}")
        for i, n in enumerate(floats):
            self.line(f"{n} = " + (f"F[sf + {i}, thread]" if self.kinds[n] == "f" else f"float32(F[sf + {i}, thread])"))

    # -- the whole kernel

    def run(self, name: str) -> KernelText:
        root = self.plan.root
        takes = [(p, k) for p in root.parameters for k in words(Builder.type_of(p))]
        gives = words(root.result)  # type: ignore[arg-type]
        inputs = [(self.fresh(p.name, k), self.fresh(p.name + "s", k)) for p, k in takes]
        outputs = [self.fresh(f"out{i}", k) for i, k in enumerate(gives)]
        self.entries[root.id] = self.state(root.name), [n for n, _ in inputs]
        self.done = self._slots(tuple(gives))
        self.pending.append(root)
        while self.pending:
            graph = self.pending.pop(0)
            number, names = self.entries[graph.id]
            self.at(number)
            self.scopes = []
            kinds = tuple(words(graph.result))  # type: ignore[arg-type]
            self._body(graph, names, lambda values, kinds=kinds: self._return(values, kinds), True)
        if self.uses_memory:
            self.at(self.state("done"))
            self.node = None
            self.line("break")
        return self._assembled(name, inputs, outputs, takes, gives)

    def _assembled(self, name: str, inputs: list[tuple[str, str]], outputs: list[str], takes: list[Any], gives: list[str]) -> KernelText:
        steps = [self.fresh(f"{array}_step", "i") for _, array in inputs]
        lines: list[tuple[int, str, Node | None]] = []
        parameters = ["count", *(x for (_, array), step in zip(inputs, steps) for x in (array, step)), *outputs, "failed", "I", "F"]

        def put(depth: int, text: str, node: Node | None = None) -> None:
            lines.append((depth, text, node))

        put(0, f"def {name}({', '.join(parameters)}):")
        put(1, "thread = cuda.grid(1)")
        put(1, "threads = cuda.gridsize(1)")
        put(1, "for element in range(thread, count, threads):")
        for (n, array), step in zip(inputs, steps):
            put(2, f"{n} = {array}[element * {step}]")
        put(2, "bad = 0")
        if self.uses_memory:
            put(2, f"I[0, thread] = {len(self.states) - 1}")
            put(2, "si = 1")
            put(2, "sf = 0")
            put(2, "ci = I.shape[0]")
            put(2, "cf = F.shape[0]")
        for n in self._crossing({n for n, _ in inputs}):  # Numba wants each variable made before the loop, with its one type
            put(2, f"{n} = {literal(0, DTYPES[self.kinds[n]])}")
        put(2, "state = 0")
        put(2, "while True:")
        for i, s in enumerate(self.states):
            if len(self.states) == 1:
                put(3, f"# {s.title}")
            else:
                put(3, f"{'if' if i == 0 else 'elif'} state == {i}:  # {s.title}")
            for depth, text, node in s.lines:
                for own in (self._back() if text == RETURN else (text,)):
                    put((3 if len(self.states) == 1 else 4) + depth, own, node)
        put(2, "if bad == 0:")
        for n, out in zip(self.done, outputs):
            put(3, f"{out}[element] = {n}")
        if not self.done:
            put(3, "pass")
        put(2, "elif bad == 1:")
        put(3, "cuda.atomic.min(failed, 0, element)")
        put(2, "else:")
        put(3, "cuda.atomic.max(failed, 1, 1)")
        origins = tuple(n.provenance.span.line if n is not None and n.provenance.span is not None else 0 for _, _, n in lines)
        return KernelText(name, tuple("    " * d + text for d, text, _ in lines), origins, tuple(DTYPES[k] for _, k in takes), tuple(DTYPES[k] for k in gives),
                          self.uses_memory)

    def _crossing(self, known: set[str]) -> list[str]:
        """The variables that one state makes and another reads."""
        seen: dict[str, int] = dict.fromkeys(self.done, -1)
        crossing = dict.fromkeys(self.done)
        for i, s in enumerate(self.states):
            for name in (n for _, text, _ in s.lines for n in _WORD.findall(text)):
                if name in self.kinds and seen.setdefault(name, i) != i:
                    crossing[name] = None
        return [n for n in crossing if n not in known]

    # -- entries, jumps, returns

    def _slots(self, kinds: tuple[str, ...]) -> list[str]:
        if kinds not in self.results:
            self.results[kinds] = [self.fresh("result", k) for k in kinds]
        return self.results[kinds]

    def _entry(self, graph: Graph) -> tuple[int, list[str]]:
        if graph.id not in self.entries:
            names = [self.fresh(p.name or "t", k) for p in graph.parameters for k in words(Builder.type_of(p))]
            self.entries[graph.id] = self.state(graph.name), names
            self.pending.append(graph)
        return self.entries[graph.id]

    def _assign(self, names: list[str], values: list[str]) -> None:
        changed = [(n, v) for n, v in zip(names, values) if n != v]
        if changed:
            self.line(f"{', '.join(n for n, _ in changed)} = {', '.join(v for _, v in changed)}")

    def _jump(self, graph: Graph, values: list[str]) -> None:
        number, names = self._entry(graph)
        self._assign(names, values)
        self.go(number)

    def _return(self, values: list[str], kinds: tuple[str, ...]) -> None:
        self._assign(self._slots(kinds), values)
        self.line(RETURN)

    def _back(self) -> tuple[str, ...]:
        """Statements of a return. Where nothing calls, only the root returns."""
        return ("state = I[si - 1, thread]", "continue") if self.uses_memory else ("break",)

    def _live(self) -> list[str]:
        """The variables of all scopes that are needed after the current node, each once."""
        found = (w for s in self.scopes for key, own in s.values.items() if s.last_use.get(key, -1) > s.position for w in own)
        return [w for w in dict.fromkeys(found) if w in self.kinds]

    def _call(self, kinds: tuple[str, ...], jump: Callable[[], None]) -> list[str]:
        live = self._live()
        after = self.state(f"after {self.scopes[-1].graph.name} called")
        self._push(live, after)
        jump()
        self.at(after)
        self._pop(live)
        return [self.copy(slot, "t", self.kinds[slot]) for slot in self._slots(kinds)]

    # -- bodies

    def _body(self, graph: Graph, arguments: list[str], finish: Callable[[list[str]], None], is_tail: bool) -> None:
        nodes = schedule(graph)
        scope = _Scope(graph, last_uses(nodes, graph.output))
        position = 0
        for p in graph.parameters:
            count = len(words(Builder.type_of(p)))
            scope.values[p.id] = arguments[position:position + count]
            position += count
        self.scopes.append(scope)
        for i, node in enumerate(nodes):
            scope.position, self.node = i, node
            if is_tail and node is graph.output and self._tail(node, finish):
                self.scopes.pop()
                return
            values = self._node(node)
            if values is None:
                self.scopes.pop()
                return
            scope.values[node.id] = [self._held(v, node, k) for v, k in zip(values, words(Builder.type_of(node)))]
        scope.position = len(nodes)
        values = self.operand(graph.output)
        self.scopes.pop()
        finish(values)

    def _held(self, text: str, node: Node, kind: str) -> str:
        """A word as something that may be read twice: a name or a constant."""
        if text in self.kinds or _is_constant(text):
            return text
        return self.copy(text, node.name or "t", kind)

    def operand(self, node: Node) -> list[str]:
        return self.scopes[-1].values[node.id] if not isinstance(node, Constant) else self.constant(node.value, Builder.type_of(node))

    def operands(self, nodes: list[Node]) -> list[str]:
        return [w for node in nodes for w in self.operand(node)]

    def constant(self, value: Any, t: Type) -> list[str]:
        if value is ZERO or value is UNDEFINED:
            return [literal(0, DTYPES[k]) for k in words(t)]
        match t:
            case Scalar(dtype):
                return [literal(value, dtype)]
            case Tuple(items):
                return [w for v, item in zip(value, items) for w in self.constant(v, item)]
            case Function():
                return [self._cell(self.tags[value.id], [])]
            case _:
                return []

    # -- control

    def _tail(self, node: Apply, finish: Callable[[list[str]], None]) -> bool:
        target, primitive = callee_of(node), primitive_of(node)
        if target is not None:
            self._jump(target, self.operands(node.inputs[1:]))
        elif primitive is BRANCH:
            arguments, test = self.operands(node.inputs[4:]), self.operand(node.inputs[1])[0]
            self._arms(test, node, lambda arm: self._jump_or_place(arm, arguments, finish))
        elif primitive is None:
            self._unknown(node)
        else:
            return False
        return True

    def _jump_or_place(self, arm: Graph, arguments: list[str], finish: Callable[[list[str]], None]) -> None:
        if arm.id in self.plan.entries:
            self._jump(arm, arguments)
        else:
            saved, self.scopes = self.scopes, []
            self._body(arm, arguments, finish, True)
            self.scopes = saved

    def _arms(self, test: str, node: Apply, write: Callable[[Graph], None]) -> None:
        """if test: the first arm, else: the second. Afterwards the writer is where it was."""
        out, depth = self.out, self.depth
        for head, x in ((f"if {test}:", node.inputs[2]), ("else:", node.inputs[3])):
            arm = graph_constant(x)
            assert arm is not None
            self.out, self.depth, self.node = out, depth, node
            self.line(head)
            self.depth += 1
            before = len(out)
            write(arm)
            if len(out) == before:
                out.append((depth + 1, "pass", None))
        self.out, self.depth = out, depth

    def _unknown(self, node: Apply) -> None:
        """Jumps to the graph of a closure, by its tag."""
        t = Builder.type_of(node.inputs[0])
        assert isinstance(t, Function)
        closure, arguments = self.operand(node.inputs[0])[0], self.operands(node.inputs[1:])
        known = {g.id for g in self.plan.graphs}
        members = [m for m in t.cls.members if m.id in known]
        for i, member in enumerate(members):
            is_last = i == len(members) - 1
            if not is_last:
                self.line(f"if I[{closure}, thread] == {self.tags[member.id]}:")
                self.depth += 1
            captured = self._fields(closure, [words(Builder.type_of(p)) for p in member.parameters[:member.captured]])
            self._jump(member, [*(w for own in captured for w in own), *arguments])
            if not is_last:
                self.depth -= 1
        if not members:
            self.line("bad = 1")
            self.line("break")

    def _fields(self, address: str, kinds: list[list[str]]) -> list[list[str]]:
        """The texts of a cell's fields."""
        integers = floats = 0
        found: list[list[str]] = []
        for own in kinds:
            found.append([])
            for k in own:
                found[-1].append(self._read(address, floats if k in "fs" else integers, k))
                floats, integers = floats + (k in "fs"), integers + (k not in "fs")
        return found

    def _branch(self, node: Apply, t: Type) -> list[str] | None:
        arms = [graph_constant(x) for x in node.inputs[2:4]]
        arguments, test = self.operands(node.inputs[4:]), self.operand(node.inputs[1])[0]
        kinds = tuple(words(t))
        if any(a is not None and a.id in self.plan.entries for a in arms):
            def jump() -> None:
                saved, self.scopes = self.scopes, []
                self._arms(test, node, lambda arm: self._jump_or_place(arm, arguments, lambda values: self._return(values, kinds)))
                self.scopes = saved
            return self._call(kinds, jump)
        made = [self.fresh(node.name or "t", k) for k in kinds]
        after = self.state(f"after the branch in {self.scopes[-1].graph.name}") if any(a is not None and self._calls(a) for a in arms) else None
        ends: list[bool] = []
        scopes = self.scopes

        def finish(values: list[str]) -> None:
            ends.append(True)
            self._assign(made, values)
            if after is not None:
                self.go(after)

        def write(arm: Graph) -> None:
            self.scopes = list(scopes)
            self._body(arm, arguments, finish, False)

        self._arms(test, node, write)
        self.scopes = scopes
        if after is not None:
            self.at(after)
        return made if ends else None

    def _calls(self, graph: Graph) -> bool:
        """Whether a graph placed here pushes frames."""
        for node in schedule(graph):
            if primitive_of(node) is None:
                return True
            if primitive_of(node) is BRANCH:
                arms = [a for x in node.inputs[2:4] if (a := graph_constant(x)) is not None]
                if any(a.id in self.plan.entries or self._calls(a) for a in arms):
                    return True
        return False

    # -- nodes

    def _node(self, node: Apply) -> list[str] | None:
        primitive, t = primitive_of(node), Builder.type_of(node)
        kinds = tuple(words(t))
        if primitive is None:
            target = callee_of(node)
            if target is not None:
                arguments = self.operands(node.inputs[1:])
                return self._call(kinds, lambda: self._jump(target, arguments))
            return self._call(kinds, lambda: self._unknown(node))
        if primitive is BRANCH:
            return self._branch(node, t)
        if primitive is RAISE:
            self.line("bad = 1")
            self.line("break")
            return None
        if primitive is MAKE_TUPLE:
            assert isinstance(t, Tuple)
            own = [(self.operand(x), item) for x, item in zip(node.inputs[1:], t.items)]
            return [w for v, item in own for w in (v if len(v) == len(words(item)) else self.constant(UNDEFINED, item))]
        if primitive is GETITEM:
            of, index = Builder.type_of(node.inputs[1]), node.inputs[2].value  # type: ignore[attr-defined]
            start = sum(len(words(item)) for item in of.items[:index])  # type: ignore[attr-defined]
            return self.operand(node.inputs[1])[start:start + len(kinds)]
        if primitive is SWITCH:
            test = self.operand(node.inputs[1])[0]
            return [x if x == y else f"({x} if {test} else {y})" for x, y in zip(self.operand(node.inputs[2]), self.operand(node.inputs[3]))]
        if primitive is SEQUENCE:
            return self.operand(node.inputs[2])
        return self._memory_node(node, primitive, t)

    def _memory_node(self, node: Apply, primitive: Primitive, t: Type) -> list[str]:
        """Closures and environments; then numbers."""
        if primitive is PARTIAL:
            target = graph_constant(node.inputs[1])
            assert target is not None
            kinds = [k for p in target.parameters[:target.captured] for k in words(Builder.type_of(p))]
            return [self._cell(self.tags[target.id], list(zip(self.operands(node.inputs[2:]), kinds)))]
        if primitive in (ENV_MAKE, ENV_GET, ENV_IS, CLOSURE_IS, CLOSURE_GET):
            place = 1 if primitive is ENV_MAKE else 2
            label: Graph = node.inputs[place].value.graph  # type: ignore[attr-defined]
            captured = [Builder.type_of(p) for p in label.parameters[:label.captured]]
            fields = [words(p if primitive is CLOSURE_GET else sensitivity(p)) for p in captured]
            tag = self.tags.get(label.id, -1)
            if primitive is ENV_MAKE:
                return [self._cell(tag, list(zip(self.operands(node.inputs[2:]), (k for own in fields for k in own))))]
            address = self.operand(node.inputs[1])[0]
            if primitive in (ENV_IS, CLOSURE_IS):
                return [f"(I[{address}, thread] == {tag})"]
            found = self._fields(address, fields)[node.inputs[3].value]  # type: ignore[attr-defined]
            if primitive is CLOSURE_GET:
                return found
            return self._guarded(f"{address} != 0 and I[{address}, thread] == {tag}" if not _is_constant(address) else "False", found, words(t))
        if primitive is ENV_IS_ZERO:
            return [f"({self.operand(node.inputs[1])[0]} == 0)"]
        if primitive is CAST and not isinstance(t, Scalar):
            source = self.operand(node.inputs[1])
            return source if len(source) == len(words(t)) else self.constant(UNDEFINED, t)
        match primitive.emit:
            case Elementwise(operation) | Checked(operation) if isinstance(t, Scalar):
                return [scalar(self, node, primitive, operation, t)]
            case _:
                raise error("M801", node.provenance.span, message=f"'{primitive.symbol}' has no CUDA form", hint="use backend='numba'")

    def _guarded(self, test: str, found: list[str], kinds: list[str]) -> list[str]:
        """What is read where a test holds, else zero."""
        made = [self.fresh("t", k) for k in kinds]
        for name, k in zip(made, kinds):
            self.line(f"{name} = {literal(0, DTYPES[k])}")
        if test != "False" and made:
            self.line(f"if {test}:")
            for name, text in zip(made, found):
                self.line(f"    {name} = {text}")
        return made


def _typed(text: str, kind: str) -> str:
    """A word of `I` as a value of its kind."""
    return f"({text} != 0)" if kind == "b" else f"int32({text})" if kind == "w" else text


def _stored(text: str, kind: str) -> str:
    return f"(1 if {text} else 0)" if kind == "b" else text


def _is_constant(text: str) -> bool:
    return text in ("True", "False", "inf", "-inf", "nan") or text.replace(".", "").replace("-", "").replace("e", "").replace("+", "").isdigit() or (
        text.startswith(("float32(", "int32(")) and text.count("(") == 1 and _is_constant(text[text.index("(") + 1:-1]))


def kernel_text(plan: Plan) -> KernelText:
    """The kernel of a program of numbers. Raises M801 for what has no CUDA form."""
    name = _identifier(plan.root.name)
    return KernelWriter(plan).run(f"{name}_kernel")


__all__ = ["KernelText", "kernel_text", "refuse_arrays"]
