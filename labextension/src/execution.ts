/** The run as steps: what each value that the interpreter computed means in the program's own names, and how every iteration stands at a step.
 * Pure logic on the trace, no DOM. */
import { Grid } from './grid';
import { GraphView, NodeView, Snapshot, Token, Trace } from './snapshot';

export interface RunStep {
  at: number; node: number; call: number; primal: number; backward: boolean; title: string; equation: Token[]; span: NodeView['span'];
}
interface Meaning { title: string; equation: Token[]; primal: number; backward: boolean; of: number | null }

const name = (text: string, node: number, role: string): Token => ({ kind: 'name', text, role, node, body: [], below: [] });
const operator = (text: string): Token => ({ kind: 'operator', text, role: '', node: null, body: [], below: [] });

/** For nodes of the adjoint: the sentence and the equation of their computation. */
function meanings(adjoint: Snapshot | undefined, label: (id: number) => string): Map<number, Meaning> {
  const found = new Map<number, Meaning>();
  for (const e of adjoint?.events ?? []) {
    const g = e.gradient;
    if (!g) continue;
    if (g.phase === 'forward' && g.forward !== null) found.set(g.forward, { title: e.title, equation: retarget(e.equation, g.primal, g.forward), primal: g.graph, backward: false, of: g.primal });
    if (g.phase === 'seed' && g.sensitivity !== null && g.primal !== null) found.set(g.sensitivity, { title: `${e.title.replace('Begin with', 'Receive').replace(/\.$/, '')}.`, equation: [], primal: g.graph, backward: true, of: g.primal });
    for (const c of g.contributions) {
      const equation = [name(`∇${label(c.target)}`, c.total, 'sensitivity'), operator(c.of > 1 ? '+=' : '='), ...c.equation];
      found.set(c.total, { title: e.title, equation, primal: g.graph, backward: true, of: null });
    }
  }
  return found;
}

/** The equation of a primal node, said of its forward node. */
const retarget = (tokens: Token[], from: number | null, to: number): Token[] => tokens.map(t => (t.node !== null && t.node === from ? { ...t, node: to } : t));

/** The steps of a run: each named value, the forward sweep before the backward sweep, and the result. */
export function runSteps(run: Snapshot, adjoint: Snapshot | undefined, names: Map<number, NodeView>): RunStep[] {
  const trace = run.trace;
  if (!trace) return [];
  const nodes = new Map((run.final?.nodes ?? []).map(n => [n.id, n] as const));
  const primal = new Map((run.final?.graphs ?? []).map(g => [g.id, g.primal ?? g.id] as const));
  const label = (id: number): string => { const n = names.get(id) ?? nodes.get(id); return n ? n.name || n.label || n.symbol : ''; };
  const meaning = meanings(adjoint, label);
  const inner = new Set([...(adjoint?.initial?.graphs ?? []), ...(run.final?.graphs ?? [])].filter(g => g.kind === 'loop' || g.kind === 'branch').map(g => g.id));
  const isControl = (n: NodeView | undefined): boolean => n !== undefined && n.kind === 'apply' && !n.name && (n.op === 'branch' || n.callees.some(c => inner.has(c)));
  const steps: RunStep[] = [];
  trace.nodes.forEach((id, at) => {
    const n = nodes.get(id), call = trace.calls[at], m = meaning.get(id);
    if (m && m.of !== null && isControl(names.get(m.of))) return; // a loop's call of itself, and of its arms, is no step of the program
    if (m) steps.push({ at, node: id, call, primal: m.primal, backward: m.backward, title: m.title, equation: m.equation, span: n?.span ?? null });
    else if (meaning.size === 0 && n?.kind === 'apply' && !isControl(n)) {
      const graph = primal.get(trace.graphs[call - 1] ?? 0) ?? 0;
      steps.push({ at, node: id, call, primal: graph, backward: false, title: `Compute ${label(id)}.`, equation: [], span: n.span });
    }
  });
  const end = trace.nodes.length - 1;
  if (end >= 0 && !trace.is_cut && steps[steps.length - 1]?.at !== end) {
    steps.push({ at: end, node: trace.nodes[end], call: trace.calls[end], primal: 0, backward: meaning.size > 0, title: `The result is ${run.result}.`, equation: [], span: null });
  }
  return steps;
}

