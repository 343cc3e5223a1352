/** Webhooks in the dashboard, over real HTTP, with an endpoint that answers on loopback. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, confirm, type Dashboard, type Visitor, withDashboard } from '../support/dashboard.ts';
import { freePort } from '../support/free-port.ts';
import { confirmTip, openSale, pass } from '../support/payment-scenes.ts';
import { nextOf, rowsOf, stepsOf } from '../support/read-page.ts';
import { answerDue, claimDue, recordAttempt } from '../support/record-attempt.ts';

type Received = Readonly<{ headers: Record<string, unknown>; body: string }>;
type Shop = Dashboard & Readonly<{ ada: Visitor; base: string; url: string; received: Received[] }>;

/** A store’s owner, and a server that answers every event with 500 and markup. */
async function withShop(work: (shop: Shop, hook: string) => Promise<void>): Promise<void> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(parts).toString() });
      response.statusCode = 500;
      response.end('<script>alert(1)</script>\u0007');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await withDashboard(async (dashboard) => {
      const ada = await dashboard.person('Ada', { role: 'owner', storeId: dashboard.api.merchantId });
      const base = `/s/${dashboard.api.merchantId}/test/webhooks`;
      await work(
        { ...dashboard, ada, base, received },
        `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
      );
    });
  } finally {
    server.close();
  }
}

/** Adds an endpoint by the form. @returns its page’s path, its id and its secret */
async function addEndpoint({ ada, base, api }: Shop, url: string) {
  const review = await ada.submit(base, base, { url, 'payment.detected': 'on' });
  assert.is(review.status, 200, review.text);
  assert.match(review.text, 'payment.detected</bdi>');
  const clicks = await Promise.all([1, 2, 3].map(() => confirm(ada, base, review)));
  const secrets = new Set(clicks.map(({ text }) => /<code[^>]*>(whsec_[^<]+)<\/code>/.exec(text)?.[1]));
  assert.is(secrets.size, 1);
  api.clock.advance(60_000);
  assert.is((await confirm(ada, base, review)).status, 303, 'much later it is not shown again');
  const all = await api.database().endpoints.list(api.merchantId);
  assert.equal(
    all.map((one) => [one.url, one.mode, one.extendedEvents]),
    [[url, 'test', ['payment.detected']]],
  );
  const id = all[0]?.id ?? '';
  return { id, path: `${base}/${id}`, secret: [...secrets][0] ?? '' };
}

test('an endpoint is added once with a secret shown once, and a test event reaches it signed', () =>
  withShop(async (shop, hook) => {
    const { ada, base, api, received } = shop;
    for (const bad of ['http://10.0.0.7/hook', 'ftp://shop.example/', 'nonsense']) {
      assert.is((await ada.submit(base, base, { url: bad })).status, 400, bad);
    }
    const { path, secret, id } = await addEndpoint(shop, hook);
    assert.not.match((await ada.get(path)).text, secret);
    const stored = await api.database().endpoints.findSecret(id, 'test');
    assert.is(stored?.secret.replaceAll('+', '+'), secret.replaceAll('&#43;', '+'));
    const result = await ada.submit(path, `${path}/test`);
    assert.match(result.text, 'not delivered');
    assert.match(result.text, 'The endpoint answered <bdi>500</bdi>, not 2xx');
    assert.match(result.text, '&lt;script&gt;');
    assert.not.match(result.text, '<script>');
    assert.not.match(result.text, '\u0007');
    assert.is(received.length, 1);
    assert.match(received[0]?.body ?? '', '"webhook.test"');
    assert.ok(received[0]?.headers['webhook-signature']);
    const [entry] = await api.database().audit.list(1);
    assert.equal([entry?.operator, entry?.command, entry?.after], ['Ada (dashboard)', 'webhook test', { answer: 500 }]);
  }));

test('a test event that reaches nobody says what that means and what to do next', () =>
  withShop(async (shop) => {
    const { path } = await addEndpoint(shop, `http://127.0.0.1:${await freePort()}/hook`);
    const { text } = await shop.ada.submit(path, `${path}/test`);
    assert.match(text, 'check that your shop runs');
    assert.match(text, 'ECONNREFUSED');
    assert.not.match(text, '<bdi>connect</bdi>');
  }));

