/**
 * Interprets java-tron's answers to `/wallet/broadcasthex`. Pure.
 *
 * Source: java-tron `BroadcastHexServlet`, `GrpcAPI.Return.response_code`, `Wallet.broadcastTransaction`.
 */

import { excerpt } from '../../../core/excerpt.ts';
import { transient } from '../../../core/fault.ts';
import { isFields } from '../../../core/fields.ts';
import type { Broadcast } from '../../spend.ts';
import { messageText, nonsense, type Origin } from '../answer.ts';

/** Problems of the transaction, by java-tron's name. */
const rejections: Readonly<Record<string, string>> = {
  SIGERROR: 'signature',
  BANDWITH_ERROR: 'native_short',
  CONTRACT_EXE_ERROR: 'would_fail',
  TAPOS_ERROR: 'reference_block',
  TRANSACTION_EXPIRATION_ERROR: 'expired',
  TOO_BIG_TRANSACTION_ERROR: 'too_big',
};

/** Problems of the node, which say nothing about the transaction. */
const troubles: Readonly<Record<string, readonly [code: string, advice: string]>> = {
  SERVER_BUSY: ['node_busy', 'it has too many transactions waiting'],
  NO_CONNECTION: ['node_isolated', 'it has no peers: check its connection to the network'],
  NOT_ENOUGH_EFFECTIVE_CONNECTION: ['node_isolated', 'too few of its peers are up to date: it may still be syncing'],
  BLOCK_UNSOLIDIFIED: [
    'node_not_final',
    'it has had no solidified block for a while: the network or the node is stuck',
  ],
};

/**
 * Returns what the node did with the transaction.
 * @throws Fault transient if the answer says nothing about the transaction
 */
export function readBroadcast(value: unknown, origin: Origin): Broadcast {
  if (!isFields(value)) throw nonsense(origin, 'answered with something that is not an object');
  const { result, code, message } = value;
  if (result === true && (code === undefined || code === 'SUCCESS')) return { kind: 'accepted' };
  if (typeof code !== 'string') throw nonsense(origin, 'answered neither that it accepted the transaction nor why not');
  if (code === 'DUP_TRANSACTION_ERROR') return { kind: 'known' };
  const text = messageText(message);
  const said = `${origin.host} says ${code}: ${excerpt(text)}`;
  const [trouble, advice] = troubles[code] ?? [];
  if (trouble !== undefined) throw transient(trouble, `${said}; ${advice}`);
  if (code === 'CONTRACT_VALIDATE_ERROR') {
    // Other texts are about the balance of a stake or a loan, which TRX sent to the wallet would not raise.
    const isPoor = /\bbalance is not sufficient|does not exist|not enough/i.test(text);
    return { kind: 'rejected', code: isPoor ? 'native_short' : 'would_fail', message: said };
  }
  return { kind: 'rejected', code: rejections[code] ?? 'node_refused', message: said };
}
