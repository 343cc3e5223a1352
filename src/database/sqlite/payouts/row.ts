/**
 * Rows of payouts and attempts, and their form in core.
 * @module
 */
import type { Attempt, Payout } from '../../../core/payout.ts';
import type { payoutAttempts, payouts } from './schema.ts';

export type PayoutRow = typeof payouts.$inferSelect;
export type AttemptRow = typeof payoutAttempts.$inferSelect;

export function toPayout({ kind: _, waitCode, waitMessage, ...row }: PayoutRow): Payout {
  const wait = waitCode === null || waitMessage === null ? null : { code: waitCode, message: waitMessage };
  return { ...row, wait };
}

export function toAttempt({ payoutId: _, network: __, bytes, ...row }: AttemptRow): Attempt {
  return { ...row, bytes: bytes && new Uint8Array(bytes) };
}
