/**
 * A refund as the API shows it.
 */
import * as z from 'zod';
import type { Config } from '../config/config.ts';
import { shownDestination } from '../core/event.ts';
import { formatUnits, MINOR_DECIMALS } from '../core/money.ts';
import { refundReasons } from '../core/refund.ts';
import { currencies } from '../core/transfer.ts';
import type { Refund } from '../database/refunds/refund.ts';
import { toSeconds } from '../lib/clock.ts';
import { claimUrl } from '../payments/destination.ts';
import { unixSeconds } from './session-view.ts';

/** The amount that is really paid, in answers and events. */
export const destinationFields = {
  destination: z
    .object({
      network: z.string().meta({ description: 'Name of the network that the payment came on.', example: 'mynet' }),
      address: z.string().meta({ description: 'The address that is paid.' }),
    })
    .meta({ id: 'RefundDestination' })
    .optional()
    .meta({ description: 'Where the refund goes; absent until an address is named.' }),
  destination_source: z.enum(['merchant', 'payer', 'claim_link', 'sender']).optional().meta({
    description:
      'Who named it: the merchant (or the operator); the payer on the payment page; somebody with a claim link, or with the link of the payment page after staff had seen it; or nobody, and it is where the payment came from.',
  }),
};

export const refundStatusSchema = z.enum(['pending', 'processing', 'completed', 'failed', 'canceled']).meta({
  description:
    '`pending` until an address, approval and funds are there; `processing` until it is paid. The other three are final.',
});

const subset = {
  refund_id: z.string().meta({ description: 'The merchant’s own id.', example: 'refund-77' }),
  session_id: z.string().meta({ description: 'The payment session’s id.', example: 'cs_01kaj8xq2m7v5c9t3w6e1r4y0p' }),
  order_id: z.string().meta({ description: 'The merchant’s order id.', example: 'order-1001' }),
  amount: z.string().meta({ description: 'With two decimals.', example: '4.50' }),
  currency: z.enum(currencies).meta({ description: 'The currency that the session was paid in.' }),
  status: refundStatusSchema,
  reason: z.enum(refundReasons).optional().meta({ description: 'As it was sent.' }),
  description: z.string().optional().meta({ description: 'As it was sent.' }),
  created_at: unixSeconds('Creation'),
  metadata: z.record(z.string(), z.unknown()).optional().meta({
    description:
      'What was sent. If the payer has to give an address, also `claim_url`, for keys with the scope `refunds:write`: send that link to the payer.',
  }),
  next_action: z
    .object({
      type: z.literal('claim').meta({ description: 'Always `claim`.' }),
      url: z.string().meta({ description: 'Send this link to the payer.' }),
    })
    .optional()
    .meta({
      description:
        'What the refund waits for: no address was named, so the payer has to name one. Only while that is so, and for keys with the scope `refunds:write`.',
    }),
  ...destinationFields,
};

/** The answer of the create call. */
export const createdRefundSchema = z.object(subset).meta({ id: 'CreatedRefund' });

export const refundSchema = z
  .object({
    ...subset,
    failure_reason: z.string().nullable().optional().meta({ description: 'Only if failed.' }),
    transaction_hash: z.string().optional().meta({ description: 'Only if completed.' }),
    receipt_number: z.string().optional().meta({ description: 'Only if completed.', example: 'RF-2026-00000001' }),
    processed_at: unixSeconds('End of processing').optional(),
    waits_for: z.literal('signer').optional().meta({
      description:
        'Only while nothing is paid out: this installation has no signer, so its operator has to set one up.',
    }),
  })
  .meta({ id: 'Refund' });

export const canceledRefundSchema = z
  .object({
    refund_id: subset.refund_id,
    status: z.literal('canceled').meta({ description: 'Always `canceled`.' }),
    canceled_at: unixSeconds('When it was canceled'),
    ...destinationFields,
  })
  .meta({ id: 'CanceledRefund' });

/** Returns the answer to the creation of a refund, which never changes, with the destination as it is now. */
export function createdRefund(
  refund: Refund,
  config: Pick<Config, 'checkoutUrl'>,
): z.infer<typeof createdRefundSchema> {
  return { ...common(refund, config, true), status: 'pending' };
}

/** Returns the answer to a cancel. */
export const canceledRefund = (refund: Refund): z.infer<typeof canceledRefundSchema> => ({
  refund_id: refund.refundId,
  status: 'canceled',
  canceled_at: toSeconds(refund.canceledAtMs ?? 0),
  ...shownDestination(refund.network, refund.destination),
});

/** Returns the refund as it is now. @param showsLink whether the caller may see the payer's link */
export function fullRefund(
  refund: Refund,
  config: Pick<Config, 'checkoutUrl' | 'signer'>,
  showsLink: boolean,
): z.infer<typeof refundSchema> {
  const { failureReason, tx, receiptNumber, processedAtMs } = refund;
  return {
    ...common(refund, config, showsLink),
    ...(refund.status === 'failed' && { failure_reason: failureReason }),
    ...(refund.status === 'completed' && tx !== null && { transaction_hash: tx }),
    ...(receiptNumber !== null && { receipt_number: receiptNumber }),
    ...(processedAtMs !== null && { processed_at: toSeconds(processedAtMs) }),
    ...(refund.status === 'processing' && config.signer === null && { waits_for: 'signer' as const }),
  };
}

function common(
  refund: Refund,
  config: Pick<Config, 'checkoutUrl'>,
  showsLink: boolean,
): z.infer<typeof createdRefundSchema> {
  const { reason, description, metadata, claim } = refund;
  const url = claim && showsLink ? claimUrl(claim.token, config) : null;
  const shown = url === null ? metadata : { ...metadata, claim_url: url };
  const isAsked = refund.status === 'pending' && refund.destination === null;
  return {
    refund_id: refund.refundId,
    session_id: refund.sessionId,
    order_id: refund.orderId,
    amount: formatUnits(refund.amountMinor, MINOR_DECIMALS, MINOR_DECIMALS),
    currency: refund.currency,
    status: refund.status,
    ...(reason !== null && { reason }),
    ...(description !== null && { description }),
    created_at: toSeconds(refund.createdAtMs),
    ...(shown && { metadata: { ...shown } }),
    ...(url !== null && isAsked && { next_action: { type: 'claim' as const, url } }),
    ...shownDestination(refund.network, refund.destination),
  };
}
