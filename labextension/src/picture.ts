/** One drawn stage: which functions are closed, its layout, its map. The viewer has one, and a second when two stages stand side by side. */
import { button, h, icon } from './elements';
import { autoCollapse, build, Direction, Drawing } from './dot';
import { NodeHooks } from './draw';
import { GraphPane } from './graph';
import { drawGrid, GridHooks } from './grid';
import { LayoutPool } from './layout';
import { Minimap } from './minimap';
import { Model } from './replay';
import { NodeView } from './snapshot';
import { Scene } from './story';

export const OPEN_LIMIT = 90;
const PATIENCE = 250;

export class Picture {
  readonly pane: GraphPane;
  readonly el: HTMLElement;
  model = new Model(null);
  drawing: Drawing | null = null;
  direction: Direction = 'TB';
  readonly map: Minimap;
  private collapsed = new Map<string, Set<number>>();
  private drawnKey = ''; private drawnStage = ''; private sequence = 0;
  private note = h('div', 'my-note');
  private wait = h('div', 'my-wait');
  private stage = '';
  private folds: HTMLButtonElement;

  constructor(private pool: LayoutPool, private hooks: { hover(id: number | null): void; select(id: number): void; changed(): void; message(text: string): void }, label: string) {
    const own: NodeHooks = { hover: hooks.hover, select: hooks.select, toggle: g => this.toggle(g) };
    this.pane = new GraphPane(own, label);
    this.el = this.pane.el;
    this.map = new Minimap(this.pane);
    this.pane.moved = () => this.map.follow();
    const zoom = h('div', 'my-zoom');
    this.folds = icon('fold', 'open or close all functions', () => this.foldAll());
    zoom.append(icon('plus', 'zoom in (+)', () => this.pane.zoom(1.25)), icon('minus', 'zoom out (−)', () => this.pane.zoom(0.8)), icon('fit', 'fit (0)', () => this.pane.fit()), this.folds);
    this.wait.hidden = true;
    this.el.append(zoom, this.note, this.map.el, this.wait);
  }

  dispose(): void { this.pane.dispose(); }

  say(text: string): void { this.note.textContent = text; this.note.hidden = !text; }

  private closed(): Set<number> {
    let closed = this.collapsed.get(this.stage);
    if (!closed) { closed = autoCollapse(this.model, OPEN_LIMIT); this.collapsed.set(this.stage, closed); }
    return closed;
  }

  toggle(graph: number): void {
    const closed = this.closed();
    if (!closed.delete(graph)) closed.add(graph);
    this.hooks.changed();
  }

  /** Opens all functions when some are closed, else closes all but the first. */
  foldAll(): void {
    const closed = this.closed(), { graphs } = this.model.shown();
    if (closed.size) closed.clear(); else for (const g of graphs) if (g.id !== this.model.root) closed.add(g.id);
    this.hooks.changed();
  }

  /** Opens the function that holds a node; false when it was open. */
  reveal(id: number): boolean { const g = this.model.nodes.get(id)?.graph; return g !== null && g !== undefined && this.closed().delete(g); }

  /** Draws a scene; resolves to false when a later one overtook it. */
  async show(stage: string, scene: Scene, detail: 'type' | 'value', grid: GridHooks): Promise<boolean> {
    const my = ++this.sequence;
    this.stage = stage;
    this.model = scene.model;
    this.folds.hidden = scene.grid !== null;
    if (scene.grid) {
      const made = drawGrid(scene.grid, scene.gridStep, scene.values, grid, this.el.clientWidth < 520), key = `${stage} grid ${scene.grid.graph}`;
      this.drawing = null;
      this.pane.drawOther(made.root, made.width, made.height, this.drawnKey === key, made.now);
      this.drawnKey = key;
      this.drawnStage = stage;
      this.done();
      this.map.draw(null);
      this.say('');
      return true;
    }
    const closed = this.closed();
    const drawing = build(scene.model, closed, detail, scene.ghosts, this.direction);
    const key = drawing.dot + stage + [...drawing.boxes.values()].map(b => b.lines.join('|')).join('~');
    if (key !== this.drawnKey) {
      const timer = setTimeout(() => this.waiting(drawing.boxes.size), PATIENCE);
      try {
        const layout = await this.pool.layout(drawing.dot);
        if (my !== this.sequence) return false;
        this.pane.draw(scene.model, drawing, layout, this.drawnStage === stage && this.drawing !== null);
        this.drawing = drawing;
        this.drawnKey = key;
        this.drawnStage = stage;
        this.map.draw(drawing, scene.model, layout);
      } finally { clearTimeout(timer); if (my === this.sequence) this.done(); }
    }
    this.pane.look(scene.look);
    const target = scene.focus.find(id => this.pane.has(id));
    if (target !== undefined) this.pane.show(target);
    const n = [...drawing.closed.keys()].length;
    this.say(n ? `${n} of ${n + drawing.clusters.size} functions closed` : '');
    return true;
  }

  private waiting(count: number): void {
    this.wait.replaceChildren(h('span', '', `Placing ${count} nodes…`));
    if (count > 400) this.wait.append(button('Stop', 'stop placing the nodes', () => { this.pool.stop(); this.foldBack(); }, 'my-tab'));
    this.wait.hidden = false;
  }
  private done(): void { this.wait.hidden = true; }

  /** After a stop: closes again what is too large. */
  private foldBack(): void { this.collapsed.set(this.stage, autoCollapse(this.model, OPEN_LIMIT)); this.done(); this.hooks.message('Stopped: the large functions are closed again.'); this.hooks.changed(); }

  /** What is on the screen, for saving. */
  shown(): { root: SVGSVGElement | null; width: number; height: number } { return { root: this.pane.root, width: this.pane.width, height: this.pane.height }; }

  /** The drawing as a graph, also when a grid is shown. */
  forDot(): Drawing { return this.drawing ?? build(this.model, autoCollapse(this.model, OPEN_LIMIT), 'value'); }

  nodeOf(id: number): NodeView | undefined { return this.model.nodes.get(id); }
}
