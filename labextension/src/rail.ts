/** The top row: the stages with their size and time, the search, and the tools. Built once, so that the focus stays where it is. */
import { field, h, icon } from './elements';
import { countNodes } from './replay';
import { Snapshot } from './snapshot';

export interface RailHooks { stage(i: number): void; search(text: string): void; next(back: boolean): void; leave(): void; tools: [icon: string, label: string, action: () => void][] }

export class Rail {
  readonly el = h('div', 'my-rail');
  readonly searchField: HTMLInputElement;
  private hits = h('span', 'my-hits');
  private buttons: HTMLButtonElement[] = [];
  private menu = h('select', 'my-menu');

  constructor(stages: Snapshot[], hooks: RailHooks) {
    const list = h('div', 'my-stages');
    list.setAttribute('role', 'tablist');
    list.setAttribute('aria-label', 'stages');
    stages.forEach((s, i) => {
      if (i) list.append(h('span', 'my-sep', '›'));
      const b = h('button', 'my-stage', undefined, h('b', '', s.stage), h('small', '', ...said(s)));
      b.type = 'button';
      b.setAttribute('role', 'tab');
      b.title = s.error ? `${s.error.code} ${s.error.message}` : `${s.stage} (${i + 1})`;
      b.dataset.stage = s.stage;
      if (s.error) b.dataset.error = '';
      b.addEventListener('click', () => hooks.stage(i));
      this.buttons.push(b);
      list.append(b);
      const o = h('option', '', `${s.stage} · ${measure(s)}`);
      o.value = String(i);
      this.menu.append(o);
    });
    this.menu.setAttribute('aria-label', 'stage');
    this.menu.addEventListener('change', () => hooks.stage(Number(this.menu.value)));
    this.searchField = field('Search  /', 'search nodes', 'my-search', hooks.search, hooks.next, hooks.leave);
    const tools = h('div', 'my-tools', undefined, h('div', 'my-searchbox', undefined, this.searchField, this.hits), ...hooks.tools.map(([i, label, action]) => icon(i, label, action)));
    this.el.append(list, this.menu, h('span', 'my-space'), tools);
  }

  select(stage: number): void {
    this.menu.value = String(stage);
    this.buttons.forEach((b, i) => { b.setAttribute('aria-selected', String(i === stage)); b.tabIndex = i === stage ? 0 : -1; });
    if (this.buttons.includes(document.activeElement as HTMLButtonElement)) this.buttons[stage]?.focus();
  }

  /** The result of another run. */
  refresh(i: number, s: Snapshot): void { const b = this.buttons[i], o = this.menu.options[i]; b?.querySelector('small')?.replaceChildren(...said(s)); if (o) o.textContent = `${s.stage} · ${measure(s)}`; }

  count(text: string): void { this.hits.textContent = text; }
}

const said = (s: Snapshot): [string, ...Node[]] => { const [size, ...rest] = measure(s).split(' · '); return [size, ...rest.map(t => h('span', 'my-time', ` · ${t}`))]; };

/** A stage in a few characters: its error, result, or size and time. */
export function measure(s: Snapshot): string {
  if (s.error) return s.error.code;
  if (s.stage === 'run') return s.result.length > 16 ? `${s.result.slice(0, 15)}…` : s.result;
  if (s.stage === 'code') return `${s.code[0]?.lines.length ?? 0} lines`;
  const n = countNodes(s.final);
  const time = s.time >= 0.05 ? ` · ${s.time < 10 ? s.time.toFixed(1) : Math.round(s.time)} ms` : '';
  return `${n} node${n === 1 ? '' : 's'}${time}`;
}
