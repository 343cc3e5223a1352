/** Keys that expire, keys that may be used from some addresses only, and when a key was last used. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ApiServer, type TestKey, withApi } from '../support/api-server.ts';
import type { Bend } from '../support/signed-client.ts';
import { expectError } from './expect-error.ts';

const PATH = '/api/v1/checkout/sessions/cs_00000000000000000000000000';
const get = (api: ApiServer, key: TestKey, bend: Bend = {}) => api.client(key).send('GET', PATH, '', bend);
const through = (address: string): Bend => ({ headers: { 'X-Forwarded-For': address } });
const scopes = ['sessions:read'] as const;

test('an expired key is answered like an unknown one, from its last moment on', async () =>
  withApi({}, async (api) => {
    const expiresAtMs = api.clock.nowMs() + 60_000;
    const key = await api.addKey(api.merchantId, 'test', scopes, { expiresAtMs });
    assert.is((await get(api, key)).status, 404, 'the key works, and there is no such session');
    api.clock.advance(59_999);
    assert.is((await get(api, key)).status, 404);
    api.clock.advance(1);
    const expired = await get(api, key);
    expectError(expired, { status: 401, code: 'invalid_api_key', param: null });
    const unknown = await get(api, { ...key, apiKey: `sk_test_${'0'.repeat(32)}` });
    const words = (answer: typeof expired) => (answer.json as { error: { message: string } }).error.message;
    assert.is(words(expired), words(unknown), 'a stranger cannot tell them apart');
    assert.match(
      api.logged(),
      new RegExp(`"keyId":"${key.id}","route":.*"keyRefused":"expired"|"keyRefused":"expired"`),
    );
  }));

test('a key with ranges works from these addresses only, as the trusted proxy names them', async () =>
  withApi({ trustedProxies: ['127.0.0.0/8'] }, async (api) => {
    const sources = ['203.0.113.0/24', '2001:db8::/32'];
    const key = await api.addKey(api.merchantId, 'test', scopes, { sources });
    for (const address of ['203.0.113.0', '203.0.113.255', '2001:db8:1::9', '::ffff:203.0.113.9']) {
      assert.is((await get(api, key, through(address))).status, 404, address);
    }
    const refused = ['203.0.112.255', '203.0.114.0', '2001:db9::1', '::203.0.113.9', '203.0.113.7, 198.51.100.1', 'x'];
    for (const address of refused) {
      expectError(await get(api, key, through(address)), { status: 401, code: 'invalid_api_key' }, address);
    }
    expectError(await get(api, key), { status: 401, code: 'invalid_api_key' }, 'loopback itself');
    assert.match(api.logged(), /"keyRefused":"source_not_allowed"/);
  }));

test('a client cannot name its own address where no proxy is trusted', async () =>
  withApi({ trustedProxies: ['10.0.0.0/8'] }, async (api) => {
    const remote = await api.addKey(api.merchantId, 'test', scopes, { sources: ['203.0.113.0/24'] });
    expectError(await get(api, remote, through('203.0.113.5')), { status: 401, code: 'invalid_api_key' });
    const local = await api.addKey(api.merchantId, 'test', scopes, { sources: ['127.0.0.1/32'] });
    assert.is((await get(api, local, through('203.0.113.5'))).status, 404);
  }));

test.run();
