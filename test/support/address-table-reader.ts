/**
 * A worker thread that reads an address table while another thread adds to it. It checks every key that the shared counter says is
 * in, again and again, until the counter says that all are, and answers with what it missed and what it made up.
 * @module
 */
import { parentPort, workerData } from 'node:worker_threads';
import { openAddressTable } from '../../indexers/address-table.ts';
import { addressKeyOf } from './address-keys.ts';

type Work = Readonly<{ table: SharedArrayBuffer; added: SharedArrayBuffer; total: number; keyBytes: number }>;
const { table, added, total, keyBytes } = workerData as Work;

const reader = openAddressTable(table);
const counter = new Int32Array(added);
let missed = 0;
let invented = 0;
let checked = 0;
for (let known = 0; known < total; ) {
  known = Atomics.load(counter, 0);
  // The newest keys race with the writer; the oldest must stay.
  for (let at = Math.max(0, known - 200); at < known; at++) if (!reader.has(addressKeyOf(at, keyBytes))) missed++;
  if (known > 0 && !reader.has(addressKeyOf(checked % known, keyBytes))) missed++;
  if (reader.has(addressKeyOf(total + checked, keyBytes))) invented++;
  checked++;
}
parentPort?.postMessage({ missed, invented, checked });
