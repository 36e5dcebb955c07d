/** The viewer: stages, step player, equation, graph, and the panes beside it. `mount` puts it into an element and returns how to take it away. */
import { autoCollapse, build, Drawing } from './dot';
import { equation, plainText } from './equation';
import { drawGrid, Grid, rows } from './grid';
import { describe, emptyLook, GraphPane, Look, svg } from './graph';
import { LayoutPool } from './layout';
import { countNodes, isDelta, Model, modelAt, nodeAt } from './replay';
import { CodeText, Event, NodeView, Payload, read, Snapshot, Span, Token } from './snapshot';
import { STYLE } from './style';

const ICONS: Record<string, string> = {
  first: 'M4 3v10M13 3 7 8l6 5z', prev: 'M11 3 5 8l6 5z', play: 'M5 3l8 5-8 5z', pause: 'M5 3v10M11 3v10', next: 'M5 3l6 5-6 5z', last: 'M12 3v10M3 3l6 5-6 5z',
  plus: 'M8 3v10M3 8h10', minus: 'M3 8h10', fit: 'M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3', help: 'M6 6a2 2 0 1 1 3 2c-1 .6-1 1-1 2M8 12.6v.1', full: 'M9 7l4-4M9 3h4v4M7 9l-4 4M7 13H3V9'
};
const KEYS: [string, string][] = [['← → or j k', 'step back, forward'], ['Home End', 'first, last step'], ['space', 'play, pause'], ['[ ]', 'previous, next stage'], ['1 – 7', 'a stage'],
  ['/', 'search'], ['D', 'before, difference, after'], ['+ − 0', 'zoom, fit'], ['P', 'present (full screen)'], ['?', 'this page'], ['Esc', 'close']];
const STEP_MS = 1100, AUTO_LIMIT = 90;

type El = HTMLElement;
function h<K extends keyof HTMLElementTagNameMap>(tag: K, cls = '', text?: string, ...children: Node[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  if (text !== undefined) e.textContent = text;
  e.append(...children);
  return e;
}
function icon(name: string, label: string, action: () => void, cls = 'my-ib'): HTMLButtonElement {
  const b = h('button', cls);
  b.type = 'button';
  b.title = label;
  b.setAttribute('aria-label', label);
  const s = svg('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true' });
  s.append(svg('path', { d: ICONS[name] }));
  b.append(s);
  b.addEventListener('click', action);
  return b;
}

export function mount(el: El, payload: unknown, workerSource: string): () => void {
  const viewer = new Viewer(el, read(payload), new LayoutPool(workerSource));
  return () => viewer.dispose();
}

class Viewer {
  private root = h('div', 'my');
  private rail = h('div', 'my-rail');
  private player = h('div', 'my-player');
  private band = h('div', 'my-band');
  private body = h('div', 'my-body');
  private side = h('div', 'my-side');
  private tabs = h('div', 'my-tabs');
  private pane = h('div', 'my-pane');
  private note = h('div', 'my-note');
  private slider = h('input', 'my-slider');
  private position = h('span', 'my-pos');
  private playButton: HTMLButtonElement;
  private graph: GraphPane;
  private stage = 0; private step = 0; private speed = 1; private timer = 0; private mode: 'before' | 'difference' | 'after' = 'difference'; private tab = '';
  private collapsed = new Map<string, Set<number>>();
  private selected: number | null = null; private lit = new Set<number>();
  private model = new Model(null); private drawing: Drawing | null = null; private drawnKey = ''; private sequence = 0;
  private reveal = new Map<number, number>();
  private asGrid = true;
  private onSource: (e: globalThis.Event) => void;

