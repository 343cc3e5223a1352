import { closeBooks } from '../conformance/refund.ts';
import { restoreConforms } from '../conformance/restore.ts';
import { openEvmPayouts } from './evm.ts';

const { shop } = await openEvmPayouts();
restoreConforms(shop, { coins: 1, hasLanes: true });
closeBooks(shop);
