/**
 * A store's policy and look, and the form for a new store, which waits for the operator's approval.
 */
import {
  NAME_CHARS_MAX,
  readName,
  type StoreSetting,
  type StoreState,
  storeSettings,
  USUAL_ACCENT,
} from '../../acts/store-settings.ts';
import { readStoreState, setStore } from '../../acts/stores.ts';
import { isAllowed } from '../../core/access.ts';
import { formatUnits, MINOR_DECIMALS } from '../../core/money.ts';
import { defaultRefundPolicy } from '../../core/refund.ts';
import { currencies } from '../../core/transfer.ts';
import type { PageSettings } from '../../database/column-values.ts';
import { CHANNEL_TYPE, type MerchantStore, WAITING_STORES_MAX } from '../../database/stores.ts';
import { accentColours, readAccent, type Scheme } from '../../lib/accent.ts';
import { type Html, html } from '../../lib/html.ts';
import { MAIL_ADDRESS_CHARS_MAX } from '../../lib/mail-server.ts';
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

const ORIGIN_EXAMPLE = 'https://shop.example';

const pathOf = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/settings`;

const policySettings = storeSettings.filter(({ of }) => of === 'store');
const lookSettings = storeSettings.filter(({ of }) => of === 'page');

export const storePages = (deps: DashboardDeps): readonly Page[] => [
  {
    method: 'get',
    path: '/s/:store/:mode/settings',
    needs: 'store:manage',
    answer: (visit) => storePage(deps, visit, null),
  },
  ...(
    [
      ['', policySettings],
      ['/look', lookSettings],
    ] as const
  ).map(([form, settings]) =>
    storeChange(deps, {
      path: `/s/:store/:mode/settings${form}`,
      needs: setStore.needs,
      plan: (visit) => planSettings(deps, visit, settings),
    }),
  ),
  ...storeLogoPages(deps, (visit, fault) => storePage(deps, visit, fault)),
  ...teamChanges(deps, (visit, fault) => storePage(deps, visit, fault)),
  newStorePage,
  commonChange(deps, { path: '/stores/new', needs: 'to be signed in', plan: (visit) => planStore(deps, visit) }),
];

/** UTC is not among those that the runtime names. */
const zoneList = html`<datalist id="zones">${['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => html`<option value="${zone}">`)}</datalist>`;

function fieldInput(words: Words, setting: StoreSetting, state: StoreState, typed: string | undefined): Html {
  const { name, label, choices, choiceTexts, write } = setting;
  const text = typed ?? write(state);
  const shown = sentence(words, label);
  if (!choices) {
    const direction = name === 'name' ? null : html` dir="ltr"`;
    const list = name === 'zone' ? html` list="zones"` : null;
    return html`<label>${shown} <input name="${name}" value="${text}"${direction}${list} autocomplete="off" required></label>${list && zoneList}`;
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
  const look = await deps.database.stores.findPageSettings(at.storeId);
  // The form that adds somebody has a name, too.
  const isTyped = form.role === undefined;
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
<form method="post" action="${pathOf(at)}" class="card two-columns" aria-labelledby="policy"><h2 id="policy">${words.say('store.policy')}</h2>${changeFields(visit)}
${policySettings.map((one) => fieldInput(words, one, values, isTyped ? form[one.name] : undefined))}
<p class="hint">${words.html('store.policy_hint')}</p>
<button>${words.say('frame.go_on')}</button></form>
${lookForm(deps, visit, look)}
${logoSection(visit, look)}
${await teamSection(deps, visit)}`,
  };
}

function lookForm({ config }: DashboardDeps, visit: Visit<StoreAt>, look: PageSettings): Html {
  const { at, form, words } = visit;
  const accent = form.accent ?? look.accent ?? '';
  const origins = form.origins ?? look.embedOrigins.join('\n');
  return html`<form method="post" action="${pathOf(at)}/look" class="card" aria-labelledby="look"><h2 id="look">${words.say('store.look')}</h2>${changeFields(visit)}
<label>${words.say('store.colour')} <input name="accent" value="${accent}" placeholder="${USUAL_ACCENT}" dir="ltr" maxlength="7" spellcheck="false"></label>
<p class="hint">${words.say('store.colour_hint')}</p>
${previews(words, accent.trim() === '' ? USUAL_ACCENT : readAccent(accent.trim()))}
<label>${words.say('store.sites')} <textarea name="origins" rows="3" dir="ltr" spellcheck="false" placeholder="${ORIGIN_EXAMPLE}">${origins}</textarea></label>
<p class="hint">${words.say('store.sites_hint')}</p>
<label>${words.say('store.receipts_to')} <input name="receiptsTo" type="email" dir="ltr" value="${form.receiptsTo ?? look.receiptsReplyTo ?? ''}" maxlength="${MAIL_ADDRESS_CHARS_MAX}" autocomplete="off"></label>
<p class="hint">${words.say('store.receipts_hint')}</p>
${config.mail ? null : html`<p class="hint">${words.say('store.no_mail_server')}</p>`}
<button class="plain">${words.say('frame.go_on')}</button></form>`;
}

const previews = (words: Words, accent: string | null): Html | null =>
  accent === null ? null : html`<p>${(['light', 'dark'] as const).map((scheme) => preview(words, accent, scheme))}</p>`;

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

/** Plans what one of the two forms changes. */
function planSettings(deps: DashboardDeps, visit: Visit<StoreAt>, settings: readonly StoreSetting[]): Promise<Planned> {
  const { at, form, words } = visit;
  const accent = form.accent?.trim();
  return planAct(deps, visit, setStore, {
    texts: { store: at.storeId, ...Object.fromEntries(settings.map(({ name }) => [name, form[name]])) },
    back: pathOf(at),
    above: accent === undefined ? null : previews(words, accent === '' ? USUAL_ACCENT : readAccent(accent)),
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
<label>${visit.words.say('store.setting_name')} <input name="name" maxlength="${NAME_CHARS_MAX}" value="${visit.form.name ?? ''}" required></label>
<label>${visit.words.say('store.channel')} <select name="channel">${html`<option translate="no">${CHANNEL_TYPE}</option>`}</select></label>
<label>${visit.words.say('store.setting_settlementCurrency')} <select name="settlement">${currencies.map((one) => html`<option translate="no">${one}</option>`)}</select></label>
<p class="hint">${visit.words.say('store.approval_hint')}</p>
<button>${visit.words.say('frame.go_on')}</button></form>`,
});

async function planStore(deps: DashboardDeps, visit: Visit<null>): Promise<Planned> {
  const { form, visitor, nowMs, words } = visit;
  const name = readName((form.name ?? '').trim());
  const settlementCurrency = currencies.find((one) => one === form.settlement);
  if (name === undefined || !settlementCurrency || form.channel !== CHANNEL_TYPE) {
    return newStoreForm(visit, words.say('store.new_fault', { count: NAME_CHARS_MAX }));
  }
  const id = `mer_${idOfForm(visitor, form.once, nowMs)}`;
  const path = pathOf({ storeId: id, mode: 'test' });
  if (await deps.database.stores.find(id)) return { to: path, said: words.say('store.created_already') };
  const { memberships } = visitor.person;
  const own = await Promise.all(memberships.map(({ storeId }) => storeId && deps.database.stores.find(storeId)));
  const tooMany = () => newStoreForm(visit, words.say('store.too_many_pending', { count: WAITING_STORES_MAX }));
  const waiting = own.filter((store) => store && store.status === 'pending' && !store.refusal);
  if (waiting.length >= WAITING_STORES_MAX) return tooMany();
  return {
    command: 'create store',
    target: id,
    review: {
      title: words.say('store.create_title', { name }),
      consequence: facts([
        [words.say('general.name'), data(name)],
        [words.say('store.channel'), data(CHANNEL_TYPE)],
        [words.say('store.setting_settlementCurrency'), data(settlementCurrency)],
        [
          words.say('store.auto_refunds'),
          formatUnits(BigInt(defaultRefundPolicy.refundAutoMinor), MINOR_DECIMALS, MINOR_DECIMALS),
        ],
      ]),
      button: words.say('store.create_button'),
      back: '/stores/new',
      needsSudo: true,
    },
    async act(database, act) {
      const made = deps.issue.store(name, settlementCurrency, nowMs);
      const isMade = await database.stores.request({ ...made, id }, visitor.person.id, act);
      return isMade ? { to: path, said: words.say('store.created') } : tooMany();
    },
  };
}
