/** Webhooks in the dashboard, over real HTTP, with an endpoint that answers on loopback. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { confirm, type Dashboard, type Visitor, withDashboard } from '../support/dashboard.ts';
import { column, have } from '../support/fields.ts';
import { type MerchantServer, startMerchantServer } from '../support/merchant-server.ts';
import { openSale, paidSale, pass } from '../support/payment-scenes.ts';
import { factsOf, fieldsOf, hasForm, rowsOf, stepsOf, titleOf } from '../support/read-page.ts';
import { answerDue } from '../support/record-attempt.ts';

type Shop = Dashboard & Readonly<{ ada: Visitor; base: string; received: MerchantServer['received'] }>;

/** A store’s owner, and a server that answers every event with 500 and markup. */
async function withShop(work: (shop: Shop, hook: string) => Promise<void>): Promise<void> {
  const server = await startMerchantServer((response) =>
    response.writeHead(500).end('<script>alert(1)</script>\u0007'),
  );
  try {
    await withDashboard(async (dashboard) => {
      const ada = await dashboard.person('Ada', { role: 'owner', storeId: dashboard.api.merchantId });
      const base = `/s/${dashboard.api.merchantId}/test/webhooks`;
      await work({ ...dashboard, ada, base, received: server.received }, `${server.origin}/hook`);
    });
  } finally {
    await server.close();
  }
}

/** Adds an endpoint by the form. @returns its page’s path, its id and its secret */
async function addEndpoint({ ada, base, api }: Shop, url: string) {
  const review = await ada.submit(base, base, { url, 'payment.detected': 'on' });
  assert.is(review.status, 200, review.text);
  const made = await confirm(ada, base, review);
  const all = await api.database().endpoints.list(api.merchantId);
  have(all, [{ url, mode: 'test', extendedEvents: ['payment.detected'] }]);
  const id = all[0]?.id ?? '';
  return { id, path: `${base}/${id}`, secret: factsOf(made.text).Secret ?? '' };
}

test('an endpoint is added once with a secret shown once, and a test event reaches it signed', () =>
  withShop(async (shop, hook) => {
    const { ada, base, api, received } = shop;
    const bad = await ada.submit(base, base, { url: 'http://10.0.0.7/hook' });
    assert.is(bad.status, 400);
    const { path, secret, id } = await addEndpoint(shop, hook);
    assert.not.match((await ada.get(path)).text, secret);
    const stored = await api.database().endpoints.findSecret(id, 'test');
    assert.is(stored?.secret, secret);
    const result = await ada.submit(path, `${path}/test`);
    const { State, Answer: status, 'It said': said } = factsOf(result.text);
    assert.equal(
      { State, status, said },
      { State: 'not delivered', status: '500', said: '&lt;script&gt;alert(1)&lt;/script&gt;' },
    );
    assert.is(received.length, 1);
    assert.match(received[0]?.body ?? '', '"webhook.test"');
    assert.ok(received[0]?.headers['webhook-signature']);
  }));

test('a secret is rotated, and the next one is shown once', () =>
  withShop(async (shop, hook) => {
    const { ada, api } = shop;
    const { path, id, secret } = await addEndpoint(shop, hook);
    const made = await confirm(ada, `${path}/secret`, await ada.submit(path, `${path}/secret`));
    const pair = await api.database().endpoints.findSecret(id, 'test');
    assert.equal([pair?.secret, pair?.nextSecret], [secret, factsOf(made.text).Secret]);
    const page = (await ada.get(path)).text;
    assert.not.match(page, pair?.nextSecret ?? '-');
    assert.is(fieldsOf(page, `${path}/secret`).rotate, 'finish');
  }));

test('events are changed, the endpoint disabled, enabled and removed', () =>
  withShop(async (shop, hook) => {
    const { ada, api, base } = shop;
    const { path } = await addEndpoint(shop, hook);
    const now = async () => (await api.database().endpoints.list(api.merchantId))[0];
    const change = `${path}/change`;
    await ada.submit(path, change, { 'refund.processing': 'on', state: 'on' });
    assert.equal((await now())?.extendedEvents, ['refund.processing']);
    await confirm(ada, change, await ada.submit(path, change, { 'refund.processing': 'on', state: 'off' }));
    assert.is((await now())?.disabledReason, 'disabled by Ada (dashboard)');
    await confirm(ada, change, await ada.submit(path, change, { 'refund.processing': 'on', state: 'on' }));
    assert.is((await now())?.disabledAtMs, null);
    const remove = await ada.submit(path, `${path}/remove`);
    assert.ok(await now());
    assert.is((await confirm(ada, `${path}/remove`, remove)).status, 303);
    assert.is(await now(), undefined);
    assert.equal(rowsOf((await ada.get(base)).text, 'Endpoints'), []);
  }));

