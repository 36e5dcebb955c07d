/** Predict mode: types, values and sensitivities are '?' until their node is clicked, and the list of steps ends at the present one. Pure: a scene in,
 * the same scene with its answers covered out. Boxes keep their places: only texts change. */
import { Model } from './replay';
import { NodeView } from './snapshot';
import { Scene } from './story';

export const COVERED = '?';

export class Prediction {
  private told = new Set<string>();

  /** A value belongs to a stage and, in a run, to an iteration: each is asked on its own. */
  private key(stage: string, scene: Scene, id: number): string { return `${stage} ${scene.loop?.now ?? 0} ${id}`; }

  isCovered(stage: string, scene: Scene, id: number): boolean { return !this.told.has(this.key(stage, scene, id)); }

  /** Uncovers a node; false when there was nothing to uncover. */
  tell(stage: string, scene: Scene, id: number): boolean {
    const key = this.key(stage, scene, id);
    if (this.told.has(key) || scene.model.nodes.get(id)?.kind === 'constant') return false;
    this.told.add(key);
    return true;
  }

  cover(stage: string, scene: Scene): Scene {
    const isCovered = (id: number): boolean => this.isCovered(stage, scene, id), model = scene.model.clone();
    for (const [id, n] of model.nodes) if (n.kind !== 'constant' && isCovered(id)) model.nodes.set(id, blank(n));
    const texts = scene.look.texts && new Map([...scene.look.texts].map(([id, text]) => [id, isCovered(id) ? COVERED : text] as const));
    return { ...scene, model: model as Model, look: { ...scene.look, texts }, values: id => (scene.values(id) && isCovered(id) ? COVERED : scene.values(id)) };
  }
}

const blank = (n: NodeView): NodeView => ({ ...n, value: n.value ? COVERED : '', type: n.type ? COVERED : '' });
