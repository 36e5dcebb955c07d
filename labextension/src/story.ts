/** A stage as steps, and everything that is to be seen at one of them. Pure: the viewer draws what a `Scene` says. */
import { columns, Column, gridAt, Iteration, iterationOf, iterations, RunStep, runSteps, valuesAt } from './execution';
import { emptyLook, Look } from './graph';
import { Grid, rows } from './grid';
import { isDelta, Model, Replay } from './replay';
import { NodeView, Snapshot, Span, Token } from './snapshot';

export type Mode = 'before' | 'difference' | 'after';

/** One line of the list of steps. */
export interface Item {
  title: string; reason: string; group: string; note: string; equation: Token[]; after: Token[]; removed: number; added: number; isPass: boolean; place: string; words: string; kind: string;
}

/** One line of the textual difference of a rewrite. */
export interface Change { sign: '−' | '+'; text: string }

/** The iterations of the function at hand, with one variable over all of them. */
export interface Loop { word: string; name: string; variable: string; now: number; columns: Column[]; all: Iteration[]; hasSensitivity: boolean }

export interface Scene {
  model: Model; ghosts: NodeView[]; look: Look; focus: number[]; grid: Grid | null; gridStep: number; difference: Change[]; item: Item | null; loop: Loop | null; span: Span | null; values: (id: number) => string;
}

export class Story {
  readonly items: Item[];
  readonly isRewriting: boolean;
  readonly isRun: boolean;
  private replay: Replay;
  private run: RunStep[] = [];
  private reveal = new Map<number, number>();
  private base: Grid | null = null;
  private baseOf: number | null = null;
  private wide: Model | null = null;
  private forwards: Map<number, number> | null = null;
  private keptNodes: Set<number> | null = null;

  constructor(private stages: Snapshot[], readonly snapshot: Snapshot) {
    this.replay = new Replay(snapshot);
    this.isRewriting = isDelta(snapshot);
    this.isRun = snapshot.trace !== null;
    if (this.isRun) {
      this.run = runSteps(snapshot, this.adjoint(), this.primalNodes());
      this.items = this.runItems();
    } else this.items = snapshot.events.map(e => ({
      title: e.title, reason: e.reason, group: this.isRewriting ? e.pass_name : e.gradient ? this.graphName(e.gradient.graph) : '', note: this.isRewriting ? e.family : '', equation: e.equation, after: e.after_equation,
      removed: e.removed.length, added: e.added.filter(n => n.kind === 'apply').length, isPass: e.kind === 'pass', place: e.location ? `${e.family} · ${e.location}` : '',
      words: [e.rule, e.title, e.pass_name, e.family, e.location, e.graph === null ? '' : this.graphName(e.graph)].join(' ').toLowerCase(), kind: e.gradient?.phase ?? e.kind
    }));
    snapshot.events.forEach((e, i) => {
      const g = e.gradient;
      for (const id of g ? [g.forward, g.sensitivity, ...g.contributions.flatMap(c => [c.node, c.total])] : []) if (id !== null && !this.reveal.has(id)) this.reveal.set(id, i + 1);
    });
  }

  /** The nodes by which a ◀ reads what ▶ saved for it: leading parameters of ◀, by the names that the values have in the source. */
  private kept(): Set<number> {
    if (!this.keptNodes) this.keptNodes = new Set((this.adjoint()?.events ?? []).flatMap(e => e.gradient?.keeps ?? []));
    return this.keptNodes;
  }

  private adjoint(): Snapshot | undefined { return this.stages.find(s => s.stage === 'adjoint' && !s.error); }
  private graphName(id: number): string { for (const s of this.stages) for (const g of [...(s.final?.graphs ?? []), ...(s.initial?.graphs ?? [])]) if (g.id === id) return g.name; return ''; }
  private primalNodes(): Map<number, NodeView> {
    const typed = this.stages.find(s => s.stage === 'typed');
    return new Map([...(this.adjoint()?.initial?.nodes ?? []), ...(typed?.final?.nodes ?? [])].map(x => [x.id, x] as const));
  }

