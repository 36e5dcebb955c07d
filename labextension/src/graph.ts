/** A pane that shows a placed drawing, and lets it be moved, zoomed and read by keyboard. Pan and zoom are one CSS transform: no layout, no redraw. */
import { closedBox, cluster, edge, nodeBox, NodeHooks, returnBox } from './draw';
import { cut, Drawing, returnId } from './dot';
import { Layout } from './layout';
import { Model } from './replay';
import { svg } from './svg';

/** How each node stands at the current step. `todo` is not revealed, `wait` is revealed and has no value yet; `texts` are the values of a run. */
export interface Look { todo: Set<number>; now: Set<number>; removed: Set<number>; added: Set<number>; quiet: boolean; solid: Set<number>; appear: Set<number>; wait: Set<number>; kept: Set<number>; texts: Map<number, string> | null }
export const emptyLook = (): Look => ({ todo: new Set(), now: new Set(), removed: new Set(), added: new Set(), quiet: false, solid: new Set(), appear: new Set(), wait: new Set(), kept: new Set(), texts: null });

/** What the map shows: boxes in drawing coordinates, and what part of them is in view. */
export interface Sight { width: number; height: number; x: number; y: number; w: number; h: number }

const MOVE_LIMIT = 300;

export class GraphPane {
  readonly el: HTMLDivElement;
  root: SVGSVGElement | null = null;
  moved: () => void = () => undefined;
  largest = 1.25;
  smallest = 0.78; // node names stay above 10 px
  width = 1; height = 1;
  private x = 0; private y = 0; private k = 1;
  private items = new Map<number, SVGGElement>();
  private litNow = new Set<SVGGElement>();
  private fitted = true;
  private frame = 0;
  private observer: ResizeObserver;

  constructor(private hooks: NodeHooks, label: string) {
    this.el = document.createElement('div');
    this.el.className = 'my-graph';
    this.el.setAttribute('role', 'group');
    this.el.setAttribute('aria-label', `${label}. Enter goes to its nodes, arrows move among them`);
    this.el.tabIndex = 0;
    this.drag();
    this.el.addEventListener('wheel', e => {
      if (!(e.ctrlKey || e.metaKey)) return;
      e.preventDefault();
      const r = this.el.getBoundingClientRect();
      this.zoom(e.deltaY > 0 ? 1 / 1.15 : 1.15, e.clientX - r.left, e.clientY - r.top);
    }, { passive: false });
    this.el.addEventListener('keydown', e => this.key(e));
    this.el.addEventListener('scroll', () => { // the browser brings a focused node into view by scrolling: here that is a pan
      const { scrollLeft, scrollTop } = this.el;
      if (!scrollLeft && !scrollTop) return;
      this.el.scrollTo(0, 0);
      this.x -= scrollLeft;
      this.y -= scrollTop;
      this.fitted = false;
      this.place();
    });
    this.observer = new ResizeObserver(() => { if (this.fitted) this.fit(); else this.place(); });
    this.observer.observe(this.el);
  }

  dispose(): void { this.observer.disconnect(); cancelAnimationFrame(this.frame); }

  private drag(): void {
    let from: [number, number, number, number] | null = null;
    this.el.addEventListener('pointerdown', e => { if (e.button === 0) from = [e.clientX, e.clientY, this.x, this.y]; });
    this.el.addEventListener('pointermove', e => {
      if (!from || !(e.buttons & 1)) { from = null; this.el.classList.remove('my-moving'); return; }
      if (Math.hypot(e.clientX - from[0], e.clientY - from[1]) > 3) { this.x = from[2] + e.clientX - from[0]; this.y = from[3] + e.clientY - from[1]; this.fitted = false; this.el.classList.add('my-moving'); this.soon(); }
    });
    for (const end of ['pointerup', 'pointerleave']) this.el.addEventListener(end, () => { from = null; this.el.classList.remove('my-moving'); });
  }

  // -- view

  zoom(factor: number, cx = this.el.clientWidth / 2, cy = this.el.clientHeight / 2): void {
    const k = Math.min(4, Math.max(0.08, this.k * factor));
    this.x = cx - ((cx - this.x) * k) / this.k;
    this.y = cy - ((cy - this.y) * k) / this.k;
    this.k = k;
    this.fitted = false;
    this.soon();
  }

