/**
 * Blocks: facts by hash, of which one chain is canonical.
 */

import { and, asc, desc, eq, gt, sql } from 'drizzle-orm';
import type { Tail } from '../core/block.ts';
import type { NetworkKey } from '../core/transfer.ts';
import { mapInOrder } from './engine/each.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, changeBy, findBy, given, preparedInsert } from './engine/prepared.ts';
import { blocks, transfers } from './tables.ts';

export type BlockRow = typeof blocks.$inferSelect;

/** Blocks that one step prunes at most. */
const PRUNED_MAX = 200;

const isCanonical = eq(blocks.canonical, sql`1`);

/** Returns functions that are called within a transaction. */
export function createBlocks(db: Db) {
  const find = findBy(db, blocks, 'network', 'hash');
  const ofNetwork = db.orm.select().from(blocks);
  const tip = atFirstUse(
    ofNetwork
      .where(and(given(blocks, 'network'), isCanonical))
      .orderBy(desc(blocks.number))
      .limit(1),
  );
  const insert = preparedInsert(db, blocks, ['id']);
  const mark = changeBy(db, blocks, ['canonical', 'watchedThrough', 'number'], 'id');
  const range = 'network = :network AND number > :above AND number <= :through';
  const lastOfSlice = db.client
    .prepare(
      `SELECT max(number) FROM (SELECT number FROM blocks WHERE ${range} ORDER BY number LIMIT ${PRUNED_MAX}) AS slice`,
    )
    .pluck();
  const remove = db.client.prepare(
    `DELETE FROM blocks WHERE ${range} AND NOT EXISTS (SELECT 1 FROM transfers WHERE block_id = blocks.id)`,
  );
  return {
    find: (network: NetworkKey, hash: string): Promise<BlockRow | undefined> => find.get({ network, hash }),
    /** Returns the newest canonical block. */
    tip: (network: NetworkKey): Promise<BlockRow | undefined> => tip.get({ network }),
    /** @returns the new block's id */
    insert: async (block: Omit<BlockRow, 'id'>): Promise<number> => Number((await insert(block)).lastInsertRowid),
    mark: async (id: number, state: Pick<BlockRow, 'canonical' | 'watchedThrough' | 'number'>) => {
      await mark({ id, ...state });
    },
    /**
     * Deletes blocks without transfers, `above` < number ≤ `through`, lowest first, at most `PRUNED_MAX` of them.
     * @returns the number through which it pruned
     */
    async prune(network: NetworkKey, above: number, through: number): Promise<number> {
      if (through <= above) return above;
      const last = (await lastOfSlice.get({ network, above, through })) as number | null;
      if (last === null) return through;
      await remove.run({ network, above, through: last });
      return last;
    },
  };
}

export type BlockRows = ReturnType<typeof createBlocks>;

export function blockCommands(db: Db) {
  const isShown = eq(transfers.dust, sql`0`);
  const isUnconfirmed = eq(transfers.confirmed, sql`0`);
  const tail = atFirstUse(
    db.orm
      .select({ hash: blocks.hash, parent: blocks.parent, number: blocks.number, timeS: blocks.timeS })
      .from(blocks)
      .where(and(given(blocks, 'network'), isCanonical))
      .orderBy(desc(blocks.number))
      .limit(sql.placeholder('limit')),
  );
  const unconfirmed = atFirstUse(
    db.orm
      .selectDistinct({ id: blocks.id, hash: blocks.hash, number: blocks.number })
      .from(transfers)
      .innerJoin(
        blocks,
        and(eq(blocks.id, transfers.blockId), isCanonical, gt(blocks.number, sql.placeholder('number'))),
      )
      .where(and(given(transfers, 'network'), isUnconfirmed, isShown))
      .orderBy(asc(blocks.number))
      .limit(sql.placeholder('limit')),
  );
  const txs = atFirstUse(
    db.orm
      .selectDistinct({ tx: transfers.tx })
      .from(transfers)
      .where(and(given(transfers, 'blockId'), isUnconfirmed, isShown)),
  );
  return {
    /** Returns the newest `limit` canonical blocks of a network, oldest first; empty before the first step. */
    async tail(network: NetworkKey, limit: number): Promise<Tail> {
      return (await db.read(() => tail.all({ network, limit }))).reverse();
    },
    /** Returns canonical blocks above `number` with unconfirmed transfers, lowest first, and their transactions. */
    async unconfirmed(network: NetworkKey, number: number, limit: number): Promise<readonly Unconfirmed[]> {
      return db.read(
        async () =>
          await mapInOrder(await unconfirmed.all({ network, number, limit }), async ({ id, ...block }) => ({
            ...block,
            txs: (await txs.all({ blockId: id })).map(({ tx }) => tx),
          })),
      );
    },
  };
}

/** A block with transfers that are not confirmed yet, and their transactions. */
export type Unconfirmed = Readonly<{ hash: string; number: number; txs: readonly string[] }>;
