import { closeBooks, refundConforms } from '../conformance/refund.ts';
import { openEvmPayouts } from './evm.ts';

const { shop } = await openEvmPayouts();
refundConforms(shop, { coinsLate: null, gas: { units: 10n ** 15n, coins: 1 } });
closeBooks(shop);
