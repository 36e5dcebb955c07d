/** Draws a placed graph as SVG from one template, and lets it be moved, zoomed and read by keyboard. */
import { Drawing, glyph, plain, returnId } from './dot';
import { Layout } from './layout';
import { Model } from './replay';
import { NodeView } from './snapshot';

const NS = 'http://www.w3.org/2000/svg';
type Attributes = Record<string, string | number>;
export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes = {}, text?: string): SVGElementTagNameMap[K] {
  const e = document.createElementNS(NS, tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, String(v));
  if (text !== undefined) e.textContent = text;
  return e;
}

/** How each node stands at the current step. */
export interface Look { todo: Set<number>; now: Set<number>; removed: Set<number>; added: Set<number>; lit: Set<number>; quiet: boolean; solid: Set<number>; appear: Set<number> }
export const emptyLook = (): Look => ({ todo: new Set(), now: new Set(), removed: new Set(), added: new Set(), lit: new Set(), quiet: false, solid: new Set(), appear: new Set() });

export interface Hooks { hover(id: number | null): void; select(id: number): void; toggle(graph: number): void }

const QUIET: Record<string, string> = { loop: 'loop', branch: 'arm', closure: 'closure', forward: 'values, downwards', backpropagator: 'sensitivities, upwards', program: 'program', tangent: 'tangents' };

export class GraphPane {
  readonly el: HTMLDivElement;
  private root: SVGSVGElement | null = null;
  private x = 0; private y = 0; private k = 1; private width = 1; private height = 1;
  private items = new Map<number, SVGGElement>();
  private fitted = true;

  constructor(private hooks: Hooks) {
    this.el = document.createElement('div');
    this.el.className = 'my-graph';
    this.el.setAttribute('role', 'group');
    this.el.setAttribute('aria-label', 'graph');
    let drag: [number, number, number, number] | null = null;
    this.el.addEventListener('pointerdown', e => { if (e.button === 0) drag = [e.clientX, e.clientY, this.x, this.y]; });
    this.el.addEventListener('pointermove', e => {
      if (!drag || !(e.buttons & 1)) { drag = null; return; }
      if (Math.hypot(e.clientX - drag[0], e.clientY - drag[1]) > 3) { this.x = drag[2] + e.clientX - drag[0]; this.y = drag[3] + e.clientY - drag[1]; this.fitted = false; this.place(); }
    });
    this.el.addEventListener('pointerup', () => { drag = null; });
    this.el.addEventListener('wheel', e => {
      if (!(e.ctrlKey || e.metaKey)) return;
      e.preventDefault();
      const r = this.el.getBoundingClientRect();
      this.zoom(e.deltaY > 0 ? 1 / 1.15 : 1.15, e.clientX - r.left, e.clientY - r.top);
    }, { passive: false });
    new ResizeObserver(() => { if (this.fitted) this.fit(); }).observe(this.el);
  }

  zoom(factor: number, cx = this.el.clientWidth / 2, cy = this.el.clientHeight / 2): void {
    const k = Math.min(4, Math.max(0.08, this.k * factor));
    this.x = cx - ((cx - this.x) * k) / this.k;
    this.y = cy - ((cy - this.y) * k) / this.k;
    this.k = k;
    this.fitted = false;
    this.place();
  }

  fit(): void {
    const w = this.el.clientWidth, h = this.el.clientHeight;
    if (!w || !h) return;
    this.k = Math.min(1.25, (w - 24) / this.width, (h - 24) / this.height);
    this.k = Math.max(this.k, 0.78);
    this.x = Math.max(12, (w - this.width * this.k) / 2);
    this.y = Math.max(12, (h - this.height * this.k) / 2);
    this.fitted = true;
    this.place();
  }

  private place(): void { if (this.root) this.root.style.transform = `translate(${this.x}px,${this.y}px) scale(${this.k})`; }

  /** Brings a node into view. */
  show(id: number): void {
    const g = this.items.get(id);
    if (!g) return;
    const [px, py] = (g.dataset.at ?? '0,0').split(',').map(Number);
    this.reach(px, py);
  }

