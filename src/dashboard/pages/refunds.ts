/** Refunds of a store: the list, with filters; and the list as CSV. */
import { amountText, minorText } from '../../acts/refund-words.ts';
import { waitsForApproval } from '../../acts/refunds.ts';
import { coinOf } from '../../chains/coin-text.ts';
import { formatUnits, MINOR_DECIMALS } from '../../core/money.ts';
import { nameOf } from '../../core/transfer.ts';
import type { Refund } from '../../database/refunds/refund.ts';
import type { Cells } from '../../lib/export-text.ts';
import { type Html, html } from '../../lib/html.ts';
import { list } from '../../web/list.ts';
import type { DashboardDeps } from '../deps.ts';
import { type AnswerFile, dayFields, daysOf, type ListingWithFile, listPage } from '../listing.ts';
import { pathIn, type StoreAt, type StorePage, type Visit } from '../page.ts';
import { refundState, statuses } from '../refund-text.ts';
import { data, networkTitle, shownOnChain, time } from '../show.ts';

export function refundsPages(deps: DashboardDeps, answerFile: AnswerFile): readonly StorePage[] {
  const refunds = refundList(deps);
  return [
    {
      method: 'get',
      path: '/s/:store/:mode/refunds',
      needs: 'payments:read',
      answer: (visit) => listPage(refunds, visit),
    },
    {
      method: 'get',
      path: '/s/:store/:mode/refunds.csv',
      needs: 'payments:export',
      answer: (visit) => answerFile(refunds, visit),
    },
  ];
}

const refundList = (deps: DashboardDeps): ListingWithFile<Refund> => ({
  title: ({ at, words }) => words.say(at.mode === 'test' ? 'refunds.test_title' : 'frame.refunds'),
  fields: ({ words }) => [
    {
      ...{ name: 'status', label: words.say('refunds.status') },
      choices: [
        ...statuses.map((one) => [one, words.say(`refunds.status_${one}`)] as const),
        ['approval', words.say('refunds.needs_approval')],
      ],
    },
    ...dayFields(words),
  ],
  async read({ at, zone }, chosen, after, limit) {
    const { database } = deps;
    const last = after === null ? null : await database.refunds.findBy({ id: after });
    const isOwn = last?.storeId === at.storeId && last.mode === at.mode;
    const status = statuses.find((one) => one === chosen.status);
    const found = await database.refunds.list({
      ...{ ...at, ...(status && { status }), ...daysOf(chosen, zone) },
      ...(isOwn && { before: last }),
      limit: limit + 1,
    });
    const goOn = found.length > limit ? (found[limit - 1]?.id ?? null) : null;
    // What waits for an approval is few: among those of a page, the others are left out.
    const isShown = (one: Refund) => chosen.status !== 'approval' || waitsForApproval(one);
    return { rows: found.slice(0, limit).filter(isShown), goOn };
  },
  table: (visit, refunds) => table(deps, visit, refunds),
  empty({ at, words }, why) {
    const all = html`<a href="${pathIn(at, 'refunds')}">${words.say('general.all')}</a>`;
    return why === 'nothing' ? words.html('refunds.empty') : words.html('refunds.no_match', { all });
  },
  file: { noun: 'refunds', columns: fileColumns, cells: (refunds) => cellsOf(deps, refunds), sliceRows: 50 },
});

const table = ({ config }: DashboardDeps, { at, words }: Visit<StoreAt>, refunds: readonly Refund[]): Html =>
  list<Refund>({
    caption: words.say('frame.refunds'),
    columns: [
      [words.say('refunds.created'), ({ createdAtMs }) => time(createdAtMs), 'newest'],
      [
        words.say('refunds.refund'),
        ({ id, heldKind, refundId }) =>
          html`<a href="${pathIn(at, `refunds/${id}`)}">${heldKind === null ? data(refundId) : words.say('refunds.held_return')}</a>`,
      ],
      [
        words.say('refunds.order'),
        ({ sessionId, orderId }) => html`<a href="${pathIn(at, `payments/${sessionId}`)}">${data(orderId)}</a>`,
      ],
      [words.say('refunds.amount'), (one) => data(amountText(one)), 'number lead'],
      [words.say('refunds.network'), ({ network }) => data(networkTitle(config, network))],
      [
        words.say('refunds.to'),
        ({ network, destination }) =>
          destination ? shownOnChain({ config, words }, { network, kind: 'address', text: destination.address }) : '–',
      ],
      [words.say('refunds.status'), (one) => refundState(words, one), 'lead'],
    ],
    rows: refunds,
    empty: '',
  });

const fileColumns = [
  ...['created', 'id', 'refund', 'order', 'session', 'mode', 'status', 'network', 'currency', 'amount', 'reason'],
  ...['to', 'processing', 'ended', 'canceled', 'tx', 'receipt', 'fee', 'fee_currency', 'held'],
];

const isoTime = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

const cellsOf = ({ database, config }: DashboardDeps, refunds: readonly Refund[]): Promise<readonly Cells[]> =>
  Promise.all(
    refunds.map(async (refund) => {
      const payout = refund.tx === null ? null : await database.payouts.find(refund.id);
      return [
        ...[isoTime(refund.createdAtMs), refund.id, refund.refundId, refund.orderId, refund.sessionId, refund.mode],
        ...[refund.status, nameOf(refund.network), refund.currency, minorText(refund.amountMinor), refund.reason],
        ...[refund.destination?.address ?? null, isoTime(refund.processingAtMs), isoTime(refund.processedAtMs)],
        ...[isoTime(refund.canceledAtMs), refund.tx, refund.receiptNumber],
        ...feeCells(config, refund, payout?.feeUnits ?? null),
        refund.heldKind,
      ];
    }),
  );

/** Cost of the paying transaction; empty before it, and where the network is not configured any more. */
function feeCells({ networks }: DashboardDeps['config'], { network }: Refund, feeUnits: bigint | null): Cells {
  if (feeUnits === null || !networks.some(({ key }) => key === network)) return [null, null];
  const { symbol, decimals } = coinOf(networks, network, 'native');
  return [formatUnits(feeUnits, decimals, Math.min(decimals, MINOR_DECIMALS)), symbol];
}
