/**
 * `payouts settle` on a refund that a version before today's locks may have paid, also by a wallet that was rotated
 * since: over a real database and signing service, and the chain's own client in front of a simulated node.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { settleNever, settlePaid } from '../../../indexers/payouts/exits.ts';
import { createPayoutWallets } from '../../../indexers/payouts/wallets.ts';
import { chains } from '../../../src/chains/index.ts';
import { lockAddress, olderLockSeed } from '../../../src/chains/solana/lock.ts';
import { Fault } from '../../../src/core/fault.ts';
import { openDatabase } from '../../../src/database/sqlite/open.ts';
import { signOlderRefund } from '../../support/older-refund.ts';
import { refundOf, seed } from '../../support/temp-signer.ts';
import { simulatedChains } from '../../support/test-network.ts';
import { COIN, closeBenches, network, openNodeBench, thief } from './node-bench.ts';

const USDT = 1_000_000n;
const DEPOSIT = 650_240n;
const payee = thief.solana;
const rules = chains.solana.spendRules;
test.after(closeBenches);

/** An installation with a refund of a version before today's locks; its newest state, with any attempts, was lost. */
async function openOlder(refund: number) {
  const bench = await openNodeBench('solana', { wallets: { refund, gas: 0 } });
  const { sim, database, file, signer, node, tokens, treasury, clock, walletKey, advance } = bench;
  for (const index of [0, refund]) {
    sim.world.fund(walletKey('refund', index).key, 10n * COIN.solana);
    sim.pay(walletKey('refund', index).key, 20n * USDT);
  }
  advance(10_000);
  await bench.planRefund('rf_1', payee, 3n * USDT);
  const db = openDatabase({ file, busyTimeoutMs: 10_000, bytesMax: null });
  db.client.exec("UPDATE payouts SET older_lock = 1 WHERE id = 'rf_1'");
  db.close();
  const wallet = walletKey('refund', 0).key;
  const intent = refundOf('rf_1', 3n * USDT, { network, to: payee });
  const wallets = createPayoutWallets({ network, tokens, rules, signer });
  const parts = () => {
    const act = { atMs: clock.nowMs(), operator: 'anna', command: 'payouts settle', reason: 'restored' };
    return { node, wallets, rules, database, act, isDryRun: false };
  };
  const find = async () => {
    const payout = await database.findPayout('rf_1');
    assert.ok(payout);
    return payout;
  };
  const refusalOf = async (work: Promise<unknown>) =>
    work.then(
      () => 'settled',
      (error: unknown) => (error instanceof Fault ? error.code : String(error)),
    );
  async function payOlder(): Promise<string> {
    const draft = await wallets.draft(intent, { payer: wallet });
    const quote = await node.quote(draft, null, []);
    assert.ok(quote.kind === 'quoted');
    const { lock_deposit_lamports: _, ...rest } = quote.terms;
    const place = { chainId: simulatedChains.solana.chainId, tokens, treasury, feeUnitsMax: COIN.solana };
    const { tx, bytes } = signOlderRefund(seed, place, intent, { ...rest, lock_lamports: String(DEPOSIT) });
    assert.equal(await node.broadcast(bytes), { kind: 'accepted' });
    return tx;
  }
  return { ...bench, wallet, parts, find, refusalOf, payOlder };
}

for (const [rotations, what] of [
  [0, 'the wallet that still pays'],
  [1, 'a wallet that was rotated since'],
] as const) {
  test(`a refund that an older version has paid by ${what} is settled by that transaction, and never paid again`, async () => {
    const bench = await openOlder(rotations);
    const { database, wallet, parts, find, refusalOf, payOlder, advance, look, paid, walletKey } = bench;
    const tx = await payOlder();
    advance(60_000);
    assert.is(
      await refusalOf(settleNever(parts(), await find(), { isRenewed: false, isAgreed: false })),
      'payout_maybe_paid',
    );
    if (rotations === 0) {
      await look();
      assert.equal([(await find()).state, (await find()).wait?.code], ['waiting', 'refund_lock_set']);
      assert.is(await database.cancelPayout('rf_1', bench.clock.nowMs()), false);
      assert.match((await database.payoutDoubt('rf_1'))?.message ?? '', 'payouts settle rf_1 --paid');
    }
    const settled = await settlePaid(parts(), await find(), tx, false);
    assert.is(settled.kind, 'paid');
    assert.equal([(await find()).state, (await find()).tx], ['succeeded', tx]);
    const [attempt] = await database.listPayoutAttempts('rf_1');
    assert.equal([attempt?.payer, attempt?.tx], [wallet, tx]);
    for (let n = 0; n < 5; n++) {
      advance(60_000);
      await look();
    }
    const payers = [walletKey('refund', 0).key, walletKey('refund', 1).key];
    assert.equal(
      payers.flatMap((payer) => paid(payer, payee)),
      [3n * USDT],
    );
  });
}

test('a refund whose older lock a stranger has funded is ended by settle --never, and nothing was paid', async () => {
  const { sim, wallet, parts, find, advance, look, paid } = await openOlder(0);
  sim.world.fund(lockAddress(wallet, olderLockSeed('rf_1')), DEPOSIT);
  advance(60_000);
  const ended = await settleNever(parts(), await find(), { isRenewed: false, isAgreed: false });
  assert.is(ended.kind, 'never');
  assert.equal([(await find()).state, paid(wallet, payee)], ['failed', []]);
  advance(60_000);
  await look();
  assert.equal([(await find()).state, paid(wallet, payee)], ['failed', []]);
});

test.run();
