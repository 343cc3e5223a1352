/** What a store's refunds of the last 24 hours gave, as far as it counts together with one more. */
import { and, eq, gte, sql } from 'drizzle-orm';
import { isHeld, RECENT_MS, type RecentRefunds } from '../../core/refund.ts';
import type { Db } from '../engine/open.ts';
import { atFirstUse } from '../engine/prepared.ts';
import { refunds } from '../tables.ts';

type RefundRow = typeof refunds.$inferSelect;

/** What a refund has in common with those that count together with it. */
type RecentPart = Pick<
  RefundRow,
  'id' | 'storeId' | 'mode' | 'sessionId' | 'destination' | 'requestedBy' | 'requestedKey'
>;

/** To be called within a transaction. Returns what the store's other refunds gave that count together with this one. */
export type RecentOf = (row: RecentPart, nowMs: number) => RecentRefunds;

/** Returns whether the operator ordered a refund, a return of held money, rather than its store. */
export const isOperators = ({ heldKind, requestedBy }: Pick<RefundRow, 'heldKind' | 'requestedBy'>): boolean =>
  heldKind !== null && requestedBy === null;

export function createRecentRefunds(db: Db): RecentOf {
  const sinceOfStore = atFirstUse(
    db.orm
      .select({
        id: refunds.id,
        sessionId: refunds.sessionId,
        destination: refunds.destination,
        requestedBy: refunds.requestedBy,
        requestedKey: refunds.requestedKey,
        amountMinor: refunds.amountMinor,
        status: refunds.status,
        heldKind: refunds.heldKind,
      })
      .from(refunds)
      .where(
        and(
          eq(refunds.storeId, sql.placeholder('storeId')),
          eq(refunds.mode, sql.placeholder('mode')),
          gte(refunds.createdAtMs, sql.placeholder('sinceMs')),
        ),
      ),
  );

  return (row, nowMs) => {
    const { storeId, mode } = row;
    const all = sinceOfStore.all({ storeId, mode, sinceMs: nowMs - RECENT_MS });
    const others = all.filter((one) => one.id !== row.id && isHeld(one) && !isOperators(one));
    const sumOf = (counts: (one: (typeof others)[number]) => boolean): bigint =>
      others.reduce((total, one) => (counts(one) ? total + one.amountMinor : total), 0n);
    const { destination, requestedBy, requestedKey } = row;
    return {
      sessionMinor: sumOf((one) => one.sessionId === row.sessionId),
      // On whatever network: one EVM address is the same person's on all of them.
      destinationMinor: sumOf((one) => destination !== null && one.destination === destination),
      askerMinor: sumOf(
        (one) =>
          (requestedBy !== null && one.requestedBy === requestedBy) ||
          (requestedKey !== null && one.requestedKey === requestedKey),
      ),
    };
  };
}
