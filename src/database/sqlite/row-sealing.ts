/**
 * Gives MACs to the rows of an older version, once, when its file is first opened with the secret key. What was
 * altered before is not found. That it was done is noted in the sealed probe of the key, which nobody can make without
 * the key.
 *
 * @module
 */
import { and, asc, eq, gt, isNull, sql } from 'drizzle-orm';
import { macedKey } from './keys.ts';
import type { Db } from './open.ts';
import { macedAddress } from './pool.ts';
import { macedRefundAddress } from './refunds/destinations.ts';
import { refundAddresses } from './refunds/schema.ts';
import type { RowMacs } from './row-macs.ts';
import { addresses, keys, transfers } from './schema.ts';
import { guarded } from './storage-fault.ts';
import { macedTransfer } from './transfers.ts';
import { noteRowsSealed, type Vault } from './vault.ts';

/** Rows that get their MACs in one transaction. */
const SLICE_ROWS = 5_000;

/** Seals the next rows of a table. @returns the place after which to go on, or null after the last */
type SealSlice<Place> = (after: Place) => Place | null;

/** To be called before anything is served: it may wait for another process that does the same. */
export function sealRows(db: Db, vault: Vault, { seal }: RowMacs): void {
  const { orm, client, file } = db;

  function sealAll<Place>(first: Place, slice: SealSlice<Place>): void {
    for (let after: Place | null = first; after !== null; ) {
      const place: Place = after;
      after = guarded(file, () => client.transaction(() => slice(place)).immediate());
    }
  }

  sealAll('', (after) => {
    const unsealed = and(gt(keys.id, after), isNull(keys.mac));
    const rows = orm.select().from(keys).where(unsealed).orderBy(asc(keys.id)).limit(SLICE_ROWS).all();
    for (const row of rows) {
      const mac = seal(macedKey(row));
      orm.update(keys).set({ mac }).where(eq(keys.id, row.id)).run();
    }
    return rows.at(-1)?.id ?? null;
  });

  sealAll(0, (after) => {
    const unsealed = and(gt(addresses.id, after), isNull(addresses.mac));
    const rows = orm.select().from(addresses).where(unsealed).orderBy(asc(addresses.id)).limit(SLICE_ROWS).all();
    const update = client.prepare('UPDATE addresses SET mac = ? WHERE id = ?');
    for (const row of rows) update.run(seal(macedAddress(row)), row.id);
    return rows.at(-1)?.id ?? null;
  });

  sealAll(0, (after) => {
    const unsealed = and(gt(transfers.id, after), isNull(transfers.mac));
    const rows = orm.select().from(transfers).where(unsealed).orderBy(asc(transfers.id)).limit(SLICE_ROWS).all();
    const update = client.prepare('UPDATE transfers SET mac = ? WHERE id = ?');
    for (const row of rows) update.run(seal(macedTransfer(row)), row.id);
    return rows.at(-1)?.id ?? null;
  });

  const { sessionId, network } = refundAddresses;
  sealAll({ session: '', network: '' }, (after) => {
    const isLater = sql`(${sessionId}, ${network}) > (${after.session}, ${after.network})`;
    const unsealed = orm
      .select()
      .from(refundAddresses)
      .where(and(isLater, isNull(refundAddresses.mac)));
    const rows = unsealed.orderBy(asc(sessionId), asc(network)).limit(SLICE_ROWS).all();
    for (const row of rows) {
      const isRow = and(eq(sessionId, row.sessionId), eq(network, row.network));
      orm
        .update(refundAddresses)
        .set({ mac: seal(macedRefundAddress(row)) })
        .where(isRow)
        .run();
    }
    const last = rows.at(-1);
    return last ? { session: last.sessionId, network: last.network } : null;
  });

  guarded(file, () => client.transaction(() => noteRowsSealed(db, vault)).immediate());
}
