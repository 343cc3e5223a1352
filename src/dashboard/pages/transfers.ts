/**
 * The transfers of a payment and what its payer asked about, for the pages of payments and of held money.
 */
import { shownUnits } from '../../core/money.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import type { Lookup } from '../../database/lookups.ts';
import type { Payment, Session } from '../../database/session.ts';
import { type Html, html } from '../../lib/html.ts';
import { createAddressFormat } from '../../payments/destination.ts';
import { list } from '../../web/list.ts';
import type { DashboardDeps } from '../deps.ts';
import { shownOnChain } from '../explorer.ts';
import { badge, data, networkTitle, span, type Tone, time } from '../show.ts';
import type { Words } from '../texts.ts';

export type ShownTransfers = Readonly<{ config: DashboardDeps['config']; words: Words }>;

/** An amount in the units of its token, with its name. */
export const unitsText = ({ units, decimals, currency }: Pick<Payment, 'units' | 'decimals' | 'currency'>): string =>
  `${shownUnits(units, decimals)} ${currency}`;

const receiptTones: Readonly<Record<Payment['state'], Tone>> = {
  seen: 'wait',
  confirmed: 'good',
  final: 'good',
  orphaned: 'attention',
};

export const transactionOf = ({ networkKey: network, tx: text }: Payment) => ({ network, kind: 'tx', text }) as const;
export const addressOf = (network: NetworkKey, text: string) => ({ network, kind: 'address', text }) as const;

/** When a transfer's block came, against the deadline or the cancel before it. */
function timing(words: Words, { terms, life }: Session, { blockTimeS }: Payment): Html {
  const { canceledAtS } = life;
  const isCanceled = canceledAtS !== null && canceledAtS < terms.expiresAtS;
  const afterMs = (blockTimeS - (isCanceled ? canceledAtS : terms.expiresAtS)) * 1000;
  const values = { span: span(words, Math.abs(afterMs)) };
  if (isCanceled) return words.html(afterMs > 0 ? 'transfers.after_cancel' : 'transfers.before_cancel', values);
  return words.html(afterMs > 0 ? 'transfers.after' : 'transfers.before', values);
}

/** Returns what came for a session, the oldest first. */
export function transferTable({ config, words }: ShownTransfers, session: Session): Html {
  const { payments, paymentCount } = session;
  const formatAddress = createAddressFormat(config);
  if (payments.length === 0) return html`<p>${words.say('transfers.nothing')}</p>`;
  const more =
    paymentCount > payments.length
      ? html`<p>${words.html('transfers.newest', { shown: payments.length, all: paymentCount })}</p>`
      : null;
  return html`${list<Payment>({
    caption: words.say('transfers.title'),
    columns: [
      [words.say('transfers.block_time'), ({ blockTimeS }) => time(blockTimeS * 1000)],
      [words.say('transfers.deadline'), (one) => timing(words, session, one)],
      [words.say('transfers.amount'), (one) => data(unitsText(one)), 'number lead'],
      [words.say('transfers.network'), ({ networkKey }) => data(networkTitle(config, networkKey))],
      [words.say('transfers.transaction'), (one) => shownOnChain({ config, words }, transactionOf(one))],
      [
        words.say('transfers.from'),
        ({ networkKey, from }) =>
          shownOnChain({ config, words }, addressOf(networkKey, formatAddress(networkKey, from))),
      ],
      [
        words.say('transfers.state'),
        ({ state, confirmations }) =>
          html`${badge(words.say(`payment.state_${state}`), receiptTones[state])} ${words.html('payment.confirmations', { count: confirmations })}`,
        'lead',
      ],
    ],
    rows: payments,
    empty: '',
  })}${more}`;
}

/** Says which transaction the payer asked about, and what was found. */
export const lookupText = (shown: ShownTransfers, { network, tx, finding }: Lookup): Html =>
  shown.words.html('transfers.looked_up', {
    tx: shownOnChain(shown, { network, kind: 'tx', text: tx }),
    network: networkTitle(shown.config, network),
    finding: finding === null ? html`${shown.words.say('transfers.look_waits')}` : html`<code>${finding}</code>`,
  });
