/**
 * Live updates by Server-Sent Events. An event only says that there is a new version; the page then fetches itself.
 *
 * One loop in each process checks every watched session once a second, whoever changed it; each costs one read.
 * Format: https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
import { createHash } from 'node:crypto';
import type { Response } from 'express';
import type { Database } from '../database/database.ts';
import { isFollowed, type NetworkRow } from '../database/networks.ts';
import type { Refund } from '../database/refunds/refund.ts';
import type { Session } from '../database/session.ts';
import { type Clock, toSeconds } from '../lib/clock.ts';
import { every } from '../lib/every.ts';
import type { Log } from '../lib/log.ts';
import { isOnItsWay, refundsOf } from './refund-page.ts';
import { pageState } from './state.ts';

const LOOK_MS = 1000;
/** A version may change with time alone, when something expires: what is watched is read this often at least. */
const LOOK_ANYWAY_MS = 5000;
/** Sessions that are read in one look, half a millisecond each; those that are left are read in the next. */
const SESSIONS_PER_LOOK_MAX = 200;
const READS_AT_A_STRETCH = 20;
const PING_MS = 15_000;
/** How long a browser waits before it connects again. */
const RETRY_MS = 3000;
const STREAMS_MAX = 2000;
/** High enough for a whole office behind one IP address. */
const STREAMS_PER_ADDRESS_MAX = 100;
/** A client with this much unread is taken to be gone. */
const UNREAD_BYTES_MAX = 16_384;

type Stream = {
  readonly sessionId: string;
  readonly address: string;
  readonly response: Response;
  known: string;
  saidAtMs: number;
};

/** `hasEnded`: the page will not change by itself any more. */
type Seen = Readonly<{ version: string; hasEnded: boolean }>;

export function createStreams(
  deps: Readonly<{
    database: Database;
    clock: Clock;
    log: Log;
    signal: AbortSignal;
  }>,
) {
  const { database, clock, log, signal } = deps;
  const streams = new Set<Stream>();
  /** Sessions that are still to be read. */
  const due = new Set<string>();
  let seenChanges = database.changeCount();
  let readAllAtMs = clock.nowMs();
  let isLooking = false;

  signal.addEventListener('abort', () => {
    for (const { response } of streams) {
      response.end();
      // A client sends no further requests on the connection of a stream.
      response.socket?.destroySoon();
    }
  });

  /** Once the last round is over, everything is due again, if anything was written since or time has passed. */
  function chooseDue(): readonly string[] {
    const changes = database.changeCount();
    const nowMs = clock.nowMs();
    if (due.size === 0 && (changes !== seenChanges || nowMs - readAllAtMs >= LOOK_ANYWAY_MS)) {
      for (const { sessionId } of streams) due.add(sessionId);
      [seenChanges, readAllAtMs] = [changes, nowMs];
    }
    return [...due].slice(0, SESSIONS_PER_LOOK_MAX);
  }

  async function look(): Promise<void> {
    const watched = chooseDue();
    const versions = watched.length === 0 ? new Map<string, Seen>() : await readVersions(watched);
    for (const stream of streams) {
      const now = versions.get(stream.sessionId);
      send(stream, now?.version ?? stream.known);
      // Nothing more is expected; a page that becomes visible again fetches itself.
      if (now?.hasEnded) stream.response.end('event: end\ndata: \n\n');
    }
  }

  async function readVersions(watched: readonly string[]): Promise<ReadonlyMap<string, Seen>> {
    const reports = await database.networks.list();
    const suspended = new Set((await database.stores.list()).flatMap((one) => (one.suspension ? one.id : [])));
    const versions = new Map<string, Seen>();
    for (const [at, sessionId] of watched.entries()) {
      // Reads are synchronous: too many in a row would delay every request.
      if (at % READS_AT_A_STRETCH === READS_AT_A_STRETCH - 1) await clock.sleep(0);
      if (signal.aborted) break;
      due.delete(sessionId);
      const session = await database.sessions.find(sessionId);
      if (!session) continue;
      const refunds = await refundsOf(database.refunds, session);
      const nowMs = clock.nowMs();
      const isSuspended = suspended.has(session.storeId);
      const version = pageVersion(session, { reports, refunds, isSuspended }, nowMs);
      const hasEnded = session.life.status !== 'pending' && !refunds.some(isOnItsWay);
      versions.set(sessionId, { version, hasEnded });
    }
    return versions;
  }

  function send(stream: Stream, version: string): void {
    const nowMs = clock.nowMs();
    if (stream.response.writableLength > UNREAD_BYTES_MAX) stream.response.destroy();
    else if (stream.known !== version) stream.response.write(`id: ${version}\nevent: version\ndata: ${version}\n\n`);
    else if (nowMs - stream.saidAtMs >= PING_MS) stream.response.write('event: ping\ndata: \n\n');
    else return;
    stream.known = version;
    stream.saidAtMs = nowMs;
  }

  /** Runs as long as there are streams. */
  async function watch(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    const lookIfWatched = () => (streams.size > 0 ? look() : Promise.resolve('done' as const));
    await every(LOOK_MS, lookIfWatched, { clock, log, signal, what: 'updating live payment pages' });
    isLooking = false;
  }

  return {
    /** Answers with a stream of versions; 503 if there are too many, and then the page polls. */
    open(request: Omit<Stream, 'saidAtMs'>): void {
      const { response, address } = request;
      const ofAddress = [...streams].filter((stream) => stream.address === address).length;
      if (signal.aborted || streams.size >= STREAMS_MAX || ofAddress >= STREAMS_PER_ADDRESS_MAX) {
        response.status(503).set('Retry-After', '15').end();
        return;
      }
      response.status(200).set({
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-store, no-transform',
        // Asks reverse proxies not to buffer events.
        'X-Accel-Buffering': 'no',
      });
      if (response.req.method === 'HEAD') {
        response.end();
        return;
      }
      response.write(`retry: ${RETRY_MS}\n\n`);
      const stream: Stream = { ...request, saidAtMs: clock.nowMs() };
      streams.add(stream);
      due.add(stream.sessionId);
      response.once('close', () => streams.delete(stream));
      watch();
    },
  };
}

// ── Versions ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Inputs of a session's page besides the session. */
type Surroundings = Readonly<{
  reports: readonly NetworkRow[];
  refunds: readonly Refund[];
  isSuspended: boolean;
}>;

/** Returns the version. It is also the id of the page's events, which a reconnecting browser sends. */
export function pageVersion(session: Session, { reports, refunds, isSuspended }: Surroundings, nowMs: number): string {
  const { life, standing, payments, options } = session;
  const own = new Set(options.map(({ networkKey }) => networkKey));
  const up = reports.filter((report) => own.has(report.key) && isFollowed(report, nowMs));
  const { kind, deadlineS } = pageState(session, toSeconds(nowMs));
  const shown = [
    kind,
    isSuspended,
    deadlineS,
    life,
    standing,
    payments.map(({ tx, index, block, confirmations, state }) => [tx, index, block, confirmations, state]),
    up.map(({ key }) => key).sort(),
    refunds.map(({ id, status, tx, destination }) => [id, status, tx, destination?.key]),
  ];
  const text = JSON.stringify(shown, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}
