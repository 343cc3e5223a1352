import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evmAddress } from '../../../../src/chains/evm/address.ts';
import { type PayoutNode, UnclearOutcome } from '../../../../src/chains/spend.ts';
import { has } from '../../../support/fields.ts';
import type { Lie } from '../../../support/liar.ts';
import type { Random } from '../../../support/random.ts';
import type { Json } from '../../../support/recordings.ts';
import { faultOf } from '../../../support/refusal.ts';
import { liedPayouts, openLied } from '../../lied-payouts.ts';
import { nothingYet, refused } from '../../seed-wallets.ts';
import { makePayoutBench } from '../payout-bench.ts';

const bench = await makePayoutBench();
const { anvil, usdt, usdc, node, openFundedWallets, prepare, send, finalize } = bench;
const { outcomeOf, finalOutcome, native, spendElsewhere } = bench;
const opened = await openLied(bench, anvil);
const { liar, alone, pairs, paid, prepared, outcomeOf: outcomeBy } = opened;

test('a fee that the token keeps does not make the refund unpaid', async () => {
  const wallets = await openFundedWallets();
  const intent = wallets.refund('USDT', 1_000_000n);
  await usdt.setFee(20n, 50_000_000n);
  await anvil.mine();
  const attempt = await prepare(wallets, intent);
  await send(attempt);
  await anvil.mine();
  await usdt.setFee(0n, 0n);
  assert.is((await finalOutcome(wallets, intent, [attempt])).kind, 'succeeded');
  assert.is(await usdt.balanceOf(`0x${intent.to}`), 998_000n);
});

test('a frozen payee is refused, by either issuer’s list', async () => {
  const wallets = await openFundedWallets();
  for (const currency of ['USDT', 'USDC'] as const) {
    const intent = wallets.refund(currency, 5n);
    await { USDT: usdt, USDC: usdc }[currency].freeze(`0x${intent.to}`);
    await anvil.mine();
    const quote = refused(await node.quote(wallets.draft(intent), 0, []));
    assert.is(quote.refused, 'destination_frozen');
    assert.match(quote.message, evmAddress.format(intent.to));
  }
});

test('a payee who empties their wallet meanwhile does not make the refund fail', async () => {
  const wallets = await openFundedWallets();
  const [payee = ''] = anvil.accounts.slice(5);
  await usdt.transfer(payee, 8n);
  await anvil.mine();
  const intent = wallets.refund('USDT', 5n, payee.slice(2).toLowerCase());
  const attempt = await prepare(wallets, intent);
  await usdt.transfer(anvil.accounts[0] ?? '', 8n, { from: payee });
  await anvil.mine();
  await send(attempt);
  await anvil.mine();
  assert.is((await finalOutcome(wallets, intent, [attempt])).kind, 'succeeded');
});

// ── Trouble on the chain ─────────────────────────────────────────────────────────────────────────────────────────────

test('a reverted transaction is failed once it is final, and its number is used', async () => {
  const wallets = await openFundedWallets();
  const wallet = wallets.keyOf({ role: 'refund' });
  const intent = wallets.refund('USDC', 5n);
  const attempt = await prepare(wallets, intent);
  await send(attempt);
  await usdc.stop(true, { feeWei: 10n ** 11n });
  const before = await native(wallet);
  await anvil.mine();
  const { number } = await anvil.head();
  assert.equal(await outcomeOf(wallets, intent, [attempt]), { kind: 'waiting', included: { tx: attempt.tx, number } });
  await usdc.stop(false);
  const feeUnits = before - (await native(wallet));
  assert.equal(await finalOutcome(wallets, intent, [attempt]), { kind: 'failed', tx: attempt.tx, number, feeUnits });
  assert.equal(await node.count(wallet), { final: 1, head: 1, pending: 1 });

  const again = await prepare(wallets, intent);
  assert.is(again.terms.nonce, '1');
  await send(again);
  await anvil.mine();
  assert.is((await finalOutcome(wallets, intent, [again])).kind, 'succeeded');
  assert.is(await usdc.balanceOf(`0x${intent.to}`), 5n);
});

test('a call that succeeded and moved nothing is neither paid nor failed: a person must check it', async () => {
  const wallets = await openFundedWallets();
  const intent = wallets.refund('USDC', 5n);
  const attempt = await prepare(wallets, intent);
  await usdc.silence(true);
  await anvil.mine();
  await send(attempt);
  await anvil.mine();
  await usdc.silence(false);
  const fault = await faultOf(finalOutcome(wallets, intent, [attempt]));
  has(fault, { code: 'payout_outcome_unclear', kind: 'transient' });
  assert.match(fault.message, attempt.tx);
  assert.ok(fault instanceof UnclearOutcome);
  assert.ok(fault.feeUnits !== null && fault.feeUnits > 0n, 'it cost its gas');
});

test('a number that another transaction used is foreign, once that is final', async () => {
  const wallets = await openFundedWallets();
  const intent = wallets.refund('USDT', 5n);
  const attempt = await prepare(wallets, intent);
  await spendElsewhere(wallets, 0);
  await anvil.mine();
  assert.equal(await node.broadcast(attempt.bytes), { kind: 'known' });
  assert.equal(await outcomeOf(wallets, intent, [attempt]), nothingYet, 'not final');
  const outcome = await finalOutcome(wallets, intent, [attempt]);
  assert.is(outcome.kind, 'foreign');
  assert.match(outcome.kind === 'foreign' ? outcome.message : '', evmAddress.format(wallets.keyOf({ role: 'refund' })));
});

