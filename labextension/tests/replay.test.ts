import { describe, expect, it } from 'vitest';
import { countNodes, Model, modelAt, nodeAt, Replay } from '../src/replay';
import { read } from '../src/snapshot';
import { payload, stage } from './payload';

const picture = (m: Model) => [...m.shown().nodes].map(([g, own]) => [g, own.map(n => `${n.id}:${n.op}(${n.inputs})`).sort()]).sort();

describe('replay of what Python writes', () => {
  for (const name of ['loop', 'closure']) {
    it(`${name}: the deltas of all rewrites give the final graph`, () => {
      const s = stage(payload(name), 'optimized');
      expect(s.events.length).toBeGreaterThan(3);
      expect(picture(modelAt(s, s.events.length))).toEqual(picture(new Model(s.final)));
    });
    it(`${name}: any order of steps gives the same states`, () => {
      const s = stage(payload(name), 'optimized'), replay = new Replay(s);
      for (const k of [3, 0, s.events.length, 1, 2, s.events.length - 1]) expect(picture(replay.at(k))).toEqual(picture(modelAt(s, k)));
    });
  }
  it('nodes keep the value of the cell’s inputs through rewrites', () => {
    const s = stage(payload('closure'), 'optimized');
    const y = [...modelAt(s, s.events.length).nodes.values()].filter(n => n.name === 'b' && n.value);
    expect(y.map(n => n.value)).toContain('0.5370');
  });
  it('the smallest node that holds a place in the source is found', () => {
    const p = payload('loop'), nodes = stage(p, 'parsed').final?.nodes ?? [];
    const line = p.source.split('\n').findIndex(l => l.includes('y = y * x')) + 1, ids = nodeAt(nodes, line, 14);
    expect(ids.length).toBe(1);
    expect(nodes.find(n => n.id === ids[0])?.name).toBe('y');
  });
  it('counts what is shown', () => { expect(countNodes(stage(payload('closure'), 'typed').final)).toBe(6); });
});

describe('reading is defensive', () => {
  it('anything of the wrong type becomes its default', () => {
    for (const wrong of [null, 3, 'x', [], { stages: 4 }, { stages: [{ events: [{ gradient: 7 }], final: { nodes: [{}] }, trace: { nodes: [1] } }] }]) {
      const p = read(wrong);
      expect(Array.isArray(p.stages)).toBe(true);
      for (const s of p.stages) { expect(s.trace).toBeNull(); expect(() => new Model(s.final).shown()).not.toThrow(); }
    }
  });
  it('a failure has its stages before it, and the error', () => {
    const p = payload('failure');
    expect(p.stages.map(s => s.stage)).toEqual(['parsed', 'typed']);
    expect(p.stages[0].error).toBeNull();
    expect(p.stages[1].error).toMatchObject({ code: 'M301', span: [2, 11, 2, 16] });
  });
});
