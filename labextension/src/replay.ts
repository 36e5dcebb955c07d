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

/** The model before the event at `step` (0 = before the first); the final one when the events only reveal. */
export function modelAt(s: Snapshot, step: number): Model {
  if (!isDelta(s) || !s.initial) return new Model(s.final ?? s.initial);
  const m = new Model(s.initial);
  for (let i = 0; i < step && i < s.events.length; i++) m.apply(s.events[i]);
  const final = new Map((s.final?.nodes ?? []).map(n => [n.id, n] as const));
  for (const [id, n] of m.nodes) { const f = final.get(id); if (f && f.value && !n.value) m.nodes.set(id, { ...n, value: f.value }); }
  return m;
}

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
