/**
 * HTTP servers of the programs: listening with clear faults, and closing without cutting off answers.
 */
import { once } from 'node:events';
import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Config } from '../config/config.ts';
import { type Fault, permanent } from '../core/fault.ts';
import { after } from '../lib/clock.ts';
import { createServer } from '../lib/node-http.ts';
import { discardBody, isUnread } from '../lib/request-body.ts';

/** Most connections. A busy shop and its payers open far fewer, and a flood must not use up all file descriptors. */
const CONNECTIONS_MAX = 5000;

/** Time limits for clients, in milliseconds. With longer ones idle clients could pile up. */
const timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  /** The interval in which the two limits above are checked. */
  connectionsCheckingInterval: 2000,
  /**
   * The time is longer than in reverse proxies (60 s in nginx). A proxy must close an idle connection first, or its
   * next request could be cut off.
   */
  keepAliveTimeout: 75_000,
} as const;

export type Listening = Readonly<{
  port: number;
  /** Refuses new connections, lets running answers finish for `patienceMs`, then closes the other connections. */
  close(patienceMs: number): Promise<void>;
}>;

type ListenAt = Readonly<{
  host: string;
  port: number;
  /** The setting that chooses the port, for messages. */
  setting: string;
}>;

/**
 * Listens on `host:port`. Port 0 lets the system choose.
 * @param openListener makes the listener for requests once the port is known
 * @throws Fault permanent `port_in_use`, `cannot_listen`
 */
export async function listen(
  at: ListenAt,
  openListener: (port: number) => RequestListener,
  limits: Readonly<Record<keyof typeof timeouts, number>> = timeouts,
): Promise<Listening> {
  const server = createServer(limits);
  server.maxConnections = CONNECTIONS_MAX;
  try {
    await once(server.listen({ host: at.host, port: at.port }), 'listening');
  } catch (error) {
    throw unusable(at, error as NodeJS.ErrnoException);
  }
  const { port } = server.address() as AddressInfo;
  return { port, close: serve(server, openListener(port)) };
}

const unusable = ({ host, port, setting }: ListenAt, error: NodeJS.ErrnoException): Fault =>
  error.code === 'EADDRINUSE'
    ? permanent(
        'port_in_use',
        `port ${port} is in use by another program; stop that program or set ${setting} to a free port`,
      )
    : permanent(
        'cannot_listen',
        `cannot listen on ${host}:${port} (${error.message}); check host and ${setting}`,
        error,
      );

/** Passes requests to the listener. @returns a function that closes the server */
function serve(server: Server, answer: RequestListener): Listening['close'] {
  const underWay = new Set<ServerResponse>();
  let isClosing = false;

  server.on('request', (request, response) => {
    const { socket } = request;
    underWay.add(response);
    response.once('close', () => {
      underWay.delete(response);
      // Node counts the connection as idle in the next turn only.
      if (isClosing) setImmediate(() => server.closeIdleConnections());
    });
    if (isClosing) response.setHeader('Connection', 'close');
    // An answer that needs no body does not wait for one, and the rest of the request is read only briefly. This
    // listener comes before Node's own, which would read the whole rest.
    response.prependOnceListener('finish', () => {
      if (isUnread(request)) discardBody(request, () => socket.destroy());
    });
    answer(request, response);
  });

  return async (patienceMs) => {
    isClosing = true;
    for (const response of underWay) if (!response.headersSent) response.setHeader('Connection', 'close');
    const closed = once(server, 'close');
    server.close();
    const forgetLimit = after(patienceMs, () => server.closeAllConnections());
    await closed;
    forgetLimit();
  };
}

/**
 * Refuses to start on ports that are in use, before anything is made.
 * @throws Fault permanent `port_in_use`, `cannot_listen`
 */
export async function refuseTakenPorts(config: Ports): Promise<void> {
  for (const at of Object.values(listenersOf(config))) {
    if (at.port === 0) continue;
    const { close } = await listen(at, () => () => {});
    await close(0);
  }
}

type Ports = Pick<Config, 'host' | 'port' | 'metricsHost' | 'metricsPort' | 'dashboardPort'>;

/** Returns the hosts and ports of an installation's listeners. */
export const listenersOf = ({ host, port, metricsHost, metricsPort, dashboardPort }: Ports) => ({
  merchants: { host, port, setting: 'QUAYSIDE_PORT' },
  operators: { host: metricsHost, port: metricsPort, setting: 'QUAYSIDE_METRICS_PORT' },
  people: { host, port: dashboardPort, setting: 'QUAYSIDE_DASHBOARD_PORT' },
});
