/** SVG elements; the marks ▶ ◀ ∇ ▷ as paths (fonts lack or resize them). */
const NS = 'http://www.w3.org/2000/svg';
export type Attributes = Record<string, string | number>;

export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes = {}, text?: string): SVGElementTagNameMap[K] {
  const e = document.createElementNS(NS, tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, String(v));
  if (text !== undefined) e.textContent = text;
  return e;
}

const MARKS: Record<string, string> = {
  '▶': 'M0,-4 L9,0.5 L0,5 Z', '◀': 'M9,-4 L0,0.5 L9,5 Z', '∇': 'M0,-4 L10,-4 L5,5 Z M2.6,-2.4 L7.4,-2.4 L5,2 Z', '▷': 'M0,-4 L9,0.5 L0,5 Z M1.5,-1.6 L5.6,0.5 L1.5,2.6 Z'
};
export const MARK_WIDTH = 14;

/** A mark with its middle at `y`. */
export function mark(symbol: string, x: number, y: number): SVGElement {
  return svg('path', { class: 'mark', d: MARKS[symbol] ?? MARKS['▶'], transform: `translate(${x},${y})`, 'fill-rule': 'evenodd' });
}

/** Leading marks of a name, and the name without them. */
export function split(name: string): [string[], string] {
  const found = /^[▶◀∇▷]+/.exec(name)?.[0] ?? '';
  return [[...found], name.slice(found.length)];
}

/** Text whose leading marks are drawn; `y` is its base line. Returns the pieces and where the text begins. */
export function marked(name: string, x: number, y: number, attributes: Attributes): [SVGElement[], SVGTextElement] {
  const [marks, rest] = split(name);
  const text = svg('text', { ...attributes, x: x + marks.length * MARK_WIDTH, y }, rest);
  return [marks.map((m, i) => mark(m, x + i * MARK_WIDTH, y - 5)), text];
}
