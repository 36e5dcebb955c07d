/** The viewer: stages, step player, equation, graph, and the pane beside it. `mount` puts it into an element and returns how to take it away.
 * This room only ties the others together: a `Story` says what there is to see at a step, and each part draws its share of it. */
import { animated, Frame } from './animation';
import { Band } from './band';
import { SideBySide } from './compare';
import { h } from './elements';
import { plainText } from './equation';
import { drawGrid } from './grid';
import { Direction } from './dot';
import { Inputs } from './inputs';
import { act } from './keys';
import { LayoutPool, STOPPED } from './layout';
import { helpPage, LEGEND, legendItem } from './panes';
import { Picture } from './picture';
import { Player } from './player';
import { Prediction } from './predict';
import { Rail } from './rail';
import { nodeAt } from './replay';
import { dotText, plain, saveMenu } from './save';
import { found, tied } from './search';
import { Side } from './side';
import { Payload, read, Snapshot, Span } from './snapshot';
import { LineHooks, markRanges, sourceListing } from './sources';
import { parts, StepList } from './steps';
import { Answer, applyAnswer, Ask, askByEvent, taken } from './live';
import { Mode, Scene, Story } from './story';
import { STYLE } from './style';
import { followTheme } from './theme';

const MOST_FRAMES = 80;

export function mount(el: HTMLElement, payload: unknown, workerSource: string, ask?: Ask): () => void {
  const viewer = new Viewer(el, read(payload), new LayoutPool(workerSource), ask);
  return () => viewer.dispose();
}

export class Viewer {
  readonly root = h('div', 'my');
  readonly player: Player;
  readonly rail: Rail;
  readonly side: Side;
  readonly main: Picture;
  mode: Mode = 'difference';
  asGrid = true;
  stage = 0; step = 0;
  private band: Band;
  private other: SideBySide | null = null;
  private body = h('div', 'my-body');
  private graphs = h('div', 'my-graphs');
  private source = h('div', 'my-presented');
  private legend = h('div', 'my-legend my-svg');
  private stories = new Map<number, Story>();
  private lists = new Map<number, StepList>();
  private scene: Scene | null = null;
  private selected: number | null = null;
  private trail: number[] = [];
  private prediction: Prediction | null = null;
  private lit: number[] = [];
  private hits: number[] = []; private hit = 0;
  private ends: (() => void)[] = [];
  private lineHooks: LineHooks;

  constructor(private host: HTMLElement, readonly data: Payload, private pool: LayoutPool, ask?: Ask) {
    this.root.append(h('style', '', STYLE));
    this.root.tabIndex = 0;
    this.root.setAttribute('role', 'application');
    this.root.setAttribute('aria-label', 'myia viewer. Press ? for its keys');
    this.root.dataset.lmSuppressShortcuts = 'true'; // the notebook's own keys must not act inside the viewer
    this.root.style.height = `${data.options.height || 640}px`;
    this.ends.push(followTheme(this.root));
    const line = { light: (l: number, c: number) => this.light(l, c), nodes: (ids: number[]) => this.ring(ids), origin: (l: number) => this.highlight([[l, 0, l, 1000]]), leave: () => { this.ring([]); this.highlight([]); } };
    this.main = this.picture('graph');
    this.side = new Side(data, line, { node: id => this.jump(id), step: (stage, step) => { this.enter(stage); this.go(step); }, callee: g => this.callee(g) });
    if (data.live) this.side.inputs = this.liveInputs(ask);
    this.player = new Player(step => this.go(step), (step, back) => this.beside(step, back));
    this.rail = new Rail(data.stages, {
      stage: i => this.enter(i), search: text => this.search(text), next: back => this.nextHit(back), leave: () => this.root.focus(),
      tools: [['compare', 'two stages side by side (C)', () => this.compare()], ['turn', 'turn the graph (T)', () => this.turn()], ['map', 'map (M)', () => this.main.map.toggle()], ['save', 'save the picture of this step (S)', () => this.save()],
        ['predict', 'predict: hide what comes until it is clicked (H)', () => this.predict()], ['help', 'keys and legend (?)', () => this.help()], ['full', 'presentation (P)', () => this.present()]]
    });
    this.band = new Band({ mode: m => { this.mode = m; void this.render(); }, grid: on => this.setGrid(on), go: step => this.go(step) });
    this.lineHooks = line;
    this.graphs.append(this.main.el);
    this.body.append(this.source, this.graphs, this.side.el);
    this.root.append(this.rail.el, this.player.el, this.band.el, this.body, this.legend);
    this.listen(this.root, 'keydown', e => act(this, e as KeyboardEvent));
    this.listen(document, 'myia:source', e => this.fromSource(e as CustomEvent));
    this.listen(document, 'fullscreenchange', () => { if (!document.fullscreenElement) this.setPresent(false); });
    host.append(this.root);
    const wanted = data.stages.findIndex(s => s.stage === data.options.stage), failed = data.stages.findIndex(s => s.error);
    this.enter(wanted >= 0 ? wanted : failed >= 0 ? failed : Math.max(0, data.stages.findIndex(s => s.stage === 'adjoint' && s.events.length > 0)));
  }

