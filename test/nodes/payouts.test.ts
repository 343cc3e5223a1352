/**
 * Trouble with payouts on a real geth: it is killed with SIGKILL, and so is Quayside; its base fee rises with full
 * blocks, which another node makes; the call reverts; the wallet's key is used elsewhere. Each refund is paid once, or
 * nothing is paid until a person has looked.
 */
import { Wallet } from 'ethers';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evmSpending } from '../../src/chains/evm/spend.ts';
import { closeBooks } from '../conformance/refund.ts';
import { openEvmPayouts } from '../e2e/evm.ts';
import { column } from '../support/fields.ts';
import type { Json } from '../support/instance.ts';
import { seed } from '../support/payout-shop.ts';
import { find } from '../support/quayside-process.ts';
import { until } from '../support/until.ts';
import { startDrivenGeth } from './driven-geth.ts';
import { BLOCK_GAS } from './genesis.ts';

/** Creation code that runs until its gas is used up: JUMPDEST, PUSH1 0, JUMP. */
const ENDLESS_LOOP = '0x5b600056';
/** 40 gwei: geth suggests it to everybody once it is in its blocks. */
const HIGH_TIP = `0x${(40n * 10n ** 9n).toString(16)}`;
const FILLING_GAS = `0x${(BLOCK_GAS - 100_000).toString(16)}`;

// A block each second, each final below four more.
const geth = await startDrivenGeth({ chainId: 1, finalDepth: 4, isForgetful: true });
await geth.mineEvery(1);
const { shop, usdt, usdc } = await openEvmPayouts(undefined, geth);
const { quayside, refundWallet, paidSession, refund, completed, paidTo } = shop;
const wallet = `0x${refundWallet}`;
test.before(async () => {
  // Mining stops while refunds are under way, so their payments would never be final.
  await quayside.cli('store', 'set', '--refund-early-max=1000.00');
  for (const token of [usdt, usdc]) await token.transfer(wallet, 1_000_000_000n);
});

type Pooled = Readonly<Record<'hash' | 'maxFeePerGas' | 'maxPriorityFeePerGas', string>>;

async function fillBlock(): Promise<void> {
  const from = geth.accounts[8] as string;
  const nonce = Number(await geth.rpc<string>('eth_getTransactionCount', [from, 'latest']));
  const filling = { from, data: ENDLESS_LOOP, gas: FILLING_GAS, maxPriorityFeePerGas: HIGH_TIP };
  await geth.mineElsewhere([await geth.sign(filling, nonce)]);
}

/** Makes blocks in which a refund that is in the pool could not be, and leaves none coming. */
async function raiseBaseFee({ maxFeePerGas }: Pooled): Promise<void> {
  const baseFee = async () => {
    const block = await geth.rpc<{ baseFeePerGas: string }>('eth_getBlockByNumber', ['latest', false]);
    return BigInt(block.baseFeePerGas);
  };
  while ((await baseFee()) < 10n * BigInt(maxFeePerGas)) await fillBlock();
  assert.is(await geth.rpc('eth_maxPriorityFeePerGas'), HIGH_TIP);
}

async function attemptsOf(id: string): Promise<Json[]> {
  const [listed] = (await quayside.cli('refund', 'list')).filter((one: Json) => one.refund_id === id);
  return (await quayside.cli('show', listed.id)).payout.attempts;
}

/** Waits until what Quayside signed for a refund is in geth's pool. */
const untilPooled = (id: string): Promise<Pooled> =>
  find('the refund is in the pool', async () => {
    const [attempt] = await attemptsOf(id).catch(() => []);
    if (!attempt?.transaction_hash) return null;
    return geth.rpc<Pooled | null>('eth_getTransactionByHash', [attempt.transaction_hash]).catch(() => null);
  });

/** Sends a transaction of the refund wallet from elsewhere, at a price that outbids any other with its number. */
async function spendElsewhere(nonce: number): Promise<string> {
  const { secret } = evmSpending.derive(seed, { role: 'refund' });
  const thief = new Wallet(`0x${Buffer.from(secret).toString('hex')}`);
  const theft = { type: 2, chainId: geth.chainId, nonce, to: thief.address, value: 0n, gasLimit: 21_000n };
  const fees = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 11n };
  return geth.sendRaw(await thief.signTransaction({ ...theft, ...fees }));
}

const untilFrozen = () =>
  until('the network is frozen', async () => {
    const { payouts } = await quayside.cli('status');
    return payouts.frozen[0]?.code === 'payout_nonce_foreign';
  });

/** Mines until a transaction is in a block, and one more. */
async function untilMined(hash: string): Promise<void> {
  await until('it is in a block', async () => {
    await geth.mine(1);
    return (await geth.receipt(hash)) !== null;
  });
  await geth.mine(1);
}

/** geth comes back from a kill with what is mined so far. It has no states of the blocks before. */
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
  const session = await paidSession(1_000);
  await save();
  await geth.mine(2);
  const asked = await refund(session, '4.00');
  const { hash } = await untilPooled(asked.id);
  await geth.kill();
  await geth.start();
  await geth.replay();
  await geth.mineEvery(1);
  await expectPaidOnce(asked, hash, 4_000_000n);
});

