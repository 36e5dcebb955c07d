/** The properties of a node: everything that is known of it, with links to the nodes around it, and to the step that made it. */
import { button, h } from './elements';
import { Model } from './replay';
import { NodeView, Payload } from './snapshot';

/** What is asked of the viewer: to go to a node of the same picture, to a step of a stage, to the function that is called. */
export interface NodeHooks { node(id: number): void; step(stage: number, step: number): void; callee(graph: number): void }

/** The sensitivity of a node (its own ∇, complete), and the stage's event that made the node. Pure. */
export function sensitivityOf(data: Payload, n: NodeView): string {
  const adjoint = data.stages.find(s => s.stage === 'adjoint'), values = new Map((adjoint?.final?.nodes ?? []).map(x => [x.id, x.value] as const)), primal = n.role === 'forward' || n.how === '▶' ? n.primal : n.id;
  let last = '';
  for (const e of adjoint?.events ?? []) {
    const g = e.gradient;
    if (!g) continue;
    if (g.primal === primal && g.phase === 'seed' && g.sensitivity !== null) last = values.get(g.sensitivity) ?? last;
    for (const c of g.contributions) if (c.target === primal) last = values.get(c.total) ?? last;
  }
  return last;
}

export function madeBy(data: Payload, n: NodeView): { stage: number; step: number; title: string } | null {
  for (let stage = data.stages.length - 1; stage >= 0; stage--) {
    const s = data.stages[stage];
    const at = s.stage === 'optimized' ? s.events.findIndex(e => e.added.some(x => x.id === n.id && x.kind === 'apply')) : s.stage === 'adjoint' ? s.events.findIndex(e => e.gradient && (e.gradient.forward === n.id || e.gradient.sensitivity === n.id || e.gradient.contributions.some(c => c.node === n.id || c.total === n.id))) : -1;
    if (at >= 0) return { stage, step: at + 1, title: s.events[at].title };
  }
  return null;
}

const nameOf = (x: NodeView): string => x.name || x.label || x.symbol || x.op;
const MOST = 12;

export function nodePage(n: NodeView, model: Model, value: string, data: Payload, hooks: NodeHooks): HTMLElement {
  const list = h('dl', 'my-props');
  const row = (k: string, ...v: Node[]): void => { if (v.length) list.append(h('dt', '', k), h('dd', '', undefined, ...v)); };
  const add = (k: string, v: string): void => { if (v) row(k, document.createTextNode(v)); };
  const nodes = (k: string, found: NodeView[]): void => row(k, ...found.slice(0, MOST).map(x => (x.kind === 'constant' ? h('span', 'my-plainlink', nameOf(x)) : button(`${x.role === 'sensitivity' ? '∇' : ''}${nameOf(x)}`, `go to ${nameOf(x)}`, () => hooks.node(x.id), 'my-link'))),
    ...(found.length > MOST ? [document.createTextNode(` and ${found.length - MOST} more`)] : []));
  const known = (ids: number[]): NodeView[] => ids.map(i => model.nodes.get(i)).filter((x): x is NodeView => x !== undefined), own = model.graphs.get(n.graph ?? -1), made = madeBy(data, n);
  add('name', n.name || n.label);
  add('operation', n.op !== n.name ? n.op : '');
  add('type', n.type);
  add('value', value);
  if (n.role !== 'sensitivity' && n.role !== 'constant') add('sensitivity ∇', sensitivityOf(data, n));
  add('role', n.role);
  add('in', own ? own.name : '');
  if (n.span) { add('line', String(n.span[0])); add('source', n.span[0] === n.span[2] ? (data.source.split('\n')[n.span[0] - 1] ?? '').slice(n.span[1], n.span[3]) : (data.source.split('\n')[n.span[0] - 1] ?? '').slice(n.span[1]).trimEnd()); }
  add('keeps', n.keeps.join(', '));
  if (data.stages.some(s => s.stage === 'adjoint' && s.events.some(e => e.gradient?.keeps.includes(n.id)))) add('kept for ◀', 'yes');
  if (made) row('made by', button(`${made.title}`, `go to step ${made.step} of ${data.stages[made.stage].stage}`, () => hooks.step(made.stage, made.step), 'my-link'), document.createTextNode(` step ${made.step} of ${data.stages[made.stage].stage}`));
  else add('made by', n.how);
  row('calls', ...n.callees.map(c => model.graphs.get(c)).filter(g => g !== undefined).map(g => button(g.name, `go to ${g.name}`, () => hooks.callee(g.id), 'my-link')));
  nodes('takes', known(n.inputs));
  nodes('used by', [...model.nodes.values()].filter(x => x.inputs.includes(n.id)));
  nodes('differentiates', n.primal === null ? [] : known([n.primal]).filter(x => x.id !== n.id));
  nodes('its ▶ ◀ ∇', [...model.nodes.values()].filter(x => x.primal === n.id && x.kind !== 'constant'));
  return list;
}
