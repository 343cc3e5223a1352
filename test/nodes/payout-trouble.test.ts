/**
 * What can go wrong with a payout, on a real geth: its base fee rises with full blocks, which another node makes.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { closeBooks } from '../conformance/refund.ts';
import { openEvmPayouts } from '../e2e/evm.ts';
import { payoutTroubleConforms } from '../e2e/payout-trouble.ts';
import { BLOCK_GAS } from './genesis.ts';
import { startPayoutGeth } from './payout-geth.ts';

/** Creation code that runs until its gas is used up: JUMPDEST, PUSH1 0, JUMP. */
const ENDLESS_LOOP = '0x5b600056';
/** 40 gwei: geth suggests it to everybody once it is in its blocks. */
const HIGH_TIP = `0x${(40n * 10n ** 9n).toString(16)}`;
const FILLING_GAS = `0x${(BLOCK_GAS - 100_000).toString(16)}`;

const geth = await startPayoutGeth();
const bench = await openEvmPayouts(undefined, geth);
test.before(async () => {
  await bench.shop.quayside.cli('store', 'set', 'refund-early-max=1000.00');
});

async function fillBlock(): Promise<void> {
  const from = geth.accounts[8] as string;
  const nonce = Number(await geth.rpc<string>('eth_getTransactionCount', [from, 'latest']));
  const filling = { from, data: ENDLESS_LOOP, gas: FILLING_GAS, maxPriorityFeePerGas: HIGH_TIP };
  await geth.mineElsewhere([await geth.sign(filling, nonce)]);
}

payoutTroubleConforms(bench, async ({ maxFeePerGas }) => {
  const baseFee = async () => {
    const block = await geth.rpc<{ baseFeePerGas: string }>('eth_getBlockByNumber', ['latest', false]);
    return BigInt(block.baseFeePerGas);
  };
  while ((await baseFee()) < 10n * BigInt(maxFeePerGas)) await fillBlock();
  assert.is(await geth.rpc('eth_maxPriorityFeePerGas'), HIGH_TIP);
});
closeBooks(bench.shop);
