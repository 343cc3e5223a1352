/** Leasing due deliveries to a dispatcher. */

import { SILENT_COUNT } from '../core/endpoint.ts';
import type { EventType } from '../core/event.ts';
import { invariant } from '../core/fault.ts';
import type { Mode } from '../core/transfer.ts';
import { type DueTimes, IS_OFF } from './due.ts';
import type { Db } from './engine/open.ts';
import type { SecretPair, WebhookSecrets } from './webhook-secrets.ts';

/** A delivery leased to this dispatcher until `leaseUntilMs`, with everything needed to send it. */
export type ClaimedDelivery = SecretPair &
  Readonly<{
    id: string;
    endpointId: string;
    url: string;
    mode: Mode;
    eventId: string;
    eventType: EventType;
    sessionId: string;
    eventAtMs: number;
    body: string;
    attempt: number;
    trigger: 'auto' | 'manual';
    leaseUntilMs: number;
  }>;

/** Due endpoints that are looked at in one claim. At most as many as are under way have no place left. */
const ENDPOINTS_LOOKED_MAX = 1_024;
/** Hosts of single sessions' endpoints that are looked at in one claim; the next claim goes on after them. */
const HOSTS_LOOKED_MAX = 256;
/** A host may have this many times the leases of one endpoint, and so may an endpoint that answers quickly. */
const ENDPOINTS_PER_HOST = 8;

/**
 * An endpoint with something due. `silent`: it does not answer; `one_off`: single sessions named it. Both groups have a
 * bounded number of places, and are served first; the rest is for the others.
 */
type Endpoint = Readonly<{ id: string; host: string; isOff: number; group: Group }>;
type Group = 'silent' | 'one_off' | 'standing';

type Due = Readonly<{ id: string; eventId: string; sessionId: string }>;
type Candidate = Due & Readonly<{ endpointId: string; trigger: 'auto' | 'manual' }>;
type Leased = Pick<Endpoint, 'id' | 'host' | 'group'> & Readonly<{ n: number }>;
type ClaimInput = Readonly<{
  nowMs: number;
  leaseMs: number;
  limit: number;
  /** Attempts in progress to one endpoint, or to one host's endpoints of single sessions. */
  perEndpointMax: number;
  /** Attempts in progress to endpoints that have not answered the last five, and to those of single sessions. */
  unprovenMax?: number;
  /** Ids of endpoints that answer quickly: each may have as many leases as its host. */
  quick?: ReadonlySet<string>;
  /** Leases in the transaction of the attempts that are being recorded in this turn, which free places. */
  isWithRecording?: boolean;
}>;
type Limits = Omit<ClaimInput, 'leaseMs' | 'isWithRecording'>;
type Loaded = Omit<ClaimedDelivery, keyof SecretPair | 'attempt' | 'trigger' | 'leaseUntilMs'> &
  Readonly<{ attempts: number; storeId: string }>;
type Signing = ReturnType<WebhookSecrets['signing']>;
type Parts = Readonly<{ secrets: WebhookSecrets; due: DueTimes }>;

const IS_SILENT = `silences >= ${SILENT_COUNT}`;
const GROUP = `CASE WHEN e.per_session = 1 THEN 'one_off' WHEN e.${IS_SILENT} THEN 'silent' ELSE 'standing' END AS "group"`;
const ENDPOINT = `SELECT e.id, e.host, ${IS_OFF} AS isOff, ${GROUP} FROM endpoints AS e`;

/** Counts what is leased, and gives out the places that are left. */
function openPlaces(leased: readonly Leased[], { perEndpointMax, limit, unprovenMax = limit, quick }: Limits) {
  const used = new Map<string, number>();

  /** Returns what a place is taken from, and how many there are: one-off endpoints of a host share those of one. */
  function owners({
    id,
    host,
    group,
  }: Pick<Endpoint, 'id' | 'host' | 'group'>): readonly (readonly [string, number])[] {
    const ofHost = [`host ${host}`, perEndpointMax * ENDPOINTS_PER_HOST] as const;
    if (group === 'standing') return quick?.has(id) ? [ofHost] : [ofHost, [id, perEndpointMax]];
    const own = group === 'silent' ? ([id, 1] as const) : ([`one-off ${host}`, perEndpointMax] as const);
    return [ofHost, own, [group, unprovenMax]];
  }

  function use(endpoint: Pick<Endpoint, 'id' | 'host' | 'group'>, n: number): void {
    for (const [owner] of owners(endpoint)) used.set(owner, (used.get(owner) ?? 0) + n);
  }

  const free = (endpoint: Endpoint): number =>
    Math.max(0, Math.min(...owners(endpoint).map(([owner, max]) => max - (used.get(owner) ?? 0))));

  for (const one of leased) use(one, one.n);
  return {
    free,
    take(endpoint: Endpoint): boolean {
      if (free(endpoint) === 0) return false;
      use(endpoint, 1);
      return true;
    },
  };
}