  private liveInputs(ask: Ask | undefined): Inputs | null {
    const { live } = this.data, run = (): Snapshot | undefined => this.data.stages.find(s => s.stage === 'run');
    if (!live) return null;
    const made = new Inputs(live, ask ?? askByEvent(this.root), { answered: a => this.answered(a), taken: () => taken(this.data), result: () => run()?.result ?? '', span: input => this.highlight(input?.span ? [input.span] : []) });
    let tries = 0;
    const connect = (): void => { if (this.root.isConnected) void made.connect(); else if (++tries < 200) requestAnimationFrame(connect); }; // an event needs the page
    requestAnimationFrame(connect);
    return made;
  }

  /** Another run of the same program: its values in every stage. The end of a stage stays its end. */
  private answered(a: Answer): void {
    const isEnd = this.step === (this.story()?.items.length ?? 0), run = this.data.stages.findIndex(s => s.stage === 'run');
    applyAnswer(this.data, a);
    this.stories.clear();
    this.lists.delete(run);
    const s = this.data.stages[run], count = this.story()?.items.length ?? 0;
    if (s) this.rail.refresh(run, s);
    this.step = isEnd ? count : Math.min(this.step, count);
    if (this.stage === run) {
      const items = this.story()?.items ?? [];
      this.player.enter(items);
      this.addList(run);
      this.side.refresh(this.list());
    }
    void this.render();
  }

  private addList(stage: number): void { const story = this.story(stage); if (story?.items.length && !this.lists.has(stage)) this.lists.set(stage, new StepList(story, step => this.go(step), () => this.root.focus(), () => undefined)); }

  /** The pane of inputs, with the focus on the first. */
  openInputs(): void { if (!this.side.inputs) return; this.side.open(this.side.tab === 'Inputs' ? '' : 'Inputs'); if (this.side.tab === 'Inputs') this.side.inputs.el.querySelector<HTMLElement>('input:not(:disabled)')?.focus(); }

  private listen(target: EventTarget, type: string, f: (e: Event) => void): void { target.addEventListener(type, f); this.ends.push(() => target.removeEventListener(type, f)); }

  private picture(label: string): Picture {
    const made: Picture = new Picture(this.pool, { hover: id => this.hover(id, made), select: id => this.select(id, made), changed: () => void this.render(), message: text => { made.say(text); } }, label);
    return made;
  }

  dispose(): void { this.player.stop(); for (const end of this.ends) end(); this.main.dispose(); this.other?.dispose(); this.pool.dispose(); this.root.remove(); }

  // -- stages and steps

  private snapshot(): Snapshot | undefined { return this.data.stages[this.stage]; }

  story(stage = this.stage): Story | undefined {
    let story = this.stories.get(stage);
    const s = this.data.stages[stage];
    if (!story && s) this.stories.set(stage, (story = new Story(this.data.stages, s)));
    return story;
  }

