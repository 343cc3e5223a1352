/**
 * Reads what a node knows about one transaction from `eth_getTransactionByHash` and `eth_getTransactionReceipt`. Pure.
 *
 * Transfers of any ERC-20 and of the network's own coin are reported, so that a payer who sent the wrong thing can be
 * told. Coins that a contract forwards are in no receipt and remain unseen.
 */

import { isFields } from '../../core/fields.ts';
import type { ReportedTransfer, TransactionReport } from '../../core/lookup.ts';
import type { Token } from '../../core/transfer.ts';
import { nonsense, type Origin } from '../json-rpc.ts';
import { ADDRESS, hex, isSuccess, readQuantity, readTransferLog } from './wire.ts';

const VALUE = /^0x[0-9a-f]{1,64}$/;

/**
 * Reads the report.
 * @param transaction the result of the first call
 * @param receipt the result of the second; null where the node has none
 * @throws Fault transient `node_nonsense`
 */
export function readTransactionReport(
  tx: string,
  transaction: unknown,
  receipt: unknown,
  tokens: readonly Token[],
  origin: Origin,
): TransactionReport {
  if (transaction === null && receipt === null) return { kind: 'unknown' };
  const coin = transaction === null ? [] : readCoin(tx, transaction, origin);
  if (receipt === null) return { kind: 'waiting' };
  if (!isFields(receipt) || hex(receipt.transactionHash) !== tx) {
    throw nonsense(origin, `answered with the receipt of a transaction other than ${tx}`);
  }
  const number = readQuantity(receipt.blockNumber);
  if (number === null || !Array.isArray(receipt.logs)) {
    throw nonsense(origin, 'answered with a receipt without its block or its logs');
  }
  const symbols = new Map(tokens.map(({ address, symbol }) => [address.toLowerCase(), symbol]));
  const moved = receipt.logs.flatMap((log: unknown) => readTransferLog(log) ?? []).filter(({ units }) => units > 0n);
  const paid = moved.map(({ to, token }) => ({ to, currency: symbols.get(token) ?? null }));
  return { kind: 'mined', number, succeeded: isSuccess(receipt, origin), transfers: [...coin, ...paid] };
}

/** The network's coin that the transaction itself transfers. */
function readCoin(tx: string, transaction: unknown, origin: Origin): ReportedTransfer[] {
  if (!isFields(transaction) || hex(transaction.hash) !== tx) {
    throw nonsense(origin, `answered with a transaction other than ${tx}`);
  }
  const value = hex(transaction.value);
  // A transaction without a recipient creates a contract.
  const to = transaction.to === null ? null : hex(transaction.to);
  if (!VALUE.test(value) || (to !== null && !ADDRESS.test(to))) {
    throw nonsense(origin, 'answered with a transaction without its recipient or its value');
  }
  return to === null || BigInt(value) === 0n ? [] : [{ to: to.slice(2), currency: null }];
}
