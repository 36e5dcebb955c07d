/** The side pane's small pages: an error, the saved picture's choices, keys and legend. */
import { h } from './elements';
import { Snapshot } from './snapshot';
import { svg } from './svg';

export const KEYS: [string, string][] = [['← → or j k', 'step back, forward'], ['Home End', 'first, last step'], ['space', 'play, pause'], ['[ ]', 'previous, next stage'], ['1 – 7', 'a stage'],
  ['/', 'search, then n and N for the next and the one before'], ['F', 'filter the steps'], ['D', 'before, difference, after'], ['C', 'two stages side by side'], ['G', 'grid or whole graph'], ['T', 'turn the graph: down or to the right'],
  ['Enter', 'into the graph; open or read a node'], ['arrows', 'inside the graph: from node to node'], ['Backspace', 'back to the node before'], ['O', 'open or close all functions'], ['+ − 0', 'zoom, fit'], ['M', 'map'], ['I', 'inputs: move the numbers of the call'], ['S', 'save the picture'], ['H', 'predict: values, types and the next step are hidden until clicked'], ['P', 'presentation'], ['?', 'this page'], ['Esc', 'close, back']];

export function errorPage(s: Snapshot): HTMLElement {
  const box = h('div', 'my-error'), e = s.error;
  box.setAttribute('role', 'alert');
  if (!e) return box;
  box.append(h('b', '', `${e.code}  ${e.message}`));
  if (e.line_text && e.span) {
    const line = e.line_text.trimStart(), shift = e.line_text.length - line.length, head = `line ${e.span[0]}: `;
    const length = Math.max(1, Math.min(line.length, (e.span[2] === e.span[0] ? e.span[3] : e.line_text.length) - e.span[1]));
    box.append(h('pre', '', `${head}${line}\n${' '.repeat(head.length + Math.max(0, e.span[1] - shift))}${'^'.repeat(length)}`));
  }
  if (e.hint) box.append(h('p', '', e.hint));
  return box;
}

export function helpPage(close: () => void): HTMLElement {
  const box = h('div', 'my-help'), table = h('table'), shut = h('button', 'my-tab my-shut', 'Close');
  box.tabIndex = -1;
  box.setAttribute('role', 'dialog');
  box.setAttribute('aria-label', 'keys and legend');
  shut.addEventListener('click', close);
  for (const [k, what] of KEYS) table.append(h('tr', '', undefined, h('td', '', undefined, h('kbd', '', k)), h('td', '', what)));
  const words: [string, string][] = [['Primal', 'the function itself.'], ['▶ forward', 'the same values, keeping what ◀ will need.'], ['◀ backpropagator', 'from the sensitivity of the result to those of the arguments.'],
    ['∇ sensitivity', 'how much the result changes with this value.'], ['Dotted outline', 'not computed yet; this is never 0.'], ['Tinted ∇', 'still adding up; solid when complete.']];
  const terms = h('dl', 'my-terms');
  for (const [k, v] of words) terms.append(h('dt', '', k), h('dd', '', v));
  const pictures = h('div', 'my-figures my-svg');
  for (const item of [...LEGEND.adjoint, ...LEGEND.optimized, ...LEGEND.parsed]) if (!pictures.textContent?.includes(item[1])) pictures.append(legendItem(item));
  box.append(shut, h('div', 'my-helpcols', undefined, h('div', '', undefined, h('h3', '', 'Keys'), table), h('div', '', undefined, h('h3', '', 'Legend'), pictures, terms, h('p', '', 'Click a closed function to open it; the − of an open one closes it.'))));
  return box;
}

type Figure = [cls: string, text: string, form: 'pill' | 'rect' | 'sign' | 'cut' | 'hex' | 'sheet' | 'line'];
const common: Figure[] = [['r-primal', 'parameter', 'pill'], ['r-free', 'free variable', 'pill'], ['r-constant', 'constant', 'cut'], ['r-control', 'control', 'hex'], ['r-primal', 'function and its size', 'sheet'], ['call', 'call', 'line']];
const gradient: Figure[] = [['r-primal', 'parameter', 'pill'], ['r-forward', 'forward ▶', 'rect'], ['r-backpropagator', 'backpropagator ◀', 'sign'], ['r-sensitivity solid', 'sensitivity ∇', 'pill'], ['r-sensitivity', 'still adding up', 'pill'], ['r-free', 'free variable', 'pill'], ['r-primal todo', 'not yet', 'rect'], ['keeps', 'keeps for ◀', 'line'], ['r-forward kept', 'kept for ◀', 'rect']];
const rewriting: Figure[] = [['r-primal removed', 'removed', 'rect'], ['r-primal added', 'added', 'rect'], ['r-primal quiet', 'unchanged', 'rect'], ['r-primal', 'function and its size', 'sheet'], ['call', 'call', 'line'], ['free', 'from outside', 'line']];
export const LEGEND: Record<string, Figure[]> = { parsed: common, typed: common, adjoint: gradient, run: gradient, optimized: rewriting, lowered: common, code: common };

const FORMS: Record<string, string> = {
  pill: 'M8,1 H22 A7,7 0 0 1 22,15 H8 A7,7 0 0 1 8,1 Z', sign: 'M8,1 H29 V15 H8 L1,8 Z', cut: 'M2,1 H23 L28,6 V15 H2 Z', hex: 'M7,1 H23 L29,8 L23,15 H7 L1,8 Z',
  rect: 'M4,1 H26 Q29,1 29,4 V12 Q29,15 26,15 H4 Q1,15 1,12 V4 Q1,1 4,1 Z', sheet: 'M4,1 H22 Q25,1 25,4 V9 Q25,12 22,12 H4 Q1,12 1,9 V4 Q1,1 4,1 Z'
};

export function legendItem([cls, text, form]: Figure): HTMLElement {
  const picture = svg('svg', { viewBox: '0 0 30 16', 'aria-hidden': 'true' }), g = svg('g', { class: form === 'line' ? '' : `node ${cls}` });
  if (form === 'line') g.append(svg('path', { class: `edge ${cls}`, d: 'M1,8 H24' }), svg('path', { class: `head ${cls}`, d: 'M30,8 L22,4.5 L22,11.5 Z' }));
  else if (form === 'sheet') g.append(svg('path', { class: 'shape', d: FORMS.sheet, transform: 'translate(4,3)' }), svg('path', { class: 'shape', d: FORMS.sheet }));
  else g.append(svg('path', { class: 'shape', d: FORMS[form] }));
  if (cls.includes('kept')) g.append(svg('circle', { class: 'keptmark', cx: 26, cy: 4, r: 3.5 }));
  if (cls.includes('removed')) g.append(svg('path', { class: 'shape', d: 'M5,8 H25' }));
  picture.append(g);
  return h('span', '', undefined, picture, document.createTextNode(text));
}
