import { createHmac } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { apiEndpoints } from '../../src/api/app.ts';
import { type Scope, scopes } from '../../src/database/column-values.ts';
import { type ApiServer, startApi, type TestKey, withApi } from '../support/api-server.ts';
import { type Bend, type HttpAnswer, signature } from '../support/signed-client.ts';
import { expectError } from './expect-error.ts';

const operator = { atMs: 0, operator: 'root', command: 'store approve', reason: null };

const api = await startApi();
const { clock } = api;
const CREATE = '/api/v1/checkout/sessions/create';
const UNKNOWN = '/api/v1/checkout/sessions/cs_00000000000000000000000000';

let orders = 0;
const order = () => ({ amount: 100, currency: 'USD', order_id: `auth-${++orders}` });
const create = (bend: Bend, key: TestKey = api.testKey): Promise<HttpAnswer> =>
  api.client(key).send('POST', CREATE, order(), bend);

const unauthorized = (answer: HttpAnswer, code: string, what: string, param: string | null = null) =>
  expectError(answer, { status: 401, code, param }, what);

test('a required header that is missing or empty is named', async () => {
  for (const name of ['Authorization', 'X-Service-Timestamp', 'X-Service-Nonce', 'X-Service-Signature']) {
    for (const value of [null, '']) {
      unauthorized(await create({ headers: { [name]: value } }), 'missing_header', `${name}: ${value}`, name);
    }
  }
});

test('an unusable Authorization header is an invalid key', async () => {
  const { apiKey } = api.testKey;
  const revoked = await api.addKey(api.merchantId, 'test');
  await api
    .database()
    .keys.revoke(revoked.id, { atMs: clock.nowMs(), operator: 'alice', command: 'key revoke', reason: null });
  const rows = [
    apiKey,
    `Basic ${apiKey}`,
    `Bearer${apiKey}`,
    'Bearer',
    `Bearer ${apiKey} ${apiKey}`,
    `Bearer ${apiKey}x`,
    `Bearer ${apiKey.slice(0, -1)}`,
    `Bearer sk_test_${'0'.repeat(32)}`,
    `Bearer ${apiKey.replace('sk_test_', 'sk_live_')}`,
    `Bearer ${apiKey.replace('sk_test_', 'sk_other_')}`,
    `Bearer ${apiKey.toUpperCase()}`,
    `Bearer ${revoked.apiKey}`,
  ];
  for (const value of rows) {
    unauthorized(await create({ headers: { Authorization: value } }), 'invalid_api_key', value);
  }
  unauthorized(await create({}, revoked), 'invalid_api_key', 'revoked');
});

test('the scheme Bearer may be in any case', async () => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    const answer = await create({ headers: { Authorization: `${scheme} ${api.testKey.apiKey}` } });
    assert.is(answer.status, 200, answer.text);
  }
});

test('a timestamp is accepted up to exactly 300 seconds before and after', async () => {
  clock.advance(999);
  for (const offset of [-300, -299, 0, 299, 300]) {
    const answer = await create({ timestamp: String(clock.nowS() + offset) });
    assert.is(answer.status, 200, `${offset} ${answer.text}`);
  }
});

test('a timestamp outside that window, or not an integer, is refused with the server time', async () => {
  const now = clock.nowS();
  const rows = [
    now - 301,
    now + 301,
    0,
    -now,
    now * 1000,
    `${now}.5`,
    `${now}.0`,
    'now',
    `0x${now.toString(16)}`,
    '1e9',
    'NaN',
  ];
  for (const timestamp of rows) {
    const body = unauthorized(await create({ timestamp: String(timestamp) }), 'timestamp_out_of_range', `${timestamp}`);
    assert.is(body.error.server_time, now);
  }
});

test('a signature that does not match is refused', async () => {
  const secret = api.testKey.apiSecret;
  const timestamp = String(clock.nowS());
  const nonce = 'a-nonce-of-signature-tests';
  const body = JSON.stringify(order());
  const right = signature(secret, timestamp, nonce, body);
  const rows: Record<string, string> = {
    'another secret': signature('ss_other', timestamp, nonce, body),
    'another body': signature(secret, timestamp, nonce, `${body} `),
    'another nonce': signature(secret, timestamp, `${nonce}x`, body),
    'another time': signature(secret, String(clock.nowS() + 1), nonce, body),
    'no body': signature(secret, timestamp, nonce, ''),
    'a digit less': right.slice(1),
    'a digit more': `${right}0`,
    'not hex': `${right.slice(0, -1)}g`,
    'one bit': `${right.slice(0, -1)}${right.endsWith('0') ? '1' : '0'}`,
    'hex with a prefix': `0x${right}`,
    base64: Buffer.from(right, 'hex').toString('base64'),
  };
  for (const [what, value] of Object.entries(rows)) {
    const headers = { 'X-Service-Signature': value };
    unauthorized(await api.send('POST', CREATE, body, { timestamp, nonce, headers }), 'invalid_signature', what);
  }
  // None of them used up the nonce. Hex may be in either case.
  const headers = { 'X-Service-Signature': right.toUpperCase() };
  assert.is((await api.send('POST', CREATE, body, { timestamp, nonce, headers })).status, 200);
});

