/**
 * A store's policy and look, and the form for a new store, which waits for the operator's approval.
 */
import { NAME_CHARS_MAX, readName, type StoreSetting, storeSettings, USUAL_ACCENT } from '../../acts/store-settings.ts';
import { readStoreState, setStore } from '../../acts/stores.ts';
import { isAllowed } from '../../core/access.ts';
import { currencies } from '../../core/transfer.ts';
import { CHANNEL_TYPE, type MerchantStore, WAITING_STORES_MAX } from '../../database/stores.ts';
import { accentColours, readAccent, type Scheme } from '../../lib/accent.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts } from '../../web/list.ts';
import { planAct } from '../act-form.ts';
import { changeFields, commonChange, type Planned, storeChange } from '../change.ts';
import { actOf, type DashboardDeps } from '../deps.ts';
import { idOfForm } from '../once.ts';
import type { CommonPage, Page, Reply, StoreAt, Visit } from '../page.ts';
import { sentence, sentenceText } from '../sentence.ts';
import { badge, copyCode, data, faultMessage } from '../show.ts';
import type { Words } from '../texts.ts';
import { logoSection, storeLogoPages } from './store-logo.ts';
import { teamChanges, teamSection } from './team.ts';

const pathOf = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/settings`;

const policySettings = storeSettings.filter(({ of }) => of === 'store');
/** The colour is the first. */
const lookSettings = storeSettings.filter(({ of }) => of === 'page');
/** Settings of a new store. */
const firstSettings = storeSettings.filter(({ name }) => name === 'name' || name === 'settlement');

export const storePages = (deps: DashboardDeps): readonly Page[] => [
  {
    method: 'get',
    path: '/s/:store/:mode/settings',
    needs: 'store:manage',
    answer: (visit) => storePage(deps, visit, null),
  },
  storeChange(deps, {
    path: '/s/:store/:mode/settings',
    needs: setStore.needs,
    plan: (visit) => planSettings(deps, visit),
  }),
  ...storeLogoPages(deps, (visit, fault) => storePage(deps, visit, fault)),
  ...teamChanges(deps, (visit, fault) => storePage(deps, visit, fault)),
  newStorePage,
  commonChange(deps, { path: '/stores/new', needs: 'to be signed in', plan: (visit) => planStore(deps, visit) }),
];

/** UTC is not among those that the runtime names. */
const zoneList = html`<datalist id="zones">${['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => html`<option value="${zone}">`)}</datalist>`;

function fieldInput(words: Words, { name, of, label, choices, choiceTexts }: StoreSetting, text: string): Html {
  const shown = sentence(words, label);
  if (!choices) {
    const direction = name === 'name' ? null : html` dir="ltr"`;
    const list = name === 'zone' ? html` list="zones"` : null;
    return html`<label>${shown} <input name="${name}" value="${text}"${direction}${list} autocomplete="off" spellcheck="false"${of === 'page' ? null : html` required`}></label>${list && zoneList}`;
  }
  const options = choices.map((value) => {
    const said = choiceTexts?.[value];
    const chosen = value === text ? html` selected` : null;
    return html`<option value="${value}"${chosen}${said ? null : html` translate="no"`}>${said ? sentenceText(words, said) : value}</option>`;
  });
  return html`<label>${shown} <select name="${name}">${options}</select></label>`;
}

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

async function storePage(deps: DashboardDeps, visit: Visit<StoreAt>, fault: Html | string | null): Promise<Reply> {
  const { at, form, visitor, words } = visit;
  const store = await deps.database.stores.find(at.storeId);
  const act = actOf(visitor.person, 'read store', deps.clock);
  const values = await readStoreState({ database: deps.database, act }, at.storeId);
  if (!store || !values) return null;
  // The form that adds somebody has a name, too.
  const typed = form.role === undefined ? form : {};
  const inputs = (settings: readonly StoreSetting[]) =>
    settings.map((one) => fieldInput(words, one, typed[one.name] ?? one.write(values)));
  return {
    title: words.say('frame.settings'),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}<section class="card" aria-labelledby="about"><h2 id="about">${data(store.name)}</h2>${facts(
      [
        [words.say('developers.merchant_id'), copyCode(store.id)],
        [words.say('store.channel'), data(CHANNEL_TYPE)],
        [words.say('general.state'), html`${stateText(words, store)}${decisionLink(visit, store)}`],
      ],
    )}</section>
<form method="post" action="${pathOf(at)}" class="card" aria-labelledby="policy"><h2 id="policy">${words.say('store.policy')}</h2>${changeFields(visit)}
<div class="two-columns">${inputs(policySettings)}</div>
<p class="hint">${words.html('store.policy_hint')}</p>
<h2>${words.say('store.look')}</h2>
${inputs(lookSettings.slice(0, 1))}
<p class="hint">${words.say('store.colour_hint')}</p>
${previews(words, typed.accent ?? values.accent ?? '')}
${inputs(lookSettings.slice(1))}
${deps.config.mail ? null : html`<p class="hint">${words.say('store.no_mail_server')}</p>`}
<button>${words.say('frame.go_on')}</button></form>
${logoSection(visit, await deps.database.stores.findPageSettings(at.storeId))}
${await teamSection(deps, visit)}`,
  };
}

/** Shows a colour, or the usual one where none is typed, as payers see it by day and by night. */
function previews(words: Words, typed: string): Html | null {
  const accent = typed.trim() === '' ? USUAL_ACCENT : readAccent(typed.trim());
  return accent === null
    ? null
    : html`<p>${(['light', 'dark'] as const).map((scheme) => preview(words, accent, scheme))}</p>`;
}

const cards: Readonly<Record<Scheme, readonly [card: string, text: string]>> = {
  light: ['#ffffff', '#17202a'],
  dark: ['#171e27', '#e8edf2'],
};

/** A card of the payment page with a button, drawn with attributes: the pages' policy allows no inline styles. */
function preview(words: Words, hex: string, scheme: Scheme): Html {
  const { accent, text: onAccent, soft } = accentColours(hex, scheme);
  const [card, text] = cards[scheme];
  return html`<svg class="preview" viewBox="0 0 180 96" role="img" aria-label="${words.say(`store.preview_${scheme}`)}">
<rect width="180" height="96" rx="8" fill="${card}"/><rect x="12" y="12" width="156" height="24" rx="4" fill="${soft}"/>
<text x="20" y="28" font-size="11" fill="${text}">10.50 USDT</text><rect x="12" y="52" width="156" height="30" rx="6" fill="${accent}"/>
<text x="90" y="71" font-size="11" text-anchor="middle" fill="${onAccent}">${words.say('store.open_wallet')}</text></svg> `;
}

function planSettings(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const { at, form, words } = visit;
  return planAct(deps, visit, setStore, {
    texts: { store: at.storeId, ...Object.fromEntries(storeSettings.map(({ name }) => [name, form[name]])) },
    back: pathOf(at),
    above: form.accent === undefined ? null : previews(words, form.accent),
    refused: (fault) => storePage(deps, visit, fault),
  });
}

const newStorePage: CommonPage = {
  method: 'get',
  path: '/stores/new',
  needs: 'to be signed in',
  answer: async (visit) => newStoreForm(visit, null),
};

const newStoreForm = (visit: Visit<null>, fault: string | null): Reply => ({
  title: visit.words.say('frame.new_store'),
  status: fault === null ? 200 : 400,
  content: html`${faultMessage(fault)}<form method="post" action="/stores/new" class="card">${changeFields(visit)}
${firstSettings.map((one) => fieldInput(visit.words, one, visit.form[one.name] ?? ''))}
<p class="hint">${visit.words.say('store.approval_hint')}</p>
<button>${visit.words.say('frame.go_on')}</button></form>`,
});

async function planStore(deps: DashboardDeps, visit: Visit<null>): Promise<Planned> {
  const { form, visitor, nowMs, words } = visit;
  const name = readName((form.name ?? '').trim());
  const settlementCurrency = currencies.find((one) => one === form.settlement);
  if (name === undefined || !settlementCurrency) {
    return newStoreForm(visit, words.say('store.new_fault', { count: NAME_CHARS_MAX }));
  }
  const id = `mer_${idOfForm(visitor, form.once, nowMs)}`;
  const path = pathOf({ storeId: id, mode: 'test' });
  if (await deps.database.stores.find(id)) return { to: path, said: words.say('store.created_already') };
  return {
    command: 'create store',
    target: id,
    review: {
      title: words.say('store.create_title', { name }),
      consequence: facts([
        [words.say('general.name'), data(name)],
        [words.say('store.settlement'), data(settlementCurrency)],
      ]),
      button: words.say('store.create_button'),
      back: '/stores/new',
      needsSudo: true,
    },
    async act(database, act) {
      const made = deps.issue.store(name, settlementCurrency, nowMs);
      const isMade = await database.stores.request({ ...made, id }, visitor.person.id, act);
      return isMade
        ? { to: path, said: words.say('store.created') }
        : newStoreForm(visit, words.say('store.too_many_pending', { count: WAITING_STORES_MAX }));
    },
  };
}
