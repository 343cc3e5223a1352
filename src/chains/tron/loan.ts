/**
 * Reads signed transactions that lend energy of a stake, or take it back.
 */
import type { PlainTransfer } from '../spend.ts';
import { readTransaction } from './transaction-bytes.ts';

/**
 * Returns the loan that signed bytes make, or whose return they are; null if they are no such transaction. `other`:
 * not one of that wallet and id.
 * @param payer address key of the wallet whose stake it is
 * @param tx the id under which the node has them
 */
export function readLoan(bytes: Uint8Array, payer: string, tx: string): PlainTransfer | 'other' | null {
  const read = readTransaction(bytes);
  if (!read || read.action.kind === 'transfer' || read.action.kind === 'trigger') return null;
  const { kind, owner, to, units } = read.action;
  if (read.tx !== tx || read.signer !== payer || owner !== payer || units === 0n) return 'other';
  const loan = kind === 'delegate' ? 'delegate' : 'reclaim';
  // It burns bandwidth alone, whose price is not the sender's.
  return { tx, currency: null, to, owners: [{ key: payer, units }], loan, feeUnitsMax: 0n };
}
