// @vitest-environment jsdom
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { animated } from '../src/animation';
import { applyAnswer, askByEvent, readAnswer, readCurve, readLive, taken } from '../src/live';
import { pdfOf } from '../src/pdf';
import { heights, short } from '../src/plot';
import { Story } from '../src/story';
import { svg } from '../src/svg';
import { payload, stage } from './payload';

const answer = () => readAnswer(JSON.parse(readFileSync('tests/payloads/loop_answer.json', 'utf8')))!;

describe('live inputs', () => {
  it('the payload names the inputs and has the curve', () => {
    const live = payload('loop').live!;
    expect(live.inputs.map(i => [i.name, i.kind, i.value])).toEqual([['x', 'float', 1.5], ['n', 'int', 4]]);
    expect(live.curve?.at).toEqual([1.5, 5.0625, 13.5]);
  });
  it('an answer puts its values into every stage, and its trace into the run', () => { // x = 2, n = 6
    const p = payload('loop');
    applyAnswer(p, answer());
    expect(stage(p, 'run').result).toBe('192.0');
    const x = stage(p, 'typed').final!.nodes.concat(stage(p, 'adjoint').final!.nodes).filter(n => n.kind === 'parameter' && n.name === 'x' && n.value);
    expect(x.length).toBeGreaterThan(0);
    expect(new Set(x.filter(n => n.role !== 'sensitivity').map(n => n.value))).toEqual(new Set(['2.0']));
    const run = new Story(p.stages, stage(p, 'run'));
    expect(run.items[run.items.length - 1].title).toContain('192.0');
  });
  it('counts the iterations of the run at hand', () => {
    const p = payload('loop');
    expect(taken(p).map(t => [t.name, t.count, t.word])).toEqual([['while n > 0', 4, 'iteration']]);
    applyAnswer(p, answer());
    expect(taken(p).map(t => t.count)).toEqual([6]);
  });
  it('counts calls and arms of a recursion', () => {
    expect(taken(payload('plain')).map(t => [t.name, t.count, t.word]).sort()).toEqual([['else', 4, 'time'], ['fact', 5, 'call'], ['if', 1, 'time']]);
  });
  it('anything of the wrong type is no input, no curve, no answer', () => {
    for (const wrong of [null, 3, {}, { inputs: 4 }, { inputs: [] }]) expect(readLive(wrong)).toBeNull();
    for (const wrong of [null, {}, { x: [1, 2], f: [1], d: [1, 2], at: [1, 2, 3], range: [0, 1] }, { x: [1, 2], f: [1, 2], d: [1, 2], at: [1, null, 3], range: [0, 1] }]) expect(readCurve(wrong)).toBeNull();
    expect(readAnswer('x')).toBeNull();
  });
  it('where nobody takes the question there is no answer', async () => {
    const el = document.createElement('div');
    document.body.append(el);
    expect(await askByEvent(el)({ token: 't' })).toBeNull();
    document.addEventListener('myia:ask', e => { e.preventDefault(); (e as CustomEvent).detail.answer({ known: true, result: '1' }); }, { once: true });
    expect((await askByEvent(el)({ token: 't' }))?.result).toBe('1');
  });
});

describe('the plot', () => {
  it('a pole does not flatten the rest', () => {
    const values = Array.from({ length: 81 }, (_, i) => 1 / ((i - 40) / 40 || 1e-9));
    const [low, high] = heights(values, 1);
    expect(high).toBeLessThan(100);
    expect(low).toBeGreaterThan(-100);
  });
  it('the point is always inside, also of a constant', () => {
    for (const [values, point] of [[[1, 2, 3], 9], [[5, 5], 5], [[0, 0], 0], [[null, null], -3], [[-2, -1], -1.5]] as [(number | null)[], number][]) {
      const [low, high] = heights(values, point);
      expect(low).toBeLessThanOrEqual(point);
      expect(high).toBeGreaterThanOrEqual(point);
      expect(high).toBeGreaterThan(low);
    }
  });
  it('numbers of an axis are short', () => { expect([0, 1.5, -86.671, 1234567, 0.00001].map(short)).toEqual(['0', '1.5', '−86.67', '1.2e+6', '1.0e−5']); });
});

describe('exports', () => {
  it('an animation shows each step for its time, and the last by itself', () => {
    const frame = (title: string) => ({ picture: svg('svg'), width: 300, height: 100, title, equation: '' });
    const root = new DOMParser().parseFromString(animated(['a', '<b>&"', 'c'].map(frame), { background: '#fff', text: '#000', muted: '#555' }), 'image/svg+xml').documentElement;
    const groups = [...root.children].filter(c => c.tagName === 'g');
    expect(groups.map(g => g.getAttribute('visibility'))).toEqual(['hidden', 'hidden', 'visible']);
    expect(groups.map(g => g.querySelector('animate')?.getAttribute('keyTimes'))).toEqual(['0.00000;0.20000', '0.00000;0.20000;0.40000', '0.00000;0.40000']);
    expect(groups[1].querySelector('text')?.textContent).toBe('<b>&"');
    expect(root.querySelector('b')).toBeNull();
  });
  it('a PDF says where its objects are', () => {
    const bytes = pdfOf(new Uint8Array([0xff, 0xd8, 0xff]), [20, 10], 10, 5), text = new TextDecoder('latin1').decode(bytes), at = Number(text.split('startxref\n')[1].split('\n')[0]);
    expect(text.slice(at, at + 4)).toBe('xref');
    text.slice(at).split('\n').slice(3, 8).forEach((line, i) => expect(text.slice(Number(line.slice(0, 10))).startsWith(`${i + 1} 0 obj`)).toBe(true));
    expect(text).toContain('/MediaBox [0 0 7.50 3.75]');
  });
});
