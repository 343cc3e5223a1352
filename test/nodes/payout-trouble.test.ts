/**
 * What can go wrong with a payout, on a real geth: its base fee rises with full blocks, which another node makes.
 */
import { closeBooks } from '../conformance/refund.ts';
import { openEvmPayouts } from '../e2e/evm.ts';
import { payoutTroubleConforms } from '../e2e/payout-trouble.ts';
import { BLOCK_GAS } from './genesis.ts';
import { startPayoutGeth } from './payout-geth.ts';

/** Creation code that runs until its gas is used up: JUMPDEST, PUSH1 0, JUMP. */
const ENDLESS_LOOP = '0x5b600056';
const FILLING_GAS = `0x${(BLOCK_GAS - 100_000).toString(16)}`;

const geth = await startPayoutGeth();
const bench = await openEvmPayouts(undefined, geth);

async function fillBlock(): Promise<void> {
  const from = geth.accounts[8] as string;
  const nonce = Number(await geth.rpc<string>('eth_getTransactionCount', [from, 'latest']));
  await geth.mineElsewhere([await geth.sign({ from, data: ENDLESS_LOOP, gas: FILLING_GAS }, nonce)]);
}

payoutTroubleConforms(bench, async ({ maxFeePerGas }) => {
  const baseFee = async () => {
    const block = await geth.rpc<{ baseFeePerGas: string }>('eth_getBlockByNumber', ['latest', false]);
    return BigInt(block.baseFeePerGas);
  };
  while ((await baseFee()) < 3n * BigInt(maxFeePerGas)) await fillBlock();
});
closeBooks(bench.shop);
