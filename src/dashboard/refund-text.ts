/**
 * What pages say about refunds: amounts, states, and what a refund waits for.
 * @module
 */
import { formatUnits, MINOR_DECIMALS } from '../core/money.ts';
import type { RefundReason, RefundRefusal, RefundStatus } from '../core/refund.ts';
import { nameOf } from '../core/transfer.ts';
import type { CreateRefundOutcome, Refund } from '../database/refunds.ts';
import { type Html, html } from '../lib/html.ts';
import { destinationFaults } from '../payments/destination.ts';
import type { StoreAt } from './page.ts';
import { badge, type Tone } from './show.ts';

export const refundsPath = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/refunds`;

export const minorText = (minor: bigint): string => formatUnits(minor, MINOR_DECIMALS, MINOR_DECIMALS);

export const amountText = ({ amountMinor, currency }: Pick<Refund, 'amountMinor' | 'currency'>): string =>
  `${minorText(amountMinor)} ${currency}`;

export const networkText = ({ network }: Pick<Refund, 'network'>): string => nameOf(network);

export const reasonTexts: Readonly<Record<RefundReason, string>> = {
  requested_by_customer: 'the customer asked for it',
  duplicate: 'paid twice',
  fraudulent: 'fraud',
  expired_uncaptured: 'the order had expired',
};

/** Who named the address. */
export const sourceTexts: Readonly<Record<NonNullable<Refund['destination']>['from'], string>> = {
  merchant: 'named by you',
  payer: 'left by the payer on the payment page',
  claim_link: 'named by the payer with the claim link',
  sender: 'where the payment came from, which may be an exchange',
  operator: 'named by the operator',
};

export const waitsForApproval = ({ status, needsApproval, approvedAtMs }: Refund): boolean =>
  status === 'pending' && needsApproval && approvedAtMs === null;

const tones: Readonly<Record<RefundStatus, Tone>> = {
  pending: 'wait',
  processing: 'wait',
  completed: 'good',
  failed: 'danger',
  canceled: 'wait',
};

/** Shows the status, and what it waits for. */
export function refundState(refund: Refund): Html {
  const waits = [
    ...(refund.status === 'pending' && !refund.destination ? ['needs an address'] : []),
    ...(waitsForApproval(refund) ? ['needs approval'] : []),
  ];
  return html`<span>${badge(refund.status, tones[refund.status])}${waits.map((word) => html` ${badge(word, 'attention')}`)}</span>`;
}

const refusals: Readonly<Record<RefundRefusal, string>> = {
  INVALID_SESSION_STATUS:
    'Only a paid payment can be refunded. Money of a payment that is not paid is under Held money.',
  INVALID_CURRENCY: 'The payment received nothing in that coin.',
  REFUND_AMOUNT_EXCEEDED: 'That is more than the payment received, less its earlier refunds.',
  REFUND_TIME_EXPIRED: 'The payment is too long ago: the store’s refund window has closed.',
  DAILY_REFUND_LIMIT_EXCEEDED: 'That is above what the store may refund today. Try again tomorrow, or refund less.',
};

/** Says why a refund was not made. */
export function refusalText(outcome: Exclude<CreateRefundOutcome, Readonly<{ refund: Refund }>>): string {
  switch (outcome.kind) {
    case 'refused':
      return refusals[outcome.why];
    case 'bad_destination':
      return `The address ${destinationFaults[outcome.why]}.`;
    case 'store_suspended':
      return 'The store is suspended and makes no refunds. Ask whoever runs this installation.';
    case 'not_adopted':
      return 'The database was restored from a backup, and refunds are refused until it is up to date. Try again later.';
    case 'duplicate_refund_id':
    case 'idempotency_key_conflict':
      return 'This form was sent before with other values. Look at the payment’s refunds, then start again.';
    default:
      return 'There is no such payment in this store and mode.';
  }
}
