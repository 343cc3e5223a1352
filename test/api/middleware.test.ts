import { gzipSync } from 'node:zlib';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startApi, withApi } from '../support/api-server.ts';
import { rawly } from '../support/raw.ts';
import { exchange } from '../support/signed-client.ts';
import { expectError } from './expect-error.ts';

const api = await startApi({ busyTimeoutMs: 50 });
const SESSIONS = '/api/v1/checkout/sessions';
const CREATE = `${SESSIONS}/create`;
const BODY_BYTES_MAX = 262_144;

let orders = 0;
const order = (more: object = {}) => ({ amount: 100, currency: 'USD', order_id: `mw-${++orders}`, ...more });
const plain = (method: string, path: string, headers = {}, body: string | Uint8Array = '') =>
  exchange(method, api.baseUrl + path, headers, body);

test('an unknown path is 404 before authentication', async () => {
  const paths = [
    '/api/v1',
    '/api/v2/checkout/sessions/create',
    `${SESSIONS}/`,
    `${CREATE}/`,
    `${SESSIONS}/x/cancel/y`,
    '/API/v1/checkout/sessions/create',
    '/api/v1/payouts/create',
    '/docs/../package.json',
    `${SESSIONS}/%zz`,
  ];
  for (const path of paths) {
    for (const method of ['GET', 'POST', 'DELETE']) {
      expectError(
        await plain(method, path),
        { status: 404, code: 'route_not_found', param: null },
        `${method} ${path}`,
      );
    }
  }
});

