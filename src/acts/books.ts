/**
 * The exported books, for the tool and the dashboard: a row for each posting, with the value of its money in the
 * currency of its order.
 */

import { coinOf } from '../chains/coin-text.ts';
import type { NetworkConfig } from '../config/network.ts';
import { permanent } from '../core/fault.ts';
import type { Asset } from '../core/ledger.ts';
import { formatUnits, MINOR_DECIMALS, pow10 } from '../core/money.ts';
import { parseRate } from '../core/rate.ts';
import type { Mode, NetworkKey } from '../core/transfer.ts';
import type { Database } from '../database/database.ts';
import { BOOK_PAGE_ENTRIES, type Booked, type BookFilter } from '../database/reports.ts';
import { csvLine } from '../lib/export-text.ts';
import { createAddressFormat } from '../payments/destination.ts';
import { exponentOf } from '../rates/currencies.ts';

/** A posting with what its cells are made of. */
type Row = Readonly<{ booked: Booked; networks: readonly NetworkConfig[]; decimals: number }>;

const addressCell = ({ booked: { network }, networks }: Row, key: string | null): string | null =>
  key === null ? null : createAddressFormat({ networks })(network, key);

/** Each column by its name. */
const columns = {
  time: ({ booked }) => isoTime(booked.atMs),
  entry: ({ booked }) => booked.entry,
  kind: ({ booked }) => booked.kind,
  store: ({ booked }) => booked.storeId,
  mode: ({ booked: { network } }) => network.slice(0, network.indexOf(':')),
  network: ({ booked: { network } }) => network.slice(network.indexOf(':') + 1),
  currency: ({ booked, networks }) => symbolOf(networks, booked.network, booked.asset),
  amount: ({ booked, decimals }) => signedText(booked.units, decimals),
  value: ({ booked, decimals }) => valueText(booked, decimals),
  value_currency: ({ booked }) => booked.currency,
  rate: ({ booked }) => booked.currency && (booked.rate ?? '1'),
  rate_source: ({ booked }) => booked.currency && (booked.rate === null ? 'par' : 'locked'),
  rate_time: ({ booked: { rate, createdAtMs } }) =>
    rate === null || createdAtMs === null ? null : isoTime(createdAtMs),
  transaction: ({ booked }) => booked.tx,
  transfer_index: ({ booked }) => booked.position,
  block: ({ booked }) => booked.number,
  block_hash: ({ booked }) => booked.hash,
  block_time: ({ booked: { timeS } }) => (timeS === null ? null : isoTime(timeS * 1000)),
  from: (row) => addressCell(row, row.booked.fromKey),
  to: (row) => addressCell(row, row.booked.toKey ?? row.booked.destination),
  payout: ({ booked }) => booked.cause,
  payout_kind: ({ booked }) => booked.payoutKind,
  refund: ({ booked }) => booked.refundId,
  receipt: ({ booked }) => booked.receiptNumber,
  held: ({ booked }) => booked.heldKind,
  session: ({ booked }) => booked.sessionId,
  order: ({ booked }) => booked.orderId,
  reverses: ({ booked }) => booked.reverses,
  reason: ({ booked }) => booked.reason,
} as const satisfies Readonly<Record<string, (row: Row) => string | number | null>>;

type Parts = Readonly<{ database: Database; config: Readonly<{ networks: readonly NetworkConfig[] }> }>;

/** How far an export has come: entries that were looked at, of all, and rows that were found. */
type Progress = Readonly<{ done: number; all: number; rows: number }>;

/**
 * Yields the books as CSV, page by page: memory does not grow with their length.
 * @param mode null for both
 * @param onPage is awaited after each page
 * @throws Fault permanent `network_unknown` if decimals are not known
 */
export async function* bookText(
  { database: { ledger }, config: { networks } }: Parts,
  filter: BookFilter,
  mode: Mode | null,
  onPage: (progress: Progress) => Promise<void> | void,
): AsyncGenerator<string> {
  const newest = (await ledger.newestEntries()).filter(({ network }) => network.startsWith(`${mode ?? ''}`));
  const all = newest.reduce((sum, { entry }) => sum + entry, 0);
  let [done, rows] = [0, 0];
  yield csvLine(Object.keys(columns));
  for (const { network, entry: through } of newest) {
    for (let after = 0; after < through; after += BOOK_PAGE_ENTRIES) {
      const page = (await ledger.bookPage(filter, network, after)).filter(({ entry }) => entry <= through);
      done += Math.min(through - after, BOOK_PAGE_ENTRIES);
      rows += page.length;
      await onPage({ done, all, rows });
      if (page.length > 0) yield page.map((booked) => lineOf(booked, networks)).join('');
    }
  }
}

function lineOf(booked: Booked, networks: readonly NetworkConfig[]): string {
  const decimals = booked.decimals ?? decimalsOf(networks, booked.network, booked.asset);
  return csvLine(Object.values(columns).map((cell) => cell({ booked, networks, decimals })));
}

const isoTime = (ms: number): string => new Date(ms).toISOString();

const symbolOf = (networks: readonly NetworkConfig[], network: NetworkKey, asset: Asset): string =>
  coinOf(networks, network, asset).symbol;

function decimalsOf(networks: readonly NetworkConfig[], key: NetworkKey, asset: Asset): number {
  const network = networks.find((one) => one.key === key);
  const isKnown = network && (asset === 'native' || network.tokens.some(({ symbol }) => symbol === asset));
  if (isKnown) return coinOf(networks, key, asset).decimals;
  throw permanent(
    'network_unknown',
    `the ledger has ${asset} on ${key}, which the settings do not; add the network and its token again, so that amounts can be written`,
  );
}

/** Returns an exact decimal, with a sign if it is below zero. */
const signedText = (units: bigint, decimals: number): string =>
  `${units < 0n ? '-' : ''}${formatUnits(units < 0n ? -units : units, decimals, Math.min(decimals, MINOR_DECIMALS))}`;

/** Returns the value in the order's currency; null without a session, or if its rate cannot be read. */
function valueText({ units, currency, rate: text }: Booked, decimals: number): string | null {
  if (currency === null) return null;
  if (text === null) return signedText(units, decimals);
  const rate = parseRate(text);
  const exponent = exponentOf(currency);
  if (!rate || exponent === null) return null;
  const size = units < 0n ? -units : units;
  const minor = divideHalfUp(size * rate.den * pow10(exponent), rate.num * pow10(decimals));
  const value = formatUnits(minor, exponent, exponent);
  return `${units < 0n && minor > 0n ? '-' : ''}${value}`;
}

const divideHalfUp = (a: bigint, b: bigint): bigint => (2n * a + b) / (2n * b);
