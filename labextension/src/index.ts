/** The JupyterLab and Notebook 7 extension: ties the viewer to the cell's editor. Hovering a node marks its source; the pointer or the cursor
 * in the source lights up its nodes. Nothing of @jupyterlab is imported: the application hands over what is needed. */
import { Range, StateEffect, StateField } from '@codemirror/state';
import { Decoration, DecorationSet, EditorView } from '@codemirror/view';

type Span = [number, number, number, number];
interface Mark { from: number; to: number }

interface Fault { code: string; message: string; hint: string; span: Span | null }
const setMarks = StateEffect.define<Mark[]>();
const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    value = value.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setMarks)) continue;
      const length = transaction.newDoc.length;
      const ranges: Range<Decoration>[] = effect.value.filter(m => m.from < m.to && m.from < length).map(m => Decoration.mark({ class: 'cm-myia-lit' }).range(m.from, Math.min(m.to, length)));
      value = Decoration.set(ranges, true);
    }
    return value;
  },
  provide: field => EditorView.decorations.from(field)
});

/** What the kernel finds wrong with a cell that has not run, underlined; the words are in the tooltip. */
const setFaults = StateEffect.define<(Mark & { said: string })[]>();
const faults = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    value = value.map(transaction.changes);
    for (const effect of transaction.effects) if (effect.is(setFaults)) value = Decoration.set(effect.value.map(m => Decoration.mark({ class: 'cm-myia-fault', attributes: { title: m.said } }).range(m.from, m.to)), true);
    return value;
  },
  provide: field => EditorView.decorations.from(field)
});
const QUIET_MS = 400;
const timers = new WeakMap<EditorView, number>();
let check: (view: EditorView) => void = () => undefined; // set when the extension begins

/** Looks at a cell when its text has rested. */
function schedule(view: EditorView): void {
  window.clearTimeout(timers.get(view));
  timers.set(view, window.setTimeout(() => check(view), QUIET_MS));
}

function showFaults(view: EditorView, text: string, found: Fault[]): void {
  const doc = view.state.doc;
  if (doc.toString() !== text) return; // typed on: a later answer comes
  const marks = found.flatMap(f => {
    const [at] = f.span ? offsets(view, [f.span]) : [];
    if (!at) return [];
    const to = Math.min(doc.length, Math.max(at.to, at.from + 1)), from = Math.min(at.from, to - 1);
    return from < 0 || from >= to ? [] : [{ from, to: Math.min(to, doc.lineAt(from).to > from ? doc.lineAt(from).to : to), said: `${f.code} ${f.message}${f.hint ? `\n${f.hint}` : ''}` }];
  }).sort((a, b) => a.from - b.from);
  view.dispatch({ effects: setFaults.of(marks) });
}

const isMyia = (view: EditorView): boolean => /^\s*%%myia\b/.test(view.state.doc.line(1).text);

/** A position in the document as the program's line and column: the magic's own line is not part of the cell's text. */
function tell(view: EditorView, offset: number | null): void {
  if (!isMyia(view)) return;
  const cell = view.dom.closest('.jp-Cell');
  if (!cell) return;
  if (offset === null) { document.dispatchEvent(new CustomEvent('myia:source', { detail: { cell } })); return; }
  const line = view.state.doc.lineAt(offset);
  document.dispatchEvent(new CustomEvent('myia:source', { detail: { cell, line: line.number - 1, column: offset - line.from } }));
}

const listener = [
  EditorView.domEventHandlers({
    mousemove(e, view) { tell(view, view.posAtCoords({ x: e.clientX, y: e.clientY })); },
    mouseleave(_e, view) { tell(view, null); }
  }),
  EditorView.updateListener.of(update => { if (update.docChanged) schedule(update.view); if (update.selectionSet && update.view.hasFocus) tell(update.view, update.state.selection.main.head); })
];

function arm(view: EditorView): void {
  if (view.state.field(marks, false) === undefined) { view.dispatch({ effects: StateEffect.appendConfig.of([marks, faults, listener]) }); schedule(view); }
}

function offsets(view: EditorView, spans: Span[]): Mark[] {
  const doc = view.state.doc, found: Mark[] = [];
  for (const [l0, c0, l1, c1] of spans) {
    if (l0 + 1 > doc.lines || l1 + 1 > doc.lines) continue;
    const first = doc.line(l0 + 1), last = doc.line(l1 + 1);
    found.push({ from: Math.min(first.from + c0, first.to), to: Math.min(last.from + c1, last.to) });
  }
  return found;
}