  constructor(private host: El, private data: Payload, private pool: LayoutPool) {
    this.root.append(h('style', '', STYLE));
    this.root.tabIndex = 0;
    this.root.setAttribute('role', 'application');
    this.root.setAttribute('aria-label', 'myia viewer');
    this.root.dataset.lmSuppressShortcuts = 'true'; // the notebook's own keys must not act inside the viewer
    this.root.style.height = `${data.options.height || 640}px`;
    this.theme();
    this.graph = new GraphPane({ hover: id => this.hover(id), select: id => this.select(id), toggle: g => this.toggle(g) });
    const zoom = h('div', 'my-zoom');
    zoom.append(icon('plus', 'zoom in', () => this.graph.zoom(1.25)), icon('minus', 'zoom out', () => this.graph.zoom(0.8)), icon('fit', 'fit', () => this.graph.fit()));
    this.graph.el.append(zoom, this.note);
    this.tabs.setAttribute('role', 'tablist');
    this.side.append(this.tabs, this.pane);
    this.body.append(this.graph.el, this.side);
    this.playButton = icon('play', 'play', () => this.toggleplay(), 'my-ib my-play');
    this.slider.type = 'range';
    this.slider.min = '0';
    this.slider.setAttribute('aria-label', 'step');
    this.slider.addEventListener('input', () => this.go(Number(this.slider.value)));
    const speed = h('button', 'my-speed', '1×');
    speed.title = 'speed';
    speed.addEventListener('click', () => { this.speed = this.speed === 1 ? 2 : this.speed === 2 ? 4 : this.speed === 4 ? 0.5 : 1; speed.textContent = this.speed === 0.5 ? '½×' : `${this.speed}×`; });
    this.player.append(icon('first', 'first step', () => this.go(0)), icon('prev', 'step back', () => this.go(this.step - 1)), this.playButton,
      icon('next', 'step forward', () => this.go(this.step + 1)), icon('last', 'last step', () => this.go(this.events().length)), this.slider, this.position, speed);
    this.root.append(this.rail, this.player, this.band, this.body, this.legend());
    this.root.addEventListener('keydown', e => this.key(e));
    this.host.append(this.root);
    this.onSource = e => this.fromSource(e as CustomEvent);
    document.addEventListener('myia:source', this.onSource);
    const wanted = data.stages.findIndex(s => s.stage === data.options.stage);
    const failed = data.stages.findIndex(s => s.error);
    this.stage = wanted >= 0 ? wanted : failed >= 0 ? failed : Math.max(0, data.stages.findIndex(s => s.stage === 'adjoint' && s.events.length > 0));
    this.enter();
  }

  dispose(): void { clearInterval(this.timer); document.removeEventListener('myia:source', this.onSource); this.pool.dispose(); this.root.remove(); }

  private theme(): void {
    const lab = document.body.dataset.jpThemeLight;
    const dark = lab !== undefined ? lab === 'false' : matchMedia('(prefers-color-scheme: dark)').matches;
    this.root.toggleAttribute('data-dark', dark);
  }

  private snapshot(): Snapshot | undefined { return this.data.stages[this.stage]; }
  private events(): Event[] { return this.snapshot()?.events ?? []; }

  // -- stages

  private enter(): void {
    const s = this.snapshot();
    this.stop();
    this.selected = null;
    this.step = s ? s.events.length : 0;
    this.reveal.clear();
    s?.events.forEach((e, i) => {
      const g = e.gradient;
      const ids = g ? [g.forward, g.sensitivity, ...g.contributions.flatMap(c => [c.node, c.total])] : e.kind === 'infer' ? [] : [];
      for (const id of ids) if (id !== null && !this.reveal.has(id)) this.reveal.set(id, i + 1);
    });
    this.tab = '';
    this.drawRail();
    this.render();
  }

  private drawRail(): void {
    this.rail.replaceChildren();
    this.rail.setAttribute('role', 'tablist');
    this.data.stages.forEach((s, i) => {
      if (i) this.rail.append(h('span', 'my-sep', '›'));
      const b = h('button', 'my-stage');
      b.setAttribute('role', 'tab');
      b.setAttribute('aria-selected', String(i === this.stage));
      b.dataset.stage = s.stage;
      b.append(h('b', '', s.stage), h('small', '', this.measure(s)));
      if (s.error) b.dataset.error = '';
      b.addEventListener('click', () => { this.stage = i; this.enter(); });
      this.rail.append(b);
    });
    const tools = h('div', 'my-tools');
    const search = h('input', 'my-search');
    search.placeholder = 'Search  /';
    search.setAttribute('aria-label', 'search nodes');
    search.addEventListener('input', () => this.search(search.value));
    search.addEventListener('keydown', e => { e.stopPropagation(); if (e.key === 'Escape') { search.value = ''; this.search(''); this.root.focus(); } });
    tools.append(search, icon('help', 'keys and legend', () => this.help()), icon('full', 'present', () => this.present()));
    this.rail.append(h('span', 'my-space'), tools);
  }

