/** The band over the graph: the step in one sentence, its equation with every number under its symbol, and the iterations of a loop. */
import { equation, plainText, ValueOf } from './equation';
import { button, h } from './elements';
import { Token } from './snapshot';
import { parts } from './steps';
import { Change, Loop, Mode, Scene, Story } from './story';

export interface BandState { story: Story; scene: Scene; step: number; mode: Mode; asGrid: boolean; hasGrid: boolean; compared: boolean }
export interface BandHooks { mode(m: Mode): void; grid(on: boolean): void; go(step: number): void }

export class Band {
  readonly el = h('div', 'my-band');
  constructor(private hooks: BandHooks) { this.el.setAttribute('aria-live', 'polite'); }

  draw(s: BandState): void {
    this.el.replaceChildren();
    const { story, scene } = s, n = story.items.length;
    this.el.hidden = n === 0;
    if (!n) return;
    const say = h('div', 'my-say'), item = scene.item;
    if (!item) say.append(h('b', '', 'Before the first step.'), h('span', '', `${n} step${n === 1 ? '' : 's'}. Press space to play.`));
    else {
      say.append(h('b', '', item.title));
      if (item.reason) say.append(h('span', '', item.reason));
      if (item.place) say.append(h('code', '', item.place));
    }
    say.append(this.choices(s));
    this.el.append(say);
    const equations = h('div', 'my-eq');
    if (item?.equation.length && item.after.length) equations.append(rule(item.equation, item.after));
    else if (item?.equation.length) for (const part of parts(item.equation)) equations.append(equation(part, scene.values as ValueOf, true));
    if (equations.children.length) this.el.append(equations);
    if (equations.scrollWidth > equations.clientWidth + 1) { equations.tabIndex = 0; equations.setAttribute('role', 'group'); equations.setAttribute('aria-label', 'equation'); } // the keyboard can scroll it
    if (scene.difference.length) this.el.append(difference(scene.difference));
    if (scene.loop) this.el.append(this.iterations(scene.loop, story, s.step));
    this.el.classList.toggle('my-withloop', scene.loop !== null);
  }

  private choices(s: BandState): HTMLElement {
    const row = h('div', 'my-choices');
    if (s.story.isRewriting && s.scene.item) {
      for (const mode of ['before', 'difference', 'after'] as const) {
        const b = button(mode[0].toUpperCase() + mode.slice(1), `${mode} (D)`, () => this.hooks.mode(mode), 'my-choice');
        b.dataset.key = `mode-${mode}`;
        b.setAttribute('aria-pressed', String(s.mode === mode));
        row.append(b);
      }
    }
    if (s.hasGrid) for (const on of [true, false]) {
      const b = button(on ? 'Grid' : 'Whole graph', on ? 'one row, one variable (G)' : 'all functions as a graph (G)', () => this.hooks.grid(on), 'my-choice');
      b.dataset.key = `grid-${on}`;
      b.setAttribute('aria-pressed', String(s.asGrid === on));
      row.append(b);
    }
    return row;
  }

  /** One column an iteration: the value above, the sensitivity below; what has not been computed says so. A click goes there. */
  private iterations(loop: Loop, story: Story, step: number): HTMLElement {
    const table = h('div', 'my-loop'), most = 9, half = Math.floor(most / 2), n = loop.columns.length;
    const from = Math.max(0, Math.min(loop.now - half, n - most)), to = Math.min(n, from + most);
    table.setAttribute('role', 'group');
    table.setAttribute('aria-label', `${loop.variable} over the ${n} ${loop.word}s of ${loop.name}`);
    const heads = h('div', 'my-loophead', undefined, h('span', '', loop.word), h('span', 'my-role-forward', `▶ ${loop.variable}`), h('span', 'my-role-sensitivity', loop.hasSensitivity ? `∇ ${loop.variable}` : ''));
    const rail = h('div', 'my-loopcols');
    if (from > 0) rail.append(h('span', 'my-loopmore', `… ${from}`));
    for (let k = from; k < to; k++) {
      const c = loop.columns[k], b = button('', '', () => this.hooks.go(story.stepOf(loop, k, step)), 'my-loopcol');
      b.dataset.key = `iteration-${k}`;
      b.append(h('span', 'my-loopno', String(k + 1)), h('span', c.value ? 'my-cell' : 'my-cell my-notyet', c.value || 'not yet'));
      if (loop.hasSensitivity) b.append(h('span', c.sensitivity ? 'my-cell my-sens' : 'my-cell my-notyet', c.sensitivity || 'not yet')); // an integer has none
      b.setAttribute('aria-label', `${loop.word} ${k + 1}: ${loop.variable} ${c.value || 'not yet'}${loop.hasSensitivity ? `, sensitivity ${c.sensitivity || 'not yet'}` : ''}`);
      if (k === loop.now) b.setAttribute('aria-current', 'true');
      rail.append(b);
    }
    if (to < n) rail.append(h('span', 'my-loopmore', `${n - to} …`));
    table.append(heads, rail);
    return table;
  }
}

/** A rewrite rule: what it looks for, and what takes its place. */
function rule(before: Token[], after: Token[]): HTMLElement {
  const none = (): string => '', box = h('div', 'my-rule', undefined, equation(before, none, false), h('span', '', '→'), equation(after, none, false));
  box.setAttribute('role', 'img');
  box.setAttribute('aria-label', `the rule: ${plainText(before)} becomes ${plainText(after)}`);
  return box;
}

const LINES = 4;

/** The rewrite as text: what went, what came. */
function difference(changes: Change[]): HTMLElement {
  const box = h('div', 'my-change');
  for (const sign of ['−', '+'] as const) {
    const own = changes.filter(c => c.sign === sign);
    for (const c of own.slice(0, LINES)) box.append(h('div', sign === '−' ? 'my-gone' : 'my-come', undefined, h('span', '', `${sign} `), h('b', '', c.text)));
    if (own.length > LINES) box.append(h('div', 'my-more', `${sign} ${own.length - LINES} more`));
  }
  return box;
}
