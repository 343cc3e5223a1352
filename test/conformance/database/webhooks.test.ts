import * as assert from 'uvu/assert';
import type { Verdict } from '../../../src/core/delivery.ts';
import type { Database } from '../../../src/database/database.ts';
import { type DeliveryCursor, type DeliverySearch, RESEND_PACE_MS } from '../../../src/database/events.ts';
import type { ClaimedDelivery } from '../../../src/database/sending.ts';
import { column, has, have } from '../../support/fields.ts';
import { claimDue, LEASE_MS, recordAttempt, SENDER } from '../../support/record-attempt.ts';
import { cancelNew, claimAll, endpoint, inWorlds, merchant, pays, start, T0_MS } from './place.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

const only = <T>(items: readonly T[]): T => {
  assert.is(items.length, 1);
  return items[0] as T;
};
const shown = async (database: Database, id: string) => only(await database.deliveries.list({ id, limit: 1 }));
const endpointsOf = (claimed: readonly ClaimedDelivery[]) => claimed.map(({ endpointId }) => endpointId).sort();

/** Decides as the dispatcher does, with one delay. */
const verdictOn = (status: number | null, nowMs: number): Verdict =>
  status !== null && status < 300
    ? { kind: 'delivered' }
    : status !== null && status < 500
      ? { kind: 'failed' }
      : { kind: 'retry', atMs: nowMs + 120_000 };

const answer = (
  database: Database,
  claimed: ClaimedDelivery,
  status: number | null,
  nowMs: number,
  verdict = verdictOn(status, nowMs),
) => {
  const error = status === null ? 'timeout' : null;
  return recordAttempt(database, claimed, { startedAtMs: nowMs, durationMs: 0, status, error }, verdict);
};

/** Sends what is due once. @returns `session#attempt` of each */
async function send(database: Database, nowMs: number, status: number | null): Promise<string[]> {
  const claimed = await claimAll(database, nowMs);
  for (const one of claimed) await answer(database, one, status, nowMs);
  return claimed.map(({ sessionId, attempt }) => `${sessionId}#${attempt}`);
}

const any: DeliverySearch = { endpointId: null, state: null };

/** Returns a page of the deliveries of the store, in test mode unless another one is named. */
const ofStore = (
  { deliveries }: Database,
  page: Parameters<Database['deliveries']['ofStore']>[2],
  search = any,
  other: Partial<{ storeId: string; mode: 'live' }> = {},
) => deliveries.ofStore({ storeId: 'm1', mode: 'test', ...other }, search, page);

const isOff = async (database: Database) => (await database.endpoints.list('m1'))[0]?.disabledAtMs !== null;

const test = inWorlds('webhooks');

test('each enabled endpoint of the store and mode gets one delivery, due at once, ready to send', async ({
  database,
}) => {
  await database.stores.create(merchant('m2'));
  await database.endpoints.add(endpoint('e1'));
  await database.endpoints.add(endpoint('e2'));
  await database.endpoints.add(endpoint('live', { mode: 'live' }));
  await database.endpoints.add(endpoint('other', { storeId: 'm2' }));
  await database.endpoints.add(endpoint('off'));
  await database.endpoints.enable('off', false, 'gone', 1);
  await database.endpoints.add(endpoint('removed'));
  assert.is(await database.endpoints.remove('removed'), true);
  await cancelNew(database, 'o1');
  const claimed = await claimAll(database, T0_MS);
  assert.equal(claimed.map(({ endpointId }) => endpointId).sort(), ['e1', 'e2']);
  assert.equal(claimed[0]?.body, claimed[1]?.body);
  const { id: _, body: __, eventId, ...rest } = only(claimed.filter(({ endpointId }) => endpointId === 'e1'));
  assert.match(eventId, /^evt_\d{19}$/);
  assert.equal(rest, {
    endpointId: 'e1',
    url: 'https://shop.example/e1',
    mode: 'test',
    secret: 'whsec_of_m1',
    nextSecret: null,
    eventType: 'payment.cancelled',
    sessionId: 'cs_o1',
    attempt: 1,
    leaseUntilMs: T0_MS + 60_000,
    isUnproven: false,
  });
});

