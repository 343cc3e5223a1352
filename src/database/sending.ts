/**
 * Commands of the process that sends webhooks. It leases deliveries that are due, and records the attempts. When a
 * lease runs out, its delivery is due again, so each event arrives at least once.
 */
import type { Verdict } from '../core/delivery.ts';
import type { DoorDialect } from '../core/door.ts';
import {
  type EndpointHealth,
  healthAfter,
  REPLAY_AGE_MS_MAX,
  REPLAY_ATTEMPTS_MAX,
  refusalStatuses,
  replayAtMs,
} from '../core/endpoint.ts';
import { type EventType, eventBody } from '../core/event.ts';
import { invariant } from '../core/fault.ts';
import { toSeconds } from '../lib/clock.ts';
import { raiseAlarm } from './alarms.ts';
import { paidOrderOf, type ShownOrder } from './doors.ts';
import { IS_UNPROVEN, refreshDue, refreshEach, type SecretPair, signingSecret } from './endpoints.ts';
import { filterInOrder, mapInOrder } from './engine/bodies.ts';
import type { Db } from './engine/open.ts';
import { changeRows, findRow, findRows } from './engine/rows.ts';
import { ATTEMPTS_PER_MS, type Attempt, deliveryIdOf, deliveryNumberOf, eventIdOf, firstEvent } from './events.ts';
import type { VaultDb } from './sealing.ts';
import { sessionOf } from './session.ts';
import { endpoints } from './tables.ts';

/** A delivery that is leased until `leaseUntilMs`, with everything needed to send it. */
export type ClaimedDelivery = Readonly<Awaited<ReturnType<typeof open>>[number]>;

type Claim = Readonly<{
  /** The name of the sender; see `lib/holder.ts`. */
  holder: string;
  nowMs: number;
  leaseMs: number;
  limit: number;
  /** Most deliveries to unproven endpoints among `limit`. */
  unprovenMax: number;
  /** Returns the number of deliveries that an endpoint can take in addition to those under way. */
  places(endpointId: string, isUnproven: boolean): number;
}>;

/** An attempt and its consequence. */
export type RecordedAttempt = Readonly<{
  endpointId: string;
  leaseUntilMs: number;
  attempt: Attempt;
  verdict: Verdict;
}>;

/** Most endpoints that one claim looks at. There are more than can all be busy. */
const ENDPOINTS_LOOKED_MAX = 1_024;

type EndpointRow = typeof endpoints.$inferSelect;
type DueRow = Readonly<{ id: number; eventId: number; eventType: EventType; sessionId: string }> &
  Readonly<{ facts: string; createdAtMs: number; attempts: number }>;
type Found = DueRow & Readonly<{ endpoint: EndpointRow; isUnproven: boolean }>;
type Lease = Readonly<{ id: number; endpointId: string }>;

/** Chooses deliveries to send now. Each endpoint has a share, and those that wait longest come first. */
async function choose(db: Db, { nowMs, limit, unprovenMax, places }: Omit<Claim, 'leaseMs' | 'holder'>) {
  const dueEndpoints = `WHERE (${IS_UNPROVEN}) = :isUnproven AND due_at_ms <= :nowMs
    ORDER BY due_at_ms LIMIT ${ENDPOINTS_LOOKED_MAX}`;
  const dueOf = db.client.prepare<DueRow>(
    `SELECT d.id, d.event_id AS "eventId", v.type AS "eventType", v.session_id AS "sessionId", v.facts,
       v.created_at_ms AS "createdAtMs", d.attempts
     FROM deliveries AS d JOIN events AS v ON v.id = d.event_id
     WHERE d.endpoint_id = :endpointId AND d.due_at_ms <= :nowMs AND d.lease_until_ms IS NULL
     ORDER BY d.due_at_ms, d.event_id LIMIT :limit`,
  );
  const found: Found[] = [];
  for (const isUnproven of [true, false]) {
    const due = (await findRows(db, endpoints, dueEndpoints, { isUnproven: Number(isUnproven), nowMs }))
      .map((endpoint) => ({ endpoint, free: places(endpoint.id, isUnproven) }))
      .filter(({ free }) => free > 0);
    const end = found.length + Math.min(limit - found.length, isUnproven ? unprovenMax : limit);
    const share = Math.max(1, Math.floor((end - found.length) / Math.max(1, due.length)));
    for (const { endpoint, free } of due) {
      const most = Math.min(free, share, end - found.length);
      if (most <= 0) break;
      const rows = await dueOf.all({ endpointId: endpoint.id, nowMs, limit: most });
      // If the clock was set back, a newer event may be due before an older one of its session.
      rows.sort((a, b) => a.eventId - b.eventId);
      for (const row of rows) found.push({ ...row, endpoint, isUnproven });
    }
  }
  return found;
}

