/** Search, ties between stages and filters: which nodes belong to what was asked. Pure logic. */
import { Model } from './replay';
import { NodeView } from './snapshot';
import { Item } from './story';

const said = (n: NodeView): string => [n.name, n.label, n.op, n.symbol, n.type, n.value].join(' ').toLowerCase();

/** Nodes that a query names, in the order of the picture: all its words must occur. Constants are left out. */
export function found(model: Model, query: string): number[] {
  const words = query.trim().toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const hits: number[] = [];
  for (const own of model.shown().nodes.values()) for (const n of own) if (n.kind !== 'constant' && words.every(w => said(n).includes(w))) hits.push(n.id);
  return hits;
}

/** Nodes of `model` that stand for the same thing as node `n` of another stage: the same node, or the ones that it was made from or for. */
export function tied(n: NodeView, model: Model): number[] {
  if (n.kind === 'constant') return [];
  const hits: number[] = [];
  for (const m of model.nodes.values()) {
    if (m.kind === 'constant') continue;
    if (m.id === n.id || m.primal === n.id || n.primal === m.id || (n.primal !== null && n.primal === m.primal)) hits.push(m.id);
  }
  return hits;
}

/** Indices of the steps that a filter lets through. */
export function filtered(items: Item[], query: string): number[] {
  const words = query.trim().toLowerCase().replaceAll('_', ' ').split(/\s+/).filter(Boolean);
  return items.flatMap((item, i) => (words.every(w => item.words.replaceAll('_', ' ').includes(w)) ? [i] : []));
}
