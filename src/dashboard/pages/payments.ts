/** A store's payments: the list, with one search box and filters; and the list as CSV. */
import { refuse, say } from '../../acts/act.ts';
import { minorText, titleOf } from '../../acts/refund-words.ts';
import { formatUnits, MINOR_DECIMALS, PAR_DECIMALS, parseUnits } from '../../core/money.ts';
import type { EarlierRefund } from '../../core/refund.ts';
import { nameOf } from '../../core/transfer.ts';
import { type SessionFilter, type SessionSummary, sessionFlags } from '../../database/session.ts';
import type { Cells } from '../../lib/export-text.ts';
import { type Html, html } from '../../lib/html.ts';
import { parseSessionId } from '../../lib/id.ts';
import { exponentOf } from '../../rates/currencies.ts';
import { type Chosen, dayFields, daysOf, type Field, limitForm, readChosen } from '../../web/filters.ts';
import { type Column, list } from '../../web/list.ts';
import { data, time } from '../../web/show.ts';
import { writeSlices } from '../../web/slices.ts';
import { browserAct, formOf, pageWith } from '../act-form.ts';
import { actOf, type DashboardDeps } from '../deps.ts';
import { type Listing, showList } from '../listing.ts';
import { type Page, pathIn, type Reply, type StoreAt, type StorePage, type Visit } from '../page.ts';
import { findPayments, findPlaces, SEARCHED_CHARS_MAX } from '../search.ts';
import { confirmedCoins, confirmedText, networksOf, oddities, price, refundedText, sessionState } from '../show.ts';
import type { Words } from '../texts.ts';

const statuses = ['pending', 'paid', 'expired', 'canceled', 'failed'] as const;

const ORDER_CHARS_MAX = 128;

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
      : { said: say('The payment is made. Send its payer the link to its page.'), json: made };
  },
});
const making = formOf(makePayment, { path: PATH, inputs: ['amount', 'currency', 'order'], to: `${PATH}/:id` });

export function paymentsPages(deps: DashboardDeps): readonly Page[] {
  const payments = paymentList(deps);
  const file: StorePage = {
    method: 'get',
    path: `${PATH}.csv`,
    needs: 'payments:export',
    answer: (visit) => answerFile(deps, visit),
  };
  const page = {
    path: PATH,
    needs: 'payments:read',
    answer(visit: Visit<StoreAt>) {
      const text = (visit.query.get('q') ?? '').trim();
      return text === '' ? listPage(payments, visit) : found(deps, payments, visit, text);
    },
  } as const;
  return [...pageWith(deps, page, [making]), file];
}

async function listPage(payments: Listing<StoreAt, SessionSummary>, visit: Visit<StoreAt>): Promise<Reply> {
  const { form, isLimited, table } = await showList(payments, visit);
  return {
    title: payments.caption(visit),
    content: html`${newPayment(visit)}${controls(visit, '', form, isLimited)}${table}`,
  };
}

function newPayment(visit: Visit<StoreAt>): Html | null {
  const { words } = visit;
  const form = making.show(visit, {
    ...{ button: words.say('Make the payment'), opens: words.say('New payment'), look: 'main' },
    texts: { currency: 'USD' },
  });
  return form && html`<div class="card">${form}</div>`;
}

const paymentList = (deps: DashboardDeps): Listing<StoreAt, SessionSummary> => ({
  path: PATH,
  caption: ({ at, words }) => words.say(at.mode === 'test' ? 'Test payments' : 'Payments'),
  fields: fieldsOf,
  async read(visit, chosen, after, limit) {
    const filter = filterOf(visit, chosen);
    const page = { beforeId: parseSessionId(after ?? ''), limit };
    const { sessions, goOnId } = await deps.database.sessions.list({ ...filter, ...page });
    return { rows: sessions, goOn: goOnId };
  },
  columns: (visit, sessions) => columnsOf(deps, visit, sessions),
  empty({ at, words }, why) {
    // A list by flag and status looks at a bounded number of payments for each page.
    if (why === 'rest') return words.say('Nothing here yet; older payments may match.');
    const all = allLink(words, at);
    return why === 'no match'
      ? words.html('No payment matches. {all}', { all })
      : words.html(`payments.empty_${at.mode}`);
  },
  hasFile: true,
});

function fieldsOf({ words }: Visit<StoreAt>): readonly Field[] {
  return [
    {
      ...{ name: 'status', label: words.say('Status') },
      choices: statuses.map((one) => [one, words.say(`general.status_${one}`)]),
    },
    {
      ...{ name: 'flag', label: words.say('Notable') },
      choices: sessionFlags.map((one) => [one, words.say(`payments.flag_${one}`)]),
    },
    ...dayFields(words),
  ];
}

const filterOf = ({ at, zone }: Visit<StoreAt>, chosen: Chosen): SessionFilter => ({
  ...at,
  status: statuses.find((one) => one === chosen.status) ?? null,
  flag: sessionFlags.find((one) => one === chosen.flag) ?? null,
  ...daysOf(chosen, zone),
});

const allLink = (words: Words, at: StoreAt): Html =>
  html`<a href="${pathIn(at, 'payments')}">${words.say('Show all')}</a>`;

