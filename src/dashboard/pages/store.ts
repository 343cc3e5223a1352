/**
 * A store's policy and look, and the form for a new store, which waits for the operator's approval.
 * @module
 */
import { formatUnits, MINOR_DECIMALS, parseUnits } from '../../core/money.ts';
import { defaultRefundPolicy } from '../../core/refund.ts';
import { currencies } from '../../core/transfer.ts';
import type { PageSettings } from '../../database/page-settings.ts';
import type { MerchantStore, StoreValues } from '../../database/stores.ts';
import { accentColours, readAccent, type Scheme } from '../../lib/accent.ts';
import { type Html, html } from '../../lib/html.ts';
import { isMailAddress, MAIL_ADDRESS_CHARS_MAX } from '../../lib/mail-server.ts';
import { isZone } from '../../lib/zone.ts';
import { changeFields, commonChange, type Planned, storeChange } from '../change.ts';
import { actOf, type DashboardDeps } from '../deps.ts';
import { idOfForm } from '../once.ts';
import type { CommonPage, Page, Reply, StoreAt, Visit } from '../page.ts';
import { badge, data, facts, faultMessage, table } from '../show.ts';
import { logoSection, storeLogoPages } from './store-logo.ts';

const NAME_CHARS_MAX = 80;
const ORIGINS_MAX = 20;
/** Stores of one person that wait for approval. */
const PENDING_MAX = 3;
const DAY_S = 86_400;

const pathOf = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/store`;

/** A setting as people type it. `read` returns undefined for what it cannot be. */
type Field = Readonly<{
  key: keyof StoreValues;
  label: string;
  /** Whoever changes it lets more money out, or takes late money. */
  needsSudo?: boolean;
  choices?: readonly (readonly [string, string])[];
  read(text: string): StoreValues[keyof StoreValues] | undefined;
  write(values: StoreValues): string;
}>;

/** A whole number of a unit, kept in the smaller one. */
const whole = (key: keyof StoreValues, label: string, [min, max]: readonly [number, number], factor = 1): Field => ({
  key,
  label,
  read(text) {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : -1;
    return number >= min && number <= max ? number * factor : undefined;
  },
  write: (values) => String(Math.floor(Number(values[key]) / factor)),
});

const cents = (key: keyof StoreValues, label: string): Field => ({
  key,
  label,
  needsSudo: true,
  read(text) {
    const minor = parseUnits(text, MINOR_DECIMALS);
    return minor === null || minor > BigInt(Number.MAX_SAFE_INTEGER)
      ? undefined
      : Number.parseInt(minor.toString(), 10);
  },
  write: (values) => formatUnits(BigInt(Number(values[key])), MINOR_DECIMALS, MINOR_DECIMALS),
});

const choice = (key: keyof StoreValues, label: string, choices: Field['choices'] & {}): Field => ({
  key,
  label,
  choices,
  read: (text) => choices.find(([value]) => value === text)?.[0] as StoreValues[keyof StoreValues] | undefined,
  write: (values) => String(values[key]),
});

const readName = (text: string): string | undefined =>
  text !== '' && [...text].length <= NAME_CHARS_MAX && !/\p{Cc}/u.test(text) ? text : undefined;

const fields: readonly Field[] = [
  { key: 'name', label: 'Name, as payers see it', read: readName, write: ({ name }) => name },
  {
    key: 'zone',
    label: 'Time zone of its days, such as Europe/Berlin',
    read: (text) => (isZone(text) ? text : undefined),
    write: ({ zone }) => zone,
  },
  choice(
    'settlementCurrency',
    'Other currencies are converted to',
    currencies.map((one) => [one, one] as const),
  ),
  whole('toleranceMinor', 'Cents less than the price that still pay in full', [0, 1_000_000]),
  whole('topUpGraceS', 'Minutes to top up a payment that is too small', [0, 527_040], 60),
  whole('monitoringS', 'Days to watch for late payments', [0, 366], DAY_S),
  {
    ...choice('latePolicy', 'A full payment that comes late', [
      ['hold', 'is held for your decision'],
      ['accept', 'is accepted'],
    ]),
    needsSudo: true,
  },
  { ...whole('refundWindowS', 'Days after a payment to refund it', [0, 3650], DAY_S), needsSudo: true },
  cents('refundDailyMinor', 'The most to refund in a day (UTC)'),
  cents('refundAutoMinor', 'Refunds up to this need no approval'),
  { ...whole('refundCancelWindowS', 'Seconds to cancel a refund', [0, DAY_S]), needsSudo: true },
  { ...whole('refundClaimS', 'Days for the payer to name an address', [1, 3650], DAY_S), needsSudo: true },
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

const fieldInput = ({ key, label, choices, write }: Field, values: StoreValues, typed: string | undefined): Html => {
  const text = typed ?? write(values);
  return choices
    ? html`<label>${label} <select name="${key}">${choices.map(
        ([value, words]) => html`<option value="${value}"${value === text ? html` selected` : null}>${words}</option>`,
      )}</select></label>`
    : html`<label>${label} <input name="${key}" value="${text}" autocomplete="off" required></label>`;
};

function stateText({ status, suspension, refusal }: MerchantStore): Html {
  if (suspension) return html`${badge('suspended', 'danger')} ${suspension.because}`;
  if (refusal) return html`${badge('refused', 'danger')} ${refusal.because}`;
  return status === 'approved' ? badge('approved', 'good') : badge('waits for the operator’s approval', 'attention');
}

async function storePage(deps: DashboardDeps, visit: Visit<StoreAt>, fault: string | null): Promise<Reply> {
  const { at, form } = visit;
  const store = await deps.database.findStore(at.storeId);
  const values = await valuesOf(deps, visit);
  if (!store || !values) return null;
  const look = await deps.database.findPageSettings(at.storeId);
  return {
    title: 'Store',
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}<section class="card" aria-labelledby="about"><h2 id="about">${store.name}</h2>${facts(
      [
        ['Merchant id', html`<code>${store.id}</code>`],
        ['Channel', 'API'],
        ['State', stateText(store)],
      ],
    )}</section>
<form method="post" action="${pathOf(at)}" class="card" aria-labelledby="policy"><h2 id="policy">Policy</h2>${changeFields(visit)}
${fields.map((field) => fieldInput(field, values, form[field.key]))}
<p class="hint">Payments that are open keep what they were created with. What credits need, and refunds before a payment is
final, are set by whoever runs this installation: <code>quayside store update</code>.</p>
<button>Go on</button></form>
${lookForm(deps, visit, look)}
${logoSection(visit, look)}`,
  };
}

