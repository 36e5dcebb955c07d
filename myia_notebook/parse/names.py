"""Names in syntax trees: which a function binds, reads and captures, and which are live after each statement.

Liveness is the usual backward data flow (Aho et al., *Compilers*, §9.2.5) on the tree itself. A nested function reads, where it is
defined, what it captures. Loops are visited twice: the first visit finds what is live at the head, the second annotates.
"""
from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

FUNCTIONS = (ast.FunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)


def targets(node: ast.AST) -> list[str]:
    """Names that an assignment target binds, in order."""
    found: list[str] = []
    stack = [node]
    while stack:
        item = stack.pop()
        match item:
            case ast.Name(id=name):
                found.append(name)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                stack.extend(reversed(elts))
            case ast.Starred(value=value):
                stack.append(value)
            case ast.Subscript(value=ast.Name(id=name)):
                found.append(name)
            case _:
                pass
    return found


def parameters(args: ast.arguments) -> list[str]:
    names = [a.arg for a in (*args.posonlyargs, *args.args)]
    names += [args.vararg.arg] if args.vararg else []
    names += [a.arg for a in args.kwonlyargs]
    return names + ([args.kwarg.arg] if args.kwarg else [])


@dataclass(frozen=True, slots=True)
class _Names:
    """What a node and all below it, without the insides of nested functions, bind (with items that they set, without them), set items of, and read."""

    bound: tuple[str, ...] = ()
    local: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    read: tuple[str, ...] = ()


_NO_NAMES = _Names()
_NAMELESS = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


def _names(root: ast.AST) -> _Names:
    """Kept on each node (syntax trees are never changed), so that asking at every level of a tree is linear. Iterative: trees may be deep."""
    stack: list[tuple[ast.AST, list[ast.AST] | None]] = [(root, None)]
    while stack:
        node, children = stack.pop()
        if "_names" in node.__dict__:
            continue
        if children is None:
            children = _own_children(node)
            stack.append((node, children))
            stack.extend((c, None) for c in children)
        else:
            node._names = _combined(node, [c._names for c in children])  # type: ignore[attr-defined]
    return root._names  # type: ignore[attr-defined, no-any-return]


def _own_children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below, without entering nested functions (their decorators and defaults are entered)."""
    if isinstance(node, FUNCTIONS):
        return outer_parts(node)
    if isinstance(node, COMPREHENSIONS):
        return [node.generators[0].iter]
    return [c for c in ast.iter_child_nodes(node) if not isinstance(c, _NAMELESS)]


def _combined(node: ast.AST, below: list[_Names]) -> _Names:
    bound, items, read = _own_names(node)
    below = [b for b in below if b is not _NO_NAMES]
    if len(below) < 2 and not (bound or items or read):
        return below[0] if below else _NO_NAMES
    local = [n for n in bound if n not in items]
    return _Names(_joined(bound, [b.bound for b in below]), _joined(local, [b.local for b in below]), _joined(items, [b.items for b in below]),
                  _joined(read, [b.read for b in below]))


def _joined(own: Iterable[str], below: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Each name once, in order."""
    made = dict.fromkeys(own)
    for names in below:
        made.update(dict.fromkeys(names))
    return tuple(made)


