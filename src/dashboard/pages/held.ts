/**
 * Held money: confirmed, but counting for nothing until somebody decides to accept it or to return it.
 * @module
 */
import { isAllowed } from '../../core/access.ts';
import { type HeldPart, openPar } from '../../core/held-money.ts';
import type { Session } from '../../database/database.ts';
import type { AcceptHeldOutcome, HeldMoney, ReturnHeldOutcome } from '../../database/held-money.ts';
import type { Refund } from '../../database/refunds.ts';
import { type Html, html } from '../../lib/html.ts';
import { changeFields, type Planned, storeChange } from '../change.ts';
import { actOf, type DashboardDeps } from '../deps.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { coinNames, receivedText } from '../received.ts';
import { addressFault, amountText, minorText, refundBadge, refundsPath } from '../refund-text.ts';
import {
  badge,
  coins,
  copyCode,
  data,
  facts,
  faultMessage,
  grouped,
  networkTitle,
  span,
  table,
  time,
} from '../show.ts';
import type { Words } from '../texts.ts';
import { lookupText, transferTable } from './transfers.ts';

const ROWS_MAX = 100;
const ADDRESS_CHARS_MAX = 128;
const BECAUSE_CHARS_MAX = 200;

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
    needs: 'held:decide',
    plan: (visit) => planAccepting(deps, visit),
  }),
  storeChange(deps, {
    path: '/s/:store/:mode/held/:held/return',
    needs: 'held:decide',
    plan: (visit) => planReturn(deps, visit),
  }),
];

async function findHeld({ database }: DashboardDeps, { at, params }: Visit<StoreAt>): Promise<HeldMoney | null> {
  const held = await database.findHeldMoney(params.held ?? '');
  return held && held.storeId === at.storeId && held.mode === at.mode ? held : null;
}

const amountOf = (held: HeldMoney): string =>
  `${coins(held.state === 'open' ? openPar(held) : held.settledPar)} ${held.currency}`;

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
  const found = await database.listHeldMoney({ ...at, ...(!isAll && { state: 'open' }), limit: ROWS_MAX });
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
            html`<a href="${pathOf(at)}/${held.id}">${data(amountOf(held))}</a>`,
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
    const amount = html`<a href="${pathOf(at)}/${held.id}">${data(amountOf(held))}</a>`;
    return html`<li>${words.html('held.held_of', { amount, why: words.say(`held.kind_${held.kind}`) })}</li>`;
  })}</ul>`;
}

/** Says what of all that came the held amount is; null where that is not known any more. */
function partText(words: Words, held: HeldMoney, { terms, sums }: Session): Html | null {
  const came = receivedText(sums ?? []);
  if (held.state !== 'open' || came === null) return null;
  const values = { came, due: `${coins(terms.duePar)} ${coinNames(terms.accepts)}`, amount: amountOf(held) };
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
  const lookups = await database.listLookups(session.id);
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
  const session = await deps.database.findSession(held.sessionId);
  const mayDecide = isAllowed(visitor.person.memberships, { permission: 'held:decide', ...at });
  const returns = held.returns.map(
    ({ id, status, ...part }) =>
      html`<li><a href="${refundsPath(at)}/${id}">${data(amountText(part))}</a> ${refundBadge(words, { status })}</li>`,
  );
  return {
    title: words.say('held.title', { amount: amountOf(held) }),
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
  const { at, visitor, form, words } = visit;
  const act = actOf(visitor.person, 'accept held money', deps.clock);
  const effect = effectText(words, await deps.database.acceptHeldMoney(held.id, act, true));
  const parts = await partsOf(deps, visit, held);
  const option = (part: HeldPart) =>
    html`<option value="${part.network} ${part.currency}">${words.say('general.on_network', { currency: amountText(part), network: networkTitle(deps.config, part.network) })}</option>`;
  const returning = html`<form method="post" action="${pathOf(at)}/${held.id}/return" class="card" aria-labelledby="return">
<h2 id="return">${words.say('held.return')}</h2>${changeFields(visit)}
<label>${words.say('held.what')} <select name="part">${parts.map(option)}</select></label>
<label>${words.say('held.to_address')} <input name="address" dir="ltr" maxlength="${ADDRESS_CHARS_MAX}" autocomplete="off" spellcheck="false" value="${form.address ?? ''}" required></label>
<p class="hint">${words.say('held.address_hint')}</p>
<label>${words.say('held.why')} <input name="because" maxlength="${BECAUSE_CHARS_MAX}" value="${form.because ?? ''}" required></label>
<button class="plain">${words.say('held.go_on')}</button></form>`;
  return html`<form method="post" action="${pathOf(at)}/${held.id}/accept" class="card" aria-labelledby="accept">