/** Returns the URL of a delivery, which its session, a door's order or its endpoint names. */
async function targetOf(
  db: Db,
  { endpoint: { dialect, pid, perSession, url }, sessionId }: Found,
): Promise<Readonly<{ url: string; door?: Readonly<{ dialect: DoorDialect; pid: number; order: ShownOrder }> }>> {
  if (perSession) return { url: (await sessionOf(db, sessionId)).terms.webhookUrl ?? url };
  if (dialect === null || pid === null) return { url };
  const order = await paidOrderOf(db, sessionId);
  return { url: order.terms.notifyUrl, door: { dialect, pid, order } };
}

/** Adds everything that sending needs. */
async function open(db: VaultDb, leased: readonly Found[], leaseUntilMs: number) {
  const pairs = new Map<string, SecretPair>();
  return mapInOrder(leased, async (one) => {
    const { endpoint, attempts, isUnproven, sessionId, eventType, facts, createdAtMs } = one;
    const { id: endpointId, storeId, mode } = endpoint;
    const [id, eventId] = [deliveryIdOf(one.id), eventIdOf(one.eventId)];
    const envelope = { id: eventId, type: eventType, createdAtS: toSeconds(createdAtMs), mode, sessionId };
    const signing = { endpointId, storeId, mode };
    const { secret, nextSecret } = pairs.get(endpointId) ?? (await signingSecret(db, signing));
    pairs.set(endpointId, { secret, nextSecret });
    return {
      id,
      eventId,
      eventType,
      sessionId,
      body: eventBody(envelope, facts),
      secret,
      nextSecret,
      endpointId,
      // An endpoint that sessions named is unproven until its first answer.
      isUnproven,
      mode,
      // Attempts are numbered from 1.
      attempt: attempts + 1,
      leaseUntilMs,
      ...(await targetOf(db, one)),
    };
  });
}

