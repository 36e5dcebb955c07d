/** Undoes `compact_events` of myia_notebook/snapshot.py: each event says only what differs from what came before. Pure logic, defensive as `read`. */
type Raw = Record<string, any>;

const SHARED = ['kind', 'title', 'reason', 'family', 'location'];
const items = (v: unknown): Raw[] => (Array.isArray(v) ? v.filter(x => x && typeof x === 'object') : []);

/** The events in full. `nodes`: the views of the state before the first. */
export function expandEvents(events: unknown[], nodes: unknown[]): Raw[] {
  const known = new Map<number, Raw>(items(nodes).map(n => [n.id, n] as const)), rules = new Map<string, Raw>();
  let pass = '';
  const view = (n: Raw): Raw => {
    const { like, ...own } = n;
    const base = like === undefined ? known.get(n.id) ?? {} : { ...(known.get(like) ?? {}), value: '' };
    const full = { ...base, ...own };
    known.set(full.id, full);
    return full;
  };
  return items(events).map((r, position) => {
    if (typeof r.rule !== 'string' || !r.rule) return r;
    const full: Raw = { ...(rules.get(r.rule) ?? {}), pass_name: pass, index: position, ...r };
    rules.set(r.rule, Object.fromEntries(SHARED.map(k => [k, full[k] ?? ''])));
    pass = full.pass_name;
    full.added = items(r.added).map(view);
    full.changed = items(r.changed).map(view);
    full.focus ??= r.matched;
    full.produced ??= full.added.filter((n: Raw) => n.kind === 'apply').map((n: Raw) => n.id);
    return full;
  });
}
