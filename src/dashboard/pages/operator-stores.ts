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
import { badge, facts, faultMessage, moreLink, table, time } from '../show.ts';

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
  button: string;
  /** Whether it is possible now. */
  fits(store: MerchantStore): boolean;
  consequence: string;
  needsReason: boolean;
  needsSudo: boolean;
  said: string;
  decide(database: Database, id: string, act: Parameters<Database['approveStore']>[1]): Promise<unknown>;
}>;

const isApproved = ({ status }: MerchantStore): boolean => status === 'approved';

const decisions: Readonly<Record<Decided, Decision>> = {
  approve: {
    command: 'approve store',
    button: 'Approve',
    fits: (store) => !isApproved(store),
    consequence: 'Its owner can make keys and take payments, which come to the wallets of this installation.',
    needsReason: false,
    needsSudo: true,
    said: 'The store is approved.',
    decide: (database, id, act) => database.approveStore(id, act, false),
  },
  refuse: {
    command: 'refuse store',
    button: 'Refuse',
    fits: (store) => !isApproved(store) && !store.refusal,
    consequence: 'It gets no keys, and its owner sees the reason. It can be approved later.',
    needsReason: true,
    needsSudo: false,
    said: 'The store is refused.',
    decide: (database, id, act) => database.refuseStore(id, act, false),
  },
  suspend: {
    command: 'suspend store',
    button: 'Suspend',
    fits: (store) => isApproved(store) && !store.suspension,
    consequence:
      'Its keys create no payments and no refunds, and refunds that are not signed yet wait. What it has is still ' +
      'watched, credited and sent. Its owner sees the reason.',
    needsReason: true,
    needsSudo: false,
    said: 'The store is suspended.',
    decide: (database, id, act) => database.suspendStore(id, 'suspended', act, false),
  },
  resume: {
    command: 'resume store',
    button: 'Resume',
    fits: ({ suspension }) => suspension !== undefined,
    consequence: 'Its keys work as before, and its refunds go on.',
    needsReason: false,
    needsSudo: true,
    said: 'The store is resumed.',
    decide: (database, id, act) => database.suspendStore(id, 'resumed', act, false),
  },
};

async function page({ database }: DashboardDeps, visit: Visit<null>, fault: string | null): Promise<Reply> {
  const last = await database.findStore(visit.query.get('after') ?? '');
  const all = await database.pageStores({ which: 'all', after: last, limit: ROWS_MAX + 1 });
  const people = await database.listPeople();
  // On later pages only the list goes on.
  const waiting = last ? [] : await database.pageStores({ which: 'waiting', after: null, limit: ROWS_MAX });
  const shown = all.slice(0, ROWS_MAX);
  return {
    title: 'Stores',
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}${
      last
        ? null
        : html`<section aria-labelledby="waiting"><h2 id="waiting">Waiting for approval</h2>${
            waiting.length === 0
              ? html`<p class="card">No store is waiting for you.</p>`
              : waiting.map((store) => waitingCard(visit, store, people))
          }${waiting.length === ROWS_MAX ? html`<p class="hint">The oldest ${ROWS_MAX} are shown.</p>` : null}</section>`
    }
<section aria-labelledby="all"><h2 id="all">All stores</h2>${storeTable(visit, shown, people)}${
      all.length > ROWS_MAX ? moreLink(visit.words, `${PATH}?after=${shown.at(-1)?.id}`) : null
    }</section>`,
  };
}

const ownersOf = ({ id }: MerchantStore, people: readonly Person[]): string =>
  people
    .filter(({ memberships }) => memberships.some(({ storeId, role }) => storeId === id && role === 'owner'))
    .map(({ name }) => name)
    .join(', ') || 'nobody';

const because = html`<label>Reason, which its owner sees <input name="because" maxlength="${BECAUSE_CHARS_MAX}" required></label>`;

const form = (visit: Visit<null>, store: MerchantStore, decided: Decided): Html => {
  const { button, needsReason, needsSudo } = decisions[decided];
  const look = needsReason || !needsSudo ? html` class="plain"` : null;
  return html`<form method="post" action="${PATH}/${store.id}/${decided}">${changeFields(visit)}${needsReason ? because : null}<button${look} aria-label="${button} ${store.name}">${button}</button></form>`;
};

const waitingCard = (visit: Visit<null>, store: MerchantStore, people: readonly Person[]): Html =>
  html`<article class="card" aria-labelledby="w-${store.id}"><h3 id="w-${store.id}">${store.name}</h3>${facts([
    ['Merchant id', html`<code>${store.id}</code>`],
    ['Owner', ownersOf(store, people)],
    ['Since', time(store.createdAtMs)],
  ])}${form(visit, store, 'approve')}${form(visit, store, 'refuse')}</article>`;

function stateOf({ status, suspension, refusal }: MerchantStore): Html {
  if (suspension) return html`${badge('suspended', 'danger')} <span class="hint">${suspension.because}</span>`;
  if (refusal) return html`${badge('refused', 'danger')} <span class="hint">${refusal.because}</span>`;
  return status === 'approved' ? badge('approved', 'good') : badge('waiting', 'attention');
}

const storeTable = (visit: Visit<null>, stores: readonly MerchantStore[], people: readonly Person[]): Html =>
  table(
    'All stores',
    ['Store', 'Merchant id', 'Owner', 'Created', 'State', 'Change'],
    stores.map((store) => [
      store.name,
      html`<code>${store.id}</code>`,
      ownersOf(store, people),
      time(store.createdAtMs),
      html`<span>${stateOf(store)}</span>`,
      html`<div>${(['suspend', 'resume'] as const).filter((one) => decisions[one].fits(store)).map((one) => form(visit, store, one))}${store.refusal ? form(visit, store, 'approve') : null}</div>`,
    ]),
  );

async function planDecision(
  deps: DashboardDeps,
  visit: Visit<null>,
  store: MerchantStore,
  decided: Decided,
): Promise<Planned> {
  const { command, button, fits, consequence, needsReason, needsSudo, said, decide } = decisions[decided];
  const reason = (visit.form.because ?? '').trim();
  if (!fits(store)) return page(deps, visit, `That is not possible any more: look at ${store.name} in the list.`);
  if (needsReason && (reason === '' || reason.length > BECAUSE_CHARS_MAX)) {
    return page(deps, visit, `Say why, in at most ${BECAUSE_CHARS_MAX} characters.`);
  }
  return {
    command,
    target: store.id,
    reason: needsReason ? reason : null,
    review: {
      title: `${button} ${store.name}?`,
      consequence: html`${facts([
        ['Merchant id', html`<code>${store.id}</code>`],
        ...(needsReason ? [['Reason', reason] as const] : []),
      ])}<p>${consequence}</p>`,
      button,
      back: PATH,
      needsSudo,
    },
    async act(database, act) {
      await decide(database, store.id, act);
      return { to: PATH, said };
    },
  };
}
