/**
 * Reads what a node knows about one transaction from `gettransactionbyid` and `gettransactioninfobyid`. Pure.
 *
 * Transfers of any TRC-20, of TRX and of TRC-10 tokens are reported, so that a payer who sent the wrong thing can be
 * told.
 */

import { isFields } from '../../core/fields.ts';
import type { ReportedTransfer, TransactionReport } from '../../core/lookup.ts';
import type { Token } from '../../core/transfer.ts';
import { isUnknown, nonsense, type Origin } from './answer.ts';
import { readInfo, readLog, tokenKeys, transferIn } from './wire.ts';

const ADDRESS = /^41([0-9a-f]{40})$/;
/** Contract types that move something without a log. */
const plainTransfers: readonly unknown[] = ['TransferContract', 'TransferAssetContract'];

/**
 * Reads the report.
 * @param transaction the answer to the first call
 * @param info the answer to the second; `{}` where the node has none
 * @throws Fault transient `node_nonsense`
 */
export function readTransactionReport(
  tx: string,
  transaction: unknown,
  info: unknown,
  tokens: readonly Token[],
  origin: Origin,
): TransactionReport {
  if (isUnknown(transaction) && isUnknown(info)) return { kind: 'unknown' };
  // The info appears slightly after the block.
  if (isUnknown(transaction) || isUnknown(info)) return { kind: 'waiting' };
  if (!isFields(transaction) || transaction.txID !== tx) {
    throw nonsense(origin, `answered with a transaction other than ${tx}`);
  }
  const { id, blockNumber: number, logs } = readInfo(info, origin);
  if (id !== tx) throw nonsense(origin, `answered with the info of ${id} instead of ${tx}`);
  const [result] = Array.isArray(transaction.ret) ? transaction.ret : [];
  const succeeded = isFields(result) && result.contractRet === 'SUCCESS' && isFields(info) && info.result !== 'FAILED';
  const keys = tokenKeys(tokens);
  const moved = logs.flatMap((log) => transferIn(readLog(log, origin)) ?? []).filter(({ units }) => units > 0n);
  const paid = moved.map(({ to, token }) => ({ to, currency: keys.get(token) ?? null }));
  return { kind: 'mined', number, succeeded, transfers: [...readPlain(transaction.raw_data), ...paid] };
}

function readPlain(rawData: unknown): ReportedTransfer[] {
  const [contract] = isFields(rawData) && Array.isArray(rawData.contract) ? rawData.contract : [];
  if (!isFields(contract) || !plainTransfers.includes(contract.type) || !isFields(contract.parameter)) return [];
  const { value } = contract.parameter;
  const [, to] = ADDRESS.exec(isFields(value) ? String(value.to_address) : '') ?? [];
  return to ? [{ to, currency: null }] : [];
}