type Places = ReturnType<typeof openPlaces>;
type Waiting = Readonly<{ endpoint: Endpoint; rows: Candidate[] }>;

/** Takes one delivery of each endpoint, then a second one, and so on, while there are places. */
function takeInTurn(waiting: readonly Waiting[], places: Places, most: number): Candidate[] {
  const taken: Candidate[] = [];
  for (let before = -1; before < taken.length; ) {
    before = taken.length;
    for (const { endpoint, rows } of waiting) {
      const [row] = rows;
      if (taken.length >= most) return taken;
      if (!row || !places.take(endpoint)) continue;
      taken.push(row);
      rows.shift();
    }
  }
  return taken;
}

/** Finds endpoints that have something due, and what it is. */
function prepareDue({ client }: Pick<Db, 'client'>) {
  const standing = (isSilent: 0 | 1) =>
    client.prepare(
      `${ENDPOINT} INDEXED BY endpoints_due
       WHERE e.per_session = 0 AND (e.${IS_SILENT}) = ${isSilent} AND e.due_at_ms <= :nowMs
       ORDER BY e.due_at_ms LIMIT ${ENDPOINTS_LOOKED_MAX}`,
    );
  const groups = { standing: standing(0), silent: standing(1) };
  const nextHost = client.prepare(
    `SELECT host, due_at_ms AS dueAtMs FROM endpoints INDEXED BY endpoints_due_by_host
     WHERE per_session = 1 AND due_at_ms IS NOT NULL AND host > :after ORDER BY host, due_at_ms LIMIT 1`,
  );
  const ofHost = client.prepare(
    `${ENDPOINT} INDEXED BY endpoints_due_by_host
     WHERE e.per_session = 1 AND e.host = :host AND e.due_at_ms <= :nowMs ORDER BY e.due_at_ms LIMIT :limit`,
  );
  const due = (column: string, index: string) =>
    client.prepare(
      `SELECT d.id, d.event_id AS eventId, d.session_id AS sessionId FROM deliveries AS d INDEXED BY ${index}
       WHERE d.endpoint_id = :endpointId AND d.${column} <= :nowMs AND NOT EXISTS (
         SELECT 1 FROM deliveries AS o INDEXED BY deliveries_leased
         WHERE o.endpoint_id = d.endpoint_id AND o.session_id = d.session_id AND o.lease_until_ms > :nowMs)
       ORDER BY d.${column} LIMIT :limit`,
    );
  const [manual, scheduled] = [due('manual_at_ms', 'deliveries_manual'), due('due_at_ms', 'deliveries_due')];
  return {
    standing: (group: 'standing' | 'silent', nowMs: number) => groups[group].all({ nowMs }) as Endpoint[],
    /** Goes through hosts in turn, after the one that was looked at last. */
    oneOffs(after: string, nowMs: number, perHost: number): Readonly<{ endpoints: Endpoint[]; last: string }> {
      const endpoints: Endpoint[] = [];
      const looked = new Set<string>();
      let last = after;
      for (let n = 0; n < HOSTS_LOOKED_MAX; n++) {
        const find = (from: string) => nextHost.get({ after: from }) as { host: string; dueAtMs: number } | undefined;
        const next = find(last) ?? find('');
        if (!next || looked.has(next.host)) break;
        last = next.host;
        looked.add(last);
        if (next.dueAtMs > nowMs) continue;
        endpoints.push(...(ofHost.all({ host: last, nowMs, limit: perHost }) as Endpoint[]));
      }
      return { endpoints, last };
    },
    /** Returns what of an endpoint can be sent, one for each session: resends first, then the oldest event. */
    deliveries({ id, isOff }: Endpoint, nowMs: number, most: number): Candidate[] {
      const range = { endpointId: id, nowMs, limit: 2 * most };
      const bySession = new Map<string, Candidate>();
      const add = (rows: unknown[], trigger: Candidate['trigger']) => {
        for (const row of (rows as Due[]).sort((a, b) => (a.eventId < b.eventId ? -1 : 1))) {
          if (!bySession.has(row.sessionId)) bySession.set(row.sessionId, { ...row, endpointId: id, trigger });
        }
      };
      add(manual.all(range), 'manual');
      // A resend also goes to a disabled endpoint.
      if (!isOff) add(scheduled.all(range), 'auto');
      return [...bySession.values()].slice(0, most);
    },
  };
}

