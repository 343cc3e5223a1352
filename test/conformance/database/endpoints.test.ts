import * as assert from 'uvu/assert';
import type { ClaimedDelivery } from '../../../src/database/claims.ts';
import type { Database } from '../../../src/database/database.ts';
import { recordAttempt } from '../../support/record-attempt.ts';
import {
  addressOf,
  allExtended,
  cancelNew,
  claimAll,
  endpoint,
  inWorlds,
  newSession,
  pays,
  sessionOf,
  T0_MS,
} from './place.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Records an answer, or none; a status below 400 is a success, a 4xx ends the schedule, the rest is tried in 2 min. */
async function answer(database: Database, claimed: ClaimedDelivery | undefined, status: number | null, nowMs: number) {
  assert.ok(claimed, 'there is a delivery to answer');
  const { id: deliveryId, attempt, trigger } = claimed;
  const went = { deliveryId, attempt, trigger, startedAtMs: nowMs, durationMs: 0, responseExcerpt: null };
  const error = status === null ? 'timeout' : null;
  const isFinal = status !== null && status >= 400 && status < 500;
  await recordAttempt(
    database,
    { ...went, status, error },
    status !== null && status < 300
      ? { kind: 'delivered' }
      : isFinal
        ? { kind: 'failed' }
        : { kind: 'retry', atMs: nowMs + 120_000 },
  );
}

/** Sends what is due, one after the other. @returns `session#attempt` of each */
async function send(database: Database, nowMs: number, status: number | null): Promise<string[]> {
  const claimed = await claimAll(database, nowMs);
  for (const delivery of claimed) await answer(database, delivery, status, nowMs);
  return claimed.map(({ sessionId, attempt }) => `${sessionId}#${attempt}`);
}

const isOff = async (database: Database) => (await database.endpoints.list('m1'))[0]?.disabledAtMs !== null;

const test = inWorlds('endpoints');

test('410 disables an endpoint only after three of them over an hour, and raises an alarm', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  const gone = async (name: string, nowMs: number) => {
    await cancelNew(database, name, nowMs);
    await send(database, nowMs, 410);
  };
  for (const n of [0, 1, 2, 3]) await gone(`early${n}`, T0_MS + n);
  assert.is(await isOff(database), false, 'four in four milliseconds');
  await cancelNew(database, 'answered', T0_MS + 10);
  // Each success brings back one of the four.
  for (let s = 0; s < 5; s++) assert.is((await send(database, T0_MS + 10 + s * 1000, 200)).length, 1);
  await gone('one', T0_MS + HOUR_MS);
  await gone('two', T0_MS + 2 * HOUR_MS + 1);
  assert.is(await isOff(database), false, 'two since an answer');
  assert.equal(await database.alarms.list(9), []);
  await gone('three', T0_MS + 2 * HOUR_MS + 2);
  assert.is(await isOff(database), true);
  const [alarm] = await database.alarms.list(9);
  assert.is(alarm?.code, 'webhook_disabled');
  assert.match(alarm?.message ?? '', /quayside webhook set e1 --state on/);
  await cancelNew(database, 'meanwhile', T0_MS + 3 * HOUR_MS);
  assert.equal(await claimAll(database, T0_MS + 4 * HOUR_MS), []);
  await database.endpoints.enable('e1', true, null, T0_MS + 5 * HOUR_MS);
  assert.ok((await send(database, T0_MS + 5 * HOUR_MS, 200)).includes('cs_meanwhile#1'));
  // The row of 410s begins again.
  await gone('again', T0_MS + 9 * HOUR_MS);
  assert.is(await isOff(database), false);
});

test('an endpoint that accepts nothing for a week is switched off with an alarm', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  const fail = async (n: number, atMs: number) => {
    await cancelNew(database, `o${n}`, atMs, 'https://named.example/');
    for (const one of await claimAll(database, atMs)) await answer(database, one, n % 2 ? 400 : 500, atMs);
  };
  for (let n = 0; n < 9; n++) await fail(n, T0_MS + n);
  await fail(9, T0_MS + 7 * DAY_MS - 1);
  assert.is(await isOff(database), false, 'a moment before the week is over');
  await cancelNew(database, 'good', T0_MS + 7 * DAY_MS);
  const good = (await claimAll(database, T0_MS + 7 * DAY_MS)).find(({ sessionId }) => sessionId === 'cs_good');
  await answer(database, good, 200, T0_MS + 7 * DAY_MS);
  await fail(10, T0_MS + 8 * DAY_MS);
  await fail(11, T0_MS + 16 * DAY_MS);
  assert.is(await isOff(database), false, 'two events since a success');
  for (let n = 12; n < 20; n++) await fail(n, T0_MS + 16 * DAY_MS + n);
  assert.is(await isOff(database), true);
  const off = (await database.endpoints.list('m1')).filter(({ disabledAtMs }) => disabledAtMs !== null);
  assert.equal(
    off.map(({ id, disabledReason }) => [id, disabledReason]),
    [['e1', 'the endpoint has accepted nothing for a week']],
  );
  const [alarm] = await database.alarms.list(9);
  assert.is(alarm?.code, 'webhook_disabled');
  assert.match(alarm?.message ?? '', /quayside webhook set e1 --state on/);
  await database.endpoints.enable('e1', true, null, T0_MS + 17 * DAY_MS);
  await fail(20, T0_MS + 17 * DAY_MS);
  assert.is(await isOff(database), false, 'it has another week');
});

