/**
 * The sweep suite on a real geth: five addresses, each of which needs gas.
 */
import { closeBooks } from '../conformance/refund.ts';
import { sweepConforms } from '../conformance/sweep.ts';
import { openEvmPayouts } from '../e2e/evm.ts';
import { startPayoutGeth } from './payout-geth.ts';

const { shop } = await openEvmPayouts(undefined, await startPayoutGeth());
sweepConforms(shop, {
  paid: [
    [4_000, 'USDT'],
    [3_500, 'USDT'],
    [3_000, 'USDT'],
    [2_500, 'USDT'],
    [2_000, 'USDT'],
  ],
  unswept: ['150.00 USDT'],
  poor: /^native_short: .*send that amount to it/,
  coins: 1,
  sweeps: ['40.00 USDT', '35.00 USDT', '30.00 USDT', '25.00 USDT', '20.00 USDT'].map((amount) => [
    amount,
    1,
    ['transfer'],
  ]),
  tooSmall: [],
  costShare: null,
});
closeBooks(shop);