test('a secret is rotated with both valid, and each step is recorded', () =>
  withShop(async (shop, hook) => {
    const { ada, api } = shop;
    const { path, id, secret } = await addEndpoint(shop, hook);
    const start = await ada.submit(path, `${path}/secret`);
    const made = await confirm(ada, `${path}/secret`, start);
    const next = /<code[^>]*>(whsec_[^<]+)<\/code>/.exec(made.text)?.[1];
    const pair = await api.database().endpoints.findSecret(id, 'test');
    assert.equal([pair?.secret, pair?.nextSecret], [secret, next]);
    assert.not.match((await ada.get(path)).text, next ?? '-');
    const finish = await ada.submit(path, `${path}/secret`, { rotate: 'finish' });
    assert.is((await confirm(ada, `${path}/secret`, finish)).status, 303);
    const now = await api.database().endpoints.findSecret(id, 'test');
    assert.equal([now?.secret, now?.nextSecret], [next, null]);
    const commands = (await api.database().audit.list(2)).map(({ command }) => command);
    assert.equal(commands, ['webhook secret', 'webhook secret']);
  }));

test('events are changed, the endpoint disabled, enabled and removed, with the host typed', () =>
  withShop(async (shop, hook) => {
    const { ada, api, base } = shop;
    const { path } = await addEndpoint(shop, hook);
    const now = async () => (await api.database().endpoints.list(api.merchantId))[0];
    const change = `${path}/change`;
    await ada.submit(path, change, { 'refund.processing': 'on', state: 'on' });
    assert.equal((await now())?.extendedEvents, ['refund.processing']);
    const [entry] = await api.database().audit.list(1);
    assert.equal(
      [entry?.before, entry?.after],
      [{ extendedEvents: 'payment.detected' }, { extendedEvents: 'refund.processing' }],
    );
    await confirm(ada, change, await ada.submit(path, change, { 'refund.processing': 'on', state: 'off' }));
    assert.is((await now())?.disabledReason, 'disabled by Ada (dashboard)');
    await confirm(ada, change, await ada.submit(path, change, { 'refund.processing': 'on', state: 'on' }));
    assert.is((await now())?.disabledAtMs, null);
    const remove = await ada.submit(path, `${path}/remove`);
    assert.is((await confirm(ada, `${path}/remove`, remove, { typed: 'shop' })).status, 403);
    assert.ok(await now());
    assert.is((await confirm(ada, `${path}/remove`, remove, { typed: new URL(hook).host })).status, 303);
    assert.is(await now(), undefined);
    assert.match((await ada.get(base)).text, 'There is no endpoint in this mode');
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
    const { text, status } = await ada.get(page);
    assert.is(status, 200, text);
    assert.match(text, '&lt;i&gt;gone&lt;/i&gt;');
    assert.match(text, '&quot;&lt;b&gt;&amp;7&quot;');
    assert.not.match(text, '<b>');
    const recover = await ada.submit(path, `${base}/resend`, { since: '24h' });
    assert.match(recover.text, 'Send 1 delivery again?');
    assert.is((await ada.submit(path, `${base}/resend`, { since: 'x' })).status, 400);
    assert.is((await confirm(ada, `${base}/resend`, recover, { since: '24h' })).status, 303);
    const sent = await api.database().deliveries.list({ limit: 9 });
    assert.equal(
      sent.filter(({ endpointId }) => endpointId === id).map(({ state }) => state),
      ['waiting'],
    );
    const resent = await ada.submit(page, `${base}/resend`);
    assert.is(resent.status, 303);
    const commands = (await api.database().audit.list(2)).map(({ command }) => command);
    assert.equal(commands, ['webhook resend', 'webhook resend']);
  }));

