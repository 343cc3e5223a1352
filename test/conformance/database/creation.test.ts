import * as assert from 'uvu/assert';
import type { NewSession } from '../../../src/database/sessions.ts';
import { networkReport } from '../../support/network-report.ts';
import { inWorlds, merchant, newSession, option, request, sessionOf, show, T0_MS, T0_S } from './place.ts';

const DAY_MS = 24 * 3600 * 1000;

const test = inWorlds('session creation');
const withReplay = (orderId: string, idempotencyKey: string | null, bodyHash: string, more: Partial<NewSession> = {}) =>
  newSession(orderId, { replay: { idempotencyKey, path: '/sessions/create', bodyHash }, ...more });

test(
  'the session has exactly what was requested',
  async ({ database }) => {
    const input = newSession('o1', {
      request: request('o1', {
        amountMinor: 9_007_199_254_740_991n,
        currency: 'EUR',
        description: 'Grüße 🧾 "quoted"',
        lineItems: [{ price_data: { currency: 'EUR', unit_amount: 5, product_data: { name: 'ü' } }, quantity: 3 }],
        taxMinor: 0n,
        shippingMinor: 12n,
        successUrl: 'https://shop.example/ok',
        cancelUrl: 'https://shop.example/no',
        metadata: { order_id: 'o1', null: '' },
      }),
      conversion: {
        rate: '1.0842',
        currency: 'USDC',
        amountMinor: 9_765_605_031_850_302_443n,
        sources: ['kraken', 'coinbase'],
      },
      duePar: 2n ** 255n,
      accepts: ['USDC'],
      expiresInS: 60,
      inclusionGraceS: { 'test:one': 36, 'test:two': 15 },
      options: [{ ...option('two', 'USDC', 1000n), units: 2n ** 255n }],
      nowMs: T0_MS + 999,
    });
    const created = await database.sessions.create(input);
    assert.is(created.kind, 'created');
    const session = await show(database, 'cs_o1');
    assert.equal(sessionOf(created), session);
    assert.equal(session.request, input.request);
    assert.equal(session.conversion, input.conversion);
    assert.equal(session.options, input.options);
    assert.equal(session.terms, {
      duePar: 2n ** 255n,
      tolerancePar: 25n * 10n ** 16n,
      accepts: ['USDC'],
      createdAtS: T0_S,
      beforeNumbers: { 'test:one': 0, 'test:two': 0 },
      expiresAtS: T0_S + 60,
      inclusionGraceS: { 'test:two': 15 },
      topUpGraceS: 90,
      monitoringS: 1000,
      latePolicy: 'accept',
    });
    assert.is(session.createdAtS, T0_S);
    assert.is(session.life.status, 'pending');
    assert.equal(session.payments, []);
    assert.equal(await database.sessions.find('o1'), session, 'the prefix may be omitted');
    assert.is(await database.sessions.find('cs_nobody'), null);
  },
  { toleranceMinor: 25, topUpGraceS: 90, monitoringS: 1000, latePolicy: 'accept' },
);

test('an order with the same body is replayed, with another body a conflict', async ({ database }) => {
  const first = sessionOf(await database.sessions.create(withReplay('o1', null, 'a')));
  const again = await database.sessions.create(withReplay('o1', null, 'a', { id: 'cs_other', nowMs: T0_MS + 5 }));
  assert.is(again.kind, 'replayed');
  assert.equal(sessionOf(again), first);
  assert.equal(await database.sessions.create(withReplay('o1', null, 'b')), { kind: 'order_id_conflict' });
  assert.is(await database.sessions.find('cs_other'), null);
});

test('an order id belongs to one store and one mode', async ({ database }) => {
  sessionOf(await database.sessions.create(withReplay('o1', 'k', 'a')));
  await database.stores.create(merchant('m2'));
  const elsewhere = await database.sessions.create(withReplay('o1', 'k', 'b', { id: 'cs_m2', storeId: 'm2' }));
  assert.is(elsewhere.kind, 'created');
  // No live network is followed: what matters is that the test order is no conflict.
  const live = await database.sessions.create(withReplay('o1', 'k', 'c', { id: 'cs_live', mode: 'live' }));
  assert.is(live.kind, 'address_pool_empty');
});

test('an idempotency key is checked before the order', async ({ database }) => {
  const first = sessionOf(await database.sessions.create(withReplay('o1', 'k1', 'a')));
  const again = await database.sessions.create(withReplay('o1', 'k1', 'a'));
  assert.is(again.kind, 'replayed');
  assert.equal(sessionOf(again), first);
  const other = await database.sessions.create(withReplay('o2', 'k1', 'b'));
  assert.equal(other, { kind: 'idempotency_key_conflict' });
  const both = await database.sessions.create(withReplay('o1', 'k1', 'b'));
  assert.equal(both, { kind: 'idempotency_key_conflict' });
  const elsewhere = withReplay('o3', 'k1', 'c');
  const otherPath = await database.sessions.create({
    ...elsewhere,
    replay: { ...elsewhere.replay, path: '/v1/payment/sessions' },
  });
  assert.is(otherPath.kind, 'created', 'a key belongs to a path');
});

