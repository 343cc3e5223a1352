/**
 * Why a refund is not paid now, and in particular neither paid nor ended: a transfer that no attempt explains may have
 * paid it.
 */
import type { PaybackIntent } from '../../core/intent.ts';
import { nextLookAtMs } from '../../core/payout.ts';
import { reason } from '../../core/reasons.ts';
import type { EngineReason } from '../money-out.ts';
import type { EqualTransfer } from '../outgoing.ts';
import type { Outgoing } from './outgoing.ts';
import type { PayoutRow } from './rows.ts';

/** How soon a refund looks again whether its reason has passed by itself. */
const PASSING_LOOK_MS = 5_000;

/** Why no attempt of a refund is allotted. A reason that passes by itself raises no alarm. */
export type RefundHold = EngineReason &
  Readonly<{
    passes: boolean;
    /** The transfer that it shows to a person. */
    shownTransferId?: number;
  }>;

export const EQUALS_TRANSFER = 'refund_equals_transfer';

/** A database that was restored from a backup does not know its newest attempts; one of them may be this refund's. */
const maybePaid: RefundHold = {
  code: 'refund_maybe_paid',
  message:
    'the wallet has sent this amount to this address in a transaction that is not known here. If that is final, the ' +
    'refund is settled by it; it goes on by itself',
  passes: true,
};

/** It may be this refund, lost with the newest state of the database, or another payment of the same amount. */
export const equalTransfer = (id: string, { id: shownTransferId, tx }: EqualTransfer): RefundHold => ({
  ...reason(EQUALS_TRANSFER, { id, tx }),
  shownTransferId,
  passes: false,
});

/** Returns why a refund is neither paid nor ended; null if no transfer that no attempt explains may have paid it. */
export function unexplainedHold(
  outgoing: Pick<Outgoing, 'mayHavePaid' | 'findEqual'>,
  { id, notPaidThrough }: Pick<PayoutRow, 'id' | 'notPaidThrough'>,
  intent: PaybackIntent,
): RefundHold | null {
  if (outgoing.mayHavePaid(intent)) return maybePaid;
  const equal = outgoing.findEqual(intent, notPaidThrough);
  return equal && equalTransfer(id, equal);
}

/** The part of `Payouts` that keeps a payout waiting. */
type Waiting = Readonly<{
  change(row: PayoutRow, changes: Due & Readonly<{ waitCode: string; waitMessage: string }>, nowMs: number): unknown;
  waitFor(row: PayoutRow, wait: EngineReason, changes: Due, nowMs: number): void;
}>;
type Due = Readonly<{ notBeforeMs: number; shownTransferId?: number }>;

/** Keeps a refund waiting. To be called within a transaction. */
export function holdRefund(steps: Waiting, row: PayoutRow, hold: RefundHold, nowMs: number): void {
  const { code: waitCode, message: waitMessage, passes, shownTransferId } = hold;
  // Finality comes within minutes, and an old refund must not wait much longer than that.
  const notBeforeMs = passes ? nowMs + PASSING_LOOK_MS : Math.round(nextLookAtMs(row, nowMs));
  if (passes) steps.change(row, { waitCode, waitMessage, notBeforeMs }, nowMs);
  else steps.waitFor(row, hold, { notBeforeMs, ...(shownTransferId !== undefined && { shownTransferId }) }, nowMs);
}