  list(): StepList | null { return this.lists.get(this.stage) ?? null; }

  enter(stage: number): void {
    const s = this.data.stages[stage], story = this.story(stage);
    if (!s || !story) return;
    this.stage = stage;
    this.selected = null;
    this.trail = [];
    this.step = story.items.length;
    this.player.enter(story.items);
    this.addList(stage);
    this.side.enter(s, this.list());
    this.rail.select(stage);
    this.legend.replaceChildren(...(LEGEND[s.stage] ?? LEGEND.parsed).map(legendItem));
    void this.render();
  }

  go(step: number): void {
    const n = this.story()?.items.length ?? 0;
    this.step = Math.max(0, Math.min(n, step));
    void this.render();
  }

  /** The next step; under a filter, the next that it lets through. */
  private beside(step: number, back: boolean): number {
    const list = this.list();
    if (list?.isFiltered) return list.beside(step, back);
    return Math.max(0, Math.min(this.story()?.items.length ?? 0, step + (back ? -1 : 1)));
  }

  setGrid(on: boolean): void { this.asGrid = on; void this.render(); }

  // -- drawing

  private async render(): Promise<void> {
    const s = this.snapshot(), story = this.story();
    if (!s || !story) return;
    const key = this.root.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.key ?? '' : null;
    const whole = story.scene(this.step, this.mode, this.asGrid && !this.other), scene = (this.scene = this.prediction ? this.prediction.cover(s.stage, whole) : whole);
    this.player.draw(this.step, scene.item?.title ?? 'before the first step');
    this.band.draw({ story, scene, step: this.step, mode: this.mode, asGrid: this.asGrid, hasGrid: !this.other && (scene.grid !== null || !this.asGrid) && (s.stage === 'adjoint' || story.isRun) && story.items.length > 0, compared: this.other !== null });
    if (s.error) this.band.el.hidden = true;
    this.side.step(this.step);
    if (key !== null && !this.root.contains(document.activeElement)) ([...this.root.querySelectorAll<HTMLElement>('[data-key]')].find(e => key && e.dataset.key === key) ?? this.root).focus({ preventScroll: true });
    this.root.dataset.step = String(this.step);
    this.root.dataset.stage = s.stage;
    if (scene.span && scene.item) this.markSource([scene.span]);
    try {
      const shown = await this.main.show(s.stage, scene, s.stage === 'typed' ? 'type' : 'value', { hover: id => this.hover(id, this.main), select: id => this.select(id, this.main) });
      if (!shown) return;
      this.ring(this.lit);
      if (s.stage === 'run' && s.trace?.is_cut) this.main.say(`The run is longer: its first ${s.trace.nodes.length} values are here`);
      if (this.other) await this.drawOther();
    } catch (problem) {
      if (problem instanceof Error && problem.message === STOPPED) return;
      this.root.dataset.error = String(problem);
      this.main.say(`The graph could not be drawn: ${String(problem)}`);
      return;
    }
    this.root.dataset.drawn = scene.grid ? `grid ${scene.grid.graph}` : s.stage;
    this.root.dataset.ready = '1';
  }

  // -- two stages side by side

  compare(): void {
    if (this.other) { this.other.dispose(); this.other = null; }
    else {
      this.other = new SideBySide(this.picture('graph of the other stage'), this.main, this.data.stages, this.stage, () => void this.drawOther());
      this.graphs.prepend(this.other.el);
      this.graphs.append(this.other.ties.el);
    }
    this.root.toggleAttribute('data-compare', this.other !== null);
    void this.render();
  }

  private async drawOther(): Promise<void> {
    const s = this.other && this.data.stages[this.other.stage], story = this.other && this.story(this.other.stage);
    if (!this.other || !s || !story) return;
    await this.other.draw(s, story);
    this.root.dataset.other = s.stage;
  }

