/**
 * One payment: what was asked, what came, and everything that happened, in order of time.
 * @module
 */

import { isAllowed } from '../../core/access.ts';
import { formatUnits, MINOR_DECIMALS } from '../../core/money.ts';
import type { Delivery, Payment, Session } from '../../database/database.ts';
import type { StoredEvent } from '../../database/events.ts';
import type { Refund } from '../../database/refunds.ts';
import type { ArchivedSession } from '../../database/retention.ts';
import { type Html, html } from '../../lib/html.ts';
import { parseSessionId } from '../../lib/session-id.ts';
import { createAddressFormat } from '../../payments/destination.ts';
import { optionAddress, optionName } from '../../payments/option.ts';
import type { DashboardDeps } from '../deps.ts';
import type { StorePage } from '../page.ts';
import { badge, coins, facts, price, sessionState, short, type Tone, table, time } from '../show.ts';
import { pathOf } from './payments.ts';

/** A page shows at most this many of a payment's events, deliveries and refunds. */
const SHOWN_MAX = 100;

export const paymentPage = ({ database, config }: DashboardDeps): StorePage => {
  const formatAddress = createAddressFormat(config);
  return {
    method: 'get',
    path: '/s/:store/:mode/payments/:id',
    needs: 'payments:read',
    async answer({ at, params, visitor, words }) {
      const id = parseSessionId(params.id ?? '');
      const session = id === null ? null : await database.findSession(id);
      if (!session || session.storeId !== at.storeId || session.mode !== at.mode) return null;
      const archived = await database.findArchived(session.id);
      const events = await database.listSessionEvents(session.id, SHOWN_MAX);
      const deliveries = await database.listDeliveries({ sessionId: session.id, limit: SHOWN_MAX });
      const refunds = await database.listRefunds({ sessionId: session.id, limit: SHOWN_MAX });
      const mayRefund = isAllowed(visitor.person.memberships, { permission: 'refunds:request', ...at });
      const isRefundable = mayRefund && session.life.status === 'paid';
      return {
        title: `Order ${session.request.orderId}`,
        content: html`<p class="actions"><a href="${pathOf(at)}">All payments</a>${isRefundable ? html` <a href="${pathOf(at)}/${session.id}/refund">Refund</a>` : null}</p>
${archived ? archivedNote(archived) : null}
<section class="card" aria-labelledby="asked"><h2 id="asked">${price(session)} ${sessionState(words, session)}</h2>${asked(session)}</section>
<section class="card" aria-labelledby="came"><h2 id="came">What came</h2>${came(session, formatAddress)}</section>
<section class="card" aria-labelledby="history"><h2 id="history">What happened</h2>${history(session, { events, deliveries, refunds })}</section>
${metadata(session.request.metadata ?? {})}`,
      };
    },
  };
};

const archivedNote = ({ archivedAtMs, hasPayerData }: ArchivedSession): Html =>
  html`<p class="card">Archived ${time(archivedAtMs)}, because it ended without a payment. Its addresses are still watched: if
money comes, it is back in the list.${hasPayerData ? null : ' What the shop sent about the payer was removed.'}</p>`;

function asked(session: Session): Html {
  const { terms, standing, conversion, options, life } = session;
  const rate: (readonly [string, string])[] = conversion ? [['Rate', `${conversion.rate} ${conversion.currency}`]] : [];
  const ways = options.map(
    (option) =>
      html`<li>${formatUnits(option.units, option.decimals, MINOR_DECIMALS)} ${option.currency} on ${optionName(option)}: <code>${optionAddress(session, option)}</code></li>`,
  );
  return html`${facts([
    ['Session', html`<code>${session.id}</code>`],
    ['Due', `${coins(terms.duePar)} in ${terms.accepts.join(' or ')}`],
    ...rate,
    ['Seen, not confirmed yet', coins(standing.seenPar)],
    ['Confirmed', coins(standing.confirmedPar)],
    ...(standing.late ? [['Late', coins(standing.latePar)] as const] : []),
    ['Expires', time(terms.expiresAtS * 1000)],
    ...(life.endedAtS === null ? [] : [['Ended', time(life.endedAtS * 1000)] as const]),
  ])}
<details><summary>Ways to pay (${options.length})</summary><ul>${ways}</ul></details>`;
}

const receiptTones: Readonly<Record<Payment['state'], Tone>> = {
  seen: 'wait',
  confirmed: 'good',
  final: 'good',
  orphaned: 'attention',
};

