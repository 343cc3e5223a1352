import * as assert from 'uvu/assert';
import { booksAgree, inWorlds, keyOf, pays, start, T0_MS, T0_S } from './place.ts';
import { askForRefund, Purse } from './purse.ts';

const test = inWorlds('books');

test('a payment is booked when it is confirmed, not before', async ({ database, one, two }) => {
  const to = await start(database, 'o1');
  const block = await one.mine([pays(to, 600n), pays(to, 1n, { currency: 'USDC' })]);
  const other = await two.mine([pays(to, 400n, { network: 'two' })]);
  assert.equal(await booksAgree(database), {});
  await one.confirm(block);
  await one.confirm(block);
  await two.confirm(other);
  assert.equal(await booksAgree(database), {
    'test:one USDC collected': 10_000n,
    'test:one USDC received': -10_000n,
    'test:one USDT collected': 6_000_000n,
    'test:one USDT received': -6_000_000n,
    'test:two USDT collected': 4n * 10n ** 18n,
    'test:two USDT received': -4n * 10n ** 18n,
  });
});

test('a reorg reverses the entry, and a new confirmation books it again', async ({ database, one }) => {
  const to = await start(database, 'o1');
  const transfers = [pays(to, 1000n)];
  const block = await one.mine(transfers);
  await one.confirm(block);
  for (let n = 0; n < 3; n++) {
    await one.reorg(1, [[], []]);
    assert.equal(await booksAgree(database), {});
    assert.is(await one.reconnect(2, [{ block, transfers }]), 'done');
    assert.equal(await booksAgree(database), {});
    await one.confirm(block);
    assert.is((await booksAgree(database))['test:one USDT collected'], 10_000_000n);
  }
  const { entries } = await database.ledger.verify();
  assert.is(entries, 7, 'entries are never deleted');
});

test('money for no session, or before it, is unclaimed', async ({ database, one }) => {
  assert.is(await one.step({ floor: 100 }), 'done');
  await one.readThrough(T0_S, 'following', 121);
  const reorgDepthsMax = { 'test:one': 20 };
  const to = await start(database, 'o1', { reorgDepthsMax });
  const early = await one.mine([pays(to, 100n)]);
  const stray = await one.mine([pays(keyOf(30), 300n)]);
  await one.confirm(early, stray);
  assert.equal(await booksAgree(database), {
    'test:one USDT collected': 4_000_000n,
    'test:one USDT unclaimed': -4_000_000n,
  });
});

test('a refund may take more from one network than the session received there, but not more than it received', async (world) => {
  const { database, one, two } = world;
  const to = await start(database, 'o1');
  const transfers = [pays(to, 600n)];
  const block = await one.mine(transfers);
  const other = await two.mine([pays(to, 400n, { network: 'two' })]);
  await one.confirm(block);
  await two.step({ confirm: [other], floor: other.number });
  await database.stores.update('m1', { refundEarlyMaxMinor: 6_00 });
  assert.ok(await askForRefund(one, 'r1', 'cs_o1', 1000n));
  const purse = new Purse(one);
  await purse.begin();
  for (const minute of [0, 2, 3]) {
    one.nowMs = T0_MS + minute * 60_000;
    await purse.work('succeeded');
  }
  assert.is(purse.paid.size, 1);
  const { 'test:one USDT received': left, 'test:two USDT received': right } = await booksAgree(database);
  assert.equal({ left, right }, { left: 4_000_000n, right: -4n * 10n ** 18n });
  await one.reorg(1, [[], []]);
  assert.equal((await database.ledger.verify()).problems, ['session cs_o1: refunds exceed its receipts by 6.00 USDT']);
  assert.is(await one.reconnect(2, [{ block, transfers }]), 'done');
  await one.confirm(block);
});

test.run();
