/** A second stage beside the first: its own picture, the choice of its stage, and the ties between what stands for the same thing in both. */
import { h } from './elements';
import { Picture } from './picture';
import { tied } from './search';
import { NodeView, Snapshot } from './snapshot';
import { Story } from './story';
import { Ties } from './ties';

export class SideBySide {
  readonly el: HTMLElement;
  readonly ties = new Ties();
  stage: number;
  private held: [NodeView, Picture] | null = null;

  constructor(readonly picture: Picture, private main: Picture, stages: Snapshot[], stage: number, changed: () => void) {
    const drawable = stages.map((s, i) => [s, i] as const).filter(([s]) => s.final), choice = h('select', 'my-other');
    this.stage = Math.max(...drawable.map(x => x[1]).filter(i => i < stage), drawable[0]?.[1] ?? 0);
    choice.setAttribute('aria-label', 'the other stage');
    for (const [s, i] of drawable) { const o = h('option', '', s.stage); o.value = String(i); choice.append(o); }
    choice.value = String(this.stage);
    choice.addEventListener('change', () => { this.stage = Number(choice.value); changed(); });
    picture.direction = main.direction;
    picture.map.mode = 'off';
    this.el = h('div', 'my-otherpane', undefined, choice, picture.el);
    for (const p of [picture, main]) { const moved = p.pane.moved; p.pane.moved = () => { moved(); this.tie(); }; }
  }

  dispose(): void { this.held = null; this.el.remove(); this.ties.el.remove(); this.picture.dispose(); }

  /** The last state of the other stage. */
  async draw(s: Snapshot, story: Story): Promise<void> {
    const scene = story.scene(story.items.length, 'after', false);
    scene.focus = [];
    scene.look.now.clear();
    await this.picture.show(s.stage, scene, s.stage === 'typed' ? 'type' : 'value', { hover: () => undefined, select: () => undefined });
  }

  private across(where: Picture): Picture { return where === this.picture ? this.main : this.picture; }

  /** Ties a node of one picture to its kin in the other; null lets go. */
  hold(n: NodeView | undefined, where: Picture): void {
    this.held = n ? [n, where] : null;
    if (n) { const there = this.across(where); there.pane.light(tied(n, there.model)); } else this.picture.pane.light([]);
    this.tie();
  }

  private tie(): void {
    if (!this.held) { this.ties.clear(); return; }
    const [n, where] = this.held, there = this.across(where);
    this.ties.draw(where.pane, n.id, there.pane, tied(n, there.model));
  }

  /** Brings the other picture to where a node's kin is. */
  follow(n: NodeView, where: Picture): void {
    const there = this.across(where), kin = tied(n, there.model).filter(x => there.pane.has(x));
    if (kin.length && !kin.some(x => there.pane.inView(x))) there.pane.show(kin[0]);
    this.hold(n, where);
  }
}
