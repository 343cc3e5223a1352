import * as assert from 'uvu/assert';
import type { Attempt, DeliveryVerdict } from '../../../src/database/attempts.ts';
import type { ClaimedDelivery } from '../../../src/database/claims.ts';
import type { Database } from '../../../src/database/database.ts';
import type { DeliveryCursor, DeliverySearch } from '../../../src/database/deliveries.ts';
import { recordAttempt } from '../../support/record-attempt.ts';
import {
  addressOf,
  allExtended,
  cancelNew,
  claimAll,
  endpoint,
  eventTypes,
  inWorlds,
  merchant,
  newSession,
  pays,
  sessionOf,
  T0_MS,
} from './place.ts';

const attempt = (claimed: ClaimedDelivery, more: Partial<Attempt> = {}): Attempt => ({
  deliveryId: claimed.id,
  attempt: claimed.attempt,
  trigger: claimed.trigger,
  startedAtMs: T0_MS,
  durationMs: 20,
  status: 500,
  error: null,
  responseExcerpt: 'oops',
  ...more,
});
const only = <T>(items: readonly T[]): T => {
  assert.is(items.length, 1);
  return items[0] as T;
};
const claim = (database: Database, nowMs: number, limit = 100, perEndpointMax = 100) =>
  database.sending.claim({ nowMs, leaseMs: 60_000, limit, perEndpointMax });
const stateOf = async (database: Database, id: string) =>
  only((await database.deliveries.list({ limit: 1000 })).filter((delivery) => delivery.id === id));

const test = inWorlds('webhooks');

test('each enabled endpoint of the store and mode gets one delivery', async ({ database }) => {
  await database.stores.create(merchant('m2'));
  await database.endpoints.add(endpoint('e1'));
  await database.endpoints.add(endpoint('e2'));
  await database.endpoints.add(endpoint('live', { mode: 'live' }));
  await database.endpoints.add(endpoint('other', { storeId: 'm2' }));
  await database.endpoints.add(endpoint('off', { disabledAtMs: 1, disabledReason: 'gone' }));
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
    trigger: 'auto',
    leaseUntilMs: T0_MS + 60_000,
    eventAtMs: T0_MS,
  });
});

test('extended events go only to endpoints that opted in', async ({ database, one }) => {
  await database.endpoints.add(endpoint('plain'));
  await database.endpoints.add(endpoint('curious', { extendedEvents: ['payment.detected'] }));
  const to = addressOf(sessionOf(await database.sessions.create(newSession('o1'))));
  const block = await one.mine([pays(to, 400n)]);
  await one.confirm(block);
  await one.confirm(await one.mine([pays(to, 600n)]));
  const rows = await database.deliveries.list({ sessionId: 'cs_o1', limit: 100 });
  const of = (id: string) => rows.filter(({ endpointId }) => endpointId === id).map(({ eventType }) => eventType);
  assert.equal(of('plain'), ['payment.completed']);
  assert.equal(of('curious'), ['payment.completed', 'payment.detected']);
});

test('an endpoint that a session names gets that session’s events, once per URL', async ({ database }) => {
  await database.endpoints.add(endpoint('e1', { url: 'https://shop.example/all' }));
  await cancelNew(database, 'named', T0_MS, 'https://shop.example/own');
  await cancelNew(database, 'again', T0_MS, 'https://shop.example/own');
  await cancelNew(database, 'plain');
  await cancelNew(database, 'same', T0_MS, 'https://shop.example/all');
  const own = (await database.endpoints.list('m1')).filter(({ perSession }) => perSession);
  assert.equal(own.map(({ url }) => url).sort(), ['https://shop.example/all', 'https://shop.example/own']);
  const urlsOf = async (id: string) => {
    const rows = await database.deliveries.list({ sessionId: `cs_${id}`, limit: 10 });
    const all = await database.endpoints.list(null);
    return rows.map(({ endpointId }) => all.find((found) => found.id === endpointId)?.url).sort();
  };
  const both = ['https://shop.example/all', 'https://shop.example/own'];
  assert.equal(await urlsOf('named'), both);
  assert.equal(await urlsOf('again'), both);
  assert.equal(await urlsOf('plain'), ['https://shop.example/all']);
  assert.equal(await urlsOf('same'), ['https://shop.example/all'], 'one URL gets an event once');
});

