/**
 * Messages to a merchant's endpoint, as schemas for the reference. `core/event.ts` writes the bodies; a test checks
 * them against these schemas.
 */
import * as z from 'zod';
import {
  documentedPaymentEvents,
  documentedRefundEvents,
  eventBody,
  extendedPaymentEvents,
  extendedRefundEvents,
  type PaymentEventType,
  paymentFacts,
  type RefundEventType,
  refundFacts,
  type SessionStatus,
} from '../core/event.ts';
import { currencies } from '../core/transfer.ts';
import { examples } from './examples.ts';
import { destinationFields } from './refund-view.ts';

/** Returns the schema of an event. @param object what the event is about */
const envelope = (id: string, types: readonly [string, ...string[]], object: z.ZodRawShape) =>
  z
    .object({
      id: z
        .string()
        .meta({ description: '`evt_<nanoseconds>`; the same in every attempt. Use it to recognize repeats.' }),
      type: z.enum(types).meta({ description: 'The type of the event.' }),
      created_at: z.int().meta({ description: 'Unix seconds.' }),
      livemode: z.boolean().meta({ description: 'False for an event of test mode: no real money.' }),
      data: z
        .object({
          object: z
            .object({
              ...object,
              order_id: z.string().meta({ description: 'The merchant’s order id.' }),
              session_id: z.string().meta({ description: 'The payment session’s id.' }),
              source: z.literal('api').meta({ description: 'Always `api`.' }),
            })
            .meta({ description: 'The payment or refund, as it was at the time of the event.' }),
        })
        .meta({ description: 'What the event is about.' }),
    })
    .meta({ id });

const paymentEventSchema = envelope('PaymentEvent', [...documentedPaymentEvents, ...extendedPaymentEvents], {
  amount: z.int().optional().meta({
    format: 'int64',
    description:
      'What was received, in 0.01 of the stablecoin. Where nothing was, an expired or cancelled event has what was due.',
  }),
  status: z
    .enum(['completed', 'failed', 'expired', 'canceled', 'pending'])
    .meta({ description: 'The session’s status; a paid session is `completed`.' }),
  currency: z.enum(currencies).optional().meta({ description: 'The stablecoin of `amount`.' }),
  exchange_rate: z.string().meta({ description: 'Stablecoin per unit of the session currency; `1.0000` at par.' }),
});

const refundEventSchema = envelope('RefundEvent', [...documentedRefundEvents, ...extendedRefundEvents], {
  refund_id: z.string().meta({ description: 'The merchant’s own id of the refund.' }),
  refund_amount: z.int().meta({ format: 'int64', description: 'In 0.01 of the stablecoin.' }),
  refund_currency: z.enum(currencies).meta({ description: 'The stablecoin that is refunded.' }),
  status: z.enum(['completed', 'failed', 'processing']).meta({ description: 'The refund’s status.' }),
  ...destinationFields,
});

/** The body of any event. */
export const eventSchema = z.union([paymentEventSchema, refundEventSchema]);

/** The id of a payment’s event in examples. */
const exampleEventId = 'evt_1795000042000000001';

type EventDoc = Readonly<{ meaning: string; status: SessionStatus }>;

/** When each event is sent, and the status in its example. */
const events: Readonly<Record<PaymentEventType, EventDoc>> = {
  'payment.completed': {
    meaning: 'The session was paid and the payment is confirmed on the chain.',
    status: 'paid',
  },
  'payment.failed': { meaning: 'The session ended with too little paid.', status: 'failed' },
  'payment.expired': { meaning: 'The session passed its expiry time unpaid.', status: 'expired' },
  'payment.cancelled': { meaning: 'The merchant canceled the session.', status: 'canceled' },
  'payment.detected': {
    meaning: 'Opt-in: the first transfer for the session was seen.',
    status: 'pending',
  },
  'payment.partially_paid': {
    meaning: 'Opt-in: part of the amount due is confirmed.',
    status: 'pending',
  },
  'payment.late': { meaning: 'Opt-in: money arrived after the end of the session.', status: 'expired' },
  'payment.overpaid': {
    meaning: 'Opt-in: a paid session received more than was due; `amount` is what is above it.',
    status: 'paid',
  },
  'payment.wrong_token': {
    meaning: 'Opt-in: money in a coin that the session does not take is confirmed. It does not count.',
    status: 'pending',
  },
  'payment.reversed': {
    meaning: 'Opt-in: a reorg removed money of a session that was already paid.',
    status: 'paid',
  },
};

const refundEvents: Readonly<Record<RefundEventType, string>> = {
  'refund.succeeded': 'The refund was paid, and the payment is final on the chain.',
  'refund.failed': 'The refund was not paid and will not be; its amount can be refunded again.',
  'refund.processing': 'Opt-in: the refund has an address and is sent after the cancel window.',
};

const envelopeOf = { mode: 'live', sessionId: examples.session.id } as const;
const { order_id: orderId } = examples.session.metadata;

const paymentExample = (type: PaymentEventType, status: SessionStatus): string =>
  eventBody(
    { id: exampleEventId, type, createdAtS: examples.session.created + 42, ...envelopeOf },
    paymentFacts({
      orderId,
      status,
      sum: { amountMinor: BigInt(examples.session.target_amount_total), currency: 'USDT' },
      exchangeRate: examples.session.exchange_rate,
    }),
  );

const refundExample = (type: RefundEventType): string =>
  eventBody(
    { id: 'evt_1795003790000000001', type, createdAtS: examples.refund.processed_at, ...envelopeOf },
    refundFacts({
      orderId,
      type,
      refundId: examples.refund.refund_id,
      amountMinor: 4_50n,
      currency: 'USDT',
      network: 'live:example',
      destination: { address: examples.refund.destination.address, from: 'claim_link' },
    }),
  );

/** Every event, with its meaning and an example of its body. */
export const eventDocs: readonly Readonly<{ type: string; meaning: string; schema: z.ZodType; example: unknown }>[] = [
  ...Object.entries(events).map(([type, { meaning, status }]) => {
    const example: unknown = JSON.parse(paymentExample(type as PaymentEventType, status));
    return { type, meaning, schema: paymentEventSchema, example };
  }),
  ...Object.entries(refundEvents).map(([type, meaning]) => {
    const example: unknown = JSON.parse(refundExample(type as RefundEventType));
    return { type, meaning, schema: refundEventSchema, example };
  }),
];
