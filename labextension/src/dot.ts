/** A model as DOT: boxes of fixed size for Graphviz to place; the browser draws them. Ids are numbers, so no text of the program is in it. */
import { Model } from './replay';
import { GraphView, NodeView } from './snapshot';
import { split } from './svg';

export type Direction = 'TB' | 'LR';
export interface Box { id: number; w: number; h: number; lines: [string, string, string, string] }
export interface Edge { from: number; to: number; kind: string; port: number }
export interface Drawing { dot: string; boxes: Map<number, Box>; edges: Edge[]; clusters: Map<number, GraphView>; closed: Map<number, number> }

const wide = (s: string): number => [...s].reduce((n, c) => n + (c.charCodeAt(0) > 0x1100 ? 2 : 1), 0);

/** What is written on a node: name, operation, second line, note. */
export function lines(n: NodeView, detail: 'type' | 'value'): [string, string, string, string] {
  const name = n.name || n.label || n.symbol || n.op;
  const op = n.kind === 'apply' && n.name ? (n.label ? '' : n.symbol) : n.kind === 'apply' && n.label && n.symbol !== n.label ? n.symbol : '';
  const second = detail === 'value' && n.value ? n.value : n.type;
  const note = n.keeps.length ? `keeps ${n.keeps.join(', ')}` : '';
  return [cut(name, 18), cut(op, 12), cut(second, 26), cut(note, 20)];
}
export const cut = (s: string, n: number): string => (s.length > n ? s.slice(0, n - 1) + '…' : s);

export const glyph = (n: NodeView): string => (n.role === 'forward' ? '▶' : n.role === 'backpropagator' ? '◀' : n.role === 'sensitivity' ? '∇' : '');

export function box(n: NodeView, detail: 'type' | 'value'): Box {
  const l = lines(n, detail);
  if (n.kind === 'constant') return { id: n.id, w: Math.max(34, wide(l[0]) * 7.3 + 20), h: 26, lines: [l[0], '', '', ''] };
  const first = wide(l[0]) * 7.9 + (glyph(n) ? 16 : 0) + (l[1] ? wide(l[1]) * 6.8 + 16 : 0);
  const second = wide(l[2]) * 7.0 + (l[3] ? wide(l[3]) * 6.6 + 14 : 0);
  return { id: n.id, w: Math.max(78, Math.max(first, second) + 26), h: l[2] || l[3] ? 46 : 32, lines: l };
}

/** What a function is, said after its name. */
export const QUIET: Record<string, string> = { loop: 'loop', branch: 'arm', closure: 'closure', forward: 'values, downwards', backpropagator: 'sensitivities, upwards', program: 'program', tangent: 'tangents' };

