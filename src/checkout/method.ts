/**
 * The choice of a stablecoin and a network, with links only.
 */
import type { Currency } from '../core/transfer.ts';
import type { PaymentOption } from '../database/column-values.ts';
import { type Html, html } from '../lib/html.ts';
import { optionName } from '../payments/option.ts';
import { icon } from './icon.ts';
import { durationText, isUp, linkTo, networkMark, networkTitle, type PageModel, tokenMark } from './model.ts';

export function methodChoice(model: PageModel): Html {
  const { session, words, choice } = model;
  const { say } = words;
  const tokens = [...new Set(session.options.map(({ currency }) => currency))];
  const preferred = session.conversion?.currency ?? tokens[0];
  const token = tokens.find((one) => one === choice.token) ?? preferred;
  const options = session.options.filter(({ currency }) => currency === token);
  return html`<p class="muted">${say('network_same')}</p>
${
  tokens.length > 1
    ? html`<nav class="tokens" aria-label="${say('choose_token')}">${tokens.map((one) => tokenLink(model, one, one === token))}</nav>`
    : null
}
<nav aria-label="${say('choose_network')}"><ul class="networks">${options.map((option) => networkLink(model, option))}</ul></nav>`;
}

const tokenLink = (model: PageModel, token: Currency, isCurrent: boolean): Html =>
  isCurrent
    ? html`<a id="token-${token}" href="${linkTo(model, { token, pay: null })}" aria-current="true">${tokenMark(model, token)} ${token}</a>`
    : html`<a id="token-${token}" href="${linkTo(model, { token, pay: null })}">${tokenMark(model, token)} ${token}</a>`;

function networkLink(model: PageModel, option: PaymentOption): Html {
  const { say } = model.words;
  const name = optionName(option);
  const title = html`${networkMark(model, option)}<strong>${networkTitle(model, option)}</strong>`;
  if (!isUp(model, option)) {
    return html`<li><span class="network off">${title}<small>${icon('alert')} ${say('network_down')}</small></span></li>`;
  }
  const view = model.networks.get(option.networkKey);
  const facts = [...(view ? [durationText(model, view.timeS)] : []), ...(view?.feeText ? [say(view.feeText)] : [])];
  return html`<li><a id="network-${name}" class="network" href="${linkTo(model, { pay: name, token: null })}">${title}<small>${facts.join(' · ')}</small>${icon('next')}</a></li>`;
}
