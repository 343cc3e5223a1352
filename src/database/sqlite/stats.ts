/**
 * The counts behind the metrics.
 */

import { asc, count, eq } from 'drizzle-orm';
import type { SessionStatus } from '../../core/event.ts';
import { firstSessionId } from '../../lib/session-id.ts';
import type { Reports } from '../reports.ts';
import { SESSIONS_COUNTED_MAX } from '../stats.ts';
import type { Db } from './open.ts';
import { LAST_RUN } from './retention/marks.ts';
import { deliveries, heldMoney } from './tables.ts';

const statuses: readonly SessionStatus[] = ['pending', 'paid', 'failed', 'expired', 'canceled'];

export function statsCommands({ client, orm, read }: Db): Pick<Reports, 'stats' | 'countPaid'> {
  const meta = client.prepare('SELECT value FROM meta WHERE name = ?').pluck();
  const countSessions = client
    .prepare(
      `SELECT count(*) FROM (
         SELECT 1 FROM sessions INDEXED BY sessions_by_status
         WHERE store_id IN (SELECT id FROM stores) AND mode IN ('live', 'test') AND status = ? AND id >= ? LIMIT ?
       ) AS limited`,
    )
    .pluck();
  const sessionsOf = (status: SessionStatus, fromId: string) =>
    countSessions.get(status, fromId, SESSIONS_COUNTED_MAX) as number;
  const isWaiting = eq(deliveries.state, 'waiting');
  const isOpen = eq(heldMoney.state, 'open');
  return {
    async stats(nowMs) {
      return read(() => {
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
          sessions: Object.fromEntries(statuses.map((status) => [status, sessionsOf(status, '')])),
          deliveriesWaiting: orm.select({ n: count() }).from(deliveries).where(isWaiting).get()?.n ?? 0,
          heldOpen: orm.select({ n: count() }).from(heldMoney).where(isOpen).get()?.n ?? 0,
          oldestWaitingMs: oldest ? Math.max(0, nowMs - oldest.createdAtMs) : 0,
        };
      });
    },
    async countPaid(sinceMs) {
      return read(() => sessionsOf('paid', firstSessionId(sinceMs)));
    },
  };
}
