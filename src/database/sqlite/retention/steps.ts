/**
 * The steps of retention. Each walks old rows in slices, finds what is due in one of them, and changes it in one short
 * transaction; what still has open matters is left for another day.
 * @module
 */
import { defaultRefundPolicy } from '../../../core/refund.ts';
import { toSeconds } from '../../../lib/clock.ts';
import type { RetentionKind, RetentionPlace, RetentionSlice } from '../../retention.ts';
import type { Db } from '../open.ts';
import { ANONYMISED_THROUGH, type SessionArchive } from './archive.ts';
import { payerColumns, type StoredRow, toStored } from './content.ts';

/** `items` are due; the walk goes on at `next`, and ends with null. `mark` is kept when the slice is done. */
type Found<Item> = Readonly<{ items: readonly Item[]; next: RetentionPlace | null; mark?: string }>;

type Step<Item> = Readonly<{
  find(slice: RetentionSlice): Found<Item>;
  change(items: readonly Item[], nowMs: number): void;
  /** The name in `meta` under which the walk remembers how far it came. */
  remembersAs?: string;
}>;

type SessionEnd = Readonly<{ id: string; endedAtS: number }>;

/** Rows that a slice looks at, and sessions that it moves with their events and deliveries. */
const LOOKED_AT = 500;
const SESSIONS_MOVED = 50;
const ATTEMPTS_THROUGH = 'attempts_aged_through';

/** To be used on a connection without foreign key checks, which would read whole tables for each row. */
export function retentionSteps(db: Db, archive: SessionArchive): Readonly<Record<RetentionKind, Step<unknown>>> {
  return {
    anonymised: anonymising(db),
    anonymised_archived: anonymisingArchived(db, archive),
    archived: archiving(db, archive),
    attempts: agingAttempts(db),
    endpoints: removingEndpoints(db),
  } as Readonly<Record<RetentionKind, Step<unknown>>>;
}

const BEGINNING: RetentionPlace = [-1, ''];

/** Sessions that were never paid: nothing came to their addresses, and nothing about them is under way. */
function archiving({ client }: Db, archive: SessionArchive): Step<SessionEnd> {
  const ended = client.prepare(
    `SELECT id, ended_at_s AS endedAtS FROM sessions INDEXED BY sessions_unpaid
     WHERE payment_count = 0 AND status IN ('expired', 'canceled', 'failed')
       AND (ended_at_s, id) > (:afterS, :afterId) AND ended_at_s < :beforeS
     ORDER BY ended_at_s, id LIMIT ${SESSIONS_MOVED}`,
  );
  const isQuiet = client
    .prepare(
      `SELECT s.ended_at_s + s.monitoring_s < :nowS
         AND NOT EXISTS (SELECT 1 FROM addresses AS a JOIN transfers AS t ON t.address_id = a.id WHERE a.session_id = s.id)
         AND NOT EXISTS (SELECT 1 FROM look_ups WHERE session_id = s.id)
         AND NOT EXISTS (SELECT 1 FROM refund_addresses WHERE session_id = s.id)
         AND NOT EXISTS (SELECT 1 FROM refunds WHERE session_id = s.id)
         AND NOT EXISTS (SELECT 1 FROM held_money WHERE session_id = s.id)
         AND NOT EXISTS (SELECT 1 FROM payment_notes WHERE session_id = s.id)
         AND NOT EXISTS (
           SELECT 1 FROM events AS e JOIN deliveries AS d ON d.event_id = e.id
           WHERE e.session_id = s.id AND (d.state = 'waiting' OR d.manual_at_ms IS NOT NULL OR EXISTS (
             SELECT 1 FROM delivery_lines AS l WHERE l.endpoint_id = d.endpoint_id AND l.session_id = s.id)))
       FROM sessions AS s WHERE s.id = :id`,
    )
    .pluck();
  const read = {
    session: client.prepare('SELECT * FROM sessions WHERE id = :id'),
    events: client.prepare('SELECT * FROM events WHERE session_id = :id ORDER BY id'),
    deliveries: client.prepare(
      'SELECT d.* FROM events AS e JOIN deliveries AS d ON d.event_id = e.id WHERE e.session_id = :id ORDER BY d.id',
    ),
    endpoint: client.prepare('SELECT * FROM endpoints WHERE id = :id AND per_session = 1 AND removed = 0'),
  };
  const remove = [
    `DELETE FROM attempts WHERE delivery_id IN (
       SELECT d.id FROM events AS e JOIN deliveries AS d ON d.event_id = e.id WHERE e.session_id = :id)`,
    'DELETE FROM deliveries WHERE event_id IN (SELECT id FROM events WHERE session_id = :id)',
    'DELETE FROM events WHERE session_id = :id',
    'DELETE FROM sessions WHERE id = :id',
  ].map((text) => client.prepare(text));
  const removeEndpoint = endpointRemover(client);
  const count = client.prepare('UPDATE session_counts SET sessions = sessions - 1 WHERE status = :status');

  return {
    find({ place, beforeMs, nowMs }) {
      const [afterS, afterId] = place ?? BEGINNING;
      const rows = ended.all({ afterS, afterId, beforeS: toSeconds(beforeMs) }) as SessionEnd[];
      const last = rows.at(-1);
      return {
        items: rows.filter(({ id }) => isQuiet.get({ id, nowS: toSeconds(nowMs) }) === 1),
        next: last && rows.length === SESSIONS_MOVED ? [last.endedAtS, last.id] : null,
      };
    },
    change(items, nowMs) {
      for (const { id } of items) {
        const session = toStored(read.session.get({ id }) as Record<string, unknown>);
        const endpointId = session.endpoint_id ?? null;
        const endpoint = read.endpoint.get({ id: endpointId }) as Record<string, unknown> | undefined;
        archive.put(
          {
            session,
            events: (read.events.all({ id }) as StoredRow[]).map(toStored),
            deliveries: (read.deliveries.all({ id }) as StoredRow[]).map(toStored),
            endpoint: endpoint ? toStored(endpoint) : null,
          },
          nowMs,
        );
        for (const statement of remove) statement.run({ id });
        count.run({ status: session.status });
        if (endpoint) removeEndpoint(String(endpointId));
      }
    },
  };
}

