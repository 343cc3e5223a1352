/** Plain HTTP to a node: its answers, however they are sent, its refusals, and signs of another node in its place. */
import type { ServerResponse } from 'node:http';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type HttpTransport, openHttpTransport } from '../../../src/chains/transport/http.ts';
import { openRpcHttp } from '../../../src/chains/transport/rpc-http.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { type AnsweringServer, startAnsweringServer } from '../../support/answering-server.ts';
import { fairClock } from '../../support/fair-clock.ts';
import { has } from '../../support/fields.ts';
import { faultOf } from '../../support/refusal.ts';

const BYTES_MAX = 300_000;
const TIMEOUT_MS = 60_000;
const SOCKETS_MAX = 2;
const POLL_MS = 100;

const limits = { requestTimeoutMs: TIMEOUT_MS, responseBytesMax: BYTES_MAX, concurrencyMax: SOCKETS_MAX };

async function withTransport(use: (transport: HttpTransport, server: AnsweringServer) => Promise<void>): Promise<void> {
  const server = await startAnsweringServer();
  const url = new URL(server.origin);
  const transport = openHttpTransport({ ...limits, url, host: url.host }, systemClock);
  try {
    await use(transport, server);
  } finally {
    await transport.close();
    await server.close();
  }
}

const post = (transport: HttpTransport, signal = AbortSignal.timeout(TIMEOUT_MS)) => transport.post('/', '{}', signal);
/** Bytes whose values show their positions. */
const bytesOf = (length: number) => Buffer.from(Array.from({ length }, (_, at) => at % 251));

const announced = (body: Uint8Array) => (response: ServerResponse) =>
  void response.writeHead(200, { 'content-length': body.byteLength }).end(body);
const inPieces =
  (body: Uint8Array, size: number, status = 200) =>
  async (response: ServerResponse): Promise<void> => {
    response.writeHead(status);
    for (let at = 0; at < body.byteLength; at += size) {
      response.write(body.subarray(at, at + size));
      await systemClock.sleep(1);
    }
    response.end();
  };

for (const length of [0, 1, 541, 70_000, BYTES_MAX]) {
  test(`${length} bytes arrive as they were sent, in a buffer of just that size`, () =>
    withTransport(async (transport, server) => {
      const body = bytesOf(length);
      for (const reply of [announced(body), inPieces(body, 50_000)]) {
        server.reply('/', reply);
        const bytes = await post(transport);
        assert.ok(Buffer.from(bytes).equals(body));
        assert.is(bytes.buffer.byteLength, length);
        structuredClone(bytes, { transfer: [bytes.buffer] });
        assert.is(bytes.byteLength, 0, 'it can be transferred');
      }
    }));
}

test('one byte more than allowed is too large, announced or not, and the next answer is read', () =>
  withTransport(async (transport, server) => {
    const body = bytesOf(BYTES_MAX + 1);
    for (const reply of [announced(body), inPieces(body, 50_000)]) {
      server.reply('/', reply);
      assert.is((await faultOf(post(transport))).code, 'node_response_too_large');
    }
    server.reply('/', { body: 'well' });
    assert.is(Buffer.from(await post(transport)).toString(), 'well');
  }));

test('a truncated answer, of either kind, is a fault', () =>
  withTransport(async (transport, server) => {
    for (const headers of [{ 'content-length': 1000 }, {}]) {
      server.reply('/', (response) => {
        response.writeHead(200, headers);
        response.write(bytesOf(400), () => response.destroy());
      });
      assert.is((await faultOf(post(transport))).code, 'node_unreachable');
      assert.is(transport.health().connected, false);
    }
  }));

test('a signal ends a request before it is sent, while it is queued, and within its answer', () =>
  withTransport(async (transport, server) => {
    const early = AbortSignal.abort();
    assert.is((await faultOf(post(transport, early))).code, 'node_timeout');
    assert.equal(server.asked, []);
    server.reply('/', (response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write(bytesOf(400));
    });
    const stopping = new AbortController();
    // Two have a connection each, and the third waits for one.
    const asked = [1, 2, 3].map(() => faultOf(post(transport, stopping.signal)));
    while (transport.health().heardAtMs === 0) await systemClock.sleep(5);
    stopping.abort();
    for (const fault of await Promise.all(asked)) assert.is(fault.code, 'node_timeout');
    server.reply('/', { body: 'well' });
    assert.is(Buffer.from(await post(transport)).toString(), 'well');
  }));

