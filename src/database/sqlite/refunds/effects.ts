/**
 * Effects of refunds: their ledger entries and payouts.
 * @module
 */
import { invariant } from '../../../core/fault.ts';
import { refundEntry } from '../../../core/ledger.ts';
import type { Ledger } from '../ledger.ts';
import type { Payouts } from '../payouts/payouts.ts';
import type { RefundEffects, Refunds } from './refunds.ts';

/** @param settle ends a refund whose payout has ended already */
export const createRefundEffects = (payouts: Payouts, ledger: Ledger, settle: Refunds['settle']): RefundEffects => ({
  reserve: (refund, nowMs) => ledger.post(refundEntry(refund, 'reserved'), nowMs),
  release: (refund, nowMs) => ledger.post(refundEntry(refund, 'released'), nowMs),
  plan(refund, notBeforeMs, nowMs) {
    const { id, network, currency, destination, units, mac, sessionId } = refund;
    invariant(destination !== null && mac !== null, `refund ${id} has a destination`);
    const intent = { kind: 'refund', id, network, currency, to: destination, units, mac } as const;
    const planned = payouts.plan({ intent, sessionId, servesId: null, notBeforeMs, nowMs });
    // The database was restored from a backup: this id was signed before, for the same intent or another.
    if (planned.kind === 'other') return settle(id, { kind: 'failed', reason: 'signed_otherwise' }, nowMs);
    const { state, tx, waitCode } = planned.payout;
    if (state === 'failed') return settle(id, { kind: 'failed', reason: waitCode ?? 'signed_otherwise' }, nowMs);
    if (state !== 'succeeded' || tx === null) return;
    ledger.post(refundEntry(refund, 'matched'), nowMs);
    settle(id, { kind: 'completed', tx }, nowMs);
  },
  cancel: (id, nowMs) => payouts.cancel(id, nowMs),
  hasten: (id, nowMs) => payouts.hasten(id, nowMs),
});
