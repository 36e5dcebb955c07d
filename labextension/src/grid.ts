/** The adjoint as a grid: one row, one variable. Values run down the left, sensitivities up the right, and each ◀ says what it keeps.
 * Built from the gradient steps of one function; `rows` is pure, `drawGrid` draws. */
import { MARK_WIDTH, mark, marked, svg } from './svg';
import { Event, NodeView } from './snapshot';

export interface Row {
  id: number; name: string; op: string; type: string; isParameter: boolean; isCaptured: boolean;
  forward: number | null; forwardAt: number; backAt: number; keeps: string[];
  inputs: number[]; backUntil?: number; sums: { at: number; total: number; from: number }[]; seedAt: number; seed: number | null; span: NodeView['span'];
}
export interface Grid { graph: number; name: string; rows: Row[]; phrases?: [string, string] }

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

const H = 46, PITCH = 78, TOP = 52, LANE = 7;
const ROOMY = { W1: 168, W2: 150, W3: 168, GAP: 56 }, NARROW = { W1: 112, W2: 36, W3: 118, GAP: 30 }; // narrow: ◀ shrinks to its sign

export interface GridHooks { hover(id: number | null): void; select(id: number): void }
export interface GridPicture { root: SVGSVGElement; width: number; height: number; now: [number, number][] }

/** Gutter lanes: one for each variable whose lines must pass other rows; variables whose lines do not meet share a lane. */
export function lanes(intervals: Map<number, [number, number]>): { lane: Map<number, number>; count: number } {
  const lane = new Map<number, number>(), ends: number[] = [];
  for (const [id, [from, to]] of [...intervals].sort((a, b) => a[1][1] - a[1][0] - (b[1][1] - b[1][0]))) {
    const taken = new Set([...lane].filter(([other]) => { const o = intervals.get(other) as [number, number]; return o[0] <= to && from <= o[1]; }).map(x => x[1]));
    let k = 0;
    while (taken.has(k)) k++;
    lane.set(id, k);
    ends[k] = to;
  }
  return { lane, count: ends.length };
}

function gutters(grid: Grid, index: Map<number, number>): [ReturnType<typeof lanes>, ReturnType<typeof lanes>] {
  const left = new Map<number, [number, number]>(), right = new Map<number, [number, number]>();
  const widen = (map: Map<number, [number, number]>, id: number, i: number, j: number) => {
    if (i === j - 1 || i === j) return;
    const old = map.get(id) ?? [i, i];
    map.set(id, [Math.min(old[0], j), Math.max(old[1], j)]);
  };
  grid.rows.forEach((r, j) => {
    for (const id of r.inputs) { const i = index.get(id); if (i !== undefined) widen(left, id, i, j); }
    for (const s of r.sums) { const from = index.get(s.from); if (from !== undefined) widen(right, r.id, j, from); }
  });
  return [lanes(left), lanes(right)];
}

