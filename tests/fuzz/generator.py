"""Random whole programs of the language: a function `f(x, n)` of a float and an int that returns a float.

Every construct may occur inside every other: branches, loops with exits, recursion with fuel, closures that escape, functions as values, tuples, lists,
dicts, dataclasses, unions, comprehensions, match, item assignment. Loops and recursion are bounded; numbers stay of moderate size (`math.tanh`
and `math.sin` keep them so), so that differences are a fair judge of derivatives.
"""
from __future__ import annotations

import random

HEADER = '''import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class P:
    a: float
    b: float = 0.5

    def mix(self, k):
        return self.a * k + self.b

    def __add__(self, other):
        return P(self.a + other.a, self.b - other.b)


@dataclass(frozen=True)
class Leaf:
    v: float


@dataclass(frozen=True)
class Node:
    l: Any
    r: Any


def grow(d, v):
    if d <= 0:
        return Leaf(v)
    return Node(grow(d - 1, math.sin(v)), grow(d - 2, v * 0.5))


def fold(t, k):
    match t:
        case Leaf(v):
            return v * k
        case Node(l, r):
            return math.tanh(fold(l, k) + 0.3 * fold(r, k))


'''


class Generator:
    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    # -- expressions, by type; `scope` maps a kind to the names of that kind

    def real(self, scope: dict[str, list[str]], depth: int = 0) -> str:
        r = self.r
        if depth > 3 or r.random() < 0.25:
            return r.choice([*scope["float"], *scope["float"], f"{r.uniform(-1.5, 1.5):.2f}"])
        a = lambda: self.real(scope, depth + 1)  # noqa: E731
        options = [
            lambda: f"({a()} + {a()})", lambda: f"({a()} - {a()})", lambda: f"({a()} * {a()})", lambda: f"math.sin({a()})", lambda: f"math.tanh({a()})",
            lambda: f"math.cos({a()}) * 0.5", lambda: f"({a()} if {self.test(scope, depth + 1)} else {a()})", lambda: f"(-{a()})",
            lambda: f"({a()} / (1.5 + math.cos({a()})))", lambda: f"math.exp(-({a()}) ** 2)", lambda: f"max({a()}, {a()})", lambda: f"abs({a()})",
            lambda: f"({self.integer(scope, depth + 1)} * 0.25)"]
        if scope["list"]:
            xs = r.choice(scope["list"])
            options += [lambda: f"sum({xs})", lambda: f"{xs}[{r.choice(['0', '-1'])}]", lambda: f"sum([v * {a()} for v in {xs}])", lambda: f"(len({xs}) * {a()} * 0.1)",
                        lambda: f"sum(v * v for v in {xs} if v > {r.uniform(-0.5, 0.5):.2f})"]
        if scope["pair"]:
            options += [lambda: f"{r.choice(scope['pair'])}[{r.randrange(2)}]"] * 2
        if scope["record"]:
            p = r.choice(scope["record"])
            options += [lambda: f"{p}.{r.choice('ab')}", lambda: f"{p}.mix({a()})", lambda: f"({p} + P({a()})).mix(0.5)"]
        if scope["function"]:
            options += [lambda: f"{r.choice(scope['function'])}({a()})"] * 3
        if scope["dict"]:
            options += [lambda: r.choice(scope["dict"]) + r.choice(('["u"]', '["w"]'))]
        if scope["tree"]:
            options += [lambda: f"fold({r.choice(scope['tree'])}, {a()})"]
        return r.choice(options)()

    def integer(self, scope: dict[str, list[str]], depth: int = 0) -> str:
        r = self.r
        if depth > 2 or r.random() < 0.5:
            return r.choice([*scope["int"], str(r.randrange(0, 4))])
        b = lambda: self.integer(scope, depth + 1)  # noqa: E731
        return r.choice([lambda: f"({b()} + {b()})", lambda: f"({b()} * {b()} % 5)", lambda: f"({b()} // 2)", lambda: f"({b()} - 1)"])()

    def test(self, scope: dict[str, list[str]], depth: int = 0) -> str:
        r = self.r
        c = lambda: self.real(scope, depth + 2)  # noqa: E731
        simple = [lambda: f"{c()} > {r.uniform(-0.7, 0.7):.2f}", lambda: f"{self.integer(scope, depth + 1)} % 2 == 0", lambda: f"{c()} < {c()}",
                  lambda: f"-0.9 < {c()} < 0.8"]
        if depth < 2 and r.random() < 0.3:
            return r.choice([f"({self.test(scope, depth + 1)} and {self.test(scope, depth + 1)})", f"({self.test(scope, depth + 1)} or {self.test(scope, depth + 1)})",
                             f"(not {self.test(scope, depth + 1)})"])
        return r.choice(simple)()

    # -- statements

    def block(self, indent: int, scope: dict[str, list[str]], depth: int, in_loop: bool, size: int) -> None:
        """Statements; `scope` gains what is surely bound after them."""
        for _ in range(size):
            self.statement(indent, scope, depth, in_loop)

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    @staticmethod
    def inner(scope: dict[str, list[str]]) -> dict[str, list[str]]:
        return {k: list(v) for k, v in scope.items()}

    def statement(self, indent: int, scope: dict[str, list[str]], depth: int, in_loop: bool) -> None:
        r = self.r
        kinds = ["assign"] * 4 + ["update"] * 3 + ["list", "pair", "record", "function", "dict", "tree", "unpack", "int"]
        if depth < 3:
            kinds += ["if"] * 3 + ["for", "while", "forlist", "optional", "setitem", "match", "ifreturn"]
        if in_loop:
            kinds += ["exit"]
        getattr(self, "s_" + r.choice(kinds))(indent, scope, depth, in_loop)

    def s_assign(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        value, v = self.real(scope), self.name("v")
        self.put(i, f"{v} = {value}")
        scope["float"].append(v)

    def s_update(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        own = [v for v in scope["float"] if v != "x" and not v.startswith("c")]  # not what a closure captured
        if not own:
            return self.s_assign(i, scope, depth, loop)
        v = self.r.choice(own)
        self.put(i, self.r.choice([f"{v} = math.tanh({v} + {self.real(scope)})", f"{v} += {self.real(scope)} * 0.5", f"{v} *= math.cos({self.real(scope)})"]))

    def s_int(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        value, v = self.integer(scope), self.name("i")
        self.put(i, f"{v} = {value} % 6")
        scope["int"].append(v)

    def s_list(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        r = self.r
        value = r.choice([lambda: f"[{self.real(scope)}, {self.real(scope)}]", lambda: f"[math.sin({self.real(scope)} + k) for k in range({r.randrange(1, 4)})]",
                          lambda: f"[{self.real(scope)}] * {r.randrange(1, 3)}"])()
        if scope["list"] and r.random() < 0.4:
            old = r.choice(scope["list"])
            value = r.choice([f"{old} + [{self.real(scope)}]", f"[v * 0.5 for v in {old}]", f"{old}[::-1]", f"[{self.real(scope)}, *{old}]"])
        v = self.name("xs")
        self.put(i, f"{v} = {value}")
        scope["list"].append(v)

    def s_pair(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        value, v = f"({self.real(scope)}, {self.real(scope)})", self.name("t")
        self.put(i, f"{v} = {value}")
        scope["pair"].append(v)

    def s_record(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        value, v = self.r.choice([f"P({self.real(scope)}, {self.real(scope)})", f"P(a={self.real(scope)})"]), self.name("p")
        self.put(i, f"{v} = {value}")
        scope["record"].append(v)

    def s_dict(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        value, v = f'{{"u": {self.real(scope)}, "w": {self.real(scope)}}}', self.name("d")
        self.put(i, f"{v} = {value}")
        scope["dict"].append(v)

    def s_tree(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        value, v = f"grow({self.integer(scope)} % 4, {self.real(scope)})", self.name("tr")
        self.put(i, f"{v} = {value}")
        scope["tree"].append(v)

    def s_unpack(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        a, b = self.name("v"), self.name("v")
        source = self.r.choice([*scope["pair"], f"({self.real(scope)}, {self.real(scope)})"])
        self.put(i, f"{a}, {b} = {source}")
        scope["float"] += [a, b]

    def s_function(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        """A closure over values that are never assigned again: their names are fresh copies."""
        r = self.r
        copy = self.name("c")
        self.put(i, f"{copy} = {self.real(scope)}")
        v, arg = self.name("g"), self.name("a")
        body = {**{k: [] for k in scope}, "float": [copy, arg], "int": ["n"], "function": []}
        if r.random() < 0.5:
            self.put(i, f"{v} = lambda {arg}: {self.real(body)}")
        else:
            self.put(i, f"def {v}({arg}):")
            own = {k: list(x) for k, x in body.items()}
            self.block(i + 1, own, 2, False, r.randrange(0, 3))
            self.put(i + 1, f"return {self.real(own)}")
        scope["function"].append(v)

    def s_setitem(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        v = self.name("xs")
        self.put(i, f"{v} = [{self.real(scope)}, {self.real(scope)}, {self.real(scope)}]")
        self.put(i, f"{v}[{self.r.randrange(-3, 3)}] = {self.real(scope)}")
        self.put(i, f"{v}[{self.r.randrange(-3, 3)}] += {self.real(scope)}")
        scope["list"].append(v)

    def s_optional(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        o, v = self.name("o"), self.name("v")
        self.put(i, f"{o} = {self.real(scope)} if {self.test(scope)} else None")
        self.put(i, f"{v} = {self.real(scope)} if {o} is None else {o} * {o}")
        scope["float"].append(v)

    def s_match(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        v, s = self.name("v"), self.name("s")
        self.put(i, f"{s} = P({self.real(scope)}) if {self.test(scope)} else Leaf({self.real(scope)})")
        self.put(i, f"match {s}:")
        self.put(i + 1, "case P(a, b) if a > b:")
        self.put(i + 2, f"{v} = a - b")
        self.put(i + 1, "case P(a=q):")
        self.put(i + 2, f"{v} = q * {self.real(scope)}")
        self.put(i + 1, "case Leaf(q):")
        self.put(i + 2, f"{v} = q + {self.real(scope)}")
        scope["float"].append(v)

    def s_if(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        r = self.r
        self.put(i, f"if {self.test(scope)}:")
        first, second = self.inner(scope), self.inner(scope)
        self.block(i + 1, first, depth + 1, loop, r.randrange(1, 3))
        if r.random() < 0.7:
            self.put(i, "else:")
            self.block(i + 1, second, depth + 1, loop, r.randrange(1, 3))

    def s_ifreturn(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        self.put(i, f"if {self.test(scope)} and {self.test(scope)}:")
        self.put(i + 1, f"return {self.real(scope)}")

    def s_for(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        k = self.name("k")
        self.put(i, f"for {k} in range({self.r.choice(['n', '2', '3'])}):")
        own = self.inner(scope)
        own["int"].append(k)
        self.block(i + 1, own, depth + 1, True, self.r.randrange(1, 4))

    def s_forlist(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        k = self.name("e")
        source = self.r.choice([*scope["list"], f"({self.real(scope)}, {self.real(scope)})"])
        self.put(i, f"for {k} in {source}:")
        own = self.inner(scope)
        own["float"].append(k)
        self.block(i + 1, own, depth + 1, True, self.r.randrange(1, 3))

    def s_while(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        k = self.name("w")
        self.put(i, f"{k} = 0")
        self.put(i, f"while {k} < 3 and {self.test(scope)}:")
        own = self.inner(scope)
        own["int"].append(k)
        self.put(i + 1, f"{k} = {k} + 1")
        self.block(i + 1, own, depth + 1, True, self.r.randrange(1, 3))

    def s_exit(self, i, scope, depth, loop):  # type: ignore[no-untyped-def]
        self.put(i, f"if {self.test(scope)}:")
        self.put(i + 1, self.r.choice(["break", "continue", "break", f"return {self.real(scope)}"]))

    def program(self) -> str:
        scope: dict[str, list[str]] = {k: [] for k in ("float", "int", "list", "pair", "record", "function", "dict", "tree")}
        scope["float"], scope["int"] = ["x"], ["n"]
        self.put(0, "def f(x, n):")
        self.put(1, "acc = x * 0.5")
        scope["float"].append("acc")
        self.block(1, scope, 0, False, self.r.randrange(2, 6))
        self.put(1, f"return acc + {self.real(scope)} + {self.real(scope)}")
        return HEADER + "\n".join(self.lines) + "\n"


def program(seed: int) -> str:
    """The program of a seed."""
    return Generator(seed).program()
