/**
 * The address for a refund that a payer types, on the page of a claim link and for the payment page. It takes two
 * steps: enter the address, then compare all of it and confirm.
 */
import type { Request, Response, Router } from 'express';
import { chains } from '../chains/index.ts';
import type { Config } from '../config/config.ts';
import type { NetworkConfig } from '../config/network.ts';
import type { Database } from '../database/database.ts';
import type { DestinationCheck, DestinationFault } from '../database/refunds/refund.ts';
import type { Clock } from '../lib/clock.ts';
import { type Html, html } from '../lib/html.ts';
import { createAddressLimiter, createLimiter } from '../lib/rate-limit.ts';
import { exampleAddress } from '../payments/destination.ts';
import { icon } from './icon.ts';
import { formReader, type Refuse } from './request.ts';
import { addressGroups } from './send.ts';
import type { Words } from './texts.ts';

/** Longer than any address. */
export const ADDRESS_CHARACTERS_MAX = 128;
/** Rate limit of addresses that one caller has checked; each costs a query. */
const TRIES = { perSecond: 1, burst: 30, namesMax: 10_000 } as const;
/** Rate limit of addresses stored for one session or refund: each is an entry of the audit log, for ever. */
const CHANGES = { perSecond: 1 / 3600, burst: 10, namesMax: 10_000 } as const;
/** Enough for the form with an address. */
const FORM_BYTES_MAX = 2048;

/**
 * - `ask`: the form, with what was typed and what is wrong with it, if anything.
 * - `confirm`: the address, to compare with the wallet.
 */
export type AddressStep =
  | Readonly<{ kind: 'ask'; typed: string; fault: DestinationFault | null }>
  | Readonly<{ kind: 'confirm'; address: string }>;

/** Texts and links around an address. */
export type AddressForm = Readonly<{
  words: Words;
  network: NetworkConfig;
  currency: string;
  askTitle: string;
  askText: Html;
  confirmText: Html;
  confirmButton: string;
  /** URLs relative to the page: what the form posts to, and the way back to the first step. */
  action: string;
  back: string;
}>;

export function addressStep(form: AddressForm, step: AddressStep): Html {
  const { words, network, currency, action } = form;
  const { say } = words;
  const at = { currency, network: network.title };
  if (step.kind === 'confirm') {
    return html`<h1 id="headline">${say('refund_confirm_title')}</h1>
<p>${form.confirmText}</p>
<p>${addressGroups(step.address)}</p>
<p class="muted">${say('address_hint')}</p>
<form method="post" action="${action}"><input type="hidden" name="address" value="${step.address}"><input type="hidden" name="confirmed" value="yes">
<p><button class="button main">${form.confirmButton}</button> <a class="button" href="${form.back}">${say('refund_change')}</a></p></form>`;
  }
  const { typed, fault } = step;
  const example = exampleAddress({ networks: [network] }, network.key);
  const error =
    fault &&
    html`<p class="field-error" id="address-error">${icon('alert')} ${say(`refund_bad_${fault}`, { network: network.title, example })}</p>`;
  return html`<h1 id="headline">${form.askTitle}</h1>
<p>${form.askText}</p>
<form class="claim" method="post" action="${action}">
<label for="address">${say('refund_label', at)}</label>
<input id="address" name="address" value="${typed}" maxlength="${ADDRESS_CHARACTERS_MAX}" required dir="ltr" autocomplete="off" autocapitalize="off" spellcheck="false"${fault ? html` aria-invalid="true" aria-describedby="address-error"` : null}>
${error}
<ul class="rules"><li>${say('refund_rule_network', at)}</li><li>${say('refund_rule_exchange', { currency, network: network.title })}</li></ul>
<p><button class="button main">${say('refund_continue')}</button></p>
</form>`;
}

/** `checkDestination`: whether a refund can be paid to an address that somebody typed. */
export type AddressDeps = Readonly<{
  database: Database;
  config: Pick<Config, 'networks'>;
  clock: Clock;
  checkDestination: DestinationCheck;
}>;

/** The owner of an address that is to be entered: a refund, or a session. */
type AddressOwner = Readonly<{
  id: string;
  network: NetworkConfig;
  /** False once no address is taken any more. */
  isOpen: boolean;
  show(step: AddressStep): void;
  /** Stores the address, or says why it must not be. */
  store(address: string): Promise<Readonly<{ why: DestinationFault }> | string>;
  /** Where the payer is sent afterwards, relative to the form. */
  next: string;
}>;

/** @param find returns the owner; null if there is none, which is answered with 404 */
export function serveAddressForm(
  router: Router,
  path: string,
  { clock, checkDestination }: AddressDeps,
  find: (request: Request, response: Response) => Promise<AddressOwner | null>,
  refuse: Refuse,
): void {
  const tries = createAddressLimiter({ ...TRIES, clock });
  const changes = createLimiter({ ...CHANGES, clock });
  router.post(path, formReader(FORM_BYTES_MAX), async (request, response) => {
    const waitS = tries.take(request.ip ?? '');
    if (waitS > 0) return refuse(request, response, waitS);
    const owner = await find(request, response);
    if (!owner) return refuse(request, response, null);
    // Redirects, so that a reload does not send the form again.
    if (!owner.isOpen) return response.redirect(303, owner.next);
    const { address = '', confirmed = '' } = Object(request.body) as Record<string, unknown>;
    const typed = String(address).trim().slice(0, ADDRESS_CHARACTERS_MAX);
    const askAgain = (fault: DestinationFault): void => {
      response.status(400);
      owner.show({ kind: 'ask', typed, fault });
    };
    const verdict = checkDestination(owner.network.key, typed);
    if (verdict.kind === 'bad') return askAgain(verdict.why);
    if (confirmed !== 'yes') {
      return owner.show({ kind: 'confirm', address: chains[owner.network.family].address.format(verdict.key) });
    }
    const changeWaitS = changes.take(owner.id);
    if (changeWaitS > 0) return refuse(request, response, changeWaitS);
    const outcome = await owner.store(typed);
    if (typeof outcome === 'object') return askAgain(outcome.why);
    response.redirect(303, owner.next);
  });
}