test('extended events go only to endpoints that opted in', async ({ database, one }) => {
  await database.endpoints.add(endpoint('plain'));
  await database.endpoints.add(endpoint('curious', { extendedEvents: ['payment.detected'] }));
  const to = await start(database, 'o1');
  const block = await one.mine([pays(to, 400n)]);
  await one.confirm(block);
  await one.confirm(await one.mine([pays(to, 600n)]));
  const rows = await database.deliveries.list({ sessionId: 'cs_o1', limit: 100 });
  const of = (id: string) => rows.filter(({ endpointId }) => endpointId === id).map(({ eventType }) => eventType);
  assert.equal(of('plain'), ['payment.completed']);
  assert.equal(of('curious'), ['payment.completed', 'payment.detected']);
});

test('while one sender has an event of a session, another one sends none of it', async ({ database, one }) => {
  await database.endpoints.add(endpoint('curious', { extendedEvents: ['payment.detected'] }));
  const to = await start(database, 'o1');
  await one.confirm(await one.mine([pays(to, 400n)]));
  const detected = only(await claimAll(database, T0_MS));
  await one.confirm(await one.mine([pays(to, 600n)]));
  await cancelNew(database, 'o2');
  const limits = { nowMs: T0_MS, leaseMs: 60_000, limit: 9, unprovenMax: 9, places: () => 9 };
  const another = await database.deliveries.claim({ holder: 'another', ...limits });
  assert.equal(column(another, 'sessionId'), ['cs_o2']);
  await answer(database, detected, 200, T0_MS);
  const next = await database.deliveries.claim({ holder: 'another', ...limits });
  assert.ok(next.length > 0 && next.every(({ sessionId }) => sessionId === 'cs_o1'));
});

test('an endpoint that a session names gets that session’s events, once per URL', async ({ database }) => {
  await database.endpoints.add(endpoint('e1', { url: 'https://shop.example/all' }));
  await cancelNew(database, 'named', T0_MS, 'https://orders.example/1');
  await cancelNew(database, 'again', T0_MS, 'https://orders.example/2');
  await cancelNew(database, 'plain');
  await cancelNew(database, 'same', T0_MS, 'https://shop.example/all');
  const own = (await database.endpoints.list('m1')).filter(({ perSession }) => perSession);
  assert.equal(column(own, 'url'), ['https://orders.example'], 'one for all URLs of an origin');
  const sent = (await claimAll(database, T0_MS)).map(({ sessionId, url }) => `${sessionId} ${url}`);
  assert.equal(sent.sort(), [
    'cs_again https://orders.example/2',
    'cs_again https://shop.example/all',
    'cs_named https://orders.example/1',
    'cs_named https://shop.example/all',
    'cs_plain https://shop.example/all',
    'cs_same https://shop.example/all',
  ]);
});

test('event ids rise strictly, even within one millisecond and when the clock goes back', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  for (const [n, nowMs] of [T0_MS, T0_MS, T0_MS - 5000, T0_MS + 1].entries()) await cancelNew(database, `o${n}`, nowMs);
  const rows = [...(await database.deliveries.list({ limit: 10 }))].reverse();
  assert.equal(column(rows, 'sessionId'), ['cs_o0', 'cs_o1', 'cs_o2', 'cs_o3']);
  const ids = rows.map(({ eventId }) => BigInt(eventId.slice(4)));
  assert.ok(ids.every((id, at) => at === 0 || id > (ids[at - 1] ?? id)));
  assert.is(ids[0], BigInt(T0_MS) * 1_000_000n);
});

