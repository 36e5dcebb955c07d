/** Two stages side by side: dotted lines from the node in hand to the nodes that stand for it in the other stage. */
import { GraphPane } from './graph';
import { svg } from './svg';

export class Ties {
  readonly el = svg('svg', { class: 'my-ties', 'aria-hidden': 'true' });

  clear(): void { this.el.replaceChildren(); }

  /** From a node of one pane to nodes of the other; both panes lie in the element that holds this one. */
  draw(from: GraphPane, id: number, to: GraphPane, ids: number[]): void {
    this.clear();
    const frame = this.el.getBoundingClientRect(), a = this.point(from, id, frame);
    if (!a) return;
    for (const other of ids) {
      const b = to.inView(other) ? this.point(to, other, frame) : null;
      if (!b) continue;
      const middle = (a[0] + b[0]) / 2;
      this.el.append(svg('path', { d: `M${a[0]},${a[1]} C${middle},${a[1]} ${middle},${b[1]} ${b[0]},${b[1]}` }));
    }
  }

  private point(pane: GraphPane, id: number, frame: DOMRect): [number, number] | null {
    const p = pane.onScreen(id);
    if (!p) return null;
    const r = pane.el.getBoundingClientRect(), inside = (v: number, most: number) => Math.max(4, Math.min(most - 4, v));
    return [r.left - frame.left + inside(p[0], r.width), r.top - frame.top + inside(p[1], r.height)];
  }
}
