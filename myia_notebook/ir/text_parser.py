"""Reads the textual IR (grammar in `ir.text`). Used by tests, which state programs as text.

Function classes are read by their members: `fn<@g | @h>` in two places is one class, and every member's `function_class` is set. What stands
between ‹ and › is kept as it is (`Opaque`): a program that holds it is equal in text, and can be run where it is not looked at.
"""
from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from myia_notebook.ir.graph import UNDEFINED, ZERO, Apply, Constant, Graph, Node
from myia_notebook.ir.types import BOOL, FLOAT, INT, NEVER, NONE, RANGE, Array, Environment, Function, FunctionClass, List, Scalar, Static, Tuple, Type
from myia_notebook.ops.environment import Label
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.table import PRIMITIVES

_SCALARS: dict[str, Type] = {"bool": BOOL, "int": INT, "float": FLOAT, "None": NONE, "range": RANGE, "never": NEVER,
                             **{d: Scalar(d) for d in ("int32", "int64", "float32", "float64")}}
_WORDS = {"True": True, "False": False, "None": None, "inf": float("inf"), "nan": float("nan")}


@dataclass(frozen=True, slots=True)
class Opaque:
    """A static value of which only the text is known."""

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class OpaqueType(Type):
    """A type of which only the text is known."""

    text: str

    def __str__(self) -> str:
        return self.text