/** Values of all nodes after the trace's entry `at`; nodes of `calls` (one iteration) show that iteration, others their latest value. */
export function valuesAt(trace: Trace, at: number, calls: Set<number> = new Set(), own: Set<number> = new Set()): Map<number, string> {
  const found = new Map<number, string>();
  for (let i = 0; i <= at && i < trace.nodes.length; i++) {
    const call = trace.calls[i];
    if (own.has(trace.graphs[call - 1]) && !calls.has(call)) continue;
    found.set(trace.nodes[i], trace.values[i]);
  }
  return found;
}

/** The calls of one function: each forward call with the backward call made from it (0: none yet recorded). */
export interface Iteration { forward: number; backward: number }
export function iterations(trace: Trace, graphs: GraphView[], primal: number): Iteration[] {
  const forward = graphs.filter(g => (g.primal ?? g.id) === primal && g.kind !== 'backpropagator').map(g => g.id);
  const backward = graphs.filter(g => g.primal === primal && g.kind === 'backpropagator').map(g => g.id);
  const made = new Map<number, number>();
  trace.forwards.forEach((f, i) => { if (f && backward.includes(trace.graphs[i]) && !made.has(f)) made.set(f, i + 1); });
  return trace.graphs.flatMap((g, i) => (forward.includes(g) ? [{ forward: i + 1, backward: made.get(i + 1) ?? 0 }] : []));
}

/** The iteration that a call belongs to. */
export const iterationOf = (all: Iteration[], call: number): number => all.findIndex(x => x.forward === call || x.backward === call);

/** A variable over the iterations: '' is not computed yet. */
export interface Column { value: string; sensitivity: string }
export function columns(trace: Trace, all: Iteration[], at: number, forward: number, totals: number[]): Column[] {
  const values = new Map<string, string>();
  for (let i = 0; i <= at && i < trace.nodes.length; i++) values.set(`${trace.calls[i]} ${trace.nodes[i]}`, trace.values[i]);
  return all.map(x => {
    let sensitivity = '';
    for (const t of totals) sensitivity = values.get(`${x.backward} ${t}`) ?? sensitivity;
    return { value: values.get(`${x.forward} ${forward}`) ?? '', sensitivity };
  });
}

/** The adjoint's grid with the times of one iteration of the run: `Infinity` is never (or not in this part of the run). */
export function gridAt(grid: Grid, steps: RunStep[], iteration: Iteration, trace: Trace): Grid {
  const when = new Map<string, number>();
  let next = 0; // values that are no step of their own come just before the step that follows them
  trace.nodes.forEach((node, i) => {
    while (next < steps.length && steps[next].at < i) next++;
    const call = trace.calls[i];
    if (next < steps.length && (call === iteration.forward || call === iteration.backward)) when.set(`${call} ${node}`, steps[next].at === i ? next + 1 : next + 0.5);
  });
  const at = (call: number, node: number | null): number => (node === null ? Infinity : when.get(`${call} ${node}`) ?? Infinity);
  const rows = grid.rows.map(r => {
    const sums = r.sums.map(s => ({ ...s, at: at(iteration.backward, s.total) }));
    return { ...r, forwardAt: r.forwardAt ? at(iteration.forward, r.forward) : 0, seedAt: r.seedAt ? at(iteration.backward, r.seed) : 0, sums, backAt: r.backAt };
  });
  for (const r of rows) {
    if (!r.backAt) continue;
    const sent = rows.flatMap(x => x.sums.filter(s => s.from === r.id).map(s => s.at)).filter(Number.isFinite);
    r.backAt = sent.length ? Math.min(...sent) : Infinity;
    r.backUntil = sent.length ? Math.max(...sent) : Infinity;
  }
  return { ...grid, rows };
}