test('event ids rise strictly, even within one millisecond and when the clock goes back', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  for (const [n, nowMs] of [T0_MS, T0_MS, T0_MS - 5000, T0_MS + 1].entries()) await cancelNew(database, `o${n}`, nowMs);
  const rows = [...(await database.deliveries.list({ limit: 10 }))].reverse();
  assert.equal(
    rows.map(({ sessionId }) => sessionId),
    ['cs_o0', 'cs_o1', 'cs_o2', 'cs_o3'],
  );
  const ids = rows.map(({ eventId }) => BigInt(eventId.slice(4)));
  assert.ok(ids.every((id, at) => at === 0 || id > (ids[at - 1] ?? id)));
  assert.is(ids[0], BigInt(T0_MS) * 1_000_000n);
});

test('events of one session wait for each other; those of another session do not', async ({ database, one }) => {
  await database.endpoints.add(endpoint('e1', { extendedEvents: allExtended }));
  const to = addressOf(sessionOf(await database.sessions.create(newSession('o1'))));
  await one.confirm(await one.mine([pays(to, 1000n)]));
  await cancelNew(database, 'o2');
  assert.equal(await eventTypes(database, 'cs_o1'), ['payment.detected', 'payment.completed']);
  const first = await claimAll(database, T0_MS);
  assert.equal(
    first.map(({ sessionId, eventType }) => [sessionId, eventType]),
    [
      ['cs_o1', 'payment.detected'],
      ['cs_o2', 'payment.cancelled'],
    ],
  );
  assert.equal(await claimAll(database, T0_MS), [], 'leased deliveries block the rest of their session');
  await recordAttempt(database, attempt(first[0] as ClaimedDelivery), { kind: 'retry', atMs: T0_MS + 120_000 });
  const second = only(await claimAll(database, T0_MS));
  assert.is(second.eventType, 'payment.completed', 'after its first attempt a delivery no longer blocks others');
  const later = await claimAll(database, T0_MS + 120_000);
  assert.equal(
    later.map(({ sessionId, eventType, attempt }) => [sessionId, eventType, attempt]),
    [
      ['cs_o1', 'payment.detected', 2],
      ['cs_o2', 'payment.cancelled', 1],
    ],
    'leases ran out; only the oldest of each session is due',
  );
  assert.equal(await claimAll(database, T0_MS + 120_000), [], 'a running retry blocks the rest, too');
});

test('a delivery whose lease ran out is due again; a recorded attempt ends the lease', async ({ database, place }) => {
  await database.endpoints.add(endpoint('e1'));
  await cancelNew(database, 'o1');
  const other = place.connect();
  const racing = await Promise.all([claimAll(database, T0_MS), claimAll(other, T0_MS)]);
  const first = only(racing.flat());
  assert.equal(await claimAll(other, T0_MS + 59_999), []);
  const second = only(await claimAll(other, T0_MS + 60_000));
  assert.equal([second.id, second.attempt], [first.id, 1]);
  await recordAttempt(database, attempt(second), { kind: 'retry', atMs: T0_MS + 200_000 });
  assert.equal(await claimAll(database, T0_MS + 199_999), []);
  assert.is(only(await claimAll(database, T0_MS + 200_000)).attempt, 2);
  other.close();
});

test('claims are limited in total and per endpoint, in turn from each, oldest event first', async ({ database }) => {
  await database.endpoints.add(endpoint('dead'));
  for (let n = 0; n < 6; n++) await cancelNew(database, `o${n}`, T0_MS + n);
  await database.endpoints.add(endpoint('alive'));
  await cancelNew(database, 'o6', T0_MS + 6);
  const first = await claim(database, T0_MS + 10, 3);
  assert.equal(
    first.map(({ sessionId }) => sessionId),
    ['cs_o0', 'cs_o1', 'cs_o6'],
  );
  const second = await claim(database, T0_MS + 10, 100, 4);
  assert.equal(
    second.map(({ sessionId, endpointId }) => `${sessionId} ${endpointId}`),
    ['cs_o2 dead', 'cs_o3 dead'],
    'two are leased already, so two more may be',
  );
  assert.equal(await claim(database, T0_MS + 10, 100, 4), []);
});

test('many events of one session do not hide another session', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  await cancelNew(database, 'many', T0_MS);
  const about = { storeId: 'm1', sessionId: 'cs_many', type: 'payment.cancelled', overrides: {} } as const;
  for (let n = 0; n < 1_100; n++) await database.events.trigger({ ...about, nowMs: T0_MS });
  await cancelNew(database, 'other', T0_MS + 1);
  const claimed = await claim(database, T0_MS + 2, 10, 4);
  assert.equal(
    claimed.map(({ sessionId }) => sessionId),
    ['cs_many', 'cs_other'],
  );
});

