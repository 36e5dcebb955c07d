/** The pane of live inputs: a slider and a field for each number of the shown call, the plot, the result, and the way that the run took. */
import { button, h } from './elements';
import { Answer, Ask, Curve, Input, Live, Taken } from './live';
import { Plot, short } from './plot';

export interface InputHooks { answered(a: Answer): void; taken(): Taken[]; result(): string; span(input: Input | null): void }

const FALLBACK = 'Run the cell to move its inputs.';

export class Inputs {
  readonly el = h('div', 'my-inputs');
  private values: (number | boolean | string)[];
  private curve: Curve | null;
  private over: number;
  private plot = new Plot(x => this.dragged(x));
  private rows: { slider: HTMLInputElement | null; box: HTMLInputElement | null; pick: HTMLButtonElement | null }[] = [];
  private note = h('p', 'my-inputnote', FALLBACK);
  private outcome = h('div', 'my-outcome');
  private way = h('ul', 'my-way');
  private before = new Map<string, number>();
  private busy = false; private pending = false;
  alive = false;

  constructor(private live: Live, private ask: Ask, private hooks: InputHooks) {
    this.values = live.inputs.map(i => i.value);
    this.curve = live.curve;
    this.over = live.curve?.input ?? live.inputs.findIndex(i => i.kind === 'float');
    this.note.setAttribute('role', 'status');
    const controls = h('div', 'my-controls');
    live.inputs.forEach((input, i) => controls.append(...this.row(input, i)));
    this.el.append(controls, this.note, this.plot.el, this.outcome, this.way);
    this.enable(false);
    this.draw();
  }

  /** Asks whether a kernel holds this program; the controls wait for its yes. */
  async connect(): Promise<void> {
    const answer = await this.ask({ token: this.live.token });
    this.enable(answer?.known === true);
  }

  private enable(on: boolean): void {
    this.alive = on;
    this.note.hidden = on;
    this.note.textContent = on ? '' : FALLBACK;
    this.el.toggleAttribute('data-alive', on);
    for (const r of this.rows) for (const c of [r.slider, r.box, r.pick]) if (c) c.disabled = !on;
  }

  private row(input: Input, i: number): HTMLElement[] {
    const name = input.name || `input ${i + 1}`, label = input.kind === 'float' ? button(name, `plot over ${name}`, () => this.choose(i), 'my-inputname') : h('span', 'my-inputname', name);
    label.addEventListener('mouseenter', () => this.hooks.span(input));
    label.addEventListener('mouseleave', () => this.hooks.span(null));
    if (!input.kind) { this.rows.push({ slider: null, box: null, pick: null }); const fixed = h('span', 'my-inputtext', String(input.value)); return [label, fixed, h('span')]; }
    const box = h('input', 'my-inputbox');
    box.setAttribute('aria-label', name);
    if (input.kind === 'bool') { box.type = 'checkbox'; box.checked = input.value === true; }
    else { box.type = 'text'; box.inputMode = 'decimal'; box.value = String(input.value); }
    box.addEventListener('keydown', e => { if (e.key !== 'Escape') e.stopPropagation(); });
    box.addEventListener('change', () => this.typed(i, box));
    const pick = label instanceof HTMLButtonElement ? label : null;
    if (input.kind === 'bool') { this.rows.push({ slider: null, box, pick }); return [label, h('span'), box]; }
    const slider = h('input', 'my-inputslider');
    slider.type = 'range';
    slider.setAttribute('aria-label', `${name}, slider`);
    const key = (e: KeyboardEvent): void => { if (e.target === slider) this.key(i, slider, e); };
    slider.addEventListener('focus', () => window.addEventListener('keydown', key, true)); // before a host that takes the arrows for itself, as Notebook 7 does
    slider.addEventListener('blur', () => window.removeEventListener('keydown', key, true));
    slider.addEventListener('input', () => this.move(i, Number(slider.value)));
    this.rows.push({ slider, box, pick });
    this.span(i);
    return [label, slider, box];
  }