export function claimCommands(db: VaultDb) {
  const { client } = db;
  const lease = client.prepare(
    `UPDATE deliveries SET lease_until_ms = :leaseUntilMs, lease_holder = :holder
     WHERE id = :id AND due_at_ms <= :nowMs AND lease_until_ms IS NULL`,
  );
  const expired = client.prepare<Lease>(
    `SELECT id, endpoint_id AS "endpointId" FROM deliveries WHERE lease_until_ms <= :nowMs`,
  );
  const leased = client.prepare<Lease>(
    `SELECT id, endpoint_id AS "endpointId" FROM deliveries WHERE lease_until_ms IS NOT NULL AND lease_holder = :holder`,
  );
  const leasedElsewhere = client.values<string>(
    `SELECT d.endpoint_id || ' ' || v.session_id FROM deliveries AS d JOIN events AS v ON v.id = d.event_id
       WHERE d.lease_until_ms IS NOT NULL AND d.lease_holder <> :holder`,
  );
  const release = client.prepare(
    'UPDATE deliveries SET lease_until_ms = NULL WHERE id = :id AND lease_until_ms <= :untilMs',
  );

  /** Ends leases within the current transaction. */
  async function releaseAll(leases: readonly Lease[], untilMs: number): Promise<void> {
    for (const { id } of leases) await release.run({ id, untilMs });
    await refreshEach(db, leases);
  }

  return {
    /**
     * Leases deliveries that are due, also those whose lease has run out. At one endpoint, the events of one session
     * come in their order. While another sender has one of them, the others wait.
     */
    async claim({ leaseMs, holder, ...limits }: Claim): Promise<readonly ClaimedDelivery[]> {
      const { nowMs } = limits;
      const leaseUntilMs = nowMs + leaseMs;
      const over = await db.read(() => expired.all({ nowMs }));
      if (over.length > 0) await db.write(() => releaseAll(over, nowMs));
      const found = await db.read(() => choose(db, limits));
      // The write lock is taken only when there is something to do.
      if (found.length === 0) return [];
      const leasing = async () => {
        // A session's events stay in order even if another machine is sending the one before.
        const elsewhere = new Set(await leasedElsewhere.all({ holder }));
        const taken = await filterInOrder(
          found.filter(({ endpoint, sessionId }) => !elsewhere.has(`${endpoint.id} ${sessionId}`)),
          async ({ id }) => (await lease.run({ id, leaseUntilMs, holder, nowMs })).changes === 1,
        );
        for (const endpointId of new Set(taken.map(({ endpoint }) => endpoint.id))) await refreshDue(db, endpointId);
        return taken;
      };
      const taken = await db.write(leasing, { isGrouped: true });
      return db.read(() => open(db, taken, leaseUntilMs));
    },
    /** Ends leases that were not used. Their deliveries are due as before. */
    async release(leases: readonly Pick<ClaimedDelivery, 'id' | 'endpointId' | 'leaseUntilMs'>[]): Promise<void> {
      const untilMs = Math.max(...leases.map(({ leaseUntilMs }) => leaseUntilMs));
      const own = leases.map(({ id, endpointId }) => ({ id: deliveryNumberOf(id), endpointId }));
      await db.write(() => releaseAll(own, untilMs), { isGrouped: true });
    },
    /** Ends all leases of a sender that has ended. Its deliveries are due at once. */
    async endLeases(holder: string): Promise<void> {
      await db.write(async () => releaseAll(await leased.all({ holder }), Number.MAX_SAFE_INTEGER));
    },
  };
}

const healthNames = ['failingSinceMs', 'failures', 'gones', 'silences', 'pausedUntilMs', 'disabledAtMs'] as const;

/** An endpoint's health before and after the attempts of one transaction. `successes`: number of 2xx answers. */
type Followed = Readonly<{ before: EndpointRow; now: EndpointHealth; successes: number; atMs: number }>;

