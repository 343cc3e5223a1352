/**
 * Connections to merchants' hosts, which are kept for the next POST: a handshake costs more than the rest of it.
 * Each is used for one exchange at a time, and again only while its host still resolves to its address.
 */

import { Client } from 'undici';
import type { UrlGuard } from '../lib/guard.ts';

const RESPONSE_HEADER_BYTES_MAX = 16 * 1024;
/** An idle connection is closed after this time, or sooner if the host says so: most servers close theirs after 5 s. */
const IDLE_MS_MAX = 4_000;
/** Idle connections to one host, at most: as many as may be busy at once. */
const IDLE_PER_HOST_MAX = 32;
/** Idle connections to all hosts, at most; the host that was used the longest ago loses its own first. */
export const IDLE_MAX = 256;

export type Connection = Readonly<{
  origin: string;
  client: InstanceType<typeof Client>;
  /** The peer's, once connected. */
  address(): string | null;
  isReused: boolean;
}>;

type Connections = Readonly<{
  /** Returns a connection that connects with its first request. */
  open(target: URL): Connection;
  /** Returns an idle connection whose address may still be called, or null. Those that may not are closed. */
  reuse(target: URL): Promise<Connection | null>;
  /** Keeps a connection whose last exchange has ended whole. */
  keep(connection: Connection): void;
  /** Closes what is idle. */
  close(): void;
}>;

/** @param connectMsMax limit for name lookup, connection and TLS together */
export function createConnections(guard: UrlGuard, connectMsMax: number): Connections {
  const connect = guard.connector(connectMsMax);
  /** By origin; the one that was used last is the last. */
  const idle = new Map<string, Connection[]>();
  let idleCount = 0;

  function take(origin: string, connection: Connection | undefined): Connection | null {
    const ofHost = idle.get(origin) ?? [];
    const at = connection ? ofHost.indexOf(connection) : -1;
    if (!connection || at < 0) return null;
    ofHost.splice(at, 1);
    if (ofHost.length === 0) idle.delete(origin);
    idleCount--;
    return connection;
  }

  function discard(origin: string, connection: Connection | undefined): void {
    void take(origin, connection)?.client.destroy();
  }

  return {
    open({ origin }) {
      let address: string | null = null;
      const client = new Client(origin, {
        connect: (options, callback) =>
          connect(options, (...result) => {
            address = result[1]?.remoteAddress ?? null;
            callback(...result);
          }),
        pipelining: 1,
        maxHeaderSize: RESPONSE_HEADER_BYTES_MAX,
        keepAliveTimeout: IDLE_MS_MAX,
        keepAliveMaxTimeout: IDLE_MS_MAX,
        // The sender's deadline covers the whole exchange, however slow.
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      const connection = { origin, client, address: () => address, isReused: false };
      // Without it, the client would connect again by itself.
      client.on('disconnect', () =>
        discard(
          origin,
          idle.get(origin)?.find((one) => one.client === client),
        ),
      );
      return connection;
    },
    async reuse(target) {
      for (;;) {
        const found = take(target.origin, idle.get(target.origin)?.at(-1));
        if (!found) return null;
        const address = found.address();
        const isAllowed = address !== null && (await guard.isCurrent(target, address));
        if (isAllowed && found.client.stats.connected) return { ...found, isReused: true };
        void found.client.destroy();
      }
    },
    keep(connection) {
      const { origin } = connection;
      const ofHost = idle.get(origin) ?? [];
      idle.delete(origin);
      idle.set(origin, [...ofHost, connection]);
      idleCount++;
      if (ofHost.length >= IDLE_PER_HOST_MAX) discard(origin, ofHost[0]);
      const [oldest] = idle;
      if (idleCount > IDLE_MAX && oldest) discard(oldest[0], oldest[1][0]);
    },
    close() {
      for (const [origin, ofHost] of [...idle]) for (const one of [...ofHost]) discard(origin, one);
    },
  };
}