  private measure(s: Snapshot): string {
    if (s.error) return s.error.code;
    if (s.stage === 'run') return s.result || s.text;
    if (s.stage === 'code') return `${s.code[0]?.lines.length ?? 0} lines`;
    const n = countNodes(s.final);
    return `${n} node${n === 1 ? '' : 's'}${s.time ? ` · ${s.time < 10 ? s.time.toFixed(1) : Math.round(s.time)} ms` : ''}`;
  }

  // -- steps

  private go(step: number): void {
    const n = this.events().length;
    this.step = Math.max(0, Math.min(n, step));
    this.render();
  }

  private toggleplay(): void {
    if (this.timer) { this.stop(); return; }
    if (this.step >= this.events().length) this.step = 0;
    this.setPlay('pause');
    this.timer = window.setInterval(() => { if (this.step >= this.events().length) this.stop(); else this.go(this.step + 1); }, STEP_MS / this.speed);
    this.render();
  }

  private stop(): void { clearInterval(this.timer); this.timer = 0; this.setPlay('play'); }
  private setPlay(name: string): void { this.playButton.querySelector('path')?.setAttribute('d', ICONS[name]); this.playButton.setAttribute('aria-label', name); }

  private current(): Event | null { return this.step > 0 ? this.events()[this.step - 1] : null; }

  // -- drawing

  private async render(): Promise<void> {
    const s = this.snapshot();
    const my = ++this.sequence;
    const n = this.events().length;
    this.player.hidden = n === 0;
    this.slider.max = String(n);
    this.slider.value = String(this.step);
    this.position.replaceChildren(h('b', '', String(this.step)), document.createTextNode(` of ${n}`));
    this.root.dataset.step = String(this.step);
    this.root.dataset.stage = s?.stage ?? '';
    this.drawBand();
    this.drawSide();
    if (!s) return;
    const delta = isDelta(s);
    const event = this.current();
    const grid = s.stage === 'adjoint' && this.asGrid ? this.grid(s) : null;
    if (grid) {
      this.model = modelAt(s, n);
      const made = drawGrid(grid, this.step, this.valueOf, id => this.hover(id));
      this.graph.place_(made.root, made.width, made.height, this.root.dataset.drawn === `grid ${grid.graph}`, made.now);
      this.root.dataset.drawn = `grid ${grid.graph}`;
      this.drawnKey = '';
      this.note.textContent = '';
      this.root.dataset.ready = '1';
      return;
    }
    const before = delta && event && this.mode !== 'after';
    this.model = delta ? modelAt(s, before && this.mode === 'before' ? this.step - 1 : this.step) : modelAt(s, n);
    const ghosts: NodeView[] = [];
    if (delta && event && this.mode === 'difference') {
      const old = modelAt(s, this.step - 1);
      for (const id of event.removed) { const g = old.nodes.get(id); if (g) ghosts.push(g); }
    }
    let closed = this.collapsed.get(s.stage);
    if (!closed) { closed = autoCollapse(this.model, AUTO_LIMIT); this.collapsed.set(s.stage, closed); }
    const detail = s.stage === 'typed' ? 'type' : 'value';
    this.drawing = build(this.model, closed, detail, ghosts);
    const key = this.drawing.dot + s.stage + [...this.drawing.boxes.values()].map(b => b.lines.join('|')).join('~');
    if (key !== this.drawnKey) {
      try {
        const layout = await this.pool.layout(this.drawing.dot);
        if (my !== this.sequence || !this.drawing) return;
        const same = this.drawnKey !== '' && this.root.dataset.drawn === s.stage;
        this.graph.draw(this.model, this.drawing, layout, same);
        this.drawnKey = key;
        this.root.dataset.drawn = s.stage;
      } catch (problem) {
        this.root.dataset.error = String(problem);
        this.note.textContent = `The graph could not be drawn: ${String(problem)}`;
        return;
      }
    }
    this.graph.look(this.look());
    this.note.textContent = closed.size ? `${closed.size} function${closed.size === 1 ? '' : 's'} closed` : '';
    if (event) { const target = event.focus.find(id => this.graph.has(id)); if (target !== undefined) this.graph.show(target); }
    this.root.dataset.ready = '1';
  }

