/**
 * The table of watched addresses, with a million of them.
 * @module
 */
import { randomBytes } from 'node:crypto';
import { createAddressTable } from '../../indexers/follower/address-table.ts';
import { progress, type Row, round, show } from './report.ts';

const ADDRESSES = 1_000_000;
const KEY_BYTES = 20;

/** Measures how fast addresses are added and looked up. */
export function benchTable(): Row[] {
  const random = () => randomBytes(KEY_BYTES).toString('hex');
  const bar = progress('table', 4);
  const keys = Array.from({ length: ADDRESSES }, random);
  bar.step(1);
  const table = createAddressTable(KEY_BYTES);
  const perSecond = (work: (key: string) => unknown, list: readonly string[]): number => {
    const startedAtMs = performance.now();
    for (const key of list) work(key);
    return round((list.length / (performance.now() - startedAtMs)) * 1000, 0);
  };
  const adds = perSecond((key) => table.add(key), keys);
  bar.step(2);
  const hits = perSecond((key) => table.has(key), keys);
  bar.step(3);
  const misses = perSecond((key) => table.has(key), Array.from({ length: ADDRESSES }, random));
  bar.end();
  const rows = [
    {
      addresses: table.size(),
      MB: round(table.buffer().byteLength / 1e6, 1),
      'bytes/address': round(table.buffer().byteLength / table.size(), 1),
      'added/s': adds,
      'found/s': hits,
      'missed/s': misses,
    },
  ];
  show(`Table of watched addresses, ${KEY_BYTES} bytes each`, rows);
  return rows;
}