for (const [next, isReplayed] of [
  ['that it gets again', true],
  ['that never comes again: it is mined in another', false],
] as const) {
  test(`geth is killed with a refund in a block that it loses and ${next}`, async () => {
    const session = await paidSession(1_000);
    await save();
    const asked = await refund(session, '5.00');
    const { hash } = await untilPooled(asked.id);
    await untilMined(hash);
    const lost = await geth.receipt(hash);
    await geth.kill();
    await geth.start();
    assert.is(await geth.receipt(hash), null);
    if (isReplayed) await geth.replay();
    await geth.mineEvery(1);
    await expectPaidOnce(asked, hash, 5_000_000n);
    assert.is((await geth.receipt(hash))?.blockHash === lost?.blockHash, isReplayed);
  });
}

test('Quayside is killed with one refund in the pool and another just asked for', async () => {
  const session = await paidSession(1_000);
  await geth.mineEvery(0);
  const first = await refund(session, '1.00');
  const { hash } = await untilPooled(first.id);
  const second = await refund(session, '2.00');
  await quayside.kill();
  await geth.mineEvery(1);
  await quayside.start();
  await expectPaidOnce(first, hash, 1_000_000n);
  await completed(second.id);
  assert.equal(await paidTo(second.payee), [2_000_000n]);
});

test('when the base fee rises, a replacement with the same nonce and hardly a higher tip is sent, and paid once', async () => {
  const session = await paidSession(1_000);
  await geth.mineEvery(0);
  const { id, payee } = await refund(session, '4.00');
  const pooled = await untilPooled(id);
  await raiseBaseFee(pooled);
  // The base fee falls by an eighth with each empty block, so few come until the replacement is there.
  await geth.mineEvery(8);
  await until('it was outbid', async () => (await attemptsOf(id)).length > 1);
  await geth.mineEvery(1);
  await completed(id);
  const attempts = await attemptsOf(id);
  assert.is(new Set(attempts.map(({ nonce }) => nonce)).size, 1);
  assert.is(new Set(attempts.map((one) => one.transaction_hash)).size, attempts.length);
  assert.equal(await paidTo(payee), [4_000_000n]);
  const mined = await geth.rpc<Pooled>('eth_getTransactionByHash', [attempts.at(-1)?.transaction_hash]);
  // Pools ask for a tenth more each time.
  const tipMax = Number(pooled.maxPriorityFeePerGas) * 1.2 ** (attempts.length - 1);
  assert.ok(Number(mined.maxPriorityFeePerGas) <= tipMax, `a tip of ${Number(mined.maxPriorityFeePerGas)} wei`);
});

test('a refund that reverts is signed again once that is final, and paid once', async () => {
  const session = await paidSession(1_000, 'USDC');
  await geth.mineEvery(0);
  const { id, payee } = await refund(session, '2.50', 'USDC');
  await untilPooled(id);
  await usdc.stop(true, { feeWei: 10n ** 11n });
  await geth.mine();
  await usdc.stop(false);
  await geth.mineEvery(1);
  await completed(id);
  const attempts = await attemptsOf(id);
  assert.equal(column(attempts, 'attempt'), ['0.0', '1.0']);
  assert.is((await geth.receipt(attempts[0].transaction_hash))?.status, '0x0');
  assert.equal(await paidTo(payee, 'USDC'), [2_500_000n]);
});

test('a refund whose number was used elsewhere is signed again by resolve --retry, once that is final, and paid once', async () => {
  const session = await paidSession(1_000);
  await geth.mineEvery(0);
  const { id, payee } = await refund(session, '3.00');
  await untilPooled(id);
  const [{ nonce }] = (await attemptsOf(id)) as [Json];
  await spendElsewhere(nonce);
  await geth.mine(1);
  const [{ id: payout }] = (await quayside.cli('refund', 'list')).filter((one: Json) => one.refund_id === id);
  const words = ['payout', 'resolve', payout, '--retry', '--reason', 'its number was used'];
  const early = await quayside.cli(...words).then(() => 'settled', String);
  assert.match(early, 'can still be included: wait until it is final');
  await geth.mineEvery(1);
  await untilFrozen();
  const done = (...command: string[]) =>
    quayside.cli(...command).then(
      () => true,
      () => false,
    );
  assert.not.ok(await done(...words), 'the blocks have not been looked at');
  const reconcile = ['payout', 'reconcile', shop.network, '--yes', '--reason', 'it was ours'];
  await until('the network is reconciled', () => done(...reconcile));
  await until('what was on the chain then is read', () => done(...words));
  await completed(id);
  assert.equal(column(await attemptsOf(id), 'attempt'), ['0.0', '1.0']);
  assert.equal(await paidTo(payee), [3_000_000n]);
  const { payouts } = await quayside.cli('status');
  assert.equal(payouts.frozen, []);
});

closeBooks(shop);
