/**
 * Gives MACs to the rows of an older version, once, when its file is first opened with the secret key. What was
 * altered before is not found. That it was done is noted in the sealed probe of the key, which nobody can make without
 * the key.
 *
 * @module
 */
import { and, asc, eq, getTableName, gt, isNull, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { macedKey } from './keys.ts';
import type { Db } from './open.ts';
import { macedOutgoing, macedWallet } from './payouts/outgoing.ts';
import { outgoingTransfers, ownWallets } from './payouts/schema.ts';
import { macedAddress } from './pool.ts';
import { macedRefundAddress } from './refunds/destinations.ts';
import { refundAddresses } from './refunds/schema.ts';
import type { MacedRow, RowMacs } from './row-macs.ts';
import { addresses, keys, stores, transfers } from './schema.ts';
import { guarded } from './storage-fault.ts';
import { macedSuspension } from './stores.ts';
import { macedTransfer } from './transfers.ts';
import { noteRowsSealed, type SealedStage, type Vault } from './vault.ts';

/** Rows that get their MACs in one transaction. */
const SLICE_ROWS = 5_000;

/**
 * Gives MACs to the next rows of a table, within a transaction. Null is the place before the first row.
 * @returns the place after which to go on, or null after the last row
 */
type SealSlice = (after: Place | null) => Place | null;
type Place = number | string | readonly [sessionId: string, network: string];

type MacedTable = Readonly<{
  /** The stage before the one in which older rows of the table get their MACs. */
  since: SealedStage;
  slice: SealSlice;
}>;

/** Returns every table with MACs. */
function macedTables({ orm, client }: Db, { seal }: RowMacs): readonly MacedTable[] {
  function byId<T extends SQLiteTable & { id: SQLiteColumn; mac: SQLiteColumn }>(
    table: T,
    maced: (row: T['$inferSelect']) => MacedRow,
  ): SealSlice {
    type Row = T['$inferSelect'] & { id: number | string };
    const update = client.prepare(`UPDATE ${getTableName(table)} SET mac = ? WHERE id = ?`);
    return (after) => {
      const isDue = and(after === null ? undefined : gt(table.id, after), isNull(table.mac));
      const list = orm.select().from(table as SQLiteTable);
      const rows = list.where(isDue).orderBy(asc(table.id)).limit(SLICE_ROWS).all() as Row[];
      for (const row of rows) update.run(seal(maced(row)), row.id);
      return rows.at(-1)?.id ?? null;
    };
  }

  const { sessionId, network } = refundAddresses;
  const ofRefundAddresses: SealSlice = (after) => {
    const isLater = Array.isArray(after) ? sql`(${sessionId}, ${network}) > (${after[0]}, ${after[1]})` : undefined;
    const due = orm
      .select()
      .from(refundAddresses)
      .where(and(isLater, isNull(refundAddresses.mac)));
    const rows = due.orderBy(asc(sessionId), asc(network)).limit(SLICE_ROWS).all();
    for (const row of rows) {
      const isRow = and(eq(sessionId, row.sessionId), eq(network, row.network));
      orm
        .update(refundAddresses)
        .set({ mac: seal(macedRefundAddress(row)) })
        .where(isRow)
        .run();
    }
    const last = rows.at(-1);
    return last ? [last.sessionId, last.network] : null;
  };

  return [
    { since: 'none', slice: byId(keys, macedKey) },
    { since: 'none', slice: byId(addresses, macedAddress) },
    { since: 'none', slice: byId(transfers, macedTransfer) },
    { since: 'none', slice: ofRefundAddresses },
    { since: 'transfers', slice: byId(ownWallets, macedWallet) },
    { since: 'transfers', slice: byId(outgoingTransfers, macedOutgoing) },
    { since: 'transfers', slice: byId(stores, macedSuspension) },
  ];
}

/**
 * Seals the rows of an older version, to be called before anything is served: it may wait for another process that does
 * the same.
 * @param stage what was sealed before: a row of those tables that has no MAC was altered, and gets none
 */
export function sealRows(db: Db, vault: Vault, macs: RowMacs, stage: SealedStage): void {
  const { client, file } = db;
  for (const { since, slice } of macedTables(db, macs)) {
    if (since === 'none' && stage !== 'none') continue;
    for (let after: Place | null = null, isFirst = true; isFirst || after !== null; isFirst = false) {
      const place: Place | null = after;
      after = guarded(file, () => client.transaction(() => slice(place)).immediate());
    }
  }
  guarded(file, () => client.transaction(() => noteRowsSealed(db, vault)).immediate());
}
