/**
 * Leasing due deliveries to a dispatcher.
 * @module
 */
import { invariant } from '../../core/fault.ts';
import type { ClaimedDelivery, Database } from '../database.ts';
import type { SecretPair } from '../webhook-secrets.ts';
import type { DeliveryLines } from './delivery-lines.ts';
import { IS_HOST_SILENT, IS_OFF, type Queue as LineQueue, QUEUE } from './delivery-queues.ts';
import type { Db } from './open.ts';
import type { RefusedDeliveries } from './refused-deliveries.ts';
import type { WebhookSecrets } from './webhook-secrets.ts';

type ClaimCommands = Pick<Database, 'claimDeliveries' | 'returnDeliveries' | 'endLeases'>;

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
  from: Queue;
}>;
type Line = Readonly<{ endpointId: string; sessionId: string; isOff: number }>;
type Queue = LineQueue & Readonly<{ isHostSilent?: number }>;
type Leased = Readonly<{ queue: string; host: string; n: number; rank: Rank }>;
type Chosen = Readonly<{ candidates: Candidate[]; stale: Line[] }>;
type Limits = Omit<Parameters<ClaimCommands['claimDeliveries']>[0], 'leaseMs' | 'isWithRecording'>;

type Loaded = Omit<ClaimedDelivery, keyof SecretPair | 'attempt' | 'trigger' | 'leaseUntilMs'> &
  Readonly<{ attempts: number; storeId: string }>;
type Signing = ReturnType<WebhookSecrets['signing']>;
type Parts = Readonly<{ secrets: WebhookSecrets; lines: DeliveryLines; refused: RefusedDeliveries }>;