test('a GET with a body is signed as if it had none', async () => {
  expectError(await api.send('GET', UNKNOWN, '{"a":1}'), { status: 404, code: 'session_not_found' });
});

test('a nonce has 8 to 128 visible ASCII characters and no dot', async () => {
  const rows = [
    '1234567',
    'x'.repeat(129),
    'with a blank',
    'with.a.dot',
    '........',
    'größer-als-ascii',
    'tab\tinside',
  ];
  for (const nonce of rows) {
    // Header bytes are Latin-1; the signature is over the same characters.
    unauthorized(await create({ nonce }), 'invalid_nonce', nonce);
  }
  for (const nonce of ['8letters', 'y'.repeat(128), '!"#$%&/()=~']) {
    assert.is((await create({ nonce })).status, 200, nonce);
  }
});

test('a request uses up its nonce, for its key only, even if it fails later', async () => {
  const nonce = 'nonce-used-once';
  assert.is((await create({ nonce })).status, 200);
  unauthorized(await create({ nonce }), 'nonce_reused', 'again');
  unauthorized(await api.send('GET', UNKNOWN, '', { nonce }), 'nonce_reused', 'another endpoint');
  const other = await api.addKey(api.merchantId, 'test');
  assert.is((await create({ nonce }, other)).status, 200, 'another key');

  const failing = 'nonce-of-a-bad-body';
  expectError(await api.send('POST', CREATE, '{', { nonce: failing }), { status: 400, code: 'invalid_json' });
  unauthorized(await create({ nonce: failing }), 'nonce_reused', 'after a bad body');
});

test('a request from the future cannot be repeated while its timestamp is valid', async () => {
  const timestamp = String(clock.nowS() + 300);
  const nonce = 'nonce-from-the-future';
  assert.is((await create({ timestamp, nonce })).status, 200);
  clock.advance(600_999 - (clock.nowMs() % 1000));
  assert.is(clock.nowS() - Number(timestamp), 300);
  unauthorized(await create({ timestamp, nonce }), 'nonce_reused', 'at the end of its window');
  clock.advance(1000);
  unauthorized(await create({ timestamp, nonce }), 'timestamp_out_of_range', 'after its window');
  await api.follow();
});

test('the merchant id is optional, must match, and is checked after the nonce is used up', async () => {
  for (const fit of [api.merchantId, '']) {
    assert.is((await create({ headers: { 'X-Merchant-Id': fit } })).status, 200);
  }
  const nonce = 'nonce-of-a-wrong-merchant';
  for (const wrong of ['mer_other', api.merchantId.toUpperCase()]) {
    const answer = await create({ nonce: `${nonce}-${wrong.length}`, headers: { 'X-Merchant-Id': wrong } });
    expectError(answer, { status: 403, code: 'FORBIDDEN', param: 'X-Merchant-Id' }, wrong);
  }
  unauthorized(await create({ nonce: `${nonce}-9` }), 'nonce_reused', 'after the mismatch');
});

test('errors come in the documented order', async () => {
  const spent = 'nonce-already-spent';
  assert.is((await create({ nonce: spent })).status, 200);
  const wrong: readonly (readonly [code: string, bend: Bend])[] = [
    ['missing_header', { headers: { 'X-Service-Signature': null } }],
    ['invalid_api_key', { headers: { Authorization: `Bearer sk_test_${'z'.repeat(32)}` } }],
    ['timestamp_out_of_range', { timestamp: String(clock.nowS() - 1000) }],
    ['invalid_signature', { secret: 'no' }],
    ['nonce_reused', { nonce: spent }],
    ['FORBIDDEN', { headers: { 'X-Merchant-Id': 'mer_other' } }],
  ];
  for (const [at, [code]] of wrong.entries()) {
    const left = wrong.slice(at).map(([, bend]) => bend);
    const bend = Object.assign({}, ...left, { headers: Object.assign({}, ...left.map(({ headers }) => headers)) });
    const status = code === 'FORBIDDEN' ? 403 : 401;
    expectError(await api.send('POST', CREATE, '{not json', bend), { status, code }, code);
  }
});

