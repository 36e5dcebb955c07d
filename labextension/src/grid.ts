/** The adjoint as a grid: one row, one variable. Values run down the left, sensitivities up the right, and each ◀ says what it keeps.
 * Built from the gradient steps of one function; `rows` is pure, `drawGrid` draws. */
import { svg } from './graph';
import { Event, NodeView } from './snapshot';

export interface Row {
  id: number; name: string; op: string; type: string; isParameter: boolean; isCaptured: boolean;
  forward: number | null; forwardAt: number; backAt: number; keeps: string[];
  inputs: number[]; sums: { at: number; total: number; from: number }[]; seedAt: number; seed: number | null; span: NodeView['span'];
}
export interface Grid { graph: number; name: string; rows: Row[] }

export const MAX_ROWS = 25;

/** The rows of the function that an event belongs to; null when it is too long for a grid. */
export function rows(events: Event[], graph: number, primal: Map<number, NodeView>, parameters: number[], captured: number, name: string, label: (id: number) => string): Grid | null {
  const found = new Map<number, Row>();
  const add = (id: number, isParameter: boolean): Row => {
    let r = found.get(id);
    if (!r) {
      const n = primal.get(id);
      r = { id, name: n ? n.name || n.label || n.symbol : '', op: n && n.kind === 'apply' ? n.symbol : '', type: n?.type ?? '', isParameter, isCaptured: false, forward: null, forwardAt: 0, backAt: 0,
        keeps: [], inputs: (n?.inputs ?? []).filter(i => primal.get(i)?.kind !== 'constant'), sums: [], seedAt: 0, seed: null, span: n?.span ?? null };
      found.set(id, r);
    }
    return r;
  };
  parameters.forEach((p, i) => { add(p, true).isCaptured = i < captured; });
  events.forEach((e, i) => {
    const g = e.gradient;
    if (!g || g.graph !== graph || g.primal === null) return;
    if (g.phase === 'forward') { const r = add(g.primal, false); r.forward = g.forward; r.forwardAt = i + 1; }
    if (g.phase === 'seed') { const r = add(g.primal, false); r.seedAt = i + 1; r.seed = g.sensitivity; }
    if (g.phase === 'backward') {
      const r = add(g.primal, false);
      r.backAt = i + 1;
      r.keeps = g.keeps.map(label).filter(Boolean);
      for (const c of g.contributions) add(c.target, true).sums.push({ at: i + 1, total: c.total, from: g.primal });
    }
  });
  const list = [...found.values()];
  return list.length && list.length <= MAX_ROWS && list.some(r => r.forwardAt) ? { graph, name, rows: list } : null;
}

const W1 = 168, W2 = 150, W3 = 168, H = 46, PITCH = 78, GAP = 56, TOP = 52;

