/** Equations: token lists as MathML, each number under its symbol. Only text nodes carry the program's names. */
import { Token } from './snapshot';

const NS = 'http://www.w3.org/1998/Math/MathML';
const m = (tag: string, ...children: (Node | string)[]): Element => {
  const e = document.createElementNS(NS, tag);
  for (const c of children) e.append(typeof c === 'string' ? document.createTextNode(c) : c);
  return e;
};

export type ValueOf = (node: number) => string;

function symbol(t: Token, value: ValueOf): Element {
  const nabla = t.text.startsWith('∇');
  const row = nabla ? m('mrow', m('mo', '∇'), m('mi', t.text.slice(1))) : m(/^[\w.∂]+$/.test(t.text) ? 'mi' : 'mtext', t.text);
  row.setAttribute('class', `my-role-${t.role || 'primal'}`);
  const v = t.node === null ? '' : value(t.node);
  if (!v) return row;
  const under = m('mtext', v);
  under.setAttribute('class', 'my-under');
  const base = m('mpadded', row); // one height and depth for all symbols, so that the numbers stand on one line
  base.setAttribute('height', '0.75em');
  base.setAttribute('depth', '0.3em');
  return m('munder', base, under);
}

/** Parentheses of one size: the numbers under the symbols must not stretch them. */
function paren(text: string): Element { const e = m('mo', text); e.setAttribute('stretchy', 'false'); return e; }

function element(t: Token, value: ValueOf): Element {
  switch (t.kind) {
    case 'name': return symbol(t, value);
    case 'number': return m('mn', t.text);
    case 'operator': return m('mo', t.text);
    case 'open': case 'close': return paren(t.text);
    case 'function': return m('mrow', m('mi', t.text), m('mo', '\u2061'), m('mrow', paren('('), ...row(t.body, value), paren(')')));
    case 'fraction': return m('mfrac', m('mrow', ...row(t.body, value)), m('mrow', ...row(t.below, value)));
    default: return m('mtext', t.text || '\u2003');
  }
}

const isWritten = (t: Token): boolean => t.kind === 'name' || (t.kind === 'text' && t.text.trim() !== '');

export function row(tokens: Token[], value: ValueOf): Element[] {
  const out: Element[] = [];
  let isWord = false; // words of a phrase, as in "body of f", keep their spaces: MathML drops them
  for (const t of tokens) {
    if (isWord && isWritten(t)) { const space = m('mspace'); space.setAttribute('width', '0.3em'); out.push(space); }
    isWord = isWritten(t);
    if (t.kind === 'sup') { const base = out.pop() ?? m('mrow'); out.push(m('msup', base, m('mrow', ...row(t.body, value)))); }
    else out.push(element(t, value));
  }
  return out;
}

export function equation(tokens: Token[], value: ValueOf, display: boolean): Element {
  const e = m('math', m('mrow', ...row(tokens, value)));
  e.setAttribute('display', display ? 'block' : 'inline');
  return e;
}

/** The same as plain text, for lists and screen readers. */
export function plainText(tokens: Token[]): string {
  return tokens.map(t => {
    switch (t.kind) {
      case 'function': return `${t.text}(${plainText(t.body)})`;
      case 'fraction': return `(${plainText(t.body)}) / (${plainText(t.below)})`;
      case 'sup': return `^${plainText(t.body)}`;
      case 'operator': return ` ${t.text} `;
      default: return t.text;
    }
  }).join('');
}
