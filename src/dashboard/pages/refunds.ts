/**
 * Refunds of a store: the list, with filters that live in the address, and as CSV; one refund with what it waits for.
 */

import { amountText } from '../../acts/refund-words.ts';
import { waitsForApproval } from '../../acts/refunds.ts';
import { isAllowed } from '../../core/access.ts';
import { delayOf } from '../../core/payout.ts';
import type { RefundStatus } from '../../core/refund.ts';
import type { Refund, RefundFilter } from '../../database/refunds/refund.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, list } from '../../web/list.ts';
import { changeFields } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { explorerPage, type Named, shownOnChain } from '../explorer.ts';
import type { StartExport } from '../export.ts';
import { choice, chosenOf, dayFields, pager, queryOfChosen, readDays } from '../list-filter.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { exportRefunds } from '../refund-export.ts';
import { namedBy, readRefundPeople, refundBackground } from '../refund-people.ts';
import { refundState, refundsPath, waitsForAddress } from '../refund-text.ts';
import { countdown, data, english, explorerLink, faultMessage, grouped, networkTitle, reloads, time } from '../show.ts';
import type { Words } from '../texts.ts';

const PAGE_ROWS = 50;
const statuses: readonly RefundStatus[] = ['pending', 'processing', 'completed', 'failed', 'canceled'];

export const refundPages = (deps: DashboardDeps, startExport: StartExport): readonly StorePage[] => [
  { method: 'get', path: '/s/:store/:mode/refunds', needs: 'payments:read', answer: (visit) => listPage(deps, visit) },
  exportPage(deps, startExport),
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
  const refund = await database.refunds.findBy({ id: params.refund ?? '' });
  return refund && refund.storeId === at.storeId && refund.mode === at.mode ? refund : null;
}

type Filter = Readonly<{
  chosen: Readonly<Partial<Record<'status' | 'from' | 'to', string>>>;
  refunds: Omit<RefundFilter, 'before' | 'limit'>;
}>;

/** What the address says that is no status or day filters nothing and is left out. */
function readFilter({ at, query, zone }: Pick<Visit<StoreAt>, 'at' | 'query' | 'zone'>): Filter {
  const status = statuses.find((one) => one === query.get('status')) ?? null;
  const { from, to, fromMs, toMs } = readDays(query, zone);
  return { chosen: chosenOf({ status, from, to }), refunds: { ...at, ...(status && { status }), fromMs, toMs } };
}

async function listPage({ database, config }: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const { at, query, visitor, words } = visit;
  const { chosen, refunds } = readFilter(visit);
  const last = query.get('before') === null ? null : await database.refunds.findBy({ id: query.get('before') ?? '' });
  const isOwn = last?.storeId === at.storeId && last.mode === at.mode;
  const found = await database.refunds.list({
    ...refunds,
    ...(last && isOwn && { before: last }),
    limit: PAGE_ROWS + 1,
  });
  // What waits for an approval is few: among those of a page, the others are left out.
  const isWaiting = query.get('waits') === 'approval';
  const shown = found.slice(0, PAGE_ROWS).filter((one) => !isWaiting || waitsForApproval(one));
  const older = found.length > PAGE_ROWS ? found[PAGE_ROWS - 1] : undefined;
  const isFiltered = isWaiting || Object.keys(chosen).length > 0;
  const mayExport = isAllowed(visitor.person.memberships, { permission: 'payments:export', ...at });
  const all = html`<a href="${refundsPath(at)}">${words.say('general.all')}</a>`;
  const empty = html`<p class="card">${
    isFiltered || isOwn ? words.html('refunds.no_match', { all }) : words.html('refunds.empty')
  }</p>`;
  const values = statuses.map((one) => [one, words.say(`refunds.status_${one}`)] as const);
  return {
    title: words.say(at.mode === 'test' ? 'refunds.test_title' : 'frame.refunds'),
    content: html`<form method="get" action="${refundsPath(at)}" class="controls">
${choice(words, { label: words.say('refunds.status'), name: 'status', values }, chosen.status)}
${dayFields(words, chosen)}<button class="plain">${words.say('general.show')}</button></form>
${isWaiting ? html`<p class="hint">${words.html('refunds.only_waiting', { all })}</p>` : null}
${shown.length === 0 ? empty : rows(config, visit, shown)}
${pager(words, {
  ...{ path: refundsPath(at), chosen: { ...chosen, ...(isWaiting && { waits: 'approval' }) }, isFirst: !isOwn },
  older: older ? { before: older.id } : null,
  csv: mayExport ? `${refundsPath(at)}.csv` : null,
})}`,
  };
}

