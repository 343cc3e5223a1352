/**
 * What a merchant's endpoint receives, as schemas for the reference. The bodies themselves are written by `core/event`; a test
 * reads them with these.
 * @module
 */
import { z } from 'zod';
import {
  documentedPaymentEvents,
  extendedPaymentEvents,
  type PaymentEventType,
  paymentEventBody,
} from '../core/event.ts';
import type { SessionStatus } from '../core/session.ts';
import { currencies } from '../core/transfer.ts';
import { exampleSession } from './examples.ts';

type EventDoc = Readonly<{ meaning: string; status: SessionStatus; received: boolean }>;

/** When each event is sent, and the status and money that its example tells of. */
const events: Readonly<Record<PaymentEventType, EventDoc>> = {
  'payment.completed': {
    meaning: 'The session was paid and the payment is confirmed on the chain.',
    status: 'paid',
    received: true,
  },
  'payment.failed': { meaning: 'The session ended with too little paid.', status: 'failed', received: true },
  'payment.expired': { meaning: 'The session passed its expiry time unpaid.', status: 'expired', received: false },
  'payment.cancelled': { meaning: 'The merchant canceled the session.', status: 'canceled', received: false },
  'payment.detected': {
    meaning: 'Opt-in: a first transfer for the session was seen.',
    status: 'pending',
    received: true,
  },
  'payment.partially_paid': {
    meaning: 'Opt-in: a part of what is due is confirmed.',
    status: 'pending',
    received: true,
  },
  'payment.late': { meaning: 'Opt-in: money came after the end of the session.', status: 'expired', received: true },
  'payment.reversed': {
    meaning: 'Opt-in: the chain took back money of a session that was already paid.',
    status: 'paid',
    received: true,
  },
};

/** Every event with its meaning and a body as it would be sent. */
export const eventDocs = Object.entries(events).map(([type, { meaning, status, received }]) => ({
  type,
  meaning,
  example: JSON.parse(
    paymentEventBody({
      id: 'evt_1795000042000000001',
      type: type as PaymentEventType,
      createdAtS: exampleSession.created + 42,
      sessionId: exampleSession.id,
      orderId: exampleSession.metadata.order_id,
      status,
      received: received ? { amountMinor: BigInt(exampleSession.target_amount_total), currency: 'USDT' } : null,
      exchangeRate: exampleSession.exchange_rate,
    }),
  ) as unknown,
}));

export const paymentEventSchema = z
  .object({
    id: z.string().meta({ description: '`evt_<nanoseconds>`; the same on every try. Use it to recognise repeats.' }),
    type: z.enum([...documentedPaymentEvents, ...extendedPaymentEvents]),
    created_at: z.int().meta({ description: 'Unix seconds.' }),
    data: z.object({
      object: z.object({
        amount: z.int().optional().meta({
          format: 'int64',
          description: 'What was received, in 0.01 of the stablecoin; absent when nothing was.',
        }),
        status: z.enum(['completed', 'failed', 'expired', 'canceled', 'pending']),
        currency: z.enum(currencies).optional(),
        exchange_rate: z.string().optional().meta({ description: 'Absent at par.' }),
        order_id: z.string(),
        session_id: z.string(),
        source: z.literal('api'),
      }),
    }),
  })
  .meta({ id: 'PaymentEvent' });

export const webhookHeadersSchema = z.object({
  'X-Service-Signature': z.string().meta({
    description:
      'HMAC-SHA256 in hex of timestamp + "." + nonce + "." + the raw body, keyed with the whole `whsec_…` text.',
  }),
  'X-Service-Timestamp': z.string().meta({ description: 'Unix seconds at signing. Refuse what is older than 300 s.' }),
  'X-Service-Nonce': z.string().meta({ description: 'UUID v4, fresh on every try.' }),
  'X-Service-Event-Type': z.string().meta({ description: 'The `type` of the body.' }),
  'X-Service-Event-ID': z.string().meta({ description: 'The `id` of the body.' }),
  'webhook-id': z.string().meta({ description: 'The event id, for Standard Webhooks libraries.' }),
  'webhook-timestamp': z.string().meta({ description: 'Unix seconds, for Standard Webhooks libraries.' }),
  'webhook-signature': z
    .string()
    .meta({ description: 'Signature in the form of the Standard Webhooks specification.' }),
});
