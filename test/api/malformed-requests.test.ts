/** Malformed HTTP over real sockets: answered with the documented body and a `Request-Id`. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startApi } from '../support/api-server.ts';
import { parseRaw, rawExchange } from '../support/raw-http.ts';
import { expectError } from './expect-error.ts';

const api = await startApi();
const get = (...headers: string[]) => `${['GET /livez HTTP/1.1', ...headers].join('\r\n')}\r\n\r\n`;
const post = (...headers: string[]) => get(...headers).replace('GET /livez', 'POST /api/v1/checkout/sessions/create');

const rows: readonly (readonly [string, string, number, string])[] = [
  ['no HTTP at all', 'hello there\r\n\r\n', 400, 'malformed_request'],
  ['no Host', get(), 400, 'malformed_request'],
  ['two Hosts', get('Host: a', 'host: a'), 400, 'malformed_request'],
  ['two lengths', post('Host: a', 'Content-Length: 1', 'Content-Length: 2'), 400, 'malformed_request'],
  ['length and chunks', post('Host: a', 'Content-Length: 1', 'Transfer-Encoding: chunked'), 400, 'malformed_request'],
  ['a bad chunk', `${post('Host: a', 'Transfer-Encoding: chunked')}zz\r\n`, 400, 'malformed_request'],
  ['a space before the colon', get('Host: a', 'X-A : b'), 400, 'malformed_request'],
  ['large headers', get('Host: a', `X-A: ${'x'.repeat(17_000)}`), 431, 'headers_too_large'],
  ['a long path', get('Host: a').replace('/livez', `/${'x'.repeat(17_000)}`), 431, 'headers_too_large'],
  ['an unknown expectation', get('Host: a', 'Expect: miracles', 'Connection: close'), 417, 'expectation_failed'],
];

test('each gets the documented error, and the connection is closed', async () => {
  for (const [what, bytes, status, code] of rows) {
    const answer = parseRaw((await rawExchange(api.baseUrl, bytes)).text);
    expectError(answer, { status, code, param: null }, what);
    assert.match(String(answer.headers['request-id']), /^req_[0-9a-z]{26}$/, what);
    assert.is(answer.headers.connection, 'close', what);
  }
});

test('HTTP/1.0 needs no Host, and a known expectation is met', async () => {
  const old = await rawExchange(api.baseUrl, 'GET /livez HTTP/1.0\r\n\r\n');
  assert.is(parseRaw(old.text).status, 200);
  const expecting = get('Host: a', 'Expect: 100-continue', 'Connection: close');
  assert.match((await rawExchange(api.baseUrl, expecting)).text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
});

test('garbage during an answer does not corrupt that answer', async () => {
  const bytes = `${get('Host: a')}garbage\r\n\r\n`;
  const { text } = await rawExchange(api.baseUrl, bytes);
  assert.is(text.match(/HTTP\/1\.1 \d+/g)?.length, 2, text);
  assert.match(text, /^HTTP\/1\.1 200 OK[\s\S]*"status":"ok"\}HTTP\/1\.1 400 /);
});

test.after(() => api.close());
test.run();
