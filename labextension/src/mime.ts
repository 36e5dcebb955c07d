/** Renders the viewer from the output itself: a saved notebook shows it with no kernel and no widget manager, trusted or not (the viewer writes
 * program text only as text). */
import { Widget } from '@lumino/widgets';
import worker from './generated/layout.worker.txt';
import { mount } from './viewer';

export const MIME = 'application/vnd.myia-notebook.v1+json';

interface MimeModel { data: Record<string, unknown> }

class ViewerOutput extends Widget {
  private unmount: (() => void) | null = null;

  async renderModel(model: MimeModel): Promise<void> {
    this.unmount?.();
    this.node.replaceChildren();
    this.unmount = mount(this.node, model.data[MIME], worker);
  }

  dispose(): void {
    this.unmount?.();
    this.unmount = null;
    super.dispose();
  }
}

export default {
  id: 'myia-notebook:viewer',
  rendererFactory: { safe: true, mimeTypes: [MIME], createRenderer: (): ViewerOutput => new ViewerOutput() },
  rank: -100,
  dataType: 'json'
};