  private iterations(primal: number): Iteration[] { const s = this.snapshot; return s.trace ? iterations(s.trace, s.final?.graphs ?? [], primal) : []; }
  private word(primal: number): string {
    const kinds = (this.stages.find(s => s.stage === 'typed')?.final?.graphs ?? []);
    const g = kinds.find(x => x.id === primal);
    return g?.kind === 'loop' || g?.kind === 'branch' ? 'iteration' : 'call';
  }

  private runItems(): Item[] {
    const known = new Map<number, Iteration[]>(), all = (p: number): Iteration[] => { let f = known.get(p); if (!f) known.set(p, (f = this.iterations(p))); return f; };
    return this.run.map(s => {
      const its = all(s.primal), k = iterationOf(its, s.call) + 1, name = this.graphName(s.primal), value = this.snapshot.trace?.values[s.at] ?? '';
      return { title: s.title, reason: its.length > 1 && k ? `${s.backward ? 'Backward' : 'Forward'}, ${this.word(s.primal)} ${k} of ${its.length} of ${name}.` : '', group: s.primal ? `${s.backward ? '◀' : '▶'}${name}${its.length > 1 && k ? ` · ${k}` : ''}` : '', note: '',
        equation: s.equation, after: [], removed: 0, added: 0, isPass: false, place: '', words: `${s.title} ${name} ${value}`.toLowerCase(), kind: s.backward ? 'backward' : 'forward' };
    });
  }

  /** The step at which the first iteration of the loop at hand begins to be chosen: forward while going forward, else backward. */
  stepOf(loop: Loop, k: number, step: number): number {
    const it = loop.all[k], here = this.run[step - 1];
    const wanted = here?.backward && it.backward ? it.backward : it.forward;
    const found = this.run.findIndex(s => s.call === wanted && (!here || s.node === here.node));
    const any = found >= 0 ? found : this.run.findIndex(s => s.call === wanted);
    return any < 0 ? step : any + 1;
  }

  scene(step: number, mode: Mode, asGrid: boolean): Scene {
    const s = this.snapshot, item = step > 0 ? this.items[step - 1] ?? null : null;
    if (this.isRun && s.trace) return this.runScene(step, item, asGrid);
    const event = step > 0 ? s.events[step - 1] : undefined, look = emptyLook(), ghosts: NodeView[] = [];
    const model = this.replay.at(this.isRewriting ? (event && mode === 'before' ? step - 1 : step) : s.events.length);
    const shows = this.isRewriting && event !== undefined && mode === 'difference' && event.kind !== 'pass';
    if (!shows) for (const n of model.nodes.values()) if (n.role === 'sensitivity' && n.value) look.solid.add(n.id);
    if (s.stage === 'adjoint') look.kept = this.kept();
    if (shows && event) {
      const old = event.removed.length ? this.oldNodes(step, event.removed) : [];
      ghosts.push(...old);
      look.quiet = true;
      for (const id of event.removed) look.removed.add(id);
      for (const id of [...event.produced, ...event.added.map(n => n.id), ...event.changed.map(n => n.id)]) look.added.add(id);
    } else if (event) for (const id of event.focus) look.now.add(id);
    if (!this.isRewriting) for (const [id, at] of this.reveal) { if (at > step) look.todo.add(id); else if (at === step) look.appear.add(id); }
    const grid = asGrid && s.stage === 'adjoint' ? this.gridOf(event?.gradient?.graph ?? null, step === s.events.length) : null;
    const focus = event ? [...event.focus, ...event.produced, ...event.removed] : [];
    const first = focus.map(id => model.nodes.get(id)?.span).find(Boolean) ?? null;
    return { model, ghosts, look, focus, grid, gridStep: step, difference: event && this.isRewriting ? this.difference(step, ghosts.length ? ghosts : this.oldNodes(step, event.removed), model) : [], item, loop: null, span: first, values: id => model.nodes.get(id)?.value || model.nodes.get(this.forward(id))?.value || '' };
  }