  /** The grid of the function that the current step belongs to (before the first step: of the first function; at the end: of the longest). */
  private grid(s: Snapshot): Grid | null {
    const typed = this.data.stages.find(x => x.stage === 'typed');
    const primal = new Map([...(s.initial?.nodes ?? []), ...(typed?.final?.nodes ?? [])].map(x => [x.id, x] as const));
    const graphs = new Map([...(s.initial?.graphs ?? []), ...(typed?.final?.graphs ?? [])].map(g => [g.id, g] as const));
    const finals = new Map((s.final?.nodes ?? []).map(x => [x.id, x] as const));
    const count = new Map<number, number>();
    for (const e of s.events) if (e.gradient) count.set(e.gradient.graph, (count.get(e.gradient.graph) ?? 0) + 1);
    let wanted = this.current()?.gradient?.graph ?? null;
    if (wanted === null || this.step === s.events.length) wanted = [...count.entries()].sort((a, b) => b[1] - a[1])[0]?.[0] ?? null;
    const g = wanted === null ? undefined : graphs.get(wanted);
    if (!g) return null;
    const label = (id: number): string => { const x = finals.get(id); return x ? x.name || x.label : ''; };
    const made = rows(s.events, g.id, primal, g.parameters, g.captured, g.name, label);
    for (const r of made?.rows ?? []) if (r.isParameter && r.forward === null) r.forward = [...finals.values()].find(x => x.kind === 'parameter' && x.how === '▶' && x.primal === r.id)?.id ?? null;
    return made;
  }

  private look(): Look {
    const look = emptyLook(), s = this.snapshot(), event = this.current();
    for (const id of this.lit) look.lit.add(id);
    if (this.selected !== null) look.lit.add(this.selected);
    if (!s) return look;
    for (const n of this.model.nodes.values()) if (n.role === 'sensitivity' && n.value) look.solid.add(n.id);
    if (isDelta(s) && event && this.mode === 'difference') {
      look.quiet = true;
      for (const id of event.removed) look.removed.add(id);
      for (const id of event.produced) look.added.add(id);
      for (const n of event.added) look.added.add(n.id);
    } else if (event) {
      for (const id of event.focus) look.now.add(id);
    }
    if (!isDelta(s)) for (const [id, at] of this.reveal) { if (at > this.step) look.todo.add(id); else if (at === this.step) look.appear.add(id); }
    return look;
  }

  private toggle(graph: number): void {
    const s = this.snapshot();
    if (!s) return;
    const closed = this.collapsed.get(s.stage) ?? new Set<number>();
    if (closed.has(graph)) closed.delete(graph); else if (graph !== this.model.root) closed.add(graph);
    this.collapsed.set(s.stage, closed);
    this.render();
  }

  private valueOf = (id: number): string => this.model.nodes.get(id)?.value ?? '';

  private drawBand(): void {
    const s = this.snapshot(), event = this.current();
    this.band.replaceChildren();
    if (!s || s.error || this.events().length === 0) { this.band.hidden = true; return; }
    this.band.hidden = false;
    const say = h('div', 'my-say');
    if (!event) say.append(h('b', '', 'Before the first step.'), h('span', '', `${this.events().length} steps. Press space to play.`));
    else {
      say.append(h('b', '', event.title), h('span', '', event.reason));
      if (event.location) say.append(h('code', '', `${event.family} · ${event.location}`));
      if (event.gradient) {
        const b = h('button', 'my-tab', this.asGrid ? 'Show the whole graph' : 'Show the grid');
        b.addEventListener('click', () => { this.asGrid = !this.asGrid; this.drawnKey = ''; this.render(); });
        say.append(b);
      }
      if (event.kind === 'rewrite') {
        const modes = h('div');
        for (const mode of ['before', 'difference', 'after'] as const) {
          const b = h('button', 'my-tab', mode[0].toUpperCase() + mode.slice(1));
          b.setAttribute('aria-selected', String(this.mode === mode));
          b.addEventListener('click', () => { this.mode = mode; this.render(); });
          modes.append(b);
        }
        say.append(modes);
      }
    }
    const eq = h('div', 'my-eq');
    if (event?.equation.length) eq.append(equation(event.equation, this.valueOf, true));
    this.band.append(say, eq);
  }

  // -- panes

