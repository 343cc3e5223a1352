/**
 * Gates of money out. All must be open before a payout gets an attempt. They are checked once, in this order, inside
 * the transaction that allots.
 */

/** The gates in their order, each named by the reason that applies while it is closed. */
export const gates = [
  'payouts_frozen',
  'payouts_settling',
  'refund_maybe_paid',
  'refund_equals_transfer',
  'refund_store_suspended',
  'refund_uncovered',
  'refund_unapproved',
  'refund_not_final',
] as const;
export type Gate = (typeof gates)[number];

/** The gates that only refunds have. */
export type RefundGate = Extract<Gate, `refund_${'store_suspended' | 'uncovered' | 'unapproved' | 'not_final'}`>;

/**
 * Returns the gates that an attempt must pass, in their order.
 * @param attempt its index; only a freeze stops a replacement, which excludes the attempt that it replaces
 */
export const gatesOf = (attempt: number): readonly Gate[] => (attempt === 0 ? gates : ['payouts_frozen']);
