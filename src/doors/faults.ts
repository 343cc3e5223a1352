/**
 * Why a door refuses a request: a parameter's name and a code. Never a value, because a key or a signature may be one.
 */

const texts = {
  missing: 'is missing',
  malformed: 'is malformed',
  duplicate: 'is given twice',
  too_large: 'is too long',
  recut: 'contains text that reads as another parameter',
  signature: 'is wrong: check the key and the formula',
  unknown_door: 'belongs to no key that is switched on: check the base URL and the key',
  currency: 'is not the currency of this key',
  method_off: 'names a way to pay that is not offered',
  blocked: 'is no address that notices may be sent to',
  not_offered: 'cannot be paid now: try again later',
  changed: 'differs from the first request of this order: use a new order number',
  unknown_order: 'is unknown: order not found',
  is_paid: 'is paid, being paid or over',
  unpaid: 'is not paid',
  not_refunded: 'cannot be refunded: see the refund’s state in the dashboard',
  refunds_off: 'is not allowed: refunds are switched off for this key',
} as const;

export type DoorFault = Readonly<{ field: string; code: keyof typeof texts }>;

export const doorFault = (field: string, code: DoorFault['code']): DoorFault => ({ field, code });

export const isDoorFault = (value: object): value is DoorFault => 'code' in value && 'field' in value;

/** Returns one sentence for the client's log. */
export const faultText = ({ field, code }: DoorFault): string => `${field} ${texts[code]}`;
