/** The list of steps beside the graph, with its filter. It is built once for a stage and a filter; a step only moves the mark. */
import { equation, plainText } from './equation';
import { button, field, h } from './elements';
import { filtered } from './search';
import { Token } from './snapshot';
import { Item, Story } from './story';

const WINDOW = 400;

export class StepList {
  readonly el = h('div', 'my-steps');
  readonly filter: HTMLInputElement;
  matches: number[] = [];
  private list = h('ul', 'my-list');
  private count = h('span', 'my-count');
  private rows = new Map<number, HTMLElement>();
  private query = '';
  private showPasses = false;
  private from = 0;

  constructor(private story: Story, private go: (step: number) => void, leave: () => void, private changed: () => void) {
    this.filter = field(story.isRewriting ? 'Filter by rule, function' : 'Filter steps', 'filter steps', 'my-filter', text => { this.query = text; this.rebuild(0); this.changed(); }, back => this.next(back), leave);
    this.el.append(h('div', 'my-filterbar', undefined, this.filter, this.count), this.list);
    this.rebuild(0);
  }

  get isFiltered(): boolean { return this.query.trim() !== ''; }

  /** The next (or previous) step that the filter lets through, from a step. */
  beside(step: number, back: boolean): number {
    const before = this.matches.filter(i => i + 1 < step), after = this.matches.filter(i => i + 1 > step);
    return back ? (before.length ? before[before.length - 1] + 1 : step) : after.length ? after[0] + 1 : step;
  }
  now = 0;
  private next(back: boolean): void { this.go(this.beside(this.now, back)); }

  private rebuild(from: number): void {
    this.from = from;
    this.matches = filtered(this.story.items, this.query);
    this.list.replaceChildren();
    this.rows.clear();
    const shown = this.matches.filter(i => this.showPasses || !this.story.items[i].isPass), sizes = new Map<string, number>();
    this.count.textContent = this.isFiltered ? `${this.matches.length} of ${this.story.items.length}` : '';
    if (this.story.isRewriting) for (const i of shown) sizes.set(this.story.items[i].group, (sizes.get(this.story.items[i].group) ?? 0) + 1);
    let group = '';
    if (from > 0) this.list.append(this.more(`${from} earlier`, Math.max(0, from - WINDOW)));
    for (const i of shown.slice(from, from + WINDOW)) {
      const item = this.story.items[i];
      if (item.group && item.group !== group) { group = item.group; this.list.append(head(h('h4', '', group, h('span', '', item.note && item.note !== group ? item.note : '')))); }
      const row = this.row(item, i);
      this.rows.set(i, row);
      this.list.append(row);
    }
    const left = shown.length - from - WINDOW;
    if (left > 0) this.list.append(this.more(`${left} more`, from + WINDOW));
    const nothing = this.matches.length - shown.length;
    if (nothing) {
      const line = h('h4', '', `${nothing} pass${nothing === 1 ? '' : 'es'} changed nothing`);
      line.append(button('Show', 'show the passes that changed nothing', () => { this.showPasses = true; this.rebuild(this.from); this.mark(this.now); }, 'my-link'));
      this.list.append(head(line));
    }
    if (!shown.length) this.list.append(h('li', 'my-none', 'No step matches.'));
    this.mark(this.now);
  }

  private more(text: string, from: number): HTMLElement { return head(h('h4', '', undefined, button(text, `show ${text} steps`, () => this.rebuild(from), 'my-link'))); }

  private row(item: Item, i: number): HTMLElement {
    const li = h('li', '', undefined, h('i', '', String(i + 1)));
    if (item.equation.length && !item.after.length) for (const part of parts(item.equation)) li.append(h('div', '', undefined, equation(part, () => '', false)));
    else li.append(document.createTextNode(item.title));
    if (item.removed || item.added) li.append(h('span', 'my-delta', undefined, h('span', 'my-minus', `−${item.removed} `), h('span', 'my-plus', `+${item.added}`)));
    li.title = item.equation.length && !item.after.length ? plainText(item.equation) : item.reason;
    li.addEventListener('click', () => this.go(i + 1));
    return li;
  }

  /** Moves the mark to a step. */
  mark(step: number): void {
    this.now = step;
    const shown = this.matches.filter(i => this.showPasses || !this.story.items[i].isPass), place = shown.indexOf(step - 1);
    if (place >= 0 && (place < this.from || place >= this.from + WINDOW)) { this.rebuild(Math.max(0, place - 100)); return; }
    let here: HTMLElement | null = null;
    for (const [i, row] of this.rows) {
      row.toggleAttribute('data-now', i + 1 === step);
      row.toggleAttribute('data-todo', i + 1 > step);
      if (i + 1 === step) { row.setAttribute('aria-current', 'step'); here = row; } else row.removeAttribute('aria-current');
    }
    const pane = this.el.parentElement;
    if (!here || !pane) return;
    const top = here.offsetTop, bottom = top + here.offsetHeight;
    if (top < pane.scrollTop + 70 || bottom > pane.scrollTop + pane.clientHeight - 10) pane.scrollTop = top - pane.clientHeight / 2;
  }
}

/** A heading in the list: lists hold items only. */
const head = (h4: HTMLElement): HTMLElement => h('li', 'my-head', undefined, h4);

/** An event's equations, one for each addition. */
export function parts(tokens: Token[]): Token[][] {
  const out: Token[][] = [[]];
  for (const t of tokens) if (t.kind === 'text' && !t.text.trim()) out.push([]); else out[out.length - 1].push(t);
  return out.filter(p => p.length);
}