function lookForm({ config }: DashboardDeps, visit: Visit<StoreAt>, look: PageSettings): Html {
  const { at, form } = visit;
  const accent = form.accent ?? look.accent ?? '';
  const origins = form.origins ?? look.embedOrigins.join('\n');
  return html`<form method="post" action="${pathOf(at)}/look" class="card" aria-labelledby="look"><h2 id="look">Look of the payment page</h2>${changeFields(visit)}
<label>Colour <input name="accent" value="${accent}" placeholder="#0b6e5f" maxlength="7" spellcheck="false"></label>
<p class="hint">Of buttons and bars; empty for the usual one. It is shifted until it is readable:</p>
${previews(readAccent(accent))}
<label>Sites that may show the page in a frame <textarea name="origins" rows="3" spellcheck="false" placeholder="https://shop.example">${origins}</textarea></label>
<p class="hint">One a line, with scheme, host and port only.</p>
<label>Receipts by mail: answers go to <input name="receipts" type="email" value="${form.receipts ?? look.receiptsReplyTo ?? ''}" maxlength="${MAIL_ADDRESS_CHARS_MAX}" autocomplete="off"></label>
<p class="hint">With an address, whoever has paid can have the receipt sent once; empty for no receipts by mail.${config.mail ? null : ' None is sent until whoever runs this installation sets its mail server.'}</p>
<button>Go on</button></form>`;
}

const previews = (accent: string | null): Html | null =>
  accent === null ? null : html`<p>${(['light', 'dark'] as const).map((scheme) => preview(accent, scheme))}</p>`;

const cards: Readonly<Record<Scheme, readonly [card: string, text: string]>> = {
  light: ['#ffffff', '#17202a'],
  dark: ['#171e27', '#e8edf2'],
};

/** A card of the payment page with a button, drawn with attributes: the pages' policy allows no inline styles. */
function preview(hex: string, scheme: Scheme): Html {
  const { accent, text: onAccent, soft } = accentColours(hex, scheme);
  const [card, text] = cards[scheme];
  return html`<svg class="preview" viewBox="0 0 180 96" role="img" aria-label="The colour in ${scheme} mode">
<rect width="180" height="96" rx="8" fill="${card}"/><rect x="12" y="12" width="156" height="24" rx="4" fill="${soft}"/>
<text x="20" y="28" font-size="11" fill="${text}">10.50 USDT</text><rect x="12" y="52" width="156" height="30" rx="6" fill="${accent}"/>
<text x="90" y="71" font-size="11" text-anchor="middle" fill="${onAccent}">Open wallet</text></svg> `;
}

