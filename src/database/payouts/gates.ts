/** The gates of `core/gates.ts`, as this database reads them. */
import { closedGate, type Gate, type GateReads, openRefundGates, type RefundGates } from '../../core/gates.ts';
import { isPayback } from '../../core/intent.ts';
import { isPassing, reason } from '../../core/reasons.ts';
import type { FreezesOf } from './freezes.ts';
import type { Payouts } from './payouts.ts';
import { holdRefund } from './refund-holds.ts';
import type { PayoutRow } from './rows.ts';

type Parts = Readonly<{ steps: Payouts; freezesOf: FreezesOf; refundGates(id: string): RefundGates }>;

/**
 * Returns whether a gate is closed for an attempt, and keeps a refund waiting for it. To be called within the
 * transaction that allots.
 */
export function isHeldAtGate(parts: Parts, row: PayoutRow, attempt: number, nowMs: number): boolean {
  const gate = closedGate(gateReads(parts, row), attempt);
  if (gate !== null) holdAt(parts, row, gate, nowMs);
  return gate !== null;
}

function gateReads({ steps, freezesOf, refundGates }: Parts, row: PayoutRow): GateReads {
  const isUnexplained = (code: Gate): boolean => steps.unexplainedHold(row)?.code === code;
  return {
    payouts_frozen: () => freezesOf(row.network).length > 0,
    payouts_settling: () => steps.isSettling(row.network),
    refund_maybe_paid: () => isUnexplained('refund_maybe_paid'),
    refund_equals_transfer: () => isUnexplained('refund_equals_transfer'),
    ...(isPayback(row.intent) ? refundGates(row.id) : openRefundGates),
  };
}

/** What stops the whole network is not saved with each payout. */
function holdAt({ steps }: Parts, row: PayoutRow, gate: Gate, nowMs: number): void {
  if (gate === 'payouts_frozen' || gate === 'payouts_settling') return;
  const isTransfer = gate === 'refund_maybe_paid' || gate === 'refund_equals_transfer';
  const hold = isTransfer ? steps.unexplainedHold(row) : { ...reason(gate), passes: isPassing(gate) };
  if (hold) holdRefund(steps, row, hold, nowMs);
}
