import { describe, expect, it } from 'vitest';
import { iterations } from '../src/execution';
import { filtered, found, tied } from '../src/search';
import { Prediction } from '../src/predict';
import { Story } from '../src/story';
import { plainText } from '../src/equation';
import { payload, stage } from './payload';

const story = (name: string, of: string): Story => { const p = payload(name); return new Story(p.stages, stage(p, of)); };

describe('the run, step by step', () => {
  it('goes forward, then backward, and ends with the result', () => {
    const s = story('closure', 'run'), kinds = s.items.map(i => i.kind);
    expect(kinds.lastIndexOf('forward')).toBeLessThan(kinds.indexOf('backward'));
    expect(s.items.map(i => plainText(i.equation)).filter(Boolean)).toContain('∇x += ∇y · b');
    expect(s.items[s.items.length - 1].title).toContain(payload('closure').stages[6].result);
  });
  it('shows what is not computed yet as that, and never as 0', () => {
    const s = story('closure', 'run'), scene = s.scene(0, 'difference', false);
    expect(scene.look.texts?.size).toBe(0);
    for (const n of scene.model.nodes.values()) if (n.kind !== 'constant') expect(scene.look.wait.has(n.id)).toBe(true);
    const end = s.scene(s.items.length, 'difference', false);
    expect(end.look.wait.size).toBeLessThan(scene.look.wait.size);
  });
  it('a node has the same size at every step: nothing jumps', () => {
    const s = story('loop', 'run');
    expect(s.scene(3, 'difference', false).model).toBe(s.scene(20, 'difference', false).model);
  });
  it('iterations pair forward and backward, and can be chosen', () => {
    const p = payload('loop'), run = stage(p, 'run'), s = new Story(p.stages, run);
    const body = run.final?.graphs.find(g => g.name === '▶body')?.primal ?? 0;
    const all = iterations(run.trace!, run.final?.graphs ?? [], body);
    expect(all.length).toBe(4);
    expect(all.every(x => x.backward > x.forward)).toBe(true);
    const step = s.items.findIndex(i => i.title === 'Compute y.' && i.reason.includes('iteration 2')) + 1, scene = s.scene(step, 'difference', true);
    expect(scene.loop?.columns.map(c => c.value)).toEqual(['1.5', '2.25', '', '']);
    expect(scene.loop?.columns.every(c => c.sensitivity === '')).toBe(true);
    expect(scene.grid?.phrases?.[0]).toBe('iteration 2 of 4');
    const later = s.stepOf(scene.loop!, 3, step);
    expect(s.scene(later, 'difference', true).loop?.now).toBe(3);
    const end = s.items.map(i => i.kind).lastIndexOf('backward');
    const back = s.items.findIndex(i => i.reason.startsWith('Backward, iteration 1 of 4 of body') && plainText(i.equation).startsWith('∇y ')) + 1;
    expect(back).toBeGreaterThan(0);
    expect(back).toBeLessThanOrEqual(end + 1);
    expect(s.scene(back, 'difference', true).loop?.columns.every(c => c.sensitivity !== '')).toBe(true);
  });
  it('every symbol of a forward equation has its number, of its own iteration', () => {
    const p = payload('loop'), s = new Story(p.stages, stage(p, 'run')), k = s.items.findIndex(i => i.title === 'Compute y.' && i.reason.includes('iteration 3')) + 1, scene = s.scene(k, 'difference', true);
    const written = scene.item!.equation.filter(t => t.kind === 'name').map(t => [t.text, scene.values(t.node!)]);
    expect(written).toEqual([['y', '3.375'], ['y', '2.25'], ['x', '1.5']]);
  });
  it('an integer has no sensitivity to wait for', () => {
    const p = payload('loop'), s = new Story(p.stages, stage(p, 'run')), k = s.items.findIndex(i => i.title === 'Compute n.') + 1;
    expect(s.scene(k, 'difference', true).loop?.hasSensitivity).toBe(false);
  });
  it('a program without a gradient has steps too', () => {
    const s = story('plain', 'run');
    expect(s.items.some(i => i.reason.includes('call 2 of 5 of fact'))).toBe(true);
  });
});

describe('rewrites', () => {
  it('one of them is told as a difference, in words', () => {
    const s = story('loop', 'optimized'), step = s.items.findIndex(i => !i.isPass && i.removed > 0) + 1, scene = s.scene(step, 'difference', true);
    expect(scene.difference.some(c => c.sign === '−')).toBe(true);
    expect(scene.ghosts.length).toBeGreaterThan(0);
    expect(s.scene(step, 'after', true).ghosts).toEqual([]);
  });
  it('a filter keeps the rule’s name, with or without underscores', () => {
    const s = story('loop', 'optimized'), hits = filtered(s.items, 'get_of_make');
    expect(hits.length).toBeGreaterThan(0);
    expect(hits).toEqual(filtered(s.items, 'of make get'));
    expect(filtered(s.items, 'no such rule')).toEqual([]);
    expect(filtered(s.items, '').length).toBe(s.items.length);
  });
});

describe('search and ties', () => {
  it('finds by name and by operation, all words', () => {
    const m = story('closure', 'adjoint').scene(0, 'after', false).model;
    expect(found(m, 'tanh').length).toBeGreaterThan(0);
    expect(found(m, '  ')).toEqual([]);
    expect(found(m, 'tanh nothing')).toEqual([]);
  });
  it('a node of the typed stage is tied to its ▶ node in the adjoint', () => {
    const p = payload('closure'), adjoint = new Story(p.stages, stage(p, 'adjoint')).scene(0, 'after', false).model;
    const y = stage(p, 'typed').final?.nodes.find(n => n.name === 'y');
    const kin = tied(y!, adjoint).map(id => adjoint.nodes.get(id)!);
    expect(kin.some(n => n.role === 'forward' && n.name === 'y')).toBe(true);
  });
});

describe('predict mode', () => {
  it('covers types, values and sensitivities until each is asked', () => {
    const p = payload('closure'), s = new Story(p.stages, stage(p, 'adjoint')), scene = s.scene(s.items.length, 'after', true), prediction = new Prediction(), covered = prediction.cover('adjoint', scene);
    const id = [...scene.model.nodes.values()].find(n => n.role === 'sensitivity' && n.value)!.id;
    expect(scene.values(id)).not.toBe('?');
    expect(covered.values(id)).toBe('?');
    for (const n of covered.model.nodes.values()) if (n.kind !== 'constant') expect([n.value, n.type].every(t => t === '' || t === '?')).toBe(true);
    expect(prediction.tell('adjoint', scene, id)).toBe(true);
    expect(prediction.tell('adjoint', scene, id)).toBe(false);
    expect(prediction.cover('adjoint', scene).values(id)).toBe(scene.values(id));
    expect(prediction.cover('run', scene).values(id)).toBe('?');
  });
});

describe('what the backward pass saved', () => {
  it('is marked: the values that some backpropagator uses, and no others', () => { // y = b·x keeps b and x, b = tanh(a) keeps b, a = x·w keeps w
    const p = payload('closure'), s = new Story(p.stages, stage(p, 'adjoint')), look = s.scene(s.items.length, 'after', false).look;
    const names = [...new Set([...look.kept].map(id => stage(p, 'adjoint').final!.nodes.find(n => n.id === id)?.name))].sort();
    expect(names).toEqual(['b', 'w', 'x']);
    expect(s.scene(s.items.length, 'after', false).look.kept.size).toBeLessThan(8);
  });
});
