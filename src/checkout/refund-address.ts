/**
 * The payer's own address for possible refunds, given on the payment page. It can be given only once, so that somebody
 * who gets the page's link later cannot redirect a refund.
 * @module
 */
import type { Router } from 'express';
import { chains } from '../chains/index.ts';
import type { Config } from '../config/config.ts';
import type { NetworkKey } from '../core/transfer.ts';
import type { Database, Session } from '../database/database.ts';
import type { DestinationCheck, DestinationFault, RefundDatabase } from '../database/refunds.ts';
import type { Clock } from '../lib/clock.ts';
import { type Html, html } from '../lib/html.ts';
import { icon } from './icon.ts';
import { linkTo, networkTitle, type PageModel } from './model.ts';
import { ADDRESS_CHARACTERS_MAX, ADDRESS_FORM_BYTES_MAX, ADDRESS_TRIES } from './refund-page.ts';
import { findSession, formReader, limitCallers, queryOf, type Refuse } from './request.ts';
import { addressGroups } from './send.ts';

const faults: readonly DestinationFault[] = [
  'malformed',
  'unspendable',
  'token_contract',
  'own_address',
  'network_unknown',
];

/** Returns the network of the payment; null, and the payer is not asked, before there is one. */
function paidNetwork({ payments }: Session): NetworkKey | null {
  return payments.find(({ state }) => state !== 'orphaned')?.networkKey ?? null;
}

/** Renders the form, or the address that was given. */
export function refundAddressPanel(model: PageModel): Html | null {
  const { session, words, refundAddresses, choice } = model;
  const { say } = words;
  const networkKey = paidNetwork(session);
  const option = session.options.find((one) => one.networkKey === networkKey);
  if (!networkKey || !option) return null;
  const network = networkTitle(model, option);
  const { family, currency } = option;
  const named = refundAddresses[networkKey];
  if (named !== undefined) {
    const address = chains[family as keyof typeof chains].address.format(named);
    return html`<div class="refund-address"><p>${say('refund_left', { network })}</p>${addressGroups(address)}</div>`;
  }
  const fault = faults.find((one) => one === choice.refundFault);
  const error =
    fault &&
    html`<p class="field-error" id="refund-error">${icon('alert')} ${say(`refund_bad_${fault}`, { network })}</p>`;
  return html`<details class="look-up refund-address" id="refund-address"${fault ? html` open` : null}><summary>${say('refund_leave_title')}</summary>
<p>${say('refund_leave_text', { network })}</p>
<form method="post" action="${session.id}/refund-address${linkTo(model, {})}">
<label for="refund-to">${say('refund_label', { currency, network })}</label>
<div class="ask"><input id="refund-to" name="address" maxlength="${ADDRESS_CHARACTERS_MAX}" required dir="ltr" autocomplete="off" autocapitalize="off" spellcheck="false"${fault ? html` aria-invalid="true" aria-describedby="refund-error"` : null}>
<button class="button">${say('refund_leave_button')}</button></div>${error ?? null}
</form></details>`;
}

export type RefundAddressDeps = Readonly<{
  database: Pick<Database, 'findSession'> & Pick<RefundDatabase, 'leaveRefundAddress'>;
  config: Pick<Config, 'networks'>;
  clock: Clock;
  checkDestination: DestinationCheck;
}>;

export function serveRefundAddress(
  router: Router,
  { database, clock, checkDestination }: RefundAddressDeps,
  refuse: Refuse,
): void {
  const count = limitCallers(ADDRESS_TRIES, clock);
  router.post('/pay/:id/refund-address', formReader(ADDRESS_FORM_BYTES_MAX), async (request, response) => {
    const session = await findSession(database, request);
    const network = session && paidNetwork(session);
    if (!session || !network) return refuse(request, response, null);
    const waitS = count(request);
    if (waitS > 0) return refuse(request, response, waitS);
    const address = String(Object(request.body).address ?? '').slice(0, ADDRESS_CHARACTERS_MAX);
    const asked = { sessionId: session.id, network, address, nowMs: clock.nowMs() };
    const outcome = await database.leaveRefundAddress(asked, checkDestination);
    const query = queryOf(request);
    query.delete('fault');
    if (typeof outcome === 'object') query.set('fault', outcome.why);
    // Redirects to the page, one folder up, with the same choice.
    response.redirect(303, `../${session.id}?${query}#refund-address`);
  });
}
