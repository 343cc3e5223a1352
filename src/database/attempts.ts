/**
 * Recording attempts: what follows from them for deliveries and endpoints.
 *
 * Attempts that ended together are recorded together, so an endpoint that many of them change is written once.
 */

import { eq, getTableColumns, sql } from 'drizzle-orm';
import type { Verdict, WebhookStamp } from '../core/delivery.ts';
import { goneAfter, isGone, isSwitchedOff, pausedUntilMs } from '../core/endpoint.ts';
import { invariant } from '../core/fault.ts';
import type { RaiseAlarm } from './alarms.ts';
import type { DueTimes } from './due.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, laterValues } from './engine/prepared.ts';
import { prepareReplay } from './refused-deliveries.ts';
import { type deliveries, endpoints } from './tables.ts';

/** One attempt and its result. `status` is the HTTP status; `error` a class such as `timeout` or `blocked_address`. */
export type Attempt = Readonly<{
  deliveryId: string;
  attempt: number;
  trigger: 'auto' | 'manual';
  startedAtMs: number;
  durationMs: number;
  status: number | null;
  error: string | null;
  /** The beginning of the answer, for the operator. */
  responseExcerpt: string | null;
}>;

/** What follows from an attempt. */
export type DeliveryVerdict = Verdict;

/** `stamp`: what was sent with it, if anything was. */
export type RecordedAttempt = Readonly<{ attempt: Attempt; verdict: DeliveryVerdict; stamp?: WebhookStamp | null }>;

/** An attempt of the past. `stamp` is null where nothing was sent, and for attempts from before it was kept. */
export type PastAttempt = Attempt & Readonly<{ stamp: WebhookStamp | null }>;
/** What an attempt may change about its delivery. */
type Changing = Pick<
  typeof deliveries.$inferSelect,
  'state' | 'attempts' | 'nextAttemptAtMs' | 'manualAtMs' | 'lastStatus' | 'lastError'
>;
type DeliveryRow = Changing & Readonly<{ id: string; eventId: string; endpointId: string; sessionId: string }>;
type Parts = Readonly<{ due: DueTimes; raiseAlarm: RaiseAlarm }>;

const followedNames = [
  'goneCount',
  'goneSinceMs',
  'failingSinceMs',
  'answeredEventId',
  'failures',
  'silences',
  'pausedUntilMs',
  'disabledAtMs',
  'disabledReason',
] as const;
type EndpointRow = Pick<
  typeof endpoints.$inferSelect,
  'id' | 'url' | 'removed' | 'perSession' | (typeof followedNames)[number]
>;

const unsent = { timestampS: null, nonce: null, signature: null, standardSignature: null };

/** Returns a delivery's state after an attempt. Delivered stays delivered; a manual failure keeps the schedule. */
function afterAttempt(row: DeliveryRow, attempt: Attempt, verdict: DeliveryVerdict): Changing {
  const isAuto = attempt.trigger === 'auto';
  const kept = {
    attempts: isAuto ? Math.max(row.attempts, attempt.attempt) : row.attempts,
    // A resend that was requested during this attempt is still to be done.
    manualAtMs: isAuto || (row.manualAtMs ?? 0) > attempt.startedAtMs ? row.manualAtMs : null,
    lastStatus: attempt.status,
    lastError: attempt.error,
  };
  if (verdict.kind === 'delivered') return { ...kept, state: 'delivered', nextAttemptAtMs: null };
  if (!isAuto || row.state !== 'waiting') {
    return { ...kept, state: row.state, nextAttemptAtMs: row.nextAttemptAtMs };
  }
  return verdict.kind === 'retry'
    ? { ...kept, state: 'waiting', nextAttemptAtMs: verdict.atMs }
    : { ...kept, state: 'failed', nextAttemptAtMs: null };
}

const GONE = 'the endpoint keeps answering 410 Gone';
const FAILING = 'the endpoint has accepted nothing for a week';

/** What the attempts of one transaction say about an endpoint. `answers`: how many were answered with 2xx. */
type Followed = Readonly<{ before: EndpointRow; now: EndpointRow; answers: number; atMs: number }>;

const endedAtMs = (attempt: Attempt): number => attempt.startedAtMs + attempt.durationMs;

