/**
 * When deliveries and their endpoints are due: what is sent next is found by time, however much is stored.
 *
 * The deliveries of one session to one endpoint go in order: the first that was never tried is due, and the next one
 * once it was tried. An endpoint is due when the first of its deliveries is, but not during its pause.
 */
import type { Db } from './engine/open.ts';

/** Whether nothing is sent to an endpoint `e` by itself, in SQL. */
export const IS_OFF = '(e.disabled_at_ms IS NOT NULL OR e.retired_at_ms IS NOT NULL)';

/** The deliveries of one session to one endpoint. */
type Line = Readonly<{ endpointId: string; sessionId: string }>;
type EndpointRow = Readonly<{ isOff: number; pausedUntilMs: number; dueAtMs: number | null }>;

/** To be called within a transaction. */
export type DueTimes = Readonly<{
  /** Returns when a new delivery is due: at `atMs`, or null while an earlier one of its session is untried. */
  ofNew(line: Line, atMs: number): number | null;
  /** Makes the first untried delivery of a session due, after one of them was tried. */
  next(line: Line): void;
  lease(id: string, endpointId: string, leaseUntilMs: number): void;
  /** Ends all leases. */
  releaseAll(): void;
  /** Brings an endpoint up to date with its deliveries. */
  refresh(endpointId: string): void;
  /** Runs `work`, and brings each endpoint that it concerns up to date once, at its end. */
  together<T>(work: () => T): T;
}>;

export function createDueTimes({ client }: Pick<Db, 'client'>): DueTimes {
  const untried = (columns: string) =>
    client.prepare(
      `SELECT ${columns} FROM deliveries INDEXED BY deliveries_waiting
       WHERE endpoint_id = :endpointId AND session_id = :sessionId AND state = 'waiting' AND attempts = 0
       ORDER BY event_id LIMIT 1`,
    );
  const anyUntried = untried('1');
  const firstUntried = untried('id, due_at_ms AS dueAtMs');
  const scheduled = "due_at_ms = CASE state WHEN 'waiting' THEN next_attempt_at_ms END";
  const makeDue = client.prepare(`UPDATE deliveries SET ${scheduled} WHERE id = :id`);
  const lease = client.prepare(
    `UPDATE deliveries SET lease_until_ms = :leaseUntilMs,
       due_at_ms = CASE WHEN due_at_ms IS NULL THEN NULL ELSE :leaseUntilMs END
     WHERE id = :id`,
  );
  const release = client.prepare(`UPDATE deliveries SET lease_until_ms = NULL, ${scheduled} WHERE id = :id`);
  const leased = client.prepare(
    `SELECT id, endpoint_id AS endpointId FROM deliveries INDEXED BY deliveries_leased
     WHERE lease_until_ms IS NOT NULL`,
  );
  const first = (column: string, index: string) =>
    client
      .prepare(
        `SELECT ${column} FROM deliveries INDEXED BY ${index}
         WHERE endpoint_id = :endpointId AND ${column} >= 0 ORDER BY ${column} LIMIT 1`,
      )
      .pluck();
  const firstDue = first('due_at_ms', 'deliveries_due');
  const firstManual = first('manual_at_ms', 'deliveries_manual');
  const findEndpoint = client.prepare(
    `SELECT ${IS_OFF} AS isOff, e.paused_until_ms AS pausedUntilMs, e.due_at_ms AS dueAtMs
     FROM endpoints AS e WHERE e.id = :endpointId`,
  );
  const setEndpoint = client.prepare('UPDATE endpoints SET due_at_ms = :dueAtMs WHERE id = :endpointId');

  let postponed: Set<string> | null = null;

  function refreshNow(endpointId: string): void {
    const { isOff, pausedUntilMs, dueAtMs } = findEndpoint.get({ endpointId }) as EndpointRow;
    const scheduledMs = isOff ? undefined : (firstDue.get({ endpointId }) as number | undefined);
    const manualMs = firstManual.get({ endpointId }) as number | undefined;
    const times = [
      ...(scheduledMs === undefined ? [] : [Math.max(scheduledMs, pausedUntilMs)]),
      ...(manualMs === undefined ? [] : [manualMs]),
    ];
    const atMs = times.length === 0 ? null : Math.min(...times);
    if (atMs !== dueAtMs) setEndpoint.run({ endpointId, dueAtMs: atMs });
  }

  function refresh(endpointId: string): void {
    if (postponed) postponed.add(endpointId);
    else refreshNow(endpointId);
  }

  return {
    refresh,
    ofNew: (line, atMs) => (anyUntried.get(line) === undefined ? atMs : null),
    next(line) {
      const row = firstUntried.get(line) as { id: string; dueAtMs: number | null } | undefined;
      if (row?.dueAtMs === null) makeDue.run(row);
      refresh(line.endpointId);
    },
    lease(id, endpointId, leaseUntilMs) {
      lease.run({ id, leaseUntilMs });
      refresh(endpointId);
    },
    releaseAll() {
      for (const { id, endpointId } of leased.all() as { id: string; endpointId: string }[]) {
        release.run({ id });
        refresh(endpointId);
      }
    },
    together(work) {
      const concerned = new Set<string>();
      postponed = concerned;
      try {
        const result = work();
        for (const endpointId of concerned) refreshNow(endpointId);
        return result;
      } finally {
        postponed = null;
      }
    },
  };
}