  /** The reach of a slider: the plot's window, or round numbers about the value. */
  private span(i: number): void {
    const slider = this.rows[i].slider, value = Number(this.values[i]), kind = this.live.inputs[i].kind;
    if (!slider) return;
    let [low, high] = i === this.curve?.input ? this.curve.range : kind === 'int' ? [value < 0 ? 2 * value : 0, Math.max(10, 2 * value)] : [Number(slider.min || 'NaN'), Number(slider.max || 'NaN')];
    if (!(low <= value && value <= high) || (kind === 'float' && slider.dataset.set !== '1' && i !== this.curve?.input)) { const reach = Math.max(1, Math.abs(value)); low = value - reach; high = value + reach; }
    slider.dataset.set = '1';
    slider.min = String(low);
    slider.max = String(high);
    slider.step = kind === 'int' ? '1' : String((high - low) / 200);
    slider.value = String(value);
  }

  /** The arrows move the slider, not the steps. */
  private key(i: number, slider: HTMLInputElement, e: KeyboardEvent): void {
    const low = Number(slider.min), high = Number(slider.max), step = Number(slider.step), value = Number(slider.value);
    const to: Record<string, number> = { ArrowRight: value + step, ArrowUp: value + step, ArrowLeft: value - step, ArrowDown: value - step, PageUp: value + 10 * step, PageDown: value - 10 * step, Home: low, End: high };
    if (e.key in to && !slider.disabled) { this.move(i, Number(Math.max(low, Math.min(high, to[e.key])).toPrecision(10))); e.preventDefault(); }
    if (e.key !== 'Escape' && e.key !== 'Tab') e.stopPropagation();
  }

  private typed(i: number, box: HTMLInputElement): void {
    if (box.type === 'checkbox') { this.move(i, box.checked); return; }
    const value = Number(box.value.trim().replace('−', '-')), isWhole = this.live.inputs[i].kind !== 'int' || Number.isSafeInteger(value);
    const fits = box.value.trim() !== '' && Number.isFinite(value) && isWhole;
    box.setAttribute('aria-invalid', String(!fits));
    if (fits) { this.move(i, value); this.span(i); }
  }

  private dragged(x: number): void {
    if (!this.alive || !this.curve) return;
    const [low, high] = this.curve.range, step = (high - low) / 200;
    this.move(this.curve.input, Number((low + Math.round((x - low) / step) * step).toPrecision(10)));
  }

  private choose(i: number): void { this.over = i; void this.send(); }

  private move(i: number, value: number | boolean): void {
    this.values[i] = value;
    const { box, slider } = this.rows[i];
    if (box && box.type !== 'checkbox') { box.value = String(Number(Number(value).toPrecision(10))); box.removeAttribute('aria-invalid'); }
    if (slider) slider.value = String(value);
    void this.send();
  }

  /** One question at a time; while it is out, only the newest of the later ones is kept. */
  private async send(): Promise<void> {
    if (this.busy) { this.pending = true; return; }
    this.busy = true;
    do {
      this.pending = false;
      const range = this.curve?.input === this.over ? this.curve.range : null;
      const answer = await this.ask({ token: this.live.token, values: [...this.values], input: this.over, range });
      if (!answer?.known) { this.enable(false); break; }
      if (!this.pending || answer.curve) this.took(answer);
    } while (this.pending);
    this.busy = false;
  }

  private took(answer: Answer): void {
    const moved = this.curve?.range.join() !== answer.curve?.range.join();
    this.curve = answer.curve;
    if (answer.curve && moved) this.span(answer.curve.input);
    this.hooks.answered(answer);
    this.draw(answer.error);
  }

  draw(error = ''): void {
    const name = this.live.inputs[this.curve?.input ?? 0]?.name || 'x';
    this.plot.el.toggleAttribute('hidden', this.curve === null);
    if (this.curve) this.plot.draw(this.curve, name);
    this.rows.forEach((r, i) => r.pick?.setAttribute('aria-pressed', String(i === this.curve?.input)));
    this.outcome.replaceChildren(h('span', '', error ? 'stopped' : 'result'), h('b', error ? 'my-failed' : '', error || this.hooks.result()));
    this.outcome.setAttribute('aria-live', 'polite');
    const now = this.hooks.taken();
    this.way.replaceChildren(...now.map(t => {
      const key = `${t.name} ${t.line}`, was = this.before.get(key), row = h('li', '', undefined, h('code', '', t.name), h('span', '', t.line ? `line ${t.line}` : ''), h('b', '', t.count ? `${t.count} ${t.word}${t.count === 1 ? '' : 's'}` : 'not taken'));
      if (!t.count) row.dataset.none = '';
      if (was !== undefined && was !== t.count) row.dataset.changed = '';
      this.before.set(key, t.count);
      return row;
    }));
    this.el.dataset.at = this.curve ? short(this.curve.at[0]) : '';
  }
}
