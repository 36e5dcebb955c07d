/** Mirrors myia_notebook/snapshot.py. Fields that equal their default are absent in the JSON; `read` fills them in. */
import { Live, readLive } from './live';

export type Span = [number, number, number, number];

export interface NodeView {
  id: number; graph: number | null; kind: 'parameter' | 'apply' | 'constant'; role: string; name: string; label: string; op: string; symbol: string;
  inputs: number[]; callee: number | null; callees: number[]; type: string; value: string; span: Span | null; primal: number | null; keeps: string[]; how: string;
}
export interface GraphView {
  id: number; name: string; kind: string; parameters: number[]; output: number; captured: number; parent: number | null; primal: number | null; span: Span | null;
}
export interface State { root: number; graphs: GraphView[]; nodes: NodeView[] }
export interface Token { kind: string; text: string; role: string; node: number | null; body: Token[]; below: Token[] }
export interface Contribution { target: number; node: number; total: number; index: number; of: number; equation: Token[] }
export interface GradientStep {
  phase: 'forward' | 'seed' | 'backward' | 'return'; graph: number; primal: number | null; forward: number | null; sensitivity: number | null;
  keeps: number[]; contributions: Contribution[];
}
export interface Event {
  index: number; kind: string; title: string; reason: string; pass_name: string; rule: string; family: string; location: string; graph: number | null;
  focus: number[]; matched: number[]; produced: number[]; removed: number[]; added: NodeView[]; added_graphs: GraphView[]; changed: NodeView[];
  outputs: [number, number][]; equation: Token[]; after_equation: Token[]; gradient: GradientStep | null; time: number;
}
export interface ErrorView { code: string; kind: string; message: string; span: Span | null; hint: string; line_text: string }
export interface CodeText { language: string; title: string; lines: string[]; origin: number[]; nodes: number[][] }
/** The run, value by value: node `nodes[i]` got `values[i]` in call `calls[i]`; call c ran `graphs[c - 1]` and was made by call `forwards[c - 1]`. */
export interface Trace { nodes: number[]; calls: number[]; values: string[]; graphs: number[]; forwards: number[]; is_cut: boolean }
export interface Snapshot {
  stage: string; text: string; source: string; initial: State | null; final: State | null; events: Event[]; code: CodeText[]; error: ErrorView | null;
  result: string; trace: Trace | null; time: number;
}
export interface Payload { version: number; source: string; cell: string; options: { stage: string; height: number }; live: Live | null; stages: Snapshot[] }

type Raw = Record<string, any>;
import { expandEvents } from './deltas';
const text = (v: unknown): string => (typeof v === 'string' ? v : '');
const num = (v: unknown): number => (typeof v === 'number' ? v : 0);
const maybe = (v: unknown): number | null => (typeof v === 'number' ? v : null);
const list = (v: unknown): any[] => (Array.isArray(v) ? v : []);
const span = (v: unknown): Span | null => (Array.isArray(v) && v.length === 4 && v.every(x => typeof x === 'number') ? (v as Span) : null);

const token = (r: Raw): Token => ({ kind: text(r.kind), text: text(r.text), role: text(r.role), node: maybe(r.node), body: list(r.body).map(token), below: list(r.below).map(token) });
const node = (r: Raw): NodeView => ({
  id: num(r.id), graph: maybe(r.graph), kind: (text(r.kind) || 'apply') as NodeView['kind'], role: text(r.role), name: text(r.name), label: text(r.label), op: text(r.op),
  symbol: text(r.symbol), inputs: list(r.inputs).map(num), callee: maybe(r.callee), callees: list(r.callees).map(num), type: text(r.type), value: text(r.value),
  span: span(r.span), primal: maybe(r.primal), keeps: list(r.keeps).map(text), how: text(r.how)
});
const graph = (r: Raw): GraphView => ({
  id: num(r.id), name: text(r.name), kind: text(r.kind), parameters: list(r.parameters).map(num), output: num(r.output), captured: num(r.captured),
  parent: maybe(r.parent), primal: maybe(r.primal), span: span(r.span)
});
const state = (r: unknown): State | null => (r && typeof r === 'object' ? { root: num((r as Raw).root), graphs: list((r as Raw).graphs).map(graph), nodes: list((r as Raw).nodes).map(node) } : null);
const contribution = (r: Raw): Contribution => ({ target: num(r.target), node: num(r.node), total: num(r.total), index: num(r.index), of: num(r.of), equation: list(r.equation).map(token) });
const gradient = (r: unknown): GradientStep | null => (r && typeof r === 'object' ? {
  phase: text((r as Raw).phase) as GradientStep['phase'], graph: num((r as Raw).graph), primal: maybe((r as Raw).primal), forward: maybe((r as Raw).forward),
  sensitivity: maybe((r as Raw).sensitivity), keeps: list((r as Raw).keeps).map(num), contributions: list((r as Raw).contributions).map(contribution)
} : null);
const event = (r: Raw): Event => ({
  index: num(r.index), kind: text(r.kind), title: text(r.title), reason: text(r.reason), pass_name: text(r.pass_name), rule: text(r.rule), family: text(r.family),
  location: text(r.location), graph: maybe(r.graph), focus: list(r.focus).map(num), matched: list(r.matched).map(num), produced: list(r.produced).map(num),
  removed: list(r.removed).map(num), added: list(r.added).map(node), added_graphs: list(r.added_graphs).map(graph), changed: list(r.changed).map(node),
  outputs: list(r.outputs).filter(p => Array.isArray(p) && p.length === 2) as [number, number][], equation: list(r.equation).map(token), after_equation: list(r.after_equation).map(token), gradient: gradient(r.gradient), time: num(r.time)
});
const error = (r: unknown): ErrorView | null => (r && typeof r === 'object' ? {
  code: text((r as Raw).code), kind: text((r as Raw).kind), message: text((r as Raw).message), span: span((r as Raw).span), hint: text((r as Raw).hint), line_text: text((r as Raw).line_text)
} : null);
const code = (r: Raw): CodeText => ({ language: text(r.language), title: text(r.title), lines: list(r.lines).map(text), origin: list(r.origin).map(num), nodes: list(r.nodes).map(x => list(x).map(num)) });
export const readTrace = (r: unknown): Trace | null => {
  if (!r || typeof r !== 'object') return null;
  const t = { nodes: list((r as Raw).nodes).map(num), calls: list((r as Raw).calls).map(num), values: list((r as Raw).values).map(text), graphs: list((r as Raw).graphs).map(num),
    forwards: list((r as Raw).forwards).map(num), is_cut: (r as Raw).is_cut === true };
  return t.nodes.length === t.calls.length && t.nodes.length === t.values.length ? t : null;
};
const snapshot = (r: Raw): Snapshot => whole({ ...r, events: expandEvents(list(r.events), list(r.initial?.nodes)) });
const whole = (r: Raw): Snapshot => ({
  stage: text(r.stage), text: text(r.text), source: text(r.source), initial: state(r.initial), final: state(r.final), events: list(r.events).map(event),
  code: list(r.code).map(code), error: error(r.error), result: text(r.result), trace: readTrace(r.trace), time: num(r.time)
});

/** Reads a payload defensively: anything of the wrong type becomes its default. */
export function read(raw: unknown): Payload {
  const r: Raw = raw && typeof raw === 'object' ? (raw as Raw) : {};
  const options: Raw = r.options && typeof r.options === 'object' ? r.options : {};
  return { version: num(r.version), source: text(r.source), cell: text(r.cell), options: { stage: text(options.stage), height: num(options.height) }, live: readLive(r.live), stages: list(r.stages).map(snapshot) };
}