export function drawGrid(grid: Grid, step: number, value: (id: number) => string, hooks: GridHooks, isNarrow = false): GridPicture {
  const { W1, W2, W3, GAP } = isNarrow ? NARROW : ROOMY;
  const index = new Map(grid.rows.map((r, i) => [r.id, i] as const));
  const [leftLanes, rightLanes] = gutters(grid, index);
  const lanesLeft = 18 + leftLanes.count * LANE, x1 = lanesLeft + 24, x2 = x1 + W1 + GAP, x3 = x2 + W2 + GAP, right = x3 + W3, lanesRight = 14 + rightLanes.count * LANE;
  const height = TOP + grid.rows.length * PITCH + 14, width = right + 24 + lanesRight;
  const root = svg('svg', { class: 'my-svg my-grid', width, height, role: 'group', 'aria-label': `${grid.name} and its backpropagator` });
  const y = (i: number) => TOP + i * PITCH + PITCH / 2;
  const frame = (cls: string, x: number, w: number, symbol: string, quiet: string) => {
    if (isNarrow) quiet = '';
    const g = svg('g', { class: `cluster r-${cls}` });
    g.append(svg('rect', { x, y: 8, width: w, height: height - 16, rx: 9 }));
    const [marks, t] = marked(symbol, x + 14, 31, {});
    t.append(svg('tspan', {}, grid.name), svg('tspan', { class: 'q', dx: 8 }, quiet));
    g.append(...marks, t);
    root.append(g);
  };
  frame('forward', 12, x1 + W1 + 12 - 12, '▶', grid.phrases?.[0] ?? 'values, downwards');
  frame('backpropagator', x2 - 18, right - x2 + 22 + lanesRight, '◀', grid.phrases?.[1] ?? 'sensitivities, upwards');
  const isBack = (r: Row) => r.backAt > 0 && step >= r.backAt && step <= (r.backUntil ?? r.backAt);
  const current = grid.rows.find(r => step > 0 && (isBack(r) || r.forwardAt === step || r.seedAt === step));
  if (current) {
    const i = index.get(current.id) as number;
    root.append(svg('rect', { class: 'my-nowband', x: 12, y: y(i) - PITCH / 2 + 4, width: right + lanesRight - 8, height: PITCH - 8 }));
  }
  const path = (d: string, cls: string, todo: boolean) => root.append(svg('path', { class: `edge ${cls}${todo ? ' todo' : ''}`, d }));
  const head = (x: number, yy: number, angle: number, cls: string, todo: boolean) => root.append(svg('path', { class: `head ${cls}${todo ? ' todo' : ''}`, d: 'M0,0 L-8,3.5 L-8,-3.5 Z', transform: `translate(${x},${yy}) rotate(${angle})` }));
  grid.rows.forEach((r, j) => {
    for (const id of new Set(r.inputs)) {
      const i = index.get(id);
      if (i === undefined || i === j) continue;
      const todo = step < r.forwardAt;
      if (i === j - 1) { path(`M${x1 + W1 / 2},${y(i) + H / 2} V${y(j) - H / 2}`, 'argument', todo); head(x1 + W1 / 2, y(j) - H / 2, 90, 'argument', todo); }
      else { const gx = x1 - 14 - (leftLanes.lane.get(id) ?? 0) * LANE; path(`M${x1},${y(i) + 8} H${gx + 6} Q${gx},${y(i) + 8} ${gx},${y(i) + 14} V${y(j) - 14} Q${gx},${y(j) - 8} ${gx + 6},${y(j) - 8} H${x1}`, 'argument', todo); head(x1, y(j) - 8, 0, 'argument', todo); }
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
      else { const gx = right + 14 + (rightLanes.lane.get(r.id) ?? 0) * LANE; path(`M${sx},${y(j) - H / 2} V${up + 6} Q${sx},${up} ${sx + 6},${up} H${gx - 6} Q${gx},${up} ${gx},${up - 6} V${y(i) + 6} Q${gx},${y(i)} ${gx - 6},${y(i)} H${right}`, 'sensitivity', todo); head(right, y(i), 180, 'sensitivity', todo); }
    }
  });
  const shape = (kind: string, w: number): string => {
    const a = -w / 2, b = w / 2, t = -H / 2, u = H / 2, r = kind === 'pill' ? H / 2 : 7;
    return kind === 'sign' || kind === 'bare' ? `M${a + 11},${t} H${b} V${u} H${a + 11} L${a},0 Z` : `M${a + r},${t} H${b - r} A${r},${r} 0 0 1 ${b},${t + r} V${u - r} A${r},${r} 0 0 1 ${b - r},${u} H${a + r} A${r},${r} 0 0 1 ${a},${u - r} V${t + r} A${r},${r} 0 0 1 ${a + r},${t} Z`;
  };
  const node = (d: GridNode) => root.append(gridNode(d, shape, hooks));
  grid.rows.forEach((r, i) => {
    const id = r.forward ?? r.id, op = r.op === r.name ? '' : r.op, span = r.span ? `line ${r.span[0]}` : '';
    if (r.isParameter && !r.forwardAt) node({ x: x1, y: y(i), w: W1, cls: r.isCaptured ? 'r-free' : 'r-primal', form: 'pill', mark: '', name: r.name, op: '', second: value(id) || r.type, note: '', id, tip: span });
    else node({ x: x1, y: y(i), w: W1, cls: 'r-forward', form: 'rect', mark: '▶', name: r.name, op, second: value(id) || r.type, note: '', id, todo: step < r.forwardAt, now: step === r.forwardAt && r.forwardAt > 0, tip: span });
    const keeps = r.keeps.length ? `keeps ${r.keeps.join(', ')}` : 'keeps nothing';
    if (r.backAt) node({ x: x2, y: y(i), w: W2, cls: 'r-backpropagator', form: isNarrow ? 'bare' : 'sign', mark: '◀', name: r.name, op: isNarrow ? '' : op, second: keeps, note: '', id, todo: step < r.forwardAt, now: isBack(r), tip: span });
    const of = r.sums.length, done = r.sums.filter(s => s.at <= step).length;
    if (!of && !r.seedAt) return;
    const at = r.seedAt && step >= r.seedAt ? r.seed : done ? r.sums[done - 1].total : null;
    const todo = r.seedAt ? step < r.seedAt : done === 0, now = step > 0 && (r.seedAt === step || r.sums.some(s => s.at === step));
    node({ x: x3, y: y(i), w: W3, cls: 'r-sensitivity', form: 'pill', mark: '∇', name: r.name, op: '', second: at === null ? '' : value(at) || r.type, note: r.seedAt ? 'seed' : of > 1 ? `${done} of ${of}` : '', id: at, todo, now,
      solid: !todo && (r.seedAt > 0 || done === of), tip: done < of && done > 0 ? 'still adding up' : '' });
  });
  const at = (r: Row, x: number): [number, number] => [x, y(index.get(r.id) as number)];
  const changed = grid.rows.filter(r => step > 0 && r.sums.some(s => s.at === step)); // in view: the row of ◀, and above all the sum that changes
  return { root, width, height, now: [...(current ? [at(current, x2)] : []), ...changed.map(r => at(r, x3))] };
}

