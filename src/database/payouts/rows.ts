/** The form that rows of payouts have in core. */
import type { Attempt, Payout } from '../../core/payout.ts';
import type { EngineReason } from '../money-out.ts';
import type { payoutAttempts, payouts } from '../tables.ts';

export type PayoutRow = typeof payouts.$inferSelect;
export type AttemptRow = typeof payoutAttempts.$inferSelect;

export function toPayout({
  kind: _,
  notPaidThrough: __,
  shownTransferId: ___,
  waitCode,
  waitMessage,
  faultCode,
  faultMessage,
  ...row
}: PayoutRow): Payout {
  return { ...row, wait: toReason(waitCode, waitMessage), fault: toReason(faultCode, faultMessage) };
}

export const toReason = (code: string | null, message: string | null): EngineReason | null =>
  code === null || message === null ? null : { code, message };

export function toAttempt({ payoutId: _, network: __, bytes, ...row }: AttemptRow): Attempt {
  return { ...row, bytes: bytes && new Uint8Array(bytes) };
}

/** The answer of an attempt that no node was sent from here: the chain has shown it. */
export const LEARNED = 'learned';
