/**
 * A store's policy and look, and the form for a new store, which waits for the operator's approval.
 * @module
 */
import { isAllowed } from '../../core/access.ts';
import { formatUnits, MINOR_DECIMALS, parseUnits } from '../../core/money.ts';
import { defaultRefundPolicy } from '../../core/refund.ts';
import { currencies } from '../../core/transfer.ts';
import type { PageSettings } from '../../database/page-settings.ts';
import { channelTypes, type MerchantStore, type StoreValues, WAITING_STORES_MAX } from '../../database/stores.ts';
import { accentColours, readAccent, type Scheme } from '../../lib/accent.ts';
import { type Html, html } from '../../lib/html.ts';
import { isMailAddress, MAIL_ADDRESS_CHARS_MAX } from '../../lib/mail-server.ts';
import { readZone } from '../../lib/zone.ts';
import { changeFields, commonChange, type Planned, storeChange } from '../change.ts';
import { actOf, type DashboardDeps } from '../deps.ts';
import { idOfForm } from '../once.ts';
import type { CommonPage, Page, Reply, StoreAt, Visit } from '../page.ts';
import { badge, copyCode, data, facts, faultMessage, table } from '../show.ts';
import type { TextKey, Words } from '../texts.ts';
import { logoSection, storeLogoPages } from './store-logo.ts';

const NAME_CHARS_MAX = 80;
const ORIGINS_MAX = 20;
const DAY_S = 86_400;
/** What the payment page has without a colour of its own. */
const USUAL_ACCENT = '#0b6e5f';
const ORIGIN_EXAMPLE = 'https://shop.example';

