/** Bodies that are too long or not wanted, over real sockets: answered at once and not read. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startApi } from '../support/api-server.ts';
import { parseRaw, rawExchange } from '../support/raw-http.ts';
import { exchange } from '../support/signed-client.ts';
import { expectError } from './expect-error.ts';

const api = await startApi({ pages: true });
const CREATE = '/api/v1/checkout/sessions/create';
/** Far more than the server discards and the buffers of two sockets hold. */
const POURED_BYTES_MAX = 64 * 1024 * 1024;

const announced = (request: string, length: number) =>
  `${request} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`;
const chunked = (request: string) => `${request} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`;

const refusals = [
  [`POST ${CREATE}`, 413, 'body_too_large'],
  [`GET ${CREATE}`, 405, 'method_not_allowed'],
  ['PUT /livez', 405, 'method_not_allowed'],
  ['POST /nowhere', 404, 'route_not_found'],
  ['POST /refund/x', 413, 'body_too_large'],
] as const;

test('a body announced as too long is refused before its first byte, and the connection is closed', async () => {
  for (const [request, status, code] of refusals) {
    const { text } = await rawExchange(api.baseUrl, announced(request, 100_000_000_000));
    const answer = parseRaw(text);
    expectError(answer, { status, code }, request);
    assert.is(answer.headers.connection, 'close', request);
  }
});

test('a client that never stops sending is answered and cut off', async () => {
  for (const [request] of refusals) {
    for (const isChunked of [false, true]) {
      const head = isChunked ? chunked(request) : announced(request, 100_000_000_000);
      const { sentBytes } = await rawExchange(api.baseUrl, head, POURED_BYTES_MAX, isChunked);
      assert.ok(sentBytes < POURED_BYTES_MAX, `${request} took ${sentBytes} bytes`);
    }
  }
});

test('a page that needs no body does not read one', async () => {
  for (const isChunked of [false, true]) {
    const head = isChunked ? chunked('GET /docs') : announced('GET /docs', 100_000_000_000);
    const { text, sentBytes } = await rawExchange(api.baseUrl, head, POURED_BYTES_MAX, isChunked);
    assert.ok(sentBytes < POURED_BYTES_MAX, `took ${sentBytes} bytes`);
    if (text !== '') assert.is(parseRaw(text).status, 200);
  }
});

test('a client that sends a whole body before it reads still gets its answer', async () => {
  for (const bytes of [262_145, 1_000_000]) {
    expectError(await exchange('POST', api.baseUrl + CREATE, {}, 'x'.repeat(bytes)), {
      status: 413,
      code: 'body_too_large',
    });
  }
});

test('a small unwanted body leaves the connection open', async () => {
  const first = `POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n${'x'.repeat(1000)}`;
  const { text } = await rawExchange(
    api.baseUrl,
    `${first}GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
  );
  assert.match(text, /^HTTP\/1\.1 404 [\s\S]*HTTP\/1\.1 200 /);
});

test.after(() => api.close());
test.run();
