/**
 * Live updates by Server-Sent Events. An event only says that there is a new version; the page then fetches itself.
 *
 * One loop in each process checks every watched session once a second, whoever changed it; each costs one read.
 * Format: https://html.spec.whatwg.org/multipage/server-sent-events.html
 * @module
 */
import type { Response } from 'express';
import type { Database } from '../database/database.ts';
import type { Clock } from '../lib/clock.ts';
import { every } from '../lib/every.ts';
import type { Log } from '../lib/log.ts';
import { isAwaited } from './lookup.ts';
import { isOnItsWay, refundsOf } from './refund-list.ts';
import { pageVersion } from './version.ts';

const LOOK_MS = 1000;
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

type StreamRequest = Pick<Stream, 'sessionId' | 'address' | 'response' | 'known'>;

interface Streams {
  /** Answers with a stream of versions; 503 if there are too many, and then the page polls. */
  open(request: StreamRequest): void;
}

export function createStreams(
  deps: Readonly<{
    database: Pick<Database, 'findSession' | 'listNetworks' | 'listLookups' | 'listRefunds' | 'suspendedStores'>;
    clock: Clock;
    log: Log;
    signal: AbortSignal;
  }>,
): Streams {
  const { database, clock, log, signal } = deps;
  const streams = new Set<Stream>();
  let isLooking = false;

  signal.addEventListener('abort', () => {
    for (const { response } of streams) {
      response.end();
      // A client sends no further requests on the connection of a stream.
      response.socket?.destroySoon();
    }
  });

  async function look(): Promise<void> {
    const reports = await database.listNetworks();
    const suspended = new Set(await database.suspendedStores());
    const versions = new Map<string, Readonly<{ version: string; hasEnded: boolean }>>();
    const watched = new Set([...streams].map((stream) => stream.sessionId));
    for (const [at, sessionId] of [...watched].entries()) {
      // Reads are synchronous: too many in a row would delay every request.
      if (at % READS_AT_A_STRETCH === READS_AT_A_STRETCH - 1) await clock.sleep(0);
      const session = await database.findSession(sessionId);
      if (!session) continue;
      const lookups = await database.listLookups(sessionId);
      const refunds = await refundsOf(database, session);
      const nowMs = clock.nowMs();
      const isSuspended = suspended.has(session.storeId);
      const version = pageVersion(session, { reports, lookups, refunds, isSuspended }, nowMs);
      const hasEnded =
        session.life.status !== 'pending' && !lookups.some((one) => isAwaited(one, nowMs)) && !refunds.some(isOnItsWay);
      versions.set(sessionId, { version, hasEnded });
    }
    for (const stream of streams) {
      const now = versions.get(stream.sessionId);
      if (!now) continue;
      send(stream, now.version);
      // Nothing more is expected; a page that becomes visible again fetches itself.
      if (now.hasEnded) stream.response.end('event: end\ndata: \n\n');
    }
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
    open(request) {
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
      response.once('close', () => streams.delete(stream));
      watch();
    },
  };
}
