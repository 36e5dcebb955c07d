/** Rebuilds the state of a stage after any of its events, and says which nodes a state shows. Pure logic, no DOM. */
import { Event, GraphView, NodeView, Snapshot, State } from './snapshot';

export class Model {
  graphs = new Map<number, GraphView>();
  nodes = new Map<number, NodeView>();
  root = 0;

  constructor(state: State | null) {
    if (!state) return;
    this.root = state.root;
    for (const g of state.graphs) this.graphs.set(g.id, g);
    for (const n of state.nodes) this.nodes.set(n.id, n);
  }

  /** The state after one more event: removed go, added come, changed replace. Removed nodes stay known for the picture of the difference. */
  apply(e: Event): void {
    for (const g of e.added_graphs) this.graphs.set(g.id, g);
    for (const n of e.added) this.nodes.set(n.id, this.keepValue(n));
    for (const n of e.changed) this.nodes.set(n.id, this.keepValue(n));
    for (const [g, output] of e.outputs) {
      const old = this.graphs.get(g);
      if (old) this.graphs.set(g, { ...old, output });
    }
  }

  private keepValue(n: NodeView): NodeView {
    const old = this.nodes.get(n.id);
    return old && old.value && !n.value ? { ...n, value: old.value } : n;
  }

  /** Graphs that the root can run, in order of first use, and the nodes that each of them shows. */
  shown(): { graphs: GraphView[]; nodes: Map<number, NodeView[]> } {
    const graphs: GraphView[] = [], nodes = new Map<number, NodeView[]>(), seen = new Set<number>();
    const queue = [this.root];
    while (queue.length) {
      const id = queue.shift() as number;
      const g = this.graphs.get(id);
      if (!g || seen.has(id)) continue;
      seen.add(id);
      graphs.push(g);
      const own: NodeView[] = [], visited = new Set<number>(), stack = [g.output];
      for (const p of g.parameters) { const n = this.nodes.get(p); if (n && !visited.has(p)) { visited.add(p); own.push(n); } }
      while (stack.length) {
        const n = this.nodes.get(stack.pop() as number);
        if (!n || visited.has(n.id)) continue;
        visited.add(n.id);
        if (n.graph === id) own.push(n);
        else if (n.graph !== null) queue.push(n.graph);
        stack.push(...n.inputs);
        queue.push(...n.callees);
      }
      nodes.set(id, own);
    }
    for (const g of this.graphs.values()) if (!seen.has(g.id) && this.root === 0) graphs.push(g);
    return { graphs, nodes };
  }

  clone(): Model {
    const m = new Model(null);
    m.root = this.root;
    m.graphs = new Map(this.graphs);
    m.nodes = new Map(this.nodes);
    return m;
  }
}

/** Whether a stage's events change the graph (rewrites) or only reveal it (gradient, inference). */
export const isDelta = (s: Snapshot): boolean => s.events.some(e => e.kind === 'rewrite' || e.kind === 'pass');

/** The states of one stage, step by step: keeps a copy every `EVERY` events, so that going back does not begin at the first. */
const EVERY = 48;
export class Replay {
  private kept: Model[];
  private final: Map<number, NodeView>;
  private at_ = -1;
  private current: Model | null = null;

  constructor(private s: Snapshot) {
    this.final = new Map((s.final?.nodes ?? []).map(n => [n.id, n] as const));
    this.kept = s.initial && isDelta(s) ? [new Model(s.initial)] : [new Model(s.final ?? s.initial)];
    for (const [id, n] of this.kept[0].nodes) this.kept[0].nodes.set(id, this.valued(n));
  }

  private valued(n: NodeView): NodeView { const f = this.final.get(n.id); return f && f.value && !n.value ? { ...n, value: f.value } : n; }

  /** The model after `step` events. Callers must not change it. */
  at(step: number): Model {
    if (!isDelta(this.s) || !this.s.initial) return this.kept[0];
    const wanted = Math.max(0, Math.min(step, this.s.events.length));
    if (this.current && this.at_ === wanted) return this.current;
    let from = Math.min(Math.floor(wanted / EVERY), this.kept.length - 1);
    const m = this.kept[from].clone();
    for (let i = from * EVERY; i < wanted; i++) {
      if (i % EVERY === 0 && i / EVERY === this.kept.length) { this.kept.push(m.clone()); from++; }
      m.apply(this.s.events[i]);
      for (const n of [...this.s.events[i].added, ...this.s.events[i].changed]) { const known = m.nodes.get(n.id); if (known) m.nodes.set(n.id, this.valued(known)); }
    }
    this.at_ = wanted;
    this.current = m;
    return m;
  }
}

export const modelAt = (s: Snapshot, step: number): Model => new Replay(s).at(step);

/** Counts Apply nodes that a state shows. */
export function countNodes(s: State | null): number {
  if (!s) return 0;
  const { nodes } = new Model(s).shown();
  let n = 0;
  for (const own of nodes.values()) n += own.filter(x => x.kind === 'apply').length;
  return n;
}

/** The smallest node whose source range holds a position (line from 1, column from 0). */
export function nodeAt(nodes: Iterable<NodeView>, line: number, column: number): number[] {
  let best: number[] = [], size = Infinity;
  for (const n of nodes) {
    if (!n.span || n.kind === 'constant') continue;
    const [l0, c0, l1, c1] = n.span;
    const inside = (line > l0 || (line === l0 && column >= c0)) && (line < l1 || (line === l1 && column < c1));
    if (!inside) continue;
    const s = (l1 - l0) * 1000 + (c1 - c0);
    if (s < size) { size = s; best = [n.id]; } else if (s === size) best.push(n.id);
  }
  return best;
}
