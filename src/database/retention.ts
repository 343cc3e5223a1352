/**
 * The walks of retention. Each step looks at the next old rows and changes those that are due, within one short
 * transaction. Sessions with open matters wait for another night.
 */
import type { RefundPolicy } from '../core/refund.ts';
import { toSeconds } from '../lib/clock.ts';
import { type OpenOptions, openEngine } from './engine/engine.ts';
import type { Db } from './engine/open.ts';
import { ATTEMPTS_PER_MS } from './events.ts';
import { ANONYMISED_THROUGH, ATTEMPTS_THROUGH, LAST_RUN, readMeta, writeMeta } from './meta.ts';

/**
 * Kinds of removed data. `anonymised`: a merchant's data about the payer of a session. `attempts`: the answer of a
 * merchant's server to an attempt.
 */
export const retentionKinds = ['anonymised', 'attempts'] as const;
export type RetentionKind = (typeof retentionKinds)[number];

/** `beforeMs`: sessions that ended, or attempts that were sent, before this time are due. */
type RetentionTimes = Readonly<{ beforeMs: number; nowMs: number }>;

/** The result of one step. `done`: the number of changed rows. `after` and `isHeldUp` are for the next step. */
type Slice = Readonly<{ done: number; isEnd: boolean; after?: string; isHeldUp?: boolean }>;
/** Takes the step after the last one. It keeps no state of its own, because a body may run again. */
type Walk = (last: Slice) => Promise<Slice>;

/** Most rows that one transaction looks at. */
const LOOKED_AT_MAX = 500;

const walks: Readonly<Record<RetentionKind, (db: Db, times: RetentionTimes) => Walk>> = {
  anonymised: anonymising,
  attempts: agingAttempts,
};

/** Walks through sessions that ended, and whose money can no longer be refunded or decided about. */
function anonymising(db: Db, { beforeMs, nowMs }: RetentionTimes): Walk {
  const { client } = db;
  const walked = client.prepare<Row>(
    `SELECT s.id, s.created_at_ms AS "createdAtMs",
       CASE WHEN s.order_details IS NOT NULL
         OR EXISTS (SELECT 1 FROM refund_addresses WHERE session_id = s.id)
         OR EXISTS (SELECT 1 FROM refunds WHERE session_id = s.id AND (description IS NOT NULL OR metadata IS NOT NULL))
         THEN 1 ELSE 0 END AS "isNamed",
       CASE WHEN s.ended_at_s IS NULL OR s.ended_at_s >= :beforeS
         OR EXISTS (SELECT 1 FROM refunds WHERE session_id = s.id AND status IN ('pending', 'processing'))
         OR EXISTS (SELECT 1 FROM held_money WHERE session_id = s.id AND state = 'open')
         THEN 1 ELSE 0 END AS "isOpen",
       CASE WHEN s.payment_count > 0 THEN coalesce(s.paid_at_s, s.ended_at_s) END AS "refundableFromS",
       o.refund_policy AS policy
     FROM sessions AS s JOIN stores AS o ON o.id = s.store_id WHERE s.id > :after ORDER BY s.id LIMIT ${LOOKED_AT_MAX}`,
  );
  type Row = Readonly<{ id: string; createdAtMs: number; isNamed: 0 | 1; isOpen: 0 | 1; policy: string }> &
    Readonly<{ refundableFromS: number | null }>;
  const isRefundable = ({ refundableFromS, policy }: Row): boolean =>
    refundableFromS !== null && refundableFromS + (JSON.parse(policy) as RefundPolicy).refundWindowS >= nowS;
  const forget = [
    'UPDATE sessions SET order_details = NULL WHERE id = :id',
    'DELETE FROM refund_addresses WHERE session_id = :id',
    'UPDATE refunds SET description = NULL, metadata = NULL WHERE session_id = :id',
  ].map((text) => client.prepare(text));
  const [beforeS, nowS] = [toSeconds(beforeMs), toSeconds(nowMs)];
  return async (last) => {
    const after = last.after ?? (await readMeta(db, ANONYMISED_THROUGH)) ?? '';
    const rows = await walked.all({ after, beforeS });
    const looked = rows.map((row) => ({ ...row, isLeft: row.isOpen === 1 || isRefundable(row) }));
    const old = looked.filter(({ createdAtMs }) => createdAtMs < beforeMs);
    const due = old.filter(({ isNamed, isLeft }) => isNamed === 1 && !isLeft);
    for (const { id } of due) for (const statement of forget) await statement.run({ id });
    // The next night begins before the first session that has to wait or may still get a refund.
    const firstOpen = old.findIndex(({ isLeft }) => isLeft);
    const passed = last.isHeldUp ? undefined : firstOpen < 0 ? old.at(-1) : old[firstOpen - 1];
    if (passed) await writeMeta(db, ANONYMISED_THROUGH, passed.id);
    const isHeldUp = last.isHeldUp || firstOpen >= 0;
    return { done: due.length, isEnd: old.length < LOOKED_AT_MAX, after: old.at(-1)?.id ?? after, isHeldUp };
  };
}

/**
 * Walks through attempts, and removes the servers' answers. Times, statuses and errors stay. Ids rise with the time of
 * the start.
 */
function agingAttempts(db: Db, { beforeMs }: RetentionTimes): Walk {
  const { client } = db;
  const walked = client.values<number>(
    `SELECT id FROM attempts WHERE id > :after AND id < :before ORDER BY id LIMIT ${LOOKED_AT_MAX}`,
  );
  const forget = client.prepare(
    `UPDATE attempts SET response_excerpt = NULL
     WHERE id > :after AND id <= :through AND response_excerpt IS NOT NULL`,
  );
  return async () => {
    const after = Number((await readMeta(db, ATTEMPTS_THROUGH)) ?? -1);
    const ids = await walked.all({ after, before: beforeMs * ATTEMPTS_PER_MS });
    const through = ids.at(-1);
    if (through === undefined) return { done: 0, isEnd: true };
    const { changes } = await forget.run({ after, through });
    await writeMeta(db, ATTEMPTS_THROUGH, String(through));
    return { done: changes, isEnd: ids.length < LOOKED_AT_MAX };
  };
}

/**
 * Opens the commands that remove old data, on a connection of their own to a database of the current schema. Deleted
 * content is overwritten with zeros.
 * @throws Fault: see `openSqliteDatabase`
 */
export function openRetentionDatabase(options: OpenOptions) {
  const db = openEngine({ ...options, overwritesDeleted: true }, async () => {});
  return {
    /**
     * Removes the data of one kind that is due, in one short transaction for each step of the iteration.
     * @returns the number of changed rows of each step
     */
    async *retain(kind: RetentionKind, times: RetentionTimes): AsyncIterable<number> {
      const walk = walks[kind](db, times);
      for (let last: Slice = { done: 0, isEnd: false }; !last.isEnd; ) {
        const before = last;
        last = await db.write(() => walk(before));
        yield last.done;
      }
    },
    /** Saves the time of the run for `stats`. */
    async rememberRun(atMs: number): Promise<void> {
      await db.write(() => writeMeta(db, LAST_RUN, String(atMs)));
    },
    close: db.close,
  };
}

export type RetentionDatabase = ReturnType<typeof openRetentionDatabase>;
