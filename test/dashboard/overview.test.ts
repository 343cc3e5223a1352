/** A store at a glance: set-up, money by day, what needs somebody, and health in words. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { issueEndpoint } from '../../src/app/new-credentials.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { confirm, type Visitor, withDashboard } from '../support/dashboard.ts';
import { confirmTip, openSale, paidSale } from '../support/payment-scenes.ts';
import { factsOf, fieldsOf, rowsOf, stepsOf } from '../support/read-page.ts';
import { answerDue, deliverDue } from '../support/record-attempt.ts';

test('a new store sees what is missing; then its money by day, held money, and health', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const owner = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    const home = await owner.get('/');
    assert.is(home.headers.get('location'), `/s/${api.merchantId}/test/overview`, 'the only mode with a network');
    const page = async (mode = 'test') => (await owner.get(`/s/${api.merchantId}/${mode}/overview`)).text;
    const before = await page();
    const steps = stepsOf(before);
    assert.is(steps.filter((one) => one.startsWith('to do')).length, 2);
    for (const step of ['to do A test payment came through', 'to do A webhook arrived', 'done The store is approved'])
      assert.ok(
        steps.some((one) => one.startsWith(step)),
        step,
      );
    assert.equal(rowsOf(before, 'Credited by day'), []);

    for (const amount of ['10.50', '12.50']) {
      await (await openSale(api)).send(amount);
      await confirmTip(api);
    }
    const endpoint = issueEndpoint(api.merchantId, 'test', 'https://shop.example/', [], api.clock.nowMs());
    await api.database().endpoints.add(endpoint);
    await api.database().endpoints.enable(endpoint.id, false, 'moved', api.clock.nowMs());
    const after = await page();
    const lines = stepsOf(after);
    assert.ok(lines.includes('done A test payment came through'));
    const today = new Date(api.clock.nowMs()).toISOString().slice(0, 10);
    assert.equal(rowsOf(after, 'Credited by day'), [{ Day: today, Credited: '23.00 USDT', Transfers: '2' }]);
    assert.ok(lines.includes('waits Held amounts that wait for a decision: 1'));
    assert.ok((await api.database().alarms.list(10)).some(({ code }) => code === 'money_surplus'));
    assert.ok(lines.some((one) => /^waits https:\/\/shop.example\/ since .*: moved \. Its events wait\.$/.test(one)));
    const taken = '23.00 USDT';
    assert.equal(factsOf(after), {
      'Taken today': taken,
      'In 7 days': taken,
      'In 30 days': taken,
      'Still open': '0',
      Held: '1',
      'Refunds to approve': '0',
    });
    const live = await page('live');
    const missing = stepsOf(live).filter((one) => one.startsWith('to do'));
    assert.equal([missing.length, stepsOf(live).length - missing.length], [3, 4]);
    assert.match(missing.join('\n'), 'to do Your shop and payers reach it by https');
  }));

test('it says whether a webhook arrived, also once its endpoint is gone, and what did not, to who may see deliveries', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const database = api.database();
    const base = `/s/${api.merchantId}/test`;
    const owner = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    const accountant = await dashboard.person('Ida', { role: 'accountant', storeId: api.merchantId });
    const lines = async (start: string, visitor: Visitor = owner) =>
      stepsOf((await visitor.get(`${base}/overview`)).text).filter((one) => one.startsWith(start));
    const FAILED = 'waits Deliveries that failed in the last 7 days';
    const endpoint = issueEndpoint(api.merchantId, 'test', 'https://shop.example/', [], api.clock.nowMs());
    await database.endpoints.add(endpoint);
    await paidSale(api);
    assert.equal([(await lines('to do A webhook arrived')).length, await lines(FAILED)], [1, []]);
    await answerDue(database, api.clock.nowMs(), { status: 500 }, { kind: 'failed' });
    assert.is((await lines(FAILED)).length, 1);
    assert.equal(await lines(FAILED, accountant), []);
    await paidSale(api);
    await deliverDue(database, api.clock.nowMs());
    assert.equal(await lines('to do'), [], 'nothing is left');
    await database.endpoints.remove(endpoint.id);
    assert.equal(await lines('to do'), []);
  }));

test('days and times are those of the store’s zone', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const base = `/s/${api.merchantId}/test`;
    // 20:00 UTC is the next day in Kolkata (+5:30).
    const day = new Date(api.clock.nowMs() + DAY_MS).toISOString().slice(0, 10);
    api.clock.advance(Date.parse(`${day}T20:00:00Z`) - api.clock.nowMs());
    const owner = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    await paidSale(api);
    const next = new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10);
    const credited = async () => rowsOf((await owner.get(`${base}/overview`)).text, 'Credited by day')[0]?.Day;
    const created = async (query = '') =>
      [...(await owner.get(`${base}/payments${query}`)).text.matchAll(/title="([^"]{16}):\d\d"><bdi>(?:now|\d)/g)].map(
        ([, exact]) => exact,
      );
    assert.equal([await credited(), await created()], [day, [`${day} 20:00`]]);

    const settings = `${base}/settings`;
    const fields = fieldsOf((await owner.get(settings)).text, settings);
    const saved = await owner.submit(settings, settings, { ...fields, zone: 'Asia/Kolkata' });
    assert.is((await confirm(owner, settings, saved)).status, 303);
    assert.equal([await credited(), await created(`?from=${next}&to=${next}`)], [next, [`${next} 01:30`]]);
    assert.equal(await created(`?to=${day}`), []);
  }));

test.run();