test('an endpoint that fails is not “enabled”, is what needs the owner, and its deliveries say what it answered', () =>
  withShop(async (shop, hook) => {
    const { api, base, ada } = shop;
    const { path, id } = await addEndpoint(shop, hook);
    const sale = await openSale(api);
    await sale.send('10.50');
    await confirmTip(api);
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

test('deliveries are filtered in the address, page by page', () =>
  withShop(async (shop, hook) => {
    const { api, base } = shop;
    const { id } = await addEndpoint(shop, hook);
    for (let at = 0; at < 19; at++) await openSale(api);
    for (const more of ['a', 'b']) {
      const [endpoint] = await api.database().endpoints.list(api.merchantId);
      assert.ok(endpoint);
      await api.database().endpoints.add({ ...endpoint, id: `${id}${more}`, url: `${hook}/${more}` });
    }
    await pass(api, 3700);
    const ada = await shop.person('Bob', { role: 'owner', storeId: api.merchantId });
    const deliveries = await api.database().deliveries.list({ limit: 99 });
    assert.is(deliveries.length, 57);
    const accepted = deliveries.filter(({ endpointId }) => endpointId === id).slice(-5);
    const refused = deliveries.filter((one) => !accepted.includes(one));
    const nowMs = api.clock.nowMs();
    for (const one of await claimDue(api.database(), nowMs)) {
      const isAccepted = accepted.some(({ id }) => id === one.id);
      const attempt = { startedAtMs: nowMs, status: isAccepted ? 204 : 404 };
      await recordAttempt(api.database(), one, attempt, { kind: isAccepted ? 'delivered' : 'failed' });
    }
    const idsOf = ({ text }: Answer) => [...text.matchAll(/deliveries\/(dlv_[^"/]+)"/g)].map(([, one]) => one);
    const sorted = (all: readonly { id: string }[]) => all.map((one) => one.id).sort();
    const first = await ada.get(`${base}?state=failed`);
    const older = nextOf(first.text) ?? '';
    assert.match(older, 'state=failed', 'the next page keeps the filter');
    const second = await ada.get(older);
    assert.equal([idsOf(first).length, idsOf(second).length], [50, 2]);
    assert.equal([...idsOf(first), ...idsOf(second)].sort(), sorted(refused));
    const own = refused.filter(({ endpointId }) => endpointId === id);
    assert.equal(idsOf(await ada.get(`${base}?endpoint=${id}&state=failed`)).sort(), sorted(own));
    assert.equal(idsOf(await ada.get(`${base}?state=delivered`)).sort(), sorted(accepted));
    assert.match((await ada.get(`${base}?state=waiting`)).text, 'No delivery matches.');
    await api.database().endpoints.remove(`${id}a`);
    assert.ok((await ada.get(base)).text.includes(`${hook}/a`), 'what was sent to a removed endpoint names it');
    assert.is(idsOf(await ada.get(`${base}?endpoint=ep_other&state=x`)).length, 50, 'what is none is left out');
  }));

test('a door is listed, and switched off as an endpoint is; it has no test event and shows no key', () =>
  withShop(async ({ ada, base, api }) => {
    const key = 'DoorKey'.padEnd(32, '0');
    await api.database().doors.add(
      {
        ...{ id: 'we_door', storeId: api.merchantId, mode: 'test', dialect: 'epay', key, createdAtMs: 1 },
        settings: { currency: 'USD', takesRefunds: false, algorithm: 'md5' },
        urlOf: (pid) => `https://pay.example/${pid}/`,
      },
      { atMs: 1, operator: 'test', command: 'door add', reason: null },
    );
    assert.match((await ada.get(base)).text, 'https://pay.example/1001/');
    const page = (await ada.get(`${base}/we_door`)).text;
    assert.match(page, `${base}/we_door/change`);
    assert.match(page, 'payment.completed (epay 1001)');
    for (const absent of [key, `${base}/we_door/test`, `${base}/we_door/secret`]) assert.not.match(page, absent);
  }));

test.run();