const pathOf = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/store`;

/** The settings that owners change; the others are the operator's. */
type FieldKey = Exclude<keyof StoreValues, 'credit' | 'refundToSender' | 'refundEarlyMaxMinor'>;

/** A setting as people type it. `read` returns undefined for what it cannot be. */
type Field = Readonly<{
  key: FieldKey;
  /** Whoever changes it lets more money out, or takes late money. */
  needsSudo?: boolean;
  /** What it can be; null for a text that belongs to no language. */
  choices?: readonly (readonly [string, TextKey | null])[];
  read(text: string): StoreValues[keyof StoreValues] | undefined;
  write(values: StoreValues): string;
}>;

/** A whole number of a unit, kept in the smaller one. */
const whole = (key: FieldKey, [min, max]: readonly [number, number], factor = 1): Field => ({
  key,
  read(text) {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : -1;
    return number >= min && number <= max ? number * factor : undefined;
  },
  write: (values) => String(Math.floor(Number(values[key]) / factor)),
});

const cents = (key: FieldKey): Field => ({
  key,
  needsSudo: true,
  read(text) {
    const minor = parseUnits(text, MINOR_DECIMALS);
    return minor === null || minor > BigInt(Number.MAX_SAFE_INTEGER)
      ? undefined
      : Number.parseInt(minor.toString(), 10);
  },
  write: (values) => formatUnits(BigInt(Number(values[key])), MINOR_DECIMALS, MINOR_DECIMALS),
});

const choice = (key: FieldKey, choices: Field['choices'] & {}): Field => ({
  key,
  choices,
  read: (text) => choices.find(([value]) => value === text)?.[0] as StoreValues[keyof StoreValues] | undefined,
  write: (values) => String(values[key]),
});

const readName = (text: string): string | undefined =>
  text !== '' && [...text].length <= NAME_CHARS_MAX && !/\p{Cc}/u.test(text) ? text : undefined;

const fields: readonly Field[] = [
  { key: 'name', read: readName, write: ({ name }) => name },
  {
    key: 'zone',
    read: (text) => readZone(text) ?? undefined,
    write: ({ zone }) => zone,
  },
  choice(
    'settlementCurrency',
    currencies.map((one) => [one, null] as const),
  ),
  // It lets less money pay for an order.
  { ...whole('toleranceMinor', [0, 1_000_000]), needsSudo: true },
  whole('topUpGraceS', [0, 527_040], 60),
  whole('monitoringS', [0, 366], DAY_S),
  {
    ...choice('latePolicy', [
      ['hold', 'store.late_hold'],
      ['accept', 'store.late_accept'],
    ]),
    needsSudo: true,
  },
  { ...whole('refundWindowS', [0, 3650], DAY_S), needsSudo: true },
  cents('refundDailyMinor'),
  cents('refundAutoMinor'),
  { ...whole('refundCancelWindowS', [0, DAY_S]), needsSudo: true },
  { ...whole('refundClaimS', [1, 3650], DAY_S), needsSudo: true },
];

export const storePages = (deps: DashboardDeps): readonly Page[] => [
  {
    method: 'get',
    path: '/s/:store/:mode/store',
    needs: 'store:manage',
    answer: (visit) => storePage(deps, visit, null),
  },
  storeChange(deps, {
    path: '/s/:store/:mode/store',
    needs: 'store:manage',
    plan: (visit) => planSettings(deps, visit),
  }),
  storeChange(deps, {
    path: '/s/:store/:mode/store/look',
    needs: 'store:manage',
    plan: (visit) => planLook(deps, visit),
  }),
  ...storeLogoPages(deps, (visit, fault) => storePage(deps, visit, fault)),
  newStorePage,
  commonChange(deps, { path: '/stores/new', needs: 'to be signed in', plan: (visit) => planStore(deps, visit) }),
];

/** Returns what a store is set to now: a change of nothing, tried. */
async function valuesOf(
  { database, clock }: DashboardDeps,
  { at, visitor }: Visit<StoreAt>,
): Promise<StoreValues | null> {
  const act = actOf(visitor.person, 'read store', clock);
  return (await database.updateStore(at.storeId, {}, act, true))?.after ?? null;
}

const labelOf = (words: Words, { key }: Field): string => words.say(`store.setting_${key}`);

/** Shows what a setting is. */
function shown(words: Words, { choices, write }: Field, values: StoreValues): Html | string {
  const text = write(values);
  const chosen = choices?.find(([value]) => value === text)?.[1];
  return chosen ? words.say(chosen) : data(text);
}

/** UTC is not among those that the runtime names. */
const zoneList = html`<datalist id="zones">${['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => html`<option value="${zone}">`)}</datalist>`;

function fieldInput(words: Words, field: Field, values: StoreValues, typed: string | undefined): Html {
  const { key, choices, write } = field;
  const text = typed ?? write(values);
  const label = labelOf(words, field);
  if (!choices) {
    const direction = key === 'name' ? null : html` dir="ltr"`;
    const list = key === 'zone' ? html` list="zones"` : null;
    return html`<label>${label} <input name="${key}" value="${text}"${direction}${list} autocomplete="off" required></label>${list && zoneList}`;
  }
  const options = choices.map(
    ([value, said]) =>
      html`<option value="${value}"${value === text ? html` selected` : null}${said ? null : html` translate="no"`}>${said ? words.say(said) : value}</option>`,
  );
  return html`<label>${label} <select name="${key}">${options}</select></label>`;
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

async function storePage(deps: DashboardDeps, visit: Visit<StoreAt>, fault: string | null): Promise<Reply> {
  const { at, form, words } = visit;
  const store = await deps.database.findStore(at.storeId);
  const values = await valuesOf(deps, visit);
  if (!store || !values) return null;
  const look = await deps.database.findPageSettings(at.storeId);
  return {
    title: words.say('frame.store'),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}<section class="card" aria-labelledby="about"><h2 id="about">${data(store.name)}</h2>${facts(
      [
        [words.say('developers.merchant_id'), copyCode(store.id)],
        [words.say('store.channel'), data(store.channelType)],
        [words.say('general.state'), html`${stateText(words, store)}${decisionLink(visit, store)}`],
      ],
    )}</section>
<form method="post" action="${pathOf(at)}" class="card" aria-labelledby="policy"><h2 id="policy">${words.say('store.policy')}</h2>${changeFields(visit)}
${fields.map((field) => fieldInput(words, field, values, form[field.key]))}
<p class="hint">${words.html('store.policy_hint')}</p>
<button>${words.say('frame.go_on')}</button></form>
${lookForm(deps, visit, look)}
${logoSection(visit, look)}`,
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
<label>${words.say('store.receipts_to')} <input name="receipts" type="email" dir="ltr" value="${form.receipts ?? look.receiptsReplyTo ?? ''}" maxlength="${MAIL_ADDRESS_CHARS_MAX}" autocomplete="off"></label>
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

async function planSettings(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const { at, form, words } = visit;
  const before = await valuesOf(deps, visit);
  if (!before) return null;
  const changed: [Field, StoreValues[keyof StoreValues]][] = [];
  for (const field of fields) {
    const typed = (form[field.key] ?? '').trim();
    if (typed === field.write(before)) continue;
    const value = field.read(typed);
    if (value === undefined) {
      const setting = labelOf(words, field);
      return storePage(deps, visit, words.say('store.bad_value', { setting, value: typed }));
    }
    changed.push([field, value]);
  }
  if (changed.length === 0) return { to: pathOf(at), said: words.say('store.unchanged') };
  const changes = Object.fromEntries(changed.map(([{ key }, value]) => [key, value])) as Partial<StoreValues>;
  const after = { ...before, ...changes };
  return {
    command: 'change store',
    target: at.storeId,
    review: {
      title: words.say('store.save_policy'),
      consequence: table(
        words.say('store.changes'),
        [words.say('general.setting'), words.say('team.now'), words.say('store.from_now_on')],
        changed.map(([field]) => [labelOf(words, field), shown(words, field, before), shown(words, field, after)]),
      ),
      button: words.say('general.save'),
      back: pathOf(at),
      needsSudo: changed.some(([{ needsSudo }]) => needsSudo),
    },
    async act(database, act) {
      await database.updateStore(at.storeId, changes, act, false);
      return { to: pathOf(at), said: words.say('store.policy_saved') };
    },
  };
}

/** A host of letters, digits, dots and hyphens, or a bracketed address: no `*`, and nothing that ends a directive. */
const ORIGIN = /^https?:\/\/(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d+)?$/;

/** Returns origins as browsers write them: anything else would never match, or match too much. Null for any other. */
function readOrigins(text: string): readonly string[] | null {
  const origins = [...new Set(text.split(/[\s,]+/).filter((one) => one !== ''))];
  const isOrigin = (one: string) => ORIGIN.test(one) && URL.canParse(one) && new URL(one).origin === one;
  return origins.length <= ORIGINS_MAX && origins.every(isOrigin) ? origins : null;
}

async function planLook(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const { at, form, words } = visit;
  const typed = (form.accent ?? '').trim();
  const accent = typed === '' ? null : readAccent(typed);
  const embedOrigins = readOrigins(form.origins ?? '');
  const replyTo = (form.receipts ?? '').trim();
  const receiptsReplyTo = replyTo === '' ? null : replyTo;
  const fault = (said: string) => storePage(deps, visit, said);
  const before = await deps.database.findPageSettings(at.storeId);
  if (typed !== '' && accent === null) return fault(words.say('store.bad_colour', { example: USUAL_ACCENT }));
  if (!embedOrigins) return fault(words.say('store.bad_sites', { count: ORIGINS_MAX, example: ORIGIN_EXAMPLE }));
  if (receiptsReplyTo !== null && !isMailAddress(receiptsReplyTo)) {
    return fault(words.say('store.bad_mail', { address: receiptsReplyTo }));
  }
  return {
    command: 'change payment page',
    target: at.storeId,
    review: {
      title: words.say('store.save_look'),
      consequence: html`${previews(words, accent ?? USUAL_ACCENT)}${facts([
        [words.say('store.colour'), accent === null ? words.say('store.usual_colour') : data(accent)],
        [
          words.say('store.may_frame'),
          embedOrigins.length === 0 ? words.say('store.nobody') : data(embedOrigins.join(', ')),
        ],
        [
          words.say('store.receipts'),
          receiptsReplyTo === null
            ? words.say('general.none')
            : words.html('store.answers_to', { address: receiptsReplyTo }),
        ],
      ])}`,
      button: words.say('general.save'),
      back: pathOf(at),
      // A page inside another site can be made to say something else than it does, and payers name addresses on it.
      needsSudo: embedOrigins.join() !== before.embedOrigins.join() || receiptsReplyTo !== before.receiptsReplyTo,
    },
    async act(database) {
      await database.setPageSettings(at.storeId, { accent, embedOrigins, receiptsReplyTo });
      return { to: pathOf(at), said: words.say('store.look_saved') };
    },
  };
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
<label>${visit.words.say('store.channel')} <select name="channel">${channelTypes.map((one) => html`<option translate="no">${one}</option>`)}</select></label>
<label>${visit.words.say('store.setting_settlementCurrency')} <select name="settlement">${currencies.map((one) => html`<option translate="no">${one}</option>`)}</select></label>
<p class="hint">${visit.words.say('store.approval_hint')}</p>
<button>${visit.words.say('frame.go_on')}</button></form>`,
});

async function planStore(deps: DashboardDeps, visit: Visit<null>): Promise<Planned> {
  const { form, visitor, nowMs, words } = visit;
  const name = readName((form.name ?? '').trim());
  const settlementCurrency = currencies.find((one) => one === form.settlement);
  const channelType = channelTypes.find((one) => one === form.channel);
  if (name === undefined || !settlementCurrency || !channelType) {
    return newStoreForm(visit, words.say('store.new_fault', { count: NAME_CHARS_MAX }));
  }
  const id = `mer_${idOfForm(visitor, form.once, nowMs)}`;
  const path = pathOf({ storeId: id, mode: 'test' });
  if (await deps.database.findStore(id)) return { to: path, said: words.say('store.created_already') };
  const { memberships } = visitor.person;
  const own = await Promise.all(memberships.map(({ storeId }) => storeId && deps.database.findStore(storeId)));
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
        [words.say('store.channel'), data(channelType)],
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
      const isMade = await database.requestStore({ ...made, id, channelType }, visitor.person.id, act);
      return isMade ? { to: path, said: words.say('store.created') } : tooMany();
    },
  };
}
