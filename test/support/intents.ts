/** Intents of payouts. What a test does not name is the same in every test. */
import type { RefundIntent } from '../../src/core/intent.ts';

/** A refund of five base units of USDT. Its MAC is none; `refundOf` in `temp-signer.ts` makes one for a signer. */
export const refundIntent = (more: Partial<RefundIntent> = {}): RefundIntent => ({
  kind: 'refund',
  session: { id: 'cs_1', amount: '5.00' },
  id: 'rf_1',
  network: 'test:one',
  currency: 'USDT',
  to: 'b'.repeat(40),
  units: 5n,
  mac: 'c'.repeat(64),
  ...more,
});
