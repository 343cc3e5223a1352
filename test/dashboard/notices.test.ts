/** Who is informed about alarms, in the dashboard over real HTTP: proved by the code that arrived, tested, removed. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { NewNoticeTarget } from '../../src/database/notices.ts';
import { confirm, type Dashboard, type Visitor, withDashboard } from '../support/dashboard.ts';

const LIST = '/operator/alarms';
const PATH = '/operator/notices';
const operator = (atMs: number) => ({ atMs, operator: 'root', command: 'notify add', reason: null });

type Work = (parts: { dashboard: Dashboard; mary: Visitor & { token: string } }) => Promise<void>;

/** A target that was added by the tool and waits for its code, an open alarm, and an operator. */
const withTarget = (work: Work) =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const nowMs = api.clock.nowMs();
    const target: NewNoticeTarget = {
      ...{ id: 'nt_1', kind: 'slack', name: 'on call', severity: 'page', code: '918273', createdAtMs: nowMs },
      address: JSON.stringify({ url: 'https://hooks.example/services/hidden' }),
    };
    await api.database().notices.addTarget(target, operator(nowMs));
    const alarm = { key: 'frozen:x', code: 'payouts_frozen', message: 'why', network: null, sessionId: null };
    await api.database().alarms.keep({ ...alarm, atMs: nowMs });
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    await work({ dashboard, mary });
  });

test('removing asks for the second factor, says who is left, and is recorded', () =>
  withTarget(async ({ dashboard, mary }) => {
    const { api } = dashboard;
    // The second factor of the sign-in counts for ten minutes.
    api.clock.advance(11 * 60_000);
    const review = await mary.submit(LIST, `${PATH}/nt_1/remove`);
    assert.match(review.text, 'Nobody else is informed');
    assert.is((await confirm(mary, `${PATH}/nt_1/remove`, review)).status, 403);
    assert.is((await api.database().notices.listTargets()).length, 1);

    const done = await confirm(mary, `${PATH}/nt_1/remove`, review, { code: dashboard.code(mary.token) });
    assert.is(done.status, 303, done.text);
    assert.equal(await api.database().notices.listTargets(), []);
    const [entry] = await api.database().audit.list(1);
    assert.equal([entry?.command, entry?.operator], ['notify remove', 'Mary (dashboard)']);
  }));

test('an alarm about a payment links to it, for those who may see the payment', () =>
  withTarget(async ({ dashboard, mary }) => {
    const { api } = dashboard;
    const made = await api.send('POST', '/api/v1/checkout/sessions/create', {
      amount: 100,
      currency: 'USD',
      order_id: 'a',
    });
    const { id } = made.json as { id: string };
    const about = { code: 'payment_reversed', message: 'gone', network: null, atMs: api.clock.nowMs() };
    await api.database().alarms.raise({ ...about, sessionId: id });
    const link = `<a href="/s/${api.merchantId}/test/payments/${id}">`;
    assert.not.match((await mary.get('/operator/alarms')).text, link, 'an operator is no member of the store');
    const people = await api.database().people.list();
    const person = people.find(({ name }) => name === 'Mary');
    assert.ok(person);
    await api.database().people.setMembership(person.id, { role: 'staff', storeId: api.merchantId }, operator(1));
    assert.match((await mary.get('/operator/alarms')).text, link);
    assert.is((await mary.get(`/s/${api.merchantId}/test/payments/${id}`)).status, 200);
  }));

test('a note of whoever acknowledges an alarm is shown with it and in the audit log', () =>
  withTarget(async ({ dashboard, mary }) => {
    assert.match((await mary.get(LIST)).text, 'Acknowledge: A-1');
    const note = 'The provider <b>knows</b>; back at noon';
    const long = await mary.submit(LIST, `${LIST}/acknowledge`, { because: 'x'.repeat(201) });
    assert.is(long.status, 400);
    assert.match(long.text, 'at most 200 characters');
    await mary.submit(LIST, `${LIST}/acknowledge`, { because: ` ${note} `, confirmed: 'yes' });
    const shown = note.replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    const line = `<p class="note"><bdi>${shown}</bdi></p><p class="hint"><bdi>Mary (dashboard)</bdi></p>`;
    const list = (await mary.get(LIST)).text;
    assert.match(list, line);
    assert.not.match(list, 'Acknowledge: A-1');
    const database = dashboard.api.database();
    const [entry] = await database.audit.list(1);
    assert.equal([entry?.command, entry?.target, entry?.reason], ['alarm acknowledge', 'A-1', note]);
    await database.alarms.end((await database.alarms.listOpen())[0]?.key ?? '', dashboard.api.clock.nowMs());
    assert.match((await mary.get(LIST)).text, line, 'it stays with the alarm once that is over');
  }));

test('an event is over once a person acknowledges it; what lasts ends by itself', () =>
  withTarget(async ({ dashboard, mary }) => {
    const database = dashboard.api.database();
    await database.alarms.raise({
      ...{ atMs: dashboard.api.clock.nowMs(), code: 'payment_reversed', message: 'cs_1 was reversed' },
      ...{ network: null, sessionId: null },
    });
    for (const alarm of ['2', '1']) {
      assert.is((await mary.submit(LIST, `${LIST}/acknowledge`, { alarm, confirmed: 'yes' })).status, 303);
    }
    const [event, lasting] = await database.alarms.list(2);
    assert.equal([event?.endedAtMs, event?.acknowledgedBy], [dashboard.api.clock.nowMs(), 'Mary (dashboard)']);
    assert.equal([lasting?.endedAtMs, lasting?.acknowledgedBy], [null, 'Mary (dashboard)']);
    assert.match((await mary.get(LIST)).text, 'resolved');
    const acts = (await database.audit.list(5)).filter(({ target }) => target === 'A-2');
    assert.equal(
      acts.map(({ operator, command, after }) => [operator, command, after?.resolved]),
      [['Mary (dashboard)', 'alarm acknowledge', true]],
    );
    assert.is((await mary.post(`${LIST}/acknowledge`, { alarm: '3' })).status, 403, 'without the form');
  }));

test.run();