  /** What a rewrite took away and put in, in words. */
  private difference(step: number, old: NodeView[], model: Model): Change[] {
    const event = this.snapshot.events[step - 1], before = new Map(old.map(n => [n.id, n] as const));
    const called = (n: NodeView | undefined): string => (n ? n.name || n.label || n.symbol : '…');
    const line = (n: NodeView): string => {
      const inputs = n.inputs.map(i => called(before.get(i) ?? model.nodes.get(i))), left = n.name || (n.label !== n.symbol && !n.label.includes('…') ? n.label : '');
      return `${left && left !== n.symbol ? `${left} = ` : ''}${written(n, inputs)}`;
    };
    const removed = old.filter(n => n.kind === 'apply').map((n): Change => ({ sign: '−', text: line(n) }));
    const added = event.added.filter(n => n.kind === 'apply').map((n): Change => ({ sign: '+', text: line(n) }));
    return [...removed, ...added];
  }

  /** The node of ▶ that computes what a primal node did: equations are written in primal nodes, values are those of ▶. */
  private forward(id: number): number {
    if (!this.forwards) {
      this.forwards = new Map();
      for (const n of this.adjoint()?.final?.nodes ?? []) if (n.kind === 'parameter' && n.how === '▶' && n.primal !== null) this.forwards.set(n.primal, n.id);
      for (const e of this.adjoint()?.events ?? []) if (e.gradient && e.gradient.primal !== null && e.gradient.forward !== null) this.forwards.set(e.gradient.primal, e.gradient.forward);
    }
    return this.forwards.get(id) ?? id;
  }

  private oldNodes(step: number, ids: number[]): NodeView[] {
    const old = this.replay.at(step - 1), found = ids.map(id => old.nodes.get(id)).filter((n): n is NodeView => n !== undefined);
    this.replay.at(step);
    return found;
  }

  private runScene(step: number, item: Item | null, asGrid: boolean): Scene {
    const s = this.snapshot, trace = s.trace as NonNullable<Snapshot['trace']>, here = step > 0 ? this.run[step - 1] : undefined, look = emptyLook();
    const at = here ? here.at : -1, graphs = s.final?.graphs ?? [];
    const primal = here?.primal ? here.primal : this.busiest(step > 0);
    const all = primal ? this.iterations(primal) : [], k = Math.max(0, here && here.primal ? iterationOf(all, here.call) : step > 0 ? all.length - 1 : 0), it = all[k];
    const own = new Set(graphs.filter(g => (g.primal ?? g.id) === primal).map(g => g.id));
    const seen = valuesAt(trace, at, new Set(it ? [it.forward, it.backward] : []), it ? own : new Set());
    const model = this.runModel();
    look.texts = seen;
    look.kept = this.kept();
    for (const n of model.nodes.values()) {
      if (n.kind === 'constant') continue;
      if (!seen.has(n.id)) look.wait.add(n.id);
      else if (n.role === 'sensitivity') look.solid.add(n.id);
    }
    if (here) look.now.add(here.node);
    const whole = asGrid && primal ? this.gridOf(primal, false) : null;
    const grid = whole && it ? gridAt(whole, this.run, it, trace) : null;
    const word = this.word(primal), phrase = all.length > 1 ? `${word} ${k + 1} of ${all.length}` : '';
    if (grid && phrase) grid.phrases = [phrase, phrase];
    return { model, ghosts: [], look, focus: here ? [here.node] : [], grid, gridStep: step, difference: [], item, loop: all.length > 1 ? this.loop(all, k, at, primal, here, word) : null, span: here?.span ?? null, values: id => seen.get(id) ?? seen.get(this.forward(id)) ?? '' };
  }

