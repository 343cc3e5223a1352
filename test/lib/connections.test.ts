/** Connections are kept by host for a few seconds. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import { IDLE_MAX } from '../../src/lib/connections.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { createSender, type Sender, type Sent } from '../../src/lib/sender.ts';
import { until } from '../support/until.ts';

type Host = { open: Set<Socket>; made: number; nonces: string[]; nowMs: number };

/** Runs a test with a server that answers as it says. */
const withHost =
  (
    answer: (response: ServerResponse, socket: Socket, earlier: number) => void,
    run: (host: Host, send: (name?: string) => Promise<Sent | null>, sender: Sender) => unknown,
  ) =>
  async (): Promise<void> => {
    const host: Host = { open: new Set(), made: 0, nonces: [], nowMs: 0 };
    const server = createServer((request, response) => {
      host.nonces.push(String(request.headers['x-nonce']));
      request.resume().on('end', () => answer(response, request.socket, host.nonces.length - 1));
    });
    server.keepAliveTimeout = 60_000;
    server.on('connection', (socket) => {
      host.made++;
      host.open.add(socket);
      socket.on('close', () => host.open.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    server.unref();
    const { port } = server.address() as AddressInfo;
    const lookup = async () => ['127.0.0.1'];
    const limits = { timeoutMs: 20_000, responseBytesMax: 1_000 };
    const sender = createSender(createUrlGuard(['127.0.0.0/8'], lookup), limits, {
      ...systemClock,
      nowMs: () => host.nowMs,
    });
    let nonce = 0;
    const headers = () => ({ 'x-nonce': String(++nonce) });
    const send = (name = 'shop.example') =>
      sender.send({ url: `http://${name}:${port}/`, mode: 'test', headers, body: '{}' });
    try {
      await run(host, send, sender);
    } finally {
      sender.abort();
      server.closeAllConnections();
      server.close();
    }
  };

const ok = (response: ServerResponse) => void response.writeHead(200).end('{}');
const statusOf = (sent: Sent | null) => (sent?.outcome.kind === 'answered' ? sent.outcome.status : sent?.outcome.error);

const hostTest = (title: string, ...args: Parameters<typeof withHost>) => test(title, withHost(...args));

hostTest(
  'POSTs one after the other use one connection; those at the same time use one each, then again',
  ok,
  async (host, send) => {
    for (let n = 0; n < 5; n++) assert.is(statusOf(await send()), 200);
    assert.is(host.made, 1);
    for (let n = 0; n < 3; n++) await Promise.all(Array.from({ length: 4 }, () => send()));
    assert.is(host.made, 4);
    assert.is(host.open.size, 4);
  },
);

hostTest(
  'a new connection that is closed without an answer is an error, and nothing is sent again',
  (_, socket) => void socket.destroy(),
  async (host, send) => {
    assert.is(statusOf(await send()), 'connect');
    assert.is(host.nonces.length, 1);
  },
);

hostTest(
  'a connection whose answer was not read to its end is closed',
  (response) => void response.writeHead(200).end('x'.repeat(200_000)),
  async (host, send) => {
    await send();
    await until('it is closed', () => host.open.size === 0);
    await send();
    assert.is(host.made, 2);
  },
);

hostTest('idle connections are closed after a few seconds', ok, async ({ open }, send) => {
  await Promise.all([send(), send('other.example')]);
  assert.is(open.size, 2);
  await until('they are closed', () => open.size === 0);
  assert.is(statusOf(await send()), 200);
});

hostTest(
  'what a host closes without an answer on a kept connection is sent again on a new one, signed again',
  (response, socket, earlier) => (earlier === 1 ? socket.destroy() : ok(response)),
  async (host, send) => {
    assert.is(statusOf(await send()), 200);
    assert.is(statusOf(await send()), 200);
    assert.is(host.made, 2);
    assert.equal(host.nonces, ['1', '2', '3']);
  },
);

hostTest('a connection is used for a minute at most', ok, async (host, send) => {
  await send();
  host.nowMs += 59_000;
  await send();
  assert.is(host.made, 1);
  host.nowMs += 2_000;
  await send();
  assert.is(host.made, 2);
  await until('the old one is closed', () => host.open.size === 1);
});

hostTest('at most so many idle connections are kept', ok, async (host, send) => {
  const names = Array.from({ length: IDLE_MAX + 1 }, (_, n) => `h${n}.example`);
  for (let round = 0; round < 2; round++) await Promise.all(names.map((name) => send(name)));
  assert.ok(host.made > names.length, 'one was not kept');
});

hostTest('abort closes idle connections', ok, async ({ open }, send, sender) => {
  await send();
  assert.is(open.size, 1);
  sender.abort();
  await until('it is closed', () => open.size === 0);
  assert.is(await send(), null);
});

test.run();
