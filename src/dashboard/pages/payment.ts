/**
 * One payment: what was asked, what came, and everything that happened, in order of time.
 */

import { isAllowed, type StorePermission } from '../../core/access.ts';
import { MINOR_DECIMALS, shownUnits } from '../../core/money.ts';
import type { Delivery } from '../../database/deliveries.ts';
import type { StoredEvent } from '../../database/events.ts';
import type { Lookup } from '../../database/lookups.ts';
import type { Refund } from '../../database/refunds/refund.ts';
import type { Payment, Session } from '../../database/session.ts';
import type { SessionSweep } from '../../database/sweeps.ts';
import { type Html, html } from '../../lib/html.ts';
import { parseSessionId } from '../../lib/session-id.ts';
import { optionAddress } from '../../payments/option.ts';
import { paymentUrl } from '../../payments/payment-url.ts';
import { facts } from '../../web/list.ts';
import { changeFields, type Planned, storeChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { shownOnChain } from '../explorer.ts';
import { idOfForm } from '../once.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { coinNames, confirmedText, lateText, seenText } from '../received.ts';
import {
  badge,
  coins,
  copied,
  copyCode,
  data,
  faultMessage,
  networkTitle,
  price,
  sessionState,
  type Tone,
  time,
} from '../show.ts';
import type { Words } from '../texts.ts';
import { heldChanges, heldSection } from './held.ts';
import { pathOf, paymentPath } from './payments.ts';
import { addressOf, lookupText, type ShownTransfers, transactionOf, transferTable, unitsText } from './transfers.ts';
import { webhooksPath } from './webhooks.ts';

/** A page shows at most this many of a payment's events, deliveries and refunds. */
const SHOWN_MAX = 100;

export const paymentPages = (deps: DashboardDeps): readonly StorePage[] => [
  {
    method: 'get',
    path: '/s/:store/:mode/payments/:id',
    needs: 'payments:read',
    async answer(visit) {
      const session = await findPayment(deps, visit);
      return session && showPayment(deps, visit, session, null);
    },
  },
  storeChange(deps, {
    path: '/s/:store/:mode/payments/:id/cancel',
    needs: 'payments:manage',
    plan: (visit) => planCancel(deps, visit),
  }),
  ...heldChanges(deps, (visit, session, fault) => showPayment(deps, visit, session, fault)),
];

/** Returns the session that the path names; null where the store has none by that id in this mode. */
export async function findPayment(
  { database }: DashboardDeps,
  { at, params }: Visit<StoreAt>,
): Promise<Session | null> {
  const id = parseSessionId(params.id ?? '');
  const session = id === null ? null : await database.sessions.find(id);
  return session && session.storeId === at.storeId && session.mode === at.mode ? session : null;
}

export async function showPayment(
  deps: DashboardDeps,
  visit: Visit<StoreAt>,
  session: Session,
  fault: Html | string | null,
): Promise<Reply> {
  const { database, config } = deps;
  const { at, words } = visit;
  const events = await database.sessions.listEvents(session.id, SHOWN_MAX);
  const deliveries = await database.deliveries.list({ sessionId: session.id, limit: SHOWN_MAX });
  const refunds = await database.refunds.list({ sessionId: session.id, limit: SHOWN_MAX });
  const places = [...new Map(session.options.map(({ networkKey, family }) => [networkKey, family]))];
  const swept = places.map(([network, family]) => ({ network, family }));
  const sweeps = await database.listSessionSweeps(session.id, swept, SHOWN_MAX);
  const lookups = await database.lookups.list(session.id);
  const isRefundable = may(visit, 'refunds:request') && session.life.status === 'paid';
  return {
    title: words.say('payment.title', { order: session.request.orderId }),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}<p class="actions"><a href="${pathOf(at)}">${words.say('payment.all')}</a>${isRefundable ? html` <a href="${paymentPath(at, session)}/refund">${words.say('payment.refund')}</a>` : null}</p>
<section class="card" aria-labelledby="asked"><h2 id="asked" class="amounts">${data(confirmedText(session) ?? '–')} ${sessionState(words, session)}<small>${askedText(words, session)}</small></h2>${asked({ config, words }, session)}
${copied(words.say('payment.page'), paymentUrl(session, config))}${cancelForm(visit, session)}</section>
<section class="card" aria-labelledby="came"><h2 id="came">${words.say('payment.came')}</h2>${transferTable({ config, words }, session)}</section>
${await heldSection(deps, visit, session)}
<section class="card" aria-labelledby="history"><h2 id="history">${words.say('payment.history')}</h2>${history({ config, words, webhooks: may(visit, 'webhooks:read') ? webhooksPath(at) : null }, session, { events, deliveries, refunds, sweeps, lookups })}</section>
${metadata(words, session.request.metadata ?? {})}`,
  };
}

const may = ({ at, visitor }: Visit<StoreAt>, permission: StorePermission): boolean =>
  isAllowed(visitor.person.memberships, { permission, ...at });

/** Ends what is still open. */
function cancelForm(visit: Visit<StoreAt>, session: Session): Html | null {
  if (session.life.status !== 'pending' || !may(visit, 'payments:manage')) return null;
  return html`<form method="post" action="${paymentPath(visit.at, session)}/cancel">${changeFields(visit)}<button class="plain">${visit.words.say('payment.cancel')}…</button></form>`;
}

/** What was asked, with the rate at which it became coins, and when that was locked. */
const askedText = (words: Words, session: Session): Html => {
  const { conversion, createdAtS } = session;
  const asked = data(price(session));
  return conversion
    ? words.html('payment.asked_at', {
        asked,
        rate: data(conversion.rate),
        time: time(createdAtS * 1000),
        sources: conversion.sources ? html` (${data(conversion.sources.join(', '))})` : '',
      })
    : words.html('payment.asked', { asked });
};

/** `webhooks`: where deliveries have their pages, if the visitor may see them. */
type Shown = ShownTransfers & Readonly<{ webhooks?: string | null }>;

function asked({ config, words }: Shown, session: Session): Html {
  const { request, terms, conversion, options, life } = session;
  const none = `${coins(0n)} ${coinNames(terms.accepts)}`;
  const [seen, late] = [seenText(session), lateText(session)];
  const rate = conversion
    ? [[words.say('payment.rate'), data(`${conversion.rate} ${conversion.currency}`)] as const]
    : [];
  const ways = options.map(
    (option) =>
      html`<li>${words.html('payment.way', {
        amount: unitsText(option),
        network: networkTitle(config, `${session.mode}:${option.network}`),
        address: shownOnChain(
          { config, words },
          addressOf(`${session.mode}:${option.network}`, optionAddress(session, option)),
          'whole',
        ),
      })}</li>`,
  );
  return html`${facts([
    ...(request.description === null ? [] : [[words.say('payment.description'), data(request.description)] as const]),
    [words.say('payment.session'), copyCode(session.id)],
    [
      words.say('payment.due'),
      words.html('payment.due_in', { amount: coins(terms.duePar), coins: coinNames(terms.accepts) }),
    ],
    ...rate,
    [words.say('payment.confirmed'), data(confirmedText(session) ?? none)],
    ...(seen === null ? [] : [[words.say('payment.seen'), data(seen)] as const]),
    ...(late === null ? [] : [[words.say('payment.late'), data(late)] as const]),
    [words.say('payment.expires'), time(terms.expiresAtS * 1000)],
    ...(life.endedAtS === null ? [] : [[words.say('payment.ended'), time(life.endedAtS * 1000)] as const]),
  ])}
<details><summary>${words.say('payment.ways', { count: options.length })}</summary><ul>${ways}</ul></details>`;
}

type Happened = Readonly<{
  events: readonly StoredEvent[];
  deliveries: readonly Delivery[];
  refunds: readonly Refund[];
  sweeps: readonly SessionSweep[];
  lookups: readonly Lookup[];
}>;

const deliveryTones: Readonly<Record<Delivery['state'], Tone>> = {
  delivered: 'good',
  waiting: 'wait',
  failed: 'danger',
};

/** Every step that has a time, oldest first. */
function history(shown: Shown, session: Session, { events, deliveries, refunds, sweeps, lookups }: Happened): Html {
  const { words } = shown;
  const { request, createdAtS, life, payments } = session;
  const steps: (readonly [number, Html])[] = [
    [createdAtS * 1000, words.html('payment.created', { order: request.orderId })],
    ...payments.flatMap((payment) => paymentSteps(shown, payment)),
    ...(life.paidAtS === null
      ? []
      : [[life.paidAtS * 1000, words.html(life.paidLate ? 'payment.paid_late' : 'payment.paid')] as const]),
    ...(life.canceledAtS === null ? [] : [[life.canceledAtS * 1000, words.html('payment.canceled')] as const]),
    ...events.map((event) => [event.createdAtMs, eventStep(shown, event, deliveries)] as const),
    ...refunds.flatMap((refund) => refundSteps(shown, refund)),
    ...sweeps.flatMap((sweep) => sweepSteps(shown, session, sweep)),
    ...lookups.map((lookup) => [lookup.askedAtMs, lookupText(shown, lookup)] as const),
  ];
  const ordered = steps.toSorted(([one], [other]) => one - other);
  return html`<ol class="history">${ordered.map(([ms, what]) => html`<li>${time(ms)} <div>${what}</div></li>`)}</ol>`;
}

/** When a transfer was first read, its block, and when it was confirmed. */
function paymentSteps(shown: Shown, payment: Payment): (readonly [number, Html])[] {
  const { words } = shown;
  const what = { amount: unitsText(payment), network: networkTitle(shown.config, payment.networkKey) };
  const block = words.html('payment.block', {
    ...what,
    state: words.say(`payment.state_${payment.state}`),
    confirmations: words.html('payment.confirmations', { count: payment.confirmations }),
    tx: shownOnChain(shown, transactionOf(payment), 'whole'),
  });
  const { seenAtMs, confirmedAtMs } = payment;
  return [
    [payment.blockTimeS * 1000, block],
    ...(seenAtMs === null ? [] : [[seenAtMs, words.html('payment.first_seen', what)] as const]),
    ...(confirmedAtMs === null ? [] : [[confirmedAtMs, words.html('payment.credited', what)] as const]),
  ];
}

/** A sweep that took the money, or is to take it; nothing of one that moved nothing. */
function sweepSteps(shown: Shown, { options }: Session, sweep: SessionSweep): (readonly [number, Html])[] {
  const { network, currency, units, state, tx, atMs } = sweep;
  if (state === 'failed' || state === 'canceled') return [];
  const decimals = options.find((one) => one.networkKey === network && one.currency === currency)?.decimals;
  if (decimals === undefined) return [];
  const said = shown.words.html(state === 'succeeded' ? 'payment.swept' : 'payment.sweep_open', {
    amount: unitsText({ units, decimals, currency }),
    network: networkTitle(shown.config, network),
    tx: tx === null ? '' : shownOnChain(shown, { network, kind: 'tx', text: tx }, 'whole'),
  });
  return [[atMs, said]];
}

function eventStep({ words, webhooks }: Shown, event: StoredEvent, deliveries: readonly Delivery[]): Html {
  const own = deliveries.filter(({ eventId }) => eventId === event.id);
  const type = html`<code>${event.type}</code>`;
  if (own.length === 0) return words.html('payment.event_unsent', { type });
  const sent = own.map(({ id, state, lastStatus, lastError, attempts }) => {
    const answer = lastStatus ?? lastError ?? html`${words.say('payment.untried')}`;
    const said = words.html('payment.attempts', { count: attempts, answer });
    const shown = webhooks
      ? html`<a href="${webhooks}/deliveries/${id}">${said}</a>`
      : html`<span title="${id}">${said}</span>`;
    return html` ${badge(words.say(`general.delivery_${state}`), deliveryTones[state])} ${shown}`;
  });
  return html`${words.html('payment.event', { type })}${sent}`;
}

function refundSteps(shown: Shown, refund: Refund): (readonly [number, Html])[] {
  const { words } = shown;
  const amount = `${shownUnits(refund.amountMinor, MINOR_DECIMALS)} ${refund.currency}`;
  const { destination, tx, status, failureReason } = refund;
  const named = { refund: refund.refundId };
  const link = html`<a href="/s/${refund.storeId}/${refund.mode}/refunds/${refund.id}">${words.html('payment.refund_name', named)}</a>`;
  const made = destination
    ? words.html('payment.refund_made', {
        refund: link,
        amount,
        address: shownOnChain(shown, addressOf(refund.network, destination.address), 'whole'),
      })
    : words.html('payment.refund_unsent', { refund: link, amount });
  const ended = words.html(status === 'completed' ? 'payment.refund_completed' : 'payment.refund_failed', named);
  const steps: (readonly [number | null, Html])[] = [
    [refund.createdAtMs, made],
    [refund.approvedAtMs, words.html('payment.refund_approved', named)],
    [refund.processingAtMs, words.html('payment.refund_processing', named)],
    [refund.canceledAtMs, words.html('payment.refund_canceled', named)],
    [
      refund.processedAtMs,
      html`${ended}${tx === null ? null : html` ${shownOnChain(shown, { network: refund.network, kind: 'tx', text: tx }, 'whole')}`}${failureReason === null ? null : html` ${data(failureReason)}`}`,
    ],
  ];
  return steps.flatMap(([ms, what]) => (ms === null ? [] : [[ms, what] as const]));
}

const metadata = (words: Words, given: Readonly<Record<string, string>>): Html | null =>
  Object.keys(given).length === 0
    ? null
    : html`<section class="card" aria-labelledby="metadata"><h2 id="metadata">${words.say('payment.metadata')}</h2>${facts(
        Object.entries(given).map(([name, value]) => [data(name), data(value)]),
      )}</section>`;

/** Plans the end of what is still open. */
async function planCancel(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const session = await findPayment(deps, visit);
  if (!session) return null;
  const { at, form, visitor, nowMs, words } = visit;
  const { id, request } = session;
  const replay = { idempotencyKey: idOfForm(visitor, form.once, nowMs), path: `dashboard: cancel ${id}`, bodyHash: '' };
  return {
    command: 'cancel payment',
    target: id,
    review: {
      title: words.say('payment-changes.cancel_title', { order: request.orderId }),
      consequence: html`<p>${words.say('payment-changes.cancel_text')}</p>`,
      button: words.say('payment-changes.cancel_button'),
      back: paymentPath(at, session),
      needsSudo: false,
      isDangerous: true,
    },
    async act(database) {
      const done = await database.sessions.cancel({ id, ...at, replay, nowMs });
      if (done.kind === 'not_found') return null;
      if (done.kind === 'done' || done.kind === 'replayed')
        return { to: paymentPath(at, session), said: words.say('payment-changes.canceled') };
      const why = done.kind === 'refused' ? done.why : 'session_not_cancelable';
      const now = (await findPayment(deps, visit)) ?? session;
      return showPayment(deps, visit, now, words.say(`payment-changes.${why}`));
    },
  };
}