  private drawSide(): void {
    const s = this.snapshot();
    this.tabs.replaceChildren();
    this.pane.replaceChildren();
    if (!s) return;
    const names: string[] = [];
    if (s.error) names.push('Error');
    if (s.events.length) names.push(s.stage === 'optimized' ? 'Rewrites' : s.stage === 'adjoint' ? 'Derivation' : 'Steps');
    for (const c of s.code) names.push(c.title);
    names.push('Source');
    if (s.stage !== 'code' && s.stage !== 'run') names.push('Text');
    if (this.selected !== null) names.push('Node');
    if (!names.includes(this.tab)) this.tab = names[0];
    for (const name of names) {
      const b = h('button', 'my-tab', name[0].toUpperCase() + name.slice(1));
      b.setAttribute('role', 'tab');
      b.setAttribute('aria-selected', String(name === this.tab));
      b.addEventListener('click', () => { this.tab = name; this.drawSide(); });
      this.tabs.append(b);
    }
    const code = s.code.find(c => c.title === this.tab);
    if (this.tab === 'Error') this.errorPane(s);
    else if (code) this.codePane(code);
    else if (this.tab === 'Text') this.textPane(s.text);
    else if (this.tab === 'Source') this.sourcePane();
    else if (this.tab === 'Node') this.nodePane();
    else this.listPane(s);
  }

  private errorPane(s: Snapshot): void {
    const e = s.error;
    if (!e) return;
    const box = h('div', 'my-error');
    box.append(h('b', '', `${e.code}  ${e.message}`));
    if (e.line_text && e.span) {
      const line = e.line_text.trimStart(), shift = e.line_text.length - line.length;
      box.append(h('pre', '', `line ${e.span[0]}: ${line}\n${' '.repeat(`line ${e.span[0]}: `.length + Math.max(0, e.span[1] - shift))}${'^'.repeat(Math.max(1, e.span[3] - e.span[1]))}`));
    }
    if (e.hint) box.append(h('p', '', e.hint));
    this.pane.append(box);
  }

  private listPane(s: Snapshot): void {
    const list = h('ul', 'my-list');
    let family = '', nothing = 0;
    const from = s.events.length > 600 ? Math.max(0, this.step - 300) : 0, to = Math.min(s.events.length, from + 600);
    let now: El | null = null;
    for (let i = from; i < to; i++) {
      const e = s.events[i];
      if (e.kind === 'pass') { nothing++; if (i + 1 !== this.step) continue; }
      if (s.stage === 'optimized' && e.pass_name !== family) {
        family = e.pass_name;
        const head = h('h4', '', family);
        head.append(h('span', '', e.family));
        list.append(head);
      }
      const li = h('li');
      li.append(h('i', '', String(i + 1)));
      if (e.equation.length) li.append(equation(e.equation, () => '', false), h('span', 'jp-sr-only my-sr', ''));
      else li.append(document.createTextNode(e.title));
      if (e.removed.length || e.added.length) {
        const d = h('span', 'my-delta');
        d.append(h('span', 'my-minus', `−${e.removed.length} `), h('span', 'my-plus', `+${e.added.filter(n => n.kind === 'apply').length}`));
        li.append(d);
      }
      li.title = e.equation.length ? plainText(e.equation) : e.reason;
      if (i + 1 === this.step) { li.dataset.now = ''; now = li; } else if (i + 1 > this.step) li.dataset.todo = '';
      li.addEventListener('click', () => this.go(i + 1));
      list.append(li);
    }
    if (nothing) list.append(h('h4', '', `${nothing} pass${nothing === 1 ? '' : 'es'} changed nothing`));
    this.pane.append(list);
    if (now) { const top = now.offsetTop; if (top < this.pane.scrollTop || top > this.pane.scrollTop + this.pane.clientHeight - 40) this.pane.scrollTop = top - this.pane.clientHeight / 2; }
  }

  private textPane(text: string): void { this.codeLines(text.split('\n'), [], []); }
  private codePane(code: CodeText): void { this.codeLines(code.lines, code.origin, code.nodes); }

