/**
 * Held money: confirmed, but counting for nothing until somebody decides to accept it or to return it.
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
import { isAllowed } from '../../core/access.ts';
import type { HeldPart } from '../../core/held-money.ts';
import type { Session } from '../../database/database.ts';
import type { HeldMoney } from '../../database/held-money.ts';
import { type Html, html } from '../../lib/html.ts';
import { contextOf, planAct } from '../act-form.ts';
import { changeFields, type Planned, storeChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { coinNames, receivedText } from '../received.ts';
import { refundBadge, refundsPath } from '../refund-text.ts';
import { sentence, sentenceText } from '../sentence.ts';
import { badge, coins, copyCode, data, facts, faultMessage, networkTitle, span, table, time } from '../show.ts';
import type { Words } from '../texts.ts';
import { lookupText, transferTable } from './transfers.ts';

const ROWS_MAX = 100;
const ADDRESS_CHARS_MAX = 128;

const pathOf = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/held`;

export const heldPages = (deps: DashboardDeps): readonly StorePage[] => [
  { method: 'get', path: '/s/:store/:mode/held', needs: 'payments:read', answer: (visit) => list(deps, visit) },
  {
    method: 'get',
    path: '/s/:store/:mode/held/:held',
    needs: 'payments:read',
    async answer(visit) {
      const held = await findHeld(deps, visit);
      return held && heldPage(deps, visit, held, null);
    },
  },
  storeChange(deps, {
    path: '/s/:store/:mode/held/:held/accept',
    needs: acceptHeld.needs,
    plan: (visit) => planDecision(deps, visit, acceptHeld, {}),
  }),
  storeChange(deps, {
    path: '/s/:store/:mode/held/:held/return',
    needs: returnHeld.needs,
    plan: (visit) => planReturn(deps, visit),
  }),
];

async function planDecision<I, P extends object>(
  deps: DashboardDeps,
  visit: Visit<StoreAt>,
  act: Act<I, P>,
  more: Readonly<{ texts?: Readonly<Record<string, string | undefined>>; page?(outcome: Outcome): Reply }>,
): Promise<Planned> {
  const held = await findHeld(deps, visit);
  if (!held) return null;
  return planAct(deps, visit, act, {
    ...more,
    texts: { held: held.id, ...more.texts },
    back: `${pathOf(visit.at)}/${held.id}`,
    reason: visit.form.because?.trim() || null,
    refused: (fault) => heldPage(deps, visit, held, fault),
  });
}

/** Plans a return of one part: one coin on one network. */
function planReturn(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const { at, form, words } = visit;
  const [network, currency] = (form.part ?? '').split(' ');
  return planDecision(deps, visit, returnHeld, {
    texts: { to: form.address ?? '', network, currency },
    page: ({ said, json }) => ({ to: `${refundsPath(at)}/${json.return}`, said: sentenceText(words, said) }),
  });
}