/** `collapsed` graphs are one box each. */
export function build(model: Model, collapsed: Set<number>, detail: 'type' | 'value', ghosts: NodeView[] = [], direction: Direction = 'TB'): Drawing {
  const { graphs, nodes } = model.shown();
  const boxes = new Map<number, Box>(), edges: Edge[] = [], clusters = new Map<number, GraphView>(), closed = new Map<number, number>();
  const home = new Map<number, number>();
  for (const [g, own] of nodes) for (const n of own) home.set(n.id, g);
  const count = graphs.reduce((n, g) => n + (collapsed.has(g.id) ? 1 : nodes.get(g.id)?.length ?? 0), 0);
  const quick = count > MANY ? ', splines=line, nslimit=1, nslimit1=1, mclimit=0.1' : '';
  const out: string[] = ['digraph G {', `graph [rankdir=${direction}, nodesep=0.28, ranksep=0.42, newrank=true, compound=true, margin=0.1${quick}];`, 'node [shape=box, fixedsize=true, label=""];', 'edge [arrowsize=0.01];'];
  const size = (b: Box) => `width=${(b.w / 72).toFixed(3)}, height=${(b.h / 72).toFixed(3)}`;
  for (const g of graphs) {
    const own = [...(nodes.get(g.id) ?? []), ...ghosts.filter(n => n.graph === g.id)];
    if (collapsed.has(g.id)) {
      closed.set(g.id, own.filter(n => n.kind === 'apply').length);
      const b: Box = { id: -g.id, w: wide(g.name) * 7.9 + 48 + String(own.length).length * 7, h: 34, lines: [g.name, '', '', ''] };
      boxes.set(-g.id, b);
      out.push(`n_${g.id}_c [${size(b)}];`);
      continue;
    }
    clusters.set(g.id, g);
    const title = wide(g.name) * 8.4 + (QUIET[g.kind] ?? '').length * 6.6 + 44; // with room for the sign that closes it
    out.push(`subgraph cluster_${g.id} {`, `label=<<TABLE BORDER="0" CELLBORDER="0"><TR><TD FIXEDSIZE="TRUE" WIDTH="${Math.round(title)}" HEIGHT="18"></TD></TR></TABLE>>; labeljust=l; margin=12;`);
    for (const n of own) { const b = box(n, detail); boxes.set(n.id, b); home.set(n.id, g.id); out.push(`n_${n.id} [${size(b)}];`); }
    const r: Box = { id: returnId(g.id), w: 74, h: 30, lines: ['return', '', '', ''] };
    boxes.set(r.id, r);
    out.push(`n_r${g.id} [${size(r)}];`, '}');
  }
  const name = (id: number): string | null => {
    const g = home.get(id);
    if (g === undefined) return null;
    return collapsed.has(g) ? `n_${g}_c` : `n_${id}`;
  };
  const seen = new Set<string>();
  const edge = (from: number, to: number, kind: string, port: number, style = '') => {
    const a = name(from), b = to === 0 ? null : name(to);
    if (!a || !b || a === b) return;
    const key = `${a}>${b}>${kind}`;
    if (seen.has(key)) return;
    seen.add(key);
    edges.push({ from: a.endsWith('_c') ? -(home.get(from) as number) : from, to: b.endsWith('_c') ? -(home.get(to) as number) : to, kind, port });
    out.push(`${a} -> ${b} [id="e${edges.length - 1}"${style}];`);
  };
  for (const g of graphs) {
    for (const n of [...(nodes.get(g.id) ?? []), ...ghosts.filter(x => x.graph === g.id)]) {
      n.inputs.forEach((i, port) => {
        const from = model.nodes.get(i);
        const kind = from?.graph !== n.graph ? 'free' : n.keeps.length ? 'keeps' : n.role === 'sensitivity' && from?.role === 'sensitivity' ? 'sensitivity' : 'argument';
        edge(i, n.id, kind, port);
      });
      for (const c of n.callees) {
        if (!model.graphs.has(c) || !(clusters.has(c) || closed.has(c))) continue;
        const a = name(n.id);
        if (!a) continue;
        const target = model.graphs.get(c) as GraphView;
        if (closed.has(c)) {
          if (a === `n_${c}_c`) continue;
          const key = `${a}>c${c}`;
          if (seen.has(key)) continue;
          seen.add(key);
          edges.push({ from: a.endsWith('_c') ? -(home.get(n.id) as number) : n.id, to: -c, kind: 'call', port: -1 });
          out.push(`${a} -> n_${c}_c [id="e${edges.length - 1}"];`);
        } else if (c !== n.graph) {
          const head = target.parameters.find(p => home.get(p) === c) ?? returnId(c);
          const to = head < -1e6 ? `n_r${c}` : `n_${head}`;
          const key = `${a}>${to}>call`;
          if (seen.has(key)) continue;
          seen.add(key);
          edges.push({ from: a.endsWith('_c') ? -(home.get(n.id) as number) : n.id, to: head, kind: 'call', port: -1 });
          out.push(`${a} -> ${to} [id="e${edges.length - 1}", lhead="cluster_${c}", constraint=${a.endsWith('_c') ? 'false' : 'true'}];`);
        }
      }
    }
    if (!collapsed.has(g.id)) {
      const from = name(g.output);
      if (from) { edges.push({ from: from.endsWith('_c') ? -(home.get(g.output) as number) : g.output, to: returnId(g.id), kind: 'argument', port: 0 }); out.push(`${from} -> n_r${g.id} [id="e${edges.length - 1}"];`); }
    }
  }
  out.push('}');
  return { dot: out.join('\n'), boxes, edges, clusters, closed };
}

export const returnId = (graph: number): number => -1e6 - graph;
export const plain = (s: string): string => split(s)[1];

/** Above this many boxes: straight edges, and less search for crossings. */
const MANY = 400;
/** A function of more nodes than this is never opened by itself, not even the first one. */
const HUGE = 400;

/** Which graphs to close so that at most `limit` nodes are open, in order of first use. */
export function autoCollapse(model: Model, limit: number): Set<number> {
  const { graphs, nodes } = model.shown();
  const result = new Set<number>();
  let open = 0;
  for (const g of graphs) {
    const n = (nodes.get(g.id) ?? []).length;
    if (n > HUGE || (open + n > limit && g.id !== model.root)) result.add(g.id); else open += n;
  }
  return result;
}
