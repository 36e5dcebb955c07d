/** The standalone page: reads the payload that the page carries and shows it. */
import worker from './generated/layout.worker.txt';
import { mount } from './viewer';

const start = (): void => {
  const data = document.getElementById('myia-payload'), place = document.getElementById('myia-viewer');
  if (data && place) mount(place, JSON.parse(data.textContent ?? '{}'), worker);
};
if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start); else start();
