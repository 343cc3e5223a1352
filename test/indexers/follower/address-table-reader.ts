/**
 * A worker thread that reads an address table while another thread adds to it. It checks, repeatedly, the keys that the
 * shared counter counts as added, until all are, and answers with the keys that it missed or invented.
 *
 * `shared` holds 32-bit counters: keys added, then each reader's passes.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { openAddressTable } from '../../../indexers/follower/address-table.ts';
import { addressKeyOf } from '../../support/address-keys.ts';

export type ReaderWork = Readonly<{
  table: SharedArrayBuffer;
  shared: SharedArrayBuffer;
  /** This reader's number, from 1. */
  reader: number;
  total: number;
  keyBytes: number;
}>;
export type ReaderReport = Readonly<{ missed: number; invented: number }>;

const { table, shared, reader, total, keyBytes } = workerData as ReaderWork;
const addresses = openAddressTable(table);
const counters = new Int32Array(shared);
let missed = 0;
let invented = 0;
for (let known = 0, looks = 0; known < total; looks++) {
  known = Atomics.load(counters, 0);
  // The newest keys race with the writer; the oldest must stay.
  for (let at = Math.max(0, known - 200); at < known; at++) if (!addresses.has(addressKeyOf(at, keyBytes))) missed++;
  if (known > 0 && !addresses.has(addressKeyOf(looks % known, keyBytes))) missed++;
  if (addresses.has(addressKeyOf(total + looks, keyBytes))) invented++;
  Atomics.add(counters, reader, 1);
}
parentPort?.postMessage({ missed, invented } satisfies ReaderReport);