// ── Refusals ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test('each refusal by status has a code and quotes the server, but only its beginning', () =>
  withTransport(async (transport, server) => {
    for (const [status, code] of [
      [429, 'node_rate_limited'],
      [401, 'node_refused'],
      [403, 'node_refused'],
      [404, 'node_error'],
      [500, 'node_error'],
      [503, 'node_error'],
      [302, 'node_error'],
    ] as const) {
      server.reply('/', { status, body: '<h1>Bad\nday</h1>' });
      const fault = await faultOf(post(transport));
      has(fault, { code, kind: 'transient' }, `${status}`);
      assert.match(fault.message, `HTTP status ${status} "<h1>Bad day</h1>"`);
    }
    server.reply('/', inPieces(Buffer.alloc(200_000, 'x'), 50_000, 500));
    const long = await faultOf(post(transport));
    assert.is(long.code, 'node_error');
    assert.not.match(long.message, 'xxx');
  }));

test('credentials in the URL are sent as a header, and appear in no message', async () => {
  const server = await startAnsweringServer();
  const url = new URL(`${server.origin.replace('//', '//me:hunter%212@')}/v3/c0ffee?key=s3cret`);
  const transport = openRpcHttp({ ...limits, url, host: url.host, idleMsMax: TIMEOUT_MS }, systemClock);
  server.reply('/v3/c0ffee?key=s3cret', (response) => response.end(response.req.headers.authorization));
  const ask = () => transport.exchange({ ids: [1], text: '{}' }, AbortSignal.timeout(TIMEOUT_MS));
  const sent = Buffer.from(await ask()).toString();
  assert.is(sent, `Basic ${Buffer.from('me:hunter!2').toString('base64')}`);
  server.reply('/v3/c0ffee?key=s3cret', { status: 401, body: 'no' });
  const { message } = await faultOf(ask());
  for (const secret of ['hunter', 'c0ffee', 's3cret']) assert.not.ok(message.includes(secret), message);
  await transport.close();
  await server.close();
});

// ── Connections ──────────────────────────────────────────────────────────────────────────────────────────────────────

const posts = (transport: HttpTransport, count: number) =>
  Promise.all(Array.from({ length: count }, () => post(transport)));

test('one connection is counted for a node, however many sockets its requests use', () =>
  withTransport(async (transport, server) => {
    const ports = new Set<number | undefined>();
    server.reply('/', (response) => {
      ports.add(response.req.socket.remotePort);
      response.end('well');
    });
    assert.is(transport.health().connections, 0);
    for (let round = 0; round < 3; round++) await posts(transport, 2 * SOCKETS_MAX);
    assert.ok(ports.size > 1);
    has(transport.health(), { connected: true, connections: 1 }, 'the first socket counts');
  }));

test('a node that is replaced between two requests is a new connection, although no request failed', () =>
  withTransport(async (transport, server) => {
    server.reply('/', { body: 'before' });
    await posts(transport, 3);
    await server.close();
    const after = await startAnsweringServer(Number(new URL(server.origin).port));
    after.reply('/', { body: 'after' });
    // Between two polls the ends of the old sockets arrive, however long the machine stalls in between.
    await fairClock.sleep(POLL_MS);
    assert.is(Buffer.from(await post(transport)).toString(), 'after');
    has(transport.health(), { connected: true, connections: 2 });
    await after.close();
  }));

test('a connection that breaks counts, even if others are open', () =>
  withTransport(async (transport, server) => {
    server.reply('/', { body: 'well' });
    server.reply('/break', (response) => void response.req.socket.destroy());
    await posts(transport, 3);
    const broken = transport.post('/break', '{}', AbortSignal.timeout(TIMEOUT_MS));
    assert.is((await faultOf(broken)).code, 'node_unreachable');
    assert.is(transport.health().connected, false);
    await post(transport);
    has(transport.health(), { connected: true, connections: 2 });
  }));

test.run();
