/**
 * One payment: what was asked, what came, what is held of it until somebody decides, and the shop’s side of it in order
 * of time.
 */
import { isRefusal, say } from '../../acts/act.ts';
import {
  acceptEffect,
  acceptHeld,
  coins,
  heldAmount,
  heldState,
  nothingReturnable,
  returnableParts,
  returnHeld,
} from '../../acts/held.ts';
import { paymentOf } from '../../acts/refund-create.ts';
import { amountText, titleOf } from '../../acts/refund-words.ts';
import { shownUnits } from '../../core/money.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import type { Delivery, StoredEvent } from '../../database/events.ts';
import type { HeldMoney } from '../../database/held-money.ts';
import type { Refund } from '../../database/refunds/refund.ts';
import type { Payment, Session } from '../../database/session.ts';
import { type Html, html } from '../../lib/html.ts';
import { createAddressFormat } from '../../payments/destination.ts';
import { optionAddress } from '../../payments/option.ts';
import { paymentUrl } from '../../payments/payment-url.ts';
import { facts, list, section } from '../../web/list.ts';
import { badge, copied, copyCode, data, type Tone, time } from '../../web/show.ts';
import { contextOf, formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import { may, type Page, pathIn, type Reply, type StoreAt, type Visit } from '../page.ts';
import { coinNames, confirmedText, lateText, price, seenText, sessionState, shownOnChain } from '../show.ts';
import { sentence, type TextKey, type Words } from '../texts.ts';
import { refundBadge, refundState } from './refunds.ts';
import { deliveryState } from './webhooks.ts';

/** A page shows at most this many of a payment's events, deliveries and refunds. */
const SHOWN_MAX = 100;

const PATH = '/s/:store/:mode/payments/:payment';

export const paymentPages = (deps: DashboardDeps): readonly Page[] =>
  pageWith(deps, { path: PATH, needs: 'payments:read', answer: (visit) => showPayment(deps, visit) }, [
    ...[accepting, returning],
  ]);

const pathOf = (at: StoreAt, { id }: Session): string => pathIn(at, `payments/${id}`);

async function showPayment(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const { config, database } = deps;
  const { at, params, words } = visit;
  const session = await paymentOf({ database, scope: at }, params.payment ?? '');
  if (!session) return null;
  const webhooks = may(visit, 'webhooks:read') ? pathIn(at, 'webhooks') : null;
  const isRefundable = may(visit, 'refunds:request') && session.life.status === 'paid';
  const url = paymentUrl(session, config);
  const opening = html` <a class="button plain" href="${url}" target="_blank" rel="noreferrer">${words.say('Payment page')}</a>`;
  const refunding = html` <a class="button plain" href="${pathOf(at, session)}/refund">${words.say('Refund')}</a>`;
  const shown = { config, words, webhooks };
  const confirmed = confirmedText(session);
  const priced = confirmed === null && session.conversion === null ? null : askedText(words, session);
  const heading = html`${data(confirmed ?? price(session))} ${sessionState(words, session)}${priced && html`<small>${priced}</small>`}`;
  return {
    title: words.say('Order {order}', { order: session.request.orderId }),
    content: html`<p class="actions"><a href="${pathIn(at, 'payments')}">${words.say('All payments')}</a>${opening}${isRefundable ? refunding : null}</p>
<section class="card" aria-labelledby="asked"><h2 id="asked" class="amounts">${heading}</h2>${asked(shown, session)}
${copied(words.say('Payment page'), url)}</section>
${section('came', words.say('Received'), transferTable(shown, session))}
${await heldSection(deps, visit, session)}
${section('history', words.say('What happened'), await history(deps, shown, session))}
${metadata(words, session.request.metadata ?? {})}`,
  };
}

/** The price, with the rate at which it became coins, and when that was locked. */
const askedText = (words: Words, session: Session): Html => {
  const { conversion, createdAtS } = session;
  const asked = data(price(session));
  return conversion
    ? words.html('{asked} asked, at {rate} since {time}{sources}', {
        asked,
        rate: data(conversion.rate),
        time: time(createdAtS * 1000),
        sources: conversion.sources ? html` (${data(conversion.sources.join(', '))})` : '',
      })
    : words.html('{asked} asked', { asked });
};

/** `webhooks`: where deliveries have their pages, if the visitor may see them. */
type Shown = Readonly<{ config: DashboardDeps['config']; words: Words; webhooks: string | null }>;

/** An amount in the units of its token, with its name. */
const unitsText = ({ units, decimals, currency }: Pick<Payment, 'units' | 'decimals' | 'currency'>): string =>
  `${shownUnits(units, decimals)} ${currency}`;

const transactionOf = ({ networkKey: network, tx: text }: Payment) => ({ network, kind: 'tx', text }) as const;
const addressOf = (network: NetworkKey, text: string) => ({ network, kind: 'address', text }) as const;

function asked(shown: Shown, session: Session): Html {
  const { config, words } = shown;
  const { request, terms, options, life } = session;
  const [seen, late] = [seenText(session), lateText(session)];
  const offered = terms.accepts.filter((coin) => options.some(({ currency }) => currency === coin));
  const ways = options.map((option) => {
    const network = `${session.mode}:${option.network}` as const;
    const address = shownOnChain(shown, addressOf(network, optionAddress(session, option)), 'whole');
    const values = { amount: unitsText(option), network: titleOf(config.networks, network), address };
    return html`<li>${words.html('{amount} on {network}: {address}', values)}</li>`;
  });
  return html`${facts([
    request.description === null ? null : [words.say('Description'), data(request.description)],
    [words.say('Session'), copyCode(session.id)],
    [words.say('Due'), words.html('{amount} in {coins}', { amount: coins(terms.duePar), coins: coinNames(offered) })],
    seen === null ? null : [words.say('Seen, not confirmed yet'), data(seen)],
    late === null ? null : [words.say('Late'), data(late)],
    [words.say('Expires'), time(terms.expiresAtS * 1000)],
    life.endedAtS === null ? null : [words.say('Ended'), time(life.endedAtS * 1000)],
  ])}
<details><summary>${words.say('Ways to pay ({count})', { count: options.length })}</summary><ul>${ways}</ul></details>`;
}

const receiptTones: Readonly<Record<Payment['state'], Tone>> = {
  seen: 'wait',
  confirmed: 'good',
  final: 'good',
  orphaned: 'attention',
};

/** Says that a transfer's block came after the deadline, or after the cancel before it. */
function lateBadge(words: Words, { terms, life }: Session, { blockTimeS }: Payment): Html | null {
  const endS = Math.min(life.canceledAtS ?? terms.expiresAtS, terms.expiresAtS);
  return blockTimeS > endS ? html` ${badge(words.say('general.odd_late_money'), 'attention')}` : null;
}

/** Returns what came for a session, the oldest first. */
function transferTable(shown: Shown, session: Session): Html {
  const { config, words } = shown;
  const { payments, paymentCount } = session;
  const formatAddress = createAddressFormat(config);
  if (payments.length === 0) return html`<p>${words.say('Nothing yet.')}</p>`;
  const more =
    paymentCount > payments.length
      ? html`<p>${words.html('The newest {shown} of {all} transfers are shown.', { shown: payments.length, all: paymentCount })}</p>`
      : null;
  return html`${list<Payment>({
    caption: words.say('Transfers'),
    columns: [
      [words.say('Block time'), (one) => html`${time(one.blockTimeS * 1000)}${lateBadge(words, session, one)}`],
      [words.say('Amount'), (one) => data(unitsText(one)), 'number lead'],
      [words.say('Network'), ({ networkKey }) => data(titleOf(config.networks, networkKey))],
      [words.say('Transaction'), (one) => shownOnChain(shown, transactionOf(one), 'whole')],
      [
        words.say('From'),
        ({ networkKey, from }) => shownOnChain(shown, addressOf(networkKey, formatAddress(networkKey, from))),
      ],
      [
        words.say('State'),
        ({ state, confirmations }) =>
          html`${badge(words.say(`payment.state_${state}`), receiptTones[state])} ${words.html('payment.confirmations', { count: confirmations })}`,
        'lead',
      ],
    ],
    rows: payments,
    empty: '',
  })}${more}`;
}

/** Returns every step of the shop's side that has a time, oldest first: the transfers are in their table. */
async function history({ database }: DashboardDeps, shown: Shown, session: Session): Promise<Html> {
  const { words } = shown;
  const { id, request, createdAtS, life } = session;
  const deliveries = await database.deliveries.list({ sessionId: id, limit: SHOWN_MAX });
  const steps: (readonly [number, Html])[] = [
    [createdAtS * 1000, words.html('Created for order {order}', { order: request.orderId })],
    ...(life.paidAtS === null
      ? []
      : [[life.paidAtS * 1000, words.html(life.paidLate ? 'Paid, late' : 'Paid')] as const]),
    ...(life.canceledAtS === null ? [] : [[life.canceledAtS * 1000, words.html('Canceled')] as const]),
    ...(await database.events.ofSession(id, SHOWN_MAX)).map(
      (event) => [event.createdAtMs, eventStep(shown, event, deliveries)] as const,
    ),
    ...(await database.refunds.list({ sessionId: id, limit: SHOWN_MAX })).map(
      (refund) => [refund.createdAtMs, refundStep(words, refund)] as const,
    ),
  ];
  const ordered = steps.toSorted(([one], [other]) => one - other);
  return html`<ol class="history">${ordered.map(([ms, what]) => html`<li>${time(ms)} <div>${what}</div></li>`)}</ol>`;
}

function eventStep({ words, webhooks }: Shown, event: StoredEvent, deliveries: readonly Delivery[]): Html {
  const own = deliveries.filter(({ eventId }) => eventId === event.id);
  const type = html`<code>${event.type}</code>`;
  if (own.length === 0) return words.html('Event {type}: no endpoint has subscribed to it', { type });
  const sent = own.map(({ id, state, lastStatus, lastError, attempts }) => {
    const answer = lastStatus ?? lastError ?? html`${words.say('not tried yet')}`;
    const said = words.html('payment.attempts', { count: attempts, answer });
    const shown = webhooks
      ? html`<a href="${webhooks}/deliveries/${id}">${said}</a>`
      : html`<span title="${id}">${said}</span>`;
    return html` ${deliveryState(words, { state, attempts })} ${shown}`;
  });
  return html`${words.html('Event {type}', { type })}${sent}`;
}

const refundStep = (words: Words, refund: Refund): Html =>
  html`<a href="/s/${refund.storeId}/${refund.mode}/refunds/${refund.id}">${words.html('Refund {refund}', { refund: refund.refundId })}</a> ${data(amountText(refund))} ${refundState(words, refund)}`;

const metadata = (words: Words, given: Readonly<Record<string, string>>): Html | null => {
  const all = Object.entries(given).map(([name, value]) => [data(name), data(value)] as const);
  return all.length === 0 ? null : section('metadata', words.say('Metadata'), facts(all));
};

const HELD_SHOWN_MAX = 20;
const HELD_PATH = '/s/:store/:mode/payments/:payment/held/:held';

const accepting = formOf(acceptHeld, { path: `${HELD_PATH}/accept` });
/** Returns one coin on one network. */
const returning = formOf(returnHeld, {
  path: `${HELD_PATH}/return/:network/:currency`,
  inputs: ['to'],
  to: '/s/:store/:mode/refunds/:return',
});

/** Shows what of a payment is or was held, with the forms for who may decide; null if nothing was. */
async function heldSection(deps: DashboardDeps, visit: Visit<StoreAt>, session: Session): Promise<Html | null> {
  const { words } = visit;
  const all = await deps.database.held.list({ sessionId: session.id, limit: HELD_SHOWN_MAX });
  if (all.length === 0) return null;
  const shown: Html[] = [];
  for (const held of all) {
    const forms = held.state === 'open' && may(visit, acceptHeld.needs) ? await decisions(deps, visit, held) : null;
    const [state, tone] = heldBadges[heldState(held)];
    shown.push(html`<article><h3>${data(heldAmount(held))} ${badge(words.say(state), tone)}</h3>
<p>${words.say(`held.kind_${held.kind}`)}. ${waitingOf(visit, held)}</p>${returnsOf(visit, held)}${forms}</article>`);
  }
  return section(
    'held',
    words.say('Held money'),
    html`<p class="hint">${words.say('It is confirmed, but counts for nothing until you decide.')}</p>${shown}`,
  );
}

/** The badge of each state. */
const heldBadges: Readonly<Record<ReturnType<typeof heldState>, readonly [TextKey, Tone]>> = {
  open: ['waits for you', 'attention'],
  settled: ['accepted', 'good'],
  returning: ['returning', 'wait'],
  returned: ['returned', 'good'],
  gone: ['gone', 'wait'],
};

/** Since when it waits, or when it was decided about. */
const waitingOf = ({ words }: Visit<StoreAt>, { openedAtMs, settledAtMs }: HeldMoney): Html =>
  settledAtMs === null
    ? html`<span class="hint">${words.say('Held since')} ${time(openedAtMs)}</span>`
    : html`<span class="hint">${words.say('Decided')} ${time(settledAtMs)}</span>`;

const returnsOf = ({ at, words }: Visit<StoreAt>, { returns }: HeldMoney): Html | null =>
  returns.length === 0
    ? null
    : html`<p>${words.say('Returns:')}</p><ul>${returns.map(
        ({ id, status, ...part }) =>
          html`<li><a href="${pathIn(at, `refunds/${id}`)}">${data(amountText(part))}</a> ${refundBadge(words, { status })}</li>`,
      )}</ul>`;

async function decisions(deps: DashboardDeps, visit: Visit<StoreAt>, { id: held }: HeldMoney): Promise<Html> {
  const { words } = visit;
  const context = contextOf(deps, visit, { name: acceptHeld.name, reason: null });
  const accepted = await acceptHeld.plan(context, { held });
  const effect = isRefusal(accepted) ? accepted.because : acceptEffect(accepted);
  const parts = await returnableParts(context, held);
  const returns = parts.map((part) => {
    const what = { currency: amountText(part), network: titleOf(deps.config.networks, part.network) };
    const title = html`${words.say('Return it')}: ${words.say('{currency} on {network}', what)}`;
    return returning.show(visit, {
      button: words.say('Continue'),
      opens: title,
      reason: say('Why'),
      given: { held, network: part.network, currency: part.currency },
    });
  });
  const accept = accepting.show(visit, {
    button: words.say('Accept it'),
    given: { held },
    look: 'main',
    above: html`<p>${sentence(words, effect)}</p>`,
  });
  return html`${accept}
${parts.length > 0 ? returns : html`<p class="hint">${sentence(words, nothingReturnable)}</p>`}`;
}