  draw(model: Model, drawing: Drawing, layout: Layout, keepView: boolean): void {
    const first = !this.root;
    const root = svg('svg', { class: 'my-svg', width: layout.width, height: layout.height, role: 'img' });
    this.width = layout.width;
    this.height = layout.height;
    this.items.clear();
    for (const [id, g] of drawing.clusters) {
      const b = layout.clusters.get(id);
      if (!b) continue;
      const role = g.kind === 'forward' ? 'forward' : g.kind === 'backpropagator' ? 'backpropagator' : 'primal';
      const c = svg('g', { class: `cluster r-${role}` });
      c.append(svg('rect', { x: b[0], y: b[1], width: b[2], height: b[3], rx: 9 }));
      const t = svg('text', { x: b[0] + 12, y: b[1] + 20 });
      t.append(svg('tspan', {}, g.name));
      t.append(svg('tspan', { class: 'q', dx: 8 }, QUIET[g.kind] ?? ''));
      c.append(t);
      c.addEventListener('dblclick', () => this.hooks.toggle(id));
      root.append(c);
    }
    drawing.edges.forEach((e, i) => {
      const p = layout.edges.get(i);
      if (p) root.append(this.edge(p, e.kind, e.from, e.to));
    });
    for (const [id, b] of drawing.boxes) {
      const name = id < -1e6 ? `n_r${returnId(id)}` : id < 0 ? `n_${-id}_c` : `n_${id}`;
      const at = layout.nodes.get(name);
      if (!at) continue;
      const node = model.nodes.get(id);
      const g = node ? this.node(node, b.w, b.h, b.lines) : id < -1e6 ? this.box('return', 'r-return', b.w, b.h) : this.closed(model, -id, b.w, b.h, drawing.closed.get(-id) ?? 0);
      g.setAttribute('transform', `translate(${at.x},${at.y})`);
      g.dataset.at = `${at.x},${at.y}`;
      this.items.set(id, g);
      root.append(g);
    }
    this.root?.remove();
    this.root = root;
    this.el.prepend(root);
    if (first || !keepView || this.fitted) this.fit(); else this.place();
  }

  /** Shows a drawing made elsewhere, with the same moving and zooming. */
  place_(root: SVGSVGElement, width: number, height: number, keepView: boolean, at: [number, number] | null): void {
    this.width = width;
    this.height = height;
    this.items.clear();
    this.root?.remove();
    this.root = root;
    this.el.prepend(root);
    if (!keepView || this.fitted) this.fit(); else this.place();
    if (at) this.reach(at[0], at[1]);
  }

  private reach(px: number, py: number): void {
    const sx = this.x + px * this.k, sy = this.y + py * this.k, w = this.el.clientWidth, h = this.el.clientHeight;
    if (sx < 30 || sx > w - 30) this.x += w / 2 - sx;
    if (sy < 50 || sy > h - 50) this.y += h / 2 - sy;
    this.place();
  }

  private edge(p: [number, number][], kind: string, from: number, to: number): SVGGElement {
    const g = svg('g', { 'data-from': from, 'data-to': to });
    let d = `M${p[0][0]},${p[0][1]}`;
    const end = p[p.length - 1];
    for (let i = 1; i + 2 < p.length; i += 3) d += ` C${p[i].join()} ${p[i + 1].join()} ${p[i + 2].join()}`;
    g.append(svg('path', { class: `edge ${kind}`, d }));
    const before = p[Math.max(0, p.length - 3)];
    const a = (Math.atan2(end[1] - before[1], end[0] - before[0]) * 180) / Math.PI;
    g.append(svg('path', { class: `head ${kind}`, d: 'M0,0 L-8,3.5 L-8,-3.5 Z', transform: `translate(${end[0]},${end[1]}) rotate(${a})` }));
    return g;
  }

  private box(text: string, cls: string, w: number, h: number): SVGGElement {
    const g = svg('g', { class: `node ${cls}` });
    g.append(svg('rect', { class: 'shape', x: -w / 2, y: -h / 2, width: w, height: h, rx: 4 }));
    g.append(svg('rect', { class: 'shape', x: -w / 2, y: h / 2 - 3, width: w, height: 3 }));
    g.append(svg('text', { class: 'name', 'text-anchor': 'middle', y: 4 }, text));
    return g;
  }

  private closed(model: Model, graph: number, w: number, h: number, count: number): SVGGElement {
    const view = model.graphs.get(graph);
    const role = view?.kind === 'forward' ? 'forward' : view?.kind === 'backpropagator' ? 'backpropagator' : 'primal';
    const g = svg('g', { class: `node r-${role}`, tabindex: 0, role: 'button', 'aria-label': `${view?.name ?? ''}, closed, ${count} nodes` });
    g.append(svg('rect', { class: 'ring', x: -w / 2 - 5, y: -h / 2 - 5, width: w + 10, height: h + 10, rx: 11 }));
    g.append(svg('rect', { class: 'shape', x: -w / 2 + 4, y: -h / 2 + 4, width: w, height: h, rx: 7 }));
    g.append(svg('rect', { class: 'shape', x: -w / 2, y: -h / 2, width: w, height: h, rx: 7 }));
    g.append(svg('text', { class: 'name', x: -w / 2 + 12, y: 4 }, view?.name ?? ''));
    g.append(svg('text', { class: 'noted', x: w / 2 - 10, y: 4, 'text-anchor': 'end' }, String(count)));
    g.addEventListener('click', () => this.hooks.toggle(graph));
    g.addEventListener('keydown', e => { if (e.key === 'Enter') { this.hooks.toggle(graph); e.stopPropagation(); } });
    return g;
  }

