/** A store's payments: the list with filters, the search, and the form for a new one. */
import { refuse, say } from '../../acts/act.ts';
import { titleOf } from '../../acts/refund-words.ts';
import { MINOR_DECIMALS, parseUnits } from '../../core/money.ts';
import type { SessionSummary } from '../../database/session.ts';
import { type Html, html } from '../../lib/html.ts';
import { firstSessionId, parseSessionId } from '../../lib/id.ts';
import { exponentOf } from '../../rates/currencies.ts';
import { dayFields, daysOf, type Field, pageOf } from '../../web/filters.ts';
import { type Column, list } from '../../web/list.ts';
import { data, time } from '../../web/show.ts';
import { browserAct, formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import { pageNamed } from '../frame.ts';
import { type Listing, showList } from '../listing.ts';
import { type Page, pathIn, type Reply, type StoreAt, type Visit } from '../page.ts';
import { findPayments, findPlaces } from '../search.ts';
import { confirmedText, networksOf, price, refundedText, sessionState } from '../show.ts';
import type { Words } from '../texts.ts';
import { BOOKS_PATH } from './books.ts';

const statuses = ['pending', 'paid', 'expired', 'canceled', 'failed'] as const;

const ORDER_CHARS_MAX = 128;
/** After every payment, even after those that were made before the clock was set back (Unix ms, the year 2286). */
const LAST_MS = 9_999_999_999_999;

const PATH = '/s/:store/:mode/payments';

/** A payment that a person asks for, such as one by a link in a mail. */
const makePayment = browserAct({
  name: 'create payment',
  needs: 'payments:manage',
  fields: {
    amount: { label: say('Amount'), example: '12.34', isRequired: true },
    currency: { label: say('Price in'), charsMax: 4, isRequired: true },
    order: { label: say('Order'), charsMax: ORDER_CHARS_MAX, isRequired: true },
  },
  async plan({ scope }, { amount, currency: typed, order: orderId }) {
    const currency = typed.toUpperCase();
    const amountMinor = parseUnits(amount, exponentOf(currency) ?? MINOR_DECIMALS);
    if (amountMinor === null || !scope) return refuse('usage', say('Write the amount in digits, such as 12.34.'));
    return { scope, order: { amountMinor, currency, orderId } };
  },
  async run({ deps, newId, act }, { scope, order }) {
    const replay = { idempotencyKey: newId, path: 'dashboard: create payment', act };
    const made = await deps.createPayment(scope, order, replay);
    return 'refusal' in made
      ? refuse('refused', say(made.refusal))
      : { said: say('The payment is created. Send its payer the link to its page.'), json: made };
  },
});
const making = formOf(makePayment, { path: PATH, inputs: ['amount', 'currency', 'order'], to: `${PATH}/:id` });

export function paymentsPages(deps: DashboardDeps): readonly Page[] {
  const payments = paymentList(deps);
  const page = {
    path: PATH,
    needs: 'payments:read',
    answer(visit: Visit<StoreAt>) {
      const text = (visit.query.get('q') ?? '').trim();
      return text === '' ? listPage(payments, visit) : found(deps, payments, visit, text);
    },
  } as const;
  return pageWith(deps, page, [making]);
}

async function listPage(payments: Listing<StoreAt, SessionSummary>, visit: Visit<StoreAt>): Promise<Reply> {
  const { form, table } = await showList(payments, visit);
  return { title: payments.caption(visit), content: html`${newPayment(visit)}${form}${table}` };
}

function newPayment(visit: Visit<StoreAt>): Html | null {
  const { words } = visit;
  const form = making.show(visit, {
    button: words.say('Create the payment'),
    opens: words.say('New payment'),
    look: 'main',
    texts: { currency: 'USD' },
  });
  return form && html`<div class="card">${form}</div>`;
}

const paymentList = (deps: DashboardDeps): Listing<StoreAt, SessionSummary> => ({
  path: PATH,
  caption: ({ at, words }) => words.say(at.mode === 'test' ? 'Test payments' : 'Payments'),
  fields: fieldsOf,
  async read({ at, zone }, chosen, after, limit) {
    const { fromMs, toMs } = daysOf(chosen, zone);
    const untilId = firstSessionId(toMs ?? LAST_MS);
    const [beforeId = untilId] = [untilId, parseSessionId(after ?? '') ?? untilId].sort();
    const found = await deps.database.sessions.list({
      ...at,
      orderId: null,
      status: [...statuses, 'held' as const].find((one) => one === chosen.status) ?? null,
      fromId: firstSessionId(fromMs ?? 0),
      beforeId,
      first: 'newest',
      limit: limit + 1,
    });
    return pageOf(found, limit, ({ id }) => id);
  },
  columns: (visit, sessions) => columnsOf(deps, visit, sessions),
  empty: ({ at, words }) => words.html(`payments.empty_${at.mode}`),
  file: BOOKS_PATH,
});

function fieldsOf({ words }: Visit<StoreAt>): readonly Field[] {
  return [
    {
      name: 'status',
      label: words.say('Status'),
      choices: [
        ...statuses.map((one) => [one, words.say(`general.status_${one}`)] as const),
        ['held', words.say('Held money')],
      ],
    },
    ...dayFields(words),
  ];
}

/** Leads to what a text names, or shows all that it may mean. */
async function found(
  deps: DashboardDeps,
  payments: Listing<StoreAt, SessionSummary>,
  visit: Visit<StoreAt>,
  text: string,
): Promise<Reply> {
  const { at, words, visitor } = visit;
  const named = pageNamed(deps.languages, text, { words, at, memberships: visitor.person.memberships });
  if (named !== null) return { to: named };
  const sessions = await findPayments(deps, at, text);
  const places = await findPlaces(deps, at, text);
  const hrefs = [...sessions.map(({ id }) => pathIn(at, `payments/${id}`)), ...places.map(({ href }) => href)];
  if (hrefs.length === 1 && hrefs[0]) return { to: hrefs[0] };
  const other: StoreAt = { ...at, mode: at.mode === 'live' ? 'test' : 'live' };
  const count = (await findPayments(deps, other, text)).length + (await findPlaces(deps, other, text)).length;
  const elsewhere = html`<p><a href="${pathIn(other, 'payments')}?q=${encodeURIComponent(text)}">${words.say(`payments.found_${other.mode}`, { count })}</a></p>`;
  const rows = places.map(
    ({ kind, name, href }) => html`<li><a href="${href}">${words.html(`payments.place_${kind}`, { name })}</a></li>`,
  );
  const all = html`<a href="${pathIn(at, 'payments')}">${words.say('Show all')}</a>`;
  const none = html`<p class="card">${words.html(`payments.none_${at.mode}`, { text, all })}</p>`;
  const caption = payments.caption(visit);
  const columns = await columnsOf(deps, visit, sessions);
  const table = sessions.length > 0 ? list({ caption, columns, rows: sessions, empty: '' }) : null;
  return {
    title: caption,
    content: html`${rows.length > 0 ? html`<ul class="card">${rows}</ul>` : null}${table}
${hrefs.length === 0 ? none : null}${count > 0 ? elsewhere : null}`,
  };
}

/** The amount received over the price, with the rate. */
const amounts = (words: Words, session: SessionSummary): Html => {
  const { conversion } = session;
  const asked = data(price(session));
  return html`${data(confirmedText(session) ?? '–')}<small>${conversion ? words.html('{asked} at {rate}', { asked, rate: data(conversion.rate) }) : asked}</small>`;
};

async function columnsOf(
  { database, config }: DashboardDeps,
  { at, words }: Visit<StoreAt>,
  sessions: readonly SessionSummary[],
): Promise<readonly Column<SessionSummary>[]> {
  const refunds = await database.refunds.ofSession(sessions.map(({ id }) => id));
  return [
    [words.say('Created at'), ({ createdAtS }) => time(createdAtS * 1000), 'newest'],
    [
      words.say('Order'),
      ({ id, request }) =>
        html`<a href="${pathIn(at, `payments/${id}`)}">${data(request.orderId)}</a>${request.description === null ? null : html`<small>${data(request.description)}</small>`}`,
    ],
    [words.say('Received, asked'), (one) => amounts(words, one), 'number lead'],
    [
      words.say('Network'),
      (one) =>
        data([...new Set(networksOf(one).map((network) => titleOf(config.networks, network)))].join(', ') || '–'),
    ],
    [words.say('Status'), (one) => sessionState(words, one), 'lead'],
    [words.say('Refunded'), ({ id }) => data(refundedText(refunds.get(id) ?? []) || '–'), 'number'],
  ];
}
