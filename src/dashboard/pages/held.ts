/**
 * Held money: confirmed, but counting for nothing until somebody decides to accept it or to return it.
 * @module
 */
import { isAllowed } from '../../core/access.ts';
import { type HeldKind, type HeldPart, openPar } from '../../core/held-money.ts';
import { nameOf } from '../../core/transfer.ts';
import type { AcceptHeldOutcome, HeldMoney, ReturnHeldOutcome } from '../../database/held-money.ts';
import { type Html, html } from '../../lib/html.ts';
import { destinationFaults } from '../../payments/destination.ts';
import { changeFields, type Planned, storeChange } from '../change.ts';
import { actOf, type DashboardDeps } from '../deps.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { amountText, minorText, refundsPath } from '../refund-text.ts';
import { badge, coins, facts, faultMessage, grouped, table, time } from '../show.ts';

const ROWS_MAX = 100;
const ADDRESS_CHARS_MAX = 128;
const BECAUSE_CHARS_MAX = 200;

const meanings: Readonly<Record<HeldKind, string>> = {
  late: 'came after the deadline, or after a cancel',
  short: 'the payment ended with too little',
  surplus: 'more than was due',
  wrong_token: 'in a coin that the payment does not take',
};

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
function stateOf({ state, returns }: HeldMoney): Html {
  if (state === 'open') return badge('waits for you', 'attention');
  if (state === 'settled') return badge('accepted', 'good');
  if (returns.some(({ status }) => status === 'pending' || status === 'processing')) return badge('returning', 'wait');
  return returns.some(({ status }) => status === 'completed') ? badge('returned', 'good') : badge('gone', 'wait');
}

async function list({ database }: DashboardDeps, { at, query }: Visit<StoreAt>): Promise<Reply> {
  const isAll = query.get('state') === 'any';
  const found = await database.listHeldMoney({ ...at, ...(!isAll && { state: 'open' }), limit: ROWS_MAX });
  const other = isAll
    ? html`<a href="${pathOf(at)}">Only what waits</a>`
    : html`<a href="${pathOf(at)}?state=any">Decided ones too</a>`;
  const content =
    found.length === 0
      ? html`<p class="card">Nothing is waiting for you. Money that comes late, in another coin, or as too little or too much is
listed here, and counts for nothing until you decide.</p>`
      : table(
          'Held money',
          ['Since', 'Amount', 'Why', 'Order', 'State'],
          found.map((held) => [
            time(held.openedAtMs),
            html`<a href="${pathOf(at)}/${held.id}">${amountOf(held)}</a>`,
            meanings[held.kind],
            html`<a href="/s/${at.storeId}/${at.mode}/payments/${held.sessionId}">${held.orderId}</a>`,
            stateOf(held),
          ]),
        );
  return { title: 'Held money', content: html`${content}<p class="pager">${other}</p>` };
}