<h2 id="accept">${words.say('held.accept')}</h2>${changeFields(visit)}<p>${effect}</p><button>${words.say('held.accept_short')}</button></form>
${parts.length > 0 ? returning : html`<p class="card">${words.say('held.too_little')}</p>`}
${session && html`<p class="hint">${words.say('held.leave', { status: words.say(`general.status_${session.life.status}`) })}</p>`}`;
}

function effectText(words: Words, outcome: AcceptHeldOutcome): Html {
  if (outcome.kind !== 'done') return words.html('held.effect_decided');
  const { effect, after } = outcome;
  const [has, due] = [coins(after.confirmedPar), coins(after.duePar)];
  if (effect === 'paid') return words.html('held.effect_paid', { has, due });
  if (effect === 'credited') return words.html('held.effect_credited', { has, due });
  return words.html('held.effect_kept', { status: words.say(`general.status_${after.status}`) });
}

/** Returns what can be returned of it, one coin on one network at a time. */
async function partsOf(
  { database, clock, checkDestination }: DashboardDeps,
  { visitor }: Pick<Visit<StoreAt>, 'visitor'>,
  { id }: HeldMoney,
): Promise<readonly HeldPart[]> {
  const act = actOf(visitor.person, 'return held money', clock);
  // No part is on a network of this name, so the outcome lists them all.
  const none = { network: 'test:', to: null } as const;
  const requestedBy = visitor.person.id;
  const tried = await database.returnHeldMoney({ id, ...none, act, requestedBy, isDryRun: true }, checkDestination);
  return tried.kind === 'choose' ? tried.parts : [];
}

async function planAccepting(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const held = await findHeld(deps, visit);
  if (!held) return null;
  const { words } = visit;
  const act = actOf(visit.visitor.person, 'accept held money', deps.clock);
  const tried = await deps.database.acceptHeldMoney(held.id, act, true);
  if (tried.kind !== 'done') return heldPage(deps, visit, held, words.say('held.effect_decided'));
  const path = `${pathOf(visit.at)}/${held.id}`;
  return {
    command: 'accept held money',
    target: held.id,
    review: {
      title: words.say('held.accept_review', { amount: amountOf(held) }),
      consequence: html`<p>${effectText(words, tried)}</p><p>${words.say('held.accept_final')}</p>`,
      button: words.say('held.accept_button', { amount: amountOf(held) }),
      back: path,
      needsSudo: true,
    },
    async act(database, own) {
      const done = await database.acceptHeldMoney(held.id, own, false);
      return { to: path, said: words.say(done.kind === 'done' ? 'held.accepted' : 'held.decided_before') };
    },
  };
}

async function planReturn(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const held = await findHeld(deps, visit);
  if (!held) return null;
  const { at, form, visitor, words } = visit;
  const again = (fault: Html | string) => heldPage(deps, visit, held, fault);
  const [address, because] = [(form.address ?? '').trim(), (form.because ?? '').trim()];
  const part = (await partsOf(deps, visit, held)).find((one) => `${one.network} ${one.currency}` === form.part);
  if (held.state !== 'open') return again(words.say('held.refused_not_open'));
  if (!part) return again(words.say('held.refused_choose'));
  if (address === '' || address.length > ADDRESS_CHARS_MAX) return again(words.say('held.refused_senders_differ'));
  if (because === '' || because.length > BECAUSE_CHARS_MAX) {
    return again(words.say('refund-changes.say_why', { max: BECAUSE_CHARS_MAX }));
  }
  const { network, currency } = part;
  const wish = { id: held.id, to: address, network, currency, requestedBy: visitor.person.id };
  const refuse = async (outcome: RefusedReturn) => again(await refusalOf(deps, visit, { ...held, network }, outcome));
  const act = { ...actOf(visitor.person, 'return held money', deps.clock), reason: because };
  const tried = await deps.database.returnHeldMoney({ ...wish, act, isDryRun: true }, deps.checkDestination);
  if (tried.kind !== 'done') return refuse(tried);
  const { refund } = tried;
  return {
    command: 'return held money',
    target: held.id,
    reason: because,
    review: {
      title: words.say('held.return_review', { amount: amountText(refund) }),
      consequence: html`${facts([
        [words.say('held.amount'), data(amountText(refund))],
        [words.say('refunds.network'), data(networkTitle(deps.config, network))],
        [words.say('refunds.to'), grouped(refund.destination?.address ?? address)],
      ])}<p>${words.say('held.return_text')}</p>`,
      button: words.say('held.return_button', { amount: amountText(refund) }),
      back: `${pathOf(at)}/${held.id}`,
      needsSudo: true,
      typed: minorText(refund.amountMinor),
      isDangerous: true,
    },
    async act(database, own) {
      const done = await database.returnHeldMoney({ ...wish, act: own, isDryRun: false }, deps.checkDestination);
      if (done.kind !== 'done') return refuse(done);
      return { to: `${refundsPath(at)}/${done.refund.id}`, said: words.say('held.returning') };
    },
  };
}

type RefusedReturn = Exclude<ReturnHeldOutcome, Readonly<{ kind: 'done' }>>;

/** Says why held money was not returned. */
async function refusalOf(
  deps: DashboardDeps,
  { at, words, nowMs }: Visit<StoreAt>,
  { id, sessionId, network }: HeldMoney & Pick<Refund, 'network'>,
  outcome: RefusedReturn,
): Promise<Html | string> {
  const { database } = deps;
  switch (outcome.kind) {
    case 'bad_destination':
      return addressFault(deps, words, network, outcome.why);
    case 'store_suspended':
      return words.say('refunds.suspended');
    case 'daily_limit': {
      const room = await database.refundRoom(sessionId, nowMs);
      const [left, today] = ['–', room ? minorText(room.dayLeftMinor) : '–'];
      return words.say('refunds.refused_DAILY_REFUND_LIMIT_EXCEEDED', { left, today });
    }
    case 'above_limit': {
      const { refundAutoMinor } = await database.refundPolicy(at.storeId);
      const command = html`<code>quayside held return ${id} --to ADDRESS</code>`;
      return words.html('held.above_limit', { amount: minorText(BigInt(refundAutoMinor)), command });
    }
    default:
      return words.say(`held.refused_${outcome.kind}`);
  }
}
