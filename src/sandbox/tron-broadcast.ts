/**
 * Broadcasts bytes as java-tron does: it reads them, and refuses them with its own codes and
 * texts, before it looks at any account. Sources: java-tron `BroadcastHexServlet`,
 * `TransactionCapsule.validateSignature`, and its recorded answers.
 */
import { tronAddress } from '../chains/tron/address.ts';
import { readTransaction, type TronTransaction, transactionDigest } from '../chains/tron/transaction-bytes.ts';
import { TronError } from './tron-arguments.ts';

/** A refusal: one of `GrpcAPI.Return.response_code`, and its text. */
export class TronRefusal extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The parts of a transaction, whatever they hold. */
export type Parts = Readonly<{ raw: Buffer | null; signatures: readonly Buffer[]; size: number }>;

const NOT_HEX =
  'class org.bouncycastle.util.encoders.DecoderException : exception decoding Hex string: invalid characters encountered in Hex string';
const NOT_PROTOBUF =
  'class com.google.protobuf.InvalidProtocolBufferException : While parsing a protocol message, the input ended unexpectedly in the middle of a field.  This could mean either that the input has been truncated or that an embedded message misreported its own length.';
const RAW_TAG = 0x0a;
const SIGNATURE_TAG = 0x12;
const SIGNATURE_BYTES = 65;
const SIZE_MAX = 512_000;
/** The space that the results may need counts as part of a transaction. */
const RESULTS_BYTES = 128;

/** Returns the length at a position, and the position after it. */
function readLength(bytes: Buffer, at: number): readonly [length: number, next: number] {
  let length = 0;
  for (let shift = 0; shift < 28; shift += 7) {
    const byte = bytes[at++];
    if (byte === undefined) break;
    length += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return [length, at];
  }
  throw new TronError(NOT_PROTOBUF);
}

/**
 * Splits a transaction into raw data and signatures.
 * @param hex as sent
 * @throws TronError if it is not hex, or not a transaction
 */
export function splitTransaction(hex: string): Parts {
  if (!/^([0-9a-f]{2})*$/i.test(hex)) throw new TronError(NOT_HEX);
  const bytes = Buffer.from(hex, 'hex');
  let raw: Buffer | null = null;
  const signatures: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at];
    const [length, from] = readLength(bytes, at + 1);
    at = from + length;
    if ((tag !== RAW_TAG && tag !== SIGNATURE_TAG) || at > bytes.length) throw new TronError(NOT_PROTOBUF);
    if (tag === RAW_TAG) raw = bytes.subarray(from, at);
    else signatures.push(bytes.subarray(from, at));
  }
  return { raw, signatures, size: bytes.length };
}

export const transactionId = ({ raw }: Pick<Parts, 'raw'>): string =>
  Buffer.from(transactionDigest(raw ?? new Uint8Array())).toString('hex');

const badSignature = (why: string) => new TronRefusal('SIGERROR', `Validate signature error: ${why}`);

/**
 * Reads a transaction whose one signature is its owner's.
 * @throws TronRefusal
 */
export function readSigned(hex: string): TronTransaction {
  const parts = splitTransaction(hex);
  const [signature] = parts.signatures;
  if (!parts.raw?.length) {
    throw new TronRefusal('CONTRACT_VALIDATE_ERROR', 'Contract validate error : No contract!');
  }
  if (!signature) throw badSignature('miss sig or contract');
  if (signature.length !== SIGNATURE_BYTES) throw badSignature(`Signature size is ${signature.length}`);
  if (parts.signatures.length > 1) {
    throw badSignature(`Signature count is ${parts.signatures.length} more than key counts of permission : 1`);
  }
  if (parts.size > SIZE_MAX) {
    const text = `Too big transaction with result, TxId ${transactionId(parts)}, the size is ${parts.size + RESULTS_BYTES} bytes, maxTxSize ${SIZE_MAX}`;
    throw new TronRefusal('TOO_BIG_TRANSACTION_ERROR', text);
  }
  const transaction = readTransaction(Buffer.from(hex, 'hex'));
  if (!transaction) throw badSignature('java.lang.IllegalArgumentException: Invalid point compression');
  const { signer, action } = transaction;
  if (signer === action.owner) return transaction;
  throw badSignature(
    `${signature.toString('hex')} is signed by ${tronAddress.format(signer)} but it is not contained of permission.`,
  );
}