  private node(n: NodeView, w: number, h: number, l: [string, string, string, string]): SVGGElement {
    const g = svg('g', { class: `node r-${n.role}`, 'data-id': n.id, tabindex: -1, role: 'button', 'aria-label': describe(n) });
    g.append(svg('rect', { class: 'ring', x: -w / 2 - 4.5, y: -h / 2 - 4.5, width: w + 9, height: h + 9, rx: n.kind === 'parameter' || n.role === 'sensitivity' ? h / 2 + 4 : 10 }));
    g.append(shape(n, w, h));
    if (n.kind === 'constant') { g.append(svg('text', { class: 'name text', 'text-anchor': 'middle', y: 4 }, l[0])); }
    else {
      const two = h > 40, pad = n.role === 'backpropagator' ? 18 : n.kind === 'parameter' || n.role === 'sensitivity' ? 15 : 11;
      const top = two ? -4 : 4;
      let x = -w / 2 + pad;
      const mark = glyph(n);
      if (mark) { g.append(drawnGlyph(mark, x, top - 5)); x += 15; }
      g.append(svg('text', { class: n.name ? 'name' : 'name text', x, y: top }, plain(l[0])));
      if (l[1]) g.append(svg('text', { class: 'op', x: w / 2 - 10, y: top, 'text-anchor': 'end' }, l[1]));
      if (two) {
        g.append(svg('text', { class: 'second', x: -w / 2 + pad, y: 14 }, l[2] || l[3]));
        if (l[2] && l[3]) g.append(svg('text', { class: 'noted', x: w / 2 - 10, y: 14, 'text-anchor': 'end' }, l[3]));
      }
    }
    g.append(svg('title', {}, describe(n)));
    g.addEventListener('pointerenter', () => this.hooks.hover(n.id));
    g.addEventListener('pointerleave', () => this.hooks.hover(null));
    g.addEventListener('focus', () => this.hooks.hover(n.id));
    g.addEventListener('click', () => this.hooks.select(n.id));
    return g;
  }

  /** Applies the step to what is drawn: no layout, classes only. */
  look(look: Look): void {
    for (const [id, g] of this.items) {
      const set = (name: string, on: boolean) => g.classList.toggle(name, on);
      set('todo', look.todo.has(id));
      set('now', look.now.has(id));
      set('removed', look.removed.has(id));
      set('added', look.added.has(id));
      set('lit', look.lit.has(id));
      set('solid', look.solid.has(id) && !look.todo.has(id));
      set('appear', look.appear.has(id));
      set('quiet', look.quiet && id > 0 && !look.removed.has(id) && !look.added.has(id) && !look.now.has(id));
    }
    this.root?.querySelectorAll<SVGGElement>('g[data-from]').forEach(e => {
      const todo = look.todo.has(Number(e.dataset.from)) || look.todo.has(Number(e.dataset.to));
      for (const child of e.children) child.classList.toggle('todo', todo);
    });
  }

  focusNode(id: number): void { this.items.get(id)?.focus(); }
  has(id: number): boolean { return this.items.has(id); }
}

function shape(n: NodeView, w: number, h: number): SVGElement {
  const x = -w / 2, y = -h / 2;
  if (n.kind === 'constant') return svg('path', { class: 'shape', d: `M${x},${y} H${-x - 7} L${-x},${y + 7} V${-y} H${x} Z` });
  if (n.role === 'backpropagator') return svg('path', { class: 'shape', d: `M${x + 11},${y} H${-x} V${-y} H${x + 11} L${x},0 Z` });
  if (n.role === 'control') return svg('path', { class: 'shape', d: `M${x + 11},${y} H${-x - 11} L${-x},0 L${-x - 11},${-y} H${x + 11} L${x},0 Z` });
  const round = n.kind === 'parameter' || n.role === 'sensitivity' ? h / 2 : 7;
  return svg('rect', { class: 'shape', x, y, width: w, height: h, rx: round });
}

/** ▶ ◀ ∇ as paths: fonts lack or resize them. */
function drawnGlyph(mark: string, x: number, y: number): SVGElement {
  const d = mark === '▶' ? 'M0,-4 L9,0.5 L0,5 Z' : mark === '◀' ? 'M9,-4 L0,0.5 L9,5 Z' : 'M0,-4 L10,-4 L5,5 Z M2.6,-2.4 L7.4,-2.4 L5,2 Z';
  const p = svg('path', { d, transform: `translate(${x},${y})`, 'fill-rule': 'evenodd' });
  p.style.fill = 'currentColor';
  p.setAttribute('class', 'name');
  return p;
}

export function describe(n: NodeView): string {
  const name = n.name || n.label || n.symbol || n.op;
  const parts = [n.kind === 'apply' && n.symbol && name !== n.symbol ? `${name} = ${n.symbol}` : name];
  if (n.type) parts.push(n.type);
  if (n.value) parts.push(`value ${n.value}`);
  if (n.span) parts.push(`line ${n.span[0]}`);
  return parts.join(' · ');
}
