// @vitest-environment jsdom
import { describe, expect, it } from 'vitest';
import { autoCollapse, box, build } from '../src/dot';
import { nodeBox } from '../src/draw';
import { equation, plainText } from '../src/equation';
import { drawGrid, lanes } from '../src/grid';
import { parse } from '../src/layout';
import { Model } from '../src/replay';
import { dotText } from '../src/save';
import { NodeView, read, Token } from '../src/snapshot';
import { parts } from '../src/steps';
import { Story } from '../src/story';
import { payload, stage } from './payload';

const hooks = { hover: () => undefined, select: () => undefined, toggle: () => undefined };
const node = (over: Partial<NodeView>): NodeView => ({ id: 1, graph: 2, kind: 'apply', role: 'primal', name: '', label: '', op: '', symbol: '', inputs: [], callee: null, callees: [], type: '', value: '', span: null, primal: null, keeps: [], how: '', ...over });

describe('DOT', () => {
  it('holds no text of the program', () => {
    const d = build(new Model(stage(payload('hostile'), 'parsed').final), new Set(), 'value');
    expect(d.dot).not.toMatch(/script|onerror/);
    expect(d.dot.match(/^subgraph/gm)?.length).toBe(d.clusters.size);
  });
  it('a closed function is one box with its size, and its edges end there', () => {
    const m = new Model(stage(payload('loop'), 'adjoint').final), inner = [...m.graphs.values()].find(g => g.name === '▶body')!;
    const d = build(m, new Set([inner.id]), 'value');
    expect(d.closed.get(inner.id)).toBeGreaterThan(2);
    expect(d.edges.some(e => e.to === -inner.id)).toBe(true);
    for (const e of d.edges) expect(d.boxes.has(e.from) && d.boxes.has(e.to)).toBe(true);
  });
  it('turns', () => { expect(build(new Model(stage(payload('loop'), 'typed').final), new Set(), 'type', [], 'LR').dot).toContain('rankdir=LR'); });
  it('closes what is too large: the picture of 3000 nodes has few boxes', () => {
    const graphs = Array.from({ length: 60 }, (_, g) => ({ id: 10_000 + g, name: `f${g}`, kind: 'function', parameters: [], output: g * 50 + 50 }));
    const nodes = graphs.flatMap((g, k) => Array.from({ length: 50 }, (_, i) => ({ id: k * 50 + i + 1, graph: g.id, kind: 'apply', op: 'add', symbol: '+', inputs: i ? [k * 50 + i] : [], callees: i === 0 && k < 59 ? [g.id + 1] : [] })));
    const m = new Model(read({ stages: [{ final: { root: 10_000, graphs, nodes } }] }).stages[0].final);
    expect(build(m, autoCollapse(m, 90), 'value').boxes.size).toBeLessThan(160);
    const one = new Model(read({ stages: [{ final: { root: 9, graphs: [{ id: 9, name: 'g', kind: 'function', output: 500 }], nodes: Array.from({ length: 500 }, (_, i) => ({ id: i + 10, graph: 9, kind: 'apply', inputs: [i + 9] })).concat([{ id: 500, graph: 9, kind: 'apply', inputs: [499] }]) } }] }).stages[0].final);
    expect(autoCollapse(one, 90).has(9)).toBe(true);
  });
  it('exported, escapes every text', () => {
    const m = new Model(stage(payload('hostile'), 'parsed').final);
    const id = [...m.nodes.keys()][0];
    m.nodes.set(id, node({ id, graph: m.nodes.get(id)!.graph, kind: 'parameter', name: 'a"] [label="b\\' }));
    const text = dotText(m, build(m, new Set(), 'value'), null, 'x"y');
    expect(text).toContain('a\\"] [label=\\"b\\\\');
    expect(text.startsWith('digraph "x\\"y"')).toBe(true);
  });
});

describe('drawing', () => {
  it('names are text, never markup', () => {
    const hostile = '<img src=x onerror=alert(1)>', n = node({ name: hostile, value: hostile });
    const b = box(n, 'value'), g = nodeBox(n, b.w, b.h, b.lines, hooks);
    expect(g.querySelector('img')).toBeNull();
    expect(g.querySelector('.name')?.textContent?.startsWith('<img src=x')).toBe(true);
    const token = { kind: 'name', text: hostile, role: 'x" onclick="y', node: 1, body: [], below: [] };
    const e = equation([token], () => hostile, true);
    expect(e.querySelector('img')).toBeNull();
    expect(e.querySelector('[onclick]')).toBeNull();
  });
  it('a box is wide enough for its text, wide characters too', () => {
    expect(box(node({ name: '変数名前', value: '1' }), 'value').w).toBeGreaterThan(box(node({ name: 'abcd', value: '1' }), 'value').w);
    expect(box(node({ name: 'x'.repeat(60) }), 'value').lines[0].length).toBe(18);
  });
  it('the grid has one row a variable; ∇ adds up to solid', () => {
    const p = payload('closure'), s = new Story(p.stages, stage(p, 'adjoint')), first = s.items.findIndex(i => i.title === 'Call the backpropagator of y.') + 1;
    const at = (step: number) => { const scene = s.scene(step, 'after', true); return drawGrid(scene.grid!, step, scene.values, hooks).root; };
    const x = (root: SVGElement) => [...root.querySelectorAll('g.r-sensitivity')].find(g => g.querySelector('.name')?.textContent === 'x')!;
    expect(x(at(first)).querySelector('.noted')?.textContent).toBe('1 of 2');
    expect(x(at(first)).classList.contains('solid')).toBe(false);
    expect(x(at(s.items.length)).classList.contains('solid')).toBe(true);
    expect(x(at(0)).classList.contains('todo')).toBe(true);
  });
  it('lines that meet have lanes of their own', () => {
    const { lane, count } = lanes(new Map([[1, [0, 3]], [2, [1, 2]], [3, [4, 6]]]));
    expect(lane.get(1)).not.toBe(lane.get(2));
    expect(count).toBe(2);
  });
  it('reads Graphviz’s JSON, y downwards', () => {
    const l = parse(JSON.stringify({ bb: '0,0,100,50', objects: [{ name: 'n_1', pos: '10,40' }, { name: 'cluster_3', bb: '0,10,20,50' }], edges: [{ id: 'e0', pos: 'e,5,5 1,1 2,2 3,3 4,4' }] }));
    expect(l.nodes.get('n_1')).toEqual({ x: 10, y: 10 });
    expect(l.clusters.get(3)).toEqual([0, 0, 20, 40]);
    expect(l.edges.get(0)?.length).toBe(5);
  });
  it('equations read aloud, and one line for each addition', () => {
    const e = stage(payload('closure'), 'adjoint').events.find(x => x.title === 'Call the backpropagator of y.')!;
    expect(parts(e.equation).map((t: Token[]) => plainText(t))).toEqual(['∇b += ∇y · x', '∇x += ∇y · b']);
  });
});
