/**
 * Held money of a payment: confirmed, but counting for nothing until somebody decides to accept it or to return it. It
 * is on the payment's page.
 */
import { type Act, isRefusal, type Outcome, REASON_CHARS_MAX } from '../../acts/act.ts';
import {
  acceptEffect,
  acceptHeld,
  heldAmount,
  nothingReturnable,
  returnableParts,
  returnHeld,
} from '../../acts/held.ts';
import { amountText } from '../../acts/refund-words.ts';
import type { HeldPart } from '../../core/held-money.ts';
import type { HeldMoney } from '../../database/held-money.ts';
import type { Session } from '../../database/session.ts';
import { type Html, html } from '../../lib/html.ts';
import { section } from '../../web/list.ts';
import { contextOf, planAct } from '../act-form.ts';
import { changeForm, type Planned, storeChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { may, pathIn, type Reply, type StoreAt, type StorePage, type Visit } from '../page.ts';
import { refundBadge } from '../refund-text.ts';
import { sentence, sentenceText } from '../sentence.ts';
import { badge, data, networkTitle, time } from '../show.ts';
import type { Words } from '../texts.ts';

const SHOWN_MAX = 20;
const ADDRESS_CHARS_MAX = 128;

/** Shows the page of the payment again, with what is wrong. */
type Back = (visit: Visit<StoreAt>, session: Session, fault: Html) => Promise<Reply>;

/** Returns the forms of both decisions. */
export const heldChanges = (deps: DashboardDeps, back: Back): readonly StorePage[] => [
  storeChange(deps, {
    path: '/s/:store/:mode/held/:held/accept',
    needs: acceptHeld.needs,
    plan: (visit) => planDecision(deps, visit, back, acceptHeld, {}),
  }),
  storeChange(deps, {
    path: '/s/:store/:mode/held/:held/return',
    needs: returnHeld.needs,
    plan(visit) {
      // One coin on one network.
      const [network, currency] = (visit.form.part ?? '').split(' ');
      return planDecision(deps, visit, back, returnHeld, {
        texts: { to: visit.form.address ?? '', network, currency },
        page: ({ said, json }) => ({
          to: pathIn(visit.at, `refunds/${json.return}`),
          said: sentenceText(visit.words, said),
        }),
      });
    },
  }),
];

async function planDecision<I, P extends object>(
  deps: DashboardDeps,
  visit: Visit<StoreAt>,
  back: Back,
  act: Act<I, P>,
  more: Readonly<{ texts?: Readonly<Record<string, string | undefined>>; page?(outcome: Outcome): Reply }>,
): Promise<Planned> {
  const { at, params } = visit;
  const held = await deps.database.held.find(params.held ?? '');
  const session = held && (await deps.database.sessions.find(held.sessionId));
  if (!session || held.storeId !== at.storeId || held.mode !== at.mode) return null;
  return planAct(deps, visit, act, {
    ...more,
    texts: { held: held.id, ...more.texts },
    back: pathIn(at, `payments/${session.id}`),
    reason: visit.form.because?.trim() || null,
    refused: (fault) => back(visit, session, fault),
  });
}

/** Shows what of a payment is or was held, with the forms for who may decide; null if nothing was. */
export async function heldSection(deps: DashboardDeps, visit: Visit<StoreAt>, session: Session): Promise<Html | null> {
  const { words } = visit;
  const all = await deps.database.held.list({ sessionId: session.id, limit: SHOWN_MAX });
  if (all.length === 0) return null;
  const mayDecide = may(visit, 'held:decide');
  const shown: Html[] = [];
  for (const held of all) {
    const forms = held.state === 'open' && mayDecide ? await decisions(deps, visit, held) : null;
    shown.push(html`<article><h3>${data(heldAmount(held))} ${stateOf(words, held)}</h3>
<p>${words.say(`held.kind_${held.kind}`)}. ${waitingOf(visit, held)}</p>${returnsOf(visit, held)}${forms}</article>`);
  }
  return section('held', words.say('held.title'), html`<p class="hint">${words.say('held.what_it_is')}</p>${shown}`);
}

/** What became of it. */
function stateOf(words: Words, { state, returns }: HeldMoney): Html {
  if (state === 'open') return badge(words.say('held.state_open'), 'attention');
  if (state === 'settled') return badge(words.say('held.state_accepted'), 'good');
  if (returns.some(({ status }) => status === 'pending' || status === 'processing')) {
    return badge(words.say('held.state_returning'), 'wait');
  }
  return returns.some(({ status }) => status === 'completed')
    ? badge(words.say('held.state_returned'), 'good')
    : badge(words.say('held.state_gone'), 'wait');
}

/** Since when it waits, or when it was decided about. */
const waitingOf = ({ words }: Visit<StoreAt>, { openedAtMs, settledAtMs }: HeldMoney): Html =>
  settledAtMs === null
    ? html`<span class="hint">${words.say('held.held_since')} ${time(openedAtMs)}</span>`
    : html`<span class="hint">${words.say('held.decided')} ${time(settledAtMs)}</span>`;

const returnsOf = ({ at, words }: Visit<StoreAt>, { returns }: HeldMoney): Html | null =>
  returns.length === 0
    ? null
    : html`<p>${words.say('held.returns')}</p><ul>${returns.map(
        ({ id, status, ...part }) =>
          html`<li><a href="${pathIn(at, `refunds/${id}`)}">${data(amountText(part))}</a> ${refundBadge(words, { status })}</li>`,
      )}</ul>`;

async function decisions(deps: DashboardDeps, visit: Visit<StoreAt>, held: HeldMoney): Promise<Html> {
  const { at, form, words } = visit;
  const context = contextOf(deps, visit, { name: acceptHeld.name, reason: null });
  const accepting = await acceptHeld.plan(context, { held: held.id });
  const effect = isRefusal(accepting) ? accepting.because : acceptEffect(accepting);
  const parts = await returnableParts(context, held.id);
  const option = (part: HeldPart) =>
    html`<option value="${part.network} ${part.currency}">${words.say('general.on_network', { currency: amountText(part), network: networkTitle(deps.config, part.network) })}</option>`;
  const to = (decision: string) => pathIn(at, `held/${held.id}/${decision}`);
  const fields = html`<label>${words.say('held.what')} <select name="part">${parts.map(option)}</select></label>
<label>${words.say('held.to_address')} <input name="address" dir="ltr" maxlength="${ADDRESS_CHARS_MAX}" autocomplete="off" spellcheck="false" value="${form.address ?? ''}" required></label>
<p class="hint">${words.say('held.address_hint')}</p>
<label>${words.say('held.why')} <input name="because" maxlength="${REASON_CHARS_MAX}" value="${form.because ?? ''}" required></label>`;
  const returning = html`<details${form.part === undefined ? null : html` open`}><summary>${words.say('held.return')}</summary>
${changeForm(visit, to('return'), words.say('held.go_on'), { fields })}</details>`;
  const effects = html`<p>${sentence(words, effect)}</p>`;
  return html`${changeForm(visit, to('accept'), words.say('held.accept'), { fields: effects, isMain: true })}
${parts.length > 0 ? returning : html`<p class="hint">${sentence(words, nothingReturnable)}</p>`}`;
}