/** Returns the function that deletes the row of a one-off endpoint which no session names any more. */
function endpointRemover(client: Db['client']): (id: string) => boolean {
  // Only sessions that name such an endpoint have deliveries to it, so none has.
  const remove = client.prepare(
    `DELETE FROM endpoints WHERE id = :id AND per_session = 1
       AND NOT EXISTS (SELECT 1 FROM sessions WHERE endpoint_id = endpoints.id)
       AND NOT EXISTS (SELECT 1 FROM delivery_lines WHERE endpoint_id = endpoints.id)`,
  );
  return (id) => remove.run({ id }).changes > 0;
}

/** Sessions that ended, and whose money can no longer be refunded or decided about. */
function anonymising({ client }: Db): Step<string> {
  const hasColumn = payerColumns.map((name) => `s.${name} IS NOT NULL`).join(' OR ');
  const walked = client.prepare(
    `SELECT s.id, s.created_at_ms AS createdAtMs,
       ${hasColumn} OR EXISTS (SELECT 1 FROM refund_addresses WHERE session_id = s.id)
         OR EXISTS (SELECT 1 FROM payment_notes WHERE session_id = s.id)
         OR EXISTS (SELECT 1 FROM refunds WHERE session_id = s.id AND (description IS NOT NULL OR metadata IS NOT NULL)) AS isNamed,
       s.ended_at_s IS NULL OR s.ended_at_s >= :beforeS
         OR EXISTS (SELECT 1 FROM refunds WHERE session_id = s.id AND status IN ('pending', 'processing'))
         OR EXISTS (SELECT 1 FROM held_money WHERE session_id = s.id AND state = 'open')
         OR (s.payment_count > 0 AND coalesce(s.paid_at_s, s.ended_at_s) + coalesce(
           (SELECT refund_window_s FROM refund_policies WHERE store_id = s.store_id), :windowS) >= :nowS) AS isOpen
     FROM sessions AS s WHERE s.id > :after ORDER BY s.id LIMIT ${LOOKED_AT}`,
  );
  type Walked = Readonly<{ id: string; createdAtMs: number; isNamed: 0 | 1; isOpen: 0 | 1 }>;
  const change = [
    `UPDATE sessions SET ${payerColumns.map((name) => `${name} = NULL`).join(', ')} WHERE id = :id`,
    'DELETE FROM refund_addresses WHERE session_id = :id',
    'DELETE FROM payment_notes WHERE session_id = :id',
    'UPDATE refunds SET description = NULL, metadata = NULL WHERE session_id = :id',
  ].map((text) => client.prepare(text));
  return {
    remembersAs: ANONYMISED_THROUGH,
    find({ place, beforeMs, nowMs }) {
      const [wasHeldUp, after] = place ?? BEGINNING;
      const times = {
        beforeS: toSeconds(beforeMs),
        nowS: toSeconds(nowMs),
        windowS: defaultRefundPolicy.refundWindowS,
      };
      const rows = walked.all({ after, ...times }) as Walked[];
      const old = rows.filter(({ createdAtMs }) => createdAtMs < beforeMs);
      const isEnd = old.length < LOOKED_AT;
      // The next walk begins before the first session that is left for another day, or may still get a refund.
      const firstOpen = old.findIndex(({ isOpen }) => isOpen === 1);
      const passed = wasHeldUp === 1 ? undefined : firstOpen < 0 ? old.at(-1) : old[firstOpen - 1];
      const isHeldUp = wasHeldUp === 1 || firstOpen >= 0 ? 1 : 0;
      const last = old.at(-1);
      return {
        items: old.flatMap(({ id, isNamed, isOpen }) => (isNamed === 1 && isOpen === 0 ? id : [])),
        next: last && !isEnd ? [isHeldUp, last.id] : null,
        ...(passed && { mark: passed.id }),
      };
    },
    change(items) {
      for (const id of items) for (const statement of change) statement.run({ id });
    },
  };
}

