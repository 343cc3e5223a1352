/**
 * Hundreds of histories of payouts, those of `payouts.test.ts` among them.
 *
 *   npx tsx test/sim/payouts.slow.test.ts --seeds=20000 --from=5000     any number of them
 */
import { payoutHistories } from './payout-histories.ts';
import { WIDER_FROM } from './payout-history.ts';

payoutHistories(WIDER_FROM, 750);
