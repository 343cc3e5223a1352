/**
 * What a store's refunds paid out in a period and what their transactions cost, as CSV.
 * @module
 */
import { coinOf } from '../chains/coin-text.ts';
import { formatUnits, MINOR_DECIMALS } from '../core/money.ts';
import { nameOf } from '../core/transfer.ts';
import type { Database } from '../database/database.ts';
import type { EndedRefund, Period } from '../database/reports.ts';
import type { Cells } from '../lib/export-text.ts';
import type { DashboardDeps } from './deps.ts';
import { writeSlices } from './export.ts';
import type { StoreAt } from './page.ts';
import { minorText } from './refund-text.ts';

/** Refunds that are read at once. */
const SLICE_ROWS = 50;

export const reportFiles = ['payouts', 'fees'] as const;
export type ReportFile = (typeof reportFiles)[number];

type Networks = DashboardDeps['config']['networks'];

const columnsOf: Readonly<Record<ReportFile, readonly string[]>> = {
  payouts: [
    ...['paid', 'id', 'refund', 'order', 'session', 'mode', 'network', 'currency', 'amount', 'to', 'tx', 'receipt'],
    ...['fee', 'fee_currency', 'held'],
  ],
  fees: ['ended', 'id', 'refund', 'order', 'session', 'mode', 'network', 'tx', 'outcome', 'fee', 'fee_currency'],
};

/** An amount of a network's own coin; in base units where the network is not configured any more. */
function feeCells(networks: Networks, { network }: EndedRefund['refund'], units: bigint): Cells {
  const { symbol, decimals } = coinOf(networks, network, 'native');
  return [formatUnits(units, decimals, Math.min(decimals, MINOR_DECIMALS)), symbol];
}

const named = ({ refund, endedAtMs }: EndedRefund): Cells => [
  ...[new Date(endedAtMs).toISOString(), refund.id, refund.refundId, refund.orderId, refund.sessionId, refund.mode],
  nameOf(refund.network),
];

/** One row for each refund that was paid, or for each transaction that cost a fee, its failed ones included. */
const rowsOf: Readonly<Record<ReportFile, (networks: Networks, ended: EndedRefund) => readonly Cells[]>> = {
  payouts(networks, ended) {
    const { refund, fees } = ended;
    if (refund.status !== 'completed') return [];
    const { currency, amountMinor, destination, tx, receiptNumber, heldKind } = refund;
    const total = fees.reduce((sum, { units }) => sum + units, 0n);
    const cost = fees.length === 0 ? [null, null] : feeCells(networks, refund, total);
    const paid = [currency, minorText(amountMinor), destination?.address ?? null, tx, receiptNumber];
    return [[...named(ended), ...paid, ...cost, heldKind]];
  },
  fees: (networks, ended) =>
    ended.fees.map(({ tx, units }) => [
      ...[...named(ended), tx, tx !== null && tx === ended.refund.tx ? 'paid' : 'failed'],
      ...feeCells(networks, ended.refund, units),
    ]),
};

type Read = Pick<Database, 'listEndedRefunds'>;
type Deps = Pick<DashboardDeps, 'config' | 'clock'> & Readonly<{ database: Read }>;

/** Yields the file, oldest first. */
export const exportReport = (
  { database, config, clock }: Deps,
  file: ReportFile,
  at: StoreAt,
  { fromMs, toMs }: Period,
): AsyncGenerator<string> =>
  writeSlices(clock, columnsOf[file], async (after: EndedRefund | null) => {
    const ended = await database.listEndedRefunds(at, { fromMs, toMs }, { after, limit: SLICE_ROWS });
    const rows = ended.flatMap((one) => rowsOf[file](config.networks, one));
    return { rows, goOn: ended.length < SLICE_ROWS ? null : (ended.at(-1) ?? null) };
  });
