import * as assert from 'uvu/assert';
import { has } from '../../support/fields.ts';
import {
  addressOf,
  allExtended,
  claimAll,
  endpoint,
  eventTypes,
  inWorlds,
  newSession,
  option,
  pays,
  sessionOf,
  show,
  start,
  T0_MS,
  T0_S,
} from './place.ts';

const test = inWorlds('payments');

test('seen, confirmed, final: the session is paid once its block is confirmed', async ({ database, one }) => {
  await database.endpoints.add(endpoint('e1', { extendedEvents: allExtended }));
  const to = await start(database, 'o1');
  const transfer = pays(to, 1000n);
  const block = await one.mine([transfer]);
  const seen = await show(database, 'o1');
  assert.is(seen.life.status, 'pending');
  assert.is(seen.standing.funded, 'full');
  assert.equal(seen.payments, [
    {
      networkKey: 'test:one',
      network: 'one',
      currency: 'USDT',
      units: 10_000_000n,
      decimals: 6,
      tx: transfer.tx,
      index: 0,
      block: block.hash,
      from: transfer.from,
      confirmations: 1,
      state: 'seen',
      blockTimeS: block.timeS,
    },
  ]);
  await one.mine();
  await one.mine();
  assert.is((await show(database, 'o1')).payments[0]?.confirmations, 3);
  assert.equal(await database.blocks.unconfirmed('test:one', 0, 10), [
    { hash: block.hash, number: block.number, txs: [transfer.tx] },
  ]);
  one.nowMs += 30_000;
  await one.confirm(block);
  const paid = await show(database, 'o1');
  assert.equal(paid.life, {
    status: 'paid',
    endedAtS: T0_S + 30,
    paidAtS: T0_S + 30,
    canceledAtS: null,
    paidLate: false,
    takesAnyToken: false,
  });
  assert.is(paid.payments[0]?.state, 'confirmed');
  assert.equal(await database.blocks.unconfirmed('test:one', 0, 10), []);
  await one.step({ floor: block.number });
  const final = await show(database, 'o1');
  assert.is(final.payments[0]?.state, 'final');
  assert.is(final.standing.firm, 'final');
  assert.equal(await eventTypes(database, 'cs_o1'), ['payment.detected', 'payment.completed']);
});

test('a part and a top-up on the other network: exact sums', async ({ database, one, two }) => {
  await database.endpoints.add(endpoint('e1', { extendedEvents: allExtended }));
  const to = await start(database, 'o1');
  const first = await one.mine([pays(to, 400n)]);
  await one.confirm(first);
  assert.is((await show(database, 'o1')).standing.funded, 'part');
  // One base unit of 18 decimals is missing.
  const almost = { ...pays(to, 0n, { network: 'two' }), units: 6n * 10n ** 18n - 1n };
  const second = await two.mine([almost]);
  await two.confirm(second);
  assert.is((await show(database, 'o1')).life.status, 'pending');
  const crumb = await two.mine([{ ...pays(to, 0n, { network: 'two' }), units: 1n }]);
  await two.confirm(crumb);
  const paid = await show(database, 'o1');
  assert.is(paid.life.status, 'paid');
  has(paid.standing, { confirmedPar: 10n * 10n ** 18n, funded: 'full' });
  const more = await one.mine([pays(to, 1n)]);
  await one.confirm(more);
  assert.is((await show(database, 'o1')).standing.funded, 'over');
  assert.equal(await eventTypes(database, 'cs_o1'), [
    'payment.detected',
    'payment.partially_paid',
    'payment.partially_paid',
    'payment.completed',
  ]);
});

test('sums beyond 64 and 256 bits stay exact', async ({ database, two }) => {
  const to = await start(database, 'o1', { duePar: 2n ** 256n });
  const whale = 2n ** 256n - 1n;
  const block = await two.mine([
    { ...pays(to, 1n), tx: '0xwhale', index: 0, units: whale },
    { ...pays(to, 1n), tx: '0xwhale', index: 1, units: whale },
  ]);
  await two.confirm(block);
  const session = await show(database, 'o1');
  assert.is(session.payments[0]?.units, whale);
  assert.is(session.standing.confirmedPar, 2n * whale);
  assert.is(session.life.status, 'paid');
});

