/**
 * Held money of a payment: confirmed, but counting for nothing until somebody decides to accept it or to return it. It
 * is on the payment's page.
 */
import { isRefusal, say } from '../../acts/act.ts';
import {
  acceptEffect,
  acceptHeld,
  heldAmount,
  nothingReturnable,
  returnableParts,
  returnHeld,
} from '../../acts/held.ts';
import { amountText } from '../../acts/refund-words.ts';
import type { HeldMoney } from '../../database/held-money.ts';
import type { Session } from '../../database/session.ts';
import { type Html, html } from '../../lib/html.ts';
import { section } from '../../web/list.ts';
import { contextOf, formOf } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import { may, pathIn, type StoreAt, type Visit } from '../page.ts';
import { refundBadge } from '../refund-text.ts';
import { sentence } from '../sentence.ts';
import { badge, data, networkTitle, time } from '../show.ts';
import type { Words } from '../texts.ts';

const SHOWN_MAX = 20;
const PATH = '/s/:store/:mode/payments/:id/held/:held';

const accepting = formOf(acceptHeld, { path: `${PATH}/accept` });
/** Returns one coin on one network. */
const returning = formOf(returnHeld, {
  path: `${PATH}/return/:network/:currency`,
  inputs: ['to'],
  to: '/s/:store/:mode/refunds/:return',
});

/** Forms of the payment's page. */
export const heldForms = [accepting, returning];

/** Shows what of a payment is or was held, with the forms for who may decide; null if nothing was. */
export async function heldSection(deps: DashboardDeps, visit: Visit<StoreAt>, session: Session): Promise<Html | null> {
  const { words } = visit;
  const all = await deps.database.held.list({ sessionId: session.id, limit: SHOWN_MAX });
  if (all.length === 0) return null;
  const shown: Html[] = [];
  for (const held of all) {
    const forms = held.state === 'open' && may(visit, acceptHeld.needs) ? await decisions(deps, visit, held) : null;
    shown.push(html`<article><h3>${data(heldAmount(held))} ${stateOf(words, held)}</h3>
<p>${words.say(`held.kind_${held.kind}`)}. ${waitingOf(visit, held)}</p>${returnsOf(visit, held)}${forms}</article>`);
  }
  return section(
    'held',
    words.say('Held money'),
    html`<p class="hint">${words.say('It is confirmed, but counts for nothing until you decide.')}</p>${shown}`,
  );
}

/** Its outcome. */
function stateOf(words: Words, { state, returns }: HeldMoney): Html {
  if (state === 'open') return badge(words.say('waits for you'), 'attention');
  if (state === 'settled') return badge(words.say('accepted'), 'good');
  if (returns.some(({ status }) => status === 'pending' || status === 'processing')) {
    return badge(words.say('returning'), 'wait');
  }
  return returns.some(({ status }) => status === 'completed')
    ? badge(words.say('returned'), 'good')
    : badge(words.say('gone'), 'wait');
}

/** Since when it waits, or when it was decided about. */
const waitingOf = ({ words }: Visit<StoreAt>, { openedAtMs, settledAtMs }: HeldMoney): Html =>
  settledAtMs === null
    ? html`<span class="hint">${words.say('Held since')} ${time(openedAtMs)}</span>`
    : html`<span class="hint">${words.say('Decided')} ${time(settledAtMs)}</span>`;

const returnsOf = ({ at, words }: Visit<StoreAt>, { returns }: HeldMoney): Html | null =>
  returns.length === 0
    ? null
    : html`<p>${words.say('Returns:')}</p><ul>${returns.map(
        ({ id, status, ...part }) =>
          html`<li><a href="${pathIn(at, `refunds/${id}`)}">${data(amountText(part))}</a> ${refundBadge(words, { status })}</li>`,
      )}</ul>`;

async function decisions(deps: DashboardDeps, visit: Visit<StoreAt>, { id: held }: HeldMoney): Promise<Html> {
  const { words } = visit;
  const context = contextOf(deps, visit, { name: acceptHeld.name, reason: null });
  const accepted = await acceptHeld.plan(context, { held });
  const effect = isRefusal(accepted) ? accepted.because : acceptEffect(accepted);
  const parts = await returnableParts(context, held);
  const returns = parts.map((part) => {
    const what = { currency: amountText(part), network: networkTitle(deps.config, part.network) };
    const title = html`${words.say('Return it')}: ${words.say('{currency} on {network}', what)}`;
    return returning.show(visit, {
      ...{ button: words.say('Go on'), opens: title, reason: say('Why') },
      given: { held, network: part.network, currency: part.currency },
    });
  });
  const accept = accepting.show(visit, {
    ...{ button: words.say('Accept it'), given: { held }, look: 'main' },
    above: html`<p>${sentence(words, effect)}</p>`,
  });
  return html`${accept}
${parts.length > 0 ? returns : html`<p class="hint">${sentence(words, nothingReturnable)}</p>`}`;
}
