/** The step player: first, back, play, forward, last, the slider with a tick for each step, the position and the speed. */
import { h, icon, ICONS } from './elements';
import { Item } from './story';

const STEP_MS = 1100, SPEEDS = [1, 2, 4, 0.5], MOST_TICKS = 80;

export class Player {
  readonly el = h('div', 'my-player');
  private slider = h('input', 'my-slider');
  private ticks = h('div', 'my-ticks');
  private position = h('span', 'my-pos');
  private playButton: HTMLButtonElement;
  private speed = 0;
  private timer = 0;
  private step = 0; private count = 0;

  /** `go` moves to a step; `beside` is the next or previous one (a filter may skip some). */
  constructor(private go: (step: number) => void, private beside: (step: number, back: boolean) => number) {
    this.playButton = icon('play', 'play (space)', () => this.toggle(), 'my-ib my-play');
    this.slider.type = 'range';
    this.slider.min = '0';
    this.slider.setAttribute('aria-label', 'step');
    this.slider.addEventListener('input', () => { this.stop(); this.go(Number(this.slider.value)); });
    const speed = h('button', 'my-speed', '1×');
    speed.type = 'button';
    speed.title = 'speed';
    speed.addEventListener('click', () => {
      this.speed = (this.speed + 1) % SPEEDS.length;
      speed.textContent = SPEEDS[this.speed] === 0.5 ? '½×' : `${SPEEDS[this.speed]}×`;
      if (this.timer) { this.stop(); this.toggle(); }
    });
    speed.setAttribute('aria-label', 'speed');
    this.el.append(icon('first', 'first step (Home)', () => this.go(0)), icon('prev', 'step back (←)', () => this.back()), this.playButton, icon('next', 'step forward (→)', () => this.forward()),
      icon('last', 'last step (End)', () => this.go(this.count)), h('div', 'my-track', undefined, this.slider, this.ticks), this.position, speed);
  }

  back(): void { this.stop(); this.go(this.beside(this.step, true)); }
  forward(): void { this.stop(); this.go(this.beside(this.step, false)); }

  toggle(): void {
    if (this.timer) { this.stop(); return; }
    if (!this.count) return;
    if (this.step >= this.count) this.go(0);
    this.face('pause');
    this.timer = window.setInterval(() => { const next = this.beside(this.step, false); if (next === this.step) this.stop(); else this.go(next); }, STEP_MS / SPEEDS[this.speed]);
  }

  stop(): void { clearInterval(this.timer); this.timer = 0; this.face('play'); }
  private face(name: string): void { this.playButton.querySelector('path')?.setAttribute('d', ICONS[name]); this.playButton.setAttribute('aria-label', `${name} (space)`); }

  /** For a new stage: one tick a step, colored by what the step is. */
  enter(items: Item[]): void {
    this.stop();
    this.count = items.length;
    this.slider.max = String(items.length);
    this.ticks.replaceChildren();
    this.el.hidden = items.length === 0;
    if (items.length > MOST_TICKS) return;
    items.forEach((item, i) => {
      const t = h('i', `my-tick-${item.kind}`);
      t.style.left = `${((i + 1) / items.length) * 100}%`;
      this.ticks.append(t);
    });
  }

  draw(step: number, title: string): void {
    this.step = step;
    this.slider.value = String(step);
    this.slider.setAttribute('aria-valuetext', `${step} of ${this.count}: ${title}`);
    this.position.replaceChildren(h('b', '', String(step)), document.createTextNode(` of ${this.count}`));
    this.ticks.querySelectorAll('i').forEach((t, i) => t.toggleAttribute('data-done', i < step));
  }
}