class Reader:
    """A cursor over the tokens of one program."""

    def __init__(self, text: str, pattern: re.Pattern[str]) -> None:
        self.tokens: list[tuple[str, str, int]] = []
        for number, line in enumerate(text.splitlines(), 1):
            position = 0
            while position < len(line.rstrip()):
                match = pattern.match(line, position)
                if match is None:
                    raise ValueError(f"line {number}: cannot read {line[position:]!r}")
                assert match.lastgroup is not None
                self.tokens.append((match.lastgroup, match.group(match.lastgroup), number))
                position = match.end()
            self.tokens.append(("end", "", number))
        self.at = 0
        self.graphs: dict[str, Graph] = {}
        self.classes: dict[tuple[str, ...], FunctionClass] = {}
        self.names: dict[int, dict[str, Node]] = {}
        self.free: list[_Free] = []

    # -- tokens

    def peek(self) -> str:
        return self.tokens[self.at][1]

    def take(self, expected: str | None = None) -> str:
        _, text, line = self.tokens[self.at]
        if expected is not None and text != expected:
            raise ValueError(f"line {line}: expected {expected!r}, found {text!r}")
        self.at += 1
        return text

    def accept(self, text: str) -> bool:
        if self.tokens[self.at][1] == text and self.tokens[self.at][0] != "string":
            self.at += 1
            return True
        return False

    def listed(self, close: str, item: Any, separator: str = ",") -> list[Any]:
        found: list[Any] = []
        while not self.accept(close):
            found.append(item())
            if not self.accept(separator):
                self.take(close)
                break
        return found

    # -- program

    def program(self) -> Graph:
        root: Graph | None = None
        while self.at < len(self.tokens):
            if self.tokens[self.at][0] == "end":
                self.at += 1
                continue
            graph = self.graph()
            root = root or graph
        if root is None:
            raise ValueError("no graph")
        if self.free:
            self._connect()
        return root

    def _connect(self) -> None:
        """Nested form: nodes of other graphs take the place of their names."""
        found = {free.id: self._owner(free) for free in self.free}
        for graph in self.graphs.values():
            graph.output = found.get(graph.output.id, graph.output)
            for node in self.names.get(graph.id, {}).values():
                if isinstance(node, Apply):
                    node.inputs[:] = [found.get(x.id, x) for x in node.inputs]

    def _owner(self, free: _Free) -> Node:
        for at in (i for i, c in enumerate(free.text) if c == "."):
            graph = self.graphs.get(free.text[:at])
            if graph is not None and free.text[at + 1:] in self.names.get(graph.id, {}):
                return self.names[graph.id][free.text[at + 1:]]
        raise ValueError(f"line {free.line}: unknown name '%{free.text}'")

    def named(self, word: str) -> Graph:
        name = word[1:]
        if name not in self.graphs:
            self.graphs[name] = Graph(re.sub(r"\.\d+$", "", name))
        return self.graphs[name]

    def graph(self) -> Graph:
        graph = self.named(self.take())
        if self.accept("["):
            graph.captured = int(self.take())
            self.take("]")
        self.take("(")
        names = self.names[graph.id] = {}

        def parameter() -> None:
            word = self.take()
            self.take(":")
            names[word] = graph.add_parameter(_user_name(word), self.type())

        self.listed(")", parameter)
        self.take("->")
        graph.result = self.type()
        self.take(":")
        while True:
            while self.tokens[self.at][0] == "end":
                self.at += 1
            if self.accept("return"):
                graph.output = self.operand(names)
                return graph
            word = self.take()
            self.take(":")
            t = self.type()
            self.take("=")
            head = self.head(names)
            self.take("(")
            arguments = self.listed(")", lambda: self.operand(names))
            names[word] = Apply(graph, [head, *arguments], t, _user_name(word))

    def type(self) -> Any:
        """A type; None for `?`."""
        word = self.take()
        if word == "?":
            return None
        if word.startswith("‹"):
            return _static(word[1:-1])
        if word == "list":
            self.take("[")
            item = self.type()
            self.take("]")
            return List(item)
        if word == "(":
            return Tuple(tuple(self.listed(")", self.type)))
        if word in ("fn", "env"):
            self.take("<")
            members = tuple(self.listed(">", self.take, "|"))
            return (Function if word == "fn" else Environment)(self.function_class(members))
        if word in _SCALARS and not (self.peek() == "[" and word not in ("None", "range", "never", "int", "float")):
            return _SCALARS[word]
        self.take("[")
        return Array(word, tuple(int(n) for n in self.listed("]", self.take)))

    def function_class(self, members: tuple[str, ...]) -> FunctionClass:
        if members not in self.classes:
            cls = self.classes[members] = FunctionClass([self.named(m) for m in members])
            for member in cls.members:
                member.function_class = cls
        return self.classes[members]

    def head(self, names: dict[str, Node]) -> Node:
        """What is called: the name of a type is an operation here (`bool(x)`), and a constant elsewhere (`float64(1.0)`)."""
        text = self.tokens[self.at][1]
        if text not in names and text not in PRIMITIVES and text in operations():
            self.at += 1
            return Constant(operations()[text])
        return self.operand(names)

    def operand(self, names: dict[str, Node]) -> Node:
        kind, text, line = self.tokens[self.at]
        self.at += 1
        if kind == "string":
            value = ast.literal_eval(text)
            return Constant(value, Static(value))
        if kind == "opaque":
            return Constant(Opaque(text[1:-1]), OpaqueType(text[1:-1]))
        if kind == "operation":
            return Constant(operations()[text])
        if kind == "number":
            return _constant(float(text) if re.search(r"[.naif]|e[+-]?\d", text) else int(text))
        if text in names:
            return names[text]
        if text == "(":
            items = [self.operand(names) for _ in iter(lambda: self._more(), False)]
            values = [item.value for item in items if isinstance(item, Constant)]
            return _constant(tuple(values))
        if text == "<":
            t = self.type()
            self.take(">")
            return Constant(t, Static(t))
        if text in ("zero", "array", "undefined") and self.peek() == "<":
            return self._typed(text)
        if text.startswith("@"):
            return Constant(self.named(text))
        if text.startswith("#"):
            label = Label(self.named("@" + text[1:]))
            return Constant(label, Static(label))
        if text in PRIMITIVES:
            return Constant(PRIMITIVES[text], Static(PRIMITIVES[text]))
        if text in _WORDS:
            return _constant(_WORDS[text])
        if text in _SCALARS and self.accept("("):
            inner = self.operand(names)
            self.take(")")
            assert isinstance(inner, Constant)
            return _constant(np.dtype(text).type(inner.value))
        if text.startswith("%") and "." in text:
            self.free.append(_Free(text[1:], line))
            return self.free[-1]
        if text in operations():
            return Constant(operations()[text])
        raise ValueError(f"line {line}: unknown name {text!r}")

    def _more(self) -> bool:
        """Inside a literal tuple: whether another item follows."""
        self.accept(",")
        return not self.accept(")")

    def _typed(self, word: str) -> Constant:
        self.take("<")
        t = self.type()
        self.take(">")
        if word != "array":
            return Constant(ZERO if word == "zero" else UNDEFINED, t)
        self.take("(")
        if self.accept("..."):
            self.take(")")
            return Constant(Opaque("array"), t)
        self.take("[")
        values = [_WORDS.get(v, None) if v in _WORDS else float(v) if re.search(r"[naif.e]", v) else int(v) for v in self.listed("]", self.take)]
        self.take(")")
        assert isinstance(t, Array)
        return Constant(np.array(values, t.dtype).reshape(t.shape), t)


def _static(text: str) -> Type:
    """The type of a string or another literal that is known before running; else what the text says."""
    try:
        return Static(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        return OpaqueType(text)


class _Free(Constant):
    """A node of another graph, until all graphs are read."""

    def __init__(self, text: str, line: int) -> None:
        super().__init__(None)
        self.text, self.line = text, line


def _constant(value: Any) -> Constant:
    node = Constant(value)
    Builder.type_of(node)
    return node


def _user_name(word: str) -> str:
    return "" if re.fullmatch(r"%\d+", word) else re.sub(r"\.\d+$", "", word)


@functools.cache
def operations() -> dict[str, Any]:
    """What a user's name means, by the name (nested form)."""
    from myia_notebook.ops.table import OPERATIONS
    return {operation.name.replace(" ", "·"): operation for operation in reversed(OPERATIONS.values())}
