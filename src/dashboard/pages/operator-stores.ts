/**
 * The operator's page of stores: those that wait are approved or refused, and an approved one is suspended and resumed.
 * @module
 */
import type { Database } from '../../database/database.ts';
import type { Person } from '../../database/people.ts';
import type { MerchantStore } from '../../database/stores.ts';
import { type Html, html } from '../../lib/html.ts';
import { changeFields, commonChange, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { badge, data, facts, faultMessage, moreLink, table, time } from '../show.ts';
import type { Words } from '../texts.ts';

const PATH = '/operator/stores';
const ROWS_MAX = 50;
const BECAUSE_CHARS_MAX = 200;

export const operatorStorePages = (deps: DashboardDeps): readonly CommonPage[] => [
  { method: 'get', path: PATH, needs: 'installation:read', answer: (visit) => page(deps, visit, null) },
  ...(Object.keys(decisions) as Decided[]).map((decided) =>
    commonChange(deps, {
      path: `${PATH}/:merchant/${decided}`,
      needs: 'installation:manage',
      async plan(visit) {
        const store = await deps.database.findStore(visit.params.merchant ?? '');
        return store && planDecision(deps, visit, store, decided);
      },
    }),
  ),
];

type Decided = 'approve' | 'refuse' | 'suspend' | 'resume';

/** What the operator may decide about a store, and what follows from it. */
type Decision = Readonly<{
  command: string;
  /** Whether it is possible now. */
  fits(store: MerchantStore): boolean;
  needsReason: boolean;
  needsSudo: boolean;
  decide(database: Database, id: string, act: Parameters<Database['approveStore']>[1]): Promise<unknown>;
}>;

const isApproved = ({ status }: MerchantStore): boolean => status === 'approved';

const decisions: Readonly<Record<Decided, Decision>> = {
  approve: {
    command: 'approve store',
    fits: (store) => !isApproved(store),
    needsReason: false,
    needsSudo: true,
    decide: (database, id, act) => database.approveStore(id, act, false),
  },
  refuse: {
    command: 'refuse store',
    fits: (store) => !isApproved(store) && !store.refusal,
    needsReason: true,
    needsSudo: false,
    decide: (database, id, act) => database.refuseStore(id, act, false),
  },
  suspend: {
    command: 'suspend store',
    fits: (store) => isApproved(store) && !store.suspension,
    needsReason: true,
    needsSudo: false,
    decide: (database, id, act) => database.suspendStore(id, 'suspended', act, false),
  },
  resume: {
    command: 'resume store',
    fits: ({ suspension }) => suspension !== undefined,
    needsReason: false,
    needsSudo: true,
    decide: (database, id, act) => database.suspendStore(id, 'resumed', act, false),
  },
};

async function page({ database }: DashboardDeps, visit: Visit<null>, fault: string | null): Promise<Reply> {
  const { words } = visit;
  const last = await database.findStore(visit.query.get('after') ?? '');
  const all = await database.pageStores({ which: 'all', after: last, limit: ROWS_MAX + 1 });
  const people = await database.listPeople();
  // On later pages only the list goes on.
  const waiting = last ? [] : await database.pageStores({ which: 'waiting', after: null, limit: ROWS_MAX });
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
  html`<label>${words.say('operator-stores.because')} <input name="because" maxlength="${BECAUSE_CHARS_MAX}" required></label>`;

const form = (visit: Visit<null>, store: MerchantStore, decided: Decided): Html => {
  const { words } = visit;
  const { needsReason, needsSudo } = decisions[decided];
  const button = words.say(`operator-stores.${decided}`);
  const look = needsReason || !needsSudo ? html` class="plain"` : null;
  return html`<form method="post" action="${PATH}/${store.id}/${decided}">${changeFields(visit)}${needsReason ? because(words) : null}<button${look} aria-label="${words.say('general.act_on', { act: button, name: store.name })}">${button}</button></form>`;
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
      html`<div>${(['suspend', 'resume'] as const).filter((one) => decisions[one].fits(store)).map((one) => form(visit, store, one))}${store.refusal ? form(visit, store, 'approve') : null}</div>`,
    ]),
  );

async function planDecision(
  deps: DashboardDeps,
  visit: Visit<null>,
  store: MerchantStore,
  decided: Decided,
): Promise<Planned> {
  const { words } = visit;
  const { command, fits, needsReason, needsSudo, decide } = decisions[decided];
  const reason = (visit.form.because ?? '').trim();
  if (!fits(store)) return page(deps, visit, words.say('operator-stores.too_late', { store: store.name }));
  if (needsReason && (reason === '' || reason.length > BECAUSE_CHARS_MAX)) {
    return page(deps, visit, words.say('change.say_why', { count: BECAUSE_CHARS_MAX }));
  }
  return {
    command,
    target: store.id,
    reason: needsReason ? reason : null,
    review: {
      title: words.say(`operator-stores.${decided}_title`, { store: store.name }),
      consequence: html`${facts([
        [words.say('developers.merchant_id'), html`<code>${store.id}</code>`],
        ...(needsReason ? [[words.say('general.reason'), data(reason)] as const] : []),
      ])}<p>${words.say(`operator-stores.${decided}_text`)}</p>`,
      button: words.say(`operator-stores.${decided}`),
      back: PATH,
      needsSudo,
    },
    async act(database, act) {
      await decide(database, store.id, act);
      return { to: PATH, said: words.say(`operator-stores.${decided}_said`) };
    },
  };
}
