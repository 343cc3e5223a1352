/**
 * The list of refunds as CSV.
 */

import { minorText } from '../acts/refund-words.ts';
import { coinOf } from '../chains/coin-text.ts';
import { formatUnits, MINOR_DECIMALS } from '../core/money.ts';
import { nameOf } from '../core/transfer.ts';
import type { Database } from '../database/database.ts';
import type { Refund, RefundFilter } from '../database/refunds/refund.ts';
import type { Cells } from '../lib/export-text.ts';
import type { DashboardDeps } from './deps.ts';
import { writeSlices } from './export.ts';

/** Refunds that are read at once. */
const SLICE_ROWS = 50;

const columns = [
  ...['created', 'id', 'refund', 'order', 'session', 'mode', 'status', 'network', 'currency', 'amount', 'reason'],
  ...['to', 'processing', 'ended', 'canceled', 'tx', 'receipt', 'fee', 'fee_currency', 'held'],
];

const isoTime = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

type Networks = DashboardDeps['config']['networks'];

/** What the transaction that paid cost; empty before that, and where the network is not configured any more. */
function feeCells(networks: Networks, { network }: Refund, feeUnits: bigint | null): Cells {
  if (feeUnits === null || !networks.some(({ key }) => key === network)) return [null, null];
  const { symbol, decimals } = coinOf(networks, network, 'native');
  return [formatUnits(feeUnits, decimals, Math.min(decimals, MINOR_DECIMALS)), symbol];
}

const cellsOf = (networks: Networks, refund: Refund, feeUnits: bigint | null): Cells => [
  ...[isoTime(refund.createdAtMs), refund.id, refund.refundId, refund.orderId, refund.sessionId, refund.mode],
  ...[refund.status, nameOf(refund.network), refund.currency, minorText(refund.amountMinor), refund.reason],
  ...[refund.destination?.address ?? null, isoTime(refund.processingAtMs), isoTime(refund.processedAtMs)],
  ...[isoTime(refund.canceledAtMs), refund.tx, refund.receiptNumber],
  ...feeCells(networks, refund, feeUnits),
  refund.heldKind,
];

type Read = Pick<Database, 'refunds' | 'findPayout'>;
type Deps = Pick<DashboardDeps, 'config' | 'clock'> & Readonly<{ database: Read }>;

/** Yields the file, newest first. */
export const exportRefunds = (
  { database, config, clock }: Deps,
  filter: Omit<RefundFilter, 'before' | 'limit'>,
): AsyncGenerator<string> =>
  writeSlices(clock, columns, async (before: Refund | null) => {
    const refunds = await database.refunds.list({ ...filter, ...(before && { before }), limit: SLICE_ROWS });
    const rows: Cells[] = [];
    for (const refund of refunds) {
      const payout = refund.tx === null ? null : await database.findPayout(refund.id);
      rows.push(cellsOf(config.networks, refund, payout?.feeUnits ?? null));
    }
    return { rows, goOn: refunds.length < SLICE_ROWS ? null : (refunds.at(-1) ?? null) };
  });