/** Archived sessions; none of them has money, refunds or an address for them. */
function anonymisingArchived({ client }: Db, archive: SessionArchive): Step<SessionEnd> {
  const due = client.prepare(
    `SELECT id, ended_at_s AS endedAtS FROM archived_sessions INDEXED BY archived_sessions_with_payer_data
     WHERE has_payer_data = 1 AND (ended_at_s, id) > (:afterS, :afterId) AND ended_at_s < :beforeS
     ORDER BY ended_at_s, id LIMIT ${SESSIONS_MOVED}`,
  );
  return {
    find({ place, beforeMs }) {
      const [afterS, afterId] = place ?? BEGINNING;
      const items = due.all({ afterS, afterId, beforeS: toSeconds(beforeMs) }) as SessionEnd[];
      const last = items.at(-1);
      return { items, next: last && items.length === SESSIONS_MOVED ? [last.endedAtS, last.id] : null };
    },
    change(items) {
      for (const { id } of items) archive.anonymise(id);
    },
  };
}

/** What merchants' servers answered. Times, statuses and errors stay. Ids rise with time. */
function agingAttempts({ client }: Db): Step<number> {
  const walked = client.prepare(
    `SELECT id, started_at_ms AS startedAtMs, response_excerpt IS NOT NULL AS hasExcerpt
     FROM attempts WHERE id > :after ORDER BY id LIMIT ${LOOKED_AT}`,
  );
  type Walked = Readonly<{ id: number; startedAtMs: number; hasExcerpt: 0 | 1 }>;
  const forget = client.prepare('UPDATE attempts SET response_excerpt = NULL WHERE id = :id');
  return {
    remembersAs: ATTEMPTS_THROUGH,
    find({ place, beforeMs }) {
      // A mark is text.
      const [id, marked] = place ?? BEGINNING;
      const rows = walked.all({ after: Number(marked) || id }) as Walked[];
      const firstYoung = rows.findIndex(({ startedAtMs }) => startedAtMs >= beforeMs);
      const old = firstYoung < 0 ? rows : rows.slice(0, firstYoung);
      const last = old.at(-1);
      return {
        items: old.flatMap(({ id, hasExcerpt }) => (hasExcerpt === 1 ? id : [])),
        next: last && old.length === LOOKED_AT ? [last.id, ''] : null,
        ...(last && { mark: String(last.id) }),
      };
    },
    change(items) {
      for (const id of items) forget.run({ id });
    },
  };
}

/** URLs that single sessions named, retired, with nothing that waits. A session's next event adds its own again. */
function removingEndpoints({ client }: Db): Step<Readonly<{ id: string; isFree: 0 | 1 }>> {
  const due = client.prepare(
    `SELECT id, retired_at_ms AS retiredAtMs,
       NOT EXISTS (SELECT 1 FROM delivery_lines WHERE endpoint_id = endpoints.id) AS isFree
     FROM endpoints INDEXED BY endpoints_retired
     WHERE per_session = 1 AND removed = 0 AND retired_at_ms IS NOT NULL
       AND (retired_at_ms, id) > (:afterMs, :afterId) AND retired_at_ms < :beforeMs
     ORDER BY retired_at_ms, id LIMIT ${LOOKED_AT}`,
  );
  type Row = Readonly<{ id: string; retiredAtMs: number; isFree: 0 | 1 }>;
  const removeRow = endpointRemover(client);
  // Deliveries that were made refer to it.
  const empty = client.prepare("UPDATE endpoints SET removed = 1, url = '', host = '' WHERE id = :id");
  return {
    find({ place, beforeMs }) {
      const [afterMs, afterId] = place ?? BEGINNING;
      const rows = due.all({ afterMs, afterId, beforeMs }) as Row[];
      const last = rows.at(-1);
      return {
        items: rows.filter(({ isFree }) => isFree === 1),
        next: last && rows.length === LOOKED_AT ? [last.retiredAtMs, last.id] : null,
      };
    },
    change(items) {
      for (const { id } of items) if (!removeRow(id)) empty.run({ id });
    },
  };
}