for (const status of [401, 403, 404, 405, 409, 410]) {
  test(`what was refused with ${status} is sent again once something newer is accepted`, async ({ database }) => {
    await database.endpoints.add(endpoint('e1'));
    for (const name of ['o1', 'o2', 'o3']) await cancelNew(database, name, T0_MS);
    assert.is((await send(database, T0_MS, status)).length, 3);
    const laterMs = T0_MS + HOUR_MS;
    assert.equal(await send(database, laterMs, 200), [], 'the schedule has ended');
    await cancelNew(database, 'o4', laterMs);
    assert.equal(await send(database, laterMs, 200), ['cs_o4#1']);
    assert.equal(await send(database, laterMs, 200), []);
    const after = (s: number) => laterMs + s * 1000;
    assert.equal(await send(database, after(1), status), ['cs_o1#2'], 'one for each success');
    assert.equal(await send(database, after(200), 200), [], 'a refusal brings nothing back');
    await cancelNew(database, 'o5', after(300));
    assert.equal(await send(database, after(300), 200), ['cs_o5#1']);
    // The first was refused twice and waits for longer; its success brings the next.
    assert.equal(await send(database, after(301), 200), []);
    assert.equal(await send(database, after(420), 200), ['cs_o1#3']);
    assert.equal(await send(database, after(421), 200), ['cs_o2#2']);
    assert.equal(await send(database, after(422), 200), ['cs_o3#2']);
    assert.equal(await send(database, after(1e6), 200), []);
  });
}

test('other refusals, and refusals older than thirty days, are not sent again by themselves', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  await cancelNew(database, 'malformed', T0_MS + 40 * DAY_MS);
  await send(database, T0_MS + 40 * DAY_MS, 400);
  await cancelNew(database, 'old', T0_MS);
  await send(database, T0_MS + 40 * DAY_MS, 404);
  await cancelNew(database, 'new', T0_MS + 71 * DAY_MS);
  assert.equal(await send(database, T0_MS + 71 * DAY_MS, 200), ['cs_new#1']);
  assert.equal(await send(database, T0_MS + 72 * DAY_MS, 200), []);
});

test('later events of a session do not wait for one that was refused and is sent again', async ({ database, one }) => {
  await database.endpoints.add(endpoint('e1', { extendedEvents: allExtended }));
  const to = addressOf(sessionOf(await database.sessions.create(newSession('o1'))));
  const block = await one.mine([pays(to, 400n)]);
  assert.equal(await send(database, T0_MS, 403), ['cs_o1#1']);
  await cancelNew(database, 'o2', T0_MS);
  assert.equal(await send(database, T0_MS, 200), ['cs_o2#1'], 'brings the refused one back for a second later');
  await one.confirm(block);
  const [later] = await claimAll(database, T0_MS);
  assert.equal([later?.sessionId, later?.eventType, later?.attempt], ['cs_o1', 'payment.partially_paid', 1]);
});

