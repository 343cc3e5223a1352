/**
 * Rows of exported books: what each kind's columns are, and the value of money in the currency of its order.
 */

import { coinOf } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { permanent } from '../../src/core/fault.ts';
import type { Asset } from '../../src/core/ledger.ts';
import { formatUnits, MINOR_DECIMALS, pow10 } from '../../src/core/money.ts';
import { parseRate } from '../../src/core/rate.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Booked, BookedSession, BookKind } from '../../src/database/bookkeeping.ts';
import type { Cells } from '../../src/lib/export-text.ts';
import { exponentOf } from '../../src/rates/currencies.ts';

const common = ['time', 'entry', 'kind', 'store', 'mode', 'network', 'currency', 'amount'] as const;
const valued = ['value', 'value_currency', 'rate', 'rate_source', 'rate_time'] as const;
const ordered = ['session', 'order'] as const;

export const columnsOf: Readonly<Record<BookKind, readonly string[]>> = {
  payments: [
    ...common,
    ...valued,
    ...['transaction', 'transfer_index', 'block', 'block_hash', 'block_time', 'from', 'to'],
    ...ordered,
    'reverses',
  ],
  refunds: [
    ...common,
    ...valued,
    ...['transaction', 'to', 'payout', 'refund', 'receipt', 'held', 'fee', 'fee_currency'],
    ...ordered,
  ],
  sweeps: [...common, 'transaction', 'payout', 'fee', 'fee_currency'],
  fees: [...common, 'transaction', 'payout', 'payout_kind', ...ordered],
  adjustments: [...common, 'reason'],
};

/** Returns the cells of a posting. @throws Fault permanent `network_unknown` if its decimals are not known */
export function cellsOf(kind: BookKind, booked: Booked, networks: readonly NetworkConfig[]): Cells {
  const { entry, atMs, network, asset, tx, session, transfer, refund, payout, reverses } = booked;
  const decimals = transfer?.decimals ?? decimalsOf(networks, network, asset);
  const first = [
    ...[isoTime(atMs), entry, booked.kind, session?.storeId ?? null, network.slice(0, network.indexOf(':'))],
    ...[network.slice(network.indexOf(':') + 1), symbolOf(networks, network, asset)],
    signedText(booked.units, decimals),
  ];
  const order = [session?.id ?? null, session?.orderId ?? null];
  const address = (key: string | null): string | null => (key === null ? null : addressText(networks, network, key));
  const fee =
    payout?.feeUnits == null
      ? [null, null]
      : [signedText(payout.feeUnits, decimalsOf(networks, network, 'native')), symbolOf(networks, network, 'native')];
  switch (kind) {
    case 'payments':
      return [
        ...first,
        ...valueCells(booked.units, decimals, session),
        ...[tx, transfer?.index ?? null, transfer?.number ?? null, transfer?.block ?? null],
        transfer ? isoTime(transfer.timeS * 1000) : null,
        ...[address(transfer?.from ?? null), address(transfer?.to ?? null)],
        ...order,
        reverses,
      ];
    case 'refunds':
      return [
        ...first,
        ...valueCells(booked.units, decimals, session),
        ...[tx, address(refund?.to ?? null), booked.cause, refund?.refundId ?? null],
        ...[refund?.receiptNumber ?? null, refund?.heldKind ?? null, ...fee],
        ...order,
      ];
    case 'sweeps':
      return [...first, tx, booked.cause, ...fee];
    case 'fees':
      return [...first, tx, booked.cause, payout?.kind ?? null, ...order];
    case 'adjustments':
      return [...first, booked.reason];
  }
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

function addressText(networks: readonly NetworkConfig[], key: NetworkKey, address: string): string {
  const network = networks.find((one) => one.key === key);
  return network ? chains[network.family].address.format(address) : address;
}

/** Returns an exact decimal, with a sign if it is below zero. */
const signedText = (units: bigint, decimals: number): string =>
  `${units < 0n ? '-' : ''}${formatUnits(units < 0n ? -units : units, decimals, Math.min(decimals, MINOR_DECIMALS))}`;

/** Value in the order's currency, its currency, the rate, where the rate is from, and of when it is. */
function valueCells(units: bigint, decimals: number, session: BookedSession | null): Cells {
  if (!session) return [null, null, null, null, null];
  const { currency, rate: text, createdAtMs } = session;
  if (text === null) return [signedText(units, decimals), currency, '1', 'par', null];
  const rate = parseRate(text);
  const exponent = exponentOf(currency);
  if (!rate || exponent === null) return [null, currency, text, 'locked', isoTime(createdAtMs)];
  const size = units < 0n ? -units : units;
  const minor = divideHalfUp(size * rate.den * pow10(exponent), rate.num * pow10(decimals));
  const value = formatUnits(minor, exponent, exponent);
  return [`${units < 0n && minor > 0n ? '-' : ''}${value}`, currency, text, 'locked', isoTime(createdAtMs)];
}

const divideHalfUp = (a: bigint, b: bigint): bigint => (2n * a + b) / (2n * b);
