"""What passes between functions: parameters and results that nobody reads are dropped, tuples become separate values.

Need propagation (dead data, also around recursion): a parameter is needed when something other than its own handing-on needs it. Graphs
whose parameters must agree (the two arms of a branch) and whose results must agree (arms, and functions that return each other's
result) form groups that change together. A graph used as a function value keeps its signature, but for captured values; where its
environment is in use, those too. References: Johnsson 1985 (extraneous parameters); Peyton Jones & Launchbury 1991 (unboxed tuples).
"""
from __future__ import annotations

from myia_notebook.ir.graph import UNDEFINED, Apply, Constant, Graph, Node, Parameter, graph_constant, is_call_of, is_symbolic, schedule
from myia_notebook.ir.types import Tuple, Type
from myia_notebook.ops.expression import Builder
from myia_notebook.ops.table import PRIMITIVES
from myia_notebook.optimize.program import Groups, Program, Sites, targets

BRANCH, PARTIAL, MAKE_TUPLE, GETITEM = (PRIMITIVES[n] for n in ("branch", "partial", "make_tuple", "tuple_getitem"))

SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")  # items of a tuple that was a variable: p₀, p₁


# -- dead parameters

def drop_dead_parameters(program: Program) -> bool:
    """Drops parameters that no one needs; True when some were."""
    sites = program.sites
    groups = _arm_groups(program)
    members: dict[int, list[Graph]] = {g.id: group for group in groups.groups() for g in group}
    needed = _needed(program, members)
    changed = False
    for g in program.graphs:
        keep = [i for i, p in enumerate(g.parameters) if p.id in needed]
        if len(keep) < len(g.parameters):
            _keep_parameters(g, keep, sites)
            changed = True
    return changed


def _arm_groups(program: Program) -> Groups:
    """The arms of a branch take the same parameters."""
    groups = Groups(program.graphs)
    for node in program.sites.branches:
        groups.join(*targets(node))
    return groups


def _needed(program: Program, members: dict[int, list[Graph]]) -> set[int]:
    """Ids of the nodes and parameters that the program's result needs."""
    sites = program.sites
    needed: set[int] = set()
    work: list[Node] = []

    def mark(node: Node) -> None:
        if not isinstance(node, Constant) and node.id not in needed:
            needed.add(node.id)
            work.append(node)

    for g in program.graphs:
        mark(g.output)
        first = 0 if g.id in sites.values or g.id in sites.frozen else g.captured if g.id in sites.partials else len(g.parameters)
        for p in g.parameters[first:]:
            mark(p)
    while work:
        node = work.pop()
        if isinstance(node, Parameter):
            i = node.graph.parameters.index(node)
            for g in members[node.graph.id]:
                mark(g.parameters[i])
            for site, offset in _sites_of_parameter(node.graph, i, sites):
                if site.id in needed:
                    mark(site.inputs[offset + i])
            continue
        assert isinstance(node, Apply)
        for x in _needed_inputs(node, needed):
            mark(x)
    return needed


def _sites_of_parameter(g: Graph, i: int, sites: Sites) -> list[tuple[Apply, int]]:
    found = [(s, 1) for s in sites.calls.get(g.id, ())] + [(s, 4) for s in sites.arms.get(g.id, ())]
    if i < g.captured:
        found += [(s, 2) for s in sites.partials.get(g.id, ())]
    return found


def _needed_inputs(node: Apply, needed: set[int]) -> list[Node]:
    """The inputs of a needed node that are needed by now: arguments of known calls only where the parameter is."""
    called = targets(node)
    if called:
        first = 4 if is_call_of(node, BRANCH) else 1
        wanted = [x for p, x in zip(called[0].parameters, node.inputs[first:]) if p.id in needed]
        return [*wanted, node.inputs[1]] if first == 4 else wanted
    if is_call_of(node, PARTIAL):
        closure = graph_constant(node.inputs[1])
        assert closure is not None
        return [x for p, x in zip(closure.parameters, node.inputs[2:]) if p.id in needed]
    return node.inputs


