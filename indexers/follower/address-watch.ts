/**
 * Keeps the table of watched addresses level with the store. Addresses are only ever added, so the newest id says how
 * far it got.
 *
 * @module
 */
import type { Database } from '../../src/database/database.ts';
import type { PoolKey } from '../../src/database/sweeps.ts';
import type { AddressTable } from './address-table.ts';

const PAGE = 10_000;

export interface Watch {
  /** The highest address id that is in the table. */
  throughId(): number;
  /** Loads what was added since the last time. Without `force`, only if something was committed meanwhile. */
  load(force: boolean): Promise<void>;
}

/** @param pool one address serves every network of its family and mode */
export function createWatch(
  database: Pick<Database, 'watchList' | 'changeCount'>,
  pool: PoolKey,
  table: AddressTable,
): Watch {
  let throughId = 0;
  let seenChange: number | null = null;
  return {
    throughId: () => throughId,
    async load(force) {
      const change = database.changeCount();
      if (change === seenChange && !force) return;
      for (;;) {
        const page = await database.watchList(pool, throughId, PAGE);
        for (const { key } of page) table.add(key);
        throughId = page.at(-1)?.id ?? throughId;
        if (page.length < PAGE) break;
      }
      seenChange = change;
    },
  };
}