test('a reorg that mines the other attempt is followed', async () => {
  const wallets = await openFundedWallets();
  const intent = wallets.refund('USDT', 32n);
  const first = await prepare(wallets, intent);
  const second = await prepare(wallets, intent, [first]);
  await send(first);
  await anvil.mine();
  const before = await outcomeOf(wallets, intent, [first, second]);
  assert.is(before.kind === 'waiting' && before.included?.tx, first.tx);
  await anvil.reorg(1);
  await send(second);
  await anvil.mine();
  const after = await outcomeOf(wallets, intent, [first, second]);
  assert.is(after.kind === 'waiting' && after.included?.tx, second.tx);
  const outcome = await finalOutcome(wallets, intent, [first, second]);
  assert.is(outcome.kind === 'succeeded' && outcome.tx, second.tx);
  assert.is(await usdt.balanceOf(`0x${intent.to}`), 32n);
});

// ── Two nodes of one chain: an outcome counts only if both have it as final ──────────────────────────────────────────

/** Changes what is said about a transaction that is in a block. */
const receipt =
  (change: object): Lie =>
  (method, _, honest) =>
    method === 'eth_getTransactionReceipt' ? { ...honest, ...change } : undefined;

test('a node whose finality lags delays the outcome', async () => {
  const lied = await paid();
  liar.tell((method, [block]) => (method === 'eth_getBlockByNumber' && block === 'finalized' ? null : undefined));
  for (const pair of pairs) {
    const outcome = await outcomeBy(lied, pair);
    assert.is(outcome.kind === 'waiting' && outcome.included?.tx, lied.attempt.tx);
  }
  await anvil.mine(12);
  assert.is((await outcomeBy(lied, pairs[0])).kind, 'succeeded', 'its depth suffices later');
});

test('what either node has received counts as on its way; a silent one tells nothing', async () => {
  const { wallets, attempt } = await prepared();
  const pendingOf = async (pair: PayoutNode) => (await pair.count(attempt.payer))?.pending;
  assert.is(await pendingOf(pairs[0]), 0);
  await send(attempt);
  liar.tell((method) => (method === 'eth_getTransactionCount' ? '0x0' : undefined));
  assert.equal(await Promise.all(pairs.map(pendingOf)), [1, 1]);
  liar.heal();
  liar.fail();
  for (const pair of pairs) {
    assert.is((await faultOf(pair.count(wallets.keyOf({ role: 'refund' })))).kind, 'transient');
  }
  await anvil.mine();
});

test('a receipt from a block that is not on the chain is not an inclusion', async () => {
  const lied = await paid();
  liar.tell(receipt({ blockHash: `0x${'34'.repeat(32)}` }));
  assert.equal(await outcomeBy(lied, alone), nothingYet);
});

/** A plausible answer, if there is one. */
function plausible(method: string, result: Json, random: Random): unknown {
  if (method === 'eth_getTransactionCount') return `0x${random.int(4).toString(16)}`;
  if (method !== 'eth_getTransactionReceipt' || result === null) return result;
  const lies = [null, { ...result, logs: [] }, { ...result, status: result.status === '0x1' ? '0x0' : '0x1' }];
  return lies[random.int(lies.length)];
}

liedPayouts(
  {
    contradiction: () => receipt({ status: '0x0', logs: [] }),
    useless: [
      ['node_wrong_chain', (method) => (method === 'eth_chainId' ? '0x1' : undefined)],
      ['node_nonsense', receipt({ transactionHash: `0x${'12'.repeat(32)}` })],
      [
        'node_block_unknown',
        (method, [block]) =>
          method === 'eth_getBlockByNumber' && block !== 'finalized' && block !== 'latest' ? null : undefined,
      ],
    ],
    logs: { call: /^eth_getTransactionReceipt$/, name: 'logs', prefix: '0x', otherToken: bench.usdc.address },
    substitutes: [
      ...[null, true, false, '', '0x', '0x0', '0x1', '0x5', '0x40', `0x${'f'.repeat(64)}`, `0x${'f'.repeat(66)}`],
      ...['zz', 7, [], {}, `0x${'12'.repeat(32)}`],
    ],
    async scenes() {
      const [done, waiting, lost] = [await paid(), await prepared(), await prepared()];
      const wallets = await openFundedWallets();
      const intent = wallets.refund('USDC', 3n);
      const failing = await prepare(wallets, intent);
      await bench.spendElsewhere(lost.wallets, 0);
      await send(failing);
      await bench.usdc.stop(true, { feeWei: 10n ** 11n });
      await anvil.mine();
      await bench.usdc.stop(false);
      await finalize();
      return [
        [done, 'succeeded'],
        [waiting, 'waiting'],
        [lost, 'foreign'],
        [{ wallets, intent, attempt: failing }, 'failed'],
      ];
    },
    lieAtRandom(random, spoiled) {
      const isSubtle = random.chance(0.5);
      return (method, _, honest) => {
        if (honest === undefined || random.chance(0.4)) return undefined;
        return isSubtle ? plausible(method, honest, random) : spoiled(honest);
      };
    },
    expected: ['succeeded', 'waiting', 'foreign', 'failed', 'payout_nodes_disagree', 'node_nonsense'],
    honesty: 0.5,
  },
  opened,
);

test.run();