test('a delivery shows its attempts and body escaped, and is sent again; failed ones are recovered', () =>
  withShop(async (shop, hook) => {
    const { api, base } = shop;
    const { path, id } = await addEndpoint(shop, hook);
    const sale = await openSale(api, { order_id: '<b>&7' });
    await pass(api, 3700);
    // The first session has ended meanwhile.
    const ada = await shop.person('Bob', { role: 'owner', storeId: api.merchantId });
    const [delivery] = await api.database().deliveries.list({ sessionId: sale.id, limit: 1 });
    assert.is(delivery?.eventType, 'payment.expired');
    const nowMs = api.clock.nowMs();
    const refused = { status: 404, responseExcerpt: '<i>gone</i>\u0000' };
    await answerDue(api.database(), nowMs, refused, { kind: 'failed' });
    const page = `${base}/deliveries/${delivery?.id}`;
    const { text } = await ada.get(page);
    assert.is(rowsOf(text, 'Attempts')[0]?.Answer, '&lt;i&gt;gone&lt;/i&gt;');
    assert.ok(text.includes('&quot;&lt;b&gt;&amp;7&quot;') && !text.includes('<b>'), 'the body is escaped');
    const recover = await ada.submit(path, `${base}/resend`, { since: '24h' });
    assert.is(titleOf(recover.text), 'Send 1 delivery again?');
    assert.is((await confirm(ada, `${base}/resend`, recover, { since: '24h' })).status, 303);
    const sent = await api.database().deliveries.list({ limit: 9 });
    assert.equal(
      column(
        sent.filter(({ endpointId }) => endpointId === id),
        'state',
      ),
      ['waiting'],
    );
    const resent = await ada.submit(page, `${base}/resend`);
    assert.is(resent.status, 303);
  }));

test('an endpoint that fails is not “enabled”, is what needs the owner, and its deliveries say what it answered', () =>
  withShop(async (shop, hook) => {
    const { api, base, ada } = shop;
    const { path, id } = await addEndpoint(shop, hook);
    await paidSale(api);
    const overview = base.replace('/webhooks', '/overview');
    assert.is(rowsOf((await ada.get(base)).text, 'Endpoints')[0]?.State, 'enabled');
    assert.equal(
      stepsOf((await ada.get(overview)).text).filter((line) => line.includes(hook)),
      [],
    );
    const nowMs = api.clock.nowMs();
    await answerDue(api.database(), nowMs, { status: 500 }, { kind: 'retry', atMs: nowMs + 60_000 });

    const list = (await ada.get(base)).text;
    assert.match(rowsOf(list, 'Endpoints')[0]?.State ?? '', /^failing nothing accepted since/);
    const [{ Endpoint, Tries, State, 'Last answer': answer } = {}] = rowsOf(list, 'Deliveries');
    assert.equal([Endpoint, Tries, answer, State], [hook, '1', '500', 'failed, tried again']);
    assert.match((await ada.get(path)).text, `href="${base}?endpoint=${id}"`);
    const needs = (await ada.get(overview)).text;
    const [needed = ''] = stepsOf(needs).filter((line) => line.includes(hook));
    assert.match(needed, /^waits .* has accepted nothing since/);
    assert.match(needs, `${base}/${id}`);
    const ida = await shop.person('Ida', { role: 'accountant', storeId: api.merchantId });
    assert.not.match((await ida.get(overview)).text, `href="${base}`, 'no link that is closed to her');
  }));

test('deliveries are filtered in the address', () =>
  withShop(async (shop, hook) => {
    const { api, base } = shop;
    const { id } = await addEndpoint(shop, hook);
    await openSale(api);
    const [endpoint] = await api.database().endpoints.list(api.merchantId);
    assert.ok(endpoint);
    await api.database().endpoints.add({ ...endpoint, id: `${id}a`, url: `${hook}/a` });
    await pass(api, 3700);
    const ada = await shop.person('Bob', { role: 'owner', storeId: api.merchantId });
    await answerDue(api.database(), api.clock.nowMs(), { status: 404 }, { kind: 'failed' });
    const shown = async (query: string) =>
      rowsOf((await ada.get(`${base}?${query}`)).text, 'Deliveries').map(({ Endpoint }) => Endpoint);
    assert.equal((await shown('state=failed')).sort(), [hook, `${hook}/a`]);
    assert.equal(await shown(`endpoint=${id}&state=failed`), [hook]);
    assert.equal(await shown('state=delivered'), []);
    await api.database().endpoints.remove(`${id}a`);
    assert.ok((await shown('')).includes(`${hook}/a`), 'what was sent to a removed endpoint names it');
    assert.is((await shown('endpoint=ep_other&state=x')).length, 2, 'what is none is left out');
  }));

test('a door is listed, and switched off as an endpoint is; it has no test event and shows no key', () =>
  withShop(async ({ ada, base, api }) => {
    const key = 'DoorKey'.padEnd(32, '0');
    await api.database().doors.add(
      {
        id: 'we_door',
        storeId: api.merchantId,
        mode: 'test',
        dialect: 'epay',
        key,
        createdAtMs: 1,
        settings: { currency: 'USD', takesRefunds: false, algorithm: 'md5' },
        urlOf: (pid) => `https://pay.example/${pid}/`,
      },
      { atMs: 1, operator: 'test', command: 'door add', reason: null },
    );
    assert.is(rowsOf((await ada.get(base)).text, 'Endpoints')[0]?.URL, 'https://pay.example/1001/');
    const page = (await ada.get(`${base}/we_door`)).text;
    assert.is(factsOf(page).Events, 'payment.completed (epay 1001)');
    const has = (act: string) => hasForm(page, `${base}/we_door/${act}`);
    assert.equal(['change', 'test', 'secret'].map(has), [true, false, false]);
    assert.not.match(page, key);
  }));

test.run();