export function drawGrid(grid: Grid, step: number, value: (id: number) => string, hover: (id: number | null) => void): { root: SVGSVGElement; width: number; height: number; now: [number, number] | null } {
  const lanesLeft = 18 + grid.rows.length * 4, x1 = lanesLeft + 24, x2 = x1 + W1 + GAP, x3 = x2 + W2 + GAP, right = x3 + W3;
  const height = TOP + grid.rows.length * PITCH + 14, width = right + 30 + grid.rows.length * 6;
  const root = svg('svg', { class: 'my-svg my-grid', width, height, role: 'img' });
  const index = new Map(grid.rows.map((r, i) => [r.id, i] as const));
  const y = (i: number) => TOP + i * PITCH + PITCH / 2;
  const frame = (cls: string, x: number, w: number, mark: string, quiet: string) => {
    const g = svg('g', { class: `cluster r-${cls}` });
    g.append(svg('rect', { x, y: 8, width: w, height: height - 16, rx: 9 }));
    const t = svg('text', { x: x + 14, y: 31 });
    t.append(svg('tspan', {}, `${mark} ${grid.name}`), svg('tspan', { class: 'q', dx: 8 }, quiet));
    g.append(t);
    root.append(g);
  };
  frame('forward', x1 - 20 - lanesLeft + 8, W1 + 32 + lanesLeft, '▶', 'values, downwards');
  frame('backpropagator', x2 - 18, right - x2 + 36 + grid.rows.length * 6, '◀', 'sensitivities, upwards');
  const current = grid.rows.find(r => step > 0 && (r.backAt === step || (r.forwardAt === step) || r.seedAt === step));
  if (current) {
    const i = index.get(current.id) as number;
    root.append(svg('rect', { class: 'my-nowband', x: x1 - 20 - lanesLeft + 8, y: y(i) - PITCH / 2 + 4, width: right - x1 + lanesLeft + 46 + grid.rows.length * 6, height: PITCH - 8 }));
  }
  const path = (d: string, cls: string, todo: boolean) => root.append(svg('path', { class: `edge ${cls}${todo ? ' todo' : ''}`, d }));
  const head = (x: number, yy: number, angle: number, cls: string, todo: boolean) => root.append(svg('path', { class: `head ${cls}${todo ? ' todo' : ''}`, d: 'M0,0 L-8,3.5 L-8,-3.5 Z', transform: `translate(${x},${yy}) rotate(${angle})` }));
  let lane = 0, laneRight = 0;
  grid.rows.forEach((r, j) => {
    for (const id of new Set(r.inputs)) {
      const i = index.get(id);
      if (i === undefined || i === j) continue;
      const todo = step < r.forwardAt;
      if (i === j - 1) { path(`M${x1 + W1 / 2},${y(i) + H / 2} V${y(j) - H / 2}`, 'argument', todo); head(x1 + W1 / 2, y(j) - H / 2, 90, 'argument', todo); }
      else { const gx = x1 - 12 - (lane++ % grid.rows.length) * 4; path(`M${x1},${y(i) + 8} H${gx + 6} Q${gx},${y(i) + 8} ${gx},${y(i) + 14} V${y(j) - 14} Q${gx},${y(j) - 8} ${gx + 6},${y(j) - 8} H${x1}`, 'argument', todo); head(x1, y(j) - 8, 0, 'argument', todo); }
    }
    if (r.backAt) {
      const kept = step < r.forwardAt;
      path(`M${x1 + W1},${y(j)} H${x2}`, 'keeps', kept);
      head(x2, y(j), 0, 'keeps', kept);
      const todo = step < r.backAt;
      path(`M${x3},${y(j)} H${x2 + W2}`, 'sensitivity', todo);
      head(x2 + W2, y(j), 180, 'sensitivity', todo);
    }
  });
  grid.rows.forEach((r, i) => {
    for (const s of r.sums) {
      const j = index.get(s.from);
      if (j === undefined) continue;
      const todo = step < s.at, up = y(j) - H / 2 - 12, sx = x2 + W2 / 2;
      if (i === j - 1) { path(`M${sx},${y(j) - H / 2} V${up + 6} Q${sx},${up} ${sx + 6},${up} H${x3 + W3 / 2 - 6} Q${x3 + W3 / 2},${up} ${x3 + W3 / 2},${up - 6} V${y(i) + H / 2}`, 'sensitivity', todo); head(x3 + W3 / 2, y(i) + H / 2, -90, 'sensitivity', todo); }
      else { const gx = right + 12 + (laneRight++ % grid.rows.length) * 6; path(`M${sx},${y(j) - H / 2} V${up + 6} Q${sx},${up} ${sx + 6},${up} H${gx - 6} Q${gx},${up} ${gx},${up - 6} V${y(i) + 6} Q${gx},${y(i)} ${gx - 6},${y(i)} H${right}`, 'sensitivity', todo); head(right, y(i), 180, 'sensitivity', todo); }
    }
  });
  const shape = (kind: string, w: number): string => {
    const a = -w / 2, b = w / 2, t = -H / 2, u = H / 2, r = kind === 'pill' ? H / 2 : 7;
    return kind === 'sign' ? `M${a + 11},${t} H${b} V${u} H${a + 11} L${a},0 Z` : `M${a + r},${t} H${b - r} A${r},${r} 0 0 1 ${b},${t + r} V${u - r} A${r},${r} 0 0 1 ${b - r},${u} H${a + r} A${r},${r} 0 0 1 ${a},${u - r} V${t + r} A${r},${r} 0 0 1 ${a + r},${t} Z`;
  };
  const cut = (s: string, n: number) => (s.length > n ? `${s.slice(0, n - 1)}…` : s);
  const node = (x: number, yy: number, w: number, cls: string, kind: string, mark: string, name: string, op: string, second: string, note: string, id: number | null, todo: boolean, now: boolean, solid = false) => {
    const g = svg('g', { class: `node ${cls}${todo ? ' todo' : ''}${now ? ' now' : ''}${solid && !todo ? ' solid' : ''}`, transform: `translate(${x + w / 2},${yy})` });
    if (id !== null) g.dataset.id = String(id);
    g.append(svg('path', { class: 'ring', d: shape(kind, w + 10), transform: `scale(1,${(H + 10) / H})` }), svg('path', { class: 'shape', d: shape(kind, w) }));
    const left = -w / 2 + (kind === 'pill' ? 18 : kind === 'sign' ? 20 : 12), fit = Math.max(6, Math.floor((w - 44 - op.length * 6.8) / 7.9));
    g.append(svg('text', { class: 'name', x: left, y: -4 }, `${mark}${cut(name, fit)}`), svg('text', { class: 'op', x: w / 2 - (kind === 'pill' ? 16 : 10), y: -4, 'text-anchor': 'end' }, op));
    const room = Math.floor((w - 34) / 7) - (note ? note.length + 1 : 0);
    g.append(svg('text', { class: 'second', x: left, y: 14 }, cut(second, Math.max(5, room))));
    if (note) g.append(svg('text', { class: 'noted', x: w / 2 - (kind === 'pill' ? 16 : 10), y: 14, 'text-anchor': 'end' }, note));
    g.append(svg('title', {}, [name, second, note].filter(Boolean).join(' · ')));
    if (id !== null) { g.addEventListener('pointerenter', () => hover(id)); g.addEventListener('pointerleave', () => hover(null)); }
    root.append(g);
  };
  grid.rows.forEach((r, i) => {
    const id = r.forward ?? r.id;
    if (r.isParameter && !r.forwardAt) node(x1, y(i), W1, r.isCaptured ? 'r-free' : 'r-primal', 'pill', '', r.name, '', value(id) || r.type, '', id, false, false);
    else node(x1, y(i), W1, 'r-forward', 'rect', '▶ ', r.name, r.op === r.name ? '' : r.op, value(id) || r.type, '', id, step < r.forwardAt, step === r.forwardAt && r.forwardAt > 0);
    if (r.backAt) node(x2, y(i), W2, 'r-backpropagator', 'sign', '◀ ', r.name, r.op === r.name ? '' : r.op, r.keeps.length ? `keeps ${r.keeps.join(', ')}` : 'keeps nothing', '', id, step < r.forwardAt, step === r.backAt);
    const of = r.sums.length, done = r.sums.filter(s => s.at <= step).length;
    if (of || r.seedAt) {
      const at = r.seedAt && step >= r.seedAt ? r.seed : done ? r.sums[done - 1].total : null;
      const last = done ? r.sums[done - 1].at : 0;
      const todo = r.seedAt ? step < r.seedAt : done === 0;
      node(x3, y(i), W3, 'r-sensitivity', 'pill', '∇', r.name, '', at === null ? '' : value(at) || r.type, r.seedAt ? 'seed' : of > 1 ? `${done} of ${of}` : '', at, todo, (last === step && step > 0) || (r.seedAt === step && step > 0), r.seedAt ? true : done === of);
    }
  });
  return { root, width, height, now: current ? [x2, y(index.get(current.id) as number)] : null };
}