  private codeLines(lines: string[], origin: number[], nodes: number[][]): void {
    const pre = h('div', 'my-code');
    lines.slice(0, 4000).forEach((line, i) => {
      const row = h('div');
      row.append(h('span', 'my-ln', String(i + 1)), document.createTextNode(line));
      if (origin[i]) row.addEventListener('pointerenter', () => this.highlight([[origin[i], 0, origin[i], 1000]]));
      if (nodes[i]?.length) { row.addEventListener('pointerenter', () => { this.lit = new Set(nodes[i]); this.graph.look(this.look()); }); }
      row.addEventListener('pointerleave', () => { this.lit.clear(); this.highlight([]); this.graph.look(this.look()); });
      pre.append(row);
    });
    if (lines.length > 4000) pre.append(h('div', '', `… ${lines.length - 4000} more lines`));
    this.pane.append(pre);
  }

  private sourcePane(): void {
    const pre = h('div', 'my-code my-source');
    this.data.source.split('\n').forEach((line, i) => {
      const row = h('div');
      row.dataset.line = String(i + 1);
      row.append(h('span', 'my-ln', String(i + 1)), h('span', '', line));
      row.addEventListener('pointermove', e => {
        const text = row.lastElementChild as El;
        const box = text.getBoundingClientRect();
        const column = line.length ? Math.floor(((e.clientX - box.left) / Math.max(1, box.width)) * line.length) : 0;
        this.light(i + 1, column);
      });
      row.addEventListener('pointerleave', () => { this.lit.clear(); this.graph.look(this.look()); });
      pre.append(row);
    });
    this.pane.append(pre);
  }

  private markSource(spans: Span[]): void {
    this.pane.querySelectorAll<El>('.my-source div').forEach(row => {
      const line = Number(row.dataset.line), span = spans.find(s => line >= s[0] && line <= s[2]);
      row.toggleAttribute('data-lit', Boolean(span));
      const cell = row.lastElementChild as El, text = cell.textContent ?? '';
      if (span && span[0] === span[2]) {
        const mark = h('mark', '', text.slice(span[1], span[3]));
        cell.replaceChildren(document.createTextNode(text.slice(0, span[1])), mark, document.createTextNode(text.slice(span[3])));
      } else cell.replaceChildren(document.createTextNode(text));
    });
  }

  private nodePane(): void {
    const n = this.selected === null ? undefined : this.model.nodes.get(this.selected);
    if (!n) return;
    const list = h('dl', 'my-props');
    const add = (k: string, v: string) => { if (v) list.append(h('dt', '', k), h('dd', '', v)); };
    add('name', n.name || n.label);
    add('operation', n.op);
    add('type', n.type);
    add('value', n.value);
    add('role', n.role);
    add('keeps', n.keeps.join(', '));
    add('line', n.span ? String(n.span[0]) : '');
    add('made by', n.how);
    add('uses', [...this.model.nodes.values()].filter(x => x.inputs.includes(n.id)).map(x => x.name || x.label || x.symbol).join(', '));
    this.pane.append(list);
  }

  // -- links

  private hover(id: number | null): void {
    const n = id === null ? undefined : this.model.nodes.get(id);
    this.highlight(n?.span ? [n.span] : []);
    this.lit.clear();
    if (n) {
      for (const x of this.model.nodes.values()) if ((n.primal !== null && (x.id === n.primal || x.primal === n.primal)) || x.primal === n.id) if (x.id !== n.id && x.kind !== 'constant') this.lit.add(x.id);
    }
    this.graph.look(this.look());
  }

  private highlight(spans: Span[]): void {
    this.markSource(spans);
    this.host.dispatchEvent(new CustomEvent('myia:highlight', { bubbles: true, composed: true, detail: { source: this.data.source, spans } }));
  }

  private select(id: number): void {
    this.selected = this.selected === id ? null : id;
    if (this.selected !== null) this.tab = 'Node';
    this.drawSide();
    this.graph.look(this.look());
  }

  private light(line: number, column: number): void {
    this.lit = new Set(nodeAt(this.model.nodes.values(), line, column));
    this.graph.look(this.look());
  }

  /** The labextension tells where the pointer or the cursor is in the cell's editor. */
  private fromSource(e: CustomEvent): void {
    const d = e.detail as { cell?: Element; line?: number; column?: number } | null;
    const cell = this.host.closest('.jp-Cell');
    if (!d || !cell || d.cell !== cell) return;
    if (typeof d.line !== 'number' || typeof d.column !== 'number') { this.lit.clear(); this.graph.look(this.look()); return; }
    this.light(d.line, d.column);
  }