test('a long backlog of one endpoint does not hide another', async ({ database }) => {
  await database.addresses.add({
    family: 'evm',
    mode: 'test',
    source: 'xpub one',
    firstIndex: 40,
    keys: Array.from({ length: 60 }, (_, n) => `${n}`.padStart(40, 'a')),
  });
  await database.endpoints.add(endpoint('dead'));
  for (let n = 0; n < 60; n++) await cancelNew(database, `o${n}`, T0_MS + n);
  await database.endpoints.add(endpoint('alive'));
  await cancelNew(database, 'last', T0_MS + 100);
  const claimed = await claim(database, T0_MS + 200, 10, 2);
  assert.equal(claimed.map(({ endpointId }) => endpointId).sort(), ['alive', 'dead', 'dead']);
});

test('verdicts are delivered, retry and failed; every attempt is saved', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  await cancelNew(database, 'o1');
  const claimed = only(await claimAll(database, T0_MS));
  const record = (number: number, verdict: DeliveryVerdict, more: Partial<Attempt> = {}) =>
    recordAttempt(database, attempt(claimed, { attempt: number, ...more }), verdict);
  await record(1, { kind: 'retry', atMs: T0_MS + 120_000 }, { status: null, error: 'timeout' });
  const waiting = await stateOf(database, claimed.id);
  assert.equal(
    [waiting.state, waiting.attempts, waiting.nextAttemptAtMs, waiting.lastStatus, waiting.lastError],
    ['waiting', 1, T0_MS + 120_000, null, 'timeout'],
  );
  await record(2, { kind: 'failed' }, { status: 404 });
  const failed = await stateOf(database, claimed.id);
  assert.equal([failed.state, failed.attempts, failed.nextAttemptAtMs], ['failed', 2, null]);
  assert.equal(await claimAll(database, T0_MS + 1e6), []);
  const log = await database.deliveries.attempts(claimed.id);
  assert.equal(log, [
    { ...attempt(claimed, { attempt: 1, status: null, error: 'timeout' }), stamp: null },
    { ...attempt(claimed, { attempt: 2, status: 404 }), stamp: null },
  ]);
  // A slow first dispatcher that succeeds late.
  await record(2, { kind: 'delivered' }, { status: 200 });
  await record(2, { kind: 'retry', atMs: T0_MS + 1 });
  const delivered = await stateOf(database, claimed.id);
  assert.equal([delivered.state, delivered.attempts, delivered.nextAttemptAtMs], ['delivered', 2, null]);
});

test('a disabled endpoint is sent nothing until it is enabled', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  await cancelNew(database, 'o1');
  assert.is(await database.endpoints.enable('e1', false, 'by hand', T0_MS + 7), true);
  const off = only(await database.endpoints.list('m1'));
  assert.equal([off.disabledAtMs, off.disabledReason], [T0_MS + 7, 'by hand']);
  await cancelNew(database, 'o2', T0_MS + 8);
  assert.equal(await claimAll(database, T0_MS + 1e6), []);
  assert.is(await database.endpoints.enable('e1', true, null, T0_MS), true);
  assert.equal(
    (await claimAll(database, T0_MS + 1e6)).map(({ sessionId }) => sessionId),
    ['cs_o1', 'cs_o2'],
  );
  assert.is(await database.endpoints.enable('nobody', true, null, T0_MS), false);
});

test('a removed endpoint is not listed, and its waiting deliveries have failed', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  await cancelNew(database, 'o1');
  assert.is(await database.endpoints.remove('e1'), true);
  assert.is(await database.endpoints.remove('e1'), false);
  assert.equal(await database.endpoints.list('m1'), []);
  assert.equal(await claimAll(database, T0_MS), []);
  const row = only(await database.deliveries.list({ limit: 10 }));
  assert.equal([row.state, row.lastError], ['failed', 'endpoint_removed']);
  assert.is(await database.deliveries.resend(row.id, T0_MS), false);
  assert.is((await database.reports.stats(T0_MS)).deliveriesWaiting, 0);
});

