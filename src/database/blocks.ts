/** Blocks, which are facts identified by hash. On each network one chain of them is canonical. */

import type { BlockRef, Tail } from '../core/block.ts';
import type { NetworkKey } from '../core/transfer.ts';
import { mapInOrder } from './engine/bodies.ts';
import type { Db } from './engine/open.ts';
import { changeRows, findRow, insertRow } from './engine/rows.ts';
import { listData, writeData } from './meta.ts';
import type { RowIds } from './networks.ts';
import { blocks } from './tables.ts';
import { shownIn } from './transfers.ts';

export type BlockRow = typeof blocks.$inferSelect;

/** Most blocks that one step prunes. */
const PRUNED_MAX = 200;

/** Returns the newest canonical block. */
export const newestBlock = (db: Db, network: NetworkKey): Promise<BlockRow | undefined> =>
  findRow(db, blocks, 'WHERE network = :network AND canonical = 1 ORDER BY number DESC LIMIT 1', { network });

/** Makes a block canonical. @returns its id */
export async function makeCanonical(
  db: Db,
  { network, ids }: Readonly<{ network: NetworkKey; ids: RowIds }>,
  block: BlockRef,
  known: BlockRow | undefined,
  watchedThrough: number,
): Promise<number> {
  const id = known?.id ?? ids.next();
  const now = { canonical: true, watchedThrough, number: block.number };
  if (known) await changeRows(db, blocks, { id }, now);
  else await insertRow(db, blocks, { ...block, ...now, id, network });
  return id;
}

/**
 * Deletes at most `PRUNED_MAX` blocks without transfers, lowest first, with `above` < number ≤ `through`.
 * @returns the number through which it pruned
 */
export async function pruneBlocks(db: Db, network: NetworkKey, above: number, through: number): Promise<number> {
  if (through <= above) return above;
  const range = 'network = :network AND number > :above AND number <= :through';
  const slice = `SELECT number FROM blocks WHERE ${range} AND canonical = 1 ORDER BY number LIMIT ${PRUNED_MAX}`;
  const lastOfSlice = db.client.values<number | null>(`SELECT max(number) FROM (${slice}) AS slice`);
  const last = (await lastOfSlice.get({ network, above, through })) ?? through;
  const hasNone = 'NOT EXISTS (SELECT 1 FROM transfers WHERE block_id = blocks.id)';
  for (const chain of ['canonical = 1', 'canonical = 0'])
    await db.client
      .prepare(`DELETE FROM blocks WHERE ${range} AND ${chain} AND ${hasNone}`)
      .run({ network, above, through: last });
  return last;
}

export function blockCommands(db: Db) {
  const tail = db.client.prepare<Tail[number]>(
    `SELECT hash, parent, number, time_s AS "timeS" FROM blocks
     WHERE network = :network AND canonical = 1 ORDER BY number DESC LIMIT :limit`,
  );
  const unconfirmed = db.client.prepare<Pick<BlockRow, 'id' | 'hash' | 'number'>>(
    `SELECT DISTINCT b.id, b.hash, b.number
     FROM transfers AS t JOIN blocks AS b ON b.id = t.block_id AND b.canonical = 1 AND b.number > :number
     WHERE t.network = :network AND t.confirmed = 0 AND t.dust = 0 ORDER BY b.number LIMIT :limit`,
  );
  const waiting = async (blockId: number): Promise<string[]> =>
    (await shownIn(db, blockId)).flatMap(({ transfer }) => (transfer.confirmed ? [] : transfer.tx));
  return {
    /** Returns the newest `limit` canonical blocks of a network, oldest first; empty before the first step. */
    async tail(network: NetworkKey, limit: number): Promise<Tail> {
      return (await db.read(() => tail.all({ network, limit }))).reverse();
    },
    /** Returns canonical blocks above `number` with unconfirmed transfers, lowest first, and their transactions. */
    async unconfirmed(network: NetworkKey, number: number, limit: number): Promise<readonly Unconfirmed[]> {
      return db.read(async () => {
        const found = await unconfirmed.all({ network, number, limit });
        return mapInOrder(found, async ({ id, ...block }) => ({ ...block, txs: [...new Set(await waiting(id))] }));
      });
    },
    /** Returns the last comparison of each network that has one. */
    async listComparisons(): Promise<readonly BlockComparison[]> {
      return db.read(() => listData<BlockComparison>(db, 'compared'));
    },
    /** Replaces the network's last comparison. */
    async recordComparison(comparison: BlockComparison): Promise<void> {
      await db.write(() => writeData(db, `compared ${comparison.network}`, comparison));
    },
  };
}

/** A block with transfers that are not confirmed yet, and their transactions. */
export type Unconfirmed = Readonly<{ hash: string; number: number; txs: readonly string[] }>;

/**
 * The last night's comparison of a network's final blocks with the database: the numbers `from` to `through`, and the
 * counts of blocks, transfers to us, and differences in them.
 */
export type BlockComparison = Readonly<{
  network: NetworkKey;
  from: number;
  through: number;
  comparedAtMs: number;
  blocks: number;
  transfers: number;
  differences: number;
}>;