  private search(text: string): void {
    const q = text.trim().toLowerCase();
    this.lit = new Set(q ? [...this.model.nodes.values()].filter(n => describe(n).toLowerCase().includes(q)).map(n => n.id) : []);
    this.graph.look(this.look());
    const first = [...this.lit].find(id => this.graph.has(id));
    if (first !== undefined) this.graph.show(first);
    this.note.textContent = q ? `${this.lit.size} found` : '';
  }

  // -- keys, help, presentation

  private key(e: KeyboardEvent): void {
    if (e.target instanceof HTMLInputElement && e.target.type !== 'range') return;
    const stages = this.data.stages.length;
    const actions: Record<string, () => void> = {
      ArrowRight: () => this.go(this.step + 1), j: () => this.go(this.step + 1), ArrowLeft: () => this.go(this.step - 1), k: () => this.go(this.step - 1),
      Home: () => this.go(0), End: () => this.go(this.events().length), ' ': () => this.toggleplay(),
      '[': () => { this.stage = Math.max(0, this.stage - 1); this.enter(); }, ']': () => { this.stage = Math.min(stages - 1, this.stage + 1); this.enter(); },
      d: () => { this.mode = this.mode === 'before' ? 'difference' : this.mode === 'difference' ? 'after' : 'before'; this.render(); },
      '+': () => this.graph.zoom(1.25), '-': () => this.graph.zoom(0.8), '0': () => this.graph.fit(), p: () => this.present(), '?': () => this.help(),
      '/': () => this.rail.querySelector<HTMLInputElement>('.my-search')?.focus(), Escape: () => this.root.querySelector('.my-help')?.remove()
    };
    const n = Number(e.key);
    const action = actions[e.key] ?? actions[e.key.toLowerCase()] ?? (n >= 1 && n <= stages ? () => { this.stage = n - 1; this.enter(); } : undefined);
    if (!action || e.ctrlKey || e.metaKey || e.altKey) return;
    action();
    e.preventDefault();
    e.stopPropagation();
  }

  private present(): void { if (document.fullscreenElement) void document.exitFullscreen(); else void this.root.requestFullscreen?.().then(() => setTimeout(() => this.graph.fit(), 60)); }

  private help(): void {
    const open = this.root.querySelector('.my-help');
    if (open) { open.remove(); return; }
    const box = h('div', 'my-help');
    const table = h('table');
    for (const [k, what] of KEYS) { const r = h('tr'); const key = h('td'); key.append(h('kbd', '', k)); r.append(key, h('td', '', what)); table.append(r); }
    box.append(h('h3', '', 'Keys'), table, h('p', '', 'Primal: the function itself. ▶ the same values, keeping what ◀ will need. ◀ backpropagator: from the sensitivity of the result to those of the arguments. ∇ sensitivity: how much the result changes with this value.'), h('p', '', 'Click a closed function to open it; double-click an open one to close it.'));
    this.root.append(box);
  }

  private legend(): El {
    const bar = h('div', 'my-legend my-svg');
    const items: [string, string, string][] = [['r-primal', 'parameter', 'pill'], ['r-forward', 'forward ▶', 'rect'], ['r-backpropagator', 'backpropagator ◀', 'sign'], ['r-sensitivity solid', 'sensitivity ∇', 'pill'],
      ['r-free', 'captured', 'pill'], ['r-constant', 'constant', 'cut'], ['r-primal todo', 'not yet', 'rect']];
    for (const [cls, text, form] of items) {
      const s = h('span');
      const v = svg('svg', { viewBox: '0 0 30 16', 'aria-hidden': 'true' });
      const g = svg('g', { class: `node ${cls}` });
      const d = form === 'pill' ? 'M8,1 H22 A7,7 0 0 1 22,15 H8 A7,7 0 0 1 8,1 Z' : form === 'sign' ? 'M8,1 H29 V15 H8 L1,8 Z' : form === 'cut' ? 'M2,1 H23 L28,6 V15 H2 Z' : 'M4,1 H26 Q29,1 29,4 V12 Q29,15 26,15 H4 Q1,15 1,12 V4 Q1,1 4,1 Z';
      g.append(svg('path', { class: 'shape', d }));
      v.append(g);
      s.append(v, document.createTextNode(text));
      bar.append(s);
    }
    return bar;
  }
}

export type { Token };
