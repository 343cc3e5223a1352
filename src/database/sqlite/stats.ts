/**
 * The counts behind the metrics.
 * @module
 */
import { asc, count, eq } from 'drizzle-orm';
import type { StatsDatabase } from '../stats.ts';
import type { Db } from './open.ts';
import { LAST_RUN } from './retention/marks.ts';
import { deliveries, heldMoney, sessionCounts } from './tables.ts';

export function statsCommands({ client, orm, read }: Db): StatsDatabase {
  const meta = client.prepare('SELECT value FROM meta WHERE name = ?').pluck();
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
        const lastRun = meta.get(LAST_RUN) as string | undefined;
        return {
          retentionAtMs: lastRun === undefined ? null : Number(lastRun),
          sessions: Object.fromEntries(counts.map(({ status, sessions }) => [status, sessions])),
          deliveriesWaiting: orm.select({ n: count() }).from(deliveries).where(isWaiting).get()?.n ?? 0,
          heldOpen: orm.select({ n: count() }).from(heldMoney).where(isOpen).get()?.n ?? 0,
          oldestWaitingMs: oldest ? Math.max(0, nowMs - oldest.createdAtMs) : 0,
        };
      });
    },
  };
}
