/**
 * Reads what is broadcast, as java-tron does before it looks at any account. Sources: java-tron `BroadcastHexServlet`,
 * `TransactionCapsule.validateSignature`, and its recorded answers.
 */
import { tronAddress } from '../chains/tron/address.ts';
import { readTransaction, type TronTransaction } from '../chains/tron/transaction-bytes.ts';
import { TronError } from './tron-arguments.ts';

/** A refusal: one of `GrpcAPI.Return.response_code`, and its text. */
export class TronRefusal extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Reads a transaction with one signature.
 * @param hex as sent
 * @throws TronError for anything that our signer does not build
 */
export function readBroadcast(hex: string): TronTransaction {
  const transaction = readTransaction(Buffer.from(hex, 'hex'));
  if (!transaction) throw new TronError('class com.google.protobuf.InvalidProtocolBufferException');
  return transaction;
}

/** @throws TronRefusal if the signature is not the owner's */
export function checkSigner({ signer, action }: TronTransaction): void {
  if (signer === action.owner) return;
  const why = `… is signed by ${tronAddress.format(signer)} but it is not contained of permission.`;
  throw new TronRefusal('SIGERROR', `Validate signature error: ${why}`);
}