const exportPage = (deps: DashboardDeps, startExport: StartExport): StorePage => ({
  method: 'get',
  path: '/s/:store/:mode/refunds.csv',
  needs: 'payments:export',
  async answer(visit) {
    const { at, words } = visit;
    const { chosen, refunds } = readFilter(visit);
    return startExport(visit, {
      name: `refunds-${at.storeId}-${at.mode}`,
      command: 'export refunds',
      target: at.storeId,
      chosen: { mode: at.mode, ...chosen },
      back: html`<a href="${refundsPath(at)}${queryOfChosen(chosen)}">${words.say('refunds.back')}</a>`,
      parts: exportRefunds(deps, refunds),
    });
  },
});

const addressOf = ({ network }: Refund, text: string) => ({ network, kind: 'address', text }) as const;

const rows = (config: DashboardDeps['config'], { at, words }: Visit<StoreAt>, refunds: readonly Refund[]): Html =>
  list<Refund>({
    caption: words.say('frame.refunds'),
    columns: [
      [words.say('refunds.created'), ({ createdAtMs }) => time(createdAtMs), 'newest'],
      [
        words.say('refunds.refund'),
        ({ id, heldKind, refundId }) =>
          html`<a href="${refundsPath(at)}/${id}">${heldKind === null ? data(refundId) : words.say('refunds.held_return')}</a>`,
      ],
      [
        words.say('refunds.order'),
        ({ sessionId, orderId }) =>
          html`<a href="/s/${at.storeId}/${at.mode}/payments/${sessionId}">${data(orderId)}</a>`,
      ],
      [words.say('refunds.amount'), (one) => data(amountText(one)), 'number lead'],
      [words.say('refunds.network'), ({ network }) => data(networkTitle(config, network))],
      [
        words.say('refunds.to'),
        (one) => (one.destination ? shownOnChain({ config, words }, addressOf(one, one.destination.address)) : '–'),
      ],
      [words.say('refunds.status'), (one) => refundState(words, one), 'lead'],
    ],
    rows: refunds,
    empty: '',
  });

