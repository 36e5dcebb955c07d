"""Reads the textual IR (grammar in `ir.text`). Used by tests, which state programs as text.

Function classes are read by their members: `fn<@g | @h>` in two places is one class, and every member's `function_class` is set.
"""
from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from myia_notebook.ir.graph import UNDEFINED, ZERO, Apply, Constant, Graph, Node
from myia_notebook.ir.types import BOOL, FLOAT, INT, NEVER, NONE, RANGE, Array, Environment, Function, FunctionClass, Scalar, Static, Tuple, Type
from myia_notebook.ops.environment import Label
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.table import PRIMITIVES

_SCALARS: dict[str, Type] = {"bool": BOOL, "int": INT, "float": FLOAT, "None": NONE, "range": RANGE, "never": NEVER,
                             **{d: Scalar(d) for d in ("int32", "int64", "float32", "float64")}}
_WORDS = {"True": True, "False": False, "None": None, "inf": float("inf"), "nan": float("nan")}


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
        return root

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
        names: dict[str, Node] = {}

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
            head = self.operand(names)
            self.take("(")
            arguments = self.listed(")", lambda: self.operand(names))
            names[word] = Apply(graph, [head, *arguments], t, _user_name(word))

    def type(self) -> Type:
        word = self.take()
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

    def operand(self, names: dict[str, Node]) -> Node:
        kind, text, line = self.tokens[self.at]
        self.at += 1
        if kind == "string":
            value = ast.literal_eval(text)
            return Constant(value, Static(value))
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
        if text in ("zero", "array"):
            return self._typed(text)
        if text == "undefined":
            return Constant(UNDEFINED, NEVER)
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
        raise ValueError(f"line {line}: unknown name {text!r}")

    def _more(self) -> bool:
        """Inside a literal tuple: whether another item follows."""
        self.accept(",")
        return not self.accept(")")

    def _typed(self, word: str) -> Constant:
        self.take("<")
        t = self.type()
        self.take(">")
        if word == "zero":
            return Constant(ZERO, t)
        self.take("(")
        self.take("[")
        values = [ast.literal_eval(v) for v in self.listed("]", self.take)]
        self.take(")")
        assert isinstance(t, Array)
        return Constant(np.array(values, t.dtype).reshape(t.shape), t)


def _constant(value: Any) -> Constant:
    node = Constant(value)
    Builder.type_of(node)
    return node


def _user_name(word: str) -> str:
    return "" if word.startswith("%") else re.sub(r"\.\d+$", "", word)
