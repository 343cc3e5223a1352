import { closeBooks } from '../conformance/refund.ts';
import { restoreConforms } from '../conformance/restore.ts';
import { openTronPayouts } from './tron.ts';

const { shop } = await openTronPayouts({ kind: 'depth', blocks: 2 });
restoreConforms(shop, { coins: 500, hasLanes: false });
closeBooks(shop);
