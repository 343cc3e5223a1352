/**
 * The sandbox's panel: a form whose buttons simulate payments. Shown only for sessions of simulated networks.
 */
import { currencies } from '../core/transfer.ts';
import { type Html, html } from '../lib/html.ts';
import { simulations } from '../payments/simulation.ts';
import { linkTo, networkMark, networkTitle, type PageModel, selectedOption, tokenMark } from './model.ts';

export function sandboxPanel(model: PageModel): Html | null {
  const { session, state, words } = model;
  const { say } = words;
  const option = selectedOption(model) ?? session.options[0];
  if (!option) return null;
  const takesAll = currencies.every((currency) => session.terms.accepts.includes(currency));
  const isUnderWay = session.payments.some((payment) => payment.state === 'seen');
  const offered = simulations.filter((simulation) => {
    if (simulation === 'pay_wrong_token') return !takesAll;
    if (simulation === 'mine' || simulation === 'reorg') return isUnderWay;
    return !(state.hasEnded && (simulation === 'expire' || simulation === 'pay_late'));
  });
  return html`<section class="card sandbox" aria-labelledby="sandbox-title">
<h2 id="sandbox-title">${say('sandbox')}</h2>
<p>${say('sandbox_lead')}</p>
<p class="muted">${tokenMark(model, option.currency)}${networkMark(model, option)} ${say('sandbox_network', { network: `${networkTitle(model, option)}, ${option.currency}` })}</p>
<form method="post" action="${session.id}/simulate${linkTo(model, {})}">${offered.map(
    (simulation) =>
      html`<button class="button" id="${simulation}" name="action" value="${simulation}">${say(`sandbox_${simulation}`)}</button>`,
  )}</form>
</section>`;
}
