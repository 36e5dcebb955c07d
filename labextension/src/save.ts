/** The picture of the current step as a file: SVG with its looks written in, PNG at twice the size, DOT with labels. Nothing leaves the browser. */
import { button, h } from './elements';
import { Direction, Drawing, lines, returnId } from './dot';
import { pdfOf } from './pdf';
import { Model } from './replay';
import { svg } from './svg';

const KEPT = ['fill', 'fill-opacity', 'fill-rule', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray', 'stroke-linecap', 'opacity', 'font-family', 'font-size', 'font-weight', 'text-anchor', 'text-decoration-line'];

/** The drawing on its own: styles are written on each element, so that any program shows it as it was. */
export function svgText(root: SVGSVGElement, width: number, height: number, background: string): string {
  const copy = plain(root), w = Math.ceil(width), t = Math.ceil(height);
  for (const [k, v] of [['xmlns', 'http://www.w3.org/2000/svg'], ['width', w], ['height', t], ['viewBox', `0 0 ${w} ${t}`]] as const) copy.setAttribute(k, String(v));
  copy.prepend(svg('rect', { width: w, height: t, fill: background }));
  return new XMLSerializer().serializeToString(copy);
}

/** A copy with its looks written in. */
export function plain(root: SVGSVGElement): SVGSVGElement {
  const copy = root.cloneNode(true) as SVGSVGElement;
  const from = [root, ...root.querySelectorAll('*')], to = [copy, ...copy.querySelectorAll('*')];
  from.forEach((e, i) => {
    const look = getComputedStyle(e), target = to[i] as SVGElement;
    target.removeAttribute('style');
    for (const name of KEPT) { const v = look.getPropertyValue(name); if (v) target.setAttribute(name === 'text-decoration-line' ? 'text-decoration' : name, v); }
    for (const name of ['class', 'tabindex', 'role', 'aria-label', 'data-at', 'data-id', 'data-from', 'data-to']) target.removeAttribute(name);
  });
  copy.querySelectorAll('[d="M-4,0 H4"]').forEach(e => e.parentElement?.remove()); // the signs that close functions are controls, not picture
  return copy;
}

const quote = (s: string): string => `"${s.replace(/\\/g, '\\\\').replace(/"/g, '\\"')}"`;
const COLORS: Record<string, [string, string]> = { primal: ['#1f5fc9', '#edf3fd'], forward: ['#066b62', '#e6f4f2'], backpropagator: ['#a63c00', '#fdf0e7'], sensitivity: ['#b02a80', '#fcebf5'], constant: ['#57606a', '#f6f7f8'], free: ['#6f6100', '#fbf7df'], control: ['#30363d', '#eef0f2'] };

/** The graph as DOT for other tools: labels in words, colors by role. `texts` are the values of a run, when there are any. */
export function dotText(model: Model, drawing: Drawing, texts: Map<number, string> | null, title: string, direction: Direction = 'TB'): string {
  const out = [`digraph ${quote(title)} {`, `rankdir=${direction}; node [shape=box, style="rounded,filled", fontname="Courier", fontsize=11]; edge [color="#7a8591", arrowsize=0.6];`];
  const name = (id: number): string => (id < -1e6 ? `r${returnId(id)}` : id < 0 ? `g${-id}` : `n${id}`);
  const seen = new Set<number>();
  const write = (id: number): void => {
    seen.add(id);
    const n = model.nodes.get(id);
    if (!n) { out.push(id < -1e6 ? `${name(id)} [label="return", style=filled];` : `${name(id)} [label=${quote(`${model.graphs.get(-id)?.name ?? ''} (${drawing.closed.get(-id) ?? 0})`)}, peripheries=2];`); return; }
    const [first, op, second, note] = lines(texts && n.kind !== 'constant' ? { ...n, value: texts.get(id) ?? 'not yet' } : n, 'value');
    const [ink, fill] = COLORS[n.role] ?? COLORS.primal;
    const label = [[first, op].filter(Boolean).join('  '), [second, note].filter(Boolean).join('  ')].filter(Boolean).map(s => quote(s).slice(1, -1)).join('\\n');
    out.push(`${name(id)} [label="${label}", color="${ink}", fontcolor="${ink}", fillcolor="${fill}"${n.kind === 'constant' ? ', shape=note' : n.role === 'control' ? ', shape=hexagon' : n.role === 'backpropagator' ? ', shape=house, orientation=90' : ''}];`);
  };
  for (const [g, view] of drawing.clusters) {
    out.push(`subgraph cluster_${g} { label=${quote(view.name)}; labeljust=l; style=rounded;`);
    for (const id of drawing.boxes.keys()) if (id === returnId(g) || model.nodes.get(id)?.graph === g) write(id);
    out.push('}');
  }
  for (const id of drawing.boxes.keys()) if (!seen.has(id)) write(id);
  for (const e of drawing.edges) out.push(`${name(e.from)} -> ${name(e.to)}${e.kind === 'keeps' || e.kind === 'free' ? ' [style=dashed]' : e.kind === 'call' ? ' [style=bold]' : ''};`);
  out.push('}');
  return out.join('\n');
}

function download(blob: Blob, name: string): void {
  const a = h('a'), url = URL.createObjectURL(blob);
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function raster(text: string, width: number, height: number, type: string): Promise<[Blob, number, number]> {
  return new Promise((resolve, reject) => {
    const image = new Image(), scale = Math.min(2, 8000 / Math.max(width, height));
    image.onload = () => {
      const canvas = h('canvas');
      canvas.width = Math.ceil(width * scale);
      canvas.height = Math.ceil(height * scale);
      canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(b => (b ? resolve([b, canvas.width, canvas.height]) : reject(new Error('the picture is too large'))), type, 0.95);
    };
    image.onerror = () => reject(new Error('the browser could not draw the picture'));
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  });
}

export interface Shown { root: SVGSVGElement | null; width: number; height: number; background: string; dot: () => string; name: string }

/** The menu of the save button. */
export function saveMenu(shown: () => Shown, close: () => void, failed: (text: string) => void, movie: (() => string) | null): HTMLElement {
  const menu = h('div', 'my-savemenu');
  menu.setAttribute('role', 'menu');
  menu.setAttribute('aria-label', 'save the picture of this step');
  const item = (text: string, what: string, action: (s: Shown) => void | Promise<void>): HTMLElement => {
    const b = button(text, what, () => { void (async () => { try { await action(shown()); } catch (problem) { failed(`Not saved: ${String(problem instanceof Error ? problem.message : problem)}`); } close(); })(); }, 'my-tab');
    b.setAttribute('role', 'menuitem');
    return b;
  };
  const picture = (s: Shown): string => { if (!s.root) throw new Error('no picture'); return svgText(s.root, s.width, s.height, s.background); };
  menu.append(item('SVG', 'save as SVG', s => download(new Blob([picture(s)], { type: 'image/svg+xml' }), `${s.name}.svg`)),
    item('PNG', 'save as PNG', async s => download((await raster(picture(s), s.width, s.height, 'image/png'))[0], `${s.name}.png`)),
    item('PDF', 'save as PDF, a page with the picture', async s => { const [jpeg, w, t] = await raster(picture(s), s.width, s.height, 'image/jpeg'); download(new Blob([pdfOf(new Uint8Array(await jpeg.arrayBuffer()), [w, t], s.width, s.height)], { type: 'application/pdf' }), `${s.name}.pdf`); }),
    item('DOT', 'save as DOT', s => download(new Blob([s.dot()], { type: 'text/vnd.graphviz' }), `${s.name}.dot`)));
  if (movie) menu.append(item('Animation', 'save all steps as an SVG that plays by itself', s => download(new Blob([movie()], { type: 'image/svg+xml' }), `${s.name.replace(/-step-.*/, '')}-animation.svg`)));
  return menu;
}
