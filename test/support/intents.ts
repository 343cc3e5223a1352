/** Intents of payouts. Values that a test does not name are equal in every test. */
import type { GasIntent, RefundIntent, SweepIntent } from '../../src/core/intent.ts';
import type { Database } from '../../src/database/database.ts';

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

/** A base unit of native coin for deposit address 1. */
export const gasIntent = (more: Partial<GasIntent> = {}): GasIntent => ({
  kind: 'gas',
  id: 'ga_1',
  network: 'test:one',
  form: 'transfer',
  index: 1,
  units: 1n,
  ...more,
});

/** A sweep of a base unit of USDT from deposit address 1. */
export const sweepIntent = (more: Partial<SweepIntent> = {}): SweepIntent => ({
  kind: 'sweep',
  id: 'sw_1',
  network: 'test:one',
  currency: 'USDT',
  from: [{ index: 1, units: 1n }],
  ...more,
});

/** Returns how many transfers out of our wallets, which no attempt explains, may have paid a refund. */
export async function countEqual({ payouts }: Database, intent: RefundIntent): Promise<number> {
  await payouts.plan([{ intent, sessionId: null, servesId: null, notBeforeMs: 0, nowMs: 0 }]);
  return (await payouts.equalTo(intent.id)).length;
}