/** Renders one refund, with the forms for what can be done about it now. */
export async function refundPage(
  deps: DashboardDeps,
  visit: Visit<StoreAt>,
  refund: Refund,
  fault: Html | string | null,
): Promise<Reply> {
  const { at, words } = visit;
  return {
    title: words.say('refunds.title', { amount: amountText(refund) }),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}<p><a href="${refundsPath(at)}">${words.say('refunds.all')}</a></p>
${refund.status === 'processing' && fault === null ? reloads(`${refundsPath(at)}/${refund.id}`) : null}<section class="card" aria-labelledby="state"><h2 id="state">${refundState(words, refund)}</h2>
${await waiting(deps, visit, refund)}${await described(deps, visit, refund)}</section>
${await forms(deps, visit, refund)}`,
  };
}

async function described(deps: DashboardDeps, { at, words, nowMs }: Visit<StoreAt>, refund: Refund): Promise<Html> {
  const { config } = deps;
  const people = await readRefundPeople(deps, words, refund);
  const { destination, reason, failureReason, tx, receiptNumber } = refund;
  const explorerOf = (named: Named) => {
    const page = explorerPage(config.networks, named);
    return page === null ? null : explorerLink(words, named.text, page);
  };
  const times = [
    ['processing', refund.processingAtMs],
    ['canceled', refund.canceledAtMs],
    ['ended', refund.processedAtMs],
  ] as const;
  return facts([
    [words.say('refunds.id'), html`<code>${refund.refundId}</code>`],
    [
      words.say('refunds.order'),
      html`<a href="/s/${at.storeId}/${at.mode}/payments/${refund.sessionId}">${data(refund.orderId)}</a>`,
    ],
    [words.say('refunds.network'), data(networkTitle(config, refund.network))],
    [
      words.say('refunds.to'),
      destination
        ? words.html('refunds.to_address', {
            address: html`${grouped(destination.address)}${explorerOf(addressOf(refund, destination.address))}`,
            source: html`${namedBy(words, destination, people.named)}`,
          })
        : words.say('refunds.no_address'),
    ],
    ...(await refundBackground(deps, words, refund, people, nowMs)),
    ...(reason === null ? [] : [[words.say('refunds.reason'), words.say(`refunds.reason_${reason}`)] as const]),
    ...(refund.description === null ? [] : [[words.say('refunds.note'), data(refund.description)] as const]),
    ...(failureReason === null ? [] : [[words.say('refunds.failure'), data(failureReason)] as const]),
    ...(tx === null
      ? []
      : [
          [
            words.say('refunds.transaction'),
            shownOnChain({ config, words }, { network: refund.network, kind: 'tx', text: tx }, 'whole'),
          ] as const,
        ]),
    ...(receiptNumber === null ? [] : [[words.say('refunds.receipt'), data(receiptNumber)] as const]),
    ...times.flatMap(([name, ms]) => (ms === null ? [] : [[words.say(`refunds.${name}`), time(ms)] as const])),
  ]);
}

/** Says what the refund waits for. */
async function waiting({ database }: DashboardDeps, visit: Visit<StoreAt>, refund: Refund): Promise<Html> {
  const { at, visitor, nowMs, words } = visit;
  const { status, claim } = refund;
  if (claim && waitsForAddress(refund)) {
    const mayShow = isAllowed(visitor.person.memberships, { permission: 'payments:manage', ...at });
    const showing = html`<form method="post" action="${refundsPath(at)}/${refund.id}/link">${changeFields(visit)}<button class="plain">${words.say('refund-changes.link_button')}</button></form>`;
    return html`<p>${words.html('refunds.waits_for_address', { time: time(claim.untilS * 1000) })}</p>${mayShow ? showing : null}`;
  }
  const above = waitsForApproval(refund) ? html`<p>${words.say('refunds.above_limit')}</p>` : null;
  if (status !== 'processing') return html`${above}`;
  const payout = await database.findPayout(refund.id);
  const delay = payout && delayOf(payout);
  const cancelUntilMs = await cancelEndMs(database, refund);
  const canceling = { time: time(cancelUntilMs), left: countdown(cancelUntilMs - nowMs) };
  return html`${above}${cancelUntilMs > nowMs ? html`<p data-while-counting>${words.html('refunds.cancel_until', canceling)}</p>` : null}
${delay ? html`<p class="message attention">${english(delay.message)}</p>` : null}${delay?.code === 'signer_refused_approval' ? signing(words, refund) : null}`;
}

/** Says that the signer wants an approver's signature, and the command that begins that. */
const signing = (words: Words, { id }: Refund): Html =>
  html`<p class="message attention">${words.say('refund-approvals.why')} <code data-copy>quayside refund request ${id}</code></p>`;

const cancelEndMs = async (database: DashboardDeps['database'], refund: Refund): Promise<number> =>
  (refund.processingAtMs ?? 0) + (await database.stores.refundPolicy(refund.storeId)).refundCancelWindowS * 1000;

/** The forms for what this visitor may do about the refund in its state. */
async function forms({ database, config }: DashboardDeps, visit: Visit<StoreAt>, refund: Refund): Promise<Html> {
  const { at, visitor, nowMs, words } = visit;
  const may = (permission: 'refunds:request' | 'refunds:decide') =>
    isAllowed(visitor.person.memberships, { permission, ...at });
  const to = (act: string) => `${refundsPath(at)}/${refund.id}/${act}`;
  const seen = html`${changeFields(visit)}<input type="hidden" name="seen" value="${refund.destination?.key ?? ''}">`;
  const approving = !refund.destination
    ? html`<p>${words.say('refunds.address_first')}</p>`
    : html`<form method="post" action="${to('approve')}">${seen}<button>${words.say('refunds.approve')}</button></form>`;
  const deciding = html`<section class="card" aria-labelledby="decide"><h2 id="decide">${words.say('refunds.decide')}</h2>${approving}
<form method="post" action="${to('refuse')}">${changeFields(visit)}
<label>${words.say('refunds.why_refused')} <input name="because" maxlength="200" required></label>
<button class="plain">${words.say('refunds.refuse')}</button></form></section>`;
  const canceling = html`<form method="post" action="${to('cancel')}" class="card" data-while-counting>${changeFields(visit)}<button class="plain">${words.say('refunds.cancel')}</button></form>`;
  const redirecting = html`<form method="post" action="${to('destination')}" class="card" aria-labelledby="redirect">
<h2 id="redirect">${words.say(refund.destination ? 'refunds.redirect' : 'refunds.name_address')}</h2>${changeFields(visit)}
<label>${words.html('refunds.address_on', { network: networkTitle(config, refund.network) })} <input name="address" maxlength="128" dir="ltr" autocomplete="off" spellcheck="false" required></label>
<p class="hint">${words.say('refunds.redirect_hint')}</p>
<button class="plain">${words.say('refunds.change_address')}</button></form>`;
  const { status, heldKind } = refund;
  const isOpen = (status === 'pending' || status === 'processing') && heldKind === null;
  const isCancelable = status === 'processing' && heldKind === null && (await cancelEndMs(database, refund)) > nowMs;
  return html`${waitsForApproval(refund) && may('refunds:decide') ? deciding : null}
${isCancelable && may('refunds:request') ? canceling : null}
${isOpen && may('refunds:decide') ? redirecting : null}`;
}