test('an endpoint that does not answer is tried one at a time after five', async ({ database }) => {
  await database.endpoints.add(endpoint('silent', { url: 'https://silent.example/' }));
  for (let n = 0; n < 16; n++) await cancelNew(database, `s${n}`, T0_MS + n);
  const claim = (nowMs: number, limit: number, unprovenMax = 100) =>
    database.sending.claim({ nowMs, leaseMs: 60_000, limit, perEndpointMax: 8, unprovenMax });
  const first = await claim(T0_MS + 100, 100);
  assert.is(first.length, 8);
  for (const delivery of first) await answer(database, delivery, null, T0_MS + 100);
  await database.endpoints.add(endpoint('alive', { url: 'https://alive.example/' }));
  await cancelNew(database, 'last', T0_MS + 101);
  const alive = await claim(T0_MS + 200, 1);
  assert.equal(
    alive.map(({ endpointId }) => endpointId),
    ['alive'],
  );
  for (const delivery of alive) await answer(database, delivery, 200, T0_MS + 200);
  /** Tries the silent one as soon as it may be, without an answer. @returns the pause before that */
  async function pausedMs(fromMs: number, status: number | null = null): Promise<number> {
    for (let nowMs = fromMs; ; nowMs += 1_000) {
      const [probe, ...more] = await claim(nowMs, 100);
      if (!probe) continue;
      assert.equal([probe.endpointId, more], ['silent', []]);
      await answer(database, probe, status, nowMs);
      return nowMs - fromMs;
    }
  }
  // The eighth attempt without an answer was the last one.
  assert.equal(await claim(T0_MS + 8_099, 100), []);
  assert.equal(await claim(T0_MS + 8_100, 100, 0), [], 'no place for what does not answer');
  assert.is(await pausedMs(T0_MS + 8_100), 0);
  assert.is(await pausedMs(T0_MS + 8_100), 16_000);
  assert.is(await pausedMs(T0_MS + 24_100), 32_000);
  assert.is(await pausedMs(T0_MS + 56_100, 500), 32_000);
  assert.ok((await claim(T0_MS + 88_100, 100)).length >= 4, 'one answer is enough');
});

test('hosts that never answered hold no more than their share of places', async ({ database }) => {
  for (let n = 0; n < 30; n++) await cancelNew(database, `d${n}`, T0_MS + n, `https://dead${n}.example/`);
  const claim = (limit: number) =>
    database.sending.claim({ nowMs: T0_MS + 100, leaseMs: 60_000, limit, perEndpointMax: 4, unprovenMax: 20 });
  const counts: number[] = [];
  for (let n = 0; n < 4; n++) counts.push((await claim(8)).length);
  assert.equal(counts, [8, 8, 4, 0]);
  await database.endpoints.add(endpoint('standing', { url: 'https://shop.example/' }));
  await cancelNew(database, 'o1', T0_MS + 100);
  assert.equal(
    (await claim(8)).map(({ endpointId }) => endpointId),
    ['standing'],
  );
});

test('in a claim, hosts that never answered get their places first', async ({ database }) => {
  for (let n = 0; n < 20; n++) await cancelNew(database, `d${n}`, T0_MS + n, `https://dead${n}.example/`);
  await database.endpoints.add(endpoint('standing', { url: 'https://shop.example/' }));
  for (let n = 0; n < 10; n++) await cancelNew(database, `o${n}`, T0_MS + 50 + n);
  const counts: number[][] = [];
  for (let n = 0; n < 3; n++) {
    const limits = { nowMs: T0_MS + 100, leaseMs: 60_000, limit: 8, perEndpointMax: 8, unprovenMax: 6 };
    const claimed = await database.sending.claim(limits);
    const standing = claimed.filter(({ endpointId }) => endpointId === 'standing').length;
    counts.push([standing, claimed.length - standing]);
  }
  assert.equal(counts, [
    [2, 6],
    [6, 0],
    [0, 0],
  ]);
});

test('an endpoint that answers quickly may have as many leases as its host', async ({ database }) => {
  await database.endpoints.add(endpoint('quick', { url: 'https://quick.example/' }));
  await database.endpoints.add(endpoint('plain', { url: 'https://plain.example/' }));
  for (let n = 0; n < 12; n++) await cancelNew(database, `o${n}`, T0_MS + n);
  const limits = { nowMs: T0_MS + 100, leaseMs: 60_000, limit: 50, perEndpointMax: 1, quick: new Set(['quick']) };
  const claimed = await database.sending.claim(limits);
  const countOf = (id: string) => claimed.filter(({ endpointId }) => endpointId === id).length;
  assert.equal([countOf('quick'), countOf('plain')], [8, 1]);
  assert.equal(await database.sending.claim(limits), []);
});

test('more hosts that sessions name than a claim looks at do not hide another', async ({ database }) => {
  const keys = Array.from({ length: 262 }, (_, n) => `${n}`.padStart(40, 'a'));
  await database.addresses.add({ family: 'evm', mode: 'test', source: 'xpub one', firstIndex: 40, keys });
  for (let n = 0; n < 260; n++) await cancelNew(database, `d${n}`, T0_MS, `https://dead${n}.example/`);
  const claim = async () => {
    const limits = { nowMs: T0_MS + 100, leaseMs: 60_000, limit: 300, perEndpointMax: 1 };
    return (await database.sending.claim(limits)).map(({ url }) => url);
  };
  const first = [...(await claim()), ...(await claim())];
  assert.is(new Set(first).size, 260);
  await cancelNew(database, 'last', T0_MS, 'https://alive.example/');
  assert.equal([...(await claim()), ...(await claim())], ['https://alive.example/']);
});

