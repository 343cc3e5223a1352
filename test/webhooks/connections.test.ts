/** Connections are kept by host, and used again only while a new one to the same address would be allowed. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { IDLE_MAX } from '../../src/webhooks/connections.ts';
import { createSender, type Sender, type Sent } from '../../src/webhooks/sender.ts';
import { until } from '../support/until.ts';

type Host = Readonly<{ port: number; open: Set<Socket>; made: string[]; nonces: string[]; server: Server }>;

/** Runs a test with a server on every loopback address, and with names that resolve as the test says. */
const withHost =
  (
    answer: (response: ServerResponse, socket: Socket, earlier: number) => void,
    run: (
      host: Host,
      send: (name?: string) => Promise<Sent | null>,
      names: Map<string, string[]>,
      sender: Sender,
    ) => unknown,
  ) =>
  async (): Promise<void> => {
    const [open, made, nonces]: [Set<Socket>, string[], string[]] = [new Set(), [], []];
    const server = createServer((request, response) => {
      nonces.push(String(request.headers['x-nonce']));
      request.resume().on('end', () => answer(response, request.socket, nonces.length - 1));
    });
    server.keepAliveTimeout = 60_000;
    server.on('connection', (socket) => {
      made.push(socket.localAddress ?? '');
      open.add(socket);
      socket.on('close', () => open.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
    server.unref();
    const { port } = server.address() as AddressInfo;
    const names = new Map([['shop.example', ['127.0.0.1']]]);
    const lookup = async (name: string) =>
      (names.get(name) ?? ['127.0.0.1']).map((address) => ({ address, family: 4 }));
    const limits = { timeoutMs: 20_000, responseBytesMax: 1_000 };
    const sender = createSender(createUrlGuard(['127.0.0.0/8'], lookup), limits, systemClock);
    let nonce = 0;
    const headers = () => ({ 'x-nonce': String(++nonce) });
    const send = (name = 'shop.example') =>
      sender.send({ url: `http://${name}:${port}/`, mode: 'test', headers, body: '{}' });
    try {
      await run({ port, open, made, nonces, server }, send, names, sender);
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
  async ({ made, open }, send) => {
    for (let n = 0; n < 5; n++) assert.is(statusOf(await send()), 200);
    assert.is(made.length, 1);
    for (let n = 0; n < 3; n++) await Promise.all(Array.from({ length: 4 }, () => send()));
    assert.is(made.length, 4);
    assert.is(open.size, 4);
  },
);

hostTest(
  'an answer of the resolver that changes ends reuse: the next POST goes to the new address',
  ok,
  async ({ made, open }, send, names) => {
    await send();
    names.set('shop.example', ['127.0.0.2']);
    assert.is(statusOf(await send()), 200);
    assert.equal(made, ['127.0.0.1', '127.0.0.2']);
    await until('the old connection is closed', () => open.size === 1);
    names.set('shop.example', ['127.0.0.3', '127.0.0.2']);
    await send();
    assert.is(made.length, 2, 'still one of its addresses');
  },
);

hostTest(
  'a connection is not used once its host resolves to an address that may not be called, or to none',
  ok,
  async ({ made, nonces }, send, names) => {
    for (const [addresses, error] of [
      [['10.0.0.1'], 'blocked_address'],
      [['127.0.0.1', '10.0.0.1'], 'blocked_address'],
      [[], 'dns'],
    ] as const) {
      names.set('shop.example', ['127.0.0.1']);
      assert.is(statusOf(await send()), 200);
      names.set('shop.example', [...addresses]);
      assert.is(statusOf(await send()), error);
    }
    assert.is(nonces.length, 3);
    assert.is(made.length, 3);
  },
);

hostTest(
  'what a host closes without an answer on a kept connection is sent again on a new one, signed again',
  (response, socket, earlier) => (earlier === 1 ? socket.destroy() : ok(response)),
  async ({ made, nonces }, send) => {
    assert.is(statusOf(await send()), 200);
    assert.is(statusOf(await send()), 200);
    assert.is(made.length, 2);
    assert.equal(nonces, ['1', '2', '3']);
  },
);

hostTest(
  'a new connection that is closed without an answer is an error, and nothing is sent again',
  (_, socket) => void socket.destroy(),
  async ({ nonces }, send) => {
    assert.is(statusOf(await send()), 'connect');
    assert.is(nonces.length, 1);
  },
);

hostTest(
  'a connection whose answer was not read to its end is closed',
  (response) => void response.writeHead(200).end('x'.repeat(200_000)),
  async ({ made, open }, send) => {
    await send();
    await until('it is closed', () => open.size === 0);
    await send();
    assert.is(made.length, 2);
  },
);

hostTest('idle connections are closed after a few seconds', ok, async ({ open }, send) => {
  await Promise.all([send(), send('other.example')]);
  assert.is(open.size, 2);
  await until('they are closed', () => open.size === 0);
  assert.is(statusOf(await send()), 200);
});

hostTest(
  `at most ${IDLE_MAX} idle connections are kept; the host used the longest ago loses its own first`,
  ok,
  async ({ open, made }, send) => {
    const names = Array.from({ length: IDLE_MAX + 40 }, (_, n) => `h${n}.example`);
    for (const name of names) await send(name);
    await until('the others are closed', () => open.size <= IDLE_MAX);
    await send(names.at(-1));
    assert.is(made.length, names.length, 'the last one is kept');
    await send(names[0]);
    assert.is(made.length, names.length + 1, 'the first one is not');
  },
);

hostTest('no more are kept for one host than may be busy at once', ok, async ({ open, made }, send) => {
  await Promise.all(Array.from({ length: 50 }, () => send()));
  assert.is(made.length, 50);
  await until('some are closed', () => open.size <= 32);
});

hostTest('abort closes idle connections', ok, async ({ open }, send, _, sender) => {
  await send();
  assert.is(open.size, 1);
  sender.abort();
  await until('it is closed', () => open.size === 0);
  assert.is(await send(), null);
});

test.run();