test('several transfers in one transaction and block each count once', async ({ database, one }) => {
  const a = await start(database, 'a');
  const b = await start(database, 'b');
  const batch = [
    pays(a, 500n, { tx: '0xbatch', index: 0 }),
    pays(b, 1000n, { tx: '0xbatch', index: 1 }),
    pays(a, 500n, { tx: '0xbatch', index: 2 }),
  ];
  const block = await one.mine(batch);
  assert.equal(
    (await database.blocks.unconfirmed('test:one', 0, 10))[0]?.txs,
    ['0xbatch'],
    'a transaction is listed once',
  );
  await one.confirm(block);
  await one.confirm(block);
  assert.is((await show(database, 'a')).standing.confirmedPar, 10n * 10n ** 18n);
  assert.is((await show(database, 'b')).standing.confirmedPar, 10n * 10n ** 18n);
});

test('a token that is not accepted, and a network that was not offered', async ({ database, one, two }) => {
  await database.endpoints.add(endpoint('e1', { extendedEvents: allExtended }));
  const onlyUsdtOnOne = { accepts: ['USDT'] as const, options: [option('one', 'USDT', 1000n)] };
  const to = await start(database, 'o1', onlyUsdtOnOne);
  await one.confirm(await one.mine([pays(to, 1000n, { currency: 'USDC' })]));
  const touched = await show(database, 'o1');
  has(touched.standing, { funded: 'none', touched: true });
  assert.is(touched.payments[0]?.currency, 'USDC', 'it is shown');
  await two.confirm(await two.mine([pays(to, 1000n, { network: 'two' })]));
  assert.is((await show(database, 'o1')).life.status, 'paid', 'the right coin on a sister network pays');
});

test('the event stores the exact body that is sent', async ({ database, one }) => {
  await database.endpoints.add(endpoint('e1'));
  const conversion = { rate: '1.0842', currency: 'USDT' as const, amountMinor: 1085n };
  const input = newSession('o1', { conversion, duePar: 1085n * 10n ** 16n });
  const to = addressOf(sessionOf(await database.sessions.create(input)));
  // 10.859999 USDT is reported as 10.85: never more than was received.
  const block = await one.mine([{ ...pays(to, 0n), units: 10_859_999n }]);
  await one.confirm(block);
  const [delivery] = await claimAll(database, T0_MS);
  assert.equal(JSON.parse(delivery?.body ?? ''), {
    id: delivery?.eventId,
    type: 'payment.completed',
    created_at: T0_S,
    livemode: false,
    data: {
      object: {
        amount: 1085,
        status: 'completed',
        currency: 'USDT',
        exchange_rate: '1.0842',
        order_id: 'o1',
        session_id: 'cs_o1',
        source: 'api',
      },
    },
  });
});

test('late money is held and reported, and its event has the sum', async ({ database, one, two }) => {
  await database.endpoints.add(endpoint('e1', { extendedEvents: ['payment.late'] }));
  const to = await start(database, 'o1');
  const afterS = T0_S + 1801;
  one.nowMs = two.nowMs = afterS * 1000;
  await two.mine();
  const block = await one.mine([pays(to, 700n, { currency: 'USDC' })]);
  const session = await show(database, 'o1');
  assert.is(session.life.status, 'expired');
  assert.is(session.standing.latePar, 7n * 10n ** 18n);
  await one.confirm(block);
  const [ended, next] = await claimAll(database, one.nowMs);
  assert.is(ended?.eventType, 'payment.expired');
  assert.is(JSON.parse(ended?.body ?? '').data.object.exchange_rate, '1.0000');
  assert.is(next?.eventType, 'payment.late');
  assert.equal(JSON.parse(next?.body ?? '').data.object, {
    amount: 700,
    status: 'expired',
    currency: 'USDC',
    order_id: 'o1',
    session_id: 'cs_o1',
    source: 'api',
    exchange_rate: '1.0000',
  });
});

test('transfers to other addresses are not saved', async ({ database, one }) => {
  await one.mine([pays('ab'.repeat(20), 1000n)]);
  assert.equal(await database.blocks.unconfirmed('test:one', 0, 10), []);
  assert.equal(await database.alarms.list(10), []);
});

test.run();
