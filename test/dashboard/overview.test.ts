/** A store at a glance: set-up, money by day, what needs somebody, and health in words. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { issueEndpoint } from '../../src/app/new-credentials.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { type Visitor, withDashboard } from '../support/dashboard.ts';

const textOf = (html: string): string =>
  html
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Returns the fields of the store's form as they are. */
async function storeForm(visitor: Visitor, base: string): Promise<Record<string, string>> {
  const { text } = await visitor.get(`${base}/store`);
  const [form = ''] = text.match(/<form method="post" action="[^"]*\/store"[\s\S]*?<\/form>/) ?? [];
  const inputs = [...form.matchAll(/<label>[^<]*<input name="([^"]*)" value="([^"]*)"/g)];
  const selects = [...form.matchAll(/<select name="([^"]*)">[\s\S]*?<option value="([^"]*)" selected/g)];
  return Object.fromEntries([...inputs, ...selects].map(([, name = '', value = '']) => [name, value]));
}

test('a new store sees what is missing; then its money by day, held money, and health', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const owner = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    const home = await owner.get('/');
    assert.is(home.headers.get('location'), `/s/${api.merchantId}/live/overview`);
    const page = async () => textOf((await owner.get(`/s/${api.merchantId}/test/overview`)).text);
    const before = await page();
    assert.match(before, /Before your first live payment: \d of 8 left/);
    assert.match(before, /to do A test payment came through/);
    assert.match(before, /to do A webhook arrived at your shop Add an endpoint/);
    assert.match(before, 'done The store is approved');
    assert.match(before, 'What needs you nothing');
    assert.match(before, 'No payment was credited in these days.');
    assert.match(before, 'There is no endpoint: your shop is told nothing');

    const pay = async (orderId: string, units: bigint) => {
      const order = { amount: 1050, currency: 'USD', order_id: orderId };
      const { json } = await api.client(api.testKey).send('POST', '/api/v1/checkout/sessions/create', order);
      const session = await api.database().findSession(String((json as { id?: string }).id));
      const chain = api.chain('ethereum', 'test');
      await chain.confirm(await chain.mine([{ to: session?.addresses.evm ?? '', currency: 'USDT', units }]));
    };
    await pay('first', 10_500_000n);
    await pay('second', 12_500_000n);
    const endpoint = issueEndpoint(api.merchantId, 'test', 'https://shop.example/', [], api.clock.nowMs());
    await api.database().addEndpoint(endpoint);
    await api.database().enableEndpoint(endpoint.id, false, 'moved', api.clock.nowMs());
    const after = await page();
    assert.match(after, 'done A test payment came through');
    assert.match(after, '23.00 in 2 transfers');
    assert.match(after, '23.00 USDT on ethereum');
    const today = new Date(api.clock.nowMs()).toISOString().slice(0, 10);
    assert.match(after, `${today} 23.00 2 –`);
    assert.match(after, '1 held amount waits for a decision');
    assert.ok((await api.database().listAlarms(10)).some(({ code }) => code === 'money_surplus'));
    assert.not.match(after, 'It counts for nothing');
    assert.match(after, /disabled https:\/\/shop.example\/ since .*: moved \. Its events wait./);
    const live = textOf((await owner.get(`/s/${api.merchantId}/live/overview`)).text);
    assert.match(live, 'No payment was credited in these days.');
  }));

test('days beyond the last thirty are not shown, and days without money are drawn as such', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const owner = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    const order = { amount: 700, currency: 'USD', order_id: 'one' };
    const { json } = await api.client(api.testKey).send('POST', '/api/v1/checkout/sessions/create', order);
    const session = await api.database().findSession(String((json as { id?: string }).id));
    const chain = api.chain('ethereum', 'test');
    const coin = { to: session?.addresses.evm ?? '', currency: 'USDT', units: 7_000_000n } as const;
    await chain.confirm(await chain.mine([coin]));
    const { text } = await owner.get(`/s/${api.merchantId}/test/overview`);
    assert.is(text.match(/<rect /g)?.length, 1);
    assert.ok(Buffer.byteLength(text) < 60_000);
    api.clock.advance(31 * DAY_MS);
    const later = await dashboard.person('Bob', { role: 'owner', storeId: api.merchantId });
    const after = textOf((await later.get(`/s/${api.merchantId}/test/overview`)).text);
    assert.match(after, 'No payment was credited in these days.');
    assert.match(after, 'done A test payment came through');
    assert.match(after, /not followed .*its indexer has reported nothing for \d+ s/);
  }));

test('days and times are those of the store’s zone, or of the person’s own', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const base = `/s/${api.merchantId}/test`;
    // 20:00 UTC is the next day in Kolkata (+5:30).
    const day = new Date(api.clock.nowMs() + DAY_MS).toISOString().slice(0, 10);
    api.clock.advance(Date.parse(`${day}T20:00:00Z`) - api.clock.nowMs());
    const owner = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    const chain = api.chain('ethereum', 'test');
    await chain.report('following');
    const order = { amount: 700, currency: 'USD', order_id: 'one' };
    const { json } = await api.client(api.testKey).send('POST', '/api/v1/checkout/sessions/create', order);
    const session = await api.database().findSession(String((json as { id?: string }).id));
    const coin = { to: session?.addresses.evm ?? '', currency: 'USDT', units: 7_000_000n } as const;
    await chain.confirm(await chain.mine([coin]));
    const next = new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10);
    const shown = async (path: string) => textOf((await owner.get(base + path)).text);
    assert.match(await shown('/overview'), `${day} 7.00 1 –`);
    assert.match(await shown('/payments'), `${day} 20:00:`);
    assert.match(await shown('/payments'), 'Times in UTC');

    const saved = await owner.submit(`${base}/store`, `${base}/store`, {
      ...(await storeForm(owner, base)),
      zone: 'Asia/Kolkata',
    });
    assert.match(saved.text, 'Save the policy?');
    const hidden = [...saved.text.matchAll(/<input type="hidden" name="([^"]*)"[^>]* value="([^"]*)"/g)];
    await owner.post(`${base}/store`, Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value])));
    assert.match(await shown('/overview'), `${next} 7.00 1 –`);
    assert.match(await shown('/payments'), `${next} 01:30:`);
    assert.match(await shown('/payments'), 'Times in Asia/Kolkata');
    assert.match(await shown(`/payments?from=${next}&to=${next}`), `${next} 01:30:`);
    assert.match(await shown(`/payments?to=${day}`), 'No payment matches');

    const wrong = await owner.submit('/account', '/account/zone', { zone: 'Mars/Olympus' });
    assert.is(wrong.status, 400);
    assert.match(textOf(wrong.text), '“Mars/Olympus” is no time zone');
    await owner.submit('/account', '/account/zone', { zone: 'America/New_York' });
    assert.match(await shown('/overview'), `${day} 7.00 1 –`);
    assert.match(await shown('/payments'), /Times in America\/New_York.*15:00:/);
    const [entry] = await api.database().listAudit(1);
    assert.equal([entry?.command, entry?.after], ['set time zone', { zone: 'America/New_York' }]);
  }));

test.run();