function came(
  { payments, paymentCount }: Session,
  formatAddress: (network: Payment['networkKey'], key: string) => string,
): Html {
  if (payments.length === 0) return html`<p>Nothing yet.</p>`;
  const more =
    paymentCount > payments.length
      ? html`<p>The newest ${payments.length} of ${paymentCount} transfers are shown.</p>`
      : null;
  return html`${table(
    'Transfers',
    ['Block time', 'Amount', 'Network', 'Transaction', 'From', 'State'],
    payments.map((payment) => [
      time(payment.blockTimeS * 1000),
      `${formatUnits(payment.units, payment.decimals, MINOR_DECIMALS)} ${payment.currency}`,
      payment.network,
      short(payment.tx),
      short(formatAddress(payment.networkKey, payment.from)),
      html`${badge(payment.state, receiptTones[payment.state])} ${payment.confirmations} ${payment.confirmations === 1 ? 'confirmation' : 'confirmations'}`,
    ]),
  )}${more}`;
}

type Happened = Readonly<{
  events: readonly StoredEvent[];
  deliveries: readonly Delivery[];
  refunds: readonly Refund[];
}>;

const deliveryTones: Readonly<Record<Delivery['state'], Tone>> = {
  delivered: 'good',
  waiting: 'wait',
  failed: 'danger',
};

/** Every step that has a time, oldest first. */
function history(session: Session, { events, deliveries, refunds }: Happened): Html {
  const { request, createdAtS, life, payments } = session;
  const steps: (readonly [number, Html])[] = [
    [createdAtS * 1000, html`Created for order ${request.orderId}`],
    ...payments.map(
      (payment) =>
        [
          payment.blockTimeS * 1000,
          html`Block with ${formatUnits(payment.units, payment.decimals, MINOR_DECIMALS)} ${payment.currency} on ${payment.network}: ${short(payment.tx)}`,
        ] as const,
    ),
    ...(life.paidAtS === null ? [] : [[life.paidAtS * 1000, html`Paid${life.paidLate ? ', late' : ''}`] as const]),
    ...(life.canceledAtS === null ? [] : [[life.canceledAtS * 1000, html`Canceled`] as const]),
    ...events.map((event) => [event.createdAtMs, eventStep(event, deliveries)] as const),
    ...refunds.flatMap(refundSteps),
  ];
  const ordered = steps.toSorted(([one], [other]) => one - other);
  return html`<ol class="history">${ordered.map(([ms, what]) => html`<li>${time(ms)} <div>${what}</div></li>`)}</ol>`;
}

function eventStep(event: StoredEvent, deliveries: readonly Delivery[]): Html {
  const own = deliveries.filter(({ eventId }) => eventId === event.id);
  const sent =
    own.length === 0
      ? html` to no endpoint`
      : own.map(({ id, state, lastStatus, lastError, attempts }) => {
          const answer = lastStatus ?? lastError ?? 'not tried yet';
          return html` ${badge(state, deliveryTones[state])} <span title="${id}">${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}, last answer: ${answer}</span>`;
        });
  return html`Event <code>${event.type}</code>${sent}`;
}

function refundSteps(refund: Refund): (readonly [number, Html])[] {
  const amount = `${formatUnits(refund.amountMinor, MINOR_DECIMALS, MINOR_DECIMALS)} ${refund.currency}`;
  const { destination, tx } = refund;
  const to = destination ? html` to <code>${destination.address}</code>` : html`, without an address yet`;
  const steps: (readonly [number | null, Html])[] = [
    [
      refund.createdAtMs,
      html`<a href="/s/${refund.storeId}/${refund.mode}/refunds/${refund.id}">Refund ${refund.refundId}</a> of ${amount}${to}`,
    ],
    [refund.approvedAtMs, html`Refund ${refund.refundId} approved`],
    [refund.processingAtMs, html`Refund ${refund.refundId} processing`],
    [refund.canceledAtMs, html`Refund ${refund.refundId} canceled`],
    [
      refund.processedAtMs,
      html`Refund ${refund.refundId} ${refund.status}${tx === null ? null : html`: ${short(tx)}`}${refund.failureReason === null ? null : ` (${refund.failureReason})`}`,
    ],
  ];
  return steps.flatMap(([ms, what]) => (ms === null ? [] : [[ms, what] as const]));
}

const metadata = (given: Readonly<Record<string, string>>): Html | null =>
  Object.keys(given).length === 0
    ? null
    : html`<section class="card" aria-labelledby="metadata"><h2 id="metadata">Metadata</h2>${facts(Object.entries(given))}</section>`;
