/**
 * Refunds of a store: the list with filters; one refund, what it waits for, who did what, and what can be
 * decided about it now.
 */

import { isRefusal, refuse, say } from '../../acts/act.ts';
import { createRefund, leftText, paymentOf } from '../../acts/refund-create.ts';
import { amountText, minorText, shownMinor, titleOf } from '../../acts/refund-words.ts';
import {
  approveRefund,
  cancelRefund,
  redirectRefund,
  refundOf,
  rejectRefund,
  waitsForApproval,
} from '../../acts/refunds.ts';
import { delayOf } from '../../core/payout.ts';
import type { RefundStatus } from '../../core/refund.ts';
import { currencies } from '../../core/transfer.ts';
import type { Refund } from '../../database/refunds/refund.ts';
import { type Html, html } from '../../lib/html.ts';
import { claimUrl } from '../../payments/destination.ts';
import { dayFields, daysOf, pageOf } from '../../web/filters.ts';
import { type Column, facts, section } from '../../web/list.ts';
import { badge, data, english, grouped, type Tone, time } from '../../web/show.ts';
import { browserAct, formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import { type Listing, showList } from '../listing.ts';
import { may, type Page, pathIn, type Reply, type StoreAt, type Visit } from '../page.ts';
import { coinNames, confirmedText, explorerOf, shownOnChain } from '../show.ts';
import type { Words } from '../texts.ts';

const PATH = '/s/:store/:mode/refunds';

export function refundsPages(deps: DashboardDeps): readonly Page[] {
  const refunds = refundList(deps);
  return [
    ...pageWith(deps, { path: PATH, needs: 'payments:read', answer: (visit) => listPage(refunds, visit) }, []),
    ...pageWith(deps, { path: REFUND_PATH, needs: 'payments:read', answer: (visit) => refundPage(deps, visit) }, [
      ...[approving, refusing, canceling, redirecting, linking],
    ]),
    ...pageWith(deps, { path: NEW_PATH, needs: 'refunds:request', answer: (visit) => newRefundPage(deps, visit) }, [
      creation,
    ]),
  ];
}

async function listPage(refunds: Listing<StoreAt, Refund>, visit: Visit<StoreAt>): Promise<Reply> {
  const { form, table } = await showList(refunds, visit);
  return { title: refunds.caption(visit), content: html`${form}${table}` };
}

const refundList = (deps: DashboardDeps): Listing<StoreAt, Refund> => ({
  path: PATH,
  caption: ({ at, words }) => words.say(at.mode === 'test' ? 'Test refunds' : 'Refunds'),
  fields: ({ words }) => [
    {
      name: 'status',
      label: words.say('Status'),
      choices: [
        ...statuses.map((one) => [one, words.say(`refunds.status_${one}`)] as const),
        ['approval', words.say('refunds.needs_approval')],
      ],
    },
    ...dayFields(words),
  ],
  async read({ at, zone }, chosen, after, limit) {
    const last = after === null ? null : await deps.database.refunds.findBy({ id: after });
    const isOwn = last?.storeId === at.storeId && last.mode === at.mode;
    const status = statuses.find((one) => one === chosen.status);
    const found = await deps.database.refunds.list({
      ...at,
      ...(status && { status }),
      isUnapproved: chosen.status === 'approval',
      ...daysOf(chosen, zone),
      ...(isOwn && { before: last }),
      limit: limit + 1,
    });
    return pageOf(found, limit, ({ id }) => id);
  },
  columns: (visit) => columnsOf(deps, visit),
  empty: ({ words }) =>
    words.html(
      'Refunds that you or your shop make appear here. A payment’s page makes one, or `POST /api/v1/refunds/create`.',
    ),
});

const columnsOf = ({ config }: DashboardDeps, { at, words }: Visit<StoreAt>): readonly Column<Refund>[] => [
  [words.say('Created at'), ({ createdAtMs }) => time(createdAtMs), 'newest'],
  [
    words.say('Refund id'),
    ({ id, heldKind, refundId }) =>
      html`<a href="${pathIn(at, `refunds/${id}`)}">${heldKind === null ? data(refundId) : words.say('return of held money')}</a>`,
  ],
  [
    words.say('Order'),
    ({ sessionId, orderId }) => html`<a href="${pathIn(at, `payments/${sessionId}`)}">${data(orderId)}</a>`,
  ],
  [words.say('Amount'), (one) => data(amountText(one)), 'number lead'],
  [words.say('Network'), ({ network }) => data(titleOf(config.networks, network))],
  [
    words.say('To'),
    ({ network, destination }) =>
      destination ? shownOnChain({ config, words }, { network, kind: 'address', text: destination.address }) : '–',
  ],
  [words.say('Status'), (one) => refundState(words, one), 'lead'],
];

const REFUND_PATH = '/s/:store/:mode/refunds/:refund';

const refundField = { label: say('Refund id'), isArgument: true } as const;

/** The link's holder may name the refund's address, so each person who sees the link is recorded. */
const showLink = browserAct({
  name: 'show claim link',
  needs: 'payments:manage',
  asks: 'second factor',
  fields: { refund: refundField },
  async plan(context, { refund: named }) {
    const refund = await refundOf(context, named);
    if (isRefusal(refund)) return refund;
    const { id, claim } = refund;
    if (!claim || !waitsForAddress(refund)) return refuse('refused', say('The refund waits for no address any more.'));
    return { id, url: claimUrl(claim.token, context.deps.config) };
  },
  review: () => ({
    title: say('Link for the payer of this refund'),
    notes: [
      say(
        'This link lets its holder name the address that this refund goes to. Give it to the payer and nobody else. The audit log says who has seen it.',
      ),
    ],
    button: say('Show the link'),
  }),
  async run({ database, act }, { id, url }) {
    await database.audit.record(act, { target: id, before: null, after: null });
    return {
      made: say('Link for the payer of this refund'),
      said: say('Send it to the payer in private. It needs no password.'),
      facts: [[say('Link for the payer'), { code: url }]],
      json: {},
    };
  },
});

const approving = formOf(approveRefund, { path: `${REFUND_PATH}/approve`, inputs: ['seen'] });
const refusing = formOf(rejectRefund, { path: `${REFUND_PATH}/refuse` });
const canceling = formOf(cancelRefund, { path: `${REFUND_PATH}/cancel` });
const redirecting = formOf(redirectRefund, { path: `${REFUND_PATH}/destination`, inputs: ['address'] });
const linking = formOf(showLink, { path: `${REFUND_PATH}/link` });

/** Renders one refund, with the forms for what can be done about it now. */
async function refundPage(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const { at, params, words } = visit;
  const refund = await refundOf({ database: deps.database, scope: at }, params.refund ?? '');
  if (isRefusal(refund)) return null;
  return {
    title: words.say('Refund of {amount}', { amount: amountText(refund) }),
    content: html`<p><a href="${pathIn(at, 'refunds')}">${words.say('All refunds')}</a></p>
<section class="card" aria-labelledby="state"><h2 id="state">${refundState(words, refund)}</h2>
${await waiting(deps, visit, refund)}${await described(deps, visit, refund)}</section>
${await forms(deps, visit, refund)}`,
  };
}

async function described(deps: DashboardDeps, visit: Visit<StoreAt>, refund: Refund): Promise<Html> {
  const { at, words } = visit;
  const { config } = deps;
  const { network, destination, reason, description, failureReason, tx, receiptNumber } = refund;
  const timeOf = (title: string, ms: number | null) => (ms === null ? null : ([title, time(ms)] as const));
  return facts([
    [words.say('Refund id'), html`<code>${refund.refundId}</code>`],
    [words.say('Order'), html`<a href="${pathIn(at, `payments/${refund.sessionId}`)}">${data(refund.orderId)}</a>`],
    [words.say('Network'), data(titleOf(config.networks, network))],
    [
      words.say('To'),
      destination
        ? words.html('{address} ({source})', {
            address: html`${grouped(destination.address)}${explorerOf({ config, words }, { network, kind: 'address', text: destination.address })}`,
            source: words.say(`refunds.source_${destination.from}`),
          })
        : words.say('no address yet'),
    ],
    ...(await backgroundOf(deps, visit, refund)),
    reason === null ? null : [words.say('Reason'), words.say(`refunds.reason_${reason}`)],
    description === null ? null : [words.say('Note'), data(description)],
    failureReason === null ? null : [words.say('Why it failed'), data(failureReason)],
    tx === null
      ? null
      : [words.say('Transaction'), shownOnChain({ config, words }, { network, kind: 'tx', text: tx }, 'whole')],
    receiptNumber === null ? null : [words.say('Receipt'), data(receiptNumber)],
    timeOf(words.say('Processing since'), refund.processingAtMs),
    timeOf(words.say('Canceled at'), refund.canceledAtMs),
    timeOf(words.say('Ended at'), refund.processedAtMs),
  ]);
}

/** Says what the refund waits for. */
async function waiting(deps: DashboardDeps, visit: Visit<StoreAt>, refund: Refund): Promise<Html> {
  const { database } = deps;
  const { nowMs, words } = visit;
  const { id, status, claim } = refund;
  if (claim && waitsForAddress(refund)) {
    const showing = linking.show(visit, { button: words.say('Show the link') });
    return html`<p>${words.html('It waits until {time} for the payer’s address. The payer names it with a link of their own.', { time: time(claim.untilS * 1000) })}</p>${showing}`;
  }
  const above = waitsForApproval(refund)
    ? html`<p>${words.say('It needs an approval. With it, this payment, this address or its requester gets more in 24 hours than the store refunds without one.')}</p>`
    : null;
  if (status !== 'processing') return html`${above}`;
  const unsigned = withoutSigner(deps, words);
  const payout = await database.payouts.find(id);
  const delay = payout && delayOf(payout);
  const cancelUntilMs = await cancelEndMs(database, refund);
  const signing = html`<p class="message attention">${words.say('The signer pays this refund only with the signature of an approver, made on a machine of their own.')} <code data-copy>quayside show ${id} --request</code></p>`;
  return html`${above}${unsigned}${cancelUntilMs > nowMs ? html`<p>${words.html('It can be canceled until {time}, unless it is signed first.', { time: time(cancelUntilMs) })}</p>` : null}
${delay ? html`<p class="message attention">${english(delay.message)}</p>` : null}${delay?.code === 'signer_refused_approval' ? signing : null}`;
}

/** Says that an installation without a signer pays no refunds; null where one is configured. */
const withoutSigner = ({ config }: DashboardDeps, words: Words): Html | null =>
  config.signer === null
    ? html`<p class="message attention">${words.say('This installation only receives. A refund waits until its operator has set up a signer.')}</p>`
    : null;

const cancelEndMs = async (database: DashboardDeps['database'], refund: Refund): Promise<number> =>
  (refund.processingAtMs ?? 0) + (await database.stores.values(refund.storeId)).refundCancelWindowS * 1000;

/** The forms for what this visitor may do about the refund in its state. */
async function forms({ database }: DashboardDeps, visit: Visit<StoreAt>, refund: Refund): Promise<Html> {
  const { nowMs, words } = visit;
  const { status, heldKind, destination } = refund;
  const approve = destination
    ? approving.show(visit, { button: words.say('Approve'), given: { seen: destination.key }, look: 'main' })
    : html`<p>${words.say('Nothing can be approved yet: somebody has to name the address first. The approval then counts for that address alone.')}</p>`;
  const refusal = { button: words.say('Refuse'), reason: say('Why it is refused') };
  const deciding = html`${approve}${refusing.show(visit, refusal)}`;
  const isOpen = (status === 'pending' || status === 'processing') && heldKind === null;
  const isCancelable = isOpen && status === 'processing' && (await cancelEndMs(database, refund)) > nowMs;
  const cancel = isCancelable ? canceling.show(visit, { button: words.say('Cancel this refund') }) : null;
  const redirect = isOpen
    ? redirecting.show(visit, {
        button: words.say('Change the address'),
      })
    : null;
  const mayDecide = may(visit, 'refunds:decide') && waitsForApproval(refund);
  const naming = words.say(destination ? 'Send it to another address' : 'Name the address yourself');
  return html`${mayDecide ? section('decide', words.say('Approve or refuse'), deciding) : null}
${cancel && html`<div class="card">${cancel}</div>`}
${redirect && section('redirect', naming, redirect)}`;
}

const statuses: readonly RefundStatus[] = ['pending', 'processing', 'completed', 'failed', 'canceled'];

/** Whether the payer has to name an address. */
const waitsForAddress = ({ status, destination, claim }: Refund): boolean =>
  status === 'pending' && destination === null && claim !== null;

const tones: Readonly<Record<RefundStatus, Tone>> = {
  pending: 'wait',
  processing: 'wait',
  completed: 'good',
  failed: 'danger',
  canceled: 'wait',
};

/** Shows the status, and what it waits for. */
export function refundState(words: Words, refund: Refund): Html {
  const waits = [
    ...(refund.status === 'pending' && !refund.destination ? (['address'] as const) : []),
    ...(waitsForApproval(refund) ? (['approval'] as const) : []),
  ];
  return html`<span>${refundBadge(words, refund)}${waits.map((what) => html` ${badge(words.say(`refunds.needs_${what}`), 'attention')}`)}</span>`;
}

export const refundBadge = (words: Words, { status }: Pick<Refund, 'status'>): Html =>
  badge(words.say(`refunds.status_${status}`), tones[status]);

/** Returns who asked, what the payment received, and what is left of it: facts for an approver. */
async function backgroundOf(
  { database }: DashboardDeps,
  { words, nowMs }: Visit<StoreAt>,
  refund: Refund,
): Promise<Parameters<typeof facts>[0]> {
  const { requestedBy, heldKind, createdAtMs, approvedAtMs } = refund;
  const person = (await database.people.list()).find(({ id }) => id === requestedBy);
  const asked = person?.name ?? words.say(heldKind === null ? 'your shop, through the API' : 'the operator');
  const session = await database.sessions.find(refund.sessionId);
  const received = session && confirmedText(session);
  const room = heldKind === null ? await database.refunds.room(refund.sessionId, nowMs) : null;
  return [
    [words.say('Asked for by'), words.html('{person}, {time}', { person: asked, time: time(createdAtMs) })],
    approvedAtMs === null ? null : [words.say('Approved at'), time(approvedAtMs)],
    received ? [words.say('The payment received'), data(received)] : null,
    room && [words.say('Left after all its refunds'), data(leftText(room) || '–')],
  ];
}

// ── A new refund ──────────────────────────────────────────────────────────────────────────────────────────

const DAY_S = 86_400;
const NEW_PATH = '/s/:store/:mode/payments/:payment/refund';

const creation = formOf(createRefund, {
  path: NEW_PATH,
  inputs: ['amount', 'currency', 'address', 'reason', 'description'],
  to: '/s/:store/:mode/refunds/:refund',
});

/** Renders the form for a refund of a payment, with what is left and what the store may refund. */
async function newRefundPage(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const { database, config } = deps;
  const { at, form, nowMs, params, words } = visit;
  const session = await paymentOf({ database, scope: at }, params.payment ?? '');
  if (!session) return null;
  const room = (await database.refunds.room(session.id, nowMs)) ?? { coins: [], dayLeftMinor: 0n };
  const chosen = room.coins.find(({ currency }) => currency === form.currency) ?? room.coins[0];
  const anyCoin = coinNames(room.coins.length > 0 ? room.coins.map(({ currency }) => currency) : currencies);
  const { refundDailyMinor, refundWindowS } = await database.stores.values(at.storeId);
  const left = chosen && chosen.leftMinor > 0n ? minorText(chosen.leftMinor) : '';
  const coins = room.coins.map(({ currency, network }) => {
    const on = { currency, network: titleOf(config.networks, network) };
    return [currency, say('{currency} on {network}', on)] as const;
  });
  const refunding = creation.show(visit, {
    button: words.say('Continue'),
    look: 'main',
    texts: { amount: left },
    offers: { currency: Object.fromEntries(coins) },
  });
  const soFar = facts([
    [words.say('Received'), data(confirmedText(session) ?? '–')],
    [words.say('Left to refund'), data(leftText(room) || '–')],
    [
      words.say('The store may refund'),
      words.html('{amount} a day, {left} of it left today; {days} days after a payment', {
        amount: `${shownMinor(BigInt(refundDailyMinor))} ${anyCoin}`,
        left: `${shownMinor(room.dayLeftMinor)} ${anyCoin}`,
        days: Math.floor(refundWindowS / DAY_S),
      }),
    ],
  ]);
  return {
    title: words.say('Refund order {order}', { order: session.request.orderId }),
    content: html`${withoutSigner(deps, words)}${section('so-far', words.say('So far'), soFar)}
${section('new', words.say('New refund'), html`${refunding}`)}`,
  };
}