/** Returns what one attempt more says about its endpoint; `row` is its delivery before. */
function follow(followed: Followed, row: DeliveryRow, attempt: Attempt, verdict: DeliveryVerdict): Followed {
  const { now } = followed;
  const atMs = endedAtMs(attempt);
  const gone = goneAfter({ count: now.goneCount, sinceMs: now.goneSinceMs }, attempt.status, row.lastStatus, atMs);
  const hasAnswered = verdict.kind === 'delivered';
  const isNewest = hasAnswered && row.eventId > (now.answeredEventId ?? '');
  const failures = hasAnswered ? 0 : now.failures + (attempt.attempt === 1 ? 1 : 0);
  const failingSinceMs = hasAnswered ? null : (now.failingSinceMs ?? attempt.startedAtMs);
  const silences = attempt.status === null ? now.silences + 1 : 0;
  const isOver = !now.perSession && isSwitchedOff(failures, failingSinceMs, atMs);
  const reason = isGone(gone, atMs) ? GONE : isOver ? FAILING : null;
  const disables = reason !== null && now.disabledAtMs === null && !now.removed;
  return {
    ...followed,
    now: {
      ...now,
      goneCount: gone.count,
      goneSinceMs: gone.sinceMs,
      failingSinceMs,
      failures,
      silences,
      pausedUntilMs: pausedUntilMs(silences, atMs),
      answeredEventId: isNewest ? row.eventId : now.answeredEventId,
      ...(disables && { disabledAtMs: atMs, disabledReason: reason }),
    },
    answers: followed.answers + (hasAnswered ? 1 : 0),
    atMs,
  };
}

export function attemptCommands(db: Db, { due, raiseAlarm }: Parts) {
  const { client } = db;
  const replay = prepareReplay(db, due);
  const insertAttempt = client.prepare(
    `INSERT INTO attempts (delivery_id, attempt, trigger, started_at_ms, duration_ms, status, error, response_excerpt,
       timestamp_s, nonce, signature, standard_signature)
     VALUES (:deliveryId, :attempt, :trigger, :startedAtMs, :durationMs, :status, :error, :responseExcerpt,
       :timestampS, :nonce, :signature, :standardSignature)`,
  );
  const find = client.prepare(
    `SELECT id, event_id AS eventId, endpoint_id AS endpointId, session_id AS sessionId, state, attempts,
       next_attempt_at_ms AS nextAttemptAtMs, manual_at_ms AS manualAtMs, last_status AS lastStatus,
       last_error AS lastError
     FROM deliveries WHERE id = :id`,
  );
  const update = client.prepare(
    `UPDATE deliveries SET state = :state, attempts = :attempts, next_attempt_at_ms = :nextAttemptAtMs,
       manual_at_ms = :manualAtMs, last_status = :lastStatus, last_error = :lastError, due_at_ms = :nextAttemptAtMs,
       lease_until_ms = NULL
     WHERE id = :id`,
  );
  const { id, url, removed, perSession, ...others } = getTableColumns(endpoints);
  const followed = Object.fromEntries(followedNames.map((name) => [name, others[name]])) as Pick<
    typeof others,
    (typeof followedNames)[number]
  >;
  const findEndpoint = atFirstUse(
    db.orm
      .select({ id, url, removed, perSession, ...followed })
      .from(endpoints)
      .where(eq(endpoints.id, sql.placeholder('id'))),
  );
  const saveEndpoint = atFirstUse(
    db.orm
      .update(endpoints)
      .set(laterValues(endpoints, followedNames))
      .where(eq(endpoints.id, sql.placeholder('id'))),
  );
  /** Saves what attempts say about an endpoint, disables it if it is gone, and brings back what it had refused. */
  function remember({ before, now, answers, atMs }: Followed): void {
    const { id, url } = before;
    if (followedNames.some((name) => before[name] !== now[name])) saveEndpoint.run(now);
    if (now.disabledAtMs !== null && before.disabledAtMs === null) {
      raiseAlarm({
        atMs: now.disabledAtMs,
        code: 'webhook_disabled',
        message:
          `the webhook endpoint ${id} (${url}) is switched off: ${now.disabledReason}. ` +
          `Its events wait. Once it works again, run \`quayside webhook set ${id} --state on\``,
        network: null,
        sessionId: null,
      });
    }
    if (answers > 0 && now.answeredEventId !== null) replay(id, now.answeredEventId, atMs, answers);
  }

  function recordAll(recorded: readonly RecordedAttempt[]): void {
    const followed = new Map<string, Followed>();
    for (const { attempt, verdict, stamp } of recorded) {
      const row = find.get({ id: attempt.deliveryId }) as DeliveryRow | undefined;
      invariant(row, `delivery ${attempt.deliveryId} exists`);
      const { id, endpointId, sessionId } = row;
      insertAttempt.run({ ...attempt, ...(stamp ?? unsent) });
      update.run({ id, ...afterAttempt(row, attempt, verdict) });
      due.next({ endpointId, sessionId });
      followed.set(endpointId, follow(followed.get(endpointId) ?? firstSeen(endpointId), row, attempt, verdict));
    }
    for (const one of followed.values()) remember(one);
  }

  function firstSeen(endpointId: string): Followed {
    const before = findEndpoint.get({ id: endpointId });
    invariant(before, `endpoint ${endpointId} of a delivery exists`);
    return { before, now: before, answers: 0, atMs: 0 };
  }

  return {
    /**
     * Saves attempts and their verdicts, in the order in which they ended, in one transaction. A failed manual attempt
     * leaves the automatic schedule as it was.
     */
    async record(recorded: readonly RecordedAttempt[]): Promise<void> {
      await db.write(() => due.together(() => recordAll(recorded)), { isGrouped: true });
    },
  };
}
