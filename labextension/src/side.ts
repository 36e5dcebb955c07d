/** The pane beside the graph: its tabs (steps, source, listings, error, node) and the page in hand. */
import { h } from './elements';
import { Inputs } from './inputs';
import { errorPage } from './panes';
import { NodeHooks, nodePage } from './properties';
import { Model } from './replay';
import { NodeView, Payload, Snapshot, Span } from './snapshot';
import { codeListing, LineHooks, markOrigins, markRanges, sourceListing } from './sources';
import { StepList } from './steps';

export class Side {
  readonly el = h('div', 'my-side');
  tab = '';
  private tabs = h('div', 'my-tabs');
  private page = h('div', 'my-pane');
  private names: string[] = [];
  private shown = '';
  private spans: Span[] = [];
  private snapshot: Snapshot | null = null;
  private list: StepList | null = null;
  inputs: Inputs | null = null;
  private node: { view: NodeView; model: Model; value: string } | null = null;

  constructor(private data: Payload, private hooks: LineHooks, private links: NodeHooks) {
    this.tabs.setAttribute('role', 'tablist');
    this.tabs.setAttribute('aria-label', 'side pane');
    this.page.setAttribute('role', 'tabpanel');
    this.page.tabIndex = 0;
    this.el.append(this.tabs, this.page);
  }

  enter(s: Snapshot, list: StepList | null): void {
    this.snapshot = s;
    this.list = list;
    this.node = null;
    if (this.tab !== 'Inputs') this.tab = ''; // whoever moves an input looks at every stage
    this.shown = '';
    this.draw();
  }

  /** Another list of steps for the same stage. */
  refresh(list: StepList | null): void { this.list = list; this.shown = this.tab === 'Inputs' ? this.shown : ''; this.draw(); }

  select(node: { view: NodeView; model: Model; value: string } | null): void {
    const had = this.node !== null;
    this.node = node;
    if (node) this.tab = 'Node'; else if (had) this.tab = '';
    this.shown = '';
    this.draw();
  }

  open(tab: string): void { this.tab = tab; this.draw(); }

  private draw(): void {
    const s = this.snapshot;
    if (!s) return;
    const names: string[] = [];
    if (s.error) names.push('Error');
    if (this.list) names.push(s.stage === 'optimized' ? 'Rewrites' : s.stage === 'adjoint' ? 'Derivation' : 'Steps');
    for (const c of s.code) names.push(c.title);
    names.push('Source');
    if (this.inputs && !s.error) names.push('Inputs');
    if (s.stage !== 'code' && s.stage !== 'run' && !s.error) names.push('Text');
    if (this.node) names.push('Node');
    if (!names.includes(this.tab)) this.tab = names[0];
    this.drawTabs(names);
    const key = this.tab === 'Inputs' ? 'Inputs' : `${s.stage} ${this.tab}`;
    if (key === this.shown) return;
    this.shown = key;
    this.page.replaceChildren(this.content(s));
    this.page.scrollTop = 0;
    if (this.page.contains(this.list?.el ?? null)) this.list?.mark(this.list.now);
    if (this.spans.length) this.mark(this.spans);
  }

  private drawTabs(names: string[]): void {
    if (names.join('|') !== this.names.join('|')) {
      this.names = names;
      this.tabs.replaceChildren(...names.map(name => {
        const b = h('button', 'my-tab', name[0].toUpperCase() + name.slice(1));
        b.type = 'button';
        b.setAttribute('role', 'tab');
        b.addEventListener('click', () => this.open(name));
        return b;
      }));
    }
    [...this.tabs.children].forEach((b, i) => { b.setAttribute('aria-selected', String(names[i] === this.tab)); (b as HTMLElement).tabIndex = names[i] === this.tab ? 0 : -1; });
  }

  /** The next tab, for the keyboard. */
  turn(by: number): void { const i = this.names.indexOf(this.tab); this.open(this.names[(i + by + this.names.length) % this.names.length]); (this.tabs.children[this.names.indexOf(this.tab)] as HTMLElement).focus(); }
  get hasTabFocus(): boolean { return this.tabs.contains(document.activeElement); }

  private content(s: Snapshot): HTMLElement {
    const code = s.code.find(c => c.title === this.tab);
    if (this.tab === 'Error') return errorPage(s);
    if (code) return codeListing(code.lines, code.origin, code.nodes, this.hooks);
    if (this.tab === 'Text') return codeListing(s.text.split('\n'), [], [], this.hooks);
    if (this.tab === 'Node' && this.node) return nodePage(this.node.view, this.node.model, this.node.value, this.data, this.links);
    if (this.tab === 'Inputs' && this.inputs) return this.inputs.el;
    if (this.tab === 'Source' || !this.list) return sourceListing(this.data.source, this.hooks);
    return this.list.el;
  }

  step(step: number): void { if (this.list) { this.list.mark(step); } }

  mark(spans: Span[]): void {
    this.spans = spans;
    if (this.tab === 'Source') markRanges(this.page, spans);
    else if (this.snapshot?.code.some(c => c.title === this.tab) && !this.page.matches(':hover')) markOrigins(this.page, spans);
  }
}
