/**
 * Hundreds of further histories of payouts.
 *
 *   npx tsx test/sim/payouts.slow.test.ts --seeds=20000 --from=5000     any number of them
 * @module
 */
import { payoutHistories } from './payout-histories.ts';
import { WIDER_FROM } from './payout-history.ts';

payoutHistories(WIDER_FROM + 250, 500);
