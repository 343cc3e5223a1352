/**
 * Reads what a node knows about one transaction from `getTransaction`. Pure.
 *
 * The configured tokens are read as in blocks (`wire.ts`). Any other mint and SOL are reported too, so that a payer who
 * sent the wrong thing can be told.
 */

import { isFields } from '../../core/fields.ts';
import type { ReportedTransfer, TransactionReport } from '../../core/lookup.ts';
import type { Token } from '../../core/transfer.ts';
import { nonsense, type Origin } from '../json-rpc.ts';
import { solanaAddress } from './address.ts';
import { readTransaction } from './wire.ts';

/**
 * Reads the report.
 * @param value the answer to `getTransaction` with encoding `json`
 * @throws Fault transient `node_nonsense`
 */
export function readTransactionReport(
  tx: string,
  value: unknown,
  tokens: readonly Token[],
  origin: Origin,
): TransactionReport {
  const { slot, meta, transaction } = isFields(value) ? value : {};
  const signatures = isFields(transaction) ? transaction.signatures : null;
  if (!isFields(meta) || !Number.isSafeInteger(slot) || !Array.isArray(signatures) || signatures[0] !== tx) {
    throw nonsense(origin, `answered with a transaction other than ${tx}`);
  }
  const number = Number(slot);
  if (meta.err !== null) return { kind: 'mined', number, succeeded: false, transfers: [] };
  const counted = readTransaction(value, tokens, origin).map(({ to, currency }) => ({ to, currency }));
  const others = [...gainsOfOtherMints(meta, tokens), ...gainsOfCoin(meta, transaction)];
  const transfers = [...counted, ...others.map((to): ReportedTransfer => ({ to, currency: null }))];
  return { kind: 'mined', number, succeeded: true, transfers };
}

const rowsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Returns the owners whose account of a mint that is not configured holds more than before. */
function gainsOfOtherMints(meta: Readonly<Record<string, unknown>>, tokens: readonly Token[]): string[] {
  const before = new Map(
    rowsOf(meta.preTokenBalances).map((row) => [isFields(row) ? row.accountIndex : null, unitsOf(row)]),
  );
  return rowsOf(meta.postTokenBalances).flatMap((row) => {
    if (!isFields(row) || tokens.some(({ address }) => address === row.mint)) return [];
    const to = solanaAddress.parse(String(row.owner));
    return to !== null && unitsOf(row) > (before.get(row.accountIndex) ?? 0n) ? [to] : [];
  });
}

function unitsOf(row: unknown): bigint {
  const { amount } = isFields(row) && isFields(row.uiTokenAmount) ? row.uiTokenAmount : {};
  return typeof amount === 'string' && /^\d{1,20}$/.test(amount) ? BigInt(amount) : 0n;
}

/**
 * Returns the accounts that hold more lamports than before: first those of the message, then those loaded from tables.
 */
function gainsOfCoin(meta: Readonly<Record<string, unknown>>, transaction: unknown): string[] {
  const message = isFields(transaction) && isFields(transaction.message) ? transaction.message : {};
  const loaded = isFields(meta.loadedAddresses) ? meta.loadedAddresses : {};
  const accounts = [message.accountKeys, loaded.writable, loaded.readonly].flatMap(rowsOf);
  const before = rowsOf(meta.preBalances);
  const after = rowsOf(meta.postBalances);
  return accounts.flatMap((account, at) => {
    const to = Number(after[at]) > Number(before[at]) ? solanaAddress.parse(String(account)) : null;
    return to === null ? [] : [to];
  });
}
