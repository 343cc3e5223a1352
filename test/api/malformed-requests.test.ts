/** Malformed HTTP over real sockets. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startApi } from '../support/api-server.ts';
import { parseRaw, rawExchange } from '../support/raw-http.ts';
import { expectError } from './expect-error.ts';

const api = await startApi();
const get = (...headers: string[]) => `${['GET /livez HTTP/1.1', ...headers].join('\r\n')}\r\n\r\n`;
const post = (...headers: string[]) => get(...headers).replace('GET /livez', 'POST /api/v1/checkout/sessions/create');

test('several Hosts get the documented error, and the connection is closed', async () => {
  const answer = parseRaw((await rawExchange(api.baseUrl, get('Host: a', 'host: a'))).text);
  expectError(answer, { status: 400, code: 'malformed_request', param: null });
  assert.is(answer.headers.connection, 'close');
});

/** Refused by Node itself, without a body. */
const rows: readonly (readonly [string, string, number])[] = [
  ['no HTTP at all', 'hello there\r\n\r\n', 400],
  ['no Host', get(), 400],
  ['two lengths', post('Host: a', 'Content-Length: 1', 'Content-Length: 2'), 400],
  ['length and chunks', post('Host: a', 'Content-Length: 1', 'Transfer-Encoding: chunked'), 400],
  ['a bad chunk', `${post('Host: a', 'Transfer-Encoding: chunked')}zz\r\n`, 400],
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
