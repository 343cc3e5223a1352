/**
 * A session as the API shows it. Fields without a value are left out, never null.
 */
import * as z from 'zod';
import { sessionStatuses } from '../core/event.ts';
import { invariant } from '../core/fault.ts';
import { formatUnits, MINOR_DECIMALS } from '../core/money.ts';
import { confirmedParts } from '../core/received.ts';
import { type EarlierRefund, refundable } from '../core/refund.ts';
import { currencies } from '../core/transfer.ts';
import type { Conversion, PaymentOption } from '../database/column-values.ts';
import type { Database } from '../database/database.ts';
import { PAYMENTS_MAX, type Payment, type Session } from '../database/session.ts';
import { optionAddress, optionLink } from '../payments/option.ts';
import { payerUrl, paymentUrl, type UrlParts } from '../payments/payment-url.ts';
import type { Caller } from './endpoint.ts';
import { lineItemSchema } from './session-input.ts';

const minorUnits = (description: string) => z.int().meta({ description, format: 'int64' });
export const unixSeconds = (description: string) => z.int().meta({ description: `${description}, Unix seconds.` });
const tokenAmount = () => z.string().meta({ description: 'Decimal amount of the token.', example: '10.50' });

export const paymentOptionSchema = z
  .object({
    network: z.string().meta({ description: 'Name of the network.', example: 'mynet' }),
    currency: z.enum(currencies).meta({ description: 'The stablecoin to send.' }),
    address: z.string().meta({ description: 'Deposit address, used for this session only.' }),
    amount: tokenAmount(),
    confirmations_required: z.int().meta({
      description:
        'Confirmations after which this amount counts; a typical number if the chain’s own finality decides.',
      example: 12,
    }),
    qr_code_data: z.string().meta({ description: 'The bare address.' }),
    deep_link: z.string().meta({ description: 'Opens the transfer, or the payment page, in a wallet.' }),
  })
  .meta({ id: 'PaymentOption', description: 'One way to pay, valid while the session is pending.' });

const paymentSchema = z
  .object({
    network: z.string().meta({ description: 'Name of the network.', example: 'mynet' }),
    currency: z.enum(currencies).meta({ description: 'The stablecoin that was sent.' }),
    amount: tokenAmount(),
    transaction_hash: z.string().meta({ description: 'As explorers of the network write it.' }),
    confirmations: z.int().meta({
      description:
        'Blocks on top of the transfer’s own, and that one. It may have as many as required and still be `seen`, ' +
        'while the network makes it final.',
    }),
    status: z.enum(['seen', 'confirmed', 'orphaned']).meta({
      description: '`confirmed` counts as paid; `orphaned` was removed by a reorg and does not count.',
    }),
  })
  .meta({
    id: 'Payment',
    description:
      'A transfer to the session that was seen on the chain. A reorg can move a transaction to another block: then the same `transaction_hash` is listed again, once `orphaned` and once as it is now. Do not count `orphaned` ones.',
  });

const refundableSchema = z
  .object({
    currency: z.enum(currencies).meta({ description: 'The `currency` of a refund.' }),
    amount: z.string().meta({
      description: 'What was received, less refunds that are neither failed nor canceled.',
      example: '10.50',
    }),
  })
  .meta({ id: 'Refundable', description: 'The largest refund that the session allows in one stablecoin.' });

export const paymentStatusSchema = z.enum(sessionStatuses).meta({
  description:
    '`pending` until it ends as `paid`, as `failed` (too little came), as `expired` (nothing came), or as `canceled`.',
});

export const paymentSessionSchema = z
  .object({
    id: z.string().meta({ description: 'The session’s id.', example: 'cs_01hzy3k9v7q8w6e5r4t3y2m1n0' }),
    amount_total: minorUnits('Total in minor units of `currency`.'),
    currency: z.string().meta({ description: 'As it was sent.', example: 'EUR' }),
    payment_status: paymentStatusSchema,
    created: unixSeconds('Creation'),
    expires_at: unixSeconds('Expiry'),
    url: z.string().optional().meta({ description: 'Hosted payment page.' }),
    payer_url: z.string().optional().meta({
      description:
        'The same page for the payer alone: it also lets the payer name a refund address. Redirect the payer to it, and show it to nobody else. Only for keys with the scope `sessions:write`.',
    }),
    line_items: z.array(lineItemSchema).optional().meta({ description: 'The basket, as it was sent.' }),
    tax_amount: minorUnits('Tax within the total, in minor units.').optional(),
    shipping_amount: minorUnits('Shipping within the total, in minor units.').optional(),
    exchange_rate: z.string().optional().meta({
      description:
        'Stablecoin per unit of `currency`. This field and the next three are present only if the amount was converted.',
      example: '1.08340',
    }),
    target_currency: z.enum(currencies).optional().meta({ description: 'The stablecoin that the rate leads to.' }),
    target_amount_total: minorUnits('What the payer must pay, in 0.01 of the stablecoin.').optional(),
    rate_locked_at: unixSeconds('When the rate was locked').optional(),
    metadata: z.record(z.string(), z.string()).optional().meta({
      description: 'As it was sent; `order_id` is added unless it was among it.',
    }),
    payment_options: z.array(paymentOptionSchema).optional().meta({
      description: 'Each network and stablecoin that the payer can use.',
    }),
    payments: z
      .array(paymentSchema)
      .optional()
      .meta({ description: `The newest transfers, at most ${PAYMENTS_MAX}.` }),
    payments_total: z.int().optional().meta({ description: 'How many transfers there are.' }),
    underpaid: z
      .boolean()
      .optional()
      .meta({ description: 'Money was seen, but less than is due, counting both seen and confirmed.' }),
    overpaid: z.boolean().optional().meta({ description: 'More was seen and confirmed than is due.' }),
    paid_late: z.boolean().optional().meta({ description: 'Paid by money that arrived after the end of the session.' }),
    paid_at: unixSeconds('When it became paid').optional(),
    refundable: z.array(refundableSchema).optional().meta({
      description: 'What can still be refunded of each stablecoin that came. Present once the session is paid.',
    }),
  })
  .meta({ id: 'PaymentSession' });

