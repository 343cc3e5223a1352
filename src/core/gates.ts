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

type RefundGate = 'refund_store_suspended' | 'refund_uncovered' | 'refund_unapproved' | 'refund_not_final';

/** Reads whether the gates are closed that only a refund of a session has. */
export type RefundGates = Readonly<Record<RefundGate, () => boolean>>;

/** Reads whether each gate is closed for a payout. A gate is read only if all before it are open. */
export type GateReads = Readonly<Record<Exclude<Gate, RefundGate>, () => boolean>> & Partial<RefundGates>;

/**
 * Returns the first gate that is closed for an attempt; null if the attempt may be allotted.
 * @param attempt its index; only a freeze stops a replacement, which excludes the attempt that it replaces
 */
export const closedGate = (isClosed: GateReads, attempt: number): Gate | null =>
  gates.find((gate) => (attempt === 0 || gate === 'payouts_frozen') && isClosed[gate]?.()) ?? null;
