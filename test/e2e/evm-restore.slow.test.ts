import { test } from 'uvu';
import { closeBooks } from '../conformance/refund.ts';
import { restoreConforms } from '../conformance/restore.ts';
import { openEvmPayouts } from './evm.ts';

const { shop } = await openEvmPayouts();
test.before(async () => {
  // Mining stops while refunds are under way, so their payments would never be final.
  await shop.quayside.cli('store', 'set', '--refund-early-max', '1000.00');
});
restoreConforms(shop, { coins: 1 });
closeBooks(shop);
