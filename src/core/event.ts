/**
 * The public event types, and the JSON bodies that merchants receive.
 */
import type { DestinationFrom } from './refund.ts';
import { type Currency, type Mode, type NetworkKey, nameOf } from './transfer.ts';

/** The five documented statuses. */
export const sessionStatuses = ['pending', 'paid', 'failed', 'expired', 'canceled'] as const;
export type SessionStatus = (typeof sessionStatuses)[number];

/** The documented payment events, sent to every endpoint. */
export const documentedPaymentEvents = [
  'payment.completed',
  'payment.failed',
  'payment.expired',
  'payment.cancelled',
] as const;

/** Sent only to endpoints that opted in. */
export const extendedPaymentEvents = [
  'payment.detected',
  'payment.partially_paid',
  'payment.late',
  'payment.overpaid',
  'payment.wrong_token',
  'payment.reversed',
] as const;

export type ExtendedPaymentEventType = (typeof extendedPaymentEvents)[number];
export type PaymentEventType = (typeof documentedPaymentEvents)[number] | ExtendedPaymentEventType;

/** The documented refund events, sent to every endpoint. */
export const documentedRefundEvents = ['refund.succeeded', 'refund.failed'] as const;

/** Sent only to endpoints that opted in. */
export const extendedRefundEvents = ['refund.processing'] as const;

export type RefundEventType = (typeof documentedRefundEvents)[number] | (typeof extendedRefundEvents)[number];

/** Event types that an endpoint may opt in to. */
export const extendedEvents = [...extendedPaymentEvents, ...extendedRefundEvents] as const;
export type ExtendedEventType = (typeof extendedEvents)[number];
export type EventType = PaymentEventType | RefundEventType;

export const eventTypes: readonly EventType[] = [
  ...documentedPaymentEvents,
  ...documentedRefundEvents,
  ...extendedEvents,
];

/** Time for which shops can read an event from the API. */
export const EVENT_AGE_S_MAX = 30 * 86_400;

/** Returns the lowest id that an event of this second can have: `evt_` and 19 digits of nanoseconds. */
export const eventIdAt = (atS: number): string => `evt_${(BigInt(atS) * 1_000_000_000n).toString().padStart(19, '0')}`;

/** Returns true for events that an endpoint receives only if it opted in. */
export const isExtended = (type: EventType): type is ExtendedEventType =>
  (extendedEvents as readonly string[]).includes(type);

type Envelope = Readonly<{ id: string; type: string; createdAtS: number; mode: Mode; sessionId: string }>;

/** Returns the body of an event. @param object JSON text */
function bodyOf({ id, type, createdAtS, mode }: Omit<Envelope, 'sessionId'>, object: string): string {
  const head = JSON.stringify({ id, type, created_at: createdAtS, livemode: mode === 'live' });
  return `${head.slice(0, -1)},"data":{"object":${object}}}`;
}

/**
 * Returns the exact JSON text that is sent on every attempt.
 * @param facts the event's own part, as JSON text, which is made once and stored. The session's id stands at its end
 * for a payment, and at its beginning for a refund
 */
export function eventBody({ sessionId, ...envelope }: Envelope, facts: string): string {
  const session = JSON.stringify({ session_id: sessionId }).slice(1, -1);
  const isRefund = envelope.type.startsWith('refund.');
  return bodyOf(
    envelope,
    isRefund ? `{${session},${facts.slice(1)}` : `${facts.slice(0, -1)},${session},"source":"api"}`,
  );
}

/** Returns the body of a test event, which an operator sends to try an endpoint. It concerns no payment. */
export const testEventBody = (envelope: Omit<Envelope, 'sessionId'>): string => bodyOf(envelope, '{"source":"api"}');

/** Webhooks call the session status `paid` `completed`. */
type PaymentEventStatus = 'completed' | Exclude<SessionStatus, 'paid'>;

/**
 * A payment event. `sum` is the amount received. If a session ended without any, it is the amount due. It is null if
 * neither applies. `exchangeRate` is null for a session at par.
 */
export type PaymentEvent = Readonly<{
  orderId: string;
  status: SessionStatus;
  sum: Readonly<{ amountMinor: bigint; currency: Currency }> | null;
  exchangeRate: string | null;
}>;

/** The rate that events show for a session at par. The session itself shows none. */
const PAR_RATE = '1.0000';

/** Returns the facts of a payment's event, as JSON text for `eventBody`. */
export function paymentFacts(event: PaymentEvent): string {
  const status: PaymentEventStatus = event.status === 'paid' ? 'completed' : event.status;
  return JSON.stringify({
    ...(event.sum && { amount: Number(event.sum.amountMinor) }),
    status,
    ...(event.sum && { currency: event.sum.currency }),
    exchange_rate: event.exchangeRate ?? PAR_RATE,
    order_id: event.orderId,
  });
}

/** A refund event. */
export type RefundEvent = Readonly<{
  type: RefundEventType;
  orderId: string;
  refundId: string;
  amountMinor: bigint;
  currency: Currency;
  network: NetworkKey;
  /** `address` is in readable form. */
  destination: Readonly<{ address: string; from: DestinationFrom }> | null;
}>;

const refundEventStatus = {
  'refund.succeeded': 'completed',
  'refund.failed': 'failed',
  'refund.processing': 'processing',
} as const satisfies Record<RefundEventType, string>;

/** Returns the destination of a refund for answers and events. An operator's address appears as the merchant's. */
export function shownDestination(network: NetworkKey, to: RefundEvent['destination']) {
  if (to === null) return {};
  const source = to.from === 'operator' ? 'merchant' : to.from;
  return { destination: { network: nameOf(network), address: to.address }, destination_source: source } as const;
}

/** Returns the facts of a refund's event, as JSON text for `eventBody`. */
export const refundFacts = (event: RefundEvent): string =>
  JSON.stringify({
    order_id: event.orderId,
    refund_id: event.refundId,
    refund_amount: Number(event.amountMinor),
    refund_currency: event.currency,
    status: refundEventStatus[event.type],
    source: 'api',
    ...shownDestination(event.network, event.destination),
  });
