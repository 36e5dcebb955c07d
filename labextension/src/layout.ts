/** Layout of a drawing: asks the worker, reads Graphviz's JSON. Positions are in pixels, y downwards. */

export interface Placed { x: number; y: number }
export interface Layout { width: number; height: number; nodes: Map<string, Placed>; edges: Map<number, [number, number][]>; clusters: Map<number, [number, number, number, number]> }

export const STOPPED = 'stopped';

export class LayoutPool {
  private worker: Worker;
  private count = 0;
  private waiting = new Map<number, (r: { json?: string; error?: string }) => void>();
  private cache = new Map<string, Promise<Layout>>();

  private url: string;

  constructor(source: string) {
    this.url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
    this.worker = this.start();
    this.worker.postMessage({ id: 0, dot: 'digraph {}' }); // loads Graphviz while the page is still being drawn
  }

  private start(): Worker {
    const worker = new Worker(this.url);
    worker.onmessage = e => { this.waiting.get(e.data.id)?.(e.data); this.waiting.delete(e.data.id); };
    worker.onerror = e => this.fail(e.message || 'the layout failed');
    return worker;
  }

  private fail(error: string): void { for (const f of this.waiting.values()) f({ error }); this.waiting.clear(); }

  layout(dot: string): Promise<Layout> {
    let found = this.cache.get(dot);
    if (!found) {
      found = new Promise((resolve, reject) => {
        const id = ++this.count;
        this.waiting.set(id, r => (r.json ? resolve(parse(r.json)) : reject(new Error(r.error ?? 'no layout'))));
        this.worker.postMessage({ id, dot });
      });
      found.catch(() => this.cache.delete(dot));
      this.cache.set(dot, found);
      if (this.cache.size > 60) this.cache.delete(this.cache.keys().next().value as string);
    }
    return found;
  }

  /** Gives up what is being laid out. */
  stop(): void { this.worker.terminate(); this.worker = this.start(); this.fail(STOPPED); }

  dispose(): void { this.worker.terminate(); URL.revokeObjectURL(this.url); }
}

export function parse(json: string): Layout {
  const g = JSON.parse(json);
  const [, , width, height] = String(g.bb).split(',').map(Number);
  const nodes = new Map<string, Placed>(), edges = new Map<number, [number, number][]>(), clusters = new Map<number, [number, number, number, number]>();
  for (const o of g.objects ?? []) {
    const name = String(o.name ?? '');
    if (name.startsWith('cluster_')) {
      const [x0, y0, x1, y1] = String(o.bb ?? '0,0,0,0').split(',').map(Number);
      clusters.set(Number(name.slice(8)), [x0, height - y1, x1 - x0, y1 - y0]);
    } else if (o.pos) {
      const [x, y] = String(o.pos).split(',').map(Number);
      nodes.set(name, { x, y: height - y });
    }
  }
  for (const e of g.edges ?? []) {
    const id = Number(String(e.id ?? 'e-1').slice(1));
    const parts = String(e.pos ?? '').split(' ');
    let end: [number, number] | null = null;
    const points: [number, number][] = [];
    for (const p of parts) {
      const bits = p.split(',');
      if (bits[0] === 'e') end = [Number(bits[1]), height - Number(bits[2])];
      else if (bits.length === 2) points.push([Number(bits[0]), height - Number(bits[1])]);
    }
    if (end) points.push(end);
    if (points.length > 1) edges.set(id, points);
  }
  return { width, height, nodes, edges, clusters };
}
