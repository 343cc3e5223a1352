/**
 * Keeps the table of watched addresses up to date with the database. Addresses are only ever added, so the newest id
 * tells how far it has been read.
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
  /** Loads what was added since the last load. Without `force`, only if something was committed in between. */
  load(force: boolean): Promise<void>;
}

/**
 * Creates the watch of a pool.
 * @param pool one address serves every network of its family and mode
 */
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