async function planSettings(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const { at, form } = visit;
  const before = await valuesOf(deps, visit);
  if (!before) return null;
  const changed: [Field, StoreValues[keyof StoreValues]][] = [];
  for (const field of fields) {
    const typed = (form[field.key] ?? '').trim();
    if (typed === field.write(before)) continue;
    const value = field.read(typed);
    if (value === undefined) return storePage(deps, visit, `“${field.label}” cannot be “${typed}”.`);
    changed.push([field, value]);
  }
  if (changed.length === 0) return { to: pathOf(at), said: 'Nothing was changed.' };
  const changes = Object.fromEntries(changed.map(([{ key }, value]) => [key, value])) as Partial<StoreValues>;
  const after = { ...before, ...changes };
  return {
    command: 'change store',
    target: at.storeId,
    review: {
      title: 'Save the policy?',
      consequence: table(
        'Changes',
        ['Setting', 'Now', 'From now on'],
        changed.map(([{ label, write }]) => [label, write(before), write(after)]),
      ),
      button: 'Save',
      back: pathOf(at),
      needsSudo: changed.some(([{ needsSudo }]) => needsSudo),
    },
    async act(database, act) {
      await database.updateStore(at.storeId, changes, act, false);
      return { to: pathOf(at), said: 'The policy is saved.' };
    },
  };
}

/** Returns origins as browsers write them: anything else would never match, or match too much. Null for any other. */
function readOrigins(text: string): readonly string[] | null {
  const origins = [...new Set(text.split(/[\s,]+/).filter((one) => one !== ''))];
  const isOrigin = (one: string) =>
    URL.canParse(one) && new URL(one).origin === one && /^https?:$/.test(new URL(one).protocol);
  return origins.length <= ORIGINS_MAX && origins.every(isOrigin) ? origins : null;
}

async function planLook(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const { at, form } = visit;
  const typed = (form.accent ?? '').trim();
  const accent = typed === '' ? null : readAccent(typed);
  const embedOrigins = readOrigins(form.origins ?? '');
  const replyTo = (form.receipts ?? '').trim();
  const receiptsReplyTo = replyTo === '' ? null : replyTo;
  if (typed !== '' && accent === null) return storePage(deps, visit, 'A colour is written like #0b6e5f.');
  if (!embedOrigins) {
    return storePage(deps, visit, `Name at most ${ORIGINS_MAX} sites, such as https://shop.example, without a path.`);
  }
  if (receiptsReplyTo !== null && !isMailAddress(receiptsReplyTo)) {
    return storePage(deps, visit, `“${receiptsReplyTo}” is no mail address.`);
  }
  return {
    command: 'change payment page',
    target: at.storeId,
    review: {
      title: 'Save the look?',
      consequence: html`${previews(accent)}${facts([
        ['Colour', accent ?? 'the usual one'],
        ['May frame the page', embedOrigins.join(', ') || 'nobody'],
        ['Receipts by mail', receiptsReplyTo === null ? 'none' : `answers go to ${receiptsReplyTo}`],
      ])}`,
      button: 'Save',
      back: pathOf(at),
      needsSudo: false,
    },
    async act(database) {
      await database.setPageSettings(at.storeId, { accent, embedOrigins, receiptsReplyTo });
      return { to: pathOf(at), said: 'The look is saved.' };
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
<label>${visit.words.say('store.name')} <input name="name" maxlength="${NAME_CHARS_MAX}" value="${visit.form.name ?? ''}" required></label>
<label>${visit.words.say('store.channel')} <select name="channel"><option translate="no">API</option></select></label>
<label>${visit.words.say('store.converted')} <select name="settlement">${currencies.map((one) => html`<option translate="no">${one}</option>`)}</select></label>
<p class="hint">${visit.words.say('store.approval_hint')}</p>
<button>${visit.words.say('frame.go_on')}</button></form>`,
});

async function planStore(deps: DashboardDeps, visit: Visit<null>): Promise<Planned> {
  const { form, visitor, nowMs, words } = visit;
  const name = readName((form.name ?? '').trim());
  const settlementCurrency = currencies.find((one) => one === form.settlement);
  if (name === undefined || !settlementCurrency || form.channel !== 'API') {
    return newStoreForm(visit, words.say('store.new_fault', { count: NAME_CHARS_MAX }));
  }
  const id = `mer_${idOfForm(visitor, form.once, nowMs)}`;
  const path = pathOf({ storeId: id, mode: 'test' });
  if (await deps.database.findStore(id)) return { to: path, said: words.say('store.created_already') };
  const { memberships } = visitor.person;
  const own = await Promise.all(memberships.map(({ storeId }) => storeId && deps.database.findStore(storeId)));
  if (own.filter((store) => store && store.status === 'pending' && !store.refusal).length >= PENDING_MAX) {
    return newStoreForm(visit, words.say('store.too_many_pending', { count: PENDING_MAX }));
  }
  return {
    command: 'create store',
    target: id,
    review: {
      title: words.say('store.create_title', { name }),
      consequence: facts([
        [words.say('general.name'), data(name)],
        [words.say('store.channel'), data('API')],
        [words.say('store.converted'), data(settlementCurrency)],
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
      await database.createStore({ ...made, id, status: 'pending' }, act);
      await database.setMembership(visitor.person.id, { role: 'owner', storeId: id }, act);
      return { to: path, said: words.say('store.created') };
    },
  };
}
