import { test } from 'uvu';
import { closeBooks } from '../conformance/refund.ts';
import { restoreConforms } from '../conformance/restore.ts';
import { openEvmPayouts } from './evm.ts';
import { untilPooled } from './payout-trouble.ts';

const bench = await openEvmPayouts();
const { shop, node, usdc } = bench;
/** Less than any transfer of tokens needs. */
const BELOW_TRANSFER_GAS = 30_000;
const GAS_LIMIT = 30_000_000;
const limitGas = (gas: number) => node.rpc('evm_setBlockGasLimit', [`0x${gas.toString(16)}`]);
test.before(async () => {
  // Mining stops while refunds are under way, so their payments would never be final.
  await shop.quayside.cli('store', 'set', '--refund-early-max', '1000.00');
});
restoreConforms(shop, {
  coins: 1,
  hasLanes: true,
  failNext: {
    currency: 'USDC',
    // The issuer pauses the token while the refund is in the pool.
    async run(fund) {
      await node.mineEvery(0);
      await fund();
      await node.mine();
      await untilPooled(bench);
      await usdc.stop(true, { feeWei: 10n ** 11n });
      await node.mine();
      await usdc.stop(false);
      await node.mineEvery(1);
    },
  },
  pool: {
    pause: () => node.mineEvery(0),
    mine: () => node.mine(),
    async hold() {
      await limitGas(BELOW_TRANSFER_GAS);
      await node.mineEvery(1);
    },
    resume: () => limitGas(GAS_LIMIT),
  },
});
closeBooks(shop);
