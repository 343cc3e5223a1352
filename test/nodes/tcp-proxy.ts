/**
 * Stands between a client and a server on loopback, and does to their connections what a network does.
 */
import { connect, createServer, type Socket } from 'node:net';
import { freePort } from '../support/free-port.ts';

export type TcpProxy = Readonly<{
  port: number;
  /** Connections accepted so far. */
  connections(): number;
  /** New connections lead to this port from now on; present ones are cut. */
  pointTo(port: number): void;
  /** Ends all present connections at once. */
  cut(): void;
  /** Present connections stay open, but nothing passes through them any more. */
  mute(): void;
  close(): Promise<void>;
}>;

/** Starts on a port of its own. @param target the server's port */
export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let [targetPort, accepted] = [target, 0];

  const server = createServer((client) => {
    accepted += 1;
    const upstream = connect(targetPort, '127.0.0.1');
    const pair = [client, upstream] as const;
    pairs.add(pair);
    client.pipe(upstream).pipe(client);
    for (const socket of pair) {
      socket.on('error', () => {});
      socket.on('close', () => {
        for (const one of pair) one.destroy();
        pairs.delete(pair);
      });
    }
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));

  function cut(): void {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  }

  return {
    port,
    connections: () => accepted,
    pointTo(to) {
      targetPort = to;
      cut();
    },
    cut,
    mute() {
      for (const [client, upstream] of pairs) {
        client.unpipe(upstream).pause();
        upstream.unpipe(client).pause();
      }
    },
    async close() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