test('a resend is due in any state, and its failure leaves the schedule as it was', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  await cancelNew(database, 'o1');
  const auto = only(await claimAll(database, T0_MS));
  await recordAttempt(database, attempt(auto), { kind: 'retry', atMs: T0_MS + 120_000 });
  assert.is(await database.deliveries.resend(auto.id, T0_MS + 10), true);
  const manual = only(await claimAll(database, T0_MS + 10));
  assert.equal([manual.id, manual.trigger, manual.body], [auto.id, 'manual', auto.body]);
  await recordAttempt(database, attempt(manual, { startedAtMs: T0_MS + 11 }), { kind: 'failed' });
  const waiting = await stateOf(database, auto.id);
  assert.equal([waiting.state, waiting.attempts, waiting.nextAttemptAtMs], ['waiting', 1, T0_MS + 120_000]);
  assert.equal(await claimAll(database, T0_MS + 119_999), []);
  const next = only(await claimAll(database, T0_MS + 120_000));
  assert.equal([next.trigger, next.attempt], ['auto', 2]);
  await recordAttempt(database, attempt(next, { status: 200 }), { kind: 'delivered' });
  assert.is(await database.deliveries.resend(auto.id, T0_MS + 130_000), true);
  const extra = only(await claimAll(database, T0_MS + 130_000));
  assert.is(extra.trigger, 'manual');
  await recordAttempt(database, attempt(extra, { startedAtMs: T0_MS + 130_001 }), {
    kind: 'retry',
    atMs: T0_MS + 140_000,
  });
  assert.is((await stateOf(database, auto.id)).state, 'delivered', 'delivered stays delivered');
  assert.equal(await claimAll(database, T0_MS + 1e9), []);
  assert.is(await database.deliveries.resend('nobody', T0_MS), false);
});

test('a resend reaches a disabled endpoint, and a success ends the schedule', async ({ database }) => {
  await database.endpoints.add(endpoint('e1'));
  await cancelNew(database, 'o1');
  await database.endpoints.enable('e1', false, 'by hand', T0_MS);
  const row = only(await database.deliveries.list({ state: 'waiting', limit: 10 }));
  await database.deliveries.resend(row.id, T0_MS);
  const manual = only(await claimAll(database, T0_MS));
  assert.is(manual.trigger, 'manual');
  assert.equal(await claimAll(database, T0_MS), [], 'it is leased');
  // Requested again during the attempt: one more is due afterwards.
  await database.deliveries.resend(row.id, T0_MS + 5);
  await recordAttempt(database, attempt(manual, { startedAtMs: T0_MS + 1, status: 200 }), { kind: 'delivered' });
  assert.is((await stateOf(database, row.id)).attempts, 0, 'only automatic attempts are counted');
  assert.is(only(await claimAll(database, T0_MS + 5)).trigger, 'manual');
});

test('resends and scheduled deliveries share an endpoint’s limit', async ({ database }) => {
  await database.endpoints.add(endpoint('dead'));
  for (let n = 0; n < 8; n++) await cancelNew(database, `o${n}`, T0_MS + n);
  await database.endpoints.add(endpoint('alive'));
  await cancelNew(database, 'last', T0_MS + 8);
  const rows = await database.deliveries.list({ limit: 100 });
  for (const { id, endpointId, sessionId } of rows) {
    if (sessionId !== 'cs_o7' && (endpointId === 'alive' || sessionId !== 'cs_last')) {
      await database.deliveries.resend(id, T0_MS + 10);
    }
  }
  const claimed = await claim(database, T0_MS + 10, 5, 2);
  assert.equal(
    claimed.map(({ sessionId, endpointId, trigger }) => `${sessionId} ${endpointId} ${trigger}`),
    ['cs_o0 dead manual', 'cs_o1 dead manual', 'cs_last alive manual'],
  );
});

test('deliveries are listed newest first, by store, session and state', async ({ database }) => {
  await database.stores.create(merchant('m2'));
  await database.endpoints.add(endpoint('e1'));
  for (let n = 0; n < 3; n++) await cancelNew(database, `o${n}`, T0_MS + n);
  const sessions = async (filter: Parameters<Database['deliveries']['list']>[0]) =>
    (await database.deliveries.list(filter)).map(({ sessionId }) => sessionId);
  assert.equal(await sessions({ limit: 2 }), ['cs_o2', 'cs_o1']);
  assert.equal(await sessions({ storeId: 'm1', limit: 10 }), ['cs_o2', 'cs_o1', 'cs_o0']);
  assert.equal(await sessions({ storeId: 'm2', limit: 10 }), []);
  assert.equal(await sessions({ sessionId: 'cs_o1', state: 'waiting', limit: 10 }), ['cs_o1']);
  assert.equal(await sessions({ state: 'failed', limit: 10 }), []);
});

