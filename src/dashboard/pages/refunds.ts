/** Refunds of a store: the list, with filters; and the list as CSV. */
import { amountText, minorText } from '../../acts/refund-words.ts';
import { waitsForApproval } from '../../acts/refunds.ts';
import { coinOf } from '../../chains/coin-text.ts';
import { formatUnits, MINOR_DECIMALS } from '../../core/money.ts';
import { nameOf } from '../../core/transfer.ts';
import type { Refund } from '../../database/refunds/refund.ts';
import type { Cells } from '../../lib/export-text.ts';
import { html } from '../../lib/html.ts';
import type { Column } from '../../web/list.ts';
import type { DashboardDeps } from '../deps.ts';
import { answerFile, dayFields, daysOf, type ListingWithFile, pageOf, showList } from '../listing.ts';
import { pathIn, type StoreAt, type StorePage, type Visit } from '../page.ts';
import { refundState, statuses } from '../refund-text.ts';
import { data, networkTitle, shownOnChain, time } from '../show.ts';

const PATH = '/s/:store/:mode/refunds';

export function refundsPages(deps: DashboardDeps): readonly StorePage[] {
  const refunds = refundList(deps);
  return [
    {
      ...{ method: 'get', path: PATH, needs: 'payments:read' },
      async answer(visit) {
        const { form, table } = await showList(refunds, visit);
        return { title: refunds.caption(visit), content: html`${form}${table}` };
      },
    },
    {
      ...{ method: 'get', path: `${PATH}.csv`, needs: 'payments:export' },
      answer: (visit) => answerFile(deps, refunds, visit),
    },
  ];
}

const refundList = (deps: DashboardDeps): ListingWithFile<Refund> => ({
  path: PATH,
  caption: ({ at, words }) => words.say(at.mode === 'test' ? 'Test refunds' : 'Refunds'),
  fields: ({ words }) => [
    {
      ...{ name: 'status', label: words.say('Status') },
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
      ...{ ...at, ...(status && { status }), ...daysOf(chosen, zone) },
      ...(isOwn && { before: last }),
      limit: limit + 1,
    });
    const { rows, goOn } = pageOf(found, limit, ({ id }) => id);
    // Few refunds wait for an approval: among those of a page, the others are left out.
    const isShown = (one: Refund) => chosen.status !== 'approval' || waitsForApproval(one);
    return { rows: rows.filter(isShown), goOn };
  },
  columns: (visit) => columnsOf(deps, visit),
  empty({ at, words }, why) {
    const all = html`<a href="${pathIn(at, 'refunds')}">${words.say('Show all')}</a>`;
    return why === 'nothing'
      ? words.html(
          'Refunds that you or your shop make appear here. A payment’s page makes one, or `POST /api/v1/refunds/create`.',
        )
      : words.html('No refund matches. {all}', { all });
  },
  file: { noun: 'refunds', columns: fileColumns, cells: (refunds) => cellsOf(deps, refunds), sliceRows: 50 },
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
  [words.say('Network'), ({ network }) => data(networkTitle(config, network))],
  [
    words.say('To'),
    ({ network, destination }) =>
      destination ? shownOnChain({ config, words }, { network, kind: 'address', text: destination.address }) : '–',
  ],
  [words.say('Status'), (one) => refundState(words, one), 'lead'],
];

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