interface Cell { node: HTMLElement; editor?: { editor?: EditorView } }
interface Comm { open(data?: unknown): unknown; send(data: unknown): unknown; onMsg: (m: { content: { data: Record<string, unknown> } }) => void; onClose: () => void }
interface Kernel { status?: string; createComm(target: string): Comm; handleComms?: boolean }
interface Panel { sessionContext?: { session?: { kernel?: Kernel | null } | null }; content: { widgets: readonly Cell[] }; disposed: { connect(f: () => void): void } }

/** One comm for each kernel, and who waits for its answers. A kernel without the extension closes it: then nothing is known there. */
const lines = new WeakMap<Kernel, { comm: Comm; waiting: Map<number, (raw: unknown) => void> }>();
let questions = 0;

function ask(kernel: Kernel, question: unknown, answer: (raw: unknown) => void): void {
  try {
    let line = lines.get(kernel);
    if (!line) {
      const comm = kernel.createComm('myia_notebook'), made = { comm, waiting: new Map<number, (raw: unknown) => void>() };
      comm.onMsg = m => { const n = Number(m.content.data.number); made.waiting.get(n)?.(m.content.data); made.waiting.delete(n); };
      comm.onClose = () => { lines.delete(kernel); for (const f of made.waiting.values()) f(null); made.waiting.clear(); };
      comm.open();
      lines.set(kernel, (line = made));
    }
    const number = ++questions;
    line.waiting.set(number, answer);
    line.comm.send({ ...(question as object), number });
  } catch { lines.delete(kernel); answer(null); }
}

export default {
  id: 'myia-notebook:plugin',
  description: 'Ties the myia viewer to the source in the cell',
  autoStart: true,
  activate(app: { docRegistry: { addWidgetExtension(name: string, extension: unknown): void } }): void {
    const panels = new Set<Panel>();
    app.docRegistry.addWidgetExtension('Notebook', {
      createNew(panel: Panel): void { panels.add(panel); panel.disposed.connect(() => panels.delete(panel)); }
    });
    const panelOf = (element: Element): Panel | undefined => [...panels].find(p => p.content.widgets.some(cell => cell.node.contains(element)));
    const cellOf = (element: Element): Cell | undefined => {
      for (const panel of panels) for (const cell of panel.content.widgets) if (cell.node.contains(element)) return cell;
      return undefined;
    };
    const viewOf = (target: EventTarget | null): EditorView | undefined => (target instanceof Element ? cellOf(target)?.editor?.editor : undefined);
    const meet = (e: Event): void => { // by pointer or by keyboard
      if (!(e.target instanceof Element) || !e.target.closest('.cm-editor')) return;
      const view = viewOf(e.target);
      if (view && isMyia(view)) arm(view);
    };
    document.addEventListener('mouseover', meet);
    document.addEventListener('focusin', meet);
    document.addEventListener('myia:highlight', e => {
      const view = viewOf(e.target);
      if (!view || !isMyia(view)) return;
      arm(view);
      view.dispatch({ effects: setMarks.of(offsets(view, ((e as CustomEvent).detail?.spans ?? []) as Span[])) });
    });
    check = view => {
      const kernel = panelOf(view.dom)?.sessionContext?.session?.kernel, text = view.state.doc.toString();
      if (!isMyia(view)) { view.dispatch({ effects: setFaults.of([]) }); return; }
      if (!kernel || kernel.status !== 'idle') { if (kernel) schedule(view); return; } // a busy kernel is left alone
      ask(kernel, { check: text.slice(text.indexOf('\n') + 1 || text.length) }, raw => showFaults(view, text, ((raw as { faults?: Fault[] } | null)?.faults ?? [])));
    };
    document.addEventListener('myia:ask', e => {
      const detail = (e as CustomEvent).detail as { question?: unknown; answer?: (raw: unknown) => void } | null, kernel = e.target instanceof Element ? panelOf(e.target)?.sessionContext?.session?.kernel : null;
      if (!kernel || !detail?.answer) return;
      e.preventDefault();
      ask(kernel, detail.question, detail.answer);
    });
    document.body.dataset.myiaNotebook = 'ready';
  }
};
