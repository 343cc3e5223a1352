/**
 * What failed transactions of our own wallets cost. java-tron includes a call that fails in its block, with the fee.
 *
 * @module
 */
import { isFields } from '../../core/fields.ts';
import type { ChainTransfer } from '../../core/transfer.ts';
import { readKey } from './address.ts';

/** A transaction as the block lists it; `rawData` is not checked. */
export type Listed = Readonly<{ id: string; succeeded: boolean; rawData: unknown }>;

/**
 * Returns the fee of a failed transaction of one of our wallets, as sent by the wallet to itself.
 * @param index of the transaction in its block
 * @param fee according to its info, in sun
 */
export function readFailedFee(
  { id: tx, succeeded, rawData }: Listed,
  index: number,
  fee: unknown,
  own: ReadonlySet<string>,
): ChainTransfer[] {
  const [contract] = isFields(rawData) && Array.isArray(rawData.contract) ? rawData.contract : [];
  const { value } = isFields(contract) && isFields(contract.parameter) ? contract.parameter : {};
  const from = readKey(isFields(value) ? value.owner_address : null);
  if (succeeded || from === null || !own.has(from) || !Number.isSafeInteger(fee) || Number(fee) <= 0) return [];
  return [{ tx, index, currency: 'native', from, to: from, units: BigInt(Number(fee)), isOutgoing: true }];
}
