/**
 * Test events that a developer triggers to try a handler. The code of real events writes them; they are of test mode,
 * and marked.
 */

import {
  documentedRefundEvents,
  type EventType,
  extendedRefundEvents,
  type PaymentEvent,
  type PaymentEventType,
  paymentEventBody,
  type RefundEvent,
  type RefundEventType,
  refundEventBody,
  type SessionStatus,
} from './event.ts';
import { permanent } from './fault.ts';

/** The session that the event concerns, and the amount that it reports as received or refunded. */
type TriggerSubject = Pick<PaymentEvent, 'sessionId' | 'orderId' | 'exchangeRate'> &
  Readonly<{ sum: NonNullable<PaymentEvent['sum']>; network: RefundEvent['network'] }>;

/** Fields of `data.object` to replace, as text. */
export type Overrides = Readonly<Record<string, string>>;

const statuses: Readonly<Record<PaymentEventType, SessionStatus>> = {
  'payment.completed': 'paid',
  'payment.failed': 'failed',
  'payment.expired': 'expired',
  'payment.cancelled': 'canceled',
  'payment.detected': 'pending',
  'payment.partially_paid': 'pending',
  'payment.late': 'expired',
  'payment.overpaid': 'paid',
  'payment.wrong_token': 'pending',
  'payment.reversed': 'paid',
};

/** Fields that cannot be replaced, because they identify the event. */
const fixed = ['session_id', 'status', 'source'];

const isRefund = (type: EventType): type is RefundEventType =>
  [...documentedRefundEvents, ...extendedRefundEvents].some((one) => one === type);

/**
 * Returns the body of a triggered event, with `triggered: true`.
 * @throws Fault permanent `usage` if an override names no field, or has the wrong type
 */
export function triggeredBody(
  event: Readonly<{ id: string; type: EventType; createdAtS: number }>,
  { sum, network, exchangeRate, ...subject }: TriggerSubject,
  overrides: Overrides,
): string {
  const { type } = event;
  const common = { ...event, ...subject, mode: 'test' } as const;
  const text = isRefund(type)
    ? refundEventBody({ ...common, ...sum, type, network, refundId: 'triggered', destination: null })
    : paymentEventBody({
        ...common,
        type,
        status: statuses[type],
        sum,
        exchangeRate,
      });
  const body = JSON.parse(text);
  const { object } = body.data;
  for (const [name, value] of Object.entries(overrides)) {
    const names = Object.keys(object).filter((one) => !fixed.includes(one));
    if (!names.includes(name)) throw permanent('usage', `--override names "${name}", expected ${names.join(', ')}`);
    if (typeof object[name] === 'number' && !/^\d{1,15}$/.test(value)) {
      throw permanent('usage', `--override ${name} is "${value}", expected a whole number`);
    }
    object[name] = typeof object[name] === 'number' ? Number(value) : value;
  }
  const { data, ...head } = body;
  return JSON.stringify({ ...head, triggered: true, data });
}
