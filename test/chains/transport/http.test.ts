/** Plain HTTP to a node: signs that another node may be behind the address now. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type HttpTransport, openHttpTransport } from '../../../src/chains/transport/http.ts';
import { systemClock } from '../../../src/lib/clock.ts';

const SOCKETS_MAX = 4;
const POLL_MS = 100;

/** A server that answers with its name and counts its connections. */
async function startNamed(name: string, port = 0) {
  let sockets = 0;
  const server: Server = createServer((request, response) => {
    request.resume();
    if (request.url === '/break') request.socket.destroy();
    else response.end(name);
  });
  server.on('connection', () => {
    sockets += 1;
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    sockets: () => sockets,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const open = (port: number): HttpTransport =>
  openHttpTransport(
    {
      url: new URL(`http://127.0.0.1:${port}`),
      host: 'node',
      requestTimeoutMs: 5_000,
      responseBytesMax: 1_000,
      concurrencyMax: SOCKETS_MAX,
    },
    systemClock,
  );
const ask = async (transport: HttpTransport, path = '/'): Promise<string> =>
  Buffer.from(await transport.post(path, '{}', AbortSignal.timeout(5_000))).toString();

test('one connection is counted for a node, however many sockets its requests use', async () => {
  const node = await startNamed('first');
  const transport = open(node.port);
  assert.is(transport.health().connections, 0);
  for (let round = 0; round < 3; round++)
    await Promise.all(Array.from({ length: 2 * SOCKETS_MAX }, () => ask(transport)));
  assert.ok(node.sockets() > 1);
  assert.equal(
    { ...transport.health(), heardAtMs: 0 },
    { connected: true, heardAtMs: 0, connections: 1 },
    'the first socket counts, and the others do not',
  );
  await transport.close();
  await node.close();
});

test('a node that is replaced between two requests is a new connection, although no request failed', async () => {
  const before = await startNamed('before');
  const transport = open(before.port);
  assert.equal(await Promise.all([ask(transport), ask(transport), ask(transport)]), ['before', 'before', 'before']);
  await before.close();
  const after = await startNamed('after', before.port);
  // Between two polls the ends of the old sockets arrive.
  await systemClock.sleep(POLL_MS);
  assert.is(await ask(transport), 'after');
  assert.is(transport.health().connections, 2);
  assert.ok(transport.health().connected);
  await transport.close();
  await after.close();
});

test('a connection that breaks counts, even if others are open', async () => {
  const node = await startNamed('node');
  const transport = open(node.port);
  await Promise.all([ask(transport), ask(transport), ask(transport)]);
  assert.is(await ask(transport, '/break').catch(({ code }) => code), 'node_unreachable');
  assert.is(transport.health().connected, false);
  await ask(transport);
  assert.equal({ ...transport.health(), heardAtMs: 0 }, { connected: true, heardAtMs: 0, connections: 2 });
  await transport.close();
  await node.close();
});

test.run();
