import * as assert from 'uvu/assert';
import type { Database } from '../../../src/database/database.ts';
import type { CancelSessionOutcome } from '../../../src/database/sessions.ts';
import { has } from '../../support/fields.ts';
import {
  cancelSession,
  endpoint,
  eventTypes,
  type Feed,
  inWorlds,
  keyOf,
  merchant,
  newSession,
  OUTAGE_WAIT_S,
  pays,
  show,
  start,
  T0_MS,
  T0_S,
} from './place.ts';

const END_S = T0_S + 1800;

const readBoth = (one: Feed, two: Feed, readThroughS: number) =>
  Promise.all([one.readThrough(readThroughS), two.readThrough(readThroughS)]);

const cancel = (
  database: Database,
  id: string,
  more: { key?: string; body?: string; nowMs?: number; storeId?: string } = {},
) =>
  database.sessions.cancel({
    id,
    storeId: more.storeId ?? 'm1',
    mode: 'test',
    replay: { idempotencyKey: more.key ?? null, path: `/sessions/${id}/cancel`, bodyHash: more.body ?? 'empty' },
    nowMs: more.nowMs ?? T0_MS,
  });
const outcome = (result: CancelSessionOutcome) =>
  result.kind === 'refused' ? `refused: ${result.why}, ${result.session.life.status}` : result.kind;

const test = inWorlds('expiry');

test('an unpaid session expires once the clock and every network are past its end', async ({ database, one, two }) => {
  await database.endpoints.add(endpoint('e1'));
  await start(database, 'o1');
  const settle = (nowS: number) => database.sessions.settleDue(nowS * 1000, 100);
  await readBoth(one, two, END_S + 1);
  assert.is(await settle(END_S), 0);
  await two.readThrough(END_S);
  assert.is(await settle(END_S + 5), 0, 'one network is not read far enough');
  await two.readThrough(END_S + 1);
  assert.is(await settle(END_S + 5), 1);
  assert.is(await settle(END_S + 5), 0);
  const { life } = await show(database, 'o1');
  has(life, { status: 'expired', endedAtS: END_S + 5 });
  assert.equal(await eventTypes(database, 'cs_o1'), ['payment.expired']);
});

test('the next blocks after the deadline are in time, by network', async ({ database, one, two }) => {
  const inclusionGraceS = { 'test:one': 15, 'test:two': 36, 'test:three': 60 };
  const paid = await start(database, 'paid', { inclusionGraceS });
  const late = await start(database, 'late', { inclusionGraceS });
  await start(database, 'none', { inclusionGraceS });
  assert.equal((await show(database, 'none')).terms.inclusionGraceS, { 'test:one': 15, 'test:two': 36 }, 'offered');
  one.nowMs = two.nowMs = (END_S + 36) * 1000;
  await one.confirm(await one.mine([pays(paid, 400n), pays(late, 400n)], END_S + 15));
  await one.confirm(await one.mine([pays(late, 600n)], END_S + 16));
  await readBoth(one, two, END_S + 100);
  assert.is(await database.sessions.settleDue((END_S + 36) * 1000, 100), 0);
  await two.confirm(await two.mine([pays(paid, 600n, { network: 'two' })], END_S + 36));
  assert.is((await show(database, 'paid')).life.status, 'paid');
  assert.is((await show(database, 'late')).standing.confirmedPar, 10n * 10n ** 18n, 'the rest is a top-up');
  await two.readThrough(END_S + 36);
  assert.is(
    await database.sessions.settleDue((END_S + 37) * 1000, 100),
    0,
    'one network is not read to the end of its grace',
  );
  await two.readThrough(END_S + 37);
  assert.is(await database.sessions.settleDue((END_S + 37) * 1000, 100), 1);
  assert.is((await show(database, 'none')).life.status, 'expired');
});

test('an outage keeps sessions open for the outage wait and no longer', async ({ database }) => {
  await start(database, 'o1');
  assert.is(await database.sessions.settleDue((END_S + OUTAGE_WAIT_S) * 1000, 100), 0);
  assert.is(await database.sessions.settleDue((END_S + OUTAGE_WAIT_S + 1) * 1000, 100), 1);
});

test('sessions that expired during a stop are settled later, at most `limit` at a time', async ({
  database,
  one,
  two,
}) => {
  for (let n = 0; n < 10; n++) {
    await start(database, `o${n}`, { expiresInS: 600 - n });
  }
  await readBoth(one, two, END_S);
  assert.is(await database.sessions.settleDue(END_S * 1000, 4), 4);
  const statuses = await Promise.all([9, 6, 5, 0].map(async (n) => (await show(database, `o${n}`)).life.status));
  assert.equal(statuses, ['expired', 'expired', 'pending', 'pending']);
  assert.is(await database.sessions.settleDue(END_S * 1000, 100), 6);
});

test('sessions that wait for a network do not delay others', async ({ database, one, two }) => {
  const onlyOne = newSession('x').options.filter(({ network }) => network === 'one');
  for (let n = 0; n < 10; n++) await start(database, `o${n}`, { expiresInS: 60 });
  await start(database, 'free', { options: onlyOne, expiresInS: 120 });
  await one.readThrough(T0_S + 200);
  await two.readThrough(T0_S);
  assert.is(await database.sessions.settleDue((T0_S + 200) * 1000, 3), 1);
  assert.is((await show(database, 'free')).life.status, 'expired');
});

