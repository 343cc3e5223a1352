/**
 * The counts behind the metrics.
 */

import { asc, count, eq } from 'drizzle-orm';
import type { SessionStatus } from '../core/event.ts';
import { firstSessionId } from '../lib/id.ts';
import { mapInOrder } from './engine/each.ts';
import type { Db } from './engine/open.ts';
import { createMeta, LAST_RUN } from './meta.ts';
import { deliveries, heldMoney } from './tables.ts';

/** A count of sessions costs the same however many there are. */
export const SESSIONS_COUNTED_MAX = 10_000;

export type Stats = Readonly<{
  /** Sessions by status, each counted up to `SESSIONS_COUNTED_MAX`. */
  sessions: Readonly<Record<string, number>>;
  /** When old data was last removed; null if that never was. */
  retentionAtMs: number | null;
  deliveriesWaiting: number;
  /** Age of the oldest waiting delivery. */
  oldestWaitingMs: number;
  /** Amounts of held money that wait for a decision. */
  heldOpen: number;
}>;

const statuses: readonly SessionStatus[] = ['pending', 'paid', 'failed', 'expired', 'canceled'];

export function statsCommands({ client, orm, read }: Db) {
  const meta = createMeta({ client });
  const countSessions = client
    .prepare(
      `SELECT count(*) FROM (
         SELECT 1 FROM sessions
         WHERE store_id IN (SELECT id FROM stores) AND mode IN ('live', 'test') AND status = ? AND id >= ? LIMIT ?
       ) AS limited`,
    )
    .pluck();
  const sessionsOf = async (status: SessionStatus, fromId: string) =>
    (await countSessions.get(status, fromId, SESSIONS_COUNTED_MAX)) as number;
  const isWaiting = eq(deliveries.state, 'waiting');
  const isOpen = eq(heldMoney.state, 'open');
  return {
    async stats(nowMs: number): Promise<Stats> {
      return read(async () => {
        const oldest = await orm
          .select({ createdAtMs: deliveries.createdAtMs })
          .from(deliveries)
          .where(isWaiting)
          .orderBy(asc(deliveries.eventId))
          .limit(1)
          .get();
        const lastRun = await meta.read(LAST_RUN);
        return {
          retentionAtMs: lastRun === null ? null : Number(lastRun),
          sessions: Object.fromEntries(
            await mapInOrder(statuses, async (status) => [status, await sessionsOf(status, '')]),
          ),
          deliveriesWaiting: (await orm.select({ n: count() }).from(deliveries).where(isWaiting).get())?.n ?? 0,
          heldOpen: (await orm.select({ n: count() }).from(heldMoney).where(isOpen).get())?.n ?? 0,
          oldestWaitingMs: oldest ? Math.max(0, nowMs - oldest.createdAtMs) : 0,
        };
      });
    },
    /** Returns how many sessions that were created since then are paid, counted up to `SESSIONS_COUNTED_MAX`. */
    async countPaid(sinceMs: number): Promise<number> {
      return read(() => sessionsOf('paid', firstSessionId(sinceMs)));
    },
  };
}
