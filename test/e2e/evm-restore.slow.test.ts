import { closeBooks } from '../conformance/refund.ts';
import { restoreConforms } from '../conformance/restore.ts';
import { openEvmPayouts } from './evm.ts';
import { untilPooled } from './payout-trouble.ts';

const bench = await openEvmPayouts();
const { shop, node, usdc } = bench;
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
  pool: { pause: () => node.mineEvery(0), mine: () => node.mine(), resume: () => node.mineEvery(1) },
});
closeBooks(shop);
