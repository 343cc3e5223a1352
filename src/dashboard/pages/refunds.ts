/**
 * Refunds of a store: the list, and one refund with what it waits for.
 * @module
 */
import { isAllowed } from '../../core/access.ts';
import { delayOf } from '../../core/payout.ts';
import type { RefundStatus } from '../../core/refund.ts';
import type { Refund, RefundFilter } from '../../database/refunds.ts';
import { type Html, html, prose } from '../../lib/html.ts';
import { claimUrl } from '../../payments/destination.ts';
import { changeFields } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import {
  amountText,
  networkText,
  reasonTexts,
  refundState,
  refundsPath,
  sourceTexts,
  waitsForApproval,
} from '../refund-text.ts';
import { copied, facts, faultMessage, grouped, short, table, time } from '../show.ts';

const PAGE_ROWS = 50;
const statuses: readonly RefundStatus[] = ['pending', 'processing', 'completed', 'failed', 'canceled'];

export const refundPages = (deps: DashboardDeps): readonly StorePage[] => [
  { method: 'get', path: '/s/:store/:mode/refunds', needs: 'payments:read', answer: (visit) => list(deps, visit) },
  {
    method: 'get',
    path: '/s/:store/:mode/refunds/:refund',
    needs: 'payments:read',
    async answer(visit) {
      const refund = await findRefund(deps, visit);
      return refund && refundPage(deps, visit, refund, null);
    },
  },
];

/** Returns the refund that the path names; null where the store has none by that id in this mode. */
export async function findRefund({ database }: DashboardDeps, { at, params }: Visit<StoreAt>): Promise<Refund | null> {
  const refund = await database.findRefundBy({ id: params.refund ?? '' });
  return refund && refund.storeId === at.storeId && refund.mode === at.mode ? refund : null;
}

async function list({ database }: DashboardDeps, { at, query }: Visit<StoreAt>): Promise<Reply> {
  const status = statuses.find((one) => one === query.get('status')) ?? null;
  const last = query.get('before') === null ? null : await database.findRefundBy({ id: query.get('before') ?? '' });
  const isOwn = last?.storeId === at.storeId && last.mode === at.mode;
  const filter: RefundFilter = {
    storeId: at.storeId,
    mode: at.mode,
    ...(status && { status }),
    ...(last && isOwn && { before: last }),
    limit: PAGE_ROWS + 1,
  };
  const found = await database.listRefunds(filter);
  const shown = found.slice(0, PAGE_ROWS);
  const older = found.length > PAGE_ROWS ? shown.at(-1) : undefined;
  const kept = status === null ? '' : `status=${status}&`;
  const empty =
    status === null && !isOwn
      ? html`<p class="card">Refunds that you or your shop make appear here. A payment’s page makes one, or
<code>POST /api/v1/refunds/create</code>.</p>`
      : html`<p class="card">No refund matches. <a href="${refundsPath(at)}">Show all</a></p>`;
  return {
    title: at.mode === 'test' ? 'Test refunds' : 'Refunds',
    content: html`<form method="get" action="${refundsPath(at)}" class="controls">
<label>Status <select name="status"><option value="">any</option>${statuses.map(
      (one) => html`<option${one === status ? html` selected` : null}>${one}</option>`,
    )}</select></label><button class="plain">Show</button></form>
${shown.length === 0 ? empty : rows(at, shown)}
<p class="pager">${isOwn ? html`<a href="${refundsPath(at)}?${kept}">Newest</a>` : null}
${older ? html`<a href="${refundsPath(at)}?${kept}before=${older.id}" rel="next">Older</a>` : null}</p>`,
  };
}

const rows = (at: StoreAt, refunds: readonly Refund[]): Html =>
  table(
    'Refunds',
    ['Created', 'Refund', 'Order', 'Amount', 'Network', 'To', 'Status'],
    refunds.map((refund) => [
      time(refund.createdAtMs),
      html`<a href="${refundsPath(at)}/${refund.id}">${refund.heldKind === null ? refund.refundId : 'return of held money'}</a>`,
      html`<a href="/s/${at.storeId}/${at.mode}/payments/${refund.sessionId}">${refund.orderId}</a>`,
      amountText(refund),
      networkText(refund),
      refund.destination ? short(refund.destination.address) : '–',
      refundState(refund),
    ]),
  );