test('a lease that runs out makes its delivery due again, and its late result changes nothing', async ({
  database,
  place,
}) => {
  await database.endpoints.add(endpoint('e1'));
  await cancelNew(database, 'o1');
  const other = place.connect();
  const racing = await Promise.all([claimAll(database, T0_MS), claimAll(other, T0_MS)]);
  const first = only(racing.flat());
  assert.equal(await claimAll(other, T0_MS + LEASE_MS - 1), []);
  const second = only(await claimAll(other, T0_MS + LEASE_MS));
  has(second, { id: first.id, attempt: 1 });
  await answer(database, first, 200, T0_MS);
  assert.is((await shown(database, first.id)).state, 'waiting');
  await answer(database, second, 500, T0_MS);
  assert.equal(await claimAll(database, T0_MS + 119_999), []);
  assert.is(only(await claimAll(database, T0_MS + 120_000)).attempt, 2);
  const log = await database.deliveries.attempts(first.id);
  have(
    log,
    [
      { attempt: 1, status: 200, error: null },
      { attempt: 1, status: 500, error: null },
    ],
    'both attempts are kept',
  );
  await database.deliveries.endLeases('another');
  assert.equal(await claimAll(database, T0_MS + 120_000), [], 'another machine’s sender goes on');
  await database.deliveries.endLeases(SENDER);
  assert.is((await claimAll(database, T0_MS + 120_000)).length, 1, 'a sender that starts has nothing under way');
  other.close();
});

test('a claim takes a share of each endpoint, oldest event first, and a long backlog hides no other', async ({
  database,
}) => {
  await database.endpoints.add(endpoint('busy'));
  for (let n = 0; n < 6; n++) await cancelNew(database, `o${n}`, T0_MS + n);
  await database.endpoints.add(endpoint('other'));
  await cancelNew(database, 'o6', T0_MS + 6);
  const first = await claimDue(database, T0_MS + 10, { limit: 4 });
  assert.equal(
    first.map(({ sessionId, endpointId }) => `${sessionId} ${endpointId}`),
    ['cs_o0 busy', 'cs_o1 busy', 'cs_o6 other'],
  );
  await database.deliveries.release(first);
  assert.equal(endpointsOf(await claimDue(database, T0_MS + 10, { perEndpoint: 1 })), ['busy', 'other']);
});

test('verdicts are delivered, retry and failed', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  await cancelNew(database, 'o1');
  const first = only(await claimAll(database, T0_MS));
  await answer(database, first, null, T0_MS);
  const waiting = await shown(database, first.id);
  has(waiting, { state: 'waiting', attempts: 1, dueAtMs: T0_MS + 120_000, lastStatus: null, lastError: 'timeout' });
  await answer(database, only(await claimAll(database, T0_MS + 120_000)), 400, T0_MS + 120_000);
  has(await shown(database, first.id), { state: 'failed', attempts: 2, dueAtMs: null });
  assert.equal(await claimAll(database, T0_MS + 1e6), []);
  await cancelNew(database, 'o2');
  const second = only(await claimAll(database, T0_MS));
  await answer(database, second, 204, T0_MS);
  assert.is((await shown(database, second.id)).state, 'delivered');
});

test('an endpoint that is off is sent nothing; what waited and what came meanwhile goes out once it is on', async ({
  database,
}) => {
  await database.endpoints.add(endpoint('e1'));
  await cancelNew(database, 'o1');
  assert.is(await database.endpoints.enable('e1', false, 'by hand', T0_MS + 7), true);
  has(only(await database.endpoints.list('m1')), { disabledAtMs: T0_MS + 7, disabledReason: 'by hand' });
  await cancelNew(database, 'o2', T0_MS + 8);
  assert.equal(await claimAll(database, T0_MS + 1e6), []);
  assert.is(await database.endpoints.enable('e1', true, null, T0_MS), true);
  assert.equal(await send(database, T0_MS + 1e6, 200), ['cs_o1#1', 'cs_o2#1']);
  assert.is(await database.endpoints.enable('nobody', true, null, T0_MS), false);
});