  turn(): void {
    const next: Direction = this.main.direction === 'TB' ? 'LR' : 'TB';
    this.main.direction = next;
    if (this.other) this.other.picture.direction = next;
    if (this.scene?.grid) this.asGrid = false;
    this.root.dataset.direction = next;
    void this.render();
  }

  // -- links

  private hover(id: number | null, where: Picture): void {
    const n = id === null ? undefined : where.nodeOf(id);
    this.highlight(n?.span ? [n.span] : []);
    if (n) where.pane.light(tied(n, where.model).filter(x => x !== n.id)); else this.main.pane.light(this.lit);
    this.other?.hold(n, where);
  }

  private ring(ids: number[]): void { this.lit = ids; this.main.pane.light([...ids, ...(this.selected === null ? [] : [this.selected])]); this.main.map.mark(ids); }

  private markSource(spans: Span[]): void { this.side.mark(spans); markRanges(this.source, spans); }

  private highlight(spans: Span[]): void {
    this.markSource(spans.length ? spans : this.scene?.item && this.scene.span ? [this.scene.span] : []);
    this.host.dispatchEvent(new CustomEvent('myia:highlight', { bubbles: true, composed: true, detail: { source: this.data.source, spans } }));
  }

  private select(id: number, where: Picture): void {
    if (this.prediction && this.scene && where === this.main && this.prediction.tell(this.snapshot()?.stage ?? '', this.scene, id)) { void this.render(); return; } // the first click answers
    this.selected = this.selected === id ? null : id;
    const view = this.selected === null ? undefined : where.nodeOf(id);
    this.side.select(view ? { view, model: where.model, value: where === this.main && this.scene ? this.scene.values(id) || (this.story()?.isRun ? 'not yet' : '') : view.value } : null);
    this.ring(this.lit);
    if (view) this.other?.follow(view, where); // side by side, a click brings the other stage to the same place
  }

  /** To a node of the picture, opening the function that holds it; `back` goes to the node selected before. */
  private jump(id: number, isBack = false): void {
    if (this.selected !== null && !isBack) this.trail.push(this.selected);
    const go = (): void => { this.main.pane.show(id); if (this.selected !== id) this.select(id, this.main); };
    if (this.main.pane.has(id)) { go(); return; }
    if (this.scene?.grid) this.asGrid = false;
    this.main.reveal(id);
    void this.render().then(go);
  }

  back(): void { const id = this.trail.pop(); if (id !== undefined) this.jump(id, true); }

  /** To a called function: to its result, which every function has. */
  private callee(graph: number): void { const g = this.main.model.graphs.get(graph), node = g && (this.main.model.nodes.get(g.output)?.graph === graph ? g.output : g.parameters[0]); if (node !== undefined) this.jump(node); }

  private light(line: number, column: number): void { this.ring(nodeAt(this.main.model.nodes.values(), line, column)); }

  /** The labextension tells where the pointer or the cursor is in the cell's editor. */
  private fromSource(e: CustomEvent): void {
    const d = e.detail as { cell?: Element; line?: number; column?: number } | null, cell = this.host.closest('.jp-Cell');
    if (!d || !cell || d.cell !== cell) return;
    if (typeof d.line !== 'number' || typeof d.column !== 'number') { this.ring([]); this.side.mark([]); } else { this.light(d.line, d.column); this.side.mark([[d.line, 0, d.line, 0]]); } // generated code too
  }

  // -- search

  private search(text: string): void {
    this.hits = found(this.main.model, text);
    this.hit = -1;
    this.rail.count(text.trim() ? `${this.hits.length ? '' : 'none'}` : '');
    this.ring(this.hits);
    if (this.hits.length) this.nextHit(false);
  }

  /** Goes to the next node found; opens its function when it is closed. */
  nextHit(back: boolean): void {
    if (!this.hits.length) return;
    this.hit = (this.hit + (back ? -1 : 1) + this.hits.length) % this.hits.length;
    this.rail.count(`${this.hit + 1} of ${this.hits.length}`);
    const id = this.hits[this.hit], go = () => { this.main.pane.show(id); this.ring(this.hits); this.main.map.mark(this.hits); };
    if (this.main.pane.has(id)) { go(); return; }
    if (this.scene?.grid) this.asGrid = false;
    this.main.reveal(id);
    void this.render().then(go);
  }

