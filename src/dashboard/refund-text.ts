/**
 * What pages say about refunds: amounts, states, and what a refund waits for.
 */
import { amountText, addressFault as faultOfAddress, shownMinor, storeSuspended } from '../acts/refund-words.ts';
import { waitsForApproval } from '../acts/refunds.ts';
import type { RefundStatus } from '../core/refund.ts';
import type { NetworkKey } from '../core/transfer.ts';
import type { CreateRefundOutcome, DestinationFault, Refund, RefundRoom } from '../database/refunds/refund.ts';
import type { Session } from '../database/session.ts';
import { type Html, html } from '../lib/html.ts';
import { facts } from '../web/list.ts';
import type { DashboardDeps } from './deps.ts';
import type { StoreAt } from './page.ts';
import { sentenceText } from './sentence.ts';
import { badge, data, grouped, networkTitle, type Tone } from './show.ts';
import type { Words } from './texts.ts';

export const refundsPath = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/refunds`;

/** Whether the payer has to name an address. */
export const waitsForAddress = ({ status, destination, claim }: Refund): boolean =>
  status === 'pending' && destination === null && claim !== null;

const tones: Readonly<Record<RefundStatus, Tone>> = {
  pending: 'wait',
  processing: 'wait',
  completed: 'good',
  failed: 'danger',
  canceled: 'wait',
};

/** Shows the status, and what it waits for. */
export function refundState(words: Words, refund: Refund): Html {
  const waits = [
    ...(refund.status === 'pending' && !refund.destination ? (['address'] as const) : []),
    ...(waitsForApproval(refund) ? (['approval'] as const) : []),
  ];
  return html`<span>${refundBadge(words, refund)}${waits.map((what) => html` ${badge(words.say(`refunds.needs_${what}`), 'attention')}`)}</span>`;
}

export const refundBadge = (words: Words, { status }: Pick<Refund, 'status'>): Html =>
  badge(words.say(`refunds.status_${status}`), tones[status]);

/** Says what is wrong with an address. */
export const addressFault = (
  { config }: Pick<DashboardDeps, 'config'>,
  words: Words,
  network: NetworkKey,
  why: DestinationFault,
): string => sentenceText(words, faultOfAddress(config.networks, network, why));

/** Writes what is left to refund, by coin: "6.00 USDT, 2.50 USDC". */
export const leftText = ({ coins }: RefundRoom): string =>
  coins.map(({ leftMinor, currency }) => `${shownMinor(leftMinor)} ${currency}`).join(', ');

/** Says why a refund was not made. */
export function refusalText(
  deps: Pick<DashboardDeps, 'config'>,
  words: Words,
  { payments }: Pick<Session, 'payments'>,
  outcome: Exclude<CreateRefundOutcome, Readonly<{ refund: Refund }>>,
  room: RefundRoom | null,
): string {
  switch (outcome.kind) {
    case 'refused':
      return words.say(`refunds.refused_${outcome.why}`, {
        left: room ? leftText(room) : '–',
        today: room ? shownMinor(room.dayLeftMinor) : '–',
      });
    case 'bad_destination':
      return addressFault(deps, words, payments[0]?.networkKey ?? 'test:', outcome.why);
    case 'store_suspended':
      return sentenceText(words, storeSuspended.because);
    case 'not_adopted':
      return words.say('refunds.not_adopted');
    case 'duplicate_refund_id':
    case 'idempotency_key_conflict':
      return words.say('refunds.form_reused');
    default:
      return words.say('refunds.no_payment');
  }
}

/** Says order, amount, network and whole destination. @param source by whom the destination was named */
export const whatIsPaid = (
  config: DashboardDeps['config'],
  words: Words,
  refund: Refund,
  source: Html | null = null,
): Html =>
  facts([
    [words.say('refunds.order'), data(refund.orderId)],
    [words.say('refund-changes.amount'), data(amountText(refund))],
    [words.say('refunds.network'), data(networkTitle(config, refund.network))],
    [
      words.say('refunds.to'),
      refund.destination
        ? html`<div>${grouped(refund.destination.address)}${source}</div>`
        : words.say('refund-changes.by_link'),
    ],
  ]);
