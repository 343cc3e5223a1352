/**
 * The counts behind the metrics.
 * @module
 */
import { asc, count, eq } from 'drizzle-orm';
import type { StatsDatabase } from '../stats.ts';
import type { Db } from './open.ts';
import { deliveries, heldMoney, sessionCounts } from './schema.ts';

export function statsCommands({ orm, read }: Db): StatsDatabase {
  const isWaiting = eq(deliveries.state, 'waiting');
  const isOpen = eq(heldMoney.state, 'open');
  return {
    async stats(nowMs) {
      return read(() => {
        const counts = orm.select().from(sessionCounts).all();
        const oldest = orm
          .select({ createdAtMs: deliveries.createdAtMs })
          .from(deliveries)
          .where(isWaiting)
          .orderBy(asc(deliveries.eventId))
          .limit(1)
          .get();
        return {
          sessions: Object.fromEntries(counts.map(({ status, sessions }) => [status, sessions])),
          deliveriesWaiting: orm.select({ n: count() }).from(deliveries).where(isWaiting).get()?.n ?? 0,
          heldOpen: orm.select({ n: count() }).from(heldMoney).where(isOpen).get()?.n ?? 0,
          oldestWaitingMs: oldest ? Math.max(0, nowMs - oldest.createdAtMs) : 0,
        };
      });
    },
  };
}