  /** The graph of a run, laid out once for the widest value that each node ever has. */
  private runModel(): Model {
    if (this.wide) return this.wide;
    const widest = new Map<number, string>(), trace = this.snapshot.trace;
    trace?.nodes.forEach((id, i) => { if ((widest.get(id) ?? 'not yet').length < trace.values[i].length || !widest.has(id)) widest.set(id, trace.values[i].length < 7 ? 'not yet' : trace.values[i]); });
    this.wide = this.replay.at(0).clone();
    for (const [id, n] of this.wide.nodes) if (n.kind !== 'constant') this.wide.nodes.set(id, { ...n, value: widest.get(id) ?? 'not yet' });
    return this.wide;
  }

  /** One variable over the iterations: that of the step. */
  private loop(all: Iteration[], k: number, at: number, primal: number, here: RunStep | undefined, word: string): Loop {
    const grid = this.gridOf(primal, false), trace = this.snapshot.trace as NonNullable<Snapshot['trace']>;
    const row = grid?.rows.find(r => here && (r.forward === here.node || r.seed === here.node || r.sums.some(x => x.total === here.node))) ?? grid?.rows.find(r => r.sums.length > 0) ?? grid?.rows[0];
    const totals = row ? (row.seed !== null ? [row.seed] : row.sums.map(x => x.total)) : [];
    const node = row ? row.forward ?? row.id : here?.node ?? 0, name = row?.name ?? this.snapshot.final?.nodes.find(n => n.id === node)?.name ?? '';
    return { word, name: this.graphName(primal), variable: name, now: k, columns: columns(trace, all, at, node, totals), all, hasSensitivity: totals.length > 0 };
  }

  private busiest(any: boolean): number {
    const count = new Map<number, number>();
    for (const s of this.run) if (s.primal) count.set(s.primal, (count.get(s.primal) ?? 0) + 1);
    return any ? [...count].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 0 : this.run[0]?.primal ?? 0;
  }

  /** The grid of a function (`null`: of the one with most steps). */
  private gridOf(graph: number | null, atEnd: boolean): Grid | null {
    const s = this.adjoint();
    if (!s) return null;
    let wanted = graph;
    if (wanted === null || atEnd) {
      const count = new Map<number, number>();
      for (const e of s.events) if (e.gradient) count.set(e.gradient.graph, (count.get(e.gradient.graph) ?? 0) + 1);
      wanted = [...count].sort((a, b) => b[1] - a[1])[0]?.[0] ?? null;
    }
    if (wanted === null) return null;
    if (this.baseOf === wanted) return this.base;
    const typed = this.stages.find(x => x.stage === 'typed');
    const g = [...(s.initial?.graphs ?? []), ...(typed?.final?.graphs ?? [])].find(x => x.id === wanted);
    if (!g) return null;
    const finals = new Map((s.final?.nodes ?? []).map(x => [x.id, x] as const));
    const label = (id: number): string => { const x = finals.get(id); return x ? x.name || x.label : ''; };
    const made = rows(s.events, g.id, this.primalNodes(), g.parameters, g.captured, g.name, label);
    for (const r of made?.rows ?? []) if (r.isParameter && r.forward === null) r.forward = [...finals.values()].find(x => x.kind === 'parameter' && x.how === '▶' && x.primal === r.id)?.id ?? null;
    this.base = made;
    this.baseOf = wanted;
    return made;
  }
}

/** An operation as a line of a program. */
function written(n: NodeView, inputs: string[]): string {
  const symbol = n.symbol || n.op;
  if (symbol === '[ ]' && inputs.length === 2) return `${inputs[0]}[${inputs[1]}]`;
  if (symbol.replaceAll(' ', '') === '(,)' || n.op === 'make_tuple') return `(${inputs.join(', ')})`;
  return /^[^\p{L}\s▶◀∇]{1,2}$/u.test(symbol) && inputs.length === 2 ? `${inputs[0]} ${symbol} ${inputs[1]}` : `${symbol}(${inputs.join(', ')})`;
}
