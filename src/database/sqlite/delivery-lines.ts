/**
 * What waits to be delivered, by line, so that due work is found by time however much is stored.
 *
 * A line is what waits for one endpoint about one session: one delivery at a time, events in order. It has a row only
 * while something waits. The queue that it is in is in `delivery-queues.ts`.
 * @module
 */
import { createDeliveryQueues, type DeliveryQueues, IS_OFF, QUEUE, type Queue } from './delivery-queues.ts';
import type { Db } from './open.ts';

/** Lines that are resumed or parked in one transaction. */
const SLICE_LINES = 500;

type Head = Readonly<{ id: string; eventId: string; atMs: number }>;
/** A delivery and its line. */
type Leased = Readonly<{ id: string; endpointId: string; sessionId: string }>;
type LineRow = Readonly<{
  queue: string;
  host: string;
  leaseUntilMs: number | null;
  leasedId: string | null;
  isOff: number;
}>;

/** To be called within a transaction, except `isDue`. */
export type DeliveryLines = Readonly<{
  /** A new delivery waits from now on. */
  add(endpointId: string, sessionId: string, atMs: number): void;
  /** Brings a line and its queue up to date with its deliveries, the lease and the endpoint; removes them if empty. */
  refresh(endpointId: string, sessionId: string): void;
  /** Returns the delivery of a line that can be sent now: the oldest event among those that are due. */
  due(endpointId: string, sessionId: string, nowMs: number): Head | null;
  /** Leases a delivery that `due` has returned in this transaction; the line is in the queue `from`. */
  leaseDue(leased: Leased, leaseUntilMs: number, from: Queue): void;
  /** Leases a delivery, whatever the schedule says. */
  lease(leased: Leased, leaseUntilMs: number): void;
  /** Ends the lease if it is this delivery's. */
  release(leased: Leased): void;
  /** Ends the leases of some lines. @returns whether there may be more */
  endLeases(): boolean;
  /** Counts attempts without an answer; after five in a row the queue or host pauses before each further one. */
  answered: DeliveryQueues['answered'];
  /** Runs `work`, and brings each queue that it concerns up to date once, at its end. */
  together: DeliveryQueues['together'];
  /** Parks the first lines of an endpoint that is disabled; claims park the others as they meet them. */
  park(endpointId: string): void;
  /** Makes some lines of enabled endpoints ready again. @returns whether there may be more */
  resumeSome(): boolean;
}>;

const HEAD = 'SELECT id, event_id AS eventId, next_attempt_at_ms AS atMs FROM deliveries';
const OF_LINE = "WHERE endpoint_id = :endpointId AND session_id = :sessionId AND state = 'waiting'";

