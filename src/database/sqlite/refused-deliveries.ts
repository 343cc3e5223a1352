/**
 * Deliveries that were refused in a way that may have been a firewall's or a deployment's: they are sent again after a
 * success, and one of them from time to time to see whether the endpoint takes them now.
 * @module
 */
import {
  PROBES_OF_SESSIONS_MAX,
  probeAtMs,
  REPLAY_AGE_MS_MAX,
  REPLAY_ATTEMPTS_MAX,
  refusalStatuses,
  replayAtMs,
} from '../../core/endpoint.ts';
import { type DueTimes, IS_OFF } from './due.ts';
import type { Db } from './open.ts';

/** Endpoints that are probed in one transaction. */
const SLICE_ENDPOINTS = 50;

type Refused = Readonly<{ id: string; attempts: number }>;
type Probed = Readonly<{ id: string; probes: number; isOfSessions: number; isOff: number }>;

/** To be called within a transaction, except `isProbeDue`. */
export type RefusedDeliveries = Readonly<{
  /**
   * Brings back the oldest deliveries that were refused before something newer was accepted.
   * @param count at most so many: one for each success, so that an endpoint that works again is not flooded
   */
  replay(endpointId: string, newest: string, nowMs: number, count: number): void;
  isProbeDue(nowMs: number): boolean;
  /** Makes the newest refused delivery of some endpoints due: its success brings back the others. */
  probeSome(nowMs: number): void;
}>;

export function createRefusedDeliveries({ client }: Pick<Db, 'client'>, due: DueTimes): RefusedDeliveries {
  const refused = (order: 'ASC' | 'DESC') =>
    client.prepare(
      `SELECT id, attempts FROM deliveries INDEXED BY deliveries_refused
       WHERE endpoint_id = :endpointId AND event_id BETWEEN :oldest AND :newest
         AND state = 'failed' AND last_status IN (${refusalStatuses.join(', ')}) AND attempts < ${REPLAY_ATTEMPTS_MAX}
       ORDER BY event_id ${order} LIMIT :count`,
    );
  const [first, last] = [refused('ASC'), refused('DESC')];
  const again = client.prepare(
    `UPDATE deliveries SET state = 'waiting', next_attempt_at_ms = :atMs, due_at_ms = :atMs, attempts = max(attempts, 1)
     WHERE id = :id`,
  );
  const dueProbes = client.prepare(
    `SELECT e.id, e.probes, e.per_session AS isOfSessions, ${IS_OFF} AS isOff
     FROM endpoints AS e INDEXED BY endpoints_probing
     WHERE e.probe_at_ms <= :nowMs ORDER BY e.probe_at_ms LIMIT ${SLICE_ENDPOINTS}`,
  );
  const setProbe = client.prepare('UPDATE endpoints SET probe_at_ms = :atMs, probes = :probes WHERE id = :id');
  const eventAt = (ms: number) => `evt_${BigInt(ms) * 1_000_000n}`;
  const oldest = (nowMs: number) => eventAt(nowMs - REPLAY_AGE_MS_MAX);

  function send(endpointId: string, { id }: Refused, atMs: number): void {
    again.run({ id, atMs });
    due.refresh(endpointId);
  }

  return {
    replay(endpointId, newest, nowMs, count) {
      for (const row of first.all({ endpointId, oldest: oldest(nowMs), newest, count }) as Refused[]) {
        send(endpointId, row, replayAtMs(row.attempts, nowMs));
      }
    },
    isProbeDue: (nowMs) => dueProbes.get({ nowMs }) !== undefined,
    probeSome(nowMs) {
      for (const { id, probes, isOfSessions, isOff } of dueProbes.all({ nowMs }) as Probed[]) {
        const isOver = isOfSessions === 1 && probes >= PROBES_OF_SESSIONS_MAX;
        // Ids may be ahead of the clock.
        const range = { endpointId: id, oldest: oldest(nowMs), newest: eventAt(2 * nowMs), count: 1 };
        const row = isOver ? undefined : (last.get(range) as Refused | undefined);
        if (!row) setProbe.run({ id, atMs: null, probes });
        else if (isOff === 1) setProbe.run({ id, atMs: probeAtMs(probes, nowMs), probes });
        else {
          send(id, row, nowMs);
          setProbe.run({ id, atMs: probeAtMs(probes + 1, nowMs), probes: probes + 1 });
        }
      }
    },
  };
}