def _own_names(node: ast.AST) -> tuple[list[str], list[str], list[str]]:
    """What this very node binds, sets an item of, and reads."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            return [name], [], []
        case ast.Name(id=name, ctx=ast.Load()):
            return [], [], [name]
        case ast.FunctionDef(name=name):
            return [name], [], captures(node)
        case ast.Lambda():
            return [], [], captures(node)
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
            return [name], [name], [name]
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return [name], [], []
        case ast.ListComp() | ast.GeneratorExp() | ast.DictComp() | ast.SetComp():
            return _walrus(node), [], comprehension_reads(node)
        case ast.AugAssign(target=ast.Name(id=name)):
            return [], [], [name]
        case _:
            return [], [], []


def outer_parts(node: ast.FunctionDef | ast.Lambda) -> list[ast.AST]:
    """What of a nested function is evaluated where it is defined: defaults and decorators."""
    defaults = [d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None]
    return [*defaults, *(node.decorator_list if isinstance(node, ast.FunctionDef) else [])]


def body_of(node: ast.FunctionDef | ast.Lambda) -> list[ast.AST]:
    return [node.body] if isinstance(node, ast.Lambda) else list(node.body)


def local_names(roots: list[ast.AST]) -> list[str]:
    """The variables of a function with this body, as Python sees it: setting an item binds nothing."""
    return assigned(roots, items=False)


def assigned(roots: list[ast.AST], items: bool = True) -> list[str]:
    """Names bound by these statements (nested functions' own names excluded), each once, in order; with `items` those of which an item is set."""
    return list(_joined((), ((_names(r).bound if items else _names(r).local) for r in roots)))


def subscripted(roots: list[ast.stmt]) -> list[str]:
    """Names of which these statements set an item."""
    return list(_joined((), (_names(r).items for r in roots)))


def _walrus(node: ast.AST) -> list[str]:
    """Names that `:=` inside a comprehension binds in the function around it."""
    return [x.target.id for x in ast.walk(node) if isinstance(x, ast.NamedExpr)]


def comprehension_reads(node: ast.AST) -> list[str]:
    """What a comprehension reads of the function around it."""
    assert isinstance(node, COMPREHENSIONS)
    own = {name for g in node.generators for name in targets(g.target)}
    inner: list[ast.AST] = [*([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])]
    inner += [x for g in node.generators for x in (g.iter, *g.ifs)]
    return [name for name in reads(inner) if name not in own]


def captures(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """Names that a function reads and does not bind itself (its nested functions included), in order."""
    own = set(parameters(node.args)) | set(local_names(body_of(node)))
    return [name for name in reads(body_of(node)) if name not in own]


def reads(roots: list[ast.AST]) -> list[str]:
    """Names read by these nodes; a nested function reads what it captures."""
    return list(_joined((), (_names(r).read for r in roots)))


def leaves(statements: list[ast.stmt], kinds: tuple[type[ast.stmt], ...]) -> bool:
    """Whether a `return` (or `break`/`continue` of this very loop, as `kinds` say) is among the statements."""
    stack: list[tuple[ast.AST, bool]] = [(s, False) for s in statements]
    while stack:
        node, inside = stack.pop()
        if isinstance(node, (ast.Return, ast.Raise)) and isinstance(node, kinds):
            return True
        if isinstance(node, (ast.Break, ast.Continue)) and not inside and isinstance(node, kinds):
            return True
        match node:
            case ast.If():
                stack.extend((s, inside) for s in (*node.body, *node.orelse))
            case ast.Match():
                stack.extend((s, inside) for case in node.cases for s in case.body)
            case ast.While() | ast.For():
                stack.extend((s, True) for s in node.body)
                stack.extend((s, inside) for s in node.orelse)
            case _:
                pass
    return False


@dataclass(slots=True)
class Liveness:
    """`after[id(statement)]`: names live after it; `head[id(loop)]`: names live at a loop's head."""

    after: dict[int, frozenset[str]] = field(default_factory=dict)
    head: dict[int, frozenset[str]] = field(default_factory=dict)

    def block(self, statements: list[ast.stmt], out: frozenset[str], exit_: frozenset[str], head: frozenset[str]) -> frozenset[str]:
        """Live names before the block; `exit_` and `head` are live where `break` and `continue` go."""
        for statement in reversed(statements):
            self.after[id(statement)] = out
            out = self._statement(statement, out, exit_, head)
        return out

    def _statement(self, s: ast.stmt, out: frozenset[str], exit_: frozenset[str], head: frozenset[str]) -> frozenset[str]:
        match s:
            case ast.Return() | ast.Raise():
                return frozenset(reads([s]))
            case ast.Break():
                return exit_
            case ast.Continue():
                return head
            case ast.If():
                return self.block(s.body, out, exit_, head) | self.block(s.orelse, out, exit_, head) | frozenset(reads([s.test]))
            case ast.Match():
                live = out
                for case in reversed(s.cases):
                    own = self.block(case.body, out, exit_, head)
                    if case.guard is not None:
                        own |= frozenset(reads([case.guard]))
                    live |= (own - frozenset(assigned([case.pattern]))) | frozenset(reads([case.pattern]))
                return live | frozenset(reads([s.subject]))
            case ast.While():
                return self._loop(s, frozenset(reads([s.test])), frozenset(), out, exit_, head)
            case ast.For():
                inner = self._loop(s, frozenset(), frozenset(targets(s.target)), out, exit_, head)
                return inner | frozenset(reads([s.iter]))
            case _:
                bound = frozenset(assigned([s]))
                return (out - bound) | frozenset(reads([s]))

    def _loop(self, s: ast.While | ast.For, test: frozenset[str], bound: frozenset[str], out: frozenset[str], exit_: frozenset[str],
              head: frozenset[str]) -> frozenset[str]:
        own = test | self.block(s.orelse, out, exit_, head)
        own |= self.block(s.body, own, out, own) - bound
        self.block(s.body, own, out, own)
        self.head[id(s)] = own
        return own
