/**
 * The page of a claim link: the payer enters the address for a refund, confirms it, and sees the state of the refund.
 * The page has no scripts.
 */
import type { NetworkConfig } from '../config/network.ts';
import { MINOR_DECIMALS, shownUnits } from '../core/money.ts';
import type { Refunds } from '../database/database.ts';
import type { Refund } from '../database/refunds/refund.ts';
import type { Session } from '../database/session.ts';
import { type Html, html } from '../lib/html.ts';
import { documentOf, RELOAD_S } from '../web/document.ts';
import { type AddressStep, addressStep } from './address-form.ts';
import { type IconName, icon, markOf } from './icon.ts';
import { networkMark, networkTitle, type PageModel, tokenMark } from './model.ts';
import { addressGroups } from './send.ts';
import type { TextKey, Words } from './texts.ts';

/** `state`: the state of the refund, with a link to the form while the payer may name another address. */
export type RefundStep = AddressStep | Readonly<{ kind: 'state'; mayChange: boolean }>;

type RefundPageModel = Readonly<{
  refund: Refund;
  shop: string;
  network: NetworkConfig;
  step: RefundStep;
  /** The last part of the claim link, which is also the relative URL that the forms post to. */
  token: string;
  words: Words;
}>;

const isOver = ({ status }: Refund): boolean => status === 'completed' || status === 'failed' || status === 'canceled';

/** @param style URL of the style sheet, relative to the page */
export function refundPage(model: RefundPageModel, style: string): string {
  const { refund, shop, step, words } = model;
  const { say } = words;
  const reloads = step.kind === 'state' && !isOver(refund);
  return documentOf(
    words,
    say('refund_title', { shop }),
    html`<link rel="stylesheet" href="${style}">${reloads ? html`<noscript><meta http-equiv="refresh" content="${RELOAD_S}"></noscript>` : null}`,
    html`<header><p class="shop"><span>${shop}</span></p>${refund.mode === 'test' ? html`<p class="test">${say('test_mode')}</p>` : null}</header>
<main id="main"><section class="card pay" aria-labelledby="headline">${section(model)}</section></main>
<footer><p>${say('refund_footer')}</p><p>${say('reference', { id: refund.refundId })}</p></footer>`,
  );
}

function section(model: RefundPageModel): Html {
  const { step, words, token, network, refund } = model;
  if (step.kind === 'state') return stateSection(model, step.mayChange);
  const { say } = words;
  const values = valuesOf(model);
  const form = {
    words,
    network,
    currency: refund.currency,
    action: token,
    back: `${token}?change=1`,
    askTitle: say('refund_ask_title'),
    askText: html`${marks(model)} ${say('refund_ask_text', values)}`,
    confirmText: html`${marks(model)} ${say('refund_confirm_text', values)}`,
    confirmButton: say('refund_confirm_button', values),
  };
  return addressStep(form, step);
}

/** Returns the values that the texts need; `amount` includes its currency. */
function valuesOf({ refund, network, shop }: RefundPageModel) {
  const amount = `${shownUnits(refund.amountMinor, MINOR_DECIMALS)} ${refund.currency}`;
  return { amount, currency: refund.currency, network: network.title, shop };
}

/** Draws the marks of the token and the network. */
const marks = ({ refund: { currency }, network: { mark, title, tokenMarks } }: RefundPageModel): Html =>
  html`${markOf(tokenMarks?.[currency], currency)}${markOf(mark, title)}`;

const icons: Readonly<Record<Refund['status'], IconName>> = {
  pending: 'wait',
  processing: 'wait',
  completed: 'done',
  failed: 'alert',
  canceled: 'stop',
};

/** Shows where a refund goes, and what proves that it was paid. */
function refundFacts({ say }: Words, { destination, tx, receiptNumber }: Refund): Html {
  return html`<dl class="facts">${destination && html`<div><dt>${say('address')}</dt><dd>${addressGroups(destination.address)}</dd></div>`}
${tx === null ? null : html`<div><dt>${say('transaction')}</dt><dd><code class="value" dir="ltr">${tx}</code></dd></div>`}
${receiptNumber === null ? null : html`<div><dt>${say('refund_receipt')}</dt><dd><span dir="ltr">${receiptNumber}</span></dd></div>`}</dl>`;
}

function stateSection(model: RefundPageModel, mayChange: boolean): Html {
  const { refund, words } = model;
  const { say } = words;
  const { status } = refund;
  const key = status === 'failed' && refund.failureReason === 'claim_expired' ? 'expired' : status;
  const tone = status === 'completed' ? 'good' : status === 'failed' ? 'attention' : '';
  return html`<div class="state ${tone}">${icon(icons[status])}<h1 id="headline">${say(`refund_${key}_title`)}</h1></div>
<p role="status">${marks(model)} ${say(`refund_${key}_text`, valuesOf(model))}</p>
${refundFacts(words, refund)}
${isOver(refund) ? null : html`<p><a class="button" href="${model.token}">${say('retry')}</a>${mayChange ? html` <a class="button" href="${model.token}?change=1">${say('refund_replace')}</a>` : null}</p>`}`;
}

// ── The list of refunds ─────────────────────────────────────────────────────────────────────────────────────────────

/** Older ones are not shown; a payment rarely has more than one. */
const SHOWN_MAX = 20;

/** Returns the newest refunds of a session; none while it is open. */
export const refundsOf = async (refunds: Refunds, { id, life }: Session): Promise<readonly Refund[]> =>
  life.status === 'pending' ? [] : refunds.list({ sessionId: id, limit: SHOWN_MAX });

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
