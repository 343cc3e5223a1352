/**
 * HTTP servers of the programs: listening with clear faults, and closing without cutting off answers.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { permanent } from '../core/fault.ts';
import type { Clock } from '../lib/clock.ts';
import { discardBody, isUnread } from '../lib/request-body.ts';

/** Far above what a busy shop and its payers open at once; keeps a flood from using up all file descriptors. */
const CONNECTIONS_MAX = 5000;

const DRAIN_LOOK_MS = 100;

/** Time limits for clients, in milliseconds; longer ones would let idle clients pile up. */
const timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  /** How often the two limits above are checked. */
  connectionsCheckingInterval: 2000,
  /** Longer than reverse proxies keep idle connections (nginx: 60 s): the proxy must close them, never mid-request. */
  keepAliveTimeout: 75_000,
} as const;

export type Listening = Readonly<{
  port: number;
  /** Refuses new connections, lets running answers finish for `patienceMs`, then closes what is left. */
  close(patienceMs: number): Promise<void>;
}>;

type ListenAt = Readonly<{
  host: string;
  port: number;
  /** The setting that chooses the port, for messages. */
  setting: string;
}>;

/**
 * Listens on `host:port`; port 0 lets the system choose.
 * @param openListener makes the listener for requests once the port is known
 * @throws Fault permanent `port_in_use`, `cannot_listen`
 */
export async function listen(
  at: ListenAt,
  clock: Clock,
  openListener: (port: number) => RequestListener,
  limits: Readonly<Record<keyof typeof timeouts, number>> = timeouts,
): Promise<Listening> {
  const server = createServer(limits);
  server.maxConnections = CONNECTIONS_MAX;
  const error = await tryListen(server, at);
  if (error?.code === 'EADDRINUSE') {
    throw permanent(
      'port_in_use',
      `port ${at.port} is in use by another program; stop that program or set ${at.setting} to a free port`,
    );
  }
  if (error) {
    throw permanent(
      'cannot_listen',
      `cannot listen on ${at.host}:${at.port} (${error.message}); check host and ${at.setting}`,
      error,
    );
  }
  const { port } = server.address() as AddressInfo;
  return { port, close: serve(server, clock, openListener(port)) };
}

/** Passes requests to the listener. @returns a function that closes the server */
function serve(server: Server, clock: Clock, answer: RequestListener): Listening['close'] {
  const underWay = new Set<ServerResponse>();
  let isClosing = false;

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    underWay.add(response);
    response.once('close', () => underWay.delete(response));
    if (isClosing) response.setHeader('Connection', 'close');
    // An answer that needed no body does not wait for one, and what the client still sends is read only briefly. This
    // listener comes first: Node's own would read the rest, whatever its length.
    response.prependOnceListener('finish', () => {
      if (isUnread(request)) discardBody(request, () => socket.destroy());
    });
    answer(request, response);
  }

  server.on('request', onRequest);

  return async (patienceMs) => {
    isClosing = true;
    const closed = new AbortController();
    const giveUpAtMs = clock.nowMs() + patienceMs;
    server.close(() => closed.abort());
    for (const response of underWay) if (!response.headersSent) response.setHeader('Connection', 'close');
    while (!closed.signal.aborted) {
      // Connections become idle one by one, as their answers end.
      server.closeIdleConnections();
      const leftMs = giveUpAtMs - clock.nowMs();
      if (leftMs <= 0) server.closeAllConnections();
      await clock.sleep(leftMs > 0 ? Math.min(leftMs, DRAIN_LOOK_MS) : DRAIN_LOOK_MS, closed.signal);
    }
  };
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
