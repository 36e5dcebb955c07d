/** Runs Graphviz (WASM) off the page's thread. */
import { Graphviz } from '@hpcc-js/wasm-graphviz';

let graphviz: Promise<Graphviz> | null = null;

self.onmessage = async (e: MessageEvent): Promise<void> => {
  const { id, dot } = e.data as { id: number; dot: string };
  try {
    graphviz = graphviz ?? Graphviz.load();
    const json = (await graphviz).layout(dot, 'json', 'dot');
    (self as unknown as Worker).postMessage({ id, json });
  } catch (error) {
    (self as unknown as Worker).postMessage({ id, error: String(error) });
  }
};
