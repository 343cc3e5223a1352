/**
 * The operator's page of stores: those that wait are approved or refused, and an approved one is suspended and resumed.
 */

import { REASON_CHARS_MAX, say } from '../../acts/act.ts';
import { decideStore, meanings, type StoreDecision, storeDecisions } from '../../acts/store-decisions.ts';
import type { Person } from '../../database/people.ts';
import type { MerchantStore } from '../../database/stores.ts';
import { type Html, html } from '../../lib/html.ts';
import { planAct } from '../act-form.ts';
import { changeFields, commonChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { sentence } from '../sentence.ts';
import { badge, data, facts, faultMessage, moreLink, table, time } from '../show.ts';
import type { Words } from '../texts.ts';

const PATH = '/operator/stores';
const ROWS_MAX = 50;

export const operatorStorePages = (deps: DashboardDeps): readonly CommonPage[] => [
  { method: 'get', path: PATH, needs: 'installation:read', answer: (visit) => page(deps, visit, null) },
  ...storeDecisions.map((decision) =>
    commonChange(deps, {
      path: `${PATH}/:merchant/${decision}`,
      needs: decideStore.needs,
      plan: (visit) =>
        planAct(deps, visit, decideStore, {
          texts: { store: visit.params.merchant, decision },
          back: PATH,
          reason: meanings[decision].needsReason
            ? (visit.form.because ?? '').trim().slice(0, REASON_CHARS_MAX) || null
            : null,
          refused: (fault) => page(deps, visit, fault),
        }),
    }),
  ),
];

async function page({ database }: DashboardDeps, visit: Visit<null>, fault: Html | null): Promise<Reply> {
  const { words } = visit;
  const last = await database.stores.find(visit.query.get('after') ?? '');
  const all = await database.stores.page({ which: 'all', after: last, limit: ROWS_MAX + 1 });
  const people = await database.people.list();
  // On later pages only the list goes on.
  const waiting = last ? [] : await database.stores.page({ which: 'waiting', after: null, limit: ROWS_MAX });
  const shown = all.slice(0, ROWS_MAX);
  return {
    title: words.say('frame.operator_stores'),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}${
      last
        ? null
        : html`<section aria-labelledby="waiting"><h2 id="waiting">${words.say('operator-stores.waiting')}</h2>${
            waiting.length === 0
              ? html`<p class="card">${words.say('operator-stores.none_waiting')}</p>`
              : waiting.map((store) => waitingCard(visit, store, people))
          }${waiting.length === ROWS_MAX ? html`<p class="hint">${words.say('operator-stores.oldest', { count: ROWS_MAX })}</p>` : null}</section>`
    }
<section aria-labelledby="all"><h2 id="all">${words.say('operator-stores.all')}</h2>${storeTable(visit, shown, people)}${
      all.length > ROWS_MAX ? moreLink(words, `${PATH}?after=${shown.at(-1)?.id}`) : null
    }</section>`,
  };
}

function ownersOf(words: Words, { id }: MerchantStore, people: readonly Person[]): Html | string {
  const owners = people.filter(({ memberships }) =>
    memberships.some(({ storeId, role }) => storeId === id && role === 'owner'),
  );
  return owners.length === 0 ? words.say('general.none') : data(owners.map(({ name }) => name).join(', '));
}

const because = (words: Words): Html =>
  html`<label>${words.say('operator-stores.because')} <input name="because" maxlength="${REASON_CHARS_MAX}" required></label>`;

const form = (visit: Visit<null>, store: MerchantStore, decision: StoreDecision): Html => {
  const { words } = visit;
  const { needsReason, needsFactor, button } = meanings[decision];
  const look = needsReason || !needsFactor ? html` class="plain"` : null;
  return html`<form method="post" action="${PATH}/${store.id}/${decision}">${changeFields(visit)}${needsReason ? because(words) : null}<button${look} aria-label="${words.say('general.act_on', { act: button, name: store.name })}">${sentence(words, say(button))}</button></form>`;
};

const waitingCard = (visit: Visit<null>, store: MerchantStore, people: readonly Person[]): Html =>
  html`<article class="card" aria-labelledby="w-${store.id}"><h3 id="w-${store.id}">${data(store.name)}</h3>${facts([
    [visit.words.say('developers.merchant_id'), html`<code>${store.id}</code>`],
    [visit.words.say('store.channel'), data(store.channelType)],
    [visit.words.say('operator-stores.owner'), ownersOf(visit.words, store, people)],
    [visit.words.say('general.created'), time(store.createdAtMs)],
  ])}${form(visit, store, 'approve')}${form(visit, store, 'refuse')}</article>`;

function stateOf(words: Words, { status, suspension, refusal }: MerchantStore): Html {
  const stopped = suspension ?? refusal;
  if (stopped) {
    const state = words.say(suspension ? 'general.store_suspended' : 'general.store_refused');
    return html`${badge(state, 'danger')} <span class="hint">${data(stopped.because)}</span>`;
  }
  return status === 'approved'
    ? badge(words.say('general.store_approved'), 'good')
    : badge(words.say('operator-stores.is_waiting'), 'attention');
}

const storeTable = (visit: Visit<null>, stores: readonly MerchantStore[], people: readonly Person[]): Html =>
  table(
    visit.words.say('operator-stores.all'),
    [
      visit.words.say('frame.store'),
      visit.words.say('developers.merchant_id'),
      visit.words.say('operator-stores.owner'),
      visit.words.say('general.created'),
      visit.words.say('general.state'),
      visit.words.say('general.change'),
    ],
    stores.map((store) => [
      data(store.name),
      html`<code>${store.id}</code>`,
      ownersOf(visit.words, store, people),
      time(store.createdAtMs),
      html`<span>${stateOf(visit.words, store)}</span>`,
      html`<div>${(['suspend', 'resume'] as const).filter((one) => meanings[one].fits(store)).map((one) => form(visit, store, one))}${store.refusal ? form(visit, store, 'approve') : null}</div>`,
    ]),
  );
