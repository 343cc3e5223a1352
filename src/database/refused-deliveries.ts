/** Deliveries that were refused in a way that may have been a firewall's or a deployment's. */
import { REPLAY_AGE_MS_MAX, REPLAY_ATTEMPTS_MAX, refusalStatuses, replayAtMs } from '../core/endpoint.ts';
import type { DueTimes } from './due.ts';
import type { Db } from './engine/open.ts';

/**
 * Prepares sending an endpoint's oldest refused deliveries again, after it accepted something newer. To be called
 * within a transaction.
 * @returns a function; its `count` is one for each success, so that an endpoint that works again is not flooded
 */
export function prepareReplay({ client }: Pick<Db, 'client'>, due: DueTimes) {
  const refused = client.prepare(
    `SELECT id, attempts FROM deliveries INDEXED BY deliveries_refused
     WHERE endpoint_id = :endpointId AND event_id BETWEEN :oldest AND :newest
       AND state = 'failed' AND last_status IN (${refusalStatuses.join(', ')}) AND attempts < ${REPLAY_ATTEMPTS_MAX}
     ORDER BY event_id LIMIT :count`,
  );
  const again = client.prepare(
    `UPDATE deliveries SET state = 'waiting', next_attempt_at_ms = :atMs, due_at_ms = :atMs, attempts = max(attempts, 1)
     WHERE id = :id`,
  );
  return (endpointId: string, newest: string, nowMs: number, count: number): void => {
    const oldest = `evt_${BigInt(nowMs - REPLAY_AGE_MS_MAX) * 1_000_000n}`;
    const rows = refused.all({ endpointId, oldest, newest, count }) as { id: string; attempts: number }[];
    for (const { id, attempts } of rows) again.run({ id, atMs: replayAtMs(attempts, nowMs) });
    if (rows.length > 0) due.refresh(endpointId);
  };
}