test('the key of a replayed order is remembered; the key of a conflict is not', async ({ database }) => {
  sessionOf(await database.sessions.create(withReplay('o1', null, 'a')));
  assert.is((await database.sessions.create(withReplay('o1', 'k1', 'a'))).kind, 'replayed');
  assert.equal(await database.sessions.create(withReplay('o2', 'k1', 'b')), { kind: 'idempotency_key_conflict' });
  assert.equal(await database.sessions.create(withReplay('o1', 'k2', 'b')), { kind: 'order_id_conflict' });
  assert.is((await database.sessions.create(withReplay('o2', 'k2', 'c'))).kind, 'created');
});

test('a key is kept for a day; the order id for ever', async ({ database, one }) => {
  sessionOf(await database.sessions.create(withReplay('o1', 'k1', 'a')));
  const within = withReplay('o2', 'k1', 'b', { nowMs: T0_MS + DAY_MS });
  assert.equal(await database.sessions.create(within), { kind: 'idempotency_key_conflict' });
  await one.readThrough((T0_MS + DAY_MS) / 1000);
  const after = withReplay('o2', 'k1', 'b', { nowMs: T0_MS + DAY_MS + 1 });
  assert.is((await database.sessions.create(after)).kind, 'created');
  const order = withReplay('o1', 'k1', 'x', { nowMs: T0_MS + 3 * DAY_MS });
  assert.equal(await database.sessions.create(order), { kind: 'order_id_conflict' });
});

test('one order sent many times at once by two processes creates one session', async ({ database, place }) => {
  const other = place.connect();
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      (n % 2 ? database : other).sessions.create(withReplay('o1', `k${n}`, 'a', { id: `cs_${n}` })),
    ),
  );
  assert.is(outcomes.filter(({ kind }) => kind === 'created').length, 1);
  assert.is(new Set(outcomes.map((outcome) => sessionOf(outcome).id)).size, 1);
  assert.is((await database.addresses.level({ family: 'evm', mode: 'test' }, 'xpub one')).taken, 1);
  other.close();
});

test('only networks that are followed are offered', async ({ database, one, two }) => {
  const offered = async (orderId: string) =>
    sessionOf(await database.sessions.create(newSession(orderId))).options.map(({ networkKey }) => networkKey);
  assert.equal(new Set(await offered('o1')), new Set(['test:one', 'test:two']));
  await two.readThrough(T0_S, 'halted');
  assert.equal(new Set(await offered('o2')), new Set(['test:one']));
  await one.readThrough(T0_S, 'halted');
  assert.equal(await database.sessions.create(newSession('o3')), { kind: 'no_network_followed' });
  await two.readThrough(T0_S);
  assert.equal(new Set(await offered('o3')), new Set(['test:two']));
  const unheard = newSession('o4', {
    options: [{ ...option('one', 'USDT', 1000n), network: 'new', networkKey: 'test:new' }],
  });
  assert.equal(await database.sessions.create(unheard), { kind: 'no_network_followed' });
  await database.networks.report(networkReport('test:new', T0_MS, { state: 'starting' }));
  assert.equal(await database.sessions.create(unheard), { kind: 'no_network_followed' });
});

test('a network is offered for two minutes after it was last read to its head', async ({ database, one, two }) => {
  let orders = 0;
  const offeredAt = async (afterS: number): Promise<readonly string[]> => {
    orders += 1;
    const wish = newSession(`o${orders}`, { nowMs: T0_MS + afterS * 1000 });
    const outcome = await database.sessions.create(wish);
    if (outcome.kind === 'no_network_followed') return [];
    return [...new Set(sessionOf(outcome).options.map(({ network }) => network))];
  };
  const report = (feed: typeof one, state: 'fault' | 'starting' | 'following', afterS: number) => {
    feed.nowMs = T0_MS + afterS * 1000;
    return feed.readThrough(T0_S, state);
  };
  await two.readThrough(T0_S, 'halted');
  await report(one, 'starting', 5);
  assert.equal(await offeredAt(5), ['one'], 'a restart refuses nobody');
  await report(one, 'fault', 115);
  assert.equal(await offeredAt(120), ['one']);
  await report(one, 'fault', 121);
  assert.equal(await offeredAt(121), [], 'a payment would not be seen');
  // Blocks may be further apart than two minutes.
  await report(one, 'following', 500);
  assert.equal(await offeredAt(520), ['one']);
  assert.equal(await offeredAt(531), [], 'the follower is silent');
});

test.run();
