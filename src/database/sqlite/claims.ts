/**
 * Leasing due deliveries to a dispatcher.
 * @module
 */
import { eq, sql } from 'drizzle-orm';
import { invariant } from '../../core/fault.ts';
import type { ClaimedDelivery, Database } from '../database.ts';
import type { DeliveryLines } from './delivery-lines.ts';
import { IS_HOST_SILENT, IS_OFF, QUEUE } from './delivery-queues.ts';
import type { Db } from './open.ts';
import { atFirstUse } from './prepared.ts';
import type { RefusedDeliveries } from './refused-deliveries.ts';
import { deliveries, endpoints, events } from './schema.ts';
import type { WebhookSecrets } from './webhook-secrets.ts';

type ClaimCommands = Pick<Database, 'claimDeliveries' | 'endLeases'>;

/** Requested resends that are looked at in one claim. */
const RESENDS_SEEN_MAX = 1_000;
/** Due queues that are looked at in one claim. Those that have no place left are at most as many as are under way. */
const QUEUES_SEEN_MAX = 1_024;
/** A host may have as many times the attempts in progress that one endpoint may have. */
const ENDPOINTS_PER_HOST = 8;
/** What is known of a queue, as in `delivery_queues.rank`. An unproven host has answered nothing yet. */
const ranks = { proven: 0, unproven: 1, silent: 2 } as const;
type Rank = (typeof ranks)[keyof typeof ranks];
/** Of a claim's places, queues of a rank get at most this share while proven ones have something due. */
const shares: Readonly<Record<Rank, number>> = { 0: 1, 1: 0.5, 2: 0.25 };

type Candidate = Readonly<{
  id: string;
  eventId: string;
  endpointId: string;
  sessionId: string;
  trigger: 'auto' | 'manual';
}>;
type Line = Readonly<{ endpointId: string; sessionId: string; isOff: number }>;
type Queue = Readonly<{ queue: string; host: string; isHostSilent?: number }>;
type Leased = Readonly<{ queue: string; host: string; n: number; rank: Rank }>;
type Chosen = Readonly<{ candidates: Candidate[]; stale: Line[] }>;
type Limits = Omit<Parameters<ClaimCommands['claimDeliveries']>[0], 'leaseMs'>;

type Parts = Readonly<{ secrets: WebhookSecrets; lines: DeliveryLines; refused: RefusedDeliveries }>;