/** Renders one refund, with the forms for what can be done about it now. */
export async function refundPage(
  deps: DashboardDeps,
  visit: Visit<StoreAt>,
  refund: Refund,
  fault: string | null,
): Promise<Reply> {
  const { at } = visit;
  return {
    title: `Refund of ${amountText(refund)}`,
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}<p><a href="${refundsPath(at)}">All refunds</a></p>
<section class="card" aria-labelledby="state"><h2 id="state">${refundState(refund)}</h2>
${await waiting(deps, visit, refund)}${described(visit, refund)}</section>
${await forms(deps, visit, refund)}`,
  };
}

function described({ at }: Visit<StoreAt>, refund: Refund): Html {
  const { destination, failureReason, tx, receiptNumber } = refund;
  const times = [
    ['Created', refund.createdAtMs],
    ['Approved', refund.approvedAtMs],
    ['Processing since', refund.processingAtMs],
    ['Canceled', refund.canceledAtMs],
    ['Ended', refund.processedAtMs],
  ] as const;
  return facts([
    ['Refund id', html`<code>${refund.refundId}</code>`],
    ['Order', html`<a href="/s/${at.storeId}/${at.mode}/payments/${refund.sessionId}">${refund.orderId}</a>`],
    ['Network', networkText(refund)],
    ['To', destination ? html`${grouped(destination.address)} (${sourceTexts[destination.from]})` : 'no address yet'],
    ...(refund.reason === null ? [] : [['Reason', reasonTexts[refund.reason]] as const]),
    ...(refund.description === null ? [] : [['Note', refund.description] as const]),
    ...(failureReason === null ? [] : [['Why it failed', failureReason] as const]),
    ...(tx === null ? [] : [['Transaction', html`<code>${tx}</code>`] as const]),
    ...(receiptNumber === null ? [] : [['Receipt', receiptNumber] as const]),
    ...times.flatMap(([name, ms]) => (ms === null ? [] : [[`${name}`, time(ms)] as const])),
  ]);
}

/** Says what the refund waits for. */
async function waiting({ database, config }: DashboardDeps, { nowMs }: Visit<StoreAt>, refund: Refund): Promise<Html> {
  const { status, destination, claim } = refund;
  if (status === 'pending' && !destination && claim) {
    return html`<p>It waits for the payer’s address. Send this link to the payer, who names it there, until ${time(claim.untilS * 1000)}.</p>
${copied('Link for the payer', claimUrl(claim.token, config))}`;
  }
  if (waitsForApproval(refund)) return html`<p>It is above the amount that the store refunds without an approval.</p>`;
  if (status !== 'processing') return html``;
  const payout = await database.findPayout(refund.id);
  const delay = payout && delayOf(payout);
  const cancelUntilMs = await cancelEndMs(database, refund);
  return html`${cancelUntilMs > nowMs ? html`<p>It can be canceled until ${time(cancelUntilMs)}, unless it is signed first.</p>` : null}
${delay ? html`<p class="message attention">${prose(delay.message)}</p>` : null}`;
}

const cancelEndMs = async (database: DashboardDeps['database'], refund: Refund): Promise<number> =>
  (refund.processingAtMs ?? 0) + (await database.refundPolicy(refund.storeId)).refundCancelWindowS * 1000;

/** The forms for what this visitor may do about the refund in its state. */
async function forms({ database }: DashboardDeps, visit: Visit<StoreAt>, refund: Refund): Promise<Html> {
  const { at, visitor, nowMs } = visit;
  const may = (permission: 'refunds:request' | 'refunds:decide') =>
    isAllowed(visitor.person.memberships, { permission, ...at });
  const to = (act: string) => `${refundsPath(at)}/${refund.id}/${act}`;
  const seen = html`${changeFields(visit)}<input type="hidden" name="seen" value="${refund.destination?.key ?? ''}">`;
  const isOwn = refund.requestedBy === visitor.person.id;
  const approving = isOwn
    ? html`<p>You asked for this refund, so somebody else approves it: another owner of the store, or whoever runs this
installation, with <code>quayside refunds approve ${refund.id}</code>.</p>`
    : html`<form method="post" action="${to('approve')}">${seen}<button>Approve</button></form>`;
  const deciding = html`<section class="card" aria-labelledby="decide"><h2 id="decide">Approve or refuse</h2>${approving}
<form method="post" action="${to('refuse')}">${changeFields(visit)}
<label>Why it is refused <input name="because" maxlength="200" required></label>
<button class="plain">Refuse</button></form></section>`;
  const canceling = html`<form method="post" action="${to('cancel')}" class="card">${changeFields(visit)}<button class="plain">Cancel this refund</button></form>`;
  const redirecting = html`<form method="post" action="${to('destination')}" class="card" aria-labelledby="redirect">
<h2 id="redirect">${refund.destination ? 'Send it to another address' : 'Name the address yourself'}</h2>${changeFields(visit)}
<label>Address on ${networkText(refund)} <input name="address" maxlength="128" autocomplete="off" spellcheck="false" required></label>
<p class="hint">Until its payment is in progress. The cancel window begins again, and an approval is needed again.</p>
<button class="plain">Change the address</button></form>`;
  const { status, heldKind } = refund;
  const isOpen = (status === 'pending' || status === 'processing') && heldKind === null;
  const isCancelable = status === 'processing' && heldKind === null && (await cancelEndMs(database, refund)) > nowMs;
  return html`${waitsForApproval(refund) && may('refunds:decide') ? deciding : null}
${isCancelable && may('refunds:request') ? canceling : null}
${isOpen && may('refunds:decide') ? redirecting : null}`;
}