test('a removed endpoint is not listed, and its waiting deliveries have failed', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  await cancelNew(database, 'o1');
  const claimed = only(await claimAll(database, T0_MS));
  assert.is(await database.endpoints.remove('e1'), true);
  assert.is(await database.endpoints.remove('e1'), false);
  assert.equal(await database.endpoints.list('m1'), []);
  await answer(database, claimed, 500, T0_MS);
  const row = await shown(database, claimed.id);
  has(row, { state: 'failed', lastError: 'endpoint_removed' });
  assert.is(await database.deliveries.resend({ deliveryId: row.id }, T0_MS), 0);
  assert.is((await database.stats(T0_MS)).deliveriesWaiting, 0);
});

test('a resend starts a new schedule in any state, and of an endpoint that is off once it is on', async ({
  database,
}) => {
  await database.endpoints.add(endpoint('e1'));
  await cancelNew(database, 'o1');
  const [{ id: deliveryId } = { id: '' }] = await database.deliveries.list({ limit: 1 });
  for (const [at, status] of [200, 400, 500].entries()) {
    assert.equal(await send(database, T0_MS + at, status), ['cs_o1#1'], 'with the first attempt');
    assert.is(await database.deliveries.resend({ deliveryId }, T0_MS + at + 1), 1);
  }
  const underWay = only(await claimAll(database, T0_MS + 10));
  await database.deliveries.resend({ deliveryId }, T0_MS + 10);
  await answer(database, underWay, 200, T0_MS + 10);
  await database.endpoints.enable('e1', false, null, T0_MS + 10);
  assert.equal(await claimAll(database, T0_MS + 11), []);
  await database.endpoints.enable('e1', true, null, T0_MS + 12);
  assert.equal(await send(database, T0_MS + 12, 200), ['cs_o1#1'], 'also one that was asked for during an attempt');
  assert.is(await database.deliveries.resend({ deliveryId: 'dlv_none' }, T0_MS), 0);
});

test('what failed since a time, or waits after a failure, is sent again oldest first and paced, and nothing else', async ({
  database,
}) => {
  for (const id of ['e1', 'e2']) await database.endpoints.add(endpoint(id));
  await database.endpoints.enable('e2', false, null, T0_MS);
  const sinceMs = T0_MS + HOUR_MS;
  for (const [name, status] of Object.entries({ early: 400, fine: 200, one: 400, two: 400, later: 500 })) {
    await cancelNew(database, name, name === 'early' ? T0_MS : sinceMs);
    await send(database, sinceMs, status);
  }
  const nowMs = sinceMs + 1;
  const which = { sinceMs, endpointId: 'e1' };
  const before = await database.deliveries.list({ limit: 99 });
  assert.is(await database.deliveries.resend(which, nowMs, { isDryRun: true }), 3);
  assert.equal(await database.deliveries.list({ limit: 99 }), before);
  assert.is(await database.deliveries.resend(which, nowMs), 3);
  assert.equal(await send(database, nowMs, 200), ['cs_one#1']);
  assert.equal(await send(database, nowMs + RESEND_PACE_MS - 1, 200), []);
  assert.equal(await send(database, nowMs + RESEND_PACE_MS, 200), ['cs_two#1']);
  assert.equal(await send(database, nowMs + 2 * RESEND_PACE_MS, 200), ['cs_later#1']);
  assert.is(await database.deliveries.resend({ sinceMs: T0_MS, endpointId: null }, nowMs), 1, 'of every endpoint');
});

test('an endpoint that accepts none of ten events over a week is switched off with an alarm', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  const fail = async (n: number, atMs: number) => {
    await cancelNew(database, `o${n}`, atMs);
    await send(database, atMs, n % 2 ? 400 : 500);
  };
  for (let n = 0; n < 9; n++) await fail(n, T0_MS + n);
  assert.is(await isOff(database), false);
  await fail(9, T0_MS + 7 * DAY_MS);
  const off = only(await database.endpoints.list('m1'));
  assert.is(off.disabledReason, 'the endpoint has accepted nothing for a week');
  const [alarm] = await database.alarms.list(9);
  assert.is(alarm?.code, 'webhook_disabled');
  assert.match(alarm?.message ?? '', /quayside webhook set e1 --state on/);
  await database.endpoints.enable('e1', true, null, T0_MS + 8 * DAY_MS);
  await fail(10, T0_MS + 8 * DAY_MS);
  assert.is(await isOff(database), false, 'it has another week');
});