test('endpoints of single sessions share the places of their host', async ({ database }) => {
  for (let n = 0; n < 10; n++) await cancelNew(database, `d${n}`, T0_MS + n, `https://dead.example/orders/${n}`);
  await cancelNew(database, 'live', T0_MS + 99, 'https://live.example/orders/1');
  const claimed = await database.sending.claim({ nowMs: T0_MS + 100, leaseMs: 1, limit: 5, perEndpointMax: 3 });
  assert.equal(claimed.map(({ url }) => new URL(url).host).sort(), [
    'dead.example',
    'dead.example',
    'dead.example',
    'live.example',
  ]);
});

test('one event that is answered 410 again and again disables nothing', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  await cancelNew(database, 'o1', T0_MS);
  await send(database, T0_MS, 410);
  const [delivery] = await database.deliveries.list({ limit: 1 });
  for (let hour = 1; hour < 48; hour++) {
    await database.deliveries.resend(delivery?.id ?? '', T0_MS + hour * HOUR_MS);
    assert.is((await send(database, T0_MS + hour * HOUR_MS, 410)).length, 1);
  }
  assert.is(await isOff(database), false);
  await database.endpoints.enable('e1', false, 'by hand', T0_MS + 48 * HOUR_MS);
  await cancelNew(database, 'o2', T0_MS + 48 * HOUR_MS);
  for (let hour = 48; hour < 96; hour++) assert.equal(await claimAll(database, T0_MS + hour * HOUR_MS), []);
  await database.endpoints.enable('e1', true, null, T0_MS + 96 * HOUR_MS);
  assert.equal(await send(database, T0_MS + 121 * HOUR_MS, 200), ['cs_o2#1']);
  assert.equal(await send(database, T0_MS + 122 * HOUR_MS, 200), ['cs_o1#2'], 'its success brings the refused one');
});

test('an endpoint that sessions named is retired, and the next event brings it back', async ({ database }) => {
  await database.endpoints.add(endpoint('e1', { url: 'https://standing.example/' }));
  await cancelNew(database, 'o1', T0_MS, 'https://named.example/1');
  await cancelNew(database, 'o2', T0_MS + 5 * DAY_MS, 'https://named.example/2');
  await send(database, T0_MS + 5 * DAY_MS, 503);
  const urls = async () => (await database.endpoints.list(null)).map(({ url }) => url).sort();
  const retire = (days: number) => database.endpoints.retire(T0_MS + days * DAY_MS, 30 * DAY_MS);
  assert.is(await retire(30), 0, 'the time of the last event is known within an hour');
  assert.is(await retire(31), 1);
  assert.is(await retire(31), 0);
  assert.equal(await urls(), ['https://named.example/2', 'https://standing.example/']);
  assert.is(await retire(36), 1);
  assert.equal(await urls(), ['https://standing.example/'], 'a standing one never is');
  const nowMs = T0_MS + 40 * DAY_MS;
  const claimed = await claimAll(database, nowMs);
  assert.equal([...new Set(claimed.map(({ endpointId }) => endpointId))], ['e1'], 'nothing is sent to them');
  for (const one of claimed) await answer(database, one, 200, nowMs);
  assert.equal(await claimAll(database, nowMs + 1), []);
  const lost = await database.deliveries.recoverSome({
    endpointId: null,
    after: { eventId: '', endpointId: '' },
    position: 0,
    nowMs,
    isDryRun: true,
  });
  assert.is(lost.found, 0);
  const waiting = await database.deliveries.list({ state: 'waiting', limit: 9 });
  assert.is(waiting.length, 2, 'and nothing of them is lost');
  assert.is(await database.deliveries.resend(waiting[0]?.id ?? '', nowMs), true);
  assert.equal(
    (await claimAll(database, nowMs + 2)).map(({ trigger }) => trigger),
    ['manual'],
  );

  await cancelNew(database, 'o3', nowMs + DAY_MS, 'https://named.example/1');
  assert.equal(await urls(), ['https://named.example/1', 'https://standing.example/']);
  const again = await claimAll(database, nowMs + DAY_MS);
  const ofNamed = again.filter(({ url }) => url === 'https://named.example/1').map(({ sessionId }) => sessionId);
  assert.equal(ofNamed.sort(), ['cs_o1', 'cs_o3'], 'with what had waited');
  assert.is(await database.endpoints.retire(nowMs + 2 * DAY_MS, 30 * DAY_MS), 0);
});

test.run();
