/**
 * What a store's refunds paid out in a period and what their transactions cost, as CSV; and the installation's sweeps
 * and the fees of all its payouts.
 * @module
 */
import { coinOf } from '../chains/coin-text.ts';
import { formatUnits, MINOR_DECIMALS } from '../core/money.ts';
import { type NetworkKey, nameOf } from '../core/transfer.ts';
import type { Database } from '../database/database.ts';
import type { EndedPayout, EndedRefund, Period } from '../database/reports.ts';
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
function feeCells(networks: Networks, network: NetworkKey, units: bigint): Cells {
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
    const cost = fees.length === 0 ? [null, null] : feeCells(networks, refund.network, total);
    const paid = [currency, minorText(amountMinor), destination?.address ?? null, tx, receiptNumber];
    return [[...named(ended), ...paid, ...cost, heldKind]];
  },
  fees: (networks, ended) =>
    ended.fees.map(({ tx, units }) => [
      ...[...named(ended), tx, tx !== null && tx === ended.refund.tx ? 'paid' : 'failed'],
      ...feeCells(networks, ended.refund.network, units),
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

export const payoutFiles = ['sweeps', 'fees'] as const;
export type PayoutFile = (typeof payoutFiles)[number];

const payoutColumns: Readonly<Record<PayoutFile, readonly string[]>> = {
  sweeps: ['ended', 'id', 'network', 'currency', 'amount', 'addresses', 'tx', 'fee', 'fee_currency'],
  fees: ['ended', 'id', 'kind', 'network', 'tx', 'outcome', 'fee', 'fee_currency'],
};

/** One row for each sweep that reached the treasury, or for each transaction of any payout that cost a fee. */
const payoutRows: Readonly<Record<PayoutFile, (networks: Networks, ended: EndedPayout) => readonly Cells[]>> = {
  sweeps(networks, { payout, endedAtMs, fees }) {
    const { id, network, intent, state, tx } = payout;
    if (intent.kind !== 'sweep' || state !== 'succeeded') return [];
    const units = intent.from.reduce((sum, part) => sum + part.units, 0n);
    const { symbol, decimals } = coinOf(networks, network, intent.currency);
    const amount = formatUnits(units, decimals, Math.min(decimals, MINOR_DECIMALS));
    const total = fees.reduce((sum, fee) => sum + fee.units, 0n);
    const cost = fees.length === 0 ? [null, null] : feeCells(networks, network, total);
    const ended = new Date(endedAtMs).toISOString();
    return [[ended, id, network, symbol, amount, intent.from.length, tx, ...cost]];
  },
  fees: (networks, { payout: { id, network, intent, tx: paid }, endedAtMs, fees }) =>
    fees.map(({ tx, units }) => [
      ...[new Date(endedAtMs).toISOString(), id, intent.kind, network],
      ...[tx, tx !== null && tx === paid ? 'paid' : 'failed', ...feeCells(networks, network, units)],
    ]),
};

type ReadPayouts = Pick<DashboardDeps, 'config' | 'clock'> & Readonly<{ database: Pick<Database, 'listEndedPayouts'> }>;

/** Yields the file of the installation, oldest first. */
export const exportPayouts = (
  { database, config, clock }: ReadPayouts,
  file: PayoutFile,
  { fromMs, toMs }: Period,
): AsyncGenerator<string> =>
  writeSlices(clock, payoutColumns[file], async (after: EndedPayout | null) => {
    const ended = await database.listEndedPayouts({ fromMs, toMs }, { after, limit: SLICE_ROWS });
    const rows = ended.flatMap((one) => payoutRows[file](config.networks, one));
    return { rows, goOn: ended.length < SLICE_ROWS ? null : (ended.at(-1) ?? null) };
  });
