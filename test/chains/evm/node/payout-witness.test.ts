/** Two nodes of one chain: an outcome counts only if both have it as final. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PayoutNode } from '../../../../src/chains/spend.ts';
import type { Random } from '../../../../src/sandbox/random.ts';
import { faultOf } from '../../../conformance/chain.ts';
import type { Lie } from '../../../support/liar.ts';
import type { Json } from '../../../support/recordings.ts';
import { liedPayouts, openLied } from '../../lied-payouts.ts';
import { nothingYet } from '../../seed-wallets.ts';
import { makePayoutBench } from '../payout-bench.ts';

const bench = await makePayoutBench();
const { anvil, openFundedWallets, prepare, send, finalize } = bench;
const opened = await openLied(bench, anvil);
const { liar, alone, pairs, paid, prepared, outcomeOf } = opened;

/** Changes what is said about a transaction that is in a block. */
const receipt =
  (change: object): Lie =>
  (method, _, honest) =>
    method === 'eth_getTransactionReceipt' ? { ...honest, ...change } : undefined;

test('a node whose finality lags delays the outcome', async () => {
  const lied = await paid();
  liar.tell((method, [block]) => (method === 'eth_getBlockByNumber' && block === 'finalized' ? null : undefined));
  for (const pair of pairs) {
    const outcome = await outcomeOf(lied, pair);
    assert.is(outcome.kind === 'waiting' && outcome.included?.tx, lied.attempt.tx);
  }
  await anvil.mine(12);
  assert.is((await outcomeOf(lied, pairs[0])).kind, 'succeeded', 'its depth suffices later');
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
  assert.equal(await outcomeOf(lied, alone), nothingYet);
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
