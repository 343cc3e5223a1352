/**
 * Live updates by Server-Sent Events. An event is a doorbell: it says that there is another version, and the page fetches itself.
 *
 * One loop a process looks at every session that is being watched, once a second, whoever changed it; a page more costs one read.
 * Format: https://html.spec.whatwg.org/multipage/server-sent-events.html
 * @module
 */
import type { Response } from 'express';
import type { Database } from '../database/database.ts';
import type { Clock } from '../lib/clock.ts';
import { every } from '../lib/every.ts';
import type { Log } from '../lib/log.ts';
import { isAwaited } from './lookup.ts';
import { pageVersion } from './version.ts';

const LOOK_MS = 1000;
const READS_AT_A_STRETCH = 20;
const PING_MS = 15_000;
/** What a browser waits before it connects again. */
const RETRY_MS = 3000;
const STREAMS_MAX = 2000;
/** Payers behind one address, such as those of a whole office. */
const STREAMS_PER_ADDRESS_MAX = 100;
/** A client that reads nothing for so long is gone. */
const UNREAD_BYTES_MAX = 16_384;

type Stream = {
  readonly sessionId: string;
  readonly address: string;
  readonly response: Response;
  known: string;
  saidAtMs: number;
};

type StreamRequest = Pick<Stream, 'sessionId' | 'address' | 'response' | 'known'>;

export interface Streams {
  /** Answers with a stream of versions; 503 when there are too many, and then the page asks by itself now and then. */
  open(request: StreamRequest): void;
}

export function createStreams(
  deps: Readonly<{
    database: Pick<Database, 'findSession' | 'listNetworks' | 'listLookups'>;
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
      // Nobody asks anything more on the connection of a stream.
      response.socket?.destroySoon();
    }
  });

  async function look(): Promise<void> {
    const reports = await database.listNetworks();
    const versions = new Map<string, Readonly<{ version: string; hasEnded: boolean }>>();
    const watched = new Set([...streams].map((stream) => stream.sessionId));
    for (const [at, sessionId] of [...watched].entries()) {
      // Reading is quick and never waits: many at a stretch would keep every request waiting.
      if (at % READS_AT_A_STRETCH === READS_AT_A_STRETCH - 1) await clock.sleep(0);
      const session = await database.findSession(sessionId);
      if (!session) continue;
      const lookups = await database.listLookups(sessionId);
      const nowMs = clock.nowMs();
      const version = pageVersion(session, reports, lookups, nowMs);
      const hasEnded = session.life.status !== 'pending' && !lookups.some((one) => isAwaited(one, nowMs));
      versions.set(sessionId, { version, hasEnded });
    }
    for (const stream of streams) {
      const now = versions.get(stream.sessionId);
      if (!now) continue;
      tell(stream, now.version);
      // Nothing more is expected; a page that is looked at again asks for itself.
      if (now.hasEnded) stream.response.end('event: end\ndata: \n\n');
    }
  }

  function tell(stream: Stream, version: string): void {
    const nowMs = clock.nowMs();
    if (stream.response.writableLength > UNREAD_BYTES_MAX) stream.response.destroy();
    else if (stream.known !== version) stream.response.write(`id: ${version}\nevent: version\ndata: ${version}\n\n`);
    else if (nowMs - stream.saidAtMs >= PING_MS) stream.response.write('event: ping\ndata: \n\n');
    else return;
    stream.known = version;
    stream.saidAtMs = nowMs;
  }

  /** Looks as long as somebody watches. */
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
        // Asks a reverse proxy to pass on each event at once.
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
