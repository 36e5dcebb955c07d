/** Live inputs: what the page may ask of the kernel, and what an answer changes. Pure but for the two ways to ask: over the widget's model, or by an
 * event that the labextension answers through the notebook's kernel. Where nobody answers, the picture stays as it was. */
import { NodeView, Payload, readTrace, Span } from './snapshot';

export interface Input { name: string; kind: '' | 'int' | 'float' | 'bool'; value: number | boolean | string; span: Span | null }
/** f and its derivative over one input: `at` is [x, f, ∂f] of the point; null where there is no value. */
export interface Curve { input: number; text: string; range: [number, number]; x: number[]; f: (number | null)[]; d: (number | null)[]; at: [number, number, number] }
export interface Live { token: string; inputs: Input[]; curve: Curve | null }
export interface Question { token: string; values?: (number | boolean | string)[]; input?: number; range?: [number, number] | null }
export interface Answer { known: boolean; values: Record<string, string>; trace: unknown; result: string; error: string; curve: Curve | null }
export type Ask = (question: Question) => Promise<Answer | null>;

type Raw = Record<string, any>;
const finite = (v: unknown): v is number => typeof v === 'number' && Number.isFinite(v);
const numbers = (v: unknown): (number | null)[] => (Array.isArray(v) ? v.map(x => (finite(x) ? x : null)) : []);

export function readCurve(r: unknown): Curve | null {
  if (!r || typeof r !== 'object') return null;
  const c = r as Raw, x = numbers(c.x), f = numbers(c.f), d = numbers(c.d), at = numbers(c.at), range = numbers(c.range);
  const fits = x.length > 1 && f.length === x.length && d.length === x.length && at.length === 3 && range.length === 2 && [...x, ...at, ...range].every(finite);
  return fits ? { input: finite(c.input) ? c.input : 0, text: String(c.text ?? ''), range: range as [number, number], x: x as number[], f, d, at: at as [number, number, number] } : null;
}

export function readLive(r: unknown): Live | null {
  if (!r || typeof r !== 'object') return null;
  const raw = r as Raw, inputs = (Array.isArray(raw.inputs) ? raw.inputs : []).map((i: Raw): Input => ({
    name: String(i.name ?? ''), kind: ['int', 'float', 'bool'].includes(i.kind) ? i.kind : '', value: finite(i.value) || typeof i.value === 'boolean' ? i.value : String(i.value ?? ''),
    span: Array.isArray(i.span) && i.span.length === 4 ? (i.span as Span) : null }));
  return inputs.length ? { token: String(raw.token ?? ''), inputs, curve: readCurve(raw.curve) } : null;
}

export function readAnswer(r: unknown): Answer | null {
  if (!r || typeof r !== 'object') return null;
  const raw = r as Raw, values: Record<string, string> = {};
  for (const [k, v] of Object.entries(raw.values ?? {})) values[k] = String(v);
  return { known: raw.known === true, values, trace: raw.trace, result: String(raw.result ?? ''), error: String(raw.error ?? ''), curve: readCurve(raw.curve) };
}

/** Puts the values of an answer into every stage. Nodes that were not computed this time have none. */
export function applyAnswer(data: Payload, answer: Answer): void {
  const put = (n: NodeView): void => { if (n.kind !== 'constant') n.value = answer.values[String(n.id)] ?? ''; };
  for (const s of data.stages) {
    for (const n of [...(s.initial?.nodes ?? []), ...(s.final?.nodes ?? [])]) put(n);
    for (const e of s.events) for (const n of [...e.added, ...e.changed]) put(n);
    if (s.stage === 'run') { s.trace = readTrace(answer.trace) ?? s.trace; s.result = answer.error || answer.result; }
  }
}

/** How often each loop went round and each arm was taken, in the order of the source. */
export interface Taken { name: string; line: number; count: number; word: string }
export function taken(data: Payload): Taken[] {
  const typed = data.stages.find(s => s.stage === 'typed')?.final, run = data.stages.find(s => s.stage === 'run');
  if (!typed || !run?.trace) return [];
  const origin = new Map((run.final?.graphs ?? []).map(g => [g.id, g.kind === 'backpropagator' ? 0 : g.primal ?? g.id] as const)), calls = new Map<number, number>();
  for (const g of run.trace.graphs) { const p = origin.get(g) ?? g; calls.set(p, (calls.get(p) ?? 0) + 1); }
  const recursive = new Set(typed.nodes.flatMap(n => n.callees.filter(c => reaches(typed.nodes, c, c))));
  return typed.graphs.flatMap((g): Taken[] => {
    const word = g.kind === 'branch' && g.name !== 'done' ? (g.name === 'body' ? 'iteration' : 'time') : g.kind === 'function' && recursive.has(g.id) ? 'call' : '';
    const text = g.name === 'body' ? (data.source.split('\n')[(g.span?.[0] ?? 0) - 1] ?? '').trim().replace(/:$/, '') : '';
    return word ? [{ name: text || g.name, line: g.span?.[0] ?? 0, count: calls.get(g.id) ?? 0, word }] : [];
  }).sort((a, b) => a.line - b.line);
}

/** Whether a function can come to call `goal`. */
function reaches(nodes: NodeView[], from: number, goal: number): boolean {
  const seen = new Set<number>(), queue = [from];
  while (queue.length) {
    const g = queue.pop() as number;
    for (const n of nodes) if (n.graph === g) for (const c of n.callees) { if (c === goal) return true; if (!seen.has(c)) { seen.add(c); queue.push(c); } }
  }
  return false;
}

/** Asks by an event that bubbles out of `el`; an extension that takes it calls `preventDefault`. */
export const askByEvent = (el: HTMLElement): Ask => question => new Promise(resolve => {
  const event = new CustomEvent('myia:ask', { bubbles: true, composed: true, cancelable: true, detail: { question, answer: (raw: unknown) => resolve(readAnswer(raw)) } });
  if (el.dispatchEvent(event)) resolve(null);
});

interface Model { send?(content: unknown): void; on?(event: string, f: (message: unknown) => void): void }
const PATIENCE = 10_000;

/** Asks over a widget's model. Without a kernel there is no answer. */
export function askByModel(model: Model): Ask {
  const waiting = new Map<number, (r: unknown) => void>();
  let count = 0;
  model.on?.('msg:custom', raw => { const n = (raw as Raw | null)?.number; waiting.get(n)?.(raw); waiting.delete(n); });
  return question => new Promise(resolve => {
    if (!model.send) { resolve(null); return; }
    const number = ++count, timer = setTimeout(() => { waiting.delete(number); resolve(null); }, PATIENCE);
    waiting.set(number, raw => { clearTimeout(timer); resolve(readAnswer(raw)); });
    try { model.send({ ...question, number }); } catch { resolve(null); }
  });
}