export function claimCommands(db: Db, { secrets, due }: Parts) {
  const { client } = db;
  const finding = prepareDue(db);
  const leased = client.prepare(
    `SELECT e.id, e.host, ${GROUP}, count(*) AS n
     FROM deliveries AS d INDEXED BY deliveries_leased JOIN endpoints AS e ON e.id = d.endpoint_id
     WHERE d.lease_until_ms > :nowMs GROUP BY e.id`,
  );
  const load = client.prepare(
    `SELECT d.id, d.endpoint_id AS endpointId, e.url, e.mode, v.id AS eventId, v.type AS eventType,
       v.session_id AS sessionId, v.created_at_ms AS eventAtMs, v.body, d.attempts, e.store_id AS storeId
     FROM deliveries AS d JOIN events AS v ON v.id = d.event_id JOIN endpoints AS e ON e.id = d.endpoint_id
     WHERE d.id = :id`,
  );
  /** The host of one-off endpoints that was looked at last. */
  let lastHost = '';

  /** Returns what can be sent now: in turn from each endpoint that has something due. */
  function choose(limits: Limits) {
    const { nowMs, limit, perEndpointMax } = limits;
    const places = openPlaces(leased.all({ nowMs }) as Leased[], limits);
    const oneOffs = finding.oneOffs(lastHost, nowMs, perEndpointMax);
    const groups = [finding.standing('silent', nowMs), oneOffs.endpoints, finding.standing('standing', nowMs)];
    const candidates: Candidate[] = [];
    for (const endpoints of groups) {
      candidates.push(...takeInTurn(withRows(endpoints, places, limits), places, limit - candidates.length));
    }
    return { candidates: candidates.sort(byEvent), lastHost: oneOffs.last };
  }

  /** Returns endpoints that have a place left, with what can be sent to them. */
  function withRows(endpoints: readonly Endpoint[], places: Places, { nowMs, limit }: Limits): Waiting[] {
    const waiting: Waiting[] = [];
    for (const endpoint of endpoints) {
      if (waiting.length >= limit) break;
      const free = places.free(endpoint);
      const rows = free === 0 ? [] : finding.deliveries(endpoint, nowMs, Math.min(free, limit));
      if (rows.length > 0) waiting.push({ endpoint, rows });
    }
    return waiting;
  }

  /** Returns whether anything can be sent. The write lock is taken only then. */
  function mustWrite(limits: Limits): boolean {
    const found = choose({ ...limits, limit: 1, unprovenMax: limits.unprovenMax ?? limits.limit });
    if (found.candidates.length === 0) lastHost = found.lastHost;
    return found.candidates.length > 0;
  }

  /** Leases what was chosen, and returns what is needed to send it. */
  function leaseAll(candidates: readonly Candidate[], leaseUntilMs: number) {
    const signings = new Map<string, Signing>();
    return candidates.map(({ id, trigger }) => {
      const row = load.get({ id }) as Loaded | undefined;
      invariant(row, `delivery ${id} has its event and endpoint`);
      due.lease(id, row.endpointId, leaseUntilMs);
      const signing = signings.get(row.endpointId) ?? secrets.signing(row);
      signings.set(row.endpointId, signing);
      return { ...row, trigger, signing };
    });
  }

  return {
    /**
     * Leases up to `limit` due deliveries, in turn from each endpoint that has any. URLs of single sessions share the
     * places of one endpoint for each host. Within one endpoint and session, a delivery waits until earlier ones had
     * their first attempt and none is leased.
     * Deliveries whose lease ran out are due again.
     */
    async claim({ leaseMs, isWithRecording = false, ...limits }: ClaimInput): Promise<readonly ClaimedDelivery[]> {
      const leaseUntilMs = limits.nowMs + leaseMs;
      if (!isWithRecording && !db.read(() => mustWrite(limits))) return [];
      const leasing = () => {
        const found = choose(limits);
        lastHost = found.lastHost;
        return leaseAll(found.candidates, leaseUntilMs);
      };
      const rows = await db.write(() => due.together(leasing), { isGrouped: true });
      const opened = new Map<Signing, SecretPair>();
      return rows.map(({ attempts, storeId: _, signing, ...row }): ClaimedDelivery => {
        const pair = opened.get(signing) ?? secrets.open(signing);
        opened.set(signing, pair);
        return { ...row, ...pair, attempt: attempts + 1, leaseUntilMs };
      });
    },
    /** Ends all leases: what a sender that has ended had under way is due again at once. */
    async endLeases(): Promise<void> {
      await db.write(() => due.together(() => due.releaseAll()));
    },
  };
}

/** Oldest event first; a resend before the scheduled attempt of the same delivery. */
const byEvent = (a: Candidate, b: Candidate): number =>
  a.eventId === b.eventId ? b.trigger.localeCompare(a.trigger) : a.eventId < b.eventId ? -1 : 1;
