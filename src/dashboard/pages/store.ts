/**
 * A store's policy and look, and the form for a new store, which waits for the operator's approval.
 */
import { oneOf, refuse, type Sentence, say } from '../../acts/act.ts';
import { NAME_CHARS_MAX, readName, type StoreSetting, storeSettings } from '../../acts/store-settings.ts';
import { readStoreState, setStore } from '../../acts/stores.ts';
import { isAllowed } from '../../core/access.ts';
import { currencies } from '../../core/transfer.ts';
import { CHANNEL_TYPE, type MerchantStore, WAITING_STORES_MAX } from '../../database/stores.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, section } from '../../web/list.ts';
import { browserAct, formOf, pageWith } from '../act-form.ts';
import { actOf, type DashboardDeps } from '../deps.ts';
import type { Page, Reply, StoreAt, Visit } from '../page.ts';
import { badge, copyCode, data } from '../show.ts';
import type { Words } from '../texts.ts';
import { logoForms, logoPicture, logoSection } from './store-logo.ts';
import { teamForms, teamSection } from './team.ts';

const PATH = '/s/:store/:mode/settings';

const namesOf = (settings: readonly StoreSetting[]) => settings.map(({ name }) => name);
const saving = formOf(setStore, {
  path: PATH,
  inputs: namesOf(storeSettings.filter(({ of }) => of === 'store')),
});
const dressing = formOf(setStore, {
  path: `${PATH}/look`,
  inputs: namesOf(storeSettings.filter(({ of }) => of === 'page')),
});

const readCurrency = oneOf(currencies);
const storeName = (text: string): string | Sentence =>
  readName(text) ?? say('store.new_fault', { count: NAME_CHARS_MAX });

/** A store of one's own, which waits for the operator's approval. */
const requestStore = browserAct({
  name: 'store add',
  needs: 'to be signed in',
  asks: 'second factor',
  fields: {
    name: {
      label: say('Name, as payers see it'),
      charsMax: NAME_CHARS_MAX,
      isProse: true,
      isRequired: true,
      read: storeName,
    },
    settlement: {
      label: say('store.settlement'),
      choices: currencies,
      isRequired: true,
      read: readCurrency,
    },
  },
  async plan({ newId }, { name, settlement }) {
    return { id: `mer_${newId}`, name, settlement };
  },
  review: ({ id, name, settlement }) => ({
    title: say('store.create_title', { name }),
    target: id,
    facts: [
      [say('Name'), name],
      [say('store.settlement'), settlement],
    ],
    notes: [],
    button: say('store.create_button'),
  }),
  async run({ database, issue, act, nowMs, visit }, { id, name, settlement }) {
    if (await database.stores.find(id)) return { said: say('store.created_already'), json: { id } };
    const made = { ...issue.store(name, settlement, nowMs), id };
    const isMade = await database.stores.request(made, visit.visitor.person.id, act);
    return isMade
      ? { said: say('store.created'), json: { id } }
      : refuse('refused', say('store.too_many_pending', { count: WAITING_STORES_MAX }));
  },
});
const requesting = formOf(requestStore, {
  path: '/stores/new',
  inputs: ['name', 'settlement'],
  to: '/s/:id/test/settings',
});

export const storePages = (deps: DashboardDeps): readonly Page[] => [
  ...pageWith(deps, { path: PATH, needs: 'store:manage', answer: (visit) => storePage(deps, visit) }, [
    saving,
    dressing,
    ...logoForms,
    ...teamForms,
  ]),
  logoPicture(deps),
  ...pageWith(deps, { path: '/stores/new', needs: 'to be signed in', answer: async (visit) => newStorePage(visit) }, [
    requesting,
  ]),
];

function stateText(words: Words, { status, suspension, refusal }: MerchantStore): Html {
  if (suspension) return html`${badge(words.say('general.store_suspended'), 'danger')} ${data(suspension.because)}`;
  if (refusal) return html`${badge(words.say('general.store_refused'), 'danger')} ${data(refusal.because)}`;
  return status === 'approved'
    ? badge(words.say('general.store_approved'), 'good')
    : badge(words.say('store.is_waiting'), 'attention');
}

/** Leads who may decide about a store that waits to where that is done. */
const decisionLink = ({ visitor, words }: Visit<StoreAt>, { status, refusal }: MerchantStore): Html | null =>
  status === 'approved' || refusal || !isAllowed(visitor.person.memberships, { permission: 'installation:manage' })
    ? null
    : html` <a href="/operator/stores">${words.say('store.decide')}</a>`;

async function storePage(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const { at, visitor, words } = visit;
  const store = await deps.database.stores.find(at.storeId);
  const act = actOf(visitor.person, 'read store', deps.clock);
  const values = await readStoreState({ database: deps.database, act }, at.storeId);
  if (!store || !values) return null;
  const button = words.say('frame.go_on');
  const texts = Object.fromEntries(storeSettings.map(({ name, write }) => [name, write(values)]));
  const policy = saving.show(visit, {
    ...{ button, texts, look: 'main' },
    below: html`<p class="hint">${words.html('store.policy_hint')}</p>`,
  });
  const look = dressing.show(visit, { button, texts });
  return {
    title: words.say('frame.settings'),
    content: html`${section(
      'about',
      data(store.name),
      facts([
        [words.say('developers.merchant_id'), copyCode(store.id)],
        [words.say('store.channel'), data(CHANNEL_TYPE)],
        [words.say('general.state'), html`${stateText(words, store)}${decisionLink(visit, store)}`],
      ]),
    )}
${section('policy', words.say('store.policy'), html`${policy}`)}
${section('look', words.say('store.look'), html`${look}`)}
${logoSection(visit, await deps.database.stores.findPageSettings(at.storeId))}
${await teamSection(deps, visit)}`,
  };
}

const newStorePage = (visit: Visit<null>): Reply => ({
  title: visit.words.say('frame.new_store'),
  content: html`<div class="card">${requesting.show(visit, {
    button: visit.words.say('frame.go_on'),
    below: html`<p class="hint">${visit.words.say('store.approval_hint')}</p>`,
    look: 'main',
  })}</div>`,
});
