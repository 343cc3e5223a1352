/** Malformed HTTP, and bodies that are too long or not wanted, over real sockets: answered at once and not read. */
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

// ── Malformed HTTP ──────────────────────────────────────────────────────────────────────────────────────────────────

const get = (...headers: string[]) => `${['GET /livez HTTP/1.1', ...headers].join('\r\n')}\r\n\r\n`;
const posted = (...headers: string[]) => get(...headers).replace('GET /livez', `POST ${CREATE}`);

test('several Hosts get the documented error, and the connection is closed', async () => {
  const answer = parseRaw((await rawExchange(api.baseUrl, get('Host: a', 'host: a'))).text);
  expectError(answer, { status: 400, code: 'malformed_request', param: null });
  assert.is(answer.headers.connection, 'close');
});

/** Refused by Node itself, without a body. */
const rows: readonly (readonly [string, string, number])[] = [
  ['no HTTP at all', 'hello there\r\n\r\n', 400],
  ['no Host', get(), 400],
  ['two lengths', posted('Host: a', 'Content-Length: 1', 'Content-Length: 2'), 400],
  ['length and chunks', posted('Host: a', 'Content-Length: 1', 'Transfer-Encoding: chunked'), 400],
  ['a bad chunk', `${posted('Host: a', 'Transfer-Encoding: chunked')}zz\r\n`, 400],
  ['a space before the colon', get('Host: a', 'X-A : b'), 400],
  ['large headers', get('Host: a', `X-A: ${'x'.repeat(17_000)}`), 431],
];

test('what is no request is refused, and the connection is closed', async () => {
  for (const [what, bytes, status] of rows) {
    const { text } = await rawExchange(api.baseUrl, bytes);
    assert.match(text, new RegExp(`^HTTP/1.1 ${status} [\\s\\S]*Connection: close`, 'i'), what);
  }
});

test('garbage during an answer does not corrupt that answer', async () => {
  const bytes = `${get('Host: a')}garbage\r\n\r\n`;
  const { text } = await rawExchange(api.baseUrl, bytes);
  assert.match(text, /^HTTP\/1\.1 200 OK[\s\S]*"status":"ok"\}$/);
});

test.after(() => api.close());
test.run();
