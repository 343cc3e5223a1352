/**
 * HTTP servers of the programs: listening with a clear fault, and ending without cutting off an answer.
 * @module
 */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { permanent } from '../core/fault.ts';
import type { Clock } from '../lib/clock.ts';
import { discardBody, isUnread } from '../lib/request-body.ts';

/** After a crash, a process of the earlier run may hold the port for a moment while it ends. */
const PORT_WAIT_MS_MAX = 3000;
const PORT_RETRY_MS = 200;

/** What a client may take to send a request; more would let idle clients pile up. */
const REQUEST_MS_MAX = 30_000;
const HEADERS_MS_MAX = 10_000;

export type Listening = Readonly<{
  port: number;
  /** Accepts nothing new, lets answers under way finish for `patienceMs`, then closes what is left. */
  close(patienceMs: number): Promise<void>;
}>;

/**
 * Listens on `host:port`; port 0 takes any.
 * @param openListener makes the request listener once the port is known
 * @throws Fault permanent `port_in_use`, `cannot_listen`
 */
export async function listen(
  at: Readonly<{ host: string; port: number; setting: string }>,
  clock: Clock,
  openListener: (port: number) => RequestListener,
): Promise<Listening> {
  const server = createServer({ requestTimeout: REQUEST_MS_MAX, headersTimeout: HEADERS_MS_MAX });
  const giveUpAtMs = clock.nowMs() + PORT_WAIT_MS_MAX;
  for (;;) {
    const error = await tryListen(server, at);
    if (!error) break;
    if (error.code !== 'EADDRINUSE') {
      throw permanent(
        'cannot_listen',
        `cannot listen on ${at.host}:${at.port} (${error.message}); check host and ${at.setting}`,
        error,
      );
    }
    if (clock.nowMs() >= giveUpAtMs) {
      throw permanent(
        'port_in_use',
        `port ${at.port} is in use by another program; stop that or set ${at.setting} to a free port`,
      );
    }
    await clock.sleep(PORT_RETRY_MS);
  }
  const { port } = server.address() as AddressInfo;
  const answer = openListener(port);
  server.on('request', (request, response) => {
    // An answer that needed no body does not wait for one; what the client goes on sending is not taken in for long.
    // First in line: Node's own listener would take in the rest, of whatever length, and tell nobody.
    response.prependOnceListener('finish', () => {
      if (isUnread(request)) discardBody(request, () => request.socket.destroy());
    });
    answer(request, response);
  });
  return { port, close: (patienceMs) => close(server, clock, patienceMs) };
}

const tryListen = (server: Server, { host, port }: { host: string; port: number }) =>
  new Promise<NodeJS.ErrnoException | null>((resolve) => {
    const end = (error: NodeJS.ErrnoException | null) => {
      server.removeAllListeners('listening').removeAllListeners('error');
      resolve(error);
    };
    server.once('error', end).once('listening', () => end(null));
    server.listen({ host, port });
  });

async function close(server: Server, clock: Clock, patienceMs: number): Promise<void> {
  const patience = new AbortController();
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const cut = clock.sleep(patienceMs, patience.signal).then(() => {
    if (!patience.signal.aborted) server.closeAllConnections();
  });
  await closed;
  patience.abort();
  await cut;
}