test('an endpoint that answers 410 to three events in a row over an hour is switched off', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  for (const atMs of [T0_MS, T0_MS + 1, T0_MS + HOUR_MS]) {
    await cancelNew(database, `o${atMs}`, atMs);
    await send(database, atMs, 410);
  }
  assert.is(only(await database.endpoints.list('m1')).disabledReason, 'the endpoint has answered 410 Gone for an hour');
});

test('what was refused is sent again once something is accepted, one for each success', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  const statuses = [401, 403, 404, 405, 409, 410, 400];
  for (const [n, status] of statuses.entries()) {
    await cancelNew(database, `o${n}`, T0_MS);
    assert.equal(await send(database, T0_MS, status), [`cs_o${n}#1`]);
  }
  const laterMs = T0_MS + HOUR_MS;
  assert.equal(await send(database, laterMs, 200), [], 'the schedule has ended');
  await cancelNew(database, 'good', laterMs);
  assert.equal(await send(database, laterMs, 200), ['cs_good#1']);
  assert.equal(await send(database, laterMs, 200), []);
  assert.equal(await send(database, laterMs + 1_000, 403), ['cs_o0#2']);
  assert.equal(await send(database, laterMs + 200_000, 200), [], 'a refusal brings nothing back');
  await cancelNew(database, 'better', laterMs + 300_000);
  const sent: string[] = [];
  for (let s = 300; s < 1_000; s++) sent.push(...(await send(database, laterMs + s * 1000, 200)));
  const rest = ['cs_o0#3', 'cs_o1#2', 'cs_o2#2', 'cs_o3#2', 'cs_o4#2', 'cs_o5#2'];
  assert.equal(sent, ['cs_better#1', ...rest], 'the malformed one is not');
  await cancelNew(database, 'old', laterMs);
  await send(database, laterMs + HOUR_MS, 404);
  await cancelNew(database, 'new', T0_MS + 31 * DAY_MS);
  assert.equal(await send(database, T0_MS + 31 * DAY_MS, 200), ['cs_new#1']);
  assert.equal(await send(database, T0_MS + 32 * DAY_MS, 200), [], 'nor what is older than thirty days');
});

test('an endpoint that sessions name is unproven until it answers, and each after five attempts without an answer', async ({
  database,
}) => {
  for (let n = 0; n < 8; n++) await cancelNew(database, `o${n}`, T0_MS, 'https://orders.example/');
  const claim = (nowMs: number) => claimDue(database, nowMs, { limit: 1 });
  const one = async (nowMs: number, status: number | null): Promise<boolean> => {
    const claimed = only(await claim(nowMs));
    await answer(database, claimed, status, nowMs);
    return claimed.isUnproven;
  };
  assert.is(await one(T0_MS, 500), true, 'a new one');
  for (let n = 0; n < 5; n++) assert.is(await one(T0_MS, null), false);
  const limits = { holder: SENDER, nowMs: T0_MS + 1_000, leaseMs: 1_000, limit: 9, places: () => 9 };
  assert.equal(await database.deliveries.claim({ ...limits, unprovenMax: 0 }), [], 'no place for what does not answer');
  assert.equal(await claim(T0_MS + 999), [], 'it pauses');
  assert.is(await one(T0_MS + 1_000, 500), true);
  assert.is(await one(T0_MS + 1_000, 500), false, 'one answer is enough');
});

