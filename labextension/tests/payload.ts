/** Payloads as Python writes them (`tools/payloads.py`), read as the viewer reads them. */
import { readFileSync } from 'node:fs';
import { Payload, read, Snapshot } from '../src/snapshot';

export const payload = (name: string): Payload => read(JSON.parse(readFileSync(`tests/payloads/${name}.json`, 'utf8')));
export function stage(p: Payload, name: string): Snapshot {
  const found = p.stages.find(s => s.stage === name);
  if (!found) throw new Error(`no stage ${name}`);
  return found;
}