def _keep_parameters(g: Graph, keep: list[int], sites: Sites) -> None:
    done: set[int] = set()
    for site, offset in [(s, 1) for s in sites.calls.get(g.id, ())] + [(s, 4) for s in sites.arms.get(g.id, ())]:
        if offset == 4 and (site.id in done or graph_constant(site.inputs[2]) is not g):
            continue  # the arms change together: once, with the first
        done.add(site.id)
        site.inputs[offset:] = [site.inputs[offset + i] for i in keep]
    for site in sites.partials.get(g.id, ()):
        site.inputs[2:] = [site.inputs[2 + i] for i in keep if i < g.captured]
    g.captured = sum(i < g.captured for i in keep)
    g.parameters = [g.parameters[i] for i in keep]


# -- results

def _result_groups(program: Program) -> list[list[Graph]]:
    """Groups of graphs with tuple results that must change together and may change at all."""
    groups = _arm_groups(program)
    fixed = program.sites.values | program.sites.partials.keys()
    for g in program.graphs:
        for target in targets(g.output):
            groups.join(g, target)
        if not isinstance(g.result, Tuple):
            fixed.add(g.id)
    return [group for group in groups.groups() if not any(g.id in fixed for g in group)]


def drop_dead_results(program: Program) -> bool:
    """Drops items of result tuples that no caller reads."""
    groups = _result_groups(program)
    group_of = {g.id: i for i, group in enumerate(groups) for g in group}
    read: dict[int, set[int]] = {i: set() for i in range(len(groups))}
    whole: set[int] = set()
    for g in program.graphs if group_of else ():
        for node in program.nodes(g):
            for x in node.inputs:
                for target in targets(x)[:1]:
                    if target.id not in group_of:
                        continue
                    if is_call_of(node, GETITEM):
                        read[group_of[target.id]].add(node.inputs[2].value)  # type: ignore[attr-defined]
                    else:
                        whole.add(group_of[target.id])
        for target in targets(g.output)[:1]:
            if target.id in group_of and g.id not in group_of:
                whole.add(group_of[target.id])
    changed = False
    for i, group in enumerate(groups):
        result = group[0].result
        assert isinstance(result, Tuple)
        if i not in whole and len(read[i]) < len(result.items):
            _reshape_results(program.sites, group, [(k,) for k in range(len(result.items)) if k in read[i]])
            changed = True
    return changed


def flatten_results(program: Program) -> bool:
    """Tuples inside result tuples become items of the result."""
    changed = False
    for group in _result_groups(program):
        result = group[0].result
        assert isinstance(result, Tuple)
        if any(isinstance(item, Tuple) for item in result.items):
            _reshape_results(program.sites, group, [(k, *path) for k, item in enumerate(result.items) for path in leaf_paths(item)])
            changed = True
    return changed


def leaf_paths(t: Type) -> list[tuple[int, ...]]:
    """The places in a nested tuple that hold no tuple, from left to right."""
    if not isinstance(t, Tuple):
        return [()]
    return [(i, *path) for i, item in enumerate(t.items) for path in leaf_paths(item)]


def _path_type(t: Type, path: tuple[int, ...]) -> Type:
    for i in path:
        assert isinstance(t, Tuple)
        t = t.items[i]
    return t


def _path_item(builder: Builder, node: Node, path: tuple[int, ...]) -> Node:
    for i in path:
        t = Builder.type_of(node)
        if isinstance(node, Constant) and is_symbolic(node.value):
            assert isinstance(t, Tuple)
            node = Constant(node.value, t.items[i])
        else:
            node = builder.item(node, i)
    return node


def _reshape_results(sites: Sites, group: list[Graph], paths: list[tuple[int, ...]]) -> None:
    """The results of a group become the items at `paths`; callers read the same values from their new places."""
    old = group[0].result
    assert isinstance(old, Tuple)
    new = Tuple(tuple(_path_type(old, path) for path in paths))
    seen: set[int] = set()
    calls: list[Apply] = []
    for g in group:
        for site in (*sites.calls.get(g.id, ()), *sites.arms.get(g.id, ())):
            if site.id not in seen:
                seen.add(site.id)
                calls.append(site)
    tails = {g.output.id for g in group if targets(g.output)}
    inner = {g.id for g in group}
    for g in group:
        if not targets(g.output):
            builder = Builder(g, g.output.provenance)
            g.output = builder.apply(MAKE_TUPLE, *(_path_item(builder, g.output, path) for path in paths), type=new)
        g.result = new
    for site in calls:
        if site.id in tails and site.graph.id in inner:
            site.type = new
            continue
        _rebuild_site(site, old, new, paths)