async function heldPage(
  deps: DashboardDeps,
  visit: Visit<StoreAt>,
  held: HeldMoney,
  fault: string | null,
): Promise<Reply> {
  const { at, visitor } = visit;
  const mayDecide = isAllowed(visitor.person.memberships, { permission: 'held:decide', ...at });
  const returns = held.returns.map(
    ({ id, status, ...part }) => html`<li><a href="${refundsPath(at)}/${id}">${amountText(part)}</a> ${status}</li>`,
  );
  return {
    title: `Held: ${amountOf(held)}`,
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}<p><a href="${pathOf(at)}">All held money</a></p>
<section class="card" aria-labelledby="held"><h2 id="held">${stateOf(held)}</h2>${facts([
      ['Why', meanings[held.kind]],
      ['Order', html`<a href="/s/${at.storeId}/${at.mode}/payments/${held.sessionId}">${held.orderId}</a>`],
      ['Held since', time(held.openedAtMs)],
      ...(held.settledAtMs === null ? [] : [['Decided', time(held.settledAtMs)] as const]),
    ])}${returns.length > 0 ? html`<p>Returns:</p><ul>${returns}</ul>` : null}</section>
${held.state === 'open' && mayDecide ? await decisions(deps, visit, held) : null}`,
  };
}

async function decisions(deps: DashboardDeps, visit: Visit<StoreAt>, held: HeldMoney): Promise<Html> {
  const { at, visitor, form } = visit;
  const act = actOf(visitor.person, 'accept held money', deps.clock);
  const effect = effectText(await deps.database.acceptHeldMoney(held.id, act, true));
  const parts = await partsOf(deps, visit, held);
  const option = (part: HeldPart) =>
    html`<option value="${part.network} ${part.currency}">${amountText(part)} on ${nameOf(part.network)}</option>`;
  const returning = html`<form method="post" action="${pathOf(at)}/${held.id}/return" class="card" aria-labelledby="return">
<h2 id="return">Return it</h2>${changeFields(visit)}
<label>What <select name="part">${parts.map(option)}</select></label>
<label>To the address <input name="address" maxlength="${ADDRESS_CHARS_MAX}" autocomplete="off" spellcheck="false" value="${form.address ?? ''}" required></label>
<p class="hint">Ask the payer for an address: the one that it came from may belong to an exchange.</p>
<label>Why <input name="because" maxlength="${BECAUSE_CHARS_MAX}" value="${form.because ?? ''}" required></label>
<button class="plain">Go on</button></form>`;
  return html`<form method="post" action="${pathOf(at)}/${held.id}/accept" class="card" aria-labelledby="accept">
<h2 id="accept">Accept it</h2>${changeFields(visit)}<p>${effect}</p><button>Accept</button></form>
${
  parts.length > 0
    ? returning
    : html`<p class="card">Less than one cent of it is left in each coin, so nothing can be returned.</p>`
}`;
}

const NOT_PAID_BACK = 'It stays with you; a paid payment can be refunded.';

function effectText(outcome: AcceptHeldOutcome): string {
  if (outcome.kind !== 'done') return 'It is decided already.';
  const { effect, after } = outcome;
  const [has, due] = [coins(after.confirmedPar), coins(after.duePar)];
  if (effect === 'paid') return `The payment is paid with ${has} of ${due}, and your shop is told so. ${NOT_PAID_BACK}`;
  if (effect === 'credited') return `${has} of ${due} count; the payment waits for the rest.`;
  return `Nothing else changes: the payment stays ${after.status}. ${NOT_PAID_BACK}`;
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
  const tried = await database.returnHeldMoney({ id, ...none, act, isDryRun: true }, checkDestination);
  return tried.kind === 'choose' ? tried.parts : [];
}

async function planAccepting(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const held = await findHeld(deps, visit);
  if (!held) return null;
  const act = actOf(visit.visitor.person, 'accept held money', deps.clock);
  const tried = await deps.database.acceptHeldMoney(held.id, act, true);
  if (tried.kind !== 'done') return heldPage(deps, visit, held, 'It is decided already.');
  const path = `${pathOf(visit.at)}/${held.id}`;
  return {
    command: 'accept held money',
    target: held.id,
    review: {
      title: `Accept ${amountOf(held)}?`,
      consequence: html`<p>${effectText(tried)}</p><p>This cannot be taken back.</p>`,
      button: `Accept ${amountOf(held)}`,
      back: path,
      needsSudo: true,
    },
    async act(database, own) {
      const done = await database.acceptHeldMoney(held.id, own, false);
      return { to: path, said: done.kind === 'done' ? 'It is accepted.' : 'It was decided already.' };
    },
  };
}

const returnRefusals: Readonly<Record<Exclude<ReturnHeldOutcome['kind'], 'done' | 'bad_destination'>, string>> = {
  choose: 'Choose what to return.',
  not_open: 'It is decided already.',
  not_found: 'It is decided already.',
  refunded: 'Refunds of its payment have used the money.',
  senders_differ: 'Name an address.',
  not_adopted:
    'The database was restored from a backup, and the money may have been returned before. Ask whoever runs this installation.',
};

async function planReturn(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const held = await findHeld(deps, visit);
  if (!held) return null;
  const { at, form, visitor } = visit;
  const again = (fault: string) => heldPage(deps, visit, held, fault);
  const [address, because] = [(form.address ?? '').trim(), (form.because ?? '').trim()];
  const part = (await partsOf(deps, visit, held)).find((one) => `${one.network} ${one.currency}` === form.part);
  if (held.state !== 'open') return again(returnRefusals.not_open);
  if (!part) return again(returnRefusals.choose);
  if (address === '' || address.length > ADDRESS_CHARS_MAX) return again(returnRefusals.senders_differ);
  if (because === '' || because.length > BECAUSE_CHARS_MAX) {
    return again(`Say why, in at most ${BECAUSE_CHARS_MAX} characters.`);
  }
  const { refundAutoMinor } = await deps.database.refundPolicy(at.storeId);
  if (part.amountMinor > BigInt(refundAutoMinor)) {
    return again(
      `More than ${minorText(BigInt(refundAutoMinor))} is not returned without an approval. Ask whoever runs this ` +
        `installation: quayside held return ${held.id} --to ADDRESS`,
    );
  }
  const { network, currency } = part;
  const wish = { id: held.id, to: address, network, currency };
  const act = { ...actOf(visitor.person, 'return held money', deps.clock), reason: because };
  const tried = await deps.database.returnHeldMoney({ ...wish, act, isDryRun: true }, deps.checkDestination);
  if (tried.kind !== 'done') return again(refusalOf(tried));
  const { refund } = tried;
  return {
    command: 'return held money',
    target: held.id,
    reason: because,
    review: {
      title: `Return ${amountText(refund)}?`,
      consequence: html`${facts([
        ['Amount', amountText(refund)],
        ['Network', nameOf(network)],
        ['To', grouped(refund.destination?.address ?? address)],
      ])}<p>It is paid from the refund wallet, and cannot be taken back once it is signed.</p>`,
      button: `Return ${amountText(refund)}`,
      back: `${pathOf(at)}/${held.id}`,
      needsSudo: true,
      typed: minorText(refund.amountMinor),
      isDangerous: true,
    },
    async act(database, own) {
      const done = await database.returnHeldMoney({ ...wish, act: own, isDryRun: false }, deps.checkDestination);
      if (done.kind !== 'done') return again(refusalOf(done));
      return { to: `${refundsPath(at)}/${done.refund.id}`, said: 'It is being returned.' };
    },
  };
}

const refusalOf = (outcome: Exclude<ReturnHeldOutcome, Readonly<{ kind: 'done' }>>): string =>
  outcome.kind === 'bad_destination' ? `The address ${destinationFaults[outcome.why]}.` : returnRefusals[outcome.kind];
