/** The plot of f over one input, with the tangent at the point, and of its derivative below it on the same axis: the slope above is the height below. */
import { cut } from './dot';
import { Curve } from './live';
import { svg } from './svg';

const H = 100, LEFT = 46, RIGHT = 10, TOP = 16, FOOT = 4, AXIS = 16;

/** A number for an axis: at most four significant digits. */
export function short(v: number): string {
  const text = v === 0 ? '0' : Math.abs(v) < 1e-3 || Math.abs(v) >= 1e6 ? v.toExponential(1) : String(Number(v.toPrecision(4)));
  return text.replaceAll('-', '−');
}

/** The window of heights: all values, or, where a pole would flatten the rest, the middle of them. Zero is in it when it is near. */
export function heights(values: (number | null)[], point: number): [number, number] {
  const known = values.filter((v): v is number => v !== null).sort((a, b) => a - b);
  if (!known.length) return [point - 1, point + 1];
  const q = (p: number): number => known[Math.round(p * (known.length - 1))];
  let low = known[0], high = known[known.length - 1];
  const middle = q(0.9) - q(0.1);
  if (middle > 0 && high - low > 12 * middle) { low = Math.max(low, q(0.1) - middle); high = Math.min(high, q(0.9) + middle); }
  low = Math.min(low, point); high = Math.max(high, point);
  if (low > 0 && low < 0.35 * high) low = 0;
  if (high < 0 && high > 0.35 * low) high = 0;
  if (high === low) { const room = Math.max(1, Math.abs(high)); return [low - room, high + room]; }
  const room = (high - low) * 0.07;
  return [low === 0 ? 0 : low - room, high === 0 ? 0 : high + room]; // zero, when it is an end, is the frame's edge
}

interface Panel { values: (number | null)[]; point: number; slope: number | null; title: string; cls: string; top: number }

export class Plot {
  readonly el: SVGSVGElement;
  private range: [number, number] = [0, 1];
  private width = 300;
  private shown: [Curve, string] | null = null;

  /** `move` is told where on the axis the pointer is pressed or dragged. */
  constructor(move: (x: number) => void) {
    this.el = svg('svg', { class: 'my-plot', role: 'img' }) as SVGSVGElement;
    new ResizeObserver(() => this.fit()).observe(this.el);
    const at = (e: PointerEvent): void => {
      const box = this.el.getBoundingClientRect(), x = ((e.clientX - box.left) / box.width) * this.width, part = Math.max(0, Math.min(1, (x - LEFT) / (this.width - LEFT - RIGHT)));
      move(this.range[0] + part * (this.range[1] - this.range[0]));
    };
    this.el.addEventListener('pointerdown', e => { this.el.setPointerCapture(e.pointerId); at(e); });
    this.el.addEventListener('pointermove', e => { if (e.buttons & 1) at(e); });
  }

  /** Drawn for the width that it has, so that its letters keep their size. */
  private fit(): void {
    const unit = parseFloat(getComputedStyle(this.el.parentElement ?? this.el).getPropertyValue('--u')) || 1, width = Math.round(Math.max(200, this.el.clientWidth / unit));
    if (width === this.width || !this.el.clientWidth) return;
    this.width = width;
    if (this.shown) this.draw(...this.shown);
  }

  draw(c: Curve, name: string): void {
    this.shown = [c, name];
    this.el.setAttribute('viewBox', `0 0 ${this.width} ${2 * H + AXIS}`);
    this.range = c.range;
    const derivative = `d/d${name}`;
    this.el.replaceChildren();
    this.el.setAttribute('aria-label', `${c.text} for ${name} from ${short(c.range[0])} to ${short(c.range[1])}. At ${name} = ${short(c.at[0])} its value is ${short(c.at[1])} and its derivative ${short(c.at[2])}.`);
    this.panel({ values: c.f, point: c.at[1], slope: c.at[2], title: c.text, cls: 'f', top: 0 }, c);
    this.panel({ values: c.d, point: c.at[2], slope: null, title: `${derivative} ${c.text}`, cls: 'd', top: H }, c);
    const x = this.x(c.at[0]), y = 2 * H + 11;
    const ends: [number, string, string][] = [[LEFT, 'start', short(c.range[0])], [this.width - RIGHT, 'end', short(c.range[1])]];
    for (const [place, anchor, text] of ends) if (Math.abs(place - x) > 52) this.el.append(this.text(place, y, text, 'axis', anchor));
    this.el.append(this.text(Math.max(LEFT + 24, Math.min(this.width - RIGHT - 24, x)), y, `${name} = ${short(c.at[0])}`, 'now', 'middle'));
  }

  private x(v: number): number { return LEFT + ((v - this.range[0]) / (this.range[1] - this.range[0])) * (this.width - LEFT - RIGHT); }

  private text(x: number, y: number, text: string, cls: string, anchor: string): SVGElement {
    const t = svg('text', { x, y, class: cls, 'text-anchor': anchor });
    t.textContent = text;
    return t;
  }

  private panel(p: Panel, c: Curve): void {
    const [low, high] = heights(p.values, p.point), top = p.top + TOP, bottom = p.top + H - FOOT;
    const y = (v: number): number => bottom - ((v - low) / (high - low)) * (bottom - top), clip = (v: number): number => Math.max(top - 400, Math.min(bottom + 400, y(v)));
    const inner = svg('svg', { x: LEFT, y: top, width: this.width - LEFT - RIGHT, height: bottom - top, viewBox: `${LEFT} ${top} ${this.width - LEFT - RIGHT} ${bottom - top}`, overflow: 'hidden' });
    const frame = svg('rect', { x: LEFT, y: top, width: this.width - LEFT - RIGHT, height: bottom - top, class: 'frame' });
    if (low < 0 && high > 0) inner.append(svg('path', { class: 'zero', d: `M${LEFT},${y(0)} H${this.width - RIGHT}` }));
    const place = this.x(c.at[0]);
    inner.append(svg('path', { class: 'here', d: `M${place},${top} V${bottom}` }));
    let d = '', pen = false;
    p.values.forEach((v, i) => { if (v === null) { pen = false; return; } d += `${pen ? 'L' : 'M'}${this.x(c.x[i]).toFixed(1)},${clip(v).toFixed(1)}`; pen = true; });
    if (d) inner.append(svg('path', { class: `curve ${p.cls}`, d }));
    if (p.slope !== null) inner.append(svg('path', { class: 'tangent', d: this.tangent(place, y(p.point), (-p.slope * (bottom - top) * (c.range[1] - c.range[0])) / ((high - low) * (this.width - LEFT - RIGHT))) }));
    this.el.append(frame, inner, svg('circle', { class: `point ${p.cls}`, cx: place, cy: y(p.point), r: 4.5 }), this.text(LEFT, p.top + 11, cut(p.title, Math.floor((this.width - LEFT - RIGHT) / 6.7 - short(p.point).length - 4)), `title ${p.cls}`, 'start'),
      this.text(this.width - RIGHT, p.top + 11, `= ${short(p.point)}`, 'now', 'end'), this.text(LEFT - 5, top + 8, short(high), 'axis', 'end'), this.text(LEFT - 5, bottom, short(low), 'axis', 'end'));
  }

  /** A piece of the tangent, of one length on the screen whatever its slope. */
  private tangent(x: number, y: number, slope: number): string {
    const half = 46 / Math.hypot(1, slope), dx = half, dy = half * slope;
    return `M${(x - dx).toFixed(1)},${(y - dy).toFixed(1)} L${(x + dx).toFixed(1)},${(y + dy).toFixed(1)}`;
  }
}
