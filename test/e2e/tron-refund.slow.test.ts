import { closeBooks, refundConforms } from '../conformance/refund.ts';
import { openTronPayouts } from './tron.ts';

const { shop } = await openTronPayouts({ kind: 'depth', blocks: 2 });
refundConforms(shop, { coinsLate: 500, gas: { units: 16_000_000n, coins: 100 } });
closeBooks(shop);
