/**
 * A few hundred histories of payouts. `payouts.slow.test.ts` plays many more.
 *
 *   SEED=17 npx tsx test/sim/payouts.test.ts     one seed, to replay a failure
 */
import { payoutHistories } from './payout-histories.ts';
import { WIDER_FROM } from './payout-history.ts';

payoutHistories(WIDER_FROM + 1000, 250);
