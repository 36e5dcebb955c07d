"""Equations of the picture: IR nodes as token lists, in the program's own names.

`expression(node, ...)` writes a node as mathematics: products as `a · b`, quotients as fractions, powers raised, functions applied;
a node that has a name is written by its name, so that an equation stops at the variables of the user's program.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence

from myia_notebook.ir.graph import ZERO, Apply, Constant, Graph, Node, callee_of, primitive_of
from myia_notebook.ir.types import Function
from myia_notebook.snapshot import Token

_PRODUCT, _SUM, _UNARY, _POWER, _ATOM, _LOOSE = 30, 20, 35, 40, 50, 0
_INFIX = {"add": ("+", _SUM), "add_sensitivities": ("+", _SUM), "subtract": ("−", _SUM), "multiply": ("·", _PRODUCT),
          "strong_multiply": ("·", _PRODUCT), "matmul": ("@", _PRODUCT), "mod": ("mod", _PRODUCT), "python_mod": ("mod", _PRODUCT),
          "less": ("<", 10), "less_equal": ("≤", 10), "greater": (">", 10), "greater_equal": ("≥", 10), "equal": ("=", 10),
          "not_equal": ("≠", 10)}
_FRACTION = {"divide", "python_divide", "strong_divide"}
_SUPERSCRIPT = {"power", "python_power"}
_TRANSPARENT = {"cast", "sum_to", "broadcast_to", "sequence"}
_DEPTH = 12


def number(value: object) -> str:
    """A number as the picture writes it: at most 4 decimals, U+2212 for minus, e-notation when it is small or large."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        text = str(value)
    elif value != value or value in (float("inf"), float("-inf")):
        text = str(value).replace("inf", "∞")
    elif value and (abs(value) < 1e-3 or abs(value) >= 1e6):
        text = f"{value:.4g}"
    elif value == round(value, 4):
        text = repr(round(value, 4))
    else:
        text = f"{value:.4f}"
    return text.replace("-", "−")


class Writer:
    """Writes nodes of one graph. `id_of` gives the snapshot's id of a node, `source_of` the user's text for a node without a name;
    `stop` holds the ids of nodes to be written by `name_of` instead of being opened."""

    def __init__(self, id_of: Callable[[Node], int], source_of: Callable[[Node], str], stop: Container[int] = (),
                 name_of: Callable[[Node], str] = lambda node: node.name) -> None:
        self.id_of, self.source_of, self.stop, self.name_of = id_of, source_of, stop, name_of

    def tokens(self, node: Node) -> tuple[Token, ...]:
        return self._write(node, _LOOSE, 0)[0]

    def name(self, node: Node) -> Token:
        """The symbol of a node: its name, else the source text, never an internal number."""
        text = self.name_of(node) or self.source_of(node) or "…"
        role = "sensitivity" if text.startswith("∇") else "primal"
        return Token("name", text, role, self.id_of(node))

    def _write(self, node: Node, outer: int, depth: int) -> tuple[tuple[Token, ...], int]:
        if isinstance(node, Constant):
            return (self._constant(node),), _ATOM
        if not isinstance(node, Apply) or node.id in self.stop or (node.name and depth) or depth > _DEPTH:
            return (self.name(node),), _ATOM
        primitive = primitive_of(node)
        if primitive is None:
            return self._call(node, depth), _ATOM
        name, operands = primitive.name, node.arguments
        if name in _TRANSPARENT:
            return self._write(operands[-1] if name == "sequence" else operands[0], outer, depth + 1)
        if name in _FRACTION:
            return (Token("fraction", body=self._inner(operands[0], depth), below=self._inner(operands[1], depth)),), _ATOM
        if name in _SUPERSCRIPT:
            base = self._wrap(operands[0], _POWER + 1, depth)
            return (*base, Token("sup", body=self._inner(operands[1], depth))), _POWER
        if name == "negative":
            return (Token("operator", "−"), *self._wrap(operands[0], _UNARY, depth)), _SUM
        if name in _INFIX:
            symbol, level = _INFIX[name]
            left, right = self._wrap(operands[0], level, depth), self._wrap(operands[1], level + 1, depth)
            return (*left, Token("operator", symbol), *right), level
        if name == "make_tuple":
            return (Token("open", "("), *self._list(operands, depth), Token("close", ")")), _ATOM
        if name == "tuple_getitem":
            return (*self._wrap(operands[0], _ATOM, depth), Token("text", f"[{_text(operands[1])}]")), _ATOM
        shown = [x for x in operands if not isinstance(x, Constant) or (isinstance(x.value, (int, float)) and not isinstance(x.value, bool))]
        return (Token("function", primitive.symbol or primitive.name, body=self._list(shown, depth)),), _ATOM

    def _list(self, operands: Sequence[Node], depth: int) -> tuple[Token, ...]:
        body: list[Token] = []
        for i, operand in enumerate(operands):
            if i:
                body.append(Token("operator", ","))
            body.extend(self._inner(operand, depth))
        return tuple(body)

    def _inner(self, node: Node, depth: int) -> tuple[Token, ...]:
        return self._write(node, _LOOSE, depth + 1)[0]

    def _wrap(self, node: Node, level: int, depth: int) -> tuple[Token, ...]:
        tokens, own = self._write(node, level, depth + 1)
        return tokens if own >= level else (Token("open", "("), *tokens, Token("close", ")"))

    def _call(self, node: Apply, depth: int) -> tuple[Token, ...]:
        target = callee_of(node)
        head = target.name if target is not None else self._function_name(node.function)
        return (Token("function", head, body=self._list(node.arguments, depth)),)

    def _function_name(self, node: Node) -> str:
        """A function value by the user's name, or by the graph that it must be: a backpropagator is `◀f`."""
        if node.name or not isinstance(node.type, Function):
            return self.name(node).text
        names = list(dict.fromkeys(member.name for member in node.type.cls.members))
        return names[0] if len(names) == 1 else names[0][:1] if all(n[:1] == names[0][:1] for n in names) else self.name(node).text

    def _constant(self, node: Constant) -> Token:
        value = node.value
        if value is ZERO:
            return Token("number", "0")
        if isinstance(value, Graph):
            return Token("name", value.name, "primal")
        if hasattr(value, "item") and getattr(value, "size", 0) == 1:
            value = value.item()
        return Token("number", number(value)) if isinstance(value, (int, float)) else Token("text", _text(node))


_WORDS = re.compile(r"\s*(?:(\w+)(?=\()|(\d[\w.]*|True)|([^\W\d]\w*)|([(\[])|([)\]])|(\S))")


def statement(text: str) -> tuple[Token, ...]:
    """One side of a rewrite rule's statement, such as `(x × (a × y))`, as tokens: letters are variables, words before `(` functions."""
    text = text.replace("negative(", "−(")
    if text.startswith("(") and _closes_at_end(text):
        text = text[1:-1]
    tokens: list[Token] = []
    for word, digits, letter, opening, closing, sign in _WORDS.findall(text):
        if digits:
            tokens.append(Token("number", digits))
        elif word or letter:
            name = word or letter
            tokens.append(Token("name", name) if len(name) == 1 else Token("text", name if word else f" {name} "))
        elif opening or closing:
            tokens.append(Token("open" if opening else "close", opening or closing))
        else:
            tokens.append(Token("operator", sign))
    return tuple(tokens)


def _closes_at_end(text: str) -> bool:
    """Whether the first parenthesis closes with the last letter."""
    depth = 0
    for i, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0:
            return i == len(text) - 1
    return False


def _text(node: Node) -> str:
    return repr(node.value) if isinstance(node, Constant) else node.name