  fit(): void {
    const w = this.el.clientWidth - (this.el.clientWidth > 480 ? 40 : 0), h = this.el.clientHeight; // the zoom buttons keep their column
    if (w <= 0 || !h) return;
    this.k = Math.max(this.smallest, Math.min(this.largest, (w - 24) / this.width, (h - 24) / this.height));
    this.x = Math.max(12, (w - this.width * this.k) / 2);
    this.y = Math.max(12, (h - this.height * this.k) / 2);
    this.fitted = true;
    this.place();
  }

  /** Whether the whole drawing is in view. */
  sight(): Sight { return { width: this.width, height: this.height, x: -this.x / this.k, y: -this.y / this.k, w: this.el.clientWidth / this.k, h: this.el.clientHeight / this.k }; }

  center(px: number, py: number): void {
    this.x = this.el.clientWidth / 2 - px * this.k;
    this.y = this.el.clientHeight / 2 - py * this.k;
    this.fitted = false;
    this.soon();
  }

  private soon(): void { if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.place(); }); }

  private place(): void {
    if (this.root) this.root.style.transform = `translate(${this.x}px,${this.y}px) scale(${this.k})`;
    this.moved();
  }

  /** Brings a node into view. */
  show(id: number): void { const at = this.where(id); if (at) this.reach(at[0], at[1]); }

  where(id: number): [number, number] | null {
    const at = this.items.get(id)?.dataset.at;
    return at ? (at.split(',').map(Number) as [number, number]) : null;
  }

  /** Where a node is on the screen, in the pane's coordinates. */
  onScreen(id: number): [number, number] | null { const at = this.where(id); return at ? [this.x + at[0] * this.k, this.y + at[1] * this.k] : null; }

  inView(id: number): boolean {
    const p = this.onScreen(id);
    return p !== null && p[0] > 0 && p[1] > 0 && p[0] < this.el.clientWidth && p[1] < this.el.clientHeight;
  }

  private reach(px: number, py: number): void {
    const sx = this.x + px * this.k, sy = this.y + py * this.k, w = this.el.clientWidth, h = this.el.clientHeight;
    if (sx < 70 || sx > w - 70) this.x += w / 2 - sx;
    if (sy < 50 || sy > h - 50) this.y += h / 2 - sy;
    const keep = (at: number, size: number, room: number) => (size * this.k > room - 24 ? Math.min(12, Math.max(room - 12 - size * this.k, at)) : at); // no empty space past an edge
    this.x = keep(this.x, this.width, w);
    this.y = keep(this.y, this.height, h);
    this.place();
  }

  // -- content

  draw(model: Model, drawing: Drawing, layout: Layout, keepView: boolean): void {
    const root = svg('svg', { class: 'my-svg', width: layout.width, height: layout.height, role: 'group', 'aria-label': `graph of ${drawing.boxes.size} nodes` });
    const before = new Map<number, string>();
    if (keepView) for (const [id, g] of this.items) before.set(id, g.dataset.at ?? '');
    const items = new Map<number, SVGGElement>();
    for (const [id, view] of drawing.clusters) {
      const b = layout.clusters.get(id);
      if (b) root.append(cluster(view, b, drawing.clusters.size > 1 || drawing.closed.size > 0, this.hooks));
    }
    drawing.edges.forEach((e, i) => { const p = layout.edges.get(i); if (p) root.append(edge(p, e.kind, e.from, e.to)); });
    for (const [id, b] of drawing.boxes) {
      const at = layout.nodes.get(id < -1e6 ? `n_r${returnId(id)}` : id < 0 ? `n_${-id}_c` : `n_${id}`);
      if (!at) continue;
      const node = model.nodes.get(id);
      const g = node ? nodeBox(node, b.w, b.h, b.lines, this.hooks) : id < -1e6 ? returnBox(b.w, b.h) : closedBox(model.graphs.get(-id), -id, b.w, b.h, drawing.closed.get(-id) ?? 0, this.hooks);
      g.setAttribute('transform', `translate(${at.x},${at.y})`);
      g.dataset.at = `${at.x},${at.y}`;
      items.set(id, g);
      root.append(g);
    }
    this.put(root, layout.width, layout.height, items, keepView);
    if (keepView && items.size <= MOVE_LIMIT) this.animate(before);
  }

  /** Shows a drawing made elsewhere, with the same moving, zooming and keys. */
  drawOther(root: SVGSVGElement, width: number, height: number, keepView: boolean, at: [number, number][]): void {
    const items = new Map<number, SVGGElement>();
    root.querySelectorAll<SVGGElement>('g.node[data-id]').forEach(g => items.set(Number(g.dataset.id), g));
    this.put(root, width, height, items, keepView);
    for (const [x, y] of at) this.reach(x, y);
  }

  private put(root: SVGSVGElement, width: number, height: number, items: Map<number, SVGGElement>, keepView: boolean): void {
    const had = this.root?.contains(document.activeElement) ? (document.activeElement as SVGElement).dataset.id : undefined;
    const first = !this.root;
    this.root?.remove();
    this.root = root;
    this.items = items;
    this.width = width;
    this.height = height;
    this.litNow.clear();
    this.el.prepend(root);
    if (first || !keepView || this.fitted) this.fit(); else this.place();
    if (had !== undefined) (items.get(Number(had)) ?? this.el).focus();
  }

  /** Nodes that were there move from where they were; the others appear. */
  private animate(before: Map<number, string>): void {
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    let moved = false;
    for (const [id, g] of this.items) {
      const from = before.get(id), to = g.dataset.at;
      if (from === to) continue;
      moved = true;
      const [x, y] = (to ?? '').split(',');
      if (from) { const [a, b] = from.split(','); g.animate([{ transform: `translate(${a}px,${b}px)` }, { transform: `translate(${x}px,${y}px)` }], { duration: 260, easing: 'ease-in-out' }); }
      else g.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 180, easing: 'ease-out' });
    }
    if (moved) this.root?.querySelectorAll('g[data-from], g.cluster').forEach(e => e.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 260 }));
  }

  /** Applies the step to what is drawn: no layout, classes only. */
  look(look: Look): void {
    for (const [id, g] of this.items) {
      const set = (name: string, on: boolean) => { if (g.classList.contains(name) !== on) g.classList.toggle(name, on); };
      set('todo', look.todo.has(id));
      set('now', look.now.has(id));
      set('removed', look.removed.has(id));
      set('added', look.added.has(id));
      set('solid', look.solid.has(id) && !look.todo.has(id));
      set('appear', look.appear.has(id));
      set('wait', look.wait.has(id));
      set('kept', look.kept.has(id) && !look.todo.has(id) && !look.wait.has(id));
      if (look.texts && id > 0) { const line = g.querySelector('.second'); if (line && !g.classList.contains('r-constant')) line.textContent = cut(look.texts.get(id) ?? 'not yet', 26); }
      set('quiet', look.quiet && !look.removed.has(id) && !look.added.has(id) && !look.now.has(id));
    }
    this.root?.querySelectorAll<SVGGElement>('g[data-from]').forEach(e => {
      const from = Number(e.dataset.from), to = Number(e.dataset.to), either = (s: Set<number>) => s.has(from) || s.has(to);
      for (const [name, on] of [['todo', either(look.todo)], ['removed', either(look.removed)], ['added', either(look.added) && !either(look.removed)]] as const) for (const child of e.children) child.classList.toggle(name, on);
    });
  }

  /** Rings the nodes that something else points at. */
  light(ids: Iterable<number>): void {
    for (const g of this.litNow) g.classList.remove('lit');
    this.litNow.clear();
    for (const id of ids) { const g = this.items.get(id); if (g) { g.classList.add('lit'); this.litNow.add(g); } }
  }

  has(id: number): boolean { return this.items.has(id); }
  ids(): number[] { return [...this.items.keys()]; }

  // -- keys: Enter goes in, arrows to the nearest node that way, Escape out

  private key(e: KeyboardEvent): void {
    const nodes = [...(this.root?.querySelectorAll<SVGGElement>('[role=button][data-at]') ?? [])];
    const here = nodes.find(g => g === document.activeElement);
    if (!here) {
      if (e.key !== 'Enter' || e.target !== this.el) return;
      (nodes.find(g => g.classList.contains('now')) ?? nodes[0])?.focus({ preventScroll: true });
    } else if (e.key === 'Escape') this.el.focus();
    else {
      const way = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[e.key];
      if (!way) return;
      const at = (g: SVGGElement) => (g.dataset.at ?? '0,0').split(',').map(Number);
      const [x, y] = at(here);
      let best: SVGGElement | null = null, least = Infinity;
      for (const g of nodes) {
        const [a, b] = at(g), along = (a - x) * way[0] + (b - y) * way[1], across = Math.abs((a - x) * way[1]) + Math.abs((b - y) * way[0]);
        if (g !== here && along > 4 && along + 2.5 * across < least) { best = g; least = along + 2.5 * across; }
      }
      if (best) { best.focus({ preventScroll: true }); const [a, b] = at(best); this.reach(a, b); }
    }
    e.preventDefault();
    e.stopPropagation();
  }
}
