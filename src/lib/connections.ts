/**
 * Connections to hosts, which are kept for the next POST: a handshake costs more than the rest of it. Each is used for
 * one exchange at a time.
 */

import { Client } from 'undici';
import type { Clock } from './clock.ts';
import type { UrlGuard } from './guard.ts';

const RESPONSE_HEADER_BYTES_MAX = 16 * 1024;
/** An idle connection is closed after this time, or sooner if the host says so: most servers close theirs after 5 s. */
const IDLE_MS_MAX = 4_000;
/** Idle connections, at most: each host that a session names could add some. A further one ends with its exchange. */
export const IDLE_MAX = 256;
/** A connection is used for this long at most: later its host may have another address. */
const USED_MS_MAX = 60_000;

export type Connection = Readonly<{
  origin: string;
  client: InstanceType<typeof Client>;
  untilMs: number;
  isReused: boolean;
}>;

type Connections = Readonly<{
  /** Returns a connection that connects with its first request. */
  open(origin: string): Connection;
  /** Returns an idle connection, or null. */
  reuse(origin: string): Connection | null;
  /** Keeps a connection whose last exchange has ended whole. */
  keep(connection: Connection): void;
  /** Closes what is idle. */
  close(): void;
}>;

/** @param connectMsMax limit for name lookup, connection and TLS together */
export function createConnections(guard: UrlGuard, connectMsMax: number, clock: Pick<Clock, 'nowMs'>): Connections {
  const connect = guard.connector(connectMsMax);
  /** By origin; the one that was used last is the last. */
  const idle = new Map<string, Connection[]>();

  function discard(origin: string, client: Connection['client']): void {
    const left = (idle.get(origin) ?? []).filter((one) => one.client !== client);
    if (left.length > 0) idle.set(origin, left);
    else idle.delete(origin);
    void client.destroy();
  }

  return {
    open(origin) {
      const client = new Client(origin, {
        connect,
        pipelining: 1,
        maxHeaderSize: RESPONSE_HEADER_BYTES_MAX,
        keepAliveTimeout: IDLE_MS_MAX,
        keepAliveMaxTimeout: IDLE_MS_MAX,
        // The sender's deadline covers the whole exchange, however slow.
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      // Without it, the client would connect again by itself.
      client.on('disconnect', () => discard(origin, client));
      return { origin, client, untilMs: clock.nowMs() + USED_MS_MAX, isReused: false };
    },
    reuse(origin) {
      for (let found = idle.get(origin)?.pop(); found; found = idle.get(origin)?.pop()) {
        if (found.client.stats.connected && found.untilMs > clock.nowMs()) return { ...found, isReused: true };
        void found.client.destroy();
      }
      return null;
    },
    keep(connection) {
      if (connection.client.destroyed) return;
      if ([...idle.values()].flat().length >= IDLE_MAX) return void connection.client.destroy();
      idle.set(connection.origin, [...(idle.get(connection.origin) ?? []), connection]);
    },
    close() {
      for (const { origin, client } of [...idle.values()].flat()) discard(origin, client);
    },
  };
}
