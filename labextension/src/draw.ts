/** The one template of the picture: nodes, edges, functions open and closed, as SVG. Texts are text nodes, never markup. */
import { glyph, plain, QUIET } from './dot';
import { GraphView, NodeView } from './snapshot';
import { mark, MARK_WIDTH, marked, svg } from './svg';

export interface NodeHooks { hover(id: number | null): void; select(id: number): void; toggle(graph: number): void }

const roleOf = (kind: string | undefined): string => (kind === 'forward' ? 'forward' : kind === 'backpropagator' ? 'backpropagator' : 'primal');

function press(g: SVGGElement, action: () => void): void {
  g.addEventListener('click', action);
  g.addEventListener('keydown', e => { if (e.key === 'Enter' || e.key === ' ') { action(); e.preventDefault(); e.stopPropagation(); } });
}

/** An open function: its box, its title, and the sign that closes it. */
export function cluster(view: GraphView, b: [number, number, number, number], canClose: boolean, hooks: NodeHooks): SVGGElement {
  const c = svg('g', { class: `cluster r-${roleOf(view.kind)}` });
  c.append(svg('rect', { x: b[0] + 3, y: b[1] + 3, width: b[2] - 6, height: b[3] - 6, rx: 9 }));
  const [marks, t] = marked(view.name, b[0] + 14, b[1] + 22, {});
  t.append(svg('tspan', { class: 'q', dx: 8 }, QUIET[view.kind] ?? ''));
  c.append(...marks, t);
  if (canClose) {
    const x = b[0] + b[2] - 19, y = b[1] + 18;
    const sign = svg('g', { class: 'fold', tabindex: -1, role: 'button', 'aria-label': `close ${view.name}`, transform: `translate(${x},${y})` });
    sign.dataset.at = `${x},${y}`;
    sign.append(svg('rect', { x: -9, y: -9, width: 18, height: 18, rx: 4 }), svg('path', { d: 'M-4,0 H4' }), svg('title', {}, `Close ${view.name}`));
    press(sign, () => hooks.toggle(view.id));
    c.append(sign);
    c.addEventListener('dblclick', () => hooks.toggle(view.id));
  }
  return c;
}

export function edge(p: [number, number][], kind: string, from: number, to: number): SVGGElement {
  const g = svg('g', { 'data-from': from, 'data-to': to });
  const end = p[p.length - 1];
  let d = `M${p[0][0]},${p[0][1]}`;
  for (let i = 1; i + 2 < p.length; i += 3) d += ` C${p[i].join()} ${p[i + 1].join()} ${p[i + 2].join()}`;
  g.append(svg('path', { class: `edge ${kind}`, d }));
  if (kind === 'free') g.append(svg('circle', { class: 'head free', cx: p[0][0], cy: p[0][1], r: 2.8 }));
  const before = p[Math.max(0, p.length - 3)];
  const a = (Math.atan2(end[1] - before[1], end[0] - before[0]) * 180) / Math.PI;
  g.append(svg('path', { class: `head ${kind}`, d: 'M0,0 L-8,3.5 L-8,-3.5 Z', transform: `translate(${end[0]},${end[1]}) rotate(${a})` }));
  return g;
}

export function returnBox(w: number, h: number): SVGGElement {
  const g = svg('g', { class: 'node r-return' });
  g.append(svg('rect', { class: 'shape', x: -w / 2, y: -h / 2, width: w, height: h, rx: 4 }));
  g.append(svg('rect', { class: 'shape foot', x: -w / 2, y: h / 2 - 4, width: w, height: 4 }));
  g.append(svg('text', { class: 'name', 'text-anchor': 'middle', y: 3 }, 'return'));
  return g;
}

