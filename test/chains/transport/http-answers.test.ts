/** Assembling an answer from HTTP, however the server sends it. */
import type { ServerResponse } from 'node:http';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type HttpTransport, openHttpTransport } from '../../../src/chains/transport/http.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { faultOf } from '../../conformance/chain.ts';
import { type AnsweringServer, startAnsweringServer } from '../../support/answering-server.ts';

const BYTES_MAX = 300_000;
const TIMEOUT_MS = 60_000;

async function withTransport(use: (transport: HttpTransport, server: AnsweringServer) => Promise<void>): Promise<void> {
  const server = await startAnsweringServer();
  const url = new URL(server.origin);
  const limits = { requestTimeoutMs: TIMEOUT_MS, responseBytesMax: BYTES_MAX, concurrencyMax: 2 };
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

test('concurrent answers are not mixed up', () =>
  withTransport(async (transport, server) => {
    const bodies = [70_000, 541, 200_000, 0].map(bytesOf);
    bodies.forEach((body, at) => {
      server.reply(`/${at}`, inPieces(body, 9_000));
    });
    const answers = await Promise.all(
      bodies.map((_, at) => transport.post(`/${at}`, '{}', AbortSignal.timeout(TIMEOUT_MS))),
    );
    answers.forEach((bytes, at) => {
      assert.ok(bodies[at]?.equals(bytes));
    });
  }));

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

test('only the beginning of a refusal is read', () =>
  withTransport(async (transport, server) => {
    server.reply('/', inPieces(Buffer.alloc(200_000, 'x'), 50_000, 500));
    const long = await faultOf(post(transport));
    assert.is(long.code, 'node_error');
    assert.not.match(long.message, 'xxx');
    server.reply('/', { status: 403, body: 'who are you?' });
    const short = await faultOf(post(transport));
    assert.is(short.code, 'node_refused');
    assert.match(short.message, 'who are you?');
  }));

test.run();
