/**
 * A merchant's servers in a process of their own: one that answers at once, one that takes 14 s, both over https; one
 * that accepts connections and says nothing; and a name server that does not answer.
 *
 * Sends its ports when it listens, and on each message what has arrived since the one before.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { systemClock } from '../../src/lib/clock.ts';

export type Ports = Readonly<{ fast: number; slow: number; dead: number; names: number }>;
/** When the body of a request was complete, in ms since 1970. */
export type Arrival = Readonly<{ event: string; atMs: number }>;

const SLOW_MS = 14_000;
const [key = '', cert = ''] = process.argv.slice(2);
let arrived: Arrival[] = [];

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const fast = createHttpsServer({ key, cert }, (request, response) => {
  request.resume().on('end', () => {
    arrived.push({ event: String(request.headers['x-service-event-id']), atMs: systemClock.nowMs() });
    response.writeHead(200).end('{"received":true}');
  });
});
fast.keepAliveTimeout = 60_000;
const slow = createHttpsServer({ key, cert }, (request, response) => {
  request.resume().on('end', () => void systemClock.sleep(SLOW_MS).then(() => response.writeHead(200).end()));
});
const dead = createServer((socket) => socket.on('error', () => {}));
const names = createSocket('udp4');
names.bind(0, '127.0.0.1');
await once(names, 'listening');
const ports: Ports = {
  fast: await listen(fast),
  slow: await listen(slow),
  dead: await listen(dead),
  names: names.address().port,
};
process.on('message', () => {
  process.send?.(arrived);
  arrived = [];
});
process.on('disconnect', () => process.kill(process.pid));
process.send?.(ports);