export type PaymentSession = z.infer<typeof paymentSessionSchema>;

/**
 * Returns the link with which the payer names where refunds go: for keys that make sessions, and not for those that
 * only read them.
 */
export const payerLink = (
  session: Session,
  parts: UrlParts,
  { scopes }: Pick<Caller, 'scopes'>,
): Readonly<{ payer_url?: string }> =>
  scopes.includes('sessions:write') ? { payer_url: payerUrl(session, parts) } : {};

type ViewParts = UrlParts & Readonly<{ database: Database }>;

/** Returns the reference shapes of sessions, with what can still be refunded of those that are paid. */
export async function paymentSessions(
  sessions: readonly Session[],
  parts: ViewParts,
  caller: Pick<Caller, 'scopes'>,
): Promise<PaymentSession[]> {
  const paid = sessions.flatMap(({ id, life }) => (life.status === 'paid' ? id : []));
  const refunds = paid.length === 0 ? null : await parts.database.refunds.ofSession(paid);
  return sessions.map((session) => shapeOf(session, refunds?.get(session.id) ?? [], parts, caller));
}

/** Returns the reference shape of a session. */
export async function paymentSession(
  session: Session,
  parts: ViewParts,
  caller: Pick<Caller, 'scopes'>,
): Promise<PaymentSession> {
  const [shown] = await paymentSessions([session], parts, caller);
  invariant(shown, 'one session is shown as one');
  return shown;
}

function shapeOf(
  session: Session,
  refunds: readonly EarlierRefund[],
  parts: UrlParts,
  caller: Pick<Caller, 'scopes'>,
): PaymentSession {
  const { request, conversion, life, standing, terms } = session;
  return {
    id: session.id,
    amount_total: Number(request.amountMinor),
    currency: request.currency,
    payment_status: life.status,
    created: session.createdAtS,
    expires_at: terms.expiresAtS,
    url: paymentUrl(session, parts.config),
    ...payerLink(session, parts, caller),
    ...(request.lineItems && { line_items: request.lineItems.map(lineItem) }),
    ...(request.taxMinor !== null && { tax_amount: Number(request.taxMinor) }),
    ...(request.shippingMinor !== null && { shipping_amount: Number(request.shippingMinor) }),
    ...conversionFields(conversion),
    ...(conversion && { rate_locked_at: session.createdAtS }),
    metadata: { order_id: request.orderId, ...request.metadata },
    payment_options: session.options.map((option) => paymentOption(session, option, paymentUrl(session, parts.config))),
    payments: session.payments.map(payment),
    payments_total: session.paymentCount,
    // A late part that an operator accepted counts, and touches nothing.
    underpaid: standing.funded === 'part' || (standing.touched && standing.funded === 'none'),
    overpaid: standing.funded === 'over',
    paid_late: life.paidLate,
    ...(life.paidAtS !== null && { paid_at: life.paidAtS }),
    ...(life.status === 'paid' && {
      refundable: refundable(confirmedParts(session.sums), refunds).map(({ currency, leftMinor }) => ({
        currency,
        amount: formatUnits(leftMinor, MINOR_DECIMALS, MINOR_DECIMALS),
      })),
    }),
  };
}

/** Returns the fields of an amount that was converted; none for one at par. */
export const conversionFields = (conversion: Conversion | null) =>
  conversion && {
    exchange_rate: conversion.rate,
    target_currency: conversion.currency,
    target_amount_total: Number(conversion.amountMinor),
  };

function paymentOption(session: Session, option: PaymentOption, pageUrl: string): z.infer<typeof paymentOptionSchema> {
  const address = optionAddress(session, option);
  return {
    network: option.network,
    currency: option.currency,
    address,
    amount: formatUnits(option.units, option.decimals, MINOR_DECIMALS),
    confirmations_required: option.confirmationsRequired,
    qr_code_data: address,
    deep_link: optionLink(session, option, option.units, pageUrl),
  };
}

function payment({
  network,
  currency,
  units,
  decimals,
  tx,
  confirmations,
  state,
}: Payment): z.infer<typeof paymentSchema> {
  return {
    network,
    currency,
    amount: formatUnits(units, decimals, MINOR_DECIMALS),
    transaction_hash: tx,
    confirmations,
    // The API makes no difference between confirmed and final.
    status: state === 'final' ? 'confirmed' : state,
  };
}

/** Returns a mutable copy, for the type of the schema. */
function lineItem({ price_data, quantity }: NonNullable<Session['request']['lineItems']>[number]) {
  return { price_data: { ...price_data, product_data: { ...price_data.product_data } }, quantity };
}