async function found(
  deps: DashboardDeps,
  payments: Listing<StoreAt, SessionSummary>,
  visit: Visit<StoreAt>,
  text: string,
): Promise<Reply> {
  const { at, path, words } = visit;
  const sessions = await findPayments(deps, at, text);
  const places = await findPlaces(deps, at, text);
  const hrefs = [...sessions.map(({ id }) => pathIn(at, `payments/${id}`)), ...places.map(({ href }) => href)];
  if (hrefs.length === 1 && hrefs[0]) return { to: hrefs[0] };
  const other: StoreAt = { ...at, mode: at.mode === 'live' ? 'test' : 'live' };
  const count = (await findPayments(deps, other, text)).length + (await findPlaces(deps, other, text)).length;
  const elsewhere = html`<p><a href="${pathIn(other, 'payments')}?q=${encodeURIComponent(text)}">${words.say(`payments.found_${other.mode}`, { count })}</a></p>`;
  const named = places.map(
    ({ kind, name, href }) => html`<li><a href="${href}">${words.html(`payments.place_${kind}`, { name })}</a></li>`,
  );
  const none = html`<p class="card">${words.html(`payments.none_${at.mode}`, { text, all: allLink(words, at) })}</p>`;
  const form = limitForm(words, path, fieldsOf(visit), {});
  const caption = payments.caption(visit);
  const columns = await columnsOf(deps, visit, sessions);
  const table = sessions.length > 0 ? list({ caption, columns, rows: sessions, empty: '' }) : null;
  return {
    title: caption,
    content: html`${controls(visit, text, form, false)}
${named.length > 0 ? html`<ul class="card">${named}</ul>` : null}${table}
${hrefs.length === 0 ? none : null}${count > 0 ? elsewhere : null}`,
  };
}

const controls = ({ path, words }: Visit<StoreAt>, text: string, form: Html | null, isOpen: boolean): Html =>
  html`<form method="get" action="${path}" class="controls" role="search">
<label>${words.say('Find')} <input name="q" type="search" value="${text}" maxlength="${SEARCHED_CHARS_MAX}" placeholder="${words.say('Order, session, transaction, address, refund, event or request')}"></label>
<button class="plain">${words.say('Find')}</button>
</form>
<details class="filter"${isOpen ? html` open` : null}><summary>${words.say('Filter')}</summary>${form}</details>`;

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

/** Answers with the list as a file, which is recorded first. */
async function answerFile(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const { at, query, visitor, nowMs, zone } = visit;
  const { database, clock } = deps;
  const chosen = readChosen(fieldsOf(visit), query);
  const after = { mode: at.mode, ...(chosen as Readonly<Record<string, string>>) };
  await database.audit.record(actOf(visitor.person, 'export payments', clock), {
    ...{ target: at.storeId, before: null, after },
  });
  const parts = writeSlices(clock, fileColumns, async (place) => {
    const page = { beforeId: parseSessionId(place ?? ''), limit: SLICE_ROWS };
    const { sessions, goOnId } = await database.sessions.list({ ...filterOf(visit, chosen), ...page });
    return { rows: await cellsOf(deps, sessions), goOn: goOnId };
  });
  const name = `payments-${at.storeId}-${at.mode}-${daysText(chosen, zone, nowMs)}.csv`;
  return { file: name, type: 'text/csv; charset=utf-8', parts };
}

/** Names the days of a file, with their zone, or the day on which it was made. */
function daysText({ from, to }: Chosen, zone: string, nowMs: number): string {
  if (from === undefined || to === undefined) return `${new Date(nowMs).toISOString().slice(0, 10)}-utc`;
  return `${from}-to-${to}-${zone.toLowerCase().replaceAll(/[^a-z0-9+-]+/g, '-')}`;
}

/** As many sessions as take some 2 ms of the thread. */
const SLICE_ROWS = 25;

const fileColumns = [
  ...['created', 'session', 'order', 'status', 'flags', 'description', 'amount', 'currency', 'rate', 'rate_source'],
  ...['received', 'coins', 'paid', 'network', 'tx', 'refunded'],
];

/** Transactions of one payment that the file names. */
const TRANSACTIONS_MAX = 20;

async function cellsOf({ database }: DashboardDeps, sessions: readonly SessionSummary[]): Promise<readonly Cells[]> {
  const ids = sessions.map(({ id }) => id);
  const refunds = await database.refunds.ofSession(ids);
  return Promise.all(
    sessions.map(async (one) => paymentCells(one, await transactionsOf(database, one.id), refunds.get(one.id) ?? [])),
  );
}

/** Returns the confirmed transactions of a payment, the oldest first. */
async function transactionsOf({ sessions }: DashboardDeps['database'], id: string): Promise<readonly string[]> {
  const counted = (await sessions.payments(id)).filter(({ state }) => state === 'confirmed' || state === 'final');
  return [...new Set(counted.map(({ tx }) => tx))].slice(0, TRANSACTIONS_MAX);
}

const isoTime = (s: number): string => new Date(s * 1000).toISOString();

/** Where the rate is from: `par` where one coin stands for one unit of the currency, else the sources of the median. */
const rateSource = ({ conversion }: SessionSummary): string =>
  conversion === null ? 'par' : (conversion.sources?.join(' + ') ?? 'locked');

function paymentCells(
  session: SessionSummary,
  transactions: readonly string[],
  refunds: readonly EarlierRefund[],
): Cells {
  const { request, life, standing, conversion } = session;
  const exponent = exponentOf(request.currency) ?? 0;
  return [
    ...[isoTime(session.createdAtS), session.id, request.orderId, life.status],
    ...[oddities(session).join(', ').replaceAll('_', ' ') || null, request.description ?? null],
    ...[formatUnits(request.amountMinor, exponent, exponent), request.currency],
    ...[conversion?.rate ?? null, rateSource(session)],
    formatUnits(standing.confirmedPar, PAR_DECIMALS, MINOR_DECIMALS),
    confirmedCoins(session).join(' + ') || null,
    life.paidAtS === null ? null : isoTime(life.paidAtS),
    ...[networksOf(session).map(nameOf).join(' ') || null, transactions.join(' ') || null],
    refundedText(refunds, minorText) || null,
  ];
}