test('a page of deliveries looks at so many events at most', async ({ database }) => {
  await database.stores.create(merchant('m2'));
  for (const id of ['e1', 'e2']) await database.endpoints.add(endpoint(id));
  await cancelNew(database, 'first', T0_MS);
  for (const id of ['e1', 'e2']) await database.endpoints.remove(id);
  for (let n = 0; n < 4; n++) await cancelNew(database, `o${n}`, T0_MS + 1 + n);
  const at = { storeId: 'm1', mode: 'test' } as const;
  const any = { endpointId: null, state: null, answer: null };
  const pages = async (lookMax: number, search: DeliverySearch = any) => {
    const lengths: number[] = [];
    const seen = new Set<string>();
    for (let after: DeliveryCursor | null = null; ; ) {
      const page: Awaited<ReturnType<Database['deliveries']['ofStore']>> = await database.deliveries.ofStore(
        at,
        search,
        {
          after,
          limit: 1,
          lookMax,
        },
      );
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
  // A page that looks at two deliveries ends after them, found or not.
  assert.equal(await pages(2, { ...any, state: 'delivered' }), [[0, 0, 0, 0], 0]);
  for (const other of [{ storeId: 'm2' }, { mode: 'live' }] as const) {
    const none = await database.deliveries.ofStore({ ...at, ...other }, any, {
      after: null,
      limit: 9,
      lookMax: 1,
    });
    assert.equal(none, { deliveries: [], goOn: null });
  }
});

test('deliveries are found by endpoint, state and last answer', async ({ database }) => {
  for (const id of ['e1', 'e2']) await database.endpoints.add(endpoint(id));
  for (let n = 0; n < 4; n++) await cancelNew(database, `o${n}`, T0_MS + n * 1000);
  const claimed = await claimAll(database, T0_MS + 9_000);
  assert.is(claimed.length, 8);
  const answers = {
    ...{ 'e1 cs_o0': 200, 'e1 cs_o1': 418, 'e1 cs_o2': 204, 'e1 cs_o3': 503 },
    ...{ 'e2 cs_o0': null, 'e2 cs_o1': 418, 'e2 cs_o2': 500 },
  } as Readonly<Record<string, number | null>>;
  for (const one of claimed) {
    const status = answers[`${one.endpointId} ${one.sessionId}`];
    if (status === undefined) continue;
    const error = status === null ? 'timeout' : null;
    const isDelivered = status !== null && status < 300;
    await recordAttempt(
      database,
      attempt(one, { status, error, startedAtMs: one.eventAtMs + 50 }),
      isDelivered ? { kind: 'delivered' } : { kind: 'failed' },
    );
  }
  const any = { endpointId: null, state: null, answer: null } as const;
  const at = { storeId: 'm1', mode: 'test' } as const;
  const find = async (search: Partial<DeliverySearch>) => {
    const page = { after: null, limit: 9, lookMax: 99 };
    const { deliveries } = await database.deliveries.ofStore(at, { ...any, ...search }, page);
    return deliveries.map(({ endpointId, sessionId }) => `${endpointId} ${sessionId}`).sort();
  };
  const own = (id: string) => [0, 1, 2, 3].map((n) => `${id} cs_o${n}`);
  assert.equal(await find({}), [...own('e1'), ...own('e2')]);
  assert.equal(await find({ endpointId: 'e2' }), own('e2'));
  assert.equal(await find({ state: 'delivered' }), ['e1 cs_o0', 'e1 cs_o2']);
  assert.equal(await find({ state: 'waiting' }), ['e2 cs_o3']);
  assert.equal(await find({ answer: { from: 418, to: 418 } }), ['e1 cs_o1', 'e2 cs_o1']);
  assert.equal(await find({ answer: { from: 500, to: 599 } }), ['e1 cs_o3', 'e2 cs_o2']);
  assert.equal(await find({ answer: 'none' }), ['e2 cs_o0'], 'what was not tried has no answer to miss');
  const all = { endpointId: 'e1', state: 'failed', answer: { from: 400, to: 499 } } as const;
  assert.equal(await find(all), ['e1 cs_o1']);

  const delivered = claimed.find((one) => `${one.endpointId} ${one.sessionId}` === 'e1 cs_o2');
  assert.equal(await database.endpoints.activity('e1', T0_MS + 1000), {
    accepted: { deliveryId: delivered?.id, eventType: 'payment.cancelled', atMs: T0_MS + 2070 },
    counts: { waiting: 0, delivered: 1, failed: 2 },
    hasMore: false,
  });
  assert.equal(await database.endpoints.activity('e2', T0_MS + 1000), {
    accepted: null,
    counts: { waiting: 1, delivered: 0, failed: 2 },
    hasMore: false,
  });
  assert.is(await database.endpoints.activity('none', 0), null);
});

test.run();
