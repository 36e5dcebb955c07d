/** The keys of the viewer. They act only with the focus inside it, and never in a text field. */
import type { Viewer } from './viewer';

export function act(v: Viewer, e: KeyboardEvent): void {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.target instanceof HTMLInputElement && e.target.type !== 'range') return;
  if (e.target instanceof HTMLSelectElement && e.key !== 'Escape') return;
  const onButton = e.target instanceof HTMLButtonElement, stages = v.data.stages.length, n = Number(e.key);
  if (onButton && (e.key === ' ' || e.key === 'Enter')) return;
  if (v.side.hasTabFocus && (e.key === 'ArrowLeft' || e.key === 'ArrowRight')) { v.side.turn(e.key === 'ArrowLeft' ? -1 : 1); done(e); return; }
  const modes = ['before', 'difference', 'after'] as const;
  const actions: Record<string, () => void> = {
    ArrowRight: () => v.player.forward(), j: () => v.player.forward(), ArrowLeft: () => v.player.back(), k: () => v.player.back(), Home: () => { v.player.stop(); v.go(0); },
    End: () => { v.player.stop(); v.go(v.story()?.items.length ?? 0); }, ' ': () => v.player.toggle(), '[': () => v.enter(Math.max(0, v.stage - 1)), ']': () => v.enter(Math.min(stages - 1, v.stage + 1)),
    d: () => { v.mode = modes[(modes.indexOf(v.mode) + 1) % 3]; v.go(v.step); }, g: () => v.setGrid(!v.asGrid), c: () => v.compare(), t: () => v.turn(), o: () => v.main.foldAll(),
    '+': () => v.main.pane.zoom(1.25), '=': () => v.main.pane.zoom(1.25), '-': () => v.main.pane.zoom(0.8), '0': () => v.main.pane.fit(), m: () => v.main.map.toggle(), s: () => v.save(), i: () => v.openInputs(), Backspace: () => v.back(), p: () => v.present(), h: () => v.predict(), '?': () => v.help(),
    '/': () => v.rail.searchField.focus(), n: () => v.nextHit(false), N: () => v.nextHit(true), f: () => { v.side.open(''); v.list()?.filter.focus(); }
  };
  if (e.key === 'Escape') { if (v.closeOverlay()) done(e); else if (document.activeElement !== v.root) { v.root.focus(); done(e); } return; }
  const action = actions[e.key] ?? actions[e.key.toLowerCase()] ?? (n >= 1 && n <= stages ? () => v.enter(n - 1) : undefined);
  if (!action) return;
  action();
  done(e);
}

function done(e: KeyboardEvent): void { e.preventDefault(); e.stopPropagation(); }
