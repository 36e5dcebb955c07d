/** The anywidget module: shows the model's payload. */
import worker from './generated/layout.worker.txt';
import { askByModel } from './live';
import { mount } from './viewer';

interface WidgetModel { get(name: string): unknown; send?(content: unknown): void; on?(event: string, f: (message: unknown) => void): void }

export default {
  render({ model, el }: { model: WidgetModel; el: HTMLElement }): () => void {
    const raw = model.get('payload');
    let payload: unknown = {};
    try { payload = typeof raw === 'string' ? JSON.parse(raw) : raw; } catch { payload = {}; }
    return mount(el, payload, worker, askByModel(model));
  }
};
