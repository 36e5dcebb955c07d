/** The map: a dot for each node, a block for each function; the blue frame is what is in view, amber what was found. Drag it to move. */
import { h } from './elements';
import { Drawing, returnId } from './dot';
import { GraphPane } from './graph';
import { Layout } from './layout';
import { Model } from './replay';
import { svg } from './svg';

const WIDTH = 150, HEIGHT = 120;

export class Minimap {
  readonly el = h('div', 'my-map');
  /** 'auto' shows the map when the drawing does not fit. */
  mode: 'auto' | 'on' | 'off' = 'auto';
  private frame = svg('rect', { class: 'view' });
  private found = svg('path', { class: 'found' });
  private scale = 1;
  private has = false;

  constructor(private pane: GraphPane) {
    this.el.hidden = true;
    this.el.title = 'Map. Drag to move';
    const go = (e: PointerEvent) => {
      e.stopPropagation();
      if (!(e.buttons & 1)) return;
      const b = this.el.getBoundingClientRect();
      this.pane.center((e.clientX - b.left) / this.scale, (e.clientY - b.top) / this.scale);
    };
    this.el.addEventListener('pointerdown', go);
    this.el.addEventListener('pointermove', go);
  }

  draw(drawing: Drawing | null, model?: Model, layout?: Layout): void {
    this.has = drawing !== null;
    this.el.replaceChildren();
    if (!drawing || !model || !layout) { this.el.hidden = true; return; }
    const k = (this.scale = Math.min(WIDTH / layout.width, HEIGHT / layout.height));
    const root = svg('svg', { width: Math.max(24, layout.width * k), height: Math.max(24, layout.height * k), viewBox: `0 0 ${layout.width} ${layout.height}`, 'aria-hidden': 'true' });
    const dots = new Map<string, string>();
    for (const [id, b] of drawing.boxes) {
      const at = layout.nodes.get(id < -1e6 ? `n_r${returnId(id)}` : id < 0 ? `n_${-id}_c` : `n_${id}`);
      if (!at) continue;
      const kind = model.graphs.get(-id)?.kind, role = model.nodes.get(id)?.role ?? (kind === 'forward' || kind === 'backpropagator' ? kind : id < -1e6 ? 'control' : 'primal');
      dots.set(role, `${dots.get(role) ?? ''}M${at.x - b.w / 2},${at.y - b.h / 2}h${b.w}v${b.h}h${-b.w}z`);
    }
    for (const [id, g] of drawing.clusters) {
      const b = layout.clusters.get(id);
      if (b) root.append(svg('rect', { class: `block r-${g.kind === 'forward' ? 'forward' : g.kind === 'backpropagator' ? 'backpropagator' : 'primal'}`, x: b[0], y: b[1], width: b[2], height: b[3] }));
    }
    for (const [role, d] of dots) root.append(svg('path', { class: `dot r-${role}`, d }));
    root.append(this.found, this.frame);
    this.found.setAttribute('d', '');
    root.classList.add('my-svg');
    this.el.append(root);
    this.follow();
    this.corner(drawing, layout);
  }

  /** The lower corner where it covers fewer nodes of what is in view. */
  private corner(drawing: Drawing, layout: Layout): void {
    const s = this.pane.sight(), k = s.w / Math.max(1, this.pane.el.clientWidth), w = (WIDTH + 20) * k, t = (HEIGHT + 20) * k;
    const covered = (left: number): number => {
      let n = 0;
      for (const id of drawing.boxes.keys()) { const at = layout.nodes.get(`n_${id}`); if (at && at.x > left && at.x < left + w && at.y > s.y + s.h - t && at.y < s.y + s.h) n++; }
      return n;
    };
    this.el.classList.toggle('my-mapleft', covered(s.x) < covered(s.x + s.w - w));
  }

  /** Marks what a search found. */
  mark(ids: Iterable<number>): void {
    let d = '';
    const r = 5 / this.scale;
    for (const id of ids) { const at = this.pane.where(id); if (at) d += `M${at[0] - r},${at[1]}a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0z`; }
    this.found.setAttribute('d', d);
    this.found.style.strokeWidth = `${2 / this.scale}px`;
  }

  /** Puts the frame around what is in view. */
  follow(): void {
    const s = this.pane.sight(), fits = s.x > -40 && s.x <= 0 + s.width * 0.02 && s.x + s.w >= s.width * 0.98 && s.y <= s.height * 0.02 && s.y + s.h >= s.height * 0.98;
    this.el.hidden = !this.has || this.mode === 'off' || (this.mode === 'auto' && (fits || (s.w >= s.width && s.h >= s.height)));
    if (this.el.hidden) return;
    const x = Math.max(0, s.x), y = Math.max(0, s.y);
    for (const [name, v] of [['x', x], ['y', y], ['width', Math.max(0, Math.min(s.width, s.x + s.w) - x)], ['height', Math.max(0, Math.min(s.height, s.y + s.h) - y)]] as const) this.frame.setAttribute(name, String(v));
    this.frame.style.strokeWidth = `${2 / this.scale}px`;
  }

  toggle(): void { this.mode = this.el.hidden ? 'on' : 'off'; this.follow(); }
}
