/**
 * The refund suite on a real geth that makes a block each second.
 */
import { closeBooks, refundConforms } from '../conformance/refund.ts';
import { openEvmPayouts } from '../e2e/evm.ts';
import { startPayoutGeth } from './payout-geth.ts';

const { shop } = await openEvmPayouts(undefined, await startPayoutGeth());
refundConforms(shop, { coinsLate: null, gas: { units: 10n ** 15n, coins: 1 } });
closeBooks(shop);
