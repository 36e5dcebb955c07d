/** The anywidget module: shows the model's payload. */
import worker from './generated/layout.worker.txt';
import { mount } from './viewer';

interface WidgetModel { get(name: string): unknown }

export default {
  render({ model, el }: { model: WidgetModel; el: HTMLElement }): () => void {
    const raw = model.get('payload');
    let payload: unknown = {};
    try { payload = typeof raw === 'string' ? JSON.parse(raw) : raw; } catch { payload = {}; }
    return mount(el, payload, worker);
  }
};
