/** Small HTML helpers: elements, icons (drawn, since fonts lack the player's symbols), and the words of a key. */
import { svg } from './svg';

export const ICONS: Record<string, string> = {
  first: 'M4 3v10M13 3 7 8l6 5z', prev: 'M11 3 5 8l6 5z', play: 'M5 3l8 5-8 5z', pause: 'M5 3v10M11 3v10', next: 'M5 3l6 5-6 5z', last: 'M12 3v10M3 3l6 5-6 5z',
  plus: 'M8 3v10M3 8h10', minus: 'M3 8h10', fit: 'M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3', help: 'M6 6a2 2 0 1 1 3 2c-1 .6-1 1-1 2M8 12.6v.1', full: 'M9 7l4-4M9 3h4v4M7 9l-4 4M7 13H3V9',
  save: 'M8 2v8M4.5 7 8 10.5 11.5 7M3 13h10', compare: 'M3 3h4v10H3zM9 3h4v10H9z', turn: 'M4 3v8M2 9l2 3 2-3M8 5h5M11 3l3 2-3 2', map: 'M2 3h12v10H2zM8 8h4v3H8z', fold: 'M4 6l4-3 4 3M4 10l4 3 4-3', close: 'M4 4l8 8M12 4l-8 8', predict: 'M2 8q6-8 12 0q-6 8-12 0zM8 6.4a1.6 1.6 0 1 0 .1 0M3 13 13 3'
};

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, cls = '', text?: string, ...children: Node[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  if (text !== undefined) e.textContent = text;
  e.append(...children);
  return e;
}

export function icon(name: string, label: string, action: () => void, cls = 'my-ib'): HTMLButtonElement {
  const b = button('', label, action, cls);
  const s = svg('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true' });
  s.append(svg('path', { d: ICONS[name] }));
  b.append(s);
  return b;
}

export function button(text: string, label: string, action: () => void, cls: string): HTMLButtonElement {
  const b = h('button', cls, text);
  b.type = 'button';
  if (label) { b.title = label; b.setAttribute('aria-label', label); }
  b.addEventListener('click', action);
  return b;
}

/** A search or filter field: Escape empties it and gives the keys back to the viewer; other keys stay in it. */
export function field(placeholder: string, label: string, cls: string, changed: (text: string) => void, enter: (back: boolean) => void, leave: () => void): HTMLInputElement {
  const input = h('input', cls);
  input.placeholder = placeholder;
  input.setAttribute('aria-label', label);
  input.addEventListener('input', () => changed(input.value));
  input.addEventListener('keydown', e => {
    e.stopPropagation();
    if (e.key === 'Escape') { input.value = ''; changed(''); leave(); e.preventDefault(); }
    if (e.key === 'Enter') { enter(e.shiftKey); e.preventDefault(); }
  });
  return input;
}
