/** Listings: the program's source, code and text. Pointing at a line lights its nodes, pointing at a node marks its range. */
import { h } from './elements';
import { Span } from './snapshot';

export interface LineHooks { light(line: number, column: number): void; nodes(ids: number[]): void; origin(line: number): void; leave(): void }
const MOST = 4000;

const numbered = (n: number): HTMLElement => h('span', 'my-ln', String(n));

export function sourceListing(text: string, hooks: LineHooks): HTMLElement {
  const pre = h('div', 'my-code my-source');
  text.split('\n').forEach((line, i) => {
    const cell = h('span', '', line), row = h('div', '', undefined, numbered(i + 1), cell);
    row.dataset.line = String(i + 1);
    row.addEventListener('pointermove', e => {
      const box = cell.getBoundingClientRect();
      hooks.light(i + 1, line.length ? Math.floor(((e.clientX - box.left) / Math.max(1, box.width)) * line.length) : 0);
    });
    row.addEventListener('pointerleave', () => hooks.leave());
    pre.append(row);
  });
  return pre;
}

export function codeListing(lines: string[], origin: number[], nodes: number[][], hooks: LineHooks): HTMLElement {
  const pre = h('div', 'my-code');
  lines.slice(0, MOST).forEach((line, i) => {
    const row = h('div', '', undefined, numbered(i + 1), document.createTextNode(line));
    if (origin[i]) { row.dataset.origin = String(origin[i]); row.addEventListener('pointerenter', () => hooks.origin(origin[i])); }
    if (nodes[i]?.length) row.addEventListener('pointerenter', () => hooks.nodes(nodes[i]));
    row.addEventListener('pointerleave', () => hooks.leave());
    pre.append(row);
  });
  if (lines.length > MOST) pre.append(h('div', 'my-more', `… ${lines.length - MOST} more lines`));
  return pre;
}

/** Marks ranges in a source listing. */
export function markRanges(pre: Element, spans: Span[]): void {
  pre.querySelectorAll<HTMLElement>('div[data-line]').forEach(row => {
    const line = Number(row.dataset.line), span = spans.find(s => line >= s[0] && line <= s[2]);
    row.toggleAttribute('data-lit', Boolean(span));
    const cell = row.lastElementChild as HTMLElement, text = cell.textContent ?? '';
    if (span && span[0] === span[2]) cell.replaceChildren(document.createTextNode(text.slice(0, span[1])), h('mark', '', text.slice(span[1], span[3])), document.createTextNode(text.slice(span[3])));
    else if (cell.children.length) cell.replaceChildren(document.createTextNode(text));
  });
}

/** Marks the lines of a listing that came from the lines of these ranges, and brings the first into view. */
export function markOrigins(page: HTMLElement, spans: Span[]): void {
  let first: HTMLElement | null = null;
  page.querySelectorAll<HTMLElement>('div[data-origin]').forEach(row => {
    const line = Number(row.dataset.origin), isLit = spans.some(s => line >= s[0] && line <= s[2]);
    row.toggleAttribute('data-lit', isLit);
    if (isLit) first ??= row;
  });
  const row = first as HTMLElement | null;
  if (row && (row.offsetTop < page.scrollTop || row.offsetTop + row.offsetHeight > page.scrollTop + page.clientHeight)) page.scrollTop = Math.max(0, row.offsetTop - page.clientHeight / 2);
}