test('deliveries are listed newest first, all or those of a session', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  for (let n = 0; n < 3; n++) await cancelNew(database, `o${n}`, T0_MS + n);
  const sessions = async (filter: Parameters<Database['deliveries']['list']>[0]) =>
    (await database.deliveries.list(filter)).map(({ sessionId }) => sessionId);
  assert.equal(await sessions({ limit: 2 }), ['cs_o2', 'cs_o1']);
  assert.equal(await sessions({ sessionId: 'cs_o1', limit: 10 }), ['cs_o1']);
});

test('a page of a store’s deliveries looks at so many events at most, and the next goes on where it ended', async ({
  database,
}) => {
  await database.stores.create(merchant('m2'));
  for (const id of ['e1', 'e2']) await database.endpoints.add(endpoint(id));
  await cancelNew(database, 'first', T0_MS);
  for (const id of ['e1', 'e2']) await database.endpoints.remove(id);
  for (let n = 0; n < 4; n++) await cancelNew(database, `o${n}`, T0_MS + 1 + n);
  const pages = async (lookMax: number, search = any) => {
    const lengths: number[] = [];
    const seen = new Set<string>();
    for (let after: DeliveryCursor | null = null; ; ) {
      const limits = { after, limit: 1, lookMax };
      const page: Awaited<ReturnType<Database['deliveries']['ofStore']>> = await ofStore(database, limits, search);
      for (const { id, sessionId } of page.deliveries) seen.add(`${sessionId} ${id}`);
      lengths.push(page.deliveries.length);
      if (page.goOn === null) return [lengths, seen.size];
      after = page.goOn;
    }
  };
  assert.equal(await pages(3), [[0, 1, 1], 2]);
  assert.equal(await pages(4), [[0, 1, 1], 2]);
  assert.equal(await pages(5), [[1, 1], 2]);
  assert.equal(await pages(5, { ...any, endpointId: 'e2' }), [[1], 1]);
  // A page that looks at two ends after them, found or not.
  assert.equal(await pages(2, { ...any, state: 'delivered' }), [[0, 0, 0], 0]);
  for (const other of [{ storeId: 'm2' }, { mode: 'live' }] as const) {
    const none = await ofStore(database, { after: null, limit: 9, lookMax: 1 }, any, other);
    assert.equal(none, { deliveries: [], goOn: null });
  }
});

test('a store’s deliveries are found by endpoint and state', async ({ database }) => {
  for (const id of ['e1', 'e2']) await database.endpoints.add(endpoint(id));
  for (let n = 0; n < 4; n++) await cancelNew(database, `o${n}`, T0_MS + n * 1000);
  const claimed = await claimAll(database, T0_MS + 9_000);
  assert.is(claimed.length, 8);
  const answers = {
    'e1 cs_o0': 200,
    'e1 cs_o1': 418,
    'e1 cs_o2': 204,
    'e1 cs_o3': 503,
    'e2 cs_o0': null,
    'e2 cs_o1': 418,
    'e2 cs_o2': 500,
  } as Readonly<Record<string, number | null>>;
  for (const one of claimed) {
    const status = answers[`${one.endpointId} ${one.sessionId}`];
    if (status === undefined) continue;
    await answer(database, one, status, T0_MS, { kind: status !== null && status < 300 ? 'delivered' : 'failed' });
  }
  const find = async (search: Partial<DeliverySearch>) => {
    const { deliveries } = await ofStore(database, { after: null, limit: 9, lookMax: 99 }, { ...any, ...search });
    return deliveries.map(({ endpointId, sessionId }) => `${endpointId} ${sessionId}`).sort();
  };
  const own = (id: string) => [0, 1, 2, 3].map((n) => `${id} cs_o${n}`);
  assert.equal(await find({}), [...own('e1'), ...own('e2')]);
  assert.equal(await find({ endpointId: 'e2' }), own('e2'));
  assert.equal(await find({ state: 'delivered' }), ['e1 cs_o0', 'e1 cs_o2']);
  assert.equal(await find({ state: 'waiting' }), ['e2 cs_o3']);
  assert.equal(await find({ endpointId: 'e1', state: 'failed' }), ['e1 cs_o1', 'e1 cs_o3']);
});

test.run();
