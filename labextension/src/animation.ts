/** The steps of a stage as one SVG that plays by itself, also inside an <img>: one group for each step, shown for its share of the time (SMIL, which
 * needs no script). Programs that do not animate show the last step. */
import { svg } from './svg';

export interface Frame { picture: SVGElement; width: number; height: number; title: string; equation: string }

const SECONDS = 1.1, LAST = 3, CAPTION = 58, MARGIN = 12;

export function animated(frames: Frame[], colors: { background: string; text: string; muted: string }): string {
  const width = Math.ceil(Math.max(480, ...frames.map(f => f.width))), height = Math.ceil(Math.max(...frames.map(f => f.height))) + CAPTION, parts = frames.length - 1 + LAST;
  const root = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img' });
  root.append(svg('title', {}, `${frames.length} steps`), svg('rect', { width, height, fill: colors.background }));
  frames.forEach((f, k) => {
    const isLast = k === frames.length - 1, g = svg('g', { visibility: isLast ? 'visible' : 'hidden' });
    const values = k === 0 ? ['visible', 'hidden'] : isLast ? ['hidden', 'visible'] : ['hidden', 'visible', 'hidden'], times = k === 0 ? [0, 1 / parts] : isLast ? [0, k / parts] : [0, k / parts, (k + 1) / parts];
    if (frames.length > 1) g.append(svg('animate', { attributeName: 'visibility', calcMode: 'discrete', dur: `${(parts * SECONDS).toFixed(1)}s`, repeatCount: 'indefinite', values: values.join(';'), keyTimes: times.map(t => t.toFixed(5)).join(';') }));
    const move = svg('g', { transform: `translate(${Math.round((width - f.width) / 2)},${CAPTION})` });
    for (const child of [...f.picture.childNodes]) move.append(child);
    g.append(svg('text', { x: MARGIN, y: 22, 'font-family': 'system-ui, sans-serif', 'font-size': 14, 'font-weight': 600, fill: colors.text }, f.title),
      svg('text', { x: MARGIN, y: 45, 'font-family': 'Menlo, Consolas, "DejaVu Sans Mono", monospace', 'font-size': 14, fill: colors.muted }, f.equation), move);
    root.append(g);
  });
  return new XMLSerializer().serializeToString(root);
}
