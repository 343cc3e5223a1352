/**
 * The counts behind the metrics.
 * @module
 */
import { asc, count, eq } from 'drizzle-orm';
import type { Database } from '../database.ts';
import type { Db } from './open.ts';
import { deliveries, sessionCounts } from './schema.ts';

type StatsCommands = Pick<Database, 'stats'>;

export function statsCommands({ orm, read }: Db): StatsCommands {
  const isWaiting = eq(deliveries.state, 'waiting');
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
          oldestWaitingMs: oldest ? Math.max(0, nowMs - oldest.createdAtMs) : 0,
        };
      });
    },
  };
}