test('a session does not end while another network is unread', async ({ database, one, two }) => {
  const to = await start(database, 'o1');
  one.nowMs = (END_S + 60) * 1000;
  await one.mine([pays(to, 1n)]);
  assert.is((await show(database, 'o1')).life.status, 'pending', 'the other network may still show money in time');
  await cancelSession(database, 'o1', one.nowMs);
  assert.is((await show(database, 'o1')).life.status, 'pending');
  two.nowMs = one.nowMs;
  const block = await two.mine([pays(to, 1000n, { network: 'two' })], END_S);
  await two.confirm(block);
  const { life } = await show(database, 'o1');
  has(life, { status: 'paid', paidLate: false });
});

test('the limit holds for all networks together', async ({ database, one, two }) => {
  const { options } = newSession('x');
  for (const [n, name] of ['one', 'two', 'one', 'two'].entries()) {
    const offered = options.filter(({ network }) => network === name);
    await start(database, `o${n}`, { options: offered });
  }
  await readBoth(one, two, END_S + 1);
  assert.is(await database.sessions.settleDue((END_S + 1) * 1000, 3), 3);
  assert.is(await database.sessions.settleDue((END_S + 1) * 1000, 3), 1);
});

test('in test mode a session can be cut short, without grace', async ({ database, one, two }) => {
  const [none, part] = await Promise.all(
    ['none', 'part'].map(async (id) => await start(database, id, { inclusionGraceS: { 'test:one': 15 } })),
  );
  await one.mine([pays(part ?? '', 400n)]);
  for (const id of ['none', 'cs_part']) assert.is(await database.sessions.cutShort(id, T0_MS), true);
  one.nowMs = T0_MS + 2000;
  await one.mine([pays(none ?? '', 1000n), pays(part ?? '', 600n)]);
  await two.readThrough(T0_S + 2);
  await database.sessions.settleDue(T0_MS + 2000, 100);
  const standings = await Promise.all(['none', 'part'].map(async (id) => show(database, id)));
  assert.equal(
    standings.map(({ life, standing }) => [life.status, standing.late]),
    [
      ['expired', true],
      ['failed', true],
    ],
  );
  assert.is(await database.sessions.cutShort('none', T0_MS + 3000), false, 'it has ended');
  assert.is(await database.sessions.cutShort('nobody', T0_MS), false);
  await database.addresses.add({ family: 'evm', mode: 'live', source: 'live', firstIndex: 0, keys: [keyOf(9999)] });
  await start(database, 'real', { mode: 'live' });
  assert.is(await database.sessions.cutShort('real', T0_MS), false, 'a live session cannot be cut short');
});

test('a session with nothing seen is canceled once, with one event', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  await start(database, 'o1');
  const done = await cancel(database, 'o1', { key: 'k' });
  assert.ok(done.kind === 'done');
  assert.is(done.session.life.status, 'canceled');
  assert.is((await cancel(database, 'cs_o1', { nowMs: T0_MS + 9000 })).kind, 'done', 'a second cancel changes nothing');
  const replayed = await cancel(database, 'o1', { key: 'k' });
  assert.is(replayed.kind, 'replayed');
  assert.is((await cancel(database, 'o1', { key: 'k', body: 'other' })).kind, 'idempotency_key_conflict');
  assert.is((await show(database, 'o1')).life.endedAtS, T0_S);
  assert.equal(await eventTypes(database, 'cs_o1'), ['payment.cancelled']);
});

test('a session is canceled only by its own store and mode', async ({ database }) => {
  await database.stores.create(merchant('m2'));
  await start(database, 'o1');
  assert.is((await cancel(database, 'o1', { storeId: 'm2' })).kind, 'not_found');
  assert.is((await cancel(database, 'nobody')).kind, 'not_found');
  const live = await database.sessions.cancel({
    id: 'cs_o1',
    storeId: 'm1',
    mode: 'live',
    replay: { idempotencyKey: null, path: '/', bodyHash: '' },
    nowMs: T0_MS,
  });
  assert.is(live.kind, 'not_found');
  assert.is((await show(database, 'o1')).life.status, 'pending');
});

test('a refused cancel names its reason and is not remembered', async ({ database, one, two }) => {
  const to = await start(database, 'money');
  await start(database, 'over');
  await one.mine([pays(to, 400n)]);
  assert.is(outcome(await cancel(database, 'money', { key: 'k' })), 'refused: payment_in_progress, pending');
  await one.reorg(1, [[]]);
  assert.is(outcome(await cancel(database, 'money', { key: 'k' })), 'done', 'the money was orphaned');
  await readBoth(one, two, END_S + 1);
  const late = { nowMs: (END_S + 1) * 1000 };
  assert.is(outcome(await cancel(database, 'over', late)), 'refused: session_expired, expired');
  assert.is((await show(database, 'over')).life.status, 'expired');
  const paid = await start(database, 'paid', late);
  await one.confirm(await one.mine([pays(paid, 1000n)], END_S + 1));
  assert.is(outcome(await cancel(database, 'paid', late)), 'refused: session_not_cancelable, paid');
});

test.run();
