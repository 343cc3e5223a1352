/**
 * geth and Quayside are killed with SIGKILL while a refund is under way: it is paid once, with the bytes that were
 * signed first.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { closeBooks } from '../conformance/refund.ts';
import { openEvmPayouts } from '../e2e/evm.ts';
import type { Json } from '../support/instance.ts';
import { until } from '../support/until.ts';
import { startPayoutGeth } from './payout-geth.ts';

const geth = await startPayoutGeth({ isForgetful: true });
const { shop, usdt } = await openEvmPayouts(undefined, geth);
const { quayside, refundWallet, paidSession, refund, completed, paidTo } = shop;
test.before(async () => {
  await usdt.transfer(`0x${refundWallet}`, 1_000_000_000n);
});

async function attemptsOf(id: string): Promise<Json[]> {
  const [listed] = (await quayside.cli('refund', 'list')).filter((one: Json) => one.refund_id === id);
  return (await quayside.cli('show', listed.id)).payout.attempts;
}

/** Waits until what Quayside signed for a refund is in geth's pool, and returns its hash. */
async function untilPooled(id: string): Promise<string> {
  let hash = '';
  await until('the refund is in the pool', async () => {
    hash = (await attemptsOf(id).catch(() => []))[0]?.transaction_hash ?? '';
    return hash !== '' && (await geth.rpc('eth_getTransactionByHash', [hash]).catch(() => null)) !== null;
  });
  return hash;
}

/** Mines until a transaction is in a block, and one more. */
async function untilMined(hash: string): Promise<void> {
  await until('it is in a block', async () => {
    await geth.mine(1);
    return (await geth.receipt(hash)) !== null;
  });
  await geth.mine(1);
}

/** A session whose payment is final, because refunds wait for that. */
async function finalSession(): Promise<Json> {
  const session = await paidSession(1_000);
  await geth.mine(5);
  return session;
}

/** What is mined so far is what geth comes back with when it is killed. It has no states of the blocks before. */
async function save(): Promise<void> {
  await geth.stop();
  await geth.start();
}

async function expectPaidOnce({ id, payee }: { id: string; payee: string }, hash: string, units: bigint) {
  assert.is((await completed(id)).transaction_hash, hash);
  assert.equal(await paidTo(payee), [units]);
  assert.equal(
    (await attemptsOf(id)).map((one) => one.transaction_hash),
    [hash],
  );
}

test('geth is killed with a refund in its pool, and has lost it: the same bytes are sent again', async () => {
  const session = await finalSession();
  await save();
  await geth.mine(2);
  const asked = await refund(session, '4.00');
  const hash = await untilPooled(asked.id);
  await geth.kill();
  await geth.start();
  await geth.replay();
  await geth.mineEvery(1);
  await expectPaidOnce(asked, hash, 4_000_000n);
});

test('geth is killed with a refund in a block that it loses and gets again', async () => {
  const session = await finalSession();
  await save();
  const asked = await refund(session, '5.00');
  const hash = await untilPooled(asked.id);
  await untilMined(hash);
  await geth.kill();
  await geth.start();
  assert.is(await geth.receipt(hash), null);
  await geth.replay();
  await geth.mineEvery(1);
  await expectPaidOnce(asked, hash, 5_000_000n);
});

test('geth is killed with a refund in a block that never comes again: it is mined in another', async () => {
  const session = await finalSession();
  await save();
  const asked = await refund(session, '6.00');
  const hash = await untilPooled(asked.id);
  await untilMined(hash);
  const lost = await geth.receipt(hash);
  await geth.kill();
  await geth.start();
  await geth.mineEvery(1);
  await expectPaidOnce(asked, hash, 6_000_000n);
  assert.is.not((await geth.receipt(hash))?.blockHash, lost?.blockHash);
});

test('Quayside is killed with one refund in the pool and another just asked for', async () => {
  const session = await finalSession();
  await geth.mineEvery(0);
  const first = await refund(session, '1.00');
  const hash = await untilPooled(first.id);
  const second = await refund(session, '2.00');
  await quayside.kill();
  await geth.mineEvery(1);
  await quayside.start();
  await expectPaidOnce(first, hash, 1_000_000n);
  await completed(second.id);
  assert.equal(await paidTo(second.payee), [2_000_000n]);
});

closeBooks(shop);