export function claimCommands(db: Db, { secrets, lines, refused }: Parts): ClaimCommands {
  const { client } = db;
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
  const load = client.prepare(
    `SELECT d.id, d.endpoint_id AS endpointId, e.url, e.mode, v.id AS eventId, v.type AS eventType,
       v.session_id AS sessionId, v.created_at_ms AS eventAtMs, v.body, d.attempts, e.store_id AS storeId
     FROM deliveries AS d JOIN events AS v ON v.id = d.event_id JOIN endpoints AS e ON e.id = d.endpoint_id
     WHERE d.id = :id`,
  );

  /** Counts what is leased, and gives out what is left. */
  function openPlaces({ nowMs, perEndpointMax, ahead }: Limits) {
    const used = new Map<string, number>();
    const key = (kind: 'queue' | 'host' | 'silent', name: string) => `${kind} ${name}`;
    const usedBy = (name: string) => used.get(name) ?? 0;
    const use = (name: string, n: number) => used.set(name, usedBy(name) + n);
    const aheadOf = (queue: string) => ahead?.get(queue) ?? 0;
    let unproven = 0;
    for (const { queue, host, n, rank } of leased.all({ nowMs }) as Leased[]) {
      if (rank !== ranks.proven) unproven += n;
      use(key('queue', queue), n);
      // What is leased ahead is not under way.
      use(key('host', host), aheadOf(queue) > 0 ? Math.min(n, perEndpointMax) : n);
      if (rank === ranks.silent) use(key('silent', host), n);
    }
    /** Returns how many more may be leased in a queue of which `max` may be under way; of a silent host, one in all. */
    function free({ queue, host, isHostSilent }: Queue, max: number): number {
      if (isHostSilent && used.has(key('silent', host))) return 0;
      const ofHost = perEndpointMax * ENDPOINTS_PER_HOST - usedBy(key('host', host));
      const ofQueue = max - usedBy(key('queue', queue));
      const more = max < perEndpointMax ? 0 : aheadOf(queue);
      return Math.max(0, ofHost < ofQueue ? ofHost : ofQueue + more);
    }
    return {
      free,
      unproven,
      take(from: Queue, max: number): boolean {
        if (free(from, max) === 0) return false;
        if (usedBy(key('queue', from.queue)) < max) use(key('host', from.host), 1);
        use(key('queue', from.queue), 1);
        if (from.isHostSilent) use(key('silent', from.host), 1);
        return true;
      },
    };
  }

  /**
   * Returns what can be sent now: in turn from each queue that has something due, one per line.
   * @param isOneEnough ends with the first that is found
   */
  function choose(limits: Limits, isOneEnough = false): Chosen {
    const { nowMs, limit, perEndpointMax } = limits;
    const candidates: Candidate[] = [];
    const stale: Line[] = [];
    const busy = new Set<string>();
    const places = openPlaces(limits);
    const isEnough = () => candidates.length >= limit || (isOneEnough && candidates.length + stale.length > 0);
    const add = (one: Candidate, max: number): void => {
      const line = `${one.endpointId}/${one.sessionId}`;
      if (isEnough() || busy.has(line) || !places.take(one.from, max)) return;
      busy.add(line);
      candidates.push(one);
    };
    for (const { queue, host, ...one } of manualDue.all({ nowMs }) as (Omit<Candidate, 'from'> & Queue)[]) {
      add({ ...one, from: { queue, host } }, perEndpointMax);
    }

    // What has not answered lately, or ever, shares these, however many passes take from them.
    let unprovenFree = Math.max(0, (limits.unprovenMax ?? limit) - places.unproven);
    function addQueues(rank: Rank, share: number): void {
      if (isEnough()) return;
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
      const mayGoOn = (round: number) => candidates.length < end && due.some(({ lines: { length } }) => length > round);
      for (let round = 0; mayGoOn(round) && !isEnough(); round++) {
        for (const { from, lines: ofQueue } of due) {
          const line = ofQueue[round];
          if (!line || candidates.length >= end || isEnough()) continue;
          const head = line.isOff ? null : lines.due(line.endpointId, line.sessionId, nowMs);
          if (!head) stale.push(line);
          else add({ ...line, id: head.id, eventId: head.eventId, trigger: 'auto', from }, max);
        }
      }
      if (rank !== ranks.proven) unprovenFree -= candidates.length - before;
    }
    for (const rank of [ranks.silent, ranks.unproven, ranks.proven]) addQueues(rank, shares[rank]);
    for (const rank of [ranks.unproven, ranks.silent]) addQueues(rank, 1);
    return { candidates: candidates.sort(byEvent), stale };
  }

  const mustWrite = (limits: Limits): boolean => {
    const { candidates, stale } = choose(limits, true);
    const isAnyDue = candidates.length > 0 || stale.length > 0;
    return isAnyDue || isResuming.get() !== undefined || refused.isProbeDue(limits.nowMs);
  };

  /** Leases what was chosen, and returns what is needed to send it. */
  function leaseAll(candidates: readonly Candidate[], leaseUntilMs: number) {
    const signings = new Map<string, Signing>();
    return candidates.map((candidate) => {
      if (candidate.trigger === 'auto') lines.leaseDue(candidate, leaseUntilMs, candidate.from);
      else lines.lease(candidate, leaseUntilMs);
      const row = load.get({ id: candidate.id }) as Loaded | undefined;
      invariant(row, `delivery ${candidate.id} has its event and endpoint`);
      const signing = signings.get(row.endpointId) ?? secrets.signing(row);
      signings.set(row.endpointId, signing);
      return { ...row, trigger: candidate.trigger, signing };
    });
  }

  return {
    async claimDeliveries({ leaseMs, isWithRecording = false, ...limits }) {
      const leaseUntilMs = limits.nowMs + leaseMs;
      let isFirst = isWithRecording;
      // The write lock is taken only when there is something to do.
      while (isFirst || db.read(() => mustWrite(limits))) {
        isFirst = false;
        const leasing = () => {
          lines.resumeSome();
          refused.probeSome(limits.nowMs);
          const { candidates, stale } = choose(limits);
          for (const { endpointId, sessionId } of stale) lines.refresh(endpointId, sessionId);
          return leaseAll(candidates, leaseUntilMs);
        };
        const rows = await db.write(() => lines.together(leasing), { isGrouped: true });
        if (rows.length === 0) continue;
        const opened = new Map<Signing, SecretPair>();
        return rows.map(({ attempts, storeId: _, signing, ...row }): ClaimedDelivery => {
          const pair = opened.get(signing) ?? secrets.open(signing);
          opened.set(signing, pair);
          return { ...row, ...pair, attempt: attempts + 1, leaseUntilMs };
        });
      }
      return [];
    },
    async returnDeliveries(leased) {
      const end = () => {
        for (const one of leased) lines.release(one);
      };
      await db.write(() => lines.together(end), { isGrouped: true });
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