export function recordCommands(db: Db) {
  const { client } = db;
  const insertAttempt = client.prepare(
    `INSERT INTO attempts (id, delivery_id, attempt, started_at_ms, duration_ms, status, error, response_excerpt)
     VALUES (:id, :deliveryId, :attempt, :startedAtMs, :durationMs, :status, :error, :responseExcerpt)
     ON CONFLICT (id) DO NOTHING`,
  );
  const settle = client.prepare(
    `UPDATE deliveries SET state = :state, attempts = :attempt, due_at_ms = :dueAtMs, lease_until_ms = NULL,
       lease_holder = NULL, last_status = :status, last_error = :error
     WHERE id = :id AND lease_until_ms = :leaseUntilMs`,
  );

  /**
   * Saves an endpoint's health after attempts. If it accepted something, deliveries that it had refused are sent again.
   */
  async function follow({ before, now, successes, atMs }: Followed): Promise<void> {
    const { id, url } = before;
    const isSwitchedOff = now.disabledAtMs !== before.disabledAtMs;
    const why = now.gones > 0 ? GONE : FAILING;
    if (isSwitchedOff) await raiseAlarm(db, switchedOff(id, url, why, atMs));
    if (healthNames.some((name) => now[name] !== before[name])) {
      const health = Object.fromEntries(healthNames.map((name) => [name, now[name]]));
      await changeRows(db, endpoints, { id }, { ...health, disabledReason: isSwitchedOff ? why : null });
    }
    // An endpoint of sessions or of a door has many URLs, and one success says nothing about the others.
    const isReplayed = !before.perSession && before.dialect === null;
    if (successes > 0 && isReplayed) await replay(db, id, atMs, successes);
  }

  async function firstSeen(id: string): Promise<Followed> {
    const before = await findRow(db, endpoints, { id });
    invariant(before, `endpoint ${id} of a delivery exists`);
    return { before, now: before, successes: 0, atMs: 0 };
  }

  /**
   * Saves an attempt with a free id. The id is made of the start, and of the delivery's number to separate equal
   * starts.
   */
  async function save(attempt: Attempt, deliveryId: number): Promise<void> {
    const first = attempt.startedAtMs * ATTEMPTS_PER_MS + (deliveryId % ATTEMPTS_PER_MS);
    for (let id = first; (await insertAttempt.run({ ...attempt, deliveryId, id })).changes === 0; ) id++;
  }

  async function recordAll(recorded: readonly RecordedAttempt[]): Promise<void> {
    const followed = new Map<string, Followed>();
    for (const { endpointId, leaseUntilMs, attempt, verdict } of recorded) {
      const { attempt: number, status, error } = attempt;
      const id = deliveryNumberOf(attempt.deliveryId);
      await save(attempt, id);
      const [state, dueAtMs] = verdict.kind === 'retry' ? ['waiting', verdict.atMs] : [verdict.kind, null];
      await settle.run({ id, leaseUntilMs, state, attempt: number, dueAtMs, status, error });
      const { now, successes, ...rest } = followed.get(endpointId) ?? (await firstSeen(endpointId));
      const isDelivered = verdict.kind === 'delivered';
      const atMs = attempt.startedAtMs + attempt.durationMs;
      const after = healthAfter(now, { isDelivered, isFirst: number === 1, ...attempt });
      followed.set(endpointId, { ...rest, now: after, successes: successes + (isDelivered ? 1 : 0), atMs });
    }
    for (const one of followed.values()) await follow(one);
    await refreshEach(db, recorded);
  }

  return {
    /**
     * Saves attempts and their consequences in one transaction, in the order of their ends. A result that comes after
     * the end of its lease does not change the delivery.
     */
    async record(recorded: readonly RecordedAttempt[]): Promise<void> {
      await db.write(() => recordAll(recorded), { isGrouped: true });
    },
  };
}

const FAILING = 'the endpoint has accepted nothing for a week';
const GONE = 'the endpoint has answered 410 Gone for an hour';

const switchedOff = (id: string, url: string, why: string, atMs: number) => ({
  atMs,
  code: 'webhook_disabled',
  message:
    `the webhook endpoint ${id} (${url}) is switched off: ${why}. ` +
    `Its events wait. Once it works again, run \`quayside webhook set ${id} --state on\``,
  network: null,
  sessionId: null,
});

/**
 * Sends an endpoint's oldest refused deliveries again, after it accepted something. Call it within a transaction.
 * @param count one for each success, so that an endpoint that just recovered is not flooded
 */
async function replay({ client }: Db, endpointId: string, nowMs: number, count: number): Promise<void> {
  const refused = client.prepare<{ id: number; attempts: number }>(
    `SELECT id, attempts FROM deliveries
     WHERE endpoint_id = :endpointId AND event_id >= :oldest
       AND state = 'failed' AND last_status IN (${refusalStatuses.join(', ')}) AND attempts < ${REPLAY_ATTEMPTS_MAX}
     ORDER BY event_id LIMIT :count`,
  );
  const again = client.prepare("UPDATE deliveries SET state = 'waiting', due_at_ms = :atMs WHERE id = :id");
  const oldest = firstEvent(nowMs - REPLAY_AGE_MS_MAX);
  for (const { id, attempts } of await refused.all({ endpointId, oldest, count }))
    await again.run({ id, atMs: replayAtMs(attempts, nowMs) });
}
