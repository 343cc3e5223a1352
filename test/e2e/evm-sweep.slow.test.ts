/**
 * The sweep suite on EVM, and the options of an operator.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { closeBooks } from '../conformance/refund.ts';
import { sweepConforms } from '../conformance/sweep.ts';
import type { Json } from '../support/instance.ts';
import { runProgram } from '../support/quayside-process.ts';
import { openEvmPayouts } from './evm.ts';

const { shop, usdt } = await openEvmPayouts();
const { chain, quayside } = shop;

sweepConforms(shop, {
  paid: [
    [2_500, 'USDT'],
    [4_000, 'USDT'],
    [500, 'USDT'],
    [3_000, 'USDC'],
  ],
  unswept: ['70.00 USDT', '30.00 USDC'],
  poor: /^native_short: .*send that amount to it/,
  coins: 1,
  sweeps: [
    ['40.00 USDT', 1, ['transfer']],
    ['25.00 USDT', 1, ['transfer']],
    ['30.00 USDC', 1, ['transfer']],
  ],
  tooSmall: ['5.00 USDT'],
  costShare: null,
});

test('without a terminal and without --yes nothing is swept', async () => {
  const before = await quayside.cli('payout', 'list');
  const words = ['scripts/quayside.mjs', 'sweep', '--run', '--min', '1.00'];
  const { code, stderr } = await runProgram(words, { QUAYSIDE_CONFIG: `${quayside.dataDir}/config.json` });
  assert.is(code, 2);
  assert.match(stderr, /--yes is required/);
  assert.equal(await quayside.cli('payout', 'list'), before);
});

test('amounts below the minimum are swept if the operator says so', async () => {
  const run = await quayside.cli('sweep', '--run', '--yes', '--min', '1.00');
  assert.equal(
    run.sweeps.map(({ amount, state }: Json) => [amount, state]),
    [['5.00 USDT', 'succeeded']],
  );
  assert.is(await usdt.balanceOf(`0x${chain.treasury}`), 70_000_000n);
  const [status] = await quayside.cli('sweep', '--status');
  assert.equal(status.unswept, []);
  assert.is(status.sweeps.length, 4);
});

closeBooks(shop);