async function findHeld({ database }: DashboardDeps, { at, params }: Visit<StoreAt>): Promise<HeldMoney | null> {
  const held = await database.held.find(params.held ?? '');
  return held && held.storeId === at.storeId && held.mode === at.mode ? held : null;
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

/** How long it has waited. */
const ageOf = (words: Words, { state, openedAtMs }: HeldMoney, nowMs: number): Html | null =>
  state === 'open'
    ? html`<span class="hint">${words.html('held.age', { span: span(words, nowMs - openedAtMs) })}</span>`
    : null;

/** Why it is held; of what came late, how late it was confirmed. */
function whyOf(words: Words, { kind, openedAtMs, expiresAtS, canceledAtS }: HeldMoney): Html {
  const why = html`${words.say(`held.kind_${kind}`)}`;
  const isCanceled = canceledAtS !== null && canceledAtS < expiresAtS;
  const lateMs = openedAtMs - (isCanceled ? canceledAtS : expiresAtS) * 1000;
  if (kind !== 'late' || lateMs < 0) return why;
  const late = words.html(isCanceled ? 'held.late_by_cancel' : 'held.late_by', { span: span(words, lateMs) });
  return html`${why} <span class="hint">${late}</span>`;
}

const columns = ['since', 'amount', 'why', 'order', 'state'] as const;

async function list({ database }: DashboardDeps, { at, query, words, nowMs }: Visit<StoreAt>): Promise<Reply> {
  const isAll = query.get('state') === 'any';
  const found = await database.held.list({ ...at, ...(!isAll && { state: 'open' }), limit: ROWS_MAX });
  const other = isAll
    ? html`<a href="${pathOf(at)}">${words.say('held.only_open')}</a>`
    : html`<a href="${pathOf(at)}?state=any">${words.say('held.decided_too')}</a>`;
  const content =
    found.length === 0
      ? html`<p class="card">${words.say('held.empty')}</p>`
      : table(
          words.say('frame.held'),
          columns.map((column) => words.say(`held.${column}`)),
          found.map((held) => [
            html`${time(held.openedAtMs)} ${ageOf(words, held, nowMs)}`,
            html`<a href="${pathOf(at)}/${held.id}">${data(heldAmount(held))}</a>`,
            whyOf(words, held),
            html`<a href="/s/${at.storeId}/${at.mode}/payments/${held.sessionId}">${data(held.orderId)}</a>`,
            stateOf(words, held),
          ]),
          [1],
          undefined,
          [1, 4],
        );
  return { title: words.say('frame.held'), content: html`${content}<p class="pager">${other}</p>` };
}

/** Says of a payment what of it is held, and leads there; null if nothing is. */
export function heldList({ words, at }: Pick<Visit<StoreAt>, 'words' | 'at'>, all: readonly HeldMoney[]): Html | null {
  if (all.length === 0) return null;
  return html`<ul>${all.map((held) => {
    const amount = html`<a href="${pathOf(at)}/${held.id}">${data(heldAmount(held))}</a>`;
    return html`<li>${words.html('held.held_of', { amount, why: words.say(`held.kind_${held.kind}`) })}</li>`;
  })}</ul>`;
}

/** Says what of all that came the held amount is; null where that is not known any more. */
function partText(words: Words, held: HeldMoney, { terms, sums }: Session): Html | null {
  const came = receivedText(sums ?? []);
  if (held.state !== 'open' || came === null) return null;
  const values = { came, due: `${coins(terms.duePar)} ${coinNames(terms.accepts)}`, amount: heldAmount(held) };
  const isWhole = came === values.amount;
  const decided =
    held.settledPar > 0n && words.html('held.decided_part', { amount: `${coins(held.settledPar)} ${held.currency}` });
  return html`<p>${words.html(isWhole ? 'held.whole' : 'held.rest', values)}${decided ? html` ${decided}` : null}</p>`;
}

/** What came for its payment, and what the payer asked about. */
async function circumstances(
  { database, config }: DashboardDeps,
  { words }: Visit<StoreAt>,
  session: Session,
): Promise<Html> {
  const lookups = await database.lookups.list(session.id);
  const asked = lookups.map(
    (lookup) => html`<li>${time(lookup.askedAtMs)} <div>${lookupText({ config, words }, lookup)}</div></li>`,
  );
  return html`<section class="card" aria-labelledby="came"><h2 id="came">${words.say('held.came')}</h2>${transferTable({ config, words }, session)}</section>
<section class="card" aria-labelledby="asked"><h2 id="asked">${words.say('held.asked')}</h2>${
    asked.length === 0 ? html`<p>${words.say('held.never_asked')}</p>` : html`<ol class="history">${asked}</ol>`
  }</section>`;
}

async function heldPage(
  deps: DashboardDeps,
  visit: Visit<StoreAt>,
  held: HeldMoney,
  fault: Html | string | null,
): Promise<Reply> {
  const { at, visitor, words, nowMs } = visit;
  const session = await deps.database.sessions.find(held.sessionId);
  const mayDecide = isAllowed(visitor.person.memberships, { permission: 'held:decide', ...at });
  const returns = held.returns.map(
    ({ id, status, ...part }) =>
      html`<li><a href="${refundsPath(at)}/${id}">${data(amountText(part))}</a> ${refundBadge(words, { status })}</li>`,
  );
  return {
    title: words.say('held.title', { amount: heldAmount(held) }),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}<p><a href="${pathOf(at)}">${words.say('held.all')}</a></p>
<section class="card" aria-labelledby="held"><h2 id="held">${stateOf(words, held)}</h2>${facts([
      [words.say('held.why'), whyOf(words, held)],
      [
        words.say('held.order'),
        html`<a href="/s/${at.storeId}/${at.mode}/payments/${held.sessionId}">${data(held.orderId)}</a>`,
      ],
      [words.say('payment.session'), copyCode(held.sessionId)],
      [words.say('held.held_since'), html`${time(held.openedAtMs)} ${ageOf(words, held, nowMs)}`],
      ...(held.settledAtMs === null ? [] : [[words.say('held.decided'), time(held.settledAtMs)] as const]),
    ])}${session && partText(words, held, session)}${returns.length > 0 ? html`<p>${words.say('held.returns')}</p><ul>${returns}</ul>` : null}</section>
${session && (await circumstances(deps, visit, session))}
${held.state === 'open' && mayDecide ? await decisions(deps, visit, held, session) : null}`,
  };
}

async function decisions(
  deps: DashboardDeps,
  visit: Visit<StoreAt>,
  held: HeldMoney,
  session: Session | null,
): Promise<Html> {
  const { at, form, words } = visit;
  const context = contextOf(deps, visit, { name: acceptHeld.name, reason: null });
  const accepting = await acceptHeld.plan(context, { held: held.id });
  const effect = isRefusal(accepting) ? accepting.because : acceptEffect(accepting);
  const parts = await returnableParts(context, held.id);
  const option = (part: HeldPart) =>
    html`<option value="${part.network} ${part.currency}">${words.say('general.on_network', { currency: amountText(part), network: networkTitle(deps.config, part.network) })}</option>`;
  const returning = html`<form method="post" action="${pathOf(at)}/${held.id}/return" class="card" aria-labelledby="return">
<h2 id="return">${words.say('held.return')}</h2>${changeFields(visit)}
<label>${words.say('held.what')} <select name="part">${parts.map(option)}</select></label>
<label>${words.say('held.to_address')} <input name="address" dir="ltr" maxlength="${ADDRESS_CHARS_MAX}" autocomplete="off" spellcheck="false" value="${form.address ?? ''}" required></label>
<p class="hint">${words.say('held.address_hint')}</p>
<label>${words.say('held.why')} <input name="because" maxlength="${REASON_CHARS_MAX}" value="${form.because ?? ''}" required></label>
<button class="plain">${words.say('held.go_on')}</button></form>`;
  return html`<form method="post" action="${pathOf(at)}/${held.id}/accept" class="card" aria-labelledby="accept">
<h2 id="accept">${words.say('held.accept')}</h2>${changeFields(visit)}<p>${sentence(words, effect)}</p><button>${words.say('held.accept_short')}</button></form>
${parts.length > 0 ? returning : html`<p class="card">${sentence(words, nothingReturnable)}</p>`}
${session && html`<p class="hint">${words.say('held.leave', { status: words.say(`general.status_${session.life.status}`) })}</p>`}`;
}
