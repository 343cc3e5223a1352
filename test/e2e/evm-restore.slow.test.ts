import { closeBooks } from '../conformance/refund.ts';
import { restoreConforms } from '../conformance/restore.ts';
import { openEvmPayouts } from './evm.ts';

const { shop, node } = await openEvmPayouts();
restoreConforms(shop, {
  coins: 1,
  hasLanes: true,
  pool: { pause: () => node.mineEvery(0), mine: () => node.mine(), resume: () => node.mineEvery(1) },
});
closeBooks(shop);
