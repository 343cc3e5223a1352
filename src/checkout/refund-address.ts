/**
 * The payer's own address for possible refunds, given on the payment page. It takes the payer's token, because the
 * session's id is no secret.
 */
import type { Request, Response, Router } from 'express';
import { chains } from '../chains/index.ts';
import type { NetworkKey } from '../core/transfer.ts';
import type { PaymentOption } from '../database/column-values.ts';
import type { Session } from '../database/session.ts';
import { queryOf } from '../lib/form.ts';
import { type Html, html } from '../lib/html.ts';
import { documentOf } from '../web/document.ts';
import {
  ADDRESS_CHARACTERS_MAX,
  type AddressDeps,
  type AddressStep,
  addressStep,
  serveAddressForm,
} from './address-form.ts';
import { linkTo, networkTitle, type PageModel } from './model.ts';
import { allow } from './policy.ts';
import { waitsForAddress } from './refund-page.ts';
import { asked, findSession, type Refuse } from './request.ts';
import { addressGroups } from './send.ts';

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
  const { session, words, refunds } = model;
  const { say } = words;
  const { currency } = option;
  const isAwaited = refunds.some((one) => waitsForAddress(one) && one.network === option.networkKey);
  const network = networkTitle(model, option);
  return html`<details class="fold refund-address" id="refund-address"${isAwaited ? html` open` : null}><summary>${say(title)}</summary>
<p>${say('refund_leave_text', { network })}</p>
<form method="post" action="${session.id}/refund-address${linkTo(model, {})}">
<label for="refund-to">${say('refund_label', { currency, network })}</label>
<div class="ask"><input id="refund-to" name="address" maxlength="${ADDRESS_CHARACTERS_MAX}" required dir="ltr" autocomplete="off" autocapitalize="off" spellcheck="false">
<button class="button">${say('refund_continue')}</button></div>
</form></details>`;
}

/** @param styleOf returns the URL of the style sheet, relative to the requested page */
export function serveRefundAddress(
  router: Router,
  deps: AddressDeps,
  styleOf: (request: Request) => string,
  refuse: Refuse,
): void {
  const { database, config, clock, checkDestination } = deps;

  /** Finds the payer's session; null without the payer's token, and before there is a payment. */
  async function find(request: Request, response: Response) {
    const session = await findSession(database.sessions, request);
    const key = session && paidNetwork(session);
    const network = config.networks.find((one) => one.key === key);
    const option = session?.options.find(({ networkKey }) => networkKey === key);
    const { choice, words } = asked(request);
    if (!session || !network || !option || choice.payerToken === null) return null;
    if (!database.sessions.isPayerToken(session.id, choice.payerToken)) return null;
    const { embedOrigins } = await database.stores.values(session.storeId);
    // The page, one folder up, with the same choice.
    const next = `../${session.id}?${queryOf(request)}#refund-address`;
    const at = { network: network.title };
    const form = {
      words,
      network,
      currency: option.currency,
      action: '',
      back: next,
      askTitle: words.say('refund_leave_title'),
      askText: html`${words.say('refund_leave_text', at)}`,
      confirmText: html`${words.say('refund_leave_confirm', at)}`,
      confirmButton: words.say('refund_leave_button'),
    };
    const show = (step: AddressStep): void => {
      allow(response, { connect: [], ancestors: embedOrigins });
      const style = html`<link rel="stylesheet" href="${styleOf(request)}">`;
      const card = html`<main id="main"><section class="card pay" aria-labelledby="headline">${addressStep(form, step)}</section></main>`;
      response.type('html').send(documentOf(words, form.askTitle, style, card));
    };
    const store = (address: string) =>
      database.refunds.leaveAddress(
        { sessionId: session.id, network: network.key, address, nowMs: clock.nowMs() },
        checkDestination,
      );
    return { id: session.id, network, isOpen: true, show, store, next };
  }

  serveAddressForm(router, '/pay/:id/refund-address', deps, find, refuse);
}
