/** A frozen network is reconciled: what is unexplained is shown, and a refund is settled by the nodes alone, once. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { isEmpty, type ReconcileParts, reconcile, settledBy, survey } from '../../../indexers/payouts/reconcile.ts';
import { createPayoutWallets } from '../../../indexers/payouts/wallets.ts';
import { chains } from '../../../src/chains/index.ts';
import { fails } from '../../conformance/database/place.ts';
import { column } from '../../support/fields.ts';
import { COIN, closeBenches, network, openNodeBench, thief } from './node-bench.ts';

const USDT = 1_000_000n;
test.after(closeBenches);

/** A wallet that has paid three USDT to somebody, of which database and journal know nothing. */
async function openLost(family: 'evm' | 'tron' | 'solana') {
  const bench = await openNodeBench(family, { settles: true, expiryMs: 60_000 });
  const { sim, database, node, signer, tokens, walletKey, clock, passMinutes } = bench;
  const wallet = walletKey('refund', 0);
  sim.world.fund(wallet.key, 300n * COIN[family]);
  sim.pay(wallet.key, 50n * USDT);
  await passMinutes(2);
  const tx = await bench.payUnknown('rf_lost', thief[family], 3n * USDT);
  await passMinutes(5);
  const { spendRules: rules } = chains[family];
  const wallets = createPayoutWallets({ network, tokens, rules, signer });
  const parts = (): ReconcileParts => {
    const act = { atMs: clock.nowMs(), operator: 'anna', command: 'payout reconcile', reason: 'looked' };
    return { node, wallets, rules, database, network, act };
  };
  const codes = async () => (await database.holds.list()).map(({ code }) => code).sort();
  const stateOf = async (id: string) => (await database.payouts.find(id))?.state;
  return { ...bench, wallet, tx, parts, codes, stateOf };
}

for (const family of ['evm', 'tron', 'solana'] as const) {
  test(`${family}: what nobody here paid is acknowledged, payouts go on, and a refund that equals it asks first`, async () => {
    const bench = await openLost(family);
    const { database, tx, parts, codes, stateOf, planRefund, passMinutes, paid, wallet } = bench;
    assert.ok((await codes()).includes('wallet_outflow_foreign'));
    await planRefund('rf_2', bench.treasury, 2n * USDT);
    assert.equal([...new Set(await passMinutes(2))], ['payouts_frozen']);

    const seen = await survey(parts(), []);
    assert.equal(
      seen.transfers.map(({ transfer, settles }) => [transfer.tx, transfer.units, settles]),
      [[tx, 3n * USDT, null]],
    );
    assert.equal(settledBy(seen), []);
    assert.equal(await codes(), seen.freezes.map(({ code }) => code).sort(), 'a survey changes nothing');
    assert.equal(await reconcile(parts(), seen), []);
    assert.ok(isEmpty(await survey(parts(), [])));
    assert.equal(await database.payouts.attempts('rf_2'), []);
    bench.thawSigner();

    // Every block of that moment is read before anything is signed.
    assert.is(await bench.look(), 'payouts_settling');
    await passMinutes(5);
    assert.is(await stateOf('rf_2'), 'succeeded');
    await planRefund('rf_lost', thief[family], 3n * USDT);
    await passMinutes(3);
    const code = family === 'solana' ? 'refund_lock_set' : 'refund_equals_transfer';
    assert.is((await database.payouts.find('rf_lost'))?.wait?.code, code);
    assert.equal(paid(wallet.key, thief[family]), [3n * USDT]);
    assert.ok((await database.audit.list(20)).some(({ command }) => command === 'payout reconcile'));
  });
}

test('while the network settles in, a freeze does not end: what is on its way may explain more', async () => {
  const bench = await openLost('tron');
  const { database, parts, codes, clock } = bench;
  const seen = await survey(parts(), []);
  await database.engines.settle(network, clock.nowMs() + 60_000);
  await fails(reconcile(parts(), seen), 'payouts_settling');
  assert.ok((await codes()).includes('wallet_outflow_foreign'));
});

test('a transaction that an operator names settles nothing unless every node shows that it paid', async () => {
  const bench = await openLost('tron');
  const { parts, planRefund, tx, stateOf } = bench;
  await planRefund('rf_3', thief.tron, 4n * USDT);
  const { named, transfers } = await survey(parts(), [tx, 'ab'.repeat(32)]);
  assert.equal(
    { transfers: transfers.length, named: named.map(({ settles, refusal }) => [settles, refusal !== null]) },
    { transfers: 1, named: [[null, true]] },
  );
  assert.is(await stateOf('rf_3'), 'waiting');
});

test('what came since it was shown stays frozen', async () => {
  const bench = await openLost('tron');
  const { parts, codes, passMinutes, payUnknown } = bench;
  const seen = await survey(parts(), []);
  await payUnknown('rf_more', bench.treasury, 5n * USDT);
  await passMinutes(3);
  const left = await reconcile(parts(), seen);
  assert.equal(column(left, 'code'), ['wallet_outflow_foreign']);
  assert.ok((await codes()).length > 0);
});

test.run();
