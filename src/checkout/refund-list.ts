/**
 * What became of a payment's refunds, on the payment page, for who has the payer's token.
 */

import { MINOR_DECIMALS, shownUnits } from '../core/money.ts';
import type { Database } from '../database/database.ts';
import type { Refund } from '../database/refunds/refund.ts';
import type { Session } from '../database/session.ts';
import { type Html, html } from '../lib/html.ts';
import { networkMark, networkTitle, type PageModel, tokenMark } from './model.ts';
import { refundFacts } from './refund-page.ts';
import type { TextKey } from './texts.ts';

/** Older ones are not shown; a payment rarely has more than one. */
const SHOWN_MAX = 20;

/** Returns the newest refunds of a session; none while it is open. */
export const refundsOf = async (
  database: Pick<Database, 'refunds'>,
  { id, life }: Session,
): Promise<readonly Refund[]> =>
  life.status === 'pending' ? [] : database.refunds.list({ sessionId: id, limit: SHOWN_MAX });

/** Whether the page should follow it: it usually ends within minutes. */
export const isOnItsWay = ({ status }: Refund): boolean => status === 'processing';

/** Whether the payer has to name an address first. */
export const waitsForAddress = ({ status, destination }: Refund): boolean =>
  status === 'pending' && destination === null;

/** Renders the refunds with their states; null if there are none. */
export function refundList(model: PageModel): Html | null {
  const { refunds, words, shop } = model;
  if (refunds.length === 0) return null;
  return html`<h2>${words.say('refund_title', { shop })}</h2><ul class="transfers">${refunds.map((refund) => refundItem(model, refund))}</ul>`;
}

function refundItem(model: PageModel, refund: Refund): Html {
  const { words, shop, session, refundAddresses } = model;
  const { say } = words;
  const amount = shownUnits(refund.amountMinor, MINOR_DECIMALS);
  const { currency } = refund;
  const option = session.options.find(({ networkKey }) => networkKey === refund.network);
  const at = { networkKey: refund.network, network: option?.network ?? refund.network };
  const network = networkTitle(model, at);
  const { title, text } = wordsOf(refund);
  // Shown below, with the form that changes it.
  const isLeft = refund.destination?.key === refundAddresses[refund.network];
  const proof = isLeft ? { ...refund, destination: null } : refund;
  const values = { amount: `${amount} ${currency}`, network, shop };
  return html`<li>${tokenMark(model, currency)}${networkMark(model, at)} <span>${say('transfer', { amount, currency, network })} ${title === undefined ? null : html`<em>${say(title)}</em>`}</span>
${text === undefined ? null : html`<p class="follows">${say(text, values)}</p>`}${refundFacts(words, proof)}</li>`;
}

/** Returns what is said of a refund's state: `title` beside its amount, and what follows for the payer. */
function wordsOf(refund: Refund): Readonly<{ title?: TextKey; text?: TextKey }> {
  const { status, failureReason } = refund;
  switch (status) {
    case 'pending':
      return { text: waitsForAddress(refund) ? 'refund_ask_text' : 'refund_pending_text' };
    case 'processing':
    case 'completed':
      return { title: `refund_${status}_title` };
    case 'failed': {
      const text = failureReason === 'claim_expired' ? 'refund_expired_text' : 'refund_failed_text';
      return { title: 'refund_failed_title', text };
    }
    case 'canceled':
      return { title: 'refund_canceled_title', text: 'refund_canceled_text' };
  }
}
