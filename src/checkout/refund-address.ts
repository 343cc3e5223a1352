/**
 * The payer's own address for possible refunds, given on the payment page. It takes the payer's token, because the
 * session's id is no secret, and two steps: enter the address, then compare all of it and confirm.
 */
import type { Request, Router } from 'express';
import { chains } from '../chains/index.ts';
import type { Config } from '../config/config.ts';
import type { NetworkKey } from '../core/transfer.ts';
import type { PaymentOption } from '../database/column-values.ts';
import type { Database } from '../database/database.ts';
import type { DestinationCheck, DestinationFault } from '../database/refunds/refund.ts';
import type { Session } from '../database/session.ts';
import type { Clock } from '../lib/clock.ts';
import { queryOf } from '../lib/form.ts';
import { type Html, html } from '../lib/html.ts';
import { createLimiter } from '../lib/rate-limit.ts';
import { exampleAddress } from '../payments/destination.ts';
import { documentOf } from '../web/document.ts';
import { icon } from './icon.ts';
import { linkTo, networkTitle, type PageModel } from './model.ts';
import { allow } from './policy.ts';
import {
  ADDRESS_CHANGES,
  ADDRESS_CHARACTERS_MAX,
  ADDRESS_FORM_BYTES_MAX,
  ADDRESS_TRIES,
  waitsForAddress,
} from './refund-page.ts';
import { asked, findSession, formReader, limitCallers, type Refuse } from './request.ts';
import { addressGroups } from './send.ts';
import type { Words } from './texts.ts';

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
  const { session, words, refundAddresses } = model;
  const { say } = words;
  if (!model.isPayer) return null;
  const networkKey = paidNetwork(session);
  const option = session.options.find((one) => one.networkKey === networkKey);
  if (!networkKey || !option) return null;
  const network = networkTitle(model, option);
  const { family } = option;
  const named = refundAddresses[networkKey];
  if (named !== undefined) {
    const address = chains[family as keyof typeof chains].address.format(named);
    const left = html`<p>${say('refund_left', { network })}</p>${addressGroups(address)}`;
    return html`<div class="refund-address">${left}${addressForm(model, option, 'refund_replace')}</div>`;
  }
  return addressForm(model, option, 'refund_leave_title');
}

function addressForm(model: PageModel, option: PaymentOption, title: 'refund_leave_title' | 'refund_replace'): Html {
  const { session, words, choice, refunds } = model;
  const { say } = words;
  const { currency } = option;
  const isAwaited = refunds.some((one) => waitsForAddress(one) && one.network === option.networkKey);
  const network = networkTitle(model, option);
  const networks = [...model.networks.values()].map(({ config }) => config);
  const example = exampleAddress({ networks }, option.networkKey);
  const fault = faults.find((one) => one === choice.refundFault);
  const error =
    fault &&
    html`<p class="field-error" id="refund-error">${icon('alert')} ${say(`refund_bad_${fault}`, { network, example })}</p>`;
  return html`<details class="fold refund-address" id="refund-address"${fault || isAwaited ? html` open` : null}><summary>${say(title)}</summary>
<p>${say('refund_leave_text', { network })}</p>
<form method="post" action="${session.id}/refund-address${linkTo(model, {})}">
<label for="refund-to">${say('refund_label', { currency, network })}</label>
<div class="ask"><input id="refund-to" name="address" maxlength="${ADDRESS_CHARACTERS_MAX}" required dir="ltr" autocomplete="off" autocapitalize="off" spellcheck="false"${fault ? html` aria-invalid="true" aria-describedby="refund-error"` : null}>
<button class="button">${say('refund_continue')}</button></div>${error ?? null}
</form></details>`;
}

/** Renders the second step: the address, to compare with the wallet. @param style URL of the style sheet */
function confirmPage(words: Words, address: string, network: string, back: string, style: string): string {
  const { say } = words;
  return documentOf(
    words,
    say('refund_leave_title'),
    html`<link rel="stylesheet" href="${style}">`,
    html`<main id="main"><section class="card pay" aria-labelledby="headline"><h1 id="headline">${say('refund_confirm_title')}</h1>
<p>${say('refund_leave_confirm', { network })}</p>
<p>${addressGroups(address)}</p>
<p class="muted">${say('address_hint')}</p>
<form method="post"><input type="hidden" name="address" value="${address}"><input type="hidden" name="confirmed" value="yes">
<p><button class="button main">${say('refund_leave_button')}</button> <a class="button" href="${back}">${say('refund_change')}</a></p></form>
</section></main>`,
  );
}

type RefundAddressDeps = Readonly<{
  database: Database;
  config: Pick<Config, 'networks'>;
  clock: Clock;
  checkDestination: DestinationCheck;
}>;

/** @param styleOf returns the URL of the style sheet, relative to the requested page */
export function serveRefundAddress(
  router: Router,
  { database, config, clock, checkDestination }: RefundAddressDeps,
  styleOf: (request: Request) => string,
  refuse: Refuse,
): void {
  const count = limitCallers(ADDRESS_TRIES, clock);
  const changes = createLimiter({ ...ADDRESS_CHANGES, clock });
  router.post('/pay/:id/refund-address', formReader(ADDRESS_FORM_BYTES_MAX), async (request, response) => {
    const session = await findSession(database.sessions, request);
    const network = session && paidNetwork(session);
    const { choice, words } = asked(request);
    const isPayer =
      session && choice.payerToken !== null && database.sessions.isPayerToken(session.id, choice.payerToken);
    if (!session || !network || !isPayer) return refuse(request, response, null);
    const waitS = count(request);
    if (waitS > 0) return refuse(request, response, waitS);
    const { address = '', confirmed = '' } = Object(request.body) as Record<string, unknown>;
    const typed = String(address).trim().slice(0, ADDRESS_CHARACTERS_MAX);
    const query = queryOf(request);
    query.delete('fault');
    // The page, one folder up, with the same choice.
    const pageLink = () => `../${session.id}?${query}#refund-address`;
    const verdict = checkDestination(network, typed);
    const known = config.networks.find(({ key }) => key === network);
    if (verdict.kind === 'ok' && known && confirmed !== 'yes') {
      const { embedOrigins } = await database.stores.values(session.storeId);
      allow(response, { connect: [], ancestors: embedOrigins });
      const whole = chains[known.family].address.format(verdict.key);
      response.type('html').send(confirmPage(words, whole, known.title, pageLink(), styleOf(request)));
      return;
    }
    const changeWaitS = verdict.kind === 'ok' ? changes.take(session.id) : 0;
    if (changeWaitS > 0) return refuse(request, response, changeWaitS);
    const named = { sessionId: session.id, network, address: typed, nowMs: clock.nowMs() };
    const outcome = await database.refunds.leaveAddress(named, checkDestination);
    if (typeof outcome === 'object') query.set('fault', outcome.why);
    response.redirect(303, pageLink());
  });
}