def _rebuild_site(site: Apply, old: Tuple, new: Tuple, paths: list[tuple[int, ...]]) -> None:
    """The site becomes a tuple in the old form, made of the items of a call in the new one."""
    builder = Builder(site.graph, site.provenance)
    call = Apply(site.graph, list(site.inputs), new, site.name, site.provenance)
    place = {path: k for k, path in enumerate(paths)}
    above = {path[:k] for path in paths for k in range(1, len(path) + 1)}

    def build(t: Type, path: tuple[int, ...]) -> Node:
        if path in place:
            return builder.apply(GETITEM, call, builder.constant(place[path]), type=t)
        if isinstance(t, Tuple) and path and (path in above or not t.items):
            return builder.apply(MAKE_TUPLE, *(build(item, (*path, j)) for j, item in enumerate(t.items)), type=t)
        return Constant(UNDEFINED, t)

    items = [build(item, (k,)) for k, item in enumerate(old.items)]
    site.inputs = [Constant(MAKE_TUPLE), *items]
    site.name = ""


# -- tuples in parameters

def flatten_parameters(program: Program) -> bool:
    """A tuple parameter of a graph that is only called becomes one parameter for each item."""
    sites = program.sites
    changed = False
    for group in _arm_groups(program).groups():
        if any(g.id in sites.values or g.id in sites.frozen for g in group):
            continue
        limit = min(g.captured if g.id in sites.partials else len(g.parameters) for g in group)
        places = [i for i in range(limit) if isinstance(group[0].parameters[i].type, Tuple)]
        if places:
            _split_parameters(group, places, sites)
            changed = True
    return changed


def _split_parameters(group: list[Graph], places: list[int], sites: Sites) -> None:
    types = [p.type for p in group[0].parameters]
    done: set[int] = set()

    def spread(site: Apply, operands: list[Node]) -> list[Node]:
        builder = Builder(site.graph, site.provenance)
        result: list[Node] = []
        for i, x in enumerate(operands):
            t = types[i]
            if i in places and isinstance(t, Tuple):
                result.extend(_path_item(builder, x, path) for path in leaf_paths(t))
            else:
                result.append(x)
        return result

    for g in group:
        for site in sites.calls.get(g.id, ()):
            site.inputs[1:] = spread(site, site.inputs[1:])
        for site in sites.arms.get(g.id, ()):
            if site.id not in done:
                done.add(site.id)
                site.inputs[4:] = spread(site, site.inputs[4:])
        for site in sites.partials.get(g.id, ()):
            site.inputs[2:] = spread(site, site.inputs[2:])
    for g in group:
        _split_own(g, places)


def _whole(g: Graph, builder: Builder, p: Parameter, t: Type, name: str, made: list[Parameter]) -> Node:
    """The tuple that a parameter was, made of new parameters for its leaves."""
    if not isinstance(t, Tuple):
        made.append(Parameter(g, name, t, p.provenance))
        return made[-1]
    items = [_whole(g, builder, p, item, name + str(j).translate(SUBSCRIPTS) if name else "", made) for j, item in enumerate(t.items)]
    return builder.apply(MAKE_TUPLE, *items, type=t)


def _split_own(g: Graph, places: list[int]) -> None:
    parameters: list[Parameter] = []
    replaced: dict[int, Node] = {}
    builder = Builder(g, g.provenance)
    extra = 0
    for i, p in enumerate(g.parameters):
        t = p.type
        if i in places and isinstance(t, Tuple):
            made: list[Parameter] = []
            replaced[p.id] = _whole(g, builder, p, t, p.name, made)
            parameters.extend(made)
            extra += len(made) - 1 if i < g.captured else 0
        else:
            parameters.append(p)
    for node in schedule(g):
        node.inputs[:] = [replaced.get(x.id, x) for x in node.inputs]
    g.output = replaced.get(g.output.id, g.output)
    g.parameters = parameters
    g.captured += extra