interface GridNode {
  x: number; y: number; w: number; cls: string; form: string; mark: string; name: string; op: string; second: string; note: string; id: number | null;
  todo?: boolean; now?: boolean; solid?: boolean; tip: string;
}

const cut = (s: string, n: number): string => (s.length > n ? `${s.slice(0, n - 1)}…` : s);

function gridNode(d: GridNode, shape: (kind: string, w: number) => string, hooks: GridHooks): SVGGElement {
  const state = `${d.todo ? ' todo' : ''}${d.now ? ' now' : ''}${d.solid ? ' solid' : ''}`, round = d.form === 'pill';
  const said = d.todo ? `${d.mark}${d.name}, not yet` : [`${d.mark}${d.name}`, d.second, d.note, d.tip].filter(Boolean).join(' · ');
  const g = svg('g', { class: `node ${d.cls}${state}`, transform: `translate(${d.x + d.w / 2},${d.y})`, tabindex: -1, role: 'button', 'aria-label': said });
  g.dataset.at = `${d.x + d.w / 2},${d.y}`;
  if (d.id !== null) g.dataset.id = String(d.id);
  g.append(svg('path', { class: 'ring', d: shape(d.form, d.w + 10), transform: `scale(1,${(H + 10) / H})` }), svg('path', { class: 'shape', d: shape(d.form, d.w) }));
  const left = -d.w / 2 + (round ? 18 : d.form === 'sign' ? 20 : 12), end = d.w / 2 - (round ? 16 : 10), start = left + (d.mark ? MARK_WIDTH : 0);
  if (d.form === 'bare') { g.append(mark(d.mark, -2, 0), svg('title', {}, said)); return listen(g, d.id, hooks); }
  const op = cut(d.op, 9), fit = Math.max(4, Math.floor((end - start - (op ? op.length * 6.8 + 10 : 0)) / 7.9));
  if (d.mark) g.append(mark(d.mark, left, -9));
  g.append(svg('text', { class: 'name', x: start, y: -4 }, cut(d.name, fit)));
  if (op) g.append(svg('text', { class: 'op', x: end, y: -4, 'text-anchor': 'end' }, op));
  const room = Math.floor((end - left - (d.note ? d.note.length * 6.5 + 8 : 0)) / 7);
  g.append(svg('text', { class: 'second', x: left, y: 14 }, cut(d.second, Math.max(5, room))));
  if (d.note) g.append(svg('text', { class: 'noted', x: end, y: 14, 'text-anchor': 'end' }, d.note));
  g.append(svg('title', {}, said));
  return listen(g, d.id, hooks);
}

function listen(g: SVGGElement, id: number | null, hooks: GridHooks): SVGGElement {
  if (id === null) return g;
  g.addEventListener('pointerenter', () => hooks.hover(id));
  g.addEventListener('pointerleave', () => hooks.hover(null));
  g.addEventListener('focus', () => hooks.hover(id));
  g.addEventListener('click', () => hooks.select(id));
  return g;
}