export function closedBox(view: GraphView | undefined, graph: number, w: number, h: number, count: number, hooks: NodeHooks): SVGGElement {
  const name = view?.name ?? '';
  const g = svg('g', { class: `node closed r-${roleOf(view?.kind)}`, tabindex: -1, role: 'button', 'aria-label': `${name}, closed, ${count} nodes` });
  g.append(svg('rect', { class: 'ring', x: -w / 2 - 5, y: -h / 2 - 5, width: w + 14, height: h + 14, rx: 11 }));
  g.append(svg('rect', { class: 'shape', x: -w / 2 + 4, y: -h / 2 + 4, width: w, height: h, rx: 7 }), svg('rect', { class: 'shape', x: -w / 2, y: -h / 2, width: w, height: h, rx: 7 }));
  const [marks, text] = marked(name, -w / 2 + 12, 4, { class: 'name' });
  g.append(...marks, text, svg('text', { class: 'noted', x: w / 2 - 10, y: 4, 'text-anchor': 'end' }, String(count)), svg('title', {}, `${name}: ${count} nodes. Click to open.`));
  press(g, () => hooks.toggle(graph));
  return g;
}

export function nodeBox(n: NodeView, w: number, h: number, l: [string, string, string, string], hooks: NodeHooks): SVGGElement {
  const g = svg('g', { class: `node r-${n.role}`, 'data-id': n.id, tabindex: -1, role: 'button', 'aria-label': describe(n) });
  const round = n.kind === 'parameter' || n.role === 'sensitivity';
  g.append(svg('rect', { class: 'ring', x: -w / 2 - 4.5, y: -h / 2 - 4.5, width: w + 9, height: h + 9, rx: round ? h / 2 + 4 : 10 }), shape(n, w, h));
  if (n.kind === 'constant') g.append(svg('text', { class: 'name text', 'text-anchor': 'middle', y: 4 }, l[0]));
  else {
    const two = h > 40, pad = n.role === 'backpropagator' ? 18 : round ? 15 : n.role === 'control' ? 16 : 11, top = two ? -4 : 4;
    const symbol = glyph(n);
    if (symbol) g.append(mark(symbol, -w / 2 + pad, top - 5));
    g.append(svg('text', { class: n.name ? 'name' : 'name text', x: -w / 2 + pad + (symbol ? MARK_WIDTH : 0), y: top }, plain(l[0])));
    if (l[1]) g.append(svg('text', { class: 'op', x: w / 2 - (round ? 14 : 10), y: top, 'text-anchor': 'end' }, l[1]));
    if (two) {
      g.append(svg('text', { class: 'second', x: -w / 2 + pad, y: 14 }, l[2] || l[3]));
      if (l[2] && l[3]) g.append(svg('text', { class: 'noted', x: w / 2 - 10, y: 14, 'text-anchor': 'end' }, l[3]));
    }
  }
  g.append(svg('circle', { class: 'keptmark', cx: w / 2 - 1, cy: -h / 2 + 1, r: 5 }), svg('title', {}, describe(n)));
  g.addEventListener('pointerenter', () => hooks.hover(n.id));
  g.addEventListener('pointerleave', () => hooks.hover(null));
  g.addEventListener('focus', () => hooks.hover(n.id));
  g.addEventListener('click', () => hooks.select(n.id));
  g.addEventListener('keydown', e => { if (e.key === 'Enter') { hooks.select(n.id); e.stopPropagation(); } });
  return g;
}

function shape(n: NodeView, w: number, h: number): SVGElement {
  const x = -w / 2, y = -h / 2;
  if (n.kind === 'constant') return svg('path', { class: 'shape', d: `M${x},${y} H${-x - 7} L${-x},${y + 7} V${-y} H${x} Z` });
  if (n.role === 'backpropagator') return svg('path', { class: 'shape', d: `M${x + 11},${y} H${-x} V${-y} H${x + 11} L${x},0 Z` });
  if (n.role === 'control') return svg('path', { class: 'shape', d: `M${x + 11},${y} H${-x - 11} L${-x},0 L${-x - 11},${-y} H${x + 11} L${x},0 Z` });
  return svg('rect', { class: 'shape', x, y, width: w, height: h, rx: n.kind === 'parameter' || n.role === 'sensitivity' ? h / 2 : 7 });
}

/** A node in one line, for tooltips, search and screen readers. */
export function describe(n: NodeView): string {
  const name = n.name || n.label || n.symbol || n.op;
  const parts = [n.kind === 'apply' && n.symbol && name !== n.symbol ? `${name} = ${n.symbol}` : name];
  if (n.type) parts.push(n.type);
  if (n.value) parts.push(`value ${n.value}`);
  if (n.span) parts.push(`line ${n.span[0]}`);
  return parts.join(' · ');
}