const scopeOf: Readonly<Record<string, Scope>> = {
  'get /api/v1/account': 'sessions:read',
  'post /api/v1/checkout/quotes': 'sessions:read',
  'post /api/v1/checkout/sessions/create': 'sessions:write',
  'get /api/v1/checkout/sessions': 'sessions:read',
  'get /api/v1/checkout/sessions/{session_id}': 'sessions:read',
  'post /api/v1/checkout/sessions/{session_id}/cancel': 'sessions:write',
  'post /v1/payment/sessions': 'sessions:write',
  'get /v1/payment/sessions/{session_id}': 'sessions:read',
  'post /api/v1/refunds/create': 'refunds:write',
  'get /api/v1/refunds': 'refunds:read',
  'get /api/v1/refunds/{refund_id}': 'refunds:read',
  'post /api/v1/refunds/{refund_id}/cancel': 'refunds:write',
  'post /api/v1/refunds/{refund_id}/destination': 'refunds:write',
  'get /api/v1/events': 'sessions:read',
  'get /api/v1/events/{event_id}': 'sessions:read',
  'post /api/v1/webhook_endpoints': 'webhooks:write',
  'get /api/v1/webhook_endpoints': 'webhooks:write',
  'delete /api/v1/webhook_endpoints/{endpoint_id}': 'webhooks:write',
};

test('a key can do only what its scopes allow', async () => {
  const served = apiEndpoints({} as Parameters<typeof apiEndpoints>[0]);
  assert.equal(served.map(({ method, path }) => `${method} ${path}`).sort(), Object.keys(scopeOf).sort());
  for (const [call, scope] of Object.entries(scopeOf)) {
    const [method = '', path = ''] = call.split(' ');
    const others = scopes.filter((one) => one !== scope);
    const answerOf = async (granted: readonly Scope[]) =>
      api
        .client(await api.addKey(api.merchantId, 'test', granted))
        .send(method.toUpperCase(), path.replace(/\{\w+\}/, 'x'));
    expectError(await answerOf(others), { status: 403, code: 'insufficient_scope', param: null }, call);
    assert.is.not((await answerOf([scope])).status, 403, call);
  }
});

test('a store without approval gets store_not_approved', async () => {
  const key = await api.addKey(await api.addMerchant('pending'), 'test');
  expectError(await create({}, key), { status: 403, code: 'store_not_approved', param: null });
  await api.database().stores.decide(key.storeId, 'approve', operator);
  assert.is((await create({}, key)).status, 200);
});

// ── The second signature, which covers method, path and query: checked if sent, and required if set ──────────────────

const HEADER = 'X-Service-Request-Signature';
const body = JSON.stringify({ amount: 100, currency: 'USD', order_id: 'a' });

/** Written from the reference: each part is followed by a line feed, then comes the body. */
const signed = (secret: string, parts: readonly string[], text: string): string =>
  createHmac('sha256', secret)
    .update(parts.map((part) => `${part}\n`).join('') + text)
    .digest('hex');

let sent = 0;
/** Returns a client's request with this method, path and body. */
function bendFor(api: ApiServer, method: string, target: string, text = ''): Bend {
  const [timestamp, nonce] = [String(Math.floor(api.clock.nowMs() / 1000)), `nonce-number-${sent++}`];
  const value = signed(api.testKey.apiSecret, [timestamp, nonce, method, target], text);
  return { timestamp, nonce, headers: { [HEADER]: value } };
}
const wrong = { status: 401, code: 'invalid_signature', param: HEADER } as const;

test('a request may carry it, and then it must fit method, path, query and body', () =>
  withApi({}, async (api) => {
    assert.is((await api.send('POST', CREATE, body, bendFor(api, 'POST', CREATE, body))).status, 200);
    assert.is((await api.send('POST', CREATE, body)).status, 200, 'clients of the document send none');
    const id = (await api.send('POST', CREATE, body)).text.match(/cs_[0-9a-z]+/)?.[0];
    const read = `/api/v1/checkout/sessions/${id}`;
    assert.is((await api.send('GET', `${read}?a=1`, '', bendFor(api, 'GET', `${read}?a=1`))).status, 200);
    for (const [method, target] of [
      ['POST', read],
      ['GET', `${read}?a=2`],
      ['GET', read],
      ['GET', CREATE],
    ] as const) {
      expectError(await api.send('GET', `${read}?a=1`, '', bendFor(api, method, target)), wrong, `${method} ${target}`);
    }
    expectError(await api.send('POST', CREATE, body, bendFor(api, 'POST', CREATE, `${body} `)), wrong);
    expectError(await api.send('POST', CREATE, body, { headers: { [HEADER]: '' } }), wrong);
  }));

test('a signed read cannot be sent again as a cancel of the session', () =>
  withApi({ requestSignature: 'required' }, async (api) => {
    const create = await api.send('POST', CREATE, body, bendFor(api, 'POST', CREATE, body));
    const read = `/api/v1/checkout/sessions/${create.text.match(/cs_[0-9a-z]+/)?.[0]}`;
    const overheard = bendFor(api, 'GET', read);
    expectError(await api.send('POST', `${read}/cancel`, '', overheard), wrong);
    const bare = { ...overheard, headers: { [HEADER]: null } };
    expectError(await api.send('POST', `${read}/cancel`, '', bare), {
      status: 401,
      code: 'missing_header',
      param: HEADER,
    });
    // The attempts used up no nonce.
    const answer = await api.send('GET', read, '', overheard);
    assert.is(answer.status, 200);
    assert.match(answer.text, '"pending"');
  }));

test.after(() => api.close());
test.run();