  // -- help, saving, presentation

  /** Covers what is to be foretold, or shows everything again. */
  predict(): void {
    this.prediction = this.prediction ? null : new Prediction();
    this.root.toggleAttribute('data-predict', this.prediction !== null);
    if (this.prediction) this.selected = null;
    this.side.select(null);
    if (this.prediction) this.side.open('');
    void this.render().then(() => this.main.say(this.prediction ? 'Predict, then click a node to see. H shows everything.' : ''));
  }

  help(): void {
    const open = this.root.querySelector('.my-help');
    if (open) { open.remove(); this.root.focus(); return; }
    const page = helpPage(() => { page.remove(); this.root.focus(); });
    this.root.append(page);
    page.focus();
  }

  save(): void {
    const open = this.root.querySelector('.my-savemenu');
    if (open) { open.remove(); return; }
    const menu = saveMenu(() => ({ ...this.main.shown(), background: getComputedStyle(this.root).backgroundColor, name: `${this.snapshot()?.stage ?? 'graph'}-step-${this.step}`,
      dot: () => dotText(this.main.model, this.main.forDot(), this.story()?.isRun ? this.scene?.look.texts ?? null : null, this.snapshot()?.stage ?? 'graph', this.main.direction) }),
    () => { menu.remove(); this.root.focus(); }, text => this.main.say(text), this.scene?.grid ? () => this.movie() : null);
    this.root.append(menu);
    menu.querySelector('button')?.focus();
  }

  /** Every step of the grid at hand as an SVG that plays by itself; long runs by their first steps. */
  private movie(): string {
    const story = this.story(), frames: Frame[] = [], stage = h('div', 'my-offstage'), wanted = this.scene?.grid?.graph;
    const looks = getComputedStyle(this.root), none = { hover: () => undefined, select: () => undefined };
    this.root.append(stage); // looks are computed in the page
    for (let step = 0; story && step <= story.items.length && frames.length < MOST_FRAMES; step++) {
      const scene = story.scene(step, this.mode, true);
      if (!scene.grid || scene.grid.graph !== wanted) continue;
      const made = drawGrid(scene.grid, scene.gridStep, scene.values, none);
      stage.replaceChildren(made.root);
      frames.push({ picture: plain(made.root), width: made.width, height: made.height, title: scene.item?.title ?? 'Before the first step.', equation: parts(scene.item?.equation ?? []).map(plainText).join('     ') });
    }
    stage.remove();
    return animated(frames, { background: looks.backgroundColor, text: looks.getPropertyValue('--text'), muted: looks.getPropertyValue('--muted') });
  }

  /** Closes what lies over the graph; false when nothing did. */
  closeOverlay(): boolean {
    const over = this.root.querySelector('.my-help, .my-savemenu');
    over?.remove();
    if (!over && this.root.dataset.present !== undefined) { this.present(); return true; }
    if (over) this.root.focus();
    return over !== null;
  }

  present(): void {
    const on = this.root.dataset.present === undefined;
    this.setPresent(on);
    if (!on) { if (document.fullscreenElement) void document.exitFullscreen(); return; }
    void this.root.requestFullscreen?.().catch(() => undefined); // where full screen is refused, the viewer covers the window
  }

  private setPresent(on: boolean): void {
    this.source.replaceChildren(...(on ? [sourceListing(this.data.source, this.lineHooks)] : []));
    this.highlight([]); // marks the line of the step in it
    this.root.toggleAttribute('data-present', on);
    this.main.pane.largest = on ? 2 : 1.25;
    this.main.pane.smallest = on ? 0.9 : 0.78;
    setTimeout(() => { this.main.pane.fit(); void this.render(); }, 80);
  }
}
