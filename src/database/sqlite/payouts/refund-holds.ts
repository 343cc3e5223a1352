/**
 * Why a refund is neither paid nor ended: a transfer that no attempt explains may have paid it.
 * @module
 */
import type { EqualTransfer } from '../../outgoing.ts';
import type { RefundHold } from './payouts.ts';

export const EQUALS_TRANSFER = 'refund_equals_transfer';

/** A database that was restored from a backup does not know its newest attempts; one of them may be this refund's. */
export const maybePaid: RefundHold = {
  code: 'refund_maybe_paid',
  message:
    'the wallet has sent this amount to this address in a transaction that is not known here. If that is final, the ' +
    'refund is settled by it; it goes on by itself.',
  passes: true,
};

/** It may be this refund, lost with the newest state of the database, or another payment of the same amount. */
export const equalTransfer = (id: string, { tx }: EqualTransfer): RefundHold => ({
  code: EQUALS_TRANSFER,
  message:
    `transaction ${tx} has paid the same amount to the same address, no payout explains it, and an operator has ` +
    `acknowledged it with \`quayside payouts thaw\`. If it paid this refund, run \`quayside payouts settle ${id} --paid ` +
    `${tx} --because …\`; if it did not, \`quayside payouts settle ${id} --never --again --yes --because …\` has it paid`,
  passes: false,
  untilMs: null,
});