export function claimCommands(db: Db, { secrets, lines, refused }: Parts): ClaimCommands {
  const { client, orm } = db;
  // A resend also goes to a disabled endpoint.
  const manualDue = client.prepare(
    `SELECT d.id, d.event_id AS eventId, d.endpoint_id AS endpointId, d.session_id AS sessionId, 'manual' AS trigger,
       e.host, ${QUEUE} AS queue
     FROM deliveries AS d INDEXED BY deliveries_manual JOIN endpoints AS e ON e.id = d.endpoint_id
     WHERE d.manual_at_ms <= :nowMs AND NOT EXISTS (
       SELECT 1 FROM delivery_lines AS l
       WHERE l.endpoint_id = d.endpoint_id AND l.session_id = d.session_id AND l.lease_until_ms > :nowMs)
     ORDER BY d.event_id LIMIT ${RESENDS_SEEN_MAX}`,
  );
  const dueQueues = client.prepare(
    `SELECT queue, host, ${IS_HOST_SILENT} AS isHostSilent FROM delivery_queues INDEXED BY delivery_queues_due
     WHERE rank = :rank AND ready_at_ms <= :nowMs ORDER BY ready_at_ms, tried_at_ms LIMIT ${QUEUES_SEEN_MAX}`,
  );
  const dueLines = client.prepare(
    `SELECT l.endpoint_id AS endpointId, l.session_id AS sessionId, ${IS_OFF} AS isOff
     FROM delivery_lines AS l INDEXED BY delivery_lines_due JOIN endpoints AS e ON e.id = l.endpoint_id
     WHERE l.queue = :queue AND l.ready_at_ms BETWEEN 0 AND :nowMs ORDER BY l.ready_at_ms LIMIT :limit`,
  );
  const leased = client.prepare(
    `SELECT l.queue, l.host, count(*) AS n, coalesce(q.rank, 0) AS rank
     FROM delivery_lines AS l INDEXED BY delivery_lines_leased LEFT JOIN delivery_queues AS q ON q.queue = l.queue
     WHERE l.lease_until_ms > :nowMs GROUP BY l.queue, l.host`,
  );
  const isResuming = client.prepare(
    'SELECT 1 FROM endpoints INDEXED BY endpoints_resuming WHERE resumed_through IS NOT NULL LIMIT 1',
  );
  const load = atFirstUse(
    orm
      .select({
        id: deliveries.id,
        endpointId: deliveries.endpointId,
        url: endpoints.url,
        mode: endpoints.mode,
        eventId: events.id,
        eventType: events.type,
        sessionId: events.sessionId,
        eventAtMs: events.createdAtMs,
        body: events.body,
        attempts: deliveries.attempts,
        storeId: endpoints.storeId,
      })
      .from(deliveries)
      .innerJoin(events, eq(events.id, deliveries.eventId))
      .innerJoin(endpoints, eq(endpoints.id, deliveries.endpointId))
      .where(eq(deliveries.id, sql.placeholder('id'))),
  );

  /** Counts what is under way, and gives out what is left. */
  function openPlaces({ nowMs, perEndpointMax }: Limits) {
    const used = new Map<string, number>();
    const key = (kind: 'queue' | 'host' | 'silent', name: string) => `${kind} ${name}`;
    const use = (name: string, n: number) => used.set(name, (used.get(name) ?? 0) + n);
    let unproven = 0;
    for (const { queue, host, n, rank } of leased.all({ nowMs }) as Leased[]) {
      if (rank !== ranks.proven) unproven += n;
      use(key('queue', queue), n);
      use(key('host', host), n);
      if (rank === ranks.silent) use(key('silent', host), n);
    }
    /** Returns how many more may start in a queue of which `max` may be under way; of a silent host, one in all. */
    function free({ queue, host, isHostSilent }: Queue, max: number): number {
      if (isHostSilent && used.has(key('silent', host))) return 0;
      const ofHost = perEndpointMax * ENDPOINTS_PER_HOST - (used.get(key('host', host)) ?? 0);
      return Math.max(0, Math.min(ofHost, max - (used.get(key('queue', queue)) ?? 0)));
    }
    return {
      free,
      unproven,
      take(from: Queue, max: number): boolean {
        if (free(from, max) === 0) return false;
        use(key('queue', from.queue), 1);
        use(key('host', from.host), 1);
        if (from.isHostSilent) use(key('silent', from.host), 1);
        return true;
      },
    };
  }

  /** Returns what can be sent now: in turn from each queue that has something due, one per line. */
  function choose(limits: Limits): Chosen {
    const { nowMs, limit, perEndpointMax } = limits;
    const candidates: Candidate[] = [];
    const stale: Line[] = [];
    const busy = new Set<string>();
    const places = openPlaces(limits);
    const add = (one: Candidate, from: Queue, max: number): boolean => {
      const line = `${one.endpointId}/${one.sessionId}`;
      if (candidates.length >= limit || busy.has(line) || !places.take(from, max)) return false;
      busy.add(line);
      candidates.push(one);
      return true;
    };
    for (const { queue, host, ...one } of manualDue.all({ nowMs }) as (Candidate & Queue)[]) {
      add(one, { queue, host }, perEndpointMax);
    }

    // What has not answered lately, or ever, shares these, however many passes take from them.
    let unprovenFree = Math.max(0, (limits.unprovenMax ?? limit) - places.unproven);
    function addQueues(rank: Rank, share: number): void {
      const before = candidates.length;
      const most = Math.min(rank === ranks.proven ? limit : unprovenFree, Math.floor(limit * share));
      // One that does not answer is tried with one at a time.
      const max = rank === ranks.silent ? 1 : perEndpointMax;
      const due = oneOfEachSilentHost(dueQueues.all({ nowMs, rank }) as Queue[])
        .filter((from) => places.free(from, max) > 0)
        .slice(0, most)
        .map((from) => {
          const lines = dueLines.all({ queue: from.queue, nowMs, limit: places.free(from, max) + 1 }) as Line[];
          return { from, lines };
        });
      const end = Math.min(limit, candidates.length + most);
      for (let round = 0; candidates.length < end && due.some(({ lines: { length } }) => length > round); round++) {
        for (const { from, lines: ofQueue } of due) {
          const line = ofQueue[round];
          if (!line || candidates.length >= end) continue;
          const head = line.isOff ? null : lines.due(line.endpointId, line.sessionId, nowMs);
          if (!head) stale.push(line);
          else add({ ...line, id: head.id, eventId: head.eventId, trigger: 'auto' }, from, max);
        }
      }
      if (rank !== ranks.proven) unprovenFree -= candidates.length - before;
    }
    for (const rank of [ranks.silent, ranks.unproven, ranks.proven]) addQueues(rank, shares[rank]);
    for (const rank of [ranks.unproven, ranks.silent]) addQueues(rank, 1);
    return { candidates: candidates.sort(byEvent), stale };
  }

  const mustWrite = (limits: Limits): boolean => {
    const { candidates, stale } = choose(limits);
    const isAnyDue = candidates.length > 0 || stale.length > 0;
    return isAnyDue || isResuming.get() !== undefined || refused.isProbeDue(limits.nowMs);
  };

  return {
    async claimDeliveries({ leaseMs, ...limits }) {
      const leaseUntilMs = limits.nowMs + leaseMs;
      // The write lock is taken only when there is something to do.
      while (db.read(() => mustWrite(limits))) {
        const rows = await db.write(() => {
          lines.resumeSome();
          refused.probeSome(limits.nowMs);
          const { candidates, stale } = choose(limits);
          for (const { endpointId, sessionId } of stale) lines.refresh(endpointId, sessionId);
          return candidates.map(({ id, endpointId, sessionId, trigger }) => {
            lines.lease(endpointId, sessionId, id, leaseUntilMs);
            const row = load.get({ id });
            invariant(row, `delivery ${id} has its event and endpoint`);
            return { ...row, trigger, signing: secrets.signing(row) };
          });
        });
        if (rows.length === 0) continue;
        return rows.map(
          ({ attempts, storeId: _, signing, ...row }): ClaimedDelivery => ({
            ...row,
            ...secrets.open(signing),
            attempt: attempts + 1,
            leaseUntilMs,
          }),
        );
      }
      return [];
    },
    async endLeases() {
      while (await db.write(() => lines.endLeases()));
    },
  };
}

/** Leaves out all but the first queue of each host that is silent. */
function oneOfEachSilentHost(queues: readonly Queue[]): Queue[] {
  const silent = new Set<string>();
  return queues.filter(({ host, isHostSilent }) => {
    if (!isHostSilent) return true;
    const isFirst = !silent.has(host);
    silent.add(host);
    return isFirst;
  });
}

/** Oldest event first; a resend before the scheduled attempt of the same delivery. */
const byEvent = (a: Candidate, b: Candidate): number =>
  a.eventId === b.eventId ? b.trigger.localeCompare(a.trigger) : a.eventId < b.eventId ? -1 : 1;
