/** The way back to the shop after a payment: by itself after some seconds, unless the payer stays. */
import { toSeconds } from '../lib/clock.ts';
import { addQuery } from '../lib/form.ts';
import { type Html, html } from '../lib/html.ts';
import { linkTo, type PageModel } from './model.ts';

/** How long the page of a payment is shown before it returns to the shop. */
const RETURN_S = 5;
/** Somebody who opens the page later wants its receipt. */
const RECENT_S = 300;

/**
 * Adds the session's id to the shop's own address, so that the page there knows the order.
 * @param successUrl an absolute http or https URL
 */
export const successLink = (successUrl: string, sessionId: string): string =>
  new URL(successUrl).searchParams.has('session_id') ? successUrl : addQuery(successUrl, [['session_id', sessionId]]);

/**
 * Returns where the page goes by itself; null if it stays: the payer wants to, is shown something to read or to
 * correct, or comes back later; or the page is inside the shop's own, which learns the result from it.
 */
export function returnsTo(model: Pick<PageModel, 'session' | 'state' | 'choice' | 'nowMs'>): string | null {
  const { session, state, choice, nowMs } = model;
  const { successUrl } = session.request;
  const { paidAtS } = session.life;
  if (state.kind !== 'paid' || successUrl === null || paidAtS === null) return null;
  if (toSeconds(nowMs) - paidAtS > RECENT_S || state.overPar > 0n || state.foreign.length > 0) return null;
  if (choice.stays || choice.parent !== null) return null;
  return successLink(successUrl, session.id);
}

/** Renders the countdown, and the link that ends it. */
export function returnNotice(model: PageModel): Html | null {
  const to = returnsTo(model);
  if (to === null) return null;
  const { words, shop } = model;
  const seconds = html`<span id="return-left">${RETURN_S}</span>`;
  return html`<p id="return" class="muted" data-to="${to}">${words.html('return', { shop, seconds })} <a id="stay" href="${linkTo(model, { stays: true })}">${words.say('return_stay')}</a></p>`;
}

/** Renders what returns without scripts. */
export function returnRefresh(model: PageModel): Html | null {
  const to = returnsTo(model);
  return to === null ? null : html`<noscript><meta http-equiv="refresh" content="${RETURN_S}; url=${to}"></noscript>`;
}