test('a wrong method is 405 before authentication, and Allow lists the right ones', async () => {
  const rows: [string, string, string[]][] = [
    [CREATE, 'POST', ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']],
    [`${SESSIONS}/cs_x`, 'GET', ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']],
    [`${SESSIONS}/cs_x/cancel`, 'POST', ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']],
    ['/v1/payment/sessions', 'POST', ['GET', 'HEAD', 'PUT', 'DELETE']],
    ['/docs', 'GET', ['POST']],
    ['/openapi.json', 'GET', ['PUT']],
    ['/', 'GET', ['POST']],
    ['/docs/', 'GET', ['POST', 'DELETE']],
    ['/livez', 'GET', ['POST']],
  ];
  for (const [path, allowed, methods] of rows) {
    for (const method of methods) {
      const answer = await plain(method, path);
      assert.is(answer.headers.allow, allowed, `${method} ${path}`);
      if (method === 'HEAD') assert.is(answer.status, 405);
      else expectError(answer, { status: 405, code: 'method_not_allowed', param: null }, `${method} ${path}`);
    }
  }
});

test('a body over the limit is 413 before authentication; at the limit it is read', async () => {
  const tooLarge = { status: 413, code: 'body_too_large', param: null };
  expectError(await plain('POST', CREATE, {}, 'x'.repeat(BODY_BYTES_MAX + 1)), tooLarge);
  expectError(await plain('POST', `${SESSIONS}/x/cancel`, {}, 'x'.repeat(BODY_BYTES_MAX + 1)), tooLarge);
  expectError(await plain('POST', CREATE, {}, 'x'.repeat(BODY_BYTES_MAX)), { status: 401, code: 'missing_header' });
  const body = order({ unknown: '' });
  const filler = 'd'.repeat(BODY_BYTES_MAX - JSON.stringify(body).length);
  const full = JSON.stringify({ ...body, unknown: filler });
  assert.is(Buffer.byteLength(full), BODY_BYTES_MAX);
  assert.is((await api.send('POST', CREATE, full)).status, 200);
  expectError(await api.send('POST', CREATE, `${full} `), tooLarge, 'signed');
});

test('a body without a length is counted as it arrives', async () => {
  const response = await fetch(api.baseUrl + CREATE, {
    method: 'POST',
    body: new ReadableStream({
      start(controller) {
        for (let sent = 0; sent <= BODY_BYTES_MAX; sent += 65_536) controller.enqueue(new Uint8Array(65_536));
        controller.close();
      },
    }),
    duplex: 'half',
  } as RequestInit);
  assert.is(response.status, 413);
  assert.is(((await response.json()) as { error: { code: string } }).error.code, 'body_too_large');
});

test('a body must be declared as JSON', async () => {
  const rows: [string | null, boolean][] = [
    ['application/json', true],
    ['application/json; charset=utf-8', true],
    ['Application/JSON ;charset="UTF-8"', true],
    [null, false],
    ['application/json; charset=utf-16', false],
    ['text/plain', false],
    ['application/jsonx', false],
    ['application/x-www-form-urlencoded', false],
  ];
  for (const [type, isGood] of rows) {
    const answer = await api.send('POST', CREATE, order(), { headers: { 'Content-Type': type } });
    if (isGood) assert.is(answer.status, 200, `${type} ${answer.text}`);
    else expectError(answer, { status: 400, code: 'invalid_content_type', param: 'Content-Type' }, `${type}`);
  }
});

test('a compressed body is refused, because the signature covers the bytes that were sent', async () => {
  const zipped = gzipSync(JSON.stringify(order()));
  const answer = await api.send('POST', CREATE, zipped, { headers: { 'Content-Encoding': 'gzip' } });
  expectError(answer, { status: 400, code: 'invalid_content_type' });
});

test('what is not a JSON object in UTF-8 is invalid_json and creates nothing', async () => {
  const rows: (string | Uint8Array)[] = [
    '{',
    '{"amount":1,}',
    '{"amount":1050,"currency":"USD","order_id":"twice","amount":1}',
    '{"unknown":[{"a":1,"\\u0061":1}]}',
    '[]',
    'null',
    '1',
    ' ',
    '\ufeff\ufeff{}',
    new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    Buffer.from('{"order_id":"\u{1f600}"}', 'utf16le'),
    '['.repeat(200_000),
    '{"a":'.repeat(40_000),
  ];
  const countSessions = async () => (await api.database().stats(api.clock.nowMs())).sessions;
  const before = await countSessions();
  for (const body of rows) {
    const what = String(body).slice(0, 20);
    expectError(await api.send('POST', CREATE, body), { status: 400, code: 'invalid_json', param: null }, what);
  }
  expectError(await api.send('POST', CREATE, ''), { status: 400, code: 'invalid_json', param: null }, 'empty');
  assert.equal(await countSessions(), before);
  const { id } = (await api.send('POST', CREATE, order())).json as { id: string };
  expectError(await api.send('POST', `${SESSIONS}/${id}/cancel`, '{'), { status: 400, code: 'invalid_json' }, 'cancel');
});

test('every answer has its own request id', async () => {
  const answers = await Promise.all([
    api.send('POST', CREATE, order()),
    api.send('POST', CREATE, '{'),
    plain('GET', '/nowhere'),
    plain('POST', '/docs'),
    plain('GET', '/docs'),
    plain('GET', '/openapi.json'),
    plain('GET', '/livez'),
    plain('GET', '/readyz'),
    plain('POST', CREATE, { 'Request-Id': 'mine' }, 'x'.repeat(BODY_BYTES_MAX + 1)),
  ]);
  const ids = answers.map(({ headers }) => String(headers['request-id']));
  for (const id of ids) assert.match(id, /^req_[0-9a-z]{26}$/);
  assert.is(new Set(ids).size, ids.length);
});

test('answers do not reveal the software and are not cached', async () => {
  const { headers } = await api.send('POST', CREATE, order());
  assert.is(headers['x-powered-by'], undefined);
  assert.is(headers.etag, undefined);
  assert.is(headers['cache-control'], 'no-store');
  assert.is(headers['x-content-type-options'], 'nosniff');
  assert.is(headers['content-type'], 'application/json; charset=utf-8');
});

test('a failed constraint is 500 without details; log and alarm have them, and the process continues', () =>
  withApi({}, async (own) => {
    const other = new Sqlite(own.file);
    other.exec(`CREATE TRIGGER no BEFORE INSERT ON sessions BEGIN SELECT RAISE(ABORT, 'not this one'); END`);
    const alarms = async () => (await own.database().alarms.list(10)).filter(({ code }) => code === 'request_failed');
    const refused = () => own.send('POST', CREATE, order());
    const answer = await refused();
    expectError(answer, { status: 500, code: 'internal_error', param: null });
    assert.not.match(answer.text, /not this one|database|sqlite|\.ts|stack/i);
    const lines = own.logged().split('\n');
    const line = lines.find((text) => text.includes('request failed')) ?? '';
    assert.ok(line.includes(String(answer.headers['request-id'])));
    assert.match(line, /not this one/);
    await refused();
    assert.is((await alarms()).length, 1, 'one alarm for many failures');
    const message = (await alarms())[0]?.message ?? '';
    assert.match(message, /^POST \/api\/v1\/checkout\/sessions\/create failed: .*not this one/);
    assert.ok(message.includes(String(answer.headers['request-id'])));
    own.clock.advance(60_000);
    await refused();
    assert.is((await alarms()).length, 2);
    other.exec('DROP TRIGGER no');
    other.close();
    assert.is((await own.send('POST', CREATE, order())).status, 200);
  }));

test('a broken invariant is answered and then ends the process', () =>
  withApi({}, async (broken) => {
    const body = order();
    const again = () => broken.send('POST', CREATE, body, { headers: { 'Idempotency-Key': 'once' } });
    assert.is((await again()).status, 200);
    rawly(broken.file, `UPDATE replays SET made_id = 'cs_missing'`);
    const ended = new Promise<Error>((resolve) => process.once('uncaughtException', resolve));
    const answer = await again();
    expectError(answer, { status: 500, code: 'internal_error', param: null });
    assert.is((await ended).name, 'InvariantBroken');
  }));

test('the log has one line for each request and no secrets', async () => {
  const before = api.logged().length;
  const created = await api.send('POST', CREATE, order({ description: 'not for the log' }));
  const { id } = created.json as { id: string };
  await api.send('GET', `${SESSIONS}/${id}?token=not-for-the-log`, '', { headers: { Cookie: 'not-for-the-log' } });
  await plain('GET', `/nowhere/${id}`, { Authorization: 'Bearer not-for-the-log' });
  // The line is written after the connection has taken the answer, which may be after the client has read it.
  for (let turn = 0; turn < 100 && api.logged().slice(before).split('\n').length < 4; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  const text = api.logged().slice(before);
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.is(lines.length, 3);
  const shown = lines.map(({ requestId: _, time: __, process: ___, ...line }) => line);
  const line = { level: 30, ms: 0, msg: 'request' };
  assert.equal(shown, [
    { ...line, keyId: api.testKey.id, route: CREATE, method: 'POST', status: 200 },
    { ...line, keyId: api.testKey.id, route: `${SESSIONS}/{session_id}`, method: 'GET', status: 200 },
    { ...line, keyId: null, route: null, code: 'route_not_found', method: 'GET', status: 404 },
  ]);
  assert.is(lines[0]?.requestId, created.headers['request-id']);
  for (const secret of ['not for the log', 'not-for-the-log', api.testKey.apiKey, api.testKey.apiSecret, id]) {
    assert.not(text.includes(secret), secret);
  }
});

test.after(() => api.close());
test.run();