export function createDeliveryLines(db: Pick<Db, 'client'>): DeliveryLines {
  const { client } = db;
  const queues = createDeliveryQueues(db);
  const insert = client.prepare(
    `INSERT INTO delivery_lines (endpoint_id, session_id, queue, host, ready_at_ms)
     SELECT e.id, :sessionId, ${QUEUE}, e.host, iif(${IS_OFF}, NULL, :atMs)
     FROM endpoints AS e WHERE e.id = :endpointId
     ON CONFLICT DO NOTHING`,
  );
  const untried = client.prepare(
    `${HEAD} INDEXED BY deliveries_untried ${OF_LINE} AND attempts = 0 ORDER BY event_id LIMIT 1`,
  );
  const retried = client.prepare(
    `${HEAD} INDEXED BY deliveries_retried ${OF_LINE} AND attempts > 0 ORDER BY next_attempt_at_ms LIMIT 1`,
  );
  const findLine = client.prepare(
    `SELECT l.queue, l.host, l.lease_until_ms AS leaseUntilMs, l.leased_id AS leasedId,
       ${IS_OFF} AS isOff
     FROM delivery_lines AS l JOIN endpoints AS e ON e.id = l.endpoint_id
     WHERE l.endpoint_id = :endpointId AND l.session_id = :sessionId`,
  );
  const update = client.prepare(
    `UPDATE delivery_lines SET ready_at_ms = :readyAtMs, lease_until_ms = :leaseUntilMs, leased_id = :leasedId
     WHERE endpoint_id = :endpointId AND session_id = :sessionId`,
  );
  const remove = client.prepare(
    'DELETE FROM delivery_lines WHERE endpoint_id = :endpointId AND session_id = :sessionId',
  );
  const leasedLines = client.prepare(
    `SELECT endpoint_id AS endpointId, session_id AS sessionId FROM delivery_lines INDEXED BY delivery_lines_leased
     WHERE lease_until_ms IS NOT NULL LIMIT ${SLICE_LINES}`,
  );
  const readyOf = client.prepare(
    `SELECT session_id FROM delivery_lines WHERE endpoint_id = :endpointId AND ready_at_ms >= 0 LIMIT ${SLICE_LINES}`,
  );
  const resuming = client.prepare(
    `SELECT id, resumed_through AS through FROM endpoints INDEXED BY endpoints_resuming
     WHERE resumed_through IS NOT NULL LIMIT 1`,
  );
  const linesAfter = client
    .prepare(
      `SELECT session_id FROM delivery_lines WHERE endpoint_id = :id AND session_id > :through
       ORDER BY session_id LIMIT ${SLICE_LINES}`,
    )
    .pluck();
  const setResumed = client.prepare('UPDATE endpoints SET resumed_through = :through WHERE id = :id');

  const headsOf = (endpointId: string, sessionId: string): Head[] => {
    const line = { endpointId, sessionId };
    return [untried.get(line), retried.get(line)].filter((head) => head !== undefined) as Head[];
  };

  /** Brings a line up to date; what `lease` names of its lease is changed. */
  function refresh(
    endpointId: string,
    sessionId: string,
    lease: (row: LineRow) => Partial<Pick<LineRow, 'leaseUntilMs' | 'leasedId'>> = () => ({}),
  ): void {
    const line = { endpointId, sessionId };
    const row = findLine.get(line) as LineRow | undefined;
    if (!row) return;
    const { leaseUntilMs, leasedId } = { ...row, ...lease(row) };
    const heads = headsOf(endpointId, sessionId);
    if (heads.length === 0 && leasedId === null) remove.run(line);
    else {
      const firstMs = Math.min(...heads.map(({ atMs }) => atMs));
      const isReady = heads.length > 0 && row.isOff === 0;
      const readyAtMs = isReady ? Math.max(firstMs, leaseUntilMs ?? 0) : null;
      update.run({ ...line, readyAtMs, leaseUntilMs, leasedId });
    }
    queues.refresh(row);
  }

  const none = { leaseUntilMs: null, leasedId: null };

  return {
    refresh: (endpointId, sessionId) => refresh(endpointId, sessionId),
    add(endpointId, sessionId, atMs) {
      insert.run({ endpointId, sessionId, atMs });
      refresh(endpointId, sessionId);
    },
    due(endpointId, sessionId, nowMs) {
      const heads = headsOf(endpointId, sessionId).filter(({ atMs }) => atMs <= nowMs);
      return heads.sort((a, b) => (a.eventId < b.eventId ? -1 : 1))[0] ?? null;
    },
    leaseDue({ id, endpointId, sessionId }, leaseUntilMs, from) {
      // It stays the first of its line, and is due again after the lease.
      update.run({ endpointId, sessionId, readyAtMs: leaseUntilMs, leaseUntilMs, leasedId: id });
      queues.refresh(from);
    },
    lease({ id, endpointId, sessionId }, leaseUntilMs) {
      // A resend may be for a line in which nothing waits.
      insert.run({ endpointId, sessionId, atMs: null });
      refresh(endpointId, sessionId, () => ({ leaseUntilMs, leasedId: id }));
    },
    release({ id, endpointId, sessionId }) {
      refresh(endpointId, sessionId, ({ leasedId }) => (leasedId === id ? none : {}));
    },
    endLeases() {
      const some = leasedLines.all() as Readonly<{ endpointId: string; sessionId: string }>[];
      for (const { endpointId, sessionId } of some) refresh(endpointId, sessionId, () => none);
      return some.length === SLICE_LINES;
    },
    together: queues.together,
    answered: queues.answered,
    park(endpointId) {
      for (const { session_id } of readyOf.all({ endpointId }) as { session_id: string }[])
        refresh(endpointId, session_id);
    },
    resumeSome() {
      const next = resuming.get() as { id: string; through: string } | undefined;
      if (!next) return false;
      const sessions = linesAfter.all(next) as string[];
      for (const sessionId of sessions) refresh(next.id, sessionId);
      const through = sessions.length < SLICE_LINES ? null : (sessions.at(-1) ?? null);
      setResumed.run({ id: next.id, through });
      return true;
    },
  };
}
