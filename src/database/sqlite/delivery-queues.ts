/**
 * Queues of lines that wait to be delivered, and the circuit breakers of queues and of their hosts.
 *
 * A queue is a standing endpoint, or all the endpoints of single sessions on one host. It has a row only while
 * something waits. A queue is silent after five attempts in a row without an answer, and so are all queues of a host
 * after five to any of them, except those whose own last attempt was answered.
 * @module
 */
import type { Db } from './open.ts';

/** The number of attempts after which a queue or host is silent, as in `delivery_queues.rank`. */
const SILENT_COUNT = 5;
/** The pause before what is silent is tried again; it doubles with each further attempt, up to 32 times. */
const PAUSE_MS_MIN = 1_000;

/** The queue of an endpoint `e`, in SQL. */
export const QUEUE = 'CASE e.per_session WHEN 1 THEN e.host ELSE e.id END';
/** Whether nothing is sent to an endpoint `e` by itself, in SQL. */
export const IS_OFF = '(e.disabled_at_ms IS NOT NULL OR e.retired_at_ms IS NOT NULL)';
/** The queues of a host that is silent share one attempt, in SQL. */
export const IS_HOST_SILENT = `host_silences >= ${SILENT_COUNT} AND trusted = 0`;

export type Queue = Readonly<{ queue: string; host: string }>;

/** To be called within a transaction. */
export type DeliveryQueues = Readonly<{
  /** Brings a queue up to date with its lines: when the first is ready, or that it has none. */
  refresh(queue: Queue): void;
  /** Runs `work`, and brings each queue that it concerns up to date once, at its end. */
  together<T>(work: () => T): T;
  /** Remembers whether an attempt at an endpoint was answered. */
  answered(endpointId: string, isSilent: boolean, nowMs: number): void;
}>;

/** Returns the end of the pause after so many attempts without an answer, in SQL; 0 while there is none. */
const pauseAfter = (silences: string): string =>
  `iif(${silences} >= ${SILENT_COUNT}, :nowMs + (${PAUSE_MS_MIN} << min(${silences} - ${SILENT_COUNT}, 5)), 0)`;

export function createDeliveryQueues({ client }: Pick<Db, 'client'>): DeliveryQueues {
  const firstReady = client
    .prepare(
      `SELECT ready_at_ms FROM delivery_lines INDEXED BY delivery_lines_due
       WHERE queue = :queue AND ready_at_ms >= 0 ORDER BY ready_at_ms LIMIT 1`,
    )
    .pluck();
  const anyLine = client
    .prepare('SELECT 1 FROM delivery_lines INDEXED BY delivery_lines_due WHERE queue = :queue LIMIT 1')
    .pluck();
  const find = client.prepare('SELECT 1 FROM delivery_queues WHERE queue = :queue').pluck();
  const readyAt = 'max(:readyAtMs, paused_until_ms, iif(trusted, 0, host_paused_until_ms))';
  const update = client.prepare(
    `UPDATE delivery_queues SET ready_at_ms = ${readyAt} WHERE queue = :queue AND ready_at_ms IS NOT ${readyAt}`,
  );
  const mostOfHost = (column: string) =>
    `coalesce((SELECT max(${column}) FROM delivery_queues INDEXED BY delivery_queues_of_host WHERE host = :host), 0)`;
  // A new one begins as what is known of its endpoint and of its host's other queues.
  const insert = client.prepare(
    `INSERT INTO delivery_queues (queue, host, ready_at_ms, answered, trusted, host_silences, host_paused_until_ms,
       unanswered_since_ms)
     SELECT :queue, :host, :readyAtMs, e.id IS NOT NULL, e.failing_since_ms IS NULL AND e.answered_event_id IS NOT NULL,
       ${mostOfHost('host_silences')}, ${mostOfHost('host_paused_until_ms')}, iif(e.id IS NULL, :readyAtMs, NULL)
     FROM (SELECT 1) LEFT JOIN endpoints AS e ON e.id = :queue`,
  );
  const remove = client.prepare('DELETE FROM delivery_queues WHERE queue = :queue');
  const queueOf = client.prepare(`SELECT ${QUEUE} AS queue, e.host FROM endpoints AS e WHERE e.id = :endpointId`);
  const silent = client.prepare(
    `UPDATE delivery_queues SET silences = silences + 1, trusted = 0, tried_at_ms = :nowMs,
       paused_until_ms = ${pauseAfter('silences + 1')},
       unanswered_since_ms = iif(queue = host, coalesce(unanswered_since_ms, :nowMs), NULL)
     WHERE queue = :queue`,
  );
  const hostSilent = client.prepare(
    `UPDATE delivery_queues SET host_silences = host_silences + 1, host_paused_until_ms = ${pauseAfter('host_silences + 1')},
       ready_at_ms = iif(trusted, ready_at_ms, max(ready_at_ms, ${pauseAfter('host_silences + 1')}))
     WHERE host = :host`,
  );
  const answered = client.prepare(
    `UPDATE delivery_queues SET silences = 0, answered = 1, trusted = 1, paused_until_ms = 0, unanswered_since_ms = NULL
     WHERE queue = :queue AND (silences > 0 OR answered = 0 OR trusted = 0 OR unanswered_since_ms IS NOT NULL)`,
  );
  const hostAnswered = client.prepare(
    'UPDATE delivery_queues SET host_silences = 0, host_paused_until_ms = 0 WHERE host = :host AND host_silences > 0',
  );

  let postponed: Map<string, Queue> | null = null;

  function refresh({ queue, host }: Queue): void {
    const readyAtMs = (firstReady.get({ queue }) as number | undefined) ?? null;
    if (readyAtMs === null && anyLine.get({ queue }) === undefined) remove.run({ queue });
    else if (update.run({ queue, readyAtMs }).changes === 0 && find.get({ queue }) === undefined) {
      insert.run({ queue, host, readyAtMs });
      update.run({ queue, readyAtMs });
    }
  }

  return {
    refresh(queue) {
      if (postponed) postponed.set(queue.queue, queue);
      else refresh(queue);
    },
    together(work) {
      const concerned = new Map<string, Queue>();
      postponed = concerned;
      try {
        const result = work();
        for (const queue of concerned.values()) refresh(queue);
        return result;
      } finally {
        postponed = null;
      }
    },
    answered(endpointId, isSilent, nowMs) {
      const { queue, host } = queueOf.get({ endpointId }) as Queue;
      if (isSilent) {
        silent.run({ queue, nowMs });
        hostSilent.run({ host, nowMs });
      } else {
        answered.run({ queue });
        hostAnswered.run({ host });
      }
    },
  };
}
